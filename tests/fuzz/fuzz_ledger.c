#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

enum { SHARDS_MAX = 64 };

struct written {
    char names[SHARDS_MAX][LEDGER_NAME_MAX];
    struct buffer texts[SHARDS_MAX];
    size_t count;
};

static void write_all(struct ledger *ledger, struct written *out)
{
    struct ledger_task task;
    while (ledger_next_put(ledger, &task)) {
        must(out->count < SHARDS_MAX);
        memcpy(out->names[out->count], task.name, sizeof task.name);
        ledger_write_shard(ledger, task.shard, &out->texts[out->count++]);
        ledger_was_put(ledger, task.shard, "v");
    }
    while (ledger_next_drop(ledger, &task))
        ledger_was_dropped(ledger, task.shard);
    must(!ledger_is_due(ledger));
}

static void expect_same(const struct ledger *a, const struct ledger *b)
{
    struct ledger_entry one, other;
    must(ledger_count(a) == ledger_count(b));
    for (size_t cursor = 0; ledger_next(a, &cursor, &one);)
        must(ledger_find(b, one.type, one.name, one.set, &other) &&
             text_equal(one.stored, other.stored) && text_equal(one.owner, other.owner));
}

// What was read is written, all of it, and read back.
static void round_trip(struct ledger *ledger)
{
    struct written written = {0};
    struct ledger_shard_text documents[SHARDS_MAX];
    CLEANUP(ledger) struct ledger *again = ledger_new("pihole-a", TEXT("."));
    ledger_keep(ledger, "touched", "yes");
    write_all(ledger, &written);
    for (size_t i = 0; i < written.count; i++)
        documents[i] = (struct ledger_shard_text){text_of(written.names[i]), TEXT("v"),
                                                  buffer_text(&written.texts[i])};
    must(ledger_read(again, documents, written.count, NULL));
    expect_same(ledger, again);
    for (size_t i = 0; i < written.count; i++)
        buffer_done(&written.texts[i]);
}

// Pages stand behind each other, each with a NUL.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    static const char *const bits[] = {"x", "0", "1", "10"};
    struct error err;
    struct ledger_shard_text documents[COUNT_OF(bits)];
    struct buffer names[COUNT_OF(bits)] = {0};
    struct text rest = {(const char *)at, len};
    size_t count = 0;
    CLEANUP(ledger) struct ledger *ledger = ledger_new("pihole-a", TEXT("."));
    for (struct text document; count < COUNT_OF(bits) && text_cut(&rest, '\0', &document);
         count++) {
        buffer_printf(&names[count], "%s%s", ledger_prefix(ledger), bits[count]);
        documents[count] =
            (struct ledger_shard_text){buffer_text(&names[count]), TEXT("v"), document};
    }
    bool is_read = ledger_read(ledger, documents, count, &err);
    for (size_t i = 0; i < count; i++)
        buffer_done(&names[i]);
    must(is_read || (err.fault == FAULT_SPEC && !ledger_count(ledger)));
    if (is_read)
        round_trip(ledger);
    return 0;
}
