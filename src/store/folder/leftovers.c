#include "store/folder/leftovers.h"

#include <stdlib.h>

#include "base/memory.h"
#include "store/folder/name.h"

enum { DEPTH_MAX = 8 };

struct sweep {
    const struct folder *folder;
    bool is_ours_alone;
};

static void sweep_folder(const struct sweep *how, const char *folder, unsigned depth);

static bool is_leftover(const struct sweep *how, const char *name)
{
    AUTO_BUFFER whole = {0};
    struct text target;
    if (!disk_temporary_target(name, &target))
        return false;
    buffer_add(&whole, target.at, target.len);
    return how->is_ours_alone || name_is_status(buffer_text(&whole).at);
}

static void look_at(const struct sweep *how, const char *folder, const char *name, unsigned depth)
{
    AUTO_BUFFER path = {0};
    struct disk_stat found;
    buffer_printf(&path, "%s/%s", folder, name);
    if (is_leftover(how, name))
        disk_remove(how->folder->world.disk, path.at, NULL);
    else if (how->is_ours_alone && depth < DEPTH_MAX && !disk_is_link(path.at) &&
             disk_stat(path.at, &found, NULL) && found.is_folder)
        sweep_folder(how, path.at, depth + 1);
}

static void sweep_folder(const struct sweep *how, const char *folder, unsigned depth)
{
    char **names = NULL;
    size_t count = 0;
    if (!disk_list(folder, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        look_at(how, folder, names[i], depth);
        free(names[i]);
    }
    free(names);
}

void leftovers_remove(const struct folder *folder, const char *path)
{
    sweep_folder(&(struct sweep){.folder = folder}, path, 0);
}

void leftovers_remove_all(const struct folder *folder, const char *path)
{
    sweep_folder(&(struct sweep){.folder = folder, .is_ours_alone = true}, path, 0);
}
