#include <string.h>

#include "dns/rdata.h"
#include "dns/rr_type.h"
#include "kinds/record/record_body.h"

enum { TTL_MAX_S = INT32_MAX };

static const struct dname root = {(const uint8_t *)"", 1};

enum reason record_read_name(const struct record_spec *spec, uint8_t out[DNAME_MAX],
                             struct dname *name, struct error *err)
{
    bool has_ref = spec->ref.name.at != NULL;
    if (!dname_read(spec->domain_name, &root, DNAME_OF_OBJECT, out, name, err)) {
        (void)error_prefix(err, "spec.domainName: ");
        return REASON_INVALID_NAME;
    }
    if (dname_text_is_full(spec->domain_name) != has_ref)
        return REASON_NONE;
    (void)error_set(err, FAULT_SPEC, NULL,
                    has_ref ? "spec.domainName ends with a dot and spec.zoneRef is set: drop one"
                            : "spec.domainName is not complete: end it with a dot, or set "
                              "spec.zoneRef");
    return has_ref ? REASON_NAME_AND_ZONE_REF : REASON_NAME_INCOMPLETE;
}

enum reason record_read_type(const struct record_spec *spec, uint16_t *type, struct error *err)
{
    bool is_read = rr_type_read(spec->type, type);
    if (is_read && !rr_type_is_reserved(*type))
        return REASON_NONE;
    (void)error_set(err, FAULT_SPEC, NULL,
                    is_read ? "spec.type %.*s is not for records: the zone makes it"
                            : "spec.type %.*s is no RR type",
                    TEXT_ARGS(spec->type));
    return is_read ? REASON_RESERVED_TYPE : REASON_INVALID_TYPE;
}

enum reason record_check_ttl(const struct record_spec *spec, struct error *err)
{
    if (!spec->has_ttl || (spec->ttl_s >= 0 && spec->ttl_s <= TTL_MAX_S))
        return REASON_NONE;
    if (spec->ttl_s == RECORD_TTL_UNREAD)
        (void)error_set(err, FAULT_SPEC, NULL, "spec.ttl is no whole number");
    else
        (void)error_set(err, FAULT_SPEC, NULL, "spec.ttl %lld is not within 0..%d",
                        (long long)spec->ttl_s, TTL_MAX_S);
    return REASON_INVALID_TTL;
}

enum reason record_check_class(const struct record_spec *spec, struct error *err)
{
    if (text_equal_nocase(spec->class_, TEXT("IN")))
        return REASON_NONE;
    if (!spec->class_.len)
        (void)error_set(err, FAULT_SPEC, NULL, "spec.class is no class; the zone's is IN");
    else
        (void)error_set(err, FAULT_SPEC, NULL, "spec.class %.*s is not the zone's, which is IN",
                        TEXT_ARGS(spec->class_));
    return REASON_CLASS_MISMATCH;
}

// RFC 9460 2.4.2: priority 0 makes an alias.
static bool is_self_alias(uint16_t type, struct dname owner, struct text rdata)
{
    struct dname target;
    return (type == RR_SVCB || type == RR_HTTPS) && rdata.len > 2 && !rdata.at[0] && !rdata.at[1] &&
           rdata_target(type, rdata, &target) && dname_equal(target, owner);
}

static enum reason check_owner(uint16_t type, struct dname owner, struct text rdata,
                               struct error *err)
{
    if (!rdata_fits_message(owner, rdata)) {
        (void)error_set(err, FAULT_SPEC, NULL,
                        "spec.rdata: %zu octets do not fit one message with their name", rdata.len);
        return REASON_INVALID_RDATA;
    }
    if (type == RR_NS && dname_is_wildcard(owner)) {
        (void)error_set(err, FAULT_SPEC, NULL, "NS records cannot stand at a wildcard");
        return REASON_WILDCARD_NS;
    }
    if (!is_self_alias(type, owner, rdata))
        return REASON_NONE;
    (void)error_set(err, FAULT_SPEC, NULL, "spec.rdata: the alias points at its own name");
    return REASON_SVCB_SELF_ALIAS;
}

// U+0080 to U+009F: of an object, whose text is UTF-8. In a zone file octets stand for themselves.
static const char *find_wide_control(struct text text)
{
    const char *end = text.at + text.len;
    const char *at = text.at;
    while (at && (at = memchr(at, 0xc2, (size_t)(end - at))) && end - at > 1) {
        if ((uint8_t)at[1] < 0xa0)
            return at;
        at++;
    }
    return NULL;
}

enum reason record_read_rdata(const struct record_spec *spec, const struct record_place *place,
                              struct buffer *rdata, unsigned *marks, struct error *err)
{
    const struct rdata_rules rules = {.origin = &place->zone, .names = DNAME_OF_OBJECT};
    const char *control = find_wide_control(spec->rdata);
    buffer_clear(rdata);
    *marks = 0;
    if (control) {
        (void)error_set(
            err, FAULT_SPEC, NULL,
            "spec.rdata: control character \\194\\%03u: write it as escapes in quotes (at "
            "character %zu)",
            (unsigned)(uint8_t)control[1], (size_t)(control - spec->rdata.at) + 1);
        return REASON_INVALID_RDATA;
    }
    if (rdata_read(place->type, spec->rdata, &rules, rdata, marks, NULL))
        return check_owner(place->type, place->owner, buffer_text(rdata), err);
    // Most are well: only of the others a text is made.
    struct error why = {.reason = ""};
    buffer_clear(rdata);
    (void)rdata_read(place->type, spec->rdata, &rules, rdata, marks, &why);
    enum reason reason = reason_find(text_of(why.reason));
    (void)error_set(err, FAULT_SPEC, NULL, "spec.rdata: %s", why.text);
    return reason ? reason : REASON_INVALID_RDATA;
}

// ---- all of it ----------------------------------------------------------------------------------

static void report_fault(struct findings *findings, enum reason reason, const char *path,
                         const struct error *err)
{
    if (reason)
        findings_add(findings, FINDING_ERROR, path, "%s", err->text);
}

// Which zone completes it is not known: one whose name nobody can write stands for it.
static void check_rdata(const struct record_spec *spec, uint16_t type, struct dname own,
                        struct findings *findings)
{
    static const struct dname some = {(const uint8_t *)"\1\0", 3};
    unsigned marks;
    struct error err;
    AUTO_BUFFER owner = {0};
    AUTO_BUFFER rdata = {0};
    buffer_add(&owner, own.at, own.len - 1);
    if (spec->ref.name.at)
        buffer_add(&owner, some.at, some.len);
    else
        buffer_add(&owner, root.at, root.len);
    const struct record_place place = {type, some, {(const uint8_t *)owner.at, owner.len}};
    enum reason reason = record_read_rdata(spec, &place, &rdata, &marks, &err);
    report_fault(findings, reason, reason == REASON_WILDCARD_NS ? "spec.domainName" : "spec.rdata",
                 &err);
}

void record_validate(const struct value *object, struct findings *findings)
{
    uint8_t octets[DNAME_MAX];
    struct dname own = root;
    uint16_t type;
    struct error err;
    struct record_spec spec;
    record_decode(object, &spec);
    report_fault(findings, record_read_name(&spec, octets, &own, &err), "spec.domainName", &err);
    enum reason of_type = record_read_type(&spec, &type, &err);
    report_fault(findings, of_type, "spec.type", &err);
    report_fault(findings, record_check_ttl(&spec, &err), "spec.ttl", &err);
    report_fault(findings, record_check_class(&spec, &err), "spec.class", &err);
    if (!of_type)
        check_rdata(&spec, type, own, findings);
}
