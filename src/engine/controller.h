#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/right.h"
#include "base/secret.h"
#include "base/value.h"
#include "dns/record.h"
#include "store/store.h"

// What a controller is to the engine. It declares, as data, what it reads: from that the engine
// fills an immutable snapshot, and knows which keys to wake when something changes. decide() turns
// a snapshot into a decision: it is pure, without I/O or a clock, and the same snapshot gives the
// same decision, octet for octet. A new controller is a folder with <name>.c, <name>.md,
// test_<name>.c and one word in the list of src/controllers/meson.build.

// ---- inputs -------------------------------------------------------------------------------------

// A list of strings, collected by an index function: index keys or lookup keys.
struct strings {
    struct arena *arena;
    const void *settings; // the controller's, as in its snapshots
    const char **items;
    size_t count;
    size_t capacity;
};
void strings_add(struct strings *strings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// A join: the objects of `kind` that have one of the subject's lookup keys among their index keys.
// Without index_keys an object is looked up by its identity ("ns/name", "name"), which may be the
// same for all subjects. Without both every subject sees all objects of the kind; `labels` limits
// them. A prefix or suffix search is a join over all prefixes or suffixes.
//
// If all inputs of a kind have `labels`, only objects that one of these selectors matches are
// watched and cached. If all inputs have is_named, only objects that are looked up are. Otherwise
// the whole kind is watched, and the engine shows each input what it selects.

struct input {
    const struct kind *kind;
    const char *labels; // label selector (base/labels.h) of a kind that keeps labels; NULL: all
    bool is_named;      // only objects looked up by identity are read: of a kind such as Secret
    void (*index_keys)(const struct object *object, struct strings *out);
    void (*lookup_keys)(const struct object *subject, struct strings *out);
    bool reads_own_writes; // our own writes to those objects wake the key, too
    // The controller does without: the input is empty where the server does not have the kind, or
    // does not let us read it; when either changes, the keys are woken. Not with is_named.
    bool is_optional;
};
// Backends, looked up by name in the same way. A controller that opens backends from its settings
// does not need this: it sees those, and a key is woken when one changes that its claims wait for.
struct backend_input {
    void (*lookup_keys)(const struct object *subject, struct strings *out);
};

struct input_objects {
    const struct object *const *objects; // in age order
    size_t count;
    bool is_synced;  // false: absence proves nothing
    bool is_missing; // the server does not have the kind
    // For users: why an object that is looked up by identity, or the whole kind, can't be read; or
    // NULL.
    const char *unreadable;
};

// ---- shared models ------------------------------------------------------------------------------

// What one of the name servers that transfer from us said last about a zone.
struct server_view {
    const char *name;
    bool is_probed; // we ask it for its serial
    bool signs;     // it signs the zone (DNSSEC), so its serial is its own
    bool has_serial;
    uint32_t serial;  // that it answered
    bool is_believed; // its answer can't be forged: it came with TSIG, or over TCP
    bool has_fetched;
    uint32_t fetched;   // of the last transfer that it completed
    bool is_stuck;      // long after that it answers an older serial: it could not load the zone
    bool is_recalled;   // from the store, of a time before this process: there may be a later one
    struct error fault; // of the last exchange, or NONE
};

struct zone;

// What settle() calls.
struct shared_model_calls {
    void (*wake)(void *context, const struct object *object); // its outcome may have changed
    // A change has arrived at all servers, took_ms after it was read.
    void (*programmed)(void *context, const struct object *object, int64_t took_ms);
    void *context;
};

// What becomes of an object may depend on many others at once: which of several zones with one name
// is live, which of many records wins. A shared model is given all objects of some kinds, as they
// come, change and go, and says whose outcome may have changed; those keys get reconciliations.
// decide() gets the model with each snapshot. The engine may drop it at any time: a new one that is
// given all objects must say the same.
struct shared_model {
    const struct kind *const *kinds; // NULL-terminated
    void *(*make)(const void *settings);
    void (*free)(void *state);
    // A state of an object; an earlier one is replaced. `object` lives until it is replaced too.
    void (*put)(void *state, const struct object *object);
    void (*remove)(void *state, const struct object *object);
    // The version of the zone that the decision on this object wanted to publish is served now.
    void (*published)(void *state, const struct object *object, const struct zone *zone);
    // Called at each change of what the servers of the object's zone say; `group` is the group of
    // servers that the zone belongs to. May be NULL, as may `published`.
    void (*servers_reported)(void *state, const struct object *object, const char *group,
                             const struct server_view *servers, size_t count);
    // Works out what follows from everything put so far. Returns when (Unix ms) time alone will
    // change something, or 0.
    int64_t (*settle)(void *state, int64_t now_ms, const struct shared_model_calls *calls);
    // Appends the metrics that only the model can count, as Prometheus text. May be NULL.
    void (*write_metrics)(const void *state, struct buffer *out);
    const char *seconds_metric; // family of how long settling takes
    const char *seconds_help;
};

// ---- the snapshot -------------------------------------------------------------------------------

// A backend as decisions see it.
struct backend_view {
    const char *name;           // "class-home"
    bool is_open;               // it has a session
    bool is_lingering;          // its owner is gone or unusable; REMOVEs go on for a while
    const char *registry;       // normalised server URL
    struct error fault;         // why SETs can't be sent; fault NONE: they can
    struct error unavailable;   // why nothing can be done there now; fault NONE: it can
    int64_t stalled_ms;         // mono: since when nothing could be done, too recently to count as
                                // unavailable; 0
    const struct value *answer; // the last health answer's map, or NULL
    int64_t answered_s;         // Unix; 0: never
    bool is_answer_ok;
    struct error answer_error;   // when it failed
    const struct secret *secret; // what it signs with; or NULL. Only for comparing
    uint64_t basis;              // as its owner gave it
    const struct value
        *known;       // what exchanges learned of the backend, in this process or before it
    const char *note; // from the last exchange, e.g. "server still uses the previous secret"
    bool is_learning; // waits for its first health answer
    bool is_listed;   // of a provider that lists: what stands there is known
    bool is_judged;   // the guard knows what is to go there
    const char *guarded_checksum; // checksum of the removals that the guard holds back; NULL: none
};

enum receipt_state {
    RECEIPT_NONE,      // the registry has no such claim yet
    RECEIPT_SUSPENDED, // holds the name, and must not be sent yet, as the claim asks or whoever
                       // approves changes (engine_options.may_send) says
    RECEIPT_WAITING,   // due, queued or in flight; or backing off, when attempts > 0
    RECEIPT_SETTLED,   // stands as wanted (SET), is gone (REMOVE), is kept (KEEP), was read (LOOK)
    RECEIPT_LOST,      // another claim holds the name
};

// KEEP: what stands there stays, and nothing is sent. LOOK: the same, and what stands there is
// read.
enum claim_intent { CLAIM_KEEP, CLAIM_SET, CLAIM_REMOVE, CLAIM_LOOK };

// What became of one claim of this key.
struct receipt {
    const char *registry;
    enum record_type type;
    struct text domain;
    struct text subdomain;
    enum claim_intent intent; // of the claim as it was submitted last
    enum receipt_state state;
    bool was_created; // the SET that settled it created the record set
    bool is_open;     // a change was sent, and nobody knows whether it was made
    bool was_sent;    // this process sent it; otherwise it is known from before
    // LOST: something of it may stand there, and goes when the holder's content replaces it; or is
    // being removed, as that could not stand beside it.
    bool is_in_way;
    bool is_inherited; // a REMOVE that ended because another claim of ours took the name over
    bool is_uncertain; // REMOVE: it may still be there; LOOK: the backend did not say
    // Another claim of ours at that name has something there, or may have, that this one replaces.
    bool is_heir;
    bool is_foreign; // SETTLED SET: it stands there as wanted, and somebody else made it
    uint8_t hash[FINGERPRINT_OCTETS]; // SETTLED SET
    // SETTLED LOOK: what stands there; NULL: nothing, or the backend can't tell.
    const struct record_set *found;
    int64_t settled_s;
    int64_t since_ms;        // Unix ms: when it could be sent first; 0: not known
    bool is_in_line;         // it is to be sent, and those before it in the queue succeed
    unsigned attempts;       // that failed in a row; of a claim that shares: its holder's
    bool is_recalled;        // they failed before this process began: error and trace are not known
    int64_t next_attempt_ms; // Unix ms; 0: not scheduled
    int64_t failed_ms;       // Unix ms of the last failure
    struct error error;      // of the last failure, when attempts > 0
    const char *trace;       // of the last attempt, or NULL
    struct text holder;      // LOST: "kind ns/name" of who holds it
    struct text holder_namespace;
};

// The answer to a question.
struct answer_view {
    struct content_id id; // of the question; see snapshot_answer()
    const char *backend;
    const char *name;
    const char *about;   // as JSON, borrowed from the question; NULL: nothing
    int64_t answered_ms; // Unix, also when it failed; 0: not yet
    bool is_ok;
    const struct value *value; // what the provider made of the answer; NULL: nothing
    const struct error *error; // why it failed; or NULL
};

struct snapshot {
    struct arena *arena;    // the reconciliation's
    struct text namespace_; // of the key
    struct text name;
    // NULL: gone; inputs and backends are empty then. A final state with is_lost: gone as well, but
    // with our finalizer still there.
    const struct object *subject;
    // The subject as it was when it had claims and all were settled last, if it differs now and
    // this process saw it. It shows what stands at the backend. NULL: not known.
    const struct object *previous;
    const struct input_objects *inputs;         // as declared
    const struct backend_view *const *backends; // NULL entry: no such backend. By its backend_input
    size_t backend_count;
    const char *const *backend_names; // what was wanted
    const struct receipt *receipts;
    size_t receipt_count;
    const struct answer_view
        *answers; // to the questions that the last decision named, in that order
    size_t answer_count;
    // Why the store refused finalizer and annotations, or an object of the decision, for a reason
    // that waiting does not mend, such as a missing right or an admission webhook. NULL: it did
    // not.
    const struct error *refused;
    // The whole object as the store has it, if the last decision has wants_whole; NULL also when it
    // could not be read.
    const struct value *whole;
    bool was_read;
    // The zone that this key publishes: its name (apex; NULL: there is none), the version that is
    // served now (published; NULL: none), and the servers that transfer it so far, with their group
    // (NULL: none).
    const uint8_t *apex;
    size_t apex_len;
    const struct zone *published;
    const struct zone *known; // the newest version that ever was served, also while it is withheld
    const char *server_group;
    const struct server_view *servers;
    size_t server_count;
    bool is_leading;
    // Somebody reads the status of this decision and nothing stores it: it may list more than an
    // object can hold.
    bool shows_all;
    bool runs_workloads; // where objects live, what Deployments and their like ask for is run
    const char
        *owner_id;      // the mark of what this installation writes elsewhere; NULL: not known yet
    int64_t now_ms;     // Unix
    int64_t started_ms; // Unix: when this process started or its clock leapt ahead; durations
                        // that began before count from here
    const void *settings; // the controller's own
    const char *trace;    // 32 hex digits
};
const struct receipt *snapshot_receipt(const struct snapshot *snapshot, const char *registry,
                                       enum record_type type, struct text domain,
                                       struct text subdomain);
// Tells questions apart within this process.
struct content_id question_id(const char *backend, const char *name, const struct value *about);
// NULL: the last decision did not name that question.
const struct answer_view *snapshot_answer(const struct snapshot *snapshot, const char *backend,
                                          const char *name, const struct value *about);

// ---- the decision -------------------------------------------------------------------------------

// A record set that this key claims at a backend, with what shall stand there.
struct claim_want {
    const char *backend;  // through which it goes
    const char *registry; // normalised server URL
    enum claim_intent intent;
    bool is_suspended; // compete for the name, but send nothing yet
    // REMOVE: nobody asked for it in so many words, what wanted the name is just not there any
    // more. The guard of its backend holds it back where such removals are too many at once, and a
    // controller is there that asks people (ask_approval); but not where this process has seen its
    // key want the name. The receipt is SUSPENDED meanwhile.
    bool is_guarded;
    // SETs of several keys that say so stand together while their content is the same, as all do
    // where the provider shares.
    bool shares;
    struct record_set set;
    bool has_known;                    // what stands there, as the status remembers
    uint8_t known[FINGERPRINT_OCTETS]; // the last 8 are 0: only the others are remembered
    bool may_stand;       // written ahead: something of ours may stand there, nobody knows what
    bool may_adopt;       // what stands there without a mark may be ours, from a predecessor
    int64_t look_since_s; // LOOK: an answer from before that time (Unix) counts no more
    bool is_shown;        // LOOK: a plan shows what is found, so a dry run asks for it, too
    const char *replaces; // SET: what it is known to replace that is not ours, for people; or NULL
    uint64_t epoch;       // a changed one clears back-off and sends at once (user edits, retry)
    // What the status remembers of a failure before this process: attempts go on from there, and
    // the next one waits until then. 0: nothing.
    unsigned attempts;
    int64_t not_before_ms; // Unix ms
};

// A backend that this key keeps open. Of two keys that want one of the same name the later has it.
struct backend_want {
    const char *name;
    const char *provider;
    const char *registry;
    const struct value *config; // the provider's keys
    struct secret *secret;      // the decision holds the reference
    unsigned max_in_flight;
    int64_t retry_base_ms;
    int64_t retry_max_ms;
    unsigned retry_attempts; // then every retry_slow_ms
    int64_t retry_slow_ms;
    int64_t linger_ms;         // REMOVEs may go on so long after the owner went or became unusable
    uint64_t basis;            // a hash of settings and secret, the same after a restart
    bool was_well;             // by the status, the last health answer was good
    const struct value *known; // by the status, what exchanges learned of the backend; or NULL
    int64_t learn_ms;          // records wait at most so long for the first health answer
    // At most this part of our record sets there is removed only because no object wants them any
    // more (dns/guard.h). 0: the guard's own limit; 100: all of them.
    unsigned guard_percent;
    struct error fault; // not NONE: why the backend can't be used for SETs
};

// Removals that the guard of a backend holds back (dns/guard.h): of record sets of ours there that
// nothing claims any more.
struct guarded_removals {
    const char *backend;
    const char *checksum;          // dns/plan_sum.h, of the backend's name
    const struct record_set *sets; // by name, then by type
    size_t count;
};
// A person has approved the guarded removals that have exactly this checksum.
struct approval {
    const char *backend;
    const char *checksum;
};

// An exchange that claims no record. All keys that name the same backend, name and `about` share
// one answer: each has it in its snapshots, and is woken when it changes.
struct question {
    const char *backend;       // of this key or of another; it need not be open yet
    const char *name;          // "health", or one of the provider's `questions`
    const struct value *about; // as the provider defines it; NULL: nothing
    // The question is asked again when its answer is older than this; of all keys that share it the
    // shortest time counts. After a failure it may be asked earlier. 0: this key never asks, and
    // sees the answer that others get.
    int64_t good_for_ms;
    uint64_t epoch; // another value than before asks at once
};

// A zone that this key wants served to other name servers.
enum publish {
    PUBLISH_NOTHING,     // there is no zone
    PUBLISH_UNAVAILABLE, // there is one, without a valid version yet
    PUBLISH_KEEP,        // what was published stays as it is, also if that is nothing
    PUBLISH_ZONE,
};
struct publication {
    enum publish what;
    const uint8_t *apex; // in wire format
    size_t apex_len;
    const char *group;       // of servers; NULL: none, or with PUBLISH_KEEP the one it had
    bool was_served;         // its servers had it before this process began
    bool is_frozen;          // PUBLISH_KEEP: what stays is not what is wanted
    const struct zone *zone; // PUBLISH_ZONE; the engine takes a reference of its own
    // To be published when the store has the status of this decision; or NULL. Borrowed for the
    // reconciliation.
    const struct zone *next;
};

struct decision_event { // an Event
    bool is_warning;
    const char *reason;
    const char *text;
    // Whom it concerns, such as the Namespace that takes the subject along: in one that is being
    // deleted no Event can be made. NULL: the subject.
    const struct object *regarding;
};
struct decision_line { // a log line; when it is written, see decision.events
    enum log_level level;
    const char *message;
    const struct log_attr *attrs; // ends with LOG_END; or NULL
};

// An object that this key makes, changes or removes in the store (store_write_object). Those that
// are as they shall be are not named. Fields that others wrote stay in each.
//
// Of a kind that the controller reads (its own, or that of an input) `seen` says what is there, and
// the next snapshots show what became of it. A field that an earlier decision gave and that shall
// go stands in `tree` as null; one that `tree` does not name stays.
//
// An object of another kind is wanted until the status, which is written behind it, remembers that
// it was made. Fields that an earlier decision gave and that `tree` does not name go. No decision
// removes such an object: it goes with the owner that its ownerReferences name.
struct object_want {
    struct object_ref_key key;
    const struct value *tree;  // all that is ours in it: metadata and content; NULL: `seen` goes
    const struct object *seen; // as read; NULL: it is not there, or its kind is not read
    // Of a kind that is not read:
    const struct value *kept; // names of `data` that stay as they stand there; list, or NULL
    const struct metadata_change *grant; // the annotation by which somebody hands it over; or NULL
    // Reported when the write is done; or NULL.
    const struct decision_event *event; // of the subject
    const struct decision_line *line;
};

enum finalizer_want { FINALIZER_LEAVE, FINALIZER_ADD, FINALIZER_REMOVE };

struct decision_metadata_change { // a label or an annotation
    const char *key;
    const char *value; // NULL removes
    bool is_label;
};

// What a decision says of a metric of its controller (METRIC_GAUGE, METRIC_COUNT, METRIC_SECONDS).
struct decision_sample {
    const struct controller_metric *metric;
    const char *label; // value of its label, a static text; NULL: it has none
    int64_t value;     // of a COUNT: how much is added to it; of SECONDS: how long it took
    uint64_t times;    // of SECONDS: how often, where the value is of all of them; 0: once
};

enum {
    DECISION_METADATA_CHANGES_MAX = 4,
    DECISION_EVENTS_MAX = 8,
    DECISION_SAMPLES_MAX = 16,
};

// Zeroed by the engine before decide(). Everything points into the snapshot's arena.
struct decision {
    // Write-ahead: finalizer, labels and annotations in one guarded write, before anything else.
    enum finalizer_want finalizer;
    struct decision_metadata_change metadata_changes[DECISION_METADATA_CHANGES_MAX];
    size_t metadata_change_count;
    // All claims of this key. A claim that is not named any more is forgotten.
    struct claim_want *claims; // see decision_add_claim()
    size_t claim_count;
    size_t claim_capacity;
    struct backend_want *backends; // see decision_add_backend()
    size_t backend_count;
    size_t backend_capacity;
    struct question *questions; // see decision_add_question()
    size_t question_count;
    size_t question_capacity;
    const struct approval *approval;
    struct publication publication;
    bool wants_whole; // the next reconciliation begins with the whole object, read from the store
    // All objects that are to be made, changed or removed.
    struct object_want *objects; // see decision_add_object()
    size_t object_count;
    size_t object_capacity;
    const struct value *status; // NULL: leave it. All our fields, null where one is to go
    // Events and log lines are written when the write of this decision has succeeded, or at once
    // when nothing is to be written. Of decisions without a status, which would remember them, the
    // same ones are not written twice in a row; so it is with counts, see `samples`.
    struct decision_event events[DECISION_EVENTS_MAX];
    size_t event_count;
    struct decision_line lines[DECISION_EVENTS_MAX];
    size_t line_count;
    // Why the subject can't be as it asks, where its condition Ready does not say all of that.
    // reason NULL: it can.
    struct decision_obstacle {
        const char *reason;
        const char *text;
    } obstacle;
    int64_t wake_ms;    // Unix ms, see decision_wake_at(); 0: only when something changes
    struct error fault; // for metrics and the key's result; claims retry by themselves
    // Metrics: the class and the reason under which this key counts; NULL: it does not. They may
    // live as long as the arena.
    const char *class_label;
    const char *reason_label;
    // Gauges show what the last decision of a key says. Counts, and a change that has arrived
    // everywhere, are counted when the write of this decision has succeeded, as its events are.
    struct decision_sample samples[DECISION_SAMPLES_MAX]; // see decision_add_sample()
    size_t sample_count;
    int64_t programmed_ms; // how long after it was read the change arrived everywhere; 0: none did
};
// Zeroed, in the arena of the reconciliation; good until the next one is added.
struct claim_want *decision_add_claim(struct decision *decision, struct arena *arena);
struct backend_want *decision_add_backend(struct decision *decision, struct arena *arena);
struct question *decision_add_question(struct decision *decision, struct arena *arena);
struct object_want *decision_add_object(struct decision *decision, struct arena *arena);
void decision_add_event(struct decision *decision, bool is_warning, const char *reason,
                        const char *text);
void decision_add_sample(struct decision *decision, const struct controller_metric *metric,
                         const char *label, int64_t value);
// Gives up the secrets that it holds. All else can be read until the arena is reset.
void decision_done(struct decision *decision);
// The subject is reconciled again then, whatever happens. The earliest of several times counts.
void decision_wake_at(struct decision *decision, int64_t unix_ms);

// A setting of a controller: a flag of `signpost run` (and its environment variable and file key).
// Two controllers that name the same one share it. The value lands at `offset` of the settings
// struct.
enum setting_type {
    SETTING_MS,      // int64_t
    SETTING_INT,     // int64_t
    SETTING_FLAG,    // bool
    SETTING_CHOICE,  // const char *
    SETTING_LIST,    // const char *const *, NULL-terminated
    SETTING_TEXT,    // const char *; NULL: it was not given
    SETTING_ADDRESS, // const char *, "ADDR:PORT" or ":PORT"; NULL: it was not given, or is "0"
    SETTING_FILE, // struct setting_file: the content, read when the command begins; at most 1 MiB
};
struct setting_file {
    const char *path; // NULL: it was not given
    struct text content;
};
struct controller_setting {
    const char *name;     // "orphan-after"
    const char *variable; // environment variable beside SIGNPOST_<NAME>, or NULL
    enum setting_type type;
    const char *fallback; // "10m"
    int64_t min;
    int64_t max;                // 0: none
    const char *not_below;      // name of another one, of the same type, or NULL
    const char *const *choices; // CHOICE, NULL-terminated
    const char *placeholder;    // what help shows for the value; NULL: a word for the type
    // Of a LIST, or of the one TEXT, CHOICE, ADDRESS or content of a FILE. NULL-terminated. May be
    // NULL.
    bool (*check)(const char *const *items, struct error *err);
    const char *doc;
    size_t offset;
};

// A family of metrics over the keys of a controller, by the labels of their last decisions. None
// has a sample for each object, except METRIC_IS, whose keys are classes themselves. GAUGE, COUNT
// and SECONDS are for controllers with few keys; only the process that leads shows gauges, as a
// standby asks no questions.
enum controller_metric_type {
    METRIC_KEYS,    // gauge by class and reason: how many keys
    METRIC_RETRIES, // counter by class and reason: changes that were sent again after a failure
    METRIC_IS,      // gauge by class: 1 where the reason is `reason`, else 0
    METRIC_GAUGE, // gauge by `label`: what decisions say of it (decision_add_sample), over all keys
    METRIC_COUNT, // counter by `label` of what decisions say of it
    METRIC_SECONDS, // summary by `label`: how long all took together, and how many there were
};
// Does it add up what decisions say (COUNT, SECONDS)?
bool metric_adds_up(enum controller_metric_type type);
struct controller_metric {
    const char *name; // "signpost_dnsrecords"
    enum controller_metric_type type;
    const char *reason; // IS; of KEYS those of keys that are as they should be: "A|B"
    const char *label;  // GAUGE, COUNT, SECONDS: name of their label; NULL: they have none
    const char *title;  // of its panel in a dashboard: "Records"
    const char *help;
};

// An alert of Prometheus's, as `signpost manifests --alerts` prints it.
enum controller_alert_type {
    ALERT_ABOVE_0, // the gauge is, at one process at least
    ALERT_RISES,   // the counter did within ALERT_WINDOW
    ALERT_WHEN,    // `expression` says when
};
#define ALERT_WINDOW "15m"
struct controller_alert {
    const char *name; // "SignpostCorefileNotConverged"
    enum controller_alert_type type;
    const struct controller_metric *metric; // one of the controller's; or NULL
    const char *foreign_metric;             // else one of the program that it looks after
    const char *expression;                 // of ALERT_WHEN, in PromQL
    const char *label;                      // the samples with this value of the metric's label;
                                            // NULL: all
    const char *lasting;                    // "10m": for how long before it fires; NULL: at once
    const char *severity;                   // "warning", "critical"
    const char *summary;                    // one sentence
    const char *description;                // what to look at, and what to do
};

// The log lines of changes that this controller's claims make at a backend; each with `object`
// ("ns/name"), `name` (the owner name) and `backend`.
struct change_messages {
    const char *started; // a reconciliation began: at level DEBUG, with `object` alone; or NULL
    const char *created; // messages
    const char *updated;
    const char *deleted;
    const char *failed;  // at level ERROR, with "operation" and "error"
    const char *object;  // keys of the attributes: "ingress"
    const char *name;    // "host"
    const char *address; // of A and AAAA, values joined by commas: "ip"
    const char *target;  // of the others: "target"
    const char *before;  // of an update: prefix of the same as it was, "old_"
    const char *after;   // and as it is now, "new_"
    const char *backend; // "pihole"
    const char *prefix;  // of backend names, left out there: "pihole-"
};

// When a controller runs, and with which others. Without any, it runs where --controllers names it.
enum dependency_type {
    DEPENDS_END,       // ends a table
    RUNS_BY_DEFAULT,   // It runs unless --controllers says otherwise.
    RUNS_WITH_OPTION,  // It runs beside those of --controllers as soon as `option` is given.
    BRINGS_CONTROLLER, // `controller`, of another kind, runs with it under its name; if `option` is
                       // given: while that setting, a flag, is on.
    // Reuses the settings and the backends of `controller`, and runs after it; where its kind is
    // missing or may not be read, the process goes on without it. No record is removed for want of
    // an object before all controllers that share backends have read their objects.
    REUSES_BACKENDS,
};
struct dependency {
    enum dependency_type type;
    const char *option;
    const struct controller *controller;
};

// How a process uses the backends that stand in the settings of a controller.
struct backend_access {
    bool is_read_probe; // they are only read, while another process writes them
    bool is_left_alone; // not even that: no backend is opened
    // What tells this process from others with the same owner id, so that the provider notices two
    // backends that are one server; NULL: it need not.
    const char *process;
};

// Whom the pods of a workload act as that a controller makes, and what they may do in the whole
// cluster. Nobody can give rights that he does not have, so people give them: `signpost manifests`
// prints them.
struct workload_account {
    const char *role; // the name of the ClusterRole, and of its binding: "signpost-coredns"
    const struct kube_right *rights;
    // Finds the ServiceAccount. False: with those settings there is no such workload.
    bool (*find)(const void *settings, const char **namespace_, const char **name);
};

struct controller {
    const char *name;
    const struct kind *kind; // keys are objects of this kind
    const char *finalizer;   // or NULL
    const struct input *inputs;
    size_t input_count;
    const struct backend_input *backends; // or NULL
    // Backends that stand in its settings instead of being wanted by a key: fills in the one of
    // number `at`, from 0, and the question that is asked there (its `backend` does not count).
    // False: there are no more. May be NULL; otherwise the settings begin with a struct
    // backend_access, and a backend is named after its provider ("pihole-upstairs").
    bool (*open)(const void *settings, size_t at, struct arena *arena, struct backend_want *want,
                 struct question *question);
    // Describes removals that a guard holds back as an object of this kind, by which a person can
    // approve them. `there` is the object of that name, or NULL: then `out` makes it. Otherwise
    // false means that it can stay, and true that `out` removes it, so that the next call makes it
    // anew. May be NULL. A controller that has this runs wherever a controller opens backends;
    // where its kind is missing or may not be read, the process goes on without it.
    bool (*ask_approval)(const struct guarded_removals *hold, const struct object *there,
                         struct arena *arena, struct object_want *out);
    const struct change_messages *messages;  // or NULL: changes make no lines of their own
    const struct shared_model *shared_model; // those that name the same one share it; or NULL
    const struct dependency *dependencies;   // or NULL
    bool keeps_ledgers;                      // its backends may be of providers that have a ledger
    // Its keys are reconciled before those of others, also while many writes wait.
    bool is_urgent;
    // Our own writes to its objects wake the key, too: another replica may have made them.
    bool reads_own_writes;
    // A key whose object went away gets reconciliations (subject NULL) until its decision has
    // neither claims nor backends. Nothing of this outlives the process: who must remove for
    // certain has a finalizer. `model` is the state of the shared model, or NULL.
    void (*decide)(const struct snapshot *snapshot, void *model, struct decision *out);
    // Adds what the conditions of an object would say about the object alone, as errors and
    // warnings for an admission review. The object has passed the checks of its kind. May be NULL.
    void (*admit)(const struct value *object, struct findings *findings);
    // Reasons of conditions that are about other objects (a class that is missing) rather than the
    // subject: an admission review only warns of these. NULL-terminated, or NULL.
    const char *const *outward_reasons;
    // The rights that it needs at an API server, to watch what it reads and to write what its
    // decisions want.
    const struct kube_right *rights;
    const struct workload_account *workload_account; // or NULL
    const struct controller_setting *settings;
    size_t setting_count;
    size_t settings_size; // of the struct that snapshot.settings points to
    const struct controller_metric *metrics;
    size_t metric_count;
    const struct controller_alert *alerts;
    size_t alert_count;
};

// The first of that type, or the next one behind `last`. NULL: there is none.
const struct dependency *dependency_next(const struct controller *controller,
                                         enum dependency_type type, const struct dependency *last);
// Whose settings and backends it has: its own, or those that it reuses.
const struct controller *controller_backends_of(const struct controller *controller);
bool controller_brings(const struct controller *controller, const struct controller *other);

// True if it reads objects of that kind, as its keys or by an input.
bool controller_reads(const struct controller *controller, const struct kind *kind);

// The same, but for inputs that are optional.
bool controller_needs(const struct controller *controller, const struct kind *kind);

// Describes how a store has to watch a kind for those controllers: its selectors, and whether by
// name.
void controllers_describe(const struct controller *const *items, size_t count,
                          struct store_kind *kind);

extern const struct controller *const controllers[];
extern const size_t controller_count;
const struct controller *controller_find(const char *name);
