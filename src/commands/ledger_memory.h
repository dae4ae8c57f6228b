#pragma once

#include "commands/backend.h"
#include "dns/ledger.h"
#include "providers/provider.h"
#include "store/store.h"

// What the ledgers remember of the backends that stand in settings, for commands that only look:
// which entries there are ours, and which TLS key was learned. {.backends = backends} remembers
// nothing.

struct ledger_memory {
    const struct configured_backends *backends;
    struct ledger_memory_item {
        struct ledger *ledger;
        struct ledger_view view;
        struct error fault; // why it cannot be understood, or NONE
    } * items;              // by backend; NULL: nothing was read
};
// All pages there are; those that are of none of the backends do not matter.
void ledger_memory_take(struct ledger_memory *memory, const struct store_shard *shards,
                        size_t count);
void ledger_memory_done(struct ledger_memory *memory);
// NULL: nothing is remembered. Borrowed from the memory.
const struct ledger_view *ledger_memory_view(const struct ledger_memory *memory,
                                             const struct configured_backend *backend);
// Text for people: why it cannot be told what is remembered; or NULL.
const char *ledger_memory_fault(const struct ledger_memory *memory,
                                const struct configured_backend *backend);
