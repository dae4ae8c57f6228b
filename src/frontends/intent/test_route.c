#include "frontends/intent/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena *arena;

static int open_arena(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static int status_of(const char *target)
{
    struct route route;
    struct error err;
    return route_parse(arena, target, &route, &err) ? 200 : err.status;
}

static void each_resource_has_a_list_and_items(void **state)
{
    static const struct text names[] = {{"p", 1},   {"B.c", 3}, {"v_1", 3},
                                        {"d-e", 3}, {"t", 1},   {"i", 1}};
    (void)state;
    for (enum resource_id id = 0; id < RESOURCES; id++)
        for (int is_item = 0; is_item < 2; is_item++) {
            AUTO_BUFFER path = {0};
            struct route route;
            route_write_path(&path, id, names, is_item);
            assert_true(route_parse(arena, path.at, &route, NULL));
            assert_int_equal(route.resource, id);
            assert_int_equal(route.action, is_item ? ROUTE_ITEM : ROUTE_LIST);
            assert_int_equal(route.name_count, resources[id].name_count - !is_item);
            for (size_t i = 0; i < route.name_count; i++)
                assert_true(text_equal(route.names[i], names[i]));
        }
}

static void actions_stand_behind_items(void **state)
{
    static const char group[] =
        "/v2/project/p/composite-apps/a/v/deployment-intent-groups/g/instantiate/";
    struct route route;
    (void)state;
    assert_true(route_parse(arena, group, &route, NULL));
    assert_int_equal(route.action, ROUTE_INSTANTIATE);
    assert_true(route_allows(route.action, "POST"));
    assert_false(route_allows(route.action, "GET"));
    assert_int_equal(status_of("/v2/projects/p/dns-update-records/r/status"), 200);
    assert_int_equal(status_of("/v2/projects/p/dns-update-records/r/instantiate"), 404);
    assert_int_equal(status_of("/v2/projects/p/logical-clouds/c/status"), 404);
}

static void paths_that_are_none_are_refused(void **state)
{
    static const char *const broken[] = {"",
                                         "v2/projects",
                                         "/v2//projects",
                                         "/v2/projects//",
                                         "/v2/projects/.",
                                         "/v2/projects/..",
                                         "/v2/projects/%2E%2e",
                                         "/v2/projects/%",
                                         "/v2/projects/%4",
                                         "/v2/projects/%4g",
                                         "/v2/projects/a%00b",
                                         "/v2/projects/a%2Fb",
                                         "/v2/projects/a%20b",
                                         "/v2/projects/%2570",
                                         "/v2/projects/-a",
                                         "/v2/projects?limit=x",
                                         "/v2/projects?limit=1001",
                                         "/v2/projects?dryRun=None",
                                         "/v2/projects?move=x",
                                         "/v2/projects?a=%"};
    static const char *const unknown[] = {"/",
                                          "/v2",
                                          "/v2/",
                                          "/v1/projects",
                                          "/v2/projects/a/b",
                                          "/v2/Projects",
                                          "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(broken); i++)
        assert_int_equal(status_of(broken[i]), 400);
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        assert_int_equal(status_of(unknown[i]), 404);
}

static void names_are_decoded_once_and_queries_are_read(void **state)
{
    struct route route;
    (void)state;
    assert_true(route_parse(arena,
                            "/v2/projects/%53hop/?limit=7&continue=a%2Bb&strict=true&dryRun=All&"
                            "move=drain&key=k+l&unknown&&",
                            &route, NULL));
    assert_true(text_is(route.names[0], "Shop"));
    assert_int_equal(route.limit, 7);
    assert_true(text_is(route.after, "a+b"));
    assert_true(text_is(route.key, "k l"));
    assert_true(route.is_strict && route.is_dry_run && !strcmp(route.move, "drain"));
}

static void values_that_no_parameter_takes_are_refused_with_those_that_it_takes(void **state)
{
    static const char *const rows[][2] = {
        {"strict=banana", "strict: true and false are the values"},
        {"strict=True", "strict: true and false are the values"},
        {"limit=0", "limit: a number from 1 to 1000"},
        {"dryRun=all", "dryRun: All is the one value"},
        {"move=away", "move: drain and abandon are the values"},
        {"dryrun=All", "dryrun: is spelled dryRun"},
        {"Strict", "Strict: is spelled strict"},
    };
    struct route route;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = {0};
        assert_false(
            route_parse(arena, arena_printf(arena, "/v2/projects?%s", rows[i][0]), &route, &err));
        assert_int_equal(err.status, 400);
        assert_string_equal(err.text, rows[i][1]);
    }
    assert_true(route_parse(arena, "/v2/projects?strict", &route, NULL) && route.is_strict);
    assert_true(route_parse(arena, "/v2/projects?strict=false", &route, NULL) && !route.is_strict);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_resource_has_a_list_and_items),
        cmocka_unit_test(actions_stand_behind_items),
        cmocka_unit_test(paths_that_are_none_are_refused),
        cmocka_unit_test(names_are_decoded_once_and_queries_are_read),
        cmocka_unit_test(values_that_no_parameter_takes_are_refused_with_those_that_it_takes),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
