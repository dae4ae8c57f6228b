#pragma once

// For tests of ownership records: sessions with an owner id at a server in memory, and what they
// leave there.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "providers/rfc2136/session.h"
#include "providers/rfc2136/test_zone_server.h"

#define SECRET "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY="
#define MARK(owner) "heritage=external-dns,external-dns/owner=" owner
#define OURS MARK("edge-1")
#define OURS_WITH_RESOURCE OURS ",external-dns/resource=crd/shop/web"
#define WWW "www.example.com"
#define WWW_TXT "a-www.example.com"

enum { UNIX_S = 1700000000, CHANGES_MAX = 80, STEPS_MAX = 1000, A = 1, TXT = 16 };

// ---- a session at a server ----------------------------------------------------------------------

static inline void count_up(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, 7, len);
}

// One that makes changes; several may be at one server.
struct writer {
    void *session;
    struct job job;
    struct change changes[CHANGES_MAX];
    void *exchange;
};

struct bench {
    struct arena *arena;
    struct zone_server server;
    struct writer writer;
};

static const char *const keys[] = {"ownerId", "txtPrefix", "txtSuffix", "txtWildcardReplacement"};

static inline struct value *config_of(struct arena *arena, const char *const *texts)
{
    struct value *config = value_make(arena, VALUE_MAP);
    value_put_text(arena, config, "server", "192.0.2.53");
    value_put_text(arena, config, "zone", "example.com");
    value_put_text(arena, config, "tsigName", "key");
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (texts[i])
            value_put_text(arena, config, keys[i], texts[i]);
    return config;
}

static inline bool open_session(const struct value *config, void **session, struct error *err)
{
    CLEANUP(secret) struct secret *secret = secret_new(SECRET, strlen(SECRET));
    const struct session_setup setup = {.config = config, .secret = secret};
    return rfc2136_provider.open(&setup, session, err);
}

static inline void writer_init(struct writer *writer, struct arena *arena, const char *owner)
{
    const char *const texts[COUNT_OF(keys)] = {owner};
    assert_true(open_session(config_of(arena, texts), &writer->session, NULL));
    writer->job = (struct job){.arena = arena, .changes = writer->changes, .trace = ""};
}

static inline void writer_done(struct writer *writer)
{
    if (writer->exchange)
        rfc2136_provider.end(writer->exchange);
    rfc2136_provider.close(writer->session);
}

static inline int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->arena = arena_new();
    bench->server.arena = bench->arena;
    bench->server.unix_s = UNIX_S;
    writer_init(&bench->writer, bench->arena, "edge-1");
    *state = bench;
    return tsig_key_init(&bench->server.key, TEXT("key"), TEXT("hmac-sha256"), TEXT(SECRET), NULL)
               ? 0
               : -1;
}

static inline int tear_down(void **state)
{
    struct bench *bench = *state;
    writer_done(&bench->writer);
    tsig_key_done(&bench->server.key);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

// A record set of one value below example.com.
static inline void want(struct bench *bench, struct writer *writer, enum change_op op,
                        enum record_type type, const char *subdomain, const char *value)
{
    struct text *values = arena_new_array(bench->arena, struct text, 1);
    values[0] = text_of(value);
    assert_true(writer->job.change_count < CHANGES_MAX);
    writer->changes[writer->job.change_count++] =
        (struct change){.op = op,
                        .set = {.type = type,
                                .domain = TEXT("example.com"),
                                .subdomain = text_of(subdomain),
                                .ttl_s = 300,
                                .values = values,
                                .value_count = value ? 1 : 0,
                                .priority = -1,
                                .weight = -1,
                                .port = -1}};
}

static inline void begin(struct writer *writer)
{
    writer->exchange = rfc2136_provider.begin(writer->session, &writer->job);
}

// One message and its answer. False: the exchange is done.
static inline bool step(struct bench *bench, struct writer *writer)
{
    AUTO_BUFFER octets = {0};
    struct ask ask = {0};
    struct random even_random = {count_up};
    const struct moment moment = {
        .unix_ms = 1000LL * UNIX_S, .mono_ms = 1000, .random = &even_random};
    if (rfc2136_provider.ask(writer->exchange, &moment, &ask) == ASK_DONE)
        return false;
    zone_server_reply(&bench->server, ask.dns.octets, &octets);
    const struct dns_reply reply = {.is_answered = true, .octets = buffer_text(&octets)};
    const struct ask_result result = {.kind = ASK_DNS, .dns = &reply};
    rfc2136_provider.handle_reply(writer->exchange, &moment, &result);
    return true;
}

static inline void end(struct writer *writer)
{
    rfc2136_provider.end(steal(writer->exchange));
}

static inline void run(struct bench *bench)
{
    size_t steps = 0;
    begin(&bench->writer);
    while (step(bench, &bench->writer))
        assert_true(++steps < STEPS_MAX);
    end(&bench->writer);
}

static inline const struct outcome *change_www(struct bench *bench, enum change_op op,
                                               const char *value)
{
    bench->writer.job.change_count = 0;
    want(bench, &bench->writer, op, RECORD_A, "www", value);
    run(bench);
    return &bench->writer.changes[0].outcome;
}

static inline const struct outcome *set_www(struct bench *bench, const char *value)
{
    return change_www(bench, CHANGE_SET, value);
}

static inline const struct outcome *remove_www(struct bench *bench)
{
    return change_www(bench, CHANGE_REMOVE, NULL);
}

static inline void check_www(struct bench *bench, const char *address, const char *txt)
{
    assert_string_equal(zone_server_show(&bench->server, WWW, A), address);
    assert_string_equal(zone_server_show(&bench->server, WWW_TXT, TXT), txt);
}

static inline void check_part(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text ? text : "nothing");
}

static inline void check_owned_by_other(const struct outcome *outcome, const char *part)
{
    assert_false(outcome->is_done);
    assert_non_null(outcome->error);
    assert_int_equal(outcome->error->status, 409);
    assert_int_equal(outcome->error->fault, FAULT_SPEC);
    assert_string_equal(outcome->error->code, "OWNED_BY_OTHER");
    assert_string_equal(outcome->error->reason, "Conflict");
    check_part(outcome->error->text, part);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
