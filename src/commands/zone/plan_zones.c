#include "commands/zone/plan_zones.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/table.h"
#include "controllers/zone/zone_text.h"
#include "dns/rdata.h"
#include "dns/rr_type.h"
#include "dns/zone.h"
#include "kinds/zone/zone_kind.h"
#include "store/cache.h"

// Who has a zone served; NULL: nobody.
struct holder {
    const char *namespace_;
    const char *object;
    const char *group; // of servers; NULL: none
};

struct row {
    struct dname apex;
    const char *name; // without its final dot
    struct holder before;
    const char *hash;
    uint32_t serial;
    int64_t record_count;
    bool has_entries;       // its status has all of them
    const struct zone *old; // own reference; NULL: not known record by record
    struct holder after;
    const struct zone *new_; // own reference; NULL: what was served stays
};

struct plan_zones {
    struct arena *arena;
    const struct zones_config *config;
    struct row *rows;
    size_t count;
    size_t capacity;
    struct table by_apex;
    struct store *store;
    size_t asked_count;
    void (*answered)(void *context);
    void *context;
};

// ---- rows ---------------------------------------------------------------------------------------

static bool row_matches(const void *context, uint32_t id, const void *apex)
{
    const struct plan_zones *zones = context;
    return dname_equal(zones->rows[id].apex, *(const struct dname *)apex);
}

static uint64_t row_hash(const void *context, uint32_t id)
{
    const struct plan_zones *zones = context;
    return hash_octets(zones->rows[id].apex.at, zones->rows[id].apex.len);
}

static const struct table_ops row_ops = {row_matches, row_hash};

struct plan_zones *plan_zones_new(struct arena *arena, const struct zones_config *config)
{
    struct plan_zones *zones = mem_new_of(struct plan_zones);
    zones->arena = arena;
    zones->config = config;
    zones->by_apex = (struct table){.ops = &row_ops, .context = zones};
    return zones;
}

void plan_zones_free(struct plan_zones *zones)
{
    if (!zones)
        return;
    for (size_t i = 0; i < zones->count; i++) {
        zone_unref(zones->rows[i].old);
        zone_unref(zones->rows[i].new_);
    }
    table_done(&zones->by_apex);
    free(zones->rows);
    free(zones);
}

static const char *copy(const struct plan_zones *zones, struct text text)
{
    return arena_copy(zones->arena, text.at ? text.at : "", text.len);
}

// "www.shop.example"
static const char *plain_name(struct arena *arena, struct dname name)
{
    AUTO_BUFFER text = {0};
    dname_write(&text, name);
    return arena_copy(arena, text.at, text.len > 1 ? text.len - 1 : text.len);
}

static struct row *row_of(struct plan_zones *zones, struct dname apex)
{
    uint64_t hash = hash_octets(apex.at, apex.len);
    uint32_t id = table_find(&zones->by_apex, hash, &apex);
    if (id != TABLE_NONE)
        return &zones->rows[id];
    mem_reserve(&zones->rows, &zones->capacity, zones->count + 1);
    const uint8_t *octets = (const uint8_t *)arena_copy(zones->arena, apex.at, apex.len);
    zones->rows[zones->count] =
        (struct row){.apex = {octets, apex.len}, .name = plain_name(zones->arena, apex)};
    table_add(&zones->by_apex, hash, (uint32_t)zones->count);
    return &zones->rows[zones->count++];
}

// ---- before -------------------------------------------------------------------------------------

// With name servers, and accepted but for its own mistake, which leaves the last good version
// served: else no server ever had it, or another Zone has its name.
static bool was_served(const struct zone_status *status)
{
    const struct condition *accepted = conditions_find(&status->conditions, "Accepted");
    return status->has_serial && status->nameserver_count && accepted &&
           (accepted->status == CONDITION_TRUE || zone_is_own_fault(accepted->reason));
}

static void take_status(const struct plan_zones *zones, struct row *row,
                        const struct zone_status *status)
{
    row->hash = copy(zones, status->hash);
    row->serial = status->serial;
    row->record_count = status->entries_total;
    row->has_entries = status->entries_complete;
    row->before.group = status->server_group.len ? copy(zones, status->server_group) : NULL;
}

// NULL: it was not served, or somebody else's row has the name.
static struct row *take_before(struct plan_zones *zones, const struct zone_status *status,
                               struct text namespace_, struct text name)
{
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    if (!was_served(status) || !dname_read(status->fqdn, NULL, DNAME_OF_FILE, octets, &apex, NULL))
        return NULL;
    struct row *row = row_of(zones, apex);
    if (row->before.object)
        return NULL;
    row->before =
        (struct holder){.namespace_ = copy(zones, namespace_), .object = copy(zones, name)};
    take_status(zones, row, status);
    return row;
}

static void take_entries(const struct plan_zones *zones, struct row *row, const struct value *tree)
{
    struct zone_status status = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    zone_status_decode(arena, tree, &status);
    if (!status.entries_complete)
        return;
    row->old = zone_entries_read(arena, row->apex, &status);
    if (row->old)
        take_status(zones, row, &status);
}

static void take_object(void *context, const struct object *object)
{
    struct zone_spec spec;
    struct zone_status status;
    struct plan_zones *zones = context;
    CLEANUP(arena) struct arena *arena = arena_new();
    zone_unpack(arena, object_spec(object), object_managed(object), &spec, &status);
    take_before(zones, &status, object_namespace(object), object_name(object));
}

void plan_zones_take_gone(struct plan_zones *zones, const struct value *tree)
{
    struct zone_status status = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    zone_status_decode(arena, tree, &status);
    struct row *row = take_before(zones, &status, value_text_at(tree, "metadata.namespace"),
                                  value_text_at(tree, "metadata.name"));
    if (row)
        take_entries(zones, row, tree);
}

// ---- after --------------------------------------------------------------------------------------

static void take_after(void *context, const struct engine_zone *zone)
{
    struct plan_zones *zones = context;
    struct row *row = row_of(zones, zone->apex);
    if (row->after.object)
        return;
    row->after = (struct holder){
        .namespace_ = copy(zones, object_namespace(zone->object)),
        .object = copy(zones, object_name(zone->object)),
        .group = zone->group ? arena_copy_text(zones->arena, zone->group) : NULL,
    };
    row->new_ = zone->zone ? zone_ref(zone->zone) : NULL;
}

// Whatever changes a record of a zone gives it a serial of its own.
static bool has_new_content(const struct row *row)
{
    char hash[21];
    if (!row->before.object || !row->after.object)
        return true;
    if (!row->new_)
        return false;
    zone_write_hash(row->new_, hash);
    return strcmp(row->hash, hash) != 0 || row->serial != zone_serial(row->new_);
}

struct parsed_query {
    struct plan_zones *zones;
    size_t row;
};

static void entries_came(void *context, const struct store_reply *reply)
{
    const struct parsed_query *asked = context;
    struct plan_zones *zones = asked->zones;
    if (reply->is_ok)
        take_entries(zones, &zones->rows[asked->row], reply->tree);
    zones->answered(zones->context);
}

static void ask(struct plan_zones *zones, size_t at)
{
    const struct row *row = &zones->rows[at];
    const struct object_ref_key key = {&zone_kind, text_of(row->before.namespace_),
                                       text_of(row->before.object)};
    struct parsed_query *asked = arena_new_of(zones->arena, struct parsed_query);
    *asked = (struct parsed_query){zones, at};
    zones->asked_count++;
    store_get(zones->store, &key, entries_came, asked);
}

size_t plan_zones_look(struct plan_zones *zones, const struct engine *engine, struct store *store,
                       void (*answered)(void *context), void *context)
{
    zones->store = store;
    zones->answered = answered;
    zones->context = context;
    engine_plan_zones(engine, take_after, zones);
    cache_each(store->cache, &zone_kind, take_object, zones);
    for (size_t i = 0; i < zones->count; i++) {
        const struct row *row = &zones->rows[i];
        if (row->before.object && row->has_entries && has_new_content(row))
            ask(zones, i);
    }
    return zones->asked_count;
}

// ---- telling ------------------------------------------------------------------------------------

struct teller {
    const struct plan_zones *zones;
    const struct row *row;
    struct proposal *proposal;
};

static const struct holder *holder_of(const struct row *row)
{
    return row->after.object ? &row->after : &row->before;
}

static struct proposal_zone zone_of(const struct teller *teller, enum proposal_part part)
{
    return (struct proposal_zone){.part = part,
                                  .apex = teller->row->name,
                                  .servers = holder_of(teller->row)->group,
                                  .name = teller->row->name,
                                  .records = -1,
                                  .records_before = -1};
}

static void add(const struct teller *teller, enum engine_act act, const struct holder *holder,
                const struct proposal_zone *zone)
{
    proposal_add_zone(teller->proposal, act, zone, &zone_kind, holder->namespace_, holder->object);
}

// Of one name and type, as they stand before and after; NULL: not there.
static void report_set(const struct teller *teller, const struct rrset *old,
                       const struct rrset *new_)
{
    char type[10];
    size_t cursor = 0;
    struct text rdata;
    struct arena *arena = teller->proposal->arena;
    const struct rrset *set = new_ ? new_ : old;
    struct proposal_zone zone = zone_of(teller, PROPOSAL_RECORDS);
    zone.name = plain_name(arena, rrset_owner(set));
    zone.type = arena_copy_text(arena, rr_type_write(set->type, type));
    zone.values = arena_new_array(arena, const char *, set->count + 1);
    zone.ttl_s = set->ttl_s;
    while (new_ && rrset_next(new_, &cursor, &rdata)) {
        AUTO_BUFFER text = {0};
        rdata_write(&text, set->type, rdata);
        zone.values[zone.value_count++] = arena_copy_text(arena, buffer_text(&text).at);
    }
    add(teller,
        !old   ? ENGINE_CREATE
        : new_ ? ENGINE_UPDATE
               : ENGINE_DELETE,
        holder_of(teller->row), &zone);
}

// All of a zone but its SOA, which goes or comes with it.
static void report_sets(const struct teller *teller, const struct zone *zone, bool is_old)
{
    struct zone_walk walk = {.zone = zone};
    for (const struct rrset *set; (set = zone_walk(&walk));)
        if (set->type != RR_SOA)
            report_set(teller, is_old ? set : NULL, is_old ? NULL : set);
}

// The serial depends on when it is made.
static struct rrset *soa_without_serial(const struct zone *zone)
{
    struct zone_soa soa;
    zone_soa_read(zone_soa(zone), &soa);
    soa.serial = 0;
    return zone_soa_set(zone_apex(zone), zone_soa(zone)->ttl_s, &soa);
}

static void report_soa(const struct teller *teller)
{
    struct rrset *old = soa_without_serial(teller->row->old);
    struct rrset *new_ = soa_without_serial(teller->row->new_);
    if (!rrset_equal(old, new_))
        report_set(teller, old, new_);
    rrset_unref(old);
    rrset_unref(new_);
}

static void report_delta(const struct teller *teller)
{
    const struct row *row = teller->row;
    struct zone_delta delta;
    size_t r = 0;
    zone_compare(row->old, row->new_, &delta);
    report_soa(teller);
    for (size_t a = 0; r < delta.removed_count || a < delta.added_count;) {
        int order = r == delta.removed_count ? 1
                    : a == delta.added_count ? -1
                                             : rrset_compare(delta.removed[r], delta.added[a]);
        const struct rrset *set = order <= 0 ? delta.removed[r] : delta.added[a];
        report_set(teller, zone_find(row->old, rrset_owner(set), set->type),
                   zone_find(row->new_, rrset_owner(set), set->type));
        r += order <= 0;
        a += order >= 0;
    }
    zone_delta_done(&delta);
}

// ---- members of catalogs ------------------------------------------------------------------------

// NULL: the holder's servers have none, or it is not known.
static const char *catalog_of(const struct teller *teller, const struct holder *holder)
{
    const struct zones_config *config = teller->zones->config;
    const struct zones_group *group = config && holder->object && holder->group
                                          ? zones_config_group(config, text_of(holder->group))
                                          : NULL;
    if (!group || !group->catalog_len)
        return NULL;
    return plain_name(teller->proposal->arena, (struct dname){group->catalog, group->catalog_len});
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool is_same_object(const struct row *row)
{
    return is_same_text(row->before.namespace_, row->after.namespace_) &&
           is_same_text(row->before.object, row->after.object);
}

// One that another Zone has from now on is another member to the servers.
static void report_member(const struct teller *teller)
{
    const struct row *row = teller->row;
    const char *old = catalog_of(teller, &row->before);
    const char *new_ = catalog_of(teller, &row->after);
    struct proposal_zone zone = zone_of(teller, PROPOSAL_MEMBER);
    if (is_same_text(old, new_) && (!old || is_same_object(row)))
        return;
    zone.catalog = old;
    if (old)
        add(teller, ENGINE_DELETE, &row->before, &zone);
    zone.catalog = new_;
    if (new_)
        add(teller, ENGINE_CREATE, &row->after, &zone);
}

// ---- the zone as a whole ------------------------------------------------------------------------

static void add_note(struct buffer *out, const char *text)
{
    buffer_printf(out, "%s%s", out->len ? "; " : "", text);
}

static void note_group(const struct row *row, struct buffer *out)
{
    if (is_same_text(row->before.group, row->after.group))
        return;
    add_note(out, "servers before: ");
    buffer_add_text(out, row->before.group ? row->before.group : "none");
}

static void note_object(const struct row *row, struct buffer *out)
{
    if (is_same_object(row))
        return;
    add_note(out, "");
    proposal_write_object(out, &zone_kind, row->before.namespace_, row->before.object);
    buffer_add_text(out, " had it before");
}

// All of it, unlike that of the status: a checksum stands for one content.
static const char *hash_of(struct arena *arena, const struct zone *zone)
{
    uint8_t digest[32];
    char hash[2 * sizeof digest + 1];
    zone_digest(zone, digest);
    hex_encode(digest, sizeof digest, hash);
    return arena_copy_text(arena, hash);
}

static void report_kept(const struct teller *teller, bool has_reported)
{
    AUTO_BUFFER text = {0};
    const struct row *row = teller->row;
    struct proposal_zone zone = zone_of(teller, PROPOSAL_ZONE);
    bool is_changed = has_new_content(row);
    note_group(row, &text);
    note_object(row, &text);
    if (is_changed && !row->old)
        add_note(&text, "status.entries does not tell which of them change");
    else if (is_changed && !has_reported)
        add_note(&text, "its serial is raised");
    if (!text.len)
        return;
    if (is_changed && !row->old)
        zone.hash = hash_of(teller->proposal->arena, row->new_);
    zone.note = arena_copy_text(teller->proposal->arena, text.at);
    zone.records = row->new_ ? (int64_t)zone_record_count(row->new_) : row->record_count;
    if (zone.records != row->record_count)
        zone.records_before = row->record_count;
    add(teller, ENGINE_UPDATE, &row->after, &zone);
}

static void report_changed(const struct teller *teller)
{
    const struct row *row = teller->row;
    size_t before = teller->proposal->count;
    if (row->old && row->new_)
        report_delta(teller);
    report_kept(teller, teller->proposal->count > before);
}

static void report_new(const struct teller *teller)
{
    const struct row *row = teller->row;
    struct proposal_zone zone = zone_of(teller, PROPOSAL_ZONE);
    zone.records = (int64_t)zone_record_count(row->new_);
    add(teller, ENGINE_CREATE, &row->after, &zone);
    report_sets(teller, row->new_, false);
}

static void report_gone(const struct teller *teller)
{
    const struct row *row = teller->row;
    struct proposal_zone zone = zone_of(teller, PROPOSAL_ZONE);
    zone.records_before = row->record_count;
    if (!row->old)
        zone.note = "status.entries does not tell which they are";
    add(teller, ENGINE_DELETE, &row->before, &zone);
    if (row->old)
        report_sets(teller, row->old, true);
}

static void report_row(const struct teller *teller)
{
    const struct row *row = teller->row;
    if (row->before.object && row->after.object)
        report_changed(teller);
    else if (row->before.object)
        report_gone(teller);
    else if (row->new_)
        report_new(teller);
    if (row->before.object || row->new_)
        report_member(teller);
}

void plan_zones_report(const struct plan_zones *zones, struct proposal *proposal)
{
    for (size_t i = 0; i < zones->count; i++) {
        struct row row = zones->rows[i];
        const struct teller teller = {zones, &row, proposal};
        if (!zones->config)
            row.after.group = row.before.group;
        report_row(&teller);
    }
}
