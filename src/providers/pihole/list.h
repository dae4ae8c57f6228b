#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/value.h"
#include "providers/provider.h"

// The local records of a Pi-hole: two lists of texts, `dns.hosts` ("192.168.1.50 app.home.lan
// # signpost:1a2b3c4d") and `dns.cnameRecords` ("www.home.lan,app.home.lan,300"). Everything here
// is pure: a list is read, and told from; revision.h draws what it should become.
//
//     CLEANUP(list) struct list *list = list_read(&rules, hosts, cnames, err);
//     list_report(list, job->holds, job->context);
//
// Whose a line is: ours when its comment is exactly `signpost:<owner id>`, or when the ledger names
// it byte for byte (CNAMEs, and hosts without tags); another owner's when it is tagged so; else
// somebody's, who put it there by hand. What is not ours is never changed, and keeps its place.
// Names are compared without case, addresses in binary.

enum list_part { LIST_HOSTS, LIST_CNAMES, LIST_PARTS };
const char *list_part_key(enum list_part part); // "hosts", "cnameRecords"
enum list_part list_part_of(enum record_type type);
bool list_has_type(enum record_type type); // A, AAAA, CNAME

// Some lines, by their hashes. {0} is ready.
struct line_set {
    uint64_t *hashes; // sorted
    size_t count;
    size_t capacity;
};
void line_set_done(struct line_set *set);
bool line_set_has(const struct line_set *set, struct text line);
void line_set_add(struct line_set *set, struct text line);

struct list_rules {
    const char *owner_id;
    bool has_tags;                    // hosts lines of ours are tagged: PIHOLE_OWNERSHIP=comment
    const struct ledger_view *ledger; // NULL: names nothing
    // Were somebody else's when last seen: they stay so while they stand, even if the ledger, which
    // is written ahead, names them by now. Kept by the instance, filled by strangers_note(). Or
    // NULL.
    const struct line_set *strangers;
    // Written by this exchange: ours, even if the ledger does not name them yet. Or NULL.
    const struct line_set *written;
};

// The two lists as they were read; texts are copied. NULL stands for an empty list. NULL is
// returned where they are not lists of texts: fault AGAIN, no reason.
struct list;
struct list *list_read(const struct list_rules *rules, const struct value *hosts,
                       const struct value *cnames, struct error *err);
void list_free(struct list *list);
DEFINE_CLEANUP(list, list_free)

size_t list_count(const struct list *list, enum list_part part);               // lines
struct text list_line(const struct list *list, enum list_part part, size_t i); // as read
// A line that a predecessor may have made: one name, no comment.
bool list_is_plain(const struct list *list, enum list_part part, size_t i);
bool list_has_name(const struct list *list, struct text name); // canonical; of whomever
struct content_id list_others(const struct list *list);        // of all lines that are not ours
// For JOB_HEALTH: one holding for each name and type of ours, and one of what is not ours; values
// sorted and canonical. Texts live as long as the list.
void list_report(struct list *list,
                 void (*report_existing)(void *context, const struct existing_set *existing),
                 void *context);
// The first line that Pi-hole's own rules refuse: nothing can be added while it stands there. `why`
// is a phrase. False: there is none.
bool list_refused(const struct list *list, enum list_part *part, size_t *i, const char **why);
// A line of ours that Pi-hole refuses is no longer part of any revision of that list.
void list_leave_out(struct list *list, enum list_part part, size_t i);

// What has to be remembered in the ledger before that set is written: the lines, each ended by a
// newline. False: nothing, because the lines carry our tag.
bool list_entry(const struct list_rules *rules, const struct record_set *set, struct buffer *out);
// Pi-hole's own rules for a name: 253 octets, labels of 1..63 letters, digits, - and _; no - at
// either end of the last label. Fault SPEC, reason RecordRefused.
bool list_check_name(struct text name, struct error *err);
