#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "dns/record.h"
#include "io/loop.h"
#include "providers/provider.h"
#include "store/store.h"

// The keeper of one backend's ledger: what we own at a backend that cannot carry our mark at each
// record, remembered in the store. Who leads opens it; it is read once then, and everything that
// changes is staged first and stored with one write for each shard, whatever came together.
//
//     ledger_keeper_expect(keeper, &change->set, stored, object);   before the provider_exchange
//     if (ledger_keeper_flush(keeper, go_on, exchange))
//         return;                                                   go_on() begins it
//     ...
//     ledger_keeper_settle(keeper, &change->set, stored, object);   or ledger_keeper_drop()
//     ledger_keeper_flush(keeper, NULL, NULL);
//
// Writes that fail are repeated until they succeed or the keeper is closed. Where somebody else
// wrote in between, the ledger is read again and what was staged is applied anew: what he changed
// counts. A ledger that cannot be understood is never written over.

// Calls of the store that no reply has come to; of all keepers, which may go before.
struct ledger_call;
struct ledger_calls {
    struct ledger_call *first;
};
void ledger_calls_free(struct ledger_calls *calls); // the store is going, too: none will come

struct ledger_keeper;
struct ledger_setup {
    struct ledger_calls *calls; // outlives the keeper
    struct loop *loop;
    struct store *store;
    const char *backend; // "pihole-upstairs"
    const char *zone;    // "." where there is none
    // It has been read, or ledger_keeper_trouble() says something else. From the loop. Neither from
    // within this nor from within `done` of a flush is the keeper freed.
    void (*changed)(void *context);
    void *context;
};
struct ledger_keeper *ledger_keeper_new(const struct ledger_setup *setup);
// Closes it; waiters are not told. NULL is fine.
void ledger_keeper_free(struct ledger_keeper *keeper);

// We lead: it is read, and may be written from then on. Open already: nothing happens.
void ledger_keeper_open(struct ledger_keeper *keeper);
// We lead no more: what was staged and not stored is forgotten, waiters are told at once. While it
// is closed, what is staged is forgotten, too.
void ledger_keeper_close(struct ledger_keeper *keeper);
// Nothing may be staged, and no exchange may begin, before.
bool ledger_keeper_is_read(const struct ledger_keeper *keeper);
// Why it can be neither read nor written now: reason LedgerUnreadable or LedgerNotStored, with
// what to do about it; or NULL. It tries again by itself.
const struct error *ledger_keeper_trouble(const struct ledger_keeper *keeper);

// For exchanges: what is staged counts. Good as long as the keeper; texts until the next change.
// What an exchange keeps is staged too: flush before the next one begins.
struct ledger_view ledger_keeper_view(struct ledger_keeper *keeper);

// A set is about to be written: `stored`, the backend's own strings of it, each ended by a newline,
// may stand there from now on, beside what stood there before. `owner` may be NULL.
void ledger_keeper_expect(struct ledger_keeper *keeper, const struct record_set *set,
                          struct text stored, const struct object *owner);
// It was written: these strings stand there, and no others.
void ledger_keeper_settle(struct ledger_keeper *keeper, const struct record_set *set,
                          struct text stored, const struct object *owner);
// Nothing of ours stands there any more. Of `set` type and name count.
void ledger_keeper_drop(struct ledger_keeper *keeper, const struct record_set *set);

// Stores what was staged. False: all of it is stored already, or the keeper is closed. Else `done`
// (or NULL) is called once, never from within, when it is; `is_stored` is false when the keeper was
// closed before.
bool ledger_keeper_flush(struct ledger_keeper *keeper, void (*done)(void *context, bool is_stored),
                         void *context);
// Writes under way and staged: what a stop has to wait for.
bool ledger_keeper_is_idle(const struct ledger_keeper *keeper);

size_t ledger_keeper_count(const struct ledger_keeper *keeper); // entries
// All entries, in no order; nothing is staged from within.
void ledger_keeper_each(const struct ledger_keeper *keeper,
                        void (*call)(void *context, enum record_type type, struct text name,
                                     const char *stored),
                        void *context);
