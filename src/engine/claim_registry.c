#include "engine/claim_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"

// ---- registries by the URL of their server ------------------------------------------------------

uint16_t registry_get(struct engine *engine, const char *registry)
{
    size_t at = engine->registry_count;
    for (size_t i = 0; i < engine->registry_count; i++) {
        if (!strcmp(engine->registries[i].url, registry))
            return (uint16_t)i;
        if (!engine->registries[i].refs)
            at = i;
    }
    must(at < UINT16_MAX);
    if (at == engine->registry_count) {
        mem_reserve(&engine->registries, &engine->registry_capacity, engine->registry_count + 1);
        engine->registries[engine->registry_count++] = (struct registry){0};
    }
    free(engine->registries[at].url);
    engine->registries[at].url = mem_copy_text(registry);
    return (uint16_t)at;
}

// Or the number of all.
static uint16_t registry_find(const struct engine *engine, const char *url)
{
    uint16_t at = 0;
    while (at < engine->registry_count &&
           (!engine->registries[at].refs || strcmp(engine->registries[at].url, url) != 0))
        at++;
    return at;
}

// ---- names --------------------------------------------------------------------------------------

struct registry_name {
    uint16_t registry;
    const char *name;
};

static uint64_t name_hash(uint16_t registry, const char *name)
{
    return hash_octets(name, strlen(name)) + registry * 0x9e3779b97f4a7c15ULL;
}

static bool claim_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct engine *engine = context;
    const struct registry_name *at = wanted;
    return engine->claims[id].registry == at->registry &&
           !strcmp(engine->claims[id].name, at->name);
}

static uint64_t claim_hash(const void *context, uint32_t id)
{
    const struct engine *engine = context;
    return name_hash(engine->claims[id].registry, engine->claims[id].name);
}

static const struct table_ops claim_table_ops = {claim_matches, claim_hash};

static struct table *names(struct engine *engine)
{
    engine->by_name.ops = &claim_table_ops;
    engine->by_name.context = engine;
    return &engine->by_name;
}

static char *join_name(struct slab *slab, struct text domain, struct text subdomain,
                       uint8_t *subdomain_len)
{
    AUTO_BUFFER out = {0};
    *subdomain_len = text_is(subdomain, "@") ? 0 : (uint8_t)subdomain.len;
    if (*subdomain_len) {
        buffer_add(&out, subdomain.at, subdomain.len);
        buffer_add_char(&out, '.');
    }
    buffer_add(&out, domain.at, domain.len);
    struct text name = buffer_text(&out);
    return memcpy(slab_take(slab, name.len + 1), name.at, name.len + 1);
}

static void name_free(char *name)
{
    slab_give(name, strlen(name) + 1);
}

uint32_t claim_first_of_name(struct engine *engine, const struct claim *claim)
{
    struct registry_name at = {claim->registry, claim->name};
    return table_find(names(engine), name_hash(claim->registry, claim->name), &at);
}

uint32_t claims_at(struct engine *engine, uint16_t registry, const char *name)
{
    struct registry_name at = {registry, name};
    uint32_t first = table_find(names(engine), name_hash(registry, name), &at);
    return first == TABLE_NONE ? NO_ID : first;
}

static void claim_chain_name(struct engine *engine, uint32_t id)
{
    struct claim *claim = &engine->claims[id];
    uint32_t first = claim_first_of_name(engine, claim);
    if (first == TABLE_NONE) {
        claim->is_first = true;
        claim->count_of_name = 1;
        table_add(names(engine), name_hash(claim->registry, claim->name), id);
        return;
    }
    engine->claims[first].count_of_name++;
    claim->previous_of_name = first;
    claim->next_of_name = engine->claims[first].next_of_name;
    engine->claims[first].next_of_name = id;
    if (claim->next_of_name != NO_ID)
        engine->claims[claim->next_of_name].previous_of_name = id;
}

// The next claim of the name takes the place of the first: in the table of names, in the count, and
// in the queue of names to be planned.
static void first_give_way(struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    uint64_t hash = name_hash(claim->registry, claim->name);
    uint32_t next = claim->next_of_name;
    int64_t planned_ms = queue_time_ms(engine->crowded, id);
    queue_forget(engine->crowded, id);
    table_remove(names(engine), hash, id);
    if (next == NO_ID)
        return;
    engine->claims[next].is_first = true;
    engine->claims[next].count_of_name = claim->count_of_name - 1;
    table_add(names(engine), hash, next);
    if (planned_ms != INT64_MAX)
        queue_after(engine->crowded, next, QUEUE_USER, planned_ms);
}

static void claim_unchain_name(struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    if (claim->is_first) {
        first_give_way(engine, id);
        return;
    }
    engine->claims[claim_first_of_name(engine, claim)].count_of_name--;
    engine->claims[claim->previous_of_name].next_of_name = claim->next_of_name;
    if (claim->next_of_name != NO_ID)
        engine->claims[claim->next_of_name].previous_of_name = claim->previous_of_name;
}

uint32_t claim_neighbour(struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    if (claim->next_of_name != NO_ID || claim->is_first)
        return claim->next_of_name;
    return claim->previous_of_name;
}

// ---- claims that come and go --------------------------------------------------------------------

uint32_t claim_make(struct engine *engine, uint32_t key, const struct claim_want *want)
{
    uint32_t id = slots_take(&engine->claim_slots);
    mem_reserve(&engine->claims, &engine->claim_capacity, engine->claim_slots.end);
    struct claim *claim = &engine->claims[id];
    *claim = (struct claim){.key = key,
                            .next_of_key = engine->keys[key].first_claim,
                            .next_of_name = NO_ID,
                            .registry = registry_get(engine, want->registry),
                            .type = want->set.type,
                            .name_holder = NO_ID};
    claim->name =
        join_name(engine->claim_slab, want->set.domain, want->set.subdomain, &claim->subdomain_len);
    engine->registries[claim->registry].refs++;
    engine->keys[key].first_claim = id;
    claim_chain_name(engine, id);
    return id;
}

void claim_unchain_key(struct engine *engine, uint32_t id)
{
    struct claim *claim = &engine->claims[id];
    uint32_t *link = &engine->keys[claim->key].first_claim;
    while (*link != id)
        link = &engine->claims[*link].next_of_key;
    *link = claim->next_of_key;
}

void claim_free(struct engine *engine, uint32_t id)
{
    struct claim *claim = &engine->claims[id];
    claim_unchain_name(engine, id);
    claim_leave_backend(engine, claim);
    engine->registries[claim->registry].refs--;
    pending_free(claim->pending);
    name_free(claim->name);
    *claim = (struct claim){0};
    slots_give(&engine->claim_slots, id);
}

void registries_free(struct engine *engine)
{
    for (uint32_t id = 0; id < engine->claim_slots.end; id++) {
        pending_free(engine->claims[id].pending);
        if (engine->claims[id].name)
            name_free(engine->claims[id].name);
    }
    free(engine->claims);
    slots_done(&engine->claim_slots);
    slab_free(engine->claim_slab);
    table_done(&engine->by_name);
    for (size_t i = 0; i < engine->registry_count; i++)
        free(engine->registries[i].url);
    free(engine->registries);
}

// ---- the claim that is wanted -------------------------------------------------------------------

uint32_t claim_first_of_want(struct engine *engine, const struct claim_want *want)
{
    uint8_t len;
    struct registry_name at = {.registry = registry_find(engine, want->registry)};
    if (at.registry == engine->registry_count)
        return NO_ID;
    char *name = join_name(engine->claim_slab, want->set.domain, want->set.subdomain, &len);
    at.name = name;
    uint32_t first = table_find(names(engine), name_hash(at.registry, at.name), &at);
    name_free(name);
    return first == TABLE_NONE ? NO_ID : first;
}

static bool is_claim_of(const struct claim *claim, uint32_t key, uint16_t registry,
                        const struct claim_want *want)
{
    return claim->key == key && claim->registry == registry && claim->type == want->set.type &&
           text_equal(claim_subdomain(claim), want->set.subdomain) &&
           text_equal(claim_domain(claim), want->set.domain);
}

uint32_t claim_of_key(struct engine *engine, uint32_t key, const struct claim_want *want)
{
    uint16_t registry = registry_find(engine, want->registry);
    uint32_t of_name = claim_first_of_want(engine, want);
    uint32_t of_key = engine->keys[key].first_claim;
    while (of_name != NO_ID && of_key != NO_ID) {
        if (is_claim_of(&engine->claims[of_name], key, registry, want))
            return of_name;
        if (is_claim_of(&engine->claims[of_key], key, registry, want))
            return of_key;
        of_name = engine->claims[of_name].next_of_name;
        of_key = engine->claims[of_key].next_of_key;
    }
    return NO_ID;
}
