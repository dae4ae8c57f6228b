#pragma once

#include <curl/curl.h>
#include <stdbool.h>

#include "base/error.h"

// libcurl, which brings some thirty libraries along: loading them takes several times as long as
// starting the program does otherwise, so that it is done when HTTP is first spoken. The program
// is not linked to it; the types are those of its header. A loaded library stays for good.
//
//     struct curl_library libcurl;
//     if (!curl_library_load(&libcurl, CURL_LIBRARY_FILE, err))
//         return false;
//     libcurl.multi_init();

#define CURL_LIBRARY_FILE "libcurl.so.4"

// What is called of it, each curl_* there.
#define CURL_FUNCTIONS(EACH)                                                                       \
    EACH(easy_cleanup)                                                                             \
    EACH(easy_getinfo)                                                                             \
    EACH(easy_init)                                                                                \
    EACH(easy_reset)                                                                               \
    EACH(easy_setopt)                                                                              \
    EACH(easy_strerror)                                                                            \
    EACH(free)                                                                                     \
    EACH(global_init)                                                                              \
    EACH(multi_add_handle)                                                                         \
    EACH(multi_assign)                                                                             \
    EACH(multi_cleanup)                                                                            \
    EACH(multi_info_read)                                                                          \
    EACH(multi_init)                                                                               \
    EACH(multi_remove_handle)                                                                      \
    EACH(multi_setopt)                                                                             \
    EACH(multi_socket_action)                                                                      \
    EACH(slist_append)                                                                             \
    EACH(slist_free_all)                                                                           \
    EACH(url)                                                                                      \
    EACH(url_cleanup)                                                                              \
    EACH(url_get)                                                                                  \
    EACH(url_set)

struct curl_library {
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
    CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

// Whether a value is passed as wide as libcurl reads it for this option: numbers as long, all else
// as pointers. For static assertions.
#define CURL_FITS(option, value)                                                                   \
    _Generic((value), long                                                                         \
             : (option) / 10000 == 0 || (option) / 10000 == 3, default                             \
             : (option) / 10000 != 0 && (option) / 10000 != 3)

// `file` is searched as the dynamic loader does. Fails, with reason "ServerUnreachable", when it
// cannot be loaded or lacks a function, and says what to install.
bool curl_library_load(struct curl_library *library, const char *file, struct error *err);
