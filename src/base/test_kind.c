#include "base/kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

static const char *const types[] = {"A", "AAAA", "CNAME", NULL};
static const char *const policies[] = {"Delete", "Retain", "Off", NULL};
static const char *const algorithms[] = {"SHA256", "SHA512", NULL};

static const struct field record_fields[] = {
    {.path = "spec", .type = FIELD_MAP, .flags = FIELD_REQUIRED},
    {.path = "spec.type",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .choices = types,
     .required_text = "spec.type is required",
     .refused_text = "unsupported record type"},
    {.path = "spec.domain", .type = FIELD_TEXT, .flags = FIELD_REQUIRED, .min = 1, .max = 10},
    {.path = "spec.values",
     .type = FIELD_LIST,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = 3,
     .required_text = "spec.values must have at least one value"},
    {.path = "spec.values[]", .type = FIELD_TEXT, .min = 1},
    {.path = "spec.ttl", .type = FIELD_INT, .min = 1, .max = 2147483647},
    {.path = "spec.age", .type = FIELD_INT, .flags = FIELD_INT64, .min = 5},
    {.path = "spec.server",
     .type = FIELD_TEXT,
     .pattern = "^https?://.+",
     .refused_text = "spec.server must be a valid HTTP or HTTPS URL"},
    {.path = "spec.word", .type = FIELD_TEXT, .pattern = "^[a-z]*$"},
    {.path = "spec.policy",
     .type = FIELD_TEXT,
     .choices = policies,
     .fallback = "Delete",
     .flags = FIELD_IMMUTABLE},
    {.path = "spec.algorithm", .type = FIELD_TEXT, .choices = algorithms, .flags = FIELD_SECRET},
    {.path = "spec.enabled", .type = FIELD_BOOL},
    {.path = "spec.ca", .type = FIELD_TEXT, .flags = FIELD_BYTES},
    {.path = "spec.since", .type = FIELD_TEXT, .flags = FIELD_TIME},
    {.path = "spec.extra", .type = FIELD_ANY},
    {.path = "spec.selector", .type = FIELD_TEXT_MAP, .max = 2, .value_max = 8},
    {.path = "spec.parts", .type = FIELD_LIST, .list_key = "type"},
    {.path = "spec.parts[]", .type = FIELD_MAP},
    {.path = "spec.parts[].type", .type = FIELD_TEXT, .flags = FIELD_REQUIRED},
    {.path = "spec.parts[].weight", .type = FIELD_INT},
    {.path = "spec.sets", .type = FIELD_LIST, .list_key = "name"},
    {.path = "spec.sets[]", .type = FIELD_MAP},
    {.path = "spec.sets[].name", .type = FIELD_TEXT, .flags = FIELD_REQUIRED},
    {.path = "spec.owner", .type = FIELD_MAP, .flags = FIELD_IMMUTABLE},
    {.path = "spec.owner.name", .type = FIELD_TEXT, .flags = FIELD_REQUIRED},
    {.path = "status", .type = FIELD_MAP},
    {.path = "status.state", .type = FIELD_TEXT},
};

static const struct kind record = {
    .group = "example.org",
    .version = "v1alpha1",
    .name = "Record",
    .plural = "records",
    .singular = "record",
    .is_namespaced = true,
    .has_status = true,
    .fields = record_fields,
    .field_count = COUNT_OF(record_fields),
};

static const struct field class_fields[] = {
    {.path = "spec", .type = FIELD_MAP},
};

static const struct kind class = {
    .group = "example.org",
    .version = "v1alpha1",
    .name = "Class",
    .plural = "classes",
    .singular = "class",
    .fields = class_fields,
    .field_count = COUNT_OF(class_fields),
};

static const struct field secret_fields[] = {
    {.path = "type", .type = FIELD_TEXT},
    {.path = "data", .type = FIELD_TEXT_MAP, .flags = FIELD_BYTES | FIELD_SECRET},
};

static const struct kind secret = {
    .group = "",
    .version = "v1",
    .name = "Secret",
    .plural = "secrets",
    .singular = "secret",
    .is_namespaced = true,
    .is_foreign = true,
    .fields = secret_fields,
    .field_count = COUNT_OF(secret_fields),
};

static int make_arena(void **state)
{
    *state = arena_new();
    return 0;
}

static int drop_arena(void **state)
{
    arena_free(*state);
    return 0;
}

static struct value *read_yaml(struct arena *arena, const char *yaml)
{
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(text_of(yaml), &value_manifest_limits);
    struct value *value = NULL;
    struct error err = {0};
    bool has;
    if (!yaml_reader_next(reader, arena, &value, &has, &err))
        fail_msg("%s: %s", yaml, err.text);
    return value;
}

// Errors of `yaml`, each with "line:column: " in front, joined by line feeds.
static void assert_finds(struct arena *arena, const struct kind *kind, const char *yaml,
                         const char *expected)
{
    CLEANUP(kind_patterns) struct kind_patterns *patterns = kind_patterns_new();
    struct findings findings = {.arena = arena, .patterns = patterns};
    AUTO_BUFFER found = {0};
    kind_check(kind, read_yaml(arena, yaml), &findings);
    for (size_t i = 0; i < findings.count; i++)
        buffer_printf(&found, "%u:%u: %s\n", findings.items[i].line, findings.items[i].column,
                      findings.items[i].text);
    assert_string_equal(found.at ? found.at : "", expected);
    assert_int_equal(findings_errors(&findings), findings.count);
}

#define HEAD                                                                                       \
    "apiVersion: example.org/v1alpha1\nkind: Record\nmetadata:\n  name: web\n  namespace: shop\n"
#define SPEC HEAD "spec:\n  type: A\n  domain: a.b\n  values: [x]\n"

static void sound_object_has_no_finding(void **state)
{
    assert_finds(*state, &record,
                 HEAD "  labels: {app: web, example.org/tier: \"\"}\n  annotations:\n    a.b/c: |\n"
                      "      any text\n  finalizers: [example.org/finalizer]\n  uid: x\n"
                      "  creationTimestamp: null\n"
                      "spec:\n  type: A\n  domain: a.b\n  values: [x, y]\n  ttl: 300\n"
                      "  age: 9223372036854775807\n  server: http://a\n  word: abc\n"
                      "  policy: Retain\n  enabled: yes\n  ca: aGk=\n"
                      "  since: 2025-12-30T10:00:00Z\n  extra: {a: [1, {b: c}]}\n"
                      "  selector: {a: b}\n  parts: [{type: x, weight: 1}, {type: y}]\n"
                      "status: {anything: [goes]}\n",
                 "");
    assert_finds(*state, &class,
                 "apiVersion: example.org/v1alpha1\nkind: Class\n"
                 "metadata: {name: internal.b}\nspec: {}\n",
                 "");
}

static void unknown_fields_suggest_the_nearest(void **state)
{
    assert_finds(*state, &record, SPEC "  tll: 300\n",
                 "10:3: spec.tll: unknown field; did you mean ttl?\n");
    assert_finds(*state, &record, SPEC "  completely.other: 1\n",
                 "10:3: spec[completely.other]: unknown field\n");
    assert_finds(*state, &record, SPEC "spce: 1\n",
                 "10:1: spce: unknown field; did you mean spec?\n");
    assert_finds(*state, &record, SPEC "  parts: [{type: x, wieght: 1}]\n",
                 "10:21: spec.parts[0].wieght: unknown field; did you mean weight?\n");
    assert_finds(*state, &record,
                 "apiVersion: example.org/v1alpha1\nkind: Record\nmetadata:\n  name: web\n"
                 "  label: {}\nspec:\n  type: A\n  domain: a\n  values: [x]\n",
                 "5:3: metadata.label: unknown field; did you mean labels?\n");
}

static void wrong_types_say_how_to_write_it(void **state)
{
    assert_finds(*state, &record,
                 HEAD "spec:\n  type: A\n  domain: yes\n  values: [5, true, [a], \"7\"]\n"
                      "  ttl: \"300\"\n",
                 "8:3: spec.domain: expected text, found a boolean: quote it\n"
                 "9:3: spec.values: must have at most 3 entries, has 4\n"
                 "10:3: spec.ttl: expected a number, found text: remove the quotes\n");
    assert_finds(*state, &record,
                 HEAD "spec:\n  type: A\n  domain: a\n  values: [5, true, [a]]\n"
                      "  ttl: many\n  enabled: \"true\"\n  age: 7.5\n  extra:\n  selector: [a]\n",
                 "9:12: spec.values[0]: expected text, found a number: quote it\n"
                 "9:15: spec.values[1]: expected text, found a boolean: quote it\n"
                 "9:21: spec.values[2]: expected text, found a list\n"
                 "10:3: spec.ttl: expected a number, found text\n"
                 "11:3: spec.enabled: expected a boolean, found text: remove the quotes\n"
                 "12:3: spec.age: expected a whole number within 64 bits\n"
                 "14:3: spec.selector: expected a map, found a list\n");
    assert_finds(*state, &record, HEAD "spec: text\n", "6:1: spec: expected a map, found text\n");
    assert_finds(*state, &record, "- a\n", "1:1: expected a map, found a list\n");
    assert_finds(*state, &record, SPEC "  ttl:\n",
                 "10:3: spec.ttl: expected a number, found null\n");
}

static void json_from_the_wire_is_not_told_to_quote(void **state)
{
    struct error err;
    struct findings findings = {.arena = *state};
    struct value *object = value_read_json(
        *state,
        TEXT("{\"apiVersion\":\"example.org/v1alpha1\",\"kind\":\"Record\",\"metadata\":{\"name\":"
             "\"a\"},\"spec\":{\"type\":\"A\",\"domain\":5,\"values\":[\"x\"]}}"),
        &value_manifest_limits, &err);
    kind_check(&record, object, &findings);
    assert_string_equal(findings_join(&findings, FINDING_ERROR),
                        "spec.domain: expected text, found a number");
}

static void ranges_and_lengths_name_their_bounds(void **state)
{
    assert_finds(*state, &record, SPEC "  ttl: 0\n  age: 4\n  selector: {a: b, c: d, e: f}\n",
                 "10:3: spec.ttl: must be between 1 and 2147483647\n"
                 "11:3: spec.age: must be at least 5\n"
                 "12:3: spec.selector: must have at most 2 entries, has 3\n");
    assert_finds(*state, &record, SPEC "  selector: {a: eightoct, b: nineoctet}\n",
                 "10:27: spec.selector.b: must have at most 8 octets, has 9\n");
    assert_finds(*state, &record, SPEC "  ttl: 2147483648\n",
                 "10:3: spec.ttl: must be between 1 and 2147483647\n");
    assert_finds(*state, &record, HEAD "spec: {type: A, domain: o1234567890, values: [\"\"]}\n",
                 "6:17: spec.domain: must have at most 10 octets, has 11\n"
                 "6:47: spec.values[0] cannot be empty\n");
}

static void missing_and_empty_fields_are_required(void **state)
{
    assert_finds(*state, &record, HEAD "spec:\n  domain: \"\"\n  values: []\n",
                 "7:3: spec.domain is required\n"
                 "8:3: spec.values must have at least one value\n"
                 "6:1: spec.type is required\n");
    assert_finds(*state, &record, HEAD, "1:1: spec is required\n");
    assert_finds(*state, &record, SPEC "  parts: [{weight: 1}]\n",
                 "10:11: spec.parts[0].type is required\n");
}

static void choices_and_patterns_use_the_words_of_the_table(void **state)
{
    assert_finds(*state, &record, HEAD "spec: {type: XYZ, domain: a, values: [x], policy: x}\n",
                 "6:8: unsupported record type: XYZ\n"
                 "6:43: spec.policy must be Delete, Retain or \"Off\"\n");
    assert_finds(*state, &record, SPEC "  server: ftp://x\n  word: Abc\n  algorithm: hush\n",
                 "10:3: spec.server must be a valid HTTP or HTTPS URL\n"
                 "11:3: spec.word: must match ^[a-z]*$\n"
                 "12:3: spec.algorithm must be SHA256 or SHA512\n");
}

static void encoded_texts_are_checked(void **state)
{
    assert_finds(*state, &record, SPEC "  ca: not base64!\n  since: yesterday\n",
                 "10:3: spec.ca: must be base64\n"
                 "11:3: spec.since: must be a time such as 2025-12-30T10:00:00Z\n");
    assert_finds(*state, &record, SPEC "  ca: abc\n", "10:3: spec.ca: must be base64\n");
    assert_finds(*state, &record, SPEC "  ca: \"a===\"\n", "10:3: spec.ca: must be base64\n");
    assert_finds(*state, &record, SPEC "  ca: |\n    aGkh\n    aA==\n", "");
}

static void list_map_holds_each_key_once(void **state)
{
    assert_finds(*state, &record, SPEC "  parts: [{type: x}, {type: y}, {type: x}]\n",
                 "10:33: spec.parts[2]: the same type stands in the list before\n");
    assert_finds(*state, &record, SPEC "  sets: [{name: x}, {name: x}]\n",
                 "10:21: spec.sets[1]: the same name stands in the list before\n");
}

static void identity_is_checked(void **state)
{
    assert_finds(*state, &record,
                 "kind: Recrod\nmetadata: {name: a}\nspec: {type: A, domain: a, values: [x]}\n",
                 "1:1: apiVersion is required\n"
                 "1:1: kind: expected Record, found Recrod\n");
    assert_finds(*state, &class, "apiVersion: example.org/v1\nkind: Class\n",
                 "1:1: apiVersion: expected example.org/v1alpha1, found example.org/v1\n"
                 "1:1: metadata.name is required\n");
    assert_finds(*state, &class,
                 "apiVersion: example.org/v1alpha1\nkind: Class\nmetadata:\n  name: a\n"
                 "  namespace: b\n",
                 "5:3: metadata.namespace: Class has no namespace: remove it\n");
}

static void check_name(struct arena *arena, const char *name, bool is_valid)
{
    struct findings findings = {.arena = arena};
    AUTO_BUFFER yaml = {0};
    buffer_printf(
        &yaml, "apiVersion: example.org/v1alpha1\nkind: Class\nmetadata:\n  name: \"%s\"\n", name);
    kind_check(&class, read_yaml(arena, yaml.at), &findings);
    if ((findings.count == 0) != is_valid)
        fail_msg("%s: %zu findings", name, findings.count);
}

static void names_follow_rfc_1123(void **state)
{
    static const char *const good[] = {"a", "0", "a-b", "a.b.c-d", "1.2"};
    static const char *const bad[] = {"",     "A",   "a_b",  "-a",   "a-",       ".a", "a.",
                                      "a..b", "a b", "a.-b", "a-.b", "\xc3\xa9", "a/b"};
    for (size_t i = 0; i < COUNT_OF(good); i++)
        check_name(*state, good[i], true);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_name(*state, bad[i], false);
    char longest[255] = {0};
    memset(longest, 'a', 253);
    check_name(*state, longest, true);
    longest[253] = 'a';
    check_name(*state, longest, false);
}

static void generated_names_need_no_name(void **state)
{
    assert_finds(*state, &class,
                 "apiVersion: example.org/v1alpha1\nkind: Class\nmetadata: {generateName: a-}\n",
                 "");
}

static void labels_and_annotations_are_text(void **state)
{
    assert_finds(*state, &record,
                 "apiVersion: example.org/v1alpha1\nkind: Record\nmetadata:\n  name: a\n"
                 "  namespace: B.c\n  labels:\n    app: 5\n    bad key: x\n    a/b/c: x\n"
                 "    ok: -x\n    a.b/c: 7\n  annotations: {x: true}\n  finalizers: [\"a b\", 5]\n"
                 "spec: {type: A, domain: a, values: [x]}\n",
                 "5:3: metadata.namespace: must be lower-case letters, digits and -, with a letter "
                 "or digit at both ends, at most 63 octets (RFC 1123 label)\n"
                 "7:5: metadata.labels.app: expected text, found a number: quote it\n"
                 "11:5: metadata.labels[a.b/c]: expected text, found a number: quote it\n"
                 "8:5: metadata.labels.bad key: a key is an optional DNS name and /, then at most "
                 "63 letters, digits, - _ or .\n"
                 "9:5: metadata.labels.a/b/c: a key is an optional DNS name and /, then at most 63 "
                 "letters, digits, - _ or .\n"
                 "10:5: metadata.labels.ok: a label's value is at most 63 letters, digits, - _ or "
                 "., with a letter or digit at both ends\n"
                 "12:17: metadata.annotations.x: expected text, found a boolean: quote it\n"
                 "13:16: metadata.finalizers[0]: must be a name, or a DNS name, / and a name\n"
                 "13:23: metadata.finalizers[1]: expected text, found a number: quote it\n");
}

static void labels_and_annotations_are_maps(void **state)
{
    assert_finds(*state, &record,
                 "apiVersion: example.org/v1alpha1\nkind: Record\nmetadata:\n  name: a\n"
                 "  labels: [\"a b\"]\n  annotations:\n    - 1: x\n  finalizers: [\"\"]\n"
                 "spec: {type: A, domain: a, values: [x]}\n",
                 "5:3: metadata.labels: expected a map, found a list\n"
                 "6:3: metadata.annotations: expected a map, found a list\n"
                 "8:16: metadata.finalizers[0]: must be a name, or a DNS name, / and a name\n");
}

static void foreign_kinds_may_hold_what_we_do_not_know(void **state)
{
    assert_finds(*state, &secret,
                 "apiVersion: v1\nkind: Secret\nmetadata: {name: a, clusterName: x}\n"
                 "data: {key: aGk=, none: null}\ntype:\nimmutable: true\n",
                 "");
    assert_finds(*state, &secret,
                 "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {key: hush!, a: 5}\n",
                 "4:8: data.key: must be base64\n"
                 "4:20: data.a: expected text, found a number: quote it\n");
}

static const struct field lenient_fields[] = {
    {.path = "spec", .type = FIELD_MAP, .flags = FIELD_REQUIRED},
    {.path = "spec.name", .type = FIELD_TEXT, .flags = FIELD_REQUIRED},
    {.path = "spec.names", .type = FIELD_LIST},
    {.path = "spec.names[]", .type = FIELD_TEXT},
    {.path = "spec.ttl", .type = FIELD_INT, .flags = FIELD_UINT32},
    {.path = "spec.texts", .type = FIELD_TEXT_MAP},
    {.path = "spec.serials", .type = FIELD_INT_MAP},
};

static const struct kind lenient = {
    .group = "example.org",
    .version = "v1alpha1",
    .name = "Record",
    .plural = "records",
    .singular = "record",
    .is_namespaced = true,
    .is_lenient = true,
    .fields = lenient_fields,
    .field_count = COUNT_OF(lenient_fields),
};

static void lenient_kinds_have_no_bounds_and_null_is_absent(void **state)
{
    AUTO_BUFFER yaml = {0};
    buffer_add_text(&yaml, HEAD "spec:\n  name: ");
    for (int i = 0; i < 100000; i++)
        buffer_add_char(&yaml, 'a');
    buffer_add_text(&yaml, "\n  names: null\n  ttl: 99999999999\n  texts: {a: b, b: null}\n"
                           "  serials: {a: 5000000000, b: null}\n");
    assert_finds(*state, &lenient, yaml.at, "");
}

static void lenient_kinds_have_types_all_the_same(void **state)
{
    assert_finds(*state, &lenient,
                 HEAD "spec:\n  name: null\n  names: [null]\n  ttl: -1\n  texts: {a: 5}\n"
                      "  serials: {a: x}\n",
                 "8:11: spec.names[0]: expected text, found null\n"
                 "9:3: spec.ttl: must be at least 0\n"
                 "10:11: spec.texts.a: expected text, found a number: quote it\n"
                 "11:13: spec.serials.a: expected a number, found text\n"
                 "6:1: spec.name is required\n");
}

static const struct field nullable_fields[] = {
    {.path = "spec", .type = FIELD_MAP},
    {.path = "spec.name", .type = FIELD_TEXT, .flags = FIELD_NULLABLE},
    {.path = "spec.serial", .type = FIELD_INT, .flags = FIELD_UINT32},
};

static void a_nullable_field_takes_null_and_an_unsigned_one_32_bits(void **state)
{
    const struct kind kind = {
        .group = "example.org",
        .version = "v1alpha1",
        .name = "Record",
        .is_namespaced = true,
        .fields = nullable_fields,
        .field_count = COUNT_OF(nullable_fields),
    };
    assert_finds(*state, &kind, HEAD "spec: {name: null, serial: 4294967295}\n", "");
    assert_finds(*state, &kind, HEAD "spec: {serial: 4294967296}\n",
                 "6:8: spec.serial: must be between 0 and 4294967295\n");
}

static const struct field judged_fields[] = {
    {.path = "spec", .type = FIELD_MAP},
    {.path = "spec.type",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED | FIELD_JUDGED,
     .choices = types},
    {.path = "spec.word", .type = FIELD_TEXT, .flags = FIELD_JUDGED, .pattern = "^[a-z]+$"},
    {.path = "spec.ttl", .type = FIELD_INT, .flags = FIELD_JUDGED, .min = 1, .max = 9},
    {.path = "spec.list", .type = FIELD_LIST, .flags = FIELD_JUDGED, .min = 1, .max = 1},
    {.path = "spec.list[]", .type = FIELD_TEXT},
};

static void what_validate_judges_has_a_type_alone(void **state)
{
    const struct kind kind = {
        .group = "example.org",
        .version = "v1alpha1",
        .name = "Record",
        .is_namespaced = true,
        .fields = judged_fields,
        .field_count = COUNT_OF(judged_fields),
    };
    assert_finds(*state, &kind, HEAD "spec: {type: X, word: '1', ttl: 10, list: [a, b]}\n", "");
    assert_finds(*state, &kind, HEAD "spec: {list: []}\n", "");
    assert_finds(*state, &kind, HEAD "spec: {type: 1, ttl: x, list: [1]}\n",
                 "6:8: spec.type: expected text, found a number: quote it\n"
                 "6:17: spec.ttl: expected a number, found text\n"
                 "6:32: spec.list[0]: expected text, found a number: quote it\n");
}

static void a_plain_file_has_no_identity_and_no_status(void **state)
{
    const struct kind kind = {
        .name = "File",
        .is_plain = true,
        .fields = nullable_fields,
        .field_count = COUNT_OF(nullable_fields),
    };
    assert_finds(*state, &kind, "spec: {name: a}\n", "");
    assert_finds(*state, &kind, "spek: {name: a}\nstatus: 1\n",
                 "1:1: spek: unknown field; did you mean spec?\n"
                 "2:1: status: unknown field\n");
}

static void bounds_of_the_crd_hold_in_the_check(void **state)
{
    AUTO_BUFFER yaml = {0};
    buffer_add_text(&yaml, HEAD "spec:\n  type: A\n  domain: a\n  values: [");
    for (int i = 0; i < 4097; i++)
        buffer_add_char(&yaml, 'a');
    buffer_add_text(&yaml, "]\n");
    assert_finds(*state, &record, yaml.at,
                 "9:12: spec.values[0]: must have at most 4096 octets, has 4097\n");
    assert_int_equal(kind_field_max(&record, kind_find_field(&record, "spec.type")), 5);
    assert_int_equal(kind_field_max(&record, kind_find_field(&record, "spec.parts")), 256);
    assert_int_equal(kind_field_max(&record, kind_find_field(&record, "spec.parts[9].weight")),
                     INT32_MAX);
    assert_true(kind_field_max(&secret, kind_find_field(&secret, "data")) == INT64_MAX);
}

static void immutable_fields_stay(void **state)
{
    struct arena *arena = *state;
    struct findings findings = {.arena = arena};
    struct value *old = read_yaml(arena, "spec: {policy: Delete, owner: {name: a}}\n");
    kind_check_update(&record, old, read_yaml(arena, "spec: {owner: {name: a}, ttl: 5}\n"),
                      &findings);
    assert_int_equal(findings.count, 0);
    kind_check_update(&record, old,
                      read_yaml(arena, "spec:\n  policy: Retain\n  owner:\n    name: b\n"),
                      &findings);
    kind_check_update(&record, old, read_yaml(arena, "spec: {policy: Delete}\n"), &findings);
    assert_string_equal(findings_join(&findings, FINDING_ERROR),
                        "spec.policy is immutable; spec.owner is immutable; "
                        "spec.owner is immutable");
    assert_int_equal(findings.items[0].line, 2);
    assert_int_equal(findings.items[1].column, 3);
}

static void rows_are_found_by_object_paths(void **state)
{
    (void)state;
    assert_string_equal(kind_find_field(&record, "spec.values[12]")->path, "spec.values[]");
    assert_string_equal(kind_find_field(&record, "spec.parts[].type")->path, "spec.parts[].type");
    assert_string_equal(kind_find_field(&record, "spec.parts[0].type")->path, "spec.parts[].type");
    assert_null(kind_find_field(&record, "spec.parts[x].type"));
    assert_null(kind_find_field(&record, "spec.val"));
    assert_null(kind_find_field(&record, ""));
}

static void documents_find_their_kind(void **state)
{
    static const struct kind *const kinds[] = {&record, &class, &secret};
    static const struct {
        const char *yaml;
        const struct kind *kind;
        bool is_known_group;
    } rows[] = {
        {"{apiVersion: example.org/v1alpha1, kind: Class}", &class, true},
        {"{apiVersion: example.org/v1, kind: Class}", NULL, true},
        {"{apiVersion: example.org/v1alpha1, kind: Other}", NULL, true},
        {"{apiVersion: v1, kind: Secret}", &secret, true},
        {"{apiVersion: apps/v1, kind: Deployment}", NULL, false},
        {"{kind: Secret}", NULL, false},
        {"{apiVersion: 1, kind: Secret}", NULL, false},
        {"[a]", NULL, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool is_known_group = !rows[i].is_known_group;
        assert_ptr_equal(
            kind_lookup(kinds, COUNT_OF(kinds), read_yaml(*state, rows[i].yaml), &is_known_group),
            rows[i].kind);
        assert_int_equal(is_known_group, rows[i].is_known_group);
    }
}

static void findings_are_capped_per_level_and_joined(void **state)
{
    struct findings findings = {.arena = *state};
    assert_null(findings_join(&findings, FINDING_ERROR));
    for (int i = 0; i < 300; i++)
        findings_add(&findings, FINDING_WARNING, "", "warning %d", i);
    findings_add(&findings, FINDING_ERROR, "spec.a", "one");
    findings_add(&findings, FINDING_ERROR, "spec.b", "two");
    assert_int_equal(findings.count, FINDINGS_MAX + 2);
    assert_int_equal(findings_errors(&findings), 2);
    assert_string_equal(findings_join(&findings, FINDING_ERROR), "one; two");
}

static void findings_are_located_at_the_nearest_place(void **state)
{
    struct findings findings = {.arena = *state};
    findings_add(&findings, FINDING_ERROR, "spec.values[1]", "x");
    findings_add(&findings, FINDING_ERROR, "spec.missing.deep", "x");
    findings_add(&findings, FINDING_ERROR, "", "x");
    findings_locate(&findings, read_yaml(*state, "a: 1\nspec:\n  values:\n  - x\n  - y\n"));
    assert_int_equal(findings.items[0].line, 5);
    assert_int_equal(findings.items[0].column, 5);
    assert_int_equal(findings.items[1].line, 2);
    assert_int_equal(findings.items[2].line, 1);
}

static void patterns_match_whole_texts_with_and_without_a_cache(void **state)
{
    CLEANUP(kind_patterns) struct kind_patterns *patterns = kind_patterns_new();
    struct kind_patterns *const both[] = {NULL, patterns};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        assert_true(kind_pattern_matches(both[i], "^a+$", TEXT("aaa")));
        assert_false(kind_pattern_matches(both[i], "^a+$", TEXT("aab")));
        assert_true(kind_pattern_matches(both[i], "^a+$", (struct text){"aab", 2}));
        assert_true(kind_pattern_matches(both[i], "^b*$", (struct text){0}));
    }
}

int main(void)
{
#define row(name) cmocka_unit_test_setup_teardown(name, make_arena, drop_arena)
    const struct CMUnitTest tests[] = {
        row(sound_object_has_no_finding),
        row(unknown_fields_suggest_the_nearest),
        row(wrong_types_say_how_to_write_it),
        row(json_from_the_wire_is_not_told_to_quote),
        row(ranges_and_lengths_name_their_bounds),
        row(missing_and_empty_fields_are_required),
        row(choices_and_patterns_use_the_words_of_the_table),
        row(encoded_texts_are_checked),
        row(list_map_holds_each_key_once),
        row(identity_is_checked),
        row(names_follow_rfc_1123),
        row(generated_names_need_no_name),
        row(labels_and_annotations_are_text),
        row(labels_and_annotations_are_maps),
        row(foreign_kinds_may_hold_what_we_do_not_know),
        row(lenient_kinds_have_no_bounds_and_null_is_absent),
        row(lenient_kinds_have_types_all_the_same),
        row(a_nullable_field_takes_null_and_an_unsigned_one_32_bits),
        row(what_validate_judges_has_a_type_alone),
        row(a_plain_file_has_no_identity_and_no_status),
        row(bounds_of_the_crd_hold_in_the_check),
        row(immutable_fields_stay),
        row(rows_are_found_by_object_paths),
        row(documents_find_their_kind),
        row(findings_are_capped_per_level_and_joined),
        row(findings_are_located_at_the_nearest_place),
        row(patterns_match_whole_texts_with_and_without_a_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
