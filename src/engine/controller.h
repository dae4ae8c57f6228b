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
#include "store/event.h"
#include "store/object.h"

// What a controller is to the engine. It declares, as data, what it gathers; the engine fills an
// immutable snapshot from that and derives wake-ups from the same declarations in reverse. decide()
// turns a snapshot into a verdict: pure, no I/O, no clock; the same snapshot gives the same octets.
// A new controller is a folder with <name>.c, <name>.md, test_<name>.c and one word in the list of
// src/controllers/meson.build.

// ---- gathers ------------------------------------------------------------------------------------

// A list of strings that an object offers or wants, collected by an index function.
struct strings {
    struct arena *arena;
    const char **items;
    size_t count;
    size_t capacity;
};
void strings_add(struct strings *strings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// A join: the objects of `kind` whose `offers` meet what the subject `wants`. offers NULL: by
// identity ("ns/name", "name"). A prefix or suffix search is a join over all prefixes or suffixes.

struct gather {
    const struct kind *kind;
    void (*offers)(const struct object *object, struct strings *out);
    void (*wants)(const struct object *subject, struct strings *out);
    bool reads_ours; // what we wrote ourselves in those objects wakes, too
};
// Lanes by name, the same way. Who opens lanes by its settings has no need of it: it sees those,
// and wakes when one changes for which its claims wait.
struct lane_gather {
    void (*wants)(const struct object *subject, struct strings *out);
};

struct gathered {
    const struct object *const *objects; // in age order
    size_t count;
    bool is_synced; // false: absence proves nothing
    // Why one that is wanted by identity, or the whole kind, cannot be read, for users; or NULL.
    const char *unreadable;
};

// ---- overviews ----------------------------------------------------------------------------------

// What one of the servers that follow us said last of a zone.
struct server_view {
    const char *name;
    bool is_probed; // it is asked which serial it answers
    bool signs;     // that serial is its own
    bool has_serial;
    uint32_t serial;  // that it answered
    bool is_believed; // nobody else can have said so: signed, or over TCP
    bool has_fetched;
    uint32_t fetched; // of the last transfer that it completed
    bool is_stuck;    // long after that it answers an older one: it could not load what it fetched
    bool is_recalled; // before this process, as the store tells: there may have been a later one
    struct error fault; // of the last talk, or NONE
};

struct zone;

// What settling tells.
struct overview_calls {
    void (*wake)(void *context, const struct object *object); // its outcome may be another
    // A change has arrived everywhere, so long after it was seen.
    void (*programmed)(void *context, const struct object *object, int64_t took_ms);
    void *context;
};

// What an object comes to may depend on many others at once: which of several zones with one name
// is live, which record of many wins. An overview is told of all objects of some kinds, as they
// come, change and go, and says whose outcome may be another; those keys get turns. decide() gets
// it with each snapshot. The engine may drop it at any time, and a new one that is given all
// objects says the same.
struct overview {
    const struct kind *const *kinds; // NULL-terminated
    void *(*make)(const void *settings);
    void (*free)(void *state);
    // A state of an object; an earlier one is replaced. `object` lives until it is replaced too.
    void (*put)(void *state, const struct object *object);
    void (*remove)(void *state, const struct object *object);
    // A version that the key of this object wanted published is served now.
    void (*published)(void *state, const struct object *object, const struct zone *zone);
    // What the servers that follow that key's zone say, and of which group they are; at each
    // change. May be NULL, as may `published`.
    void (*heard)(void *state, const struct object *object, const char *group,
                  const struct server_view *servers, size_t count);
    // Works out all that came. Returns when time alone will change something (Unix ms), or 0.
    int64_t (*settle)(void *state, int64_t now_ms, const struct overview_calls *calls);
    // Prometheus text of what only it knows, appended; or NULL.
    void (*write_metrics)(const void *state, struct buffer *out);
    const char *seconds_metric; // family of how long settling takes
    const char *seconds_help;
};

// ---- the snapshot -------------------------------------------------------------------------------

// A lane as others see it.
struct lane_view {
    const char *name;           // "class-home"
    bool is_open;               // can talk
    bool is_lingering;          // its owner is gone or unusable; REMOVEs go on for a while
    const char *book;           // normalised server URL
    struct error fault;         // why SETs can't go (fault NONE: they can)
    struct error trouble;       // why the backend can't be worked with now, or NONE
    int64_t stalled_ms;         // mono: it can't since then, too short to say why; 0: it can
    const struct value *answer; // the last health answer's map, or NULL
    int64_t answered_s;         // Unix; 0: never
    bool is_answer_ok;
    struct error answer_error;   // when it failed
    const struct secret *secret; // what it signs with; or NULL. Only for comparing
    uint64_t basis;              // as its owner gave it
    const struct value *known;   // what talks learned of the backend, in this process or before it
    const char *note;            // from the last talk, e.g. "server still uses the previous secret"
    bool is_learning;            // its first health answer is waited for
    bool is_listed;              // of a backend that lists: what stands there is known
    const char *held;            // checksum of the removals that the guard holds back; NULL: none
};

enum receipt_state {
    RECEIPT_NONE,    // not known to the book yet
    RECEIPT_HELD,    // competes and wins, not sent as asked
    RECEIPT_WAITING, // due, queued, or in flight; or backing off when attempts > 0
    RECEIPT_SETTLED, // stands as wanted (SET), is gone (REMOVE), is kept (KEEP), was read (LOOK)
    RECEIPT_LOST,    // another holds the name
};

// LOOK: kept as with KEEP, and what stands there is read.
enum claim_intent { CLAIM_KEEP, CLAIM_SET, CLAIM_REMOVE, CLAIM_LOOK };

// What became of one claim of this key.
struct receipt {
    const char *book;
    enum record_type type;
    struct text domain;
    struct text subdomain;
    enum claim_intent intent; // of the claim as it was submitted last
    enum receipt_state state;
    bool was_created; // the SET that settled it made it
    bool is_open;     // a change was sent, and nobody knows whether it was made
    bool was_sent;    // this process sent it (else: known from before)
    bool is_in_way;   // LOST: what stands there keeps the holder's content out and is being removed
    bool is_inherited; // a REMOVE that ended because a successor took the key over
    bool is_uncertain; // REMOVE: it may not be gone; LOOK: the backend did not tell
    // Another claim of ours at that name has something there, or may, that this one will replace.
    bool is_heir;
    bool is_foreign; // SETTLED SET: it stands there as wanted, made by somebody else
    uint8_t hash[FINGERPRINT_OCTETS]; // SETTLED SET
    // SETTLED LOOK: what stands there; NULL: nothing, or the backend can't tell.
    const struct record_set *found;
    int64_t settled_s;
    int64_t since_ms;        // Unix ms: when it could be sent first; 0: not known
    bool is_in_line;         // it is to be sent, and those before it get through
    unsigned attempts;       // failed ones in a row; of one that shares: its holder's
    bool is_recalled;        // they failed before this process began: without error and trace
    int64_t next_attempt_ms; // Unix ms; 0: not scheduled
    int64_t failed_ms;       // Unix ms of the last failure
    struct error error;      // of the last failure, when attempts > 0
    const char *trace;       // of the last attempt, or NULL
    struct text holder;      // LOST: "kind ns/name" of who holds it
    struct text holder_namespace;
};

struct snapshot {
    struct arena *arena;    // the turn's
    struct text namespace_; // of the key
    struct text name;
    // NULL: gone; gathers and lanes are empty then. A final state with is_lost: gone as well, but
    // with our finalizer still there.
    const struct object *subject;
    // The subject as it was when all its claims were settled last, if it differs now and this
    // process saw it: says what stands at the backend. NULL: not known.
    const struct object *previous;
    const struct gathered *gathers;       // as declared
    const struct lane_view *const *lanes; // NULL entry: no such lane. By lane_gather's wants
    size_t lane_count;
    const char *const *lane_names; // what was wanted
    const struct receipt *receipts;
    size_t receipt_count;
    // Why the store refused finalizer and annotations, or an object or a child, for a
    // reason that waiting does not mend: no right, or what an admission webhook says. NULL: it did
    // not.
    const struct error *refused;
    // The whole object as the store has it, when the last verdict wanted that; NULL also when it
    // could not be read.
    const struct value *whole;
    bool was_read;
    // The zone that this key publishes: its name (apex; NULL: there is none), what is served now
    // (published; NULL: nothing), and the servers that follow it so far, with their group (NULL:
    // none).
    const uint8_t *apex;
    size_t apex_len;
    const struct zone *published;
    const struct zone *known; // the newest that ever was served, be it kept back now
    const char *server_group;
    const struct server_view *servers;
    size_t server_count;
    bool is_leading;
    const char *owner_id; // whose is what we write elsewhere; NULL: not known yet
    int64_t now_ms;       // Unix
    int64_t started_ms;   // when this process started, or its clock leapt ahead: what is measured
                          // from a time before counts from here
    const void *settings; // the controller's own
    const char *trace;    // 32 hex digits
};
const struct receipt *snapshot_receipt(const struct snapshot *snapshot, const char *book,
                                       enum record_type type, struct text domain,
                                       struct text subdomain);

// ---- the verdict --------------------------------------------------------------------------------

// A record set that this key claims at a backend, with what shall stand there.
struct claim_want {
    const char *lane; // through which it goes
    const char *book; // normalised server URL
    enum claim_intent intent;
    bool is_held; // compete for the name, but send nothing yet
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

// A lane that this key keeps open.
struct lane_want {
    const char *name;
    const char *provider;
    const char *book;
    const struct value *config; // the provider's keys
    struct secret *secret;      // the verdict holds the reference
    unsigned max_in_flight;
    int64_t retry_base_ms;
    int64_t retry_max_ms;
    unsigned retry_attempts; // then every retry_slow_ms
    int64_t retry_slow_ms;
    int64_t linger_ms; // REMOVEs may go on so long after the owner went or became unusable
    uint64_t basis;    // of settings and secret: the same over a restart, another when one changes
    bool was_well;     // the last answer was good, as the status remembers
    const struct value *known; // what was learned of the backend, as the status remembers; or NULL
    int64_t learn_ms;          // records wait at most so long for the first health answer
    unsigned guard_percent;    // of what is ours there: more is not removed for want of an object
                               // alone (dns/guard.h); 0: as much as that says, 100: all of it
    struct error fault;        // not NONE: unusable for SETs, and why
};

// Removals that the guard of a lane holds back (dns/guard.h): of record sets of ours there that
// nothing claims any more.
struct lane_hold {
    const char *lane;
    const char *checksum;          // dns/plan_sum.h, of the lane's name
    const struct record_set *sets; // by name, then by type
    size_t count;
};
// These may go: somebody has approved exactly what has this checksum.
struct approval {
    const char *lane;
    const char *checksum;
};

// A talk that claims no record: asked through the key's own lane.
struct question {
    const char *name;    // "health"
    int64_t good_for_ms; // an answer younger than this is not asked again
    uint64_t epoch;      // a changed one asks at once
};

// A zone that this key has served to other servers.
enum publish {
    PUBLISH_NOTHING,     // it is not known
    PUBLISH_UNAVAILABLE, // known, without a good version yet
    PUBLISH_KEEP,        // what was published stays, be it nothing
    PUBLISH_ZONE,
};
struct publication {
    enum publish what;
    const uint8_t *apex; // in wire format
    size_t apex_len;
    const char *group;       // of servers; NULL: none, or, of what is kept, the one that had it
    bool was_served;         // its servers had it before this process began
    bool is_frozen;          // PUBLISH_KEEP: what stays is not what is wanted
    const struct zone *zone; // PUBLISH_ZONE; the engine takes a reference of its own
    const struct zone *next; // to be published once the store has the status of this verdict; or
                             // NULL. Borrowed for the turn
};

struct verdict_note { // an Event
    bool is_warning;
    const char *reason;
    const char *text;
};
struct verdict_line { // a log line, told as the notes are
    enum log_level level;
    const char *message;
    const struct log_attr *attrs; // ends with LOG_END; or NULL
};

// An object that this key has made in the store, with all that is ours in it (store_put). Wanted
// until the status, which is written behind it, remembers that it was made.
struct object_want {
    const struct kind *kind;
    struct text namespace_;
    struct text name;
    const struct value *tree;
    const struct value *kept;       // names of `data` that stay as they stand there; list, or NULL
    const struct store_mark *grant; // the annotation by which somebody hands it over; or NULL
};

// A child: an object of a kind that this key gathers, so that the next snapshots show what became
// of it (store_put_child). Those that are as they shall be are not named.
struct child_want {
    struct object_ref_key key;
    const struct value *tree;        // NULL: it goes
    const struct object *seen;       // as gathered; NULL: it is not there
    const struct verdict_line *line; // told when it is done; or NULL
};

enum finalizer_want { FINALIZER_LEAVE, FINALIZER_ADD, FINALIZER_REMOVE };

struct verdict_mark { // a label or an annotation
    const char *key;
    const char *value; // NULL removes
    bool is_label;
};

enum { VERDICT_MARKS_MAX = 4, VERDICT_NOTES_MAX = 8 };

// Zeroed by the engine before decide(). Everything points into the snapshot's arena.
struct verdict {
    // Write-ahead: finalizer, labels and annotations in one guarded write, before anything else.
    enum finalizer_want finalizer;
    struct verdict_mark marks[VERDICT_MARKS_MAX];
    size_t mark_count;
    // All claims of this key; what is not named any more is forgotten.
    struct claim_want *claims; // see verdict_add_claim()
    size_t claim_count;
    size_t claim_capacity;
    const struct lane_want *lane;
    const struct question *question;
    const struct approval *approval;
    struct publication publication;
    bool wants_whole; // the next turn begins with the whole object, read from the store
    const struct object_want *object;
    const struct child_want *children; // all that are to be made, changed or dropped
    size_t child_count;
    const struct value *status; // NULL: leave it. All our fields, null where one is to go
    // Told when the write of this verdict has succeeded; at once when nothing is to be written. Of
    // a kind without status of ours the same is not told twice in a row.
    struct verdict_note notes[VERDICT_NOTES_MAX];
    size_t note_count;
    struct verdict_line lines[VERDICT_NOTES_MAX];
    size_t line_count;
    // What keeps the subject from being as it asks, where a condition Ready does not say it, or not
    // all of it. reason NULL: nothing.
    struct verdict_obstacle {
        const char *reason;
        const char *text;
    } obstacle;
    int64_t wake_ms;    // Unix ms; 0: only when something changes
    struct error fault; // for metrics and the key's result; claims retry by themselves
    // Metrics: under which class and reason this key counts; NULL: under none. They may live as
    // long as the arena.
    const char *class_label;
    const char *reason_label;
};
// Zeroed, in the arena of the turn; good until the next one is added.
struct claim_want *verdict_add_claim(struct verdict *verdict, struct arena *arena);
void verdict_note(struct verdict *verdict, bool is_warning, enum event_reason reason,
                  const char *text);

// A setting of a controller: a flag of `signpost run` (and its environment variable and file key).
// Two controllers that name the same one share it. The value lands at `offset` of the settings
// struct: an int64_t (MS, INT), a bool (FLAG), a const char * (CHOICE), or a const char *const *
// (LIST; NULL-terminated, NULL when not given).
enum setting_type { SETTING_MS, SETTING_INT, SETTING_FLAG, SETTING_CHOICE, SETTING_LIST };
struct controller_setting {
    const char *name;     // "orphan-after"
    const char *variable; // environment variable beside SIGNPOST_<NAME>, or NULL
    enum setting_type type;
    const char *fallback; // "10m"
    int64_t min;
    int64_t max;                // 0: none
    const char *not_below;      // name of another one, of the same type, or NULL
    const char *const *choices; // CHOICE, NULL-terminated
    const char *placeholder;    // LIST
    bool (*check)(const char *const *items, struct error *err); // LIST, or NULL
    const char *doc;
    size_t offset;
};

// A family of metrics over the keys of a controller, by the labels of their last verdicts. None has
// a sample for each object, except METRIC_IS, whose keys are classes themselves.
enum controller_metric_type {
    METRIC_KEYS,    // gauge by class and reason: how many keys
    METRIC_RETRIES, // counter by class and reason: changes that were sent again after a failure
    METRIC_IS,      // gauge by class: 1 where the reason is `reason`, else 0
};
struct controller_metric {
    const char *name; // "signpost_dnsrecords"
    enum controller_metric_type type;
    const char *reason; // METRIC_IS
    const char *help;
};

// The log lines of changes that this controller's claims make at a backend; each with `object`
// ("ns/name"), `name` (the owner name) and `lane`.
struct change_words {
    const char *started; // a turn began: at level DEBUG, with `object` alone; or NULL
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
    const char *lane;    // "pihole"
    const char *prefix;  // of lane names, left out there: "pihole-"
};

struct controller {
    const char *name;
    const struct kind *kind; // keys are objects of this kind
    const char *finalizer;   // or NULL
    const struct gather *gathers;
    size_t gather_count;
    const struct lane_gather *lanes; // or NULL
    // Lanes that stand in its settings instead of being wanted by a key: of number `at`, from 0,
    // and what is asked there. False: there are no more. May be NULL.
    bool (*open)(const void *settings, size_t at, struct arena *arena, struct lane_want *want,
                 struct question *question);
    // What a guard holds back, as an object of this kind that asks people for their approval: to
    // be made by the engine if it is not there. `there`: the one of that name. False: nothing is to
    // be done about that one; else `out` drops it, and the next call makes it anew. May be NULL.
    bool (*hold)(const struct lane_hold *hold, const struct object *there, struct arena *arena,
                 struct child_want *out);
    // One whose settings and opened lanes are its own, too: it comes behind that one among those
    // that run, who does without where its kind is missing or may not be read. Nothing is removed
    // for want of an object before all who share them have heard of theirs. Or NULL.
    const struct controller *shares;
    const struct change_words *words; // or NULL: changes make no lines of their own
    const struct overview *overview;  // or NULL
    // It accompanies another, and runs only while this setting of that one, a FLAG, is on; or NULL.
    const char *switched_by;
    // Controllers of other kinds that run with it, under its name in --controllers;
    // NULL-terminated, or NULL. Those that name the same overview share it.
    const struct controller *const *companions;
    bool keeps_ledgers; // its lanes may be of providers that have one
    // It serves those that open lanes: it runs where one of them does, and they do without where
    // its kind is missing or may not be read.
    bool is_attendant;
    bool is_default; // runs unless --controllers says otherwise
    // Options of which any makes it run beside the others as soon as it is given; NULL-terminated,
    // or NULL.
    const char *const *joins_with;
    bool is_urgent;  // its keys have their turns before those of others, however many writes wait
    bool reads_ours; // what we wrote ourselves wakes, too: somebody else in our place may have
    // A key whose object went away gets turns (subject NULL) until its verdict has neither claims
    // nor a lane. Nothing of this outlives the process: who must remove for certain has a
    // finalizer.
    // `model` is the state of the overview, or NULL.
    void (*decide)(const struct snapshot *snapshot, void *model, struct verdict *out);
    // What the conditions of an object would say of it by itself, beyond the checks of its kind,
    // which it has passed: errors and warnings for an admission review. May be NULL.
    void (*admit)(const struct value *object, struct findings *findings);
    // Reasons of conditions that speak of other objects (a class that is missing), not of the
    // subject itself: of these an admission review warns. NULL-terminated, or NULL.
    const char *const *outward_reasons;
    // What it takes at an API server: to watch what it gathers, to write what its verdicts want.
    const struct kube_right *rights;
    const struct controller_setting *settings;
    size_t setting_count;
    size_t settings_size; // of the struct that snapshot.settings points to
    const struct controller_metric *metrics;
    size_t metric_count;
};

extern const struct controller *const controllers[];
extern const size_t controller_count;
const struct controller *controller_find(const char *name);
