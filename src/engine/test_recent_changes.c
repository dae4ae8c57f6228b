#include "engine/recent_changes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/state.h"

static struct engine *rig_new(void)
{
    struct engine *engine = mem_new_of(struct engine);
    engine->recent_changes = recent_changes_new();
    return engine;
}

static void rig_free(struct engine *engine)
{
    recent_changes_free(engine->recent_changes);
    free(engine);
}

static void add(struct engine *engine, enum recent_change_type type, const char *what)
{
    recent_changes_add(
        engine->recent_changes,
        &(struct recent_change){
            .type = type, .what = what, .object = "Thing one", .backend = "b", .error = ""});
}

static void show(void *context, const struct recent_change *change)
{
    buffer_printf(context, "%s %d x%u;", change->what, (int)change->type, change->times);
}

static void the_newest_comes_first(void **state)
{
    struct engine *engine = rig_new();
    AUTO_BUFFER out = {0};
    (void)state;
    add(engine, CHANGE_WAS_CREATED, "a");
    add(engine, CHANGE_WAS_UPDATED, "a");
    engine_each_recent_change(engine, show, &out);
    assert_string_equal(out.at, "a 1 x1;a 0 x1;");
    rig_free(engine);
}

static void what_fails_again_takes_one_place(void **state)
{
    struct engine *engine = rig_new();
    AUTO_BUFFER out = {0};
    (void)state;
    add(engine, CHANGE_HAS_FAILED, "a");
    add(engine, CHANGE_HAS_FAILED, "b");
    add(engine, CHANGE_WAS_CREATED, "c");
    add(engine, CHANGE_HAS_FAILED, "a");
    engine_each_recent_change(engine, show, &out);
    assert_string_equal(out.at, "a 3 x2;c 0 x1;b 3 x1;");
    rig_free(engine);
}

static void the_oldest_gives_way(void **state)
{
    struct engine *engine = rig_new();
    AUTO_BUFFER out = {0};
    char name[16];
    (void)state;
    for (int i = 0; i < 3 * RECENT_CHANGES_MAX / 2; i++) {
        snprintf(name, sizeof name, "n%d", i);
        add(engine, i % 2 ? CHANGE_HAS_FAILED : CHANGE_WAS_CREATED, name);
    }
    engine_each_recent_change(engine, show, &out);
    assert_non_null(strstr(out.at, "n149 3 x1;n148 0 x1;"));
    assert_non_null(strstr(out.at, "n50 0 x1;"));
    assert_null(strstr(out.at, "n49 "));
    add(engine, CHANGE_HAS_FAILED, "n51");
    buffer_clear(&out);
    engine_each_recent_change(engine, show, &out);
    assert_true(text_starts(buffer_text(&out), "n51 3 x2;n149 3 x1;"));
    assert_true(text_ends(buffer_text(&out), "n52 0 x1;n50 0 x1;"));
    rig_free(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_comes_first),
        cmocka_unit_test(what_fails_again_takes_one_place),
        cmocka_unit_test(the_oldest_gives_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
