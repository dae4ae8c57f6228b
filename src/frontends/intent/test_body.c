#include "frontends/intent/body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frontends/intent/body_secrets.h"
#include "frontends/intent/multipart.h"
#include "frontends/intent/patch.h"

enum { OCTETS_MAX = 64 * 1024 };

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

static struct value *json(const char *text)
{
    return value_read_json(arena, text_of(text), &value_reply_limits, NULL);
}

static void expect_json(const struct value *value, const char *text)
{
    AUTO_BUFFER written = {0};
    value_write_json(&written, value);
    assert_string_equal(written.at, text);
}

// ---- reading and showing ------------------------------------------------------------------------

static void expect_fault(enum resource_id id, const char *text, const char *fault)
{
    struct body body;
    struct error err = {0};
    struct body_faults faults = {.arena = arena};
    AUTO_BUFFER told = {0};
    if (body_read(arena, &resources[id], NULL, text_of(text), OCTETS_MAX, &body, &faults, &err))
        body_faults_write(&faults, &told);
    else
        buffer_printf(&told, "%d %s", err.status, err.text);
    if (!strstr(buffer_text(&told).at, fault))
        fail_msg("%s: %s", text, buffer_text(&told).at);
}

static void what_is_wrong_has_its_pointer(void **state)
{
    (void)state;
    expect_fault(RESOURCE_PROJECT, "", "400 Empty body");
    expect_fault(RESOURCE_PROJECT, " \n", "400 Empty body");
    expect_fault(RESOURCE_PROJECT, "{", "422 1:2: ");
    expect_fault(RESOURCE_PROJECT, "{\"a\":1,\"a\":2}", "400 1:8: duplicate key");
    expect_fault(RESOURCE_PROJECT, "{}x", "400 1:3: nothing may follow");
    expect_fault(RESOURCE_PROJECT, "7", "422 expected an object");
    expect_fault(RESOURCE_PROJECT, "{\"spec\":{}}", "/spec: unknown field");
    expect_fault(RESOURCE_PROJECT, "{\"metadata\":{\"name\":\"-\"}}", "/metadata/name: must be");
    expect_fault(RESOURCE_PROJECT, "{\"metadata\":{\"descripton\":\"\"}}",
                 "/metadata/descripton: unknown field; did you mean description?");
    expect_fault(RESOURCE_RECORD, "{\"spec\":{\"description\":\"x\"}}",
                 "/spec/description: unknown field");
    expect_fault(RESOURCE_CLOUD_PAIRS, "{\"spec\":{\"a/b~c\":1}}", "/spec/a~1b~0c: unknown field");
    expect_fault(RESOURCE_LABEL, "{\"metadata\":{}}", "/metadata: unknown field");
    expect_fault(RESOURCE_LABEL, "{\"clusterLabel\":1}", "/clusterLabel: expected a text");
}

static void a_body_is_shown_as_it_came(void **state)
{
    struct body body;
    struct error err;
    struct body_faults faults = {.arena = arena};
    const struct resource *resource = &resources[RESOURCE_GROUP];
    (void)state;
    assert_true(body_read(
        arena, resource, NULL,
        TEXT("{\"metadata\":{\"name\":\"g\",\"userdata2\":\"u\"},\"spec\":{\"version\":\"r1\","
             "\"logicalCloud\":\"c\",\"overrideValues\":[{\"a\":1}]}}"),
        OCTETS_MAX, &body, &faults, &err));
    assert_int_equal(faults.count, 0);
    assert_int_equal(faults.warning_count, 1);
    assert_true(text_is(body.name, "g"));
    expect_json(body.fields, "{\"userData2\":\"u\",\"release\":\"r1\",\"logicalCloud\":\"c\","
                             "\"extra\":{\"overrideValues\":[{\"a\":1}]}}");
    expect_json(body_view(arena, resource, body.name, body.fields),
                "{\"metadata\":{\"name\":\"g\",\"description\":\"\",\"userData1\":\"\","
                "\"userData2\":\"u\"},\"spec\":{\"version\":\"r1\",\"logicalCloud\":\"c\","
                "\"overrideValues\":[{\"a\":1}]}}");
}

static void pointers_are_those_of_the_body(void **state)
{
    (void)state;
    assert_string_equal(body_faults_pointer(arena, "/spec", ""), "/spec");
    assert_string_equal(body_faults_pointer(arena, "/spec", "kv[0][a.b]"), "/spec/kv/0/a.b");
    assert_string_equal(body_faults_pointer(arena, "/spec", "a.b[2].c"), "/spec/a/b/2/c");
    assert_string_equal(body_faults_pointer(arena, "", "[x/y]"), "/x~1y");
}

// ---- multipart ----------------------------------------------------------------------------------

static int parts_status(const char *type, const char *text, struct multipart *out)
{
    struct error err;
    return multipart_read(arena, type, text_of(text), out, &err) ? 200 : err.status;
}

static void parts_are_found_by_their_names(void **state)
{
    static const char type[] = "multipart/form-data; charset=x; boundary=\"a b\"";
    static const char whole[] =
        "preamble\r\n--a b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n"
        "Content-Type: text/plain\r\n\r\nline\r\nline\r\n--a b\r\n"
        "content-disposition: form-data; name=metadata\r\n\r\n{}\r\n--a b--\r\n";
    struct multipart parts;
    (void)state;
    assert_true(multipart_is(type));
    assert_false(multipart_is("application/json"));
    assert_false(multipart_is(NULL));
    assert_int_equal(parts_status(type, whole, &parts), 200);
    assert_true(text_is(parts.metadata, "{}"));
    assert_true(text_is(parts.file, "line\r\nline"));
    for (size_t len = 0; len < sizeof whole - 5; len++)
        assert_int_equal(parts_status(type, arena_copy(arena, whole, len), &parts), 400);
    assert_int_equal(parts_status("multipart/form-data", whole, &parts), 400);
}

// ---- secrets ------------------------------------------------------------------------------------

static void secrets_leave_a_record_and_masks_stand_for_them(void **state)
{
    struct body_faults faults = {.arena = arena};
    struct value *data = value_make(arena, VALUE_MAP);
    struct value *kept = value_make(arena, VALUE_MAP);
    const struct body_secrets found = {data, kept};
    struct value *map = json("{\"provider\":\"rfc2136\",\"external-dns-parameters\":{"
                             "\"rfc2136-tsig-secret\":\"czNjcmV0\",\"rfc2136-host\":\"h\"},"
                             "\"extraArgs\":[{\"name\":\"x-token\",\"value\":\"t0ken\"}]}");
    (void)state;
    body_secrets_take(arena, RESOURCE_RECORD, TEXT("r"), "r-credentials", map, NULL, &found,
                      &faults);
    assert_int_equal(faults.count, 0);
    assert_int_equal(kept->count, 0);
    expect_json(data, "{\"rfc2136-tsig-secret\":\"Y3pOamNtVjA=\",\"x-token\":\"dDBrZW4=\"}");
    expect_json(map,
                "{\"provider\":\"rfc2136\",\"external-dns-parameters\":{\"rfc2136-host\":\"h\"}"
                ",\"secretRefs\":[{\"target\":\"rfc2136-tsig-secret\",\"name\":"
                "\"r-credentials\",\"key\":\"rfc2136-tsig-secret\"},{\"target\":\"x-token\","
                "\"name\":\"r-credentials\",\"key\":\"x-token\"}]}");
    expect_json(body_secrets_keys(arena, map, "r-credentials"),
                "[\"rfc2136-tsig-secret\",\"x-token\"]");
    struct value *shown = value_copy(arena, map);
    body_secrets_mask(arena, RESOURCE_RECORD, "r-credentials", shown);
    expect_json(shown, "{\"provider\":\"rfc2136\",\"external-dns-parameters\":{\"rfc2136-host\":"
                       "\"h\",\"rfc2136-tsig-secret\":\"********\"},\"extraArgs\":[{\"name\":"
                       "\"x-token\",\"value\":\"********\"}]}");
    const struct body_secrets again = {value_make(arena, VALUE_MAP), kept};
    body_secrets_take(arena, RESOURCE_RECORD, TEXT("r"), "r-credentials", shown, map, &again,
                      &faults);
    assert_int_equal(faults.count, 0);
    assert_int_equal(again.data->count, 0);
    expect_json(kept, "{\"rfc2136-tsig-secret\":\"/spec/external-dns-parameters/"
                      "rfc2136-tsig-secret\",\"x-token\":\"/spec/extraArgs/0/value\"}");
    assert_true(value_equal(shown, map));
}

static void a_secret_of_tsig_that_cannot_be_one_is_refused(void **state)
{
    static const struct {
        const char *secret;
        const char *text; // NULL: it is taken
    } rows[] = {{"no base64!", "must be base64"},
                {"QUJ", "must be base64"},
                {" ", "must not be empty"},
                {"QUJD\\n", NULL}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct body_faults faults = {.arena = arena};
        struct value *map = json(
            arena_printf(arena, "{\"external-dns-parameters\":{\"rfc2136-tsig-secret\":\"%s\"}}",
                         rows[i].secret));
        const struct body_secrets found = {value_make(arena, VALUE_MAP),
                                           value_make(arena, VALUE_MAP)};
        body_secrets_take(arena, RESOURCE_RECORD, TEXT("r"), "r-credentials", map, NULL, &found,
                          &faults);
        assert_int_equal(faults.count, rows[i].text != NULL);
        if (!rows[i].text)
            continue;
        assert_string_equal(faults.items[0].pointer,
                            "/spec/external-dns-parameters/rfc2136-tsig-secret");
        assert_string_equal(faults.items[0].text, rows[i].text);
    }
}

// ---- patches ------------------------------------------------------------------------------------

static void a_patch_makes_one_tree_of_the_other(void **state)
{
    static const char *const pairs[][3] = {
        {"{\"a\":1}", "{\"a\":1}", NULL},
        {"{\"a\":1,\"b\":2}", "{\"a\":1}", "{\"b\":null}"},
        {"{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":3,\"c\":2}}", "{\"a\":{\"b\":3}}"},
        {"{\"a\":[1]}", "{\"a\":[1,2]}", "{\"a\":[1,2]}"},
        {"{\"a\":[1]}", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        const struct value *patch = patch_between(arena, json(pairs[i][0]), json(pairs[i][1]));
        if (!pairs[i][2]) {
            assert_null(patch);
            continue;
        }
        expect_json(patch, pairs[i][2]);
        assert_true(
            value_equal(value_merge_patch(arena, json(pairs[i][0]), patch), json(pairs[i][1])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_has_its_pointer),
        cmocka_unit_test(a_body_is_shown_as_it_came),
        cmocka_unit_test(pointers_are_those_of_the_body),
        cmocka_unit_test(parts_are_found_by_their_names),
        cmocka_unit_test(secrets_leave_a_record_and_masks_stand_for_them),
        cmocka_unit_test(a_secret_of_tsig_that_cannot_be_one_is_refused),
        cmocka_unit_test(a_patch_makes_one_tree_of_the_other),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
