#include "kinds/dnsupdaterecord/dnsupdaterecord_check.h"

#include <string.h>

#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"
#include "kinds/dnsupdaterecord/external_dns_private.h"

static const struct value *value_of(const struct check_run *run, enum external_dns_id id)
{
    return run->record->values[id];
}

static struct text text_of_id(const struct check_run *run, enum external_dns_id id)
{
    return update_record_text(run->record, id);
}

static bool is_true(const struct check_run *run, enum external_dns_id id)
{
    return update_record_bool(run->record, id, false);
}

static bool is_sync(const struct check_run *run)
{
    return text_is(text_of_id(run, PARAMETER_POLICY), "sync");
}

static const char *name_of(enum external_dns_id id)
{
    return external_dns_parameters[id].name;
}

static bool has_ref(const struct check_run *run, enum external_dns_id id)
{
    return update_record_find_ref(run->record, text_of(name_of(id)));
}

// ---- loops and names ----------------------------------------------------------------------------

static void check_once(const struct check_run *run)
{
    if (is_true(run, PARAMETER_ONCE))
        parameter_error(run, PARAMETER_ONCE,
                        "would restart for ever in a Deployment: remove it or set false");
}

static void check_hostname_annotation(const struct check_run *run)
{
    if (is_true(run, PARAMETER_IGNORE_HOSTNAME_ANNOTATION) &&
        !text_of_id(run, PARAMETER_FQDN_TEMPLATE).len)
        parameter_error(run, PARAMETER_IGNORE_HOSTNAME_ANNOTATION,
                        "needs fqdn-template: add that one or remove this");
}

static void check_affixes(const struct check_run *run)
{
    const struct update_record *record = run->record;
    if (!text_of_id(run, PARAMETER_TXT_SUFFIX).len)
        return;
    if (text_of_id(run, PARAMETER_TXT_PREFIX).len)
        parameter_error(run, PARAMETER_TXT_SUFFIX, "must not stand beside txt-prefix: remove one");
    else if (record->has_pinned && record->pinned.txt_prefix.len)
        parameter_error(run, PARAMETER_TXT_SUFFIX,
                        "must not stand beside the txt-prefix that annotation " PINNED_ANNOTATION
                        " holds: remove it");
}

static void check_owner(const struct check_run *run)
{
    struct text owner = text_of_id(run, PARAMETER_TXT_OWNER_ID);
    struct text adopted = run->record->adopt_owner;
    if (adopted.len && owner.len && !text_is(owner, "default") && !text_equal(owner, adopted))
        parameter_error(run, PARAMETER_TXT_OWNER_ID,
                        "is another owner than spec.adoptOwner: remove one");
}

// ---- registry and filters -----------------------------------------------------------------------

static void check_registry(const struct check_run *run)
{
    enum { CRD_SINCE = 22 };
    struct text registry = text_of_id(run, PARAMETER_REGISTRY);
    if (text_is(registry, "aws-sd") && run->record->provider != EXTERNAL_DNS_AWS_SD)
        parameter_error(run, PARAMETER_REGISTRY, "aws-sd is for provider aws-sd only: take txt");
    if (text_is(registry, "crd") && run->minor < CRD_SINCE)
        parameter_error(run, PARAMETER_REGISTRY,
                        "crd needs external-dns v0.%d.0 or newer: take txt", CRD_SINCE);
    if (text_is(registry, "noop") && is_sync(run))
        parameter_warning(run, PARAMETER_REGISTRY,
                          "with policy sync noop lets external-dns remove the records of others");
}

static void check_filters(const struct check_run *run)
{
    size_t filter_count;
    size_t exclude_count;
    size_t covered = 0;
    struct arena *arena = run->findings->arena;
    const struct text *filters =
        update_record_domains(arena, value_of(run, PARAMETER_DOMAIN_FILTER), &filter_count);
    const struct text *excludes =
        update_record_domains(arena, value_of(run, PARAMETER_EXCLUDE_DOMAINS), &exclude_count);
    for (size_t i = 0; i < filter_count; i++)
        covered += update_record_domains_cover(excludes, exclude_count, filters[i]);
    if (!filter_count)
        parameter_warning(run, PARAMETER_DOMAIN_FILTER,
                          "is not set: all zones that the provider shows are updated");
    else if (covered == filter_count)
        parameter_warning(run, PARAMETER_EXCLUDE_DOMAINS,
                          "FilterAdmitsNothing: it covers all of domain-filter");
}

// ---- providers ----------------------------------------------------------------------------------

static void check_aws(const struct check_run *run)
{
    if (value_of(run, PARAMETER_AWS_EVALUATE_TARGET_HEALTH) &&
        value_of(run, PARAMETER_NO_AWS_EVALUATE_TARGET_HEALTH))
        parameter_error(run, PARAMETER_NO_AWS_EVALUATE_TARGET_HEALTH,
                        "must not stand beside aws-evaluate-target-health: remove one");
}

static void check_azure(const struct check_run *run)
{
    enum external_dns_provider provider = run->record->provider;
    bool needs_file = provider == EXTERNAL_DNS_AZURE || provider == EXTERNAL_DNS_AZURE_DNS;
    const struct value *file = value_of(run, PARAMETER_AZURE_CONFIG_FILE);
    if (needs_file && file && !file->text.len)
        parameter_error(run, PARAMETER_AZURE_CONFIG_FILE, "must not be empty");
}

static void check_coredns(const struct check_run *run)
{
    struct text prefix = text_of_id(run, PARAMETER_COREDNS_PREFIX);
    bool begins = text_starts(prefix, "/");
    bool ends = text_ends(prefix, "/");
    if (prefix.len && (!begins || !ends))
        parameter_warning(run, PARAMETER_COREDNS_PREFIX,
                          "is taken as %s%s%s: without slashes CoreDNS would never read the keys",
                          begins ? "" : "/", check_shown(run, prefix), ends ? "" : "/");
}

// ---- rfc2136 ------------------------------------------------------------------------------------

static bool is_gss(const struct check_run *run)
{
    for (size_t i = 0; i < run->record->extra_arg_count; i++)
        if (text_is(run->record->extra_args[i].name, EXTERNAL_DNS_GSS_FLAG))
            return true;
    return false;
}

static void refuse_tsig(const struct check_run *run)
{
    static const enum external_dns_id signing[] = {
        PARAMETER_RFC2136_TSIG_KEYNAME,
        PARAMETER_RFC2136_TSIG_SECRET,
        PARAMETER_RFC2136_TSIG_SECRET_ALG,
    };
    for (size_t i = 0; i < COUNT_OF(signing); i++)
        if (value_of(run, signing[i]) || has_ref(run, signing[i]))
            parameter_error(run, signing[i],
                            "must not stand beside rfc2136-insecure: true: remove one");
    if (is_gss(run))
        parameter_error(run, PARAMETER_RFC2136_INSECURE,
                        "must not stand beside rfc2136-gss-tsig of spec.extraArgs: remove one");
}

static void require_tsig(const struct check_run *run)
{
    if (!text_of_id(run, PARAMETER_RFC2136_TSIG_KEYNAME).len)
        parameter_error(run, PARAMETER_RFC2136_TSIG_KEYNAME,
                        "is required unless rfc2136-insecure is true");
    if (!has_ref(run, PARAMETER_RFC2136_TSIG_SECRET) &&
        !value_of(run, PARAMETER_RFC2136_TSIG_SECRET))
        parameter_error(run, PARAMETER_RFC2136_TSIG_SECRET,
                        "is required unless rfc2136-insecure is true: add an entry to "
                        "spec.secretRefs with target rfc2136-tsig-secret");
}

static void check_tsig(const struct check_run *run)
{
    if (is_true(run, PARAMETER_RFC2136_INSECURE))
        refuse_tsig(run);
    else if (!is_gss(run))
        require_tsig(run);
    if (text_of_id(run, PARAMETER_RFC2136_TSIG_SECRET).len)
        parameter_error(run, PARAMETER_RFC2136_TSIG_SECRET,
                        "must not stand in the object, whose history keeps it: put it into a "
                        "Secret and add an entry to spec.secretRefs with target "
                        "rfc2136-tsig-secret");
    if (text_is(text_of_id(run, PARAMETER_RFC2136_TSIG_SECRET_ALG), "hmac-sha1"))
        parameter_warning(run, PARAMETER_RFC2136_TSIG_SECRET_ALG,
                          "hmac-sha1 is weak: take hmac-sha256");
}

static void check_axfr(const struct check_run *run)
{
    const struct value *axfr = value_of(run, PARAMETER_RFC2136_TSIG_AXFR);
    if (text_is(value_text(axfr), "axfr"))
        parameter_warning(run, PARAMETER_RFC2136_TSIG_AXFR, "\"axfr\" is taken as true");
    if (axfr && is_sync(run) && !is_true(run, PARAMETER_RFC2136_TSIG_AXFR))
        parameter_warning(run, PARAMETER_RFC2136_TSIG_AXFR,
                          "without it records are never listed, so none is ever removed");
}

static void check_files(const struct check_run *run)
{
    static const enum external_dns_id files[] = {PARAMETER_TLS_CA, PARAMETER_TLS_CLIENT_CERT,
                                                 PARAMETER_TLS_CLIENT_CERT_KEY};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct text path = text_of_id(run, files[i]);
        if (path.len && !text_starts(path, "/"))
            parameter_error(run, files[i], "must be an absolute path: it begins with a slash");
    }
}

static bool has_file(const struct check_run *run, enum external_dns_id id)
{
    return text_of_id(run, id).len || has_ref(run, id);
}

static void check_certificate(const struct check_run *run)
{
    bool has_cert = has_file(run, PARAMETER_TLS_CLIENT_CERT);
    bool has_key = has_file(run, PARAMETER_TLS_CLIENT_CERT_KEY);
    if (has_cert != has_key)
        parameter_error(run, has_cert ? PARAMETER_TLS_CLIENT_CERT_KEY : PARAMETER_TLS_CLIENT_CERT,
                        "is missing: tls-client-cert and tls-client-cert-key come together");
}

static void check_rfc2136(const struct check_run *run)
{
    size_t hosts;
    size_t zones;
    struct arena *arena = run->findings->arena;
    if (run->record->provider != EXTERNAL_DNS_RFC2136)
        return;
    external_dns_entries(arena, value_of(run, PARAMETER_RFC2136_HOST), &hosts);
    external_dns_entries(arena, value_of(run, PARAMETER_RFC2136_ZONE), &zones);
    if (!hosts)
        parameter_error(run, PARAMETER_RFC2136_HOST, "is required: name the DNS server");
    if (!zones)
        parameter_warning(run, PARAMETER_RFC2136_ZONE, "is not set: the root zone is updated");
    check_tsig(run);
    check_axfr(run);
    check_files(run);
    check_certificate(run);
}

void check_combinations(const struct check_run *run)
{
    static void (*const rules[])(const struct check_run *) = {
        check_once,     check_hostname_annotation,
        check_affixes,  check_owner,
        check_registry, check_filters,
        check_aws,      check_azure,
        check_coredns,  check_rfc2136,
    };
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        rules[i](run);
}
