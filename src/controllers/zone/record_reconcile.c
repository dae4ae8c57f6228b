#include <string.h>

#include "controllers/zone/zone_reconcile.h"
#include "controllers/zone/zone_text.h"
#include "controllers/zone/zones.h"
#include "kinds/record/record_kind.h"
#include "kinds/zone_ref.h"

struct reconcile {
    const struct snapshot *in;
    struct decision *out;
    struct arena *arena;
    struct zones *zones;
    struct zone_tree_record view;
    struct record_status ours;
    struct record_status status;
};

static void set_condition(struct reconcile *reconcile, const char *type, bool is_true,
                          enum reason reason, const char *text)
{
    conditions_set(&reconcile->status.conditions, &reconcile->ours.conditions,
                   (struct condition){.type = type,
                                      .status = is_true ? CONDITION_TRUE : CONDITION_FALSE,
                                      .reason = reason,
                                      .message = text,
                                      .observed_generation = reconcile->in->subject->generation},
                   reconcile->in->now_ms / 1000);
}

// What counts of the record's zone.
struct home {
    enum reason ready;
    bool has_group;
    bool was_served; // with name servers: whatever is wrong with it now, that version stays
    bool has_loaded; // the status says of each server of its present group that it had the zone
};

static bool is_loaded_by(const struct zone_status *ours, const char *server)
{
    for (size_t i = 0; i < ours->server_count; i++)
        if (text_is(ours->servers[i].name, server))
            return ours->servers[i].has_serial || ours->servers[i].has_fetched;
    return false;
}

static bool is_loaded(const struct zones_group *group, const struct zone_status *ours)
{
    bool is_loaded = !group || text_is(ours->server_group, group->name);
    for (size_t i = 0; group && i < group->server_count; i++)
        is_loaded = is_loaded && is_loaded_by(ours, group->servers[i].name);
    return is_loaded;
}

static struct home home_of(const struct reconcile *reconcile)
{
    struct zone_spec spec;
    struct zone_status ours;
    const struct object *object = reconcile->view.zone;
    zone_unpack(reconcile->arena, object_spec(object), object_managed(object), &spec, &ours);
    const struct zones_group *group = zones_group_of(reconcile->zones, &spec, &ours);
    return (struct home){
        .ready = zone_tree_zone_ready(zones_zone_tree(reconcile->zones), object),
        .has_group = group,
        .was_served = ours.nameserver_count > 0,
        .has_loaded = is_loaded(group, &ours),
    };
}

// True if the status says Published of this generation of the record in this zone: that stays true,
// unless the zone has got servers that never had it.
static bool was_published(const struct reconcile *reconcile, const struct home *home)
{
    const struct condition *before = conditions_find(&reconcile->ours.conditions, "Programmed");
    const struct object *zone = reconcile->view.zone;
    return home->has_loaded && before && before->reason == REASON_PUBLISHED &&
           reconcile->ours.observed_generation == reconcile->in->subject->generation &&
           text_equal(reconcile->ours.zone.name, object_name(zone)) &&
           text_equal(reconcile->ours.zone.namespace_, object_namespace(zone));
}

struct programmed {
    enum reason reason;
    const char *text;
};

static struct programmed programmed_of(const struct reconcile *reconcile)
{
    int64_t since_ms;
    if (reconcile->view.accepted != REASON_ADOPTED)
        return (struct programmed){REASON_NOT_ACCEPTED, "the record is not accepted"};
    if (!reconcile->view.is_in)
        return (struct programmed){REASON_EXCLUDED, reconcile->view.conflicted_text};
    struct home home = home_of(reconcile);
    bool is_bare = home.ready == REASON_NO_NAMESERVERS && !home.was_served;
    if (is_bare && !home.has_group)
        return (struct programmed){REASON_NO_SERVERS,
                                   "no server group has the zone: it stands in status.entries"};
    if (is_bare)
        return (struct programmed){REASON_PENDING,
                                   "the zone has no name servers yet, and is not served"};
    if (home.ready != REASON_COMPILED && !was_published(reconcile, &home))
        return (struct programmed){REASON_ZONE_FROZEN,
                                   "the zone as a whole is at fault: see its condition Ready"};
    if (!zones_is_answered(reconcile->zones, reconcile->view.object, &since_ms) &&
        !was_published(reconcile, &home))
        return (struct programmed){REASON_PENDING, "not all servers answer it yet"};
    if (!home.has_group)
        return (struct programmed){REASON_NO_SERVERS,
                                   "no server group has the zone: it stands in status.entries"};
    return (struct programmed){REASON_PUBLISHED, "every server answers it"};
}

// Servers mostly answer within milliseconds: before they had a second, Pending is not worth a
// write.
static bool is_too_early(const struct reconcile *reconcile, enum reason reason)
{
    int64_t since_ms;
    if (reason != REASON_PENDING)
        return false;
    zones_is_answered(reconcile->zones, reconcile->view.object, &since_ms);
    return since_ms && since_ms <= reconcile->in->now_ms &&
           since_ms + ZONE_PATIENCE_MS > reconcile->in->now_ms;
}

static void put_zone(struct reconcile *reconcile)
{
    char label[ZONE_LABEL_MAX];
    const struct object *zone = reconcile->view.zone;
    if (zone) {
        zone_label_write(object_name(zone), object_namespace(zone), label);
        reconcile->status.zone = (struct zone_ref){object_name(zone), object_namespace(zone)};
    }
    zone_labels_want(
        reconcile->arena, reconcile->out,
        &(struct zone_label){ZONE_PARENT_LABEL, reconcile->ours.parent_label, zone ? label : NULL},
        1);
}

static void put_obstacle(struct reconcile *reconcile)
{
    const struct zone_tree_record *view = &reconcile->view;
    bool is_adopted = view->accepted == REASON_ADOPTED;
    if (is_adopted && view->conflicted == REASON_NO_CONFLICT)
        return;
    reconcile->out->obstacle =
        is_adopted
            ? (struct decision_obstacle){reason_name(view->conflicted), view->conflicted_text}
            : (struct decision_obstacle){reason_name(view->accepted), view->accepted_text};
}

static bool reconcile_init(struct reconcile *reconcile)
{
    struct record_spec spec;
    const struct object *subject = reconcile->in->subject;
    record_unpack(reconcile->arena, object_spec(subject), object_managed(subject), &spec,
                  &reconcile->ours);
    return zone_tree_record(zones_zone_tree(reconcile->zones), reconcile->arena, subject,
                            &reconcile->view);
}

void record_decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    struct reconcile reconcile = {
        .in = snapshot, .out = out, .arena = snapshot->arena, .zones = model};
    if (!snapshot->subject || !reconcile_init(&reconcile))
        return;
    struct programmed programmed = programmed_of(&reconcile);
    put_zone(&reconcile);
    put_obstacle(&reconcile);
    if (is_too_early(&reconcile, programmed.reason))
        return;
    reconcile.status.observed_generation = snapshot->subject->generation;
    if (reconcile.view.has_fqdn)
        reconcile.status.fqdn = text_of(zone_name_text(reconcile.arena, reconcile.view.fqdn));
    set_condition(&reconcile, "Accepted", reconcile.view.accepted == REASON_ADOPTED,
                  reconcile.view.accepted, reconcile.view.accepted_text);
    set_condition(&reconcile, "Conflicted", reconcile.view.conflicted != REASON_NO_CONFLICT,
                  reconcile.view.conflicted, reconcile.view.conflicted_text);
    set_condition(&reconcile, "Programmed",
                  programmed.reason == REASON_PUBLISHED || programmed.reason == REASON_NO_SERVERS,
                  programmed.reason, programmed.text);
    if (reconcile.view.warning_count)
        set_condition(&reconcile, "Warned", true, reconcile.view.warnings[0].reason,
                      zone_warnings_text(reconcile.arena, reconcile.view.warnings,
                                         reconcile.view.warning_count));
    if (!zone_is_label_first(snapshot, out))
        record_events(out, &reconcile.ours.conditions, &reconcile.status.conditions);
    out->status = record_status_encode(reconcile.arena, &reconcile.status);
}
