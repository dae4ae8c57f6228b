#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/slots.h"
#include "base/table.h"
#include "providers/provider.h"

// One record set in one allocation: texts behind the struct.
struct held {
    struct record_set set;
    char *octets; // NULL: the slot is free
};

struct memory_session {
    struct held *items;
    size_t capacity;
    struct slots slots;
    struct table by_key;
};

struct memory_exchange {
    struct memory_session *session;
    struct job *job;
};

static bool held_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct memory_session *session = context;
    return record_set_is_same_key(&session->items[id].set, wanted);
}

static uint64_t held_hash(const void *context, uint32_t id)
{
    const struct memory_session *session = context;
    return record_set_key_hash(&session->items[id].set);
}

static const struct table_ops held_ops = {held_matches, held_hash};

static bool memory_open(const struct session_setup *setup, void **out, struct error *err)
{
    (void)setup;
    (void)err;
    struct memory_session *session = mem_new_of(struct memory_session);
    session->by_key.ops = &held_ops;
    session->by_key.context = session;
    *out = session;
    return true;
}

static void memory_close(void *at)
{
    struct memory_session *session = at;
    for (uint32_t i = 0; i < session->slots.end; i++)
        free(session->items[i].octets);
    free(session->items);
    slots_done(&session->slots);
    table_done(&session->by_key);
    free(session);
}

static void memory_fingerprint(const void *at, const struct record_set *set,
                               uint8_t out[FINGERPRINT_OCTETS])
{
    (void)at;
    uint8_t full[DIGEST_MAX];
    struct digest_state *state = digest_begin(DIGEST_SHA256);
    const int32_t numbers[] = {(int32_t)set->type, (int32_t)set->ttl_s, set->priority, set->weight,
                               set->port};
    digest_add(state, numbers, sizeof numbers);
    for (size_t i = 0; i < set->value_count; i++) {
        digest_add(state, set->values[i].at, set->values[i].len);
        digest_add(state, "\n", 1);
    }
    digest_end(state, full);
    memcpy(out, full, FINGERPRINT_OCTETS);
}

static uint32_t find(const struct memory_session *session, const struct record_set *set)
{
    return table_find(&session->by_key, record_set_key_hash(set), set);
}

static struct text put(char **at, struct text text)
{
    struct text copy = {*at, text.len};
    memcpy(*at, text.at, text.len);
    *at += text.len;
    return copy;
}

static void hold(struct held *held, const struct record_set *set)
{
    size_t octets = set->value_count * sizeof(struct text) + set->domain.len + set->subdomain.len;
    for (size_t i = 0; i < set->value_count; i++)
        octets += set->values[i].len;
    char *block = mem_new(1, octets + 1);
    struct text *values = (struct text *)(void *)block;
    char *at = block + set->value_count * sizeof(struct text);
    held->set = *set;
    held->set.domain = put(&at, set->domain);
    held->set.subdomain = put(&at, set->subdomain);
    for (size_t i = 0; i < set->value_count; i++)
        values[i] = put(&at, set->values[i]);
    held->set.values = values;
    free(held->octets);
    held->octets = block;
}

static void set_record(struct memory_session *session, struct change *change)
{
    uint32_t id = find(session, &change->set);
    change->outcome.is_done = true;
    if (id != TABLE_NONE) {
        hold(&session->items[id], &change->set);
        return;
    }
    id = slots_take(&session->slots);
    mem_reserve(&session->items, &session->capacity, session->slots.end);
    session->items[id] = (struct held){0};
    hold(&session->items[id], &change->set);
    table_add(&session->by_key, record_set_key_hash(&change->set), id);
    change->outcome.was_created = true;
}

static void remove_record(struct memory_session *session, struct change *change)
{
    uint32_t id = find(session, &change->set);
    change->outcome.is_done = true;
    change->outcome.was_absent = id == TABLE_NONE;
    if (id == TABLE_NONE)
        return;
    table_remove(&session->by_key, record_set_key_hash(&change->set), id);
    free(session->items[id].octets);
    session->items[id] = (struct held){0};
    slots_give(&session->slots, id);
}

static void read_record(struct memory_session *session, struct job *job, struct change *change)
{
    uint32_t id = find(session, &change->set);
    change->outcome.is_done = true;
    change->outcome.was_absent = id == TABLE_NONE;
    if (id == TABLE_NONE)
        return;
    struct record_set *found = arena_new_of(job->arena, struct record_set);
    *found = record_set_copy(job->arena, &session->items[id].set);
    found->domain = change->set.domain;
    found->subdomain = change->set.subdomain;
    change->outcome.found = found;
}

static void *memory_begin(void *session, struct job *job)
{
    struct memory_exchange *exchange = mem_new_of(struct memory_exchange);
    *exchange = (struct memory_exchange){session, job};
    return exchange;
}

static enum ask_kind memory_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct memory_exchange *exchange = at;
    struct job *job = exchange->job;
    (void)moment;
    (void)out;
    job->health.is_done = true;
    for (size_t i = 0; i < job->change_count; i++) {
        struct change *change = &job->changes[i];
        if (change->op == CHANGE_SET)
            set_record(exchange->session, change);
        else if (change->op == CHANGE_REMOVE)
            remove_record(exchange->session, change);
        else
            read_record(exchange->session, job, change);
    }
    return ASK_DONE;
}

static void memory_handle_reply(void *at, const struct moment *moment,
                                const struct ask_result *result)
{
    (void)at;
    (void)moment;
    (void)result;
}

extern const struct provider memory_provider;
const struct provider memory_provider = {
    .name = "memory",
    .max_changes = 64,
    .open = memory_open,
    .close = memory_close,
    .fingerprint = memory_fingerprint,
    .begin = memory_begin,
    .ask = memory_ask,
    .handle_reply = memory_handle_reply,
    .end = free,
};
