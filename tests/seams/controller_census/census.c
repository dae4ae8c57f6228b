#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "base/table.h"
#include "engine/controller.h"
#include "kinds/dnsrecord/dnsrecord.h"
#include "kinds/namespace/namespace_kind.h"

#define SERVER "http://ledger.census.example"
#define DOMAIN "census.example"
#define LABEL "census.example/counts"

enum { TTL_S = 300, SECOND_MS = 1000, MINUTE_MS = 60 * SECOND_MS };

// ---- the memo: records that were counted before, by uid -----------------------------------------

struct counted {
    uint8_t uid[16];
    uint64_t spec_hash;
    uint32_t round; // in which it was seen last
    uint8_t type;   // RECORD_TYPES: none that we know
};

struct memo {
    struct counted *items;
    size_t count;
    size_t capacity;
    uint32_t round;
    struct table by_uid;
    unsigned sums[RECORD_TYPES + 1];
};

static uint64_t uid_hash(const uint8_t uid[16])
{
    uint64_t hash;
    memcpy(&hash, uid, sizeof hash);
    return hash * 0x9e3779b97f4a7c15ULL;
}

static bool counted_matches(const void *context, uint32_t id, const void *uid)
{
    const struct memo *memo = context;
    return memcmp(memo->items[id].uid, uid, 16) == 0;
}

static uint64_t counted_hash(const void *context, uint32_t id)
{
    const struct memo *memo = context;
    return uid_hash(memo->items[id].uid);
}

static const struct table_ops counted_ops = {counted_matches, counted_hash};

static struct memo *memo_new(void)
{
    struct memo *memo = mem_new_of(struct memo);
    memo->by_uid.ops = &counted_ops;
    memo->by_uid.context = memo;
    return memo;
}

static void memo_free(void *at)
{
    struct memo *memo = at;
    table_done(&memo->by_uid);
    free(memo->items);
    free(memo);
}

static uint8_t type_of(struct arena *arena, const struct object *object)
{
    struct dnsrecord record;
    enum record_type type;
    dnsrecord_unpack(arena, object_spec(object), object_ours(object), &record, NULL);
    return (uint8_t)(record_type_parse(record.type, &type) ? type : RECORD_TYPES);
}

static struct counted *memo_get(struct memo *memo, const struct object *object)
{
    uint64_t hash = uid_hash(object->uid);
    uint32_t id = table_find(&memo->by_uid, hash, object->uid);
    if (id != TABLE_NONE)
        return &memo->items[id];
    mem_reserve(&memo->items, &memo->capacity, memo->count + 1);
    struct counted *item = &memo->items[memo->count];
    *item = (struct counted){.type = RECORD_TYPES};
    memcpy(item->uid, object->uid, sizeof item->uid);
    table_add(&memo->by_uid, hash, (uint32_t)memo->count++);
    memo->sums[item->type]++;
    return item;
}

static void memo_count(struct memo *memo, struct arena *arena, const struct object *object)
{
    struct counted *item = memo_get(memo, object);
    item->round = memo->round;
    if (item->spec_hash == object_spec_hash(object))
        return;
    memo->sums[item->type]--;
    item->spec_hash = object_spec_hash(object);
    item->type = type_of(arena, object);
    memo->sums[item->type]++;
}

static void memo_drop(struct memo *memo, uint32_t id)
{
    uint32_t last = (uint32_t)memo->count - 1;
    memo->sums[memo->items[id].type]--;
    table_remove(&memo->by_uid, counted_hash(memo, id), id);
    if (id != last) {
        table_remove(&memo->by_uid, counted_hash(memo, last), last);
        memo->items[id] = memo->items[last];
        table_add(&memo->by_uid, counted_hash(memo, id), id);
    }
    memo->count--;
}

static void memo_follow(struct memo *memo, struct arena *arena, const struct gathered *records)
{
    memo->round++;
    for (size_t i = 0; i < records->count; i++)
        if (!records->objects[i]->deleted_s)
            memo_count(memo, arena, records->objects[i]);
    for (uint32_t id = 0; id < memo->count;)
        if (memo->items[id].round == memo->round)
            id++;
        else
            memo_drop(memo, id);
}

// ---- deciding -----------------------------------------------------------------------------------

static const char *subdomain_of(const struct snapshot *snapshot, int type)
{
    static const char *const labels[RECORD_TYPES] = {"a",  "aaaa", "cname", "txt",
                                                     "mx", "srv",  "ns",    "ptr"};
    if (type == RECORD_TYPES)
        return arena_copy(snapshot->arena, snapshot->name.at, snapshot->name.len);
    return arena_printf(snapshot->arena, "%s.%.*s", labels[type], TEXT_ARGS(snapshot->name));
}

static const struct receipt *receipt_of(const struct snapshot *snapshot, const char *subdomain)
{
    return snapshot_receipt(snapshot, SERVER, RECORD_TXT, TEXT(DOMAIN), text_of(subdomain));
}

static struct claim_want *claim_add(const struct snapshot *snapshot, struct verdict *out,
                                    enum claim_intent intent, const char *subdomain)
{
    struct claim_want *want = verdict_add_claim(out, snapshot->arena);
    *want = (struct claim_want){
        .lane = arena_printf(snapshot->arena, "census-%.*s", TEXT_ARGS(snapshot->name)),
        .book = SERVER,
        .intent = intent,
        .set = {.type = RECORD_TXT,
                .domain = TEXT(DOMAIN),
                .subdomain = text_of(subdomain),
                .ttl_s = TTL_S,
                .priority = -1,
                .weight = -1,
                .port = -1},
    };
    return want;
}

static void claim_count(const struct snapshot *snapshot, struct verdict *out, int type,
                        size_t count)
{
    const char *subdomain = subdomain_of(snapshot, type);
    struct claim_want *want = claim_add(snapshot, out, CLAIM_SET, subdomain);
    struct text *value = arena_new_of(snapshot->arena, struct text);
    *value = text_of(arena_printf(snapshot->arena, "%zu", count));
    want->set.values = value;
    want->set.value_count = 1;
}

// What was claimed once goes, and is forgotten when it is gone.
static void claim_nothing(const struct snapshot *snapshot, struct verdict *out, int type)
{
    const char *subdomain = subdomain_of(snapshot, type);
    const struct receipt *receipt = receipt_of(snapshot, subdomain);
    if (!receipt || (receipt->intent == CLAIM_REMOVE && receipt->state == RECEIPT_SETTLED))
        return;
    claim_add(snapshot, out, CLAIM_REMOVE, subdomain);
}

static void open_lane(const struct snapshot *snapshot, struct verdict *out)
{
    struct arena *arena = snapshot->arena;
    struct value *config = value_make(arena, VALUE_MAP);
    struct lane_want *lane = arena_new_of(arena, struct lane_want);
    struct question *question = arena_new_of(arena, struct question);
    value_set(config, TEXT("server"), value_make_text(arena, TEXT(SERVER)));
    *lane = (struct lane_want){
        .name = arena_printf(arena, "census-%.*s", TEXT_ARGS(snapshot->name)),
        .provider = "ledger",
        .book = SERVER,
        .config = config,
        .max_in_flight = 1,
        .retry_base_ms = SECOND_MS,
        .retry_max_ms = MINUTE_MS,
        .retry_attempts = 5,
        .retry_slow_ms = 10 * MINUTE_MS,
        .linger_ms = MINUTE_MS,
        .learn_ms = SECOND_MS,
    };
    *question = (struct question){.name = "health", .good_for_ms = 10 * MINUTE_MS};
    out->lane = lane;
    out->question = question;
}

static void decide_gone(const struct snapshot *snapshot, struct verdict *out)
{
    for (int type = 0; type <= RECORD_TYPES; type++)
        claim_nothing(snapshot, out, type);
    if (out->claim_count)
        open_lane(snapshot, out);
}

static void decide(const struct snapshot *snapshot, void *at, struct verdict *out)
{
    if (!snapshot->subject || snapshot->subject->deleted_s) {
        decide_gone(snapshot, out);
        return;
    }
    struct memo *memo = at ? at : memo_new();
    out->memo = memo;
    out->is_memo_set = true;
    memo_follow(memo, snapshot->arena, &snapshot->gathers[0]);
    open_lane(snapshot, out);
    claim_count(snapshot, out, RECORD_TYPES, memo->count);
    for (int type = 0; type < RECORD_TYPES; type++)
        if (memo->sums[type])
            claim_count(snapshot, out, type, memo->sums[type]);
        else
            claim_nothing(snapshot, out, type);
}

// ---- gathers ------------------------------------------------------------------------------------

// Every prefix of "namespace/name" that ends where a word does.
static void offer_prefixes(const struct object *record, struct strings *out)
{
    struct text namespace_ = object_namespace(record);
    struct text name = object_name(record);
    strings_add(out, "%.*s/", TEXT_ARGS(namespace_));
    for (size_t len = 1; len <= name.len; len++)
        if (name.at[len - 1] == '-')
            strings_add(out, "%.*s/%.*s", TEXT_ARGS(namespace_), (int)len, name.at);
}

static void want_prefix(const struct object *namespace_, struct strings *out)
{
    struct text prefix = TEXT("");
    struct pack_reader reader = pack_open(object_spec(namespace_));
    while (unpack_number(&reader)) {
        struct text key = unpack_text(&reader);
        struct text value = unpack_text(&reader);
        if (text_is(key, LABEL))
            prefix = value;
    }
    strings_add(out, "%.*s/%.*s%s", TEXT_ARGS(object_name(namespace_)), TEXT_ARGS(prefix),
                prefix.len ? "-" : "");
}

static const struct gather gathers[] = {
    {.name = "records", .kind = &dnsrecord_kind, .offers = offer_prefixes, .wants = want_prefix},
};

extern const struct controller census_controller;
const struct controller census_controller = {
    .name = "census",
    .kind = &namespace_kind,
    .gathers = gathers,
    .gather_count = COUNT_OF(gathers),
    .decide = decide,
    .memo_free = memo_free,
};
