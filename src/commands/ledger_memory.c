#include "commands/ledger_memory.h"

#include <stdlib.h>

// ---- a view of it -------------------------------------------------------------------------------

static const char *find_stored(const void *context, enum record_type type, struct text name)
{
    struct ledger_entry entry;
    return ledger_find(context, type, name, TEXT(""), &entry) ? entry.stored.at : NULL;
}

static const char *recall(const void *context, const char *fact)
{
    return ledger_fact(context, fact);
}

static void keep_nothing(void *context, const char *fact, const char *value)
{
    (void)context, (void)fact, (void)value;
}

// ---- reading ------------------------------------------------------------------------------------

static void read_one(struct ledger_memory_item *item, const char *backend,
                     const struct ledger_shard_text *shards, size_t count)
{
    item->ledger = ledger_new(backend, TEXT("."));
    item->view = (struct ledger_view){
        .find = find_stored, .recall = recall, .keep = keep_nothing, .context = item->ledger};
    if (!ledger_read(item->ledger, shards, count, &item->fault))
        error_prefix(&item->fault, "what is kept of it cannot be read: ");
}

void ledger_memory_take(struct ledger_memory *memory, const struct store_shard *shards,
                        size_t count)
{
    struct ledger_shard_text *taken = mem_new_array(struct ledger_shard_text, count + 1);
    for (size_t i = 0; i < count; i++)
        taken[i] = (struct ledger_shard_text){
            .name = shards[i].name, .version = shards[i].version, .json = shards[i].text};
    ledger_memory_done(memory);
    memory->items = mem_new_array(struct ledger_memory_item, memory->backends->count + 1);
    for (size_t i = 0; i < memory->backends->count; i++)
        read_one(&memory->items[i], memory->backends->items[i].label, taken, count);
    free(taken);
}

void ledger_memory_done(struct ledger_memory *memory)
{
    for (size_t i = 0; memory->items && i < memory->backends->count; i++)
        ledger_free(memory->items[i].ledger);
    free(memory->items);
    memory->items = NULL;
}

// ---- telling ------------------------------------------------------------------------------------

static const struct ledger_memory_item *item_of(const struct ledger_memory *memory,
                                                const struct configured_backend *backend)
{
    return memory && memory->items ? &memory->items[backend - memory->backends->items] : NULL;
}

const struct ledger_view *ledger_memory_view(const struct ledger_memory *memory,
                                             const struct configured_backend *backend)
{
    const struct ledger_memory_item *item = item_of(memory, backend);
    return item && item->ledger && item->fault.fault == FAULT_NONE ? &item->view : NULL;
}

const char *ledger_memory_fault(const struct ledger_memory *memory,
                                const struct configured_backend *backend)
{
    const struct ledger_memory_item *item = item_of(memory, backend);
    return item && item->fault.fault != FAULT_NONE ? item->fault.text : NULL;
}
