#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "providers/rfc2136/test_ownership.h"

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
        {{"a,b"}, "the owner id must be"},
        {{"a=b"}, "the owner id must be"},
        {{"a\"b"}, "the owner id must be"},
        {{"a\\b"}, "the owner id must be"},
        {{"\xc3\xa4"}, "the owner id must be"},
        {{long_id.at}, "longer than 200"},
        {{"a", "x y"}, "the TXT prefix may have"},
        {{"a", NULL, "%{type}"}, "the TXT suffix may have"},
        {{"a", NULL, NULL, "*"}, "the TXT wildcard replacement may have"},
        {{"a", ".b"}, "the TXT prefix makes an empty label"},
        {{"a", "b..c"}, "the TXT prefix makes an empty label"},
        {{"a", NULL, "b."}, "the TXT suffix makes an empty label"},
        {{"a", NULL, NULL, "b."}, "the TXT wildcard replacement makes an empty label"},
        {{"a", "b", "c"}, "the TXT suffix and the TXT prefix exclude each other"},
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

static void owner_id_of_somebody_else_is_shown_clean(void **state)
{
    struct bench *bench = *state;
    zone_server_put_txt(&bench->server, WWW_TXT, MARK("a\nb"));
    const struct outcome *outcome = set_www(bench, "192.0.2.1");
    check_owned_by_other(outcome, "owner id a");
    assert_null(strchr(outcome->error->text, '\n'));
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

static void names_that_no_ownership_record_can_have_are_gone_at_once(void **state)
{
    struct bench *bench = *state;
    want(bench, &bench->writer, CHANGE_REMOVE, RECORD_A, "@", NULL);
    run(bench);
    assert_true(bench->writer.changes[0].outcome.is_done);
    assert_true(bench->writer.changes[0].outcome.was_absent);
    assert_null(bench->writer.changes[0].outcome.error);
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

// The third message after two queries gets lost.
static const struct outcome *set_www_with_a_loss(struct bench *bench, const char *value)
{
    struct writer *writer = &bench->writer;
    struct random random = {count_up};
    struct ask ask = {0};
    const struct moment moment = {.unix_ms = 1000LL * UNIX_S, .mono_ms = 1000, .random = &random};
    struct dns_reply reply = {.is_timeout = true};
    const struct ask_result result = {.kind = ASK_DNS, .dns = &reply};
    error_set(&reply.error, FAULT_AGAIN, "ServerUnreachable", "no answer");
    writer->job.change_count = 0;
    want(bench, writer, CHANGE_SET, RECORD_A, "www", value);
    begin(writer);
    assert_true(step(bench, writer) && step(bench, writer));
    assert_int_equal(rfc2136_provider.ask(writer->exchange, &moment, &ask), ASK_DNS);
    rfc2136_provider.handle_reply(writer->exchange, &moment, &result);
    while (step(bench, writer))
        continue;
    end(writer);
    return &writer->changes[0].outcome;
}

static void proof_without_answer_is_sent_again(void **state)
{
    struct bench *bench = *state;
    zone_server_put_a(&bench->server, WWW, 1);
    zone_server_put_txt(&bench->server, WWW_TXT, OURS);
    assert_true(set_www_with_a_loss(bench, "192.0.2.1")->is_unchanged);
    assert_int_equal(bench->server.updates, 1);
}

static void change_without_answer_is_not_sent_again(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(set_www_with_a_loss(bench, "192.0.2.1")->error->fault, FAULT_AGAIN);
    assert_int_equal(bench->server.updates, 0);
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
        TEST(owner_id_of_somebody_else_is_shown_clean),
        TEST(set_that_nobody_owns_is_refused_even_if_it_is_as_wanted),
        TEST(other_types_stand_beside_ours),
        TEST(cname_needs_a_name_without_data),
        TEST(data_need_a_name_without_cname),
        TEST(set_without_ownership_record_is_never_made),
        TEST(name_too_long_for_an_ownership_record_is_refused_before_sending),
        TEST(names_that_no_ownership_record_can_have_are_gone_at_once),
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
        TEST(who_may_not_update_believes_queries),
        TEST(proof_without_answer_is_sent_again),
        TEST(change_without_answer_is_not_sent_again),
        TEST(one_update_proves_many),
        TEST(one_that_is_feigned_is_found_by_halving),
        TEST(name_changes_its_type_in_one_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
