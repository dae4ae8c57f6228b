#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

// Domain names as zones are made of them: wire format (RFC 1035 3.1), never compressed, lower case,
// up to and with the root's empty label. So two names are equal when their octets are.

enum {
    DNAME_MAX = 255,        // octets, with the root's label
    DNAME_LABEL_MAX = 63,   // octets
    DNAME_LABELS_MAX = 127, // without the root's
    DNAME_KEY_MAX = 512,    // of dname_write_key
    DNAME_TEXT_MAX = 1024,  // of dname_write, with a NUL
};

struct dname {
    const uint8_t *at;
    size_t len;
};

enum dname_rules {
    // Letters, digits, - _ / and *, which fills its label; escapes; labels of other scripts.
    DNAME_OF_OBJECT,
    // Of a zone file: any octet but blanks and what has a meaning there; labels of other scripts.
    DNAME_OF_FILE,
    // As of an object, but * may stand once anywhere in a label.
    DNAME_OF_PATTERN,
};

// Does it end in the dot that makes it absolute? (An escaped dot does not.)
bool dname_text_is_full(struct text text);
// Text without that dot is completed with `origin`; "@" is the origin; origin NULL refuses both.
// The octets go to `out`, which *name points to. Errors have fault SPEC: "segment is an empty
// string", "segment too long 70 > 63", "invalid character %", "wildcard segments must have length
// 1", "name too long 300 > 255", "patterns can only have one wildcard".
bool dname_read(struct text text, const struct dname *origin, enum dname_rules rules,
                uint8_t out[DNAME_MAX], struct dname *name, struct error *err);

// Canonical text: with the final dot, letters, digits, - _ * and / bare, other printable ASCII
// behind a \ (no server reads all of it bare), [ and the rest as \DDD.
void dname_write(struct buffer *out, struct dname name);
// Octets whose order by memcmp, a prefix first, is the canonical order (RFC 4034 6.1).
size_t dname_write_key(struct dname name, uint8_t out[DNAME_KEY_MAX]);

bool dname_equal(struct dname a, struct dname b);
int dname_compare(struct dname a, struct dname b);          // in canonical order
bool dname_is_within(struct dname name, struct dname zone); // equal to it, or below it
// Where each label begins, with its length octet, the first one first; without the root's.
size_t dname_labels(struct dname name, const uint8_t *labels[DNAME_LABELS_MAX]);
size_t dname_label_count(struct dname name);
static inline bool dname_label_is_star(const uint8_t *label)
{
    return label[0] == 1 && label[1] == '*';
}
// Without its first label; the root has none.
struct dname dname_parent(struct dname name);
bool dname_is_root(struct dname name);
bool dname_is_wildcard(struct dname name);        // its first label is *
bool dname_has_inner_asterisk(struct dname name); // an asterisk elsewhere
// Letters, digits and hyphens, none of these first or last in a label (RFC 1123 2.1). A wildcard's
// first label does not count.
bool dname_is_host_name(struct dname name);
