#pragma once

#include "controllers/ingress/targets.h"
#include "dns/ledger.h"
#include "providers/provider.h"
#include "store/store.h"

// What the ledgers of Pi-holes remember, for who only looks: which aliases are ours, which TLS key
// was learned. {.targets = targets} remembers nothing.

struct pihole_memory {
    const struct pihole_targets *targets;
    struct ledger_memory {
        struct ledger *ledger;
        struct ledger_view view;
        struct error fault;      // why it cannot be understood, or NONE
    } items[PIHOLE_TARGETS_MAX]; // by target
};
// All pages there are; those that are of none of the targets do not matter.
void pihole_memory_take(struct pihole_memory *memory, const struct store_page *pages, size_t count);
void pihole_memory_done(struct pihole_memory *memory);
// NULL: nothing is remembered. Borrowed from the memory.
const struct ledger_view *pihole_memory_view(const struct pihole_memory *memory,
                                             const struct pihole_target *target);
// Text for people: why it cannot be told what is remembered; or NULL.
const char *pihole_memory_fault(const struct pihole_memory *memory,
                                const struct pihole_target *target);
