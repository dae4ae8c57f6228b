#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "store/folder/status_file.h"

static void load(struct status_file *file, const char *text)
{
    struct buffer buffer = {0};
    status_file_init(file, 1);
    buffer_add_text(&buffer, text);
    status_file_load(file, &buffer);
}

static void assert_doc(const struct status_file *file, const char *key, uint64_t version,
                       const char *body)
{
    const struct status_doc *doc = status_file_find(file, text_of(key));
    assert_non_null(doc);
    assert_int_equal(doc->version, version);
    assert_int_equal(doc->body.len, strlen(body));
    assert_memory_equal(doc->body.at, body, doc->body.len);
}

static void assert_written(const struct status_file *file, const char *expected)
{
    AUTO_BUFFER out = {0};
    status_file_write(&out, file, "web.yaml");
    assert_string_equal(buffer_text(&out).at, expected);
}

#define TOP "# Written by Signpost beside web.yaml; do not edit.\n"

static void documents_are_found_by_key(void **state)
{
    struct status_file file;
    (void)state;
    load(&file, TOP "--- # Thing.x a/b 7\nkind: Thing\n--- # Place.x c 9\nkind: Place\n...\n");
    assert_false(file.was_torn);
    assert_doc(&file, "Thing.x a/b", 7, "kind: Thing\n");
    assert_doc(&file, "Place.x c", 9, "kind: Place\n");
    assert_null(status_file_find(&file, TEXT("Thing.x a")));
    status_file_done(&file);
}

static void empty_bodies_are_told_apart(void **state)
{
    struct status_file file;
    (void)state;
    load(&file, "--- # Thing.x a 1\n--- # Thing.x b 2\nb: 1\n--- # Thing.x c 3\n...\n");
    assert_doc(&file, "Thing.x a", 1, "");
    assert_doc(&file, "Thing.x b", 2, "b: 1\n");
    assert_doc(&file, "Thing.x c", 3, "");
    status_file_done(&file);
}

static void a_name_with_a_line_feed_makes_no_document(void **state)
{
    struct status_file file;
    AUTO_BUFFER out = {0};
    (void)state;
    load(&file, "");
    status_file_set(&file, TEXT("Thing.x a"), 1, TEXT("a: 1\n"));
    status_file_write(&out, &file, "a\n--- # Thing.x b 9\x1b[2J.yaml");
    assert_string_equal(buffer_text(&out).at,
                        "# Written by Signpost beside a --- # Thing.x b 9 [2J.yaml; do not edit.\n"
                        "--- # Thing.x a 1\na: 1\n...\n");
    status_file_done(&file);
}

static void change_replaces_its_document_and_no_other(void **state)
{
    struct status_file file;
    (void)state;
    load(&file, TOP "--- # Thing.x a 1\na: 1\n--- # Thing.x b 2\nb: 1\n--- # Thing.x c 3\nc: "
                    "1\n...\n");
    assert_false(status_file_is_changed(&file));
    status_file_set(&file, TEXT("Thing.x b"), 2, TEXT("b: 1\n"));
    assert_false(status_file_is_changed(&file));
    status_file_set(&file, TEXT("Thing.x b"), 4, TEXT("b: 2\n"));
    status_file_set(&file, TEXT("Thing.x d"), 5, TEXT("d: 1"));
    status_file_drop(&file, TEXT("Thing.x a"));
    status_file_drop(&file, TEXT("Thing.x none"));
    assert_null(status_file_find(&file, TEXT("Thing.x a")));
    assert_doc(&file, "Thing.x b", 4, "b: 2\n");
    assert_written(&file, TOP "--- # Thing.x b 4\nb: 2\n--- # Thing.x c 3\nc: 1\n--- # Thing.x d "
                              "5\nd: 1\n...\n");
    status_file_done(&file);
}

static void changes_outlive_the_text(void **state)
{
    struct status_file file;
    (void)state;
    load(&file, "--- # Thing.x a 1\na: 1\n...\n");
    status_file_set(&file, TEXT("Thing.x b"), 2, TEXT("b: 1\n"));
    status_file_unload(&file);
    assert_doc(&file, "Thing.x b", 2, "b: 1\n");
    struct buffer text = {0};
    buffer_add_text(&text, "--- # Thing.x a 1\na: 1\n...\n");
    status_file_load(&file, &text);
    assert_written(&file, TOP "--- # Thing.x a 1\na: 1\n--- # Thing.x b 2\nb: 1\n...\n");
    status_file_done(&file);
}

static void file_without_documents_is_nothing(void **state)
{
    struct status_file file;
    (void)state;
    load(&file, "--- # Thing.x a 1\na: 1\n...\n");
    status_file_drop(&file, TEXT("Thing.x a"));
    assert_written(&file, "");
    status_file_done(&file);
}

static void torn_file_loses_its_last_document(void **state)
{
    struct status_file file;
    (void)state;
    load(&file, "--- # Thing.x a 1\na: 1\n--- # Thing.x b 2\nb: 1\nc: ha");
    assert_true(file.was_torn);
    assert_doc(&file, "Thing.x a", 1, "a: 1\n");
    assert_null(status_file_find(&file, TEXT("Thing.x b")));
    status_file_done(&file);
}

static void garbage_holds_no_document(void **state)
{
    static const char *const texts[] = {"x",
                                        "---",
                                        "--- #",
                                        "--- # 1\n...\n",
                                        "...\n",
                                        "\n...\n",
                                        "--- # a b c\nx: [\n...\n",
                                        "--- # k -1\nz\n...\n"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct status_file file;
        load(&file, texts[i]);
        assert_int_equal(file.base.count, 0);
        assert_int_equal(file.changes.count, 0);
        status_file_done(&file);
    }
}

static void octets_of_a_lost_block_are_no_document(void **state)
{
    struct status_file file;
    struct buffer text = {0};
    (void)state;
    status_file_init(&file, 1);
    buffer_add(&text, "--- # Thing.x a 1\na: \0\0\0\n--- # Thing.x b 2\nb: 1\n...\n", 52);
    status_file_load(&file, &text);
    assert_null(status_file_find(&file, TEXT("Thing.x a")));
    assert_doc(&file, "Thing.x b", 2, "b: 1\n");
    status_file_done(&file);
}

static void document_without_its_mark_says_itself_whose_it_is(void **state)
{
    struct status_file file;
    (void)state;
    load(&file, "---\napiVersion: x/v1\nkind: Thing\nmetadata:\n  name: a\n  namespace: n\n"
                "  resourceVersion: \"12\"\n...\n");
    const struct status_doc *doc = status_file_find(&file, TEXT("Thing.x n/a"));
    assert_non_null(doc);
    assert_int_equal(doc->version, 12);
    status_file_done(&file);
}

static void newer_of_two_documents_counts(void **state)
{
    struct status_file file;
    (void)state;
    load(&file, "--- # Thing.x a 2\na: 2\n--- # Thing.x a 3\na: 3\n--- # Thing.x a 1\na: 1\n...\n");
    assert_doc(&file, "Thing.x a", 3, "a: 3\n");
    status_file_done(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_found_by_key),
        cmocka_unit_test(empty_bodies_are_told_apart),
        cmocka_unit_test(a_name_with_a_line_feed_makes_no_document),
        cmocka_unit_test(change_replaces_its_document_and_no_other),
        cmocka_unit_test(changes_outlive_the_text),
        cmocka_unit_test(file_without_documents_is_nothing),
        cmocka_unit_test(torn_file_loses_its_last_document),
        cmocka_unit_test(garbage_holds_no_document),
        cmocka_unit_test(octets_of_a_lost_block_are_no_document),
        cmocka_unit_test(document_without_its_mark_says_itself_whose_it_is),
        cmocka_unit_test(newer_of_two_documents_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
