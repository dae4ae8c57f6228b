#include "base/must.h"
#include "engine/state.h"

struct claim_want *decision_add_claim(struct decision *decision, struct arena *arena)
{
    arena_reserve(arena, &decision->claims, &decision->claim_capacity, decision->claim_count + 1);
    struct claim_want *claim = &decision->claims[decision->claim_count++];
    *claim = (struct claim_want){0};
    return claim;
}

struct backend_want *decision_add_backend(struct decision *decision, struct arena *arena)
{
    arena_reserve(arena, &decision->backends, &decision->backend_capacity,
                  decision->backend_count + 1);
    struct backend_want *backend = &decision->backends[decision->backend_count++];
    *backend = (struct backend_want){0};
    return backend;
}

struct question *decision_add_question(struct decision *decision, struct arena *arena)
{
    arena_reserve(arena, &decision->questions, &decision->question_capacity,
                  decision->question_count + 1);
    struct question *question = &decision->questions[decision->question_count++];
    *question = (struct question){0};
    return question;
}

struct object_want *decision_add_object(struct decision *decision, struct arena *arena)
{
    arena_reserve(arena, &decision->objects, &decision->object_capacity,
                  decision->object_count + 1);
    struct object_want *object = &decision->objects[decision->object_count++];
    *object = (struct object_want){0};
    return object;
}

void decision_add_event(struct decision *decision, bool is_warning, const char *reason,
                        const char *text)
{
    if (decision->event_count < DECISION_EVENTS_MAX)
        decision->events[decision->event_count++] =
            (struct decision_event){.is_warning = is_warning, .reason = reason, .text = text};
}

void decision_add_sample(struct decision *decision, const struct controller_metric *metric,
                         const char *label, int64_t value)
{
    must(decision->sample_count < DECISION_SAMPLES_MAX);
    must((label != NULL) == (metric->label != NULL));
    decision->samples[decision->sample_count++] =
        (struct decision_sample){.metric = metric, .label = label, .value = value};
}

bool metric_adds_up(enum controller_metric_type type)
{
    return type == METRIC_COUNT || type == METRIC_SECONDS;
}

void decision_wake_at(struct decision *decision, int64_t unix_ms)
{
    if (!decision->wake_ms || unix_ms < decision->wake_ms)
        decision->wake_ms = unix_ms;
}

void decision_done(struct decision *decision)
{
    for (size_t i = 0; i < decision->backend_count; i++) {
        secret_unref(decision->backends[i].secret);
        decision->backends[i].secret = NULL;
    }
}
