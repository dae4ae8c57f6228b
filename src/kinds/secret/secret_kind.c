#include "kinds/secret/secret_kind.h"

#include "base/digest.h"

static const struct field fields[] = {
    {.path = "type", .type = FIELD_TEXT, .max = 253, .doc = "Sort of the Secret."},
    {.path = "immutable", .type = FIELD_BOOL, .doc = "Its content never changes."},
    {.path = "data",
     .type = FIELD_TEXT_MAP,
     .flags = FIELD_SECRET | FIELD_BYTES,
     .doc = "Keys with base64 values."},
    {.path = "stringData",
     .type = FIELD_TEXT_MAP,
     .flags = FIELD_SECRET,
     .doc = "Keys with plain values; they win over data."},
};

static void buffer_wipe(struct buffer *buffer)
{
    if (buffer->at)
        secret_wipe(buffer->at, buffer->capacity);
    buffer_done(buffer);
}
#define SECRET_BUFFER __attribute__((cleanup(buffer_wipe))) struct buffer

// False when the value is not base64.
static bool pack_base64(struct pack_writer *out, struct text key, struct text base64)
{
    SECRET_BUFFER plain = {0};
    buffer_reserve(&plain, base64.len + 1); // no growing: it would leave a copy behind
    if (!base64_decode(&plain, base64, NULL))
        return false;
    pack_number(out, 1);
    pack_text(out, key);
    pack_text(out, buffer_text(&plain));
    return true;
}

// A sequence of (1, key, value), ended by 0; plain ones first.
static void pack_spec(const struct value *object, struct pack_writer *out)
{
    const struct value *plain = value_find(object, "stringData");
    const struct value *base64 = value_find(object, "data");
    value_each (item, plain && plain->type == VALUE_MAP ? plain : NULL) {
        pack_number(out, 1);
        pack_text(out, item->key);
        pack_text(out, value_text(item));
    }
    value_each (item, base64 && base64->type == VALUE_MAP ? base64 : NULL)
        if (!value_find_text(plain, item->key))
            pack_base64(out, item->key, value_text(item));
    pack_number(out, 0);
}

static void validate(const struct value *object, struct findings *findings)
{
    const struct value *base64 = value_find(object, "data");
    value_each (item, base64 && base64->type == VALUE_MAP ? base64 : NULL) {
        struct error err;
        SECRET_BUFFER plain = {0};
        buffer_reserve(&plain, value_text(item).len + 1);
        if (!base64_decode(&plain, value_text(item), &err))
            findings_add(findings, FINDING_ERROR,
                         arena_printf(findings->arena, "data.%.*s", TEXT_ARGS(item->key)),
                         "data.%.*s must be base64: encode it, or use stringData",
                         TEXT_ARGS(item->key));
    }
}

struct secret *secret_kind_get(struct text spec, struct text key)
{
    struct pack_reader in = pack_open(spec);
    while (unpack_number(&in)) {
        struct text found = unpack_text(&in);
        struct text value = unpack_text(&in);
        if (text_equal(found, key))
            return secret_new(value.at, value.len);
    }
    return NULL;
}

const struct kind secret_kind = {
    .group = "",
    .version = "v1",
    .name = "Secret",
    .plural = "secrets",
    .singular = "secret",
    .is_namespaced = true,
    .is_foreign = true,
    .is_complete = true,
    .is_secret = true,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .doc = "Octets that requests are signed with.",
    .pack_spec = pack_spec,
    .validate = validate,
};

static size_t octets_of(struct text base64)
{
    SECRET_BUFFER plain = {0};
    buffer_reserve(&plain, base64.len + 1);
    return base64_decode(&plain, base64, NULL) ? plain.len : 0;
}

void secret_kind_each_short(const struct value *object,
                            void (*call)(void *context, const struct value *item), void *context)
{
    static const char *const maps[] = {"stringData", "data"};
    for (size_t i = 0; i < COUNT_OF(maps); i++) {
        const struct value *map = value_find(object, maps[i]);
        value_each (item, map && map->type == VALUE_MAP ? map : NULL) {
            struct text text = value_text(item);
            size_t len = i == 0 ? text.len : octets_of(text);
            if (len && len < SECRET_OCTETS_GOOD)
                call(context, item);
        }
    }
}
