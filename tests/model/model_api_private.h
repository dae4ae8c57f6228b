#pragma once

#include "model/model_api.h"
#include "model/model_server_private.h"

// One API over HTTP: model_api.c takes calls and gives replies, model_api_path.c reads what they
// are about, model_api_status.c refuses, model_api_read.c gets and lists, model_api_stream.c
// watches, model_api_write.c and model_api_patch.c change.

enum model_verb {
    VERB_GET,
    VERB_LIST,
    VERB_WATCH,
    VERB_CREATE,
    VERB_UPDATE,
    VERB_PATCH,
    VERB_DELETE,
    VERBS,
};
extern const char *const model_verbs[VERBS];

struct model_query {
    bool is_watch;
    bool has_bookmarks;
    bool has_initial_events; // sendInitialEvents is there
    bool wants_initial_events;
    bool is_forced;
    bool is_dry;
    int64_t limit;
    int64_t timeout_s;
    struct text version; // absent texts: not there
    struct text match;
    struct text next; // continue
    struct text manager;
    struct text fields; // fieldSelector
    struct text labels;
};

struct model_target { // lives in the call's arena
    enum model_verb verb;
    const struct store_kind *row; // NULL: discovery or health, at `path`
    struct object_ref_key key;    // name empty: all; namespace empty: everywhere
    struct text sub;              // "status" or ""
    struct text path;
    struct model_query query;
};
// False: no such path.
bool model_target_read(struct model_target *target, const struct model_server *server,
                       struct arena *arena, const char *method, const char *path);

struct model_chunk { // of a stream, under way
    struct model_chunk *next;
    int64_t due_ms;
    const char *type; // "ADDED"
    uint64_t version;
    struct model_json *json; // BOOKMARK: NULL; ERROR: the Status
    bool is_initial_end;     // BOOKMARK: all that was there has come
};

struct model_stream {
    const struct store_kind *row;
    char *namespace_;
    char *name;
    char *labels; // selector; NULL: none
    bool has_bookmarks;
    bool is_frozen;
    bool is_met; // `fault` is on its way
    enum model_stream_fault fault;
    uint64_t version;  // events up to it are not told
    uint64_t reported; // up to it they have arrived
    int64_t bookmark_ms;
    int64_t deadline_ms;
    struct model_chunk *first;
    struct model_chunk *last;
    struct model_chunk *repeated; // the last one told
};

struct http_call {
    struct model_api *api;
    struct http_call *previous;
    struct http_call *next;
    struct loop_timer timer;
    http_done *done;
    void *context;
    void (*piece)(void *context, struct text piece);
    size_t max_body_octets;
    int64_t timeout_ms;
    struct http_reply reply;
    struct http_header headers[3];
    const char *content_type;
    char audit[24];
    char retry_after[12];
    struct buffer body;
    struct model_json *json; // in place of body
    struct model_stream *stream;
    int64_t more_ms;   // that the reply takes beside the usual time
    bool is_silent;    // no reply comes
    bool has_head;     // it was heard that the call is answered
    bool is_fed;       // a callback runs
    bool is_cancelled; // within it
};

enum { DENIALS_MAX = 16, KINDS_MAX = 64 };

struct model_denial {
    char *verb;
    char *resource;
};

struct model_api {
    struct http http;
    struct loop *loop;
    struct model_server *server;
    struct model_watcher watcher;
    struct http *next;
    char *url;
    char *token;
    struct http_call *first;
    struct http_call *last;
    uint64_t chance;
    size_t piece_octets;
    bool has_streaming;
    bool is_down;
    bool is_absent[KINDS_MAX];   // of each kind
    bool is_starting[KINDS_MAX]; // its next watch is refused
    size_t calls[VERBS][KINDS_MAX];
    struct model_denial denials[DENIALS_MAX];
    size_t denial_count;
    uint64_t audits;
    uint64_t names; // made from generateName
};

size_t model_api_index(const struct model_api *api, const struct store_kind *row);
bool model_api_is_denied(const struct model_api *api, const char *verb, struct text resource);
// Hands out a body that was asked for in pieces; false: the call was cancelled and is no more.
bool model_call_feed(struct http_call *call, struct text body);
// Ends the call with its callback.
void model_call_finish(struct http_call *call);
void model_call_break(struct http_call *call, enum http_failure failure, const char *text);

// ---- answers ------------------------------------------------------------------------------------

struct model_status {
    int code;
    const char *reason;
    const struct model_target *about; // NULL: no details
    const char *cause;                // NULL: none
    const char *cause_text;
    const char *cause_field; // NULL: none
    int retry_s;             // 0: none
};
void model_status_write(struct buffer *out, const struct model_status *status, const char *message);
void model_refuse(struct http_call *call, const struct model_status *status, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));
void model_answer_text(struct http_call *call, int status, const char *text);
void model_answer_json(struct http_call *call, int status, struct model_json *json);
void model_answer_tree(struct http_call *call, int status, const struct value *tree);
void model_refuse_fault(struct http_call *call, const struct model_target *target,
                        enum model_fault fault);
void model_refuse_missing(struct http_call *call, const struct model_target *target);
void model_refuse_stale(struct http_call *call, const struct model_target *target);
void model_refuse_invalid(struct http_call *call, const struct model_target *target,
                          const char *text);
void model_refuse_too_large(struct http_call *call, uint64_t wanted, uint64_t current);
// "dnsrecords.dns.homelab.mortenolsen.pro"
const char *model_resource_name(struct arena *arena, const struct kind *kind);

// ---- what calls do ------------------------------------------------------------------------------

typedef void model_handler(struct http_call *call, const struct model_target *target,
                           const struct http_request *request, struct arena *arena);
model_handler model_handle_discovery;
model_handler model_handle_get;
model_handler model_handle_list;
model_handler model_handle_watch;
model_handler model_handle_create;
model_handler model_handle_update;
model_handler model_handle_patch;
model_handler model_handle_delete;

// False when it is no number.
bool model_version_read(struct text text, uint64_t *out);
// The object that a field selector names; false: refused.
bool model_selected_name(struct http_call *call, const struct model_target *target,
                         struct text *name);

struct model_listed {
    const char *namespace_;
    const char *name;
    const struct model_json *json;
};
struct model_listing {
    struct model_listed *items;
    size_t count;
    size_t capacity;
};
// What stood there at that version, by namespace and name. Freed with free(items).
// By a label selector; NULL: all.
bool model_is_selected(const char *labels, const struct model_json *json);
void model_select(struct model_listing *listing, const char *labels);
void model_list(struct model_server *server, const struct model_target *target, struct text name,
                uint64_t version, struct model_listing *out);

void model_stream_changed(struct http_call *call, const struct model_event *event);
void model_stream_meet(struct http_call *call, enum model_stream_fault fault);
void model_stream_expire(struct http_call *call); // at its start: nothing but the ERROR event comes
void model_stream_free(struct model_stream *stream); // accepts NULL

// ---- changing -----------------------------------------------------------------------------------

struct model_change {
    const struct model_target *target;
    struct value *before; // NULL: it is not there
    struct value *after;
    const char *manager;
    bool is_apply;
};
// Rules that every change of an object passes; then it is filed and answered with.
void model_file_change(struct http_call *call, const struct model_change *change,
                       struct arena *arena);
void model_file_new(struct http_call *call, const struct model_target *target, struct value *tree,
                    const char *manager, bool is_apply, struct arena *arena);
// Do the uid and the version that a body names fit? False: refused.
bool model_is_guarded(struct http_call *call, const struct model_target *target,
                      const struct value *given, const struct value *before);
// Server-side apply.
void model_apply(struct http_call *call, const struct model_target *target, struct value *body,
                 struct arena *arena);
// RFC 6902: test, add, replace, remove. Changes the tree. False: a test failed or a path leads to
// nothing.
bool model_json_patch(struct value *tree, const struct value *operations, struct arena *arena);
