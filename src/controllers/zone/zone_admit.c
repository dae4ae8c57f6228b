#include "controllers/zone/zone_reconcile.h"
#include "controllers/zone/zone_tree_private.h"
#include "controllers/zone/zone_tree_rules.h"
#include "dns/zone_compiler.h"

// A Zone without its neighbours: the same readers as for its status, and no other object.

static const struct zone_tree_settings alone = {.is_open = false};

static void warn(struct findings *findings, enum reason reason, struct text text)
{
    findings_add(findings, FINDING_WARNING, "", "%s: %.*s", reason_name(reason), TEXT_ARGS(text));
}

static void warn_of_rules(struct findings *findings, const struct zone_spec *spec,
                          struct dname apex)
{
    static const enum reason reasons[RULES_ODDITIES] = {
        [RULES_INVALID] = REASON_INVALID_PATTERN,
        [RULES_LOOKS_ABSOLUTE] = REASON_PATTERN_LOOKS_ABSOLUTE,
        [RULES_OUTSIDE] = REASON_PATTERN_OUTSIDE_ZONE,
    };
    // Where a name is completed by another zone's, nothing is known to be outside.
    size_t count = spec->ref.name.at ? RULES_INVALID + 1 : RULES_ODDITIES;
    CLEANUP(rules) struct rules *rules = rules_new(spec, apex);
    for (enum rules_oddity oddity = 0; oddity < count; oddity++) {
        AUTO_BUFFER text = {0};
        if (!rules_have(rules, oddity))
            continue;
        rules_explain(spec, apex, oddity, &text);
        warn(findings, reasons[oddity], buffer_text(&text));
    }
}

struct warner {
    struct findings *findings;
    bool is_partial;
};

// Passes on the warnings of the compiler that no other object can take back.
static void warn_of_frame(void *context, enum zone_reason reason, struct text text)
{
    const struct warner *warner = context;
    if (reason == ZONE_SOA_TIMERS)
        warn(warner->findings, REASON_SOA_TIMERS, text);
    else if (reason == ZONE_ADDRESS_IGNORED && !warner->is_partial)
        warn(warner->findings, REASON_ADDRESS_IGNORED, text);
}

static void compile_alone(struct warner *warner, struct dname apex, const struct zone_frame *frame)
{
    static const struct zone_compiler_ops no_records = {.slab = NULL};
    struct zone_compiler *compiler = zone_compiler_new(apex, &no_records);
    zone_compiler_set_frame(compiler, frame);
    zone_compiler_settle(compiler, NULL, NULL);
    zone_compiler_warnings(compiler, warn_of_frame, warner);
    zone_compiler_free(compiler);
}

static void add_error(struct findings *findings, enum reason reason, const struct error *err)
{
    if (reason)
        findings_add(findings, FINDING_ERROR, "", "%s", err->text);
}

void zone_admit(const struct value *object, struct findings *findings)
{
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    struct zone_spec spec;
    struct zone_frame frame;
    struct frame_errors errors;
    zone_decode(findings->arena, object, &spec);
    if (zone_read_name(&spec, octets, &apex, NULL))
        return;
    struct frame_faults faults = frame_make(&alone, findings->arena, apex, &spec, &frame, &errors);
    add_error(findings, faults.accepted, &errors.accepted);
    add_error(findings, faults.ready, &errors.ready);
    warn_of_rules(findings, &spec, apex);
    struct warner warner = {findings, spec.ref.name.at != NULL};
    compile_alone(&warner, apex, &frame);
}
