#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/must.h"
#include "io/disk.h"

// A temporary folder for a unit test, below TMPDIR or /tmp.
//
//     char folder[TEST_FOLDER_MAX];
//     test_folder_make(folder);
//     ...
//     test_folder_remove(folder);
enum { TEST_FOLDER_MAX = 256 };

static inline void test_folder_make(char folder[TEST_FOLDER_MAX])
{
    const char *top = getenv("TMPDIR");
    int len = snprintf(folder, TEST_FOLDER_MAX, "%s/signpost.XXXXXX", top && *top ? top : "/tmp");
    must(len > 0 && len < TEST_FOLDER_MAX);
    must(mkdtemp(folder) == folder);
}

// With all that is in it; links are not followed. Gone already is fine.
static inline void test_folder_remove(const char *folder)
{
    char **names = NULL;
    size_t count = 0;
    if (!disk_list(folder, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        AUTO_BUFFER path = {0};
        buffer_printf(&path, "%s/%s", folder, names[i]);
        if (unlink(path.at) < 0)
            test_folder_remove(path.at);
        free(names[i]);
    }
    free(names);
    rmdir(folder);
}
