#pragma once

#include "controllers/dnsrecord/dnsrecord_controller.h"
#include "kinds/dnsclass/dnsclass.h"
#include "kinds/dnsrecord/dnsrecord.h"

// Inside this folder: one reconciliation of one DNSRecord. Its files fill a list of keys (record
// sets that may exist at a server, by server, type, domain and subdomain), each with what is wanted
// of it, and choose what the status says. reconcile_close() in dnsrecord.c makes the decision from
// that.
//
// Everything is decided from the snapshot alone. What must be known later is written into the
// annotation `claims` before it is needed: a key is sent only when it is there (is_stored), and is
// taken out of the annotation only when nothing is left to be done for it. The engine submits the
// claims of a decision before it writes anything of it, and decides again if that changes a
// receipt; so a receipt of an earlier content does no harm.

// What the deletion of its record did to a key, the worst last: of several keys the last one in
// this order is reported.
enum record_fate {
    FATE_OPEN,
    FATE_DELETED,
    FATE_TAKEN,    // another DNSRecord has it now
    FATE_KEPT,     // it stays at the server, as its spec asks
    FATE_GIVEN_UP, // given up: it may still exist at the server
};

struct record_key {
    struct dnsrecord_claim claim; // as the annotation is to have it
    // How messages name it where nothing can be sent for it, because its server is not known, or
    // its name or type is not valid. Such a key is never claimed or stored. Otherwise NULL.
    const char *label;
    bool is_stored;       // the annotation has it now, be it with another class, `was` or `refusal`
    bool is_left_out;     // the annotation is not to have it, or not any more
    bool is_claimed;      // the decision has a claim for it
    bool is_suspended;    // that claim competes for its name, and must not be sent yet
    int64_t look_since_s; // LOOK: what was found before that time (Unix) does not count
    enum claim_intent intent;
    const struct record_set *content; // of a SET
    const struct receipt *receipt;    // or NULL
    const struct dnsrecord_applied *applied;
    enum record_fate fate;
};

// What the status says. reason REASON_NONE: it stays as it is.
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

    // What the spec asks for.
    bool is_valid;
    const char *faults;
    struct record_set set;
    struct text fqdn;    // absent when it has none
    bool was_unreadable; // the annotation was, and is made anew from status and spec

    struct record_key keys[RECORD_KEYS_MAX];
    size_t key_count;
    // The key of the spec. NULL for a record that goes, and while something keeps it from being
    // sent at all (record_live.c).
    struct record_key *wanted;
    struct record_reported reported;
    const char *remaining; // names that the deletion leaves at a server, or NULL
};

// ---- dnsrecord.c --------------------------------------------------------------------------------

const char *record_copy_text(const struct record_reconcile *reconcile,
                             struct text text); // terminated copy
// NULL: there is no such class, or none of spec, annotation and status names it.
const struct object *record_find_class(const struct record_reconcile *reconcile, struct text name);
// NULL: there is none, or nothing names its class. It may be closed; that of a class that is gone
// lingers for a while.
const struct backend_view *record_find_backend(const struct record_reconcile *reconcile,
                                               struct text class_name);
// Server of a class as it is now; absent when there is no such class or its URL is none.
struct text record_class_server(const struct record_reconcile *reconcile, struct text class_name);
// By server, type, domain and subdomain; NULL: it is not in the list.
struct record_key *record_find_key(struct record_reconcile *reconcile,
                                   const struct dnsrecord_claim *claim);
// The claim of the spec: of a valid record whose class has a server.
struct dnsrecord_claim record_claim_of_spec(const struct record_reconcile *reconcile);
// The key that is there, as it is; else a new one with KEEP, its receipt and what is applied. NULL:
// there are RECORD_KEYS_MAX already.
struct record_key *record_add_key(struct record_reconcile *reconcile,
                                  const struct dnsrecord_claim *claim);
// True if it is being deleted, or is gone although it had our finalizer (the API server lost it).
bool record_is_going(const struct record_reconcile *reconcile);
// True if the object has our finalizer and the annotation has the key. (Of an object that is gone
// nothing can be written any more; what was claimed is deleted all the same.)
bool record_may_send(const struct record_reconcile *reconcile, const struct record_key *key);
bool record_is_settled(const struct record_key *key); // what its intent asks for has been done
bool record_has_lost(const struct record_key *key);   // another claim has its name
// Of a key that has lost its name: true if what it left at the server keeps the winner's content
// out, or may. The engine removes that; until then the key stays in the annotation.
bool record_is_in_way(const struct record_key *key);
// True if its class has another server now: what stands at the old one is not deleted.
bool record_has_moved(const struct record_reconcile *reconcile, const struct record_key *key);
// True if its last attempt failed, and this process made it.
bool record_has_failed(const struct record_key *key);
// True if its last attempt failed before this process began: the status says so already.
bool record_failed_earlier(const struct record_key *key);
// A hash of what an attempt depends on: the object, its class and the Secret.
void record_attempt_hash(const struct record_reconcile *reconcile, uint8_t out[8]);
// "www.example.com A", "www.example.com A at http://..."
const char *record_key_name(const struct record_reconcile *reconcile,
                            const struct dnsrecord_claim *claim);
const char *record_key_place(const struct record_reconcile *reconcile,
                             const struct record_key *key);
// Until when class and Secret are waited for: orphan-after from the deletion of the object or the
// start of the process, whichever is later. Unix ms.
int64_t record_orphan_ms(const struct record_reconcile *reconcile);

// ---- record_live.c, record_gone.c ---------------------------------------------------------------

void record_live(struct record_reconcile *reconcile);
void record_gone(struct record_reconcile *reconcile);
// True if one server can't have both at the same time: servers ignore a CNAME beside other data,
// and some keep one record for all splits of a name into domain and subdomain.
bool record_excludes(const struct record_reconcile *reconcile, const struct record_key *old,
                     const struct record_key *wanted);

// ---- record_found.c -----------------------------------------------------------------------------

// For a record that has no condition Ready yet: reports Pending once the server has taken too long
// to answer, and until then schedules another reconciliation. A Ready that is there stays.
void record_report_waiting(struct record_reconcile *reconcile, const struct record_key *key);
// Learns what stands at an old key, before a change that deletes it first, and notes it in the
// annotation. False until the server has answered, or it is clear that it will not.
bool record_learn_was(struct record_reconcile *reconcile, struct record_key *old);
// May the key be put into the annotation? Not before it is known that nothing forbids our first
// write, because what is in the annotation is deleted with the record. False: what stands there
// forbids it, or is still to be read; the key is left out then. True after a look: its intent stays
// LOOK until the annotation has the key.
bool record_is_clear_to_write(struct record_reconcile *reconcile, struct record_key *wanted);

// ---- record_stand_in.c --------------------------------------------------------------------------

// True if the server refused the change itself, and would refuse it again.
bool record_is_refusal(const struct receipt *receipt);
// The server refuses what the spec wants. Where the old data is known, notes the refusal beside it
// in the annotation: the next reconciliation puts that data back and then reports. Else reports the
// refusal at once.
void record_report_refusal(struct record_reconcile *reconcile, struct record_key *wanted);
// The old key whose data was put back because the server refused this spec; NULL: none.
struct record_key *record_find_stand_in(struct record_reconcile *reconcile,
                                        const struct record_key *wanted);
// Claims the old key with its old data in place of `wanted`, and reports the refusal when that
// stands.
void record_stand_in(struct record_reconcile *reconcile, struct record_key *old,
                     struct record_key *wanted);

// ---- record_report.c ----------------------------------------------------------------------------

// What the status is to say; a later report replaces it.
void record_report(struct record_reconcile *reconcile, enum reason reason, const char *message);
// `prefix` stands before the text of the failure.
void record_report_failure(struct record_reconcile *reconcile, const struct receipt *receipt,
                           const char *prefix);
void record_report_success(struct record_reconcile *reconcile, const struct record_key *key);
// An event about a key: "www.example.com A at http://... <what>".
void record_add_key_event(struct record_reconcile *reconcile, const struct record_key *key,
                          bool is_warning, const char *reason, const char *what);
// A log line with the attributes of the record and of what was reported.
void record_report_line(struct record_reconcile *reconcile, enum log_level level,
                        const char *message);
// Writes status, Events and log lines from what was reported.
void record_report_decision(struct record_reconcile *reconcile);
