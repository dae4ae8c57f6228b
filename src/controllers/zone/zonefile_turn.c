#include <string.h>

#include "controllers/zone/zone_text.h"
#include "controllers/zone/zone_turns.h"
#include "controllers/zone/zonefiles.h"
#include "controllers/zone/zones.h"
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

struct turn {
    const struct snapshot *in;
    struct verdict *out;
    struct arena *arena;
    struct zones *zones;
    struct zonefile_spec spec;
    struct zonefile_status ours;
    struct zonefile_status status;
    struct part *parts;
    size_t count;
    bool is_early;          // a zone is on its way to the store
    bool is_missing;        // a zone, so that what stands there stays
    struct text *forbidden; // zones that do not allow it, so that what stands there goes
    size_t forbidden_count;
    struct buffer problems; // for people
    enum reason reason;
    struct value *data;
    size_t octets;
};

// ---- what is to stand there ---------------------------------------------------------------------

static void add_problem(struct turn *turn, enum reason reason, const char *text)
{
    if (turn->reason == REASON_NONE)
        turn->reason = reason;
    buffer_printf(&turn->problems, "%s%s", turn->problems.len ? "; " : "", text);
}

static void miss(struct turn *turn, struct zone_ref ref, const char *what)
{
    turn->is_missing = true;
    add_problem(turn, REASON_ZONE_NOT_FOUND,
                arena_printf(turn->arena, "zone %.*s/%.*s %s; its text stays as it was last",
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

static const struct zonefile_status_zone *written(const struct turn *turn, struct text fqdn)
{
    for (size_t i = 0; i < turn->ours.zone_count; i++)
        if (text_equal(turn->ours.zones[i].fqdn, fqdn))
            return &turn->ours.zones[i];
    return NULL;
}

static bool is_written(const struct turn *turn, const struct zonefile_status_zone *zone)
{
    const struct zonefile_status_zone *there = written(turn, zone->fqdn);
    return there && text_equal(there->hash, zone->hash) && there->serial == zone->serial;
}

static bool has_part(const struct turn *turn, struct text fqdn)
{
    for (size_t i = 0; i < turn->count; i++)
        if (text_equal(turn->parts[i].zone.fqdn, fqdn))
            return true;
    return false;
}

static bool compiles(const struct forest_zone *view)
{
    return view->is_live && view->compiler &&
           (view->ready == REASON_COMPILED || view->ready == REASON_NO_NAMESERVERS);
}

static bool is_forbidden(const struct turn *turn, struct text fqdn)
{
    for (size_t i = 0; i < turn->forbidden_count; i++)
        if (text_equal(turn->forbidden[i], fqdn))
            return true;
    return false;
}

// What the store has the hash and serial of; NULL: that is not known here, or not yet.
static const struct zone *content_of(struct zone_life *life, const struct forest_zone *view,
                                     const struct zone_status *status)
{
    if (zone_life_store(life, status->hash, status->serial))
        return life->stored.zone;
    if (!compiles(view))
        return NULL;
    zone_life_build(life, view->compiler, status->serial);
    return zone_life_store(life, status->hash, status->serial) ? life->stored.zone : NULL;
}

static void add_part(struct turn *turn, struct zone_ref ref, struct zone_life *life,
                     const struct forest_zone *view, const struct zone_status *status)
{
    struct part part = {
        .zone = {text_of(zone_name_text(turn->arena, view->fqdn)), status->hash, status->serial}};
    if (has_part(turn, part.zone.fqdn))
        return;
    if (!is_key(part.zone.fqdn)) {
        add_problem(turn, REASON_INVALID_NAME,
                    arena_printf(turn->arena,
                                 "zone %.*s is left out: a key of a ConfigMap has only letters, "
                                 "digits, -, _ and ., 253 octets at most",
                                 TEXT_ARGS(part.zone.fqdn)));
        return;
    }
    part.content = content_of(life, view, status);
    if (part.content || is_written(turn, &part.zone))
        turn->parts[turn->count++] = part;
    else if (compiles(view))
        turn->is_early = true;
    else
        miss(turn, ref, "is not compiled yet");
}

static void forbid(struct turn *turn, struct zone_ref ref, const struct zone_status *status)
{
    turn->forbidden[turn->forbidden_count++] = status->fqdn;
    add_problem(
        turn, REASON_NOT_PERMITTED,
        arena_printf(
            turn->arena,
            "zone %.*s/%.*s is not for ZoneFiles of namespace %.*s: its annotation " ZONE_GROUP
            "/" ZONE_FILE_NAMESPACES " has to name that",
            TEXT_ARGS(ref.namespace_), TEXT_ARGS(ref.name), TEXT_ARGS(turn->in->namespace_)));
}

static void look_at(struct turn *turn, struct zone_ref ref)
{
    struct zone_spec spec;
    struct zone_status status;
    struct forest_zone view;
    struct zone_life *life = zones_life_named(turn->zones, ref);
    if (!life || !forest_zone(zones_forest(turn->zones), turn->arena, life->object, &view)) {
        miss(turn, ref, "is not there");
        return;
    }
    zone_unpack(turn->arena, object_spec(life->object), object_ours(life->object), &spec, &status);
    if (!zone_allows_file(&spec, ref.namespace_, turn->in->namespace_))
        forbid(turn, ref, &status);
    else if (!view.is_live && !zone_is_own_fault(view.accepted))
        miss(turn, ref, "is not accepted");
    else if (!status.has_serial && compiles(&view))
        turn->is_early = true;
    else if (!view.has_fqdn || !status.hash.len || !status.has_serial)
        miss(turn, ref, "has no content yet");
    else
        add_part(turn, ref, life, &view, &status);
}

// ---- writing ------------------------------------------------------------------------------------

static void put_zone(struct turn *turn, struct zonefile_status_zone zone)
{
    turn->status.zones[turn->status.zone_count++] = zone;
}

static void keep_status(struct turn *turn)
{
    turn->status.zones = turn->ours.zones;
    turn->status.zone_count = turn->ours.zone_count;
}

// Returns the names of those that stay as they stand there.
static struct value *list_zones(struct turn *turn)
{
    struct value *kept = value_make(turn->arena, VALUE_LIST);
    turn->status.zones = arena_new_array(turn->arena, struct zonefile_status_zone,
                                         turn->count + turn->ours.zone_count + 1);
    for (size_t i = 0; i < turn->count; i++) {
        put_zone(turn, turn->parts[i].zone);
        if (!turn->parts[i].content)
            value_append(kept, value_make_text(turn->arena, turn->parts[i].zone.fqdn));
    }
    for (size_t i = 0; turn->is_missing && i < turn->ours.zone_count; i++) {
        if (has_part(turn, turn->ours.zones[i].fqdn) ||
            is_forbidden(turn, turn->ours.zones[i].fqdn))
            continue;
        put_zone(turn, turn->ours.zones[i]);
        value_append(kept, value_make_text(turn->arena, turn->ours.zones[i].fqdn));
    }
    return kept;
}

static bool was_held_back(const struct turn *turn)
{
    const struct condition *ready = conditions_find(&turn->ours.conditions, "Ready");
    return !ready || ready->reason == REASON_TOO_LARGE || ready->reason == REASON_FORBIDDEN ||
           ready->reason == REASON_VALIDATION_FAILED || ready->reason == REASON_NOT_OURS ||
           ready->reason == REASON_CONFIG_MAP_CONFLICT;
}

static bool is_news(const struct turn *turn)
{
    if (turn->ours.observed_generation != turn->in->subject->generation || was_held_back(turn) ||
        turn->status.zone_count != turn->ours.zone_count)
        return true;
    for (size_t i = 0; i < turn->status.zone_count; i++)
        if (!is_written(turn, &turn->status.zones[i]))
            return true;
    return false;
}

static void write_texts(struct turn *turn)
{
    turn->data = value_make(turn->arena, VALUE_MAP);
    for (size_t i = 0; i < turn->count && turn->octets <= CONFIG_MAP_OCTETS_MAX; i++) {
        AUTO_BUFFER text = {0};
        const struct part *part = &turn->parts[i];
        if (!part->content)
            continue;
        zone_write_kubizone(&text, part->content);
        turn->octets += text.len;
        const char *copy = arena_copy(turn->arena, text.at, text.len);
        value_set(turn->data, part->zone.fqdn,
                  value_make_text(turn->arena, (struct text){copy, text.len}));
    }
}

static const struct value *owners_of(struct turn *turn)
{
    AUTO_BUFFER version = {0};
    char uid[37];
    struct value *list = value_make(turn->arena, VALUE_LIST);
    struct value *owner = value_make(turn->arena, VALUE_MAP);
    kind_api_version(&version, &zonefile_kind);
    object_write_uid(turn->in->subject, uid);
    value_put_text(turn->arena, owner, "apiVersion", arena_copy_text(turn->arena, version.at));
    value_put_text(turn->arena, owner, "kind", zonefile_kind.name);
    value_put(turn->arena, owner, "name", value_make_text(turn->arena, turn->in->name));
    value_put_text(turn->arena, owner, "uid", arena_copy_text(turn->arena, uid));
    value_append(list, owner);
    return list;
}

static const struct store_mark *grant_of(const struct turn *turn)
{
    struct store_mark *grant = arena_new_of(turn->arena, struct store_mark);
    *grant = (struct store_mark){
        .key = ZONE_FILE_GRANT,
        .value = arena_copy(turn->arena, turn->in->name.at, turn->in->name.len)};
    return grant;
}

static void want_config_map(struct turn *turn, const struct value *kept)
{
    struct object_want *want = arena_new_of(turn->arena, struct object_want);
    struct value *tree = value_make(turn->arena, VALUE_MAP);
    value_put(turn->arena, tree, "metadata.ownerReferences",
              value_copy(turn->arena, owners_of(turn)));
    value_set(tree, TEXT("data"), turn->data);
    *want = (struct object_want){.kind = &config_map_kind,
                                 .namespace_ = turn->in->namespace_,
                                 .name = turn->spec.config_map,
                                 .tree = tree,
                                 .kept = kept,
                                 .grant = grant_of(turn)};
    turn->out->object = want;
}

static enum reason reason_of_refusal(const struct error *refused)
{
    if (!strcmp(refused->reason, "NotOurs"))
        return REASON_NOT_OURS;
    return refused->fault == FAULT_AUTH ? REASON_FORBIDDEN : REASON_VALIDATION_FAILED;
}

static void set_refused(struct turn *turn)
{
    const struct error *refused = turn->in->refused;
    if (!refused || !turn->out->object)
        return;
    keep_status(turn);
    buffer_clear(&turn->problems);
    turn->reason = REASON_NONE;
    add_problem(turn, reason_of_refusal(refused), refused->text);
}

static void write_zones(struct turn *turn)
{
    const struct value *kept = list_zones(turn);
    if (!is_news(turn))
        return;
    write_texts(turn);
    if (turn->octets > CONFIG_MAP_OCTETS_MAX) {
        keep_status(turn);
        buffer_clear(&turn->problems);
        turn->reason = REASON_NONE;
        add_problem(turn, REASON_TOO_LARGE,
                    "the zones have more than 1 MiB of text, which no ConfigMap holds: it stays as "
                    "it was last");
        return;
    }
    want_config_map(turn, kept);
    set_refused(turn);
}

static void set_ready(struct turn *turn)
{
    bool is_fine = turn->reason == REASON_NONE;
    const char *fine =
        arena_printf(turn->arena, "ConfigMap %.*s/%.*s holds the text of all zones",
                     TEXT_ARGS(turn->in->namespace_), TEXT_ARGS(turn->spec.config_map));
    conditions_set(&turn->status.conditions, &turn->ours.conditions,
                   (struct condition){
                       .type = "Ready",
                       .status = is_fine ? CONDITION_TRUE : CONDITION_FALSE,
                       .reason = is_fine ? REASON_WRITTEN : turn->reason,
                       .message = is_fine ? fine : arena_copy_text(turn->arena, turn->problems.at),
                       .observed_generation = turn->in->subject->generation,
                   },
                   turn->in->now_ms / 1000);
}

// Does it have a ConfigMap to write?
static bool has_config_map(struct turn *turn)
{
    if (!kind_is_name(turn->spec.config_map)) {
        add_problem(turn, REASON_INVALID_NAME, "spec.configMapName cannot name a ConfigMap");
        return false;
    }
    const struct object *rival = zonefiles_rival(zones_files(turn->zones), turn->in->subject);
    if (!rival)
        return true;
    add_problem(turn, REASON_CONFIG_MAP_CONFLICT,
                arena_printf(turn->arena,
                             "ZoneFile %.*s is older and writes ConfigMap %.*s: name another one "
                             "in spec.configMapName",
                             TEXT_ARGS(object_name(rival)), TEXT_ARGS(turn->spec.config_map)));
    return false;
}

static void decide(struct turn *turn)
{
    const struct object *subject = turn->in->subject;
    zonefile_unpack(turn->arena, object_spec(subject), object_ours(subject), &turn->spec,
                    &turn->ours);
    turn->parts = arena_new_array(turn->arena, struct part, turn->spec.zone_count + 1);
    turn->forbidden = arena_new_array(turn->arena, struct text, turn->spec.zone_count + 1);
    turn->status.observed_generation = subject->generation;
    if (has_config_map(turn)) {
        for (size_t i = 0; i < turn->spec.zone_count; i++)
            look_at(turn, zonefile_ref(subject, turn->spec.zones[i]));
        if (turn->is_early)
            return;
        write_zones(turn);
    } else {
        keep_status(turn);
    }
    set_ready(turn);
    turn->out->status = zonefile_status_encode(turn->arena, &turn->status);
}

void zonefile_decide(const struct snapshot *snapshot, void *model, struct verdict *out)
{
    struct turn turn = {.in = snapshot, .out = out, .arena = snapshot->arena, .zones = model};
    if (!snapshot->subject || snapshot->subject->is_lost || snapshot->subject->deleted_s)
        return;
    decide(&turn);
    buffer_done(&turn.problems);
}
