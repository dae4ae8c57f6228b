#pragma once

// For the tests of this folder: records out of a few words. Comes behind cmocka.h.

#include "kinds/dnsupdaterecord/external_dns_render.h"
#include "kinds/test_arena.h"

// A record that has no fault, for each provider.
static inline const char *plain_record(const char *provider)
{
    static const char *const records[][2] = {
        {"rfc2136", "{'provider':'rfc2136','external-dns-parameters':{"
                    "'rfc2136-host':'192.0.2.53','rfc2136-zone':'example.org',"
                    "'rfc2136-tsig-keyname':'edge-key','tls-client-cert':'/c',"
                    "'tls-client-cert-key':'/k','domain-filter':'example.org'},'secretRefs':["
                    "{'target':'rfc2136-tsig-secret','name':'tsig','key':'secret'}]}"},
        {"coredns", "{'provider':'coredns','external-dns-parameters':{"
                    "'domain-filter':'example.org'},"
                    "'env':[{'name':'ETCD_URLS','value':'http://etcd:2379'}]}"},
        {"azure", "{'provider':'azure','external-dns-parameters':{'domain-filter':'example.org'},"
                  "'secretRefs':[{'target':'azure-config-file','name':'az','key':'azure.json'}]}"},
        {"aws", "{'provider':'aws','external-dns-parameters':{'domain-filter':'example.org'}}"},
        {"aws-sd", "{'provider':'aws-sd','external-dns-parameters':{"
                   "'domain-filter':'example.org'}}"},
    };
    for (size_t i = 0; i < COUNT_OF(records); i++)
        if (!strcmp(records[i][0], provider))
            return records[i][1];
    return NULL;
}

static inline struct value *object_of(struct value *spec)
{
    struct value *object = value_make(arena, VALUE_MAP);
    value_put_text(arena, object, "apiVersion", "dns.homelab.mortenolsen.pro/v1alpha1");
    value_put_text(arena, object, "kind", "DNSUpdateRecord");
    value_put_text(arena, object, "metadata.name", "public-dns");
    value_set(object, TEXT("spec"), spec);
    return object;
}

// The plain record with one more parameter, and further fields of its spec ("'version':'v0.21.0'").
static inline struct value *record_with(const char *provider, const char *name, const char *json,
                                        const char *fields)
{
    struct value *spec = quote(arena, plain_record(provider));
    struct value *more = quote(arena, arena_printf(arena, "{%s}", fields ? fields : ""));
    if (name)
        value_set(value_find(spec, "external-dns-parameters"), text_of(name), quote(arena, json));
    return object_of(value_merge_patch(arena, spec, more));
}

// What shape and rules say together, as callers put it together.
static inline const char *findings_of(const struct value *object, enum finding_level level)
{
    struct findings findings = {.arena = arena};
    kind_check(&dnsupdaterecord_kind, object, &findings);
    size_t shapes = findings.count;
    dnsupdaterecord_kind.validate(object, &findings);
    findings_drop_echoes(&findings, shapes);
    const char *joined = findings_join(&findings, level);
    return joined ? joined : "";
}

static inline const char *errors_of(const struct value *object)
{
    return findings_of(object, FINDING_ERROR);
}

static inline const char *warnings_of(const struct value *object)
{
    return findings_of(object, FINDING_WARNING);
}

static inline bool holds(const char *text, const char *part)
{
    return !part || strstr(text, part);
}

#define check_holds(text, part)                                                                    \
    do {                                                                                           \
        const char *whole_ = (text);                                                               \
        if (!holds(whole_, part))                                                                  \
            fail_msg("\"%s\" does not hold \"%s\"", whole_, part);                                 \
    } while (0)

// The record as a controller has it: encoded for the cache, and decoded from there.
static inline const struct update_record *record_of(const struct value *object)
{
    struct update_record *record = arena_new_of(arena, struct update_record);
    struct bodies bodies = bodies_of(&dnsupdaterecord_kind, object);
    update_record_unpack(arena, bodies.spec, record);
    return record;
}

static inline struct external_dns_start start_of(const struct value *object)
{
    struct external_dns_start start;
    struct external_dns_pinned pinned;
    const struct update_record *record = record_of(object);
    unsigned minor = update_record_minor(record, TEXT("v0.22.0"));
    external_dns_pinned_make(arena, record, minor, TEXT("edge-shop"), TEXT("1a2b3c4d"), &pinned);
    const struct external_dns_input input = {record, minor, TEXT("edge-shop"), TEXT("edge-shop"),
                                             record->has_pinned ? &record->pinned : &pinned};
    external_dns_start_make(arena, &input, &start);
    return start;
}

// All arguments with a blank before each and behind the last.
static inline const char *args_of(const struct value *object)
{
    AUTO_BUFFER joined = {0};
    struct external_dns_start start = start_of(object);
    for (size_t i = 0; i < start.arg_count; i++)
        buffer_printf(&joined, " %s", start.args[i]);
    buffer_add_char(&joined, ' ');
    return arena_copy(arena, joined.at, joined.len);
}
