#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void append(void *context, struct text line)
{
    buffer_add(context, line.at, line.len);
}

static int64_t fixed_now(void *context)
{
    (void)context;
    return 1767323045678;
}

static struct log *log_to(struct buffer *out, enum log_format format)
{
    struct log_sink sink = {append, fixed_now, out};
    return log_new(&sink, format, LOG_INFO);
}

static void json_line_has_the_shape_of_slog(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    CLEANUP(log) struct log *log = log_to(&out, LOG_JSON);
    log_line(log, LOG_INFO, "record created", LOG_TEXT("record", "www"), LOG_INT("ttl", -60),
             LOG_BOOL("is_new", true), LOG_TEXT("gone", NULL), LOG_SLICE("empty", TEXT("")),
             LOG_END);
    assert_string_equal(out.at, "{\"time\":\"2026-01-02T03:04:05.678Z\",\"level\":\"INFO\","
                                "\"msg\":\"record created\",\"record\":\"www\",\"ttl\":-60,"
                                "\"is_new\":true,\"empty\":\"\"}\n");
}

static void textual_line_reads_well(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    CLEANUP(log) struct log *log = log_to(&out, LOG_TEXTUAL);
    log_line(log, LOG_INFO, "record created", LOG_TEXT("record", "www"), LOG_INT("ttl", 60),
             LOG_TEXT("owner", "my shop"), LOG_BOOL("is_new", false), LOG_TEXT("gone", NULL),
             LOG_TEXT("empty", ""), LOG_END);
    log_line(log, LOG_ERROR, "refused", LOG_END);
    assert_string_equal(out.at, "03:04:05 INFO  record created  record=www  ttl=60  "
                                "owner=\"my shop\"  is_new=false  empty=\"\"\n"
                                "03:04:05 ERROR refused\n");
}

static void nothing_from_outside_breaks_the_line(void **state)
{
    (void)state;
    static const char foreign[] = "a\"b\\\n\r\t\x1b[2J\x7f\xc2\x9b\xe2\x80\xae\xff\xc3\xa4";
    static const char escaped[] = "\"a\\\"b\\\\\\n\\r\\t\\u001b[2J\\u007f\\u009b\\u202e"
                                  "\xef\xbf\xbd\xc3\xa4\"";
    AUTO_BUFFER json = {0};
    AUTO_BUFFER textual = {0};
    CLEANUP(log) struct log *json_log = log_to(&json, LOG_JSON);
    CLEANUP(log) struct log *textual_log = log_to(&textual, LOG_TEXTUAL);
    log_line(json_log, LOG_WARN, "m", LOG_TEXT("v", foreign), LOG_END);
    log_line(textual_log, LOG_WARN, "m\nn", LOG_TEXT("v", foreign), LOG_END);
    AUTO_BUFFER expected = {0};
    buffer_printf(&expected,
                  "{\"time\":\"2026-01-02T03:04:05.678Z\",\"level\":\"WARN\",\"msg\":\"m\","
                  "\"v\":%s}\n",
                  escaped);
    assert_string_equal(json.at, expected.at);
    buffer_clear(&expected);
    buffer_printf(&expected, "03:04:05 WARN  m\\nn  v=%s\n", escaped);
    assert_string_equal(textual.at, expected.at);
}

static void values_that_could_mislead_are_quoted(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    CLEANUP(log) struct log *log = log_to(&out, LOG_TEXTUAL);
    log_line(log, LOG_INFO, "m", LOG_TEXT("a", "x=y"), LOG_TEXT("b", "\"q\""),
             LOG_TEXT("c", "zone.example."), LOG_END);
    assert_string_equal(out.at, "03:04:05 INFO  m  a=\"x=y\"  b=\"\\\"q\\\"\"  c=zone.example.\n");
}

static void long_values_are_cut_between_characters(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    AUTO_BUFFER wide = {0};
    for (int i = 0; i < 50000; i++)
        buffer_add_text(&wide, "\xe2\x82\xac");
    CLEANUP(log) struct log *log = log_to(&out, LOG_JSON);
    log_line(log, LOG_INFO, "m", LOG_SLICE("v", buffer_text(&wide)), LOG_END);
    assert_in_range(out.len, 4096, 4096 + 100);
    assert_true(text_ends(buffer_text(&out), "\xe2\x82\xac...\"}\n"));
    assert_true(utf8_is_valid(buffer_text(&out)));
}

static void levels_below_are_silent(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    CLEANUP(log) struct log *log = log_to(&out, LOG_JSON);
    assert_false(log_has(log, LOG_DEBUG));
    log_line(log, LOG_DEBUG, "m", LOG_END);
    assert_int_equal(out.len, 0);
    struct log_sink sink = {append, fixed_now, &out};
    CLEANUP(log) struct log *louder = log_new(&sink, LOG_JSON, LOG_DEBUG);
    assert_true(log_has(louder, LOG_DEBUG));
    log_line(louder, LOG_DEBUG, "m", LOG_END);
    assert_true(out.len > 0);
}

static void null_log_swallows_lines(void **state)
{
    (void)state;
    assert_false(log_has(NULL, LOG_ERROR));
    log_line(NULL, LOG_ERROR, "m", LOG_END);
    log_attrs(NULL, LOG_ERROR, "m", NULL);
    log_free(NULL);
}

static void array_of_attributes_logs_the_same(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    CLEANUP(log) struct log *log = log_to(&out, LOG_TEXTUAL);
    const struct log_attr attrs[] = {LOG_INT("a", 1), LOG_TEXT("b", "c"), LOG_END};
    log_attrs(log, LOG_INFO, "m", attrs);
    assert_string_equal(out.at, "03:04:05 INFO  m  a=1  b=c\n");
}

static void level_names_are_read_in_any_case(void **state)
{
    (void)state;
    enum log_level level = LOG_DEBUG;
    assert_true(log_level_parse(TEXT("warn"), &level));
    assert_int_equal(level, LOG_WARN);
    assert_true(log_level_parse(TEXT("Error"), &level));
    assert_int_equal(level, LOG_ERROR);
    assert_false(log_level_parse(TEXT("loud"), &level));
    assert_false(log_level_parse(TEXT(""), &level));
    assert_int_equal(level, LOG_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_line_has_the_shape_of_slog),
        cmocka_unit_test(textual_line_reads_well),
        cmocka_unit_test(nothing_from_outside_breaks_the_line),
        cmocka_unit_test(values_that_could_mislead_are_quoted),
        cmocka_unit_test(long_values_are_cut_between_characters),
        cmocka_unit_test(levels_below_are_silent),
        cmocka_unit_test(null_log_swallows_lines),
        cmocka_unit_test(array_of_attributes_logs_the_same),
        cmocka_unit_test(level_names_are_read_in_any_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
