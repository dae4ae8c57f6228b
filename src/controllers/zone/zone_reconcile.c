#include <inttypes.h>
#include <string.h>

#include "controllers/zone/zone_reconcile.h"
#include "controllers/zone/zone_text.h"
#include "controllers/zone/zonefiles.h"
#include "controllers/zone/zones.h"
#include "dns/serial.h"
#include "kinds/zone_ref.h"

enum { READ_AGAIN_MS = 10000 };

struct reconcile {
    const struct snapshot *in;
    struct decision *out;
    struct arena *arena;
    struct zones *zones;
    struct zone_life *life;
    struct zone_tree_zone view;
    struct zone_spec spec;
    struct zone_status ours;
    struct zone_status status; // as it is to be
    const struct zones_group *group;
    const struct zone *published; // the version that is served, if it has the stored serial
    struct server_view *servers;  // of the snapshot, with the fetches that the status knows of
    // The version whose hash and serial this decision puts into the status; NULL: the stored ones
    // stay.
    const struct zone *numbered;
    size_t entry_octets; // of the entries that this decision puts into the status; 0: none
};

static int64_t now_s(const struct reconcile *reconcile)
{
    return reconcile->in->now_ms / 1000;
}

// ---- numbering ----------------------------------------------------------------------------------

// Of the newest version that was served from here, which a store restored from a backup may not
// know, and of what servers answer that do not sign: those have serials of their own.
static size_t serials_to_exceed(const struct reconcile *reconcile, uint32_t *out)
{
    size_t count = 0;
    if (reconcile->in->known)
        out[count++] = zone_serial(reconcile->in->known);
    for (size_t i = 0; i < reconcile->in->server_count; i++) {
        const struct server_view *server = &reconcile->servers[i];
        if (server->has_serial && server->is_believed && !server->signs)
            out[count++] = server->serial;
    }
    return count;
}

static struct serial_inputs serial_inputs_of(const struct reconcile *reconcile, uint32_t *servers)
{
    return (struct serial_inputs){
        .has_old = reconcile->ours.has_serial,
        .old = reconcile->ours.serial,
        .policy = reconcile->spec.serial_policy,
        .unix_s = now_s(reconcile),
        .has_minimum = reconcile->spec.has_minimum_serial,
        .minimum = reconcile->spec.minimum_serial,
        .servers = servers,
        .server_count = serials_to_exceed(reconcile, servers),
    };
}

static struct text text_in(const struct reconcile *reconcile, const char *text)
{
    return text_of(arena_copy_text(reconcile->arena, text));
}

static bool has_hash(const struct reconcile *reconcile, const struct zone_content *content)
{
    return content->zone && text_is(reconcile->ours.hash, content->hash);
}

// The version whose hash and serial the store has; the model notes it as stored. NULL: it is not in
// memory, or is of an older name of the zone.
static const struct zone *stored_zone(const struct reconcile *reconcile)
{
    struct zone_life *life = reconcile->life;
    bool is_known = reconcile->ours.has_serial &&
                    zone_life_note_stored(life, reconcile->ours.hash, reconcile->ours.serial);
    // A zone that has been renamed has its old name there until its new one is written.
    return is_known && dname_equal(zone_apex(life->stored.zone), reconcile->view.fqdn)
               ? life->stored.zone
               : NULL;
}

static void keep_content(struct reconcile *reconcile)
{
    struct zone_status *status = &reconcile->status;
    status->hash = reconcile->ours.hash;
    status->has_serial = reconcile->ours.has_serial;
    status->serial = reconcile->ours.serial;
    status->keeps_entries = reconcile->ours.keeps_entries;
    status->entries_complete = reconcile->ours.entries_complete;
    status->entries_total = reconcile->ours.entries_total;
    status->nameservers = reconcile->ours.nameservers;
    status->nameserver_count = reconcile->ours.nameserver_count;
}

static size_t entry_limit(const struct reconcile *reconcile)
{
    return (size_t)zones_settings(reconcile->zones)->status_entries;
}

static void put_content(struct reconcile *reconcile, const struct zone_content *content)
{
    struct zone_status *status = &reconcile->status;
    reconcile->numbered = content->zone;
    status->hash = text_in(reconcile, content->hash);
    status->has_serial = true;
    status->serial = zone_serial(content->zone);
    reconcile->entry_octets =
        zone_entries_put(reconcile->arena, content->zone, entry_limit(reconcile), status);
}

static void report_change(struct reconcile *reconcile, const struct zone_content *content)
{
    struct log_attr *attrs = arena_new_array(reconcile->arena, struct log_attr, 5);
    attrs[0] = LOG_TEXT("zone", zone_name_text(reconcile->arena, reconcile->view.fqdn));
    attrs[1] = LOG_INT("serial", zone_serial(content->zone));
    attrs[2] = LOG_INT("records", (int64_t)zone_record_count(content->zone));
    attrs[3] = LOG_TEXT("trace", reconcile->in->trace);
    attrs[4] = LOG_END;
    reconcile->out->lines[reconcile->out->line_count++] =
        (struct decision_line){LOG_INFO, "zone has a new serial", attrs};
}

// True if a server has our serial and did not fetch it from us: another primary gave it.
static bool is_serial_foreign(const struct reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->in->server_count; i++)
        if (reconcile->servers[i].is_believed &&
            zone_life_is_foreign(reconcile->life, &reconcile->servers[i]))
            return true;
    return false;
}

// The hash is short enough that somebody may write two contents that share it.
static bool is_same_content(const struct zone *stored, const struct zone *built)
{
    uint8_t digests[2][32];
    if (!stored || stored == built)
        return true;
    zone_digest(stored, digests[0]);
    zone_digest(built, digests[1]);
    return !memcmp(digests[0], digests[1], sizeof digests[0]);
}

// Compiles the content under the stored serial if it is the stored one; else, if we lead, under the
// next serial, which is then written to the store before it is served.
static void choose_content(struct reconcile *reconcile)
{
    uint32_t *servers =
        arena_new_array(reconcile->arena, uint32_t, reconcile->in->server_count + 2);
    struct serial_inputs inputs = serial_inputs_of(reconcile, servers);
    // Before zone_life_build(): that replaces `built`, which may be the stored version.
    const struct zone *stored = stored_zone(reconcile);
    const struct zone_content *content =
        zone_life_build(reconcile->life, reconcile->view.compiler, reconcile->ours.serial);
    if (has_hash(reconcile, content) && is_same_content(stored, content->zone) &&
        reconcile->ours.has_serial && !serial_is_behind(&inputs) && !is_serial_foreign(reconcile)) {
        put_content(reconcile, content);
        return;
    }
    if (!reconcile->in->is_leading) {
        keep_content(reconcile);
        return;
    }
    reconcile->life->is_new =
        !reconcile->ours.has_serial || (reconcile->life->is_new && !is_serial_foreign(reconcile));
    content = zone_life_build(reconcile->life, reconcile->view.compiler, serial_next(&inputs));
    zone_life_note_pending(reconcile->life);
    put_content(reconcile, content);
    report_change(reconcile, content);
}

// ---- what is served -----------------------------------------------------------------------------

static bool is_servable(const struct reconcile *reconcile)
{
    return reconcile->view.is_live && reconcile->view.ready == REASON_COMPILED;
}

// True if it was served, which a stored list of name servers tells, and its own fault keeps it from
// that now: the last good version stays.
static bool is_frozen(const struct reconcile *reconcile)
{
    bool was_served = reconcile->published || reconcile->ours.nameserver_count;
    if (!reconcile->view.is_live)
        return reconcile->published && zone_is_own_fault(reconcile->view.accepted);
    return was_served && reconcile->view.ready != REASON_COMPILED;
}

// After a restart, or when another process has led, the last good version is not in memory: it is
// made from status.entries.
static void recall_last_good(struct reconcile *reconcile)
{
    struct zone_status whole;
    if (!is_frozen(reconcile) || reconcile->published || !reconcile->ours.entries_complete)
        return;
    if (!reconcile->in->was_read) {
        reconcile->out->wants_whole = true;
        return;
    }
    if (!reconcile->in->whole) {
        decision_wake_at(reconcile->out, reconcile->in->now_ms + READ_AGAIN_MS);
        return;
    }
    zone_status_decode(reconcile->arena, reconcile->in->whole, &whole);
    struct zone *zone = zone_entries_read(reconcile->arena, reconcile->view.fqdn, &whole);
    if (!zone)
        return;
    zone_life_recall(reconcile->life, zone);
}

static void publish(struct reconcile *reconcile)
{
    struct publication *publication = &reconcile->out->publication;
    bool is_recalled = is_frozen(reconcile) && !reconcile->published;
    const struct zone *zone = is_servable(reconcile) || is_recalled ? stored_zone(reconcile) : NULL;
    if (!reconcile->view.has_fqdn || (!reconcile->view.is_live && !is_frozen(reconcile)))
        return;
    publication->what = zone                                             ? PUBLISH_ZONE
                        : reconcile->published                           ? PUBLISH_KEEP
                        : is_servable(reconcile) || is_frozen(reconcile) ? PUBLISH_UNAVAILABLE
                                                                         : PUBLISH_NOTHING;
    publication->was_served = reconcile->ours.nameserver_count > 0;
    publication->is_frozen = is_frozen(reconcile);
    publication->apex = reconcile->view.fqdn.at;
    publication->apex_len = reconcile->view.fqdn.len;
    publication->group = reconcile->group ? reconcile->group->name : NULL;
    publication->zone = zone;
    publication->next =
        is_servable(reconcile) && reconcile->numbered != zone ? reconcile->numbered : NULL;
}

// ---- servers ------------------------------------------------------------------------------------

// True if that is the group which the zone has now; the servers of the snapshot, and those in the
// stored status, may be of an earlier one.
static bool is_present_group(const struct reconcile *reconcile, struct text name)
{
    return reconcile->group ? text_is(name, reconcile->group->name) : !name.len;
}

static bool are_servers_of_group(const struct reconcile *reconcile)
{
    return is_present_group(reconcile, text_of(reconcile->in->server_group));
}

static void list_servers(struct reconcile *reconcile)
{
    size_t count = reconcile->in->server_count;
    struct zone_status_server *list =
        arena_new_array(reconcile->arena, struct zone_status_server, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct server_view *server = &reconcile->servers[i];
        list[i] = (struct zone_status_server){
            .name = text_of(server->name),
            .has_serial = server->has_serial,
            .serial = server->serial,
            .has_fetched = server->has_fetched,
            .fetched_serial = server->fetched,
            .state = zone_life_state(reconcile->life, server),
            .is_doubtful = server->is_recalled,
            .is_stuck = server->is_stuck,
        };
    }
    reconcile->status.servers = list;
    reconcile->status.server_count = count;
}

static bool are_current(const struct reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->in->server_count; i++)
        if (zone_life_state(reconcile->life, &reconcile->servers[i]) != SERVER_CURRENT)
            return false;
    return true;
}

// Until when servers may take to answer what is published; 0: that is over. (A clock that was set
// back ends it.)
static int64_t patience_ends_ms(const struct reconcile *reconcile)
{
    int64_t since_ms = reconcile->life->published_ms;
    bool is_over =
        reconcile->in->now_ms < since_ms || reconcile->in->now_ms >= since_ms + ZONE_PATIENCE_MS;
    return !since_ms || is_over ? 0 : since_ms + ZONE_PATIENCE_MS;
}

// True if a change is about to be published, or is published and servers may still take their time.
static bool is_on_its_way(const struct reconcile *reconcile)
{
    const struct zone_life *life = reconcile->life;
    if (!is_servable(reconcile) || !reconcile->group)
        return false;
    if (!life->published.zone || reconcile->out->publication.zone != life->published.zone)
        return reconcile->out->publication.what == PUBLISH_ZONE || reconcile->life->pending.zone;
    return !are_servers_of_group(reconcile) ||
           (!are_current(reconcile) && (!life->published_ms || patience_ends_ms(reconcile)));
}

static void set_condition(struct reconcile *reconcile, const char *type,
                          enum condition_status status, enum reason reason, const char *text)
{
    conditions_set(&reconcile->status.conditions, &reconcile->ours.conditions,
                   (struct condition){.type = type,
                                      .status = status,
                                      .reason = reason,
                                      .message = text,
                                      .observed_generation = reconcile->in->subject->generation},
                   now_s(reconcile));
}

static bool has_stuck_server(const struct reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->status.server_count; i++)
        if (reconcile->status.servers[i].is_stuck)
            return true;
    return false;
}

static void set_programmed(struct reconcile *reconcile)
{
    const struct condition *before = conditions_find(&reconcile->ours.conditions, "Programmed");
    enum reason reason = zone_programmed(&reconcile->status, reconcile->group != NULL);
    if (!is_servable(reconcile))
        reason = REASON_PENDING;
    else if (is_on_its_way(reconcile) && before)
        reason = before->reason;
    else if (is_on_its_way(reconcile))
        return;
    set_condition(reconcile, "Programmed",
                  reason == REASON_PUBLISHED || reason == REASON_NO_SERVERS ? CONDITION_TRUE
                                                                            : CONDITION_FALSE,
                  reason, zone_programmed_text(reconcile->arena, reason, &reconcile->status));
}

// What the store does not have of a server: only the snapshot tells.
static void refresh_server(const struct reconcile *reconcile, struct zone_status_server *server)
{
    server->is_doubtful = server->is_stuck = false;
    for (size_t i = 0; i < reconcile->in->server_count; i++)
        if (text_is(server->name, reconcile->servers[i].name)) {
            server->is_doubtful = reconcile->servers[i].is_recalled;
            server->is_stuck = reconcile->servers[i].is_stuck;
        }
}

// While a change is on its way the stored list stays, if it is of the zone's present group.
static void put_servers(struct reconcile *reconcile)
{
    bool is_early = is_on_its_way(reconcile);
    if (is_early)
        decision_wake_at(reconcile->out, patience_ends_ms(reconcile));
    if (!is_early && are_servers_of_group(reconcile)) {
        list_servers(reconcile);
        return;
    }
    if (!is_present_group(reconcile, reconcile->ours.server_group))
        return;
    reconcile->status.servers = reconcile->ours.servers;
    reconcile->status.server_count = reconcile->ours.server_count;
    for (size_t i = 0; i < reconcile->status.server_count; i++)
        refresh_server(reconcile, &reconcile->status.servers[i]);
}

// ---- conditions ---------------------------------------------------------------------------------

static void set_ready(struct reconcile *reconcile)
{
    enum reason reason =
        reconcile->view.accepted == REASON_ACCEPTED ? reconcile->view.ready : REASON_NOT_ACCEPTED;
    const char *text = reconcile->view.accepted == REASON_ACCEPTED ? reconcile->view.ready_text
                                                                   : "the zone is not accepted";
    set_condition(reconcile, "Ready", reason == REASON_COMPILED ? CONDITION_TRUE : CONDITION_FALSE,
                  reason,
                  zone_ready_text(reconcile->arena, text, is_frozen(reconcile),
                                  reconcile->published || reconcile->out->publication.zone ||
                                      reconcile->out->wants_whole));
}

// Octets of all entries as JSON. Of entries that stay as they are stored, those of the version that
// they were made of, if it is in memory; else 0: not known.
static size_t octets_of_entries(const struct reconcile *reconcile)
{
    struct zone_status as_stored = {.entry_count = 0};
    if (reconcile->entry_octets)
        return reconcile->entry_octets;
    const struct zone *zone = stored_zone(reconcile);
    if (!zone)
        zone = reconcile->published;
    return zone ? zone_entries_put(reconcile->arena, zone, entry_limit(reconcile), &as_stored) : 0;
}

static void set_warned(struct reconcile *reconcile)
{
    struct zone_tree_zone *view = &reconcile->view;
    zone_entries_warn(&reconcile->status, entry_limit(reconcile), octets_of_entries(reconcile),
                      view);
    if (!view->warning_count)
        return;
    set_condition(reconcile, "Warned", CONDITION_TRUE, view->warnings[0].reason,
                  zone_warnings_text(reconcile->arena, view->warnings, view->warning_count));
}

static void decide_content(struct reconcile *reconcile)
{
    bool compiles = reconcile->view.is_live && reconcile->view.compiler &&
                    (reconcile->view.ready == REASON_COMPILED ||
                     (reconcile->view.ready == REASON_NO_NAMESERVERS && !is_frozen(reconcile)));
    if (compiles)
        choose_content(reconcile);
    else
        keep_content(reconcile);
    if (reconcile->view.compiler)
        reconcile->status.excluded_count =
            (int64_t)zone_compiler_excluded_count(reconcile->view.compiler);
}

// NULL: there is none.
static const char *label_of(struct reconcile *reconcile, const struct object *named)
{
    char label[ZONE_LABEL_MAX];
    if (!named)
        return NULL;
    zone_label_write(object_name(named), object_namespace(named), label);
    return arena_copy_text(reconcile->arena, label);
}

static void put_labels(struct reconcile *reconcile)
{
    const struct object *file =
        zonefiles_only(zones_files(reconcile->zones), reconcile->in->subject);
    const struct zone_label labels[] = {
        {ZONE_PARENT_LABEL, reconcile->ours.parent_label,
         label_of(reconcile, reconcile->view.parent)},
        {ZONE_FILE_LABEL, reconcile->ours.file_label, label_of(reconcile, file)},
    };
    zone_labels_want(reconcile->arena, reconcile->out, labels, COUNT_OF(labels));
}

static void copy_servers(struct reconcile *reconcile)
{
    size_t count = reconcile->in->server_count;
    reconcile->servers = arena_new_array(reconcile->arena, struct server_view, count + 1);
    if (count)
        memcpy(reconcile->servers, reconcile->in->servers, count * sizeof *reconcile->servers);
    zone_life_recall_fetches(&reconcile->ours, reconcile->in->server_group, reconcile->servers,
                             count);
}

// NULL if another process has led since and has written another serial: then our version is old,
// and none until the one that is stored is in memory.
static const struct zone *published_of(const struct reconcile *reconcile)
{
    const struct zone *zone = reconcile->in->published;
    bool is_old = zone && reconcile->ours.has_serial && zone_serial(zone) != reconcile->ours.serial;
    return is_old ? NULL : zone;
}

// To servers a zone that is renamed is another one: what was published under the old name is not
// served any more, and of what is stored only the serial stays. A zone that has no name for a while
// keeps all that it had.
static void leave_old_name(struct reconcile *reconcile, struct snapshot *in)
{
    struct dname served = {in->apex, in->apex_len};
    struct zone_status *ours = &reconcile->ours;
    struct text left = ours->content_fqdn.len ? ours->content_fqdn : ours->fqdn;
    ours->keeps_entries =
        !reconcile->view.has_fqdn || !left.len || text_equal(left, reconcile->status.fqdn);
    if (!ours->keeps_entries) {
        ours->nameserver_count = ours->server_count = 0;
        ours->hash = (struct text){0};
        ours->entries_complete = false;
        ours->entries_total = 0;
    }
    if (in->apex && !(reconcile->view.has_fqdn && dname_equal(served, reconcile->view.fqdn))) {
        in->published = NULL;
        in->server_count = 0;
        in->server_group = NULL;
    }
}

static bool reconcile_init(struct reconcile *reconcile, struct snapshot *in)
{
    zone_unpack(reconcile->arena, object_spec(in->subject), object_managed(in->subject),
                &reconcile->spec, &reconcile->ours);
    reconcile->life = zones_life(reconcile->zones, in->subject);
    reconcile->group = zones_group_of(reconcile->zones, &reconcile->spec, &reconcile->ours);
    if (!reconcile->life || !zone_tree_zone(zones_zone_tree(reconcile->zones), reconcile->arena,
                                            in->subject, &reconcile->view))
        return false;
    if (reconcile->view.has_fqdn)
        reconcile->status.fqdn =
            text_in(reconcile, zone_name_text(reconcile->arena, reconcile->view.fqdn));
    leave_old_name(reconcile, in);
    copy_servers(reconcile);
    reconcile->published = published_of(reconcile);
    return true;
}

void zone_decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    struct snapshot in = *snapshot;
    struct reconcile reconcile = {.in = &in, .out = out, .arena = snapshot->arena, .zones = model};
    if (!in.subject || !reconcile_init(&reconcile, &in))
        return;
    reconcile.status.observed_generation = snapshot->subject->generation;
    if (reconcile.group)
        reconcile.status.server_group = text_in(&reconcile, reconcile.group->name);
    else if (reconcile.view.accepted == REASON_UNKNOWN_SERVERS)
        reconcile.status.server_group = reconcile.ours.server_group;
    decide_content(&reconcile);
    recall_last_good(&reconcile); // publish() finds it
    publish(&reconcile);
    put_servers(&reconcile);
    if (reconcile.view.accepted != REASON_ACCEPTED)
        out->obstacle = (struct decision_obstacle){reason_name(reconcile.view.accepted),
                                                   reconcile.view.accepted_text};
    set_condition(&reconcile, "Accepted",
                  reconcile.view.accepted == REASON_ACCEPTED ? CONDITION_TRUE : CONDITION_FALSE,
                  reconcile.view.accepted, reconcile.view.accepted_text);
    set_ready(&reconcile);
    set_programmed(&reconcile);
    set_warned(&reconcile);
    put_labels(&reconcile);
    if (zone_is_label_first(snapshot, out))
        out->line_count = 0;
    else
        zone_events(out, &reconcile.ours.conditions, &reconcile.status.conditions,
                    has_stuck_server(&reconcile));
    out->status = zone_status_encode(reconcile.arena, &reconcile.status);
}
