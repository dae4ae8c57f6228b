#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "store/folder/document.h"
#include "store/folder/managed.h"
#include "store/folder/name.h"
#include "store/test_kind.h"

// Manifest text to documents, and documents to what is kept of them.

static const struct kind *const kinds[] = {&thing_kind, &place_kind, &token_kind};
static const struct store_kind thing_type = {.kind = &thing_kind, .finalizer = TEST_FINALIZER};

static void list(void *context, struct arena *arena, struct document *document)
{
    struct buffer *out = context;
    (void)arena;
    buffer_printf(out, "%s %.*s/%.*s%s %s\n", document->kind ? document->kind->name : "-",
                  TEXT_ARGS(document->namespace_), TEXT_ARGS(document->name),
                  document->has_secret ? " secret" : "",
                  document->state == DOCUMENT_GOOD      ? "good"
                  : document->state == DOCUMENT_UNKNOWN ? "unknown"
                                                        : document->fault);
}

static void assert_read(const char *text, const char *expected)
{
    AUTO_BUFFER out = {0};
    struct error err = {0};
    struct document_source source = {"m.yaml", text_of(text), kinds, COUNT_OF(kinds), NULL, false};
    if (!documents_read(&source, list, &out, &err))
        buffer_printf(&out, "%s\n", err.text);
    assert_string_equal(buffer_text(&out).at, expected);
}

static void documents_are_checked_one_by_one(void **state)
{
    (void)state;
    assert_read("apiVersion: test.example.org/v1\nkind: Thing\nmetadata: {name: a}\n"
                "spec: {value: x}\n---\n---\n# nothing\n---\n"
                "{\"apiVersion\": \"v1\", \"kind\": \"Token\", \"metadata\": {\"name\": \"t\"}}\n",
                "Thing default/a good\nToken default/t secret good\n");
}

static void each_fault_has_its_place(void **state)
{
    (void)state;
    assert_read(
        "apiVersion: test.example.org/v1\nkind: Thing\nmetadata: {name: a}\n"
        "spec:\n  value: 5\n  size: 200\n  valu: x\n",
        "Thing default/a m.yaml:5:3: spec.value: expected text, found a number: quote it; "
        "m.yaml:6:3: spec.size: must be between 1 and 100; m.yaml:7:3: spec.valu: unknown field; "
        "did you mean value?\n");
}

static void documents_without_a_name_or_a_kind_are_refused(void **state)
{
    (void)state;
    assert_read("- a\n---\nkind: Thing\n---\napiVersion: v1\n",
                "- / m.yaml:1:1: expected a map with apiVersion and kind, found list\n"
                "- / m.yaml:3:1: apiVersion is required\n- / m.yaml:5:1: kind is required\n");
}

static void lists_are_opened(void **state)
{
    (void)state;
    assert_read("apiVersion: v1\nkind: List\nitems:\n"
                "- {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n"
                "- apiVersion: test.example.org/v1\n  kind: Place\n  metadata: {name: p}\n"
                "  spec: {secret: s}\n",
                "- / unknown\nPlace /p secret good\n");
}

static const char half_broken[] = "{apiVersion: v1, kind: Token, metadata: {name: t}}\n---\na: [\n";
#define SYNTAX_FAULT                                                                               \
    "m.yaml:4:1: did not find expected node content while parsing a flow node that began at 4:1\n"

static void nothing_of_a_half_broken_text_is_called(void **state)
{
    (void)state;
    assert_read(half_broken, SYNTAX_FAULT);
}

static void count_document(void *context, struct arena *arena, struct document *document)
{
    size_t *count = context;
    (void)arena;
    *count += document->state == DOCUMENT_GOOD;
}

// More than what is held in memory at once: it is read twice.
static void large_text_is_taken_whole_or_not_at_all(void **state)
{
    (void)state;
    enum { DOCUMENTS = 2000 };
    AUTO_BUFFER text = {0};
    size_t count = 0;
    struct error err = {0};
    for (int i = 0; i < DOCUMENTS; i++)
        buffer_printf(
            &text, "---\n# %0200d\n{apiVersion: v1, kind: Token, metadata: {name: t%d}}\n", 0, i);
    assert_true(text.len > 256 * 1024);
    struct document_source source = {"m.yaml", buffer_text(&text), kinds, COUNT_OF(kinds), NULL,
                                     false};
    assert_true(documents_read(&source, count_document, &count, &err));
    assert_int_equal(count, DOCUMENTS);
    buffer_add_text(&text, "---\na: [\n");
    source.text = buffer_text(&text);
    count = 0;
    assert_false(documents_read(&source, count_document, &count, &err));
    assert_int_equal(count, 0);
    assert_non_null(strstr(err.text, "m.yaml:6003:1: "));
}

static void draft_is_called_up_to_its_fault(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    struct error err = {0};
    struct document_source source = {"m.yaml", text_of(half_broken), kinds, COUNT_OF(kinds), NULL,
                                     true};
    assert_false(documents_read(&source, list, &out, &err));
    buffer_printf(&out, "%s\n", err.text);
    assert_string_equal(out.at, "Token default/t secret good\n" SYNTAX_FAULT);
}

static void keep_tree(void *context, struct arena *arena, struct document *document)
{
    struct buffer *out = context;
    (void)arena;
    value_write_json(out, document->tree);
}

static void defaults_of_the_table_are_filled_in(void **state)
{
    AUTO_BUFFER out = {0};
    struct document_source source = {
        "m.yaml",
        TEXT("{apiVersion: test.example.org/v1, kind: Thing, metadata: {name: a}, "
             "spec: {value: x}}"),
        kinds,
        COUNT_OF(kinds),
        NULL,
        false};
    (void)state;
    assert_true(documents_read(&source, keep_tree, &out, NULL));
    assert_non_null(strstr(out.at, "\"spec\":{\"value\":\"x\",\"colour\":\"green\"}"));
    assert_non_null(strstr(out.at, "\"namespace\":\"default\""));
}

// ---- what is kept -------------------------------------------------------------------------------

static struct value *read_yaml(struct arena *arena, struct text text)
{
    struct value *tree = NULL;
    bool has = false;
    CLEANUP(yaml_reader) struct yaml_reader *reader = yaml_reader_new(text, &managed_limits);
    assert_true(yaml_reader_next(reader, arena, &tree, &has, NULL));
    return tree;
}

static struct managed example(struct arena *arena)
{
    struct value *tree =
        read_yaml(arena, TEXT("metadata: {name: a, labels: {l: '1'}, annotations: {theirs: x}, "
                              "uid: ignored}\nspec: {value: 'yes', size: 7}\nstatus: {old: 1}\n"));
    struct managed managed = {
        .uid = "12345678-9abc-4def-8123-456789abcdef",
        .version = 42,
        .generation = 3,
        .created_s = 1767088800,
        .deleted_s = 1767088900,
        .has_finalizer = true,
        .annotations = read_yaml(arena, TEXT("{own: '[1]', theirs: y}")),
        .status = read_yaml(arena, TEXT("{state: Created, count: 2}")),
        .last_good = managed_last_good(arena, &thing_kind, tree),
        .fault = TEXT("web.yaml:1:1: no"),
    };
    return managed;
}

static void assert_same(const struct managed *a, const struct managed *b)
{
    assert_string_equal(a->uid, b->uid);
    assert_int_equal(a->version, b->version);
    assert_int_equal(a->generation, b->generation);
    assert_int_equal(a->created_s, b->created_s);
    assert_int_equal(a->deleted_s, b->deleted_s);
    assert_int_equal(a->has_finalizer, b->has_finalizer);
    assert_true(value_equal(a->annotations, b->annotations));
    assert_true(value_equal(a->last_good, b->last_good));
}

static void status_document_reads_back_as_written(void **state)
{
    AUTO_BUFFER text = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    struct subject subject = {&thing_type, TEXT("shop"), TEXT("a")};
    struct managed managed = example(arena);
    struct managed read;
    (void)state;
    managed_write(&text, arena, &subject, &managed, false);
    assert_true(managed_decode(&read, &thing_type, read_yaml(arena, buffer_text(&text))));
    assert_same(&managed, &read);
    assert_true(value_equal(managed.status, read.status));
    assert_true(text_equal(managed.fault, read.fault));
}

static void what_lies_aside_is_left_out(void **state)
{
    AUTO_BUFFER text = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    struct subject subject = {&thing_type, TEXT("shop"), TEXT("a")};
    struct managed managed = example(arena);
    (void)state;
    managed_write(&text, arena, &subject, &managed, true);
    assert_null(strstr(text.at, "lastGoodSpec"));
}

static void whole_object_has_both_annotations_and_ours_win(void **state)
{
    AUTO_BUFFER text = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    struct subject subject = {&thing_type, TEXT("shop"), TEXT("a")};
    struct managed managed = example(arena);
    (void)state;
    value_write_json(&text, managed_tree(arena, &subject, &managed));
    assert_string_equal(
        text.at,
        "{\"apiVersion\":\"test.example.org/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\","
        "\"namespace\":\"shop\",\"uid\":\"12345678-9abc-4def-8123-456789abcdef\","
        "\"resourceVersion\":\"42\",\"generation\":3,"
        "\"creationTimestamp\":\"2025-12-30T10:00:00Z\","
        "\"deletionTimestamp\":\"2025-12-30T10:01:40Z\","
        "\"finalizers\":[\"test.example.org/finalizer\"],\"labels\":{\"l\":\"1\"},"
        "\"annotations\":{\"theirs\":\"y\",\"own\":\"[1]\"}},"
        "\"spec\":{\"value\":\"yes\",\"size\":7},\"status\":{\"state\":\"Created\",\"count\":2}}");
}

static void a_status_is_kept_of_kinds_alone_that_have_others_write_it(void **state)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    static const struct kind theirs = {.group = "",
                                       .version = "v1",
                                       .name = "Theirs",
                                       .is_foreign = true,
                                       .has_their_status = true};
    static const struct store_kind type = {.kind = &theirs};
    const struct subject subject = {.type = &type, .namespace_ = TEXT("shop"), .name = TEXT("a")};
    struct value *a = read_yaml(arena, TEXT("{metadata: {name: a, ownerReferences: [{uid: x}]}, "
                                            "spec: {x: 1}, status: {y: 1}}"));
    struct value *b = read_yaml(arena, TEXT("{metadata: {name: a, ownerReferences: [{uid: x}]}, "
                                            "spec: {x: 1}, status: {y: 2}}"));
    (void)state;
    struct managed managed = example(arena);
    managed.last_good = managed_last_good(arena, &theirs, a);
    const struct value *tree = managed_tree(arena, &subject, &managed);
    assert_int_equal(value_int_at(tree, "status.y", 0), 1);
    const struct value *owners = value_at(tree, "metadata.ownerReferences", NULL);
    assert_true(text_is(value_text_at(owners->first, "uid"), "x"));
    assert_false(managed_same_beside(managed.last_good, managed_last_good(arena, &theirs, b)));
    assert_null(value_find(managed_last_good(arena, &thing_kind, a), "status"));
    assert_true(managed_same_beside(managed_last_good(arena, &thing_kind, a),
                                    managed_last_good(arena, &thing_kind, b)));
}

static void body_id_does_not_see_metadata_and_status(void **state)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *a = read_yaml(arena, TEXT("{metadata: {name: a}, spec: {x: 1}}"));
    struct value *b =
        read_yaml(arena, TEXT("{status: {y: 1}, spec: {x: 1}, metadata: {labels: {a: b}}}"));
    struct value *c = read_yaml(arena, TEXT("{spec: {x: 2}}"));
    (void)state;
    struct content_id id = managed_body_id(arena, a);
    assert_true(content_id_equal(id, managed_body_id(arena, b)));
    assert_true(
        content_id_equal(id, managed_body_id(arena, managed_last_good(arena, &thing_kind, b))));
    assert_false(content_id_equal(id, managed_body_id(arena, c)));
}

static void documents_without_uid_or_version_are_of_no_use(void **state)
{
    static const char *const texts[] = {
        "{}", "{metadata: {uid: short, resourceVersion: '1'}}",
        "{metadata: {uid: 12345678-9abc-4def-8123-456789abcdef, resourceVersion: 'x'}}",
        "{metadata: {uid: 12345678-9abc-4def-8123-456789abcdef, resourceVersion: '0'}}",
        "{metadata: {uid: '../../../../../../../../etc/passwdxx', resourceVersion: '1'}}"};
    CLEANUP(arena) struct arena *arena = arena_new();
    struct managed managed;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_false(managed_decode(&managed, &thing_type, read_yaml(arena, text_of(texts[i]))));
    assert_false(managed_decode(&managed, &thing_type, NULL));
}

// ---- names --------------------------------------------------------------------------------------

static void manifests_and_status_files_are_known_by_name(void **state)
{
    (void)state;
    assert_true(name_is_manifest("a.yaml") && name_is_manifest("a.yml"));
    assert_true(name_is_manifest("a.json") && name_is_manifest("a.b.yaml"));
    assert_false(name_is_manifest("a.yaml.status") || name_is_manifest(".a.yaml"));
    assert_false(name_is_manifest("a.yaml~") || name_is_manifest("#a.yaml"));
    assert_false(name_is_manifest("") || name_is_manifest("yaml"));
    assert_true(name_is_status("a.yaml.status"));
    assert_false(name_is_status("a.status") || name_is_status(".a.yaml.status"));
}

static void key_of_a_document_is_that_of_its_object(void **state)
{
    AUTO_BUFFER a = {0};
    AUTO_BUFFER b = {0};
    struct object_ref_key key = {&thing_kind, TEXT("shop"), TEXT("www")};
    (void)state;
    name_write_key(&a, &key);
    assert_true(name_write_key_of(&b, TEXT("test.example.org/v1"), TEXT("Thing"), TEXT("shop"),
                                  TEXT("www")));
    assert_string_equal(a.at, b.at);
    assert_false(name_write_key_of(&b, TEXT("x/v1"), TEXT("Thing"), TEXT("a b"), TEXT("www")));
    assert_false(name_write_key_of(&b, TEXT("x/v1"), TEXT("Thing"), TEXT(""), TEXT("a\nb")));
    assert_false(name_write_key_of(&b, TEXT("x/v1"), TEXT(""), TEXT(""), TEXT("a")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_checked_one_by_one),
        cmocka_unit_test(each_fault_has_its_place),
        cmocka_unit_test(documents_without_a_name_or_a_kind_are_refused),
        cmocka_unit_test(lists_are_opened),
        cmocka_unit_test(nothing_of_a_half_broken_text_is_called),
        cmocka_unit_test(large_text_is_taken_whole_or_not_at_all),
        cmocka_unit_test(draft_is_called_up_to_its_fault),
        cmocka_unit_test(defaults_of_the_table_are_filled_in),
        cmocka_unit_test(status_document_reads_back_as_written),
        cmocka_unit_test(what_lies_aside_is_left_out),
        cmocka_unit_test(whole_object_has_both_annotations_and_ours_win),
        cmocka_unit_test(a_status_is_kept_of_kinds_alone_that_have_others_write_it),
        cmocka_unit_test(body_id_does_not_see_metadata_and_status),
        cmocka_unit_test(documents_without_uid_or_version_are_of_no_use),
        cmocka_unit_test(manifests_and_status_files_are_known_by_name),
        cmocka_unit_test(key_of_a_document_is_that_of_its_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
