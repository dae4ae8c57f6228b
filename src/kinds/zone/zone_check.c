#include "kinds/zone/zone_body.h"

static const struct dname root = {(const uint8_t *)"", 1};

static enum reason refuse_name(const char *text, enum reason reason, struct error *err)
{
    (void)error_set(err, FAULT_SPEC, NULL, "spec.domainName%s", text);
    return reason;
}

enum reason zone_read_name(const struct zone_spec *spec, uint8_t out[DNAME_MAX], struct dname *name,
                           struct error *err)
{
    bool has_ref = spec->ref.name.at != NULL;
    if (text_is(spec->domain_name, "@"))
        return refuse_name(": @ is for records: name the zone", REASON_INVALID_NAME, err);
    if (!dname_read(spec->domain_name, &root, DNAME_OF_OBJECT, out, name, err)) {
        (void)error_prefix(err, "spec.domainName: ");
        return REASON_INVALID_NAME;
    }
    if (dname_is_root(*name))
        return refuse_name(": the root is not a zone", REASON_INVALID_NAME, err);
    if (dname_text_is_full(spec->domain_name) != has_ref)
        return REASON_NONE;
    if (has_ref)
        return refuse_name(" ends with a dot and spec.zoneRef is set: drop one",
                           REASON_NAME_AND_ZONE_REF, err);
    return refuse_name(" is not complete: end it with a dot, or set spec.zoneRef",
                       REASON_NAME_INCOMPLETE, err);
}

void zone_timers(const struct zone_spec *spec, struct zone_timer out[ZONE_TIMERS])
{
    out[0] = (struct zone_timer){"spec.ttl", spec->ttl_s, INT32_MAX};
    out[1] = (struct zone_timer){"spec.refresh", spec->refresh_s, UINT32_MAX};
    out[2] = (struct zone_timer){"spec.retry", spec->retry_s, UINT32_MAX};
    out[3] = (struct zone_timer){"spec.expire", spec->expire_s, UINT32_MAX};
    out[4] = (struct zone_timer){"spec.negativeResponseCache", spec->minimum_s, UINT32_MAX};
}

bool zone_timer_check(const struct zone_timer *timer, struct error *err)
{
    if (timer->value >= 0 && timer->value <= timer->max)
        return true;
    return error_set(err, FAULT_SPEC, NULL, "%lld is not within 0..%lld", (long long)timer->value,
                     (long long)timer->max);
}

void zone_validate(const struct value *object, struct findings *findings)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    struct error err;
    struct zone_spec spec;
    struct zone_timer timers[ZONE_TIMERS];
    zone_decode(findings->arena, object, &spec);
    zone_timers(&spec, timers);
    if (zone_read_name(&spec, octets, &name, &err))
        findings_add(findings, FINDING_ERROR, "spec.domainName", "%s", err.text);
    for (size_t i = 0; i < ZONE_TIMERS; i++)
        if (!zone_timer_check(&timers[i], &err))
            findings_add(findings, FINDING_ERROR, timers[i].field, "%s: %s", timers[i].field,
                         err.text);
}
