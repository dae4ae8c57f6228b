#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/rdata.h"
#include "dns/zone_compiler_private.h"

#define TTL_MAX INT32_MAX

// ---- what lies in a record ----------------------------------------------------------------------

static size_t link_at(uint16_t rdata_len)
{
    return (offsetof(struct zone_record, rdata) + rdata_len + 7u) & ~(size_t)7;
}

static size_t octets_of(const struct zone_record *record)
{
    bool is_linked = record->flags & RECORD_LINKED;
    return link_at(record->rdata_len) + (is_linked ? sizeof(struct zone_link) : 0);
}

struct zone_link *zone_record_link(const struct zone_record *record)
{
    if (!(record->flags & RECORD_LINKED))
        return NULL;
    return (struct zone_link *)(void *)((uintptr_t)record + link_at(record->rdata_len));
}

bool zone_record_target(const struct zone_record *record, struct dname *target)
{
    return rdata_target(record->type, zone_record_rdata(record), target);
}

uint32_t zone_record_ttl(const struct zone_compiler *compiler, const struct zone_record *record)
{
    return record->flags & RECORD_HAS_TTL ? record->ttl_s : compiler->frame.ttl_s;
}

bool zone_record_equal(const struct zone_record *a, const struct zone_record *b)
{
    return a->type == b->type && text_equal(zone_record_rdata(a), zone_record_rdata(b));
}

bool zone_record_is_null_mx(const struct zone_record *record)
{
    return record->rdata_len == 3 && record->rdata[2] == 0;
}

uint8_t zone_record_algorithm(const struct zone_record *record)
{
    size_t at = record->type == RR_CDS ? 2 : 3;
    return at < record->rdata_len ? record->rdata[at] : 0;
}

// Strings one after the other, as a reader of SPF takes them.
bool zone_record_is_spf(const struct zone_record *record)
{
    static const char mark[] = "v=spf1 ";
    size_t found = 0;
    for (size_t at = 0; at < record->rdata_len; at += record->rdata[at] + 1u)
        for (size_t i = 1; i <= record->rdata[at] && at + i < record->rdata_len; i++) {
            uint8_t c = record->rdata[at + i];
            if (found == sizeof mark - 1)
                return true;
            if ((c | (c >= 'A' && c <= 'Z' ? 0x20 : 0)) != mark[found++])
                return false;
        }
    return found >= sizeof mark - 2;
}

// ---- faults and warnings of its own -------------------------------------------------------------

static bool is_self_alias(struct dname owner, uint16_t type, struct dname target)
{
    return (type == RR_CNAME && dname_equal(owner, target)) ||
           (type == RR_DNAME && dname_is_within(target, owner));
}

static bool is_alias_mode(const struct zone_entry *entry)
{
    return (entry->type == RR_SVCB || entry->type == RR_HTTPS) && entry->rdata.len > 2 &&
           !entry->rdata.at[0] && !entry->rdata.at[1];
}

static enum zone_reason fault_of(const struct zone_compiler *compiler,
                                 const struct zone_entry *entry, const struct dname *target)
{
    if (!dname_is_within(entry->owner, zone_apex_of(compiler)))
        return ZONE_OUT_OF_ZONE;
    if (entry->has_ttl && entry->ttl_s > TTL_MAX)
        return ZONE_INVALID_TTL;
    if (rr_type_is_reserved(entry->type))
        return ZONE_RESERVED_TYPE;
    if (!rdata_fits_message(entry->owner, entry->rdata))
        return ZONE_INVALID_RDATA;
    if (entry->type == RR_NS && dname_is_wildcard(entry->owner))
        return ZONE_WILDCARD_NS;
    if (target && is_alias_mode(entry) && dname_equal(*target, entry->owner))
        return ZONE_SVCB_SELF_ALIAS;
    if (target && is_self_alias(entry->owner, entry->type, *target))
        return ZONE_CNAME_LOOP;
    return ZONE_FINE;
}

static bool has_host_target(uint16_t type)
{
    return type == RR_NS || type == RR_MX || type == RR_SRV;
}

// As strict servers check them: check-names of BIND.
static bool has_host_owner(uint16_t type)
{
    return type == RR_A || type == RR_AAAA || type == RR_MX;
}

static unsigned warnings_of(const struct zone_entry *entry, const struct dname *target)
{
    unsigned warnings = 0;
    if (has_host_owner(entry->type) && !dname_is_host_name(entry->owner))
        warnings |= zone_warning_bit(ZONE_NOT_A_HOSTNAME);
    if (target && has_host_target(entry->type) &&
        (dname_is_wildcard(*target) || !dname_is_host_name(*target)))
        warnings |= zone_warning_bit(ZONE_NOT_A_HOSTNAME);
    if (entry->marks & RDATA_RELATIVE_ZONE)
        warnings |= zone_warning_bit(ZONE_RELATIVE_TARGET_LOOKS_ABSOLUTE);
    if (entry->type == RR_DNAME && dname_is_wildcard(entry->owner))
        warnings |= zone_warning_bit(ZONE_WILDCARD_DNAME);
    if (dname_has_inner_asterisk(entry->owner))
        warnings |= zone_warning_bit(ZONE_INTERIOR_ASTERISK);
    if (entry->type == RR_SPF)
        warnings |= zone_warning_bit(ZONE_USE_TXT_FOR_SPF);
    return warnings;
}

// ---- order --------------------------------------------------------------------------------------

static int compare(const struct zone_compiler *compiler, const struct zone_record *a,
                   const struct zone_record *b)
{
    bool is_a_given = a->flags & RECORD_GIVEN;
    bool is_b_given = b->flags & RECORD_GIVEN;
    if (is_a_given != is_b_given)
        return is_a_given ? -1 : 1;
    int order = is_a_given || a->tag == b->tag ? 0 : compiler->ops.compare_age(a->tag, b->tag);
    if (!order)
        order = (a->type > b->type) - (a->type < b->type);
    if (!order)
        order = text_compare(zone_record_rdata(a), zone_record_rdata(b));
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static int compare_in(const void *a, const void *b, void *compiler)
{
    const struct zone_record *const *left = a;
    const struct zone_record *const *right = b;
    return compare(compiler, *left, *right);
}

static void append(struct zone_node *node, struct zone_record *record)
{
    struct zone_record *first = node->records;
    struct zone_record *last = first ? first->previous : NULL;
    record->next = NULL;
    record->previous = last ? last : record;
    if (last) {
        last->next = record;
        first->previous = record;
    } else {
        node->records = record;
    }
}

void zone_record_sort(struct zone_compiler *compiler, struct zone_node *node)
{
    struct zone_record **all = NULL;
    size_t count = 0;
    size_t capacity = 0;
    if (!(node->flags & NODE_UNSORTED))
        return;
    for (struct zone_record *record = node->records; record; record = record->next) {
        mem_reserve(&all, &capacity, count + 1);
        all[count++] = record;
    }
    node->flags &= ~(uint32_t)NODE_UNSORTED;
    node->records = NULL;
    if (count)
        qsort_r(all, count, sizeof *all, compare_in, compiler);
    for (size_t i = 0; i < count; i++)
        append(node, all[i]);
    free(all);
}

// ---- coming and going ---------------------------------------------------------------------------

static struct zone_record *make(struct zone_compiler *compiler, const struct zone_entry *entry,
                                uint32_t flags)
{
    size_t octets = link_at((uint16_t)entry->rdata.len);
    if (flags & RECORD_LINKED)
        octets += sizeof(struct zone_link);
    struct zone_record *record = slab_take(compiler->slab, octets);
    *record = (struct zone_record){
        .tag = entry->tag,
        .ttl_s = entry->ttl_s,
        .number = ++compiler->last_number,
        .type = entry->type,
        .rdata_len = (uint16_t)entry->rdata.len,
        .flags = (uint16_t)(flags | RECORD_NEW | (entry->has_ttl ? RECORD_HAS_TTL : 0)),
    };
    if (entry->rdata.len)
        memcpy(record->rdata, entry->rdata.at, entry->rdata.len);
    return record;
}

static void link_to(struct zone_compiler *compiler, struct zone_record *record,
                    struct zone_node *target)
{
    struct zone_link *link = zone_record_link(record);
    *link = (struct zone_link){target, target->referrers, NULL};
    if (link->next)
        zone_record_link(link->next)->previous = record;
    target->referrers = record;
    compiler->link_count++;
}

static void unlink_from(struct zone_compiler *compiler, struct zone_record *record)
{
    struct zone_link *link = zone_record_link(record);
    if (link->next)
        zone_record_link(link->next)->previous = link->previous;
    if (link->previous)
        zone_record_link(link->previous)->next = link->next;
    else
        link->target->referrers = link->next;
    compiler->link_count--;
    if (record->flags & RECORD_ACTIVE && --link->target->glue_refs == 0)
        zone_node_mark(&compiler->eval, link->target, NODE_EVAL);
    zone_node_mark(&compiler->fading, link->target, NODE_FADING);
}

static void attach(struct zone_compiler *compiler, struct zone_record *record,
                   struct zone_node *node)
{
    const struct zone_record *last = node->records ? node->records->previous : NULL;
    if (last && compare(compiler, last, record) > 0)
        node->flags |= NODE_UNSORTED;
    record->node = node;
    append(node, record);
    zone_node_mark(&compiler->own, node, NODE_OWN);
}

static bool counts_as_apex_ns(const struct zone_compiler *compiler,
                              const struct zone_record *record)
{
    return record->type == RR_NS && record->node == compiler->apex && !record->fault &&
           !(record->flags & RECORD_GIVEN);
}

static bool is_nameserver_within(const struct zone_compiler *compiler,
                                 const struct zone_record *record)
{
    return record->type == RR_NS && record->node == compiler->apex && record->flags & RECORD_LINKED;
}

// What may stand at its target, and whether a DNAME may above it, is another question now.
static void ask_above(struct zone_compiler *compiler, const struct zone_record *record)
{
    struct zone_node *node = zone_record_link(record)->target;
    for (; node; node = node->parent)
        if (node->records)
            zone_node_mark(&compiler->own, node, NODE_OWN);
}

static void list_nameserver(struct zone_compiler *compiler, const struct zone_record *record)
{
    if (!is_nameserver_within(compiler, record))
        return;
    mem_reserve(&compiler->nameservers_within, &compiler->nameserver_within_capacity,
                compiler->nameserver_within_count + 1);
    compiler->nameservers_within[compiler->nameserver_within_count++] = record;
    ask_above(compiler, record);
}

static void drop_nameserver(struct zone_compiler *compiler, const struct zone_record *record)
{
    const struct zone_record **list = compiler->nameservers_within;
    if (!is_nameserver_within(compiler, record))
        return;
    for (size_t i = 0; i < compiler->nameserver_within_count; i++)
        if (list[i] == record) {
            list[i] = list[--compiler->nameserver_within_count];
            break;
        }
    ask_above(compiler, record);
}

static bool matters(const struct zone_entry *entry)
{
    return has_host_target(entry->type) || entry->type == RR_CNAME || entry->type == RR_DNAME ||
           entry->marks & RDATA_RELATIVE_LABELS;
}

struct zone_record *zone_record_put(struct zone_compiler *compiler, const struct zone_entry *entry,
                                    uint32_t flags)
{
    struct dname target;
    struct dname apex = zone_apex_of(compiler);
    must(entry->rdata.len <= RDATA_MAX);
    bool has_target = rdata_target(entry->type, entry->rdata, &target);
    enum zone_reason fault = fault_of(compiler, entry, has_target ? &target : NULL);
    if (!fault && has_target && matters(entry) && !dname_is_root(target) &&
        dname_is_within(target, apex))
        flags |= RECORD_LINKED;
    if (entry->marks & RDATA_RELATIVE_LABELS)
        flags |= RECORD_RELATIVE;
    struct zone_record *record = make(compiler, entry, flags);
    record->fault = (uint8_t)fault;
    record->own_warnings = (uint16_t)warnings_of(entry, has_target ? &target : NULL);
    attach(compiler, record,
           fault == ZONE_OUT_OF_ZONE ? compiler->outside : zone_node_add(compiler, entry->owner));
    if (flags & RECORD_LINKED)
        link_to(compiler, record, zone_node_add(compiler, target));
    compiler->apex_ns_count += counts_as_apex_ns(compiler, record);
    list_nameserver(compiler, record);
    return record;
}

static void detach(struct zone_compiler *compiler, struct zone_record *record)
{
    struct zone_node *node = record->node;
    struct zone_record *first = node->records;
    if (record->next)
        record->next->previous = record->previous;
    else
        first->previous = record->previous;
    if (record == first)
        node->records = record->next;
    else
        record->previous->next = record->next;
    if (node->winner == record) {
        node->winner = NULL;
        node->flags |= NODE_FORCED;
    }
    zone_node_mark(&compiler->own, node, NODE_OWN);
    zone_node_mark(&compiler->fading, node, NODE_FADING);
}

static void count_out(struct zone_compiler *compiler, const struct zone_record *record)
{
    if (record->flags & RECORD_KEPT)
        zone_output_change(compiler, record->node, record->type);
    if (record->flags & RECORD_COUNTED) {
        compiler->record_count--;
        compiler->rdata_octets -= record->rdata_len;
    }
    compiler->excluded_count -= (record->flags & RECORD_OUT) != 0;
    compiler->reported_count -= (record->flags & RECORD_REPORTED) != 0;
    compiler->apex_ns_count -= counts_as_apex_ns(compiler, record);
}

void zone_record_remove(struct zone_compiler *compiler, struct zone_record *record)
{
    count_out(compiler, record);
    drop_nameserver(compiler, record);
    if (record->flags & RECORD_LINKED)
        unlink_from(compiler, record);
    detach(compiler, record);
    slab_give(record, octets_of(record));
}
