#include "store/folder/managed.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/when.h"
#include "store/folder/name.h"

enum { UID_OCTETS = 36 };

const struct value_limits managed_limits = {.octets = 64u << 20, .depth = 72, .aliases = 64};

struct object_ref_key subject_key(const struct subject *subject)
{
    return (struct object_ref_key){subject->type->kind, subject->namespace_, subject->name};
}

// ---- decoding -----------------------------------------------------------------------------------

static int64_t seconds_at(const struct value *metadata, const char *key)
{
    struct text text = value_text(value_find(metadata, key));
    int64_t unix_ms;
    return text.at && when_parse(text, &unix_ms, NULL) ? unix_ms / 1000 : 0;
}

static const struct value *map_at(const struct value *map, const char *key)
{
    const struct value *found = value_find(map, key);
    return value_count(found) && found->type == VALUE_MAP ? found : NULL;
}

static const struct value *owners_at(const struct value *metadata)
{
    const struct value *found = value_find(metadata, "ownerReferences");
    return value_count(found) && found->type == VALUE_LIST ? found : NULL;
}

bool managed_decode(struct managed *out, const struct store_kind *type,
                    const struct value *document)
{
    const struct value *metadata = value_find(document, "metadata");
    struct text uid = value_text(value_find(metadata, "uid"));
    int64_t version;
    struct text number = value_text(value_find(metadata, "resourceVersion"));
    if (uid.len != UID_OCTETS || !name_is_plain(uid, UID_OCTETS) ||
        !text_to_int64(number, &version) || version <= 0 || version > OURS_VERSION_MAX)
        return false;
    *out = (struct managed){
        .version = (uint64_t)version,
        .generation = value_int_at(metadata, "generation", 1),
        .created_s = seconds_at(metadata, "creationTimestamp"),
        .deleted_s = seconds_at(metadata, "deletionTimestamp"),
        .has_finalizer = type->finalizer && value_lists_text(value_find(metadata, "finalizers"),
                                                             text_of(type->finalizer)),
        .labels = map_at(metadata, "labels"),
        .annotations = map_at(metadata, "annotations"),
        .status = map_at(document, "status"),
        .last_good = map_at(document, "lastGoodSpec"),
        .fault = value_text(value_find(document, "error")),
    };
    memcpy(out->uid, uid.at, UID_OCTETS);
    return true;
}

// ---- trees --------------------------------------------------------------------------------------

static void set_text(struct arena *arena, struct value *map, struct text key, struct text text)
{
    value_set(map, key, value_make_text(arena, text));
}

static void set_number(struct arena *arena, struct value *map, struct text key, uint64_t number)
{
    char *digits = arena_printf(arena, "%" PRIu64, number);
    set_text(arena, map, key, text_of(digits));
}

static void set_time(struct arena *arena, struct value *map, struct text key, int64_t unix_s)
{
    char text[WHEN_TEXT_MAX];
    if (!unix_s)
        return;
    when_write(unix_s, text);
    set_text(arena, map, key, text_of(arena_copy_text(arena, text)));
}

// A second parent for the same children.
static struct value *share_children(struct arena *arena, const struct value *value)
{
    struct value *twin = arena_new_of(arena, struct value);
    *twin = *value;
    twin->next = NULL;
    return twin;
}

static void set_shared(struct arena *arena, struct value *map, struct text key,
                       const struct value *value)
{
    if (value)
        value_set(map, key, share_children(arena, value));
}

static bool is_body(struct text key)
{
    static const char *const others[] = {"apiVersion", "kind", "metadata", "status"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (text_is(key, others[i]))
            return false;
    return true;
}

static void set_body(struct arena *arena, struct value *map, const struct value *tree)
{
    value_each (item, tree) {
        if (is_body(item->key))
            value_set(map, item->key, share_children(arena, item));
    }
}

static struct value *make_metadata(struct arena *arena, const struct subject *subject,
                                   const struct managed *managed)
{
    struct value *metadata = value_make(arena, VALUE_MAP);
    set_text(arena, metadata, TEXT("name"), subject->name);
    if (subject->namespace_.len)
        set_text(arena, metadata, TEXT("namespace"), subject->namespace_);
    set_text(arena, metadata, TEXT("uid"), text_of(managed->uid));
    set_number(arena, metadata, TEXT("resourceVersion"), managed->version);
    value_set(metadata, TEXT("generation"), value_make_int(arena, managed->generation));
    set_time(arena, metadata, TEXT("creationTimestamp"), managed->created_s);
    set_time(arena, metadata, TEXT("deletionTimestamp"), managed->deleted_s);
    if (managed->has_finalizer) {
        struct value *finalizers = value_make(arena, VALUE_LIST);
        value_append(finalizers, value_make_text(arena, text_of(subject->type->finalizer)));
        value_set(metadata, TEXT("finalizers"), finalizers);
    }
    return metadata;
}

static struct value *make_document(struct arena *arena, const struct subject *subject,
                                   struct value *metadata)
{
    AUTO_BUFFER version = {0};
    struct value *document = value_make(arena, VALUE_MAP);
    kind_api_version(&version, subject->type->kind);
    set_text(arena, document, TEXT("apiVersion"),
             text_of(arena_copy(arena, version.at, version.len)));
    set_text(arena, document, TEXT("kind"), text_of(subject->type->kind->name));
    value_set(document, TEXT("metadata"), metadata);
    return document;
}

static struct value *make_kept(struct arena *arena, const struct subject *subject,
                               const struct managed *managed)
{
    struct value *metadata = make_metadata(arena, subject, managed);
    set_shared(arena, metadata, TEXT("labels"), managed->labels);
    set_shared(arena, metadata, TEXT("annotations"), managed->annotations);
    return make_document(arena, subject, metadata);
}

// ---- writing ------------------------------------------------------------------------------------

void managed_write(struct buffer *out, struct arena *arena, const struct subject *subject,
                   const struct managed *managed, bool is_aside)
{
    struct value *document = make_kept(arena, subject, managed);
    if (managed->fault.len)
        set_text(arena, document, TEXT("error"), managed->fault);
    set_shared(arena, document, TEXT("status"), managed->status);
    if (!is_aside)
        set_shared(arena, document, TEXT("lastGoodSpec"), managed->last_good);
    value_write_yaml(out, document, 0);
}

// ---- the document of the user -------------------------------------------------------------------

struct value *managed_last_good(struct arena *arena, const struct kind *kind,
                                const struct value *tree)
{
    const struct value *given = value_find(tree, "metadata");
    struct value *kept = value_make(arena, VALUE_MAP);
    struct value *metadata = value_make(arena, VALUE_MAP);
    set_shared(arena, metadata, TEXT("labels"), map_at(given, "labels"));
    set_shared(arena, metadata, TEXT("annotations"), map_at(given, "annotations"));
    set_shared(arena, metadata, TEXT("ownerReferences"), owners_at(given));
    if (metadata->count)
        value_set(kept, TEXT("metadata"), metadata);
    set_body(arena, kept, tree);
    if (kind->has_their_status)
        set_shared(arena, kept, TEXT("status"), map_at(tree, "status"));
    return kept;
}

struct content_id managed_body_id(struct arena *arena, const struct value *tree)
{
    struct value *body = value_make(arena, VALUE_MAP);
    set_body(arena, body, tree);
    return value_content_id(body);
}

static bool is_same(const struct value *mine, const struct value *theirs)
{
    return mine == theirs || (mine && theirs && value_equal(mine, theirs));
}

bool managed_same_beside(const struct value *a, const struct value *b)
{
    static const char *const keys[] = {"labels", "annotations"};
    const struct value *mine = value_find(a, "metadata");
    const struct value *theirs = value_find(b, "metadata");
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (!is_same(map_at(mine, keys[i]), map_at(theirs, keys[i])))
            return false;
    return is_same(owners_at(mine), owners_at(theirs)) &&
           is_same(map_at(a, "status"), map_at(b, "status"));
}

static const struct value *merge_marks(struct arena *arena, const struct value *theirs,
                                       const struct value *own)
{
    if (!theirs || !own)
        return theirs ? theirs : own;
    struct value *merged = value_make(arena, VALUE_MAP);
    value_each (item, theirs) {
        value_set(merged, item->key, share_children(arena, item));
    }
    value_each (item, own) {
        value_set(merged, item->key, share_children(arena, item));
    }
    return merged;
}

static bool is_own_label(const struct kind *kind, struct text key)
{
    for (const char *const *at = kind->own_labels; at && *at; at++)
        if (text_is(key, *at))
            return true;
    return false;
}

// Without those that only we write.
static const struct value *labels_of_user(struct arena *arena, const struct kind *kind,
                                          const struct value *labels)
{
    if (!labels || !kind->own_labels)
        return labels;
    struct value *kept = value_make(arena, VALUE_MAP);
    value_each (item, labels)
        if (!is_own_label(kind, item->key))
            value_set(kept, item->key, share_children(arena, item));
    return kept->count ? kept : NULL;
}

struct value *managed_tree(struct arena *arena, const struct subject *subject,
                           const struct managed *managed)
{
    const struct value *theirs = value_find(managed->last_good, "metadata");
    struct value *metadata = make_metadata(arena, subject, managed);
    const struct value *labels =
        labels_of_user(arena, subject->type->kind, map_at(theirs, "labels"));
    set_shared(arena, metadata, TEXT("labels"), merge_marks(arena, labels, managed->labels));
    set_shared(arena, metadata, TEXT("annotations"),
               merge_marks(arena, map_at(theirs, "annotations"), managed->annotations));
    set_shared(arena, metadata, TEXT("ownerReferences"), owners_at(theirs));
    struct value *document = make_document(arena, subject, metadata);
    set_body(arena, document, managed->last_good);
    set_shared(arena, document, TEXT("status"),
               subject->type->kind->has_their_status ? map_at(managed->last_good, "status")
                                                     : managed->status);
    return document;
}

static struct text copied_text(struct arena *arena, const char *text)
{
    return text_of(arena_copy_text(arena, text));
}

const struct value *managed_change_metadata(struct arena *arena, const struct value *map,
                                            bool is_label, const struct metadata_change *changes,
                                            size_t count)
{
    struct value *result = value_make(arena, VALUE_MAP);
    value_each (item, map) {
        value_set(result, item->key, share_children(arena, item));
    }
    for (size_t i = 0; i < count; i++) {
        if (changes[i].is_label != is_label)
            continue;
        if (changes[i].value)
            set_text(arena, result, copied_text(arena, changes[i].key),
                     copied_text(arena, changes[i].value));
        else
            value_remove(result, changes[i].key);
    }
    return result->count ? result : NULL;
}
