#include <string.h>

#include "base/pack.h"
#include "engine/controller.h"
#include "kinds/dnsrecord/dnsrecord.h"
#include "kinds/namespace/namespace_kind.h"

#define SERVER "http://ledger.census.example"
#define DOMAIN "census.example"
#define LABEL "census.example/counts"

enum { TTL_S = 300, SECOND_MS = 1000, MINUTE_MS = 60 * SECOND_MS };

// ---- counting -----------------------------------------------------------------------------------

static int type_of(struct arena *arena, const struct object *object)
{
    struct dnsrecord record;
    enum record_type type;
    dnsrecord_unpack(arena, object_spec(object), object_managed(object), &record, NULL);
    return record_type_parse(record.type, &type) ? (int)type : RECORD_TYPES;
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

static struct claim_want *claim_add(const struct snapshot *snapshot, struct decision *out,
                                    enum claim_intent intent, const char *subdomain)
{
    struct claim_want *want = decision_add_claim(out, snapshot->arena);
    *want = (struct claim_want){
        .backend = arena_printf(snapshot->arena, "census-%.*s", TEXT_ARGS(snapshot->name)),
        .registry = SERVER,
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

static void claim_count(const struct snapshot *snapshot, struct decision *out, int type,
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
static void claim_nothing(const struct snapshot *snapshot, struct decision *out, int type)
{
    const char *subdomain = subdomain_of(snapshot, type);
    const struct receipt *receipt = receipt_of(snapshot, subdomain);
    if (!receipt || (receipt->intent == CLAIM_REMOVE && receipt->state == RECEIPT_SETTLED))
        return;
    claim_add(snapshot, out, CLAIM_REMOVE, subdomain);
}

static void open_backend(const struct snapshot *snapshot, struct decision *out)
{
    struct arena *arena = snapshot->arena;
    struct value *config = value_make(arena, VALUE_MAP);
    value_set(config, TEXT("server"), value_make_text(arena, TEXT(SERVER)));
    *decision_add_backend(out, arena) = (struct backend_want){
        .name = arena_printf(arena, "census-%.*s", TEXT_ARGS(snapshot->name)),
        .provider = "abacus",
        .registry = SERVER,
        .config = config,
        .max_in_flight = 1,
        .retry_base_ms = SECOND_MS,
        .retry_max_ms = MINUTE_MS,
        .retry_attempts = 5,
        .retry_slow_ms = 10 * MINUTE_MS,
        .linger_ms = MINUTE_MS,
        .learn_ms = SECOND_MS,
    };
    *decision_add_question(out, arena) = (struct question){
        .backend = out->backends[0].name, .name = "health", .good_for_ms = 10 * MINUTE_MS};
}

static void decide_gone(const struct snapshot *snapshot, struct decision *out)
{
    for (int type = 0; type <= RECORD_TYPES; type++)
        claim_nothing(snapshot, out, type);
    if (out->claim_count)
        open_backend(snapshot, out);
}

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    (void)model;
    if (!snapshot->subject || snapshot->subject->deleted_s) {
        decide_gone(snapshot, out);
        return;
    }
    const struct input_objects *records = &snapshot->inputs[0];
    size_t sums[RECORD_TYPES + 1] = {0};
    size_t count = 0;
    for (size_t i = 0; i < records->count; i++) {
        if (records->objects[i]->deleted_s)
            continue;
        sums[type_of(snapshot->arena, records->objects[i])]++;
        count++;
    }
    open_backend(snapshot, out);
    claim_count(snapshot, out, RECORD_TYPES, count);
    for (int type = 0; type < RECORD_TYPES; type++)
        if (sums[type])
            claim_count(snapshot, out, type, sums[type]);
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

static const struct input inputs[] = {
    {.kind = &dnsrecord_kind, .index_keys = offer_prefixes, .lookup_keys = want_prefix},
};

extern const struct controller census_controller;
const struct controller census_controller = {
    .name = "census",
    .kind = &namespace_kind,
    .inputs = inputs,
    .input_count = COUNT_OF(inputs),
    .decide = decide,
};
