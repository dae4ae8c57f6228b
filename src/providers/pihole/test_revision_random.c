#include <arpa/inet.h>
#include <strings.h>

#include "base/digest.h"
#include "base/test_rounds.h"
#include "providers/pihole/test_lists.h"

// Random lists and batches, against a model that knows no lines: whose values of a name and type
// stand there is a set of bits, and what a change does to them is said once more. A Pi-hole of a
// few lines carries out the requests.

enum { VALUES = 4, TYPES = 3, NAMES_MAX = 4000, LINES_MAX = 6000, CHANGES_MAX = 400 };

struct bits {
    unsigned ours;
    unsigned hand;  // by hand, alone in its line, without comment
    unsigned fixed; // by hand otherwise
    unsigned other; // another owner's
};

struct made {
    char text[400];
    bool is_ours;
    bool is_adoptable;
    unsigned name;
    enum record_type type;
};

struct lines {
    char *at[LINES_MAX];
    size_t count;
};

struct world {
    struct house house;
    uint64_t seed;
    unsigned names;
    bool is_large;
    bool is_full; // of somebody's lines: no PATCH is long enough
    struct bits bits[NAMES_MAX][TYPES];
    bool is_adopted[NAMES_MAX][TYPES];
    char ledger[NAMES_MAX][TYPES][600];
    struct made made[2][LINES_MAX];
    size_t made_count[2];
    struct lines pihole[2];
    struct change changes[CHANGES_MAX];
    size_t change_count;
};

static unsigned draw(struct world *world, unsigned below)
{
    world->seed = world->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((world->seed >> 33) % below);
}

static const char *spell(enum record_type type, unsigned value, unsigned spelling)
{
    static const char *const texts[TYPES][2][VALUES] = {
        {{"10.0.0.1", "10.0.0.2", "10.0.0.3", "192.168.100.200"},
         {"10.0.0.1", "10.0.0.2", "10.0.0.3", "192.168.100.200"}},
        {{"fd00::1", "fd00::2", "::ffff:10.0.0.1", "2001:db8::a"},
         {"FD00:0::1", "fd00:0:0:0:0:0:0:2", "::FFFF:a00:1", "2001:DB8:0:0::000A"}},
        {{"t1.lan", "t2.lan", "t3.lan", "t4.lan"}, {"T1.lan", "t2.LAN.", "t3.lan.", "T4.LAN"}},
    };
    return texts[type][spelling][value];
}

static void add_name(struct buffer *out, const struct world *world, unsigned name, bool is_odd)
{
    buffer_printf(out, world->is_large ? "%s%05u.some.Home.lan" : "%s%u", is_odd ? "Host" : "host",
                  name);
    if (!is_odd && world->is_large)
        memcpy(out->at + out->len - strlen("Home.lan"), "home", 4);
    if (is_odd && name % 2)
        buffer_add_char(out, '.');
}

// ---- the first lists ----------------------------------------------------------------------------

static bool is_made(const struct world *world, enum list_part part, const char *text)
{
    for (size_t i = 0; i < world->made_count[part] && !world->is_large; i++) {
        if (strcmp(world->made[part][i].text, text) == 0)
            return true;
    }
    return false;
}

static void remember(struct world *world, unsigned name, enum record_type type, const char *text)
{
    char *row = world->ledger[name][type];
    size_t len = strlen(row);
    snprintf(row + len, sizeof world->ledger[0][0] - len, "%s\n", text);
}

enum sort { OURS, HAND, COMMENTED, OTHER, SORTS };

static void make_hosts(struct world *world)
{
    enum record_type type = draw(world, 2) ? RECORD_A : RECORD_AAAA;
    unsigned value = draw(world, VALUES), count = draw(world, 4) ? 1 : 1 + draw(world, 3);
    enum sort sort = world->is_large && draw(world, 8) ? OURS : draw(world, SORTS);
    bool has_tags = world->house.rules.has_tags;
    bool is_odd = draw(world, 3) == 0 && (sort != OURS || has_tags);
    unsigned first = draw(world, world->names - 3);
    AUTO_BUFFER text = {0};
    buffer_printf(&text, "%s", spell(type, value, is_odd));
    for (unsigned i = 0; i < count; i++) {
        buffer_add_text(&text, is_odd ? " \t" : " ");
        add_name(&text, world, first + i, is_odd);
    }
    if (sort == COMMENTED)
        buffer_add_text(&text, " # \"mine\"");
    if (sort == OTHER || (sort == OURS && has_tags))
        buffer_add_text(&text, sort == OTHER ? OTHER_TAG : TAG);
    if (is_made(world, LIST_HOSTS, text.at) || (world->is_large && !has_tags && sort == HAND))
        return;
    struct made *made = &world->made[LIST_HOSTS][world->made_count[LIST_HOSTS]++];
    *made = (struct made){.is_ours = sort == OURS, .name = first, .type = type};
    made->is_adoptable = sort == HAND && count == 1;
    snprintf(made->text, sizeof made->text, "%s", text.at);
    for (unsigned i = 0; i < count; i++) {
        struct bits *bits = &world->bits[first + i][type];
        unsigned *set[] = {&bits->ours, made->is_adoptable ? &bits->hand : &bits->fixed,
                           &bits->fixed, &bits->other};
        *set[sort] |= 1U << value;
        if (sort != OURS || has_tags)
            continue;
        AUTO_BUFFER alone = {0};
        buffer_printf(&alone, "%s ", spell(type, value, 0));
        add_name(&alone, world, first + i, false);
        remember(world, first + i, type, alone.at);
    }
}

static void make_junk(struct world *world)
{
    static const char *const junk[] = {"# all of the kitchen", "", "10.0.0.1", "localhost",
                                       "\\ / \""};
    struct made *made = &world->made[LIST_HOSTS][world->made_count[LIST_HOSTS]++];
    *made = (struct made){.is_ours = false};
    snprintf(made->text, sizeof made->text, "%s", junk[draw(world, COUNT_OF(junk))]);
}

static void make_full(struct world *world)
{
    for (unsigned i = 0; i < 2000; i++) {
        struct made *made = &world->made[LIST_HOSTS][world->made_count[LIST_HOSTS]++];
        *made = (struct made){.is_ours = false};
        snprintf(made->text, sizeof made->text, "10.9.9.9 somebodys-%05u.home.lan # by hand", i);
    }
}

static void make_cname(struct world *world)
{
    unsigned value = draw(world, VALUES), name = draw(world, world->names - 1);
    enum sort sort = draw(world, 2) ? OURS : draw(world, 3) ? HAND : COMMENTED;
    bool is_odd = sort != OURS && draw(world, 3) == 0;
    struct bits *bits = &world->bits[name][RECORD_CNAME];
    if (bits->ours | bits->hand | bits->fixed)
        return;
    AUTO_BUFFER text = {0};
    add_name(&text, world, name, is_odd);
    if (sort == COMMENTED)
        buffer_add_text(&text, ",elsewhere.lan");
    buffer_printf(&text, ",%s", spell(RECORD_CNAME, value, is_odd));
    if (sort == OURS)
        remember(world, name, RECORD_CNAME, text.at);
    unsigned *set[] = {&bits->ours, &bits->hand, &bits->fixed};
    *set[sort] |= 1U << value;
    struct made *made = &world->made[LIST_CNAMES][world->made_count[LIST_CNAMES]++];
    *made = (struct made){
        .is_ours = sort == OURS, .is_adoptable = sort == HAND, .name = name, .type = RECORD_CNAME};
    snprintf(made->text, sizeof made->text, "%s", text.at);
}

static void make_lists(struct world *world)
{
    unsigned count = world->is_large ? draw(world, 2000) : draw(world, 30);
    for (unsigned i = 0; i < count; i++) {
        unsigned which = draw(world, 12);
        if (which == 0)
            make_junk(world);
        else if (which < 3)
            make_cname(world);
        else
            make_hosts(world);
    }
    if (world->is_full)
        make_full(world);
    for (int part = 0; part < 2; part++) {
        for (size_t i = 0; i < world->made_count[part]; i++)
            world->pihole[part].at[world->pihole[part].count++] =
                mem_copy_text(world->made[part][i].text);
    }
}

// ---- changes, and what they should do -----------------------------------------------------------

static void make_changes(struct world *world)
{
    unsigned count = draw(world, 10) ? 1 + draw(world, world->is_large ? 300 : 8) : 0;
    CLEANUP(arena) struct arena *arena = arena_new();
    char *uses = arena_new_array(arena, char, (size_t)world->names *TYPES);
    for (unsigned i = 0; i < count; i++) {
        unsigned name = draw(world, world->names), mask = 1 + draw(world, 15);
        enum record_type type = draw(world, TYPES);
        unsigned how = draw(world, 8);
        // Nobody wants an alias and addresses of one name at once.
        char *used = &uses[name * TYPES], op = how < 2 ? '-' : '+';
        bool is_at_odds =
            op == '+' && (type == RECORD_CNAME ? used[RECORD_A] == '+' || used[RECORD_AAAA] == '+'
                                               : used[RECORD_CNAME] == '+');
        if (used[type] || is_at_odds)
            continue;
        used[type] = op;
        AUTO_BUFFER text = {0};
        buffer_printf(&text, "%s%s ", how < 2 ? "-" : how == 2 ? "+" : "", record_type_name(type));
        add_name(&text, world, name, false);
        if (type == RECORD_CNAME || draw(world, 2))
            mask = 1U << draw(world, VALUES);
        for (unsigned v = 0; v < VALUES && how >= 2; v++) {
            if (mask & 1U << v)
                buffer_printf(&text, " %s", spell(type, v, draw(world, 2)));
        }
        struct arena *kept = world->house.arena;
        world->changes[world->change_count] = change_of(kept, arena_copy_text(kept, text.at));
        world->changes[world->change_count++].may_adopt |= how == 0;
    }
}

static unsigned name_number(struct text name)
{
    while (name.len && (*name.at < '0' || *name.at > '9'))
        name = (struct text){name.at + 1, name.len - 1};
    return (unsigned)strtoul(name.at, NULL, 10);
}

static unsigned number_of(enum record_type type, struct text value)
{
    unsigned char a[16] = {0}, b[16] = {0};
    char copy[64];
    snprintf(copy, sizeof copy, "%.*s", TEXT_ARGS(value));
    for (unsigned v = 0; v < VALUES; v++) {
        int family = type == RECORD_A ? AF_INET : AF_INET6;
        const char *known = spell(type, v, 0);
        bool is_same = type == RECORD_CNAME
                           ? strncasecmp(copy, known, strlen(known)) == 0
                           : inet_pton(family, copy, a) == 1 && inet_pton(family, known, b) == 1 &&
                                 memcmp(a, b, 16) == 0;
        if (is_same)
            return v;
    }
    fail_msg("%s is none of the values", copy);
    return 0;
}

static const char *expect_set(struct bits *bits, const struct bits *name,
                              const struct change *change, bool *is_adopted)
{
    enum record_type type = change->set.type;
    unsigned want = 0;
    for (size_t i = 0; i < change->set.value_count; i++)
        want |= 1U << number_of(type, change->set.values[i]);
    const struct bits *a = &name[RECORD_A], *aaaa = &name[RECORD_AAAA],
                      *alias = &name[RECORD_CNAME];
    bool has_hand = type == RECORD_CNAME ? a->hand | a->fixed | aaaa->hand | aaaa->fixed
                                         : alias->hand | alias->fixed;
    bool has_other = type == RECORD_CNAME && (a->other | aaaa->other);
    if (has_hand || has_other) {
        bits->ours = 0;
        return has_hand ? "NameTaken" : "OwnedElsewhere";
    }
    if (change->may_adopt && bits->hand && !bits->fixed) {
        bits->ours |= bits->hand;
        bits->hand = 0;
        *is_adopted = true;
    }
    unsigned hand = bits->hand | bits->fixed;
    if (hand) {
        bool stays = hand == want && bits->ours == want && type != RECORD_CNAME;
        bits->ours = stays ? want : 0;
        return hand != want ? "NameTaken" : stays ? "done" : "done foreign";
    }
    if (bits->other && !bits->ours)
        return bits->other == want ? "done foreign" : "OwnedElsewhere";
    bits->ours = want;
    return "done";
}

static void expect_remove(struct bits *bits, const struct change *change, bool *is_adopted)
{
    bits->ours = 0;
    if (!change->may_adopt)
        return;
    bits->hand = 0;
    *is_adopted = true;
}

// What a change makes of the bits; it must have come out as said.
static void expect_one(struct world *world, const struct change *change)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    unsigned name = name_number(change->set.domain);
    struct bits *bits = &world->bits[name][change->set.type];
    bool *is_adopted = &world->is_adopted[name][change->set.type];
    if (change->op == CHANGE_REMOVE) {
        expect_remove(bits, change, is_adopted);
        assert_true(change->outcome.is_done);
        return;
    }
    const char *expected = expect_set(bits, world->bits[name], change, is_adopted);
    const char *said = outcome_text(arena, change);
    assert_int_equal(strncmp(said, expected, strlen(expected)), 0);
    assert_int_equal(change->outcome.is_foreign, strcmp(expected, "done foreign") == 0);
}

static void expect(struct world *world, enum change_op op)
{
    for (size_t i = 0; i < world->change_count; i++) {
        if (world->changes[i].op == op)
            expect_one(world, &world->changes[i]);
    }
}

// ---- the Pi-hole --------------------------------------------------------------------------------

static void pihole_put(struct lines *lines, const char *element)
{
    for (size_t i = 0; i < lines->count; i++) {
        if (strcmp(lines->at[i], element) == 0)
            return;
    }
    assert_true(lines->count < LINES_MAX);
    lines->at[lines->count++] = mem_copy_text(element);
}

static void pihole_delete(struct lines *lines, const char *element)
{
    size_t i = 0;
    while (i < lines->count && strcmp(lines->at[i], element) != 0)
        i++;
    assert_true(i < lines->count);
    free(lines->at[i]);
    memmove(&lines->at[i], &lines->at[i + 1], (--lines->count - i) * sizeof *lines->at);
}

static void pihole_empty(struct lines *lines)
{
    while (lines->count)
        free(lines->at[--lines->count]);
}

static void pihole_patch(struct world *world, size_t write)
{
    AUTO_BUFFER body = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    revision_write_body(world->house.revision, write, &body);
    assert_true(body.len <= REVISION_BODY_MAX);
    assert_int_equal(body.len, revision_write(world->house.revision, write).body_len);
    struct value *json = value_read_json(arena, buffer_text(&body), &value_manifest_limits, NULL);
    for (int part = 0; part < 2; part++) {
        const struct value *list =
            value_find(value_at(json, "config.dns", NULL), list_part_key(part));
        assert_int_equal(list != NULL, revision_write(world->house.revision, write).writes[part]);
        if (list)
            pihole_empty(&world->pihole[part]);
        value_each (text, list)
            world->pihole[part].at[world->pihole[part].count++] = text_dup(text->text);
    }
}

static char *unescaped(struct arena *arena, const char *path)
{
    AUTO_BUFFER out = {0};
    for (; *path; path++) {
        char octet = *path;
        if (octet == '%') {
            assert_true(hex_decode((struct text){path + 1, 2}, (uint8_t *)&octet, 1));
            path += 2;
        }
        buffer_add_char(&out, octet);
    }
    return arena_copy(arena, buffer_text(&out).at, out.len);
}

static void pihole_element(struct world *world, size_t write, enum revision_verb verb)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER path = {0};
    revision_write_path(world->house.revision, write, &path);
    const char *element = strrchr(path.at, '/') + 1;
    enum list_part part = strstr(path.at, "/dns/hosts/") ? LIST_HOSTS : LIST_CNAMES;
    (verb == REVISION_PUT ? pihole_put : pihole_delete)(&world->pihole[part],
                                                        unescaped(arena, element));
}

static void carry_out(struct world *world)
{
    for (size_t i = 0; i < revision_write_count(world->house.revision); i++) {
        enum revision_verb verb = revision_write(world->house.revision, i).verb;
        if (verb == REVISION_PATCH)
            pihole_patch(world, i);
        else
            pihole_element(world, i, verb);
    }
}

static struct value *pihole_list(struct world *world, enum list_part part)
{
    struct value *list = value_make(world->house.arena, VALUE_LIST);
    for (size_t i = 0; i < world->pihole[part].count; i++) {
        const char *text = arena_copy_text(world->house.arena, world->pihole[part].at[i]);
        value_append(list, value_make_text(world->house.arena, text_of(text)));
    }
    return list;
}

// ---- what stands there afterwards ---------------------------------------------------------------

static void take_ours(struct world *world, enum list_part part, const char *line,
                      struct bits (*found)[TYPES])
{
    char copy[8000], *state = NULL;
    snprintf(copy, sizeof copy, "%s", line);
    char *comment = strchr(copy, '#');
    if (part == LIST_HOSTS && world->house.rules.has_tags)
        assert_string_equal(strstr(comment, "signpost"), "signpost:" OWNER);
    else
        assert_null(comment);
    if (comment)
        *comment = '\0';
    char *first = strtok_r(copy, part == LIST_HOSTS ? " \t" : ",", &state);
    char *second = part == LIST_CNAMES ? strtok_r(NULL, ",", &state) : NULL;
    const char *value = second ? second : first;
    enum record_type type = second ? RECORD_CNAME : strchr(first, ':') ? RECORD_AAAA : RECORD_A;
    const char *name = second ? first : strtok_r(NULL, " \t", &state);
    unsigned names = 0;
    for (; name; name = strtok_r(NULL, " \t", &state), names++)
        found[name_number(text_of(name))][type].ours |= 1U << number_of(type, text_of(value));
    assert_true(names > 0 && names <= 16);
}

// Foreign lines as they were, in their order; all between is ours.
static void check_part(struct world *world, enum list_part part, struct bits (*found)[TYPES])
{
    size_t at = 0;
    const struct lines *lines = &world->pihole[part];
    for (size_t i = 0; i < world->made_count[part]; i++) {
        const struct made *made = &world->made[part][i];
        if (made->is_ours || (made->is_adoptable && world->is_adopted[made->name][made->type]))
            continue;
        for (; at < lines->count && strcmp(lines->at[at], made->text) != 0; at++)
            take_ours(world, part, lines->at[at], found);
        assert_true(at < lines->count);
        at++;
    }
    for (; at < lines->count; at++)
        take_ours(world, part, lines->at[at], found);
}

static void check_lists(struct world *world)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct bits(*found)[TYPES] = arena_alloc(arena, NAMES_MAX, sizeof *found);
    check_part(world, LIST_HOSTS, found);
    check_part(world, LIST_CNAMES, found);
    for (unsigned name = 0; name < world->names; name++) {
        for (int type = 0; type < TYPES; type++)
            assert_int_equal(found[name][type].ours, world->bits[name][type].ours);
    }
}

// ---- rounds -------------------------------------------------------------------------------------

static const char *world_find(const void *context, enum record_type type, struct text name)
{
    const struct world *world = context;
    const char *row = world->ledger[name_number(name)][type];
    return row[0] ? row : NULL;
}

static void read_lists(struct world *world)
{
    struct house *house = &world->house;
    revision_free(house->revision);
    house->revision = NULL;
    list_free(house->list);
    house->list = list_read(&house->rules, pihole_list(world, LIST_HOSTS),
                            pihole_list(world, LIST_CNAMES), NULL);
    assert_non_null(house->list);
}

static void write_ahead(struct world *world)
{
    for (size_t i = 0; i < world->change_count; i++) {
        AUTO_BUFFER entry = {0};
        const struct record_set *set = &world->changes[i].set;
        if (world->changes[i].op != CHANGE_SET || !list_entry(&world->house.rules, set, &entry))
            continue;
        entry.at[entry.len - 1] = '\0';
        remember(world, name_number(set->domain), set->type, entry.at);
    }
}

static void play(struct world *world)
{
    struct house *house = &world->house;
    read_lists(world);
    strangers_note(&house->strangers, house->list, NULL);
    make_changes(world);
    write_ahead(world);
    read_lists(world);
    house_revise(house, world->changes, world->change_count);
    strangers_note(&house->strangers, house->list, house->revision);
    expect(world, CHANGE_REMOVE);
    expect(world, CHANGE_SET);
    carry_out(world);
    check_lists(world);
    read_lists(world);
    house_revise(house, world->changes, world->change_count);
    assert_int_equal(revision_write_count(house->revision), 0);
    size_t count;
    revision_changes(house->revision, &count);
    assert_int_equal(count, 0);
}

static void play_seed(uint64_t seed, bool is_large, bool is_full)
{
    struct world *world = mem_new_of(struct world);
    world->house = house_of(seed % 3 != 0);
    world->seed = seed;
    world->is_large = is_large;
    world->is_full = is_full;
    world->house.way = (enum revision_way)(seed / 3 % 3);
    if (world->house.way == REVISION_AUTO && seed % 2)
        world->house.way = REVISION_SHARED;
    world->names = is_large ? NAMES_MAX : 12;
    world->house.ledger = (struct ledger_view){.find = world_find, .context = world};
    world->house.rules.ledger = &world->house.ledger;
    world->house.rules.strangers = &world->house.strangers;
    make_lists(world);
    play(world);
    for (int part = 0; part < 2; part++)
        pihole_empty(&world->pihole[part]);
    house_done(&world->house);
    free(world);
}

static void random_batches_do_what_the_model_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RANDOM_ROUNDS(1500); seed++)
        play_seed(seed, false, false);
}

static void long_lists_too(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RANDOM_ROUNDS(18); seed++)
        play_seed(seed, true, false);
}

static void lists_that_no_patch_can_carry_too(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RANDOM_ROUNDS(150); seed++)
        play_seed(seed, false, true);
    for (uint64_t seed = 1; seed <= RANDOM_ROUNDS(9); seed++)
        play_seed(seed, true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_batches_do_what_the_model_says),
        cmocka_unit_test(long_lists_too),
        cmocka_unit_test(lists_that_no_patch_can_carry_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
