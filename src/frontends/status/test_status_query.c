#include "frontends/status/status_query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "frontends/status/html.h"

enum {
    ALL = STATUS_FILTER_SYSTEM | STATUS_FILTER_STATE | STATUS_FILTER_SEARCH | STATUS_FILTER_PAGE
};

static void a_form_is_read_and_written_again(void **state)
{
    struct status_query query;
    struct error err = {0};
    AUTO_BUFFER out = {0};
    (void)state;
    assert_true(status_query_parse(&query, TEXT("system=a&state=ready&q=Shop%2Fw+%C3%BC&page=3"),
                                   ALL, &err));
    assert_string_equal(query.system, "a");
    assert_string_equal(query.search, "shop/w \303\274");
    assert_int_equal(query.page, 3);
    status_query_write(&out, &query);
    assert_string_equal(out.at, "?system=a&amp;state=ready&amp;q=shop%2Fw%20%C3%BC&amp;page=3");
}

static void nothing_asks_for_the_first_page_of_all(void **state)
{
    static const char *const texts[] = {"", "&&", "system=&state=&q=&page=", "page=1", "q"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct status_query query;
        AUTO_BUFFER out = {0};
        assert_true(status_query_parse(&query, text_of(texts[i]), ALL, NULL));
        status_query_write(&out, &query);
        assert_int_equal(out.len, 0);
        assert_int_equal(query.page, 1);
    }
}

static void what_is_no_filter_is_refused_with_those_that_are(void **state)
{
    static const struct {
        const char *text;
        unsigned filters;
        const char *says;
    } rows[] = {
        {"x=1", ALL, "this page has no filter \"x\"; its filters are: system, state, q, page"},
        {"q=1", STATUS_FILTER_PAGE, "this page has no filter \"q\"; its filters are: page"},
        {"page=1", 0, "this page has no filter \"page\"; its filters are: none"},
        {"page=0", ALL, "the page must be a number from 1 to 1000000"},
        {"page=1000001", ALL, "the page must be a number from 1 to 1000000"},
        {"page=x", ALL, "the page must be a number from 1 to 1000000"},
        {"q=a&q=b", ALL, "the filter \"q\" is given twice"},
        {"q=%4", ALL, "the filter \"q\" is not encoded as a form encodes it"},
        {"q=%", ALL, "the filter \"q\" is not encoded as a form encodes it"},
        {"q=%00", ALL, "the filter \"q\" is not encoded as a form encodes it"},
        {"q=%C3", ALL, "the filter \"q\" is not UTF-8"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct status_query query;
        struct error err = {0};
        assert_false(status_query_parse(&query, text_of(rows[i].text), rows[i].filters, &err));
        assert_string_equal(err.text, rows[i].says);
    }
}

static void texts_have_a_limit(void **state)
{
    AUTO_BUFFER text = {0};
    struct status_query query;
    struct error err = {0};
    (void)state;
    buffer_printf(&text, "q=%0*d", STATUS_FIELD_OCTETS_MAX, 0);
    assert_true(status_query_parse(&query, buffer_text(&text), ALL, &err));
    assert_int_equal(strlen(query.search), STATUS_FIELD_OCTETS_MAX);
    buffer_add_text(&text, "%41");
    assert_false(status_query_parse(&query, buffer_text(&text), ALL, &err));
    buffer_clear(&text);
    buffer_printf(&text, "%0*d", STATUS_QUERY_OCTETS_MAX + 1, 0);
    assert_false(status_query_parse(&query, buffer_text(&text), ALL, &err));
}

static void foreign_texts_are_escaped(void **state)
{
    AUTO_BUFFER out = {0};
    (void)state;
    html_add(&out, TEXT("<a href=\"x\" title='y'>&amp;\n\033[31m\342\200\256\377"));
    assert_string_equal(out.at, "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp; [31m "
                                "\357\277\275");
}

static void pages_are_counted_from_one(void **state)
{
    struct status_query query = {.page = 2};
    AUTO_BUFFER out = {0};
    (void)state;
    html_write_range(&out, "Zones", &query, 150);
    buffer_add_char(&out, '|');
    html_write_range(&out, "Zones", &query, 50);
    buffer_add_char(&out, '|');
    query.page = 1;
    html_write_range(&out, "Zones", &query, 0);
    assert_string_equal(out.at, "Zones 101 to 150 of 150|Zones: none on this page|Zones: none");
    buffer_clear(&out);
    html_add_pager(&out, &query, 100);
    assert_int_equal(out.len, 0);
    html_add_pager(&out, &query, 101);
    assert_non_null(strstr(out.at, "<a rel=\"next\" id=\"next\" href=\"?page=2\">"));
    assert_null(strstr(out.at, "rel=\"prev\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_form_is_read_and_written_again),
        cmocka_unit_test(nothing_asks_for_the_first_page_of_all),
        cmocka_unit_test(what_is_no_filter_is_refused_with_those_that_are),
        cmocka_unit_test(texts_have_a_limit),
        cmocka_unit_test(foreign_texts_are_escaped),
        cmocka_unit_test(pages_are_counted_from_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
