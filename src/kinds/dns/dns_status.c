#include "kinds/dns/dns_body.h"
#include "kinds/text_list.h"

enum { ZONE_MAX = 253 };

static const char *const states[] = {"Serving", "LastGood", "Refused"};

// Where each text of the config stands: one table for both directions.
static const struct config_text {
    const char *key;
    size_t offset;
} config_texts[] = {
    {"id", offsetof(struct dns_config, id)},
    {"sha256", offsetof(struct dns_config, sha256)},
    {"configMap", offsetof(struct dns_config, config_map)},
    {"mode", offsetof(struct dns_config, mode)},
    {"layout", offsetof(struct dns_config, layout)},
    {"corednsVersion", offsetof(struct dns_config, version)},
    {"written", offsetof(struct dns_config, written)},
    {"refused", offsetof(struct dns_config, refused)},
    {"refusal", offsetof(struct dns_config, refusal)},
};

static struct text *config_text(struct dns_config *config, size_t at)
{
    return (struct text *)((char *)config + config_texts[at].offset);
}

static struct value *text_or_null(struct arena *arena, struct text text)
{
    return text.len ? value_make_text(arena, text) : value_make(arena, VALUE_NULL);
}

static struct value *texts_encode(struct arena *arena, const struct text *texts, size_t count)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < count; i++)
        value_append(list, value_make_text(arena, texts[i]));
    return list;
}

static struct value *config_encode(struct arena *arena, struct dns_config config)
{
    if (!config.mode.len)
        return value_make(arena, VALUE_NULL);
    struct value *map = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < COUNT_OF(config_texts); i++)
        value_set(map, text_of(config_texts[i].key), text_or_null(arena, *config_text(&config, i)));
    value_set(map, TEXT("since"), status_time_make(arena, config.since_s));
    value_set(map, TEXT("lastConverged"),
              config.converged_s ? status_time_make(arena, config.converged_s)
                                 : value_make(arena, VALUE_NULL));
    value_set(map, TEXT("proved"), texts_encode(arena, config.proved, config.proved_count));
    value_set(map, TEXT("copies"), texts_encode(arena, config.copies, config.copy_count));
    value_set(map, TEXT("bundles"), texts_encode(arena, config.bundles, config.bundle_count));
    value_set(map, TEXT("bundleCopies"),
              texts_encode(arena, config.bundle_copies, config.bundle_copy_count));
    return map;
}

// A refused zone may be as long as it likes, and a status has many.
static void put_cut(struct arena *arena, struct value *map, const char *key, struct text text,
                    size_t max)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, text, max);
    value_put_text(arena, map, key, arena_copy(arena, clean.len ? clean.at : "", clean.len));
}

static struct value *forwarder_encode(struct arena *arena, const struct dns_forwarder *forwarder)
{
    struct value *map = value_make(arena, VALUE_MAP);
    put_cut(arena, map, "zone", forwarder->zone, ZONE_MAX);
    value_put_text(arena, map, "source", forwarder->source);
    value_put_text(arena, map, "state", states[forwarder->state]);
    if (forwarder->reason)
        value_put_text(arena, map, "reason", reason_name(forwarder->reason));
    if (forwarder->message)
        put_cut(arena, map, "message", text_of(forwarder->message), CONDITION_TEXT_MAX);
    return map;
}

static struct value *forwarders_encode(struct arena *arena, const struct dns_status *status)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < status->forwarder_count && i < DNS_FORWARDERS_MAX; i++)
        value_append(list, forwarder_encode(arena, &status->forwarders[i]));
    return list;
}

static struct value *pods_encode(struct arena *arena, const struct dns_status *status)
{
    const struct dns_pods *pods = &status->pods;
    if (!status->has_pods)
        return value_make(arena, VALUE_NULL);
    struct value *map = value_make(arena, VALUE_MAP);
    value_put_int(arena, map, "desired", pods->desired);
    value_put_int(arena, map, "current", pods->current);
    value_put_int(arena, map, "old", pods->old);
    value_put_int(arena, map, "silent", pods->silent);
    value_set(map, TEXT("stale"), texts_encode(arena, pods->stale, pods->stale_count));
    return map;
}

// clusterIP and clusterDomain are never null: OpenShift's schema requires them.
const struct value *dns_status_encode(struct arena *arena, const struct dns_status *status)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("clusterIP"), value_make_text(arena, status->cluster_ip));
    value_set(map, TEXT("clusterDomain"), value_make_text(arena, status->cluster_domain));
    value_put_int(arena, map, "observedGeneration", status->observed_generation);
    value_set(map, TEXT("config"), config_encode(arena, status->config));
    value_set(map, TEXT("forwarders"), forwarders_encode(arena, status));
    value_put_int(arena, map, "forwardersTotal", (int64_t)status->forwarders_total);
    value_set(map, TEXT("pods"), pods_encode(arena, status));
    value_set(map, TEXT("conditions"), conditions_encode(arena, &status->conditions));
    return map;
}

// ---- reading back -------------------------------------------------------------------------------

static void pack_list(const struct value *list, struct pack_writer *out)
{
    value_each (item, list)
        text_list_add(out, value_text(item));
    text_list_end(out);
}

void dns_pack_managed(const struct value *object, struct pack_writer *out)
{
    struct conditions conditions;
    const struct value *config = value_at(object, "status.config", NULL);
    conditions_decode(&conditions, value_list_at(object, "status.conditions"), dns_condition_types);
    for (size_t i = 0; i < COUNT_OF(config_texts); i++)
        pack_text(out, value_text_at(config, config_texts[i].key));
    pack_signed(out, status_time_at(config, "since"));
    pack_signed(out, status_time_at(config, "lastConverged"));
    pack_list(value_list_at(config, "proved"), out);
    pack_list(value_list_at(config, "copies"), out);
    pack_list(value_list_at(config, "bundles"), out);
    pack_list(value_list_at(config, "bundleCopies"), out);
    pack_signed(out, value_int_at(object, "status.observedGeneration", 0));
    conditions_pack(out, &conditions, dns_condition_types, 0);
}

static void unpack_proved(struct arena *arena, struct pack_reader *in, struct dns_config *out)
{
    size_t count;
    const struct text *proved = text_list_unpack(arena, in, &count);
    for (size_t i = 0; i < count && i < DNS_PROVED_MAX; i++)
        out->proved[out->proved_count++] = proved[i];
}

void dns_status_unpack(struct arena *arena, struct text spec, struct text ours,
                       struct dns_status *out)
{
    *out = (struct dns_status){0};
    if (!ours.len)
        return;
    struct pack_reader in = pack_open_behind(spec, ours);
    for (size_t i = 0; i < COUNT_OF(config_texts); i++)
        *config_text(&out->config, i) = unpack_text(&in);
    out->config.since_s = unpack_signed(&in);
    out->config.converged_s = unpack_signed(&in);
    unpack_proved(arena, &in, &out->config);
    out->config.copies = text_list_unpack(arena, &in, &out->config.copy_count);
    out->config.bundles = text_list_unpack(arena, &in, &out->config.bundle_count);
    out->config.bundle_copies = text_list_unpack(arena, &in, &out->config.bundle_copy_count);
    out->observed_generation = unpack_signed(&in);
    conditions_unpack(&in, &out->conditions, dns_condition_types, 0);
}
