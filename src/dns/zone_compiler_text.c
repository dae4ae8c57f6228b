#include <string.h>

#include "dns/zone_compiler_private.h"

static const char *const names[ZONE_REASON_COUNT] = {
    [ZONE_FINE] = "Fine",
    [ZONE_OUT_OF_ZONE] = "OutOfZone",
    [ZONE_CLASS_MISMATCH] = "ClassMismatch",
    [ZONE_INVALID_TTL] = "InvalidTTL",
    [ZONE_RESERVED_TYPE] = "ReservedType",
    [ZONE_INVALID_NAME] = "InvalidName",
    [ZONE_INVALID_RDATA] = "InvalidRData",
    [ZONE_NS_TARGET_IS_ADDRESS] = "NSTargetIsAddress",
    [ZONE_MX_TARGET_IS_ADDRESS] = "MXTargetIsAddress",
    [ZONE_WILDCARD_NS] = "WildcardNS",
    [ZONE_SVCB_SELF_ALIAS] = "SVCBSelfAlias",
    [ZONE_CNAME_CONFLICT] = "CNAMEConflict",
    [ZONE_DUPLICATE_SINGLETON] = "DuplicateSingleton",
    [ZONE_OCCLUDED_BY_DELEGATION] = "OccludedByDelegation",
    [ZONE_OCCLUDED_BY_DNAME] = "OccludedByDNAME",
    [ZONE_NULL_MX_CONFLICT] = "NullMXConflict",
    [ZONE_TOO_MANY_RECORDS] = "TooManyRecords",
    [ZONE_NS_TARGET_IS_ALIAS] = "NSTargetIsAlias",
    [ZONE_MX_TARGET_IS_ALIAS] = "MXTargetIsAlias",
    [ZONE_SRV_TARGET_IS_ALIAS] = "SRVTargetIsAlias",
    [ZONE_MISSING_GLUE] = "MissingGlue",
    [ZONE_DS_WITHOUT_NS] = "DSWithoutNS",
    [ZONE_CDS_WITHOUT_DNSKEY] = "CDSWithoutDNSKEY",
    [ZONE_CNAME_LOOP] = "CNAMELoop",
    [ZONE_NO_NAMESERVERS] = "NoNameservers",
    [ZONE_MISSING_ADDRESS] = "MissingAddress",
    [ZONE_TOO_LARGE] = "ZoneTooLarge",
    [ZONE_TTL_MISMATCH] = "TTLMismatch",
    [ZONE_DUPLICATE] = "Duplicate",
    [ZONE_TARGET_HAS_NO_ADDRESS] = "TargetHasNoAddress",
    [ZONE_DANGLING_TARGET] = "DanglingTarget",
    [ZONE_MISSING_SIBLING_GLUE] = "MissingSiblingGlue",
    [ZONE_RELATIVE_TARGET_LOOKS_ABSOLUTE] = "RelativeTargetLooksAbsolute",
    [ZONE_NOT_A_HOSTNAME] = "NotAHostname",
    [ZONE_WILDCARD_DNAME] = "WildcardDNAME",
    [ZONE_INTERIOR_ASTERISK] = "InteriorAsterisk",
    [ZONE_USE_TXT_FOR_SPF] = "UseTXTForSPF",
    [ZONE_MULTIPLE_SPF] = "MultipleSPF",
    [ZONE_SINGLE_NS] = "SingleNS",
    [ZONE_MNAME_NOT_IN_NS] = "MNAMENotInNS",
    [ZONE_SOA_TIMERS] = "SOATimers",
    [ZONE_ADDRESS_IGNORED] = "AddressIgnored",
};

const char *zone_reason_name(enum zone_reason reason)
{
    return names[reason];
}

// ---- what texts are made of ---------------------------------------------------------------------

struct telling {
    const struct zone_compiler *compiler;
    const struct zone_record *record;
    const struct zone_node *node; // of the record
    struct buffer *out;
};

static void add_name(const struct telling *telling, const struct zone_node *node)
{
    uint8_t octets[DNAME_MAX];
    dname_write(telling->out, zone_node_name(telling->compiler, node, octets));
}

static void add_target(const struct telling *telling)
{
    struct dname target;
    if (zone_record_target(telling->record, &target))
        dname_write(telling->out, target);
}

static void add_whose(const struct telling *telling, const struct zone_record *record)
{
    if (!record || record->flags & RECORD_GIVEN)
        buffer_add_text(telling->out, "the zone itself");
    else
        telling->compiler->ops.write_name(record->tag, telling->out);
}

// "default/www (CNAME)"
static void add_record(const struct telling *telling, const struct zone_record *record)
{
    char type[10];
    add_whose(telling, record);
    if (record)
        buffer_printf(telling->out, " (%s)", rr_type_write(record->type, type));
}

// What won over it at its own name.
static const struct zone_record *rival_of(const struct telling *telling)
{
    struct zone_rivals rivals = zone_rivals_of(telling->compiler, telling->node);
    const struct zone_record *by = NULL;
    for (const struct zone_record *at = telling->node->records; at; at = at->next) {
        if (telling->node->kind == NODE_CHILD && zone_record_is_foreign(at))
            continue;
        by = NULL;
        if (zone_rivals_meet(&rivals, at, &by) && at == telling->record)
            return by;
    }
    return NULL;
}

static void report(const struct telling *telling, const char *text)
{
    buffer_add_text(telling->out, text);
}

// ---- out ----------------------------------------------------------------------------------------

static void report_out_of_zone(const struct telling *telling)
{
    report(telling, "out of zone data: the name does not lie below ");
    add_name(telling, telling->compiler->apex);
}

static void report_ttl(const struct telling *telling)
{
    buffer_printf(telling->out, "TTL %u > 2147483647", telling->record->ttl_s);
}

static void report_reserved(const struct telling *telling)
{
    char type[10];
    const char *name = rr_type_write(telling->record->type, type);
    if (telling->record->type == RR_SOA)
        report(telling, "the SOA record is made from the zone's own fields");
    else
        buffer_printf(telling->out, "%s records are made by the servers, not written into a zone",
                      name);
}

static void report_wildcard_ns(const struct telling *telling)
{
    report(telling, "NS at a wildcard: a delegation needs a name of its own (RFC 4592)");
}

static void report_self_alias(const struct telling *telling)
{
    report(telling,
           "alias mode (priority 0) leads to its own name: use another target, or \".\" with "
           "a priority above 0");
}

static void report_cname_conflict(const struct telling *telling)
{
    bool is_cname = telling->record->type == RR_CNAME;
    const struct zone_record *rival = rival_of(telling);
    if (is_cname && !telling->node->parent) {
        report(telling, "CNAME and other data: the apex has SOA and NS records; use A and AAAA "
                        "records there, or an HTTPS record");
        return;
    }
    report(telling, is_cname && rival && rival->type == RR_CNAME
                        ? "multiple RRs of singleton type: "
                        : "CNAME and other data: ");
    add_record(telling, rival);
    report(telling, " was there before");
}

static void report_singleton(const struct telling *telling)
{
    bool is_dname = telling->record->type == RR_DNAME;
    report(telling, is_dname ? "multiple RRs of singleton type: "
                             : "what asks the zone above for nothing any more stands alone (RFC "
                               "8078): ");
    add_record(telling, rival_of(telling));
    report(telling, " was there before");
}

static void report_null_mx(const struct telling *telling)
{
    report(telling, zone_record_is_null_mx(telling->record)
                        ? "null MX beside another MX (RFC 7505): "
                        : "MX beside a null MX, which says that there is no mail (RFC 7505): ");
    add_whose(telling, rival_of(telling));
    report(telling, " was there before");
}

// A DNAME that would occlude a name server of the zone loses against it.
static void report_dname(const struct telling *telling, const struct zone_record *nameserver)
{
    report(telling, "a DNAME here would occlude ");
    add_name(telling, zone_record_link(nameserver)->target);
    report(telling, ", a name server of the zone, by ");
    add_record(telling, nameserver);
}

static void report_too_many(const struct telling *telling)
{
    char type[10];
    const struct zone_limits *limits = &telling->compiler->frame.limits;
    if (telling->record->flags & RECORD_OVER_TYPES)
        buffer_printf(telling->out,
                      "records of %u types at one name are the most that the servers take "
                      "(max-types-per-name): older ones are there",
                      limits->types_per_name);
    else
        buffer_printf(telling->out,
                      "%u records of type %s at one name, and of 65,138 octets, are the most that "
                      "the servers take (max-records-per-type): older ones are there",
                      limits->records_per_type, rr_type_write(telling->record->type, type));
}

static void report_too_large(const struct telling *telling)
{
    buffer_printf(telling->out, "rdata of %u octets does not fit one message with its name",
                  telling->record->rdata_len);
}

static void report_occluded(const struct telling *telling)
{
    const struct zone_node *node = telling->node;
    const struct zone_record *rival =
        telling->record->type == RR_DNAME && !node->occluder ? rival_of(telling) : NULL;
    if (rival) {
        report_dname(telling, rival);
        return;
    }
    const struct zone_node *occluder = node->occluder ? node->occluder : node;
    bool is_dname = occluder->kind == NODE_DNAME;
    add_name(telling, node);
    report(telling, is_dname ? " is occluded by a DNAME at " : " is occluded by a delegation at ");
    add_name(telling, occluder);
    if (occluder->kind == NODE_CHILD) {
        report(telling, ", a zone of its own: put it there");
        return;
    }
    report(telling, " of ");
    add_whose(telling, occluder->winner);
}

static void report_alias(const struct telling *telling)
{
    const struct zone_link *link = zone_record_link(telling->record);
    if (!link)
        return;
    struct zone_look look = zone_look(telling->compiler, link->target);
    add_target(telling);
    const struct zone_record *alias = zone_look_alias(look);
    report(telling, alias ? " is an alias, by " : " is an alias, by one that is out itself");
    if (alias)
        add_record(telling, alias);
    report(telling, ": point at the name that has the addresses");
}

static void report_missing_glue(const struct telling *telling)
{
    const struct zone_link *link = zone_record_link(telling->record);
    if (telling->record->flags & RECORD_OF_CHILD) {
        add_name(telling, telling->node);
        report(telling, " is delegated to without its name server ");
        add_target(telling);
        report(telling, ", which has no address records (A or AAAA)");
        return;
    }
    add_target(telling);
    report(telling, " has no address records (A or AAAA)");
    bool is_found = link && zone_look(telling->compiler, link->target).kind != LOOK_NOTHING;
    report(telling, telling->record->flags & RECORD_RELATIVE && !is_found
                        ? ": does it want a final dot?"
                        : ": add them to this zone");
}

static void report_ds(const struct telling *telling)
{
    report(telling, "DS record without a delegation: ");
    if (!telling->node->parent) {
        report(telling, "that of the apex belongs into the zone above");
        return;
    }
    report(telling, "there are no NS records at ");
    add_name(telling, telling->node);
}

static void report_cds(const struct telling *telling)
{
    buffer_printf(telling->out,
                  "there is no DNSKEY record of algorithm %u at the apex that it could belong to: "
                  "add it as well",
                  zone_record_algorithm(telling->record));
}

static void report_loop(const struct telling *telling)
{
    report(telling, telling->record->type == RR_DNAME ? "DNAME loop: " : "CNAME loop: ");
    add_name(telling, telling->node);
    report(telling, " leads to ");
    add_target(telling);
    report(telling, " and from there back");
}

// ---- in -----------------------------------------------------------------------------------------

static void report_ttls(const struct telling *telling)
{
    buffer_printf(telling->out, "TTLs of the RRset differ: the lowest, %u, holds for all of it",
                  telling->record->detail);
}

static void report_duplicate(const struct telling *telling)
{
    report(telling, "the same record is there already");
}

static void report_no_address(const struct telling *telling)
{
    if (telling->record->flags & RECORD_OF_CHILD) {
        add_name(telling, telling->node);
        report(telling, " is delegated to ");
        add_target(telling);
        report(telling, ", which has no address records (A or AAAA)");
        return;
    }
    add_target(telling);
    report(telling, " has no address records (A or AAAA)");
}

static void report_dangling(const struct telling *telling)
{
    add_target(telling);
    report(telling, " does not exist in this zone");
}

static void report_relative(const struct telling *telling)
{
    report(telling, "the name in the rdata is not absolute and became ");
    add_target(telling);
    report(telling, ": does it want a final dot?");
}

static void report_host_name(const struct telling *telling)
{
    uint8_t octets[DNAME_MAX];
    struct dname owner = zone_node_name(telling->compiler, telling->node, octets);
    uint16_t type = telling->record->type;
    if (zone_record_is_address(telling->record) || (type == RR_MX && !dname_is_host_name(owner)))
        dname_write(telling->out, owner);
    else
        add_target(telling);
    report(telling, " is not a host name: letters, digits and hyphens (RFC 1123)");
}

static void report_wildcard_dname(const struct telling *telling)
{
    report(telling, "DNAME at a wildcard: servers differ in what they make of it (RFC 6672)");
}

static void report_asterisk(const struct telling *telling)
{
    add_name(telling, telling->node);
    report(telling, " has an asterisk where it is no wildcard");
}

static void report_spf(const struct telling *telling)
{
    report(telling, "nobody asks for type SPF any more: use TXT (RFC 7208)");
}

static void report_many_spf(const struct telling *telling)
{
    report(telling, "several v=spf1 records at one name: all of them fail (RFC 7208)");
}

static void (*const tellers[ZONE_REASON_COUNT])(const struct telling *telling) = {
    [ZONE_OUT_OF_ZONE] = report_out_of_zone,
    [ZONE_INVALID_TTL] = report_ttl,
    [ZONE_RESERVED_TYPE] = report_reserved,
    [ZONE_INVALID_RDATA] = report_too_large,
    [ZONE_WILDCARD_NS] = report_wildcard_ns,
    [ZONE_SVCB_SELF_ALIAS] = report_self_alias,
    [ZONE_CNAME_CONFLICT] = report_cname_conflict,
    [ZONE_DUPLICATE_SINGLETON] = report_singleton,
    [ZONE_OCCLUDED_BY_DELEGATION] = report_occluded,
    [ZONE_OCCLUDED_BY_DNAME] = report_occluded,
    [ZONE_NULL_MX_CONFLICT] = report_null_mx,
    [ZONE_TOO_MANY_RECORDS] = report_too_many,
    [ZONE_NS_TARGET_IS_ALIAS] = report_alias,
    [ZONE_MX_TARGET_IS_ALIAS] = report_alias,
    [ZONE_SRV_TARGET_IS_ALIAS] = report_alias,
    [ZONE_MISSING_GLUE] = report_missing_glue,
    [ZONE_DS_WITHOUT_NS] = report_ds,
    [ZONE_CDS_WITHOUT_DNSKEY] = report_cds,
    [ZONE_CNAME_LOOP] = report_loop,
    [ZONE_TTL_MISMATCH] = report_ttls,
    [ZONE_DUPLICATE] = report_duplicate,
    [ZONE_TARGET_HAS_NO_ADDRESS] = report_no_address,
    [ZONE_DANGLING_TARGET] = report_dangling,
    [ZONE_MISSING_SIBLING_GLUE] = report_no_address,
    [ZONE_RELATIVE_TARGET_LOOKS_ABSOLUTE] = report_relative,
    [ZONE_NOT_A_HOSTNAME] = report_host_name,
    [ZONE_WILDCARD_DNAME] = report_wildcard_dname,
    [ZONE_INTERIOR_ASTERISK] = report_asterisk,
    [ZONE_USE_TXT_FOR_SPF] = report_spf,
    [ZONE_MULTIPLE_SPF] = report_many_spf,
};

void zone_compiler_explain(const struct zone_compiler *compiler, const struct zone_record *record,
                           enum zone_reason reason, struct buffer *out)
{
    struct telling telling = {compiler, record, record->node, out};
    if (tellers[reason])
        tellers[reason](&telling);
}

uint16_t zone_record_type(const struct zone_record *record)
{
    return record->type;
}

struct dname zone_record_owner(const struct zone_compiler *compiler,
                               const struct zone_record *record, uint8_t out[DNAME_MAX])
{
    return zone_node_name(compiler, record->node, out);
}
