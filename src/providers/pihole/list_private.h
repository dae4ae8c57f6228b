#pragma once

#include "base/table.h"
#include "providers/pihole/list.h"

// How a list lies in memory. Private to list*.c and revision*.c.

enum {
    LIST_TYPES = RECORD_CNAME + 1,
    PACKED_NAMES = 16,     // of one line of ours
    ALIAS_LINE_MAX = 1000, // dnsmasq reads lines of at most 1,024 octets, "cname=" with them
};
#define LIST_NONE TABLE_NONE

enum whose { WHOSE_OURS, WHOSE_ANOTHER_OWNERS, WHOSE_SOMEBODYS };

struct line {
    struct text text; // as read
    enum whose whose;
    bool is_tagged;      // its comment is some owner's tag
    bool has_comment;    // any
    bool is_left_out;    // of revisions
    const char *refusal; // why Pi-hole's own rules refuse it, or NULL
    uint32_t entry;      // its entries lie side by side
    uint32_t entry_count;
};

// A name of a line, with what the line says of it.
struct entry {
    enum record_type type;
    uint32_t name;
    uint32_t line;     // of list_part_of(type)
    uint32_t next;     // of the same name and type, or LIST_NONE
    struct text value; // canonical: RFC 5952, lower case without final dot
    uint32_t ttl_s;
};

struct name {
    struct text text; // canonical
    uint64_t hash;
    uint32_t first[LIST_TYPES]; // entries, in the order of their lines
    uint32_t last[LIST_TYPES];
};

struct lines {
    struct line *at;
    size_t count;
};

struct list {
    struct arena *arena;
    struct list_rules rules; // what they point to: only while it is read
    struct text tag;         // "signpost:1a2b3c4d"
    struct lines parts[LIST_PARTS];
    struct entry *entries;
    size_t entry_count;
    size_t entry_capacity;
    struct name *names;
    size_t name_count;
    size_t name_capacity;
    struct table by_name;
};

// A line cut into what it means.
struct cut {
    struct text value; // as written: an address, a target
    struct text *names;
    size_t name_count;
    size_t name_capacity;
    struct text comment; // without its #, trimmed; absent when there is none
    uint32_t ttl_s;
    enum record_type type;
    const char *refusal; // the names count all the same, if there are any
};
// Reuses what `cut` has; texts point into `line`.
void cut_hosts(struct cut *cut, struct text line);
void cut_cname(struct cut *cut, struct text line);
void cut_done(struct cut *cut);

// Canonical text of a name or target: lower case, no final dot.
struct text canonical_name(struct arena *arena, struct text name);
// Of an address that inet_pton takes, as RFC 5952 has it; false: it is none of that type.
bool canonical_address(struct arena *arena, enum record_type type, struct text address,
                       struct text *out);

// The name's id, or LIST_NONE. `name` is canonical.
uint32_t list_find_name(const struct list *list, struct text name);
// A line as we write it: one value, and names of it; hosts are tagged if that is the rule.
void list_render(struct buffer *out, const struct list_rules *rules, enum record_type type,
                 struct text value, uint32_t ttl_s, const struct text *names, size_t count);
// A value in canonical text; false: it is no address of that type.
bool list_value(struct arena *arena, enum record_type type, struct text value, struct text *out);
struct text list_set_name(struct arena *arena, const struct record_set *set); // canonical
// `values` are copied, their texts and `name` are not.
struct record_set list_set(struct arena *arena, enum record_type type, struct text name,
                           uint32_t ttl_s, const struct text *values, size_t count);
// Sorted, and each once; returns how many are left.
size_t list_tidy_values(struct text *values, size_t count);
// Walks the entries of a name and type; `name` may be LIST_NONE.
#define list_each(id, list, name_id, type)                                                         \
    for (uint32_t id = (name_id) == LIST_NONE ? LIST_NONE : (list)->names[name_id].first[type];    \
         (id) != LIST_NONE; (id) = (list)->entries[id].next)
static inline struct line *list_line_of(const struct list *list, const struct entry *entry)
{
    return &list->parts[list_part_of(entry->type)].at[entry->line];
}
