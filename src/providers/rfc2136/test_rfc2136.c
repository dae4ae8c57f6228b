#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/message.h"
#include "providers/rfc2136/session.h"

#define SECRET "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY="
#define OTHER_SECRET "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg="

enum { NOW_MS = 1000, UNIX_S = 1700000000, CHANGES_MAX = 8, SOA = 6, ANY = 255, A = 1, NS = 2 };

// ---- a server that says what the test wants -----------------------------------------------------

static void count_up(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, 7, len);
}

static struct random even_random = {count_up};

struct bench {
    struct arena *arena;
    void *session;
    struct job job;
    struct change changes[CHANGES_MAX];
    void *exchange;
    struct moment moment;
    struct tsig_key key;
    struct ask asked;
    struct message request; // an UPDATE's added records count as answers
    size_t required;        // its prerequisites that a set exists
    struct tsig_mac mac;    // of the request
};

static struct value *config_of(struct arena *arena, const char *server, const char *zone,
                               const char *name, const char *algorithm)
{
    const char *const keys[] = {"server", "zone", "tsigName", "tsigAlgorithm"};
    const char *const texts[] = {server, zone, name, algorithm};
    struct value *config = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (texts[i])
            value_set(config, text_of(keys[i]), value_make_text(arena, text_of(texts[i])));
    return config;
}

static bool try_open(const struct value *config, const char *secret, void **session,
                     struct error *err)
{
    CLEANUP(secret)
    struct secret *answered = secret ? secret_new(secret, strlen(secret)) : NULL;
    const struct session_setup setup = {.config = config, .secret = answered};
    return rfc2136_provider.open(&setup, session, err);
}

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    struct error err;
    bench->arena = arena_new();
    bench->moment =
        (struct moment){.unix_ms = 1000LL * UNIX_S, .mono_ms = NOW_MS, .random = &even_random};
    const struct value *config =
        config_of(bench->arena, "192.0.2.53:5353", "Example.com.", "Signpost.key", NULL);
    if (!try_open(config, SECRET, &bench->session, &err))
        return -1;
    bench->job = (struct job){.arena = bench->arena, .changes = bench->changes, .trace = ""};
    *state = bench;
    return tsig_key_init(&bench->key, TEXT("signpost.key"), TEXT("hmac-sha256"), TEXT(SECRET), NULL)
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    if (bench->exchange)
        rfc2136_provider.end(bench->exchange);
    rfc2136_provider.close(bench->session);
    tsig_key_done(&bench->key);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

static struct record_set set_of(enum record_type type, const char *subdomain, uint32_t ttl_s,
                                const struct text *values, size_t count)
{
    return (struct record_set){.type = type,
                               .domain = TEXT("example.com"),
                               .subdomain = text_of(subdomain),
                               .ttl_s = ttl_s,
                               .values = values,
                               .value_count = count,
                               .priority = type == RECORD_MX ? 10 : -1,
                               .weight = -1,
                               .port = -1};
}

static void want(struct bench *bench, enum change_op op, struct record_set set)
{
    bench->changes[bench->job.change_count++] = (struct change){.op = op, .set = set};
}

static const struct text one[] = {{"192.0.2.1", 9}};
static const struct text other[] = {{"192.0.2.2", 9}};
static const struct text target[] = {{"x.example.org", 13}};

static struct record_set www(void)
{
    return set_of(RECORD_A, "www", 300, one, 1);
}

static void begin(struct bench *bench)
{
    bench->exchange = rfc2136_provider.begin(bench->session, &bench->job);
}

static unsigned u16_of(const char *at)
{
    return (unsigned)(unsigned char)at[0] << 8 | (unsigned char)at[1];
}

// An UPDATE's zone, prerequisites, and changes in the places of question and answers.
static void read_request(struct bench *bench, struct text octets)
{
    char *copy = arena_copy(bench->arena, octets.at, octets.len);
    unsigned changes = u16_of(copy + 8);
    bench->required = u16_of(copy + 6);
    if (bench->request.opcode == 5) {
        changes += bench->required;
        copy[6] = (char)(changes >> 8);
        copy[7] = (char)changes;
        copy[8] = copy[9] = 0;
    }
    assert_true(message_read(bench->arena, (struct text){copy, octets.len}, &bench->request, NULL));
}

static void expect_ask(struct bench *bench, bool is_tcp)
{
    size_t stripped;
    unsigned peer_error;
    bench->asked = (struct ask){0};
    assert_int_equal(rfc2136_provider.ask(bench->exchange, &bench->moment, &bench->asked), ASK_DNS);
    const struct dns_request *dns = &bench->asked.dns;
    assert_string_equal(dns->server.host, "192.0.2.53");
    assert_int_equal(dns->server.port, 5353);
    assert_int_equal(dns->use_tcp, is_tcp);
    assert_true(dns->octets.len < 65000);
    assert_int_equal(u16_of(dns->octets.at), 0x0707);
    assert_int_equal(
        tsig_verify(dns->octets, &bench->key, UNIX_S, NULL, &stripped, &bench->mac, &peer_error),
        TSIG_GOOD);
    bench->request.opcode = (unsigned char)dns->octets.at[2] >> 3 & 0xf;
    read_request(bench, dns->octets);
}

static void expect_query(struct bench *bench, const char *name, unsigned type)
{
    expect_ask(bench, false);
    assert_int_equal(bench->request.opcode, 0);
    assert_false(bench->asked.dns.octets.at[2] & 1); // no recursion
    assert_true(text_is(bench->request.question_name, name));
    assert_int_equal(bench->request.question_type, type);
}

static void expect_update(struct bench *bench, size_t added, size_t deleted)
{
    expect_ask(bench, false);
    assert_int_equal(bench->request.opcode, 5);
    assert_true(text_is(bench->request.question_name, "example.com"));
    assert_int_equal(bench->request.answer_count, added);
    assert_int_equal(bench->request.skipped_count - bench->required, deleted);
}

// Prerequisites that sets exist, and deletions.
static void expect_removal(struct bench *bench, size_t required, size_t deleted)
{
    expect_update(bench, 0, deleted);
    assert_int_equal(bench->required, required);
}

static void expect_done(struct bench *bench)
{
    assert_int_equal(rfc2136_provider.ask(bench->exchange, &bench->moment, &bench->asked),
                     ASK_DONE);
}

struct said {
    unsigned rcode;
    struct record_set sets[2]; // of the whole names in domain; none: value_count 0
    bool is_referral;
    bool is_truncated;
    bool is_unsigned;
    bool is_foreign; // not authoritative
    const struct tsig_key *key;
};

static void write_reply(const struct bench *bench, const struct said *said, struct buffer *out)
{
    struct tsig_mac mac;
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    for (size_t i = 0; i < COUNT_OF(said->sets) && said->sets[i].value_count; i++)
        assert_true(update_add_set(update, said->sets[i].domain, &said->sets[i], NULL));
    assert_true(update_write(out, update, 0x0707, NULL));
    bool is_authoritative = !said->is_referral && !said->is_foreign;
    out->at[2] = (char)(0x80 | (bench->request.opcode << 3) | (is_authoritative ? 4 : 0) |
                        (said->is_truncated ? 2 : 0));
    out->at[3] = (char)said->rcode;
    if (!said->is_referral) {
        memcpy(out->at + 6, out->at + 8, 2);
        memset(out->at + 8, 0, 2);
    }
    if (!said->is_unsigned)
        assert_true(tsig_sign(out, said->key ? said->key : &bench->key, UNIX_S + 1, &bench->mac,
                              &mac, NULL));
}

static void handle_octets(struct bench *bench, struct text octets)
{
    const struct dns_reply reply = {.is_answered = true, .octets = octets};
    const struct ask_result result = {.kind = ASK_DNS, .dns = &reply};
    rfc2136_provider.handle_reply(bench->exchange, &bench->moment, &result);
}

static void say(struct bench *bench, struct said said)
{
    AUTO_BUFFER reply = {0};
    write_reply(bench, &said, &reply);
    handle_octets(bench, buffer_text(&reply));
}

static void say_rcode(struct bench *bench, unsigned rcode)
{
    say(bench, (struct said){.rcode = rcode});
}

static void say_set(struct bench *bench, const char *name, struct record_set set)
{
    set.domain = text_of(name);
    say(bench, (struct said){.sets = {set}});
}

static void fail_to_answer(struct bench *bench, bool is_timeout)
{
    struct dns_reply reply = {.is_timeout = is_timeout};
    const struct ask_result result = {.kind = ASK_DNS, .dns = &reply};
    error_set(&reply.error, FAULT_AGAIN, "ServerUnreachable", "no answer from 192.0.2.53:5353");
    rfc2136_provider.handle_reply(bench->exchange, &bench->moment, &result);
}

static void check_error(const struct outcome *outcome, int status, const char *code,
                        enum fault fault, const char *part)
{
    assert_false(outcome->is_done);
    assert_non_null(outcome->error);
    assert_int_equal(outcome->error->status, status);
    assert_string_equal(outcome->error->code, code);
    assert_int_equal(outcome->error->fault, fault);
    if (!strstr(outcome->error->text, part))
        fail_msg("'%s' is not in: %s", part, outcome->error->text);
}

static void check_change(const struct bench *bench, size_t i, int status, const char *code,
                         const char *part)
{
    const enum fault fault = status == 503                    ? FAULT_AGAIN
                             : status == 400 || status == 409 ? FAULT_SPEC
                                                              : FAULT_AUTH;
    check_error(&bench->changes[i].outcome, status, code, fault, part);
}

// ---- configuration ------------------------------------------------------------------------------

static void unusable_configuration_is_refused_with_what_is_wrong(void **state)
{
    struct bench *bench = *state;
    static const struct {
        const char *server, *zone, *name, *algorithm, *secret, *part;
    } rows[] = {
        {NULL, "example.com", "key", NULL, SECRET, "server is required"},
        {"ns1.example.com:53", "example.com", "key", NULL, SECRET, "server: "},
        {":53", "example.com", "key", NULL, SECRET, "server: "},
        {"192.0.2.53:0", "example.com", "key", NULL, SECRET, "server: "},
        {"192.0.2.53", NULL, "key", NULL, SECRET, "zone is required"},
        {"192.0.2.53", "a b", "key", NULL, SECRET, "zone: "},
        {"192.0.2.53", "example.com", NULL, NULL, SECRET, "tsigName is required"},
        {"192.0.2.53", "example.com", "key", NULL, NULL, "never sent unsigned"},
        {"192.0.2.53", "example.com", "key", NULL, "%%%", "not base64"},
        {"192.0.2.53", "example.com", "key", "hmac-md5", SECRET, "hmac-md5 is refused"},
        {"192.0.2.53", "example.com", "key", "sha256", SECRET, "unknown TSIG algorithm 'sha256'"},
        {"192.0.2.53", "example.com", "a b", NULL, SECRET, "TSIG key name"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        void *session = NULL;
        struct error err = {0};
        const struct value *config =
            config_of(bench->arena, rows[i].server, rows[i].zone, rows[i].name, rows[i].algorithm);
        assert_false(try_open(config, rows[i].secret, &session, &err));
        assert_null(session);
        assert_int_equal(err.fault, FAULT_SPEC);
        assert_string_equal(err.reason, "InvalidConfiguration");
        if (!strstr(err.text, rows[i].part))
            fail_msg("'%s' is not in: %s", rows[i].part, err.text);
        assert_null(strstr(err.text, SECRET));
    }
}

static void sha1_and_an_ipv6_server_are_accepted(void **state)
{
    struct bench *bench = *state;
    void *session;
    const struct value *config =
        config_of(bench->arena, "[2001:db8::53]:53", "example.com", "key", "hmac-sha1");
    assert_true(try_open(config, " " SECRET "\n", &session, NULL));
    rfc2136_provider.close(session);
}

static void fingerprint_of(const struct bench *bench, const char *server, const char *zone,
                           const struct record_set *set, uint8_t out[FINGERPRINT_OCTETS])
{
    void *session;
    const struct value *config = config_of(bench->arena, server, zone, "key", NULL);
    assert_true(try_open(config, SECRET, &session, NULL));
    rfc2136_provider.fingerprint(session, set, out);
    rfc2136_provider.close(session);
}

static void fingerprint_tells_content_zone_and_server(void **state)
{
    struct bench *bench = *state;
    struct record_set set = www();
    uint8_t first[FINGERPRINT_OCTETS], same[FINGERPRINT_OCTETS], ttl[FINGERPRINT_OCTETS],
        zone[FINGERPRINT_OCTETS], server[FINGERPRINT_OCTETS];
    fingerprint_of(bench, "192.0.2.53", "example.com", &set, first);
    fingerprint_of(bench, "192.0.2.53:53", "EXAMPLE.com.", &set, same);
    fingerprint_of(bench, "192.0.2.53", "com", &set, zone);
    fingerprint_of(bench, "192.0.2.54", "example.com", &set, server);
    set.ttl_s++;
    fingerprint_of(bench, "192.0.2.53", "example.com", &set, ttl);
    assert_memory_equal(first, same, 8);
    assert_memory_not_equal(first, ttl, 8);
    assert_memory_not_equal(first, zone, 8);
    assert_memory_not_equal(first, server, 8);
}

// ---- changes that succeed -----------------------------------------------------------------------

static void new_record_is_queried_added_and_read_back(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_SET, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_update(bench, 1, 1);
    assert_true(record_set_equal(&bench->request.answers[0], &bench->changes[0].set));
    assert_true(text_is(bench->request.answers[0].domain, "www.example.com"));
    say_rcode(bench, RCODE_NOERROR);
    assert_false(bench->changes[0].outcome.is_done);
    expect_query(bench, "www.example.com", A);
    say_set(bench, "www.example.com", www());
    expect_done(bench);
    assert_true(bench->changes[0].outcome.is_done);
    assert_true(bench->changes[0].outcome.was_created);
    assert_null(bench->changes[0].outcome.error);
}

static void record_that_exists_is_updated_even_if_equal(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_SET, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_set(bench, "www.example.com", www());
    expect_update(bench, 1, 1);
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, "www.example.com", A);
    say_set(bench, "www.example.com", www());
    expect_done(bench);
    assert_true(bench->changes[0].outcome.is_done);
    assert_false(bench->changes[0].outcome.was_created);
}

static void begin_removal_of_what_is_not_seen(struct bench *bench)
{
    want(bench, CHANGE_REMOVE, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_rcode(bench, RCODE_NOERROR);
    expect_removal(bench, 0, 1);
}

// An UPDATE of a process that was killed may still be on its way.
static void removing_what_is_not_seen_is_sent_all_the_same(void **state)
{
    struct bench *bench = *state;
    begin_removal_of_what_is_not_seen(bench);
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, "www.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_done(bench);
    assert_true(bench->changes[0].outcome.is_done);
    assert_true(bench->changes[0].outcome.was_absent);
}

static void what_is_not_seen_and_may_not_be_updated_is_absent(void **state)
{
    static const unsigned rcodes[] = {RCODE_REFUSED, RCODE_NOTAUTH, RCODE_NOTIMP};
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rcodes); i++) {
        bench->job.change_count = 0;
        begin_removal_of_what_is_not_seen(bench);
        say_rcode(bench, rcodes[i]);
        expect_done(bench);
        assert_true(bench->changes[0].outcome.was_absent);
        rfc2136_provider.end(steal(bench->exchange));
    }
}

static void what_is_not_seen_is_tried_again_when_the_server_has_trouble(void **state)
{
    struct bench *bench = *state;
    begin_removal_of_what_is_not_seen(bench);
    say_rcode(bench, RCODE_SERVFAIL);
    expect_done(bench);
    check_change(bench, 0, 503, "SERVER_ERROR", "SERVFAIL");
}

static void removing_deletes_and_reads_back(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_REMOVE, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_set(bench, "www.example.com", www());
    expect_removal(bench, 1, 1);
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, "www.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_done(bench);
    assert_true(bench->changes[0].outcome.is_done);
    assert_false(bench->changes[0].outcome.was_absent);
}

static void reading_asks_the_zone_itself_and_changes_nothing(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_READ, www());
    want(bench, CHANGE_READ, set_of(RECORD_AAAA, "www", 0, NULL, 0));
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_set(bench, "www.example.com", www());
    expect_query(bench, "www.example.com", 28);
    say_rcode(bench, RCODE_NOERROR);
    expect_removal(bench, 1, 0);
    say_rcode(bench, RCODE_NOERROR);
    expect_done(bench);
    const struct record_set *found = bench->changes[0].outcome.found;
    assert_non_null(found);
    assert_true(record_set_equal(found, &bench->changes[0].set));
    assert_true(text_is(found->domain, "example.com"));
    assert_true(text_is(found->subdomain, "www"));
    assert_true(bench->changes[1].outcome.is_done);
    assert_true(bench->changes[1].outcome.was_absent);
    assert_null(bench->changes[1].outcome.found);
}

static void data_that_a_wildcard_feigns_are_not_read(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_READ, www());
    want(bench, CHANGE_READ, set_of(RECORD_A, "@", 300, one, 1));
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_set(bench, "www.example.com", www());
    expect_query(bench, "example.com", A);
    say_set(bench, "example.com", bench->changes[1].set);
    expect_removal(bench, 2, 0);
    say_rcode(bench, RCODE_NXRRSET);
    expect_removal(bench, 1, 0);
    say_rcode(bench, RCODE_NXRRSET);
    expect_removal(bench, 1, 0);
    say_rcode(bench, RCODE_NOERROR);
    expect_done(bench);
    assert_true(bench->changes[0].outcome.is_done);
    assert_true(bench->changes[0].outcome.was_absent);
    assert_null(bench->changes[0].outcome.found);
    assert_non_null(bench->changes[1].outcome.found);
}

static void key_that_may_not_update_reads_what_queries_show(void **state)
{
    static const unsigned rcodes[] = {RCODE_REFUSED, RCODE_NOTAUTH, RCODE_NOTIMP};
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rcodes); i++) {
        bench->job.change_count = 0;
        want(bench, CHANGE_READ, www());
        begin(bench);
        expect_query(bench, "www.example.com", A);
        say_set(bench, "www.example.com", www());
        expect_removal(bench, 1, 0);
        say_rcode(bench, rcodes[i]);
        expect_done(bench);
        assert_non_null(bench->changes[0].outcome.found);
        rfc2136_provider.end(steal(bench->exchange));
    }
}

static void lost_answer_to_what_changes_nothing_is_asked_for_again(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_READ, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_set(bench, "www.example.com", www());
    expect_removal(bench, 1, 0);
    fail_to_answer(bench, true);
    expect_ask(bench, true);
    assert_int_equal(bench->required, 1);
    say_rcode(bench, RCODE_NOERROR);
    expect_done(bench);
    assert_non_null(bench->changes[0].outcome.found);
}

static void several_changes_go_into_one_update(void **state)
{
    struct bench *bench = *state;
    struct record_set root = set_of(RECORD_A, "@", 300, one, 1);
    want(bench, CHANGE_SET, www());
    want(bench, CHANGE_SET, root);
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_query(bench, "example.com", A);
    say_rcode(bench, RCODE_NOERROR);
    expect_update(bench, 2, 2);
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, "www.example.com", A);
    say_set(bench, "www.example.com", www());
    expect_query(bench, "example.com", A);
    say_set(bench, "example.com", root);
    expect_done(bench);
    assert_true(bench->changes[0].outcome.is_done && bench->changes[1].outcome.is_done);
}

// ---- read-back ----------------------------------------------------------------------------------

static void send_and_read_back(struct bench *bench, struct record_set set, const char *name,
                               unsigned type)
{
    want(bench, CHANGE_SET, set);
    begin(bench);
    expect_query(bench, name, type);
    say_rcode(bench, RCODE_NOERROR);
    expect_update(bench, 1, 1);
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, name, type);
}

static void what_the_server_dropped_is_an_invalid_record(void **state)
{
    struct bench *bench = *state;
    send_and_read_back(bench, www(), "www.example.com", A);
    say_set(bench, "www.example.com", set_of(RECORD_CNAME, "@", 60, target, 1));
    expect_done(bench);
    check_change(bench, 0, 400, "INVALID_RECORD", "it holds CNAME x.example.org (TTL 60)");
}

static void dropped_cname_shows_the_data_beside_it(void **state)
{
    struct bench *bench = *state;
    send_and_read_back(bench, set_of(RECORD_CNAME, "www", 60, target, 1), "www.example.com", 5);
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, "www.example.com", ANY);
    say_set(bench, "www.example.com", www());
    expect_done(bench);
    check_change(bench, 0, 400, "INVALID_RECORD", "it holds A 192.0.2.1 (TTL 300)");
}

static void another_ttl_is_not_what_was_wanted(void **state)
{
    struct bench *bench = *state;
    struct record_set answered = www();
    answered.ttl_s = 60;
    send_and_read_back(bench, www(), "www.example.com", A);
    say_set(bench, "www.example.com", answered);
    expect_done(bench);
    check_change(bench, 0, 400, "INVALID_RECORD", "it holds A 192.0.2.1 (TTL 60)");
}

static void a_further_value_is_not_what_was_wanted(void **state)
{
    struct bench *bench = *state;
    const struct text both[] = {one[0], other[0]};
    send_and_read_back(bench, www(), "www.example.com", A);
    say_set(bench, "www.example.com", set_of(RECORD_A, "@", 300, both, 2));
    expect_done(bench);
    check_change(bench, 0, 400, "INVALID_RECORD", "192.0.2.1, 192.0.2.2");
}

static void a_second_priority_is_not_what_was_wanted(void **state)
{
    struct bench *bench = *state;
    struct record_set first = set_of(RECORD_MX, "@", 300, target, 1);
    struct record_set second = first;
    second.priority = 20;
    send_and_read_back(bench, first, "example.com", 15);
    say(bench, (struct said){.sets = {first, second}});
    expect_done(bench);
    check_change(bench, 0, 400, "INVALID_RECORD", "MX 20 x.example.org");
}

static void order_and_spelling_of_values_do_not_count(void **state)
{
    struct bench *bench = *state;
    const struct text wanted[] = {TEXT("2001:DB8:0:0::1"), TEXT("2001:db8::2")};
    const struct text answered[] = {TEXT("2001:db8::2"), TEXT("2001:db8::1")};
    send_and_read_back(bench, set_of(RECORD_AAAA, "six", 60, wanted, 2), "six.example.com", 28);
    say_set(bench, "six.example.com", set_of(RECORD_AAAA, "@", 60, answered, 2));
    expect_done(bench);
    assert_true(bench->changes[0].outcome.is_done);
}

static void delegation_is_read_from_the_referral(void **state)
{
    struct bench *bench = *state;
    const struct text servers[] = {TEXT("ns.sub.example.com")};
    struct record_set sub = set_of(RECORD_NS, "sub", 300, servers, 1);
    struct record_set cut = sub;
    cut.domain = TEXT("sub.example.com");
    send_and_read_back(bench, sub, "sub.example.com", NS);
    say(bench, (struct said){.sets = {cut}, .is_referral = true});
    expect_done(bench);
    assert_true(bench->changes[0].outcome.is_done);
}

static void referral_upward_is_no_authority(void **state)
{
    struct bench *bench = *state;
    struct record_set root = set_of(RECORD_NS, "@", 300, target, 1);
    root.domain = TEXT("com");
    want(bench, CHANGE_SET, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say(bench, (struct said){.sets = {root}, .is_referral = true});
    expect_done(bench);
    check_change(bench, 0, 503, "SERVER_ERROR", "is not authoritative");
}

static void remove_below_wildcard(struct bench *bench)
{
    want(bench, CHANGE_REMOVE, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_set(bench, "www.example.com", www());
    expect_removal(bench, 1, 1);
}

static void read_back_below_wildcard(struct bench *bench)
{
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, "www.example.com", A);
    say_set(bench, "www.example.com", www());
    expect_update(bench, 0, 0); // a prerequisite alone
}

static void wildcard_that_answers_afterwards_is_told_by_a_prerequisite(void **state)
{
    struct bench *bench = *state;
    remove_below_wildcard(bench);
    read_back_below_wildcard(bench);
    say_rcode(bench, RCODE_NOERROR);
    expect_done(bench);
    assert_true(bench->changes[0].outcome.is_done);
    assert_false(bench->changes[0].outcome.was_absent);
}

static void removing_what_only_a_wildcard_feigns_finds_nothing(void **state)
{
    struct bench *bench = *state;
    remove_below_wildcard(bench);
    say_rcode(bench, RCODE_NXRRSET);
    expect_done(bench);
    assert_true(bench->changes[0].outcome.is_done);
    assert_true(bench->changes[0].outcome.was_absent);
}

static void absent_set_fails_no_removal_beside_it(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_REMOVE, www());
    want(bench, CHANGE_SET, set_of(RECORD_A, "b", 300, one, 1));
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_set(bench, "www.example.com", www());
    expect_query(bench, "b.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_update(bench, 1, 2);
    say_rcode(bench, RCODE_NXRRSET);
    expect_removal(bench, 1, 1);
    say_rcode(bench, RCODE_NXRRSET);
    expect_update(bench, 1, 1);
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, "b.example.com", A);
    say_set(bench, "b.example.com", bench->changes[1].set);
    expect_done(bench);
    assert_true(bench->changes[0].outcome.was_absent);
    assert_true(bench->changes[1].outcome.was_created);
}

static void record_that_will_not_go_is_an_invalid_record(void **state)
{
    struct bench *bench = *state;
    remove_below_wildcard(bench);
    read_back_below_wildcard(bench);
    say_rcode(bench, RCODE_YXRRSET);
    expect_done(bench);
    check_change(bench, 0, 400, "INVALID_RECORD", "it holds the record set still");
}

// ---- below a delegation -------------------------------------------------------------------------

static const struct text cut_servers[] = {{"ns.sub.example.com", 18}, {"ns.example.net", 14}};

static void refer(struct bench *bench, struct record_set glue)
{
    struct record_set cut = set_of(RECORD_NS, "@", 300, cut_servers, 2);
    cut.domain = TEXT("sub.example.com");
    glue.domain = TEXT("ns.sub.example.com");
    say(bench, (struct said){.sets = {cut, glue}, .is_referral = true});
}

static const struct record_set no_glue;

static void begin_below_the_cut(struct bench *bench, enum change_op op, const char *subdomain,
                                const char *name, unsigned type)
{
    want(bench, op,
         type == NS ? set_of(RECORD_NS, subdomain, 300, target, 1)
                    : set_of(RECORD_A, subdomain, 300, one, 1));
    begin(bench);
    expect_query(bench, name, type);
}

static void removal_below_a_delegation_is_always_sent(void **state)
{
    struct bench *bench = *state;
    begin_below_the_cut(bench, CHANGE_REMOVE, "host.sub", "host.sub.example.com", A);
    refer(bench, no_glue);
    expect_removal(bench, 1, 1);
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, "host.sub.example.com", A);
    refer(bench, no_glue);
    expect_update(bench, 0, 0); // a prerequisite alone
    say_rcode(bench, RCODE_NOERROR);
    expect_done(bench);
    assert_true(bench->changes[0].outcome.is_done);
    assert_false(bench->changes[0].outcome.was_absent);
}

static void removal_below_a_delegation_finds_nothing_only_in_the_zone_itself(void **state)
{
    struct bench *bench = *state;
    begin_below_the_cut(bench, CHANGE_REMOVE, "host.sub", "host.sub.example.com", A);
    refer(bench, no_glue);
    expect_removal(bench, 1, 1);
    say_rcode(bench, RCODE_NXRRSET);
    expect_done(bench);
    assert_true(bench->changes[0].outcome.is_done);
    assert_true(bench->changes[0].outcome.was_absent);
}

static void removal_below_a_delegation_that_is_refused_is_no_success(void **state)
{
    struct bench *bench = *state;
    begin_below_the_cut(bench, CHANGE_REMOVE, "host.sub", "host.sub.example.com", A);
    refer(bench, no_glue);
    expect_removal(bench, 1, 1);
    say_rcode(bench, RCODE_REFUSED);
    expect_done(bench);
    check_change(bench, 0, 500, "SERVER_ERROR", "REFUSED");
}

static void record_that_a_delegation_would_hide_is_refused_before_sending(void **state)
{
    static const struct {
        const char *subdomain, *name;
        unsigned type;
    } rows[] = {
        {"host.sub", "host.sub.example.com", A},
        {"sub", "sub.example.com", A},
        {"deep.sub", "deep.sub.example.com", NS},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench->job.change_count = 0;
        begin_below_the_cut(bench, CHANGE_SET, rows[i].subdomain, rows[i].name, rows[i].type);
        refer(bench, no_glue);
        expect_done(bench);
        check_change(bench, 0, 400, "INVALID_RECORD", "below the delegation sub.example.com:");
        rfc2136_provider.end(steal(bench->exchange));
    }
}

static void glue_of_a_delegation_can_be_added_and_removed(void **state)
{
    struct bench *bench = *state;
    const struct record_set glue = set_of(RECORD_A, "@", 300, one, 1);
    begin_below_the_cut(bench, CHANGE_SET, "ns.sub", "ns.sub.example.com", A);
    refer(bench, no_glue);
    expect_update(bench, 1, 1);
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, "ns.sub.example.com", A);
    refer(bench, glue);
    expect_done(bench);
    assert_true(bench->changes[0].outcome.was_created);
    rfc2136_provider.end(steal(bench->exchange));
    bench->job.change_count = 0;
    begin_below_the_cut(bench, CHANGE_REMOVE, "ns.sub", "ns.sub.example.com", A);
    refer(bench, glue);
    expect_removal(bench, 1, 1);
}

static void delegation_that_comes_in_between_is_named(void **state)
{
    struct bench *bench = *state;
    begin_below_the_cut(bench, CHANGE_SET, "host.sub", "host.sub.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_update(bench, 1, 1);
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, "host.sub.example.com", A);
    refer(bench, no_glue);
    expect_done(bench);
    check_change(bench, 0, 400, "INVALID_RECORD",
                 "below the delegation sub.example.com: the server answers with that delegation's "
                 "name servers, not with this record, which it took");
}

static void reading_below_a_delegation_tells_what_can_be_known(void **state)
{
    struct bench *bench = *state;
    begin_below_the_cut(bench, CHANGE_READ, "host.sub", "host.sub.example.com", A);
    refer(bench, no_glue);
    expect_removal(bench, 1, 0);
    say_rcode(bench, RCODE_NOERROR);
    expect_done(bench);
    check_change(bench, 0, 400, "INVALID_RECORD", "below the delegation sub.example.com:");
    rfc2136_provider.end(steal(bench->exchange));
    bench->job.change_count = 0;
    begin_below_the_cut(bench, CHANGE_READ, "ns.sub", "ns.sub.example.com", A);
    refer(bench, set_of(RECORD_A, "@", 300, one, 1));
    expect_done(bench);
    assert_non_null(bench->changes[0].outcome.found);
    rfc2136_provider.end(steal(bench->exchange));
    bench->job.change_count = 0;
    begin_below_the_cut(bench, CHANGE_READ, "ns.sub", "ns.sub.example.com", A);
    refer(bench, no_glue);
    expect_removal(bench, 1, 0);
    say_rcode(bench, RCODE_NXRRSET);
    expect_done(bench);
    assert_true(bench->changes[0].outcome.was_absent);
}

// ---- refusals -----------------------------------------------------------------------------------

static void cname_at_the_apex_and_foreign_names_are_refused_before_sending(void **state)
{
    struct bench *bench = *state;
    struct record_set foreign = www();
    foreign.domain = TEXT("notexample.com");
    want(bench, CHANGE_SET, set_of(RECORD_CNAME, "@", 60, target, 1));
    want(bench, CHANGE_SET, foreign);
    begin(bench);
    expect_done(bench);
    check_change(bench, 0, 400, "INVALID_RECORD", "apex example.com");
    check_change(bench, 1, 400, "INVALID_DOMAIN", "www.notexample.com lies outside");
}

static void cname_at_the_apex_can_be_removed(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_REMOVE, set_of(RECORD_CNAME, "@", 60, target, 1));
    begin(bench);
    expect_query(bench, "example.com", 5);
}

static void name_servers_of_the_apex_are_replaced_one_by_one(void **state)
{
    struct bench *bench = *state;
    const struct text answered[] = {TEXT("ns1.example.com"), TEXT("ns2.example.com")};
    const struct text wanted[] = {TEXT("ns3.example.com"), TEXT("NS1.example.com.")};
    want(bench, CHANGE_SET, set_of(RECORD_NS, "@", 300, wanted, 2));
    begin(bench);
    expect_query(bench, "example.com", NS);
    say_set(bench, "example.com", set_of(RECORD_NS, "@", 300, answered, 2));
    expect_update(bench, 1, 1);
    assert_int_equal(bench->request.answers[0].value_count, 2);
    struct text octets = bench->asked.dns.octets;
    static const char class_none[] = "\x00\x02\x00\xfe\x00\x00\x00\x00";
    assert_non_null(memmem(octets.at, octets.len, class_none, sizeof class_none - 1));
}

static void name_servers_of_the_apex_with_another_ttl_go_and_come_anew(void **state)
{
    struct bench *bench = *state;
    const struct text answered[] = {TEXT("ns1.example.com"), TEXT("ns2.example.com")};
    want(bench, CHANGE_SET, set_of(RECORD_NS, "@", 60, answered, 1));
    begin(bench);
    expect_query(bench, "example.com", NS);
    say_set(bench, "example.com", set_of(RECORD_NS, "@", 300, answered, 2));
    expect_update(bench, 1, 2);
    assert_int_equal(bench->request.answers[0].value_count, 1);
}

static void last_name_server_of_the_apex_stays_and_the_text_says_what_to_do(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_REMOVE, set_of(RECORD_NS, "@", 300, target, 1));
    begin(bench);
    expect_done(bench);
    check_change(bench, 0, 400, "INVALID_RECORD", "apex example.com keeps a name server");
    check_change(bench, 0, 400, "INVALID_RECORD", "deletionPolicy: Retain");
    check_change(bench, 0, 400, "INVALID_RECORD", "dns.homelab.mortenolsen.pro/force-delete");
}

static void rcode_of_an_update_decides_the_answer(void **state)
{
    static const struct {
        unsigned rcode;
        int status;
        const char *code;
        enum fault fault;
        const char *part;
    } rows[] = {
        {RCODE_NOTZONE, 400, "INVALID_DOMAIN", FAULT_SPEC, "NOTZONE"},
        {RCODE_YXDOMAIN, 409, "OWNED_BY_OTHER", FAULT_SPEC, "YXDOMAIN"},
        {RCODE_YXRRSET, 409, "OWNED_BY_OTHER", FAULT_SPEC, "YXRRSET"},
        {RCODE_NXRRSET, 409, "OWNED_BY_OTHER", FAULT_SPEC, "NXRRSET"},
        {RCODE_REFUSED, 500, "SERVER_ERROR", FAULT_AUTH, "REFUSED to this record"},
        {RCODE_REFUSED, 500, "SERVER_ERROR", FAULT_AUTH, "TSIG key signpost.key"},
        {RCODE_NOTAUTH, 500, "SERVER_ERROR", FAULT_AUTH,
         "answered NOTAUTH: it does not serve the zone example.com as primary, or does not let the "
         "TSIG key signpost.key query and update it"},
        {RCODE_SERVFAIL, 503, "SERVER_ERROR", FAULT_AGAIN, "SERVFAIL"},
        {RCODE_NOTIMP, 500, "SERVER_ERROR", FAULT_AGAIN, "takes no UPDATE"},
        {RCODE_FORMERR, 500, "SERVER_ERROR", FAULT_AGAIN, "FORMERR"},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench->job.change_count = 0;
        want(bench, CHANGE_SET, www());
        begin(bench);
        expect_query(bench, "www.example.com", A);
        say_rcode(bench, RCODE_NXDOMAIN);
        expect_update(bench, 1, 1);
        say_rcode(bench, rows[i].rcode);
        expect_done(bench);
        check_error(&bench->changes[0].outcome, rows[i].status, rows[i].code, rows[i].fault,
                    rows[i].part);
        assert_false(bench->job.is_transport_failure);
        rfc2136_provider.end(steal(bench->exchange));
    }
}

static void refused_query_fails_its_change_alone(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_SET, www());
    want(bench, CHANGE_REMOVE, set_of(RECORD_A, "old", 0, NULL, 0));
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_rcode(bench, RCODE_REFUSED);
    expect_query(bench, "old.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_removal(bench, 0, 1);
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, "old.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_done(bench);
    check_change(bench, 0, 500, "SERVER_ERROR", "REFUSED");
    assert_true(bench->changes[1].outcome.was_absent);
}

static void one_bad_record_is_found_by_halving(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    static const char *const fqdns[] = {"a.example.com", "b.example.com", "c.example.com",
                                        "d.example.com"};
    struct bench *bench = *state;
    for (size_t i = 0; i < 4; i++)
        want(bench, CHANGE_SET, set_of(RECORD_A, names[i], 300, one, 1));
    begin(bench);
    for (size_t i = 0; i < 4; i++) {
        expect_query(bench, fqdns[i], A);
        say_rcode(bench, RCODE_NXDOMAIN);
    }
    expect_update(bench, 4, 4);
    say_rcode(bench, RCODE_SERVFAIL);
    expect_update(bench, 2, 2); // a, b
    assert_true(text_is(bench->request.answers[0].domain, "a.example.com"));
    say_rcode(bench, RCODE_NOERROR);
    expect_update(bench, 2, 2); // c, d
    say_rcode(bench, RCODE_SERVFAIL);
    expect_update(bench, 1, 1); // c
    say_rcode(bench, RCODE_SERVFAIL);
    expect_update(bench, 1, 1); // d
    say_rcode(bench, RCODE_NOERROR);
    for (size_t i = 0; i < 4; i++) {
        if (i == 2)
            continue;
        expect_query(bench, fqdns[i], A);
        say_set(bench, fqdns[i], bench->changes[i].set);
    }
    expect_done(bench);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(bench->changes[i].outcome.is_done, i != 2);
    check_change(bench, 2, 503, "SERVER_ERROR", "c.example.com A");
}

static void record_that_is_refused_beside_others_is_blamed_with_the_key(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_SET, www());
    want(bench, CHANGE_SET, set_of(RECORD_A, "-x-", 300, one, 1));
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_query(bench, "-x-.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_update(bench, 2, 2);
    say_rcode(bench, RCODE_REFUSED);
    expect_update(bench, 1, 1);
    say_rcode(bench, RCODE_NOERROR);
    expect_update(bench, 1, 1);
    say_rcode(bench, RCODE_REFUSED);
    expect_query(bench, "www.example.com", A);
    check_change(bench, 1, 500, "SERVER_ERROR", "REFUSED to this record, though it took others");
    check_change(bench, 1, 500, "SERVER_ERROR", "check-names");
    check_change(bench, 1, 500, "SERVER_ERROR", "the TSIG key signpost.key may not");
}

static void zone_that_is_not_there_is_not_halved(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_SET, www());
    want(bench, CHANGE_SET, set_of(RECORD_A, "b", 300, one, 1));
    begin(bench);
    expect_ask(bench, false);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_ask(bench, false);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_update(bench, 2, 2);
    say_rcode(bench, RCODE_NOTAUTH);
    expect_done(bench);
    check_change(bench, 0, 500, "SERVER_ERROR", "the TSIG key signpost.key query");
    check_change(bench, 1, 500, "SERVER_ERROR", "the TSIG key signpost.key query");
}

// ---- trust and transport ------------------------------------------------------------------------

static void unsigned_answer_is_none_and_names_the_key(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_SET, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say(bench, (struct said){.is_unsigned = true});
    expect_done(bench);
    check_change(bench, 0, 503, "SERVER_ERROR", "(NOERROR) is not signed");
    check_change(bench, 0, 503, "SERVER_ERROR", "TSIG key signpost.key");
    assert_true(bench->job.is_transport_failure);
}

// So Knot answers: it knows no key for a zone that it does not have.
static void unsigned_refusal_says_that_the_zone_may_not_be_served(void **state)
{
    static const struct {
        unsigned rcode;
        const char *part;
    } rows[] = {
        {RCODE_REFUSED,
         "example.com: 192.0.2.53:5353 answered REFUSED, unsigned: it does not serve "
         "the zone example.com as primary"},
        {RCODE_NOTAUTH, "answered NOTAUTH, unsigned: it does not serve the zone example.com as "
                        "primary, or does not let the TSIG key signpost.key query and update it"},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench->job.change_count = 0;
        want(bench, CHANGE_SET, www());
        begin(bench);
        expect_query(bench, "www.example.com", A);
        say(bench, (struct said){.rcode = rows[i].rcode, .is_unsigned = true});
        expect_done(bench);
        check_change(bench, 0, 503, "SERVER_ERROR", rows[i].part);
        assert_string_equal(bench->changes[0].outcome.error->reason, "ServerError");
        rfc2136_provider.end(steal(bench->exchange));
    }
}

static void answer_signed_otherwise_is_none(void **state)
{
    static const struct {
        const char *name, *secret, *part;
    } rows[] = {
        {"signpost.key", OTHER_SECRET, "has a wrong signature"},
        {"stranger", SECRET, "is signed with another key"},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct tsig_key key;
        assert_true(tsig_key_init(&key, text_of(rows[i].name), TEXT("hmac-sha256"),
                                  text_of(rows[i].secret), NULL));
        bench->job.change_count = 0;
        want(bench, CHANGE_SET, www());
        begin(bench);
        expect_query(bench, "www.example.com", A);
        say(bench, (struct said){.rcode = RCODE_NXDOMAIN, .key = &key});
        expect_done(bench);
        check_change(bench, 0, 503, "SERVER_ERROR", rows[i].part);
        tsig_key_done(&key);
        rfc2136_provider.end(steal(bench->exchange));
    }
}

static void unsigned_update_answer_leaves_the_outcome_open_to_the_next_try(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_SET, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_update(bench, 1, 1);
    say(bench, (struct said){.is_unsigned = true});
    expect_done(bench);
    check_change(bench, 0, 503, "SERVER_ERROR", "is not signed");
}

// A reply as BIND sends it when it does not know the key: NOTAUTH, TSIG with error and no MAC.
static void refuse_key(struct bench *bench, unsigned code)
{
    AUTO_BUFFER reply = {0};
    const struct said said = {.rcode = RCODE_NOTAUTH};
    write_reply(bench, &said, &reply);
    const size_t mac_len = 32;
    size_t mac_at = reply.len - 6 - mac_len; // before original id, error, length of other data
    memmove(reply.at + mac_at, reply.at + mac_at + mac_len, 6);
    memset(reply.at + mac_at - 2, 0, 2);
    reply.at[mac_at + 3] = (char)code;
    reply.len -= mac_len;
    size_t rdata_at = mac_at - 10 - strlen("_hmac-sha256_") - 2;
    reply.at[rdata_at + 1] = (char)(reply.at[rdata_at + 1] - (char)mac_len);
    handle_octets(bench, buffer_text(&reply));
}

static void key_that_the_server_refuses_is_named(void **state)
{
    static const struct {
        unsigned code;
        const char *name;
    } rows[] = {{16, "BADSIG"}, {17, "BADKEY"}, {18, "BADTIME"}};
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench->job.change_count = 0;
        want(bench, CHANGE_SET, www());
        begin(bench);
        expect_query(bench, "www.example.com", A);
        refuse_key(bench, rows[i].code);
        expect_ask(bench, true); // not signed: asked again where nobody can put in a word
        refuse_key(bench, rows[i].code);
        expect_done(bench);
        check_change(bench, 0, 500, "SERVER_ERROR", rows[i].name);
        check_change(bench, 0, 500, "SERVER_ERROR", "the TSIG key signpost.key with");
        assert_false(bench->job.is_transport_failure);
        rfc2136_provider.end(steal(bench->exchange));
    }
}

static bool is_wanted(const struct bench *bench, struct said said)
{
    AUTO_BUFFER reply = {0};
    write_reply(bench, &said, &reply);
    const struct dns_request *asked = &bench->asked.dns;
    return asked->is_wanted(asked->context, buffer_text(&reply));
}

static void what_the_key_does_not_vouch_for_ends_no_wait(void **state)
{
    struct bench *bench = *state;
    struct tsig_key key;
    assert_true(
        tsig_key_init(&key, TEXT("signpost.key"), TEXT("hmac-sha256"), TEXT(OTHER_SECRET), NULL));
    want(bench, CHANGE_SET, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    assert_true(is_wanted(bench, (struct said){.rcode = RCODE_NXDOMAIN}));
    assert_true(is_wanted(bench, (struct said){.is_truncated = true, .is_unsigned = true}));
    assert_false(is_wanted(bench, (struct said){.is_unsigned = true}));
    assert_false(is_wanted(bench, (struct said){.key = &key}));
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_update(bench, 1, 1);
    assert_true(is_wanted(bench, (struct said){.rcode = RCODE_REFUSED}));
    assert_false(is_wanted(bench, (struct said){.is_truncated = true, .is_unsigned = true}));
    assert_false(is_wanted(bench, (struct said){.rcode = RCODE_REFUSED, .is_unsigned = true}));
    tsig_key_done(&key);
}

static void unwanted_answer_is_named_when_the_time_is_over(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER octets = {0};
    const struct said said = {.rcode = RCODE_REFUSED, .is_unsigned = true};
    want(bench, CHANGE_SET, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_update(bench, 1, 1);
    write_reply(bench, &said, &octets);
    const struct dns_reply reply = {.is_timeout = true, .octets = buffer_text(&octets)};
    rfc2136_provider.handle_reply(bench->exchange, &bench->moment,
                                  &(struct ask_result){.kind = ASK_DNS, .dns = &reply});
    expect_done(bench);
    check_change(bench, 0, 503, "SERVER_ERROR", "REFUSED, unsigned: it does not serve the zone");
    check_change(bench, 0, 503, "SERVER_ERROR", "TSIG key signpost.key");
    assert_true(bench->job.is_transport_failure);
}

static void truncated_answer_is_asked_again_over_tcp(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_READ, www());
    want(bench, CHANGE_READ, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say(bench, (struct said){.is_truncated = true});
    expect_ask(bench, true);
    say_set(bench, "www.example.com", www());
    expect_query(bench, "www.example.com", A); // the next over UDP again
    assert_null(bench->changes[0].outcome.error);
}

static void answer_that_tcp_cuts_too_fails_its_change_alone(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_READ, www());
    want(bench, CHANGE_READ, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say(bench, (struct said){.is_truncated = true});
    expect_ask(bench, true);
    say(bench, (struct said){.is_truncated = true});
    expect_query(bench, "www.example.com", A);
    check_change(bench, 0, 503, "SERVER_ERROR", "cut its answer short");
}

static void silent_server_gets_a_second_chance_over_tcp(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_SET, www());
    want(bench, CHANGE_READ, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    fail_to_answer(bench, true);
    expect_ask(bench, true);
    fail_to_answer(bench, true);
    expect_done(bench);
    assert_true(bench->job.is_transport_failure);
    check_change(bench, 0, 503, "SERVER_ERROR", "no answer from");
    check_change(bench, 1, 503, "SERVER_ERROR", "no answer from");
}

static void update_without_answer_is_not_sent_again(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_SET, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    expect_update(bench, 1, 1);
    fail_to_answer(bench, true);
    expect_done(bench);
    check_change(bench, 0, 503, "SERVER_ERROR", "no answer from");
}

static void refused_connection_fails_at_once(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_SET, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    fail_to_answer(bench, false);
    expect_done(bench);
    check_change(bench, 0, 503, "SERVER_ERROR", "no answer from");
}

static void exchange_without_end_ends(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_SET, www());
    begin(bench);
    expect_query(bench, "www.example.com", A);
    say_rcode(bench, RCODE_NXDOMAIN);
    bench->moment.mono_ms += 25000;
    expect_done(bench);
    check_change(bench, 0, 503, "SERVER_ERROR", "within 25 s");
    assert_true(bench->job.is_transport_failure);
}

// ---- size ---------------------------------------------------------------------------------------

static struct text *long_values(struct arena *arena, size_t count)
{
    struct text *values = arena_new_array(arena, struct text, count);
    for (size_t i = 0; i < count; i++)
        values[i] = text_of(arena_printf(arena, "%04zu%04000d", i, 7));
    return values;
}

static void queried_as_absent(struct bench *bench)
{
    begin(bench);
    for (size_t i = 0; i < bench->job.change_count; i++) {
        expect_ask(bench, false);
        say_rcode(bench, RCODE_NXDOMAIN);
    }
}

static void changes_that_outgrow_a_message_go_in_several(void **state)
{
    struct bench *bench = *state;
    const struct text *values = long_values(bench->arena, 8);
    want(bench, CHANGE_SET, set_of(RECORD_TXT, "a", 300, values, 8));
    want(bench, CHANGE_SET, set_of(RECORD_TXT, "b", 300, values, 8));
    want(bench, CHANGE_SET, www());
    queried_as_absent(bench);
    expect_ask(bench, true);
    assert_int_equal(bench->request.answer_count, 1);
    assert_true(text_is(bench->request.answers[0].domain, "a.example.com"));
    say_rcode(bench, RCODE_NOERROR);
    expect_ask(bench, true);
    assert_int_equal(bench->request.answer_count, 2);
    say_rcode(bench, RCODE_NOERROR);
    expect_query(bench, "a.example.com", 16);
}

static void set_that_outgrows_a_message_is_refused_alone(void **state)
{
    struct bench *bench = *state;
    struct text *values = long_values(bench->arena, 17);
    want(bench, CHANGE_SET, set_of(RECORD_TXT, "a", 300, long_values(bench->arena, 17), 17));
    values[16].len = 400; // the message would have 65,063 octets
    want(bench, CHANGE_SET, set_of(RECORD_TXT, "b", 300, values, 17));
    want(bench, CHANGE_SET, www());
    queried_as_absent(bench);
    expect_update(bench, 1, 1);
    assert_true(text_is(bench->request.answers[0].domain, "www.example.com"));
    check_change(bench, 0, 400, "INVALID_RECORD", "octets");
    check_change(bench, 1, 400, "INVALID_RECORD", "a DNS message of 650");
}

static void value_that_cannot_be_written_is_refused_alone(void **state)
{
    struct bench *bench = *state;
    want(bench, CHANGE_SET, set_of(RECORD_A, "a", 300, target, 1));
    want(bench, CHANGE_SET, www());
    queried_as_absent(bench);
    expect_update(bench, 1, 1);
    check_change(bench, 0, 400, "INVALID_RECORD", "'x.example.org' is not an IPv4 address");
}

// ---- health -------------------------------------------------------------------------------------

static void health_wants_the_zones_soa(void **state)
{
    static const char soa_reply[] = "\x07\x07\x84\x00\x00\x01\x00\x01\x00\x00\x00\x00"
                                    "\x07"
                                    "example\x03"
                                    "com\x00\x00\x06\x00\x01"
                                    "\xc0\x0c\x00\x06\x00\x01\x00\x00\x00\x3c\x00\x18"
                                    "\xc0\x0c\xc0\x0c\x00\x00\x00\x01\x00\x00\x00\x01"
                                    "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01";
    struct bench *bench = *state;
    struct tsig_mac mac;
    AUTO_BUFFER reply = {0};
    bench->job.kind = JOB_HEALTH;
    begin(bench);
    expect_query(bench, "example.com", SOA);
    buffer_add(&reply, soa_reply, sizeof soa_reply - 1);
    assert_true(tsig_sign(&reply, &bench->key, UNIX_S, &bench->mac, &mac, NULL));
    handle_octets(bench, buffer_text(&reply));
    expect_done(bench);
    assert_true(bench->job.health.is_done);
    assert_null(bench->job.health.error);
}

static void zone_that_is_not_served_is_unhealthy(void **state)
{
    static const struct {
        struct said said;
        int status;
        enum fault fault;
        const char *part;
    } rows[] = {
        {{.rcode = RCODE_REFUSED}, 500, FAULT_AUTH, "the TSIG key signpost.key query"},
        {{.rcode = RCODE_SERVFAIL}, 503, FAULT_AGAIN, "SERVFAIL"},
        {{.is_foreign = true}, 503, FAULT_AGAIN, "not authoritative"},
        {{.is_unsigned = true}, 503, FAULT_AGAIN, "is not signed"},
    };
    struct bench *bench = *state;
    bench->job.kind = JOB_HEALTH;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin(bench);
        expect_query(bench, "example.com", SOA);
        say(bench, rows[i].said);
        expect_done(bench);
        check_error(&bench->job.health, rows[i].status, "SERVER_ERROR", rows[i].fault,
                    rows[i].part);
        rfc2136_provider.end(steal(bench->exchange));
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unusable_configuration_is_refused_with_what_is_wrong),
        TEST(sha1_and_an_ipv6_server_are_accepted),
        TEST(fingerprint_tells_content_zone_and_server),
        TEST(new_record_is_queried_added_and_read_back),
        TEST(record_that_exists_is_updated_even_if_equal),
        TEST(removing_what_is_not_seen_is_sent_all_the_same),
        TEST(what_is_not_seen_and_may_not_be_updated_is_absent),
        TEST(what_is_not_seen_is_tried_again_when_the_server_has_trouble),
        TEST(removing_deletes_and_reads_back),
        TEST(reading_asks_the_zone_itself_and_changes_nothing),
        TEST(data_that_a_wildcard_feigns_are_not_read),
        TEST(key_that_may_not_update_reads_what_queries_show),
        TEST(lost_answer_to_what_changes_nothing_is_asked_for_again),
        TEST(several_changes_go_into_one_update),
        TEST(what_the_server_dropped_is_an_invalid_record),
        TEST(dropped_cname_shows_the_data_beside_it),
        TEST(another_ttl_is_not_what_was_wanted),
        TEST(a_further_value_is_not_what_was_wanted),
        TEST(a_second_priority_is_not_what_was_wanted),
        TEST(order_and_spelling_of_values_do_not_count),
        TEST(delegation_is_read_from_the_referral),
        TEST(referral_upward_is_no_authority),
        TEST(wildcard_that_answers_afterwards_is_told_by_a_prerequisite),
        TEST(removing_what_only_a_wildcard_feigns_finds_nothing),
        TEST(absent_set_fails_no_removal_beside_it),
        TEST(record_that_will_not_go_is_an_invalid_record),
        TEST(removal_below_a_delegation_is_always_sent),
        TEST(removal_below_a_delegation_finds_nothing_only_in_the_zone_itself),
        TEST(removal_below_a_delegation_that_is_refused_is_no_success),
        TEST(record_that_a_delegation_would_hide_is_refused_before_sending),
        TEST(glue_of_a_delegation_can_be_added_and_removed),
        TEST(delegation_that_comes_in_between_is_named),
        TEST(reading_below_a_delegation_tells_what_can_be_known),
        TEST(cname_at_the_apex_and_foreign_names_are_refused_before_sending),
        TEST(cname_at_the_apex_can_be_removed),
        TEST(name_servers_of_the_apex_are_replaced_one_by_one),
        TEST(name_servers_of_the_apex_with_another_ttl_go_and_come_anew),
        TEST(last_name_server_of_the_apex_stays_and_the_text_says_what_to_do),
        TEST(rcode_of_an_update_decides_the_answer),
        TEST(refused_query_fails_its_change_alone),
        TEST(one_bad_record_is_found_by_halving),
        TEST(record_that_is_refused_beside_others_is_blamed_with_the_key),
        TEST(zone_that_is_not_there_is_not_halved),
        TEST(unsigned_answer_is_none_and_names_the_key),
        TEST(unsigned_refusal_says_that_the_zone_may_not_be_served),
        TEST(answer_signed_otherwise_is_none),
        TEST(unsigned_update_answer_leaves_the_outcome_open_to_the_next_try),
        TEST(key_that_the_server_refuses_is_named),
        TEST(what_the_key_does_not_vouch_for_ends_no_wait),
        TEST(unwanted_answer_is_named_when_the_time_is_over),
        TEST(truncated_answer_is_asked_again_over_tcp),
        TEST(answer_that_tcp_cuts_too_fails_its_change_alone),
        TEST(silent_server_gets_a_second_chance_over_tcp),
        TEST(update_without_answer_is_not_sent_again),
        TEST(refused_connection_fails_at_once),
        TEST(exchange_without_end_ends),
        TEST(changes_that_outgrow_a_message_go_in_several),
        TEST(set_that_outgrows_a_message_is_refused_alone),
        TEST(value_that_cannot_be_written_is_refused_alone),
        TEST(health_wants_the_zones_soa),
        TEST(zone_that_is_not_served_is_unhealthy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
