#include "controllers/zone/zone_text.h"

#include <stdio.h>
#include <string.h>

#include "controllers/zone/events.def"
#include "dns/rdata.h"
#include "dns/rr_type.h"
#include "dns/zone.h"

enum { ENTRIES_OCTETS_MAX = 64 << 10, ENTRY_FRAME_OCTETS = 64, NEAR_PERCENT = 80 };

static const char *steal_text(struct arena *arena, const struct buffer *text)
{
    struct text all = buffer_text(text);
    return arena_copy(arena, all.at, all.len);
}

const char *zone_name_text(struct arena *arena, struct dname name)
{
    AUTO_BUFFER out = {0};
    dname_write(&out, name);
    return steal_text(arena, &out);
}

bool zone_is_own_fault(enum reason accepted)
{
    static const enum reason own[] = {REASON_INVALID_NAME, REASON_NAME_AND_ZONE_REF,
                                      REASON_NAME_INCOMPLETE, REASON_INVALID_SOA,
                                      REASON_UNKNOWN_SERVERS};
    for (size_t i = 0; i < COUNT_OF(own); i++)
        if (accepted == own[i])
            return true;
    return false;
}

// ---- entries ------------------------------------------------------------------------------------

struct entries {
    struct arena *arena;
    struct zone_status *out;
    size_t capacity;
    size_t octets;
};

static const char *rdata_text(struct arena *arena, const struct rrset *set, struct text rdata)
{
    AUTO_BUFFER out = {0};
    if (set->type == RR_SOA)
        zone_write_kubizone_soa(&out, set);
    else
        rdata_write(&out, set->type, rdata);
    return steal_text(arena, &out);
}

static size_t escapes_in(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == '"' || *text == '\\';
    return count;
}

static void entry_add(struct entries *entries, const struct rrset *set, struct text rdata)
{
    char type[10];
    struct zone_status *out = entries->out;
    if (out->entry_count == entries->capacity)
        return;
    const char *text = rdata_text(entries->arena, set, rdata);
    struct zone_status_entry *entry = &out->entries[out->entry_count++];
    *entry = (struct zone_status_entry){
        .fqdn = text_of(zone_name_text(entries->arena, rrset_owner(set))),
        .type = text_of(arena_copy_text(entries->arena, rr_type_write(set->type, type))),
        .class_ = TEXT("IN"),
        .ttl_s = set->ttl_s,
        .rdata = text_of(text),
    };
    entries->octets += ENTRY_FRAME_OCTETS + entry->fqdn.len + entry->type.len + entry->rdata.len +
                       escapes_in(text) + escapes_in(entry->fqdn.at);
}

static void set_add(struct entries *entries, const struct rrset *set)
{
    size_t cursor = 0;
    struct text rdata;
    while (rrset_next(set, &cursor, &rdata))
        entry_add(entries, set, rdata);
}

static bool is_full(const struct entries *entries)
{
    return entries->out->entry_count == entries->capacity || entries->octets > ENTRIES_OCTETS_MAX;
}

static void add_all(struct entries *entries, const struct zone *zone)
{
    struct zone_walk walk = {.zone = zone};
    set_add(entries, zone_soa(zone));
    for (const struct rrset *set; !is_full(entries) && (set = zone_walk(&walk));)
        if (set->type != RR_SOA)
            set_add(entries, set);
}

static void list_nameservers(struct entries *entries, const struct rrset *ns)
{
    size_t cursor = 0;
    struct text rdata;
    struct dname name;
    struct zone_status *out = entries->out;
    if (!ns)
        return;
    out->nameservers = arena_new_array(entries->arena, struct text, ns->count);
    while (rrset_next(ns, &cursor, &rdata))
        if (rdata_target(RR_NS, rdata, &name))
            out->nameservers[out->nameserver_count++] =
                text_of(zone_name_text(entries->arena, name));
}

size_t zone_entries_put(struct arena *arena, const struct zone *zone, size_t limit,
                        struct zone_status *out)
{
    const struct rrset *ns = zone_find(zone, zone_apex(zone), RR_NS);
    size_t total = zone_record_count(zone);
    size_t least = 1 + (ns ? ns->count : 0);
    struct entries entries = {.arena = arena, .out = out, .capacity = total};
    out->entries_total = (int64_t)total;
    out->entry_count = 0;
    out->entries_complete = total <= limit;
    entries.capacity = out->entries_complete ? total : least;
    out->entries = arena_new_array(arena, struct zone_status_entry, entries.capacity + 1);
    if (out->entries_complete)
        add_all(&entries, zone);
    size_t octets = entries.octets;
    if (octets > ENTRIES_OCTETS_MAX)
        out->entries_complete = false;
    if (!out->entries_complete) {
        out->entry_count = 0;
        set_add(&entries, zone_soa(zone));
        if (ns)
            set_add(&entries, ns);
    }
    list_nameservers(&entries, ns);
    return octets;
}

// The text of entries has the SOA's numbers in parentheses.
static char *without_parentheses(struct arena *arena, struct text text)
{
    char *copy = arena_copy(arena, text.at, text.len);
    for (char *at = copy; *at; at++)
        if (*at == '(' || *at == ')')
            *at = ' ';
    return copy;
}

static struct rrset *entry_read(struct arena *arena, const struct zone_status_entry *entry)
{
    uint8_t octets[DNAME_MAX];
    struct dname owner;
    uint16_t type;
    unsigned marks = 0;
    struct error err;
    AUTO_BUFFER rdata = {0};
    const struct rdata_rules rules = {.names = DNAME_OF_FILE};
    if (!rr_type_read(entry->type, &type) ||
        !dname_read(entry->fqdn, NULL, DNAME_OF_FILE, octets, &owner, &err))
        return NULL;
    struct text text =
        type == RR_SOA ? text_of(without_parentheses(arena, entry->rdata)) : entry->rdata;
    if (!rdata_read(type, text, &rules, &rdata, &marks, &err))
        return NULL;
    struct text wire = buffer_text(&rdata);
    return rrset_new(owner, type, entry->ttl_s, &wire, 1);
}

static void unref_all(struct rrset **sets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rrset_unref(sets[i]);
}

// True if the sets make a zone of that apex: its SOA first, and all others within it.
static bool is_zone(struct rrset *const *sets, size_t count, struct dname apex)
{
    if (!count || sets[0]->type != RR_SOA || !dname_equal(rrset_owner(sets[0]), apex))
        return false;
    for (size_t i = 1; i < count; i++)
        if (sets[i]->type == RR_SOA || !dname_is_within(rrset_owner(sets[i]), apex))
            return false;
    return true;
}

struct zone *zone_entries_read(struct arena *arena, struct dname apex,
                               const struct zone_status *status)
{
    char hash[21];
    size_t count = 0;
    struct rrset **sets = arena_new_array(arena, struct rrset *, status->entry_count + 1);
    while (count < status->entry_count &&
           (sets[count] = entry_read(arena, &status->entries[count])))
        count++;
    if (count < status->entry_count || !is_zone(sets, count, apex)) {
        unref_all(sets, count);
        return NULL;
    }
    struct zone *zone = zone_new(sets[0], sets + 1, count - 1);
    zone_write_hash(zone, hash);
    if (text_is(status->hash, hash) && zone_serial(zone) == status->serial)
        return zone;
    zone_unref(zone);
    return NULL;
}

static void warn(struct zone_tree_zone *view, enum reason reason, const char *text)
{
    if (view->warning_count < ZONE_TREE_WARNINGS_MAX)
        view->warnings[view->warning_count++] = (struct zone_tree_warning){reason, text};
}

void zone_entries_warn(const struct zone_status *status, size_t limit, size_t octets,
                       struct zone_tree_zone *view)
{
    size_t total = (size_t)status->entries_total;
    if (!status->hash.len)
        return;
    if (!status->entries_complete && total > limit)
        warn(view, REASON_ENTRIES_TRUNCATED,
             "the zone is too large for status.entries, which has its SOA and NS alone: read it by "
             "a zone transfer, or raise --status-entries");
    else if (!status->entries_complete)
        warn(view, REASON_ENTRIES_TRUNCATED,
             "the zone takes more than 64 KiB in status.entries, which has its SOA and NS alone: "
             "read it by a zone transfer");
    else if (total * 100 >= limit * NEAR_PERCENT)
        warn(view, REASON_ENTRIES_NEAR_LIMIT,
             "status.entries is nearly full; above --status-entries it has SOA and NS alone");
    else if (octets * 100 >= (size_t)ENTRIES_OCTETS_MAX * NEAR_PERCENT)
        warn(view, REASON_ENTRIES_NEAR_LIMIT,
             "status.entries is nearly full; above 64 KiB it has SOA and NS alone");
}

// ---- texts --------------------------------------------------------------------------------------

static bool has_state(const struct zone_status *status, enum zone_server_state state)
{
    for (size_t i = 0; i < status->server_count; i++)
        if (status->servers[i].state == state)
            return true;
    return false;
}

static bool is_unsure(const struct zone_status_server *server)
{
    return server->is_doubtful && server->state == SERVER_UNKNOWN;
}

enum reason zone_programmed(const struct zone_status *status, bool has_group)
{
    bool is_behind = false;
    bool is_new = false;
    bool is_doubtful = false;
    if (!has_group)
        return REASON_NO_SERVERS;
    if (has_state(status, SERVER_REFUSED))
        return REASON_SERVER_REFUSED;
    if (has_state(status, SERVER_AHEAD))
        return REASON_SERVER_AHEAD;
    for (size_t i = 0; i < status->server_count; i++) {
        const struct zone_status_server *server = &status->servers[i];
        bool is_current = server->state == SERVER_CURRENT;
        bool has_loaded = server->has_serial || server->has_fetched;
        bool is_in_doubt = is_unsure(server);
        is_behind |= !is_current && has_loaded && !is_in_doubt;
        is_new |= !is_current && !has_loaded;
        is_doubtful |= is_in_doubt;
    }
    if (is_behind)
        return REASON_SERVER_BEHIND;
    return is_new ? REASON_NEVER_LOADED : is_doubtful ? REASON_PENDING : REASON_PUBLISHED;
}

static const char *list_laggards(struct arena *arena, const struct zone_status *status)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < status->server_count; i++) {
        const struct zone_status_server *server = &status->servers[i];
        if (server->state == SERVER_CURRENT)
            continue;
        buffer_printf(&out, "%s%.*s is %s", out.len ? ", " : "", TEXT_ARGS(server->name),
                      zone_server_state_name(server->state));
        if (server->is_stuck)
            buffer_printf(&out, " (it fetched serial %u and could not load it: see its log)",
                          server->fetched_serial);
    }
    return steal_text(arena, &out);
}

static bool has_unsure(const struct zone_status *status)
{
    for (size_t i = 0; i < status->server_count; i++)
        if (is_unsure(&status->servers[i]))
            return true;
    return false;
}

const char *zone_programmed_text(struct arena *arena, enum reason reason,
                                 const struct zone_status *status)
{
    if (reason == REASON_PUBLISHED)
        return "every server answers it";
    if (reason == REASON_NO_SERVERS)
        return "no server group has the zone: nobody serves it from here, it stands in "
               "status.entries";
    if (reason == REASON_PENDING && has_unsure(status))
        return arena_printf(arena,
                            "what was fetched just before the restart is not known, and nobody may "
                            "be asked: %s until the next change",
                            list_laggards(arena, status));
    if (reason == REASON_PENDING)
        return "it is not served yet";
    return arena_printf(arena, "not all servers answer it: %s", list_laggards(arena, status));
}

const char *zone_ready_text(struct arena *arena, const char *text, bool is_frozen, bool is_kept)
{
    if (!is_frozen)
        return text;
    return arena_printf(arena, "%s; %s", text,
                        is_kept ? "the last good version stays served"
                                : "the last good version is not known here any more, as "
                                  "status.entries does not have all of it: servers go on with what "
                                  "they have until it expires");
}

const char *zone_warnings_text(struct arena *arena, const struct zone_tree_warning *warnings,
                               size_t count)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < count; i++)
        buffer_printf(&out, "%s%s: %s", i ? "; " : "", reason_name(warnings[i].reason),
                      warnings[i].text);
    return steal_text(arena, &out);
}

// ---- labels and events --------------------------------------------------------------------------

static bool is_as_wanted(const struct zone_label *label)
{
    return label->wanted ? text_is(label->now, label->wanted) : !label->now.at;
}

void zone_labels_want(struct arena *arena, struct decision *out, const struct zone_label *labels,
                      size_t count)
{
    bool is_news = false;
    for (size_t i = 0; i < count; i++)
        is_news = is_news || !is_as_wanted(&labels[i]);
    for (size_t i = 0; is_news && i < count; i++) {
        const struct zone_label *label = &labels[i];
        if (label->wanted || label->now.at)
            out->metadata_changes[out->metadata_change_count++] = (struct decision_metadata_change){
                .key = label->key,
                .value = label->wanted ? arena_copy_text(arena, label->wanted) : NULL,
                .is_label = true};
    }
}

static enum reason reason_of(const struct conditions *conditions, const char *type)
{
    const struct condition *found = conditions_find(conditions, type);
    return found ? found->reason : REASON_NONE;
}

static const char *message_of(const struct conditions *conditions, const char *type)
{
    const struct condition *found = conditions_find(conditions, type);
    return found && found->message ? found->message : "";
}

bool zone_is_label_first(const struct snapshot *snapshot, const struct decision *decision)
{
    return decision->metadata_change_count && !snapshot->refused;
}

// An Event when a condition comes to have a reason, or to lose it.
struct event_row {
    const char *type;
    enum reason reason;
    bool is_left; // told when the reason ceases to be
    bool is_warning;
    bool is_first; // only if the condition was not there before
    const char *event;
};

static void event_rows(struct decision *out, const struct event_row *rows, size_t count,
                       const struct conditions *before, const struct conditions *after)
{
    for (size_t i = 0; i < count; i++) {
        const struct event_row *row = &rows[i];
        enum reason was = reason_of(before, row->type);
        enum reason is = reason_of(after, row->type);
        bool is_reported = row->is_left ? was == row->reason && is != row->reason
                                        : was != row->reason && is == row->reason;
        if (is_reported && (!row->is_first || was == REASON_NONE))
            decision_add_event(out, row->is_warning, row->event, message_of(after, row->type));
    }
}

static bool was_ready(const struct conditions *conditions)
{
    return reason_of(conditions, "Ready") == REASON_COMPILED;
}

void zone_events(struct decision *out, const struct conditions *before,
                 const struct conditions *after, bool is_stuck)
{
    static const struct event_row rows[] = {
        {"Programmed", REASON_PUBLISHED, false, false, true, EVENT_FIRST_PUBLISHED},
        {"Programmed", REASON_SERVER_BEHIND, false, true, false, EVENT_SERVER_BEHIND},
        {"Accepted", REASON_ZONE_CONFLICT, false, true, false, EVENT_ZONE_CONFLICT},
    };
    event_rows(out, rows, COUNT_OF(rows), before, after);
    if (is_stuck && reason_of(before, "Programmed") == REASON_SERVER_BEHIND &&
        reason_of(after, "Programmed") == REASON_SERVER_BEHIND &&
        strcmp(message_of(before, "Programmed"), message_of(after, "Programmed")) != 0)
        decision_add_event(out, true, EVENT_SERVER_BEHIND, message_of(after, "Programmed"));
    if (was_ready(before) && !was_ready(after))
        decision_add_event(out, true, EVENT_ZONE_FROZEN, message_of(after, "Ready"));
    if (!was_ready(before) && was_ready(after) && reason_of(before, "Ready") != REASON_NONE)
        decision_add_event(out, false, EVENT_ZONE_THAWED, message_of(after, "Ready"));
}

static bool is_conflicted(const struct conditions *conditions)
{
    enum reason reason = reason_of(conditions, "Conflicted");
    return reason != REASON_NONE && reason != REASON_NO_CONFLICT;
}

void record_events(struct decision *out, const struct conditions *before,
                   const struct conditions *after)
{
    static const struct event_row rows[] = {
        {"Accepted", REASON_ADOPTED, false, false, false, EVENT_ADOPTED},
        {"Accepted", REASON_ADOPTED, true, true, false, EVENT_ORPHANED},
    };
    event_rows(out, rows, COUNT_OF(rows), before, after);
    if (!is_conflicted(before) && is_conflicted(after))
        decision_add_event(out, true, EVENT_EXCLUDED, message_of(after, "Conflicted"));
}
