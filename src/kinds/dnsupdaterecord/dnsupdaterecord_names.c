#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"

#include "dns/record.h"
#include "dns/registry_name.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord_body.h"
#include "kinds/dnsupdaterecord/external_dns_render.h"

static struct text without_dot(struct text domain)
{
    bool has_dot = text_starts(domain, ".");
    return (struct text){domain.at + has_dot, domain.len - has_dot};
}

// In the form of published names, with the dot in front. What is no domain stays as it is.
static struct text normal_domain(struct arena *arena, struct text domain)
{
    struct error err;
    struct text normal;
    if (!domain_normalise(arena, without_dot(domain), &normal, &err))
        return domain;
    return text_starts(domain, ".") ? text_of(arena_printf(arena, ".%.*s", TEXT_ARGS(normal)))
                                    : normal;
}

const struct text *update_record_domains(struct arena *arena, const struct value *value,
                                         size_t *count)
{
    const struct text *entries = external_dns_entries(arena, value, count);
    struct text *domains = arena_new_array(arena, struct text, *count + 1);
    for (size_t i = 0; i < *count; i++)
        domains[i] = normal_domain(arena, entries[i]);
    return domains;
}

// A dot in front of either does not count.
static bool covers(struct text wide, struct text narrow)
{
    wide = without_dot(wide);
    narrow = without_dot(narrow);
    return wide.len && name_is_within(narrow, wide);
}

bool update_record_domains_cover(const struct text *wide, size_t count, struct text narrow)
{
    for (size_t i = 0; i < count; i++)
        if (covers(wide[i], narrow))
            return true;
    return false;
}

// A filter that begins with a dot is for names below the domain, not for the domain itself.
static bool is_matched(const struct text *filters, size_t count, struct text name)
{
    for (size_t i = 0; i < count; i++) {
        bool is_below_only = text_starts(filters[i], ".");
        bool is_itself = text_equal(without_dot(filters[i]), name);
        if (covers(filters[i], name) && !(is_below_only && is_itself))
            return true;
    }
    return false;
}

static bool is_in_filter(struct arena *arena, const struct update_record *record, struct text name)
{
    size_t filter_count;
    size_t exclude_count;
    const struct text *filters =
        update_record_domains(arena, record->values[PARAMETER_DOMAIN_FILTER], &filter_count);
    const struct text *excludes =
        update_record_domains(arena, record->values[PARAMETER_EXCLUDE_DOMAINS], &exclude_count);
    return (!filter_count || is_matched(filters, filter_count, name)) &&
           !is_matched(excludes, exclude_count, name);
}

// What a pinned record asks for anew comes into force with a move alone.
static struct text text_in_force(const struct update_record *record, enum external_dns_id id)
{
    return record->has_pinned && record->pinned.place.len
               ? external_dns_place_find(&record->pinned, text_of(external_dns_parameters[id].name))
               : update_record_text(record, id);
}

struct text update_record_registry(const struct update_record *record)
{
    return text_in_force(record, PARAMETER_REGISTRY);
}

struct registry_affix update_record_affix(const struct update_record *record)
{
    return (struct registry_affix){
        .prefix = record->has_pinned ? record->pinned.txt_prefix
                                     : update_record_text(record, PARAMETER_TXT_PREFIX),
        .suffix = text_in_force(record, PARAMETER_TXT_SUFFIX),
        .wildcard = text_in_force(record, PARAMETER_TXT_WILDCARD_REPLACEMENT),
    };
}

enum reason update_record_name_fault(struct arena *arena, const struct update_record *record,
                                     struct text name, struct text type, const char **text)
{
    struct error err;
    const struct registry_affix affix = update_record_affix(record);
    if (!is_in_filter(arena, record, name)) {
        *text = arena_printf(arena,
                             "domain-filter or exclude-domains of DNSUpdateRecord %.*s leave the "
                             "name out",
                             TEXT_ARGS(record->name));
        return REASON_OUTSIDE_DOMAIN_FILTER;
    }
    if (!text_is(update_record_registry(record), "txt") ||
        registry_name_fits(name, type, &affix, &err))
        return REASON_NONE;
    *text = arena_copy_text(arena, err.text);
    return REASON_NAME_TOO_LONG_FOR_REGISTRY;
}

// External-dns of any other provider has no choice but to list.
static bool lists_records(const struct update_record *record)
{
    bool is_sync = text_is(update_record_text(record, PARAMETER_POLICY), "sync");
    return record->is_native || record->provider != EXTERNAL_DNS_RFC2136 ||
           update_record_bool(record, PARAMETER_RFC2136_TSIG_AXFR, is_sync);
}

bool update_record_lists_by_axfr(const struct update_record *record)
{
    return record->provider == EXTERNAL_DNS_RFC2136 && !record->is_native && lists_records(record);
}

const char *update_record_why_names_stay(const struct update_record *record)
{
    if (!text_is(update_record_text(record, PARAMETER_POLICY), "sync"))
        return "its policy removes nothing";
    return lists_records(record) ? NULL
                                 : "without rfc2136-tsig-axfr external-dns lists nothing, and "
                                   "removes nothing";
}

bool update_record_is_dry_run(const struct update_record *record)
{
    return update_record_bool(record, PARAMETER_DRY_RUN, false);
}

// The domains that it may publish in; without a filter it says nothing.
void update_record_list_names(const struct value *object, struct kind_names *out)
{
    struct update_record record;
    struct findings findings = {.arena = out->arena};
    size_t count = 0;
    update_record_decode(out->arena, object, &findings, &record);
    const struct value *filter = record.values[PARAMETER_DOMAIN_FILTER];
    const struct text *domains = filter ? update_record_domains(out->arena, filter, &count) : NULL;
    for (size_t i = 0; i < count; i++)
        kind_names_add(out, KIND_NAME_PLACE, without_dot(domains[i]));
}
