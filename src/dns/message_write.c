#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/message.h"
#include "dns/wire.h"

enum { STRING_OCTETS_MAX = 255 };

#define REASON "ValidationFailed"

struct update {
    ldns_pkt *packet;
};

static void packet_cleanup(ldns_pkt **at)
{
    ldns_pkt_free(*at);
}

static void rr_cleanup(ldns_rr **at)
{
    ldns_rr_free(*at);
}

static void wire_cleanup(uint8_t **at)
{
    free(*at);
}

#define AUTO_PACKET __attribute__((cleanup(packet_cleanup))) ldns_pkt
#define AUTO_RR __attribute__((cleanup(rr_cleanup))) ldns_rr

static bool write_packet(struct buffer *out, const ldns_pkt *packet, uint16_t id, struct error *err)
{
    __attribute__((cleanup(wire_cleanup))) uint8_t *wire = NULL;
    size_t len = 0;
    ldns_status status = ldns_pkt2wire(&wire, packet, &len);
    if (status != LDNS_STATUS_OK)
        return error_set(err, FAULT_SPEC, REASON, "DNS message cannot be written: %s",
                         ldns_get_errorstr_by_id(status));
    if (len > WIRE_MESSAGE_MAX)
        return error_set(err, FAULT_SPEC, REASON,
                         "DNS message has %zu octets: at most %d fit, send fewer or shorter values",
                         len, WIRE_MESSAGE_MAX);
    must(len >= WIRE_HEADER);
    wire[0] = (uint8_t)(id >> 8);
    wire[1] = (uint8_t)id;
    buffer_add(out, wire, len);
    return true;
}

bool message_query(struct buffer *out, uint16_t id, struct text name, uint16_t rr_type,
                   bool is_recursion_desired, struct error *err)
{
    ldns_rdf *owner = wire_name_new(name, err);
    if (!owner)
        return false;
    AUTO_PACKET *packet = ldns_pkt_query_new(owner, (ldns_rr_type)rr_type, LDNS_RR_CLASS_IN,
                                             is_recursion_desired ? LDNS_RD : 0);
    must(packet);
    return write_packet(out, packet, id, err);
}

static ldns_rr *rr_new(struct text name, ldns_rr_type type, ldns_rr_class class, struct error *err)
{
    ldns_rdf *owner = wire_name_new(name, err);
    if (!owner)
        return NULL;
    ldns_rr *rr = ldns_rr_new();
    must(rr);
    ldns_rr_set_owner(rr, owner);
    ldns_rr_set_type(rr, type);
    ldns_rr_set_class(rr, class);
    ldns_rr_set_ttl(rr, 0);
    return rr;
}

struct update *update_new(struct text zone, struct error *err)
{
    ldns_rr *question = rr_new(zone, LDNS_RR_TYPE_SOA, LDNS_RR_CLASS_IN, err);
    if (!question)
        return NULL;
    ldns_rr_set_question(question, true);
    struct update *update = mem_new_of(struct update);
    update->packet = ldns_pkt_new();
    must(update->packet);
    ldns_pkt_set_opcode(update->packet, LDNS_PACKET_UPDATE);
    must(ldns_pkt_push_rr(update->packet, LDNS_SECTION_QUESTION, question));
    return update;
}

void update_free(struct update *update)
{
    if (!update)
        return;
    ldns_pkt_free(update->packet);
    free(update);
}

// RFC 2136 2.4.1, 2.4.3, 2.4.5 and 2.5.2: class and type say it all, there is no rdata.
static bool push_bare(struct update *update, ldns_pkt_section section, struct text name,
                      ldns_rr_type type, ldns_rr_class class, struct error *err)
{
    ldns_rr *rr = rr_new(name, type, class, err);
    if (!rr)
        return false;
    must(ldns_pkt_push_rr(update->packet, section, rr));
    return true;
}

static ldns_rr_type rr_type_of(enum record_type type)
{
    return (ldns_rr_type)record_type_number(type);
}

bool update_require_present(struct update *update, struct text name, enum record_type type,
                            struct error *err)
{
    return push_bare(update, LDNS_SECTION_ANSWER, name, rr_type_of(type), LDNS_RR_CLASS_ANY, err);
}

bool update_require_absent(struct update *update, struct text name, enum record_type type,
                           struct error *err)
{
    return push_bare(update, LDNS_SECTION_ANSWER, name, rr_type_of(type), LDNS_RR_CLASS_NONE, err);
}

bool update_require_unused(struct update *update, struct text name, struct error *err)
{
    return push_bare(update, LDNS_SECTION_ANSWER, name, LDNS_RR_TYPE_ANY, LDNS_RR_CLASS_NONE, err);
}

bool update_delete_set(struct update *update, struct text name, enum record_type type,
                       struct error *err)
{
    return push_bare(update, LDNS_SECTION_AUTHORITY, name, rr_type_of(type), LDNS_RR_CLASS_ANY,
                     err);
}

typedef bool push_rdata(ldns_rr *rr, const struct record_set *set, struct text value,
                        struct error *err);

static void push_octets(ldns_rr *rr, ldns_rdf_type type, const void *at, size_t len)
{
    ldns_rdf *rdf = ldns_rdf_new_frm_data(type, len, at);
    must(rdf && ldns_rr_push_rdf(rr, rdf));
}

static bool push_address(ldns_rr *rr, int family, ldns_rdf_type type, struct text value,
                         struct error *err)
{
    char terminated[INET6_ADDRSTRLEN] = "";
    uint8_t octets[sizeof(struct in6_addr)];
    if (value.len < sizeof terminated)
        memcpy(terminated, value.at, value.len);
    if (strlen(terminated) != value.len || inet_pton(family, terminated, octets) != 1)
        return error_set(err, FAULT_SPEC, REASON, "'%.*s' is not an %s address", TEXT_ARGS(value),
                         family == AF_INET ? "IPv4" : "IPv6");
    push_octets(rr, type, octets,
                family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr));
    return true;
}

static bool push_a(ldns_rr *rr, const struct record_set *set, struct text value, struct error *err)
{
    (void)set;
    return push_address(rr, AF_INET, LDNS_RDF_TYPE_A, value, err);
}

static bool push_aaaa(ldns_rr *rr, const struct record_set *set, struct text value,
                      struct error *err)
{
    (void)set;
    return push_address(rr, AF_INET6, LDNS_RDF_TYPE_AAAA, value, err);
}

static bool push_name(ldns_rr *rr, const struct record_set *set, struct text value,
                      struct error *err)
{
    (void)set;
    ldns_rdf *target = wire_name_new(value, err);
    if (!target)
        return false;
    must(ldns_rr_push_rdf(rr, target));
    return true;
}

static bool push_txt(ldns_rr *rr, const struct record_set *set, struct text value,
                     struct error *err)
{
    (void)set;
    size_t count = txt_string_count(value);
    if (value.len + count > WIRE_MESSAGE_MAX)
        return error_set(err, FAULT_SPEC, REASON, "text has %zu octets: at most 65279 fit",
                         value.len);
    AUTO_BUFFER string = {0};
    for (size_t at = 0, i = 0; i < count; at += STRING_OCTETS_MAX, i++) {
        size_t left = value.len - at;
        size_t len = left < STRING_OCTETS_MAX ? left : STRING_OCTETS_MAX;
        buffer_clear(&string);
        buffer_add_char(&string, (char)len);
        buffer_add(&string, value.at + at, len);
        push_octets(rr, LDNS_RDF_TYPE_STR, string.at, string.len);
    }
    return true;
}

static bool push_number(ldns_rr *rr, const char *what, int32_t number, struct error *err)
{
    if (number < 0 || number > UINT16_MAX)
        return error_set(err, FAULT_SPEC, REASON, "%s is %d: it must be 0..65535", what, number);
    uint8_t octets[2] = {(uint8_t)(number >> 8), (uint8_t)number};
    push_octets(rr, LDNS_RDF_TYPE_INT16, octets, sizeof octets);
    return true;
}

static bool push_mx(ldns_rr *rr, const struct record_set *set, struct text value, struct error *err)
{
    return push_number(rr, "priority", set->priority, err) && push_name(rr, set, value, err);
}

static bool push_srv(ldns_rr *rr, const struct record_set *set, struct text value,
                     struct error *err)
{
    return push_number(rr, "priority", set->priority, err) &&
           push_number(rr, "weight", set->weight, err) && push_number(rr, "port", set->port, err) &&
           push_name(rr, set, value, err);
}

static push_rdata *const pushers[RECORD_TYPES] = {
    [RECORD_A] = push_a,     [RECORD_AAAA] = push_aaaa, [RECORD_CNAME] = push_name,
    [RECORD_TXT] = push_txt, [RECORD_MX] = push_mx,     [RECORD_SRV] = push_srv,
    [RECORD_NS] = push_name, [RECORD_PTR] = push_name,
};

// What is said of the values of a set.
struct statement {
    ldns_pkt_section section;
    ldns_rr_class class;
    bool has_ttl;
};

static bool push_value(struct update *update, struct text name, const struct record_set *set,
                       struct text value, const struct statement *statement, struct error *err)
{
    AUTO_RR *rr = rr_new(name, rr_type_of(set->type), statement->class, err);
    if (!rr || !pushers[set->type](rr, set, value, err))
        return false;
    ldns_rr_set_ttl(rr, statement->has_ttl ? set->ttl_s : 0);
    must(ldns_pkt_push_rr(update->packet, statement->section, rr));
    rr = NULL;
    return true;
}

static bool push_values(struct update *update, struct text name, const struct record_set *set,
                        const struct statement *statement, struct error *err)
{
    for (size_t i = 0; i < set->value_count; i++) {
        struct text value = set->values[i].at ? set->values[i] : TEXT("");
        if (!push_value(update, name, set, value, statement, err))
            return error_prefix(err, "%.*s %s: ", TEXT_ARGS(name), record_type_name(set->type));
    }
    return true;
}

bool update_require_values(struct update *update, struct text name, const struct record_set *set,
                           struct error *err)
{
    static const struct statement statement = {LDNS_SECTION_ANSWER, LDNS_RR_CLASS_IN, false};
    return push_values(update, name, set, &statement, err);
}

bool update_delete_values(struct update *update, struct text name, const struct record_set *set,
                          struct error *err)
{
    static const struct statement statement = {LDNS_SECTION_AUTHORITY, LDNS_RR_CLASS_NONE, false};
    return push_values(update, name, set, &statement, err);
}

bool update_add_set(struct update *update, struct text name, const struct record_set *set,
                    struct error *err)
{
    static const struct statement statement = {LDNS_SECTION_AUTHORITY, LDNS_RR_CLASS_IN, true};
    if (set->ttl_s > INT32_MAX)
        return error_set(err, FAULT_SPEC, REASON, "TTL is %u: at most 2147483647 is allowed",
                         set->ttl_s);
    return push_values(update, name, set, &statement, err);
}

bool update_write(struct buffer *out, const struct update *update, uint16_t id, struct error *err)
{
    return write_packet(out, update->packet, id, err);
}
