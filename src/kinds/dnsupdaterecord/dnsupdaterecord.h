#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/condition.h"
#include "kinds/dnsupdaterecord/external_dns.h"
#include "kinds/group.h"

// DNSUpdateRecord (dns.homelab.mortenolsen.pro/v1alpha1): which DNS provider a project updates, and
// with what parameters of external-dns. Structs are made in the arena of a reconciliation out of
// what the cache keeps; their texts are borrowed from it.

extern const struct kind dnsupdaterecord_kind;

// Signpost writes this annotation before the first Deployment: it keeps what must stay the same
// though spec.version changes.
#define PINNED_ANNOTATION DNS_GROUP "/pinned"
// People set these two: "drain" lets the records move to another place, and "abandon" does so where
// the old one does not remove them; "true" lets them stay behind where they cannot be drained.
#define MOVE_ANNOTATION DNS_GROUP "/move"
#define ABANDON_ANNOTATION DNS_GROUP "/abandon-records"

struct external_dns_pinned {
    struct text owner_id;
    struct text txt_prefix; // empty: none
    struct text annotation_prefix;
    struct text place;  // where records stand, flag by flag (external_dns_place); empty: not known
    bool is_native;     // what stands there was written by Signpost itself
    struct text signer; // of those updates: flags and the Secret (external_dns_signer); empty: none
};
// Reads the annotation's JSON; false: it is not ours, or broken. The first three are there, and
// only the prefix of ownership records may be empty.
bool external_dns_pinned_read(struct arena *arena, struct text json,
                              struct external_dns_pinned *out);
// The annotation's text (arena).
const char *external_dns_pinned_write(struct arena *arena,
                                      const struct external_dns_pinned *pinned);

struct update_record_ref {
    struct text target; // a parameter or flag, or "env:NAME"
    struct text name;   // of the Secret
    struct text key;
};
struct update_record_pair {
    struct text name;
    struct text value; // absent: there is none
};

enum { UPDATE_RECORD_NATIVE_ZONES_MAX = 8 }; // each is a backend of its own

struct update_record {
    struct text name;                    // its EMCO name
    enum external_dns_provider provider; // EXTERNAL_DNS_PROVIDERS: none that we know
    // By enum external_dns_id, NULL where absent; of one of the types that the parameter may have.
    // An element of oneOf that was chosen is taken in.
    const struct value *values[PARAMETERS];
    const char *paths[PARAMETERS]; // where each stands in the object
    const struct update_record_ref *refs;
    size_t ref_count;
    const struct update_record_pair *env;
    size_t env_count;
    const struct update_record_pair *extra_args;
    size_t extra_arg_count;
    struct text version; // absent: that of the options
    struct text image;
    struct text adopt_owner;
    bool is_native;
    int64_t ttl_s; // 0: not set
    const struct text *allowed_projects;
    size_t allowed_project_count;
    bool allows_private;
    bool is_verified; // without servers: at rfc2136's own host and port
    const struct text *servers;
    size_t server_count;
    int64_t verify_timeout_s;
    // As the Deployment and its ServiceAccount have them; NULL where absent.
    const struct value *resources;
    const struct value *node_selector;
    const struct value *tolerations;
    const struct value *image_pull_secrets;
    const struct value *account_annotations;
    bool may_move;
    bool may_abandon_move; // what stands at the old place, while the record moves
    bool may_abandon;
    bool has_broken_pin; // the annotation is there and cannot be read
    bool has_pinned;
    struct external_dns_pinned pinned;
};

// Out of a whole object, or out of what the cache keeps of one. What cannot be read is left out, as
// if it were absent; of parameters `findings` says so.
void update_record_decode(struct arena *arena, const struct value *object,
                          struct findings *findings, struct update_record *out);
void update_record_unpack(struct arena *arena, struct text spec, struct update_record *out);
// Puts the engine that is pinned, and the place and the key of one with engine: native, over what
// the record asks for: so it is used until it has moved.
void update_record_put_in_force(struct arena *arena, struct update_record *record);
// Puts the zones that are pinned over what the record asks for, whichever the engine: names that
// stand lie in those until it has moved.
void update_record_put_zones_in_force(struct arena *arena, struct update_record *record);
// All rules beyond the shape for an external-dns of that release, errors and warnings; they are
// what `validate` adds, and status.warnings.
void update_record_check(const struct update_record *record, unsigned minor,
                         struct findings *findings);
// The release by which flags are spelled: that of spec.version, or else of `fallback`, which is the
// option.
unsigned update_record_minor(const struct update_record *record, struct text fallback);

// A text parameter, that which is passed in its place where it is absent or empty, or else an
// absent text.
struct text update_record_text(const struct update_record *record, enum external_dns_id id);
// A boolean parameter, also one that is written as a text.
bool update_record_bool(const struct update_record *record, enum external_dns_id id, bool fallback);
// The owner id that the record has by itself: the pinned one, that of adoptOwner, or txt-owner-id.
// Absent: one of its own is made for it.
struct text update_record_owner(const struct update_record *record);
// The entry of secretRefs with that target, or NULL.
const struct update_record_ref *update_record_find_ref(const struct update_record *record,
                                                       struct text target);
// What the record's own texts lack before a Deployment can run, whatever Secrets there are:
// FILE_NOT_MOUNTED or ETCD_URLS_MISSING with what to do in *text (static); NONE: nothing.
enum reason update_record_credentials(const struct update_record *record, const char **text);

// ---- status -------------------------------------------------------------------------------------

struct update_record_user {
    struct text project;
    struct text composite_app;
    struct text version;
    struct text group; // deployment intent group
    int64_t names;     // so many of its names use the record
};

struct update_record_status {
    int64_t observed_generation;
    struct conditions conditions;           // without messages when unpacked
    const struct update_record_user *users; // not unpacked, as the lists below
    size_t user_count;
    struct text version;
    const char *const *args;
    size_t arg_count;
    const char *const *env; // names
    size_t env_count;
    const char *const *warnings;
    size_t warning_count;
    struct text owner_id;
    struct text deployment;
    int64_t endpoints;
    int64_t last_sync_s; // 0: never
};
struct value *update_record_status_encode(struct arena *arena,
                                          const struct update_record_status *status);
// From cached bodies (object_spec, object_managed).
void update_record_status_unpack(struct text spec, struct text ours,
                                 struct update_record_status *out);
