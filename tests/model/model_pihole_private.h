#pragma once

#include "base/value.h"
#include "model/model_pihole.h"

// Shared by what is behind model_pihole.h: requests and the process (model_pihole.c), who may do
// what (model_pihole_auth.c), the configuration (model_pihole_config.c), the lists
// (model_pihole_list.c), switches and counters (model_pihole_switch.c), the other dialect
// (model_pihole_legacy.c).

enum { PIHOLE_LISTS = 2, PIHOLE_SEATS_MAX = 256, PIHOLE_SID_MAX = 32, PIHOLE_HEADERS_MAX = 4 };

// ---- lists --------------------------------------------------------------------------------------

struct entries {
    char **items;
    size_t count;
    size_t capacity;
};
void model_entries_done(struct entries *entries);
void model_entries_add(struct entries *entries, const char *entry);
void model_entries_drop(struct entries *entries, size_t at);
void model_entries_copy(struct entries *to, const struct entries *from);
bool model_entries_equal(const struct entries *a, const struct entries *b);
size_t model_entries_find(const struct entries *entries, const char *entry); // SIZE_MAX: not there

struct pihole_lists {
    struct entries of[PIHOLE_LISTS];
};
void model_pihole_lists_done(struct pihole_lists *lists);
void model_pihole_lists_copy(struct pihole_lists *to, const struct pihole_lists *from);

extern const char *const model_pihole_list_keys[PIHOLE_LISTS]; // "dns.hosts"
// What FTL's validators say of the whole list; `hint` as it stands in the reply.
bool model_pihole_check(enum pihole_list list, const struct entries *entries, struct buffer *hint);
// What dnsmasq says of the aliases when they are tried.
bool model_pihole_try_cnames(const struct entries *cnames, struct buffer *hint);
// How an entry reads when it comes back: blanks before a comment are one blank each.
char *model_pihole_normal(enum pihole_list list, const char *entry);

// ---- the model ----------------------------------------------------------------------------------

struct pihole_session {
    bool is_used;
    bool is_app;
    bool is_forever; // of a browser that stays
    int64_t login_s;
    int64_t until_s; // valid up to and with that second
    char sid[PIHOLE_SID_MAX];
    char csrf[PIHOLE_SID_MAX];
    char *agent;
    char *peer;
};

struct pihole_flight {
    struct pihole_flight *next;
    uint64_t number;
    uint64_t life;
    char *agent;
    char *what;    // "PATCH /api/config"
    bool is_write; // asks for a change
    bool has_changed;
    struct pihole_lists before; // of one that has
    struct buffer body;
    struct http_header headers[PIHOLE_HEADERS_MAX];
    size_t header_count;
    char cookie[PIHOLE_SID_MAX + 96];
};

enum pihole_overlap { OVERLAP_SAFE, OVERLAP_LOSES, OVERLAP_DIES };
enum pihole_hosts_local {
    HOSTS_LOCAL_ABSENT,
    HOSTS_LOCAL_MISSING,
    HOSTS_LOCAL_OFF,
    HOSTS_LOCAL_ON
};

// As named in model_pihole_set. Words are numbers of their rows.
struct pihole_switches {
    unsigned is_up;
    unsigned hangs;
    unsigned is_legacy;
    unsigned legacy_unique;
    unsigned app_sudo;
    unsigned totp_limited;
    unsigned read_only;
    unsigned forced[PIHOLE_LISTS];
    unsigned hosts_local;
    unsigned overlap;
    unsigned deadlocks;
    unsigned defers;
    unsigned alias_hints;
    unsigned restart_allowed;
    char *password;
    char *app_password;
    char *totp;
    char *body; // NULL: none
    int64_t max_sessions;
    int64_t session_timeout_s;
    int64_t dns_port;
    int64_t password_ms;
    int64_t read_ms;
    int64_t write_ms;
    int64_t restart_grace_ms;
    int64_t restart_api_ms;
    int64_t restart_dns_ms;
    int64_t resurrects;
    int64_t loses_replies;
    int64_t fails;
    int64_t cut_octets; // -1: none
};

struct pihole_counters {
    uint64_t requests;
    uint64_t gets;
    uint64_t posts;
    uint64_t puts;
    uint64_t patches;
    uint64_t deletes;
    uint64_t logins;
    uint64_t failed_logins;
    uint64_t logouts;
    uint64_t changes;
    uint64_t written_octets;
    uint64_t restarts;
    uint64_t largest_body;
    uint64_t overlaps;
    uint64_t deadlocks;
};

// The resolver on its way from one state to the next. Times are those of now_ms.
struct pihole_restart {
    bool is_on;
    bool has_begun;  // the process did, and counts another life
    bool has_spoken; // what was pending is served
    int64_t closes_ms;
    int64_t opens_ms;
    int64_t dumb_ms;
    int64_t speaks_ms;
};

struct model_pihole {
    int64_t epoch_ms;
    struct pihole_switches switches;
    struct pihole_counters counters;
    struct pihole_lists stored;
    struct pihole_lists served;
    struct pihole_lists pending; // is served when the restart is over
    uint64_t served_number;
    struct pihole_restart restart;
    bool is_deadlocked; // until it is killed
    uint64_t life;
    struct pihole_session sessions[PIHOLE_SEATS_MAX];
    uint64_t sids; // made so far
    int64_t tried_s;
    int64_t tries; // of passwords in that second
    char *used_totp;
    struct pihole_flight *flights;
    uint64_t last_flight;
    struct pihole_lists kept;   // by people
    struct pihole_lists ghosts; // come back with the next change
    char *breach;
};

struct pihole_call;

int64_t model_pihole_unix_s(const struct model_pihole *pihole, int64_t now_ms);
// What became due by now is done.
void model_pihole_settle(struct model_pihole *pihole, int64_t now_ms);
void model_pihole_start(struct model_pihole *pihole);
void model_pihole_kill(struct model_pihole *pihole);
// The resolver begins anew with what is stored, or will soon anyway. The reply leaves at reply_ms.
void model_pihole_restart(struct model_pihole *pihole, int64_t now_ms, int64_t reply_ms);
// A new configuration of the resolver is about to be tried, by a process of its own. True: the
// process that waits for it is in its signal handler, and both stand still for good.
bool model_pihole_deadlocks(struct pihole_call *call);
// That list is served as it is stored.
void model_pihole_publish(struct model_pihole *pihole, enum pihole_list list);
void model_pihole_accuse(struct model_pihole *pihole, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- one request while it is served -------------------------------------------------------------

enum { PIHOLE_BODY_MAX = 65534, PIHOLE_PATH_MAX = 8 };

struct pihole_call {
    struct model_pihole *pihole;
    int64_t now_ms;
    const struct pihole_request *request;
    struct pihole_reply *reply;
    struct pihole_flight *flight;
    struct arena *arena;
    struct text path;                      // decoded, without query
    struct text query;                     // as sent
    const struct value *body;              // as JSON; NULL: none, or not JSON
    bool has_body;                         // one that is read
    const char *segments[PIHOLE_PATH_MAX]; // behind /api/
    size_t segment_count;
    const struct pihole_session *session; // NULL: none, or none is wanted
};

const char *model_pihole_header(const struct pihole_call *call,
                                const char *name); // the first, or NULL
// The value of `name` in a query or form, decoded; NULL: it is not there.
const char *model_pihole_variable(struct arena *arena, struct text source, const char *name);
bool model_pihole_flag(const struct pihole_call *call, const char *name, bool fallback);
void model_pihole_add_header(struct pihole_call *call, const char *name, const char *value);
// The map with the time that it took; NULL: {}.
void model_pihole_answer(struct pihole_call *call, int status, const struct value *map);
void model_pihole_answer_empty(struct pihole_call *call, int status); // no body
void model_pihole_refuse(struct pihole_call *call, int status, const char *key, const char *message,
                         const char *hint); // hint NULL: null
// The body as JSON, or a refusal.
bool model_pihole_has_json(struct pihole_call *call);

// model_pihole_auth.c
void model_pihole_auth(struct pihole_call *call);
void model_pihole_sessions(struct pihole_call *call);
bool model_pihole_is_let_in(struct pihole_call *call); // or it is refused
size_t model_pihole_seats(const struct model_pihole *pihole, int64_t now_ms);
void model_pihole_sessions_done(struct model_pihole *pihole);
// model_pihole_config.c
void model_pihole_config(struct pihole_call *call);
// What a change is made to: what is stored, or, of two changes at once, what was before the first.
const struct pihole_lists *model_pihole_base(const struct pihole_call *call);
// Files new lists, and what comes back from the dead with them.
void model_pihole_store(struct pihole_call *call, const struct pihole_lists *wanted, bool restarts);
// model_pihole_legacy.c
void model_pihole_legacy(struct pihole_call *call);
// model_pihole_switch.c
extern const struct pihole_switches model_pihole_defaults;
void model_pihole_switches_done(struct pihole_switches *switches);
