#pragma once

#include "base/table.h"
#include "commands/report.h"
#include "kinds/kinds.h"
#include "store/object.h"

// What `signpost check` knows across files: which objects there are, which names they claim, and
// which other objects they name.

struct known {
    const char *key;
    struct spot place;
    const struct kind *kind; // of an object; else NULL
    const char *name;
    const char *holder; // "namespace/name" of an object that claims the key; else NULL
};

struct reference {
    struct spot place;
    const char *field;
    const struct kind *kind; // of what is named
    const char *namespace_;  // "" when cluster-scoped
    const char *name;
    const char *key; // of a Secret; else ""
};

// {.arena = arena} and check_set_init make it ready.
struct check_set {
    struct arena *arena;
    struct table table;
    struct known *items;
    size_t count;
    size_t capacity;
    struct reference *references;
    size_t reference_count;
    size_t reference_capacity;
};

void check_set_init(struct check_set *set, struct arena *arena);
void check_set_done(struct check_set *set);
// The place where the key stands already, or NULL: then it is filed.
const struct spot *check_set_file(struct check_set *set, const char *key, struct spot place);
const struct spot *check_set_add_object(struct check_set *set, const struct object_ref_key *object,
                                        struct spot place);
// Files what the object has for itself alone by its kind, or by `claim` where that is not NULL.
// False: another object of the kind claims the same; then it is reported as an error that names
// that one.
bool check_set_claim(struct check_set *set, const struct object_ref_key *object,
                     const struct value *tree, const char *path, const struct kind_claim *claim,
                     struct report *report);
// Key of a Secret whose value is short.
void check_set_add_short_key(struct check_set *set, struct text namespace_, struct text name,
                             struct text key, struct spot place);
// Files what an object names by the table of references.
void check_set_refer(struct check_set *set, const struct kind *kind, const struct value *tree,
                     const char *path);
// Warns of each reference to what was not added, or to a short key.
void check_set_report(const struct check_set *set, struct report *report);
// Where `field` stands in the object, or the nearest field around it.
struct spot place_in(const struct value *tree, const char *field, const char *path);
