#include "commands/preview.h"

#include "base/must.h"

static void *item_of(const struct previews *previews, size_t at)
{
    return previews ? previews->items[at] : NULL;
}

bool previews_open(struct previews *previews, struct setup *setup, struct error *err)
{
    must(subject_count <= PREVIEWS_MAX);
    *previews = (struct previews){0};
    for (size_t i = 0; i < subject_count; i++) {
        if (!subjects[i]->preview)
            continue;
        previews->items[i] = subjects[i]->preview->make(setup, err);
        if (previews->items[i])
            continue;
        previews_close(previews);
        return false;
    }
    return true;
}

void previews_close(struct previews *previews)
{
    for (size_t i = 0; i < subject_count; i++)
        if (previews->items[i])
            subjects[i]->preview->free(previews->items[i]);
    *previews = (struct previews){0};
}

size_t previews_look(const struct previews *previews, struct arena *arena,
                     const struct engine *engine, struct store *store,
                     void (*answered)(void *context), void *context)
{
    size_t count = 0;
    for (size_t i = 0; i < subject_count; i++)
        if (item_of(previews, i))
            count += subjects[i]->preview->look(item_of(previews, i), arena, engine, store,
                                                answered, context);
    return count;
}

void previews_take_gone(const struct previews *previews, const struct kind *kind,
                        const struct value *tree)
{
    for (size_t i = 0; i < subject_count; i++)
        if (item_of(previews, i) && subjects[i]->preview->take_gone)
            subjects[i]->preview->take_gone(item_of(previews, i), kind, tree);
}

void previews_take_object(const struct previews *previews,
                          const struct engine_object_change *change)
{
    for (size_t i = 0; i < subject_count; i++)
        if (item_of(previews, i) && subjects[i]->preview->take_object)
            subjects[i]->preview->take_object(item_of(previews, i), change);
}

void previews_report(const struct previews *previews, struct proposal *out)
{
    for (size_t i = 0; i < subject_count; i++)
        if (item_of(previews, i))
            subjects[i]->preview->report_preview(item_of(previews, i), out);
}

bool previews_leave_out(const struct previews *previews, const struct setup *setup,
                        const struct kind *kind)
{
    for (size_t i = 0; i < subject_count; i++)
        if (subjects[i]->preview && subjects[i]->preview->leaves_out &&
            subjects[i]->preview->leaves_out(item_of(previews, i), setup, kind))
            return true;
    return false;
}
