#include "kinds/zone_ref.h"

#include <string.h>

#include "base/digest.h"

enum { LABEL_OCTETS_MAX = 63, LABEL_KEPT = 52, LABEL_DIGITS = 10 };

struct zone_ref zone_ref_decode(const struct value *map)
{
    struct text name = value_text_at(map, "name");
    if (!name.at)
        return (struct zone_ref){0};
    return (struct zone_ref){.name = name, .namespace_ = value_text_at(map, "namespace")};
}

struct value *zone_ref_encode(struct arena *arena, struct zone_ref ref)
{
    if (!ref.name.at)
        return value_make(arena, VALUE_NULL);
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("name"), value_make_text(arena, ref.name));
    if (ref.namespace_.at)
        value_set(map, TEXT("namespace"), value_make_text(arena, ref.namespace_));
    return map;
}

void zone_ref_pack(struct pack_writer *out, struct zone_ref ref)
{
    pack_text(out, ref.name);
    if (ref.name.at)
        pack_text(out, ref.namespace_);
}

struct zone_ref zone_ref_unpack(struct pack_reader *in)
{
    struct zone_ref ref = {.name = unpack_text(in)};
    if (ref.name.at)
        ref.namespace_ = unpack_text(in);
    return ref;
}

void zone_label_write(struct text name, struct text namespace_, char out[ZONE_LABEL_MAX])
{
    AUTO_BUFFER full = {0};
    uint8_t hash[DIGEST_MAX];
    char digits[LABEL_DIGITS + 1];
    buffer_printf(&full, "%.*s.%.*s", TEXT_ARGS(name), TEXT_ARGS(namespace_));
    if (full.len <= LABEL_OCTETS_MAX) {
        memcpy(out, full.at, full.len + 1);
        return;
    }
    digest_of(DIGEST_SHA256, buffer_text(&full), hash);
    hex_encode(hash, LABEL_DIGITS / 2, digits);
    memcpy(out, full.at, LABEL_KEPT);
    out[LABEL_KEPT] = '-';
    memcpy(out + LABEL_KEPT + 1, digits, sizeof digits);
}

struct text zone_label_at(const struct value *object, const char *key)
{
    return value_text(value_find(value_at(object, "metadata.labels", NULL), key));
}
