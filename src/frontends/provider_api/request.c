#include "frontends/provider_api/request.h"

#include <stdio.h>
#include <string.h>

#include "providers/webhook/body.h"

enum { VALUES_MAX = 256, NUMBER_MAX = 65535 };

static bool refuse(struct error *err, const char *code, const char *text)
{
    error_set(err, FAULT_SPEC, "ValidationFailed", "%s", text);
    if (err) {
        err->status = 400;
        snprintf(err->code, sizeof err->code, "%s", code);
    }
    return false;
}

static bool refuse_with(struct error *err, const char *code, const char *head,
                        const struct error *cause)
{
    char text[ERROR_TEXT_MAX + 128];
    snprintf(text, sizeof text, "%s: %s", head, cause->text);
    return refuse(err, code, text);
}

struct text request_zone(const struct text *zones, size_t count, struct text name)
{
    struct text best = {0};
    for (size_t i = 0; i < count; i++)
        if (name_is_within(name, zones[i]) && (!best.at || zones[i].len > best.len))
            best = zones[i];
    return best;
}

static bool read_names(struct arena *arena, const struct request_scope *scope, struct text domain,
                       struct text subdomain, struct record_set *out, struct error *err)
{
    struct error cause;
    struct text name;
    if (!domain_normalise(arena, domain, &out->domain, &cause))
        return refuse_with(err, "INVALID_DOMAIN", "domain", &cause);
    if (!subdomain_normalise(arena, subdomain, &out->subdomain, &cause))
        return refuse_with(err, "INVALID_DOMAIN", "subdomain", &cause);
    if (!record_name_join(arena, out->domain, out->subdomain, &name, &cause))
        return refuse_with(err, "INVALID_DOMAIN", "domain", &cause);
    if (scope->zone_count && !request_zone(scope->zones, scope->zone_count, name).at)
        return refuse(
            err, "INVALID_DOMAIN",
            arena_printf(arena, "%.*s lies in no zone that is served here", TEXT_ARGS(name)));
    return true;
}

static bool read_type(struct arena *arena, const struct request_scope *scope, struct text type,
                      enum record_type *out, struct error *err)
{
    if (!record_type_parse(type, out))
        return refuse(err, "INVALID_RECORD",
                      arena_printf(arena, "unsupported record type: %.*s",
                                   type.len > 32 ? 32 : (int)type.len, type.at ? type.at : ""));
    if (!scope->has_type[*out])
        return refuse(err, "NOT_SUPPORTED",
                      arena_printf(arena, "type %s is not served here", record_type_name(*out)));
    return true;
}

bool request_read_path(struct arena *arena, const struct request_scope *scope, const char *path,
                       struct change *out, struct error *err)
{
    struct text rest = text_of(path);
    struct text type, domain, subdomain;
    if (!text_starts(rest, "/records/"))
        return refuse(err, "INVALID_RECORD", "the path is /records/TYPE/DOMAIN/SUBDOMAIN");
    rest = (struct text){rest.at + 9, rest.len - 9};
    if (!text_cut(&rest, '/', &type) || !text_cut(&rest, '/', &domain) ||
        !text_cut(&rest, '/', &subdomain) || rest.at)
        return refuse(err, "INVALID_RECORD", "the path is /records/TYPE/DOMAIN/SUBDOMAIN");
    struct record_set set = {.priority = -1, .weight = -1, .port = -1};
    if (!read_type(arena, scope, type, &set.type, err) ||
        !read_names(arena, scope, domain, subdomain, &set, err))
        return false;
    out->set = set;
    return true;
}

static bool read_number(const struct value *metadata, const char *key, int32_t *out)
{
    const struct value *number = value_find(metadata, key);
    if (!number)
        return true;
    if (number->type != VALUE_INT || number->integer < 0 || number->integer > NUMBER_MAX)
        return false;
    *out = (int32_t)number->integer;
    return true;
}

// Only the numbers that the type has.
static bool read_metadata(const struct value *record, struct record_set *out, struct error *err)
{
    const struct value *metadata = value_find(record, "metadata");
    if (out->type != RECORD_MX && out->type != RECORD_SRV)
        return true;
    if (!read_number(metadata, "priority", &out->priority))
        return refuse(err, "INVALID_RECORD", "metadata: numbers are 0 to 65535");
    if (out->type == RECORD_SRV && (!read_number(metadata, "weight", &out->weight) ||
                                    !read_number(metadata, "port", &out->port)))
        return refuse(err, "INVALID_RECORD", "metadata: numbers are 0 to 65535");
    return true;
}

// "10 mail.example.com": the numbers stand in the value when there is no metadata.
static bool take_inline(struct record_set *out, struct text *value)
{
    int32_t *const numbers[] = {&out->priority, &out->weight, &out->port};
    size_t count = out->type == RECORD_MX ? 1 : 3;
    struct text rest = *value;
    for (size_t i = 0; i < count; i++) {
        struct text piece;
        int64_t number;
        if (!text_cut(&rest, ' ', &piece) || !rest.at || !text_to_int64(piece, &number) ||
            number < 0 || number > NUMBER_MAX)
            return false;
        if (*numbers[i] >= 0 && *numbers[i] != (int32_t)number)
            return false;
        *numbers[i] = (int32_t)number;
    }
    *value = rest;
    return true;
}

static bool has_numbers(const struct record_set *set)
{
    if (set->type == RECORD_MX)
        return set->priority >= 0;
    return set->type != RECORD_SRV || (set->priority >= 0 && set->weight >= 0 && set->port >= 0);
}

static bool read_value(struct arena *arena, struct text text, bool is_inline,
                       struct record_set *out, struct text *value, struct error *err)
{
    struct error cause;
    if (is_inline && !take_inline(out, &text))
        return refuse(err, "INVALID_RECORD",
                      "MX needs metadata.priority, SRV priority, weight and port; one set has one "
                      "of each");
    if (!record_value_normalise(arena, out->type, text, value, &cause))
        return refuse_with(err, "INVALID_VALUE",
                           arena_printf(arena, "values must be valid, one is not a valid %s",
                                        record_value_noun(out->type)),
                           &cause);
    return true;
}

static bool has_root(const struct record_set *set)
{
    for (size_t i = 0; i < set->value_count; i++)
        if (text_is(set->values[i], "."))
            return set->type == RECORD_MX || set->type == RECORD_SRV;
    return false;
}

static bool read_values(struct arena *arena, const struct value *record, struct record_set *out,
                        struct error *err)
{
    const struct value *list = value_find(record, "values");
    size_t count = value_count(list);
    if (!list || list->type != VALUE_LIST || !count || count > VALUES_MAX)
        return refuse(err, "INVALID_RECORD", "values: a list of 1 to 256 texts");
    struct text *values = arena_new_array(arena, struct text, count);
    bool is_inline = !has_numbers(out);
    value_each (item, list) {
        struct text value;
        if (item->type != VALUE_TEXT)
            return refuse(err, "INVALID_RECORD", "values: a list of 1 to 256 texts");
        if (!read_value(arena, item->text, is_inline, out, &value, err))
            return false;
        bool is_double = false;
        for (size_t i = 0; i < out->value_count; i++)
            is_double |= text_equal(values[i], value);
        if (!is_double)
            values[out->value_count++] = value;
    }
    out->values = values;
    if (out->type == RECORD_CNAME && out->value_count != 1)
        return refuse(err, "INVALID_RECORD", "CNAME records must have exactly one value");
    if (has_root(out) && (out->value_count > 1 || (out->type == RECORD_MX && out->priority > 0)))
        return refuse(err, "INVALID_RECORD",
                      "values: . stands alone, in an MX record with priority 0");
    return true;
}

static bool is_apex(struct arena *arena, const struct request_scope *scope,
                    const struct record_set *set)
{
    struct text name;
    return record_name_join(arena, set->domain, set->subdomain, &name, NULL) &&
           text_equal(request_zone(scope->zones, scope->zone_count, name), name);
}

bool request_read_record(struct arena *arena, const struct request_scope *scope,
                         const struct value *record, struct record_set *out, struct error *err)
{
    struct record_set set = {.priority = -1, .weight = -1, .port = -1};
    const struct value *ttl = value_find(record, "ttl");
    if (!record || record->type != VALUE_MAP)
        return refuse(err, "INVALID_RECORD", "record: expected an object");
    if (!read_type(arena, scope, value_text_at(record, "type"), &set.type, err) ||
        !read_names(arena, scope, value_text_at(record, "domain"),
                    value_text_at(record, "subdomain"), &set, err))
        return false;
    if (ttl && (ttl->type != VALUE_INT || ttl->integer < 0 || ttl->integer > INT32_MAX))
        return refuse(err, "INVALID_RECORD", "ttl: a number from 0 to 2147483647");
    set.ttl_s = ttl ? (uint32_t)ttl->integer : 300;
    if (!read_metadata(record, &set, err) || !read_values(arena, record, &set, err))
        return false;
    if (set.type == RECORD_CNAME && is_apex(arena, scope, &set))
        return refuse(err, "INVALID_RECORD", "a CNAME cannot stand at a zone's apex");
    *out = set;
    return true;
}

bool request_read_upsert(struct arena *arena, const struct request_scope *scope, struct text body,
                         struct change *out, struct error *err)
{
    struct error cause;
    const struct value *tree = value_read_json(arena, body, &body_limits, &cause);
    if (!tree)
        return refuse_with(err, "INVALID_RECORD", "body", &cause);
    if (!text_is(value_text_at(tree, "operation"), "upsert"))
        return refuse(err, "INVALID_RECORD", "operation: expected \"upsert\"");
    if (!request_read_record(arena, scope, value_find(tree, "record"), &out->set, err))
        return false;
    out->op = CHANGE_SET;
    return true;
}
