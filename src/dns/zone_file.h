#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "dns/dname.h"
#include "dns/rdata.h"

// Reads master files (RFC 1035 5, RFC 2308 4 for $TTL, RFC 3597, and BIND's $GENERATE): one pass,
// entry by entry; an entry that does not parse is told once and passed over. What a file repeats by
// $INCLUDE and $GENERATE is capped, so that a small one cannot keep its reader for ever.

enum {
    ZONE_FILE_DEPTH_MAX = 16,          // files that include each other
    ZONE_FILE_INCLUDES_MAX = 1000,     // in one call
    ZONE_FILE_GENERATED_MAX = 1000000, // entries of all $GENERATE in one call
    ZONE_FILE_WORDS_MAX = 1 << 17,     // of an entry
};

struct zone_file_entry {
    struct dname owner;
    uint16_t type;
    uint16_t class_; // of RFC 1035: 1 is IN
    bool has_ttl;    // false: neither it, nor $TTL, nor an entry before it has one
    uint32_t ttl_s;
    // Of the rdata, slices of the text. A quoted value behind = is part of its word, with the
    // quotes (RFC 9460 2.1: alpn="h2,h3"); any other quote begins a word of its own.
    const struct rdata_word *words;
    size_t word_count;
    struct dname origin; // that completes names of the rdata
    const char *file;
    uint32_t line; // where the entry begins, from 1; of a generated one, its $GENERATE
    uint32_t column;
};
struct zone_file_calls {
    void (*entry)(void *context, const struct zone_file_entry *entry);
    // Fault SPEC; reason Syntax, InvalidName, InvalidTTL, InvalidType or Include.
    void (*fault)(void *context, const char *file, uint32_t line, uint32_t column,
                  const struct error *error);
    // $INCLUDE: the text of that file, which stays until the end; false: refused or unreadable.
    // `path` as it is written, escapes and all. NULL: there is no $INCLUDE here.
    bool (*include)(void *context, struct text path, const char *from, struct text *out,
                    const char **file, struct error *err);
    void *context;
};
// `origin` completes names until the first $ORIGIN. Names follow DNAME_OF_FILE. All that is
// borrowed lives for the call.
void zone_file_read(struct text text, const char *file, struct dname origin,
                    const struct zone_file_calls *calls);
