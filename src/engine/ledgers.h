#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "dns/record.h"
#include "io/loop.h"
#include "providers/provider.h"
#include "store/store.h"

// The keeper of one backend's ledger: what we own at a server that cannot carry our mark at each
// record, remembered in the store. The leader opens it, which reads it once; every change is staged
// first, and all that is staged is stored with one write for each shard.
//
//     ledger_keeper_expect(keeper, &change->set, stored, object);   before the exchange
//     if (ledger_keeper_flush(keeper, go_on, exchange))
//         return;                                                   go_on() begins it
//     ...
//     ledger_keeper_settle(keeper, &change->set, stored, object);   or ledger_keeper_drop()
//     ledger_keeper_flush(keeper, NULL, NULL);
//
// Writes that fail are repeated until they succeed or the keeper is closed. When somebody else
// wrote in between, the ledger is read again and what was staged is applied to that state. A ledger
// that cannot be decoded is never overwritten.

// Calls of the store without a reply yet, of all keepers. A keeper may be freed before its calls.
struct ledger_call;
struct ledger_calls {
    LIST_OF(struct ledger_call) list;
};
void ledger_calls_free(struct ledger_calls *calls); // the store goes next: no reply will come

struct ledger_keeper;
struct ledger_setup {
    struct ledger_calls *calls; // outlives the keeper
    struct loop *loop;
    struct store *store;
    const char *backend; // "pihole-upstairs"
    const char *zone;    // "." where there is none
    // It has been read, or the result of ledger_keeper_why_degraded() differs. Called from the
    // loop. The keeper may not be freed from within this, nor from within `done` of a flush.
    void (*changed)(void *context);
    void *context;
};
struct ledger_keeper *ledger_keeper_new(const struct ledger_setup *setup);
// Closes it without calling those that wait. Accepts NULL.
void ledger_keeper_free(struct ledger_keeper *keeper);

// To be called when we lead: reads the ledger, which may be written from then on. No effect if it
// is open.
void ledger_keeper_open(struct ledger_keeper *keeper);
// To be called when we lead no more: what was staged and not stored is dropped, and those that wait
// are called at once. While it is closed, everything staged is dropped.
void ledger_keeper_close(struct ledger_keeper *keeper);
// Before this is true, nothing may be staged and no exchange may begin.
bool ledger_keeper_is_read(const struct ledger_keeper *keeper);
// Why it can be neither read nor written now: reason LedgerUnreadable or LedgerNotStored, with
// what to do about it; or NULL. The keeper retries by itself.
const struct error *ledger_keeper_why_degraded(const struct ledger_keeper *keeper);

// The ledger as exchanges see it, with what is staged. Valid as long as the keeper; its texts until
// the next change. What an exchange keeps is staged: flush before the next one begins.
struct ledger_view ledger_keeper_view(struct ledger_keeper *keeper);

// To be called before a set is written. From then on `stored`, the server's own strings for it,
// each ended by a newline, may stand there beside what stood there before. `owner` may be NULL.
void ledger_keeper_expect(struct ledger_keeper *keeper, const struct record_set *set,
                          struct text stored, const struct object *owner);
// To be called when the set was written: exactly these strings stand there.
void ledger_keeper_settle(struct ledger_keeper *keeper, const struct record_set *set,
                          struct text stored, const struct object *owner);
// To be called when nothing of ours stands there any more. Uses only type and name of `set`.
void ledger_keeper_drop(struct ledger_keeper *keeper, const struct record_set *set);

// Stores what was staged. False: everything is stored already, or the keeper is closed. Else `done`
// (which may be NULL) is called once, later, when it is stored; `is_stored` is false when the
// keeper was closed before.
bool ledger_keeper_flush(struct ledger_keeper *keeper, void (*done)(void *context, bool is_stored),
                         void *context);
// True when no write is under way or staged: a stop waits for that.
bool ledger_keeper_is_idle(const struct ledger_keeper *keeper);

size_t ledger_keeper_count(const struct ledger_keeper *keeper); // entries
// Calls back for each entry, in no order. Nothing may be staged from within.
void ledger_keeper_each(const struct ledger_keeper *keeper,
                        void (*call)(void *context, enum record_type type, struct text name,
                                     const char *stored),
                        void *context);
