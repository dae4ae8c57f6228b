#include "commands/pihole_memory.h"

#include <stdlib.h>
#include <string.h>

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

static void read_one(struct ledger_memory *item, const char *backend,
                     const struct ledger_page *pages, size_t count)
{
    item->ledger = ledger_new(backend, TEXT("."));
    item->view = (struct ledger_view){
        .find = find_stored, .recall = recall, .keep = keep_nothing, .context = item->ledger};
    if (!ledger_read(item->ledger, pages, count, &item->fault))
        error_prefix(&item->fault, "what is kept of it cannot be read: ");
}

void pihole_memory_take(struct pihole_memory *memory, const struct store_page *pages, size_t count)
{
    struct ledger_page *taken = mem_new_array(struct ledger_page, count + 1);
    for (size_t i = 0; i < count; i++)
        taken[i] = (struct ledger_page){
            .name = pages[i].name, .version = pages[i].version, .json = pages[i].text};
    pihole_memory_done(memory);
    for (size_t i = 0; i < memory->targets->count; i++)
        read_one(&memory->items[i], memory->targets->items[i].backend, taken, count);
    free(taken);
}

void pihole_memory_done(struct pihole_memory *memory)
{
    for (size_t i = 0; i < PIHOLE_TARGETS_MAX; i++)
        ledger_free(memory->items[i].ledger);
    memset(memory->items, 0, sizeof memory->items);
}

// ---- telling ------------------------------------------------------------------------------------

static const struct ledger_memory *item_of(const struct pihole_memory *memory,
                                           const struct pihole_target *target)
{
    return memory ? &memory->items[target - memory->targets->items] : NULL;
}

const struct ledger_view *pihole_memory_view(const struct pihole_memory *memory,
                                             const struct pihole_target *target)
{
    const struct ledger_memory *item = item_of(memory, target);
    return item && item->ledger && item->fault.fault == FAULT_NONE ? &item->view : NULL;
}

const char *pihole_memory_fault(const struct pihole_memory *memory,
                                const struct pihole_target *target)
{
    const struct ledger_memory *item = item_of(memory, target);
    return item && item->fault.fault != FAULT_NONE ? item->fault.text : NULL;
}
