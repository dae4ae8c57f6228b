#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "providers/rfc2136/test_ownership.h"

// Others write between our queries and our UPDATEs.

static void another_owner_comes(struct zone_server *server)
{
    zone_server_put_a(server, WWW, 9);
    zone_server_put_txt(server, WWW_TXT, MARK("other"));
}

static void another_owner_comes_by_halves(struct zone_server *server)
{
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

static void who_was_first_with_the_ownership_record_alone_has_the_name(void **state)
{
    struct bench *bench = *state;
    bench->server.meddle = another_owner_comes_by_halves;
    check_owned_by_other(set_www(bench, "192.0.2.1"), "owner id other");
    check_www(bench, "", MARK("other"));
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

static size_t draw(uint64_t *seed, size_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % below;
}

static void want_many(struct bench *bench, struct writer *writer, uint64_t *seed, size_t names)
{
    static const enum change_op ops[] = {CHANGE_SET, CHANGE_SET, CHANGE_REMOVE};
    writer->job.change_count = 0;
    for (size_t i = 0; i < names; i++)
        want(bench, writer, ops[draw(seed, COUNT_OF(ops))], RECORD_A,
             arena_printf(bench->arena, "n%zu", i),
             arena_printf(bench->arena, "192.0.2.%zu", 1 + draw(seed, 3)));
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
    uint64_t seed = 1;
    struct bench *bench = *state;
    struct writer *writers = arena_new_array(bench->arena, struct writer, WRITERS);
    for (size_t i = 0; i < WRITERS; i++)
        writer_init(&writers[i], bench->arena, arena_printf(bench->arena, "w%zu", i));
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t open = WRITERS;
        for (size_t i = 0; i < WRITERS; i++)
            want_many(bench, &writers[i], &seed, NAMES);
        while (open) {
            struct writer *writer = &writers[draw(&seed, WRITERS)];
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_was_first_has_the_name),
        TEST(who_was_first_with_the_ownership_record_alone_has_the_name),
        TEST(who_was_first_without_an_owner_has_the_name),
        TEST(name_that_changes_hands_is_not_ours_any_more),
        TEST(name_that_becomes_free_is_taken),
        TEST(writers_at_the_same_names_leave_each_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
