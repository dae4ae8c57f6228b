#include "engine/published.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"
#include "base/table.h"
#include "dns/serial.h"

struct entry {
    struct published_zone zone;
    struct zone_history *history;
    struct published_fetch *fetches;
    size_t fetch_capacity;
    char *group;
    uint8_t apex[DNAME_MAX];
};

struct published {
    struct entry **entries;
    size_t count;
    size_t capacity;
    struct table by_apex;
    bool is_complete;
    void (*reported)(void *context, const struct published_sign *sign);
    void *context;
};

static uint64_t hash_of(struct dname apex)
{
    return hash_octets(apex.at, apex.len);
}

static bool entry_matches(const void *context, uint32_t id, const void *key)
{
    const struct published *published = context;
    return dname_equal(published->entries[id]->zone.apex, *(const struct dname *)key);
}

static uint64_t entry_hash(const void *context, uint32_t id)
{
    const struct published *published = context;
    return hash_of(published->entries[id]->zone.apex);
}

static const struct table_ops entry_ops = {entry_matches, entry_hash};

struct published *published_new(void (*reported)(void *context, const struct published_sign *sign),
                                void *context)
{
    struct published *published = mem_new_of(struct published);
    *published = (struct published){.reported = reported, .context = context};
    published->by_apex = (struct table){.ops = &entry_ops, .context = published};
    return published;
}

// ---- entries ------------------------------------------------------------------------------------

static void forget_fetches(struct entry *entry)
{
    for (size_t i = 0; i < entry->zone.fetch_count; i++)
        free(entry->fetches[i].server);
    entry->zone.fetch_count = 0;
}

static void entry_free(struct entry *entry)
{
    forget_fetches(entry);
    zone_history_free(entry->history);
    free(entry->fetches);
    free(entry->group);
    free(entry);
}

void published_free(struct published *published)
{
    if (!published)
        return;
    for (size_t i = 0; i < published->count; i++)
        entry_free(published->entries[i]);
    table_done(&published->by_apex);
    free(published->entries);
    free(published);
}

static uint32_t id_of(const struct published *published, struct dname apex)
{
    return table_find(&published->by_apex, hash_of(apex), &apex);
}

static struct entry *find(const struct published *published, struct dname apex)
{
    uint32_t id = id_of(published, apex);
    return id == TABLE_NONE ? NULL : published->entries[id];
}

static struct entry *add(struct published *published, struct dname apex)
{
    struct entry *entry = mem_new_of(struct entry);
    must(apex.len <= sizeof entry->apex);
    memcpy(entry->apex, apex.at, apex.len);
    entry->history = zone_history_new();
    entry->zone.apex = (struct dname){entry->apex, apex.len};
    entry->zone.history = entry->history;
    mem_reserve(&published->entries, &published->capacity, published->count + 1);
    published->entries[published->count] = entry;
    table_add(&published->by_apex, hash_of(apex), (uint32_t)published->count++);
    return entry;
}

static bool is_of_group(const struct entry *entry, const char *group)
{
    return entry->group && group ? strcmp(entry->group, group) == 0 : entry->group == group;
}

static struct entry *get(struct published *published, struct dname apex, const char *group)
{
    struct entry *entry = find(published, apex);
    if (!entry)
        entry = add(published, apex);
    if (is_of_group(entry, group))
        return entry;
    forget_fetches(entry);
    free(entry->group);
    entry->group = group ? mem_copy_text(group) : NULL;
    entry->zone.group = entry->group;
    return entry;
}

// ---- what is served -----------------------------------------------------------------------------

void published_serve(struct published *published, const char *group, const struct zone *zone)
{
    struct entry *entry = get(published, zone_apex(zone), group);
    entry->zone.state = PUBLISHED_SERVED;
    if (zone_history_newest(entry->history) != zone)
        zone_history_publish(entry->history, zone);
}

void published_withhold(struct published *published, struct dname apex, const char *group,
                        enum published_state state)
{
    must(state != PUBLISHED_SERVED);
    struct entry *entry = get(published, apex, group);
    entry->zone.state = zone_history_newest(entry->history) ? state : PUBLISHED_WITHHELD;
}

bool published_remove(struct published *published, struct dname apex)
{
    uint32_t id = id_of(published, apex);
    if (id == TABLE_NONE)
        return false;
    struct entry *gone = published->entries[id];
    uint32_t last = (uint32_t)published->count - 1;
    uint64_t last_hash = entry_hash(published, last);
    table_remove(&published->by_apex, hash_of(apex), id);
    if (id != last) {
        table_remove(&published->by_apex, last_hash, last);
        published->entries[id] = published->entries[last];
        table_add(&published->by_apex, last_hash, id);
    }
    published->count--;
    entry_free(gone);
    return true;
}

void published_complete(struct published *published)
{
    published->is_complete = true;
}

bool published_is_complete(const struct published *published)
{
    return published->is_complete;
}

const struct published_zone *published_find(const struct published *published, struct dname apex)
{
    const struct entry *entry = find(published, apex);
    return entry ? &entry->zone : NULL;
}

const struct published_zone *published_next(const struct published *published, size_t *cursor)
{
    return *cursor < published->count ? &published->entries[(*cursor)++]->zone : NULL;
}

// ---- what servers fetched -----------------------------------------------------------------------

static struct published_fetch *find_fetch(struct entry *entry, const char *server)
{
    for (size_t i = 0; i < entry->zone.fetch_count; i++) {
        if (strcmp(entry->fetches[i].server, server) == 0)
            return &entry->fetches[i];
    }
    return NULL;
}

static struct published_fetch *get_fetch(struct entry *entry, const char *server)
{
    struct published_fetch *found = find_fetch(entry, server);
    size_t count = entry->zone.fetch_count;
    if (found)
        return found;
    if (count == PUBLISHED_FETCHES_MAX) {
        free(entry->fetches[0].server);
        memmove(entry->fetches, entry->fetches + 1, --count * sizeof *entry->fetches);
    }
    mem_reserve(&entry->fetches, &entry->fetch_capacity, count + 1);
    entry->fetches[count] = (struct published_fetch){.server = mem_copy_text(server)};
    entry->zone.fetches = entry->fetches;
    entry->zone.fetch_count = count + 1;
    return &entry->fetches[count];
}

static void report_sign(const struct published *published, const struct entry *entry,
                        const struct published_fetch *fetch, bool has_fetched)
{
    const struct published_sign sign = {entry->zone.apex, fetch->server, has_fetched};
    if (published->reported)
        published->reported(published->context, &sign);
}

void published_asked(struct published *published, struct dname apex, const char *server,
                     uint32_t serial)
{
    struct entry *entry = find(published, apex);
    if (!entry)
        return;
    struct published_fetch *fetch = get_fetch(entry, server);
    fetch->has_asked = true;
    fetch->asked_serial = serial;
    report_sign(published, entry, fetch, false);
}

void published_fetched(struct published *published, struct dname apex, const char *server,
                       uint32_t serial, int64_t now_ms)
{
    struct entry *entry = find(published, apex);
    if (!entry)
        return;
    struct published_fetch *fetch = get_fetch(entry, server);
    fetch->has_fetched = true;
    fetch->fetched_serial = serial;
    fetch->fetched_ms = now_ms;
    report_sign(published, entry, fetch, true);
}

bool published_is_stuck(struct published *published, struct dname apex, const char *server,
                        uint32_t serial, int64_t now_ms)
{
    struct entry *entry = find(published, apex);
    struct published_fetch *fetch = entry ? find_fetch(entry, server) : NULL;
    if (!fetch || !fetch->has_fetched)
        return false;
    if (!serial_is_before(serial, fetch->fetched_serial))
        fetch->is_stuck = false;
    else if (now_ms - fetch->fetched_ms >= PUBLISHED_STUCK_MS)
        fetch->is_stuck = true;
    return fetch->is_stuck;
}
