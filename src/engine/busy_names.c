#include "engine/exchange_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/table.h"

struct wanted_name {
    uint16_t registry;
    const char *name;
};

static uint64_t busy_hash_of(uint16_t registry, const char *name)
{
    return hash_octets(name, strlen(name)) ^ registry;
}

static bool busy_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct engine *engine = context;
    const struct wanted_name *at = wanted;
    return engine->busy[id].registry == at->registry && !strcmp(engine->busy[id].name, at->name);
}

static uint64_t busy_hash(const void *context, uint32_t id)
{
    const struct engine *engine = context;
    return busy_hash_of(engine->busy[id].registry, engine->busy[id].name);
}

static const struct table_ops busy_table_ops = {busy_matches, busy_hash};

static struct table *busy_table(struct engine *engine)
{
    engine->busy_names.ops = &busy_table_ops;
    engine->busy_names.context = engine;
    return &engine->busy_names;
}

bool busy_has(struct engine *engine, uint16_t registry, const char *name)
{
    const struct wanted_name wanted = {registry, name};
    return table_find(busy_table(engine), busy_hash_of(registry, name), &wanted) != TABLE_NONE;
}

uint32_t busy_add(struct engine *engine, uint16_t registry, const char *name)
{
    uint32_t id = slots_take(&engine->busy_slots);
    mem_reserve(&engine->busy, &engine->busy_capacity, engine->busy_slots.end);
    engine->busy[id] = (struct busy_name){.registry = registry, .name = mem_copy_text(name)};
    engine->registries[registry].refs++;
    table_add(busy_table(engine), busy_hash_of(registry, name), id);
    return id;
}

void busy_remove(struct engine *engine, uint32_t id)
{
    if (id == NO_ID)
        return;
    table_remove(busy_table(engine), busy_hash(engine, id), id);
    engine->registries[engine->busy[id].registry].refs--;
    free(engine->busy[id].name);
    engine->busy[id] = (struct busy_name){0};
    slots_give(&engine->busy_slots, id);
}

void busy_free(struct engine *engine)
{
    for (uint32_t id = 0; id < engine->busy_slots.end; id++)
        free(engine->busy[id].name);
    free(engine->busy);
    slots_done(&engine->busy_slots);
    table_done(&engine->busy_names);
}
