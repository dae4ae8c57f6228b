#include "kinds/record/record_body.h"

static const char *const classes[] = {"IN", "CH", "HS", NULL};

static const char *const own_labels[] = {ZONE_PARENT_LABEL, NULL};

static const struct field fields[] = {
    {.path = "spec", .type = FIELD_MAP, .flags = FIELD_REQUIRED, .doc = "The record."},
    {.path = "spec.domainName",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .doc = "Name of the record: full with a final dot, else below the Zone that zoneRef names, "
            "whose own name is @."},
    ZONE_REF_FIELDS("spec.zoneRef", FIELD_NULLABLE,
                    "The Zone that completes a name without final dot; only with such a one."),
    {.path = "spec.type",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .doc = "Type of the record, such as A, MX or TYPE65280."},
    {.path = "spec.class",
     .type = FIELD_TEXT,
     .choices = classes,
     .fallback = "IN",
     .doc = "Class of the record; zones hold IN alone."},
    {.path = "spec.ttl",
     .type = FIELD_INT,
     .flags = FIELD_UINT32 | FIELD_NULLABLE,
     .doc = "Time to live in seconds, at most 2147483647; the Zone's when absent."},
    {.path = "spec.rdata",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .doc = "Data of the record as in a zone file, such as \"10 mail.example.org.\"."},

    {.path = "status",
     .type = FIELD_MAP,
     .flags = FIELD_NULLABLE,
     .doc = "What became of the record."},
    {.path = "status.fqdn",
     .type = FIELD_TEXT,
     .flags = FIELD_NULLABLE,
     .doc = "Full name of the record: A-labels, with the final dot."},
    ZONE_REF_FIELDS("status.zone", 0, "The Zone that the record is part of."),
    {.path = "status.observedGeneration",
     .type = FIELD_INT,
     .flags = FIELD_INT64,
     .doc = "Generation that this status speaks of."},
    CONDITION_FIELDS("Accepted, Conflicted, Programmed, Warned."),
};

static const struct kind_column columns[] = {
    {"domain name", "string", ".spec.domainName", 0},
    {"class", "string", ".spec.class", 0},
    {"type", "string", ".spec.type", 0},
    {"data", "string", ".spec.rdata", 0},
    {"fqdn", "string", ".status.fqdn", 0},
    {"parent", "string", ".metadata.labels.kubi\\.zone/parent-zone", 0},
    {"programmed", "string", ".status.conditions[?(@.type==\"Programmed\")].status", 0},
};

static const char *const right_when[] = {"Accepted=True", "Conflicted=False", "Programmed=True",
                                         NULL};

const struct kind record_kind = {
    .group = ZONE_GROUP,
    .version = "v1alpha1",
    .name = "Record",
    .plural = "records",
    .singular = "record",
    .is_namespaced = true,
    .has_status = true,
    .is_lenient = true,
    .own_labels = own_labels,
    .condition_types = record_condition_types,
    .right_when = right_when,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .doc = "One DNS record of the zone that it lies in.",
    .pack_spec = record_pack_spec,
    .pack_managed = record_pack_managed,
    .validate = record_validate,
    .list_names = record_list_names,
};
