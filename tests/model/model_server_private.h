#pragma once

#include "model/model_server.h"

// Shared by what is behind model_server.h: objects (model_server.c), what people do to them
// (model_people.c), what happened so far (model_history.c), who wrote what (model_claims.c), the
// API over HTTP (model_api*.c).

// ---- a whole object as JSON, shared by those who show it ----------------------------------------

struct model_json {
    unsigned refs;
    size_t len;
    char at[];
};
struct model_json *model_json_new(struct text json);
struct model_json *model_json_ref(struct model_json *json);
void model_json_unref(struct model_json *json); // accepts NULL

// ---- finalizers and annotations, and who wrote them ---------------------------------------------

struct model_claim {
    char *manager;
    char *key;       // "f:<finalizer>", "a:<annotation>"
    bool is_applied; // by apply: goes when a later apply leaves it out
};
struct model_claims {
    struct model_claim *items;
    size_t count;
    size_t capacity;
};
void model_claims_done(struct model_claims *claims);
void model_claims_add(struct model_claims *claims, const char *manager, struct text key,
                      bool is_applied);
void model_claims_drop(struct model_claims *claims, size_t at);
// Does anybody hold the key; anybody but `manager`, unless that is NULL?
bool model_claims_has(const struct model_claims *claims, const char *manager, struct text key);
// Takes the key from all but `manager`; from all when that is NULL.
void model_claims_take(struct model_claims *claims, const char *manager, struct text key);
// "f:...", "a:..." or "l:..." of all that stands in the metadata, as a list in the arena.
struct value *model_claims_keys(struct arena *arena, const struct value *metadata);
// The map of the metadata in which the key stands: labels, annotations. NULL: a finalizer.
const char *model_claims_map(struct text key);
// Files what a write changed in the metadata under its writer.
void model_claims_follow(struct model_claims *claims, const char *manager,
                         const struct value *before, const struct value *after);

// ---- objects ------------------------------------------------------------------------------------

struct model_object {
    const struct store_kind *type;
    char *namespace_;
    char *name;
    struct model_json *json;
    struct model_claims claims;
    uint64_t version;
    uint64_t content; // hash of all but metadata and status
    size_t written;   // over the API
    bool is_gone;
};

struct model_event { // one change of one object
    enum store_event_type type;
    const struct store_kind *kind;
    const char *namespace_;
    const char *name;
    uint64_t version;
    uint64_t old_version;
    struct model_json *json; // the new state; DELETED: the last one
    struct model_json *old;  // what stood there before; NULL: nothing
};

struct model_history { // of one kind
    struct model_event *events;
    size_t count;
    size_t capacity;
    uint64_t expired; // versions before it are too old to watch from
};
void model_history_add(struct model_history *history, const struct model_event *event,
                       size_t window);
void model_history_clear(struct model_history *history, uint64_t version);

struct model_watcher {
    void (*changed)(struct model_watcher *watcher, const struct model_event *event);
    struct model_watcher *next;
};

struct loop *model_server_loop(const struct model_server *server);
int64_t model_server_reply_ms(const struct model_server *server);
int64_t model_server_watch_ms(const struct model_server *server);
uint64_t model_server_version(const struct model_server *server);
struct kind_patterns *model_server_patterns(const struct model_server *server);
const struct store_kind *model_server_kinds(const struct model_server *server, size_t *count);
const struct model_history *model_server_history(const struct model_server *server,
                                                 const struct kind *kind);
void model_server_watch(struct model_server *server, struct model_watcher *watcher);
void model_server_unwatch(struct model_server *server, struct model_watcher *watcher);
void model_server_each(struct model_server *server,
                       void (*call)(void *context, const struct model_object *object),
                       void *context);
// What is found moves when another object is made.
struct model_object *model_server_object(struct model_server *server,
                                         const struct object_ref_key *key);
struct value *model_object_read(const struct model_object *object, struct arena *arena);
struct value *model_metadata(struct value *tree, struct arena *arena); // made if there is none
// The same of its "labels" or "annotations".
struct value *model_marks(struct value *tree, const char *map, struct arena *arena);
bool model_check(struct model_server *server, const struct kind *kind, const struct value *object,
                 struct arena *arena, struct error *err);

// A hash of all but metadata and status: what a generation counts.
uint64_t model_content(const struct value *tree);

struct model_object *model_server_create(struct model_server *server,
                                         const struct object_ref_key *key, struct value *tree,
                                         struct arena *arena);
// Files the tree as the new state unless nothing changed; the generation moves on when anything
// outside metadata and status did. Objects whose last finalizer went while they are deleted go.
void model_server_write(struct model_server *server, struct model_object *object,
                        struct value *tree, struct arena *arena);
// As DELETE: at once, or when the last finalizer has gone.
void model_server_remove(struct model_server *server, struct model_object *object);
// It goes with its state as it is.
void model_server_vanish(struct model_server *server, struct model_object *object);
// All versions from before are too old; the next ones follow on `version`.
void model_server_forget(struct model_server *server, uint64_t version);

// Kinds that every API server has and that no store of ours keeps.
extern const struct kind *const model_kinds[];
extern const size_t model_kind_count;
extern const struct kind model_lease_kind;
extern const struct kind model_event_kind;
extern const struct kind model_review_kind;

// The fault of this call, counting it; false: none.
bool model_server_take_fault(struct model_server *server, enum model_write write,
                             enum model_fault *fault);
