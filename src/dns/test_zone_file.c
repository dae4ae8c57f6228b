#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/rr_type.h"
#include "dns/zone_file.h"

static const struct dname example = {(const uint8_t *)"\7example", 9};

struct file {
    const char *name;
    const char *text;
};
struct reported {
    struct buffer out;
    const struct file *files;
    size_t file_count;
    size_t entry_count;
    size_t fault_count;
    bool is_counting; // nothing is written
};

// "a.example. 300 1 A [192.0.2.1]": quoted words in quotes.
static void take_entry(void *context, const struct zone_file_entry *entry)
{
    struct reported *reported = context;
    char type[10];
    reported->entry_count++;
    if (reported->is_counting)
        return;
    buffer_printf(&reported->out, "%u:%u: ", entry->line, entry->column);
    dname_write(&reported->out, entry->owner);
    if (entry->has_ttl)
        buffer_printf(&reported->out, " %u", entry->ttl_s);
    buffer_printf(&reported->out, " %u %s", entry->class_, rr_type_write(entry->type, type));
    for (size_t i = 0; i < entry->word_count; i++)
        buffer_printf(&reported->out, entry->words[i].is_quoted ? " \"%.*s\"" : " [%.*s]",
                      TEXT_ARGS(entry->words[i].text));
    buffer_add_char(&reported->out, '\n');
}

static void take_fault(void *context, const char *file, uint32_t line, uint32_t column,
                       const struct error *error)
{
    struct reported *reported = context;
    reported->fault_count++;
    assert_int_equal(error->fault, FAULT_SPEC);
    if (!reported->is_counting)
        buffer_printf(&reported->out, "%s:%u:%u: %s: %s\n", file, line, column, error->reason,
                      error->text);
}

static bool include(void *context, struct text path, const char *from, struct text *out,
                    const char **file, struct error *err)
{
    struct reported *reported = context;
    (void)from;
    for (size_t i = 0; i < reported->file_count; i++)
        if (text_is(path, reported->files[i].name)) {
            *out = text_of(reported->files[i].text);
            *file = reported->files[i].name;
            return true;
        }
    return error_set(err, FAULT_SPEC, "Include", "%.*s: no such file", TEXT_ARGS(path));
}

static const struct zone_file_calls calls = {take_entry, take_fault, include, NULL};

static void read_into(struct reported *reported, struct text text)
{
    struct zone_file_calls mine = calls;
    mine.context = reported;
    zone_file_read(text, "z", example, &mine);
}

// The text ends at the end of a heap block, so that a sanitizer sees who reads on.
static void expect_text(struct text text, const struct file *files, size_t file_count,
                        const char *wanted)
{
    struct reported reported = {.files = files, .file_count = file_count};
    autofree char *copy = mem_copy(text.at, text.len);
    read_into(&reported, (struct text){copy, text.len});
    assert_string_equal(buffer_text(&reported.out).at, wanted);
    buffer_done(&reported.out);
}

static void expect(const char *text, const char *wanted)
{
    expect_text(text_of(text), NULL, 0, wanted);
}

// ---- entries ------------------------------------------------------------------------------------

static void an_entry_has_owner_ttl_class_type_and_data(void **state)
{
    (void)state;
    expect("www 300 IN A 192.0.2.1\n", "1:1: www.example. 300 1 A [192.0.2.1]\n");
    expect("WWW.Example.org. 300 IN a 192.0.2.1\n", "1:1: www.example.org. 300 1 A [192.0.2.1]\n");
    expect("www IN 300 A 192.0.2.1\n", "1:1: www.example. 300 1 A [192.0.2.1]\n");
    expect("@\tch\tTXT\tx\n", "1:1: example. 3 TXT [x]\n");
    expect("w HS 1 TXT x\n", "1:1: w.example. 1 4 TXT [x]\n");
    expect("w CLASS32 1 TYPE65280 \\# 2 abcd\n",
           "1:1: w.example. 1 32 TYPE65280 [\\#] [2] [abcd]\n");
    expect("w class1 type1 x\n", "1:1: w.example. 1 A [x]\n");
}

static void names_of_types_and_classes_may_be_owners(void **state)
{
    (void)state;
    expect("in IN A x\nA A A\n300 300 A x\n",
           "1:1: in.example. 1 A [x]\n2:1: a.example. 1 A [A]\n3:1: 300.example. 300 1 A [x]\n");
}

static void a_blank_owner_is_that_of_the_entry_before(void **state)
{
    (void)state;
    expect("www A 1\n  A 2\n\n; note\n\tA 3\n@ A 4\n A 5\n",
           "1:1: www.example. 1 A [1]\n2:3: www.example. 1 A [2]\n5:2: www.example. 1 A [3]\n"
           "6:1: example. 1 A [4]\n7:2: example. 1 A [5]\n");
    expect(" A 1\n", "z:1:2: Syntax: no entry stands before this one that could give it its "
                     "name\n");
    expect("www A 1\nb..ad A 2\n A 3\nok A 4\n",
           "1:1: www.example. 1 A [1]\n"
           "z:2:1: InvalidName: segment is an empty string\n"
           "z:3:2: Syntax: the entry before has no good name that could be the name of this one\n"
           "4:1: ok.example. 1 A [4]\n");
    expect("www A 1\nmail TXT \"a\n A 3\n",
           "1:1: www.example. 1 A [1]\nz:2:10: Syntax: this quote is not closed on its line\n"
           "3:2: mail.example. 1 A [3]\n");
    expect("www A 1\nma\001il TXT a\n A 3\n",
           "1:1: www.example. 1 A [1]\n"
           "z:2:3: Syntax: octet 1 may not stand here: write it as \\001\n"
           "z:3:2: Syntax: the entry before has no good name that could be the name of this one\n");
}

static void escapes_stay_in_words_and_count_in_names(void **state)
{
    (void)state;
    expect("a\\.b\\032c TXT a\\ b\\\"c \\; \\(\n",
           "1:1: a\\.b\\032c.example. 1 TXT [a\\ b\\\"c] [\\;] [\\(]\n");
    expect("a TXT x\\\nb TXT y\\", "1:1: a.example. 1 TXT [x\\]\n2:1: b.example. 1 TXT [y\\]\n");
}

static void quotes_hold_words_together(void **state)
{
    (void)state;
    expect("a TXT \"b c;(\" \"\"d\"e\\\"\"\n",
           "1:1: a.example. 1 TXT \"b c;(\" \"\" [d] \"e\\\"\"\n");
    expect("a HTTPS 1 . alpn=\"h2,h3\" key1=\"a b\"c\n",
           "1:1: a.example. 1 HTTPS [1] [.] [alpn=] \"h2,h3\" [key1=] \"a b\" [c]\n");
    expect("\"www\" A 1\n", "1:1: www.example. 1 A [1]\n");
    expect("www \"A\" 1\n", "z:1:6: InvalidType: A is no type\n");
}

static void parentheses_go_over_lines(void **state)
{
    (void)state;
    expect("@ SOA ns1 noc ( 1 ; serial\n\n  2 3)4 (\n) 5\nb A 1\n",
           "1:1: example. 1 SOA [ns1] [noc] [1] [2] [3] [4] [5]\n5:1: b.example. 1 A [1]\n");
    expect("a (A\n1)\n", "1:1: a.example. 1 A [1]\n");
    expect("a A ((1\n) )\nb A 2\n", "1:1: a.example. 1 A [1]\n3:1: b.example. 1 A [2]\n");
    expect("a A )1\nb A 2\n",
           "z:1:5: Syntax: this parenthesis closes none\n2:1: b.example. 1 A [2]\n");
    expect("b A 2\na A (\n1\nc A 2\n",
           "1:1: b.example. 1 A [2]\nz:2:5: Syntax: this parenthesis is not closed\n");
    expect("a TXT ( \"x\n y )\nb A 2\n",
           "z:1:9: Syntax: this quote is not closed on its line\n3:1: b.example. 1 A [2]\n");
}

static void lines_end_in_lf_cr_lf_or_with_the_file(void **state)
{
    (void)state;
    expect("a A 1\r\n b A 2\r\n\r\n; c\r\nd (\r\n A 3 )",
           "1:1: a.example. 1 A [1]\n"
           "z:2:2: InvalidType: b is no type\n5:1: d.example. 1 A [3]\n");
    expect("a A 1\r", "1:1: a.example. 1 A [1]\n");
    expect("a A 1", "1:1: a.example. 1 A [1]\n");
    expect("a A \"1\"", "1:1: a.example. 1 A \"1\"\n");
    expect("a A 1 ; b", "1:1: a.example. 1 A [1]\n");
    expect("a A 1\rb", "z:1:6: Syntax: octet 13 may not stand here: write it as \\013\n");
    expect("", "");
    expect("\n\n  \n;\n", "");
    expect("\xef\xbb\xbf"
           "a A 1",
           "1:1: a.example. 1 A [1]\n");
}

static void what_cannot_be_read_is_told_once(void **state)
{
    (void)state;
    expect("www\n", "z:1:1: Syntax: expected a type and its data behind www\n");
    expect("www 300 IN\n", "z:1:9: Syntax: expected a type and its data behind IN\n");
    expect("www 300 300 A 1\n", "z:1:9: InvalidType: 300 is no type\n");
    expect("www IN IN A 1\n", "z:1:8: InvalidType: IN is no type\n");
    expect("www MD ns1\n",
           "z:1:5: InvalidType: MD is obsolete (RFC 973): write MX 0 and the name\n");
    expect("www MF ns1\n",
           "z:1:5: InvalidType: MF is obsolete (RFC 973): write MX 0 and the name\n");
    expect("www -60 A 192.0.2.1\n", "z:1:5: InvalidTTL: TTL -60 is below 0\n");
    expect("www TYPE65536 1\n", "z:1:5: InvalidType: TYPE65536 is no type\n");
    expect("a A 1 (\n \001 \002 ) \003\nb A 2\n",
           "z:2:2: Syntax: octet 1 may not stand here: write it as \\001\n"
           "3:1: b.example. 1 A [2]\n");
    expect("a TXT \"x\177\"\nb A 2\n",
           "z:1:9: Syntax: octet 127 may not stand here: write it as \\127\n"
           "2:1: b.example. 1 A [2]\n");
    expect_text(TEXT("a A 1\0\nb A 2\n"), NULL, 0,
                "z:1:6: Syntax: octet 0 may not stand here: write it as \\000\n"
                "2:1: b.example. 1 A [2]\n");
}

static void long_words_are_cut_where_they_are_told(void **state)
{
    (void)state;
    struct reported reported = {0};
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, "a ");
    while (text.len < 1 << 20)
        buffer_add_char(&text, 'x');
    buffer_add_text(&text, " 1\nb A 2\n");
    read_into(&reported, buffer_text(&text));
    assert_int_equal(reported.entry_count, 1);
    assert_int_equal(reported.fault_count, 1);
    assert_true(reported.out.len < 200);
    buffer_done(&reported.out);
}

static void an_entry_has_not_more_words_than_the_limit(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, "a TXT");
    for (size_t i = 0; i < ZONE_FILE_WORDS_MAX; i++)
        buffer_add_text(&text, " x");
    buffer_add_text(&text, "\nb A 2\n");
    expect_text(buffer_text(&text), NULL, 0,
                "z:1:1: Syntax: the entry has more than 131072 words\n2:1: b.example. 1 A [2]\n");
    buffer_clear(&text);
    buffer_add_text(&text, "a TXT (");
    for (size_t i = 0; i < ZONE_FILE_WORDS_MAX; i++)
        buffer_add_text(&text, "x\n");
    expect_text(buffer_text(&text), NULL, 0, "z:1:7: Syntax: this parenthesis is not closed\n");
}

// ---- TTLs ---------------------------------------------------------------------------------------

static void ttls_have_units(void **state)
{
    (void)state;
    expect("a 1h30m A 1\na 1W2D3h4M5S A 1\na 4294967295 A 1\n",
           "1:1: a.example. 5400 1 A [1]\n2:1: a.example. 788645 1 A [1]\n"
           "3:1: a.example. 4294967295 1 A [1]\n");
    expect("a 4294967296 A 1\n", "z:1:3: InvalidTTL: TTL 4294967296 is over 2147483647\n");
    expect("a 9999999999w A 1\n", "z:1:3: InvalidTTL: TTL 9999999999w is over 2147483647\n");
    expect("a 1h30 A 1\n",
           "z:1:3: InvalidTTL: expected a TTL, such as 3600 or 1h30m, found 1h30\n");
    expect("a 1x A 1\n", "z:1:3: InvalidTTL: expected a TTL, such as 3600 or 1h30m, found 1x\n");
    expect("a 99999999999 A 1\n",
           "z:1:3: InvalidTTL: expected a TTL, such as 3600 or 1h30m, found 99999999999\n");
}

static void a_ttl_that_is_not_given_is_of_the_directive_or_the_entry_before(void **state)
{
    (void)state;
    expect("a A 1\nb 5 A 1\nc A 1\n$TTL 1h\nd A 1\ne 7 A 1\nf A 1\n",
           "1:1: a.example. 1 A [1]\n2:1: b.example. 5 1 A [1]\n3:1: c.example. 5 1 A [1]\n"
           "5:1: d.example. 3600 1 A [1]\n6:1: e.example. 7 1 A [1]\n"
           "7:1: f.example. 3600 1 A [1]\n");
    expect("$TTL\n$TTL x\n$TTL 1 2\n",
           "z:1:1: Syntax: $TTL needs more behind it\n"
           "z:2:6: InvalidTTL: expected a TTL, such as 3600 or 1h30m, found x\n"
           "z:3:8: Syntax: $TTL takes nothing more\n");
}

// ---- directives ---------------------------------------------------------------------------------

static void the_origin_may_be_relative(void **state)
{
    (void)state;
    expect("$ORIGIN shop\nwww A 1\n$origin a.b\nwww A 1\n$ORIGIN net.\n@ A 1\n A 2\n",
           "2:1: www.shop.example. 1 A [1]\n4:1: www.a.b.shop.example. 1 A [1]\n"
           "6:1: net. 1 A [1]\n7:2: net. 1 A [2]\n");
}

static void a_broken_origin_ends_its_file(void **state)
{
    (void)state;
    expect("a A 1\n$ORIGIN a..b\nwww A 1\n",
           "1:1: a.example. 1 A [1]\n"
           "z:2:9: InvalidName: the file is read no further: segment is an empty string\n");
    expect("$ORIGIN\nwww A 1\n",
           "z:1:1: Syntax: the file is read no further: $ORIGIN needs one name\n");
    expect("$ORIGIN \"a\nwww A 1\n", "z:1:9: Syntax: this quote is not closed on its line\n");
}

static void directives_that_are_not_known_are_told(void **state)
{
    (void)state;
    expect("$DATE\na A 1\n",
           "z:1:1: Syntax: $DATE is not known: $ORIGIN, $TTL, $INCLUDE and $GENERATE are\n"
           "2:1: a.example. 1 A [1]\n");
    expect("\\$x A 1\n", "1:1: \\$x.example. 1 A [1]\n");
}

static void a_file_may_include_others(void **state)
{
    (void)state;
    static const struct file files[] = {{"one", "$TTL 9\n@ A 1\nb A 2\n$ORIGIN x\nc A 3\n"},
                                        {"blank", " A 1\n"},
                                        {"cut", "$ORIGIN a..\n"}};
    expect_text(TEXT("a A 1\n$INCLUDE one shop\n A 4\nd A 5\n$INCLUDE \"one\"\n"), files, 3,
                "1:1: a.example. 1 A [1]\n2:1: shop.example. 9 1 A [1]\n"
                "3:1: b.shop.example. 9 1 A [2]\n5:1: c.x.shop.example. 9 1 A [3]\n"
                "3:2: a.example. 9 1 A [4]\n4:1: d.example. 9 1 A [5]\n"
                "2:1: example. 9 1 A [1]\n3:1: b.example. 9 1 A [2]\n"
                "5:1: c.x.example. 9 1 A [3]\n");
    expect_text(TEXT("a A 1\n$INCLUDE blank\n$INCLUDE none\n$INCLUDE cut\n$INCLUDE one a..\n"
                     "b A 2\n"),
                files, 3,
                "1:1: a.example. 1 A [1]\n"
                "blank:1:2: Syntax: no entry stands before this one that could give it its name\n"
                "z:3:10: Include: none: no such file\n"
                "cut:1:9: InvalidName: the file is read no further: segment is an empty string\n"
                "z:5:14: InvalidName: segment is an empty string\n"
                "6:1: b.example. 1 A [2]\n");
}

static void including_has_an_end(void **state)
{
    (void)state;
    static const struct file files[] = {{"self", "$INCLUDE self\n"},
                                        {"many", "$INCLUDE many\n$INCLUDE many\n"}};
    struct reported reported = {.files = files, .file_count = 2, .is_counting = true};
    expect_text(TEXT("$INCLUDE self\n"), files, 2,
                "self:1:1: Include: files include each other more than 16 deep\n");
    read_into(&reported, TEXT("$INCLUDE many\n"));
    assert_int_equal(reported.fault_count, 2 * 1000 - 999);
}

static void who_does_not_include_says_so(void **state)
{
    (void)state;
    struct reported reported = {0};
    struct zone_file_calls mine = {take_entry, take_fault, NULL, &reported};
    zone_file_read(TEXT("$INCLUDE x\n"), "z", example, &mine);
    assert_string_equal(reported.out.at, "z:1:1: Include: $INCLUDE is not allowed here\n");
    buffer_done(&reported.out);
}

// ---- $GENERATE ----------------------------------------------------------------------------------

static void generate_makes_entries(void **state)
{
    (void)state;
    expect("$GENERATE 1-3 host$ 60 IN A 192.0.2.$\nb A 1\n",
           "1:1: host1.example. 60 1 A [192.0.2.1]\n1:1: host2.example. 60 1 A [192.0.2.2]\n"
           "1:1: host3.example. 60 1 A [192.0.2.3]\n2:1: b.example. 60 1 A [1]\n");
    expect("$GENERATE 0-4/2 $ CNAME $.0\n",
           "1:1: 0.example. 1 CNAME [0.0]\n"
           "1:1: 2.example. 1 CNAME [2.0]\n1:1: 4.example. 1 CNAME [4.0]\n");
    expect("$GENERATE 1-1 m MX \"10 mx$\"\n$GENERATE 1-1 t TXT \"a $\" b\n",
           "1:1: m.example. 1 MX [10] [mx1]\n2:1: t.example. 1 TXT \"a 1\" [b]\n");
}

static void generated_numbers_have_forms(void **state)
{
    (void)state;
    expect("$GENERATE 10-10 a TXT ${0,4}_${-9}_${0,3,x}_${246,0,X}_${0,0,o}_${1,3,d}\n",
           "1:1: a.example. 1 TXT [0010_1_00a_100_12_011]\n");
    expect("$GENERATE 26-26 a TXT ${0,0,n}_${0,7,N}_${0,4,n}_$$_\\$_\\\\$\n",
           "1:1: a.example. 1 TXT [a.1_A.1.0.0_a.1._\\$_\\$_\\\\26]\n");
}

static void a_broken_generate_is_told_once(void **state)
{
    (void)state;
    static const char *const ranges[] = {"3-1", "1", "a-b", "1-2/0", "-1-2", "1-2147483648", "1-"};
    for (size_t i = 0; i < COUNT_OF(ranges); i++) {
        AUTO_BUFFER text = {0};
        buffer_printf(&text, "$GENERATE %s a A 1\n", ranges[i]);
        expect(text.at, "z:1:11: Syntax: expected a range, such as 1-100 or 0-254/2\n");
    }
    expect("$GENERATE 1-9 a A\n",
           "z:1:1: Syntax: $GENERATE needs a range, a name, a type and data\n");
    expect("$GENERATE 1-9 a..$ A 1\n", "z:1:1: InvalidName: segment is an empty string\n");
    expect("$GENERATE 1-9 a NONE 1\n", "z:1:17: InvalidType: NONE is no type\n");
    expect("$GENERATE 1-9 a TXT \\\"$ )\n", "z:1:25: Syntax: this parenthesis closes none\n");
    expect("$GENERATE 1-9 a TXT \"$ )\"\n", "z:1:1: Syntax: this parenthesis closes none\n");
    static const char *const forms[] = {"${0",      "${}",   "${0,256}",
                                        "${0,1,q}", "${-2}", "${0,1,x,1}"};
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        AUTO_BUFFER text = {0};
        buffer_printf(&text, "$GENERATE 1-9 a A %s\nb A 1\n", forms[i]);
        expect(text.at,
               "z:1:1: Syntax: $GENERATE does not work out for 1: ${offset,width,radix} has a "
               "radix of d, o, x, X, n or N, and no number is below 0\n"
               "2:1: b.example. 1 A [1]\n");
    }
}

static void generating_has_an_end(void **state)
{
    (void)state;
    struct reported reported = {.is_counting = true};
    read_into(&reported, TEXT("$GENERATE 1-600000 a A $\n$GENERATE 1-600000 a A $\nb A 1\n"));
    assert_int_equal(reported.entry_count, ZONE_FILE_GENERATED_MAX + 1);
    assert_int_equal(reported.fault_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_has_owner_ttl_class_type_and_data),
        cmocka_unit_test(names_of_types_and_classes_may_be_owners),
        cmocka_unit_test(a_blank_owner_is_that_of_the_entry_before),
        cmocka_unit_test(escapes_stay_in_words_and_count_in_names),
        cmocka_unit_test(quotes_hold_words_together),
        cmocka_unit_test(parentheses_go_over_lines),
        cmocka_unit_test(lines_end_in_lf_cr_lf_or_with_the_file),
        cmocka_unit_test(what_cannot_be_read_is_told_once),
        cmocka_unit_test(long_words_are_cut_where_they_are_told),
        cmocka_unit_test(an_entry_has_not_more_words_than_the_limit),
        cmocka_unit_test(ttls_have_units),
        cmocka_unit_test(a_ttl_that_is_not_given_is_of_the_directive_or_the_entry_before),
        cmocka_unit_test(the_origin_may_be_relative),
        cmocka_unit_test(a_broken_origin_ends_its_file),
        cmocka_unit_test(directives_that_are_not_known_are_told),
        cmocka_unit_test(a_file_may_include_others),
        cmocka_unit_test(including_has_an_end),
        cmocka_unit_test(who_does_not_include_says_so),
        cmocka_unit_test(generate_makes_entries),
        cmocka_unit_test(generated_numbers_have_forms),
        cmocka_unit_test(a_broken_generate_is_told_once),
        cmocka_unit_test(generating_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
