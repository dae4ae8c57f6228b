#pragma once

#include "dns/corefile/corefile.h"
#include "dns/corefile/render.h"

// Changes what is ours in a Corefile that somebody else wrote, and leaves every other octet as it
// is, comments included. Ours are whole server blocks, which stand at the beginning of the file,
// and in the `forward` of the root block the upstreams, the policy and what belongs to TLS.

// A server block of ours, as it was noted when it was written.
struct corefile_owned {
    struct text name;         // of the comment above it; empty: it has none
    const struct text *zones; // without a port
    size_t zone_count;
};

enum corefile_root_edit {
    COREFILE_ROOT_KEEP,
    COREFILE_ROOT_REPLACE, // by `forward`; what stood there is to be kept to be put back
    COREFILE_ROOT_RESTORE, // by `saved`
};

struct corefile_splice {
    const struct corefile *corefile; // as parsed, without imports
    const struct corefile_owned *owned;
    size_t owned_count;
    struct text blocks; // what takes the place of all of them; may be empty
    enum corefile_root_edit root;
    const struct corefile_forward *forward;
    struct text saved;
};

// Appends the new text. With ROOT_REPLACE and ROOT_RESTORE it needs corefile_root_forward().
void corefile_splice(struct buffer *out, const struct corefile_splice *splice);

// The part of a `forward` that a splice writes, as a text to compare.
void corefile_write_own_forward(struct buffer *out, const struct corefile_forward *forward);

// The server block that serves a zone on plain DNS, or NULL; *port is its port (0: none given).
const struct corefile_block *corefile_find_zone(const struct corefile *corefile, struct text zone,
                                                uint16_t *port);
// The zones that a server block serves on plain DNS, in lower case with a final dot, in the arena.
// False: it has keys of another transport, too.
bool corefile_block_zones(struct arena *arena, const struct corefile_block *block,
                          struct text **zones, size_t *count);
// Are all zones of the block those of one of `owned`? One that somebody added makes it theirs.
bool corefile_is_owned(const struct corefile_block *block, const struct corefile_owned *owned,
                       size_t count);
// Returns for each server block the one of `owned` that has all of its zones, or NULL. The array
// lives in the arena.
const struct corefile_owned **corefile_find_owners(struct arena *arena,
                                                   const struct corefile *corefile,
                                                   const struct corefile_owned *owned,
                                                   size_t count);
// The octets of a server block with the comment of that name above it.
struct text corefile_block_text(const struct corefile *corefile, const struct corefile_block *block,
                                struct text name);
// The `forward .` of the root block; NULL: there is none, or more than one.
const struct corefile_directive *corefile_find_root_forward(const struct corefile *corefile);
// The octets of that `forward`; absent: there is none, or more than one.
struct text corefile_root_forward(const struct corefile *corefile);
