#include "kinds/dnsrecord/dnsrecord_body.h"

#include <string.h>

// Bodies of the cache. A settled record's spec takes about 45 octets and ours about 50: whatever is
// usual costs nothing or one octet.

enum spec_flag {
    SPEC_RETAINED = 1 << 0,
    SPEC_PAUSED = 1 << 1,
    SPEC_FORCED = 1 << 2,
    SPEC_RETRY = 1 << 3,
    SPEC_TTL = 1 << 4,
    SPEC_NUMBERS = 1 << 5,
    SPEC_ODD_TYPE = 1 << 6,
    SPEC_BROKEN_CLAIMS = 1 << 7, // not ours to write: it wakes as an edit does
};

enum ours_flag {
    OURS_BROKEN = 1 << 0,
    OURS_SAME_KEY = 1 << 1, // the first applied key is the first claim
    OURS_SYNCED = 1 << 2,
    OURS_TRIED = 1 << 3,
};

enum claim_flag {
    CLAIM_HAS_WAS = 1 << 0,
    CLAIM_HAS_REFUSAL = 1 << 1,
    CLAIM_REPLACES = 1 << 2,
    CLAIM_FLAGS = 1 << 3, // a number above all of them
};

static unsigned spec_flags(const struct dnsrecord *record)
{
    enum record_type type;
    bool has_numbers = record->priority != -1 || record->weight != -1 || record->port != -1;
    return (record->is_retained ? SPEC_RETAINED : 0) | (record->is_paused ? SPEC_PAUSED : 0) |
           (record->is_force_deleted ? SPEC_FORCED : 0) | (record->retry.at ? SPEC_RETRY : 0) |
           (record->ttl_s != 0 ? SPEC_TTL : 0) | (has_numbers ? SPEC_NUMBERS : 0) |
           (record_type_parse(record->type, &type) ? 0 : SPEC_ODD_TYPE);
}

static void pack_type(struct pack_writer *out, struct text type)
{
    enum record_type known;
    if (record_type_parse(type, &known))
        pack_number(out, known);
    else
        pack_text(out, type);
}

void dnsrecord_pack_spec(const struct value *object, struct pack_writer *out)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct dnsrecord record;
    dnsrecord_decode(arena, object, &record);
    unsigned flags = spec_flags(&record);
    if (dnsrecord_has_broken_claims(arena, object))
        flags |= SPEC_BROKEN_CLAIMS;
    pack_number(out, flags);
    pack_type(out, record.type);
    pack_text(out, record.domain);
    pack_text(out, record.subdomain);
    pack_text(out, record.class_name);
    if (flags & SPEC_TTL)
        pack_signed(out, record.ttl_s);
    if (flags & SPEC_NUMBERS) {
        pack_signed(out, record.priority);
        pack_signed(out, record.weight);
        pack_signed(out, record.port);
    }
    if (flags & SPEC_RETRY)
        pack_text(out, record.retry);
    pack_number(out, record.value_count);
    for (size_t i = 0; i < record.value_count; i++)
        pack_text(out, record.values[i]);
}

static void unpack_numbers(struct pack_reader *in, struct dnsrecord *out)
{
    out->priority = (int32_t)unpack_signed(in);
    out->weight = (int32_t)unpack_signed(in);
    out->port = (int32_t)unpack_signed(in);
}

static void unpack_spec(struct arena *arena, struct text body, struct dnsrecord *out)
{
    struct pack_reader in = pack_open(body);
    unsigned flags = (unsigned)unpack_number(&in);
    *out = (struct dnsrecord){.priority = -1, .weight = -1, .port = -1};
    out->is_retained = flags & SPEC_RETAINED;
    out->is_paused = flags & SPEC_PAUSED;
    out->is_force_deleted = flags & SPEC_FORCED;
    out->type = flags & SPEC_ODD_TYPE
                    ? unpack_text(&in)
                    : text_of(record_type_name((enum record_type)unpack_number(&in)));
    out->domain = unpack_text(&in);
    out->subdomain = unpack_text(&in);
    out->class_name = unpack_text(&in);
    out->ttl_s = flags & SPEC_TTL ? unpack_signed(&in) : 0;
    if (flags & SPEC_NUMBERS)
        unpack_numbers(&in, out);
    if (flags & SPEC_RETRY)
        out->retry = unpack_text(&in);
    out->value_count = unpack_number(&in);
    out->values = arena_new_array(arena, struct text, out->value_count + 1);
    for (size_t i = 0; i < out->value_count; i++)
        out->values[i] = unpack_text(&in);
}

static void pack_set(struct pack_writer *out, const struct record_set *set)
{
    pack_number(out, set->ttl_s);
    pack_signed(out, set->priority);
    pack_signed(out, set->weight);
    pack_signed(out, set->port);
    pack_number(out, set->value_count);
    for (size_t i = 0; i < set->value_count; i++)
        pack_text(out, set->values[i]);
}

static const struct record_set *unpack_set(struct arena *arena, struct pack_reader *in,
                                           const struct dnsrecord_claim *key)
{
    struct record_set *set = arena_new_of(arena, struct record_set);
    set->type = key->type;
    set->domain = key->domain;
    set->subdomain = key->subdomain;
    set->ttl_s = (uint32_t)unpack_number(in);
    set->priority = (int32_t)unpack_signed(in);
    set->weight = (int32_t)unpack_signed(in);
    set->port = (int32_t)unpack_signed(in);
    set->value_count = unpack_number(in);
    struct text *values = arena_new_array(arena, struct text, set->value_count + 1);
    for (size_t i = 0; i < set->value_count; i++)
        values[i] = unpack_text(in);
    set->values = values;
    return set;
}

static void pack_claim(struct pack_writer *out, const struct dnsrecord_claim *claim)
{
    pack_number(out, CLAIM_FLAGS * (uint64_t)claim->type + (claim->was ? CLAIM_HAS_WAS : 0) +
                         (claim->refusal ? CLAIM_HAS_REFUSAL : 0) +
                         (claim->replaces.len ? CLAIM_REPLACES : 0));
    pack_text(out, claim->class_name);
    pack_text(out, claim->server);
    pack_text(out, claim->domain);
    pack_text(out, claim->subdomain);
    if (claim->replaces.len)
        pack_text(out, claim->replaces);
    if (claim->was)
        pack_set(out, claim->was);
    if (!claim->refusal)
        return;
    pack_text(out, claim->refusal->spec);
    pack_text(out, claim->refusal->reason);
    pack_text(out, claim->refusal->code);
    pack_text(out, claim->refusal->text);
}

static const struct dnsrecord_refusal *unpack_refusal(struct arena *arena, struct pack_reader *in)
{
    struct dnsrecord_refusal *refusal = arena_new_of(arena, struct dnsrecord_refusal);
    refusal->spec = unpack_text(in);
    refusal->reason = unpack_text(in);
    refusal->code = unpack_text(in);
    refusal->text = unpack_text(in);
    return refusal;
}

static void unpack_claim(struct arena *arena, struct pack_reader *in, struct dnsrecord_claim *out)
{
    uint64_t mixed = unpack_number(in);
    *out = (struct dnsrecord_claim){.type = (enum record_type)(mixed / CLAIM_FLAGS)};
    out->class_name = unpack_text(in);
    out->server = unpack_text(in);
    out->domain = unpack_text(in);
    out->subdomain = unpack_text(in);
    if (mixed & CLAIM_REPLACES)
        out->replaces = unpack_text(in);
    if (mixed & CLAIM_HAS_WAS)
        out->was = unpack_set(arena, in, out);
    if (mixed & CLAIM_HAS_REFUSAL)
        out->refusal = unpack_refusal(arena, in);
}

static bool is_same_claim(const struct dnsrecord_claim *a, const struct dnsrecord_claim *b)
{
    return a->type == b->type && text_equal(a->class_name, b->class_name) &&
           text_equal(a->server, b->server) && text_equal(a->domain, b->domain) &&
           text_equal(a->subdomain, b->subdomain) && !a->was && !b->was && !a->refusal &&
           text_equal(a->replaces, b->replaces);
}

static void pack_applied(struct pack_writer *out, const struct dnsrecord_managed *ours,
                         bool is_same)
{
    int64_t base_s = 0;
    pack_number(out, ours->applied_count);
    for (size_t i = 0; i < ours->applied_count; i++) {
        if (i > 0 || !is_same)
            pack_claim(out, &ours->applied[i].key);
        pack_octets(out, ours->applied[i].hash, sizeof ours->applied[i].hash);
        pack_signed(out, ours->applied[i].time_s - base_s);
        base_s = ours->applied[i].time_s;
    }
}

static int64_t unpack_applied(struct arena *arena, struct pack_reader *in,
                              struct dnsrecord_managed *out, bool is_same)
{
    int64_t base_s = 0;
    out->applied_count = unpack_number(in);
    out->applied = arena_new_array(arena, struct dnsrecord_applied, out->applied_count + 1);
    for (size_t i = 0; i < out->applied_count; i++) {
        struct dnsrecord_applied *applied = &out->applied[i];
        if (i == 0 && is_same)
            applied->key = out->claims[0];
        else
            unpack_claim(arena, in, &applied->key);
        const uint8_t *hash = unpack_octets(in, sizeof applied->hash);
        for (size_t k = 0; k < sizeof applied->hash; k++)
            applied->hash[k] = hash[k];
        base_s += unpack_signed(in);
        applied->time_s = base_s;
    }
    return base_s;
}

static void pack_attempts(struct pack_writer *out, const struct dnsrecord_managed *ours)
{
    pack_number(out, ours->attempts);
    pack_signed(out, ours->next_attempt_s - ours->error_time_s);
    pack_octets(out, ours->attempt_hash, sizeof ours->attempt_hash);
}

static void unpack_attempts(struct pack_reader *in, struct dnsrecord_managed *out)
{
    out->attempts = (unsigned)unpack_number(in);
    out->next_attempt_s = out->error_time_s + unpack_signed(in);
    memcpy(out->attempt_hash, unpack_octets(in, sizeof out->attempt_hash),
           sizeof out->attempt_hash);
}

void dnsrecord_pack_managed(const struct value *object, struct pack_writer *out)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct dnsrecord_managed ours;
    dnsrecord_managed_decode(arena, object, &ours);
    bool is_same = ours.claim_count && ours.applied_count &&
                   is_same_claim(&ours.claims[0], &ours.applied[0].key);
    pack_number(out, (ours.has_broken_claims ? OURS_BROKEN : 0) | (is_same ? OURS_SAME_KEY : 0) |
                         (ours.last_sync_s ? OURS_SYNCED : 0) | (ours.attempts ? OURS_TRIED : 0));
    pack_number(out, ours.claim_count);
    for (size_t i = 0; i < ours.claim_count; i++)
        pack_claim(out, &ours.claims[i]);
    pack_applied(out, &ours, is_same);
    int64_t base_s = ours.applied_count ? ours.applied[ours.applied_count - 1].time_s : 0;
    conditions_pack(out, &ours.conditions, dnsrecord_condition_types, base_s);
    pack_number(out, ours.state);
    if (ours.last_sync_s)
        pack_signed(out, ours.last_sync_s - base_s);
    pack_number(out, (uint64_t)ours.error_time_s);
    pack_number(out, (uint64_t)ours.observed_generation);
    if (ours.attempts)
        pack_attempts(out, &ours);
}

static void unpack_managed(struct arena *arena, struct text spec, struct text ours,
                           struct dnsrecord_managed *out)
{
    struct pack_reader in = pack_open_behind(spec, ours);
    unsigned flags = (unsigned)unpack_number(&in);
    *out = (struct dnsrecord_managed){.has_broken_claims = flags & OURS_BROKEN};
    out->claim_count = unpack_number(&in);
    out->claims = arena_new_array(arena, struct dnsrecord_claim, out->claim_count + 1);
    for (size_t i = 0; i < out->claim_count; i++)
        unpack_claim(arena, &in, &out->claims[i]);
    int64_t base_s = unpack_applied(arena, &in, out, flags & OURS_SAME_KEY);
    conditions_unpack(&in, &out->conditions, dnsrecord_condition_types, base_s);
    out->state = (enum dnsrecord_state)unpack_number(&in);
    out->last_sync_s = flags & OURS_SYNCED ? base_s + unpack_signed(&in) : 0;
    out->error_time_s = (int64_t)unpack_number(&in);
    out->observed_generation = (int64_t)unpack_number(&in);
    if (flags & OURS_TRIED)
        unpack_attempts(&in, out);
}

void dnsrecord_unpack(struct arena *arena, struct text spec, struct text ours,
                      struct dnsrecord *out, struct dnsrecord_managed *out_managed)
{
    unpack_spec(arena, spec, out);
    if (out_managed)
        *out_managed = (struct dnsrecord_managed){0};
    if (out_managed && ours.len)
        unpack_managed(arena, spec, ours, out_managed);
}
