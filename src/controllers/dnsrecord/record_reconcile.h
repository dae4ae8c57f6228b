#pragma once

#include "controllers/dnsrecord/dnsrecord_controller.h"
#include "kinds/dnsclass/dnsclass.h"
#include "kinds/dnsrecord/dnsrecord.h"

// Inside this folder: one reconciliation of one record. Its files fill a list of keys (record sets
// that may exist at a server, by server, type, domain and subdomain), each with what it shall come
// to, and say what the status tells. record_reconcile_close() turns that into the decision.
//
// Everything is decided from the snapshot alone. What must be known later stands in the annotation
// `claims` before it is needed: a key is sent only when it stands there (is_stored), and leaves the
// annotation only after it was dealt with. The engine decides again when the claims of a decision
// change the receipts, so a receipt that still speaks of an earlier wanted content does no harm.

// What became of a key with its record's deletion; the last speaks for all.
enum record_fate {
    FATE_OPEN,
    FATE_DELETED,
    FATE_TAKEN, // another record has it now
    FATE_KEPT,  // stays at the server as wanted
    FATE_LEFT,  // given up: may still exist at the server
};

struct record_key {
    struct dnsrecord_claim claim; // as it shall stand in the annotation
    // What people know it by, where nothing can be sent for it: nobody knows its server, or its
    // name or type is none. Such a key is never claimed nor stored. Else NULL.
    const char *label;
    bool is_stored;       // stands there now, whatever its class, was and refused
    bool is_leaving;      // shall not stand there any more
    bool is_claimed;      // competes for its name in the registry
    bool is_suspended;    // but must not be sent
    int64_t look_since_s; // LOOK: what was found before that time (Unix) counts no more
    enum claim_intent intent;
    const struct record_set *content; // of a SET
    const struct receipt *receipt;    // or NULL
    const struct dnsrecord_applied *applied;
    enum record_fate fate;
};

// What the status says. NONE: it is left as it is.
struct record_reported {
    enum reason reason;
    enum condition_status ready;
    enum dnsrecord_state state;
    const char *message;
    const char *code;              // error code; NULL: no error
    const struct receipt *attempt; // whose failure it is, or NULL
    bool is_created;               // first success of the key
    bool is_updated;               // other content than before
};

enum { RECORD_KEYS_MAX = DNSRECORD_CLAIMS_MAX + 2 };

struct record_reconcile {
    const struct snapshot *snapshot;
    struct arena *arena;
    struct dnsrecord_settings settings;
    const struct object *object;
    struct dnsrecord record;
    struct dnsrecord_managed ours;
    struct decision *out;

    // The class of the spec; `class_faults` says why it can't be used, or is NULL.
    const struct object *class_object;
    struct dnsclass dnsclass;
    const char *class_faults;
    struct text server;
    const struct backend_view *backend;

    // What the spec comes to.
    bool is_valid;
    const char *faults;
    struct record_set set;
    struct text fqdn; // absent when it has none
    bool is_rebuilt;  // the annotation was unreadable

    struct record_key keys[RECORD_KEYS_MAX];
    size_t key_count;
    struct record_key *wanted; // the key of the spec, when it competes
    struct record_reported told;
    const char *left; // keys that the deletion leaves at a server, or NULL
};

// ---- dnsrecord.c --------------------------------------------------------------------------------

const char *record_text(const struct record_reconcile *reconcile,
                        struct text text); // terminated copy
const struct object *record_find_class(const struct record_reconcile *reconcile, struct text name);
const struct backend_view *record_find_backend(const struct record_reconcile *reconcile,
                                               struct text class_name);
// Server of a class as it is now; absent when there is no such class or its URL is none.
struct text record_class_server(const struct record_reconcile *reconcile, struct text class_name);
struct record_key *record_find_key(struct record_reconcile *reconcile,
                                   const struct dnsrecord_claim *claim);
// The claim of the spec: of a valid record whose class has a server.
struct dnsrecord_claim record_claim_of_spec(const struct record_reconcile *reconcile);
struct record_key *record_add_key(struct record_reconcile *reconcile,
                                  const struct dnsrecord_claim *claim);
// In deletion, or deleted already although our finalizer stood: the server lost it.
bool record_is_going(const struct record_reconcile *reconcile);
bool record_may_send(const struct record_reconcile *reconcile, const struct record_key *key);
bool record_is_settled(const struct record_key *key); // as its intent has it, at the fixpoint
bool record_is_lost(const struct record_key *key);
// What it has there keeps the holder's content out, or may: it is removed, and until then it is
// ours.
bool record_is_in_way(const struct record_key *key);
// Its class has another server now: what is at the old one is not ours to delete.
bool record_has_moved(const struct record_reconcile *reconcile, const struct record_key *key);
// Its last attempt failed, in this process; or before it, and the status tells so already.
bool record_has_failed(const struct record_key *key);
bool record_is_recalled(const struct record_key *key);
// What an attempt stands on: the object, its class and the Secret.
void record_attempt_hash(const struct record_reconcile *reconcile, uint8_t out[8]);
// "www.example.com A", "www.example.com A at http://..."
const char *record_key_name(const struct record_reconcile *reconcile,
                            const struct dnsrecord_claim *claim);
const char *record_key_place(const struct record_reconcile *reconcile,
                             const struct record_key *key);
// Until when a deletion waits for class and Secret; Unix ms.
int64_t record_orphan_ms(const struct record_reconcile *reconcile);
void record_wake_at(struct record_reconcile *reconcile, int64_t unix_ms);

// ---- record_live.c, record_gone.c ---------------------------------------------------------------

void record_live(struct record_reconcile *reconcile);
void record_gone(struct record_reconcile *reconcile);
// Can't both stand at one server at the same time? Servers ignore a CNAME beside other data, and
// by-name servers hold one record under all splits of a name.
bool record_excludes(const struct record_reconcile *reconcile, const struct record_key *old,
                     const struct record_key *wanted);

// ---- record_found.c -----------------------------------------------------------------------------

// The status says so once the server has been waited for too long; until then the reconciliation
// comes again.
void record_report_waiting(struct record_reconcile *reconcile, const struct record_key *key);
// What stood at an old key before a change that deletes it first: for certain, or as certain as it
// will get. False until the server has answered.
bool record_learn_was(struct record_reconcile *reconcile, struct record_key *old);
// False: what stands there keeps us from our first write, or is still to be read. A key is written
// ahead only after that: what is not ours is not ours to delete either.
bool record_is_clear_to_write(struct record_reconcile *reconcile, struct record_key *wanted);

// ---- record_stand_in.c --------------------------------------------------------------------------

// The server refused the change itself, and would again.
bool record_is_refusal(const struct receipt *receipt);
// Marks the refusal in the annotation, which turns the change around where the old data is known;
// the status follows when that is done.
void record_report_refusal(struct record_reconcile *reconcile, struct record_key *wanted);
// The old key whose data stands in, as this very spec was refused before; NULL: none.
struct record_key *record_find_stand_in(struct record_reconcile *reconcile,
                                        const struct record_key *wanted);
void record_stand_in(struct record_reconcile *reconcile, struct record_key *old,
                     struct record_key *wanted);

// ---- record_report.c ----------------------------------------------------------------------------

void record_report(struct record_reconcile *reconcile, enum reason reason, const char *message);
void record_report_failure(struct record_reconcile *reconcile, const struct receipt *receipt,
                           const char *prefix);
void record_report_success(struct record_reconcile *reconcile, const struct record_key *key);
// An event about a key: "www.example.com A at http://... <what>".
void record_note_key(struct record_reconcile *reconcile, const struct record_key *key,
                     bool is_warning, const char *reason, const char *what);
void record_report_line(struct record_reconcile *reconcile, enum log_level level,
                        const char *message);
// Status, notes and lines from what was told.
void record_report_decision(struct record_reconcile *reconcile);
