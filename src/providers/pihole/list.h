#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/value.h"
#include "providers/provider.h"

// The local records of a Pi-hole: two lists of texts, `dns.hosts` ("192.168.1.50 app.home.lan
// # signpost:1a2b3c4d") and `dns.cnameRecords` ("www.home.lan,app.home.lan,300"). Everything here
// is pure: a list is read, told from, and drafts of what it should become are drawn, each with the
// requests that make it so.
//
//     CLEANUP(list) struct list *list = list_read(&rules, hosts, cnames, err);
//     CLEANUP(draft) struct draft *draft = draft_new(list, &setup, changes, count);
//     for (size_t i = 0; i < draft_write_count(draft); i++)
//         draft_write(draft, i, &write);            send it; a draft may ask for many
//     draft_stands(draft, hosts, cnames)            as read back
//
// Whose a line is: ours when its comment is exactly `signpost:<owner id>`, or when the ledger names
// it byte for byte (CNAMEs, and hosts without tags); another owner's when it is tagged so; else
// somebody's, who put it there by hand. What is not ours is never changed, and keeps its place.
// Names are compared without case, addresses in binary.

enum list_part { LIST_HOSTS, LIST_CNAMES, LIST_PARTS };
const char *list_part_key(enum list_part part); // "hosts", "cnameRecords"
enum list_part list_part_of(enum record_type type);

// Lines that were somebody else's when they were last seen. The ledger is written ahead, so it may
// name them by now; they stay theirs as long as they stand. Kept by the seat; {0} is ready.
struct strangers {
    uint64_t *hashes; // sorted
    size_t count;
    size_t capacity;
};
void strangers_done(struct strangers *strangers);
bool strangers_have(const struct strangers *strangers, struct text line);

struct list_rules {
    const char *owner_id;
    bool has_tags;                     // hosts lines of ours are tagged: PIHOLE_OWNERSHIP=comment
    const struct ledger_view *ledger;  // NULL: names nothing
    const struct strangers *strangers; // NULL: none
};

// The two lists as they were read; texts are copied. NULL stands for an empty list. NULL is
// returned where the lists are not lists of texts: fault AGAIN, text without reason.
struct list;
struct list *list_read(const struct list_rules *rules, const struct value *hosts,
                       const struct value *cnames, struct error *err);
void list_free(struct list *list);
DEFINE_CLEANUP(list, list_free)

size_t list_count(const struct list *list, enum list_part part);               // lines
struct text list_line(const struct list *list, enum list_part part, size_t i); // as read
// For JOB_HEALTH: one holding for each name and type of ours, and one of theirs; values sorted and
// canonical. Texts live as long as the list.
void list_tell(const struct list *list, void (*holds)(void *context, const struct holding *holding),
               void *context);
// The first line that Pi-hole's own rules refuse: no write can succeed while it stands there. `why`
// is a phrase. False: there is none.
bool list_refused(const struct list *list, enum list_part *part, size_t *i, const char **why);

// What has to be remembered in the ledger before that set is written: the lines, each ended by a
// newline. False: nothing, because the lines carry our tag.
bool list_entry(const struct list_rules *rules, const struct record_set *set, struct buffer *out);
// Pi-hole's own rules for a name: 253 octets, labels of 1..63 letters, digits, - and _. Fault SPEC,
// reason RecordRefused.
bool list_check_name(struct text name, struct error *err);

// How changes are written: PIHOLE_WRITE. AUTO: one hosts line more or less by PUT or DELETE, all
// else by PATCH. PATCH: always, as long as one can carry it. ELEMENT: never a PATCH.
enum list_way { LIST_AUTO, LIST_PATCH, LIST_ELEMENT };

enum {
    LIST_BODY_MAX = 65534,     // octets of a PATCH that Pi-hole takes
    LIST_UNPACK_BELOW = 49152, // a PATCH of the hosts without packed lines would be shorter
    LIST_PACKED_NAMES = 16,    // of one packed line
    LIST_REREAD_EVERY = 64,    // element writes, then the list is read again
};

// What the list should become after some changes, and the requests for it. The outcomes of the
// changes are filled as they will be once all is written and stands (texts in `arena`): clear them
// when it comes otherwise. Those with an error, with is_unchanged, or is_foreign and no `replaced`
// have nothing to be written.
//   created: was_created; changed: `replaced`; there already: is_unchanged; there, but not ours:
//   is_foreign; removed: `replaced`; nothing to remove: was_absent, is_unchanged.
//   Errors: NameTaken, OwnedElsewhere (fault WAIT), RecordRefused (fault SPEC). Lines of ours for
//   that name go then (`replaced`).
struct draft;
struct draft_setup {
    enum list_way way;
    struct arena *arena; // of the job
};
// Changes are taken in order, REMOVEs before SETs; READ is not for a list. The list may be drafted
// any number of times, with any selection; it must outlive the draft.
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
bool draft_is_packed(const struct draft *draft); // ours are packed in it, and were not before
// Those of the changes for which something has to be written, in the caller's order.
struct change *const *draft_changes(const struct draft *draft, size_t *count);

enum draft_verb { DRAFT_PATCH, DRAFT_PUT, DRAFT_DELETE };
struct draft_write {
    enum draft_verb verb;
    bool changes[LIST_PARTS]; // what it writes; cnames: the resolver restarts
    // PATCH: "/api/config". Else "/api/config/dns/hosts/192.168.1.50%20a.lan". Lives in the draft.
    const char *path;
    size_t body_len; // PATCH: exactly
};
// Nothing to write: 0. One PATCH, two (hosts first), or element by element, additions first; where
// an alias changes its target its removal comes just before.
size_t draft_write_count(const struct draft *draft);
void draft_write(struct draft *draft, size_t i, struct draft_write *out);
// The body of a PATCH, compact, `/` bare. Appends exactly body_len octets.
void draft_write_body(const struct draft *draft, size_t i, struct buffer *out);

// Does what was read back hold our lines as drafted, and those of others as read? Blanks are
// collapsed by Pi-hole; the order of ours does not count. NULL: not read back, not looked at.
bool draft_stands(const struct draft *draft, const struct value *hosts, const struct value *cnames);

// Whose fault is it that Pi-hole refused write `i` with that hint ("dns.hosts[4]: invalid ...")?
enum blame_kind {
    BLAME_UNKNOWN, // the hint has no index, or one that does not exist: bisect
    BLAME_CHANGES, // the line comes from these changes: set them apart
    BLAME_OLD,     // a line of ours that was there before: list_leave_out()
    BLAME_FOREIGN, // somebody else's line: nothing can be added before it is mended
};
struct blame {
    enum blame_kind kind;
    enum list_part part;
    struct text line;              // the line, and
    struct text why;               // what Pi-hole says of it: the rest of the hint
    struct change *const *changes; // BLAME_CHANGES: at least one
    size_t change_count;
};
struct blame draft_blame(const struct draft *draft, size_t i, const char *hint);
// A line of ours that Pi-hole refuses is no longer part of any draft of that list.
void list_leave_out(struct list *list, const struct blame *blame);

// After a read: whose lines are somebody else's. `draft` (or NULL): what it adopts is not.
void strangers_note(struct strangers *strangers, const struct list *list,
                    const struct draft *draft);

// Finding what Pi-hole refuses when it does not say: the changes were refused as a whole, parts of
// them are tried, and what is taken is written. At most log2(n) tries; then the one at changes[low]
// is to blame, all before it are written, and those behind it are to be tried as a whole again.
struct bisect {
    struct change *const *changes;
    size_t low;
    size_t high;
};
void bisect_init(struct bisect *bisect, struct change *const *changes, size_t count);
// The next ones to try, from changes[low] on. 0: changes[low] is the one.
size_t bisect_next(const struct bisect *bisect);
void bisect_hear(struct bisect *bisect, bool is_taken);
