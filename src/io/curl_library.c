#include "io/curl_library.h"

#include "base/memory.h"
#include "io/library.h"

static const struct library_function functions[] = {
#define CURL_ROW(name) {"curl_" #name, offsetof(struct curl_library, name)},
    CURL_FUNCTIONS(CURL_ROW)
#undef CURL_ROW
};

bool curl_library_load(struct curl_library *library, const char *file, struct error *err)
{
    static const struct library libcurl = {"libcurl4", "ServerUnreachable", functions,
                                           COUNT_OF(functions), sizeof *library};
    return library_load(&libcurl, file, library, err);
}
