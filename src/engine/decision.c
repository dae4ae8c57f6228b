#include <string.h>

#include "base/must.h"
#include "engine/state.h"

enum { FIRST_CAPACITY = 4 };

// Room for one more: `items` itself, or a copy of twice the size.
static void *grow(struct arena *arena, void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity ? 2 * *capacity : FIRST_CAPACITY;
    void *copy = arena_alloc(arena, *capacity, size);
    if (count)
        memcpy(copy, items, count * size);
    return copy;
}

struct claim_want *decision_add_claim(struct decision *decision, struct arena *arena)
{
    decision->claims = grow(arena, decision->claims, decision->claim_count,
                            &decision->claim_capacity, sizeof *decision->claims);
    struct claim_want *claim = &decision->claims[decision->claim_count++];
    *claim = (struct claim_want){0};
    return claim;
}

struct backend_want *decision_add_backend(struct decision *decision, struct arena *arena)
{
    decision->backends = grow(arena, decision->backends, decision->backend_count,
                              &decision->backend_capacity, sizeof *decision->backends);
    struct backend_want *backend = &decision->backends[decision->backend_count++];
    *backend = (struct backend_want){0};
    return backend;
}

struct question *decision_add_question(struct decision *decision, struct arena *arena)
{
    decision->questions = grow(arena, decision->questions, decision->question_count,
                               &decision->question_capacity, sizeof *decision->questions);
    struct question *question = &decision->questions[decision->question_count++];
    *question = (struct question){0};
    return question;
}

struct object_want *decision_add_object(struct decision *decision, struct arena *arena)
{
    decision->objects = grow(arena, decision->objects, decision->object_count,
                             &decision->object_capacity, sizeof *decision->objects);
    struct object_want *object = &decision->objects[decision->object_count++];
    *object = (struct object_want){0};
    return object;
}

void decision_add_event(struct decision *decision, bool is_warning, const char *reason,
                        const char *text)
{
    if (decision->event_count < DECISION_EVENTS_MAX)
        decision->events[decision->event_count++] =
            (struct decision_event){is_warning, reason, text};
}

void decision_done(struct decision *decision)
{
    for (size_t i = 0; i < decision->backend_count; i++) {
        secret_unref(decision->backends[i].secret);
        decision->backends[i].secret = NULL;
    }
}
