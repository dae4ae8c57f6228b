#include "commands/zone/kubizone.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { LABEL_MAX = 63, FIELD_MAX = 128 };

struct judge {
    kubizone_found *found;
    void *context;
};

static void report_value(const struct judge *judge, const char *field, struct text value,
                         const char *why)
{
    AUTO_BUFFER text = {0};
    buffer_printf(&text, "%s: %.*s: %s", field, TEXT_ARGS(value), why);
    judge->found(judge->context, text.at);
}

// ---- names --------------------------------------------------------------------------------------

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '*';
}

static int octets_of(struct text from)
{
    int count = 1;
    while ((size_t)count < from.len && ((unsigned char)from.at[count] & 0xc0) == 0x80)
        count++;
    return count;
}

static bool find_letter(struct text label, char why[FIELD_MAX])
{
    for (size_t i = 0; i < label.len; i++) {
        struct text rest = {label.at + i, label.len - i};
        if (is_letter(label.at[i]))
            continue;
        snprintf(why, FIELD_MAX, "invalid character %.*s", octets_of(rest), rest.at);
        return true;
    }
    return false;
}

static bool find_hyphen(struct text label, char why[FIELD_MAX])
{
    size_t at = 0;
    if (label.at[0] == '-')
        at = 1;
    else if (label.at[label.len - 1] == '-')
        at = label.len;
    else if (label.len >= 4 && label.at[2] == '-' && label.at[3] == '-')
        at = 3;
    snprintf(why, FIELD_MAX, "illegal hyphen at position %zu", at);
    return at != 0;
}

static size_t count_asterisks(struct text label)
{
    size_t count = 0;
    for (size_t i = 0; i < label.len; i++)
        count += label.at[i] == '*';
    return count;
}

static bool find_fault(struct text label, char why[FIELD_MAX])
{
    if (!label.len)
        snprintf(why, FIELD_MAX, "segment is an empty string");
    else if (label.len > LABEL_MAX)
        snprintf(why, FIELD_MAX, "segment too long %zu > %d", label.len, LABEL_MAX);
    return !label.len || label.len > LABEL_MAX || find_letter(label, why) ||
           find_hyphen(label, why);
}

// Any number of dots ends a full name.
static struct text without_dots(struct text name)
{
    while (name.len && name.at[name.len - 1] == '.')
        name.len--;
    return name;
}

// A label of a name is an asterisk or has none; one of a pattern may hold one.
static bool find_asterisk(struct text label, bool is_pattern, bool is_first, char why[FIELD_MAX])
{
    size_t count = count_asterisks(label);
    if (is_pattern)
        snprintf(why, FIELD_MAX, "patterns can only have one wildcard");
    else if (label.len == 1)
        snprintf(why, FIELD_MAX, "a wildcard stands in front only");
    else
        snprintf(why, FIELD_MAX, "wildcard segments must have length 1");
    return is_pattern ? count > 1 : count && (label.len > 1 || !is_first);
}

static void judge_name(const struct judge *judge, const char *field, struct text name,
                       bool is_pattern)
{
    struct text rest = without_dots(name);
    bool is_first = true;
    char why[FIELD_MAX];
    do {
        const char *dot = rest.len ? memchr(rest.at, '.', rest.len) : NULL;
        struct text label = {rest.at, dot ? (size_t)(dot - rest.at) : rest.len};
        if (find_fault(label, why) || find_asterisk(label, is_pattern, is_first, why)) {
            report_value(judge, field, name, why);
            return;
        }
        rest = dot ? (struct text){dot + 1, rest.len - label.len - 1} : (struct text){0};
        is_first = false;
    } while (rest.at);
}

// ---- types and numbers --------------------------------------------------------------------------

static bool has_type(struct text type)
{
    static const char *const types[] = {
        "A",     "AAAA",  "AFSDB", "APL",    "CAA",      "CDNSKEY",    "CDS",        "CERT",
        "CNAME", "CSYNC", "DHCID", "DLV",    "DNAME",    "DNSKEY",     "DS",         "EUI48",
        "EUI64", "HINFO", "HIP",   "HTTPS",  "IPSECKEY", "KEY",        "KX",         "LOC",
        "MX",    "NAPTR", "NS",    "NSEC",   "NSEC3",    "NSEC3PARAM", "OPENPGPKEY", "PTR",
        "RRSIG", "RP",    "SIG",   "SMIMEA", "SOA",      "SRV",        "SSHFP",      "SVCB",
        "TA",    "TKEY",  "TLSA",  "TSIG",   "TXT",      "URI",        "ZONEMD"};
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (text_is(type, types[i]))
            return true;
    return false;
}

static void judge_type(const struct judge *judge, const char *field, struct text type)
{
    if (!has_type(type))
        report_value(judge, field, type, "Kubizone has no such type");
}

static void judge_number(const struct judge *judge, const char *field, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    if (value < 0 || value > UINT32_MAX)
        report_value(judge, field, text_of(text), "not a number of 32 bits");
}

// ---- objects ------------------------------------------------------------------------------------

static void judge_delegation(const struct judge *judge, const struct zone_delegation *delegation,
                             size_t at)
{
    char field[FIELD_MAX];
    for (size_t i = 0; i < delegation->zone_count; i++) {
        snprintf(field, sizeof field, "spec.delegations[%zu].zones[%zu]", at, i);
        judge_name(judge, field, delegation->zones[i], true);
    }
    for (size_t i = 0; i < delegation->record_count; i++) {
        const struct zone_delegation_records *records = &delegation->records[i];
        snprintf(field, sizeof field, "spec.delegations[%zu].records[%zu].pattern", at, i);
        judge_name(judge, field, records->pattern, true);
        for (size_t k = 0; k < records->type_count; k++) {
            snprintf(field, sizeof field, "spec.delegations[%zu].records[%zu].types[%zu]", at, i,
                     k);
            judge_type(judge, field, records->types[k]);
        }
    }
}

static bool is_full(struct text name)
{
    return name.len && name.at[name.len - 1] == '.';
}

// One below the zone with addresses owns records of status.entries.
static void judge_nameserver(const struct judge *judge, const struct zone_spec *zone, size_t at)
{
    char field[FIELD_MAX];
    const struct zone_spec_nameserver *nameserver = &zone->nameservers[at];
    struct text name = nameserver->name, apex = zone->domain_name;
    bool is_below = !is_full(name) || (name.len >= apex.len && apex.len &&
                                       !memcmp(name.at + name.len - apex.len, apex.at, apex.len));
    snprintf(field, sizeof field, "spec.nameservers[%zu].name", at);
    if (nameserver->address_count && is_below)
        judge_name(judge, field, name, false);
}

void kubizone_judge_zone(const struct zone_spec *zone, kubizone_found *found, void *context)
{
    const struct judge judge = {found, context};
    struct zone_timer timers[ZONE_TIMERS];
    judge_name(&judge, "spec.domainName", zone->domain_name, false);
    for (size_t i = 0; i < zone->delegation_count; i++)
        judge_delegation(&judge, &zone->delegations[i], i);
    zone_timers(zone, timers);
    for (size_t i = 0; i < ZONE_TIMERS; i++)
        judge_number(&judge, timers[i].field, timers[i].value);
    for (size_t i = 0; i < zone->nameserver_count; i++)
        judge_nameserver(&judge, zone, i);
}

void kubizone_judge_record(const struct record_spec *record, kubizone_found *found, void *context)
{
    const struct judge judge = {found, context};
    judge_name(&judge, "spec.domainName", record->domain_name, false);
    judge_type(&judge, "spec.type", record->type);
    if (record->has_ttl)
        judge_number(&judge, "spec.ttl", record->ttl_s);
}
