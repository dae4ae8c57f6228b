#pragma once

#include "model/model_store.h"

// Shared by model_server.c and model_store.c.

struct model_object {
    const struct store_kind *type;
    char *namespace_;
    char *name;
    char *json;           // the whole object
    struct object *state; // the same, as caches keep it
    char *our_keys;       // annotations that Signpost wrote, each followed by a line feed
    uint64_t version;
    uint64_t content; // hash of all but metadata and status
    bool is_gone;
};

struct model_change { // one event, told to those who watch
    enum store_event_type type;
    const struct model_object *object;
};

struct model_watcher {
    void (*changed)(struct model_watcher *watcher, const struct model_change *change);
    struct model_watcher *next;
};

struct loop *model_server_loop(const struct model_server *server);
int64_t model_server_reply_ms(const struct model_server *server);
int64_t model_server_watch_ms(const struct model_server *server);
const struct store_kind *model_server_kinds(const struct model_server *server, size_t *count);
void model_server_watch(struct model_server *server, struct model_watcher *watcher);
void model_server_unwatch(struct model_server *server, struct model_watcher *watcher);
void model_server_each(struct model_server *server,
                       void (*call)(void *context, const struct model_object *object),
                       void *context);
struct model_object *model_server_object(struct model_server *server,
                                         const struct object_ref_key *key);
struct value *model_object_read(const struct model_object *object, struct arena *arena);
// Files the tree as the new state unless nothing changed; with `is_spec` the generation moves on
// when anything outside metadata and status did. Objects whose last finalizer went while they are
// deleted go.
void model_server_write(struct model_server *server, struct model_object *object,
                        struct value *tree, struct arena *arena);
// The fault of this write, counting it; false: none.
bool model_server_take_fault(struct model_server *server, enum model_write write,
                             enum model_fault *fault);
