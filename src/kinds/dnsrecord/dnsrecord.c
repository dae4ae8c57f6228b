#include "kinds/dnsrecord/dnsrecord.h"

#include "kinds/dnsrecord/dnsrecord_body.h"

#define PREFIX DNS_GROUP "/"

// What a number is that the schema refuses, when an older schema let it through.
enum { NUMBER_ABSENT = -1, NUMBER_LOW = INT32_MIN, NUMBER_HIGH = INT32_MAX };

const char *const dnsrecord_condition_types[] = {"Ready", "Accepted", NULL};

static int32_t number_at(const struct value *spec, const char *path)
{
    const struct value *found = value_at(spec, path, NULL);
    if (!found || found->type != VALUE_INT)
        return NUMBER_ABSENT;
    if (found->integer < 0)
        return NUMBER_LOW;
    return found->integer > NUMBER_HIGH ? NUMBER_HIGH : (int32_t)found->integer;
}

static void values_decode(struct arena *arena, const struct value *list, struct dnsrecord *out)
{
    out->value_count = 0;
    out->values = arena_new_array(arena, struct text, value_count(list) + 1);
    value_each (item, list && list->type == VALUE_LIST ? list : NULL)
        out->values[out->value_count++] = value_text(item);
}

static void annotations_decode(const struct value *annotations, struct dnsrecord *out)
{
    out->is_paused = text_is(value_text(value_find(annotations, PREFIX "paused")), "true");
    out->is_force_deleted =
        text_is(value_text(value_find(annotations, PREFIX "force-delete")), "true");
    out->retry = value_text(value_find(annotations, PREFIX "retry"));
}

void dnsrecord_decode(struct arena *arena, const struct value *object, struct dnsrecord *out)
{
    const struct value *spec = value_find(object, "spec");
    *out = (struct dnsrecord){
        .type = value_text_at(spec, "type"),
        .domain = value_text_at(spec, "domain"),
        .subdomain = value_text_at(spec, "subdomain"),
        .class_name = value_text_at(spec, "dnsClassRef.name"),
        .ttl_s = value_int_at(spec, "ttl", 0),
        .priority = number_at(spec, "metadata.priority"),
        .weight = number_at(spec, "metadata.weight"),
        .port = number_at(spec, "metadata.port"),
        .is_retained = text_is(value_text_at(spec, "deletionPolicy"), "Retain"),
    };
    values_decode(arena, value_find(spec, "values"), out);
    annotations_decode(value_at(object, "metadata.annotations", NULL), out);
}

static const char *show_numbers(struct arena *arena, const struct dnsrecord *record)
{
    if (record->priority < 0)
        return "";
    if (record->weight < 0 || record->port < 0)
        return arena_printf(arena, "%d ", record->priority);
    return arena_printf(arena, "%d %d %d ", record->priority, record->weight, record->port);
}

void dnsrecord_list_names(const struct value *object, struct kind_names *out)
{
    struct dnsrecord record;
    dnsrecord_decode(out->arena, object, &record);
    bool is_apex = !record.subdomain.len || text_is(record.subdomain, "@");
    const char *name = arena_printf(out->arena, "%.*s%s%.*s", TEXT_ARGS(record.subdomain),
                                    is_apex ? "" : ".", TEXT_ARGS(record.domain));
    struct text values = kind_names_join(out->arena, value_at(object, "spec.values", NULL));
    struct kind_name *added =
        kind_names_add(out, KIND_NAME_RECORDS, is_apex ? record.domain : text_of(name));
    added->type = record.type;
    added->values = text_of(
        arena_printf(out->arena, "%s%.*s", show_numbers(out->arena, &record), TEXT_ARGS(values)));
    added->through_kind = "DNSClass";
    added->through_name = record.class_name;
}

void dnsrecord_validate(const struct value *object, struct findings *findings)
{
    struct dnsrecord record;
    struct record_set set;
    dnsrecord_decode(findings->arena, object, &record);
    dnsrecord_resolve(findings->arena, &record, DNSRECORD_TTL_DEFAULT, &set, findings);
}
