#include <string.h>

#include "base/digest.h"
#include "kinds/dnsrecord/dnsrecord_body.h"

enum { HASH_DIGITS = 16 };

static const char *const states[] = {
    [RECORD_STATE_NONE] = "",           [RECORD_STATE_PENDING] = "Pending",
    [RECORD_STATE_CREATED] = "Created", [RECORD_STATE_UPDATED] = "Updated",
    [RECORD_STATE_DELETED] = "Deleted", [RECORD_STATE_ERROR] = "Error",
};

static struct value *text_or_null(struct arena *arena, struct text text)
{
    return text.len ? value_make_text(arena, text) : value_make(arena, VALUE_NULL);
}

static struct value *time_or_null(struct arena *arena, int64_t unix_s)
{
    return unix_s ? status_time_make(arena, unix_s) : value_make(arena, VALUE_NULL);
}

static struct value *number_or_null(struct arena *arena, int64_t number)
{
    return number ? value_make_int(arena, number) : value_make(arena, VALUE_NULL);
}

static bool is_half(const uint8_t hash[FINGERPRINT_OCTETS])
{
    static const uint8_t none[HASH_DIGITS / 2];
    return !memcmp(hash + sizeof none, none, sizeof none);
}

bool dnsrecord_is_same_hash(const uint8_t a[FINGERPRINT_OCTETS],
                            const uint8_t b[FINGERPRINT_OCTETS])
{
    return !memcmp(a, b, is_half(a) || is_half(b) ? HASH_DIGITS / 2 : FINGERPRINT_OCTETS);
}

static struct value *applied_encode(struct arena *arena, const struct dnsrecord_applied *applied)
{
    struct value *map = value_make(arena, VALUE_MAP);
    char *hex = arena_alloc(arena, 2 * sizeof applied->hash + 1, 1);
    hex_encode(applied->hash, sizeof applied->hash, hex);
    struct text digest = text_of(hex);
    value_set(map, TEXT("class"), value_make_text(arena, applied->key.class_name));
    value_set(map, TEXT("server"), value_make_text(arena, applied->key.server));
    value_set(map, TEXT("type"),
              value_make_text(arena, text_of(record_type_name(applied->key.type))));
    value_set(map, TEXT("domain"), value_make_text(arena, applied->key.domain));
    value_set(map, TEXT("subdomain"), value_make_text(arena, applied->key.subdomain));
    value_set(map, TEXT("hash"), value_make_text(arena, (struct text){digest.at, HASH_DIGITS}));
    if (!is_half(applied->hash))
        value_set(map, TEXT("digest"), value_make_text(arena, digest));
    value_set(map, TEXT("time"), status_time_make(arena, applied->time_s));
    return map;
}

static struct value *applied_list_encode(struct arena *arena, const struct dnsrecord_status *status)
{
    if (status->applied_count == 0)
        return value_make(arena, VALUE_NULL);
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < status->applied_count; i++)
        value_append(list, applied_encode(arena, &status->applied[i]));
    return list;
}

static struct value *error_encode(struct arena *arena, const struct dnsrecord_status *status)
{
    if (!status->has_error)
        return value_make(arena, VALUE_NULL);
    struct value *map = value_make(arena, VALUE_MAP);
    AUTO_BUFFER clean = {0};
    text_clean(&clean, text_of(status->error_message), CONDITION_TEXT_MAX);
    const char *message = arena_copy(arena, clean.len ? clean.at : "", clean.len);
    value_set(map, TEXT("code"), value_make_text(arena, text_of(status->error_code)));
    value_set(map, TEXT("message"), value_make_text(arena, text_of(message)));
    value_set(map, TEXT("timestamp"), status_time_make(arena, status->error_time_s));
    if (status->error_trace_id)
        value_set(map, TEXT("traceID"), value_make_text(arena, text_of(status->error_trace_id)));
    return map;
}

static struct value *attempt_hash_encode(struct arena *arena, const struct dnsrecord_status *status)
{
    char hex[2 * sizeof status->attempt_hash + 1];
    if (!status->attempts)
        return value_make(arena, VALUE_NULL);
    hex_encode(status->attempt_hash, sizeof status->attempt_hash, hex);
    return value_make_text(arena, text_of(arena_copy_text(arena, hex)));
}

struct value *dnsrecord_status_encode(struct arena *arena, const struct dnsrecord_status *status)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("conditions"), conditions_encode(arena, &status->conditions));
    value_set(map, TEXT("state"), text_or_null(arena, text_of(states[status->state])));
    value_set(map, TEXT("lastSyncTime"), time_or_null(arena, status->last_sync_s));
    value_set(map, TEXT("fqdn"), text_or_null(arena, status->fqdn));
    value_set(map, TEXT("observedGeneration"), value_make_int(arena, status->observed_generation));
    value_set(map, TEXT("error"), error_encode(arena, status));
    value_set(map, TEXT("applied"), applied_list_encode(arena, status));
    value_set(map, TEXT("attempts"), number_or_null(arena, status->attempts));
    value_set(map, TEXT("nextAttempt"), time_or_null(arena, status->next_attempt_s));
    value_set(map, TEXT("attemptHash"), attempt_hash_encode(arena, status));
    return map;
}

// `digest` is the whole of which `hash` is the first half; an earlier version wrote that alone.
static bool hash_decode(const struct value *map, uint8_t out[FINGERPRINT_OCTETS])
{
    uint8_t whole[FINGERPRINT_OCTETS];
    if (!hex_decode(value_text_at(map, "hash"), out, HASH_DIGITS / 2))
        return false;
    memset(out + HASH_DIGITS / 2, 0, HASH_DIGITS / 2);
    if (hex_decode(value_text_at(map, "digest"), whole, sizeof whole) &&
        !memcmp(out, whole, HASH_DIGITS / 2))
        memcpy(out, whole, sizeof whole);
    return true;
}

static bool applied_decode(struct arena *arena, const struct value *map,
                           struct dnsrecord_applied *out)
{
    *out = (struct dnsrecord_applied){
        .key = {.class_name = value_text_at(map, "class"),
                .server = value_text_at(map, "server"),
                .domain = value_text_at(map, "domain"),
                .subdomain = value_text_at(map, "subdomain")},
        .time_s = status_time_at(map, "time"),
    };
    return record_type_parse(value_text_at(map, "type"), &out->key.type) &&
           dnsrecord_claim_is_usable(arena, &out->key) && hash_decode(map, out->hash);
}

static void applied_list_decode(struct arena *arena, const struct value *list,
                                struct dnsrecord_managed *out)
{
    out->applied = arena_new_array(arena, struct dnsrecord_applied, DNSRECORD_CLAIMS_MAX);
    value_each (item, list && list->type == VALUE_LIST ? list : NULL)
        if (out->applied_count < DNSRECORD_CLAIMS_MAX)
            out->applied_count += applied_decode(arena, item, &out->applied[out->applied_count]);
}

static enum dnsrecord_state state_find(struct text text)
{
    for (int i = RECORD_STATE_PENDING; i <= RECORD_STATE_ERROR; i++)
        if (text_is(text, states[i]))
            return (enum dnsrecord_state)i;
    return RECORD_STATE_NONE;
}

// All three, or none.
static void attempts_decode(const struct value *status, struct dnsrecord_managed *out)
{
    int64_t attempts = value_int_at(status, "attempts", 0);
    if (attempts <= 0 || attempts > INT32_MAX ||
        !hex_decode(value_text_at(status, "attemptHash"), out->attempt_hash,
                    sizeof out->attempt_hash))
        return;
    out->attempts = (unsigned)attempts;
    out->next_attempt_s = status_time_at(status, "nextAttempt");
}

// False when the annotation is there and broken.
static bool claims_decode(struct arena *arena, const struct value *object,
                          struct dnsrecord_managed *out)
{
    const struct value *annotations = value_at(object, "metadata.annotations", NULL);
    const struct value *claims = value_find(annotations, DNSRECORD_CLAIMS);
    return !claims ||
           dnsrecord_claims_decode(arena, value_text(claims), &out->claims, &out->claim_count);
}

bool dnsrecord_has_broken_claims(struct arena *arena, const struct value *object)
{
    struct dnsrecord_managed ours;
    return !claims_decode(arena, object, &ours);
}

void dnsrecord_managed_decode(struct arena *arena, const struct value *object,
                              struct dnsrecord_managed *out)
{
    const struct value *status = value_find(object, "status");
    *out = (struct dnsrecord_managed){
        .state = state_find(value_text_at(status, "state")),
        .last_sync_s = status_time_at(status, "lastSyncTime"),
        .error_time_s = status_time_at(value_find(status, "error"), "timestamp"),
        .observed_generation = value_int_at(status, "observedGeneration", 0),
    };
    attempts_decode(status, out);
    applied_list_decode(arena, value_find(status, "applied"), out);
    conditions_decode(&out->conditions, value_find(status, "conditions"),
                      dnsrecord_condition_types);
    out->has_broken_claims = !claims_decode(arena, object, out);
}
