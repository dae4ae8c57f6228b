#include "controllers/clusterdns/target_private.h"

#include <string.h>

#include "dns/corefile/entry.h"

// This file makes the Corefile to go back to after a refusal, and the Corefile without our part.

// Our blocks of a Corefile that ran, with room for another id.
static void write_blocks(const struct corefile *corefile, const struct owned *owned,
                         struct buffer *out)
{
    for (size_t i = 0; i < owned->count; i++) {
        const struct corefile_owned *item = &owned->items[i];
        const struct corefile_block *block = find_owned_block(corefile, item);
        if (!block)
            continue;
        size_t start = out->len;
        struct text text = corefile_block_text(corefile, block, item->name);
        buffer_add(out, text.at, text.len);
        struct text id = config_id_find((struct text){out->at + start, out->len - start});
        if (is_last_block(item) && id.at)
            memcpy(out->at + (id.at - out->at), corefile_no_id, CONFIG_ID_LEN);
    }
}

// The file that stands there, with our part of the one that ran; without one, as its owner wrote
// it.
static void splice_earlier(struct reconcile *reconcile, const struct corefile *ran,
                           const struct owned *written, bool has_root, struct value *annotations,
                           struct buffer *out)
{
    AUTO_BUFFER blocks = {0};
    struct owned owned = {0};
    struct corefile_rest rest = {0};
    struct corefile_forward root = {0};
    const struct corefile_directive *forward = has_root ? corefile_find_root_forward(ran) : NULL;
    bool can_have_root = corefile_root_forward(reconcile->live).at;
    if (!read_owned(reconcile, &owned))
        (void)guess_owned(reconcile, &owned);
    if (ran)
        write_blocks(ran, written, &blocks);
    bool is_read = forward && corefile_read_forward(reconcile->arena, ran, forward, &root, &rest);
    const struct edit edit = {
        .owned = &owned,
        .blocks = buffer_text(&blocks),
        .keeps_root = !can_have_root,
        .root = is_read ? &root : NULL,
    };
    splice_target(reconcile, &edit, annotations, out);
}

static void forget(struct reconcile *reconcile, struct value *annotations)
{
    set_annotation(reconcile, annotations, CONFIG_ID_ANNOTATION, (struct text){0});
    set_annotation(reconcile, annotations, ZONES_ANNOTATION, (struct text){0});
}

static struct value *make_text_of_others(struct reconcile *reconcile)
{
    AUTO_BUFFER out = {0};
    struct value *annotations = value_make(reconcile->arena, VALUE_MAP);
    splice_earlier(reconcile, NULL, NULL, false, annotations, &out);
    forget(reconcile, annotations);
    set_annotation(reconcile, annotations, FORWARD_ANNOTATION, (struct text){0});
    reconcile->text = (struct text){arena_copy(reconcile->arena, out.at, out.len), out.len};
    reconcile->id[0] = '\0';
    return annotations;
}

static bool make_adopted_again(struct reconcile *reconcile, struct text id)
{
    AUTO_BUFFER out = {0};
    struct text text;
    struct owned written = {0};
    const struct value *kept;
    struct value *annotations = value_make(reconcile->arena, VALUE_MAP);
    if (!read_owned_copy(reconcile, id, &text, &kept, &written))
        return false;
    CLEANUP(corefile) struct corefile *ran = parse_corefile(reconcile, text);
    splice_earlier(reconcile, ran, &written, value_text(value_find(kept, FORWARD_ANNOTATION)).at,
                   annotations, &out);
    settle_config_id(reconcile, &out);
    set_annotation(reconcile, annotations, CONFIG_ID_ANNOTATION, text_of(reconcile->id));
    set_annotation(reconcile, annotations, ZONES_ANNOTATION,
                   value_text(value_find(kept, ZONES_ANNOTATION)));
    reconcile->annotations = annotations;
    return !lint_text(reconcile, reconcile->text);
}

// A file that is all ours.
static bool make_own_again(struct reconcile *reconcile, struct text id)
{
    const struct value *annotations = NULL;
    struct text text = reconcile->mode == MODE_FILE ? good_file_text(reconcile)
                                                    : copy_text(reconcile, id, &annotations);
    if (!text.at || id.len != CONFIG_ID_LEN || lint_text(reconcile, text))
        return false;
    memcpy(reconcile->id, id.at, CONFIG_ID_LEN);
    reconcile->text = text;
    reconcile->annotations = annotations;
    return true;
}

// The Corefile was not there before us, so it is removed.
void make_no_text(struct reconcile *reconcile)
{
    struct value *annotations = value_make(reconcile->arena, VALUE_MAP);
    set_annotation(reconcile, annotations, CONFIG_ID_ANNOTATION, (struct text){0});
    reconcile->annotations = annotations;
    drop_text(reconcile);
}

// A Corefile that a first Pod refused never took the place of the one that stands there, which
// stays then, though it was never proved.
static bool keep_own(struct reconcile *reconcile)
{
    struct text text = reconcile->target.text;
    struct text id = text.at ? config_id_find(text) : (struct text){0};
    if (reconcile->mode != MODE_OWNED || id.len != CONFIG_ID_LEN ||
        text_equal(id, reconcile->before.config.refused))
        return false;
    struct value *annotations = value_make(reconcile->arena, VALUE_MAP);
    memcpy(reconcile->id, id.at, CONFIG_ID_LEN);
    set_annotation(reconcile, annotations, CONFIG_ID_ANNOTATION, text_of(reconcile->id));
    reconcile->annotations = annotations;
    reconcile->text = text;
    return true;
}

bool make_earlier_text(struct reconcile *reconcile)
{
    const struct dns_config *before = &reconcile->before.config;
    if (reconcile->mode == MODE_IMPORT && !reconcile->before.config.proved_count) {
        make_no_text(reconcile);
        return true;
    }
    if (reconcile->mode == MODE_ADOPTED && !reconcile->live)
        return false;
    for (size_t i = 0; i < before->proved_count; i++)
        if (reconcile->mode == MODE_ADOPTED ? make_adopted_again(reconcile, before->proved[i])
                                            : make_own_again(reconcile, before->proved[i]))
            return true;
    if (reconcile->mode != MODE_ADOPTED)
        return keep_own(reconcile);
    reconcile->annotations = make_text_of_others(reconcile);
    return true;
}

bool make_text_without_us(struct reconcile *reconcile)
{
    reconcile->live = parse_corefile(reconcile, reconcile->target.text);
    if (reconcile->mode != MODE_ADOPTED || !reconcile->live ||
        lint_text(reconcile, reconcile->target.text))
        return false; // a file that CoreDNS refuses is not edited
    reconcile->annotations = make_text_of_others(reconcile);
    return !is_in_place(reconcile);
}
