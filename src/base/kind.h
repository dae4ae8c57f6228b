#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/pack.h"
#include "base/value.h"

// The table of a kind: everything that store, check, admission and the generated CRD have to know
// about a resource, as const data. `kinds` exports one per resource; `commands` hands the list to
// the store. No room but `kinds` knows what a field means; this module knows what shape it has.

enum field_type {
    FIELD_TEXT,
    FIELD_INT,
    FIELD_BOOL,
    FIELD_MAP,      // its fields are further rows below its path
    FIELD_LIST,     // its items are the row `path[]`
    FIELD_TEXT_MAP, // free keys, text values (labels, Secret.data)
    FIELD_INT_MAP,  // free keys, whole numbers
    FIELD_ANY,      // kept as it is
};

enum field_flag {
    FIELD_REQUIRED = 1 << 0,
    FIELD_IMMUTABLE = 1 << 1,
    FIELD_SECRET = 1 << 2,   // never in a status file, log or recording
    FIELD_TIME = 1 << 3,     // CRD: format date-time
    FIELD_BYTES = 1 << 4,    // base64 text
    FIELD_INT64 = 1 << 5,    // CRD: format int64 instead of int32
    FIELD_UINT32 = 1 << 6,   // 32 bits without sign; CRD: the same
    FIELD_NULLABLE = 1 << 7, // CRD: null is kept; it counts as absent
    // Whether it is there, its bounds, choices and pattern stand in the CRD alone: an API server
    // refuses the whole object when it is written, but kind_check leaves them to `validate`, which
    // judges entry by entry.
    FIELD_JUDGED = 1 << 8,
};

// Patterns of names of objects and of what stands in them: a namespace, an object of another kind,
// and a key of a Secret.
#define KIND_NAMESPACE_PATTERN "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
#define KIND_NAME_PATTERN "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
#define KIND_KEY_PATTERN "^[-._a-zA-Z0-9]+$"

// One field. `path` is dotted from the object's root, list items as `[]`: "spec.values[]". A parent
// stands before its children. Paths under "metadata" are checked by kind.c itself.
struct field {
    const char *path;
    enum field_type type;
    unsigned flags;
    int64_t min; // INT: value; TEXT: octets; LIST, TEXT_MAP: entries
    int64_t
        max; // 0 means: no bound of its own (the CRD generator still demands one on text, lists)
    int64_t value_max;   // TEXT_MAP: octets of each value; 0: as many as a text without a bound has
    const char *pattern; // POSIX ERE that is also RE2, anchored; or NULL
    const char *const *choices; // NULL-terminated, or NULL
    const char *fallback;       // the default that the CRD stores, "[]" for a list; nearly always
                                // NULL
    // LIST of maps: the member that each entry has for itself alone, so that each may have an owner
    // of its own (CRD: x-kubernetes-list-type map). NULL: a plain list.
    const char *list_key;
    const char *doc;           // one sentence for CRD and reference page
    const char *required_text; // error text when absent or empty ("spec.type is required"); NULL:
                               // generic
    const char *refused_text;  // error text when choices or pattern refuse the value; behind it
                               // stands ": value" for choices. NULL: generic
};

// A CEL rule of the CRD with its message. `path` is the map it stands on.
struct kind_rule {
    const char *path;
    const char *rule;
    const char *message;
};

struct kind_column {
    const char *name;
    const char *type;
    const char *json_path;
    int priority; // 1 = only with -o wide
};

enum finding_level { FINDING_ERROR, FINDING_WARNING };
struct finding {
    enum finding_level level;
    const char *path; // "spec.values[2]"; "" for the object
    const char *text; // "spec.values[2] must be a valid IPv4 address: ..."
    uint32_t line;    // 0 when unknown
    uint32_t column;
};
// Compiled patterns, kept between checks: compiling one costs fifty times as much as using it. One
// resident of whoever checks many objects.
struct kind_patterns;
struct kind_patterns *kind_patterns_new(void);
void kind_patterns_free(struct kind_patterns *patterns);
// `patterns` may be NULL: then the pattern is compiled for this once.
bool kind_pattern_matches(struct kind_patterns *patterns, const char *pattern, struct text text);
DEFINE_CLEANUP(kind_patterns, kind_patterns_free)

enum { FINDINGS_MAX = 256 }; // per level; what comes behind is not kept

// All faults of one object, in the order found; texts live in the arena.
//
//     struct findings findings = {.arena = arena, .patterns = patterns};
struct findings {
    struct arena *arena;
    struct finding *items;
    size_t count;
    size_t capacity;                // grown by arena copies
    struct kind_patterns *patterns; // borrowed; may be NULL
};
void findings_add(struct findings *findings, enum finding_level level, const char *path,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
// Like findings_add, with "<path>: " in front of the text.
void findings_add_at(struct findings *findings, enum finding_level level, const char *path,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
size_t findings_errors(const struct findings *findings);
// All errors' texts joined with "; " (arena), or NULL when there is none.
const char *findings_join(const struct findings *findings, enum finding_level level);
// One finding's text, behind its path where it does not begin with that itself (arena).
const char *finding_text(struct arena *arena, const struct finding *finding);
// Drops what came after the first `shapes` at or below a path that one of those names: rules read a
// field of the wrong shape as absent, so what they say of it is no news.
void findings_drop_echoes(struct findings *findings, size_t shapes);
// Appends a name to a path: "name" at its beginning, ".name" further on, and "[na.me]" of a name
// with a dot, each cut to FINDING_NAME_MAX octets.
enum { FINDING_NAME_MAX = 256 };
void finding_path_add(struct buffer *path, struct text name);
// Fills line and column of findings that lack them, from where their path stands in the tree.
void findings_locate(struct findings *findings, const struct value *object);

// A value that only one object of a kind may have, in whatever namespaces the objects stand.
struct kind_claim {
    struct text value;  // borrowed from the object
    const char *path;   // of the field that says it
    const char *what;   // "owner id"
    const char *advice; // why it must be alone and what to do, behind a semicolon
};

// Says how an object concerns a DNS name.
enum kind_name_role {
    KIND_NAME_RECORDS,  // it declares records of that name
    KIND_NAME_ZONE,     // it is the zone of that name
    KIND_NAME_PLACE,    // records of that name and of names below it may go through it
    KIND_NAME_FORWARD,  // it has queries for that name and for names below it asked elsewhere
    KIND_NAME_APPROVAL, // it holds a change of records of that name back until a person approves
    KIND_NAME_MENTION,  // it has the name, and asks for no records of it
};
// Texts are borrowed from the object, or are the arena's; absent ones say nothing.
struct kind_name {
    enum kind_name_role role;
    struct text name;   // from the root, with or without a final dot, as people write it
    struct text type;   // "A"; absent: none in particular
    struct text values; // for people: "192.0.2.1, 192.0.2.2"
    // The object through which the records go: "DNSClass", its namespace ("": it has none) and its
    // name. NULL: none.
    const char *through_kind;
    struct text through_namespace;
    struct text through_name;
    // "True", "False" or "Unknown": whether the name is in place, where the object says so of each
    // name. NULL: the condition of the object counts.
    const char *status;
    struct text reason;
    struct text message;
    struct text since; // RFC 3339
};
struct kind_names {
    struct arena *arena;
    struct kind_name *items; // grown by arena copies
    size_t count;
    size_t capacity;
};
// Good until the next one is added.
struct kind_name *kind_names_add(struct kind_names *names, enum kind_name_role role,
                                 struct text name);
// Texts of a list, joined by ", " (arena).
struct text kind_names_join(struct arena *arena, const struct value *list);

struct kind {
    const char *group; // "" for core
    const char *version;
    // Foreign: the same by other versions, which a server may have in place of that one; tried in
    // this order. NULL-terminated or NULL.
    const char *const *other_versions;
    const char *name; // "DNSRecord"
    const char *plural;
    const char *singular;
    const char *const *short_names; // NULL-terminated or NULL
    const char *const *categories;
    bool is_namespaced;
    bool has_status;
    const char *edited; // of objects that we make: the field that is for people; NULL: none
    bool is_foreign;    // not ours: unknown fields are skipped, no CRD is printed
    // Foreign: what runs is looked at, and no manifest is judged. `check` passes over documents of
    // the kind, and a folder has them only where an enabled controller reads it.
    bool is_observed;
    // Its CRD is printed only for those who name a controller that reads the kind: the API is that
    // of another operator, which may have brought its own CRD, or few people need it.
    bool is_on_request;
    bool is_complete; // foreign, but the table has all fields: unknown ones are refused
    // Foreign: annotations that begin so are meant for us ("pihole.io/"). Admission warns of what
    // is wrong in them and denies nothing. NULL: there are none.
    const char *advised;
    // Foreign: the option of admission with which what validate() finds in an object is denied, in
    // namespaces with the label `judged_where`; NULL: it is not judged there.
    const char *judged_with;
    const char *judged_where;
    // Foreign: others write its status, and the cache keeps of it what pack_spec takes. In a folder
    // it stands in the manifest.
    bool has_their_status;
    // The schema bounds and refuses as little as it can, so that no old manifest fails: only bounds
    // that the table names count, and null is absent. Faults become conditions.
    bool is_lenient;
    bool is_plain;  // no object but a file: without apiVersion, kind, metadata and status
    bool is_secret; // its objects hold secrets: bodies are cleansed, last good spec goes aside
    const char *const *annotations; // those that are read below "<group>/"; NULL-terminated or NULL
    const char *const *own_labels;  // that only we write: those of users count for nothing
    // A field of the status that is large and changes only with others: a status that differs in it
    // alone counts as the same. Or NULL.
    const char *bulk_status;
    // The conditions that an object must have to be right, such as "Accepted=True", or that it must
    // not have, such as "Synced!=False"; `signpost status` shows the first that is otherwise.
    // NULL-terminated; NULL: "Ready=True".
    const char *const *right_when;
    // Cluster-scoped: the ClusterRoles for people (view, edit, admin) that let them read its
    // objects and change them, or approve those that we make (`edited`); NULL: none does. A
    // namespaced kind is read by view and changed by edit.
    const char *read_role;
    const char *change_role;
    // Its status is written ahead of what stands on it: in a folder it is on the disk to stay
    // before it counts, in a cluster it goes before all other writes.
    bool is_status_ahead;
    const char *const *condition_types; // those in status that are ours, the others are kept
    const struct field *fields;
    size_t field_count;
    const struct kind_rule *rules;
    size_t rule_count;
    const struct kind_column *columns;
    size_t column_count;
    const char *doc;

    // What the cache keeps of an object's spec and of the metadata that people write (annotations,
    // labels): compact, opaque to the store. A changed body wakes the key.
    void (*pack_spec)(const struct value *object, struct pack_writer *out);
    bool keeps_labels; // That body begins with the labels (base/labels.h): inputs may select by
                       // them.
    // What it keeps of that which we wrote ourselves: our annotations, status. Never wakes. Written
    // behind the spec with the same writer, so that it may refer back. NULL: nothing.
    void (*pack_managed)(const struct value *object, struct pack_writer *out);
    // All rules beyond the shape. Callers act on an object only if kind_check passed too; on one
    // that did not, a field of the wrong type reads as absent. May be NULL.
    void (*validate)(const struct value *object, struct findings *findings);
    // Finds the value that only this object may have. False: the object itself names none. The path
    // is static or the arena's. NULL: nothing of this kind has to be unique.
    bool (*find_claim)(struct arena *arena, const struct value *object, struct kind_claim *out);
    // Does this object hold a secret inline (a class with hmacAuth.secret)? NULL: is_secret says.
    bool (*has_secret)(const struct value *object);
    // Appends what an object is about, for a row of `signpost status`: one line without secrets.
    // NULL: its name says all.
    void (*write_summary)(const struct value *object, struct buffer *out);
    // Adds the names of the DNS that an object is about, by its spec and its status, for `signpost
    // who`. NULL: there are none.
    void (*list_names)(const struct value *object, struct kind_names *out);
    // True if nobody has to do anything about the object any more: `signpost status` shows
    // nothing of it but its status.state, and leaves it out where it has none.
    // NULL: never.
    bool (*is_over)(const struct value *object);
};

// Shape: apiVersion, kind, metadata (RFC 1123 name; a namespace only where the kind has one, absent
// is the store's default; label and annotation maps), unknown fields with the nearest known one,
// types, ranges, lengths, patterns, choices, required. Bounds that a field lacks are those that the
// CRD puts in their place, so a folder refuses what a cluster would. `status` is skipped. Texts as
// "spec.ttl: expected a number, found text: remove the quotes". A plain boolean or number where
// text is wanted says `quote it`. null counts as absent in metadata, foreign and lenient kinds and
// nullable fields only. Findings carry line and column of the key.
void kind_check(const struct kind *kind, const struct value *object, struct findings *findings);
// Immutable fields of old and new; texts "spec.x is immutable". An absent field with a fallback is
// equal to that. Rows below a list cannot be immutable: mark the list.
void kind_check_update(const struct kind *kind, const struct value *old, const struct value *new_,
                       struct findings *findings);
// By path in an object or in the table: "spec.values[2]" finds the row "spec.values[]". NULL when
// unknown.
const struct field *kind_find_field(const struct kind *kind, const char *path);
// The condition of that type in a status; NULL: there is none.
const struct value *kind_find_condition(const struct value *status, struct text type);
// The condition of `status` that says whether its object is right: the first of `right_when` that
// is otherwise, else the last. NULL: that condition is not there yet.
const struct value *kind_find_reporting(const struct kind *kind, const struct value *status,
                                        bool *is_right);
// The upper bound that check and CRD apply: max, or what stands in for 0. INT64_MAX: none.
int64_t kind_field_max(const struct kind *kind, const struct field *field);
// That of each value of a map of texts, in octets.
int64_t kind_value_max(const struct kind *kind, const struct field *field);
// What the CRD stores where a field with a fallback is absent.
struct value *kind_make_fallback(struct arena *arena, const struct field *field);
// apiextensions.k8s.io/v1 CustomResourceDefinition as YAML with a leading "---".
void kind_write_crd(struct buffer *out, const struct kind *kind);
// "dns.homelab.mortenolsen.pro/v1alpha1" or "v1".
void kind_api_version(struct buffer *out, const struct kind *kind);
// Is that one of its versions? ("v1alpha1")
bool kind_has_version(const struct kind *kind, struct text version);
// Of number `at`, from 0: its own, then the others. NULL: there are no more.
const char *kind_version_at(const struct kind *kind, size_t at);
// Can an object have that name (RFC 1123 subdomain)?
bool kind_is_name(struct text text);
// "name" or "prefix/name", as keys of labels and annotations and finalizers are.
bool kind_is_label_key(struct text text);
bool kind_is_label_value(struct text text);
// By apiVersion and kind of a document. *is_known_group says whether some kind has that group.
const struct kind *kind_lookup(const struct kind *const *kinds, size_t count,
                               const struct value *document, bool *is_known_group);
