#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static void count_up(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, 7, len);
}

static struct random even_random = {count_up};

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

static struct value *config_of(struct arena *arena, const char *const *texts)
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

static bool open_session(const struct value *config, void **session, struct error *err)
{
    CLEANUP(secret) struct secret *secret = secret_new(SECRET, strlen(SECRET));
    const struct session_setup setup = {.config = config, .secret = secret};
    return rfc2136_provider.open(&setup, session, err);
}

static void writer_init(struct writer *writer, struct arena *arena, const char *owner)
{
    const char *const texts[COUNT_OF(keys)] = {owner};
    assert_true(open_session(config_of(arena, texts), &writer->session, NULL));
    writer->job = (struct job){.arena = arena, .changes = writer->changes, .trace = ""};
}

static void writer_done(struct writer *writer)
{
    if (writer->exchange)
        rfc2136_provider.end(writer->exchange);
    rfc2136_provider.close(writer->session);
}

static int set_up(void **state)
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

static int tear_down(void **state)
{
    struct bench *bench = *state;
    writer_done(&bench->writer);
    tsig_key_done(&bench->server.key);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

// A record set of one value below example.com.
static void want(struct bench *bench, struct writer *writer, enum change_op op,
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

static void begin(struct writer *writer)
{
    writer->exchange = rfc2136_provider.begin(writer->session, &writer->job);
}

// One message and its answer. False: the exchange is done.
static bool step(struct bench *bench, struct writer *writer)
{
    AUTO_BUFFER octets = {0};
    struct ask ask = {0};
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

static void end(struct writer *writer)
{
    rfc2136_provider.end(steal(writer->exchange));
}

static void run(struct bench *bench)
{
    size_t steps = 0;
    begin(&bench->writer);
    while (step(bench, &bench->writer))
        assert_true(++steps < STEPS_MAX);
    end(&bench->writer);
}

static const struct outcome *change_www(struct bench *bench, enum change_op op, const char *value)
{
    bench->writer.job.change_count = 0;
    want(bench, &bench->writer, op, RECORD_A, "www", value);
    run(bench);
    return &bench->writer.changes[0].outcome;
}

static const struct outcome *set_www(struct bench *bench, const char *value)
{
    return change_www(bench, CHANGE_SET, value);
}

static const struct outcome *remove_www(struct bench *bench)
{
    return change_www(bench, CHANGE_REMOVE, NULL);
}

static void check_www(struct bench *bench, const char *address, const char *txt)
{
    assert_string_equal(zone_server_show(&bench->server, WWW, A), address);
    assert_string_equal(zone_server_show(&bench->server, WWW_TXT, TXT), txt);
}

static void check_part(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text ? text : "nothing");
}

static void check_owned_by_other(const struct outcome *outcome, const char *part)
{
    assert_false(outcome->is_done);
    assert_non_null(outcome->error);
    assert_int_equal(outcome->error->status, 409);
    assert_int_equal(outcome->error->fault, FAULT_SPEC);
    assert_string_equal(outcome->error->code, "OWNED_BY_OTHER");
    assert_string_equal(outcome->error->reason, "Conflict");
    check_part(outcome->error->text, part);
}

// ---- configuration ------------------------------------------------------------------------------

static void what_external_dns_could_not_read_is_refused(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER long_id = {0};
    for (size_t i = 0; i < 201; i++)
        buffer_add_char(&long_id, 'a');
    const struct {
        const char *texts[COUNT_OF(keys)];
        const char *part;
    } rows[] = {
        {{"a,b"}, "ownerId must be"},
        {{"a=b"}, "ownerId must be"},
        {{"a\"b"}, "ownerId must be"},
        {{"a\\b"}, "ownerId must be"},
        {{"\xc3\xa4"}, "ownerId must be"},
        {{long_id.at}, "longer than 200"},
        {{"a", "x y"}, "txtPrefix may have"},
        {{"a", NULL, "%{type}"}, "txtSuffix may have"},
        {{"a", NULL, NULL, "*"}, "txtWildcardReplacement may have"},
        {{"a", "b", "c"}, "txtSuffix and txtPrefix exclude each other"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        void *session;
        struct error err = {0};
        assert_false(open_session(config_of(bench->arena, rows[i].texts), &session, &err));
        assert_int_equal(err.fault, FAULT_SPEC);
        assert_string_equal(err.reason, "InvalidConfiguration");
        check_part(err.text, rows[i].part);
    }
}

static void ttl_out_of_range_is_refused(void **state)
{
    struct bench *bench = *state;
    const char *const texts[COUNT_OF(keys)] = {"edge-1"};
    static const int64_t wrong[] = {-1, 2147483648};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        void *session;
        struct error err = {0};
        struct value *config = config_of(bench->arena, texts);
        value_put_int(bench->arena, config, "minTtl", wrong[i]);
        assert_false(open_session(config, &session, &err));
        check_part(err.text, "minTtl must be");
    }
}

static void fingerprint_tells_owners_and_names_of_their_records(void **state)
{
    struct bench *bench = *state;
    static const char *const rows[][COUNT_OF(keys)] = {
        {NULL}, {"a"}, {"b"}, {"a", "x"}, {"a", NULL, "x"}, {"a", NULL, NULL, "x"}};
    uint8_t prints[COUNT_OF(rows)][FINGERPRINT_OCTETS];
    want(bench, &bench->writer, CHANGE_SET, RECORD_A, "www", "192.0.2.1");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        void *session;
        assert_true(open_session(config_of(bench->arena, rows[i]), &session, NULL));
        rfc2136_provider.fingerprint(session, &bench->writer.changes[0].set, prints[i]);
        rfc2136_provider.close(session);
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(prints[i], prints[j], FINGERPRINT_OCTETS);
    }
}

// ---- setting ------------------------------------------------------------------------------------

static void new_set_comes_with_its_ownership_record(void **state)
{
    struct bench *bench = *state;
    const struct outcome *outcome = set_www(bench, "192.0.2.1");
    assert_true(outcome->is_done && outcome->was_created && !outcome->is_unchanged);
    check_www(bench, "192.0.2.1", OURS);
    assert_int_equal(bench->server.updates, 1);
}

static void set_of_ours_that_is_as_wanted_is_proved_and_left(void **state)
{
    struct bench *bench = *state;
    zone_server_put_a(&bench->server, WWW, 1);
    zone_server_put_txt(&bench->server, WWW_TXT, OURS_WITH_RESOURCE);
    const struct outcome *outcome = set_www(bench, "192.0.2.1");
    assert_true(outcome->is_done && outcome->is_unchanged && !outcome->was_created);
    assert_int_equal(bench->server.updates, 1);
    assert_int_equal(bench->server.changes, 0);
}

static void set_of_ours_is_replaced_and_its_ownership_record_stays(void **state)
{
    struct bench *bench = *state;
    zone_server_put_a(&bench->server, WWW, 1);
    zone_server_put_a(&bench->server, WWW, 2);
    zone_server_put_txt(&bench->server, WWW_TXT, OURS_WITH_RESOURCE);
    const struct outcome *outcome = set_www(bench, "192.0.2.3");
    assert_true(outcome->is_done && !outcome->is_unchanged && !outcome->was_created);
    check_www(bench, "192.0.2.3", OURS_WITH_RESOURCE);
}

static void set_that_lost_its_addresses_comes_back(void **state)
{
    struct bench *bench = *state;
    zone_server_put_txt(&bench->server, WWW_TXT, OURS);
    assert_true(set_www(bench, "192.0.2.1")->was_created);
    check_www(bench, "192.0.2.1", OURS);
}

static void ownership_records_of_all_spellings_are_read(void **state)
{
    static const struct {
        const char *txt;
        const char *refusal; // NULL: ours
    } rows[] = {
        {OURS, NULL},
        {OURS_WITH_RESOURCE, NULL},
        {"\"" OURS "\"", NULL},
        {"external-dns/owner=edge-1,heritage=external-dns", NULL},
        {"x,heritage=external-dns,external-dns/y=1=2,external-dns/owner=edge-1", NULL},
        {MARK("edge-10"), "owner id edge-10"},
        {MARK("EDGE-1"), "owner id EDGE-1"},
        {"heritage=external-dns", "without owner id"},
        {"heritage=other,external-dns/owner=edge-1", "does not say whose it is"},
        {"external-dns/owner=edge-1", "does not say whose it is"},
        {"AAECAwQFBgcICQoLT2buXE9H", "does not say whose it is"},
        {"", "does not say whose it is"},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench->server.count = 0;
        zone_server_put_a(&bench->server, WWW, 1);
        zone_server_put_txt(&bench->server, WWW_TXT, rows[i].txt);
        const struct outcome *outcome = set_www(bench, "192.0.2.1");
        if (rows[i].refusal)
            check_owned_by_other(outcome, rows[i].refusal);
        else
            assert_true(outcome->is_unchanged);
    }
    assert_int_equal(bench->server.changes, 0);
}

static void another_owner_beside_ours_has_the_name(void **state)
{
    struct bench *bench = *state;
    zone_server_put_txt(&bench->server, WWW_TXT, OURS);
    zone_server_put_txt(&bench->server, WWW_TXT, MARK("other"));
    check_owned_by_other(set_www(bench, "192.0.2.1"), "owner id other (TXT " WWW_TXT ")");
}

static void set_that_nobody_owns_is_refused_even_if_it_is_as_wanted(void **state)
{
    struct bench *bench = *state;
    zone_server_put_a(&bench->server, WWW, 1);
    check_owned_by_other(set_www(bench, "192.0.2.1"), "no ownership record (TXT " WWW_TXT ")");
    assert_int_equal(bench->server.changes, 0);
}

static void other_types_stand_beside_ours(void **state)
{
    struct bench *bench = *state;
    zone_server_put_txt(&bench->server, WWW, "kept");
    zone_server_put_txt(&bench->server, "aaaa-www.example.com", MARK("other"));
    assert_true(set_www(bench, "192.0.2.1")->was_created);
    check_www(bench, "192.0.2.1", OURS);
}

static void cname_needs_a_name_without_data(void **state)
{
    struct bench *bench = *state;
    zone_server_put_txt(&bench->server, WWW, "kept");
    want(bench, &bench->writer, CHANGE_SET, RECORD_CNAME, "www", "x.example.org");
    run(bench);
    check_owned_by_other(&bench->writer.changes[0].outcome, "YXDOMAIN");
    assert_int_equal(bench->server.changes, 0);
}

static void data_need_a_name_without_cname(void **state)
{
    struct bench *bench = *state;
    zone_server_put(&bench->server, WWW, TYPE_CNAME, "\1x", 3);
    check_owned_by_other(set_www(bench, "192.0.2.1"), "YXRRSET");
    assert_int_equal(bench->server.changes, 0);
}

static void set_without_ownership_record_is_never_made(void **state)
{
    struct bench *bench = *state;
    zone_server_put(&bench->server, WWW_TXT, TYPE_CNAME, "\1x", 3);
    check_owned_by_other(set_www(bench, "192.0.2.1"), "YXRRSET");
    assert_int_equal(bench->server.changes, 0);
}

static void name_too_long_for_an_ownership_record_is_refused_before_sending(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER label = {0};
    for (size_t i = 0; i < 62; i++)
        buffer_add_char(&label, 'a');
    want(bench, &bench->writer, CHANGE_SET, RECORD_A, label.at, "192.0.2.1");
    want(bench, &bench->writer, CHANGE_SET, RECORD_A, "@", "192.0.2.1");
    run(bench);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(bench->writer.changes[i].outcome.error->status, 400);
        assert_string_equal(bench->writer.changes[i].outcome.error->code, "INVALID_DOMAIN");
    }
    check_part(bench->writer.changes[0].outcome.error->text, "label of 64 octets");
    check_part(bench->writer.changes[1].outcome.error->text, "outside of the zone example.com");
    assert_int_equal(bench->server.updates, 0);
}

// ---- removing and reading -----------------------------------------------------------------------

static void removal_takes_the_ownership_record_along(void **state)
{
    struct bench *bench = *state;
    zone_server_put_a(&bench->server, WWW, 1);
    zone_server_put_txt(&bench->server, WWW_TXT, OURS_WITH_RESOURCE);
    zone_server_put_txt(&bench->server, WWW_TXT, "kept");
    const struct outcome *outcome = remove_www(bench);
    assert_true(outcome->is_done && !outcome->was_absent);
    assert_null(outcome->note);
    check_www(bench, "", "kept");
}

static void ownership_record_alone_is_removed(void **state)
{
    struct bench *bench = *state;
    zone_server_put_txt(&bench->server, WWW_TXT, OURS);
    const struct outcome *outcome = remove_www(bench);
    assert_true(outcome->is_done && outcome->was_absent);
    check_www(bench, "", "");
}

static void what_is_not_ours_is_left(void **state)
{
    static const struct {
        const char *txt;
        const char *note;
    } rows[] = {{NULL, "no ownership record"},
                {MARK("other"), "belongs to the external-dns with owner id other"},
                {"kept", "does not say whose it is"}};
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench->server.count = 0;
        zone_server_put_a(&bench->server, WWW, 1);
        if (rows[i].txt)
            zone_server_put_txt(&bench->server, WWW_TXT, rows[i].txt);
        const struct outcome *outcome = remove_www(bench);
        assert_true(outcome->is_done && outcome->was_absent);
        check_part(outcome->note, rows[i].note);
    }
    assert_int_equal(bench->server.changes, 0);
}

static void nothing_is_removed_without_a_note(void **state)
{
    struct bench *bench = *state;
    const struct outcome *outcome = remove_www(bench);
    assert_true(outcome->is_done && outcome->was_absent);
    assert_null(outcome->note);
}

// An UPDATE of a process that was killed may arrive before ours.
static void come_before_us(struct zone_server *server)
{
    zone_server_put_a(server, WWW, 1);
    zone_server_put_txt(server, WWW_TXT, OURS);
}

static void what_comes_between_query_and_removal_is_removed(void **state)
{
    struct bench *bench = *state;
    bench->server.meddle = come_before_us;
    const struct outcome *outcome = remove_www(bench);
    assert_true(outcome->is_done && !outcome->was_absent);
    check_www(bench, "", "");
}

static void reading_asks_for_no_owner(void **state)
{
    struct bench *bench = *state;
    zone_server_put_a(&bench->server, WWW, 1);
    zone_server_put_txt(&bench->server, WWW_TXT, MARK("other"));
    const struct outcome *outcome = change_www(bench, CHANGE_READ, NULL);
    assert_true(outcome->is_done);
    assert_int_equal(outcome->found->value_count, 1);
}

// ---- what queries feign -------------------------------------------------------------------------

static void what_a_wildcard_feigns_is_nobodys(void **state)
{
    struct bench *bench = *state;
    zone_server_put_a(&bench->server, "*.example.com", 1);
    assert_true(remove_www(bench)->was_absent);
    assert_true(set_www(bench, "192.0.2.1")->was_created);
    check_www(bench, "192.0.2.1", OURS);
}

static void what_a_wildcard_feigns_is_not_as_wanted(void **state)
{
    struct bench *bench = *state;
    zone_server_put_a(&bench->server, "*.example.com", 1);
    zone_server_put_txt(&bench->server, WWW_TXT, OURS);
    const struct outcome *outcome = set_www(bench, "192.0.2.1");
    assert_true(outcome->is_done && !outcome->is_unchanged);
    check_www(bench, "192.0.2.1", OURS);
}

// With a suffix that begins with a dot, the ownership record of a wildcard is one itself.
static void owner_that_a_wildcard_feigns_is_none(void **state)
{
    static const char *const texts[] = {MARK("other"), OURS};
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        bench->server.count = 0;
        zone_server_put_txt(&bench->server, "*.example.com", texts[i]);
        zone_server_put_txt(&bench->server, WWW, "kept");
        assert_true(set_www(bench, "192.0.2.1")->was_created);
        check_www(bench, "192.0.2.1", OURS);
        assert_false(remove_www(bench)->was_absent);
        assert_true(remove_www(bench)->was_absent);
        assert_int_equal(bench->server.count, 2);
    }
}

static void removal_by_a_feigned_owner_leaves_what_stands_there(void **state)
{
    struct bench *bench = *state;
    zone_server_put_txt(&bench->server, "*.example.com", OURS);
    zone_server_put_a(&bench->server, WWW, 1);
    const struct outcome *outcome = remove_www(bench);
    assert_true(outcome->is_done && outcome->was_absent);
    check_part(outcome->note, "no ownership record");
    check_owned_by_other(set_www(bench, "192.0.2.1"), "YXRRSET");
    check_www(bench, "192.0.2.1", "");
}

// ---- races --------------------------------------------------------------------------------------

static void another_owner_comes(struct zone_server *server)
{
    zone_server_put_a(server, WWW, 9);
    zone_server_put_txt(server, WWW_TXT, MARK("other"));
}

static void another_owner_takes_over(struct zone_server *server)
{
    zone_server_delete(server, WWW_TXT, TXT, NULL);
    another_owner_comes(server);
}

static void somebody_comes(struct zone_server *server)
{
    zone_server_put_a(server, WWW, 9);
}

static void all_goes(struct zone_server *server)
{
    server->count = 0;
}

static void who_was_first_has_the_name(void **state)
{
    struct bench *bench = *state;
    bench->server.meddle = another_owner_comes;
    check_owned_by_other(set_www(bench, "192.0.2.1"), "owner id other");
    check_www(bench, "192.0.2.9", MARK("other"));
}

static void who_was_first_without_an_owner_has_the_name(void **state)
{
    struct bench *bench = *state;
    bench->server.meddle = somebody_comes;
    check_owned_by_other(set_www(bench, "192.0.2.1"), "no ownership record");
    check_www(bench, "192.0.2.9", "");
}

static void name_that_changes_hands_is_not_ours_any_more(void **state)
{
    static const char *const wanted[] = {"192.0.2.1", "192.0.2.2", NULL};
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        bench->server.count = bench->server.updates = 0;
        zone_server_put_a(&bench->server, WWW, 1);
        zone_server_put_txt(&bench->server, WWW_TXT, OURS);
        bench->server.meddle = another_owner_takes_over;
        if (wanted[i])
            check_owned_by_other(set_www(bench, wanted[i]), "owner id other");
        else
            check_part(remove_www(bench)->note, "owner id other");
        check_www(bench, "192.0.2.1 192.0.2.9", MARK("other"));
    }
}

static void name_that_becomes_free_is_taken(void **state)
{
    static const char *const owners[] = {OURS, MARK("other"), NULL};
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(owners); i++) {
        bench->server.count = bench->server.updates = 0;
        zone_server_put_a(&bench->server, WWW, 1);
        if (owners[i])
            zone_server_put_txt(&bench->server, WWW_TXT, owners[i]);
        bench->server.meddle = all_goes;
        assert_true(set_www(bench, "192.0.2.1")->is_done);
        check_www(bench, "192.0.2.1", OURS);
    }
}

static void many_want_names(struct bench *bench, struct writer *writer, size_t round, size_t names)
{
    static const enum change_op ops[] = {CHANGE_SET, CHANGE_SET, CHANGE_REMOVE};
    writer->job.change_count = 0;
    for (size_t i = 0; i < names; i++)
        want(bench, writer, ops[(round + i * (size_t)rand()) % 3], RECORD_A,
             arena_printf(bench->arena, "n%zu", i),
             arena_printf(bench->arena, "192.0.2.%d", rand() % 3 + 1));
    begin(writer);
}

// What stands is that of the one whose ownership record stands beside it, and nobody else's.
static void check_whole(struct bench *bench, const struct writer *writers, size_t count, size_t at)
{
    const char *name = arena_printf(bench->arena, "n%zu.example.com", at);
    const char *txt_name = arena_printf(bench->arena, "a-%s", name);
    const char *address = zone_server_show(&bench->server, name, A);
    const char *txt = zone_server_show(&bench->server, txt_name, TXT);
    assert_int_equal(*address != '\0', *txt != '\0');
    for (size_t i = 0; i < count; i++) {
        const struct change *change = &writers[i].changes[at];
        bool is_ours = !strcmp(txt, arena_printf(bench->arena, MARK("w%zu"), i));
        if (change->op == CHANGE_SET && change->outcome.is_done) {
            assert_true(is_ours);
            assert_true(text_is(change->set.values[0], address));
        } else if (change->op == CHANGE_REMOVE) {
            assert_true(change->outcome.is_done ? !is_ours : change->outcome.error->status == 503);
        } else {
            check_owned_by_other(&change->outcome, "");
        }
    }
}

// Their messages arrive in any order.
static void writers_at_the_same_names_leave_each_whole(void **state)
{
    enum { WRITERS = 3, NAMES = 12, ROUNDS = 150 };
    struct bench *bench = *state;
    struct writer *writers = arena_new_array(bench->arena, struct writer, WRITERS);
    for (size_t i = 0; i < WRITERS; i++)
        writer_init(&writers[i], bench->arena, arena_printf(bench->arena, "w%zu", i));
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t open = WRITERS;
        for (size_t i = 0; i < WRITERS; i++)
            many_want_names(bench, &writers[i], round, NAMES);
        while (open) {
            struct writer *writer = &writers[rand() % WRITERS];
            if (!writer->exchange || step(bench, writer))
                continue;
            end(writer);
            open--;
        }
        for (size_t at = 0; at < NAMES; at++)
            check_whole(bench, writers, WRITERS, at);
    }
    for (size_t i = 0; i < WRITERS; i++)
        writer_done(&writers[i]);
}

// ---- servers that refuse, and many at once ------------------------------------------------------

static void who_may_not_update_believes_queries(void **state)
{
    struct bench *bench = *state;
    bench->server.is_refusing = true;
    assert_true(remove_www(bench)->was_absent);
    zone_server_put_a(&bench->server, WWW, 1);
    check_owned_by_other(set_www(bench, "192.0.2.1"), "no ownership record");
    zone_server_put_txt(&bench->server, WWW_TXT, OURS);
    assert_true(set_www(bench, "192.0.2.1")->is_unchanged);
    const struct outcome *outcome = set_www(bench, "192.0.2.2");
    assert_int_equal(outcome->error->status, 500);
    check_part(outcome->error->text, "REFUSED");
}

static void one_update_proves_many(void **state)
{
    enum { COUNT = 64 };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT; i++) {
        const char *host = arena_printf(bench->arena, "h%zu", i);
        zone_server_put_a(&bench->server, arena_printf(bench->arena, "%s.example.com", host), 1);
        if (i % 4)
            zone_server_put_txt(&bench->server,
                                arena_printf(bench->arena, "a-%s.example.com", host),
                                i % 4 > 1 ? OURS : MARK("other"));
        want(bench, &bench->writer, CHANGE_SET, RECORD_A, host, "192.0.2.1");
    }
    run(bench);
    assert_int_equal(bench->server.updates, 1);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(bench->writer.changes[i].outcome.is_unchanged, i % 4 > 1);
}

static void one_that_is_feigned_is_found_by_halving(void **state)
{
    enum { COUNT = 64, UPDATES_MAX = 16 };
    struct bench *bench = *state;
    zone_server_put_a(&bench->server, "*.w.example.com", 1);
    want(bench, &bench->writer, CHANGE_SET, RECORD_A, "x.w", "192.0.2.1");
    for (size_t i = 1; i < COUNT; i++) {
        const char *host = arena_printf(bench->arena, "h%zu", i);
        zone_server_put_a(&bench->server, arena_printf(bench->arena, "%s.example.com", host), 1);
        want(bench, &bench->writer, CHANGE_SET, RECORD_A, host, "192.0.2.1");
    }
    run(bench);
    assert_true(bench->writer.changes[0].outcome.was_created);
    for (size_t i = 1; i < COUNT; i++)
        check_owned_by_other(&bench->writer.changes[i].outcome, "no ownership record");
    assert_true(bench->server.updates <= UPDATES_MAX);
}

static void name_changes_its_type_in_one_job(void **state)
{
    struct bench *bench = *state;
    assert_true(set_www(bench, "192.0.2.1")->was_created);
    bench->writer.job.change_count = 0;
    want(bench, &bench->writer, CHANGE_SET, RECORD_CNAME, "www", "x.example.org");
    want(bench, &bench->writer, CHANGE_REMOVE, RECORD_A, "www", NULL);
    run(bench);
    for (size_t i = 0; i < 2; i++)
        assert_true(bench->writer.changes[i].outcome.is_done);
    check_www(bench, "", "");
    assert_string_equal(zone_server_show(&bench->server, "cname-www.example.com", TXT), OURS);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_external_dns_could_not_read_is_refused),
        TEST(ttl_out_of_range_is_refused),
        TEST(fingerprint_tells_owners_and_names_of_their_records),
        TEST(new_set_comes_with_its_ownership_record),
        TEST(set_of_ours_that_is_as_wanted_is_proved_and_left),
        TEST(set_of_ours_is_replaced_and_its_ownership_record_stays),
        TEST(set_that_lost_its_addresses_comes_back),
        TEST(ownership_records_of_all_spellings_are_read),
        TEST(another_owner_beside_ours_has_the_name),
        TEST(set_that_nobody_owns_is_refused_even_if_it_is_as_wanted),
        TEST(other_types_stand_beside_ours),
        TEST(cname_needs_a_name_without_data),
        TEST(data_need_a_name_without_cname),
        TEST(set_without_ownership_record_is_never_made),
        TEST(name_too_long_for_an_ownership_record_is_refused_before_sending),
        TEST(removal_takes_the_ownership_record_along),
        TEST(ownership_record_alone_is_removed),
        TEST(what_is_not_ours_is_left),
        TEST(nothing_is_removed_without_a_note),
        TEST(what_comes_between_query_and_removal_is_removed),
        TEST(reading_asks_for_no_owner),
        TEST(what_a_wildcard_feigns_is_nobodys),
        TEST(what_a_wildcard_feigns_is_not_as_wanted),
        TEST(owner_that_a_wildcard_feigns_is_none),
        TEST(removal_by_a_feigned_owner_leaves_what_stands_there),
        TEST(who_was_first_has_the_name),
        TEST(who_was_first_without_an_owner_has_the_name),
        TEST(name_that_changes_hands_is_not_ours_any_more),
        TEST(name_that_becomes_free_is_taken),
        TEST(writers_at_the_same_names_leave_each_whole),
        TEST(who_may_not_update_believes_queries),
        TEST(one_update_proves_many),
        TEST(one_that_is_feigned_is_found_by_halving),
        TEST(name_changes_its_type_in_one_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
