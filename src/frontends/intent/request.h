#pragma once

#include "base/list.h"
#include "frontends/intent/document.h"
#include "frontends/intent/intent_api.h"
#include "frontends/intent/route.h"

// Inside this folder: one request from its arrival to its answer.

enum { TRIES_MAX = 5, WRITE_MS = 20000 };

struct code_count {
    char *route;
    int code;
    uint64_t count;
};

struct request;
struct intent_api {
    struct intent_api_options options;
    struct http_server *server;
    LIST_OF(struct request) requests;
    struct code_count *counts;
    size_t count_count;
    size_t count_capacity;
};

struct request {
    struct link link;
    struct intent_api *api;
    struct http_exchange *exchange; // NULL: the client went away
    struct arena *arena;
    const char *method;
    struct route route;
    bool is_routed;
    bool is_judging;
    unsigned tries;
    struct loop_timer timer;     // the next try
    struct document_input input; // of the body
    struct buffer warnings;      // values of the header Warning, one a line
    bool was_there;              // PUT: the item is replaced
    struct value *shown;         // what the answer to a write shows; NULL: nothing
    struct text name;            // of the item that is written
    int status;                  // of the answer to a write
};

// ---- answers ------------------------------------------------------------------------------------

// Each answers the request and frees it.
void answer_text(struct request *request, int status, const char *first, const char *rest);
void answer_json(struct request *request, int status, const struct value *body, bool has_location);
void answer_list(struct request *request, const struct value *list, const char *next);
void answer_empty(struct request *request, int status);
void answer_findings(struct request *request, const struct findings *findings, size_t index);
void answer_error(struct request *request, const struct error *error);
void answer_method(struct request *request); // 405, or 204 for OPTIONS
void request_free(struct request *request);
// Adds what is no fault to the warnings of the answer.
void request_warn(struct request *request, const struct findings *findings, size_t index);
// The ETag of a body: 16 hex digits in quotes.
void etag_write(struct buffer *out, struct text body);
// The JSON of a value with the line feed that ends a body.
void body_of(struct buffer *out, const struct value *value);

// ---- looking up ---------------------------------------------------------------------------------

// The object that holds the resource's item, and where it is or would be.
struct found {
    const struct object *object; // NULL: there is none
    struct object_ref_key key;   // texts live in the request's arena
    struct value *tree;          // of the object
    struct text stranger;        // EMCO name of another object that has its name; or absent
};
// By the names of the route, as far as the resource needs them. False: the project is missing.
bool find_item(struct request *request, const struct resource *resource, struct found *out);
// Does all exist that the resource stands in?
bool has_parents(struct request *request, const struct resource *resource);
// The items of the route's collection as bodies, sorted by name, in pages. Answers.
void list_items(struct request *request);
// What keeps the item from being deleted: appends "kind name" lines. *are_children: below it.
void write_referrers(struct request *request, const struct found *found, struct buffer *out,
                     bool *are_children);
// The namespace that the project of the route is; absent: there is none.
struct text project_namespace(struct request *request);
// The resource whose object holds the item.
const struct resource *holder_of(const struct resource *resource);

// ---- changing -----------------------------------------------------------------------------------

void change_item(struct request *request); // POST, PUT
void delete_item(struct request *request);
void act_on_item(struct request *request); // approve, instantiate, ...
// From the beginning, for who was too late.
void serve_request(struct request *request);
