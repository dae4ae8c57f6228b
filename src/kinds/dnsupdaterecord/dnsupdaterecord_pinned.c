#include "kinds/dnsupdaterecord/dnsupdaterecord_check.h"

#include "kinds/dnsupdaterecord/external_dns_private.h"

static const char path[] = "metadata.annotations[" PINNED_ANNOTATION "]";

struct pin {
    enum external_dns_id id;
    const char *path; // of what the record asks for
    struct text kept;
    struct text asked; // absent: the record asks for none of its own
};

static void check_kept(const struct check_run *run, const struct pin *pin)
{
    const struct external_dns_parameter *row = &external_dns_parameters[pin->id];
    const char *fault = parameter_fault(row, pin->kept);
    if ((int64_t)pin->kept.len > row->max)
        check_error(run, path, "%s must have at most %lld octets, has %zu: put it back as it was",
                    row->name, (long long)row->max, pin->kept.len);
    else if (fault)
        check_error(run, path, "%s \"%s\" %s: put it back as it was", row->name,
                    check_shown(run, pin->kept), fault);
}

// A move that is under way ends that by itself.
static void warn_of_other(const struct check_run *run, const struct pin *pin)
{
    if (pin->asked.at && !text_equal(pin->asked, pin->kept) && !run->record->may_move)
        findings_add_at(
            run->findings, FINDING_WARNING, pin->path,
            "\"%s\" is in force, not \"%s\", as names that stand carry it: put it back, "
            "or let them move by the annotation " MOVE_ANNOTATION ": drain",
            check_shown(run, pin->kept), check_shown(run, pin->asked));
}

static void warn_of_left_out(const struct check_run *run)
{
    const struct update_record *record = run->record;
    if (!record->values[PARAMETER_TXT_PREFIX] && record->pinned.txt_prefix.len)
        parameter_warning(run, PARAMETER_TXT_PREFIX,
                          "is left out, so that %s stays in force: write it down, or \"\" to have "
                          "none, which moves the names",
                          check_shown(run, record->pinned.txt_prefix));
}

// The prefix of annotations is that of the first release, whatever a later one has by itself.
static void check_pins(const struct check_run *run)
{
    const struct update_record *record = run->record;
    struct update_record plain = *record;
    plain.has_pinned = false;
    struct text annotations = update_record_text(record, PARAMETER_ANNOTATION_PREFIX);
    const struct value *prefix = record->values[PARAMETER_TXT_PREFIX];
    const struct pin pins[] = {
        {PARAMETER_TXT_OWNER_ID,
         record->adopt_owner.len ? "spec.adoptOwner" : parameter_path(run, PARAMETER_TXT_OWNER_ID),
         record->pinned.owner_id, update_record_owner(&plain)},
        {PARAMETER_TXT_PREFIX, parameter_path(run, PARAMETER_TXT_PREFIX), record->pinned.txt_prefix,
         value_text(prefix)},
        {PARAMETER_ANNOTATION_PREFIX, parameter_path(run, PARAMETER_ANNOTATION_PREFIX),
         record->pinned.annotation_prefix, annotations.len ? annotations : (struct text){0}},
    };
    for (size_t i = 0; i < COUNT_OF(pins); i++) {
        check_kept(run, &pins[i]);
        warn_of_other(run, &pins[i]);
    }
    warn_of_left_out(run);
}

void check_pinned(const struct check_run *run)
{
    if (run->record->has_broken_pin)
        check_error(run, path,
                    "must be JSON with txt-owner-id, txt-prefix and annotation-prefix: it says "
                    "what owns the records, so put it back as it was");
    else if (run->record->has_pinned)
        check_pins(run);
}
