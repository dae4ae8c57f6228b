#include <string.h>

#include "controllers/zone/zone_reconcile.h"
#include "controllers/zone/zone_text.h"
#include "controllers/zone/zonefiles.h"
#include "controllers/zone/zones.h"
#include "kinds/configmap/configmap_kind.h"
#include "kinds/zonefile/zonefile_kind.h"
#include "store/store.h"

enum {
    KEY_OCTETS_MAX = 253,
    CONFIG_MAP_OCTETS_MAX = 1024 * 1024, // all of it, as API servers count
};

// A zone that is to stand in the ConfigMap.
struct part {
    struct zonefile_status_zone zone;
    const struct zone *content; // NULL: what stands there already
};

struct reconcile {
    const struct snapshot *in;
    struct decision *out;
    struct arena *arena;
    struct zones *zones;
    struct zonefile_spec spec;
    struct zonefile_status ours;
    struct zonefile_status status;
    struct part *parts;
    size_t count;
    bool is_early;          // the hash of some zone is still to be stored: nothing is decided yet
    bool is_missing;        // some zone is not to be had: its text stays as it is
    struct text *forbidden; // names of zones that do not allow it: their text goes
    size_t forbidden_count;
    struct buffer problems; // for people
    enum reason reason;
    struct value *data;
    size_t octets;
};

// ---- what is to stand there ---------------------------------------------------------------------

static void add_problem(struct reconcile *reconcile, enum reason reason, const char *text)
{
    if (reconcile->reason == REASON_NONE)
        reconcile->reason = reason;
    buffer_printf(&reconcile->problems, "%s%s", reconcile->problems.len ? "; " : "", text);
}

static void report_missing(struct reconcile *reconcile, struct zone_ref ref, const char *what)
{
    reconcile->is_missing = true;
    add_problem(reconcile, REASON_ZONE_NOT_FOUND,
                arena_printf(reconcile->arena, "zone %.*s/%.*s %s; its text stays as it was last",
                             TEXT_ARGS(ref.namespace_), TEXT_ARGS(ref.name), what));
}

static bool is_key(struct text name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_plain && c != '-' && c != '.' && c != '_')
            return false;
    }
    return name.len <= KEY_OCTETS_MAX;
}

static const struct zonefile_status_zone *find_written(const struct reconcile *reconcile,
                                                       struct text fqdn)
{
    for (size_t i = 0; i < reconcile->ours.zone_count; i++)
        if (text_equal(reconcile->ours.zones[i].fqdn, fqdn))
            return &reconcile->ours.zones[i];
    return NULL;
}

static bool is_written(const struct reconcile *reconcile, const struct zonefile_status_zone *zone)
{
    const struct zonefile_status_zone *there = find_written(reconcile, zone->fqdn);
    return there && text_equal(there->hash, zone->hash) && there->serial == zone->serial;
}

static bool has_part(const struct reconcile *reconcile, struct text fqdn)
{
    for (size_t i = 0; i < reconcile->count; i++)
        if (text_equal(reconcile->parts[i].zone.fqdn, fqdn))
            return true;
    return false;
}

static bool compiles(const struct zone_tree_zone *view)
{
    return view->is_live && view->compiler &&
           (view->ready == REASON_COMPILED || view->ready == REASON_NO_NAMESERVERS);
}

static bool is_forbidden(const struct reconcile *reconcile, struct text fqdn)
{
    for (size_t i = 0; i < reconcile->forbidden_count; i++)
        if (text_equal(reconcile->forbidden[i], fqdn))
            return true;
    return false;
}

// The version whose hash and serial the store has; NULL: it is not in memory, or not yet.
static const struct zone *content_of(struct zone_life *life, const struct zone_tree_zone *view,
                                     const struct zone_status *status)
{
    if (zone_life_note_stored(life, status->hash, status->serial))
        return life->stored.zone;
    if (!compiles(view))
        return NULL;
    zone_life_build(life, view->compiler, status->serial);
    return zone_life_note_stored(life, status->hash, status->serial) ? life->stored.zone : NULL;
}

static void add_part(struct reconcile *reconcile, struct zone_ref ref, struct zone_life *life,
                     const struct zone_tree_zone *view, const struct zone_status *status)
{
    struct part part = {.zone = {text_of(zone_name_text(reconcile->arena, view->fqdn)),
                                 status->hash, status->serial}};
    if (has_part(reconcile, part.zone.fqdn))
        return;
    if (!is_key(part.zone.fqdn)) {
        add_problem(reconcile, REASON_INVALID_NAME,
                    arena_printf(reconcile->arena,
                                 "zone %.*s is left out: a key of a ConfigMap has only letters, "
                                 "digits, -, _ and ., 253 octets at most",
                                 TEXT_ARGS(part.zone.fqdn)));
        return;
    }
    part.content = content_of(life, view, status);
    if (part.content || is_written(reconcile, &part.zone))
        reconcile->parts[reconcile->count++] = part;
    else if (compiles(view))
        reconcile->is_early = true;
    else
        report_missing(reconcile, ref, "is not compiled yet");
}

static void add_forbidden(struct reconcile *reconcile, struct zone_ref ref,
                          const struct zone_status *status)
{
    reconcile->forbidden[reconcile->forbidden_count++] = status->fqdn;
    add_problem(
        reconcile, REASON_NOT_PERMITTED,
        arena_printf(
            reconcile->arena,
            "zone %.*s/%.*s is not for ZoneFiles of namespace %.*s: its annotation " ZONE_GROUP
            "/" ZONE_FILE_NAMESPACES " has to name that",
            TEXT_ARGS(ref.namespace_), TEXT_ARGS(ref.name), TEXT_ARGS(reconcile->in->namespace_)));
}

static void add_zone(struct reconcile *reconcile, struct zone_ref ref)
{
    struct zone_spec spec;
    struct zone_status status;
    struct zone_tree_zone view;
    struct zone_life *life = zones_life_named(reconcile->zones, ref);
    if (!life ||
        !zone_tree_zone(zones_zone_tree(reconcile->zones), reconcile->arena, life->object, &view)) {
        report_missing(reconcile, ref, "is not there");
        return;
    }
    zone_unpack(reconcile->arena, object_spec(life->object), object_managed(life->object), &spec,
                &status);
    if (!zone_allows_file(&spec, ref.namespace_, reconcile->in->namespace_))
        add_forbidden(reconcile, ref, &status);
    else if (!view.is_live && !zone_is_own_fault(view.accepted))
        report_missing(reconcile, ref, "is not accepted");
    else if (!status.has_serial && compiles(&view))
        reconcile->is_early = true;
    else if (!view.has_fqdn || !status.hash.len || !status.has_serial)
        report_missing(reconcile, ref, "has no content yet");
    else
        add_part(reconcile, ref, life, &view, &status);
}

// ---- writing ------------------------------------------------------------------------------------

static void put_zone(struct reconcile *reconcile, struct zonefile_status_zone zone)
{
    reconcile->status.zones[reconcile->status.zone_count++] = zone;
}

static void keep_status(struct reconcile *reconcile)
{
    reconcile->status.zones = reconcile->ours.zones;
    reconcile->status.zone_count = reconcile->ours.zone_count;
}

// Returns the names of those that stay as they stand there.
static struct value *list_zones(struct reconcile *reconcile)
{
    struct value *kept = value_make(reconcile->arena, VALUE_LIST);
    reconcile->status.zones = arena_new_array(reconcile->arena, struct zonefile_status_zone,
                                              reconcile->count + reconcile->ours.zone_count + 1);
    for (size_t i = 0; i < reconcile->count; i++) {
        put_zone(reconcile, reconcile->parts[i].zone);
        if (!reconcile->parts[i].content)
            value_append(kept, value_make_text(reconcile->arena, reconcile->parts[i].zone.fqdn));
    }
    for (size_t i = 0; reconcile->is_missing && i < reconcile->ours.zone_count; i++) {
        if (has_part(reconcile, reconcile->ours.zones[i].fqdn) ||
            is_forbidden(reconcile, reconcile->ours.zones[i].fqdn))
            continue;
        put_zone(reconcile, reconcile->ours.zones[i]);
        value_append(kept, value_make_text(reconcile->arena, reconcile->ours.zones[i].fqdn));
    }
    return kept;
}

static bool was_held_back(const struct reconcile *reconcile)
{
    const struct condition *ready = conditions_find(&reconcile->ours.conditions, "Ready");
    return !ready || ready->reason == REASON_TOO_LARGE || ready->reason == REASON_FORBIDDEN ||
           ready->reason == REASON_VALIDATION_FAILED || ready->reason == REASON_NOT_OURS ||
           ready->reason == REASON_CONFIG_MAP_CONFLICT;
}

static bool is_news(const struct reconcile *reconcile)
{
    if (reconcile->ours.observed_generation != reconcile->in->subject->generation ||
        was_held_back(reconcile) || reconcile->status.zone_count != reconcile->ours.zone_count)
        return true;
    for (size_t i = 0; i < reconcile->status.zone_count; i++)
        if (!is_written(reconcile, &reconcile->status.zones[i]))
            return true;
    return false;
}

static void write_texts(struct reconcile *reconcile)
{
    reconcile->data = value_make(reconcile->arena, VALUE_MAP);
    for (size_t i = 0; i < reconcile->count && reconcile->octets <= CONFIG_MAP_OCTETS_MAX; i++) {
        AUTO_BUFFER text = {0};
        const struct part *part = &reconcile->parts[i];
        if (!part->content)
            continue;
        zone_write_kubizone(&text, part->content);
        reconcile->octets += text.len;
        const char *copy = arena_copy(reconcile->arena, text.at, text.len);
        value_set(reconcile->data, part->zone.fqdn,
                  value_make_text(reconcile->arena, (struct text){copy, text.len}));
    }
}

static const struct metadata_change *grant_of(const struct reconcile *reconcile)
{
    struct metadata_change *grant = arena_new_of(reconcile->arena, struct metadata_change);
    *grant = (struct metadata_change){
        .key = ZONE_FILE_GRANT,
        .value = arena_copy(reconcile->arena, reconcile->in->name.at, reconcile->in->name.len)};
    return grant;
}

static void want_config_map(struct reconcile *reconcile, const struct value *kept)
{
    struct value *tree = value_make(reconcile->arena, VALUE_MAP);
    value_put(reconcile->arena, tree, "metadata.ownerReferences",
              object_owner_references(reconcile->arena, reconcile->in->subject, false));
    value_set(tree, TEXT("data"), reconcile->data);
    *decision_add_object(reconcile->out, reconcile->arena) = (struct object_want){
        .key = {&config_map_kind, reconcile->in->namespace_, reconcile->spec.config_map},
        .tree = tree,
        .kept = kept,
        .grant = grant_of(reconcile),
    };
}

static enum reason reason_of_refusal(const struct error *refused)
{
    if (!strcmp(refused->reason, "NotOurs"))
        return REASON_NOT_OURS;
    return refused->fault == FAULT_AUTH ? REASON_FORBIDDEN : REASON_VALIDATION_FAILED;
}

static void set_refused(struct reconcile *reconcile)
{
    const struct error *refused = reconcile->in->refused;
    if (!refused || !reconcile->out->object_count)
        return;
    keep_status(reconcile);
    buffer_clear(&reconcile->problems);
    reconcile->reason = REASON_NONE;
    add_problem(reconcile, reason_of_refusal(refused), refused->text);
}

static void write_zones(struct reconcile *reconcile)
{
    const struct value *kept = list_zones(reconcile);
    if (!is_news(reconcile))
        return;
    write_texts(reconcile);
    if (reconcile->octets > CONFIG_MAP_OCTETS_MAX) {
        keep_status(reconcile);
        buffer_clear(&reconcile->problems);
        reconcile->reason = REASON_NONE;
        add_problem(reconcile, REASON_TOO_LARGE,
                    "the zones have more than 1 MiB of text, which no ConfigMap holds: it stays as "
                    "it was last");
        return;
    }
    want_config_map(reconcile, kept);
    set_refused(reconcile);
}

static void set_ready(struct reconcile *reconcile)
{
    bool is_fine = reconcile->reason == REASON_NONE;
    const char *fine =
        arena_printf(reconcile->arena, "ConfigMap %.*s/%.*s holds the text of all zones",
                     TEXT_ARGS(reconcile->in->namespace_), TEXT_ARGS(reconcile->spec.config_map));
    conditions_set(
        &reconcile->status.conditions, &reconcile->ours.conditions,
        (struct condition){
            .type = "Ready",
            .status = is_fine ? CONDITION_TRUE : CONDITION_FALSE,
            .reason = is_fine ? REASON_WRITTEN : reconcile->reason,
            .message = is_fine ? fine : arena_copy_text(reconcile->arena, reconcile->problems.at),
            .observed_generation = reconcile->in->subject->generation,
        },
        reconcile->in->now_ms / 1000);
}

// False, and reported, if it has no ConfigMap to write: its name is none, or an older ZoneFile has
// it.
static bool has_config_map(struct reconcile *reconcile)
{
    if (!kind_is_name(reconcile->spec.config_map)) {
        add_problem(reconcile, REASON_INVALID_NAME, "spec.configMapName cannot name a ConfigMap");
        return false;
    }
    const struct object *rival =
        zonefiles_rival(zones_files(reconcile->zones), reconcile->in->subject);
    if (!rival)
        return true;
    add_problem(reconcile, REASON_CONFIG_MAP_CONFLICT,
                arena_printf(reconcile->arena,
                             "ZoneFile %.*s is older and writes ConfigMap %.*s: name another one "
                             "in spec.configMapName",
                             TEXT_ARGS(object_name(rival)), TEXT_ARGS(reconcile->spec.config_map)));
    return false;
}

static void decide(struct reconcile *reconcile)
{
    const struct object *subject = reconcile->in->subject;
    zonefile_unpack(reconcile->arena, object_spec(subject), object_managed(subject),
                    &reconcile->spec, &reconcile->ours);
    reconcile->parts =
        arena_new_array(reconcile->arena, struct part, reconcile->spec.zone_count + 1);
    reconcile->forbidden =
        arena_new_array(reconcile->arena, struct text, reconcile->spec.zone_count + 1);
    reconcile->status.observed_generation = subject->generation;
    if (has_config_map(reconcile)) {
        for (size_t i = 0; i < reconcile->spec.zone_count; i++)
            add_zone(reconcile, zonefile_ref(subject, reconcile->spec.zones[i]));
        if (reconcile->is_early)
            return;
        write_zones(reconcile);
    } else {
        keep_status(reconcile);
    }
    set_ready(reconcile);
    reconcile->out->status = zonefile_status_encode(reconcile->arena, &reconcile->status);
}

void zonefile_decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    struct reconcile reconcile = {
        .in = snapshot, .out = out, .arena = snapshot->arena, .zones = model};
    if (!snapshot->subject || snapshot->subject->deleted_s)
        return;
    decide(&reconcile);
    buffer_done(&reconcile.problems);
}
