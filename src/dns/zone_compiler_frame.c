#include <stdlib.h>
#include <string.h>

#include "dns/zone_compiler_private.h"

enum { MINIMUM_MAX_S = 10800 }; // RFC 2308 5

// ---- records that are given ---------------------------------------------------------------------

static struct zone_record *give(struct zone_compiler *compiler, struct dname owner, uint16_t type,
                                struct text rdata, uint32_t flag)
{
    struct zone_entry entry = {.owner = owner, .type = type, .rdata = rdata};
    return zone_record_put(compiler, &entry, flag);
}

static void give_of_frame(struct zone_compiler *compiler, struct dname owner, uint16_t type,
                          struct text rdata)
{
    mem_reserve(&compiler->frame_records, &compiler->frame_record_capacity,
                compiler->frame_record_count + 1);
    compiler->frame_records[compiler->frame_record_count++] =
        give(compiler, owner, type, rdata, RECORD_OF_FRAME);
}

static struct dname name_of(const struct zone_server *server)
{
    return (struct dname){server->name, server->name_len};
}

static bool is_in_zone(const struct zone_compiler *compiler, const struct zone_server *server)
{
    return dname_is_within(name_of(server), zone_apex_of(compiler));
}

static void give_server(struct zone_compiler *compiler, const struct zone_server *server)
{
    struct dname name = name_of(server);
    give_of_frame(compiler, zone_apex_of(compiler), RR_NS,
                  (struct text){(const char *)name.at, name.len});
    for (size_t i = 0; i < server->address_count && is_in_zone(compiler, server); i++) {
        struct text address = {(const char *)server->addresses[i], server->lengths[i]};
        give_of_frame(compiler, name, address.len == 4 ? RR_A : RR_AAAA, address);
    }
}

static const struct zone_servers *wanted_servers(const struct zone_compiler *compiler)
{
    if (compiler->nameservers.count)
        return &compiler->nameservers;
    return compiler->apex_ns_count ? NULL : &compiler->fallbacks;
}

void zone_frame_settle(struct zone_compiler *compiler)
{
    const struct zone_servers *wanted = wanted_servers(compiler);
    if (wanted == compiler->serving && !compiler->is_frame_stale)
        return;
    for (size_t i = 0; i < compiler->frame_record_count; i++)
        zone_record_remove(compiler, compiler->frame_records[i]);
    compiler->frame_record_count = 0;
    for (size_t i = 0; wanted && i < wanted->count; i++)
        give_server(compiler, &wanted->at[i]);
    compiler->serving = wanted;
    compiler->is_frame_stale = false;
}

// ---- the frame ----------------------------------------------------------------------------------

static void servers_done(struct zone_servers *servers)
{
    for (size_t i = 0; i < servers->count; i++) {
        free(servers->at[i].addresses);
        free(servers->at[i].lengths);
    }
    free(servers->at);
    *servers = (struct zone_servers){0};
}

static void copy_server(struct zone_server *server, const struct zone_nameserver *from)
{
    memcpy(server->name, from->name.at, from->name.len);
    server->name_len = (uint8_t)from->name.len;
    server->address_count = from->address_count;
    server->addresses = mem_new(from->address_count, sizeof *server->addresses);
    server->lengths = mem_new_array(uint8_t, from->address_count);
    for (size_t i = 0; i < from->address_count; i++) {
        server->lengths[i] = (uint8_t)from->addresses[i].len;
        memcpy(server->addresses[i], from->addresses[i].at, from->addresses[i].len);
    }
}

static bool is_same_server(const struct zone_server *server, const struct zone_nameserver *other)
{
    if (!dname_equal(name_of(server), other->name) || server->address_count != other->address_count)
        return false;
    for (size_t i = 0; i < server->address_count; i++) {
        struct text address = {(const char *)server->addresses[i], server->lengths[i]};
        if (!text_equal(address, other->addresses[i]))
            return false;
    }
    return true;
}

static void set_servers(struct zone_compiler *compiler, struct zone_servers *servers,
                        const struct zone_nameserver *from, size_t count)
{
    bool is_same = servers->count == count;
    for (size_t i = 0; is_same && i < count; i++)
        is_same = is_same_server(&servers->at[i], &from[i]);
    if (is_same)
        return;
    servers_done(servers);
    servers->at = mem_new_array(struct zone_server, count);
    servers->count = count;
    for (size_t i = 0; i < count; i++)
        copy_server(&servers->at[i], &from[i]);
    compiler->is_frame_stale = true;
}

static void copy_name(uint8_t out[DNAME_MAX], struct dname *name)
{
    if (name->len)
        memcpy(out, name->at, name->len);
    name->at = out;
}

void zone_compiler_set_frame(struct zone_compiler *compiler, const struct zone_frame *frame)
{
    struct zone_node *top = compiler->apex;
    bool is_other_ttl = compiler->frame.ttl_s != frame->ttl_s;
    bool has_other_limits =
        compiler->frame.limits.records_per_type != frame->limits.records_per_type ||
        compiler->frame.limits.types_per_name != frame->limits.types_per_name;
    compiler->frame = *frame;
    copy_name(compiler->mname, &compiler->frame.mname);
    copy_name(compiler->rname, &compiler->frame.rname);
    set_servers(compiler, &compiler->nameservers, frame->nameservers, frame->nameserver_count);
    set_servers(compiler, &compiler->fallbacks, frame->fallbacks, frame->fallback_count);
    for (struct zone_node *node = has_other_limits ? top : NULL; node;
         node = zone_node_after(top, node, false))
        if (node->records)
            zone_node_mark(&compiler->own, node, NODE_OWN);
    if (!is_other_ttl)
        return;
    zone_output_reset(compiler);
    for (struct zone_node *node = top; node; node = zone_node_after(top, node, false))
        zone_node_mark(&compiler->eval, node, NODE_EVAL);
}

void zone_frame_done(struct zone_compiler *compiler)
{
    servers_done(&compiler->nameservers);
    servers_done(&compiler->fallbacks);
    free(compiler->frame_records);
    for (size_t i = 0; i < compiler->below_count; i++)
        free(compiler->below[i].records);
    free(compiler->below);
}

// The target of the first NS record in canonical order.
static bool first_ns(const struct zone_compiler *compiler, struct dname *name)
{
    const struct zone_record *first = NULL;
    for (const struct zone_record *at = compiler->apex->records; at; at = at->next) {
        if (at->type != RR_NS || !(at->flags & RECORD_KEPT))
            continue;
        if (!first || text_compare(zone_record_rdata(at), zone_record_rdata(first)) < 0)
            first = at;
    }
    return first && zone_record_target(first, name);
}

struct dname zone_frame_mname(const struct zone_compiler *compiler, uint8_t out[DNAME_MAX])
{
    struct dname name;
    if (compiler->frame.has_mname)
        return (struct dname){compiler->mname, compiler->frame.mname.len};
    if (compiler->serving && compiler->serving->count)
        return name_of(&compiler->serving->at[0]);
    if (first_ns(compiler, &name))
        return name;
    if (compiler->apex_len + 3 > DNAME_MAX)
        return zone_apex_of(compiler);
    memcpy(out, "\2ns", 3);
    memcpy(out + 3, compiler->apex_name, compiler->apex_len);
    return (struct dname){out, compiler->apex_len + 3};
}

// ---- zones below --------------------------------------------------------------------------------

// Goes through the records that a child gives, in a fixed order.
struct gifts {
    const struct zone_child *child;
    size_t set; // 0: NS
    size_t cursor;
};

static const struct rrset *next_gift(struct gifts *gifts, struct text *rdata)
{
    while (gifts->set <= gifts->child->address_count) {
        const struct rrset *set =
            gifts->set ? gifts->child->addresses[gifts->set - 1] : gifts->child->ns;
        if (set && rrset_next(set, &gifts->cursor, rdata))
            return set;
        gifts->set++;
        gifts->cursor = 0;
    }
    return NULL;
}

static bool is_gift(const struct zone_compiler *compiler, const struct zone_record *record,
                    const struct rrset *set, struct text rdata)
{
    uint8_t owner[DNAME_MAX];
    return record->type == set->type && record->ttl_s == set->ttl_s &&
           text_equal(zone_record_rdata(record), rdata) &&
           dname_equal(zone_node_name(compiler, record->node, owner), rrset_owner(set));
}

static bool is_same_child(const struct zone_compiler *compiler, const struct zone_below *below,
                          const struct zone_child *child)
{
    struct gifts gifts = {.child = child};
    struct text rdata;
    const struct rrset *set;
    size_t count = 0;
    for (; (set = next_gift(&gifts, &rdata)); count++)
        if (count == below->count || !is_gift(compiler, below->records[count], set, rdata))
            return false;
    return count == below->count;
}

static void drop_gifts(struct zone_compiler *compiler, struct zone_below *below)
{
    for (size_t i = 0; i < below->count; i++)
        zone_record_remove(compiler, below->records[i]);
    below->count = 0;
}

static void take_gifts(struct zone_compiler *compiler, struct zone_below *below,
                       const struct zone_child *child)
{
    struct gifts gifts = {.child = child};
    struct text rdata;
    const struct rrset *set;
    while ((set = next_gift(&gifts, &rdata))) {
        struct zone_entry entry = {
            .owner = rrset_owner(set),
            .type = set->type,
            .has_ttl = true,
            .ttl_s = set->ttl_s,
            .rdata = rdata,
        };
        mem_reserve(&below->records, &below->capacity, below->count + 1);
        below->records[below->count++] = zone_record_put(compiler, &entry, RECORD_OF_CHILD);
    }
}

static int compare_below(const void *a, const void *b)
{
    const struct zone_below *left = a;
    const struct zone_below *right = b;
    uintptr_t x = (uintptr_t)left->node;
    uintptr_t y = (uintptr_t)right->node;
    return (x > y) - (x < y);
}

static void mark_child(struct zone_compiler *compiler, struct zone_node *node, bool is_child)
{
    node->flags &= ~(uint32_t)NODE_IS_CHILD;
    node->flags |= is_child ? NODE_IS_CHILD : 0;
    zone_node_mark(&compiler->own, node, NODE_OWN);
    if (!is_child)
        zone_node_mark(&compiler->fading, node, NODE_FADING);
}

static bool is_below(const struct zone_compiler *compiler, struct dname name)
{
    return name.len > compiler->apex_len && dname_is_within(name, zone_apex_of(compiler));
}

static void set_child(struct zone_compiler *compiler, size_t known, const struct zone_child *child)
{
    struct zone_below key = {.node = zone_node_add(compiler, child->apex)};
    struct zone_below *below =
        known ? bsearch(&key, compiler->below, known, sizeof key, compare_below) : NULL;
    if (below) {
        below->is_stale = false;
        if (is_same_child(compiler, below, child))
            return;
        drop_gifts(compiler, below);
        take_gifts(compiler, below, child);
        return;
    }
    if (key.node->flags & NODE_IS_CHILD)
        return; // given twice
    mark_child(compiler, key.node, true);
    take_gifts(compiler, &key, child);
    mem_reserve(&compiler->below, &compiler->below_capacity, compiler->below_count + 1);
    compiler->below[compiler->below_count++] = key;
}

static void drop_stale(struct zone_compiler *compiler)
{
    size_t kept = 0;
    for (size_t i = 0; i < compiler->below_count; i++) {
        struct zone_below *below = &compiler->below[i];
        if (!below->is_stale) {
            compiler->below[kept++] = *below;
            continue;
        }
        drop_gifts(compiler, below);
        free(below->records);
        mark_child(compiler, below->node, false);
    }
    compiler->below_count = kept;
}

void zone_compiler_set_children(struct zone_compiler *compiler, const struct zone_child *children,
                                size_t count)
{
    size_t known = compiler->below_count;
    if (known)
        qsort(compiler->below, known, sizeof *compiler->below, compare_below);
    for (size_t i = 0; i < known; i++)
        compiler->below[i].is_stale = true;
    for (size_t i = 0; i < count; i++)
        if (is_below(compiler, children[i].apex))
            set_child(compiler, known, &children[i]);
    drop_stale(compiler);
}

// ---- what is wrong with the zone ----------------------------------------------------------------

static enum zone_reason fault_of_ns(const struct zone_compiler *compiler,
                                    const struct zone_record *record)
{
    const struct zone_link *link = zone_record_link(record);
    if (record->type != RR_NS || !(record->flags & RECORD_KEPT) || !link)
        return ZONE_FINE;
    struct zone_look look = zone_look(compiler, link->target);
    if (zone_look_alias(look))
        return ZONE_NS_TARGET_IS_ALIAS;
    bool has_address = look.kind == LOOK_CUT
                           ? zone_node_has_glue(link->target)
                           : look.kind == LOOK_HERE && look.node->flags & NODE_HAS_ADDRESS;
    return has_address ? ZONE_FINE : ZONE_MISSING_ADDRESS;
}

static size_t label_to_octet(const uint8_t *label)
{
    int64_t number;
    struct text digits = {(const char *)label + 1, *label};
    return text_to_int64(digits, &number) && number >= 0 && number <= UINT8_MAX;
}

// 192.0.2.1, as it was written or completed with the apex.
static bool is_address(const struct zone_compiler *compiler, struct dname name)
{
    struct dname rest = name;
    for (size_t i = 0; i < 4; i++) {
        if (dname_is_root(rest) || !label_to_octet(rest.at))
            return false;
        rest = dname_parent(rest);
    }
    return dname_is_root(rest) || dname_equal(rest, zone_apex_of(compiler));
}

static enum zone_reason report_fault(struct buffer *text, struct dname name,
                                     enum zone_reason reason, const char *what)
{
    dname_write(text, name);
    buffer_printf(text, " %s", what);
    return reason;
}

static enum zone_reason fault_of_servers(const struct zone_compiler *compiler, struct buffer *text)
{
    for (size_t i = 0; compiler->serving && i < compiler->serving->count; i++) {
        struct dname name = name_of(&compiler->serving->at[i]);
        if (is_address(compiler, name))
            return report_fault(text, name, ZONE_NS_TARGET_IS_ADDRESS,
                                "is an address: a name server is given by its name, with addresses "
                                "beside it");
    }
    return ZONE_FINE;
}

static enum zone_reason fault_of_apex(const struct zone_compiler *compiler, struct buffer *text)
{
    static const struct {
        enum zone_reason reason;
        const char *what;
    } rows[] = {
        {ZONE_NS_TARGET_IS_ALIAS,
         "is an alias, and a name server of the zone: give it A or AAAA records of its own"},
        {ZONE_MISSING_ADDRESS,
         "has no address records (A or AAAA), and is a name server of the zone: add some"},
    };
    struct dname name;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (const struct zone_record *at = compiler->apex->records; at; at = at->next)
            if (fault_of_ns(compiler, at) == rows[i].reason && zone_record_target(at, &name))
                return report_fault(text, name, rows[i].reason, rows[i].what);
    return ZONE_FINE;
}

static size_t count_ns(const struct zone_compiler *compiler)
{
    size_t count = 0;
    for (const struct zone_record *at = compiler->apex->records; at; at = at->next)
        count += at->type == RR_NS && at->flags & RECORD_COUNTED;
    return count;
}

enum zone_reason zone_compiler_fault(const struct zone_compiler *compiler, struct buffer *text)
{
    if (!count_ns(compiler)) {
        buffer_add_text(text, "no NS records at the apex: set nameservers, or add NS records");
        return ZONE_NO_NAMESERVERS;
    }
    enum zone_reason reason = fault_of_servers(compiler, text);
    if (!reason)
        reason = fault_of_apex(compiler, text);
    if (reason || (zone_compiler_record_count(compiler) <= ZONE_RECORDS_MAX &&
                   compiler->rdata_octets <= ZONE_RDATA_MAX))
        return reason;
    buffer_printf(text, "%zu records with %zu MiB of rdata: at most %d and %d MiB are served",
                  zone_compiler_record_count(compiler), compiler->rdata_octets >> 20,
                  ZONE_RECORDS_MAX, ZONE_RDATA_MAX >> 20);
    return ZONE_TOO_LARGE;
}

// ---- warnings -----------------------------------------------------------------------------------

typedef void warn(void *context, enum zone_reason reason, struct text text);

static bool is_warned(const struct zone_record *record, enum zone_reason reason)
{
    return record->reason == reason ||
           (reason == ZONE_MISSING_SIBLING_GLUE && !record->reason && record->warnings);
}

static int compare_reported(const void *a, const void *b, void *context)
{
    const struct zone_record *left = *(const struct zone_record *const *)a;
    const struct zone_record *right = *(const struct zone_record *const *)b;
    uint8_t x[DNAME_MAX];
    uint8_t y[DNAME_MAX];
    int order = dname_compare(zone_node_name(context, left->node, x),
                              zone_node_name(context, right->node, y));
    return order ? order : text_compare(zone_record_rdata(left), zone_record_rdata(right));
}

// Those of children that are told of, by name: where their nodes lie must not be seen.
static const struct zone_record **reported_of_children(const struct zone_compiler *compiler,
                                                       size_t *count)
{
    const struct zone_record **reported =
        mem_new_array(const struct zone_record *, compiler->reported_count + 1);
    *count = 0;
    for (size_t i = 0; compiler->reported_count && i < compiler->below_count; i++)
        for (size_t j = 0; j < compiler->below[i].count; j++)
            if (compiler->below[i].records[j]->flags & RECORD_REPORTED)
                reported[(*count)++] = compiler->below[i].records[j];
    if (*count)
        qsort_r(reported, *count, sizeof *reported, compare_reported, (void *)(uintptr_t)compiler);
    return reported;
}

static void warn_of_children(const struct zone_compiler *compiler, enum zone_reason reason,
                             warn *call, void *context)
{
    AUTO_BUFFER text = {0};
    size_t count;
    autofree const struct zone_record **reported = reported_of_children(compiler, &count);
    for (size_t i = 0; i < count; i++) {
        if (!is_warned(reported[i], reason))
            continue;
        buffer_clear(&text);
        zone_compiler_explain(compiler, reported[i], reason, &text);
        call(context, reason, buffer_text(&text));
    }
}

static bool is_ns_name(const struct zone_compiler *compiler, struct dname name)
{
    struct dname target;
    for (const struct zone_record *at = compiler->apex->records; at; at = at->next)
        if (at->type == RR_NS && at->flags & RECORD_KEPT && zone_record_target(at, &target) &&
            dname_equal(name, target))
            return true;
    return false;
}

static void warn_of_mname(const struct zone_compiler *compiler, warn *call, void *context)
{
    AUTO_BUFFER text = {0};
    uint8_t octets[DNAME_MAX];
    struct dname name = zone_frame_mname(compiler, octets);
    bool is_in = dname_is_within(name, zone_apex_of(compiler));
    if (is_ns_name(compiler, name) ||
        (is_in && zone_look_name(compiler, name).kind != LOOK_NOTHING))
        return;
    dname_write(&text, name);
    buffer_add_text(&text,
                    " of the SOA record is neither a name server of the zone nor a name in it");
    call(context, ZONE_MNAME_NOT_IN_NS, buffer_text(&text));
}

static void warn_of_timers(const struct zone_compiler *compiler, warn *call, void *context)
{
    const struct zone_frame *frame = &compiler->frame;
    AUTO_BUFFER text = {0};
    if (frame->retry_s >= frame->refresh_s)
        buffer_printf(&text, "retry %u is not below refresh %u", frame->retry_s, frame->refresh_s);
    if (frame->expire_s <= (uint64_t)frame->refresh_s + frame->retry_s)
        buffer_printf(&text, "%sexpire %u is not above refresh and retry together",
                      text.len ? "; " : "", frame->expire_s);
    if (frame->minimum_s > MINIMUM_MAX_S)
        buffer_printf(&text, "%snegative answers are kept for %u s, more than 10800",
                      text.len ? "; " : "", frame->minimum_s);
    if (text.len)
        call(context, ZONE_SOA_TIMERS, buffer_text(&text));
}

static void warn_of_addresses(const struct zone_compiler *compiler, warn *call, void *context)
{
    AUTO_BUFFER text = {0};
    for (size_t i = 0; compiler->serving && i < compiler->serving->count; i++) {
        const struct zone_server *server = &compiler->serving->at[i];
        if (!server->address_count || is_in_zone(compiler, server))
            continue;
        buffer_clear(&text);
        dname_write(&text, name_of(server));
        buffer_add_text(&text, " does not lie in the zone: its addresses are left out");
        call(context, ZONE_ADDRESS_IGNORED, buffer_text(&text));
    }
}

void zone_compiler_warnings(const struct zone_compiler *compiler, warn *call, void *context)
{
    warn_of_children(compiler, ZONE_NS_TARGET_IS_ALIAS, call, context);
    warn_of_children(compiler, ZONE_MISSING_GLUE, call, context);
    warn_of_children(compiler, ZONE_MISSING_SIBLING_GLUE, call, context);
    if (count_ns(compiler) == 1)
        call(context, ZONE_SINGLE_NS, TEXT("the zone has one name server: two or more (RFC 2182)"));
    if (count_ns(compiler))
        warn_of_mname(compiler, call, context);
    warn_of_timers(compiler, call, context);
    warn_of_addresses(compiler, call, context);
}
