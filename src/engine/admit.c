#include <string.h>

#include "base/must.h"
#include "engine/state.h"

// An object that somebody is about to write, decided as a turn would decide it, with nothing
// written, claimed or asked.

#define NO_TRACE "00000000000000000000000000000000"

struct trial {
    struct engine *engine;
    size_t controller;
    uint32_t key; // as which it is known already, or NO_ID
    const struct object *subject;
    struct snapshot snapshot;
    struct verdict verdict;
};

static const struct controller *controller_of(const struct trial *trial)
{
    return trial->engine->controllers[trial->controller].controller;
}

static bool find_controller(const struct engine *engine, const struct kind *kind, size_t *out)
{
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        const struct controller *controller = engine->controllers[i].controller;
        if (controller->kind != kind || !controller->outward_reasons)
            continue;
        *out = i;
        return gather_is_synced(engine, controller);
    }
    return false;
}

static void trial_drop(struct trial *trial)
{
    if (trial->verdict.lane)
        secret_unref(trial->verdict.lane->secret);
    trial->verdict = (struct verdict){0};
}

static void trial_decide(struct trial *trial, const struct receipt *receipts, size_t count)
{
    struct engine *engine = trial->engine;
    trial_drop(trial);
    trial->snapshot = (struct snapshot){
        .arena = engine->arena,
        .namespace_ = object_namespace(trial->subject),
        .name = object_name(trial->subject),
        .subject = trial->subject,
        .receipts = receipts,
        .receipt_count = count,
        .now_ms = loop_unix_ms(engine->loop),
        .started_ms = engine->started_unix_ms,
        .settings = engine->controllers[trial->controller].settings,
        .trace = NO_TRACE,
    };
    gather_fill(engine, trial->controller, &trial->snapshot);
    controller_of(trial)->decide(&trial->snapshot, NULL, &trial->verdict);
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
        .book = want->book,
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
static void trial_contest(struct trial *trial)
{
    struct engine *engine = trial->engine;
    struct receipt *receipts =
        arena_new_array(engine->arena, struct receipt, trial->verdict.claim_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < trial->verdict.claim_count; i++) {
        const struct claim_want *want = &trial->verdict.claims[i];
        const struct object *holder = want->intent == CLAIM_SET
                                          ? book_holder(engine, trial->key, trial->subject, want)
                                          : NULL;
        if (holder)
            receipts[count++] = lost_to(engine->arena, want, holder);
    }
    if (count)
        trial_decide(trial, receipts, count);
}

static bool is_outward(const struct controller *controller, struct text reason)
{
    for (const char *const *at = controller->outward_reasons; *at; at++)
        if (text_is(reason, *at))
            return true;
    return false;
}

static bool is_told(const struct findings *findings, struct text text)
{
    for (size_t i = 0; i < findings->count; i++)
        if (text_is(text, findings->items[i].text))
            return true;
    return false;
}

static void trial_tell(const struct trial *trial, enum finding_level level,
                       struct findings *findings)
{
    value_each (condition, value_find(trial->verdict.status, "conditions")) {
        struct text message = value_text_at(condition, "message");
        if (is_outward(controller_of(trial), value_text_at(condition, "reason")) &&
            !is_told(findings, message))
            findings_add(findings, level, "", "%.*s", TEXT_ARGS(message));
    }
}

static void trial_judge(struct trial *trial, enum finding_level level, struct findings *findings)
{
    arena_reset(trial->engine->arena);
    trial_decide(trial, NULL, 0);
    trial_contest(trial);
    trial_tell(trial, level, findings);
    trial_drop(trial);
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
    struct trial trial = {.engine = engine};
    judge_alone(engine, kind, tree, findings);
    if (!has_short_names(tree) || !find_controller(engine, kind, &trial.controller))
        return;
    struct object *subject = object_new(kind, controller_of(&trial)->finalizer, tree);
    if (!subject->created_s)
        subject->created_s = (uint32_t)(loop_unix_ms(engine->loop) / 1000);
    trial.subject = subject;
    trial.key = key_find(engine, trial.controller, object_namespace(subject), object_name(subject));
    // What nobody has asked the store for may be there all the same.
    if (gather_is_known(engine, controller_of(&trial), subject))
        trial_judge(&trial, level, findings);
    object_unref(subject);
}
