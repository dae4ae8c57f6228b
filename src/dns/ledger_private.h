#pragma once

#include "base/slab.h"
#include "base/slots.h"
#include "base/table.h"
#include "dns/ledger.h"

// The ledger from within.
//
//     ledger.c        names, entries, facts
//     ledger_shard.c  shards: which one an entry belongs to, splits, what is due
//     ledger_text.c   a page as JSON, both ways

#define LEDGER_NO_SHARD UINT32_MAX

enum {
    LEDGER_OCTETS_MAX = 640 * 1024, // of a shard's entries as text; more split it
    LEDGER_FACTS_MAX = 64,
};

// An entry as it is kept; name, set, owner, state and stored stand behind each other, each with a
// NUL.
struct ledger_item {
    char *octets; // NULL: free
    int64_t since_s;
    uint8_t hash[8];
    uint32_t prefix; // of its name's SHA-256, first bit first
    uint32_t stored_len;
    uint16_t owner_len;
    uint8_t name_len;
    uint8_t set_len;
    uint8_t state_len;
    uint8_t type;
};

struct ledger_bits {
    uint32_t prefix; // what is behind `len` is 0
    unsigned len;
};

struct ledger_shard {
    struct ledger_bits bits;
    char *version; // NULL: there is no page yet
    size_t count;  // entries
    size_t octets; // of their text, at most
    bool is_used;
    bool is_doomed; // others have taken its place: it is to be dropped
    bool is_dirty;
    bool is_being_put;
    bool is_being_dropped;
};

struct ledger_known_fact {
    char *fact;
    char *value;
};

struct ledger {
    char *backend;
    char prefix[LEDGER_NAME_MAX - LEDGER_BITS_MAX];
    struct slab *slab;
    struct ledger_item *items;
    size_t item_capacity;
    struct slots slots;
    struct table by_key;
    struct ledger_shard *shards;
    size_t shard_count;
    size_t shard_capacity;
    struct ledger_known_fact *facts;
    size_t fact_count;
    size_t fact_capacity;
    uint64_t edition; // of the facts
    bool has_facts;   // reading: of a page before
    bool are_facts_torn;
};

// ledger.c
struct ledger *ledger_like(const struct ledger *ledger); // empty, of the same names
void ledger_swap(struct ledger *a, struct ledger *b);
void ledger_add(struct ledger *ledger, const struct ledger_entry *entry); // it is not there yet
struct ledger_entry ledger_entry_of(const struct ledger_item *item);
uint32_t ledger_name_prefix(struct text name);
void ledger_set_fact(struct ledger *ledger, struct text fact, struct text value);
void ledger_clear_facts(struct ledger *ledger);
bool ledger_fact_check(struct text fact, struct text value, struct error *err);

// ledger_shard.c
bool ledger_bits_cover(struct ledger_bits bits, uint32_t prefix);
bool ledger_bits_read(struct text text, struct ledger_bits *out);
uint32_t ledger_shard_of(const struct ledger *ledger, uint32_t prefix); // or NO_SHARD
uint32_t ledger_shard_add(struct ledger *ledger, struct ledger_bits bits);
// The one that the entry belongs to; makes the first one.
uint32_t ledger_shard_for(struct ledger *ledger, uint32_t prefix);
void ledger_shard_count(struct ledger *ledger, const struct ledger_item *item, bool is_more);
void ledger_shard_touch(struct ledger *ledger, uint32_t shard); // splits it if it has to be
void ledger_shards_touch(struct ledger *ledger);                // all of them; makes the first one
// Pages were read: those in whose place others stand are doomed.
void ledger_shards_settle(struct ledger *ledger);
// With their entries: what is missing of splits that broke off is made up for.
void ledger_shards_finish(struct ledger *ledger);
void ledger_shards_free(struct ledger *ledger);

// ledger_text.c
size_t ledger_item_octets(const struct ledger_item *item); // of its text, at most
