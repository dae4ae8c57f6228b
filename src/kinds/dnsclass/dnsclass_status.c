#include "kinds/dnsclass/dnsclass_body.h"

enum { LIST_MAX = 64, ITEM_OCTETS_MAX = 256 };

// Cleaned, cut copy of foreign text.
static struct value *text_copy(struct arena *arena, struct text text, size_t limit)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, text, limit);
    return value_make_text(arena, text_of(arena_copy(arena, clean.len ? clean.at : "", clean.len)));
}

static struct value *batch_pick(struct arena *arena, const struct value *offer)
{
    const struct value *most = value_find(offer, "maxOperations");
    if (!offer || offer->type != VALUE_MAP)
        return NULL;
    struct value *map = value_make(arena, VALUE_MAP);
    if (most && most->type == VALUE_INT && most->integer > 0 && most->integer <= INT32_MAX)
        value_set(map, TEXT("maxOperations"), value_make_int(arena, most->integer));
    return map;
}

static struct value *flag_pick(struct arena *arena, const struct value *offer)
{
    return offer && offer->type == VALUE_BOOL ? value_make_bool(arena, offer->boolean) : NULL;
}

static struct value *list_pick(struct arena *arena, const struct value *offer)
{
    if (!offer || offer->type != VALUE_LIST)
        return NULL;
    struct value *list = value_make(arena, VALUE_LIST);
    value_each (item, offer)
        if (item->type == VALUE_TEXT && value_count(list) < LIST_MAX)
            value_append(list, text_copy(arena, item->text, ITEM_OCTETS_MAX));
    return list;
}

// What a server may say about itself in a status: known keys, known types, bounded.
static const struct {
    const char *key;
    struct value *(*pick)(struct arena *arena, const struct value *offer);
} offers[] = {
    {"batch", batch_pick},   {"get", flag_pick},   {"list", flag_pick},  {"ownership", flag_pick},
    {"metadata", flag_pick}, {"types", list_pick}, {"zones", list_pick}, {"nameservers", list_pick},
};

static struct value *capabilities_pick(struct arena *arena, const struct value *capabilities)
{
    if (!capabilities || capabilities->type != VALUE_MAP)
        return value_make(arena, VALUE_NULL);
    struct value *map = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < COUNT_OF(offers); i++) {
        struct value *picked = offers[i].pick(arena, value_find(capabilities, offers[i].key));
        if (picked)
            value_set(map, text_of(offers[i].key), picked);
    }
    return map;
}

static struct value *time_or_null(struct arena *arena, int64_t unix_s)
{
    return unix_s ? status_time_make(arena, unix_s) : value_make(arena, VALUE_NULL);
}

static struct value *health_encode(struct arena *arena, const struct dnsclass_status *status)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("status"), value_make_text(arena, text_of(status->health)));
    if (status->last_health_check_s)
        value_set(map, TEXT("lastCheck"), status_time_make(arena, status->last_health_check_s));
    if (status->health_message)
        value_set(map, TEXT("message"),
                  text_copy(arena, text_of(status->health_message), CONDITION_TEXT_MAX));
    return map;
}

static struct value *text_or_null(struct arena *arena, const char *text)
{
    return text ? value_make_text(arena, text_of(text)) : value_make(arena, VALUE_NULL);
}

struct value *dnsclass_status_encode(struct arena *arena, const struct dnsclass_status *status)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("conditions"), conditions_encode(arena, &status->conditions));
    value_set(map, TEXT("lastHealthCheck"), time_or_null(arena, status->last_health_check_s));
    value_set(map, TEXT("health"), health_encode(arena, status));
    value_set(map, TEXT("observedGeneration"), value_make_int(arena, status->observed_generation));
    value_set(map, TEXT("server"), text_or_null(arena, status->server));
    value_set(map, TEXT("capabilities"), capabilities_pick(arena, status->capabilities));
    value_set(map, TEXT("signedPath"), text_or_null(arena, status->signed_path));
    return map;
}

// Zones that the server says it has.
void dnsclass_list_names(const struct value *object, struct kind_names *out)
{
    value_each (zone, value_list_at(object, "status.capabilities.zones"))
        kind_names_add(out, KIND_NAME_PLACE, value_text(zone));
}
