#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "store/cluster/split.h"
#include "store/cluster/watch.h"

// What the files behind watch.h share: watch.c opens, ends and waits; watch_stream.c reads events;
// watch_list.c reads lists and single objects; watch_text.c says what goes on.

enum watch_phase {
    PHASE_DOWN,           // no call is open: waits for the next try
    PHASE_STREAMING_LIST, // a watch that begins with a list, whose end mark (a bookmark with the
                          // annotation k8s.io/initial-events-end) has not come
    PHASE_LIST,           // a page of a list, or a whole one
    PHASE_GET,            // the one object
    PHASE_FOLLOW,         // a watch from "0", whose position is not known yet
    PHASE_LIVE,           // a watch from our position
};

// Which state the next pass asks for. A GET brings the newest, whatever stands here.
enum watch_from {
    FROM_NEWEST,     // the most recent one: no resourceVersion is sent
    FROM_POSITION,   // one that is not older than our position
    FROM_FIRST_PAGE, // one that is not older than the first page of the list that broke off
    FROM_CACHED,     // the one object, whose own resourceVersion is too old to watch from: the
                     // watch then begins at "0", which is what the server's cache has
};

// How a call ends, and what comes next.
enum watch_how {
    HOW_NONE,              // it goes on
    HOW_RENEW,             // in time: the next call at once
    HOW_AGAIN,             // it failed: the same again, after a back-off
    HOW_EXPIRED,           // the position that it named is too old: a pass
    HOW_WENT_BACK,         // the server's resourceVersions went back: a pass for the newest
    HOW_UNREADABLE,        // what came is no JSON, no event, or half of one: a pass
    HOW_RELIST,            // another ERROR event, or a deletion too large to be read: a pass
    HOW_NO_STREAMING_LIST, // the server has none, or none that ends: the pass without, at once
    HOW_FORBIDDEN,         // 403: the same again after a back-off; every 30 to 60 s once believed
    HOW_MISSING,           // 404: the kind's next API version at once, a back-off after the last
};

struct watch {
    struct watch_options options; // its namespace_ and name are the two copies
    char *namespace_copy;
    char *name_copy;
    struct watch_sink sink;
    struct watch_counts counts;
    struct arena *arena; // of the document that was read last
    enum watch_how how;  // how the call is to end (watch_end_soon)
    struct error error;  // why
    bool has_reported;   // to the sink, since the last batch_end

    enum watch_phase phase;
    enum watch_phase ended; // of the call that ended last
    struct api_call *call;
    struct splitter *splitter;
    struct loop_timer next;  // the next try
    struct loop_timer alive; // the deadline of the call
    int64_t opened_ms;       // the call; it counts as the first octet, too
    int64_t last_octet_ms;
    int64_t timeout_ms; // after which the server was asked to end the watch
    unsigned bookmarks; // of this call, as its heartbeat
    bool has_event;     // of this call

    struct buffer position; // watch_position()
    bool needs_pass;        // until one is complete
    enum watch_from from;   // of that pass
    bool has_gone_back;     // the server's resourceVersions, since the last complete pass
    int64_t no_streaming_list_until_ms; // for this watch alone
    bool has_unreadable;                // in this pass
    struct buffer page_token;           // `continue` of the next page; empty: the first one
    struct buffer page_position;        // resourceVersion of the first page
    int64_t expired_ms;                 // when our position did last; 0: never
    int64_t went_back_ms;               // when resourceVersions did last; 0: never

    unsigned backoffs;       // since nothing failed for long
    int64_t not_before_ms;   // no try is made before: the last Retry-After
    int64_t healthy_ms;      // since then nothing failed; 0: no call was accepted since a failure
    unsigned failures;       // in a row
    unsigned refusals;       // 403 in a row
    unsigned absences;       // rounds of 404 in a row, each of all API versions
    const char *api_version; // of the kind, that calls ask for
    unsigned api_versions_tried; // 404 in this round
    int64_t started_ms;
    int64_t down_ms; // since then, the start or a failure, no pass was completed and no watch was
                     // accepted; 0: all is well
    bool is_synced;  // a complete pass was seen once
    bool is_missing; // by the server's last answer its kind is not installed
    bool is_lasting; // the trouble does not pass by itself
    bool has_unknown_type;
    struct buffer trouble; // what keeps us from watching; empty: nothing
    struct buffer check_name;
    struct buffer check_text;
};

// For handlers of documents, within which a call must not be ended: notes how the call is to end
// once the splitter has returned. The first note counts. Returns false, by which a handler stops
// the splitter.
bool watch_end_soon(struct watch *watch, enum watch_how how);
// How a call ends to which the server answered ResourceVersionTooLarge. One that named no
// resourceVersion did not go back: the server is slow to read its own storage.
enum watch_how watch_how_too_large(const struct watch *watch);
// Ends the call and decides what comes next; not to be called by handlers of documents. `how` is
// not HOW_NONE. `err` says why; it is empty where nothing failed.
void watch_end(struct watch *watch, enum watch_how how, const struct error *err);
// The server has accepted the call: an octet came, or no refusal for long.
void watch_mark_accepted(struct watch *watch);
// Sets `alive` to when the call counts as dead or, before that, as accepted.
void watch_arm_deadline(struct watch *watch);
// Opens the call of a phase.
void watch_send(struct watch *watch, enum watch_phase phase, const char *path);
void watch_begin_pass(struct watch *watch);
// Completes the pass; `position` may be absent: none is known. If it is older than ours, although
// resourceVersions were not known to go back, returns false with the end of the call noted.
bool watch_end_pass(struct watch *watch, struct text position);
int64_t watch_now(const struct watch *watch);
// Parses a document. The tree lives until the next call. Returns NULL on failure.
struct value *watch_read_document(struct watch *watch, struct text document, struct error *err);
// Are both numbers, and `a` the smaller one?
bool watch_is_older(struct text a, struct text b);
// Appends the path of the collection and "?", and the selectors, each followed by "&".
void watch_add_path(const struct watch *watch, struct buffer *out);

void watch_open_streaming_list(struct watch *watch);
void watch_open_live(struct watch *watch); // LIVE; FOLLOW while no position is known
bool watch_handle_event(void *context, struct text document);
void watch_handle_stream_end(struct watch *watch); // of STREAMING_LIST, FOLLOW and LIVE

void watch_open_list(struct watch *watch);
void watch_open_get(struct watch *watch);
bool watch_handle_item(void *context, struct text document);
void watch_handle_list_end(struct watch *watch); // of a page
// `body` absent: the object does not exist.
void watch_handle_get_end(struct watch *watch, struct text body);

// The splitter skipped a document; `head` is its beginning.
void watch_handle_skipped(void *context, struct text head, const char *why);
// After a failure: sets `trouble`, is_missing and is_lasting. `ended` and `refusals` say already
// what it was.
void watch_set_trouble(struct watch *watch, enum watch_how how, const struct error *err);
void watch_log_failure(struct watch *watch, const struct error *err);
void watch_log(const struct watch *watch, enum log_level level, const char *message,
               const char *error);
void watch_write_kind(const struct watch *watch, struct buffer *out); // "zones.kubi.zone"
