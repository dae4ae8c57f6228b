#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/value.h"
#include "commands/commands.h"
#include "commands/print.h"
#include "commands/process.h"
#include "commands/zone/zone_input.h"
#include "commands/zone/zone_source.h"
#include "dns/rdata.h"
#include "dns/rr_type.h"
#include "kinds/zone/zone_kind.h"

enum {
    NAMESERVERS_MAX = 13, // of a Zone
    ADDRESSES_MAX = 8,    // of one of them
    BASE_OCTETS_MAX = 200,
    HASH_OCTETS = 4,
    SHOWN_MAX = 10000,
};

struct import {
    const struct zone *zone;
    struct dname apex;
    const struct zone_soa *soa;
    uint32_t ttl_s; // of the Zone
    const char *namespace_;
    struct buffer zone_name; // of the Zone object
    struct report *report;
    // Nameservers whose addresses stand in the Zone.
    struct dname hosts[NAMESERVERS_MAX];
    size_t host_count;
    bool has_nameservers;
    struct buffer out;
};

// ---- names of objects ---------------------------------------------------------------------------

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static void trim_end(struct buffer *out)
{
    while (out->len && !is_alphanumeric(out->at[out->len - 1]))
        out->at[--out->len] = '\0';
}

// As much of a name as the name of an object may hold (RFC 1123). False: not all of it.
static bool write_base(struct buffer *out, struct text name)
{
    bool is_all = name.len <= BASE_OCTETS_MAX;
    for (size_t i = 0; i < name.len && out->len < BASE_OCTETS_MAX; i++) {
        char c = name.at[i];
        bool is_inside = out->len && is_alphanumeric(out->at[out->len - 1]);
        if (c == '.')
            trim_end(out);
        if (is_alphanumeric(c) || (c == '-' && out->len) || (c == '.' && is_inside))
            buffer_add_char(out, c);
        else
            is_all = false;
    }
    trim_end(out);
    return is_all && text_equal(buffer_text(out), name);
}

static void write_hash(struct buffer *out, struct text name, uint16_t type, struct text rdata)
{
    uint8_t octets[DIGEST_MAX];
    AUTO_BUFFER all = {0};
    buffer_printf(&all, "%.*s %u ", TEXT_ARGS(name), type);
    buffer_add(&all, rdata.at, rdata.len);
    digest_of(DIGEST_SHA256, buffer_text(&all), octets);
    buffer_add_char(out, '-');
    for (size_t i = 0; i < HASH_OCTETS; i++)
        buffer_printf(out, "%02x", octets[i]);
}

static struct text without_dot(const struct buffer *name)
{
    return (struct text){name->at, name->len - 1};
}

// "www.shop.example-a": the same at each import. One of several, or of a name that no object may
// have, gets a hash.
static void write_name(struct buffer *out, const struct rrset *set, struct text rdata)
{
    AUTO_BUFFER owner = {0};
    AUTO_BUFFER base = {0};
    char number[10];
    dname_write(&owner, rrset_owner(set));
    bool is_all = write_base(&base, without_dot(&owner));
    buffer_add(out, base.at, base.len);
    buffer_add_text(out, base.len ? "-" : "");
    for (const char *c = rr_type_write(set->type, number); *c; c++)
        buffer_add_char(out, *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c);
    if (!is_all || set->count > 1)
        write_hash(out, buffer_text(&owner), set->type, set->count > 1 ? rdata : TEXT(""));
}

static void write_zone_name(struct import *import)
{
    AUTO_BUFFER name = {0};
    dname_write(&name, import->apex);
    if (!write_base(&import->zone_name, without_dot(&name)))
        write_hash(&import->zone_name, buffer_text(&name), 0, TEXT(""));
}

// ---- YAML ---------------------------------------------------------------------------------------

static void add_text(struct buffer *out, const char *key, struct text text)
{
    buffer_add_text(out, key);
    value_write_yaml_text(out, text);
    buffer_add_char(out, '\n');
}

static void add_name(struct buffer *out, const char *key, struct dname name)
{
    AUTO_BUFFER text = {0};
    dname_write(&text, name);
    add_text(out, key, buffer_text(&text));
}

static void begin_object(struct import *import, const char *kind, struct text name)
{
    buffer_printf(&import->out, "---\napiVersion: %s/%s\nkind: %s\nmetadata:\n", zone_kind.group,
                  zone_kind.version, kind);
    add_text(&import->out, "  name: ", name);
    add_text(&import->out, "  namespace: ", text_of(import->namespace_));
    buffer_add_text(&import->out, "spec:\n");
}

// ---- the Zone -----------------------------------------------------------------------------------

static const struct rrset *find(const struct import *import, struct dname owner, uint16_t type)
{
    return zone_find(import->zone, owner, type);
}

// Can the Zone say the same? Its records have its TTL.
static bool fits(const struct import *import, const struct rrset *set)
{
    return !set || set->ttl_s == import->ttl_s;
}

static bool has_addresses(const struct import *import, struct dname host)
{
    const struct rrset *a = find(import, host, RR_A);
    const struct rrset *aaaa = find(import, host, RR_AAAA);
    size_t count = (a ? a->count : 0u) + (aaaa ? aaaa->count : 0u);
    return count && count <= ADDRESSES_MAX && fits(import, a) && fits(import, aaaa);
}

static void add_addresses(struct import *import, const struct rrset *set)
{
    size_t cursor = 0;
    struct text rdata;
    while (set && rrset_next(set, &cursor, &rdata)) {
        AUTO_BUFFER text = {0};
        rdata_write(&text, set->type, rdata);
        add_text(&import->out, "    - ", buffer_text(&text));
    }
}

static void add_nameserver(struct import *import, struct text rdata)
{
    struct dname host;
    if (!rdata_target(RR_NS, rdata, &host))
        return;
    add_name(&import->out, "  - name: ", host);
    if (!dname_is_within(host, import->apex) || !has_addresses(import, host))
        return;
    buffer_add_text(&import->out, "    addresses:\n");
    add_addresses(import, find(import, host, RR_A));
    add_addresses(import, find(import, host, RR_AAAA));
    import->hosts[import->host_count++] = host;
}

static void add_nameservers(struct import *import)
{
    const struct rrset *set = find(import, import->apex, RR_NS);
    size_t cursor = 0;
    struct text rdata;
    import->has_nameservers = set && fits(import, set) && set->count <= NAMESERVERS_MAX;
    if (!import->has_nameservers)
        return;
    buffer_add_text(&import->out, "  nameservers:\n");
    while (rrset_next(set, &cursor, &rdata))
        add_nameserver(import, rdata);
}

// Serial 0 is never used.
static uint32_t next_serial(uint32_t serial)
{
    return serial == UINT32_MAX ? 1 : serial + 1;
}

static void add_zone(struct import *import)
{
    struct buffer *out = &import->out;
    begin_object(import, "Zone", buffer_text(&import->zone_name));
    add_name(out, "  domainName: ", import->apex);
    buffer_add_text(out, "  delegations:\n  - namespaces:\n");
    add_text(out, "    - ", text_of(import->namespace_));
    buffer_add_text(out, "    records:\n    - pattern: \"*\"\n    - pattern: \"@\"\n");
    buffer_printf(out, "  ttl: %u\n  refresh: %u\n  retry: %u\n  expire: %u\n", import->ttl_s,
                  import->soa->refresh_s, import->soa->retry_s, import->soa->expire_s);
    buffer_printf(out, "  negativeResponseCache: %u\n", import->soa->minimum_s);
    add_name(out, "  mname: ", import->soa->mname);
    add_name(out, "  rname: ", import->soa->rname);
    buffer_printf(out, "  minimumSerial: %u\n", next_serial(import->soa->serial));
    add_nameservers(import);
}

// ---- Records ------------------------------------------------------------------------------------

// Below the zone's own name; @ is that name.
static void write_relative(struct buffer *out, const struct import *import, struct dname owner)
{
    AUTO_BUFFER apex = {0};
    dname_write(&apex, import->apex);
    dname_write(out, owner);
    if (dname_equal(owner, import->apex)) {
        buffer_clear(out);
        buffer_add_char(out, '@');
    } else if (!dname_is_root(import->apex)) {
        out->len -= apex.len + 1;
        out->at[out->len] = '\0';
    }
}

static void add_record(struct import *import, const struct rrset *set, struct text rdata)
{
    AUTO_BUFFER name = {0};
    AUTO_BUFFER owner = {0};
    AUTO_BUFFER text = {0};
    char number[10];
    write_relative(&owner, import, rrset_owner(set));
    rdata_write(&text, set->type, rdata);
    // A record that does not fit was told of with its line when it was read.
    if (!zone_input_is_fit(import->apex, rrset_owner(set), set->type, rdata, NULL))
        return;
    write_name(&name, set, rdata);
    begin_object(import, "Record", buffer_text(&name));
    add_text(&import->out, "  domainName: ", buffer_text(&owner));
    buffer_add_text(&import->out, "  zoneRef:\n");
    add_text(&import->out, "    name: ", buffer_text(&import->zone_name));
    buffer_printf(&import->out, "  type: %s\n", rr_type_write(set->type, number));
    if (set->ttl_s != import->ttl_s)
        buffer_printf(&import->out, "  ttl: %u\n", set->ttl_s);
    add_text(&import->out, "  rdata: ", buffer_text(&text));
}

static bool stands_in_zone(const struct import *import, const struct rrset *set)
{
    if (set->type == RR_NS)
        return import->has_nameservers && dname_equal(rrset_owner(set), import->apex);
    for (size_t i = 0; i < import->host_count; i++)
        if ((set->type == RR_A || set->type == RR_AAAA) &&
            dname_equal(rrset_owner(set), import->hosts[i]))
            return true;
    return false;
}

static void add_records(struct import *import)
{
    struct zone_walk walk = {.zone = import->zone};
    const struct rrset *set;
    while ((set = zone_walk(&walk))) {
        size_t cursor = 0;
        struct text rdata;
        if (rr_type_is_reserved(set->type) || stands_in_zone(import, set))
            continue;
        while (rrset_next(set, &cursor, &rdata))
            add_record(import, set, rdata);
    }
}

// ---- the command --------------------------------------------------------------------------------

static int report_import(struct import *import)
{
    AUTO_BUFFER findings = {0};
    struct error err;
    report_write(&findings, import->report, terminal_of(STDERR_FILENO).has_colour);
    fputs(buffer_text(&findings).at, stderr);
    if (!print_out(&import->out, &err))
        return command_fail(1, "%s", err.text);
    return import->report->counts[REPORT_ERROR] ? 1 : 0;
}

static int convert(const struct invocation *invocation, const struct zone *zone,
                   struct report *report)
{
    struct zone_soa soa;
    struct import import = {
        .zone = zone,
        .apex = zone_apex(zone),
        .soa = &soa,
        .ttl_s = zone_soa(zone)->ttl_s,
        .namespace_ = option_text(invocation, "namespace"),
        .report = report,
    };
    zone_soa_read(zone_soa(zone), &soa);
    write_zone_name(&import);
    add_zone(&import);
    add_records(&import);
    int code = report_import(&import);
    buffer_done(&import.zone_name);
    buffer_done(&import.out);
    return code;
}

// What a server serves need not be what would be served here.
static struct zone *fetch(const struct invocation *invocation, const char *server,
                          struct dname apex, struct report *report, struct error *err)
{
    CLEANUP(zone) struct zone *served = zone_source_fetch(invocation, server, apex, err);
    if (!served)
        return NULL;
    CLEANUP(zone_input) struct zone_input *input = zone_input_new(apex, REPORT_ERROR, report);
    zone_input_take(input, served, server);
    return zone_input_zone(input);
}

static int import_from(const struct invocation *invocation, struct dname apex)
{
    const char *path = option_text(invocation, "zonefile");
    const char *server = option_text(invocation, "from-server");
    struct report report = {.arena = invocation->arena, .limit = SHOWN_MAX};
    struct error err;
    CLEANUP(zone)
    struct zone *zone = path ? zone_source_load(path, apex, REPORT_ERROR, &report, &err)
                             : fetch(invocation, server, apex, &report, &err);
    int code = zone ? convert(invocation, zone, &report) : command_fail(2, "%s", err.text);
    report_done(&report);
    return code;
}

static int import_run(struct invocation *invocation)
{
    bool has_file = option_text(invocation, "zonefile");
    bool has_server = option_text(invocation, "from-server");
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    struct error err;
    if (has_file == has_server)
        return command_fail(2, "give --zonefile or --from-server");
    if (!option_text(invocation, "origin"))
        return command_fail(2, "flag --origin is needed: the name of the zone");
    if (!zone_name_of_option(invocation, "origin", octets, &apex, &err) ||
        !option_check_namespace(invocation, "namespace", option_text(invocation, "namespace"),
                                &err))
        return command_fail(2, "%s", err.text);
    return import_from(invocation, apex);
}

static const struct option import_rows[] = {
    {.name = "zonefile",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "Import this zone file, with what it includes from its folder and those in it."},
    {.name = "from-server",
     .type = OPTION_TEXT,
     .placeholder = "ADDR[:PORT]",
     .doc = "Import from this name server by a transfer (AXFR). Port 53 when none is given."},
    {.name = "origin", .type = OPTION_TEXT, .placeholder = "ZONE", .doc = "The name of the zone."},
    {.name = "namespace",
     .type = OPTION_TEXT,
     .fallback = "default",
     .placeholder = "NAMESPACE",
     .doc = "The namespace of the objects, to which the Zone delegates all names."},
};

extern const struct command import_zone_command;
const struct command import_zone_command = {
    .name = "import zone",
    .summary = "turn a zone file or a served zone into manifests",
    .doc = "Prints one Zone and its Records as YAML. The Zone has the timers of the SOA, and the "
           "name servers with their addresses where their TTL is that of the SOA; minimumSerial "
           "is above the serial, so that secondaries follow at once. Objects have the same names "
           "at each import: owner and type, and a hash where several share them.\n"
           "\n"
           "What Signpost would keep out of the zone, and what no object may hold, is left out: a "
           "line on stderr for each. What a signer made (RRSIG, NSEC, NSEC3, "
           "NSEC3PARAM, ZONEMD) is left out without.",
    .exit_docs =
        {
            "all of it is said",
            "some is left out",
            "the zone cannot be read",
        },
    .examples = "signpost import zone --zonefile shop.zone --origin shop.example > shop.yaml\n"
                "signpost import zone --from-server 192.0.2.53 --origin shop.example\n",
    .groups = {{import_rows, COUNT_OF(import_rows), false},
               {zone_source_options, ZONE_SOURCE_OPTION_COUNT, false},
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .run = import_run,
};
