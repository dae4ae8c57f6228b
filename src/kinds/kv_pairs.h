#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/kind.h"
#include "kinds/emco_metadata.h"

// Sets of keys and values at a logical cloud or a cluster. One of a certain name lists DNS update
// records; in the others stand addresses and the like, under keys that we know.
//
//     struct kv_sets sets = kv_sets_decode(arena, value_list_at(spec, "kvPairs"));
//     struct text address = kv_sets_find(&sets, TEXT("dnsPublicAddress"));

enum { KV_KEY_MAX = 253, KV_VALUE_MAX = 128, KV_PAIRS_MAX = 1024, KV_SETS_MAX = 256 };

#define KV_RECORD_LIST "dns-update-record-list"

struct kv_pair {
    struct text key;
    struct text value; // absent: it is no text
    size_t index;      // of the map in which it stands
};
struct kv_set {
    struct emco_metadata metadata;
    const struct kv_pair *pairs; // in the order given
    size_t count;
};
struct kv_sets {
    const struct kv_set *items; // sorted by name
    size_t count;
};
// Texts are borrowed from the tree. NULL gives no set.
struct kv_sets kv_sets_decode(struct arena *arena, const struct value *list);
// The first value under that key that is a text and not empty, in the order of the sets' names; the
// list of records is passed over. Absent: there is none.
struct text kv_sets_find(const struct kv_sets *sets, struct text key);

// The TTL under dnsTTL, in seconds; 0: there is none, or its text is no TTL.
int64_t kv_sets_ttl(const struct kv_sets *sets);

enum kv_fault {
    KV_FINE,
    KV_NOT_TEXT,  // a number, a list, ...
    KV_NOT_NAMES, // text, but neither "record" nor "project/record"
};
// A value of the list of records.
struct kv_record {
    enum kv_fault fault;
    struct text project; // EMCO names; absent if there is a fault
    struct text record;
    const char *where; // "dns-update-record-list kv[2] key1", for people (arena)
};
// All values in their order, with their faults; a record that stood there before is left out.
// `project` is whose record a name without a project is.
const struct kv_record *kv_record_list(struct arena *arena, const struct kv_sets *sets,
                                       struct text project, size_t *count);

// The rules of spec.kvPairs that no schema has. A value that lists no record is only warned of:
// the others of the list count.
void kv_pairs_check(const struct value *object, struct findings *findings);

// Rows of a kind's table.
#define KV_PAIRS_FIELDS                                                                            \
    {.path = "spec.kvPairs",                                                                       \
     .type = FIELD_LIST,                                                                           \
     .max = KV_SETS_MAX,                                                                           \
     .list_key = "name",                                                                           \
     .doc = "Sets of keys and values. The one named " KV_RECORD_LIST                               \
            " lists DNS update records, the first one first."},                                    \
        {.path = "spec.kvPairs[]", .type = FIELD_MAP, .doc = "One set."},                          \
        EMCO_NAME_FIELD("spec.kvPairs[].name", FIELD_REQUIRED, "Its name."),                       \
        EMCO_METADATA_FIELDS("spec.kvPairs[]"),                                                    \
        {.path = "spec.kvPairs[].kv",                                                              \
         .type = FIELD_LIST,                                                                       \
         .max = KV_PAIRS_MAX,                                                                      \
         .doc = "Its keys and values, in an order that counts; 1,024 pairs at most."},             \
    {                                                                                              \
        .path = "spec.kvPairs[].kv[]", .type = FIELD_TEXT_MAP, .min = 1, .max = KV_PAIRS_MAX,      \
        .value_max = KV_VALUE_MAX,                                                                 \
        .doc = "One or more keys, each with a text of at most 128 octets."                         \
    }
