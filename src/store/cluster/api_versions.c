#include "store/cluster/api_versions.h"

#include <string.h>

#include "base/must.h"

static size_t number_of(const struct api_versions *versions, const struct kind *kind)
{
    for (size_t i = 0; i < versions->count; i++)
        if (versions->items[i].kind == kind)
            return versions->items[i].at;
    return 0;
}

static void set_number(struct api_versions *versions, const struct kind *kind, size_t at)
{
    size_t i = 0;
    while (i < versions->count && versions->items[i].kind != kind)
        i++;
    must(i < API_VERSIONS_KINDS_MAX);
    versions->items[i].kind = kind;
    versions->items[i].at = at;
    versions->count += i == versions->count;
}

const char *api_versions_find(const struct api_versions *versions, const struct kind *kind)
{
    return kind_version_at(kind, number_of(versions, kind));
}

void api_versions_write(struct buffer *out, const struct api_versions *versions,
                        const struct kind *kind)
{
    if (*kind->group)
        buffer_printf(out, "%s/", kind->group);
    buffer_add_text(out, api_versions_find(versions, kind));
}

void api_versions_try_next(struct api_versions *versions, const struct kind *kind,
                           const char *version)
{
    size_t at = number_of(versions, kind);
    // Another watch of the kind may have gone on already.
    if (strcmp(kind_version_at(kind, at), version) != 0 || !kind_version_at(kind, 1))
        return;
    set_number(versions, kind, kind_version_at(kind, at + 1) ? at + 1 : 0);
}
