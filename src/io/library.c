#include "io/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

// The loader's message mostly starts with the name of the file.
static bool refuse_library(const struct library *library, const char *file, struct error *err)
{
    const char *why = dlerror();
    size_t len = strlen(file);
    if (why && strncmp(why, file, len) == 0 && strncmp(why + len, ": ", 2) == 0)
        why += len + 2;
    return error_set(err, FAULT_AGAIN, library->reason, "%s cannot be loaded: %s; install %s", file,
                     why ? why : "it lacks a function", library->package);
}

bool library_load(const struct library *library, const char *file, void *table, struct error *err)
{
    autofree char *found = mem_new(1, library->table_octets);
    // What a library registers with OpenSSL would outlive it.
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return refuse_library(library, file, err);
    for (size_t i = 0; i < library->count; i++) {
        void *function = dlsym(handle, library->functions[i].name);
        if (!function)
            return refuse_library(library, file, err);
        memcpy(found + library->functions[i].offset, &function, sizeof(function));
    }
    memcpy(table, found, library->table_octets);
    return true;
}
