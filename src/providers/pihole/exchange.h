#pragma once

#include "base/memory.h"
#include "providers/pihole/bisect.h"
#include "providers/pihole/instance.h"

// Private to the Pi-hole provider: one exchange. It is a row of requests; the answer to each
// decides which step is next. What is no answer to go on with ends the exchange with trouble.

enum step {
    STEP_BEGIN,
    STEP_LOGIN,
    STEP_LEGACY_TRY, // is it the API of old?
    STEP_SESSIONS,
    STEP_SWEEP, // ends a session that an earlier process of ours left behind
    STEP_PREFLIGHT,
    STEP_READ,
    STEP_WRITE,
    STEP_PAUSE,
    STEP_KNOCK,   // is the API back?
    STEP_RESTART, // for what was written without one
    STEP_LEGACY_READ,
    STEP_LEGACY_WRITE,
    STEP_LEAVE,
    STEP_DONE,
};

#define LEGACY_PATH "/admin/api/dns/local"

enum { SWEEPS_MAX = 64, LEFT_OUT_MAX = 16, RESTORE_MAX = 32, REQUEST_HEADERS_MAX = 2 };

// One change of the job, beside the change itself.
struct item {
    uint64_t key;           // of the record set: its texts may be gone when the exchange ends
    bool is_sent;           // something had to be written for it, and was
    bool is_whole;          // all of it, by the last revision
    bool is_suspect;        // one of those of which one or more are refused
    struct outcome outcome; // that it then has
};

struct exchange {
    struct pihole_instance *instance;
    struct job *job;
    enum step step;
    bool has_logged_in; // because of a 401; once
    bool has_repinned;  // took a new TLS key; once
    bool has_doubted;   // tried a refused login again; once
    int64_t pause_ms;
    enum step after_pause;
    struct arena *arena; // of one answer
    // While one is asked or heard.
    const struct moment *moment;
    const struct http_reply *http;
    struct reply reply;
    // The request under way.
    const char *method;
    struct buffer url;
    struct buffer body;
    struct buffer bearer;
    struct http_header headers[REQUEST_HEADERS_MAX];
    size_t header_count;
    // Session.
    int64_t sweeps[SWEEPS_MAX];
    size_t sweep_count;
    char elder[BACKEND_NAME_MAX + 1]; // the backend that we give way to; "": none
    // Changes.
    struct item *items;       // of the job's changes
    struct change **selected; // that the revision is of
    struct list *list;
    struct line_set lines; // that we wrote
    struct revision *revision;
    enum revision_way way;
    size_t at;           // of the revision's writes
    size_t written;      // since the list was read
    size_t planned;      // writes of the last revision
    bool is_deferred;    // the write under way: it restarts nothing
    bool has_written;    // since the last revision, and
    bool has_all;        // all of it
    unsigned mismatches; // times that what was written did not stand
    unsigned refusals;   // since one was set apart
    const char *refusal; // the last: what was said
    int refusal_status;
    bool removes_only; // a line of others keeps additions out
    bool is_bisecting;
    bool clears_rest; // before the suspects, those that are none
    struct bisect bisect;
    struct left_out {
        enum list_part part;
        struct text line;
    } left_out[LEFT_OUT_MAX]; // lines of ours from before that Pi-hole refuses
    size_t left_out_count;
    // Legacy.
    struct text *restore; // lines that went with another of their name, to be put back
    size_t restore_count;
    bool has_added; // since the list was read
};

// The step that the job and the state of the instance ask for.
void exchange_go_on(struct exchange *exchange);
// Then that step.
void exchange_pause(struct exchange *exchange, int64_t pause_ms, enum step after);
void exchange_trouble(struct exchange *exchange, enum trouble_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// As the reply that was heard says.
void exchange_trouble_of_reply(struct exchange *exchange);
const char *exchange_reply_text(struct exchange *exchange);
// All is done.
void exchange_done(struct exchange *exchange);
// Borrowed until the reply.
void exchange_add_header(struct exchange *exchange, const char *name, const char *value);

// pin.c
void pin_recall(struct exchange *exchange);
// It is to be learned, and nobody has: the next key is believed.
bool pin_is_open(const struct exchange *exchange);
void pin_fill(const struct pihole_instance *instance, struct http_tls *out);
// False: the reply is not one to hear; ask again, or the exchange has ended.
bool pin_handle_reply(struct exchange *exchange);

// session.c
void session_write_login(struct exchange *exchange);
void session_handle_login(struct exchange *exchange);
void session_handle_sessions(struct exchange *exchange);
void session_write_sweep(struct exchange *exchange);
void session_handle_sweep(struct exchange *exchange);
void session_handle_leave(struct exchange *exchange);

// preflight.c: what keeps us from writing.
void preflight_write(struct exchange *exchange);
void preflight_handle_reply(struct exchange *exchange);
// Asks again once a minute while something does.
void preflight_renew(struct exchange *exchange);
// The list that a write was refused for was known to be set by environment.
bool preflight_knows(const struct exchange *exchange);
void preflight_learn(struct exchange *exchange);   // from a write that was refused
void preflight_trouble(struct exchange *exchange); // the instance is blocked
const char *preflight_forced_text(struct exchange *exchange, enum list_part part);

// changes.c
void changes_begin(struct exchange *exchange);
void changes_end(struct exchange *exchange);
bool change_is_open(const struct change *change);
// The list has been read: draws what to write, or ends the exchange.
void changes_draw(struct exchange *exchange);
void changes_mark_sent(struct exchange *exchange);
void changes_mark_whole(struct exchange *exchange); // the revision was written to its end
// One more write of the revision was accepted, of those before exchange->at.
void changes_note_progress(struct exchange *exchange);
// All that the revision wanted stands.
void changes_stand(struct exchange *exchange);
// What is left to do when nothing is left to write.
void changes_finish(struct exchange *exchange);
// From now on nothing is adopted.
void changes_end_first_sync(struct exchange *exchange);
// `status` is that of the reply; 0: we know without.
void changes_refuse(struct exchange *exchange, struct change *change, int status,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
void changes_set_apart(struct exchange *exchange, struct change *change, const struct error *error);

// read.c
// What both dialects read comes together here.
void read_take(struct exchange *exchange, const struct value *hosts, const struct value *cnames);
void read_handle_reply(struct exchange *exchange);

// write.c
void write_write(struct exchange *exchange);
void write_handle_reply(struct exchange *exchange);
// To the revision's next write, behind any restart that it must not meet.
void write_go_on(struct exchange *exchange);

// restart.c: restarts of the resolver, one at a time.
// Of any reply: has the API gone, is it back?
void restart_handle_reply(struct exchange *exchange);
// A write that restarts, or by `is_deferred` should not, was taken or may have been.
void restart_note(struct exchange *exchange, bool is_deferred);
// We have just come.
void restart_suspect(struct exchange *exchange);
// Waits until it is over; then all from the reading on again.
void restart_await(struct exchange *exchange);
void restart_handle_knock(struct exchange *exchange);
// One is owed: asks for it, now or when an earlier one is over. False: none is.
bool restart_pay(struct exchange *exchange);
void restart_handle_paid(struct exchange *exchange);

// blame.c: the write was refused. Whose fault is it?
void blame_handle_reply(struct exchange *exchange);
void blame_clear(struct exchange *exchange);   // the suspects that were tried were taken
void blame_trouble(struct exchange *exchange); // somebody else's line
bool blame_still_holds(struct exchange *exchange);
// A line of somebody else's that Pi-hole would refuse stands there: what is said of it is ready.
bool blame_foresees(struct exchange *exchange);
void blame_forget(struct pihole_instance *instance);

// health.c
void health_answer(struct exchange *exchange); // as the list says that was read last
void health_report(struct exchange *exchange);
void health_finish(struct exchange *exchange);

// legacy.c: the API of old, with the lists and revisions of the new one.
void legacy_write_key(struct exchange *exchange);
void legacy_handle_try(struct exchange *exchange);
void legacy_handle_read(struct exchange *exchange);
void legacy_go_on(struct exchange *exchange); // to the revision's next write
void legacy_give_up(struct exchange *exchange);
void legacy_write(struct exchange *exchange);
void legacy_handle_write(struct exchange *exchange);
