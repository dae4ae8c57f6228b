#include "base/memory.h"
#include "store/folder/folder.h"
#include "store/folder/generated.h"
#include "store/folder/name.h"

static bool edit_child(struct generated *children, const struct object_ref_key *key,
                       const struct value *fields, struct error *err)
{
    const struct store_object_write put = {.key = *key, .tree = fields};
    if (generated_has(children, key))
        return generated_patch(children, &put, err);
    return error_set(err, FAULT_RACE, "NotFound", "%s %.*s is gone", key->kind->name,
                     TEXT_ARGS(key->name));
}

bool folder_edit(const struct folder_options *options, const struct object_ref_key *key,
                 const struct value *fields, struct error *err)
{
    AUTO_BUFFER place = {0};
    struct generated children = {0};
    buffer_printf(&place, "%s/" NAME_CHILDREN,
                  options->state_dir ? options->state_dir : options->dir);
    generated_init(&children, disk_system(), place.at);
    bool is_ok = edit_child(&children, key, fields, err);
    generated_done(&children);
    return is_ok;
}
