#include "store/folder/secrets.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/secret.h"
#include "store/folder/ours.h"

enum { SECRET_OCTETS_MAX = 8 * 1024 * 1024 };

void secrets_init(struct secrets *secrets, struct disk *disk, const char *folder)
{
    secrets->disk = disk;
    secrets->folder = mem_copy_text(folder);
}

void secrets_done(struct secrets *secrets)
{
    free(secrets->folder);
}

static void path_of(struct buffer *out, const struct secrets *secrets, const char *uid)
{
    buffer_printf(out, "%s/%s", secrets->folder, uid);
}

static void wipe(struct buffer *buffer)
{
    if (buffer->at)
        secret_wipe(buffer->at, buffer->capacity);
    buffer_done(buffer);
}

bool secrets_write(struct secrets *secrets, const char *uid, const struct value *last_good,
                   struct error *err)
{
    AUTO_BUFFER path = {0};
    __attribute__((cleanup(wipe))) struct buffer text = {0};
    path_of(&path, secrets, uid);
    value_write_json(&text, last_good);
    return disk_make_folder(secrets->disk, secrets->folder, 0700, err) &&
           disk_replace(secrets->disk, path.at, buffer_text(&text), 0600, true, err);
}

struct value *secrets_read(const struct secrets *secrets, const char *uid, struct arena *arena)
{
    AUTO_BUFFER path = {0};
    __attribute__((cleanup(wipe))) struct buffer text = {0};
    path_of(&path, secrets, uid);
    if (!disk_read(&text, path.at, SECRET_OCTETS_MAX, NULL))
        return NULL;
    return value_read_json(arena, buffer_text(&text), &ours_limits, NULL);
}

void secrets_remove(struct secrets *secrets, const char *uid)
{
    AUTO_BUFFER path = {0};
    path_of(&path, secrets, uid);
    disk_remove(secrets->disk, path.at, NULL);
}

void secrets_sweep(struct secrets *secrets, bool (*is_known)(const void *context, const char *uid),
                   const void *context)
{
    char **names = NULL;
    size_t count = 0;
    if (!disk_list(secrets->folder, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        if (!is_known(context, names[i]))
            secrets_remove(secrets, names[i]);
        free(names[i]);
    }
    free(names);
}
