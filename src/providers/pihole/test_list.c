#include "providers/pihole/test_lists.h"

static bool takes(const char *name)
{
    struct error err = {0};
    bool is_taken = list_check_name(text_of(name), &err);
    assert_true(is_taken || (err.fault == FAULT_SPEC && strcmp(err.reason, "RecordRefused") == 0));
    return is_taken;
}

static void names_are_checked_by_the_rules_of_pihole(void **state)
{
    static const char *const good[] = {"nas", "App.Home.lan", "-x.lan", "a_b.lan", "home.lan.",
                                       "1",   "-.lan",        "x-.lan", "a.lan-."};
    static const char *const bad[] = {"",        "*.lan", "a..b",         ".lan",    "a/b.lan",
                                      "a b.lan", ".",     "\xc3\xa4.lan", "a\n.lan", "a,b",
                                      "-",       "-nas",  "nas-",         "a.-lan",  "a.lan-"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(takes(good[i]));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(takes(bad[i]));
}

static void labels_have_at_most_63_octets_and_names_253(void **state)
{
    AUTO_BUFFER name = {0};
    (void)state;
    for (int i = 0; i < 4; i++)
        buffer_printf(&name, "%s%063d", i ? "." : "", 0);
    assert_false(takes(name.at));
    name.at[253] = '\0';
    assert_true(takes(name.at));
    assert_true(takes("012345678901234567890123456789012345678901234567890123456789012.lan"));
    assert_false(takes("0123456789012345678901234567890123456789012345678901234567890123.lan"));
}

struct reported {
    struct arena *arena;
    struct buffer out;
};

static void add_existing(void *context, const struct existing_set *existing)
{
    struct reported *reported = context;
    const struct record_set *set = &existing->set;
    assert_true(text_is(set->subdomain, "@"));
    assert_int_equal(set->priority, -1);
    buffer_printf(&reported->out, "%s %s %.*s %u", existing->is_ours ? "ours" : "theirs",
                  record_type_name(set->type), TEXT_ARGS(set->domain), set->ttl_s);
    for (size_t i = 0; i < set->value_count; i++)
        buffer_printf(&reported->out, " %.*s", TEXT_ARGS(set->values[i]));
    buffer_add_char(&reported->out, '\n');
}

static const char *report(struct house *house)
{
    struct reported reported = {.arena = house->arena};
    list_report(house->list, add_existing, &reported);
    const char *text = arena_copy(house->arena, buffer_text(&reported.out).at, reported.out.len);
    buffer_done(&reported.out);
    return text;
}

static void holdings_are_told_by_name_and_type_ours_and_theirs(void **state)
{
    (void)state;
    HOUSE(house, true);
    house_read(&house,
               "192.168.1.51 app.lan" TAG "\n"
               "192.168.1.9 nas.lan NAS.lan. tv.lan # in the cellar\n"
               "192.168.1.50 App.LAN" TAG "\n"
               "192.168.1.50 app.lan" TAG "\n"
               "fd00:0:0::0050 app.lan" TAG "\n"
               "FD00::1 app.lan\n"
               "192.168.1.7 app.lan" OTHER_TAG "\n",
               "www.lan,alias.lan,NAS.lan.,300\n"
               "one.lan,1\n");
    assert_string_equal(report(&house), "ours A app.lan 0 192.168.1.50 192.168.1.51\n"
                                        "theirs A app.lan 0 192.168.1.7\n"
                                        "ours AAAA app.lan 0 fd00::50\n"
                                        "theirs AAAA app.lan 0 fd00::1\n"
                                        "theirs A nas.lan 0 192.168.1.9\n"
                                        "theirs A tv.lan 0 192.168.1.9\n"
                                        "theirs CNAME www.lan 300 nas.lan\n"
                                        "theirs CNAME alias.lan 300 nas.lan\n"
                                        "theirs CNAME one.lan 0 1\n");
}

static bool is_ours(const char *line)
{
    HOUSE(house, true);
    AUTO_BUFFER lines = {0};
    buffer_printf(&lines, "%s\n", line);
    house_read(&house, lines.at, "");
    return strncmp(report(&house), "ours A app.lan 0 192.168.1.50\n", 30) == 0;
}

static void a_line_is_ours_when_its_comment_is_exactly_our_tag(void **state)
{
    static const char *const ours[] = {
        "192.168.1.50 app.lan # signpost:1a2b3c4d",
        "192.168.1.50 app.lan #signpost:1a2b3c4d",
        " 192.168.1.50 \t app.lan   #  \tsignpost:1a2b3c4d ",
        "192.168.1.50 APP.lan. # signpost:1a2b3c4d",
    };
    static const char *const theirs[] = {
        "192.168.1.50 app.lan",
        "192.168.1.50 app.lan #",
        "192.168.1.50 app.lan # signpost:",
        "192.168.1.50 app.lan # signpost:1a2b3c4",
        "192.168.1.50 app.lan # signpost:1a2b3c4d5",
        "192.168.1.50 app.lan # signpost:1A2B3C4D",
        "192.168.1.50 app.lan # Signpost:1a2b3c4d",
        "192.168.1.50 app.lan # signpost:1a2b3c4d of old",
        "192.168.1.50 app.lan # was # signpost:1a2b3c4d",
        "192.168.1.50 app.lan ## signpost:1a2b3c4d",
        "192.168.1.50 app.lan signpost:1a2b3c4d",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        assert_true(is_ours(ours[i]));
    for (size_t i = 0; i < COUNT_OF(theirs); i++)
        assert_false(is_ours(theirs[i]));
}

static void an_alias_is_ours_when_the_ledger_names_it_byte_for_byte(void **state)
{
    static const char *const rows[] = {"CNAME www.lan|www.lan,app.lan\nwww.lan,old.lan\n",
                                       "CNAME two.lan|two.lan,app.lan,60\n",
                                       "CNAME three.lan|three.lan,app.lan\n", NULL};
    (void)state;
    HOUSE(house, true);
    house_remember(&house, rows);
    house_read(&house, "",
               "www.lan,old.lan\ntwo.lan,app.lan\nThree.lan,app.lan\nfour.lan,app.lan\n");
    assert_string_equal(report(&house), "ours CNAME www.lan 0 old.lan\n"
                                        "theirs CNAME two.lan 0 app.lan\n"
                                        "theirs CNAME three.lan 0 app.lan\n"
                                        "theirs CNAME four.lan 0 app.lan\n");
}

static void without_tags_the_ledger_proves_lines_packed_ones_too(void **state)
{
    static const char *const rows[] = {"A a.lan|192.168.1.5 a.lan\n", "A b.lan|192.168.1.5 b.lan\n",
                                       "AAAA c.lan|fd00::5 c.lan\n", NULL};
    (void)state;
    HOUSE(house, false);
    house_remember(&house, rows);
    house_read(&house,
               "192.168.1.5 a.lan b.lan\n"
               "192.168.1.5 a.lan x.lan\n"
               "fd00::5 c.lan\n"
               "fd00:0::5 c.lan\n"
               "192.168.1.6 a.lan\n",
               "");
    assert_string_equal(report(&house), "ours A a.lan 0 192.168.1.5\n"
                                        "theirs A a.lan 0 192.168.1.5 192.168.1.6\n"
                                        "ours A b.lan 0 192.168.1.5\n"
                                        "theirs A x.lan 0 192.168.1.5\n"
                                        "ours AAAA c.lan 0 fd00::5\n"
                                        "theirs AAAA c.lan 0 fd00::5\n");
}

static void what_was_somebodys_stays_so_when_the_ledger_names_it_ahead(void **state)
{
    static const char *const rows[] = {"CNAME www.lan|www.lan,app.lan\n", NULL};
    static const char *const none[] = {NULL};
    (void)state;
    HOUSE(house, true);
    house_remember(&house, none);
    house_read(&house, "", "www.lan,app.lan\n");
    strangers_note(&house.strangers, house.list, NULL);
    house_remember(&house, rows);
    house_read(&house, "", "www.lan,app.lan\n");
    assert_string_equal(report(&house), "theirs CNAME www.lan 0 app.lan\n");
    house_read(&house, "", "");
    strangers_note(&house.strangers, house.list, NULL);
    house_read(&house, "", "www.lan,app.lan\n");
    assert_string_equal(report(&house), "ours CNAME www.lan 0 app.lan\n");
}

static void what_this_exchange_wrote_is_ours_before_the_ledger_names_it(void **state)
{
    struct line_set written = {0};
    (void)state;
    HOUSE(house, true);
    house_read(&house, "", "x.lan,y.lan\n");
    struct change changes[] = {change_of(house.arena, "A a.lan 192.168.1.50"),
                               change_of(house.arena, "CNAME www.lan a.lan")};
    house_revise(&house, changes, 2);
    revision_note_written(house.revision, 0, &written);
    house.rules.written = &written;
    house_read(&house, "192.168.1.50 a.lan" TAG "\n", "x.lan,y.lan\nwww.lan,a.lan\n");
    assert_string_equal(report(&house), "ours A a.lan 0 192.168.1.50\n"
                                        "theirs CNAME x.lan 0 y.lan\n"
                                        "ours CNAME www.lan 0 a.lan\n");
    house.way = REVISION_BY_ELEMENT;
    changes[1] = change_of(house.arena, "CNAME ftp.lan a.lan");
    house_revise(&house, &changes[1], 1);
    assert_true(text_is(revision_write(house.revision, 0).line, "ftp.lan,a.lan"));
    revision_note_written(house.revision, 0, &written);
    assert_true(line_set_has(&written, TEXT("ftp.lan,a.lan")));
    assert_true(line_set_has(&written, TEXT("www.lan,a.lan")));
    assert_false(line_set_has(&written, TEXT("x.lan,y.lan")));
    line_set_done(&written);
}

static const char *refusal(const char *hosts, const char *cnames)
{
    enum list_part part;
    size_t i;
    const char *why;
    HOUSE(house, true);
    house_read(&house, hosts, cnames);
    return list_refused(house.list, &part, &i, &why) ? why : NULL;
}

static void lines_that_pihole_refuses_are_found(void **state)
{
    (void)state;
    assert_null(
        refusal("192.168.1.5 a\n::1 b c # d*\n::ffff:1.2.3.4 -x_.lan.\n", "*.a,b\na,b,0\n"));
    assert_string_equal(refusal("192.168.1.5\n", ""), "it has no name");
    assert_string_equal(refusal("192.168.1.5 # a\n", ""), "it has no name");
    assert_string_equal(refusal("\n", ""), "it does not begin with an address");
    assert_string_equal(refusal("# a\n", ""), "it does not begin with an address");
    assert_string_equal(refusal("192.168.01.5 a\n", ""), "it does not begin with an address");
    assert_string_equal(refusal("fe80::1%eth0 a\n", ""), "it does not begin with an address");
    assert_string_equal(refusal("192.168.1.5 a *.lan\n", ""), "it has a name that is none");
    assert_string_equal(refusal("192.168.1.5 a\r\n", ""), "it has a line end in it");
    assert_string_equal(refusal("", "a\n"), "it has no target");
    assert_string_equal(refusal("", "a,,b\n"), "a field of it is empty");
    assert_string_equal(refusal("", "a,b\nc,\n"), "a field of it is empty");
}

static void lists_that_are_no_lists_of_texts_are_refused(void **state)
{
    static const char *const bad[] = {"{}", "\"a\"", "1", "[\"1.2.3.4 a\",1]", "[null]", "[[]]"};
    const struct list_rules rules = {.owner_id = OWNER};
    CLEANUP(arena) struct arena *arena = arena_new();
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct error err = {0};
        const struct value *json =
            value_read_json(arena, text_of(bad[i]), &value_reply_limits, NULL);
        assert_null(list_read(&rules, json, NULL, &err));
        assert_int_equal(err.fault, FAULT_AGAIN);
        assert_null(list_read(&rules, NULL, json, &err));
        assert_non_null(strstr(err.text, "dns.cnameRecords is not a list"));
    }
}

static const char *entry_of(struct house *house, const char *text)
{
    AUTO_BUFFER out = {0};
    struct change change = change_of(house->arena, text);
    if (!list_entry(&house->rules, &change.set, &out))
        return NULL;
    return arena_copy_text(house->arena, out.at);
}

static void the_ledger_remembers_what_carries_no_tag(void **state)
{
    (void)state;
    HOUSE(tagged, true);
    HOUSE(bare, false);
    assert_null(entry_of(&tagged, "A app.lan 192.168.1.50"));
    assert_string_equal(entry_of(&tagged, "CNAME www.lan app.lan"), "www.lan,app.lan\n");
    assert_string_equal(entry_of(&bare, "CNAME www.lan App.lan. 60"), "www.lan,app.lan,60\n");
    assert_string_equal(entry_of(&bare, "A app.lan 192.168.1.50 192.168.1.51"),
                        "192.168.1.50 app.lan\n192.168.1.51 app.lan\n");
    assert_string_equal(entry_of(&bare, "AAAA app.lan FD00:0::1"), "fd00::1 app.lan\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked_by_the_rules_of_pihole),
        cmocka_unit_test(labels_have_at_most_63_octets_and_names_253),
        cmocka_unit_test(holdings_are_told_by_name_and_type_ours_and_theirs),
        cmocka_unit_test(a_line_is_ours_when_its_comment_is_exactly_our_tag),
        cmocka_unit_test(an_alias_is_ours_when_the_ledger_names_it_byte_for_byte),
        cmocka_unit_test(without_tags_the_ledger_proves_lines_packed_ones_too),
        cmocka_unit_test(what_was_somebodys_stays_so_when_the_ledger_names_it_ahead),
        cmocka_unit_test(what_this_exchange_wrote_is_ours_before_the_ledger_names_it),
        cmocka_unit_test(lines_that_pihole_refuses_are_found),
        cmocka_unit_test(lists_that_are_no_lists_of_texts_are_refused),
        cmocka_unit_test(the_ledger_remembers_what_carries_no_tag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
