#include <stdlib.h>

#include "dns/zone_compiler_private.h"

static enum zone_reason lose(const struct zone_record **by, const struct zone_record *winner,
                             enum zone_reason reason)
{
    *by = winner;
    return reason;
}

// ---- the records of a name ----------------------------------------------------------------------

static enum zone_reason meet_cname(struct zone_rivals *rivals, const struct zone_record *record,
                                   const struct zone_record **by)
{
    if (rivals->is_apex || rivals->other)
        return lose(by, rivals->is_apex ? NULL : rivals->other, ZONE_CNAME_CONFLICT);
    if (rivals->cname && !zone_record_equal(rivals->cname, record))
        return lose(by, rivals->cname, ZONE_CNAME_CONFLICT);
    if (!rivals->cname)
        rivals->cname = record;
    return ZONE_FINE;
}

// The NS record of the apex whose target lies below: a DNAME there would take the zone's own name
// servers out of it.
static const struct zone_record *nameserver_below(const struct zone_rivals *rivals)
{
    for (size_t i = 0; i < rivals->compiler->nameserver_within_count; i++) {
        const struct zone_record *ns = rivals->compiler->nameservers_within[i];
        const struct zone_node *node = zone_record_link(ns)->target->parent;
        while (node && node != rivals->node)
            node = node->parent;
        if (node)
            return ns;
    }
    return NULL;
}

static enum zone_reason meet_dname(struct zone_rivals *rivals, const struct zone_record *record,
                                   const struct zone_record **by)
{
    const struct zone_record *nameserver = nameserver_below(rivals);
    if (nameserver)
        return lose(by, nameserver, ZONE_OCCLUDED_BY_DNAME);
    if (rivals->dname && !zone_record_equal(rivals->dname, record))
        return lose(by, rivals->dname, ZONE_DUPLICATE_SINGLETON);
    if (!rivals->dname)
        rivals->dname = record;
    return ZONE_FINE;
}

// Of the types of which one record can say that there is none: then it stands alone.
struct lone_type {
    uint16_t type;
    bool is_of_apex;
    enum zone_reason reason;
};
static const struct lone_type lone_types[] = {
    {RR_MX, false, ZONE_NULL_MX_CONFLICT},
    {RR_CDS, true, ZONE_DUPLICATE_SINGLETON},
    {RR_CDNSKEY, true, ZONE_DUPLICATE_SINGLETON},
};

static bool is_null(const struct zone_record *record)
{
    return record->type == RR_MX ? zone_record_is_null_mx(record) : !zone_record_algorithm(record);
}

static enum zone_reason meet_kin(struct zone_rivals *rivals, const struct zone_record *record,
                                 size_t type, const struct zone_record **by)
{
    bool is_null_one = is_null(record);
    const struct zone_record **kin =
        is_null_one ? &rivals->kin[type].null : &rivals->kin[type].other;
    const struct zone_record *foe = is_null_one ? rivals->kin[type].other : rivals->kin[type].null;
    if (!foe && is_null_one && *kin && !zone_record_equal(*kin, record))
        foe = *kin;
    if (foe)
        return lose(by, foe, lone_types[type].reason);
    if (!*kin)
        *kin = record;
    return ZONE_FINE;
}

static enum zone_reason meet_other(struct zone_rivals *rivals, const struct zone_record *record,
                                   const struct zone_record **by)
{
    if (record->type == RR_DNAME)
        return meet_dname(rivals, record, by);
    for (size_t i = 0; i < COUNT_OF(lone_types); i++)
        if (record->type == lone_types[i].type && (rivals->is_apex || !lone_types[i].is_of_apex))
            return meet_kin(rivals, record, i, by);
    return ZONE_FINE;
}

enum zone_reason zone_rivals_meet(struct zone_rivals *rivals, const struct zone_record *record,
                                  const struct zone_record **by)
{
    if (record->fault)
        return record->fault;
    if (record->flags & RECORD_OVER)
        return ZONE_TOO_MANY_RECORDS;
    if (record->type == RR_CNAME)
        return meet_cname(rivals, record, by);
    if (rivals->cname)
        return lose(by, rivals->cname, ZONE_CNAME_CONFLICT);
    enum zone_reason reason = meet_other(rivals, record, by);
    if (!reason && !rivals->other)
        rivals->other = record;
    return reason;
}

// ---- cuts and DNAMEs ----------------------------------------------------------------------------

static bool is_glue(const struct zone_node *node, const struct zone_node *cut,
                    const struct zone_record *record)
{
    return node->glue_refs && zone_record_is_address(record) &&
           (cut->kind != NODE_CHILD || record->flags & RECORD_GIVEN);
}

static enum zone_reason judge_below(const struct zone_node *node, const struct zone_node *occluder,
                                    const struct zone_record *record, const struct zone_record **by)
{
    bool is_dname = occluder->kind == NODE_DNAME;
    if (!is_dname && is_glue(node, occluder, record))
        return record->flags & RECORD_OVER_RECORDS ? ZONE_TOO_MANY_RECORDS : ZONE_FINE;
    return lose(by, occluder->winner,
                is_dname ? ZONE_OCCLUDED_BY_DNAME : ZONE_OCCLUDED_BY_DELEGATION);
}

// What a cut's own name may have.
static bool is_of_cut(const struct zone_record *record)
{
    return record->type == RR_NS || record->type == RR_DS;
}

static enum zone_reason judge_place(const struct zone_node *node, struct zone_rivals *rivals,
                                    const struct zone_record *record, const struct zone_record **by)
{
    if (record->fault)
        return record->fault;
    if (node->occluder)
        return judge_below(node, node->occluder, record, by);
    if (node->kind == NODE_CHILD && zone_record_is_foreign(record))
        return ZONE_OCCLUDED_BY_DELEGATION;
    enum zone_reason reason = zone_rivals_meet(rivals, record, by);
    bool is_cut = node->kind == NODE_CUT || node->kind == NODE_CHILD;
    if (reason || !is_cut || is_of_cut(record))
        return reason;
    return judge_below(node, node, record, by);
}

// ---- targets ------------------------------------------------------------------------------------

static bool has_address(struct zone_look look)
{
    return look.kind == LOOK_HERE && look.node->flags & NODE_HAS_ADDRESS;
}

static void judge_ns(struct zone_result *result, const struct zone_node *target,
                     struct zone_look look)
{
    const struct zone_node *node = result->record->node;
    const struct zone_record *alias = zone_look_alias(look);
    if (!node->parent || node->occluder || has_address(look))
        return;
    if (alias)
        result->reason = (uint8_t)lose(&result->rival, alias, ZONE_NS_TARGET_IS_ALIAS);
    else if (look.kind != LOOK_CUT || (look.node == node && !zone_node_has_glue(target))) {
        result->reason = ZONE_MISSING_GLUE;
        result->detail = look.kind;
    } else if (!zone_node_has_glue(target))
        result->warnings |= zone_warning_bit(ZONE_MISSING_SIBLING_GLUE);
}

static void judge_host(struct zone_result *result, struct zone_look look)
{
    const struct zone_record *alias = zone_look_alias(look);
    bool is_mx = result->record->type == RR_MX;
    if (alias)
        result->reason = (uint8_t)lose(&result->rival, alias,
                                       is_mx ? ZONE_MX_TARGET_IS_ALIAS : ZONE_SRV_TARGET_IS_ALIAS);
    else if (look.kind != LOOK_CUT && !has_address(look))
        result->warnings |= zone_warning_bit(ZONE_TARGET_HAS_NO_ADDRESS);
}

static void judge_target(const struct zone_compiler *compiler, struct zone_result *result)
{
    const struct zone_record *record = result->record;
    const struct zone_link *link = zone_record_link(record);
    bool is_alias = record->type == RR_CNAME || record->type == RR_DNAME;
    if (is_alias && record->node->flags & NODE_IN_LOOP)
        result->reason = ZONE_CNAME_LOOP;
    if (!link || result->reason)
        return;
    struct zone_look look = zone_look(compiler, link->target);
    if (record->type == RR_NS)
        judge_ns(result, link->target, look);
    else if (record->type == RR_MX || record->type == RR_SRV)
        judge_host(result, look);
    else if (record->type == RR_CNAME && look.kind == LOOK_NOTHING)
        result->warnings |= zone_warning_bit(ZONE_DANGLING_TARGET);
    if (record->flags & RECORD_RELATIVE && look.kind == LOOK_NOTHING)
        result->warnings |= zone_warning_bit(ZONE_RELATIVE_TARGET_LOOKS_ABSOLUTE);
}

// ---- what needs company -------------------------------------------------------------------------

struct company {
    bool has_ns;
    uint64_t algorithms[4]; // of DNSKEY records, a bit each
};

static void note_company(struct company *company, const struct zone_record *record)
{
    uint8_t algorithm = record->type == RR_DNSKEY ? zone_record_algorithm(record) : 0;
    company->has_ns |= record->type == RR_NS;
    company->algorithms[algorithm / 64] |= (uint64_t)1 << algorithm % 64;
}

// What DS and, at the apex, CDS and CDNSKEY need: of the latter servers want to see the key.
static bool is_alone(const struct zone_node *node, const struct zone_record *record,
                     const struct company *company)
{
    if (record->type == RR_DS)
        return !node->parent || !company->has_ns;
    if (node->parent || (record->type != RR_CDS && record->type != RR_CDNSKEY))
        return false;
    uint8_t algorithm = zone_record_algorithm(record);
    return algorithm && !(company->algorithms[algorithm / 64] >> algorithm % 64 & 1);
}

static void judge_company(struct zone_compiler *compiler, const struct zone_node *node,
                          size_t count)
{
    struct company company = {0};
    for (size_t i = 0; i < count; i++)
        if (!compiler->results[i].reason)
            note_company(&company, compiler->results[i].record);
    for (size_t i = 0; i < count; i++) {
        struct zone_result *result = &compiler->results[i];
        if (!result->reason && is_alone(node, result->record, &company))
            result->reason =
                result->record->type == RR_DS ? ZONE_DS_WITHOUT_NS : ZONE_CDS_WITHOUT_DNSKEY;
    }
}

// ---- RRsets -------------------------------------------------------------------------------------

static int compare_results(const void *a, const void *b)
{
    const struct zone_result *left = *(const struct zone_result *const *)a;
    const struct zone_result *right = *(const struct zone_result *const *)b;
    const struct zone_record *x = left->record;
    const struct zone_record *y = right->record;
    int order = (x->type > y->type) - (x->type < y->type);
    if (!order)
        order = text_compare(zone_record_rdata(x), zone_record_rdata(y));
    return order ? order : (left > right) - (left < right);
}

static void judge_spf(struct zone_result **set, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += set[i]->is_counted && zone_record_is_spf(set[i]->record);
    for (size_t i = 0; i < count && found > 1; i++)
        if (zone_record_is_spf(set[i]->record))
            set[i]->warnings |= zone_warning_bit(ZONE_MULTIPLE_SPF);
}

// Kept ones of one type, equal ones beside each other, the oldest of these first.
static void judge_set(const struct zone_compiler *compiler, struct zone_result **set, size_t count)
{
    uint32_t lowest = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        uint32_t ttl_s = zone_record_ttl(compiler, set[i]->record);
        lowest = ttl_s < lowest ? ttl_s : lowest;
        set[i]->is_counted = !i || !zone_record_equal(set[i - 1]->record, set[i]->record);
        if (!set[i]->is_counted)
            set[i]->warnings |= zone_warning_bit(ZONE_DUPLICATE);
    }
    for (size_t i = 0; i < count; i++)
        if (zone_record_ttl(compiler, set[i]->record) != lowest) {
            set[i]->warnings |= zone_warning_bit(ZONE_TTL_MISMATCH);
            set[i]->detail = lowest;
        }
    if (set[0]->record->type == RR_TXT)
        judge_spf(set, count);
}

static void judge_sets(struct zone_compiler *compiler, size_t count)
{
    struct zone_result **order;
    size_t kept = 0;
    mem_reserve(&compiler->order, &compiler->order_capacity, count);
    order = compiler->order;
    for (size_t i = 0; i < count; i++)
        if (!compiler->results[i].reason)
            order[kept++] = &compiler->results[i];
    if (kept > 1)
        qsort(order, kept, sizeof *order, compare_results);
    for (size_t first = 0; first < kept;) {
        size_t end = first + 1;
        while (end < kept && order[end]->record->type == order[first]->record->type)
            end++;
        judge_set(compiler, order + first, end - first);
        first = end;
    }
}

// ---- what it comes to ---------------------------------------------------------------------------

static void count_record(struct zone_compiler *compiler, struct zone_record *record, uint32_t flags)
{
    bool was_counted = record->flags & RECORD_COUNTED;
    bool is_counted = flags & RECORD_COUNTED;
    if (is_counted != was_counted) {
        compiler->record_count += is_counted ? 1u : (size_t)-1;
        compiler->rdata_octets += is_counted ? record->rdata_len : -(size_t)record->rdata_len;
    }
    compiler->excluded_count += (flags & RECORD_OUT) != 0;
    compiler->excluded_count -= (record->flags & RECORD_OUT) != 0;
    compiler->reported_count += (flags & RECORD_REPORTED) != 0;
    compiler->reported_count -= (record->flags & RECORD_REPORTED) != 0;
    record->flags = (uint16_t)flags;
}

static uint32_t flags_of(const struct zone_result *result)
{
    enum { OUTCOME = RECORD_NEW | RECORD_KEPT | RECORD_COUNTED | RECORD_OUT | RECORD_REPORTED };
    uint32_t flags = result->record->flags & ~(uint32_t)OUTCOME;
    bool is_given = flags & RECORD_GIVEN;
    if (!result->reason)
        flags |= RECORD_KEPT;
    else if (!is_given)
        flags |= RECORD_OUT;
    if (result->is_counted)
        flags |= RECORD_COUNTED;
    if (flags & RECORD_OF_CHILD && result->record->type == RR_NS &&
        (result->reason || result->warnings & zone_warning_bit(ZONE_MISSING_SIBLING_GLUE)))
        flags |= RECORD_REPORTED;
    return flags;
}

// True: it is to be told.
static bool commit(struct zone_compiler *compiler, const struct zone_result *result)
{
    struct zone_record *record = result->record;
    const struct zone_record *rival = result->reason ? result->rival : NULL;
    const void *by = rival && !(rival->flags & RECORD_GIVEN) ? rival->tag : NULL;
    uint32_t detail = rival ? rival->number : result->detail;
    uint32_t flags = flags_of(result);
    bool is_new = record->flags & RECORD_NEW;
    bool is_other = is_new || record->reason != result->reason || record->by != by ||
                    record->warnings != result->warnings || record->detail != detail;
    bool was_kept = !is_new && record->flags & RECORD_KEPT;
    if (was_kept != ((flags & RECORD_KEPT) != 0))
        zone_output_change(compiler, record->node, record->type);
    count_record(compiler, record, flags);
    record->reason = result->reason;
    record->warnings = result->warnings;
    record->by = by;
    record->detail = detail;
    return is_other && !(flags & RECORD_GIVEN);
}

// The reason stays; what there is to tell of it is as it is now.
static void judge_barred(const struct zone_compiler *compiler, struct zone_result *result)
{
    const struct zone_link *link = zone_record_link(result->record);
    if (!link)
        return;
    struct zone_look look = zone_look(compiler, link->target);
    if (result->reason == ZONE_MISSING_GLUE)
        result->detail = look.kind;
    else if (result->reason != ZONE_CNAME_LOOP)
        result->rival = zone_look_alias(look);
}

static void judge_record(const struct zone_compiler *compiler, const struct zone_node *node,
                         struct zone_rivals *rivals, struct zone_result *result)
{
    struct zone_record *record = result->record;
    result->reason = (uint8_t)judge_place(node, rivals, record, &result->rival);
    if (result->reason == ZONE_OCCLUDED_BY_DELEGATION)
        result->detail = node->occluder ? node->occluder->hash : node->hash;
    if (record->flags & RECORD_BARRED)
        judge_barred(compiler, result);
    if (!result->reason && (record->flags & RECORD_LINKED || node->flags & NODE_IN_LOOP))
        judge_target(compiler, result);
}

static size_t collect(struct zone_compiler *compiler, const struct zone_node *node)
{
    size_t count = 0;
    for (struct zone_record *record = node->records; record; record = record->next) {
        mem_reserve(&compiler->results, &compiler->result_capacity, count + 1);
        compiler->results[count++] = (struct zone_result){.record = record};
    }
    return count;
}

size_t zone_judge_look(struct zone_compiler *compiler, const struct zone_node *node)
{
    struct zone_rivals rivals = zone_rivals_of(compiler, node);
    size_t count = collect(compiler, node);
    for (size_t i = 0; i < count; i++)
        judge_record(compiler, node, &rivals, &compiler->results[i]);
    judge_company(compiler, node, count);
    return count;
}

void zone_judge(struct zone_compiler *compiler, struct zone_node *node, zone_reported *reported,
                void *context)
{
    size_t count = zone_judge_look(compiler, node);
    judge_sets(compiler, count);
    for (size_t i = 0; i < count; i++) {
        struct zone_result *result = &compiler->results[i];
        struct zone_record *record = result->record;
        result->warnings = result->reason ? 0 : (uint16_t)(result->warnings | record->own_warnings);
        if (!commit(compiler, result))
            continue;
        struct zone_outcome outcome = {record->reason, record->warnings, record->by};
        reported(context, record->tag, &outcome);
    }
}
