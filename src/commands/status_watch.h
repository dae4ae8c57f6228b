#pragma once

#include "commands/follow_text.h"
#include "io/loop.h"
#include "store/folder/folder.h"

// What `status --watch` hears of its folder: that something changed in it and, where saves are
// followed, which manifest was saved or went, and when.

struct status_watch;
struct status_watch_calls {
    void (*changed)(void *context);
    void (*saved)(void *context, const struct save *save);   // its path is relative to the folder
    bool (*has_rows_below)(void *context, const char *path); // what went was a folder of them
    void *context;
};
struct status_watch *status_watch_new(struct loop *loop, const struct status_watch_calls *calls);
void status_watch_free(struct status_watch *watch); // accepts NULL
// From now on saves are told, too. False: the folder cannot be found.
bool status_watch_saves(struct status_watch *watch, const char *dir);
// Looks at all folders that there are now. False: not all of them can be followed.
bool status_watch_folders(struct status_watch *watch, const struct folder_options *folder);
