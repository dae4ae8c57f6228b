#pragma once

#include <stdbool.h>
#include <stddef.h>

// Lists the paths that a scan could not read. What lies below them may exist all the same.

struct unread {
    char *path; // relative to the folder
    char *text; // why
};

struct unread_list {
    struct unread *items;
    size_t count;
    size_t capacity;
    bool is_sorted;
};

void unread_add(struct unread_list *list, const char *path, const char *text);
// Is that path, or a folder on the way to it, in the list?
bool unread_covers(struct unread_list *list, const char *path);
void unread_clear(struct unread_list *list);
void unread_done(struct unread_list *list);
