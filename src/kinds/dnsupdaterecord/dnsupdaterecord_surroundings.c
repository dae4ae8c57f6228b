#include "kinds/dnsupdaterecord/dnsupdaterecord_check.h"

#include <arpa/inet.h>
#include <string.h>

#include "dns/record.h"
#include "kinds/dnsupdaterecord/external_dns_private.h"
#include "kinds/emco_name.h"

// "spec.env[2].name"
static const char *path_at(const struct check_run *run, const char *list, size_t index,
                           const char *field)
{
    return arena_printf(run->findings->arena, "%s[%zu]%s", list, index, field);
}

static const char *provider_of(const struct check_run *run)
{
    return external_dns_providers[run->record->provider];
}

// People write NAME=VALUE, and the value may be a secret.
static const char *shown_name(const struct check_run *run, struct text text)
{
    struct text name = {0};
    (void)text_cut(&text, '=', &name);
    return check_shown(run, name);
}

static bool is_flag_name(struct text name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!is_plain && (c != '-' || i == 0))
            return false;
    }
    return name.len;
}

static void check_plain(const struct check_run *run, const char *path, struct text text)
{
    const char *fault = external_dns_check_plain(text);
    if (fault)
        check_error(run, path, "%s", fault);
}

// ---- secretRefs ---------------------------------------------------------------------------------

static const char *fault_of_file(const struct check_run *run, struct text target)
{
    const struct external_dns_parameter *row = external_dns_find(target);
    if (!row || (row->form != FORM_FILE && row->form != FORM_SECRET))
        return "is neither a file, nor a secret, nor a variable (env:NAME) that may be set";
    return row->owners & 1U << run->record->provider ? NULL : "is a parameter of another provider";
}

static const char *fault_of_target(const struct check_run *run, struct text target)
{
    struct text variable = external_dns_target_variable(target);
    if (variable.at)
        return external_dns_find_env(variable, run->record->provider)
                   ? NULL
                   : "is no variable that may be set for this provider";
    if (!external_dns_find(target) && is_flag_name(target) && external_dns_is_secret_flag(target))
        return NULL;
    return fault_of_file(run, target);
}

static void check_refs(const struct check_run *run)
{
    const struct update_record *record = run->record;
    for (size_t i = 0; i < record->ref_count; i++) {
        struct text target = record->refs[i].target;
        const char *path = path_at(run, "spec.secretRefs", i, ".target");
        const char *fault = fault_of_target(run, target);
        if (fault)
            check_error(run, path, "%s %s", shown_name(run, target), fault);
        if (update_record_find_ref(record, target) != &record->refs[i])
            check_error(run, path, "%s stands in the list before: remove one",
                        shown_name(run, target));
    }
}

// ---- env ----------------------------------------------------------------------------------------

static bool sets_variable(const struct update_record_ref *ref, struct text name)
{
    struct text variable = external_dns_target_variable(ref->target);
    return variable.at && text_equal(variable, name);
}

static bool is_set_elsewhere(const struct update_record *record, size_t index)
{
    struct text name = record->env[index].name;
    for (size_t i = 0; i < index; i++)
        if (text_equal(record->env[i].name, name))
            return true;
    for (size_t i = 0; i < record->ref_count; i++)
        if (sets_variable(&record->refs[i], name))
            return true;
    return false;
}

bool update_record_env_has_secret(struct text name, struct text value)
{
    return text_is(name, "ETCD_URLS") && value.len && memchr(value.at, '@', value.len);
}

static void check_env_value(const struct check_run *run, size_t index)
{
    const struct update_record_pair *pair = &run->record->env[index];
    const char *path = path_at(run, "spec.env", index, ".value");
    check_plain(run, path, pair->value);
    if (update_record_env_has_secret(pair->name, pair->value))
        check_error(run, path,
                    "must hold no user and password, which would stay in the object's history: "
                    "add an entry to spec.secretRefs with target env:ETCD_USERNAME and one with "
                    "target env:ETCD_PASSWORD");
}

static void check_env(const struct check_run *run)
{
    const struct update_record *record = run->record;
    for (size_t i = 0; i < record->env_count; i++) {
        struct text name = record->env[i].name;
        const char *path = path_at(run, "spec.env", i, ".name");
        const struct external_dns_variable *variable =
            external_dns_find_env(name, record->provider);
        if (!variable)
            check_error(run, path, "%s may not be set for provider %s: remove it",
                        shown_name(run, name), provider_of(run));
        else if (variable->is_secret || variable->is_file)
            check_error(run, path,
                        "%s comes out of a Secret: add an entry to spec.secretRefs with "
                        "target env:%s",
                        variable->name, variable->name);
        check_env_value(run, i);
        if (is_set_elsewhere(record, i))
            check_error(run, path, "%s is set twice: remove one", shown_name(run, name));
    }
}

// ---- extraArgs ----------------------------------------------------------------------------------

static const char *fault_of_flag(struct text name)
{
    if (!is_flag_name(name))
        return "is no flag: write its name without dashes in front, and its value beside it";
    if (external_dns_find_flag(name, NULL))
        return "is a parameter: write it below spec.external-dns-parameters";
    if (external_dns_is_secret_flag(name))
        return "holds a secret: add an entry to spec.secretRefs with it as target";
    if (external_dns_ends_process(name))
        return "would end external-dns at once, and the Deployment would restart for ever: remove "
               "it";
    return external_dns_is_reserved(name) ? "is set by Signpost: remove it" : NULL;
}

static bool is_newer_release(const struct check_run *run)
{
    unsigned minor;
    return external_dns_release_read(run->record->version, &minor) == EXTERNAL_DNS_TOO_NEW;
}

// Another release has the flag: which one runs, nobody knows of a record that names none.
static void add_other_release(const struct check_run *run, const char *path, const char *name,
                              const struct external_dns_flag_row *other)
{
    bool is_certain = run->record->version.len && !is_newer_release(run);
    bool is_later = other->since > run->minor;
    findings_add_at(run->findings, is_certain ? FINDING_ERROR : FINDING_WARNING, path,
                    "%s is a flag of external-dns v0.%u and %s, not of v0.%u, which would end at "
                    "once: remove it",
                    name, is_later ? other->since : other->until, is_later ? "newer" : "older",
                    run->minor);
}

static void add_unknown_flag(const struct check_run *run, const char *path, struct text flag)
{
    const char *name = shown_name(run, flag);
    const char *nearest = external_dns_flag_nearest(flag, run->minor);
    const char *advice =
        nearest ? arena_printf(run->findings->arena, "; did you mean %s?", nearest) : ": remove it";
    if (is_newer_release(run))
        findings_add_at(run->findings, FINDING_WARNING, path,
                        "%s is no flag that Signpost knows, but %s may have it%s", name,
                        check_shown(run, run->record->version), nearest ? advice : "");
    else
        check_error(run, path, "%s is no flag of external-dns v0.%u, which would end at once%s",
                    name, run->minor, advice);
}

// The row by which a flag is read. What has none is reported, and gives NULL.
static const struct external_dns_flag_row *read_flag(const struct check_run *run, size_t index)
{
    bool is_negated;
    struct text flag = run->record->extra_args[index].name;
    const char *path = path_at(run, "spec.extraArgs", index, ".name");
    const struct external_dns_flag_row *row = external_dns_flag_find(flag, run->minor, &is_negated);
    const struct external_dns_flag_row *other = external_dns_flag_find_any(flag, &is_negated);
    if (row)
        return row;
    if (other)
        add_other_release(run, path, shown_name(run, flag), other);
    else
        add_unknown_flag(run, path, flag);
    return NULL;
}

static bool is_given_before(const struct check_run *run, size_t index,
                            const struct external_dns_flag_row *row)
{
    bool is_negated;
    for (size_t i = 0; i < index; i++)
        if (external_dns_flag_find(run->record->extra_args[i].name, run->minor, &is_negated) == row)
            return true;
    return false;
}

static void check_form(const struct check_run *run, size_t index,
                       const struct external_dns_flag_row *row)
{
    const struct update_record_pair *arg = &run->record->extra_args[index];
    const char *path = path_at(run, "spec.extraArgs", index, ".value");
    bool is_switch = row->form == FLAG_SWITCH;
    if (is_switch && arg->value.at)
        check_error(run, path, "%s is a switch: remove the value, and write no-%s to turn it off",
                    row->name, row->name);
    if (!is_switch && !arg->value.at)
        check_error(run, path, "%s needs a value: add it", row->name);
    if (row->form != FLAG_LIST && is_given_before(run, index, row))
        check_error(run, path_at(run, "spec.extraArgs", index, ".name"),
                    "%s stands in the list before, and external-dns takes it only once: remove one",
                    shown_name(run, arg->name));
}

static void check_extra_args(const struct check_run *run)
{
    for (size_t i = 0; i < run->record->extra_arg_count; i++) {
        const struct update_record_pair *arg = &run->record->extra_args[i];
        const char *fault = fault_of_flag(arg->name);
        const struct external_dns_flag_row *row = fault ? NULL : read_flag(run, i);
        check_plain(run, path_at(run, "spec.extraArgs", i, ".value"), arg->value);
        if (fault)
            check_error(run, path_at(run, "spec.extraArgs", i, ".name"), "%s %s",
                        shown_name(run, arg->name), fault);
        if (row)
            check_form(run, i, row);
    }
}

// ---- release, image, engine ---------------------------------------------------------------------

static void check_version(const struct check_run *run)
{
    unsigned minor;
    static const char path[] = "spec.version";
    struct text version = run->record->version;
    if (!version.at)
        return;
    check_plain(run, path, version);
    switch (external_dns_release_read(version, &minor)) {
    case EXTERNAL_DNS_NO_RELEASE:
        check_error(run, path, "must be a release of external-dns such as v0.22.0");
        break;
    case EXTERNAL_DNS_TOO_OLD:
        check_error(run, path, "%s is not supported: take v0.%d.0 or newer",
                    check_shown(run, version), EXTERNAL_DNS_OLDEST);
        break;
    case EXTERNAL_DNS_TOO_NEW:
        findings_add_at(run->findings, FINDING_WARNING, path,
                        "%s is newer than what Signpost knows: it is treated as v0.%d",
                        check_shown(run, version), EXTERNAL_DNS_NEWEST);
        break;
    case EXTERNAL_DNS_SUPPORTED:
        break;
    }
}

static void check_image(const struct check_run *run)
{
    const struct update_record *record = run->record;
    check_plain(run, "spec.image", record->image);
    const char *fault = record->image.at ? external_dns_image_fault(run->findings->arena,
                                                                    record->image, record->version)
                                         : NULL;
    if (fault)
        check_error(run, "spec.image", "%s", fault);
}

// An update names its zone, so the zones of the record must be known and be such.
static void check_native_zones(const struct check_run *run)
{
    size_t count;
    struct arena *arena = run->findings->arena;
    const struct text *zones =
        external_dns_entries(arena, run->record->values[PARAMETER_RFC2136_ZONE], &count);
    if (!count)
        parameter_error(run, PARAMETER_RFC2136_ZONE,
                        "is required by engine: native: list the zones that the names are in");
    if (count > UPDATE_RECORD_NATIVE_ZONES_MAX)
        parameter_error(run, PARAMETER_RFC2136_ZONE,
                        "lists %zu zones, and engine: native takes %d: share them out among "
                        "several records",
                        count, UPDATE_RECORD_NATIVE_ZONES_MAX);
    for (size_t i = 0; i < count; i++) {
        struct text zone;
        struct error err = {0};
        if (!domain_normalise(arena, zones[i], &zone, &err))
            parameter_error(run, PARAMETER_RFC2136_ZONE,
                            "\"%s\" is no zone that engine: native can update: %s",
                            check_shown(run, zones[i]), err.text);
    }
}

static void check_engine(const struct check_run *run)
{
    const struct update_record *record = run->record;
    if (!record->is_native)
        return;
    if (record->provider != EXTERNAL_DNS_RFC2136) {
        check_error(run, "spec.engine",
                    "native is for provider rfc2136 only, not for %s: take external-dns",
                    provider_of(run));
        return;
    }
    check_native_zones(run);
    if (!update_record_text(record, PARAMETER_RFC2136_TSIG_KEYNAME).len)
        parameter_error(run, PARAMETER_RFC2136_TSIG_KEYNAME,
                        "is required by engine: native, which signs its updates: give it, "
                        "rfc2136-tsig-secret-alg and the secret in place of rfc2136-insecure, or "
                        "take engine: external-dns");
}

static void check_adopted_owner(const struct check_run *run)
{
    const char *fault = external_dns_check_owner(run->record->adopt_owner);
    check_plain(run, "spec.adoptOwner", run->record->adopt_owner);
    if (fault)
        check_error(run, "spec.adoptOwner", "%s", fault);
}

// ---- lists --------------------------------------------------------------------------------------

static void check_projects(const struct check_run *run)
{
    for (size_t i = 0; i < run->record->allowed_project_count; i++)
        if (!emco_name_is_valid(run->record->allowed_projects[i]))
            check_error(run, path_at(run, "spec.allowedProjects", i, ""),
                        "must be the name of a project: letters, digits, - _ and ., with a letter "
                        "or digit at both ends");
}

static bool is_address(struct text text)
{
    char copy[INET6_ADDRSTRLEN];
    uint8_t octets[16];
    if (text.len >= sizeof copy)
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    return inet_pton(AF_INET, copy, octets) == 1 || inet_pton(AF_INET6, copy, octets) == 1;
}

static void check_servers(const struct check_run *run)
{
    for (size_t i = 0; i < run->record->server_count; i++) {
        struct text host;
        unsigned port;
        struct text server = run->record->servers[i];
        bool has_port = external_dns_address_read(server, &host, &port);
        if (!server.len || (!is_address(server) && (!has_port || !is_address(host))))
            check_error(run, path_at(run, "spec.verify.servers", i, ""),
                        "must be an address, with a port if not 53: 192.0.2.53 or "
                        "[2001:db8::53]:5353");
    }
}

static void check_credentials(const struct check_run *run)
{
    const char *text;
    if (update_record_credentials(run->record, &text) != REASON_NONE)
        findings_add_at(run->findings, FINDING_WARNING, "spec.secretRefs", "%s", text);
}

void check_surroundings(const struct check_run *run)
{
    static void (*const rules[])(const struct check_run *) = {
        check_refs,   check_env,           check_extra_args, check_version, check_image,
        check_engine, check_adopted_owner, check_projects,   check_servers, check_credentials,
    };
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        rules[i](run);
}

// ---- credentials --------------------------------------------------------------------------------

static bool has_env(const struct update_record *record, const char *name)
{
    for (size_t i = 0; i < record->env_count; i++)
        if (text_is(record->env[i].name, name))
            return true;
    for (size_t i = 0; i < record->ref_count; i++)
        if (sets_variable(&record->refs[i], text_of(name)))
            return true;
    return false;
}

// Azure reads its file unasked; the one of a private zone may be switched off by an empty path.
static bool wants_file(const struct update_record *record, enum external_dns_id id)
{
    const struct external_dns_parameter *row = &external_dns_parameters[id];
    if (row->form != FORM_FILE || !(row->owners & 1U << record->provider) ||
        !external_dns_is_used(row, record->provider))
        return false;
    return record->values[id] ? record->values[id]->text.len : id == PARAMETER_AZURE_CONFIG_FILE;
}

enum reason update_record_credentials(const struct update_record *record, const char **text)
{
    if (record->is_native)
        return REASON_NONE;
    for (size_t i = 0; i < PARAMETERS; i++) {
        struct text name = text_of(external_dns_parameters[i].name);
        if (wants_file(record, (enum external_dns_id)i) && !update_record_find_ref(record, name)) {
            *text = "a file has no Secret: add an entry whose target is the name of the parameter";
            return REASON_FILE_NOT_MOUNTED;
        }
    }
    if (record->provider != EXTERNAL_DNS_COREDNS || has_env(record, "ETCD_URLS"))
        return REASON_NONE;
    *text = "no entry sets ETCD_URLS, so there is no etcd to write to: set it in spec.env, or with "
            "target env:ETCD_URLS";
    return REASON_ETCD_URLS_MISSING;
}
