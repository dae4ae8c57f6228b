#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "dns/record.h"

// Which record sets at a backend are ours, where no record there can carry a mark of its own: the
// ledger of one zone of one backend, and its text form. Pure; whoever keeps it reads and writes
// pages of it elsewhere.
//
// A page is a shard of the ledger: a JSON document {"v":1,"meta":{...},"entries":[...]} under a
// name that ends in the shard's bits. An entry belongs to the shard whose bits are the longest
// prefix of the SHA-256 of its owner name; "x" is the empty prefix. A shard that has grown too
// large is replaced by two: both are written, then the parent is dropped, and while all three are
// there the longer prefix counts. Facts about the backend stand in each page alike.
//
//     struct ledger *ledger = ledger_new("pihole-upstairs", TEXT("."));
//     if (!ledger_read(ledger, pages, count, &err)) ...     what was written before
//     ledger_put(ledger, &entry);
//     while (ledger_next_put(ledger, &task)) ...            write it, ledger_was_put()
//     while (ledger_next_drop(ledger, &task)) ...           drop it, ledger_was_dropped()

#define LEDGER_SHARDS "signpost-ledger-" // what the names of all pages begin with

enum {
    LEDGER_ENTRIES_MAX = 512, // of a shard; more split it
    LEDGER_BITS_MAX = 24,     // shards with so many are not split any more
    LEDGER_LABEL_MAX = 64,    // with a NUL
    LEDGER_NAME_MAX = 181,    // of a page, with a NUL
    LEDGER_STORED_MAX = 64 * 1024,
    LEDGER_FACT_MAX = 4096,
};

// Texts are borrowed.
struct ledger_entry {
    enum record_type type;
    struct text name;  // lower case, no final dot
    struct text set;   // set identifier; "" without
    struct text owner; // "ingress/shop/web"
    struct text
        stored;        // the backend's own strings, each ended by a newline; "" where none are kept
    struct text state; // a condition's reason: "Pending", "Written"
    uint8_t hash[8];   // ledger_hash()
    int64_t since_s;   // Unix: of this state
};

// First 8 octets of SHA-256 over the TTL and the sorted canonical rdata texts, each ended by a
// newline.
void ledger_hash(const struct record_set *set, uint8_t out[8]);
// Value of the label by which pages of a backend are found: the name of the backend, or, over 63
// octets, its first 52, "-" and 10 hex digits of its SHA-256.
void ledger_label_write(const char *backend, char out[LEDGER_LABEL_MAX]);

struct ledger;
struct ledger *ledger_new(const char *backend, struct text zone);
void ledger_free(struct ledger *ledger); // NULL is fine
DEFINE_CLEANUP(ledger, ledger_free)
// What the names of all its pages begin with, and no others do.
const char *ledger_prefix(const struct ledger *ledger);

// ---- reading ------------------------------------------------------------------------------------

struct ledger_shard_text {
    struct text name;
    struct text version; // as the store counts; handed back for its next write
    struct text json;
};
// All pages there are, in any order; replaces all that is known. Names that are none of a shard are
// skipped. What cannot be understood to the letter is refused, with the page's name (fault SPEC,
// reason LedgerUnreadable): then the ledger stays as it was, and nothing may be written over it.
bool ledger_read(struct ledger *ledger, const struct ledger_shard_text *documents, size_t count,
                 struct error *err);

// ---- entries and facts --------------------------------------------------------------------------

size_t ledger_count(const struct ledger *ledger);
// Borrowed until the next change.
bool ledger_find(const struct ledger *ledger, enum record_type type, struct text name,
                 struct text set, struct ledger_entry *out);
bool ledger_next(const struct ledger *ledger, size_t *cursor, struct ledger_entry *out);
// In the place of the one with its type, name and set. Each tells whether it changed anything: an
// entry that differs in since_s alone does not.
bool ledger_put(struct ledger *ledger, const struct ledger_entry *entry);
bool ledger_drop(struct ledger *ledger, enum record_type type, struct text name, struct text set);
// Can it be put? Names of records are; refuses what could not be read back, fault SPEC.
bool ledger_check(const struct ledger_entry *entry, struct error *err);

const char *ledger_fact(const struct ledger *ledger, const char *fact);       // or NULL
bool ledger_keep(struct ledger *ledger, const char *fact, const char *value); // NULL forgets it

// ---- writing ------------------------------------------------------------------------------------

struct ledger_task {
    uint32_t shard;
    char name[LEDGER_NAME_MAX];
    const char *version; // NULL: no page of that name may be there; borrowed
};
// There is something to write or to drop.
bool ledger_is_due(const struct ledger *ledger);
// The next page to write; it counts as written from then on: one that fails is read anew, with all
// others.
bool ledger_next_put(struct ledger *ledger, struct ledger_task *out);
void ledger_write_shard(const struct ledger *ledger, uint32_t shard, struct buffer *out);
void ledger_was_put(struct ledger *ledger, uint32_t shard, const char *version);
// The next page to drop, once all those that replace it have been written.
bool ledger_next_drop(struct ledger *ledger, struct ledger_task *out);
void ledger_was_dropped(struct ledger *ledger, uint32_t shard);
