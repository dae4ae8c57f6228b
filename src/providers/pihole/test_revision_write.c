#include "providers/pihole/bisect.h"
#include "providers/pihole/revision_private.h"
#include "providers/pihole/test_lists.h"

static void revise(struct house *house, const char *const *texts, size_t count)
{
    struct change *changes = arena_new_array(house->arena, struct change, count);
    for (size_t i = 0; i < count; i++)
        changes[i] = change_of(house->arena, texts[i]);
    house_revise(house, changes, count);
}
#define REVISE(house, ...)                                                                         \
    revise(house, (const char *const[]){__VA_ARGS__},                                              \
           COUNT_OF(((const char *const[]){__VA_ARGS__})))

// All requests, one a line: "PUT /path", "PATCH /path body".
static const char *requests(struct house *house)
{
    static const char *const verbs[] = {"PATCH", "PUT", "DELETE"};
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < revision_write_count(house->revision); i++) {
        struct revision_write write = revision_write(house->revision, i);
        buffer_printf(&out, "%s ", verbs[write.verb]);
        revision_write_path(house->revision, i, &out);
        if (write.verb == REVISION_PATCH) {
            size_t before = out.len + 1;
            buffer_add_char(&out, ' ');
            revision_write_body(house->revision, i, &out);
            assert_int_equal(out.len - before, write.body_len);
        }
        buffer_add_char(&out, '\n');
    }
    return arena_copy(house->arena, buffer_text(&out).at, out.len);
}

static void names_and_an_alias_go_by_one_patch(void **state)
{
    (void)state;
    HOUSE(house, true);
    house_read(&house, "192.168.1.9 nas.home.lan\n", "");
    REVISE(&house, "A a.home.lan 192.168.1.50", "A b.home.lan 192.168.1.50",
           "CNAME www.home.lan a.home.lan");
    assert_string_equal(
        requests(&house),
        "PATCH /api/config {\"config\":{\"dns\":{\"hosts\":[\"192.168.1.9 nas.home.lan\","
        "\"192.168.1.50 a.home.lan # signpost:1a2b3c4d\","
        "\"192.168.1.50 b.home.lan # signpost:1a2b3c4d\"],"
        "\"cnameRecords\":[\"www.home.lan,a.home.lan\"]}}}\n");
    assert_true(revision_write(house.revision, 0).writes[LIST_CNAMES]);
}

static void one_name_more_or_less_goes_by_its_element(void **state)
{
    (void)state;
    HOUSE(house, true);
    house_read(&house, "192.168.1.50 app.home.lan" TAG "\n", "");
    REVISE(&house, "AAAA app.home.lan fd00::50");
    assert_string_equal(
        requests(&house),
        "PUT /api/config/dns/hosts/fd00%3A%3A50%20app.home.lan%20%23%20signpost%3A1a2b3c4d\n");
    assert_false(revision_write(house.revision, 0).writes[LIST_CNAMES]);
    REVISE(&house, "-A app.home.lan");
    assert_string_equal(
        requests(&house),
        "DELETE /api/config/dns/hosts/192.168.1.50%20app.home.lan%20%23%20signpost%3A1a2b3c4d\n");
    house.way = REVISION_BY_PATCH;
    REVISE(&house, "-A app.home.lan");
    assert_string_equal(requests(&house),
                        "PATCH /api/config {\"config\":{\"dns\":{\"hosts\":[]}}}\n");
}

static void all_else_goes_by_patch(void **state)
{
    (void)state;
    HOUSE(house, true);
    house_read(&house, "192.168.1.50 app.lan" TAG "\n", "x.lan,y.lan\n");
    REVISE(&house, "A app.lan 192.168.1.51");
    assert_string_equal(requests(&house), "PATCH /api/config {\"config\":{\"dns\":{\"hosts\":["
                                          "\"192.168.1.51 app.lan # signpost:1a2b3c4d\"]}}}\n");
    REVISE(&house, "CNAME www.lan app.lan 60");
    assert_string_equal(requests(&house), "PATCH /api/config {\"config\":{\"dns\":{"
                                          "\"cnameRecords\":[\"x.lan,y.lan\",\"www.lan,app.lan,60\""
                                          "]}}}\n");
    REVISE(&house, "A app.lan 192.168.1.50", "-A b.lan");
    assert_string_equal(requests(&house), "");
}

static void elements_are_added_before_others_are_removed(void **state)
{
    static const char *const rows[] = {"CNAME www.lan|www.lan,app.lan\n",
                                       "CNAME old.lan|old.lan,app.lan\n", NULL};
    (void)state;
    HOUSE(house, true);
    house.way = REVISION_BY_ELEMENT;
    house_remember(&house, rows);
    house_read(&house, "1.1.1.1 a" TAG "\n1.1.1.2 b" TAG "\n1.1.1.3 c\n",
               "old.lan,app.lan\nwww.lan,app.lan\n");
    REVISE(&house, "-A a", "A b 1.1.1.4", "A d 1.1.1.5", "-CNAME old.lan", "CNAME www.lan new+.lan",
           "CNAME www.lan new.lan", "CNAME ftp.lan new.lan");
    const char *all = requests(&house);
    assert_string_equal(all,
                        "PUT /api/config/dns/hosts/1.1.1.4%20b%20%23%20signpost%3A1a2b3c4d\n"
                        "PUT /api/config/dns/hosts/1.1.1.5%20d%20%23%20signpost%3A1a2b3c4d\n"
                        "DELETE /api/config/dns/cnameRecords/www.lan%2Capp.lan\n"
                        "PUT /api/config/dns/cnameRecords/www.lan%2Cnew.lan\n"
                        "PUT /api/config/dns/cnameRecords/ftp.lan%2Cnew.lan\n"
                        "DELETE /api/config/dns/hosts/1.1.1.1%20a%20%23%20signpost%3A1a2b3c4d\n"
                        "DELETE /api/config/dns/hosts/1.1.1.2%20b%20%23%20signpost%3A1a2b3c4d\n"
                        "DELETE /api/config/dns/cnameRecords/old.lan%2Capp.lan\n");
}

static void what_json_escapes_is_counted_and_kept(void **state)
{
    (void)state;
    HOUSE(house, true);
    const char *foreign = "1.1.1.1 a # \"quoted\" \\ / \x01 \xc3\xa4\xe2\x82\xac\t\x7f\n";
    house_read(&house, foreign, "");
    REVISE(&house, "A b 1.1.1.2", "A c 1.1.1.3");
    assert_non_null(strstr(requests(&house), "# \\\"quoted\\\" \\\\ / \\u0001 \xc3\xa4"));
    assert_true(strncmp(revised(&house, LIST_HOSTS), foreign, strlen(foreign)) == 0);
}

// ---- long lists ---------------------------------------------------------------------------------

static const char *many(struct house *house, const char *format, unsigned count)
{
    AUTO_BUFFER out = {0};
    for (unsigned i = 0; i < count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%05u", i);
        for (const char *at = format; *at; at++) {
            if (*at == '@')
                buffer_add_text(&out, number);
            else
                buffer_add_char(&out, *at);
        }
    }
    return arena_copy(house->arena, out.at, out.len);
}

static size_t body_len(const struct house *house, size_t i)
{
    return revision_write(house->revision, i).body_len;
}

static void a_body_may_have_65534_octets(void **state)
{
    (void)state;
    HOUSE(house, true);
    AUTO_BUFFER hosts = {0};
    // Each 1000 octets, with quotes and comma; 31 are around all.
    for (int i = 0; i < 64; i++)
        buffer_printf(&hosts, "1.1.1.1 a # %0985d\n", 0);
    size_t rest = 65534 - 31 - 64 * 1000 - strlen("\"1.1.1.2 a\",\"1.1.1.3 b\"");
    buffer_printf(&hosts, "1.1.1.1 a # %0*d\n", (int)(rest - strlen("\"1.1.1.1 a # \",")), 0);
    house.rules.has_tags = false;
    house_read(&house, hosts.at, "");
    REVISE(&house, "A c 1.1.1.2", "A b 1.1.1.3");
    assert_int_equal(revision_write_count(house.revision), 1);
    assert_int_equal(body_len(&house, 0), 65534);
    REVISE(&house, "A c 1.1.1.2", "A bb 1.1.1.3");
    assert_int_equal(revision_write_count(house.revision), 2);
    assert_int_equal(revision_write(house.revision, 0).verb, REVISION_PUT);
}

static void hosts_and_aliases_go_by_two_patches_when_one_is_too_small(void **state)
{
    (void)state;
    HOUSE(house, true);
    house_read(&house, many(&house, "1.1.1.1 host-@.home.lan # as it is\n", 1000),
               many(&house, "alias-@.home.lan,host-@.home.lan\n", 900));
    REVISE(&house, "A a 1.1.1.1", "CNAME b a");
    assert_int_equal(revision_write_count(house.revision), 2);
    for (size_t i = 0; i < 2; i++) {
        struct revision_write write = revision_write(house.revision, i);
        assert_int_equal(write.verb, REVISION_PATCH);
        assert_true(write.writes[i] && !write.writes[1 - i] && write.body_len <= 65534);
    }
    assert_true(body_len(&house, 0) + body_len(&house, 1) > 65534);
    assert_false(house.revision->is_packed);
}

static const char *const two_more[] = {"A zz1.home.lan 1.1.1.1", "A zz2.home.lan 1.1.1.2"};

static void ours_are_packed_when_that_makes_them_fit_and_unpacked_when_few(void **state)
{
    (void)state;
    HOUSE(house, true);
    const char *all = many(&house, "9.9.9.9 nas@\n1.1.1.1 host@.home.lan" TAG "\n", 1100);
    const char *twice = "1.1.1.1 HOST00001.home.lan" TAG "\n";
    house_read(&house, arena_printf(house.arena, "%s%s", all, twice), "");
    revise(&house, two_more, 2);
    assert_int_equal(revision_write_count(house.revision), 1);
    assert_true(house.revision->is_packed);
    assert_true(body_len(&house, 0) <= 65534);
    const char *packed = revised(&house, LIST_HOSTS);
    assert_non_null(strstr(packed, "9.9.9.9 nas00000\n9.9.9.9 nas00001\n"));
    assert_non_null(
        strstr(packed, "\n1.1.1.1 host00000.home.lan host00001.home.lan host00002.home.lan"));
    assert_non_null(strstr(packed, "\n1.1.1.1 host01088.home.lan host01089.home.lan"));
    assert_non_null(strstr(packed, " host01099.home.lan zz1.home.lan" TAG "\n"));
    assert_non_null(strstr(packed, "\n1.1.1.2 zz2.home.lan" TAG "\n"));
    // What is packed stays so.
    house_read(&house, packed, "");
    revise(&house, two_more, 2);
    assert_int_equal(revision_write_count(house.revision), 0);
    REVISE(&house, "A more1.lan 1.1.1.1", "-A host00003.home.lan", "A more2.lan 1.1.1.1");
    assert_int_equal(revision_write_count(house.revision), 1);
    assert_false(house.revision->is_packed);
    const char *after = revised(&house, LIST_HOSTS);
    assert_non_null(strstr(after, "host00002.home.lan host00004.home.lan"));
    assert_non_null(strstr(after, "\n1.1.1.1 more1.lan" TAG "\n1.1.1.1 more2.lan" TAG "\n"));
}

static void packed_lines_are_unpacked_where_there_is_room(void **state)
{
    (void)state;
    HOUSE(house, true);
    house_read(&house, "9.9.9.9 x y\n1.1.1.1 a b c" TAG "\n9.9.9.8 z\n", "");
    REVISE(&house, "A b 1.1.1.2");
    assert_string_equal(revised(&house, LIST_HOSTS), "9.9.9.9 x y\n1.1.1.1 a" TAG "\n1.1.1.1 c" TAG
                                                     "\n1.1.1.2 b" TAG "\n9.9.9.8 z\n");
}

static void what_no_patch_can_carry_goes_by_element(void **state)
{
    (void)state;
    for (enum revision_way way = REVISION_AUTO; way <= REVISION_BY_ELEMENT; way++) {
        HOUSE(house, true);
        house.way = way;
        house_read(&house, many(&house, "9.9.9.9 somebodys-host-@.home.lan\n", 2000), "");
        revise(&house, two_more, 2);
        assert_int_equal(revision_write_count(house.revision), 2);
        assert_int_equal(revision_write(house.revision, 0).verb, REVISION_PUT);
        assert_int_equal(revision_write(house.revision, 1).verb, REVISION_PUT);
        assert_false(house.revision->is_packed);
    }
}

static void what_is_written_while_others_write_goes_by_element_if_it_is_little(void **state)
{
    (void)state;
    HOUSE(house, true);
    house.way = REVISION_SHARED;
    house_read(&house, "9.9.9.9 nas\n1.1.1.1 a" TAG "\n", "");
    REVISE(&house, "A b 1.1.1.2", "-A a", "A c 1.1.1.2");
    assert_int_equal(revision_write_count(house.revision), 3);
    assert_int_equal(revision_write(house.revision, 2).verb, REVISION_DELETE);
    // Another address has to come in one go, aliases restart the resolver, and many take long.
    REVISE(&house, "A b 1.1.1.2", "A a 1.1.1.3");
    assert_int_equal(revision_write_count(house.revision), 1);
    REVISE(&house, "A b 1.1.1.2", "CNAME w z");
    assert_int_equal(revision_write_count(house.revision), 1);
    struct change changes[REVISION_FEW + 1];
    for (int i = 0; i <= REVISION_FEW; i++)
        changes[i] = change_of(house.arena, arena_printf(house.arena, "A n%d 1.1.1.2", i));
    house_revise(&house, changes, REVISION_FEW);
    assert_int_equal(revision_write_count(house.revision), REVISION_FEW);
    house_revise(&house, changes, REVISION_FEW + 1);
    assert_int_equal(revision_write_count(house.revision), 1);
}

#define HOSTS_PATH "/api/config/dns/hosts/"
#define TAG_PATH "%20%23%20signpost%3A1a2b3c4d\n"

static void where_no_patch_can_carry_it_one_element_has_several_names(void **state)
{
    (void)state;
    HOUSE(house, true);
    const char *full = many(&house, "9.9.9.9 somebodys-host-@.home.lan\n", 2000);
    const char *ours = "1.1.1.1 x y z" TAG "\n1.1.1.1 old" TAG "\n";
    house_read(&house, arena_printf(house.arena, "%s%s", full, ours), "");
    REVISE(&house, "A b 1.1.1.2", "A c 1.1.1.3", "A a 1.1.1.2", "A y 1.1.1.2", "A old 1.1.1.1");
    assert_string_equal(requests(&house),
                        "PUT " HOSTS_PATH "1.1.1.1%20x%20z" TAG_PATH //
                        "PUT " HOSTS_PATH "1.1.1.2%20a%20b%20y" TAG_PATH "PUT " HOSTS_PATH
                        "1.1.1.3%20c" TAG_PATH //
                        "DELETE " HOSTS_PATH "1.1.1.1%20x%20y%20z" TAG_PATH);
    // Another address of all: not a name is missing meanwhile.
    REVISE(&house, "A x 1.1.1.2", "A y 1.1.1.2", "A z 1.1.1.2", "A old 1.1.1.2");
    assert_string_equal(requests(&house), "PUT " HOSTS_PATH "1.1.1.2%20old%20x%20y%20z" TAG_PATH
                                          "DELETE " HOSTS_PATH "1.1.1.1%20x%20y%20z" TAG_PATH
                                          "DELETE " HOSTS_PATH "1.1.1.1%20old" TAG_PATH);
    house.way = REVISION_BY_ELEMENT;
    REVISE(&house, "A b 1.1.1.2", "A a 1.1.1.2");
    assert_string_equal(requests(&house), "PUT " HOSTS_PATH "1.1.1.2%20b" TAG_PATH "PUT " HOSTS_PATH
                                          "1.1.1.2%20a" TAG_PATH);
}

#define ALIASES_PATH "/api/config/dns/cnameRecords/"

static void two_lines_never_have_one_alias_not_even_for_a_moment(void **state)
{
    static const char *const rows[] = {
        "CNAME x.lan|x.lan,t.lan,60\n",    "CNAME y.lan|y.lan,t.lan,60\n",
        "CNAME z.lan|z.lan,t.lan,60\n",    "CNAME old.lan|old.lan,t.lan\n",
        "CNAME gone.lan|gone.lan,t.lan\n", NULL};
    (void)state;
    HOUSE(house, true);
    house_remember(&house, rows);
    const char *full = many(&house, "somebodys-alias-@.home.lan,host.home.lan\n", 2000);
    const char *ours = "gone.lan,t.lan\nold.lan,t.lan\nx.lan,y.lan,z.lan,t.lan,60\n";
    house_read(&house, "", arena_printf(house.arena, "%s%s", full, ours));
    REVISE(&house, "CNAME b.lan t2.lan", "-CNAME gone.lan", "CNAME y.lan t2.lan",
           "CNAME old.lan t2.lan", "CNAME a.lan t2.lan 60", "CNAME c.lan t2.lan 60");
    assert_string_equal(requests(&house),
                        "DELETE " ALIASES_PATH "old.lan%2Ct.lan\n"
                        "DELETE " ALIASES_PATH "x.lan%2Cy.lan%2Cz.lan%2Ct.lan%2C60\n"
                        "PUT " ALIASES_PATH "x.lan%2Cz.lan%2Ct.lan%2C60\n"
                        "PUT " ALIASES_PATH "b.lan%2Cold.lan%2Cy.lan%2Ct2.lan\n"
                        "PUT " ALIASES_PATH "a.lan%2Cc.lan%2Ct2.lan%2C60\n"
                        "DELETE " ALIASES_PATH "gone.lan%2Ct.lan\n");
}

// dnsmasq reads lines of 1,024 octets.
static void aliases_are_packed_into_lines_that_the_resolver_can_read(void **state)
{
    enum { COUNT = 600 };
    const char *rows[COUNT + 1] = {NULL};
    struct change *changes = mem_new_array(struct change, COUNT);
    (void)state;
    HOUSE(house, true);
    for (int i = 0; i < COUNT; i++) {
        const char *name = arena_printf(house.arena, "%0*d.%0*d.lan", 60, i, 60, 0);
        rows[i] = arena_printf(house.arena, "CNAME %s|%s,target.lan\n", name, name);
        changes[i] = change_of(house.arena, arena_printf(house.arena, "CNAME %s target.lan", name));
    }
    house_remember(&house, rows);
    house_read(&house, "", "");
    house_revise(&house, changes, 450);
    assert_int_equal(revision_write_count(house.revision), 1);
    assert_false(house.revision->is_packed);
    house_revise(&house, changes, 500);
    assert_int_equal(revision_write_count(house.revision), 1);
    assert_true(house.revision->is_packed);
    const char *packed = revised(&house, LIST_CNAMES);
    struct text rest = text_of(packed), line;
    while (text_cut(&rest, '\n', &line))
        assert_true(line.len <= 1000);
    // They are ours by what the ledger says of each, and stay as they are.
    house_read(&house, "", packed);
    house_revise(&house, changes, 500);
    assert_int_equal(revision_write_count(house.revision), 0);
    house_revise(&house, changes, COUNT);
    assert_true(revision_write_count(house.revision) > 1);
    assert_int_equal(revision_write(house.revision, 0).verb, REVISION_PUT);
    free(changes);
}

// ---- whose fault --------------------------------------------------------------------------------

static void a_refusal_is_blamed_on_the_changes_behind_the_line(void **state)
{
    (void)state;
    HOUSE(house, true);
    house_read(&house, "9.9.9.9 bad*\n1.1.1.1 a" TAG "\n1.1.1.1 old" TAG "\n", "x,y\n");
    struct change changes[] = {change_of(house.arena, "A b 1.1.1.1"),
                               change_of(house.arena, "A a 1.1.1.2"),
                               change_of(house.arena, "CNAME w z")};
    house_revise(&house, changes, 3);
    struct blame blame =
        revision_blame(house.revision, 0, "dns.hosts[1]: invalid hostname (\"a\")");
    assert_int_equal(blame.kind, BLAME_CHANGES);
    assert_int_equal(blame.change_count, 1);
    assert_ptr_equal(blame.changes[0], &changes[1]);
    assert_true(text_is(blame.text, "1.1.1.2 a" TAG));
    assert_true(text_is(blame.why, "invalid hostname (\"a\")"));
    blame = revision_blame(house.revision, 0, "dns.hosts[3]");
    assert_ptr_equal(blame.changes[0], &changes[0]);
    blame = revision_blame(house.revision, 0, "dns.cnameRecords[1]: too few");
    assert_int_equal(blame.part, LIST_CNAMES);
    assert_ptr_equal(blame.changes[0], &changes[2]);
    blame = revision_blame(house.revision, 0, "dns.hosts[0]: no");
    assert_int_equal(blame.kind, BLAME_FOREIGN);
    assert_true(text_is(blame.text, "9.9.9.9 bad*"));
    blame = revision_blame(house.revision, 0, "dns.cnameRecords[0]: no");
    assert_int_equal(blame.kind, BLAME_FOREIGN);
    blame = revision_blame(house.revision, 0, "dns.hosts[2]: no");
    assert_int_equal(blame.kind, BLAME_OLD);
    assert_int_equal(blame.line, 2);
    list_leave_out(house.list, blame.part, blame.line);
    house_revise(&house, changes, 3);
    assert_string_equal(revised(&house, LIST_HOSTS),
                        "9.9.9.9 bad*\n1.1.1.2 a" TAG "\n1.1.1.1 b" TAG "\n");
}

static void a_hint_without_a_line_blames_nobody(void **state)
{
    static const char *const hints[] = {"",
                                        "dns.hosts[4]: x",
                                        "dns.hosts[-1]: x",
                                        "dns.hosts[99999999999999999999]: x",
                                        "dns.hosts[: x",
                                        "dns.hosts[]: x",
                                        "dns.hosts[1: x",
                                        "dns.cnameRecords[0]: x",
                                        "CNAME loop involving a"};
    (void)state;
    HOUSE(house, true);
    house_read(&house, "9.9.9.9 nas\n1.1.1.1 a" TAG "\n", "x,y\n");
    REVISE(&house, "A b 1.1.1.1", "A c 1.1.1.2");
    assert_int_equal(revision_blame(house.revision, 0, NULL).kind, BLAME_UNKNOWN);
    for (size_t i = 0; i < COUNT_OF(hints); i++)
        assert_int_equal(revision_blame(house.revision, 0, hints[i]).kind, BLAME_UNKNOWN);
}

static void a_refused_element_is_blamed_on_its_change_or_on_the_line_that_was_there(void **state)
{
    (void)state;
    HOUSE(house, true);
    house_read(&house, "9.9.9.9 bad*\n1.1.1.1 a" TAG "\n", "");
    struct change change = change_of(house.arena, "A b 1.1.1.1");
    house_revise(&house, &change, 1);
    assert_int_equal(revision_blame(house.revision, 0, "dns.hosts[0]: no").kind, BLAME_FOREIGN);
    assert_int_equal(revision_blame(house.revision, 0, "dns.hosts[1]: no").kind, BLAME_OLD);
    struct blame blame = revision_blame(house.revision, 0, "dns.hosts[2]: no");
    assert_int_equal(blame.kind, BLAME_CHANGES);
    assert_ptr_equal(blame.changes[0], &change);
    assert_int_equal(revision_blame(house.revision, 0, NULL).kind, BLAME_CHANGES);
}

static void bisecting_finds_each_one_that_is_refused(void **state)
{
    enum { COUNT = 13 };
    struct change changes[COUNT] = {0};
    struct change *pointers[COUNT];
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        pointers[i] = &changes[i];
    for (size_t bad = 0; bad < COUNT; bad++) {
        struct bisect bisect = bisect_of(pointers, COUNT);
        size_t tries = 0;
        for (size_t n; (n = bisect_next(&bisect)) > 0; tries++) {
            bool has_bad = bad >= bisect.low && bad < bisect.low + n;
            bisect_handle_reply(&bisect, !has_bad);
        }
        assert_int_equal(bisect.low, bad);
        assert_true(tries <= 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_an_alias_go_by_one_patch),
        cmocka_unit_test(one_name_more_or_less_goes_by_its_element),
        cmocka_unit_test(all_else_goes_by_patch),
        cmocka_unit_test(elements_are_added_before_others_are_removed),
        cmocka_unit_test(what_json_escapes_is_counted_and_kept),
        cmocka_unit_test(a_body_may_have_65534_octets),
        cmocka_unit_test(hosts_and_aliases_go_by_two_patches_when_one_is_too_small),
        cmocka_unit_test(ours_are_packed_when_that_makes_them_fit_and_unpacked_when_few),
        cmocka_unit_test(packed_lines_are_unpacked_where_there_is_room),
        cmocka_unit_test(what_no_patch_can_carry_goes_by_element),
        cmocka_unit_test(what_is_written_while_others_write_goes_by_element_if_it_is_little),
        cmocka_unit_test(where_no_patch_can_carry_it_one_element_has_several_names),
        cmocka_unit_test(two_lines_never_have_one_alias_not_even_for_a_moment),
        cmocka_unit_test(aliases_are_packed_into_lines_that_the_resolver_can_read),
        cmocka_unit_test(a_refusal_is_blamed_on_the_changes_behind_the_line),
        cmocka_unit_test(a_hint_without_a_line_blames_nobody),
        cmocka_unit_test(a_refused_element_is_blamed_on_its_change_or_on_the_line_that_was_there),
        cmocka_unit_test(bisecting_finds_each_one_that_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
