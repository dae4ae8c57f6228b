#include "controllers/clusterdns/target_private.h"

#include <string.h>

// This file finds out which server blocks in a Corefile of somebody else are ours.

static struct text *texts_of(struct arena *arena, const struct value *list, size_t *count)
{
    struct text *texts = arena_new_array(arena, struct text, value_count(list) + 1);
    *count = 0;
    value_each (item, list)
        if (item->type == VALUE_TEXT)
            texts[(*count)++] = item->text;
    return texts;
}

// The annotation is what counts: tools that write the file anew drop comments.
bool read_zones(const struct reconcile *reconcile, struct text annotation, struct owned *out)
{
    struct error err;
    const struct value *list =
        annotation.at ? value_read_json(reconcile->arena, annotation, &value_manifest_limits, &err)
                      : NULL;
    if (!list || list->type != VALUE_LIST)
        return false;
    out->items = arena_new_array(reconcile->arena, struct corefile_owned, list->count + 1);
    value_each (item, list) {
        struct corefile_owned *owned = &out->items[out->count++];
        owned->name = value_text_at(item, "name");
        owned->zones = texts_of(reconcile->arena, value_list_at(item, "zones"), &owned->zone_count);
    }
    return true;
}

bool read_owned(const struct reconcile *reconcile, struct owned *out)
{
    return read_zones(reconcile, config_map_annotation(&reconcile->target.map, ZONES_ANNOTATION),
                      out);
}

const struct text last_zones[LAST_ZONES] = {{"hostname.bind", 13}, {"version.bind", 12}};

const struct corefile_block *find_owned_block(const struct corefile *corefile,
                                              const struct corefile_owned *owned)
{
    uint16_t port;
    const struct corefile_block *block =
        owned->zone_count ? corefile_find_zone(corefile, owned->zones[0], &port) : NULL;
    return block && corefile_is_owned(block, owned, 1) ? block : NULL;
}

bool is_last_block(const struct corefile_owned *owned)
{
    return owned->zone_count == LAST_ZONES && text_equal(owned->zones[0], last_zones[0]);
}

static bool has_same_block(const struct reconcile *reconcile, const struct corefile *copy,
                           const struct corefile_owned *owned)
{
    const struct corefile_block *live = find_owned_block(reconcile->live, owned);
    const struct corefile_block *there = find_owned_block(copy, owned);
    if (!live || !there)
        return false;
    return is_last_block(owned) ||
           text_equal(corefile_block_text(reconcile->live, live, owned->name),
                      corefile_block_text(copy, there, owned->name));
}

// Our blocks in a Corefile of which there is a copy. False: there is none.
bool read_owned_copy(const struct reconcile *reconcile, struct text id, struct text *text,
                     const struct value **annotations, struct owned *out)
{
    *text = copy_text(reconcile, id, annotations);
    return text->at &&
           read_zones(reconcile, value_text(value_find(*annotations, ZONES_ANNOTATION)), out);
}

static bool has_zones(const struct owned *owned, const struct corefile_owned *item)
{
    for (size_t i = 0; i < owned->count; i++)
        if (item->zone_count && text_equal(owned->items[i].zones[0], item->zones[0]))
            return true;
    return false;
}

static bool guess_by_copy(const struct reconcile *reconcile, struct text id, struct owned *out)
{
    struct text text;
    struct owned written = {0};
    const struct value *annotations;
    if (!read_owned_copy(reconcile, id, &text, &annotations, &written))
        return false;
    CLEANUP(corefile) struct corefile *copy = parse_corefile(reconcile, text);
    struct corefile_owned *items =
        arena_new_array(reconcile->arena, struct corefile_owned, out->count + written.count + 1);
    for (size_t i = 0; i < out->count; i++)
        items[i] = out->items[i];
    out->items = items;
    for (size_t i = 0; i < written.count; i++)
        if (!has_zones(out, &written.items[i]) &&
            has_same_block(reconcile, copy, &written.items[i]))
            out->items[out->count++] = written.items[i];
    return true;
}

// Without the annotation a block is ours if it has the text that we wrote last. False: there is no
// copy of that.
bool guess_owned(const struct reconcile *reconcile, struct owned *out)
{
    const struct dns_config *before = &reconcile->before.config;
    bool is_known = guess_by_copy(reconcile, before->written, out);
    for (size_t i = 0; i < before->proved_count; i++)
        is_known |= guess_by_copy(reconcile, before->proved[i], out);
    return is_known;
}

static bool is_as_rendered(const struct reconcile *reconcile, const struct corefile_input *input,
                           const struct corefile_entry *entry)
{
    AUTO_BUFFER rendered = {0};
    uint16_t port;
    const struct corefile_block *block =
        corefile_find_zone(reconcile->live, entry->zones[0], &port);
    corefile_render_entry(&rendered, input, entry);
    return block && text_equal(buffer_text(&rendered),
                               corefile_block_text(reconcile->live, block, entry->name));
}

// Without a copy, too, a block is ours if it has the text that we would write now. The last block
// is known by its config id.
void guess_rendered(const struct reconcile *reconcile, const struct corefile_input *input,
                    struct owned *out)
{
    uint16_t port;
    out->items = arena_new_array(reconcile->arena, struct corefile_owned, input->entry_count + 1);
    for (size_t i = 0; i < input->entry_count; i++) {
        const struct corefile_entry *entry = &input->entries[i];
        if (is_as_rendered(reconcile, input, entry))
            out->items[out->count++] =
                (struct corefile_owned){entry->name, entry->zones, entry->zone_count};
    }
    const struct corefile_block *last = corefile_find_zone(reconcile->live, last_zones[1], &port);
    if (last && config_id_find(corefile_block_text(reconcile->live, last, TEXT(""))).at)
        out->items[out->count++] =
            (struct corefile_owned){.zones = last_zones, .zone_count = LAST_ZONES};
}
