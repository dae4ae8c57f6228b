#include "kinds/edgecluster/edgecluster_body.h"
#include "kinds/tree_body.h"

enum { VERSION_MAX = 64 };

const char *const edgecluster_condition_types[] = {"Reachable", NULL};

static struct value *encode_version(struct arena *arena, struct text version)
{
    AUTO_BUFFER clean = {0};
    if (!version.len)
        return value_make(arena, VALUE_NULL);
    text_clean(&clean, version, VERSION_MAX);
    return value_make_text(arena, (struct text){arena_copy(arena, clean.at, clean.len), clean.len});
}

const struct value *edgecluster_status_encode(struct arena *arena,
                                              const struct edgecluster_status *status)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_put_int(arena, map, "observedGeneration", status->observed_generation);
    value_put(arena, map, "version", encode_version(arena, status->version));
    value_put(arena, map, "conditions", conditions_encode(arena, &status->conditions));
    return map;
}

void edgecluster_pack_managed(const struct value *object, struct pack_writer *out)
{
    tree_pack(out, value_find(object, "status"));
}

void edgecluster_status_unpack(struct arena *arena, struct text spec, struct text ours,
                               struct edgecluster_status *out)
{
    struct pack_reader in = pack_open_behind(spec, ours);
    const struct value *tree = ours.len ? tree_unpack(arena, &in) : NULL;
    *out = (struct edgecluster_status){
        .version = value_text_at(tree, "version"),
        .observed_generation = value_int_at(tree, "observedGeneration", 0),
    };
    conditions_decode(&out->conditions, value_find(tree, "conditions"),
                      edgecluster_condition_types);
}
