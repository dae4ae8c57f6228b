#pragma once

#include "store/cluster/inside.h"
#include "store/store.h"

// What the files behind the writes of inside.h share:
//
//     write.c            one write of each operation, and what it asks for
//     write_window.c     which write is sent when, and the end of each
//     write_body.c       the JSON that a write sends
//     write_exchange.c   its requests to the API server, and what the replies mean

enum write_type {
    WRITE_APPLY,
    WRITE_STATUS,
    WRITE_REMOVE_FINALIZER,
    WRITE_PUT,
    WRITE_CREATE, // a child; not applied, which would take over what somebody else made
    WRITE_CHANGE,
    WRITE_DROP,
    WRITE_SHARD_CREATE,
    WRITE_SHARD_CHANGE,
    WRITE_SHARD_DROP,
    WRITE_GET,
};

// The request to the API server that a write is at.
enum write_step {
    // The object, as the body depends on what others wrote there. CREATE: what has the name.
    STEP_READ,
    STEP_MAKE, // PUT: an empty one, as an apply would take over what somebody else made meanwhile
    STEP_SEND,
    STEP_CLEAR,     // labels and annotations that others wrote as well: an apply leaves them there
    STEP_READ_BACK, // nobody knows whether it took effect
};

struct write {
    struct link link; // of its line, then of those in flight
    struct cluster *cluster;
    enum write_type type;
    enum write_rank rank;
    enum write_step first_step; // of each try: READ where others wrote there, too
    enum write_step step;
    const struct store_kind *kind; // NULL: PUT, pages
    const struct kind *put_kind;   // PUT
    const struct object *object;   // as the asker saw it; NULL: GET, PUT, CREATE, pages
    char *path;
    char *name;       // PUT, CREATE, pages: for people
    char *body;       // what is sent. STATUS, PUT: what is wanted
    char *kept;       // PUT: names of data that stay; NULL: none
    char *collection; // PUT: where it is made
    char *grant_key;  // PUT: the annotation that hands over; NULL: none
    char *grant_value;
    char *clear;         // APPLY: the merge patch of those that go; NULL: none do
    struct error *error; // READ_BACK: what the asker will hear; else NULL
    store_done *done;
    void *context;
    struct api_call *call;
    struct loop_timer timer; // told to wait
    unsigned tries;
    bool is_of_any_replica; // sent without the lease
    bool is_dry_run;        // CREATE, CHANGE: nothing is stored
};

// The request that each type comes to.
struct write_form {
    const char *method;
    const char *subresource;
    const char *query;
    const char *content_type;
    enum write_rank rank;
};

extern const struct write_form write_forms[];

// Creates, changes or drops a page of a ledger.
bool write_is_of_shard(enum write_type type);

// ---- write_window.c -----------------------------------------------------------------------------

// Takes the write. It is sent in its turn, and its asker is answered once.
void writes_enqueue(struct write *write);
// Both answer a write in flight, free it, and send what waits for its place.
void writes_answer(struct write *write, const struct store_reply *reply);
void writes_fail(struct write *write, const struct error *error);
void writes_refuse_standby(struct write *write);
// While another replica leads only some are.
bool write_may_be_sent(const struct write *write);
// The window shrinks with each write that is told to wait, and grows again with successes.
void writes_shrink_window(struct writes *writes);
void writes_grow_window(struct cluster *cluster);

// ---- write_body.c -------------------------------------------------------------------------------

// Each result is the caller's to free.
char *write_body_json(const struct value *value);
char *write_body_apply(const struct write *write, const struct store_apply *apply);
// The merge patch of the labels and annotations that are to go; NULL: none is.
char *write_body_clear(const struct store_apply *apply);
// The patch of a child, if it still is the state that was seen.
char *write_body_change(const struct store_object_write *child);
char *write_body_drop(const struct object *seen);
char *write_body_drop_shard(const char *version);
// PUT: whose the object is, and nothing else. What is applied later is ours by that alone, and can
// go again.
char *write_body_bare(const struct write *write);
// Only the very state `tree` is changed, so that nothing that came in between is taken over.
void write_body_guard(struct arena *arena, struct value *body, const struct value *tree);
// PUT, CREATE: the state that the asker wants.
struct value *write_body_wanted(struct arena *arena, const struct write *write);
// What STEP_SEND sends. `tree`: the object as it stands, or NULL when nothing of others is in the
// way. NULL: a request without a body.
char *write_body_next(const struct write *write, const struct value *tree);

// ---- write_exchange.c ---------------------------------------------------------------------------

// Sends the request of the write's step; its replies end in writes_answer() or writes_fail().
void write_send(struct write *write);
