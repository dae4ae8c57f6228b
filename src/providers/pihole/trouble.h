#pragma once

#include "io/random.h"
#include "providers/pihole/reply.h"

// Why nothing can be done at a Pi-hole now, and how long to rest: each kind has its reason and its
// clock. A ladder belongs to an instance; each failure of one kind in a row is a rung.

enum trouble_kind {
    TROUBLE_NONE,
    TROUBLE_RESTARTING, // no answer, soon after a write that restarts the resolver
    TROUBLE_DOWN,
    TROUBLE_HUNG, // takes connections, and answers nothing
    TROUBLE_UNTRUSTED,
    TROUBLE_FAILED,
    TROUBLE_CONTENDED, // what we write does not stay as written
    TROUBLE_PASSWORD,
    TROUBLE_PIN,   // another key than the one that was learned
    TROUBLE_TWICE, // another backend of ours keeps the same Pi-hole
    TROUBLE_BLOCKED,
    TROUBLE_RATE,
    TROUBLE_SEATS,
};
enum { TROUBLE_KINDS = TROUBLE_SEATS + 1 };

// {0} is ready for use.
struct ladder {
    enum trouble_kind kind;
    unsigned failures;
    int64_t since_ms; // mono: the first failure
    int64_t until_ms; // mono: when the next try is due
    bool is_of_changes;
};

// What a reply that ends an exchange stands for. restarted_ms: mono, the last write that restarts
// the resolver; 0: none.
enum trouble_kind trouble_kind_of(enum reply_kind kind, int64_t restarted_ms, int64_t now_ms);
// Climbs one rung and fills err: reason, fault, retry_ms with jitter; reason "" while it is too
// early to tell. `reported_ms` is the wait that Pi-hole itself asked for, or 0.
void trouble_report(struct ladder *ladder, enum trouble_kind kind, int64_t now_ms,
                    int64_t reported_ms, struct random *random, struct error *err,
                    const char *text);
