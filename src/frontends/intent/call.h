#pragma once

#include "base/list.h"
#include "frontends/intent/body.h"
#include "frontends/intent/intent_api.h"
#include "frontends/intent/place.h"
#include "frontends/intent/route.h"

// Inside this folder: one request from its arrival to its answer.

enum { CALL_WRITES_MAX = 4, CALL_DEADLINE_MS = 20000, CALL_TRIES_MAX = 5 };

enum call_turn {
    CALL_DECIDES, // its writes are not worked out yet
    CALL_WAITS,   // for another call, which writes an object that it wants to write
    CALL_WRITES,  // its objects: no other call does
};

struct call_write {
    struct object_ref_key key;
    const struct value *tree;  // NULL: the object goes
    const struct object *seen; // own reference
    bool is_unread;
    bool is_owned; // by the object that the write before it made: its ownerReferences come then
    bool is_tried; // by a dry run, before the Secret that it refers to is written
    bool is_after; // brings nothing but what could not be written before the object was
    const struct value *kept;
};

// Values that a body keeps as they stand in a Secret.
struct call_kept {
    struct object_ref_key key;
    const struct value *pointers; // of the body, by the keys of the values; empty: none are
    const char *fault;            // of one that is not there
};

struct call {
    struct link link; // of all that are under way
    struct intent_api *api;
    struct http_exchange *exchange; // NULL: the client has gone
    struct arena *arena;            // emptied for each try
    struct route route;
    struct body_faults faults;
    const char *method;
    enum call_turn turn;
    unsigned tries;
    struct loop_timer again; // serves it again
    bool is_judged;
    bool is_counted;
    // What is written, one after another, and how that is answered.
    struct call_write writes[CALL_WRITES_MAX];
    size_t write_count;
    size_t write_at;
    struct value *shown;   // of a dry run: what would be written
    struct call_kept kept; // looked at before
    int status;            // 200, 201: the item; 202, 204: nothing
};

// ---- answer.c -----------------------------------------------------------------------------------

// Each answers the request, which is over then.
void call_answer_text(struct call *call, int status, const char *first_line,
                      const struct text_lines *lines);
void call_answer_faults(struct call *call);
void call_answer_error(struct call *call, const struct error *error); // with its status
void call_answer_store(struct call *call, const struct error *error); // that refused or is away
void call_answer_nothing(struct call *call, int status);              // 202, 204
// A tree with a line feed; `location` and `link` may be NULL.
void call_answer_tree(struct call *call, int status, const struct value *tree, const char *location,
                      const char *link);
// "\"0123456789abcdef\"" of a tree as it is served (arena).
const char *call_etag(struct arena *arena, const struct value *tree);
// Does a list of entity tags, such as the header If-Match, have that one?
bool call_etag_matches(const char *header, const char *etag);
const char *call_header(const struct call *call, const char *name); // NULL: none

// ---- intent_api.c -------------------------------------------------------------------------------

void call_end(struct call *call, int status); // counts it and frees it
// Logs an answer of 400 or above before it is given. The reason has nothing of the body but names.
void call_log_refusal(const struct call *call, int status, const char *reason);
const struct intent_api_options *call_options(const struct call *call);
// Takes the turn to write the objects of call->writes; false: another call has it. Then this one is
// served again when that one has ended, as what it has read may not be true any more.
bool call_take_turn(struct call *call);
void call_serve_again(struct call *call, int64_t after_ms);

// ---- show.c -------------------------------------------------------------------------------------

struct value *call_view(struct call *call, enum resource_id id, struct text name,
                        const struct value *map, const struct object *object);
void call_show_list(struct call *call);
void call_show_item(struct call *call);
void call_show_status(struct call *call);
void call_show_apps(struct call *call);
// What is not there, or what it would stand below.
void call_answer_missing(struct call *call);

// ---- change.c -----------------------------------------------------------------------------------

// Each fills in the writes and begins them, or answers.
void call_create(struct call *call);
void call_replace(struct call *call);
void call_remove(struct call *call);
void call_act(struct call *call);

// ---- carry_out.c --------------------------------------------------------------------------------

// Writes what stands in call->writes, if what is kept is there, then answers with call->status. A
// state that has changed in between is read afresh, CALL_TRIES_MAX times at most.
void call_carry_out(struct call *call);
void call_release_writes(struct call *call); // lets go of the states that were seen
