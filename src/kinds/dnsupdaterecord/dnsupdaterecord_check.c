#include "kinds/dnsupdaterecord/dnsupdaterecord_check.h"

#include <stdarg.h>

#include "kinds/dnsupdaterecord/dnsupdaterecord_body.h"
#include "kinds/dnsupdaterecord/external_dns_private.h"
#include "kinds/emco_metadata.h"

enum { ENTRIES_MAX = 256, SHOWN_MAX = 64 };

// ---- findings -----------------------------------------------------------------------------------

static void __attribute__((format(printf, 4, 0)))
add_finding(const struct check_run *run, enum finding_level level, const char *path,
            const char *format, va_list args)
{
    AUTO_BUFFER text = {0};
    buffer_vprintf(&text, format, args);
    findings_add_at(run->findings, level, path, "%s", text.at);
}

const char *parameter_path(const struct check_run *run, enum external_dns_id id)
{
    const char *path = run->record->paths[id];
    return path ? path
                : arena_printf(run->findings->arena, "spec.external-dns-parameters.%s",
                               external_dns_parameters[id].name);
}

void check_error(const struct check_run *run, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_finding(run, FINDING_ERROR, path, format, args);
    va_end(args);
}

void parameter_error(const struct check_run *run, enum external_dns_id id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_finding(run, FINDING_ERROR, parameter_path(run, id), format, args);
    va_end(args);
}

void parameter_warning(const struct check_run *run, enum external_dns_id id, const char *format,
                       ...)
{
    va_list args;
    va_start(args, format);
    add_finding(run, FINDING_WARNING, parameter_path(run, id), format, args);
    va_end(args);
}

const char *check_shown(const struct check_run *run, struct text text)
{
    AUTO_BUFFER shown = {0};
    text_clean(&shown, text, SHOWN_MAX);
    return arena_copy(run->findings->arena, buffer_text(&shown).at, shown.len);
}

// ---- each parameter -----------------------------------------------------------------------------

static bool is_choice(const struct external_dns_parameter *row, struct text text)
{
    for (const char *const *choice = row->choices; *choice; choice++)
        if (text_is(text, *choice))
            return true;
    return false;
}

static const char *join_choices(struct arena *arena, const struct external_dns_parameter *row)
{
    AUTO_BUFFER joined = {0};
    for (size_t i = 0; row->choices[i]; i++)
        if (*row->choices[i])
            buffer_printf(&joined, "%s%s",
                          !joined.len           ? ""
                          : row->choices[i + 1] ? ", "
                                                : " or ",
                          row->choices[i]);
    return arena_copy(arena, joined.at, joined.len);
}

const char *parameter_fault(const struct external_dns_parameter *row, struct text text)
{
    const char *fault = external_dns_check_plain(text);
    return !fault && text.len && row->check ? row->check(text) : fault;
}

static void check_text(const struct check_run *run, enum external_dns_id id, struct text text)
{
    const struct external_dns_parameter *row = &external_dns_parameters[id];
    const char *fault = NULL;
    if (row->choices && !is_choice(row, text))
        parameter_error(run, id, "must be %s", join_choices(run->findings->arena, row));
    else if ((int64_t)text.len < row->min)
        parameter_error(run, id, "must not be empty");
    else if ((int64_t)text.len > row->max)
        parameter_error(run, id, "must have at most %lld octets, has %zu", (long long)row->max,
                        text.len);
    else
        fault = parameter_fault(row, text);
    if (fault && row->form == FORM_SECRET)
        parameter_error(run, id, "%s", fault);
    else if (fault)
        parameter_error(run, id, "\"%s\" %s", check_shown(run, text), fault);
}

// A text with commas, or a list of such.
static void check_entries(const struct check_run *run, enum external_dns_id id,
                          const struct value *value)
{
    size_t count;
    const struct text *entries = external_dns_entries(run->findings->arena, value, &count);
    if (count > ENTRIES_MAX)
        parameter_error(run, id, "must have at most %d entries, has %zu", ENTRIES_MAX, count);
    value_each (item, value->type == VALUE_LIST ? value : NULL)
        if (item->type != VALUE_TEXT)
            parameter_error(run, id, "expected texts in the list, found %s",
                            update_record_type_word(item->type));
    for (size_t i = 0; i < count && i < ENTRIES_MAX; i++)
        check_text(run, id, entries[i]);
}

static void check_value(const struct check_run *run, enum external_dns_id id)
{
    const struct external_dns_parameter *row = &external_dns_parameters[id];
    const struct value *value = run->record->values[id];
    if (row->types & 1U << VALUE_LIST)
        check_entries(run, id, value);
    else if (value->type == VALUE_TEXT)
        check_text(run, id, value->text);
    else if (value->type == VALUE_INT && (value->integer < row->min || value->integer > row->max))
        parameter_error(run, id, "must be between %lld and %lld", (long long)row->min,
                        (long long)row->max);
}

static void check_parameter(const struct check_run *run, enum external_dns_id id)
{
    const struct external_dns_parameter *row = &external_dns_parameters[id];
    enum external_dns_provider provider = run->record->provider;
    if (!(row->owners & 1U << provider))
        parameter_error(run, id, "is a parameter of another provider than %s: remove it",
                        external_dns_providers[provider]);
    else if (!external_dns_flag(row, run->minor))
        parameter_error(run, id, "needs external-dns v0.%u.0 or newer: remove it", row->since);
    else
        check_value(run, id);
    if (!external_dns_is_used(row, provider))
        parameter_warning(run, id, "has no effect and is not passed to external-dns");
}

void check_parameters(const struct check_run *run)
{
    for (size_t i = 0; i < PARAMETERS; i++)
        if (run->record->values[i])
            check_parameter(run, (enum external_dns_id)i);
}

// ---- whole --------------------------------------------------------------------------------------

void update_record_check(const struct update_record *record, unsigned minor,
                         struct findings *findings)
{
    const struct check_run run = {record, minor, findings};
    if (record->provider == EXTERNAL_DNS_PROVIDERS)
        return; // the shape says so; what belongs to it nobody can know
    check_parameters(&run);
    check_combinations(&run);
    check_surroundings(&run);
    check_pinned(&run);
}

void update_record_validate(const struct value *object, struct findings *findings)
{
    struct update_record record;
    emco_check_name(object, NULL, 0, findings);
    update_record_decode(findings->arena, object, findings, &record);
    update_record_check(&record, update_record_minor(&record, (struct text){0}), findings);
}

// Of one that is made only the process knows, whose own owner id it is made of.
bool update_record_find_claim(struct arena *arena, const struct value *object,
                              struct kind_claim *out)
{
    struct update_record record;
    struct findings ignored = {.arena = arena};
    update_record_decode(arena, object, &ignored, &record);
    const char *parameter = record.paths[PARAMETER_TXT_OWNER_ID];
    *out = (struct kind_claim){
        .value = update_record_owner(&record),
        .path = record.has_pinned        ? "metadata.annotations[" PINNED_ANNOTATION "]"
                : record.adopt_owner.len ? "spec.adoptOwner"
                                         : parameter,
        .what = "owner id",
        .advice = "external-dns of one would remove the records of the other, so give each its own",
    };
    return out->value.len;
}

static bool env_has_secret(const struct value *pair)
{
    struct text name = value_text_at(pair, "name");
    struct text value = value_text_at(pair, "value");
    return value.len &&
           (!external_dns_env_may_be_shown(name) || update_record_env_has_secret(name, value));
}

// What is refused as a secret is one all the same. It is looked for in every element of oneOf,
// taken or not.
bool update_record_has_secret(const struct value *object)
{
    const char *name = external_dns_parameters[PARAMETER_RFC2136_TSIG_SECRET].name;
    const struct value *parameters = value_at(object, "spec.external-dns-parameters", NULL);
    value_each (element, value_list_at(parameters, "oneOf"))
        if (value_find(element, name))
            return true;
    value_each (pair, value_list_at(object, "spec.env"))
        if (env_has_secret(pair))
            return true;
    value_each (pair, value_list_at(object, "spec.extraArgs"))
        if (external_dns_is_secret_flag(value_text_at(pair, "name")) &&
            value_text_at(pair, "value").len)
            return true;
    return value_find(parameters, name);
}
