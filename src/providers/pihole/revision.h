#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "providers/pihole/list.h"

// What the lists of a Pi-hole should become after some changes, and the requests that make it so.
//
//     CLEANUP(revision) struct revision *revision = revision_new(list, &setup, changes, count);
//     strangers_note(&instance->strangers, list, revision);
//     for (size_t i = 0; i < revision_write_count(revision); i++) {
//         struct revision_write write = revision_write(revision, i);         send it
//     }
//     A revision of what is read back then writes nothing.

// How changes are written: PIHOLE_WRITE. AUTO: one hosts line more or less by PUT or DELETE, all
// else by PATCH. PATCH: always, as long as one can carry it. ELEMENT: never a PATCH. SHARED is AUTO
// while others write, too: a few hosts lines more or less go one by one, as a PATCH would take
// along what is written between the reading and it.
enum revision_way { REVISION_AUTO, REVISION_BY_PATCH, REVISION_BY_ELEMENT, REVISION_SHARED };

enum {
    REVISION_BODY_MAX = 65534,     // octets of a PATCH that Pi-hole takes
    REVISION_UNPACK_BELOW = 49152, // if a PATCH of the hosts with none packed is shorter
    REVISION_REREAD_EVERY = 64,    // element writes, then the list is read again
    REVISION_FEW = 64,             // SHARED: lines; each takes Pi-hole some 50 ms
};

struct revision_setup {
    enum revision_way way;
    struct arena *arena; // of the job: errors and what was replaced
};

// At most one change for a name and type. The outcomes are filled as they will be once all is
// written and stands: clear them when it comes otherwise.
//   was_created; or `replaced`, what of ours stood there before; or neither, when only the form of
//   a line changes (our tag, a double); is_unchanged: nothing is written for it; is_foreign: it
//   stands there, but is not ours; was_absent: nothing to remove.
//   Errors: NameTaken, OwnedElsewhere (fault WAIT), RecordRefused (fault SPEC). With the first two
//   our own lines of that name go (`replaced`).
// The list may be revised any number of times, with any selection; it must outlive the revision.
struct revision;
struct revision *revision_new(struct list *list, const struct revision_setup *setup,
                              struct change *const *changes, size_t count);
void revision_free(struct revision *revision);
DEFINE_CLEANUP(revision, revision_free)

struct revision_counts {
    size_t added;
    size_t removed;
    size_t replaced; // at the same place
};
struct revision_counts revision_counts(const struct revision *revision, enum list_part part);
bool revision_changes_part(const struct revision *revision, enum list_part part);
// Those of the changes for which something is written, in the caller's order.
struct change *const *revision_changes(const struct revision *revision, size_t *count);

enum revision_verb { REVISION_PATCH, REVISION_PUT, REVISION_DELETE };
struct revision_write {
    enum revision_verb verb;
    bool writes[LIST_PARTS]; // cnames: the resolver restarts
    size_t body_len;         // PATCH: exactly
    struct text line;        // PUT, DELETE
};
// Nothing to write: 0. One PATCH, two (hosts first), or element by element: additions first; where
// an alias changes its target its removal comes just before.
size_t revision_write_count(const struct revision *revision);
struct revision_write revision_write(const struct revision *revision, size_t i);
// "/api/config", or "/api/config/dns/hosts/192.168.1.50%20a.lan". Appends.
void revision_write_path(const struct revision *revision, size_t i, struct buffer *out);
// Of a PATCH, compact, `/` bare. Appends exactly body_len octets.
void revision_write_body(const struct revision *revision, size_t i, struct buffer *out);

// Write `i` was taken: notes the lines that it brought.
void revision_note_written(const struct revision *revision, size_t i, struct line_set *written);

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
struct blame revision_blame(const struct revision *revision, size_t i, const char *hint);

// Whose lines are somebody else's, as of this list. `revision` (or NULL): what it adopts is not.
void strangers_note(struct line_set *strangers, const struct list *list,
                    const struct revision *revision);
