#pragma once

#include "dns/corefile/corefile.h"
#include "dns/corefile/render.h"

// Reads server blocks that forward back into entries, be they ours or somebody else's.

// What an entry can't say of the block it was read from: directives, options and addresses, as
// texts for people.
struct corefile_rest {
    struct text *items;
    size_t count;
    size_t capacity;
};

// The entry of a server block, in the arena; texts are borrowed from the corefile. What is written
// for each entry anyway (errors, log, bufsize, prometheus) is neither read nor rest. False if
// nothing forwards all of the block's names.
bool corefile_read_entry(struct arena *arena, const struct corefile *corefile,
                         const struct corefile_block *block, struct corefile_entry *out,
                         struct corefile_rest *rest);
// The same of one directive `forward . TO...`.
bool corefile_read_forward(struct arena *arena, const struct corefile *corefile,
                           const struct corefile_directive *directive, struct corefile_forward *out,
                           struct corefile_rest *rest);
