#pragma once

#include "controllers/zone/zone_tree.h"
#include "engine/controller.h"
#include "kinds/zone/zone_kind.h"

// What statuses say, as Zones and Records share it.

const char *zone_name_text(struct arena *arena, struct dname name); // with its final dot
// True if the object itself is at fault, and not what others do or say.
bool zone_is_own_fault(enum reason accepted);

// entries, entryCount, entriesComplete, nameservers: all of the zone up to `limit` entries and 64
// KiB of JSON, above that its SOA and apex NS alone. Returns the octets that the whole list takes
// as JSON, as far as it was looked at: 0 when it has too many entries.
size_t zone_entries_put(struct arena *arena, const struct zone *zone, size_t limit,
                        struct zone_status *out);
// The zone that complete entries stand for, the caller's; NULL: they make no zone, or one with
// another hash.
struct zone *zone_entries_read(struct arena *arena, struct dname apex,
                               const struct zone_status *status);
// Adds EntriesTruncated, or EntriesNearLimit from 80 % of either limit on.
void zone_entries_warn(const struct zone_status *status, size_t limit, size_t octets,
                       struct zone_tree_zone *view);

// Why the zone's servers do not all answer it, from status.servers; or REASON_PUBLISHED.
enum reason zone_programmed(const struct zone_status *status, bool has_group);
const char *zone_programmed_text(struct arena *arena, enum reason reason,
                                 const struct zone_status *status);
const char *zone_ready_text(struct arena *arena, const char *text, bool is_frozen, bool is_kept);
// "SingleNS: ...; MNAMENotInNS: ..."
const char *zone_warnings_text(struct arena *arena, const struct zone_tree_warning *warnings,
                               size_t count);

// A label of ours. Each write names all that we have on the object, as one left out would go.
struct zone_label {
    const char *key;
    struct text now;    // absent: it has none
    const char *wanted; // NULL: it is to have none
};
// `labels`: all of ours. They are written if one of them is to change.
void zone_labels_want(struct arena *arena, struct decision *out, const struct zone_label *labels,
                      size_t count);
// True if labels are to be written: those go first, and the status in a reconciliation of its own.
// Events and log lines wait for that one.
bool zone_is_label_first(const struct snapshot *snapshot, const struct decision *decision);
// Events for what changed between two states. `is_stuck`: a server could not load what it fetched.
void zone_events(struct decision *out, const struct conditions *before,
                 const struct conditions *after, bool is_stuck);
void record_events(struct decision *out, const struct conditions *before,
                   const struct conditions *after);
