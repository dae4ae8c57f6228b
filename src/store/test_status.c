#include "store/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"
#include "store/test_kind.h"

static struct value *read_json(const char *json)
{
    return json ? value_read_json(arena, text_of(json), &value_reply_limits, NULL) : NULL;
}

static void expect(const struct kind *kind, const char *status, const char *patch,
                   const char *wanted)
{
    AUTO_BUFFER out = {0};
    value_write_json(&out, status_patched(arena, kind, read_json(status), read_json(patch)));
    assert_string_equal(out.at, wanted);
}

#define OF(type) "{\"type\":\"" type "\"}"
#define NEW(type) "{\"type\":\"" type "\",\"status\":\"True\"}"
#define LIST(items) "{\"conditions\":[" items "]}"

static void fields_are_replaced_removed_and_kept(void **state)
{
    (void)state;
    expect(&thing_kind, NULL, "{\"state\":\"x\",\"count\":null}", "{\"state\":\"x\"}");
    expect(&thing_kind, "{\"state\":\"x\",\"count\":1,\"theirs\":{\"a\":1}}",
           "{\"state\":\"y\",\"count\":null}", "{\"state\":\"y\",\"theirs\":{\"a\":1}}");
}

static void conditions_of_others_stay_where_they_are(void **state)
{
    (void)state;
    expect(&thing_kind, LIST(OF("Theirs")), LIST(NEW("Ready") "," NEW("Accepted")),
           LIST(OF("Theirs") "," NEW("Ready") "," NEW("Accepted")));
    expect(&thing_kind, LIST(OF("Ready") "," OF("Theirs") "," OF("Accepted")),
           LIST(NEW("Ready") "," NEW("Accepted")),
           LIST(NEW("Ready") "," OF("Theirs") "," NEW("Accepted")));
}

static void own_conditions_that_are_not_named_any_more_go(void **state)
{
    (void)state;
    expect(&thing_kind, LIST(OF("Ready") "," OF("Theirs") "," OF("Accepted")), LIST(NEW("Ready")),
           LIST(NEW("Ready") "," OF("Theirs")));
    expect(&thing_kind, LIST(OF("Ready") "," OF("Theirs")), "{\"conditions\":null}",
           LIST(OF("Theirs")));
    expect(&thing_kind, LIST(OF("Ready")), "{\"conditions\":null}", "{}");
}

static void conditions_that_are_no_list_are_replaced(void **state)
{
    (void)state;
    expect(&thing_kind, "{\"conditions\":7}", LIST(NEW("Ready")), LIST(NEW("Ready")));
    expect(&thing_kind, LIST("7," OF("Ready")), LIST(NEW("Ready")), LIST("7," NEW("Ready")));
}

static void a_kind_without_types_of_its_own_has_all(void **state)
{
    (void)state;
    expect(&token_kind, LIST(OF("Theirs")), LIST(NEW("Ready")), LIST(NEW("Ready")));
    assert_true(status_is_own_condition(&token_kind, TEXT("Theirs")));
    assert_false(status_is_own_condition(&thing_kind, TEXT("Theirs")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(fields_are_replaced_removed_and_kept),
        UNIT(conditions_of_others_stay_where_they_are),
        UNIT(own_conditions_that_are_not_named_any_more_go),
        UNIT(conditions_that_are_no_list_are_replaced),
        UNIT(a_kind_without_types_of_its_own_has_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
