#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "providers/pihole/list.h"

// What the lists of a Pi-hole should become after some changes, and the requests that make it so.
//
//     CLEANUP(draft) struct draft *draft = draft_new(list, &setup, changes, count);
//     strangers_note(&seat->strangers, list, draft);
//     for (size_t i = 0; i < draft_write_count(draft); i++) {
//         struct draft_write write = draft_write(draft, i);         send it
//     }
//     draft_stands(draft, hosts, cnames)                            as read back

// How changes are written: PIHOLE_WRITE. AUTO: one hosts line more or less by PUT or DELETE, all
// else by PATCH. PATCH: always, as long as one can carry it. ELEMENT: never a PATCH.
enum draft_way { DRAFT_AUTO, DRAFT_BY_PATCH, DRAFT_BY_ELEMENT };

enum {
    DRAFT_BODY_MAX = 65534,     // octets of a PATCH that Pi-hole takes
    DRAFT_UNPACK_BELOW = 49152, // if a PATCH of the hosts with none packed is shorter
    DRAFT_REREAD_EVERY = 64,    // element writes, then the list is read again
};

struct draft_setup {
    enum draft_way way;
    struct arena *arena; // of the job: errors and what was replaced
};

// At most one change for a name and type. The outcomes are filled as they will be once all is
// written and stands: clear them when it comes otherwise.
//   was_created; or `replaced`, what of ours stood there before; or neither, when only the form of
//   a line changes (our tag, a double); is_unchanged: nothing is written for it; is_foreign: it
//   stands there, but is not ours; was_absent: nothing to remove.
//   Errors: NameTaken, OwnedElsewhere (fault WAIT), RecordRefused (fault SPEC). With the first two
//   our own lines of that name go (`replaced`).
// The list may be drafted any number of times, with any selection; it must outlive the draft.
struct draft;
struct draft *draft_new(struct list *list, const struct draft_setup *setup,
                        struct change *const *changes, size_t count);
void draft_free(struct draft *draft);
DEFINE_CLEANUP(draft, draft_free)

struct draft_counts {
    size_t added;
    size_t removed;
    size_t replaced; // at the same place
};
struct draft_counts draft_counts(const struct draft *draft, enum list_part part);
bool draft_changes_part(const struct draft *draft, enum list_part part);
bool draft_is_packed(const struct draft *draft); // our lines are being packed by it
// Those of the changes for which something is written, in the caller's order.
struct change *const *draft_changes(const struct draft *draft, size_t *count);

enum draft_verb { DRAFT_PATCH, DRAFT_PUT, DRAFT_DELETE };
struct draft_write {
    enum draft_verb verb;
    bool writes[LIST_PARTS]; // cnames: the resolver restarts
    size_t body_len;         // PATCH: exactly
};
// Nothing to write: 0. One PATCH, two (hosts first), or element by element: additions first; where
// an alias changes its target its removal comes just before.
size_t draft_write_count(const struct draft *draft);
struct draft_write draft_write(const struct draft *draft, size_t i);
// "/api/config", or "/api/config/dns/hosts/192.168.1.50%20a.lan". Appends.
void draft_write_path(const struct draft *draft, size_t i, struct buffer *out);
// Of a PATCH, compact, `/` bare. Appends exactly body_len octets.
void draft_write_body(const struct draft *draft, size_t i, struct buffer *out);

// Does what was read back hold our lines as drafted, and those of others as read? Blanks are
// collapsed by Pi-hole; where our lines stand does not count. Parts that the draft leaves alone are
// not looked at.
bool draft_stands(const struct draft *draft, const struct value *hosts, const struct value *cnames);

// Pi-hole refused write `i` with that hint ("dns.hosts[4]: invalid hostname"): whose fault is it?
enum blame_kind {
    BLAME_UNKNOWN, // the hint has no index, or one that does not exist: bisect
    BLAME_CHANGES, // the line comes from these changes: set them apart
    BLAME_OLD,     // a line of ours that was there before: list_leave_out()
    BLAME_FOREIGN, // somebody else's line: nothing can be added before it is mended
};
struct blame {
    enum blame_kind kind;
    enum list_part part;
    size_t line;                   // OLD, FOREIGN: its place as read
    struct text text;              // the line
    struct text why;               // what Pi-hole says of it: the rest of the hint
    struct change *const *changes; // CHANGES: at least one
    size_t change_count;
};
struct blame draft_blame(const struct draft *draft, size_t i, const char *hint);

// Whose lines are somebody else's, as of this list. `draft` (or NULL): what it adopts is not.
void strangers_note(struct strangers *strangers, const struct list *list,
                    const struct draft *draft);
