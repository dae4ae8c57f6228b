#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"

// The one document model: a tree of values, each with the line and column where it stood. Filled
// by libyaml for every manifest (.json files too) and by our reader from the wire; kinds decode
// nothing else. A tree lives in an arena and dies with it. Map keys keep their order and are
// unique.

enum value_type {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_TEXT,
    VALUE_LIST,
    VALUE_MAP,
};

struct value {
    enum value_type type;
    bool is_plain; // YAML: an unquoted scalar, so "yes" was meant as a boolean
    uint32_t line; // 1-based; 0 when made by us
    uint32_t column;
    struct text text; // VALUE_TEXT: content. BOOL, INT, FLOAT read from YAML: as typed
    union {
        bool boolean;
        int64_t integer;
        double real;
        size_t count; // LIST, MAP: entries
    };
    struct value *first; // LIST, MAP: children in order
    struct value *last;
    struct value *next;
    struct text key; // of a MAP's child
    uint32_t key_line;
    uint32_t key_column;
};

struct value_limits {
    size_t octets;    // of the whole input; a larger one is refused
    unsigned depth;   // nesting of lists and maps
    unsigned aliases; // YAML alias uses per document
    unsigned nodes;   // values per document, of about 100 octets each; 0: 2^20
    // JSON: the list or map behind this key, wherever it stands, comes out empty; of it only UTF-8,
    // strings and the number of its brackets are checked. NULL: none.
    const char *passed_key;
};
extern const struct value_limits value_manifest_limits; // 16 MiB, 64, 64
extern const struct value_limits value_reply_limits;    // 1 MiB, 16, 0
// For JSON that we wrote of a tree that was read within limits: it is larger than what was read
// (escapes, copies that aliases made), and it has to read back.
extern const struct value_limits value_own_limits;

const char *value_type_name(enum value_type type); // "text", "number", "list", "map", ...

// Making. Texts are borrowed: copy them into the arena first where needed.
struct value *value_make(struct arena *arena, enum value_type type);
struct value *value_make_text(struct arena *arena, struct text text);
struct value *value_make_int(struct arena *arena, int64_t integer);
struct value *value_make_bool(struct arena *arena, bool boolean);
void value_append(struct value *list, struct value *item);
// Replaces an entry of that key. `key` is borrowed.
void value_set(struct value *map, struct text key, struct value *item);
bool value_remove(struct value *map, const char *key);
struct value *value_copy(struct arena *arena, const struct value *value); // deep
// Sets the entry at `path`, dotted as for value_at but without [n], and makes the maps on the way.
// `path` and texts are borrowed. Each returns the entry.
struct value *value_put(struct arena *arena, struct value *root, const char *path,
                        struct value *item);
struct value *value_put_text(struct arena *arena, struct value *root, const char *path,
                             const char *text);
struct value *value_put_int(struct arena *arena, struct value *root, const char *path,
                            int64_t integer);
struct value *value_put_bool(struct arena *arena, struct value *root, const char *path,
                             bool boolean);
// A list of texts, NULL-terminated.
struct value *value_put_texts(struct arena *arena, struct value *root, const char *path,
                              const char *const *texts);

// Reading. All accept NULL and give NULL, absent or the fallback for what is not there.
struct value *value_find(const struct value *map, const char *key);
struct value *value_find_text(const struct value *map, struct text key);
// Path of dotted keys, [n] and [key.with/dots]: "spec.values[2]", "metadata.labels[a.b/c]". The
// deepest node that exists on the way goes to *nearest (may be NULL) so that a fault of a missing
// field can name a line.
struct value *value_at(const struct value *root, const char *path, const struct value **nearest);
const struct value *value_list_at(const struct value *root, const char *path); // NULL: no list
struct text value_text(const struct value *value); // absent unless VALUE_TEXT
struct text value_text_at(const struct value *map, const char *path);
int64_t value_int_at(const struct value *map, const char *path, int64_t fallback);
bool value_bool_at(const struct value *map, const char *path, bool fallback);
size_t value_count(const struct value *value);                     // 0 unless LIST or MAP
bool value_lists_text(const struct value *list, struct text text); // NULL lists nothing
#define value_each(item, parent)                                                                   \
    for (struct value *item = (parent) ? (parent)->first : NULL; item; item = item->next)

bool value_equal(const struct value *a, const struct value *b); // map order does not matter
// Is all that is wanted there? Maps may have other members besides; null wants that there is none,
// and an empty text, list or map is had by one that is absent, as an API server leaves such out.
// Lists have as many items, in that order.
bool value_covers(const struct value *there, const struct value *wanted);
// RFC 7386. Returns the patched tree, which shares nodes with both; the target stays as it was and
// may be NULL.
struct value *value_merge_patch(struct arena *arena, struct value *target,
                                const struct value *patch);

// JSON (RFC 8259), strict: UTF-8 checked, duplicate keys refused, integers outside int64 are
// FLOAT, whole numbers up to 2^53 INT however written (1e3), nothing behind the document. NULL on
// failure; error texts start with "line:column: ". The values themselves have line 0.
struct value *value_read_json(struct arena *arena, struct text text,
                              const struct value_limits *limits, struct error *err);
// Canonical JSON: no blanks, keys in tree order, `/` bare; control characters escaped.
void value_write_json(struct buffer *out, const struct value *value);
void value_write_json_text(struct buffer *out, struct text text); // one quoted string

// YAML 1.1 core as kubectl reads it (booleans yes/no/on/off, leading-0 octal, `<<` merges,
// duplicate keys refused), several documents. Documents are handed out one by one, so that a file
// is never held as a whole tree; an arena per document is up to the caller.
struct yaml_reader;
struct yaml_reader *yaml_reader_new(struct text text, const struct value_limits *limits);
void yaml_reader_free(struct yaml_reader *reader);
// Next document into *out (NULL for an empty document, with *has set). At the end *has is
// false. False on a syntax error, with "line:column: " in front of the text: the rest of the
// stream is unreadable then.
bool yaml_reader_next(struct yaml_reader *reader, struct arena *arena, struct value **out,
                      bool *has, struct error *err);
DEFINE_CLEANUP(yaml_reader, yaml_reader_free)
// Does what yaml_reader_next() does, some events at a time: pass the same arena until the document
// ends (YAML_DOCUMENT), which is when *out is set; trees are not looked at after that.
enum yaml_step { YAML_AGAIN, YAML_DOCUMENT, YAML_OVER };
bool yaml_reader_step(struct yaml_reader *reader, struct arena *arena, struct value **out,
                      enum yaml_step *step, struct error *err);
// Block style YAML that value reads back equal; strings are quoted where kubectl would misread
// them. No document marker; ends with a line feed.
void value_write_yaml(struct buffer *out, const struct value *value, unsigned indent);
void value_write_yaml_text(struct buffer *out, struct text text); // one such string

// The id of a value's content, whatever the order of its maps' keys, its lines and columns.
struct content_id value_content_id(const struct value *value);
