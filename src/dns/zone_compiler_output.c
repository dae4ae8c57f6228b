#include <stdlib.h>

#include "dns/zone_compiler_private.h"

enum { CHANGES_MIN = 4096 }; // so many are always remembered

// ---- RRsets -------------------------------------------------------------------------------------

struct sets {
    struct rrset **at;
    size_t count;
    size_t capacity;
};

static void push_set(struct sets *sets, struct rrset *set)
{
    mem_reserve(&sets->at, &sets->capacity, sets->count + 1);
    sets->at[sets->count++] = set;
}

// What is kept of a name, type by type.
struct kept {
    const struct zone_record **at;
    size_t count;
    size_t capacity;
    struct text *rdatas; // of one type
    size_t rdata_capacity;
};

static void kept_done(struct kept *kept)
{
    free(kept->at);
    free(kept->rdatas);
}

static int compare_types(const void *a, const void *b)
{
    const struct zone_record *left = *(const struct zone_record *const *)a;
    const struct zone_record *right = *(const struct zone_record *const *)b;
    return (left->type > right->type) - (left->type < right->type);
}

static void collect(struct kept *kept, const struct zone_node *node)
{
    bool is_sorted = true;
    kept->count = 0;
    for (const struct zone_record *at = node->records; at; at = at->next) {
        if (!(at->flags & RECORD_KEPT))
            continue;
        is_sorted &= !kept->count || kept->at[kept->count - 1]->type <= at->type;
        mem_reserve(&kept->at, &kept->capacity, kept->count + 1);
        kept->at[kept->count++] = at;
    }
    if (!is_sorted)
        qsort(kept->at, kept->count, sizeof(struct zone_record *), compare_types);
}

// Of the type at *from, under the lowest TTL; *from moves behind it.
static struct rrset *take_set(const struct zone_compiler *compiler, struct kept *kept, size_t *from,
                              struct dname owner)
{
    uint16_t type = kept->at[*from]->type;
    uint32_t lowest = UINT32_MAX;
    size_t count = 0;
    for (; *from < kept->count && kept->at[*from]->type == type; ++*from) {
        const struct zone_record *record = kept->at[*from];
        uint32_t ttl_s = zone_record_ttl(compiler, record);
        lowest = ttl_s < lowest ? ttl_s : lowest;
        if (!(record->flags & RECORD_COUNTED))
            continue;
        mem_reserve(&kept->rdatas, &kept->rdata_capacity, count + 1);
        kept->rdatas[count++] = zone_record_rdata(record);
    }
    return rrset_new(owner, type, lowest, kept->rdatas, count);
}

// Perhaps an empty one. *from: those before it have lower types.
static struct rrset *find_set(const struct zone_compiler *compiler, struct kept *kept, size_t *from,
                              struct dname owner, uint16_t type)
{
    while (*from < kept->count && kept->at[*from]->type < type)
        ++*from;
    if (*from < kept->count && kept->at[*from]->type == type)
        return take_set(compiler, kept, from, owner);
    return rrset_new(owner, type, 0, NULL, 0);
}

static struct rrset *make_soa(const struct zone_compiler *compiler, uint32_t serial)
{
    uint8_t octets[DNAME_MAX];
    const struct zone_frame *frame = &compiler->frame;
    struct zone_soa soa = {
        .mname = zone_frame_mname(compiler, octets),
        .rname = frame->rname.len ? frame->rname : zone_apex_of(compiler),
        .serial = serial,
        .refresh_s = frame->refresh_s,
        .retry_s = frame->retry_s,
        .expire_s = frame->expire_s,
        .minimum_s = frame->minimum_s,
    };
    return zone_soa_set(zone_apex_of(compiler), frame->ttl_s, &soa);
}

// ---- changes ------------------------------------------------------------------------------------

static void forget_changes(struct zone_compiler *compiler)
{
    for (size_t i = 0; i < compiler->change_count; i++) {
        struct zone_node *node = compiler->changes[i].node;
        node->flags &= ~(uint32_t)NODE_HELD;
        zone_node_mark(&compiler->fading, node, NODE_FADING);
    }
    compiler->change_count = 0;
    mem_relax(&compiler->changes, &compiler->change_capacity);
}

void zone_output_reset(struct zone_compiler *compiler)
{
    zone_unref(compiler->zone);
    compiler->zone = NULL;
    forget_changes(compiler);
}

void zone_output_change(struct zone_compiler *compiler, struct zone_node *node, uint16_t type)
{
    if (!compiler->zone)
        return;
    if (compiler->change_count > CHANGES_MIN + 4 * compiler->node_count) {
        zone_output_reset(compiler);
        return;
    }
    mem_reserve(&compiler->changes, &compiler->change_capacity, compiler->change_count + 1);
    compiler->changes[compiler->change_count++] = (struct zone_change){node, type};
    node->flags |= NODE_HELD;
}

static int compare_changes(const void *a, const void *b)
{
    const struct zone_change *left = a;
    const struct zone_change *right = b;
    uintptr_t x = (uintptr_t)left->node;
    uintptr_t y = (uintptr_t)right->node;
    return x != y ? (x > y) - (x < y) : (left->type > right->type) - (left->type < right->type);
}

static void add_changed(const struct zone_compiler *compiler, struct kept *kept, struct sets *sets)
{
    uint8_t octets[DNAME_MAX];
    struct dname owner = {NULL, 0};
    const struct zone_node *node = NULL;
    struct zone_change *changes = compiler->changes;
    size_t from = 0;
    if (compiler->change_count > 1)
        qsort(changes, compiler->change_count, sizeof *changes, compare_changes);
    for (size_t i = 0; i < compiler->change_count; i++) {
        if (i && !compare_changes(&changes[i - 1], &changes[i]))
            continue;
        if (changes[i].node != node) {
            node = changes[i].node;
            owner = zone_node_name(compiler, node, octets);
            collect(kept, node);
            from = 0;
        }
        push_set(sets, find_set(compiler, kept, &from, owner, changes[i].type));
    }
}

static void add_all(const struct zone_compiler *compiler, struct kept *kept, struct sets *sets)
{
    uint8_t octets[DNAME_MAX];
    struct zone_node *top = compiler->apex;
    for (struct zone_node *node = top; node; node = zone_node_after(top, node, false)) {
        collect(kept, node);
        if (!kept->count)
            continue;
        struct dname owner = zone_node_name(compiler, node, octets);
        for (size_t from = 0; from < kept->count;)
            push_set(sets, take_set(compiler, kept, &from, owner));
    }
}

struct zone *zone_compiler_zone(struct zone_compiler *compiler, uint32_t serial)
{
    struct sets sets = {0};
    struct kept kept = {0};
    struct zone *zone;
    struct rrset *soa = make_soa(compiler, serial);
    if (compiler->zone) {
        add_changed(compiler, &kept, &sets);
        zone = zone_next(compiler->zone, soa, sets.at, sets.count);
    } else {
        add_all(compiler, &kept, &sets);
        zone = zone_new(soa, sets.at, sets.count);
    }
    kept_done(&kept);
    free(sets.at);
    forget_changes(compiler);
    zone_unref(compiler->zone);
    compiler->zone = zone_ref(zone);
    return zone;
}

// ---- as a child ---------------------------------------------------------------------------------

static void forget_child(struct zone_compiler *compiler)
{
    rrset_unref(compiler->as_ns);
    for (size_t i = 0; i < compiler->as_count; i++)
        rrset_unref(compiler->as_addresses[i]);
    compiler->as_ns = NULL;
    compiler->as_count = 0;
}

static void push_address(struct zone_compiler *compiler, struct rrset *set)
{
    if (!set->count) {
        rrset_unref(set);
        return;
    }
    mem_reserve(&compiler->as_addresses, &compiler->as_capacity, compiler->as_count + 1);
    compiler->as_addresses[compiler->as_count++] = set;
}

// What a query for the target's addresses is answered, by a wildcard as well.
static void add_addresses(struct zone_compiler *compiler, struct kept *kept,
                          const struct zone_node *target)
{
    uint8_t octets[DNAME_MAX];
    size_t from = 0;
    struct zone_look look = zone_look(compiler, target);
    struct dname owner = zone_node_name(compiler, target, octets);
    if (look.kind == LOOK_NOTHING)
        return;
    collect(kept, look.kind == LOOK_HERE ? look.node : target);
    push_address(compiler, find_set(compiler, kept, &from, owner, RR_A));
    push_address(compiler, find_set(compiler, kept, &from, owner, RR_AAAA));
}

void zone_output_as_child(struct zone_compiler *compiler)
{
    const struct zone_node *apex = compiler->apex;
    struct kept kept = {0};
    size_t from = 0;
    forget_child(compiler);
    collect(&kept, apex);
    struct rrset *ns = find_set(compiler, &kept, &from, zone_apex_of(compiler), RR_NS);
    if (ns->count)
        compiler->as_ns = ns;
    else
        rrset_unref(ns);
    for (const struct zone_record *at = apex->records; at; at = at->next) {
        const struct zone_link *link = zone_record_link(at);
        if (at->type == RR_NS && at->flags & RECORD_COUNTED && link)
            add_addresses(compiler, &kept, link->target);
    }
    kept_done(&kept);
}

void zone_compiler_as_child(const struct zone_compiler *compiler, struct zone_child *out)
{
    *out = (struct zone_child){
        .apex = zone_apex_of(compiler),
        .ns = compiler->as_ns,
        .addresses = (const struct rrset *const *)compiler->as_addresses,
        .address_count = compiler->as_count,
    };
}

void zone_output_done(struct zone_compiler *compiler)
{
    zone_output_reset(compiler);
    forget_child(compiler);
    free(compiler->as_addresses);
    free(compiler->changes);
    compiler->changes = NULL;
    compiler->change_capacity = 0;
}
