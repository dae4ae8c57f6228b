#include "store/folder/unread.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void unread_add(struct unread_list *list, const char *path, const char *text)
{
    mem_reserve(&list->items, &list->capacity, list->count + 1);
    list->items[list->count++] = (struct unread){mem_copy_text(path), mem_copy_text(text)};
    list->is_sorted = false;
}

static int compare_items(const void *a, const void *b)
{
    const struct unread *left = a, *right = b;
    return strcmp(left->path, right->path);
}

static int compare_path(const void *path, const void *item)
{
    const struct unread *unread = item;
    return strcmp(path, unread->path);
}

static void sort_list(struct unread_list *list)
{
    if (!list->is_sorted)
        qsort(list->items, list->count, sizeof *list->items, compare_items);
    list->is_sorted = true;
}

bool unread_covers(struct unread_list *list, const char *path)
{
    if (!list->count)
        return false;
    sort_list(list);
    autofree char *way = mem_copy_text(path);
    for (char *end = way; end; end = strrchr(way, '/')) {
        if (end != way)
            *end = '\0';
        if (bsearch(way, list->items, list->count, sizeof *list->items, compare_path))
            return true;
    }
    return false;
}

void unread_clear(struct unread_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].path);
        free(list->items[i].text);
    }
    list->count = 0;
}

void unread_done(struct unread_list *list)
{
    unread_clear(list);
    free(list->items);
}
