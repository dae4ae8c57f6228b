#include "store/object.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/secret.h"
#include "base/when.h"
#include "store/status.h"

static bool holds_secrets(const struct kind *kind)
{
    return kind->is_secret || kind->has_secret;
}

// ---- status -------------------------------------------------------------------------------------

static bool is_own_field(const struct kind *kind, struct text key)
{
    static const char status[] = "status.";
    for (size_t i = 0; i < kind->field_count; i++) {
        const char *path = kind->fields[i].path;
        if (!strncmp(path, status, sizeof status - 1) && text_is(key, path + sizeof status - 1))
            return true;
    }
    return false;
}

static bool has_foreign_condition(const struct kind *kind, const struct value *conditions)
{
    if (!conditions || conditions->type != VALUE_LIST)
        return false;
    value_each (condition, conditions) {
        if (!status_is_own_condition(kind, value_text_at(condition, "type")))
            return true;
    }
    return false;
}

static bool has_foreign(const struct kind *kind, const struct value *status)
{
    value_each (item, status) {
        if (!is_own_field(kind, item->key))
            return true;
    }
    return has_foreign_condition(kind, value_find(status, "conditions"));
}

static struct value *own_conditions(struct arena *arena, const struct kind *kind,
                                    const struct value *conditions)
{
    struct value *own = value_make(arena, VALUE_LIST);
    value_each (condition, conditions) {
        if (status_is_own_condition(kind, value_text_at(condition, "type")))
            value_append(own, value_copy(arena, condition));
    }
    return own;
}

static struct value *own_status(struct arena *arena, const struct kind *kind,
                                const struct value *status)
{
    struct value *own = value_make(arena, VALUE_MAP);
    value_each (item, status) {
        if (is_own_field(kind, item->key) && !status_is_bulk(kind, item->key))
            value_set(own, item->key, value_copy(arena, item));
    }
    const struct value *conditions = value_find(status, "conditions");
    if (has_foreign_condition(kind, conditions))
        value_set(own, TEXT("conditions"), own_conditions(arena, kind, conditions));
    return own;
}

static void fill_status(struct object *object, const struct value *status)
{
    if (!status || status->type != VALUE_MAP || !status->count)
        return;
    object->has_foreign_status = has_foreign(object->kind, status);
    if (!object->has_foreign_status && !object->kind->bulk_status) {
        object->status_id = value_content_id(status);
        return;
    }
    CLEANUP(arena) struct arena *arena = arena_new();
    object->status_id = value_content_id(own_status(arena, object->kind, status));
}

// ---- metadata -----------------------------------------------------------------------------------

static int64_t seconds_at(const struct value *metadata, const char *key)
{
    struct text text = value_text_at(metadata, key);
    int64_t unix_ms;
    if (!text.at || !when_parse(text, &unix_ms, NULL))
        return 0;
    return unix_ms / 1000;
}

// Seconds since 1970 fit 32 bits until 2106.
static uint32_t clamped_s(int64_t unix_s)
{
    return unix_s < 0 ? 0 : unix_s > UINT32_MAX ? UINT32_MAX : (uint32_t)unix_s;
}

static void fill_finalizers(struct object *object, const char *finalizer,
                            const struct value *metadata)
{
    value_each (item, value_find(metadata, "finalizers")) {
        if (finalizer && text_is(value_text(item), finalizer))
            object->has_finalizer = true;
        else
            object->has_other_finalizers = true;
    }
}

static uint32_t generation_of(const struct value *metadata)
{
    int64_t generation = value_int_at(metadata, "generation", 0);
    return generation > 0 && generation <= UINT32_MAX ? (uint32_t)generation : 0;
}

static void fill_metadata(struct object *object, const char *finalizer,
                          const struct value *metadata)
{
    object->generation = generation_of(metadata);
    object->created_s = clamped_s(seconds_at(metadata, "creationTimestamp"));
    object->deleted_s = clamped_s(seconds_at(metadata, "deletionTimestamp"));
    fill_finalizers(object, finalizer, metadata);
    object_uid_parse(value_text_at(metadata, "uid"), object->uid);
}

// ---- bodies -------------------------------------------------------------------------------------

// Both with one writer, so that ours refers back to what stands in spec.
struct bodies {
    struct pack_writer writer;
    size_t spec_len;
};

static void bodies_init(struct bodies *bodies, const struct kind *kind, const struct value *tree)
{
    pack_init(&bodies->writer);
    kind->pack_spec(tree, &bodies->writer);
    bodies->spec_len = bodies->writer.out.len;
    if (kind->pack_managed)
        kind->pack_managed(tree, &bodies->writer);
}

static void bodies_done(struct bodies *bodies, bool is_secret)
{
    if (is_secret && bodies->writer.out.at)
        secret_wipe(bodies->writer.out.at, bodies->writer.out.len);
    pack_done(&bodies->writer);
}

static char *put(char *at, struct text text)
{
    if (text.len)
        memcpy(at, text.at, text.len);
    at[text.len] = '\0';
    return at + text.len + 1;
}

static size_t data_len(const struct object *object)
{
    return (size_t)object->namespace_len + object->name_len + object->version_len + 3 +
           object->spec_len + object->managed_len;
}

static size_t allocated(const struct object *object)
{
    size_t step = alignof(struct object);
    size_t octets = (object_octets(object) + step - 1) / step * step;
    return octets < sizeof *object ? sizeof *object : octets;
}

static struct object *make(const struct kind *kind, const struct value *metadata,
                           const struct bodies *bodies)
{
    struct text both = buffer_text(&bodies->writer.out);
    struct text texts[] = {value_text_at(metadata, "namespace"), value_text_at(metadata, "name"),
                           value_text_at(metadata, "resourceVersion")};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        must(texts[i].len <= UINT8_MAX);
    must(both.len <= UINT32_MAX);
    struct object frame = {
        .kind = kind,
        .refs = 1,
        .namespace_len = (uint8_t)texts[0].len,
        .name_len = (uint8_t)texts[1].len,
        .version_len = (uint8_t)texts[2].len,
        .spec_len = (uint32_t)bodies->spec_len,
        .managed_len = (uint32_t)(both.len - bodies->spec_len),
    };
    struct object *object = mem_new(1, allocated(&frame));
    memcpy(object, &frame, offsetof(struct object, data));
    char *at = object->data;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        at = put(at, texts[i]);
    memcpy(at, both.at, both.len);
    return object;
}

// ---- public -------------------------------------------------------------------------------------

struct object *object_new(const struct kind *kind, const char *finalizer, const struct value *tree)
{
    const struct value *metadata = value_find(tree, "metadata");
    struct bodies bodies;
    bodies_init(&bodies, kind, tree);
    struct object *object = make(kind, metadata, &bodies);
    bodies_done(&bodies, holds_secrets(kind));
    fill_metadata(object, finalizer, metadata);
    fill_status(object, value_find(tree, "status"));
    object->is_over = kind->is_over && kind->is_over(tree);
    return object;
}

struct object *object_graft(const struct object *metadata, const struct object *bodies)
{
    size_t head = offsetof(struct object, data) + metadata->namespace_len + metadata->name_len +
                  metadata->version_len + 3;
    size_t octets = (size_t)bodies->spec_len + bodies->managed_len;
    struct object *object = mem_new(1, head + octets + sizeof *object);
    memcpy(object, metadata, head);
    memcpy((char *)object + head, object_spec(bodies).at, octets);
    object->refs = 1;
    object->is_packed = false;
    object->status_id = bodies->status_id;
    object->is_over = bodies->is_over;
    object->spec_len = bodies->spec_len;
    object->managed_len = bodies->managed_len;
    return object;
}

struct object *object_pack(struct slab *slab, struct object *object)
{
    size_t octets = allocated(object);
    must(object->refs == 1 && !object->is_packed);
    struct object *packed = slab_take(slab, octets);
    memcpy(packed, object, octets);
    packed->is_packed = true;
    object_unref(object);
    return packed;
}

// The count is the one thing of an object that moves.
static struct object *counted(const struct object *object)
{
    union {
        const struct object *shared;
        struct object *own;
    } cast = {.shared = object};
    return cast.own;
}

struct object *object_ref(const struct object *object)
{
    must(object->refs > 0 && object->refs < UINT32_MAX);
    counted(object)->refs++;
    return counted(object);
}

void object_unref(const struct object *object)
{
    if (!object)
        return;
    must(object->refs > 0);
    struct object *own = counted(object);
    if (--own->refs > 0)
        return;
    size_t octets = allocated(own);
    bool is_packed = own->is_packed;
    if (holds_secrets(own->kind))
        secret_wipe(own->data, data_len(own));
    if (is_packed)
        slab_give(own, octets);
    else
        free(own);
}

struct text object_namespace(const struct object *object)
{
    return (struct text){object->data, object->namespace_len};
}

struct text object_name(const struct object *object)
{
    return (struct text){object->data + object->namespace_len + 1, object->name_len};
}

struct text object_version(const struct object *object)
{
    return (struct text){object->data + object->namespace_len + object->name_len + 2,
                         object->version_len};
}

struct text object_spec(const struct object *object)
{
    struct text version = object_version(object);
    return (struct text){version.at + version.len + 1, object->spec_len};
}

bool object_has_status(const struct object *object)
{
    return !content_id_equal(object->status_id, (struct content_id){0});
}

bool object_has_same_spec(const struct object *a, const struct object *b)
{
    return text_equal(object_spec(a), object_spec(b));
}

uint64_t object_spec_hash(const struct object *object)
{
    struct text spec = object_spec(object);
    return hash_octets(spec.at, spec.len);
}

struct text object_managed(const struct object *object)
{
    struct text spec = object_spec(object);
    return (struct text){spec.at + spec.len, object->managed_len};
}

void object_write_name(struct buffer *out, const struct object *object)
{
    struct text namespace_ = object_namespace(object);
    struct text name = object_name(object);
    if (namespace_.len)
        buffer_printf(out, "%.*s/", TEXT_ARGS(namespace_));
    buffer_add(out, name.at, name.len);
}

int object_compare_age(const struct object *a, const struct object *b)
{
    if (a->created_s != b->created_s)
        return a->created_s < b->created_s ? -1 : 1;
    int order = strcmp(a->kind->group, b->kind->group);
    if (order == 0)
        order = strcmp(a->kind->name, b->kind->name);
    if (order == 0)
        order = text_compare(object_namespace(a), object_namespace(b));
    return order ? order : text_compare(object_name(a), object_name(b));
}

size_t object_octets(const struct object *object)
{
    return offsetof(struct object, data) + data_len(object);
}

void object_write_uid(const struct object *object, char out[37])
{
    char hex[33];
    hex_encode(object->uid, sizeof object->uid, hex);
    char *at = out;
    for (size_t i = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            *at++ = '-';
        *at++ = hex[i];
    }
    *at = '\0';
}

struct value *object_owner_references(struct arena *arena, const struct object *owner,
                                      bool is_controller)
{
    AUTO_BUFFER version = {0};
    char uid[37];
    struct value *list = value_make(arena, VALUE_LIST);
    struct value *reference = value_make(arena, VALUE_MAP);
    kind_api_version(&version, owner->kind);
    object_write_uid(owner, uid);
    value_put_text(arena, reference, "apiVersion", arena_copy_text(arena, version.at));
    if (is_controller)
        value_put_bool(arena, reference, "controller", true);
    value_put_text(arena, reference, "kind", owner->kind->name);
    value_put(arena, reference, "name", value_make_text(arena, object_name(owner)));
    value_put_text(arena, reference, "uid", arena_copy_text(arena, uid));
    value_append(list, reference);
    return list;
}

static bool uuid_parse(struct text text, uint8_t out[16])
{
    char hex[32];
    size_t len = 0;
    if (text.len != 36)
        return false;
    for (size_t i = 0; i < 36; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash != (text.at[i] == '-'))
            return false;
        if (!is_dash)
            hex[len++] = text.at[i];
    }
    return hex_decode((struct text){hex, len}, out, 16);
}

void object_uid_parse(struct text text, uint8_t out[16])
{
    uint8_t hash[DIGEST_MAX];
    if (uuid_parse(text, out))
        return;
    memset(out, 0, 16);
    if (!text.len)
        return;
    digest_of(DIGEST_SHA256, text, hash);
    memcpy(out, hash, 16);
}

bool object_version_number(const struct object *object, uint64_t *out)
{
    struct text version = object_version(object);
    int64_t number;
    if (!text_to_int64(version, &number) || number < 0)
        return false;
    *out = (uint64_t)number;
    return true;
}

uint64_t object_name_hash(struct text namespace_, struct text name)
{
    uint64_t mixed[2] = {hash_octets(namespace_.at, namespace_.len),
                         hash_octets(name.at, name.len)};
    return hash_octets(mixed, sizeof mixed);
}

bool object_ref_key_equal(const struct object_ref_key *a, const struct object_ref_key *b)
{
    return a->kind == b->kind && text_equal(a->name, b->name) &&
           text_equal(a->namespace_, b->namespace_);
}
