#include "controllers/clusterdns/reconcile.h"

#include <string.h>

#include "base/certificates.h"
#include "dns/corefile/entry.h"

// This file keeps the authorities that caBundle names. Each version of such a ConfigMap has an
// immutable copy of its own in the namespace of our Pods. A Corefile names the copy in the path of
// the file, so what its Pods mount follows from its text alone, also when it is put back.

#define BUNDLE_KEY "ca-bundle.crt"
#define BUNDLES_FOLDER "/etc/pki/"
#define COPY_PREFIX "ca-"

enum { COPY_NAME_MAX = 253 };

static struct text bundle_pem(const struct reconcile *reconcile, const struct object *object)
{
    struct config_map map;
    config_map_unpack(reconcile->arena, object_spec(object), &map);
    return config_map_data(&map, BUNDLE_KEY);
}

static const struct object *find_source(const struct reconcile *reconcile, struct text name)
{
    return find_input_object(reconcile, INPUT_CONFIG_MAPS, reconcile->settings->ca_namespace, name);
}

static const struct object *find_bundle_copy(const struct reconcile *reconcile, struct text copy)
{
    return find_input_object(reconcile, INPUT_CONFIG_MAPS, reconcile->settings->dns_namespace,
                             copy);
}

// ---- what a Corefile mounts ---------------------------------------------------------------------

struct bundle_mount {
    struct text folder; // in the Pods
    struct text copy;   // the ConfigMap
};
struct bundle_mounts {
    struct bundle_mount *items;
    size_t count;
    size_t capacity;
};

// "/etc/pki/SERVERNAME-ca-NAME-VERSION/ca-bundle.crt": the copy is "ca-NAME-VERSION".
static bool read_mount(struct arena *arena, const struct corefile_forward *forward,
                       struct bundle_mount *out)
{
    static const char file[] = "/" BUNDLE_KEY;
    struct text path = forward->tls_bundle;
    struct text head =
        text_of(arena_printf(arena, BUNDLES_FOLDER "%.*s-", TEXT_ARGS(forward->tls_server_name)));
    if (!path.at || !text_starts(path, head.at) || !text_ends(path, file))
        return false;
    out->folder = (struct text){path.at, path.len - (sizeof file - 1)};
    out->copy = (struct text){path.at + head.len, out->folder.len - head.len};
    return text_starts(out->copy, COPY_PREFIX);
}

static struct text copy_of(struct arena *arena, struct text text)
{
    return (struct text){arena_copy(arena, text.at, text.len), text.len};
}

static void add_mount(struct arena *arena, struct bundle_mounts *mounts,
                      const struct bundle_mount *mount)
{
    for (size_t i = 0; i < mounts->count; i++)
        if (text_equal(mounts->items[i].folder, mount->folder))
            return;
    arena_reserve(arena, &mounts->items, &mounts->capacity, mounts->count + 1);
    mounts->items[mounts->count++] =
        (struct bundle_mount){copy_of(arena, mount->folder), copy_of(arena, mount->copy)};
}

static void collect_block_mounts(struct arena *arena, const struct corefile *corefile,
                                 const struct corefile_block *block, struct bundle_mounts *mounts)
{
    for (size_t i = 0; i < block->directive_count; i++) {
        struct corefile_forward forward = {0};
        struct corefile_rest rest = {0};
        struct bundle_mount mount;
        const struct corefile_directive *directive = &block->directives[i];
        if (text_is(corefile_text(corefile, directive->first), "forward") &&
            corefile_read_forward(arena, corefile, directive, &forward, &rest) &&
            read_mount(arena, &forward, &mount))
            add_mount(arena, mounts, &mount);
    }
}

static void collect_mounts(const struct reconcile *reconcile, struct text text,
                           struct bundle_mounts *mounts)
{
    if (!text.len || !memmem(text.at, text.len, BUNDLES_FOLDER, sizeof BUNDLES_FOLDER - 1))
        return;
    CLEANUP(corefile) struct corefile *corefile = parse_corefile(reconcile, text);
    for (size_t i = 0; i < corefile->block_count; i++)
        collect_block_mounts(reconcile->arena, corefile, &corefile->blocks[i], mounts);
}

// The volume of a copy, which several mounts may share. Names of volumes are shorter than those of
// ConfigMaps, so they are counted.
static struct text find_volume(struct arena *arena, struct value *volumes, struct text copy)
{
    value_each (volume, volumes)
        if (text_equal(value_text_at(volume, "configMap.name"), copy))
            return value_text_at(volume, "name");
    struct value *volume = value_make(arena, VALUE_MAP);
    value_put_text(arena, volume, "name",
                   arena_printf(arena, COPY_PREFIX "%zu", value_count(volumes)));
    value_put(arena, volume, "configMap.name", value_make_text(arena, copy));
    value_append(volumes, volume);
    return value_text_at(volume, "name");
}

// Adds what the Corefile before needed: a Pod of the new template may still find that file. It is
// the same Corefile until another one is proved, so the template changes only once for each.
static void collect_earlier_mounts(const struct reconcile *reconcile, struct bundle_mounts *mounts)
{
    struct bundle_mounts earlier = {0};
    const struct value *annotations;
    const struct dns_config *config = &reconcile->now.config;
    bool is_proved = config->proved_count && text_is(config->proved[0], reconcile->id);
    if (config->proved_count > is_proved)
        collect_mounts(reconcile, copy_text(reconcile, config->proved[is_proved], &annotations),
                       &earlier);
    for (size_t i = 0; i < earlier.count; i++)
        if (find_bundle_copy(reconcile, earlier.items[i].copy))
            add_mount(reconcile->arena, mounts, &earlier.items[i]);
}

void add_bundle_mounts(const struct reconcile *reconcile, struct value *volumes,
                       struct value *mounts)
{
    struct arena *arena = reconcile->arena;
    struct bundle_mounts wanted = {0};
    collect_mounts(reconcile, reconcile->text, &wanted);
    collect_earlier_mounts(reconcile, &wanted);
    for (size_t i = 0; i < wanted.count; i++) {
        struct value *mount = value_make(arena, VALUE_MAP);
        value_set(mount, TEXT("name"),
                  value_make_text(arena, find_volume(arena, volumes, wanted.items[i].copy)));
        value_set(mount, TEXT("mountPath"), value_make_text(arena, wanted.items[i].folder));
        value_put_bool(arena, mount, "readOnly", true);
        value_append(mounts, mount);
    }
}

// ---- finding them -------------------------------------------------------------------------------

// The version in "ca-NAME-VERSION"; absent: it is a copy of another one.
static struct text version_in(struct text copy, struct text name)
{
    size_t head = sizeof COPY_PREFIX - 1 + name.len + 1;
    if (copy.len <= head || !text_starts(copy, COPY_PREFIX) ||
        memcmp(copy.at + sizeof COPY_PREFIX - 1, name.at, name.len) != 0 ||
        copy.at[head - 1] != '-' || memchr(copy.at + head, '-', copy.len - head))
        return (struct text){0};
    return (struct text){copy.at + head, copy.len - head};
}

// The version of a copy that has exactly these certificates: a change of other fields of the
// ConfigMap is none.
static struct text find_same_copy(const struct reconcile *reconcile, struct text name,
                                  struct text pem)
{
    const struct dns_config *before = &reconcile->before.config;
    for (size_t i = 0; i < before->bundle_copy_count; i++) {
        struct text version = version_in(before->bundle_copies[i], name);
        const struct object *copy =
            version.at ? find_bundle_copy(reconcile, before->bundle_copies[i]) : NULL;
        if (copy && text_equal(bundle_pem(reconcile, copy), pem))
            return version;
    }
    return (struct text){0};
}

// Returns the version of a bundle that the Corefile still mounts although its ConfigMap is gone.
static struct text find_mounted_version(const struct reconcile *reconcile, struct text name)
{
    struct bundle_mounts mounts = {0};
    collect_mounts(reconcile, reconcile->target.text, &mounts);
    for (size_t i = 0; i < mounts.count; i++) {
        struct text version = version_in(mounts.items[i].copy, name);
        if (version.at && find_bundle_copy(reconcile, mounts.items[i].copy))
            return version;
    }
    return (struct text){0};
}

static const char *explain_absence(const struct reconcile *reconcile, struct text name)
{
    const char *unreadable = reconcile->in->inputs[INPUT_CONFIG_MAPS].unreadable;
    return unreadable
               ? arena_printf(reconcile->arena, "ConfigMap %s/%.*s cannot be read: %s",
                              reconcile->settings->ca_namespace, TEXT_ARGS(name), unreadable)
               : arena_printf(reconcile->arena, "ConfigMap %s/%.*s of the authorities is not there",
                              reconcile->settings->ca_namespace, TEXT_ARGS(name));
}

enum bundle_state find_bundle(const void *context, struct text name, struct text *version,
                              const char **why)
{
    const struct reconcile *reconcile = context;
    *version = (struct text){0};
    const struct object *source = find_source(reconcile, name);
    if (!source) {
        *version = find_mounted_version(reconcile, name);
        *why = explain_absence(reconcile, name);
        return BUNDLE_MISSING;
    }
    if (name.len + object_version(source).len + sizeof COPY_PREFIX > COPY_NAME_MAX) {
        *why = "the name of the ConfigMap leaves no room for that of a copy: give it a shorter one";
        return BUNDLE_INVALID;
    }
    struct text pem = bundle_pem(reconcile, source);
    if (!certificates_has_any(pem)) {
        *why = arena_printf(
            reconcile->arena,
            "ConfigMap %s/%.*s has no certificate that can be read under the key " BUNDLE_KEY,
            reconcile->settings->ca_namespace, TEXT_ARGS(name));
        return BUNDLE_INVALID;
    }
    *version = find_same_copy(reconcile, name, pem);
    if (!version->at)
        *version = object_version(source);
    return BUNDLE_FOUND;
}

// ---- what is looked up --------------------------------------------------------------------------

struct names {
    struct text *items;
    size_t count;
};

static bool has_name(const struct text *names, size_t count, struct text name)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(names[i], name))
            return true;
    return false;
}

static void add_name(struct names *names, struct text name)
{
    if (name.len && !has_name(names->items, names->count, name))
        names->items[names->count++] = name;
}

// Notes all ConfigMaps that entries name, found or not.
static void note_sources(struct reconcile *reconcile)
{
    size_t most = 1;
    for (size_t i = 0; i < reconcile->object_count; i++)
        most += reconcile->objects[i].spec.server_count;
    struct names names = {arena_new_array(reconcile->arena, struct text, most), 0};
    for (size_t i = 0; i < reconcile->object_count; i++) {
        const struct dns_spec *spec = &reconcile->objects[i].spec;
        for (size_t at = 0; at < spec->server_count; at++)
            add_name(&names, spec->servers[at].forward.transport.bundle);
    }
    add_name(&names, reconcile->objects[0].spec.resolvers.transport.bundle);
    reconcile->now.config.bundles = names.items;
    reconcile->now.config.bundle_count = names.count;
}

// Copies of every Corefile that may come to run: the one that stands there, the one that is wanted,
// and those to go back to.
static void collect_needed(const struct reconcile *reconcile, struct bundle_mounts *mounts)
{
    const struct value *annotations;
    const struct dns_config *before = &reconcile->before.config;
    collect_mounts(reconcile, reconcile->text, mounts);
    collect_mounts(reconcile, reconcile->target.text, mounts);
    for (size_t i = 0; i < before->proved_count; i++)
        collect_mounts(reconcile, copy_text(reconcile, before->proved[i], &annotations), mounts);
}

// Notes the copies that are needed, and those that are still there: these have to be removed.
static void note_copies(struct reconcile *reconcile)
{
    struct bundle_mounts mounts = {0};
    const struct dns_config *before = &reconcile->before.config;
    collect_needed(reconcile, &mounts);
    struct names names = {arena_new_array(reconcile->arena, struct text,
                                          mounts.count + before->bundle_copy_count + 1),
                          0};
    for (size_t i = 0; i < mounts.count; i++)
        add_name(&names, mounts.items[i].copy);
    for (size_t i = 0; i < before->bundle_copy_count; i++)
        if (find_bundle_copy(reconcile, before->bundle_copies[i]))
            add_name(&names, before->bundle_copies[i]);
    reconcile->now.config.bundle_copies = names.items;
    reconcile->now.config.bundle_copy_count = names.count;
}

void note_bundles(struct reconcile *reconcile)
{
    note_sources(reconcile);
    if (reconcile->mode == MODE_OWNED)
        note_copies(reconcile);
}

static bool has_all(const struct text *before, size_t before_count, const struct text *now,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!has_name(before, before_count, now[i]))
            return false;
    return true;
}

bool knows_bundles(const struct reconcile *reconcile)
{
    const struct dns_config *before = &reconcile->before.config;
    const struct dns_config *now = &reconcile->now.config;
    return has_all(before->bundles, before->bundle_count, now->bundles, now->bundle_count) &&
           has_all(before->bundle_copies, before->bundle_copy_count, now->bundle_copies,
                   now->bundle_copy_count);
}

// ---- copies -------------------------------------------------------------------------------------

// The ConfigMap that "ca-NAME-VERSION" is a copy of.
static const struct object *find_source_of(const struct reconcile *reconcile, struct text copy)
{
    const char *dash = memrchr(copy.at, '-', copy.len);
    const char *name = copy.at + sizeof COPY_PREFIX - 1;
    return dash && dash > name ? find_source(reconcile, (struct text){name, (size_t)(dash - name)})
                               : NULL;
}

static void want_bundle_copy(struct reconcile *reconcile, struct text copy)
{
    struct arena *arena = reconcile->arena;
    const struct object *source = find_source_of(reconcile, copy);
    if (!source || find_bundle_copy(reconcile, copy) ||
        !text_equal(version_in(copy, object_name(source)), object_version(source)) ||
        !certificates_has_any(bundle_pem(reconcile, source)))
        return; // the ConfigMap has other certificates by now
    struct value *tree = own_tree(reconcile);
    struct value *data = value_make(arena, VALUE_MAP);
    value_put_bool(arena, tree, "immutable", true);
    value_set(data, TEXT(BUNDLE_KEY), value_make_text(arena, bundle_pem(reconcile, source)));
    value_set(tree, TEXT("data"), data);
    announce_write(reconcile,
                   want_object(reconcile, &config_map_kind,
                               text_of(reconcile->settings->dns_namespace), copy, NULL, tree),
                   EVENT_WORKLOAD_CHANGED, "is made");
}

static bool is_needed(const struct bundle_mounts *mounts, struct text copy)
{
    for (size_t i = 0; i < mounts->count; i++)
        if (text_equal(mounts->items[i].copy, copy))
            return true;
    return false;
}

static void drop_bundle_copy(struct reconcile *reconcile, struct text copy)
{
    const struct object *there = find_bundle_copy(reconcile, copy);
    if (there && is_ours(there))
        want_object(reconcile, &config_map_kind, text_of(reconcile->settings->dns_namespace), copy,
                    there, NULL);
}

void keep_bundle_copies(struct reconcile *reconcile)
{
    struct bundle_mounts mounts = {0};
    const struct dns_config *before = &reconcile->before.config;
    collect_needed(reconcile, &mounts);
    for (size_t i = 0; i < reconcile->now.config.bundle_copy_count;
         i++) // several mounts may share one
        want_bundle_copy(reconcile, reconcile->now.config.bundle_copies[i]);
    for (size_t i = 0; i < before->bundle_copy_count; i++)
        if (!is_needed(&mounts, before->bundle_copies[i]))
            drop_bundle_copy(reconcile, before->bundle_copies[i]);
}

bool drop_bundle_copies(struct reconcile *reconcile)
{
    bool is_left = false;
    const struct dns_config *before = &reconcile->before.config;
    for (size_t i = 0; i < before->bundle_copy_count; i++) {
        drop_bundle_copy(reconcile, before->bundle_copies[i]);
        const struct object *there = find_bundle_copy(reconcile, before->bundle_copies[i]);
        is_left |= there && is_ours(there);
    }
    return is_left;
}
