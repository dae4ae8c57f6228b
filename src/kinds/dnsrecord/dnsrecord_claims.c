#include <string.h>

#include "kinds/dnsrecord/dnsrecord_body.h"

static const struct value_limits annotation_limits = {
    .octets = (size_t)256 * 1024,
    .depth = 8,
    .aliases = 0,
};

static void set_text(struct arena *arena, struct value *map, const char *key, struct text text)
{
    value_set(map, text_of(key), value_make_text(arena, text));
}

static void set_number(struct arena *arena, struct value *map, const char *key, int64_t number)
{
    if (number >= 0)
        value_set(map, text_of(key), value_make_int(arena, number));
}

static struct value *was_encode(struct arena *arena, const struct record_set *was)
{
    struct value *map = value_make(arena, VALUE_MAP);
    struct value *values = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < was->value_count; i++)
        value_append(values, value_make_text(arena, was->values[i]));
    value_set(map, TEXT("values"), values);
    set_number(arena, map, "ttl", was->ttl_s);
    set_number(arena, map, "priority", was->priority);
    set_number(arena, map, "weight", was->weight);
    set_number(arena, map, "port", was->port);
    return map;
}

static struct value *refusal_encode(struct arena *arena, const struct dnsrecord_refusal *refusal)
{
    struct value *map = value_make(arena, VALUE_MAP);
    set_text(arena, map, "spec", refusal->spec);
    set_text(arena, map, "reason", refusal->reason);
    set_text(arena, map, "code", refusal->code);
    set_text(arena, map, "text", refusal->text);
    return map;
}

static struct value *claim_encode(struct arena *arena, const struct dnsrecord_claim *claim)
{
    struct value *map = value_make(arena, VALUE_MAP);
    set_text(arena, map, "class", claim->class_name);
    set_text(arena, map, "server", claim->server);
    set_text(arena, map, "type", text_of(record_type_name(claim->type)));
    set_text(arena, map, "domain", claim->domain);
    set_text(arena, map, "subdomain", claim->subdomain);
    if (claim->replaces.len)
        set_text(arena, map, "replaces", claim->replaces);
    if (claim->was)
        value_set(map, TEXT("was"), was_encode(arena, claim->was));
    if (claim->refusal)
        value_set(map, TEXT("refused"), refusal_encode(arena, claim->refusal));
    return map;
}

bool dnsrecord_claim_is_same_place(const struct dnsrecord_claim *a, const struct dnsrecord_claim *b)
{
    return a->type == b->type && text_equal(a->server, b->server) &&
           text_equal(a->domain, b->domain) && text_equal(a->subdomain, b->subdomain);
}

bool dnsrecord_claim_of(struct arena *arena, const struct dnsrecord *record, struct text server,
                        struct dnsrecord_claim *out)
{
    struct text name;
    *out = (struct dnsrecord_claim){.class_name = record->class_name, .server = server};
    return record->class_name.len && record->domain.len && record->subdomain.len &&
           record_type_parse(record->type, &out->type) &&
           domain_normalise(arena, record->domain, &out->domain, NULL) &&
           subdomain_normalise(arena, record->subdomain, &out->subdomain, NULL) &&
           record_name_join(arena, out->domain, out->subdomain, &name, NULL);
}

const char *dnsrecord_claims_encode(struct arena *arena, const struct dnsrecord_claim *claims,
                                    size_t count)
{
    AUTO_BUFFER json = {0};
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < count; i++)
        value_append(list, claim_encode(arena, &claims[i]));
    value_write_json(&json, list);
    return arena_copy(arena, json.at, json.len);
}

static int32_t number_decode(const struct value *map, const char *key)
{
    int64_t number = value_int_at(map, key, -1);
    return number >= 0 && number <= UINT16_MAX ? (int32_t)number : -1;
}

// NULL when it could not have been sent: then nothing is put back.
static const struct record_set *was_decode(struct arena *arena, const struct value *map,
                                           const struct dnsrecord_claim *key)
{
    const struct value *list = value_find(map, "values");
    size_t count = value_count(list);
    int64_t ttl_s = value_int_at(map, "ttl", 0);
    if (!list || list->type != VALUE_LIST || count == 0 || count > DNSRECORD_VALUES_MAX)
        return NULL;
    if (ttl_s < 1 || ttl_s > INT32_MAX)
        return NULL;
    struct text *values = arena_new_array(arena, struct text, count);
    size_t at = 0;
    value_each (item, list)
        if (!record_value_normalise(arena, key->type, value_text(item), &values[at++], NULL))
            return NULL;
    struct record_set *was = arena_new_of(arena, struct record_set);
    *was = (struct record_set){
        .type = key->type,
        .domain = key->domain,
        .subdomain = key->subdomain,
        .ttl_s = (uint32_t)ttl_s,
        .values = values,
        .value_count = count,
        .priority = number_decode(map, "priority"),
        .weight = number_decode(map, "weight"),
        .port = number_decode(map, "port"),
    };
    return was;
}

static const struct dnsrecord_refusal *refusal_decode(struct arena *arena, const struct value *map)
{
    struct text spec = value_text_at(map, "spec");
    if (!spec.len)
        return NULL;
    struct dnsrecord_refusal *refusal = arena_new_of(arena, struct dnsrecord_refusal);
    *refusal = (struct dnsrecord_refusal){
        .spec = spec,
        .reason = value_text_at(map, "reason"),
        .code = value_text_at(map, "code"),
        .text = value_text_at(map, "text"),
    };
    return refusal;
}

static bool name_is_normal(struct arena *arena, struct text text, bool is_subdomain)
{
    struct text normal;
    bool is_name = is_subdomain ? subdomain_normalise(arena, text, &normal, NULL)
                                : domain_normalise(arena, text, &normal, NULL);
    return text.len && is_name && text_equal(text, normal);
}

bool dnsrecord_claim_is_usable(struct arena *arena, const struct dnsrecord_claim *claim)
{
    return claim->class_name.len && claim->server.len &&
           name_is_normal(arena, claim->domain, false) &&
           name_is_normal(arena, claim->subdomain, true);
}

static bool claim_decode(struct arena *arena, const struct value *map, struct dnsrecord_claim *out)
{
    *out = (struct dnsrecord_claim){
        .class_name = value_text_at(map, "class"),
        .server = value_text_at(map, "server"),
        .domain = value_text_at(map, "domain"),
        .subdomain = value_text_at(map, "subdomain"),
        .replaces = value_text_at(map, "replaces"),
    };
    return record_type_parse(value_text_at(map, "type"), &out->type) &&
           dnsrecord_claim_is_usable(arena, out);
}

static bool is_repeated(const struct dnsrecord_claim *claims, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (dnsrecord_claim_is_same_place(&claims[i], &claims[count]))
            return true;
    return false;
}

bool dnsrecord_claims_decode(struct arena *arena, struct text json, struct dnsrecord_claim **claims,
                             size_t *count)
{
    const struct value *list = value_read_json(arena, json, &annotation_limits, NULL);
    if (!list || list->type != VALUE_LIST || value_count(list) > DNSRECORD_CLAIMS_MAX)
        return false;
    struct dnsrecord_claim *items =
        arena_new_array(arena, struct dnsrecord_claim, value_count(list) + 1);
    size_t used = 0;
    value_each (item, list) {
        if (!claim_decode(arena, item, &items[used]) || is_repeated(items, used))
            return false;
        items[used].was = was_decode(arena, value_find(item, "was"), &items[used]);
        items[used].refusal = refusal_decode(arena, value_find(item, "refused"));
        used++;
    }
    *claims = items;
    *count = used;
    return true;
}
