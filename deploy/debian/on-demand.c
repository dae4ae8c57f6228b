// Names every function that the program loads on demand: dpkg-shlibdeps reads from this program
// which packages have them, and from which version on. It is neither run nor installed.
#include "io/curl_library.h"
#include "io/sqlite_library.h"

#define CURL_CALLED(name) (void *)curl_##name,
#define SQLITE_CALLED(name) (void *)sqlite3_##name,

void *const called[] = {CURL_FUNCTIONS(CURL_CALLED) SQLITE_FUNCTIONS(SQLITE_CALLED)};

int main(void)
{
    return 0;
}
