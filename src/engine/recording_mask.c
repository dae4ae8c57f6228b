#include <string.h>

#include "base/digest.h"
#include "engine/recording_private.h"

// The digits of a hash in place of a secret.

enum { MASK_OCTETS = 32 };

struct text recording_mask(struct recording *recording, struct arena *arena, struct text secret)
{
    uint8_t hash[MASK_OCTETS];
    char *digits = arena_alloc(arena, 2 * sizeof hash + 1, 1);
    hmac(DIGEST_SHA256, recording->mask, &secret, 1, hash);
    hex_encode(hash, sizeof hash, digits);
    recording->has_masked = true;
    return (struct text){digits, 2 * sizeof hash};
}

struct masking {
    struct recording *recording; // NULL: secrets go, and nothing takes their place
    struct arena *arena;
    bool
        is_base64; // what stands there is decoded first, so that both forms of one secret are equal
};

static struct text mask_base64(const struct masking *masking, struct text text)
{
    AUTO_BUFFER plain = {0};
    AUTO_BUFFER encoded = {0};
    buffer_reserve(&plain, text.len + 1); // no growing: it would leave a copy behind
    bool is_base64 = base64_decode(&plain, text, NULL);
    struct text masked =
        recording_mask(masking->recording, masking->arena, is_base64 ? buffer_text(&plain) : text);
    secret_wipe(plain.at, plain.len);
    base64_encode(&encoded, masked.at, masked.len);
    return (struct text){arena_copy(masking->arena, encoded.at, encoded.len), encoded.len};
}

static void mask_all(const struct masking *masking, struct value *value)
{
    if (value->type == VALUE_LIST || value->type == VALUE_MAP)
        value_each (item, value)
            mask_all(masking, item);
    if (value->type != VALUE_TEXT || !value->text.len)
        return;
    value->text = masking->is_base64
                      ? mask_base64(masking, value->text)
                      : recording_mask(masking->recording, masking->arena, value->text);
}

// `path` as a kind's table has it: "spec.oneOf[].secret"; absent: the value itself.
static void mask_at(const struct masking *masking, struct value *value, struct text path)
{
    static const char items[] = "[]";
    struct text name;
    if (!value)
        return;
    if (!text_cut(&path, '.', &name)) {
        if (masking->recording)
            mask_all(masking, value);
        return;
    }
    bool is_list = text_ends(name, items);
    name.len -= is_list ? sizeof items - 1 : 0;
    struct value *found = value_find_text(value, name);
    if (found && !path.at && !masking->recording)
        value_remove(value, arena_copy(masking->arena, name.at, name.len));
    else if (!is_list)
        mask_at(masking, found, path);
    else
        value_each (item, found)
            mask_at(masking, item, path);
}

static void mask_fields(struct recording *recording, struct arena *arena, const struct kind *kind,
                        struct value *tree)
{
    for (size_t i = 0; i < kind->field_count; i++) {
        const struct field *field = &kind->fields[i];
        const struct masking masking = {recording, arena, field->flags & FIELD_BYTES};
        if (field->flags & FIELD_SECRET)
            mask_at(&masking, tree, text_of(field->path));
    }
}

// What was applied last stands there once more, secrets and all; a server keeps who set which
// field.
static void drop_copies(struct value *tree)
{
    static const char *const names[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                        "objectset.rio.cattle.io/applied", // k3s
                                        "kapp.k14s.io/original"};
    struct value *metadata = value_find(tree, "metadata");
    struct value *annotations = value_find(metadata, "annotations");
    for (size_t i = 0; annotations && i < COUNT_OF(names); i++)
        value_remove(annotations, names[i]);
    if (metadata)
        value_remove(metadata, "managedFields");
}

// ---- where no field is for a secret -------------------------------------------------------------

enum { LEAVES_MAX = 2000 }; // each is judged with the whole object

// The texts of a tree, in order, but for names: what a value is depends on the name beside it.
struct leaves {
    struct value *items[LEAVES_MAX];
    size_t count; // LEAVES_MAX: there may be more
};

static void add_leaves(struct leaves *leaves, struct value *value)
{
    value_each (item, value)
        add_leaves(leaves, item);
    if (value && value->type == VALUE_TEXT && !text_is(value->key, "name") &&
        leaves->count < LEAVES_MAX)
        leaves->items[leaves->count++] = value;
}

static bool stands_among(const struct leaves *leaves, struct text text)
{
    for (size_t i = 0; i < leaves->count; i++)
        if (text_equal(leaves->items[i]->text, text))
            return true;
    return false;
}

// Leaves those texts of the object that make it one with a secret: the others come back one by one,
// each of which does not. False: no text does, or there are too many.
static bool find_secrets(const struct kind *kind, struct value *tree, struct leaves *leaves)
{
    struct text texts[LEAVES_MAX];
    struct leaves all = {.count = 0};
    add_leaves(&all, value_find(tree, "spec"));
    leaves->count = 0;
    for (size_t i = 0; i < all.count; i++) {
        texts[i] = all.items[i]->text;
        all.items[i]->text = TEXT("");
    }
    if (all.count == LEAVES_MAX || kind->has_secret(tree))
        return false;
    for (size_t i = 0; i < all.count; i++) {
        struct text text = all.items[i]->text;
        all.items[i]->text = texts[i];
        if (!kind->has_secret(tree))
            continue;
        all.items[i]->text = text;
        leaves->items[leaves->count++] = all.items[i];
        texts[leaves->count - 1] = texts[i];
    }
    for (size_t i = 0; i < leaves->count; i++)
        leaves->items[i]->text = texts[i];
    return true;
}

static void mask_found(struct recording *recording, struct arena *arena, struct value *value,
                       const struct leaves *secrets)
{
    value_each (item, value)
        mask_found(recording, arena, item, secrets);
    if (value && value->type == VALUE_TEXT && stands_among(secrets, value->text))
        value->text = recording_mask(recording, arena, value->text);
}

static void mask_others(struct recording *recording, struct arena *arena, const struct kind *kind,
                        const struct value *tree, struct value *copy)
{
    struct leaves secrets;
    if (!kind->has_secret || !kind->has_secret(tree))
        return;
    struct value *bare = value_copy(arena, tree);
    mask_fields(NULL, arena, kind, bare);
    if (!kind->has_secret(bare))
        return;
    if (find_secrets(kind, bare, &secrets)) {
        mask_found(recording, arena, value_find(copy, "spec"), &secrets);
        return;
    }
    value_remove(copy, "spec");
    recording->has_masked = true;
}

struct value *recording_mask_object(struct recording *recording, struct arena *arena,
                                    const struct kind *kind, const struct value *tree)
{
    struct value *copy = value_copy(arena, tree);
    drop_copies(copy);
    mask_fields(recording, arena, kind, copy);
    mask_others(recording, arena, kind, tree, copy);
    return copy;
}
