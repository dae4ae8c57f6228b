#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/primary.h"
#include "dns/test_zones.h"
#include "dns/wire.h"

// A primary for tests, its requests and its answers.

enum { NOW_S = 1700000000, ID = 0x1234, MESSAGES_MAX = 512 };

struct served {
    struct zone_history *history; // of shop.example.; NULL: no good version
    struct tsig_key key;          // signpost.key.
    bool is_refused;
    bool is_keyed;    // only with the key
    bool is_stranger; // has nothing from here yet
};

static inline const struct tsig_key *served_key(void *context, struct dname name)
{
    static const struct dname known = {(const uint8_t *)"\10signpost\3key", 14};
    struct served *served = context;
    return dname_equal(name, known) ? &served->key : NULL;
}

static inline bool served_zone(void *context, struct dname apex, const uint8_t address[16],
                               const struct tsig_key *key, const uint32_t *has,
                               const struct zone_history **history, enum primary_grant *grant)
{
    (void)has;
    struct served *served = context;
    assert_int_equal(address[15], 7);
    *history = served->history;
    bool may = !served->is_refused && (!served->is_keyed || key == &served->key);
    *grant = !may ? PRIMARY_NOTHING : served->is_stranger ? PRIMARY_WHOLES : PRIMARY_ALL;
    return dname_equal(apex, shop);
}

static inline struct tsig_key key_of(const char *algorithm)
{
    struct tsig_key key;
    assert_true(tsig_key_init(&key, TEXT("signpost.key"), text_of(algorithm),
                              TEXT("MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY="), NULL));
    return key;
}

// Takes the zone's reference; NULL: none.
static inline struct served served_of(struct zone *zone)
{
    struct served served = {.history = zone_history_new(), .key = key_of("hmac-sha256")};
    if (zone)
        zone_history_publish(served.history, zone);
    zone_unref(zone);
    return served;
}

static inline void served_done(struct served *served)
{
    zone_history_free(served->history);
    tsig_key_done(&served->key);
}
#define AUTO_SERVED __attribute__((cleanup(served_done))) struct served

// ---- requests -----------------------------------------------------------------------------------

static inline void ask_name(struct buffer *out, struct dname name, uint16_t type, uint16_t class)
{
    static const uint16_t header[] = {ID, 0, 1, 0, 0, 0};
    for (size_t i = 0; i < COUNT_OF(header); i++)
        wire_add_u16(out, header[i]);
    buffer_add(out, name.at, name.len);
    wire_add_u16(out, type);
    wire_add_u16(out, class);
}

static inline void ask(struct buffer *out, uint16_t type)
{
    ask_name(out, shop, type, CLASS_IN);
}

static inline void ask_since(struct buffer *out, uint32_t serial)
{
    static const uint8_t timers[16];
    ask(out, RR_IXFR);
    out->at[9] = 1;
    buffer_add(out, "\300\14\0\6\0\1\0\0\0\0\0\27\0\300\14", 15);
    wire_add_u16(out, serial >> 16);
    wire_add_u16(out, serial & 0xffff);
    buffer_add(out, timers, sizeof timers);
}

static inline void add_edns(struct buffer *out, uint16_t payload, uint32_t ttl)
{
    buffer_add(out, "\0\0\51", 3);
    wire_add_u16(out, payload);
    wire_add_u16(out, ttl >> 16);
    wire_add_u16(out, ttl & 0xffff);
    wire_add_u16(out, 0);
    out->at[11]++;
}

// ---- answers ------------------------------------------------------------------------------------

struct answered {
    struct buffer messages[MESSAGES_MAX];
    size_t count;
    struct primary_reported reported;
};

static inline void answered_done(struct answered *answered)
{
    for (size_t i = 0; i < answered->count; i++)
        buffer_done(&answered->messages[i]);
}
#define AUTO_ANSWERED __attribute__((cleanup(answered_done))) struct answered

static inline struct primary_answer *answer_of(struct served *served, struct text octets,
                                               bool is_tcp)
{
    const struct primary_calls calls = {served_key, served_zone, served};
    struct primary_request request = {
        .octets = octets, .is_tcp = is_tcp, .address = {[15] = 7}, .unix_s = NOW_S};
    return primary_answer_new(&request, &calls);
}

// All messages of the answer; none: there is no answer.
static inline void answer(struct served *served, const struct buffer *request, bool is_tcp,
                          struct answered *out)
{
    CLEANUP(primary_answer)
    struct primary_answer *made = answer_of(served, buffer_text(request), is_tcp);
    out->count = 0;
    if (!made)
        return;
    while (primary_answer_next(made, NOW_S, &out->messages[out->count])) {
        assert_true(out->messages[out->count].len <= WIRE_MESSAGE_MAX);
        out->count++;
        assert_true(out->count < MESSAGES_MAX);
    }
    assert_int_equal(out->messages[out->count].len, 0);
    assert_false(primary_answer_next(made, NOW_S, &out->messages[out->count]));
    primary_answer_report(made, &out->reported);
}
