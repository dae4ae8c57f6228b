#include "providers/pihole/test_lists.h"

// ---- whose entry is it? -------------------------------------------------------------------------

struct row {
    const char *hosts;
    const char *cnames;
    const char *change;
    const char *outcome;
    const char *hosts_after; // "": left alone
    const char *cnames_after;
};

#define NAS "192.168.1.9 nas.lan\n"
#define OURS "192.168.1.50 app.lan" TAG "\n"

static const char *const ledger[] = {"CNAME www.lan|www.lan,app.lan\nwww.lan,new.lan\n",
                                     "CNAME ftp.lan|ftp.lan,app.lan,60\n", NULL};

static const struct row rows[] = {
    // nothing
    {NAS, "", "A app.lan 192.168.1.50", "done created", NAS OURS, ""},
    {"", "", "AAAA app.lan FD00:0::50", "done created", "fd00::50 app.lan" TAG "\n", ""},
    {NAS, "", "A app.lan 192.168.1.51 192.168.1.50", "done created",
     NAS "192.168.1.51 app.lan" TAG "\n192.168.1.50 app.lan" TAG "\n", ""},
    // ours, same address
    {NAS OURS, "", "A app.lan 192.168.1.50", "done unchanged", "", ""},
    {"192.168.1.50  APP.lan. #signpost:" OWNER "\n", "", "A App.lan 192.168.1.50", "done unchanged",
     "", ""},
    // ours, other address: at the same position
    {OURS NAS, "", "A app.lan 192.168.1.51", "done was 192.168.1.50",
     "192.168.1.51 app.lan" TAG "\n" NAS, ""},
    {OURS NAS "192.168.1.51 app.lan" TAG "\n", "", "A app.lan 192.168.1.52 192.168.1.51",
     "done was 192.168.1.50 192.168.1.51",
     "192.168.1.52 app.lan" TAG "\n" NAS "192.168.1.51 app.lan" TAG "\n", ""},
    {OURS NAS "192.168.1.51 app.lan" TAG "\n", "", "A app.lan 192.168.1.51",
     "done was 192.168.1.50 192.168.1.51", NAS "192.168.1.51 app.lan" TAG "\n", ""},
    {OURS NAS, "", "A app.lan 192.168.1.50 192.168.1.51", "done was 192.168.1.50",
     OURS NAS "192.168.1.51 app.lan" TAG "\n", ""},
    // ours, twice
    {OURS NAS "192.168.1.50 APP.lan" TAG "\n", "", "A app.lan 192.168.1.50", "done", OURS NAS, ""},
    // ours, and by hand with another address
    {OURS "192.168.1.51 app.lan\n", "", "A app.lan 192.168.1.50", "NameTaken was 192.168.1.50",
     "192.168.1.51 app.lan\n", ""},
    {OURS "192.168.1.51 app.lan\n192.168.1.50 app.lan\n", "", "A app.lan 192.168.1.50",
     "NameTaken was 192.168.1.50", "192.168.1.51 app.lan\n192.168.1.50 app.lan\n", ""},
    // ours, and by hand with the same address: both may stand, but not with another one
    {OURS "192.168.1.50 app.lan\n", "", "A app.lan 192.168.1.50", "done unchanged", "", ""},
    {OURS "192.168.1.51 app.lan\n", "", "A app.lan 192.168.1.51", "done foreign was 192.168.1.50",
     "192.168.1.51 app.lan\n", ""},
    // ours, wanted by nobody
    {OURS NAS "192.168.1.51 app.lan" TAG "\n", "", "-A app.lan",
     "done was 192.168.1.50 192.168.1.51", NAS, ""},
    {NAS "192.168.1.50 app.lan\n", "", "-A app.lan", "done absent unchanged", "", ""},
    {"192.168.1.50 app.lan" OTHER_TAG "\n", "", "-A app.lan", "done absent unchanged", "", ""},
    {"192.168.1.50 a.lan app.lan b.lan" TAG "\n", "", "-A app.lan", "done was 192.168.1.50",
     "192.168.1.50 a.lan" TAG "\n192.168.1.50 b.lan" TAG "\n", ""},
    // by hand
    {"192.168.1.50 APP.lan # mine\n", "", "A app.lan 192.168.1.50", "done foreign", "", ""},
    {"192.168.1.9 app.lan\n", "", "A app.lan 192.168.1.50", "NameTaken", "", ""},
    {"192.168.1.50 app.lan\n", "", "A app.lan 192.168.1.50 192.168.1.51", "NameTaken", "", ""},
    {"fd00:0::50 app.lan\n", "", "AAAA app.lan fd00::50", "done foreign", "", ""},
    // by hand, other family only
    {"fd00::50 app.lan\n", "", "A app.lan 192.168.1.50", "done created", "fd00::50 app.lan\n" OURS,
     ""},
    // another owner's
    {"192.168.1.50 app.lan" OTHER_TAG "\n", "", "A app.lan 192.168.1.50", "done foreign", "", ""},
    {"192.168.1.51 app.lan" OTHER_TAG "\n", "", "A app.lan 192.168.1.50", "OwnedElsewhere", "", ""},
    {"192.168.1.51 app.lan" OTHER_TAG "\n192.168.1.51 app.lan\n", "", "A app.lan 192.168.1.50",
     "NameTaken", "", ""},
    // by hand, several names
    {"192.168.1.50 nas.lan app.lan\n", "", "A app.lan 192.168.1.50", "done foreign", "", ""},
    {"192.168.1.9 nas.lan app.lan\n", "", "A app.lan 192.168.1.50", "NameTaken", "", ""},
    // a predecessor's
    {NAS "192.168.1.50 app.lan\n", "", "+A app.lan 192.168.1.50", "done", NAS OURS, ""},
    {"192.168.1.9 app.lan\n" NAS, "", "+A app.lan 192.168.1.50", "done was 192.168.1.9", OURS NAS,
     ""},
    {"192.168.1.9 app.lan\n192.168.1.50 app.lan\n" NAS, "", "+A app.lan 192.168.1.50",
     "done was 192.168.1.50 192.168.1.9", OURS NAS, ""},
    {"192.168.1.50 app.lan # mine\n", "", "+A app.lan 192.168.1.50", "done foreign", "", ""},
    {"192.168.1.50 app.lan nas.lan\n", "", "+A app.lan 192.168.1.50", "done foreign", "", ""},
    {"192.168.1.50 app.lan" OTHER_TAG "\n", "", "+A app.lan 192.168.1.50", "done foreign", "", ""},
    {NAS, "", "+A app.lan 192.168.1.50", "done created", NAS OURS, ""},
    // aliases
    {"", "x.lan,y.lan\n", "CNAME www.lan app.lan", "done created", "",
     "x.lan,y.lan\nwww.lan,app.lan\n"},
    {"", "", "CNAME ftp.lan App.lan. 60", "done created", "", "ftp.lan,app.lan,60\n"},
    {"", "www.lan,app.lan\nx.lan,y.lan\n", "CNAME www.lan new.lan", "done was app.lan", "",
     "www.lan,new.lan\nx.lan,y.lan\n"},
    {"", "ftp.lan,app.lan,60\n", "CNAME ftp.lan app.lan 61", "done was app.lan", "",
     "ftp.lan,app.lan,61\n"},
    {"", "ftp.lan,app.lan,60\n", "CNAME ftp.lan app.lan 60", "done unchanged", "", ""},
    {"", "ftp.lan,app.lan,60\nx.lan,y.lan\n", "-CNAME ftp.lan", "done was app.lan", "",
     "x.lan,y.lan\n"},
    {"", "x.lan,y.lan\n", "CNAME x.lan Y.lan 60", "done foreign", "", ""},
    {"", "x.lan,y.lan\n", "CNAME x.lan z.lan", "NameTaken", "", ""},
    {"", "x.lan,www.lan,app.lan\n", "CNAME www.lan app.lan", "done foreign", "", ""},
    {"", "www.lan,app.lan\nx.lan,www.lan,app.lan\n", "CNAME www.lan app.lan",
     "done foreign was app.lan", "", "x.lan,www.lan,app.lan\n"},
    {"", "x.lan,y.lan\n", "+CNAME x.lan z.lan", "done was y.lan", "", "x.lan,z.lan\n"},
    {"", "X.lan,y.lan\n", "+CNAME x.lan y.lan", "done", "", "x.lan,y.lan\n"},
    // an alias has no addresses beside it, an address no alias
    {"192.168.1.9 www.lan\n", "www.lan,app.lan\n", "CNAME www.lan app.lan", "NameTaken was app.lan",
     "", ""},
    {"fd00::9 www.lan" OTHER_TAG "\n", "", "CNAME www.lan app.lan", "OwnedElsewhere", "", ""},
    {"fd00::9 www.lan" OTHER_TAG "\n192.168.1.9 www.lan\n", "", "CNAME www.lan app.lan",
     "NameTaken", "", ""},
    {OURS, "app.lan,y.lan\n", "A app.lan 192.168.1.50", "NameTaken was 192.168.1.50", "", ""},
    {OURS, "", "CNAME app.lan y.lan", "done created", "", "app.lan,y.lan\n"},
    // what no Pi-hole holds
    {"", "", "TXT app.lan hello", "RecordRefused", "", ""},
    {"", "", "A *.lan 192.168.1.50", "RecordRefused", "", ""},
    {"", "", "A app.lan fd00::1", "RecordRefused", "", ""},
    {"", "", "A app.lan", "RecordRefused", "", ""},
    {"", "", "CNAME www.lan *.lan", "RecordRefused", "", ""},
    {"", "", "CNAME www.lan", "RecordRefused", "", ""},
};

static void each_entry_is_treated_by_whose_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        HOUSE(house, true);
        struct change change = change_of(house.arena, rows[i].change);
        house.way = REVISION_BY_PATCH;
        house_remember(&house, ledger);
        house_read(&house, rows[i].hosts, rows[i].cnames);
        house_revise(&house, &change, 1);
        assert_string_equal(outcome_text(house.arena, &change), rows[i].outcome);
        const char *hosts_after = rows[i].hosts_after;
        bool is_emptied = !hosts_after[0] && revision_changes_part(house.revision, LIST_HOSTS);
        if (is_emptied)
            assert_true(change.outcome.replaced || change.outcome.error);
        assert_string_equal(revised(&house, LIST_HOSTS), hosts_after);
        assert_string_equal(revised(&house, LIST_CNAMES), rows[i].cnames_after);
        size_t count;
        revision_changes(house.revision, &count);
        assert_int_equal(count, revision_write_count(house.revision) > 0);
    }
}

static void ours_that_cannot_be_is_not_there_and_goes_with_the_next_write(void **state)
{
    (void)state;
    HOUSE(house, true);
    struct change change = change_of(house.arena, "A app.lan 192.168.1.50");
    house.way = REVISION_BY_PATCH;
    house_read(&house, NAS "192.168.1.50 app.lan *.lan" TAG "\n", "");
    house_revise(&house, &change, 1);
    assert_string_equal(outcome_text(house.arena, &change), "done created");
    assert_string_equal(revised(&house, LIST_HOSTS), NAS OURS);
}

// Its line looks the same before and after, so only we know that it is ours now.
static void what_was_adopted_without_a_tag_is_ours_from_then_on(void **state)
{
    static const char *const none[] = {NULL};
    static const char *const after[] = {"A app.lan|192.168.1.50 app.lan\n", NULL};
    (void)state;
    HOUSE(house, false);
    struct change adopting = change_of(house.arena, "+A app.lan 192.168.1.50");
    struct change going = change_of(house.arena, "-A app.lan");
    house.way = REVISION_BY_PATCH;
    house_remember(&house, none);
    house_read(&house, NAS "192.168.1.50 app.lan\n", "");
    strangers_note(&house.strangers, house.list, NULL);
    house_remember(&house, after);
    house_read(&house, NAS "192.168.1.50 app.lan\n", "");
    house_revise(&house, &adopting, 1);
    strangers_note(&house.strangers, house.list, house.revision);
    assert_string_equal(outcome_text(house.arena, &adopting), "done unchanged");
    house_read(&house, NAS "192.168.1.50 app.lan\n", "");
    house_revise(&house, &going, 1);
    assert_string_equal(revised(&house, LIST_HOSTS), NAS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_entry_is_treated_by_whose_it_is),
        cmocka_unit_test(ours_that_cannot_be_is_not_there_and_goes_with_the_next_write),
        cmocka_unit_test(what_was_adopted_without_a_tag_is_ours_from_then_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
