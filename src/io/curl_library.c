#include "io/curl_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"

struct function {
    const char *name;
    size_t offset;
};

static const struct function functions[] = {
#define CURL_ROW(name) {"curl_" #name, offsetof(struct curl_library, name)},
    CURL_FUNCTIONS(CURL_ROW)
#undef CURL_ROW
};

// The loader's words start with the name of the file, mostly.
static bool refuse(const char *file, struct error *err)
{
    const char *why = dlerror();
    size_t len = strlen(file);
    if (why && strncmp(why, file, len) == 0 && strncmp(why + len, ": ", 2) == 0)
        why += len + 2;
    return error_set(err, FAULT_AGAIN, "ServerUnreachable",
                     "%s cannot be loaded: %s; install libcurl4", file,
                     why ? why : "it lacks a function");
}

bool curl_library_load(struct curl_library *library, const char *file, struct error *err)
{
    struct curl_library found;
    // What libcurl registers with OpenSSL would outlive it.
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return refuse(file, err);
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        void *function = dlsym(handle, functions[i].name);
        if (!function)
            return refuse(file, err);
        memcpy((char *)&found + functions[i].offset, &function, sizeof(function));
    }
    *library = found;
    return true;
}
