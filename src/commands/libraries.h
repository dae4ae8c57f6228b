#pragma once

#include <stddef.h>

// The libraries that the program was built with, as the build file found them.
struct library {
    const char *name;
    const char *version;
};
extern const struct library libraries[];
extern const size_t library_count;
