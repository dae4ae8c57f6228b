#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/value.h"
#include "dns/record.h"
#include "io/dnsnet.h"
#include "io/http.h"
#include "io/local.h"
#include "io/random.h"

// A provider translates changes of record sets into exchanges with one sort of server. It is a
// small state machine and owns no socket, file or process: ask() names the next thing to do, hear()
// takes what came of it, until ask() says ASK_DONE. The engine's backend sends what ask() returns
// and keeps the clock. "Server" here is the program at the other end, "backend" the engine's queue
// towards it.
//
// A session is a provider's instance at one server (address, credentials, what it learned); an
// exchange is one piece of work there. What an exchange learns and later sessions need goes into
// job.learned: the backend keeps it and opens another session with it. Some servers hold a list
// that must be read before it is written (a Pi-hole): their provider has one exchange at a time,
// computes what to write from what it reads, and its health exchange reports every record set that
// stands there. A new provider is a folder with <name>.c, <name>.md, test_<name>.c and one word in
// the list of src/providers/meson.build.

enum change_op { CHANGE_SET, CHANGE_REMOVE, CHANGE_READ };

// What came of one change; filled by the provider. `error` points into the job's arena.
struct outcome {
    bool is_done;              // as wanted: set, removed, or read
    bool was_created;          // SET: the server says it did not exist
    bool was_absent;           // REMOVE, READ: there was nothing
    bool is_uncertain;         // REMOVE: counted as done, but the answer was not the protocol's
    bool is_foreign;           // SET: stands there as wanted, made by somebody else
    bool is_unchanged;         // done, and nothing had to be sent for it
    const struct error *error; // when not done
    const struct record_set *found; // READ: what stands there
    // SET, REMOVE: what of ours stood there before, if known. When not done: it went all the same,
    // as somebody else's stands there.
    const struct record_set *replaced;
    const char *note; // one sentence for log and event, or NULL
};

struct change {
    enum change_op op;
    struct record_set set; // REMOVE, READ: type, domain and subdomain count
    bool may_adopt;        // what stands there without a mark may be ours, from a predecessor
    struct outcome outcome;
};

// What is remembered of a server that cannot carry our mark at each record: written ahead of each
// SET, kept until a REMOVE is done.
struct ledger_view {
    // What may stand there as ours for that owner name: the server's own strings, each ended by a
    // newline. NULL: nothing.
    const char *(*find)(const void *context, enum record_type type, struct text name);
    // A fact that the session kept there, or NULL.
    const char *(*recall)(const void *context, const char *fact);
    // Keeps it; NULL forgets it. Written before the next exchange begins.
    void (*keep)(void *context, const char *fact, const char *value);
    void *context;
};

// A record set that stands at the server. One owner name and type may have two: ours and theirs.
struct existing_set {
    struct record_set set; // domain is the whole name, subdomain "@"
    bool is_ours;
};

// LEAVE: the last exchange of a session: what it holds at the server (a login) is given up,
// within 500 ms.
// HEALTH: the question that every provider answers; QUESTION: one of its own.
enum job_kind { JOB_CHANGES, JOB_HEALTH, JOB_QUESTION, JOB_LEAVE };

struct job {
    enum job_kind kind;
    struct arena *arena; // lives as long as the job
    struct change *changes;
    size_t change_count;       // at most the provider's max_changes
    const char *trace;         // 32 hex digits: W3C trace id
    const char *question;      // JOB_QUESTION: its name, out of the provider's `questions`
    const struct value *about; // and what it is about, as the controller put it; or NULL
    // Of a question: done or not, and its answer (map; NULL when nothing): of JOB_HEALTH what the
    // server said about itself. A JOB_CHANGES may bring that along: as it is after the changes.
    struct outcome health;
    const struct value *answer;
    // What the exchange found out about the server that later sessions need as well: a map whose
    // entries replace those of what is known. NULL: nothing.
    const struct value *learned;
    // The server as a whole could not be reached: outcomes repeat it, the backend counts it.
    bool is_transport_failure;
    // Instead, of a provider that is_serial: why nothing can be done there now. Changes without an
    // outcome stay due; the backend waits for its retry_ms, and shows it (reason "": not yet). With
    // is_listed only writing is unavailable: changes are tried all the same.
    const struct error *unavailable;
    // JOB_CHANGES that takes a request for each record: how many were sent, and how many are still
    // to be. Logged when it takes long.
    struct {
        size_t done;
        size_t open;
    } writes;
    // JOB_CHANGES of a provider that lists: nothing is written. Outcomes are as they would be if
    // all were, also where something keeps us from writing for now.
    bool is_dry_run;
    bool is_by_hand;                  // what may be adopted is, whenever that is
    const struct ledger_view *ledger; // provider's has_ledger; else NULL
    // JOB_HEALTH of a provider that lists: called for each record set there, between ask() and
    // ASK_DONE; then `is_listed` is set: these were all.
    void (*report_existing)(void *context, const struct existing_set *existing);
    void *context;
    bool is_listed;
};

struct moment {
    int64_t unix_ms;
    int64_t mono_ms;
    struct random *random;
};

// A message to a server, or what takes its place where the server is a program on this machine: a
// file of its that is read or replaced, a process that tells it to load that. In a dry run nothing
// is replaced, and a process changes nothing. A secret stands in a message, a file or the input of
// a process, never among its arguments.
enum ask_kind { ASK_DONE, ASK_HTTP, ASK_DNS, ASK_FILE, ASK_PROCESS, ASK_WAIT };
struct ask { // what it points to lives in the exchange until hear()
    struct http_request http;
    struct dns_request dns;
    struct file_request file;
    struct process_request process;
    int64_t wait_ms;
};
struct ask_result {
    enum ask_kind kind; // of what was asked
    const struct http_reply *http;
    const struct dns_reply *dns;
    const struct file_reply *file;
    const struct process_result *process;
};

struct session_setup {
    const struct value *config; // the provider's own keys; borrowed, copy what stays
    struct secret *secret;      // NULL: none. Borrowed, take a reference
    struct secret *previous;    // the key before a rotation, or NULL
    int64_t previous_until_ms;  // mono: no longer than this
    const char *owner_id;       // whose is what it marks as ours; of providers that mark
    const struct value *known;  // of this server: what exchanges learned so far; or NULL
};

// A session as metrics show it.
struct session_view {
    const char *backend; // "pihole-upstairs"
    const void *session;
    uint64_t repaired; // record sets that were as wanted and, by a list, are not any more
    // Of those that are wanted: somebody else made what stands there; what is wanted is refused.
    size_t satisfied[RECORD_TYPES];
    size_t refused[RECORD_TYPES];
};

struct provider {
    const char *name;
    const char *title;            // what people call such a backend: "Pi-hole"
    const char *unreachable;      // reason where one is silent: "PiholeUnreachable"
    size_t max_changes;           // of one job
    int64_t collect_ms;           // wait so long for more before a job begins; 0: never
    const char *const *questions; // that it answers beside its health; NULL-terminated, or NULL
    bool is_serial;               // one exchange at a time, questions too
    bool lists; // its health exchange tells what stands there; asked before the first change
    bool has_ledger;
    bool
        leaves; // has JOB_LEAVE; 500 ms after we are told to end, any exchange of its is broken off
    // Claims of several objects on one name and type with the same content stand together, whether
    // they ask for that (claim_want.shares) or not.
    bool shares;
    // When changes of that type may begin (mono ms), of which the first came at first_ms and the
    // last at last_ms. NULL: by collect_ms.
    int64_t (*ready_ms)(const void *session, enum record_type type, int64_t first_ms,
                        int64_t last_ms);
    // What the ledger must remember before this SET is sent, as ledger_view.find gives it back.
    // False: nothing.
    bool (*entry)(const void *session, const struct record_set *set, struct buffer *out);
    // Errors: fault SPEC, reason InvalidConfiguration.
    bool (*open)(const struct session_setup *setup, void **session, struct error *err);
    void (*close)(void *session);
    // What identifies the content as it would stand at this server (address included): the first
    // octets of a SHA-256. It may change when the session learns something.
    void (*fingerprint)(const void *session, const struct record_set *set,
                        uint8_t out[FINGERPRINT_OCTETS]);
    void *(*begin)(void *session, struct job *job); // job outlives the exchange
    enum ask_kind (*ask)(void *exchange, const struct moment *moment, struct ask *out);
    void (*handle_reply)(void *exchange, const struct moment *moment,
                         const struct ask_result *result);
    // Also in the middle: nothing is heard any more. The texts of the changes may be gone by then.
    void (*end)(void *exchange);
    // What a JOB_HEALTH of a visitor found, for people, line by line: level "ok" (the first, what
    // it is), "warn" or "error". has_owner: whose marks are ours is known. NULL: it has no
    // visitors.
    void (*explain)(const struct job *job, bool has_owner,
                    void (*report)(void *context, const char *level, const char *text),
                    void *context);
    // Prometheus text of what only it knows of its sessions, appended; or NULL.
    void (*write_metrics)(const struct session_view *seats, size_t count, struct buffer *out);
};

// All that are built in, from the list in src/providers/meson.build.
extern const struct provider *const providers[];
extern const size_t provider_count;
const struct provider *provider_find(const char *name);

// The reason of all that an open() refuses.
#define INVALID_CONFIGURATION "InvalidConfiguration"
// What was said of a value, with the key that it stands under before it and that reason in place of
// its own. Always false.
bool provider_refuse_key(struct error *err, const char *key);

// For providers that can only be asked. Refuses all changes of a job with that text.
void provider_refuse_changes(struct job *job, const char *text);
// The session of a provider that takes all that it knows of a server from the question: there is
// none (NULL).
bool provider_open_none(const struct session_setup *setup, void **session, struct error *err);
void provider_close_none(void *session);
// The fingerprint of a provider whose server holds no record sets: all contents have the same one.
void provider_fingerprint_none(const void *session, const struct record_set *set,
                               uint8_t out[FINGERPRINT_OCTETS]);
// The "IP:port" that a question is about, as its `address`.
bool provider_question_address(const struct job *job, struct hostport *out, struct error *err);
