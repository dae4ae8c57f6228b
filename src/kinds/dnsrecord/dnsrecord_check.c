#include "kinds/dnsrecord/dnsrecord_body.h"

// One check of a record: what it reads, what it has found out, where faults go.
struct check {
    struct arena *arena;
    const struct dnsrecord *record;
    struct findings *findings;
    struct record_set *set;
    bool has_type;
    struct text *values; // of the result
};

#define FAULT(check, path, ...) findings_add((check)->findings, FINDING_ERROR, (path), __VA_ARGS__)
#define WARNING(check, path, ...)                                                                  \
    findings_add((check)->findings, FINDING_WARNING, (path), __VA_ARGS__)

static const char *value_path(struct check *check, size_t i)
{
    return arena_printf(check->arena, "spec.values[%zu]", i);
}

static void check_type(struct check *check)
{
    struct text type = check->record->type;
    if (type.len == 0)
        FAULT(check, "spec.type", "spec.type is required");
    else if (record_type_parse(type, &check->set->type))
        check->has_type = true;
    else
        FAULT(check, "spec.type", "unsupported record type: %.*s", TEXT_ARGS(type));
}

static void warn_hyphens(struct check *check, const char *path, struct text name)
{
    struct text label;
    for (struct text rest = name; text_cut(&rest, '.', &label);)
        if (text_starts(label, "-") || text_ends(label, "-")) {
            WARNING(check, path, "%s: label %.*s begins or ends with a hyphen", path,
                    TEXT_ARGS(label));
            return;
        }
}

static void check_domain(struct check *check)
{
    struct error err;
    struct text domain = check->record->domain;
    if (domain.len == 0) {
        FAULT(check, "spec.domain", "spec.domain is required");
        return;
    }
    if (!domain_normalise(check->arena, domain, &check->set->domain, &err)) {
        FAULT(check, "spec.domain", "spec.domain must be a valid domain name: %s", err.text);
        return;
    }
    struct text first;
    struct text rest = check->set->domain;
    if (text_cut(&rest, '.', &first) && !rest.at)
        WARNING(check, "spec.domain", "spec.domain: %.*s is a single label", TEXT_ARGS(first));
    warn_hyphens(check, "spec.domain", check->set->domain);
}

static void check_subdomain(struct check *check)
{
    struct error err;
    struct text joined;
    struct text subdomain = check->record->subdomain;
    if (subdomain.len == 0) {
        FAULT(check, "spec.subdomain", "spec.subdomain is required");
        return;
    }
    bool is_name = subdomain_normalise(check->arena, subdomain, &check->set->subdomain, &err);
    if (is_name && check->set->domain.len)
        is_name = record_name_join(check->arena, check->set->domain, check->set->subdomain, &joined,
                                   &err);
    if (is_name)
        warn_hyphens(check, "spec.subdomain", check->set->subdomain);
    else
        FAULT(check, "spec.subdomain", "spec.subdomain must be '@' or a valid subdomain: %s",
              err.text);
}

static bool is_listed(const struct check *check, struct text value)
{
    for (size_t i = 0; i < check->set->value_count; i++)
        if (text_equal(check->values[i], value))
            return true;
    return false;
}

static void check_value(struct check *check, size_t i)
{
    struct error err;
    struct text out;
    struct text value = check->record->values[i];
    const char *path = value_path(check, i);
    enum record_type type = check->set->type;
    if (value.len == 0) {
        FAULT(check, path, "%s cannot be empty", path);
        return;
    }
    if (value.len > DNSRECORD_VALUE_OCTETS_MAX) {
        FAULT(check, path, "%s must have at most %d octets", path, DNSRECORD_VALUE_OCTETS_MAX);
        return;
    }
    if (!check->has_type)
        return;
    if (!record_value_normalise(check->arena, type, value, &out, &err)) {
        FAULT(check, path, "%s must be %s %s: %s", path, type == RECORD_TXT ? "valid" : "a valid",
              record_value_noun(type), err.text);
        return;
    }
    if (is_listed(check, out))
        WARNING(check, path, "%s: is there twice, one is enough", path);
    else
        check->values[check->set->value_count++] = out;
}

static void check_values(struct check *check)
{
    size_t count = check->record->value_count;
    if (count == 0)
        FAULT(check, "spec.values", "spec.values must have at least one value");
    if (count > DNSRECORD_VALUES_MAX) {
        FAULT(check, "spec.values", "spec.values must have at most %d values",
              DNSRECORD_VALUES_MAX);
        return;
    }
    check->values = arena_new_array(check->arena, struct text, count + 1);
    check->set->values = check->values;
    for (size_t i = 0; i < count; i++)
        check_value(check, i);
}

static void check_class(struct check *check)
{
    if (check->record->class_name.len == 0)
        FAULT(check, "spec.dnsClassRef.name", "spec.dnsClassRef.name is required");
}

static void check_ttl(struct check *check, uint32_t default_ttl_s)
{
    int64_t ttl_s = check->record->ttl_s;
    if (ttl_s < 0 || ttl_s > INT32_MAX)
        FAULT(check, "spec.ttl", "spec.ttl must be between 1 and %d", INT32_MAX);
    else
        check->set->ttl_s = ttl_s ? (uint32_t)ttl_s : default_ttl_s;
}

static bool is_root(struct text value)
{
    return text_is(value, ".");
}

static bool has_root_value(const struct check *check)
{
    for (size_t i = 0; i < check->set->value_count; i++)
        if (is_root(check->values[i]))
            return true;
    return false;
}

static void check_cname(struct check *check)
{
    struct text owner;
    const struct record_set *set = check->set;
    if (check->record->value_count > 1)
        FAULT(check, "spec.values", "CNAME records must have exactly one value");
    if (text_is(set->subdomain, "@"))
        WARNING(check, "spec.subdomain",
                "spec.subdomain: a CNAME at the domain itself is flattened or refused by servers");
    if (!set->domain.len || !set->subdomain.len || set->value_count != 1)
        return;
    if (record_name_join(check->arena, set->domain, set->subdomain, &owner, NULL) &&
        text_equal_nocase(owner, set->values[0]))
        FAULT(check, "spec.values[0]",
              "spec.values[0] must be a valid domain name: a CNAME can't point to itself");
}

static void check_txt(struct check *check)
{
    for (size_t i = 0; i < check->record->value_count && i < DNSRECORD_VALUES_MAX; i++) {
        struct text value = check->record->values[i];
        const char *path = value_path(check, i);
        if (value.len >= 2 && text_starts(value, "\"") && text_ends(value, "\""))
            WARNING(check, path, "%s: the quotes become part of the text", path);
    }
}

static void check_mx(struct check *check)
{
    if (check->record->priority == -1)
        FAULT(check, "spec.metadata.priority", "MX records must have spec.metadata.priority");
    if (has_root_value(check) && (check->set->value_count > 1 || check->record->priority > 0))
        FAULT(check, "spec.values",
              "spec.values must be valid domain names: a null MX (.) stands alone, "
              "with priority 0");
}

static void check_srv(struct check *check)
{
    const struct dnsrecord *record = check->record;
    if (record->priority == -1 && record->weight == -1 && record->port == -1) {
        FAULT(check, "spec.metadata",
              "SRV records must have spec.metadata: priority, weight and port");
    } else {
        if (record->priority == -1)
            FAULT(check, "spec.metadata.priority", "SRV records must have spec.metadata.priority");
        if (record->weight == -1)
            FAULT(check, "spec.metadata.weight", "SRV records must have spec.metadata.weight");
        if (record->port == -1)
            FAULT(check, "spec.metadata.port", "SRV records must have spec.metadata.port");
    }
    if (has_root_value(check) && check->set->value_count > 1)
        FAULT(check, "spec.values",
              "spec.values must be valid domain names: . (the service is absent) stands alone");
    struct text first;
    struct text rest = check->set->subdomain;
    bool has_first = text_cut(&rest, '.', &first);
    if (has_first && !(text_starts(first, "_") && text_starts(rest, "_")))
        WARNING(check, "spec.subdomain",
                "spec.subdomain: an SRV name begins with two labels like _sip._tcp");
}

static void check_ptr(struct check *check)
{
    struct text domain = check->set->domain;
    if (domain.len && !name_is_within(domain, TEXT("in-addr.arpa")) &&
        !name_is_within(domain, TEXT("ip6.arpa")))
        WARNING(check, "spec.domain",
                "spec.domain: PTR records usually lie below in-addr.arpa or ip6.arpa");
}

static void check_number(struct check *check, const char *path, int32_t number, bool is_used,
                         int32_t *out)
{
    *out = -1;
    if (number < -1 || number > UINT16_MAX)
        FAULT(check, path, "%s must be between 0 and 65535", path);
    else if (number >= 0 && !is_used)
        WARNING(check, path, "%s: is ignored, only MX and SRV records have such numbers", path);
    else
        *out = number;
}

static void check_numbers(struct check *check)
{
    const struct dnsrecord *record = check->record;
    bool is_srv = check->set->type == RECORD_SRV;
    bool is_mx = check->set->type == RECORD_MX;
    struct record_set *set = check->set;
    check_number(check, "spec.metadata.priority", record->priority, is_mx || is_srv,
                 &set->priority);
    check_number(check, "spec.metadata.weight", record->weight, is_srv, &set->weight);
    check_number(check, "spec.metadata.port", record->port, is_srv, &set->port);
}

// What only one type asks for, beyond each value's form.
static void (*const by_type[RECORD_TYPES])(struct check *) = {
    [RECORD_CNAME] = check_cname, [RECORD_TXT] = check_txt, [RECORD_MX] = check_mx,
    [RECORD_SRV] = check_srv,     [RECORD_PTR] = check_ptr,
};

bool dnsrecord_resolve(struct arena *arena, const struct dnsrecord *record, uint32_t default_ttl_s,
                       struct record_set *out, struct findings *findings)
{
    struct record_set set = {.priority = -1, .weight = -1, .port = -1};
    struct check check = {
        .arena = arena, .record = record, .findings = findings, .set = &set, .has_type = false};
    size_t before = findings_errors(findings);
    check_type(&check);
    check_domain(&check);
    check_subdomain(&check);
    check_class(&check);
    check_values(&check);
    check_ttl(&check, default_ttl_s);
    if (check.has_type) {
        check_numbers(&check);
        if (by_type[set.type])
            by_type[set.type](&check);
    }
    if (findings_errors(findings) > before)
        return false;
    *out = set;
    return true;
}
