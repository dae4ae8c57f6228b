#include "model/model_server_private.h"

#include <stdlib.h>
#include <string.h>

static void claim_done(struct model_claim *claim)
{
    free(claim->manager);
    free(claim->key);
}

void model_claims_done(struct model_claims *claims)
{
    for (size_t i = 0; i < claims->count; i++)
        claim_done(&claims->items[i]);
    free(claims->items);
    *claims = (struct model_claims){0};
}

void model_claims_drop(struct model_claims *claims, size_t at)
{
    claim_done(&claims->items[at]);
    claims->items[at] = claims->items[--claims->count];
}

static struct model_claim *find(const struct model_claims *claims, const char *manager,
                                struct text key, bool is_applied)
{
    for (size_t i = 0; i < claims->count; i++) {
        struct model_claim *claim = &claims->items[i];
        if (claim->is_applied == is_applied && text_is(key, claim->key) &&
            !strcmp(claim->manager, manager))
            return claim;
    }
    return NULL;
}

void model_claims_add(struct model_claims *claims, const char *manager, struct text key,
                      bool is_applied)
{
    struct buffer copy = {0};
    if (find(claims, manager, key, is_applied))
        return;
    buffer_add(&copy, key.at, key.len);
    mem_reserve(&claims->items, &claims->capacity, claims->count + 1);
    claims->items[claims->count++] =
        (struct model_claim){mem_copy_text(manager), buffer_steal(&copy), is_applied};
}

static bool is_held(const struct model_claim *claim, const char *but, struct text key)
{
    return text_is(key, claim->key) && (!but || strcmp(claim->manager, but) != 0);
}

bool model_claims_has(const struct model_claims *claims, const char *manager, struct text key)
{
    for (size_t i = 0; i < claims->count; i++)
        if (is_held(&claims->items[i], manager, key))
            return true;
    return false;
}

void model_claims_take(struct model_claims *claims, const char *manager, struct text key)
{
    for (size_t i = claims->count; i-- > 0;)
        if (is_held(&claims->items[i], manager, key))
            model_claims_drop(claims, i);
}

struct value *model_claims_keys(struct arena *arena, const struct value *metadata)
{
    struct value *keys = value_make(arena, VALUE_LIST);
    value_each (item, value_find(metadata, "finalizers"))
        value_append(keys, value_make_text(arena, text_of(arena_printf(arena, "f:%.*s",
                                                                       TEXT_ARGS(item->text)))));
    value_each (item, value_find(metadata, "annotations"))
        value_append(keys, value_make_text(arena, text_of(arena_printf(arena, "a:%.*s",
                                                                       TEXT_ARGS(item->key)))));
    value_each (item, value_find(metadata, "labels"))
        value_append(keys, value_make_text(arena, text_of(arena_printf(arena, "l:%.*s",
                                                                       TEXT_ARGS(item->key)))));
    return keys;
}

static bool holds(const struct value *list, struct text item)
{
    value_each (each, list)
        if (text_equal(value_text(each), item))
            return true;
    return false;
}

const char *model_claims_map(struct text key)
{
    return text_starts(key, "a:") ? "annotations" : text_starts(key, "l:") ? "labels" : NULL;
}

static bool is_same_mark(const struct value *before, const struct value *after, struct text key)
{
    const struct text name = {key.at + 2, key.len - 2};
    const char *map = model_claims_map(key);
    if (!map)
        return true;
    return value_equal(value_find_text(value_find(before, map), name),
                       value_find_text(value_find(after, map), name));
}

void model_claims_follow(struct model_claims *claims, const char *manager,
                         const struct value *before, const struct value *after)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *old = model_claims_keys(arena, before);
    const struct value *now = model_claims_keys(arena, after);
    value_each (key, old)
        if (!holds(now, key->text))
            model_claims_take(claims, NULL, key->text);
    value_each (key, now) {
        if (holds(old, key->text) && is_same_mark(before, after, key->text))
            continue;
        model_claims_take(claims, manager, key->text);
        model_claims_add(claims, manager, key->text, false);
    }
}
