#include "controllers/zone/ingress_source.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/digest.h"
#include "controllers/zone/zone_text.h"
#include "dns/dname.h"
#include "kinds/ingress/ingress_kind.h"

enum {
    ADDRESS_TEXT_MAX = 64,
    NAME_OCTETS_MAX = 253,
    DIGEST_OCTETS = 5, // of a name that is shortened
    INGRESS_SOURCE_FAULTS_MAX = 100,
    LOOKED_MAX = 4 * INGRESS_SOURCE_RECORDS_MAX, // hosts or addresses, good or not
};

struct making {
    struct arena *arena;
    struct text ingress;
    struct ingress_spec spec;
    struct ingress_source *out;
    const char **hosts; // distinct and good, canonical
    size_t host_count;
    size_t unseen_hosts;  // behind as many as there may be
    const char **targets; // distinct and good: addresses, or one host name
    size_t target_count;
    size_t unseen_targets;
};

static void add_fault(struct making *making, const char *text)
{
    struct ingress_source *out = making->out;
    if (out->fault_count < INGRESS_SOURCE_FAULTS_MAX)
        out->faults[out->fault_count++] = text;
}

static bool has(const char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], text))
            return true;
    return false;
}

static size_t looked_at(size_t count)
{
    return count < LOOKED_MAX ? count : LOOKED_MAX;
}

// ---- hosts --------------------------------------------------------------------------------------

const char *ingress_source_host(struct arena *arena, struct text host, struct error *err)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    bool is_full = dname_text_is_full(host);
    const char *full = arena_printf(arena, "%.*s%s", TEXT_ARGS(host), is_full ? "" : ".");
    if (!dname_read(text_of(full), NULL, DNAME_OF_OBJECT, octets, &name, err))
        return NULL;
    if (!dname_is_root(name))
        return zone_name_text(arena, name);
    error_set(err, FAULT_SPEC, "", "segment is an empty string");
    return NULL;
}

static void list_hosts(struct making *making)
{
    size_t looked = looked_at(making->spec.host_count);
    size_t i = 0;
    making->hosts = arena_new_array(making->arena, const char *, looked + 1);
    for (; i < looked && making->host_count < INGRESS_SOURCE_RECORDS_MAX; i++) {
        struct error err;
        struct text host = making->spec.hosts[i];
        const char *fqdn = ingress_source_host(making->arena, host, &err);
        if (!fqdn)
            add_fault(making,
                      arena_printf(making->arena, "host %.*s: %s", TEXT_ARGS(host), err.text));
        else if (!has(making->hosts, making->host_count, fqdn))
            making->hosts[making->host_count++] = fqdn;
    }
    making->unseen_hosts = making->spec.host_count - i;
}

// ---- addresses ----------------------------------------------------------------------------------

// Canonical; one of IPv4 within IPv6 is that of IPv4. NULL: it is none.
static const char *address_of(struct arena *arena, struct text text)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char out[ADDRESS_TEXT_MAX];
    uint8_t octets[16];
    const char *typed = arena_printf(arena, "%.*s", TEXT_ARGS(text));
    bool is_4 = inet_pton(AF_INET, typed, octets) == 1;
    if (strlen(typed) != text.len || (!is_4 && inet_pton(AF_INET6, typed, octets) != 1))
        return NULL;
    bool is_mapped = !is_4 && !memcmp(octets, mapped, sizeof mapped);
    inet_ntop(is_4 || is_mapped ? AF_INET : AF_INET6, is_mapped ? octets + sizeof mapped : octets,
              out, sizeof out);
    return arena_copy_text(arena, out);
}

static void add_address(struct making *making, struct text ip)
{
    const char *address = address_of(making->arena, ip);
    if (!address)
        add_fault(making, arena_printf(making->arena, "%.*s is no address", TEXT_ARGS(ip)));
    else if (!has(making->targets, making->target_count, address))
        making->targets[making->target_count++] = address;
}

// A name has one CNAME: the first is it.
static void add_hostname(struct making *making, struct text hostname)
{
    struct error err;
    const char *target = ingress_source_host(making->arena, hostname, &err);
    if (target)
        making->targets[making->target_count++] = target;
    else
        add_fault(making, arena_printf(making->arena, "%.*s: %s", TEXT_ARGS(hostname), err.text));
}

static void list_targets(struct making *making)
{
    const struct ingress_spec *spec = &making->spec;
    size_t looked = looked_at(spec->point_count);
    making->targets = arena_new_array(making->arena, const char *, looked + 1);
    making->unseen_targets = spec->point_count - looked;
    for (size_t i = 0; i < looked; i++)
        if (spec->points[i].ip.len)
            add_address(making, spec->points[i].ip);
    for (size_t i = 0; i < looked && !making->target_count; i++)
        if (spec->points[i].hostname.len) {
            making->out->has_hostnames = true;
            add_hostname(making, spec->points[i].hostname);
        }
}

// ---- names of Records ---------------------------------------------------------------------------

static void add_part(struct buffer *out, const char *text)
{
    struct text part = text_of(text);
    if (text_ends(part, "."))
        part.len--;
    for (size_t i = 0; i < part.len; i++) {
        char c = part.at[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (c == '*')
            buffer_add_text(out, "wildcard");
        else
            buffer_add_char(out, is_plain ? c : '-');
    }
}

// A name ends in a letter or digit; "2001:db8::" and "2001:db8::0" are one address.
static const char *plain_name(const struct making *making, const char *host, const char *target)
{
    AUTO_BUFFER out = {0};
    buffer_printf(&out, "%.*s-", TEXT_ARGS(making->ingress));
    add_part(&out, host);
    buffer_add_char(&out, '-');
    add_part(&out, target);
    if (out.at[out.len - 1] == '-')
        buffer_add_char(&out, '0');
    return arena_copy(making->arena, out.at, out.len);
}

// The front of it, and the digest of `whole`.
static const char *with_digest(struct arena *arena, const char *name, const char *whole)
{
    AUTO_BUFFER out = {0};
    uint8_t digest[DIGEST_MAX];
    struct text front = text_of(name);
    if (front.len > NAME_OCTETS_MAX - 1 - 2 * DIGEST_OCTETS)
        front.len = NAME_OCTETS_MAX - 1 - 2 * DIGEST_OCTETS;
    while (front.len && (front.at[front.len - 1] == '-' || front.at[front.len - 1] == '.'))
        front.len--;
    digest_of(DIGEST_SHA256, text_of(whole), digest);
    buffer_printf(&out, "%.*s-", TEXT_ARGS(front));
    for (size_t i = 0; i < DIGEST_OCTETS; i++)
        buffer_printf(&out, "%02x", digest[i]);
    return arena_copy(arena, out.at, out.len);
}

static const char *name_of(const struct making *making, const struct ingress_source_record *record)
{
    const char *plain = plain_name(making, record->fqdn, record->rdata);
    return strlen(plain) > NAME_OCTETS_MAX ? with_digest(making->arena, plain, plain) : plain;
}

const char *ingress_source_other_name(struct arena *arena,
                                      const struct ingress_source_record *record)
{
    const char *whole = arena_printf(arena, "%s %s %s", record->name, record->fqdn, record->rdata);
    return with_digest(arena, record->name, whole);
}

// ---- all of them --------------------------------------------------------------------------------

static const char *type_of(const struct making *making, const char *target)
{
    if (making->out->has_hostnames)
        return "CNAME";
    return strchr(target, ':') ? "AAAA" : "A";
}

static void add_record(struct making *making, const char *host, const char *target)
{
    struct ingress_source *out = making->out;
    if (out->count == out->capacity) {
        out->left_out++;
        return;
    }
    struct ingress_source_record *record = &out->records[out->count++];
    *record = (struct ingress_source_record){
        .fqdn = host, .type = type_of(making, target), .rdata = target};
    record->name = name_of(making, record);
}

void ingress_source_make(struct arena *arena, const struct object *ingress,
                         struct ingress_source *out)
{
    struct making making = {.arena = arena, .ingress = object_name(ingress), .out = out};
    *out = (struct ingress_source){
        .faults = arena_new_array(arena, const char *, INGRESS_SOURCE_FAULTS_MAX)};
    ingress_unpack(arena, object_spec(ingress), &making.spec);
    list_hosts(&making);
    list_targets(&making);
    size_t most = making.host_count * making.target_count;
    out->capacity = most < INGRESS_SOURCE_RECORDS_MAX ? most : INGRESS_SOURCE_RECORDS_MAX;
    out->records = arena_new_array(arena, struct ingress_source_record, out->capacity + 1);
    for (size_t i = 0; i < making.host_count; i++)
        for (size_t k = 0; k < making.target_count; k++)
            add_record(&making, making.hosts[i], making.targets[k]);
    out->left_out += making.unseen_hosts * making.target_count;
    out->left_out += making.unseen_targets * making.host_count;
}
