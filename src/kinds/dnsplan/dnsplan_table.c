#include "kinds/dnsplan/dnsplan_body.h"

static const char *const categories[] = {"signpost", NULL};

#define VALUES(path_, what)                                                                        \
    {.path = path_, .type = FIELD_LIST, .max = DNSPLAN_VALUES_MAX, .doc = what},                   \
    {                                                                                              \
        .path = path_ "[]", .type = FIELD_TEXT, .max = 1024, .doc = "TTL and rdata."               \
    }

static const struct field fields[] = {
    {.path = "spec",
     .type = FIELD_MAP,
     .flags = FIELD_REQUIRED,
     .doc = "What is held back, and the approval."},
    {.path = "spec.class",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED | FIELD_IMMUTABLE,
     .min = 1,
     .max = 400,
     .doc = "The class, or another backend, whose records these are."},
    {.path = "spec.zone",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED | FIELD_IMMUTABLE,
     .min = 1,
     .max = 255,
     .doc = "The zone; a dot where there is none."},
    {.path = "spec.checksum",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED | FIELD_IMMUTABLE,
     .min = DNSPLAN_SUM_LEN,
     .max = DNSPLAN_SUM_LEN,
     .pattern = "^[0-9a-f]+$",
     .doc = "SHA-256 over all changes: other changes are another plan."},
    {.path = "spec.reason",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED | FIELD_IMMUTABLE,
     .max = 16,
     .choices = dnsplan_reasons,
     .doc = "Guard: too many at once. Approval: the class wants a person to look at them."},
    {.path = "spec.approve",
     .type = FIELD_TEXT,
     .max = DNSPLAN_SUM_LEN,
     .pattern = "^[0-9a-f]*$",
     .doc = "Put the checksum here to let these changes go, and no others."},
    {.path = "spec.counts", .type = FIELD_MAP, .doc = "How many changes there are in all."},
    {.path = "spec.counts.create", .type = FIELD_INT, .doc = "Record sets that come."},
    {.path = "spec.counts.update", .type = FIELD_INT, .doc = "Record sets that change."},
    {.path = "spec.counts.delete", .type = FIELD_INT, .doc = "Record sets that go."},
    {.path = "spec.changes",
     .type = FIELD_LIST,
     .max = DNSPLAN_CHANGES_MAX,
     .doc = "The changes, the first 500 of them."},
    {.path = "spec.changes[]", .type = FIELD_MAP, .doc = "One record set."},
    {.path = "spec.changes[].operation",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .max = 16,
     .choices = dnsplan_acts,
     .doc = "Create, Update or Delete."},
    {.path = "spec.changes[].name",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .max = 255,
     .doc = "Owner name."},
    {.path = "spec.changes[].type",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .max = 16,
     .doc = "Record type."},
    {.path = "spec.changes[].set",
     .type = FIELD_TEXT,
     .max = 128,
     .doc = "Set identifier, where the backend has several sets at a name."},
    VALUES("spec.changes[].before", "What stands there; the first 16."),
    VALUES("spec.changes[].after", "What would stand there; the first 16."),
    {.path = "spec.changes[].object",
     .type = FIELD_TEXT,
     .max = 1024,
     .doc = "The object for which it is: kind/namespace/name."},

    {.path = "status", .type = FIELD_MAP, .doc = "What became of it."},
    {.path = "status.phase",
     .type = FIELD_TEXT,
     .max = 16,
     .choices = dnsplan_phases,
     .doc = "Pending, Approved, Applied, Expired (nobody approved it in time) or Superseded (the "
            "changes are others by now)."},
    {.path = "status.observedGeneration",
     .type = FIELD_INT,
     .flags = FIELD_INT64,
     .doc = "Generation that this status speaks of."},
    CONDITION_FIELDS("Applied."),
};

static const struct kind_column columns[] = {
    {"Class", "string", ".spec.class", 0},
    {"Zone", "string", ".spec.zone", 1},
    {"Reason", "string", ".spec.reason", 0},
    {"Create", "integer", ".spec.counts.create", 0},
    {"Update", "integer", ".spec.counts.update", 0},
    {"Delete", "integer", ".spec.counts.delete", 0},
    {"Phase", "string", ".status.phase", 0},
    {"Checksum", "string", ".spec.checksum", 1},
    {"Age", "date", ".metadata.creationTimestamp", 0},
};

static const char *const right_when[] = {"Applied=True", NULL};

static void write_summary(const struct value *object, struct buffer *out)
{
    buffer_printf(out, "%lld removals at %.*s",
                  (long long)value_int_at(object, "spec.counts.delete", 0),
                  TEXT_ARGS(value_text_at(object, "spec.class")));
}

static bool is_over(const struct value *object)
{
    struct text phase = value_text_at(object, "status.phase");
    for (enum dnsplan_phase over = DNSPLAN_APPLIED; dnsplan_phases[over]; over++)
        if (text_is(phase, dnsplan_phases[over]))
            return true;
    return false;
}

const struct kind dnsplan_kind = {
    .group = DNS_GROUP,
    .version = "v1alpha1",
    .name = "DNSPlan",
    .plural = "dnsplans",
    .singular = "dnsplan",
    .categories = categories,
    .has_status = true,
    .edited = "spec.approve",
    .condition_types = dnsplan_condition_types,
    .right_when = right_when,
    .read_role = "view",
    .change_role = "admin",
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .doc = "Changes of DNS records that wait for a person's word.",
    .pack_spec = dnsplan_pack_spec,
    .pack_managed = dnsplan_pack_managed,
    .write_summary = write_summary,
    .list_names = dnsplan_list_names,
    .is_over = is_over,
};
