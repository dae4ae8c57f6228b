#include "store/folder/name.h"

#include <string.h>

#include "base/memory.h"

enum {
    PATH_MAX_OCTETS = 4095,
    NAME_MAX_OCTETS = 253,
    KIND_MAX_OCTETS = 63,
    NAMESPACE_MAX_OCTETS = 63
};

static bool ends_in_one_of(const char *name, const char *const *ends, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_ends(text_of(name), ends[i]))
            return true;
    return false;
}

bool name_is_skipped(const char *name)
{
    static const char *const ends[] = {"~", ".tmp", ".swp"};
    return name[0] == '\0' || name[0] == '.' || name[0] == '#' ||
           ends_in_one_of(name, ends, COUNT_OF(ends)) || strcmp(name, "lost+found") == 0;
}

bool name_is_manifest(const char *name)
{
    static const char *const ends[] = {".yaml", ".yml", ".json"};
    return !name_is_skipped(name) && ends_in_one_of(name, ends, COUNT_OF(ends));
}

bool name_is_status(const char *name)
{
    static const char *const ends[] = {".yaml.status", ".yml.status", ".json.status"};
    return !name_is_skipped(name) && ends_in_one_of(name, ends, COUNT_OF(ends));
}

char *name_copy_manifest(const char *status)
{
    char *manifest = mem_copy_text(status);
    manifest[strlen(manifest) - (sizeof ".status" - 1)] = '\0';
    return manifest;
}

bool name_is_child(const char *path)
{
    return text_starts(text_of(path), NAME_CHILDREN "/");
}

static bool has_open_folders(char *path)
{
    for (char *slash = strchr(path, '/'); slash; slash = strchr(path, '/')) {
        *slash = '\0';
        if (name_is_skipped(path))
            return false;
        path = slash + 1;
    }
    return name_is_manifest(path);
}

bool name_is_path(struct text path)
{
    if (!path.len || path.len > PATH_MAX_OCTETS || memchr(path.at, '\0', path.len))
        return false;
    autofree char *copy = mem_new(1, path.len + 1);
    memcpy(copy, path.at, path.len);
    if (!name_is_child(copy))
        return has_open_folders(copy);
    const char *name = copy + sizeof NAME_CHILDREN;
    return !strchr(name, '/') && name_is_manifest(name);
}

bool name_is_plain(struct text text, size_t max)
{
    if (!text.len || text.len > max)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '-' && c != '.')
            return false;
    }
    return true;
}

static void write_key(struct buffer *out, struct text kind, struct text group,
                      struct text namespace_, struct text name)
{
    buffer_add(out, kind.at, kind.len);
    if (group.len)
        buffer_printf(out, ".%.*s", TEXT_ARGS(group));
    buffer_add_char(out, ' ');
    if (namespace_.len)
        buffer_printf(out, "%.*s/", TEXT_ARGS(namespace_));
    buffer_add(out, name.at, name.len);
}

void name_write_key(struct buffer *out, const struct object_ref_key *key)
{
    write_key(out, text_of(key->kind->name), text_of(key->kind->group), key->namespace_, key->name);
}

bool name_write_key_of(struct buffer *out, struct text api_version, struct text kind,
                       struct text namespace_, struct text name)
{
    const char *slash = api_version.at ? memchr(api_version.at, '/', api_version.len) : NULL;
    struct text group =
        slash ? (struct text){api_version.at, (size_t)(slash - api_version.at)} : TEXT("");
    if ((slash && !name_is_plain(group, NAME_MAX_OCTETS)) ||
        !name_is_plain(kind, KIND_MAX_OCTETS) || !name_is_plain(name, NAME_MAX_OCTETS) ||
        (namespace_.len && !name_is_plain(namespace_, NAMESPACE_MAX_OCTETS)))
        return false;
    write_key(out, kind, group, namespace_, name);
    return true;
}
