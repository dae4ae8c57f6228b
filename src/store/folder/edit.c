#include "base/memory.h"
#include "store/folder/folder.h"
#include "store/folder/made.h"
#include "store/folder/name.h"

static bool edit(struct made *children, const struct object_ref_key *key,
                 const struct value *fields, struct error *err)
{
    const struct store_put put = {.key = *key, .tree = fields};
    if (made_has(children, key))
        return made_patch(children, &put, err);
    return error_set(err, FAULT_RACE, "NotFound", "%s %.*s is gone", key->kind->name,
                     TEXT_ARGS(key->name));
}

bool folder_edit(const struct folder_options *options, const struct object_ref_key *key,
                 const struct value *fields, struct error *err)
{
    AUTO_BUFFER place = {0};
    struct made children = {0};
    buffer_printf(&place, "%s/" NAME_CHILDREN,
                  options->state_dir ? options->state_dir : options->dir);
    made_init(&children, disk_system(), place.at);
    bool is_ok = edit(&children, key, fields, err);
    made_done(&children);
    return is_ok;
}
