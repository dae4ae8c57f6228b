#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/memory.h"
#include "io/curl_library.h"

static void the_library_of_the_header_is_loaded(void **state)
{
    (void)state;
    struct curl_library libcurl;
    struct error err = {0};
    assert_true(curl_library_load(&libcurl, CURL_LIBRARY_FILE, &err));
    CURLU *url = libcurl.url();
    char *host = NULL;
    assert_int_equal(libcurl.url_set(url, CURLUPART_URL, "http://a.example/", 0), CURLUE_OK);
    assert_int_equal(libcurl.url_get(url, CURLUPART_HOST, &host, 0), CURLUE_OK);
    assert_string_equal(host, "a.example");
    libcurl.free(host);
    libcurl.url_cleanup(url);
    assert_string_equal(libcurl.easy_strerror(CURLE_OK), "No error");
}

static void a_library_that_is_not_there_is_named_with_its_package(void **state)
{
    (void)state;
    struct curl_library libcurl = {0}, untouched = {0};
    struct error err = {0};
    assert_false(curl_library_load(&libcurl, "libcurl-none.so.4", &err));
    assert_string_equal(err.reason, "ServerUnreachable");
    assert_string_equal(err.text,
                        "libcurl-none.so.4 cannot be loaded: cannot open shared object file: No "
                        "such file or directory; install libcurl4");
    assert_memory_equal(&libcurl, &untouched, sizeof(libcurl));
}

static void another_library_of_that_name_is_refused(void **state)
{
    (void)state;
    struct curl_library libcurl = {0}, untouched = {0};
    struct error err = {0};
    assert_false(curl_library_load(&libcurl, "libc.so.6", &err));
    assert_non_null(strstr(err.text, "libc.so.6 cannot be loaded: "));
    assert_non_null(strstr(err.text, "undefined symbol: curl_easy_cleanup"));
    assert_memory_equal(&libcurl, &untouched, sizeof(libcurl));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_of_the_header_is_loaded),
        cmocka_unit_test(a_library_that_is_not_there_is_named_with_its_package),
        cmocka_unit_test(another_library_of_that_name_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
