#include <string.h>

#include "base/must.h"
#include "engine/state.h"

// An object that somebody is about to write, decided as a reconciliation would decide it, with
// nothing written, claimed or asked.

#define NO_TRACE "00000000000000000000000000000000"

struct review {
    struct engine *engine;
    size_t controller;
    uint32_t key; // as which it is known already, or NO_ID
    const struct object *subject;
    struct snapshot snapshot;
    struct decision decision;
};

static const struct controller *controller_of(const struct review *review)
{
    return review->engine->controllers[review->controller].controller;
}

static bool find_controller(const struct engine *engine, const struct kind *kind, size_t *out)
{
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        const struct controller *controller = engine->controllers[i].controller;
        if (controller->kind != kind || !controller->outward_reasons)
            continue;
        *out = i;
        return input_is_synced(engine, controller);
    }
    return false;
}

static void review_drop(struct review *review)
{
    decision_done(&review->decision);
    review->decision = (struct decision){0};
}

static void review_decide(struct review *review, const struct receipt *receipts, size_t count)
{
    struct engine *engine = review->engine;
    review_drop(review);
    review->snapshot = (struct snapshot){
        .arena = engine->arena,
        .namespace_ = object_namespace(review->subject),
        .name = object_name(review->subject),
        .subject = review->subject,
        .receipts = receipts,
        .receipt_count = count,
        .now_ms = loop_unix_ms(engine->loop),
        .started_ms = engine->started_unix_ms,
        .settings = engine->controllers[review->controller].settings,
        .trace = NO_TRACE,
    };
    input_fill(engine, review->controller, &review->snapshot);
    if (review->key != NO_ID && engine->keys[review->key].extra)
        questions_fill_snapshot(&engine->keys[review->key].extra->asking, &review->snapshot);
    controller_of(review)->decide(&review->snapshot, NULL, &review->decision);
}

static struct text holder_name(struct arena *arena, const struct object *holder)
{
    AUTO_BUFFER out = {0};
    buffer_printf(&out, "%s ", holder->kind->name);
    object_write_name(&out, holder);
    return (struct text){arena_copy(arena, out.at, out.len), out.len};
}

static struct receipt lost_to(struct arena *arena, const struct claim_want *want,
                              const struct object *holder)
{
    return (struct receipt){
        .registry = want->registry,
        .type = want->set.type,
        .domain = want->set.domain,
        .subdomain = want->set.subdomain,
        .intent = want->intent,
        .state = RECEIPT_LOST,
        .holder = holder_name(arena, holder),
        .holder_namespace = object_namespace(holder),
    };
}

// Names that another holds come back as receipts, as they would.
static void review_contest(struct review *review)
{
    struct engine *engine = review->engine;
    struct receipt *receipts =
        arena_new_array(engine->arena, struct receipt, review->decision.claim_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < review->decision.claim_count; i++) {
        const struct claim_want *want = &review->decision.claims[i];
        const struct object *holder =
            want->intent == CLAIM_SET ? registry_holder(engine, review->key, review->subject, want)
                                      : NULL;
        if (holder)
            receipts[count++] = lost_to(engine->arena, want, holder);
    }
    if (count)
        review_decide(review, receipts, count);
}

static bool is_outward(const struct controller *controller, struct text reason)
{
    for (const char *const *at = controller->outward_reasons; *at; at++)
        if (text_is(reason, *at))
            return true;
    return false;
}

static bool is_reported(const struct findings *findings, struct text text)
{
    for (size_t i = 0; i < findings->count; i++)
        if (text_is(text, findings->items[i].text))
            return true;
    return false;
}

static void review_report(const struct review *review, enum finding_level level,
                          struct findings *findings)
{
    value_each (condition, value_find(review->decision.status, "conditions")) {
        struct text message = value_text_at(condition, "message");
        if (is_outward(controller_of(review), value_text_at(condition, "reason")) &&
            !is_reported(findings, message))
            findings_add(findings, level, "", "%.*s", TEXT_ARGS(message));
    }
}

static void review_judge(struct review *review, enum finding_level level, struct findings *findings)
{
    arena_reset(review->engine->arena);
    review_decide(review, NULL, 0);
    review_contest(review);
    review_report(review, level, findings);
    review_drop(review);
}

// An object keeps them with a length of one octet.
static bool has_short_names(const struct value *tree)
{
    static const char *const keys[] = {"namespace", "name", "resourceVersion"};
    const struct value *metadata = value_find(tree, "metadata");
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (value_text_at(metadata, keys[i]).len > UINT8_MAX)
            return false;
    return true;
}

static void judge_alone(const struct engine *engine, const struct kind *kind,
                        const struct value *tree, struct findings *findings)
{
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        const struct controller *controller = engine->controllers[i].controller;
        if (controller->kind == kind && controller->admit)
            controller->admit(tree, findings);
    }
}

void engine_admit(struct engine *engine, const struct kind *kind, const struct value *tree,
                  enum finding_level level, struct findings *findings)
{
    struct review review = {.engine = engine};
    judge_alone(engine, kind, tree, findings);
    if (!has_short_names(tree) || !find_controller(engine, kind, &review.controller))
        return;
    struct object *subject = object_new(kind, controller_of(&review)->finalizer, tree);
    if (!subject->created_s)
        subject->created_s = (uint32_t)(loop_unix_ms(engine->loop) / 1000);
    review.subject = subject;
    review.key =
        key_find(engine, review.controller, object_namespace(subject), object_name(subject));
    // What nobody has asked the store for may be there all the same.
    if (input_is_known(engine, &engine->controllers[review.controller], subject))
        review_judge(&review, level, findings);
    object_unref(subject);
}
