#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_rounds.h"
#include "dns/test_compilers.h"
#include "dns/zone_compiler_private.h"

// Names and records of a small alphabet come and go at random, so that all of them get into each
// other's way. What the compiler says is compared with a new one that is given all at once.

enum { THINGS = 48, CHILDREN = 3, NAMES = 48 };

static const char *const names[NAMES] = {
    "a",       "b",     "c",     "a.a",     "a.b",     "*.b",    "@",      "*",
    "b.a",     "*.a",   "b.b",   "c.a.a",   "*.a.a",   "a.a.a",  "b.*",    "*.*",
    "ns.a",    "ns.b",  "ns",    "x.c",     "a.a.a.a", "b.a.a",  "*.c",    "ns.c",
    "b.b.b.b", "a.c.b", "*.c.b", "c.c.c",   "c.a.b",   "_b.c",   "a.*.c",  "b.*.c.a",
    "a",       "a.a",   "a.a.a", "a.a.a.a", "ns.a",    "ns.a.a", "*.a",    "b",
    "a.b",     "ns.b",  "*.b",   "x.a.b",   "ns.a.b",  "*",      "x.ns.b", "y.x.a",
};

// Followed by a target, or by nothing.
static const struct {
    const char *type;
    const char *rdata;
    bool has_target;
} forms[] = {
    {"A", "192.0.2.1", false},
    {"AAAA", "2001:db8::1", false},
    {"TXT", "\"v=spf1 a\"", false},
    {"TXT", "\"v=spf1 b\"", false},
    {"MX", "0 .", false},
    {"SRV", "0 0 1 ", true},
    {"A", "192.0.2.2", false},
    {"DS", "1 8 1 0000000000000000000000000000000000000000", false},
    {"MX", "10 ", true},
    {"NS", "", true},
    {"NS", "", true},
    {"CNAME", "", true},
    {"CNAME", "", true},
    {"CNAME", "", true},
    {"CNAME", "", true},
    {"DNAME", "", true},
    {"DNAME", "", true},
    {"PTR", "", true},
    {"CDS", "1 8 1 0000000000000000000000000000000000000000", false},
    {"CDS", "0 0 0 00", false},
    {"CDNSKEY", "257 3 13 AwEAAcw=", false},
    {"DNSKEY", "257 3 8 AwEAAcw=", false},
    {"DNSKEY", "257 3 13 AwEAAcw=", false},
    {"SPF", "x", false},
    {"NSEC", "a.shop.example. A", false},
};

// Of how many things, of which names and of which forms a walk is.
struct alphabet {
    uint32_t things;
    uint32_t names_at;
    uint32_t names;
    uint32_t forms_at;
    uint32_t forms;
    bool has_frames;
};
static const struct alphabet of_all = {THINGS, 0, 32, 0, COUNT_OF(forms), true};
static const struct alphabet of_aliases = {7, 0, 6, 11, 6, false};
static const struct alphabet of_cuts = {20, 32, 16, 6, 6, false};

struct random {
    uint64_t state;
};

static uint32_t draw(struct random *random, uint32_t below)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random->state >> 33) % below;
}

struct child {
    bool is_there;
    struct rrset *ns;
    struct rrset *address;
    const char *apex;
};

struct world {
    struct random random;
    struct zone_compiler *compiler;
    struct thing things[THINGS];
    char lines[THINGS][128];
    char *texts[THINGS]; // when it was told last
    size_t reported[THINGS];
    struct child children[CHILDREN];
    unsigned frame;
    const struct alphabet *alphabet;
    size_t kept;
    size_t out;
    size_t warned;
    size_t looped;
};

static const char *draw_name(struct random *random, const struct alphabet *alphabet)
{
    return names[alphabet->names_at + draw(random, alphabet->names)];
}

static void draw_line(struct random *random, const struct alphabet *alphabet, char out[128])
{
    static const char *const ttls[] = {"", "", "60 ", "4000000000 "};
    size_t form = alphabet->forms_at + draw(random, alphabet->forms);
    const char *target = draw_name(random, alphabet);
    bool is_far = draw(random, 12) == 0;
    bool is_absolute = draw(random, 4) > 0;
    char full[64];
    snprintf(full, sizeof full, "%s%sshop.example.", strcmp(target, "@") ? target : "",
             strcmp(target, "@") ? "." : "");
    snprintf(out, 128, "%s %s%s %s%s", draw_name(random, alphabet), ttls[draw(random, 16) % 4],
             forms[form].type, forms[form].rdata,
             !forms[form].has_target ? ""
             : is_far                ? "ns.net."
             : is_absolute           ? full
                                     : target);
}

// ---- frames and children ------------------------------------------------------------------------

static void set_frame(struct zone_compiler *compiler, unsigned kind)
{
    static const struct text address = {"\300\0\2\1", 4};
    static const struct zone_nameserver servers[] = {
        {{(const uint8_t *)"\2ns\4shop\7example", 17}, &address, 1},
        {{(const uint8_t *)"\2ns\1a\4shop\7example", 19}, &address, 1},
        {{(const uint8_t *)"\2ns\3net", 8}, &address, 1},
    };
    struct zone_frame frame = plain_frame();
    frame.ttl_s = kind & 1 ? 60 : 360;
    frame.nameservers = servers;
    frame.nameserver_count = (kind >> 1 & 3) == 3 ? 0 : (kind >> 1 & 3);
    frame.fallbacks = servers + 1;
    frame.fallback_count = kind >> 3 & 1;
    frame.limits = (struct zone_limits){kind & 4 ? 3 : 0, kind & 8 ? 2 : 0};
    zone_compiler_set_frame(compiler, &frame);
}

static void drop_child(struct child *child)
{
    rrset_unref(child->ns);
    rrset_unref(child->address);
    *child = (struct child){0};
}

static void draw_child(struct random *random, struct child *child)
{
    static const char *const apexes[] = {"a", "b", "a.a", "c", "b.b.b"};
    static const char *const targets[] = {"ns.a", "ns.b", "ns.c", "ns.a.a", "ns"};
    uint8_t owner[DNAME_MAX];
    uint8_t octets[DNAME_MAX];
    drop_child(child);
    if (!draw(random, 3))
        return;
    child->is_there = true;
    child->apex = apexes[draw(random, COUNT_OF(apexes))];
    struct dname apex = read_name(child->apex, owner);
    struct dname target = read_name(targets[draw(random, COUNT_OF(targets))], octets);
    struct text rdata = {(const char *)target.at, target.len};
    if (draw(random, 8))
        child->ns = rrset_new(apex, RR_NS, 60, &rdata, 1);
    if (dname_is_within(target, apex) && draw(random, 4))
        child->address = rrset_new(target, RR_A, 60, &TEXT("\300\0\2\3"), 1);
}

static void set_children(struct world *world, struct zone_compiler *compiler)
{
    struct zone_child children[CHILDREN];
    const struct rrset *addresses[CHILDREN];
    uint8_t octets[CHILDREN][DNAME_MAX];
    size_t count = 0;
    for (size_t i = 0; i < CHILDREN; i++) {
        const struct child *child = &world->children[i];
        bool is_known = !child->is_there;
        for (size_t j = 0; j < i; j++)
            is_known |= world->children[j].is_there &&
                        !strcmp(world->children[j].apex, child->is_there ? child->apex : "");
        if (is_known)
            continue;
        addresses[count] = child->address;
        children[count] = (struct zone_child){read_name(child->apex, octets[count]), child->ns,
                                              &addresses[count], child->address != NULL};
        count++;
    }
    zone_compiler_set_children(compiler, children, count);
}

// ---- steps --------------------------------------------------------------------------------------

static void toggle(struct world *world, size_t at)
{
    struct thing *thing = &world->things[at];
    if (thing->record) {
        zone_compiler_remove(world->compiler, thing->record);
        thing->record = NULL;
        if (draw(&world->random, 2))
            return;
    }
    draw_line(&world->random, world->alphabet, world->lines[at]);
    thing->age = draw(&world->random, 1000) * THINGS + (unsigned)at;
    put(world->compiler, thing, world->lines[at]);
}

static void step(struct world *world)
{
    uint32_t what = world->alphabet->has_frames ? draw(&world->random, 40) : 40;
    if (what == 0) {
        world->frame = draw(&world->random, 16);
        set_frame(world->compiler, world->frame);
    } else if (what < 3) {
        draw_child(&world->random, &world->children[draw(&world->random, CHILDREN)]);
        set_children(world, world->compiler);
    } else {
        toggle(world, draw(&world->random, world->alphabet->things));
    }
}

// ---- comparing ----------------------------------------------------------------------------------

// Whether a name has a node of its own must not be seen.
static void make_all_nodes(struct zone_compiler *compiler)
{
    uint8_t octets[DNAME_MAX];
    for (size_t i = 0; i < NAMES; i++)
        for (struct dname name = read_name(names[i], octets); name.len > shop.len;
             name = dname_parent(name))
            (void)zone_node_add(compiler, name);
}

static void build_anew(struct world *world, struct zone_compiler *compiler,
                       struct thing things[THINGS])
{
    size_t order[THINGS] = {0};
    if (draw(&world->random, 2))
        make_all_nodes(compiler);
    for (size_t i = 0; i < THINGS; i++) {
        size_t j = draw(&world->random, (uint32_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < THINGS; i++) {
        size_t at = order[i];
        if (!world->things[at].record)
            continue;
        things[at].age = world->things[at].age;
        put(compiler, &things[at], world->lines[at]);
    }
    set_children(world, compiler);
    set_frame(compiler, world->frame);
    settle(compiler);
}

static void fail_with(const struct world *world, size_t at, const struct zone_outcome *is,
                      const struct zone_outcome *wanted)
{
    for (size_t i = 0; i < THINGS; i++)
        if (world->things[i].record)
            print_error("%2zu %u %s\n", i, world->things[i].age, world->lines[i]);
    fail_msg("record %zu is %s %x, not %s %x", at, zone_reason_name(is->reason), is->warnings,
             zone_reason_name(wanted->reason), wanted->warnings);
}

static size_t index_of(const void *by, const struct thing things[THINGS])
{
    return by ? (size_t)((const struct thing *)by - things) : THINGS;
}

static void compare_things_reported(struct world *world, const struct thing things[THINGS])
{
    for (size_t i = 0; i < THINGS; i++) {
        const struct thing *thing = &world->things[i];
        if (!thing->record)
            continue;
        struct zone_outcome is = thing->outcome;
        struct zone_outcome now = zone_record_outcome(thing->record);
        struct zone_outcome wanted = zone_record_outcome(things[i].record);
        if (is.reason != wanted.reason || is.warnings != wanted.warnings ||
            index_of(is.by, world->things) != index_of(wanted.by, things))
            fail_with(world, i, &is, &wanted);
        assert_int_equal(now.reason, is.reason);
        world->kept += !is.reason;
        world->out += is.reason != ZONE_FINE;
        world->warned += is.warnings != 0;
        world->looped += is.reason == ZONE_CNAME_LOOP;
    }
}

static void add_text_of(struct buffer *out, const struct zone *zone)
{
    struct zone_walk walk = {.zone = zone};
    const struct rrset *set;
    while ((set = zone_walk(&walk))) {
        size_t cursor = 0;
        struct text rdata;
        while (rrset_next(set, &cursor, &rdata))
            write_record(out, set, rdata);
    }
}

static void compare_zones(struct zone_compiler *a, struct zone_compiler *b)
{
    AUTO_BUFFER left = {0};
    AUTO_BUFFER right = {0};
    uint8_t digests[2][32];
    struct zone *zones[] = {zone_compiler_zone(a, 1), zone_compiler_zone(b, 1)};
    zone_digest(zones[0], digests[0]);
    zone_digest(zones[1], digests[1]);
    if (memcmp(digests[0], digests[1], 32) != 0) {
        add_text_of(&left, zones[0]);
        add_text_of(&right, zones[1]);
        fail_msg("%s\nis not\n%s", left.at, right.at);
    }
    assert_int_equal(zone_record_count(zones[0]), zone_compiler_record_count(a));
    zone_unref(zones[0]);
    zone_unref(zones[1]);
}

static void add_warning(void *context, enum zone_reason reason, struct text text)
{
    buffer_printf(context, "%s %.*s\n", zone_reason_name(reason), TEXT_ARGS(text));
}

static void compare_whole(const struct zone_compiler *a, const struct zone_compiler *b)
{
    AUTO_BUFFER left = {0};
    AUTO_BUFFER right = {0};
    struct zone_child children[2];
    zone_compiler_warnings(a, add_warning, &left);
    zone_compiler_warnings(b, add_warning, &right);
    assert_int_equal(zone_compiler_fault(a, &left), zone_compiler_fault(b, &right));
    if (!text_equal(buffer_text(&left), buffer_text(&right)))
        fail_msg("%s\nis not\n%s", left.at, right.at);
    assert_int_equal(zone_compiler_record_count(a), zone_compiler_record_count(b));
    assert_int_equal(zone_compiler_excluded_count(a), zone_compiler_excluded_count(b));
    zone_compiler_as_child(a, &children[0]);
    zone_compiler_as_child(b, &children[1]);
    assert_int_equal(children[0].ns != NULL, children[1].ns != NULL);
    assert_int_equal(children[0].address_count, children[1].address_count);
    if (children[0].ns)
        assert_true(rrset_equal(children[0].ns, children[1].ns));
}

// Of names that have nodes, and of some that have none.
static void compare_looks(const struct zone_compiler *a, const struct zone_compiler *b)
{
    static const char *const fronts[] = {"", "q.", "*.", "q.q."};
    const struct zone_compiler *compilers[] = {a, b};
    for (size_t i = 0; i < NAMES * COUNT_OF(fronts); i++) {
        char text[64];
        uint8_t octets[DNAME_MAX];
        enum zone_look_kind kinds[2];
        const struct zone_record *aliases[2];
        const char *name = names[i / COUNT_OF(fronts)];
        if (!strcmp(name, "@"))
            continue;
        snprintf(text, sizeof text, "%s%s", fronts[i % COUNT_OF(fronts)], name);
        for (size_t j = 0; j < 2; j++) {
            struct zone_look look = zone_look_name(compilers[j], read_name(text, octets));
            kinds[j] = look.kind == LOOK_BETWEEN ? LOOK_HERE : look.kind;
            aliases[j] = zone_look_alias(look);
        }
        if (kinds[0] != kinds[1] || !aliases[0] != !aliases[1] ||
            (aliases[0] && !zone_record_equal(aliases[0], aliases[1])))
            fail_msg("%s is %d, not %d", text, kinds[0], kinds[1]);
    }
}

static void compare_texts(struct world *world, const struct zone_compiler *fresh,
                          const struct thing things[THINGS])
{
    AUTO_BUFFER left = {0};
    AUTO_BUFFER right = {0};
    for (size_t i = 0; i < THINGS; i++) {
        const struct thing *thing = &world->things[i];
        if (!thing->record)
            continue;
        buffer_clear(&left);
        buffer_clear(&right);
        zone_compiler_explain(world->compiler, thing->record, thing->outcome.reason, &left);
        zone_compiler_explain(fresh, things[i].record, thing->outcome.reason, &right);
        assert_true(text_equal(buffer_text(&left), buffer_text(&right)));
        assert_int_equal(left.len > 0, thing->outcome.reason != ZONE_FINE);
    }
}

static void add_texts(const struct zone_compiler *compiler, const struct thing *thing,
                      struct buffer *out)
{
    zone_compiler_explain(compiler, thing->record, thing->outcome.reason, out);
    for (unsigned i = ZONE_TTL_MISMATCH; i <= ZONE_MULTIPLE_SPF; i++)
        if (thing->outcome.warnings >> (i - ZONE_TTL_MISMATCH) & 1)
            zone_compiler_explain(compiler, thing->record, i, out);
}

// The text of a record that was not told is what it was.
static void expect_no_stale_text(struct world *world)
{
    for (size_t i = 0; i < THINGS; i++) {
        AUTO_BUFFER text = {0};
        const struct thing *thing = &world->things[i];
        if (!thing->record)
            continue;
        add_texts(world->compiler, thing, &text);
        if (world->reported[i] == thing->reported)
            assert_string_equal(text.at ? text.at : "", world->texts[i]);
        free(world->texts[i]);
        world->texts[i] = buffer_steal(&text);
        world->reported[i] = thing->reported;
    }
}

static void compare_with_new(struct world *world)
{
    struct thing things[THINGS] = {0};
    struct zone_compiler *fresh = compiler_of_shop();
    for (size_t i = 0; i < THINGS; i++)
        memcpy(things[i].name, world->things[i].name, sizeof things[i].name);
    build_anew(world, fresh, things);
    compare_things_reported(world, things);
    compare_texts(world, fresh, things);
    compare_whole(world->compiler, fresh);
    if (!draw(&world->random, 4))
        compare_looks(world->compiler, fresh);
    compare_zones(world->compiler, fresh);
    zone_compiler_free(fresh);
}

// What is in makes the same zone by itself: nothing of it stands on what is out.
static void expect_rest_to_stand(struct world *world)
{
    static struct thing things[THINGS];
    struct zone_compiler *fresh = compiler_of_shop();
    for (size_t i = 0; i < THINGS; i++) {
        const struct thing *thing = &world->things[i];
        things[i] = (struct thing){.age = thing->age};
        if (thing->record && !thing->outcome.reason)
            put(fresh, &things[i], world->lines[i]);
    }
    set_children(world, fresh);
    set_frame(fresh, world->frame);
    settle(fresh);
    for (size_t i = 0; i < THINGS; i++)
        if (things[i].record && (things[i].outcome.reason ||
                                 things[i].outcome.warnings != world->things[i].outcome.warnings))
            fail_with(world, i, &world->things[i].outcome, &things[i].outcome);
    zone_compiler_free(fresh);
}

static void walk_at_random(uint64_t seed, const struct alphabet *alphabet, size_t rounds,
                           uint32_t steps_max)
{
    struct world world = {.random = {seed}, .compiler = compiler_of_shop(), .alphabet = alphabet};
    for (size_t i = 0; i < THINGS; i++)
        snprintf(world.things[i].name, sizeof world.things[i].name, "team/%zu", i);
    set_frame(world.compiler, 0);
    for (size_t i = 0; i < rounds; i++) {
        for (uint32_t steps = draw(&world.random, steps_max) + 1; steps; steps--)
            step(&world);
        settle(world.compiler);
        expect_no_stale_text(&world);
        compare_with_new(&world);
        expect_rest_to_stand(&world);
    }
    assert_true(world.kept > rounds && world.out > rounds && world.looped > rounds / 50);
    assert_true(world.warned > rounds / 10);
    for (size_t i = 0; i < CHILDREN; i++)
        drop_child(&world.children[i]);
    for (size_t i = 0; i < THINGS; i++)
        free(world.texts[i]);
    zone_compiler_free(world.compiler);
}

static void one_change_after_the_other_comes_to_the_same_as_all_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 1 + RANDOM_ROUNDS(6); seed++)
        walk_at_random(seed, &of_all, 1000, 1);
}

static void many_changes_at_once_come_to_the_same_as_all_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed < 11 + RANDOM_ROUNDS(6); seed++)
        walk_at_random(seed, &of_all, 300, 200);
}

static void aliases_one_after_the_other_come_to_the_same_as_all_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 21; seed < 21 + RANDOM_ROUNDS(4); seed++)
        walk_at_random(seed, &of_aliases, 1000, 2);
}

static void cuts_one_after_the_other_come_to_the_same_as_all_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 31; seed < 31 + RANDOM_ROUNDS(6); seed++)
        walk_at_random(seed, &of_cuts, 1000, 3);
}

// By the ten thousand, one after the other.
static int share_memory(void **state)
{
    (void)state;
    compilers_slab = slab_new();
    return 0;
}

static int give_memory_back(void **state)
{
    (void)state;
    slab_free(compilers_slab);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_change_after_the_other_comes_to_the_same_as_all_at_once),
        cmocka_unit_test(many_changes_at_once_come_to_the_same_as_all_at_once),
        cmocka_unit_test(aliases_one_after_the_other_come_to_the_same_as_all_at_once),
        cmocka_unit_test(cuts_one_after_the_other_come_to_the_same_as_all_at_once),
    };
    return cmocka_run_group_tests(tests, share_memory, give_memory_back);
}
