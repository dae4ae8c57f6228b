#pragma once

#include "providers/pihole/list_private.h"
#include "providers/pihole/revision.h"

// How a revision lies in memory. Private to revision*.c and line_set.c.

// One name and value that a change brings.
struct pair {
    struct change *change;
    enum record_type type;
    struct text name;
    struct text value;
    uint32_t ttl_s;
    uint32_t entry; // whose place it takes, or LIST_NONE
};

// What becomes of an entry as read: it stays, or it goes. Then a pair may take its place.
struct fate {
    bool is_gone;
    bool is_adopted; // it was somebody's, and is ours now
    uint32_t pair;   // number + 1
};

// A line as revised.
struct revised {
    struct text text;
    size_t json_len; // octets of the text in JSON
    uint32_t line;   // as read, or LIST_NONE: a new one
    bool is_ours;
    bool is_new;    // not the text as read
    bool is_packed; // of ours, with several names
    struct change *const *changes;
    size_t change_count;
};

struct layout {
    struct revised *at;
    size_t count;
    size_t capacity;
    size_t json_len; // of the list, with brackets and commas
    size_t packed;   // lines
};

struct write {
    enum revision_verb verb;
    bool writes[LIST_PARTS];
    enum list_part part;        // of PUT and DELETE
    struct text text;           // the element
    const struct revised *from; // PUT: the line
};

struct revision {
    struct arena *arena;
    struct list *list;
    struct revision_setup setup;
    struct fate *fates; // of the list's entries
    struct pair *pairs;
    size_t pair_count;
    size_t pair_capacity;
    struct change **changes; // that write something
    size_t change_count;
    struct layout parts[LIST_PARTS];
    struct revision_counts counts[LIST_PARTS];
    bool is_packed;
    struct write *writes;
    size_t write_count;
    size_t write_capacity;
};

// Fills fates, pairs and the change's outcome.
void revision_judge(struct revision *revision, struct change *change);
// Fills parts and counts: the lines, some packed or unpacked where their length asks for it.
void revision_lay_out(struct revision *revision);
// Fills writes.
void revision_plan_writes(struct revision *revision);

bool revision_adopts(const struct revision *revision, enum list_part part, size_t line);
size_t revision_body_len(const struct revision *revision, const bool parts[LIST_PARTS]);

// KEPT: a line of ours stays as it is, new ones have one name. GROWN: what is new is packed, at the
// end. UNPACKED, PACKED: so are all of ours.
enum layout_form { FORM_KEPT, FORM_GROWN, FORM_UNPACKED, FORM_PACKED };
struct layout revision_layout(struct revision *revision, enum list_part part,
                              enum layout_form form);
