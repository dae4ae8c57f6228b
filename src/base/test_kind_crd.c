#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/kind.h"
#include "base/memory.h"

static const char *const types[] = {"A", "AAAA", NULL};
static const char *const short_names[] = {"rec", NULL};
static const char *const categories[] = {"dns", NULL};

static const struct field fields[] = {
    {.path = "spec", .type = FIELD_MAP, .flags = FIELD_REQUIRED, .doc = "What is wanted."},
    {.path = "spec.type", .type = FIELD_TEXT, .flags = FIELD_REQUIRED, .choices = types},
    {.path = "spec.values", .type = FIELD_LIST, .min = 1, .max = 8},
    {.path = "spec.values[]", .type = FIELD_TEXT, .min = 1},
    {.path = "spec.ttl", .type = FIELD_INT, .min = 1, .fallback = "300"},
    {.path = "spec.namespace", .type = FIELD_TEXT, .flags = FIELD_IMMUTABLE},
    {.path = "spec.on", .type = FIELD_BOOL, .fallback = "true"},
    {.path = "spec.server", .type = FIELD_TEXT, .max = 64, .pattern = "^https?://.+"},
    {.path = "spec.selector", .type = FIELD_TEXT_MAP, .value_max = 128},
    {.path = "spec.extra", .type = FIELD_ANY},
    {.path = "status", .type = FIELD_MAP},
    {.path = "status.conditions", .type = FIELD_LIST, .max = 16, .list_key = "type"},
    {.path = "status.conditions[]", .type = FIELD_MAP},
    {.path = "status.conditions[].type", .type = FIELD_TEXT, .flags = FIELD_REQUIRED},
    {.path = "status.conditions[].time", .type = FIELD_TEXT, .flags = FIELD_TIME},
    {.path = "status.seen", .type = FIELD_INT, .flags = FIELD_INT64},
};

static const struct kind_rule rules[] = {
    {"spec", "self.type != 'A' || size(self.values) == 1", "one value: \"A\" has no more"},
    {"", "self.metadata.name != 'x'", "x is taken"},
};

static const struct kind_column columns[] = {
    {"Type", "string", ".spec.type", 0},
    {"TTL", "integer", ".spec.ttl", 1},
};

static const struct kind record = {
    .group = "example.org",
    .version = "v1alpha1",
    .name = "Record",
    .plural = "records",
    .singular = "record",
    .short_names = short_names,
    .categories = categories,
    .is_namespaced = true,
    .has_status = true,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .rules = rules,
    .rule_count = COUNT_OF(rules),
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .doc = "A record: one of many.",
};

static const char expected[] =
    "---\n"
    "apiVersion: apiextensions.k8s.io/v1\n"
    "kind: CustomResourceDefinition\n"
    "metadata:\n"
    "  name: records.example.org\n"
    "spec:\n"
    "  group: example.org\n"
    "  names:\n"
    "    categories:\n"
    "    - dns\n"
    "    kind: Record\n"
    "    listKind: RecordList\n"
    "    plural: records\n"
    "    shortNames:\n"
    "    - rec\n"
    "    singular: record\n"
    "  scope: Namespaced\n"
    "  versions:\n"
    "  - additionalPrinterColumns:\n"
    "    - jsonPath: .spec.type\n"
    "      name: Type\n"
    "      type: string\n"
    "    - jsonPath: .spec.ttl\n"
    "      name: TTL\n"
    "      priority: 1\n"
    "      type: integer\n"
    "    name: v1alpha1\n"
    "    schema:\n"
    "      openAPIV3Schema:\n"
    "        description: \"A record: one of many.\"\n"
    "        type: object\n"
    "        properties:\n"
    "          apiVersion:\n"
    "            type: string\n"
    "          kind:\n"
    "            type: string\n"
    "          metadata:\n"
    "            type: object\n"
    "          spec:\n"
    "            description: What is wanted.\n"
    "            type: object\n"
    "            properties:\n"
    "              type:\n"
    "                type: string\n"
    "                enum:\n"
    "                - A\n"
    "                - AAAA\n"
    "                maxLength: 4\n"
    "              values:\n"
    "                type: array\n"
    "                minItems: 1\n"
    "                maxItems: 8\n"
    "                items:\n"
    "                  type: string\n"
    "                  minLength: 1\n"
    "                  maxLength: 4096\n"
    "              ttl:\n"
    "                type: integer\n"
    "                format: int32\n"
    "                minimum: 1\n"
    "                maximum: 2147483647\n"
    "                default: 300\n"
    "              namespace:\n"
    "                type: string\n"
    "                maxLength: 4096\n"
    "                x-kubernetes-validations:\n"
    "                - message: spec.namespace is immutable\n"
    "                  rule: self == oldSelf\n"
    "              \"on\":\n"
    "                type: boolean\n"
    "                default: true\n"
    "              server:\n"
    "                type: string\n"
    "                pattern: ^https?://.+\n"
    "                maxLength: 64\n"
    "              selector:\n"
    "                type: object\n"
    "                additionalProperties:\n"
    "                  type: string\n"
    "                  maxLength: 128\n"
    "                maxProperties: 64\n"
    "              extra:\n"
    "                x-kubernetes-preserve-unknown-fields: true\n"
    "            x-kubernetes-validations:\n"
    "            - message: spec.namespace is immutable\n"
    "              rule: has(self.__namespace__) == has(oldSelf.__namespace__)\n"
    "            - message: \"one value: \\\"A\\\" has no more\"\n"
    "              rule: self.type != 'A' || size(self.values) == 1\n"
    "            required:\n"
    "            - type\n"
    "          status:\n"
    "            type: object\n"
    "            properties:\n"
    "              conditions:\n"
    "                type: array\n"
    "                maxItems: 16\n"
    "                items:\n"
    "                  type: object\n"
    "                  properties:\n"
    "                    type:\n"
    "                      type: string\n"
    "                      maxLength: 4096\n"
    "                    time:\n"
    "                      type: string\n"
    "                      format: date-time\n"
    "                      maxLength: 64\n"
    "                  required:\n"
    "                  - type\n"
    "                x-kubernetes-list-type: map\n"
    "                x-kubernetes-list-map-keys:\n"
    "                - type\n"
    "              seen:\n"
    "                type: integer\n"
    "                format: int64\n"
    "                minimum: 0\n"
    "        required:\n"
    "        - spec\n"
    "        x-kubernetes-validations:\n"
    "        - message: x is taken\n"
    "          rule: self.metadata.name != 'x'\n"
    "    served: true\n"
    "    storage: true\n"
    "    subresources:\n"
    "      status: {}\n";

static void crd_has_all_that_the_table_says(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    kind_write_crd(&out, &record);
    assert_string_equal(out.at, expected);
}

static void crd_reads_back_and_is_the_same_each_time(void **state)
{
    (void)state;
    AUTO_BUFFER one = {0};
    AUTO_BUFFER two = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    kind_write_crd(&one, &record);
    kind_write_crd(&two, &record);
    assert_string_equal(one.at, two.at);
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(buffer_text(&one), &value_manifest_limits);
    struct value *value;
    struct error err;
    bool has;
    assert_true(yaml_reader_next(reader, arena, &value, &has, &err));
    assert_true(text_is(value_text_at(value, "metadata.name"), "records.example.org"));
}

static void cluster_kind_without_status_has_neither(void **state)
{
    static const struct kind class = {
        .group = "example.org",
        .version = "v1",
        .name = "Class",
        .plural = "classes",
        .singular = "class",
    };
    (void)state;
    AUTO_BUFFER out = {0};
    kind_write_crd(&out, &class);
    assert_non_null(strstr(out.at, "\n  scope: Cluster\n"));
    assert_null(strstr(out.at, "subresources"));
    assert_null(strstr(out.at, "shortNames"));
    assert_null(strstr(out.at, "additionalPrinterColumns"));
}

static const struct field lenient_fields[] = {
    {.path = "spec", .type = FIELD_MAP, .flags = FIELD_NULLABLE},
    {.path = "spec.name", .type = FIELD_TEXT},
    {.path = "spec.names", .type = FIELD_LIST, .fallback = "[]"},
    {.path = "spec.names[]", .type = FIELD_TEXT, .max = 9},
    {.path = "spec.ttl", .type = FIELD_INT, .flags = FIELD_UINT32},
    {.path = "spec.texts", .type = FIELD_TEXT_MAP},
    {.path = "spec.serials", .type = FIELD_INT_MAP, .flags = FIELD_UINT32},
};

static const struct kind lenient = {
    .group = "example.org",
    .version = "v1",
    .name = "Lenient",
    .plural = "lenients",
    .singular = "lenient",
    .is_lenient = true,
    .fields = lenient_fields,
    .field_count = COUNT_OF(lenient_fields),
};

static void lenient_kind_has_only_the_bounds_that_its_table_names(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    kind_write_crd(&out, &lenient);
    assert_non_null(strstr(out.at, "          spec:\n"
                                   "            type: object\n"
                                   "            properties:\n"
                                   "              name:\n"
                                   "                type: string\n"
                                   "              names:\n"
                                   "                type: array\n"
                                   "                items:\n"
                                   "                  type: string\n"
                                   "                  maxLength: 9\n"
                                   "                default: []\n"
                                   "              ttl:\n"
                                   "                type: integer\n"
                                   "                format: int64\n"
                                   "                minimum: 0\n"
                                   "              texts:\n"
                                   "                type: object\n"
                                   "                additionalProperties:\n"
                                   "                  type: string\n"
                                   "              serials:\n"
                                   "                type: object\n"
                                   "                additionalProperties:\n"
                                   "                  type: integer\n"
                                   "                  format: int64\n"
                                   "            nullable: true\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crd_has_all_that_the_table_says),
        cmocka_unit_test(crd_reads_back_and_is_the_same_each_time),
        cmocka_unit_test(cluster_kind_without_status_has_neither),
        cmocka_unit_test(lenient_kind_has_only_the_bounds_that_its_table_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
