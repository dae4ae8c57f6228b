#include <inttypes.h>
#include <string.h>

#include "controllers/zone/zone_text.h"
#include "controllers/zone/zone_turns.h"
#include "controllers/zone/zonefiles.h"
#include "controllers/zone/zones.h"
#include "dns/serial.h"
#include "kinds/zone_ref.h"

enum { READ_AGAIN_MS = 10000 };

struct turn {
    const struct snapshot *in;
    struct verdict *out;
    struct arena *arena;
    struct zones *zones;
    struct zone_life *life;
    struct forest_zone view;
    struct zone_spec spec;
    struct zone_status ours;
    struct zone_status status; // as it is to be
    const struct zones_group *group;
    const struct zone *published; // that is answered, as the store has it
    struct server_view *servers;  // as many as the snapshot has
    const struct zone *numbered;  // under the hash and serial of the status; NULL: those stay
    size_t entry_octets;          // of the entries that this turn puts; 0: of none
};

static int64_t now_s(const struct turn *turn)
{
    return turn->in->now_ms / 1000;
}

// ---- numbering ----------------------------------------------------------------------------------

// What has gone out from here, though a store that was put back may not know it, and what servers
// answer of those whose own serials they are not.
static size_t believed_serials(const struct turn *turn, uint32_t *out)
{
    size_t count = 0;
    if (turn->in->known)
        out[count++] = zone_serial(turn->in->known);
    for (size_t i = 0; i < turn->in->server_count; i++) {
        const struct server_view *server = &turn->servers[i];
        if (server->has_serial && server->is_believed && !server->signs)
            out[count++] = server->serial;
    }
    return count;
}

static struct serial_inputs serial_inputs_of(const struct turn *turn, uint32_t *servers)
{
    return (struct serial_inputs){
        .has_old = turn->ours.has_serial,
        .old = turn->ours.serial,
        .policy = turn->spec.serial_policy,
        .unix_s = now_s(turn),
        .has_minimum = turn->spec.has_minimum_serial,
        .minimum = turn->spec.minimum_serial,
        .servers = servers,
        .server_count = believed_serials(turn, servers),
    };
}

static struct text text_in(const struct turn *turn, const char *text)
{
    return text_of(arena_copy_text(turn->arena, text));
}

static bool has_hash(const struct turn *turn, const struct zone_content *content)
{
    return content->zone && text_is(turn->ours.hash, content->hash);
}

// What the store has the hash and serial of; NULL: none that is known here.
static const struct zone *stored_zone(const struct turn *turn)
{
    struct zone_life *life = turn->life;
    bool is_known =
        turn->ours.has_serial && zone_life_store(life, turn->ours.hash, turn->ours.serial);
    // A zone that has been renamed has its old name there until its new one is written.
    return is_known && dname_equal(zone_apex(life->stored.zone), turn->view.fqdn)
               ? life->stored.zone
               : NULL;
}

static void keep_content(struct turn *turn)
{
    struct zone_status *status = &turn->status;
    status->hash = turn->ours.hash;
    status->has_serial = turn->ours.has_serial;
    status->serial = turn->ours.serial;
    status->keeps_entries = turn->ours.keeps_entries;
    status->entries_complete = turn->ours.entries_complete;
    status->entries_total = turn->ours.entries_total;
    status->nameservers = turn->ours.nameservers;
    status->nameserver_count = turn->ours.nameserver_count;
}

static size_t entry_limit(const struct turn *turn)
{
    return (size_t)zones_settings(turn->zones)->status_entries;
}

static void put_content(struct turn *turn, const struct zone_content *content)
{
    struct zone_status *status = &turn->status;
    turn->numbered = content->zone;
    status->hash = text_in(turn, content->hash);
    status->has_serial = true;
    status->serial = zone_serial(content->zone);
    turn->entry_octets = zone_entries_put(turn->arena, content->zone, entry_limit(turn), status);
}

static void tell_change(struct turn *turn, const struct zone_content *content)
{
    struct log_attr *attrs = arena_new_array(turn->arena, struct log_attr, 5);
    attrs[0] = LOG_TEXT("zone", zone_name_text(turn->arena, turn->view.fqdn));
    attrs[1] = LOG_INT("serial", zone_serial(content->zone));
    attrs[2] = LOG_INT("records", (int64_t)zone_record_count(content->zone));
    attrs[3] = LOG_TEXT("trace", turn->in->trace);
    attrs[4] = LOG_END;
    turn->out->lines[turn->out->line_count++] =
        (struct verdict_line){LOG_INFO, "zone has a new serial", attrs};
}

static bool is_taken(const struct turn *turn)
{
    for (size_t i = 0; i < turn->in->server_count; i++)
        if (turn->servers[i].is_believed && zone_life_is_foreign(turn->life, &turn->servers[i]))
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

// What stands in the store decides which content may go out, and under which serial.
static void number(struct turn *turn)
{
    uint32_t *servers = arena_new_array(turn->arena, uint32_t, turn->in->server_count + 2);
    struct serial_inputs inputs = serial_inputs_of(turn, servers);
    // What was written before is known as such before the next content is built.
    const struct zone *stored = stored_zone(turn);
    const struct zone_content *content =
        zone_life_build(turn->life, turn->view.compiler, turn->ours.serial);
    if (has_hash(turn, content) && is_same_content(stored, content->zone) &&
        turn->ours.has_serial && !serial_is_behind(&inputs) && !is_taken(turn)) {
        put_content(turn, content);
        return;
    }
    if (!turn->in->is_leading) {
        keep_content(turn);
        return;
    }
    turn->life->is_new = !turn->ours.has_serial || (turn->life->is_new && !is_taken(turn));
    content = zone_life_build(turn->life, turn->view.compiler, serial_next(&inputs));
    zone_life_pend(turn->life);
    put_content(turn, content);
    tell_change(turn, content);
}

// ---- what is served -----------------------------------------------------------------------------

static bool is_served_kind(const struct turn *turn)
{
    return turn->view.is_live && turn->view.ready == REASON_COMPILED;
}

// Was it served, and is kept from it by its own fault? Then the last good version stays.
static bool is_frozen(const struct turn *turn)
{
    bool was_served = turn->published || turn->ours.nameserver_count;
    if (!turn->view.is_live)
        return turn->published && zone_is_own_fault(turn->view.accepted);
    return was_served && turn->view.ready != REASON_COMPILED;
}

// The last good version that is not here, after a restart or another's lead, may be had from
// status.entries.
static void recall(struct turn *turn)
{
    struct zone_status whole;
    if (!is_frozen(turn) || turn->published || !turn->ours.entries_complete)
        return;
    if (!turn->in->was_read) {
        turn->out->wants_whole = true;
        return;
    }
    if (!turn->in->whole) {
        turn->out->wake_ms = turn->in->now_ms + READ_AGAIN_MS;
        return;
    }
    zone_status_decode(turn->arena, turn->in->whole, &whole);
    struct zone *zone = zone_entries_read(turn->arena, turn->view.fqdn, &whole);
    if (!zone)
        return;
    zone_life_recall(turn->life, zone);
}

static void publish(struct turn *turn)
{
    struct publication *publication = &turn->out->publication;
    bool is_recalled = is_frozen(turn) && !turn->published;
    const struct zone *zone = is_served_kind(turn) || is_recalled ? stored_zone(turn) : NULL;
    if (!turn->view.has_fqdn || (!turn->view.is_live && !is_frozen(turn)))
        return;
    publication->what = zone                                      ? PUBLISH_ZONE
                        : turn->published                         ? PUBLISH_KEEP
                        : is_served_kind(turn) || is_frozen(turn) ? PUBLISH_UNAVAILABLE
                                                                  : PUBLISH_NOTHING;
    publication->was_served = turn->ours.nameserver_count > 0;
    publication->is_frozen = is_frozen(turn);
    publication->apex = turn->view.fqdn.at;
    publication->apex_len = turn->view.fqdn.len;
    publication->group = turn->group ? turn->group->name : NULL;
    publication->zone = zone;
    publication->next = is_served_kind(turn) && turn->numbered != zone ? turn->numbered : NULL;
}

// ---- servers ------------------------------------------------------------------------------------

// Those that follow it so far, or that the store tells of: are they of the group that it has now?
static bool is_group(const struct turn *turn, struct text name)
{
    return turn->group ? text_is(name, turn->group->name) : !name.len;
}

static bool has_followers(const struct turn *turn)
{
    return is_group(turn, text_of(turn->in->server_group));
}

static void list_servers(struct turn *turn)
{
    size_t count = turn->in->server_count;
    struct zone_status_server *list =
        arena_new_array(turn->arena, struct zone_status_server, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct server_view *server = &turn->servers[i];
        list[i] = (struct zone_status_server){
            .name = text_of(server->name),
            .has_serial = server->has_serial,
            .serial = server->serial,
            .has_fetched = server->has_fetched,
            .fetched_serial = server->fetched,
            .state = zone_life_state(turn->life, server),
            .is_doubtful = server->is_recalled,
            .is_stuck = server->is_stuck,
        };
    }
    turn->status.servers = list;
    turn->status.server_count = count;
}

static bool are_current(const struct turn *turn)
{
    for (size_t i = 0; i < turn->in->server_count; i++)
        if (zone_life_state(turn->life, &turn->servers[i]) != SERVER_CURRENT)
            return false;
    return true;
}

// Until then servers have had no time; 0: they have had it. (A clock that was set back ends it.)
static int64_t patience_ends_ms(const struct turn *turn)
{
    int64_t since_ms = turn->life->published_ms;
    bool is_over = turn->in->now_ms < since_ms || turn->in->now_ms >= since_ms + ZONE_PATIENCE_MS;
    return !since_ms || is_over ? 0 : since_ms + ZONE_PATIENCE_MS;
}

// A change is on its way to the servers, and they have had no time yet.
static bool is_on_its_way(const struct turn *turn)
{
    const struct zone_life *life = turn->life;
    if (!is_served_kind(turn) || !turn->group)
        return false;
    if (!life->published.zone || turn->out->publication.zone != life->published.zone)
        return turn->out->publication.what == PUBLISH_ZONE || turn->life->pending.zone;
    return !has_followers(turn) ||
           (!are_current(turn) && (!life->published_ms || patience_ends_ms(turn)));
}

static void set(struct turn *turn, const char *type, enum condition_status status,
                enum reason reason, const char *text)
{
    conditions_set(&turn->status.conditions, &turn->ours.conditions,
                   (struct condition){.type = type,
                                      .status = status,
                                      .reason = reason,
                                      .message = text,
                                      .observed_generation = turn->in->subject->generation},
                   now_s(turn));
}

static bool has_stuck_server(const struct turn *turn)
{
    for (size_t i = 0; i < turn->status.server_count; i++)
        if (turn->status.servers[i].is_stuck)
            return true;
    return false;
}

static void set_programmed(struct turn *turn)
{
    const struct condition *before = conditions_find(&turn->ours.conditions, "Programmed");
    enum reason reason = zone_programmed(&turn->status, turn->group != NULL);
    if (!is_served_kind(turn))
        reason = REASON_PENDING;
    else if (is_on_its_way(turn) && before)
        reason = before->reason;
    else if (is_on_its_way(turn))
        return;
    set(turn, "Programmed",
        reason == REASON_PUBLISHED || reason == REASON_NO_SERVERS ? CONDITION_TRUE
                                                                  : CONDITION_FALSE,
        reason, zone_programmed_text(turn->arena, reason, &turn->status));
}

// What is not stored of a server.
static void recall_view(const struct turn *turn, struct zone_status_server *server)
{
    server->is_doubtful = server->is_stuck = false;
    for (size_t i = 0; i < turn->in->server_count; i++)
        if (text_is(server->name, turn->servers[i].name)) {
            server->is_doubtful = turn->servers[i].is_recalled;
            server->is_stuck = turn->servers[i].is_stuck;
        }
}

// While a change is on its way, what was said of the servers stays; not what others said.
static void put_servers(struct turn *turn)
{
    bool is_early = is_on_its_way(turn);
    if (is_early)
        turn->out->wake_ms = patience_ends_ms(turn);
    if (!is_early && has_followers(turn)) {
        list_servers(turn);
        return;
    }
    if (!is_group(turn, turn->ours.server_group))
        return;
    turn->status.servers = turn->ours.servers;
    turn->status.server_count = turn->ours.server_count;
    for (size_t i = 0; i < turn->status.server_count; i++)
        recall_view(turn, &turn->status.servers[i]);
}

// ---- conditions ---------------------------------------------------------------------------------

static void set_ready(struct turn *turn)
{
    enum reason reason =
        turn->view.accepted == REASON_ACCEPTED ? turn->view.ready : REASON_NOT_ACCEPTED;
    const char *text =
        turn->view.accepted == REASON_ACCEPTED ? turn->view.ready_text : "the zone is not accepted";
    set(turn, "Ready", reason == REASON_COMPILED ? CONDITION_TRUE : CONDITION_FALSE, reason,
        zone_ready_text(turn->arena, text, is_frozen(turn),
                        turn->published || turn->out->publication.zone || turn->out->wants_whole));
}

// Those that stay as they are stored are not here; the zone that they stand for may be.
static size_t entry_octets(const struct turn *turn)
{
    struct zone_status as_stored = {.entry_count = 0};
    if (turn->entry_octets)
        return turn->entry_octets;
    const struct zone *zone = stored_zone(turn);
    if (!zone)
        zone = turn->published;
    return zone ? zone_entries_put(turn->arena, zone, entry_limit(turn), &as_stored) : 0;
}

static void set_warned(struct turn *turn)
{
    struct forest_zone *view = &turn->view;
    zone_entries_warn(&turn->status, entry_limit(turn), entry_octets(turn), view);
    if (!view->warning_count)
        return;
    set(turn, "Warned", CONDITION_TRUE, view->warnings[0].reason,
        zone_warnings_text(turn->arena, view->warnings, view->warning_count));
}

static void decide_content(struct turn *turn)
{
    bool compiles = turn->view.is_live && turn->view.compiler &&
                    (turn->view.ready == REASON_COMPILED ||
                     (turn->view.ready == REASON_NO_NAMESERVERS && !is_frozen(turn)));
    if (compiles)
        number(turn);
    else
        keep_content(turn);
    if (turn->view.compiler)
        turn->status.excluded_count = (int64_t)zone_compiler_excluded_count(turn->view.compiler);
}

// NULL: there is none.
static const char *label_of(struct turn *turn, const struct object *named)
{
    char label[ZONE_LABEL_MAX];
    if (!named)
        return NULL;
    zone_label_write(object_name(named), object_namespace(named), label);
    return arena_copy_text(turn->arena, label);
}

static void put_labels(struct turn *turn)
{
    const struct object *file = zonefiles_only(zones_files(turn->zones), turn->in->subject);
    const struct zone_label labels[] = {
        {ZONE_PARENT_LABEL, turn->ours.parent_label, label_of(turn, turn->view.parent)},
        {ZONE_FILE_LABEL, turn->ours.file_label, label_of(turn, file)},
    };
    zone_labels_want(turn->arena, turn->out, labels, COUNT_OF(labels));
}

static void recall_servers(struct turn *turn)
{
    size_t count = turn->in->server_count;
    turn->servers = arena_new_array(turn->arena, struct server_view, count + 1);
    if (count)
        memcpy(turn->servers, turn->in->servers, count * sizeof *turn->servers);
    zone_life_recall_fetches(&turn->ours, turn->in->server_group, turn->servers, count);
}

// Another process has led and written a serial since: what is here is old, and is not to be had for
// new until the store's content is here as well.
static const struct zone *published_of(const struct turn *turn)
{
    const struct zone *zone = turn->in->published;
    bool is_old = zone && turn->ours.has_serial && zone_serial(zone) != turn->ours.serial;
    return is_old ? NULL : zone;
}

// A zone that is renamed is another one to servers: what went out under its old name is not served
// any more, and its serial alone stays. One that has no name for a while keeps all that it had.
static void leave_old_name(struct turn *turn, struct snapshot *in)
{
    struct dname served = {in->apex, in->apex_len};
    struct zone_status *ours = &turn->ours;
    struct text left = ours->content_fqdn.len ? ours->content_fqdn : ours->fqdn;
    ours->keeps_entries = !turn->view.has_fqdn || !left.len || text_equal(left, turn->status.fqdn);
    if (!ours->keeps_entries) {
        ours->nameserver_count = ours->server_count = 0;
        ours->hash = (struct text){0};
        ours->entries_complete = false;
        ours->entries_total = 0;
    }
    if (in->apex && !(turn->view.has_fqdn && dname_equal(served, turn->view.fqdn))) {
        in->published = NULL;
        in->server_count = 0;
        in->server_group = NULL;
    }
}

static bool turn_init(struct turn *turn, struct snapshot *in)
{
    zone_unpack(turn->arena, object_spec(in->subject), object_ours(in->subject), &turn->spec,
                &turn->ours);
    turn->life = zones_life(turn->zones, in->subject);
    turn->group = zones_group_of(turn->zones, &turn->spec, &turn->ours);
    if (!turn->life ||
        !forest_zone(zones_forest(turn->zones), turn->arena, in->subject, &turn->view))
        return false;
    if (turn->view.has_fqdn)
        turn->status.fqdn = text_in(turn, zone_name_text(turn->arena, turn->view.fqdn));
    leave_old_name(turn, in);
    recall_servers(turn);
    turn->published = published_of(turn);
    return true;
}

void zone_decide(const struct snapshot *snapshot, void *model, struct verdict *out)
{
    struct snapshot in = *snapshot;
    struct turn turn = {.in = &in, .out = out, .arena = snapshot->arena, .zones = model};
    if (!in.subject || in.subject->is_lost || !turn_init(&turn, &in))
        return;
    turn.status.observed_generation = snapshot->subject->generation;
    if (turn.group)
        turn.status.server_group = text_in(&turn, turn.group->name);
    else if (turn.view.accepted == REASON_UNKNOWN_SERVERS)
        turn.status.server_group = turn.ours.server_group;
    decide_content(&turn);
    recall(&turn);
    publish(&turn);
    put_servers(&turn);
    if (turn.view.accepted != REASON_ACCEPTED)
        out->obstacle =
            (struct verdict_obstacle){reason_name(turn.view.accepted), turn.view.accepted_text};
    set(&turn, "Accepted", turn.view.accepted == REASON_ACCEPTED ? CONDITION_TRUE : CONDITION_FALSE,
        turn.view.accepted, turn.view.accepted_text);
    set_ready(&turn);
    set_programmed(&turn);
    set_warned(&turn);
    put_labels(&turn);
    if (zone_is_label_first(snapshot, out))
        out->line_count = 0;
    else
        zone_notes(out, &turn.ours.conditions, &turn.status.conditions, has_stuck_server(&turn));
    out->status = zone_status_encode(turn.arena, &turn.status);
}
