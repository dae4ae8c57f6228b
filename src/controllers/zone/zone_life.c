#include "controllers/zone/zone_life.h"

#include <stdlib.h>
#include <string.h>

#include "dns/serial.h"

// ---- contents -----------------------------------------------------------------------------------

static void content_done(struct zone_content *content)
{
    zone_unref(content->zone);
    *content = (struct zone_content){0};
}

void zone_life_free(struct zone_life *life)
{
    if (!life)
        return;
    content_done(&life->built);
    content_done(&life->pending);
    content_done(&life->stored);
    content_done(&life->published);
    object_unref(life->object);
    free(life->servers_group);
    free(life->group);
    free(life->servers);
    free(life->waits);
    free(life);
}

const struct zone_content *zone_life_build(struct zone_life *life, struct zone_compiler *compiler,
                                           uint32_t serial)
{
    struct zone_content *built = &life->built;
    bool is_known = built->zone && built->number == life->number;
    if (is_known && zone_serial(built->zone) == serial)
        return built;
    zone_unref(built->zone);
    built->zone = zone_compiler_zone(compiler, serial);
    if (!is_known)
        zone_write_hash(built->zone, built->hash);
    built->number = life->number;
    return built;
}

static void content_copy(struct zone_content *to, const struct zone_content *from)
{
    struct zone *old = to->zone;
    *to = *from;
    to->zone = from->zone ? zone_ref(from->zone) : NULL;
    zone_unref(old);
}

void zone_life_note_pending(struct zone_life *life)
{
    content_copy(&life->pending, &life->built);
}

void zone_life_recall(struct zone_life *life, struct zone *zone)
{
    content_done(&life->pending);
    life->pending = (struct zone_content){.zone = zone};
    zone_write_hash(zone, life->pending.hash);
}

static bool is_content(const struct zone_content *content, struct text hash, uint32_t serial)
{
    return content->zone && text_is(hash, content->hash) && zone_serial(content->zone) == serial;
}

// Records may have come that change nothing of it: they came about with what was built last.
bool zone_life_note_stored(struct zone_life *life, struct text hash, uint32_t serial)
{
    bool is_newer =
        is_content(&life->built, hash, serial) && life->built.number > life->stored.number;
    if (is_content(&life->stored, hash, serial) && !is_newer)
        return true;
    if (is_content(&life->pending, hash, serial)) {
        content_copy(&life->stored, &life->pending);
        content_done(&life->pending);
        return true;
    }
    if (!is_content(&life->built, hash, serial))
        return false;
    content_copy(&life->stored, &life->built);
    return true;
}

static void mark(struct zone_life *life, uint32_t serial, uint64_t number)
{
    if (life->mark_count == ZONE_MARKS_MAX)
        memmove(life->marks, life->marks + 1, --life->mark_count * sizeof *life->marks);
    life->marks[life->mark_count++] = (struct zone_mark){serial, number};
}

void zone_life_note_published(struct zone_life *life)
{
    content_copy(&life->published, &life->stored);
    mark(life, zone_serial(life->published.zone), life->published.number);
}

// ---- what servers have --------------------------------------------------------------------------

bool zone_life_is_foreign(const struct zone_life *life, const struct server_view *server)
{
    if (!life->is_new || !life->published.zone || server->signs || !server->has_serial)
        return false;
    uint32_t ours = zone_serial(life->published.zone);
    return server->serial == ours && !(server->has_fetched && server->fetched == ours);
}

enum zone_server_state zone_life_state(const struct zone_life *life,
                                       const struct server_view *server)
{
    if (!life->published.zone)
        return SERVER_UNKNOWN;
    uint32_t ours = zone_serial(life->published.zone);
    bool is_reported = server->is_probed && !server->signs;
    if (server->fault.fault == FAULT_AUTH)
        return SERVER_REFUSED;
    if (server->fault.fault != FAULT_NONE)
        return SERVER_UNREACHABLE;
    if (zone_life_is_foreign(life, server) ||
        (is_reported ? !server->has_serial : !server->has_fetched))
        return SERVER_UNKNOWN;
    uint32_t theirs = is_reported ? server->serial : server->fetched;
    if (theirs == ours)
        return SERVER_CURRENT;
    if (serial_is_before(ours, theirs))
        return SERVER_AHEAD;
    return !is_reported && server->is_recalled ? SERVER_UNKNOWN : SERVER_BEHIND;
}

// The content that stands behind a serial that some server has; 0: none that we know.
static uint64_t number_at(const struct zone_life *life, uint32_t serial)
{
    for (size_t i = life->mark_count; i-- > 0;)
        if (life->marks[i].serial == serial)
            return life->marks[i].number;
    return 0;
}

static uint64_t number_of(const struct zone_life *life, const struct server_view *server)
{
    bool is_reported = server->is_probed && !server->signs;
    uint64_t reported = server->has_serial ? number_at(life, server->serial) : 0;
    uint64_t fetched = server->has_fetched ? number_at(life, server->fetched) : 0;
    if (server->fault.fault != FAULT_NONE || zone_life_is_foreign(life, server))
        return 0;
    return is_reported ? reported : fetched;
}

bool zone_life_is_group(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

uint64_t zone_life_answered(const struct zone_life *life)
{
    uint64_t least =
        zone_life_is_group(life->group, life->servers_group) ? life->published.number : 0;
    for (size_t i = 0; i < life->server_count; i++) {
        uint64_t number = number_of(life, &life->servers[i]);
        if (number < least)
            least = number;
    }
    return least;
}

static const struct zone_status_server *find_server(const struct zone_status *ours,
                                                    const char *name)
{
    for (size_t i = 0; i < ours->server_count; i++)
        if (text_is(ours->servers[i].name, name))
            return &ours->servers[i];
    return NULL;
}

void zone_life_recall_fetches(const struct zone_status *ours, const char *group,
                              struct server_view *servers, size_t count)
{
    bool is_theirs = group && text_is(ours->server_group, group);
    for (size_t i = 0; is_theirs && i < count; i++) {
        const struct zone_status_server *known = find_server(ours, servers[i].name);
        if (servers[i].has_fetched || !known)
            continue;
        servers[i].is_recalled = servers[i].has_fetched = known->has_fetched;
        servers[i].fetched = known->fetched_serial;
    }
}

void zone_life_complete(struct zone_life *life)
{
    struct zone_spec spec;
    struct zone_status ours;
    bool lacks_one = false;
    for (size_t i = 0; i < life->server_count; i++)
        lacks_one |= !life->servers[i].has_fetched;
    if (!lacks_one)
        return;
    CLEANUP(arena) struct arena *arena = arena_new();
    zone_unpack(arena, object_spec(life->object), object_managed(life->object), &spec, &ours);
    zone_life_recall_fetches(&ours, life->servers_group, life->servers, life->server_count);
}
