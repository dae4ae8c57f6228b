#include "store/cluster/lease_object.h"

#include "base/when.h"

enum { US_PER_MS = 1000, MS_PER_S = 1000 };

static void pack_nothing(const struct value *object, struct pack_writer *out)
{
    (void)object;
    (void)out;
}

const struct kind lease_kind = {
    .group = "coordination.k8s.io",
    .version = "v1",
    .name = "Lease",
    .plural = "leases",
    .singular = "lease",
    .is_namespaced = true,
    .is_foreign = true,
    .doc = "Which of several processes leads.",
    .pack_spec = pack_nothing,
};

// ---- reading ------------------------------------------------------------------------------------

static int64_t duration_of(const struct value *tree)
{
    int64_t seconds = value_int_at(tree, "spec.leaseDurationSeconds", 0);
    return seconds > 0 && seconds <= INT32_MAX ? seconds * MS_PER_S : 0;
}

void lease_object_read(struct lease_object *out, const struct value *tree)
{
    const struct value *spec = value_find(tree, "spec");
    *out = (struct lease_object){
        .version = value_text_at(tree, "metadata.resourceVersion"),
        .holder = value_text_at(tree, "spec.holderIdentity"),
        .owner_id = value_text_at(tree, "metadata.annotations[" LEASE_OWNER_ID "]"),
        .duration_ms = duration_of(tree),
        .hash = spec ? value_content_id(spec).words[0] : 0,
    };
}

// ---- making -------------------------------------------------------------------------------------

static struct value *text_in(struct arena *arena, const char *terminated)
{
    return value_make_text(arena, text_of(arena_copy_text(arena, terminated)));
}

static struct value *time_in(struct arena *arena, int64_t unix_us)
{
    char text[WHEN_TEXT_MAX];
    when_write_us(unix_us, text);
    return text_in(arena, text);
}

static struct value *map_at(struct arena *arena, struct value *map, struct text key)
{
    struct value *found = value_find_text(map, key);
    if (found && found->type == VALUE_MAP)
        return found;
    found = value_make(arena, VALUE_MAP);
    value_set(map, key, found);
    return found;
}

// Others see a renewal by what changed.
static struct value *renewal(struct arena *arena, const struct value *spec, int64_t unix_ms)
{
    struct value *now = time_in(arena, unix_ms * US_PER_MS);
    bool is_same = text_equal(value_text(now), value_text_at(spec, "renewTime"));
    return is_same ? time_in(arena, unix_ms * US_PER_MS + 1) : now;
}

static int64_t transitions_of(const struct value *spec)
{
    int64_t count = value_int_at(spec, "leaseTransitions", -1);
    return count >= 0 && count < INT32_MAX ? count + 1 : 0;
}

static void hand_over(struct arena *arena, struct value *spec, const struct lease_change *change)
{
    value_set(spec, TEXT("acquireTime"), time_in(arena, change->unix_ms * US_PER_MS));
    value_set(spec, TEXT("leaseTransitions"), value_make_int(arena, transitions_of(spec)));
}

static void hold(struct arena *arena, struct value *spec, const struct lease_change *change)
{
    bool is_release = !*change->holder;
    bool is_ours = text_is(value_text_at(spec, "holderIdentity"), change->holder);
    int64_t seconds = (change->duration_ms + MS_PER_S - 1) / MS_PER_S;
    value_set(spec, TEXT("holderIdentity"), text_in(arena, change->holder));
    value_set(spec, TEXT("leaseDurationSeconds"), value_make_int(arena, is_release ? 1 : seconds));
    if (!is_ours && !is_release)
        hand_over(arena, spec, change);
    value_set(spec, TEXT("renewTime"), renewal(arena, spec, change->unix_ms));
}

static void name_it(struct arena *arena, struct value *root, const struct lease_change *change)
{
    struct value *metadata = map_at(arena, root, TEXT("metadata"));
    value_set(root, TEXT("apiVersion"), text_in(arena, "coordination.k8s.io/v1"));
    value_set(root, TEXT("kind"), text_in(arena, lease_kind.name));
    value_set(metadata, TEXT("name"), text_in(arena, change->name));
    value_set(metadata, TEXT("namespace"), text_in(arena, change->namespace_));
    value_remove(metadata, "managedFields");
}

struct value *lease_object_make(struct arena *arena, const struct value *tree,
                                const struct lease_change *change)
{
    struct value *root = tree ? value_copy(arena, tree) : value_make(arena, VALUE_MAP);
    name_it(arena, root, change);
    if (change->owner_id) {
        struct value *metadata = map_at(arena, root, TEXT("metadata"));
        value_set(map_at(arena, metadata, TEXT("annotations")), TEXT(LEASE_OWNER_ID),
                  text_in(arena, change->owner_id));
    }
    if (change->holder)
        hold(arena, map_at(arena, root, TEXT("spec")), change);
    return root;
}
