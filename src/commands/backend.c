#include "commands/backend.h"

#include <string.h>

#include "base/must.h"
#include "dns/ledger.h"
#include "providers/provider.h"

enum { BACKENDS_MAX = 1000 };

// Backends of settings are named after their provider: "pihole-upstairs".
static const char *name_of(const struct provider *provider, const char *label)
{
    size_t len = strlen(provider->name);
    bool is_named_so = !strncmp(label, provider->name, len) && label[len] == '-';
    return is_named_so ? label + len + 1 : label;
}

static struct configured_backend read_one(struct arena *arena, const struct backend_want *want)
{
    const struct provider *provider = provider_find(want->provider);
    must(provider);
    const char *label = arena_copy_text(arena, want->name);
    const char *name = name_of(provider, label);
    return (struct configured_backend){
        .provider = provider,
        .label = label,
        .name = name,
        .url = arena_copy_text(arena, want->registry),
        .title = arena_printf(arena, "%s %s", provider->title, name),
        .is_unverified = value_bool_at(want->config, "tls.skipVerify", false),
    };
}

static void add_one(struct arena *arena, struct configured_backends *backends,
                    const struct configured_backend *backend)
{
    struct configured_backend *items =
        arena_new_array(arena, struct configured_backend, backends->count + 1);
    if (backends->count)
        memcpy(items, backends->items, backends->count * sizeof *items);
    items[backends->count++] = *backend;
    backends->items = items;
}

void backends_add(struct arena *arena, struct configured_backends *backends,
                  const struct controller *controller, void *settings)
{
    for (size_t at = 0; controller->open && at < BACKENDS_MAX; at++) {
        struct backend_want want = {0};
        struct question question = {0};
        if (!controller->open(settings, at, arena, &want, &question))
            return;
        struct configured_backend backend = read_one(arena, &want);
        backend.controller = controller;
        backend.settings = settings;
        backend.at = at;
        add_one(arena, backends, &backend);
        secret_unref(want.secret);
    }
}

const struct configured_backend *backends_find(const struct configured_backends *backends,
                                               struct text label)
{
    for (size_t i = 0; i < backends->count; i++)
        if (text_is(label, backends->items[i].label))
            return &backends->items[i];
    return NULL;
}

const char *backend_late_text(struct arena *arena, const struct configured_backend *backend)
{
    return arena_printf(arena, "the %s did not answer within --timeout", backend->provider->title);
}

// "signpost-ledger-pihole-up-cdb4ee2a-x" with "pihole-" in it: up.
static bool is_shard_of(struct text shard, const struct provider *provider, struct text *name)
{
    AUTO_BUFFER backend = {0};
    buffer_printf(&backend, "%s-", provider->name);
    CLEANUP(ledger) struct ledger *ledger = ledger_new(backend.at, TEXT("."));
    size_t head = strlen(LEDGER_SHARDS) + backend.len;
    const char *tail = ledger_prefix(ledger) + head;
    if (shard.len < head || strncmp(shard.at, ledger_prefix(ledger), head) != 0)
        return false;
    const char *end = memmem(shard.at + head, shard.len - head, tail, strlen(tail));
    if (!end)
        return false;
    *name = (struct text){shard.at + head, (size_t)(end - shard.at) - head};
    return true;
}

bool backend_of_shard(struct text shard, const struct provider **provider, struct text *name)
{
    for (size_t i = 0; i < provider_count; i++) {
        *provider = providers[i];
        if (providers[i]->has_ledger && is_shard_of(shard, providers[i], name))
            return true;
    }
    return false;
}
