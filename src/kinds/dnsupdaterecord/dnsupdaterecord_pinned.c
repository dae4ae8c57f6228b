#include "kinds/dnsupdaterecord/dnsupdaterecord_check.h"

#include "kinds/dnsupdaterecord/external_dns_private.h"

static const char path[] = "metadata.annotations[" PINNED_ANNOTATION "]";

struct pin {
    enum external_dns_id id;
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

static void warn_of_other(const struct check_run *run, const struct pin *pin)
{
    if (pin->asked.at && !text_equal(pin->asked, pin->kept))
        findings_add_at(run->findings, FINDING_WARNING, path,
                        "%s \"%s\" is in force, not \"%s\" that the record asks for now: records "
                        "that are published carry it, so write it into the record as well",
                        external_dns_parameters[pin->id].name, check_shown(run, pin->kept),
                        check_shown(run, pin->asked));
}

// The prefix of annotations is that of the first release, whatever a later one has by itself.
static void check_pins(const struct check_run *run)
{
    const struct update_record *record = run->record;
    struct update_record plain = *record;
    plain.has_pinned = false;
    struct text annotations = update_record_text(record, PARAMETER_ANNOTATION_PREFIX);
    struct text prefix = update_record_text(record, PARAMETER_TXT_PREFIX);
    const struct pin pins[] = {
        {PARAMETER_TXT_OWNER_ID, record->pinned.owner_id, update_record_owner(&plain)},
        {PARAMETER_TXT_PREFIX, record->pinned.txt_prefix, prefix.at ? prefix : TEXT("")},
        {PARAMETER_ANNOTATION_PREFIX, record->pinned.annotation_prefix,
         annotations.len ? annotations : (struct text){0}},
    };
    for (size_t i = 0; i < COUNT_OF(pins); i++) {
        check_kept(run, &pins[i]);
        warn_of_other(run, &pins[i]);
    }
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
