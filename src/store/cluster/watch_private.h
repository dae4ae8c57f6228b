#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "store/cluster/split.h"
#include "store/cluster/watch.h"

// What the files behind watch.h share: watch.c opens, ends and waits; watch_stream.c reads events;
// watch_list.c reads lists and single objects; watch_text.c says what goes on.

enum watch_phase {
    PHASE_DOWN,           // waits for the next try
    PHASE_STREAMING_LIST, // a streaming list whose end mark has not come
    PHASE_LIST,           // a page of a list, or a whole one
    PHASE_GET,            // the one object
    PHASE_FOLLOW,         // a plain watch at "0" whose position is not known yet
    PHASE_LIVE,           // a watch
};

// What a pass asks for.
enum watch_from {
    FROM_NEWEST,     // the newest, as the server has it
    FROM_POSITION,   // not older than our position
    FROM_FIRST_PAGE, // not older than the first page of the list that broke off
    FROM_CACHED, // the one object as the server's cache has it: its own version is too old to watch
};

// Why a call is over, and what comes next.
enum watch_how {
    HOW_NONE,
    HOW_RENEW,             // at once the same again
    HOW_AGAIN,             // the same again, after a while
    HOW_EXPIRED,           // a pass: our position is too old
    HOW_WENT_BACK,         // a pass at the newest: the server's versions went back
    HOW_UNREADABLE,        // a pass: what came is no JSON, or no event
    HOW_RELIST,            // a pass: an ERROR event of another kind
    HOW_NO_STREAMING_LIST, // a pass by list
    HOW_FORBIDDEN,         // the same again, once it is believed after 30 s
    HOW_MISSING,           // the kind is not installed
};

struct watch {
    struct watch_options options; // namespace_ and name are these copies
    char *namespace_copy;
    char *name_copy;
    struct watch_sink sink;
    struct watch_counts counts;
    struct arena *arena;   // of one document
    struct buffer trimmed; // the document without what nobody keeps
    struct error error;    // of the document that ends the call
    enum watch_how how;    // HOW_NONE: go on
    bool has_reported;     // the sink heard something in this piece

    enum watch_phase phase;
    enum watch_phase ended; // of the call that ended last
    struct api_call *call;
    struct splitter *splitter;
    struct loop_timer next;  // the next try
    struct loop_timer alive; // looks after the call
    int64_t opened_ms;
    int64_t last_octet_ms;
    int64_t timeout_ms; // that the server was told
    unsigned bookmarks; // on this stream, as heartbeat
    bool has_event;     // on this stream

    struct buffer position;
    bool needs_pass;
    enum watch_from from;
    bool has_gone_back;
    int64_t no_streaming_list_until_ms; // for this watch alone
    bool has_unreadable;                // in this pass
    struct buffer page_token;
    struct buffer page_position; // of the first page
    int64_t expired_ms;          // when our position did last; 0: never
    int64_t went_back_ms;        // when versions went back last; 0: never

    unsigned backoffs;           // since it was last well for long
    int64_t healthy_ms;          // since then nothing failed; 0: it did
    unsigned failures;           // in a row
    unsigned refusals;           // 403 in a row
    unsigned absences;           // 404 in a row, of all versions
    const char *api_version;     // that is asked for
    unsigned api_versions_tried; // 404 in a row, of one each
    int64_t started_ms;
    int64_t down_ms; // since then there is no stream; 0: there is one
    bool is_synced;  // a complete pass was seen once
    bool is_missing; // by the server's last word its kind is not installed
    bool is_lasting; // the trouble is nothing that passes by itself
    bool has_unknown_type;
    struct buffer trouble; // what keeps us from watching; empty: nothing
    struct buffer check_name;
    struct buffer check_text;
};

// Stops the documents of this piece: the call ends in this way. The first way counts.
bool watch_end_soon(struct watch *watch, enum watch_how how);
// The server says that its versions do not reach as far as was asked for. One that was asked for no
// version is slow to read its own store: it is tried again later.
enum watch_how watch_how_too_large(const struct watch *watch);
void watch_end(struct watch *watch, enum watch_how how, const struct error *err);
// An octet of it came, or it has been open for long.
void watch_mark_accepted(struct watch *watch);
void watch_arm_deadline(struct watch *watch);
void watch_send(struct watch *watch, enum watch_phase phase, const char *path);
void watch_begin_pass(struct watch *watch);
// `position` may be absent: none is known.
bool watch_end_pass(struct watch *watch, struct text position);
int64_t watch_now(const struct watch *watch);
struct value *watch_read_document(struct watch *watch, struct text document, struct error *err);
// Both are numbers, and `a` is the smaller.
bool watch_is_older(struct text a, struct text b);
// The path of the collection, "?" and the selector of the one object.
void watch_add_path(const struct watch *watch, struct buffer *out);

void watch_open_streaming_list(struct watch *watch);
void watch_open_live(struct watch *watch);
bool watch_handle_event(void *context, struct text document);
void watch_handle_stream_end(struct watch *watch);

void watch_open_list(struct watch *watch);
void watch_open_get(struct watch *watch);
bool watch_handle_item(void *context, struct text document);
void watch_handle_list_end(struct watch *watch);
void watch_handle_get_end(struct watch *watch, struct text body);

void watch_handle_skipped(void *context, struct text head, const char *why);
void watch_set_trouble(struct watch *watch, enum watch_how how, const struct error *err);
void watch_log_failure(struct watch *watch, const struct error *err);
void watch_log(const struct watch *watch, enum log_level level, const char *message,
               const char *error);
void watch_write_kind(const struct watch *watch, struct buffer *out); // "zones.kubi.zone"
