#pragma once

#include "controllers/clusterdns/reconcile.h"

// Functions that the files which work out a Corefile share: target.c makes the text that is wanted,
// owned.c finds what of a file is ours, earlier.c makes the text to go back to.

// Server blocks of ours in a file of somebody else's.
struct owned {
    struct corefile_owned *items;
    size_t count;
};

// A change of a Corefile that somebody else wrote.
struct edit {
    const struct owned *owned; // what goes
    struct text blocks;        // what comes
    bool keeps_root;
    const struct corefile_forward *root; // of the root block; NULL: the one that they wrote
};

// ---- target.c -----------------------------------------------------------------------------------
// The first fault that CoreDNS would find, in its words; NULL: none.
const char *lint_text(const struct reconcile *reconcile, struct text text);
// Puts the config id into the text, in which zeroes stand for it, and makes both what is wanted.
void settle_config_id(struct reconcile *reconcile, struct buffer *text);
void set_annotation(struct reconcile *reconcile, struct value *map, const char *key,
                    struct text value); // absent: it shall go
void splice_target(struct reconcile *reconcile, const struct edit *edit, struct value *annotations,
                   struct buffer *out);

// ---- owned.c ------------------------------------------------------------------------------------
enum { LAST_ZONES = 2 };
extern const struct text last_zones[LAST_ZONES]; // of the block that answers with the id
// Reads the text of ZONES_ANNOTATION. False: there is none.
bool read_zones(const struct reconcile *reconcile, struct text annotation, struct owned *out);
bool read_owned(const struct reconcile *reconcile, struct owned *out); // of what stands there
// Our blocks in a Corefile of which there is a copy. False: there is none.
bool read_owned_copy(const struct reconcile *reconcile, struct text id, struct text *text,
                     const struct value **annotations, struct owned *out);
bool guess_owned(const struct reconcile *reconcile, struct owned *out);
void guess_rendered(const struct reconcile *reconcile, const struct corefile_input *input,
                    struct owned *out);
const struct corefile_block *find_owned_block(const struct corefile *corefile,
                                              const struct corefile_owned *owned);
bool is_last_block(const struct corefile_owned *owned);
