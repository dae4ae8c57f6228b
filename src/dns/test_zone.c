#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/digest.h"
#include "dns/test_zones.h"
#include "dns/zone_private.h"

static void expect_hash(const struct zone *zone, const char *wanted)
{
    char hash[21];
    zone_write_hash(zone, hash);
    assert_string_equal(hash, wanted);
}

// ---- one version --------------------------------------------------------------------------------

static void the_hash_of_the_known_zone_is_the_known_one(void **state)
{
    (void)state;
    uint8_t digest[32];
    char hex[65];
    CLEANUP(zone) struct zone *zone = shop_zone(2026112100);
    zone_digest(zone, digest);
    hex_encode(digest, sizeof digest, hex);
    assert_string_equal(hex, "f719cdd86d28ae584ed1742eccc19286137059a33b65eb260a9075b469f43f91");
    expect_hash(zone, "17805488931213979224");
    assert_int_equal(zone_octets(zone), 257);
    assert_int_equal(zone_record_count(zone), 6);
    assert_int_equal(zone->set_count, 5);
}

static void the_hash_is_the_same_under_every_serial(void **state)
{
    (void)state;
    CLEANUP(zone) struct zone *zone = shop_zone(1);
    CLEANUP(zone) struct zone *next = zone_next(zone, shop_soa(2), NULL, 0);
    expect_hash(zone, "17805488931213979224");
    expect_hash(next, "17805488931213979224");
    assert_int_equal(zone_serial(zone), 1);
    assert_int_equal(zone_serial(next), 2);
}

static void the_hash_sees_every_other_change(void **state)
{
    (void)state;
    static const struct text address = {"\300\0\2\65", 4};
    static const struct zone_soa soa = {.mname = {(const uint8_t *)"", 1},
                                        .rname = {(const uint8_t *)"", 1}};
    struct rrset *puts[] = {
        host("www", 7),
        nothing_at("www", RR_A),
        set_of("ns1", RR_A, 3601, &address, 1),
    };
    uint8_t digests[COUNT_OF(puts) + 2][32];
    CLEANUP(zone) struct zone *zone = shop_zone(1);
    for (size_t i = 0; i < COUNT_OF(puts); i++) {
        CLEANUP(zone) struct zone *next = zone_next(zone, NULL, &puts[i], 1);
        zone_digest(next, digests[i]);
    }
    CLEANUP(zone) struct zone *next = zone_next(zone, zone_soa_set(shop, 3600, &soa), NULL, 0);
    zone_digest(next, digests[COUNT_OF(puts)]);
    zone_digest(zone, digests[COUNT_OF(puts) + 1]);
    for (size_t i = 0; i < COUNT_OF(digests); i++)
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(digests[i], digests[j], 32);
}

static void expect_walk(const struct zone *zone, const char *wanted)
{
    AUTO_BUFFER out = {0};
    const struct rrset *set;
    for (struct zone_walk walk = {.zone = zone}; (set = zone_walk(&walk));) {
        char type[10];
        struct dname owner = rrset_owner(set);
        buffer_printf(&out, "%.*s/%s ", (int)owner.at[0], (const char *)owner.at + 1,
                      rr_type_write(set->type, type));
    }
    assert_string_equal(out.at, wanted);
}

static void a_walk_meets_all_sets_in_order_with_the_soa_among_them(void **state)
{
    (void)state;
    CLEANUP(zone) struct zone *zone = shop_zone(1);
    expect_walk(zone, "shop/NS shop/SOA */TXT ns1/A www/A ");
    struct rrset *puts[] = {nothing_at("", RR_NS), nothing_at("*", RR_TXT)};
    CLEANUP(zone) struct zone *without = zone_next(zone, NULL, puts, COUNT_OF(puts));
    expect_walk(without, "shop/SOA ns1/A www/A ");
    struct rrset *alone[] = {host("", 1), set_of("", RR_MX, 1, &TEXT(""), 1)};
    CLEANUP(zone) struct zone *apex = zone_new(shop_soa(1), alone, COUNT_OF(alone));
    expect_walk(apex, "shop/A shop/SOA shop/MX ");
}

static void a_zone_may_have_nothing_but_its_soa(void **state)
{
    (void)state;
    uint8_t owner[DNAME_MAX];
    CLEANUP(zone) struct zone *zone = zone_new(shop_soa(1), NULL, 0);
    expect_walk(zone, "shop/SOA ");
    assert_int_equal(zone->set_count, 1);
    assert_int_equal(zone_record_count(zone), 1);
    assert_null(zone_find(zone, shop, RR_NS));
    assert_null(zone_find(zone, name_of("a", owner), RR_SOA));
    assert_ptr_equal(zone_find(zone, shop, RR_SOA), zone_soa(zone));
    struct rrset *put = host("www", 1);
    CLEANUP(zone) struct zone *next = zone_next(zone, NULL, &put, 1);
    expect_walk(next, "shop/SOA www/A ");
    put = nothing_at("www", RR_A);
    CLEANUP(zone) struct zone *bare = zone_next(next, NULL, &put, 1);
    expect_walk(bare, "shop/SOA ");
}

static void sets_of_one_name_and_type_are_merged_under_the_lowest_ttl(void **state)
{
    (void)state;
    uint8_t owner[DNAME_MAX];
    static const struct text address = {"\12\0\0\1", 4};
    struct rrset *sets[] = {
        host("www", 2),        set_of("www", RR_A, 60, &address, 1),
        host("a", 1),          host("www", 1),
        nothing_at("b", RR_A), nothing_at("a", RR_A),
    };
    CLEANUP(zone) struct zone *zone = zone_new(shop_soa(1), sets, COUNT_OF(sets));
    const struct rrset *set = zone_find(zone, name_of("www", owner), RR_A);
    assert_int_equal(set->count, 2);
    assert_int_equal(set->ttl_s, 60);
    assert_int_equal(zone_find(zone, name_of("a", owner), RR_A)->ttl_s, 300);
    expect_walk(zone, "shop/SOA a/A www/A ");
}

static void sets_are_found_by_name_and_type(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    uint8_t owner[DNAME_MAX];
    char label[DNAME_LABEL_MAX + 1];
    CLEANUP(zone) struct zone *zone = zone_of_hosts(1, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(label, sizeof label, "host-%u", i);
        const struct rrset *set = zone_find(zone, name_of(label, owner), RR_A);
        struct rrset *wanted = host_number(i, i);
        assert_non_null(set);
        assert_true(rrset_equal(set, wanted));
        rrset_unref(wanted);
        assert_null(zone_find(zone, name_of(label, owner), RR_AAAA));
    }
    assert_null(zone_find(zone, name_of("host-5000", owner), RR_A));
    assert_null(zone_find(zone, name_of("zzz", owner), RR_A));
    assert_null(zone_find(zone, name_of("*", owner), RR_A));
    assert_null(zone_find(zone, shop, RR_A));
}

static void names_that_differ_late_or_in_odd_octets_are_sorted(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    static const char *const fronts[] = {
        "",     "a", "a-long-name-of-many-octets-", "a-long-name-of-many-octets-and-more-", "\1",
        "\377", "*"};
    struct rrset *sets[COUNT_OF(fronts) * COUNT * 2 + 2] = {set_of("", RR_TA, 1, &TEXT("x"), 1),
                                                            host("", 1)};
    size_t count = 2;
    for (size_t i = 0; i < COUNT_OF(fronts); i++)
        for (unsigned j = 0; j < COUNT; j++) {
            char label[DNAME_LABEL_MAX + 1];
            snprintf(label, sizeof label, "%s%u", fronts[i], j * 7 % COUNT);
            sets[count++] = set_of(label, RR_TA, 1, &TEXT("x"), 1);
            sets[count++] = host(label, j);
        }
    CLEANUP(zone) struct zone *zone = zone_new(shop_soa(1), sets, count);
    const struct rrset *before = NULL;
    const struct rrset *set;
    for (struct zone_walk walk = {.zone = zone}; (set = zone_walk(&walk)); before = set)
        assert_true(!before || rrset_compare(before, set) < 0);
    assert_int_equal(zone->set_count, count + 1);
}

static void a_zone_of_300000_sets_is_built_from_any_order(void **state)
{
    (void)state;
    enum { COUNT = 300000 };
    autofree struct rrset **sets = mem_new_array(struct rrset *, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        sets[i] = host_number((uint32_t)(i * 7919ull % COUNT), i);
    CLEANUP(zone) struct zone *zone = zone_new(shop_soa(1), sets, COUNT);
    assert_int_equal(zone->set_count, COUNT + 1);
    const struct rrset *before = NULL;
    const struct rrset *set;
    for (struct zone_walk walk = {.zone = zone}; (set = zone_walk(&walk)); before = set)
        assert_true(!before || rrset_compare(before, set) < 0);
}

// ---- the version that follows -------------------------------------------------------------------

static void what_did_not_change_is_shared(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    size_t others = 0;
    CLEANUP(zone) struct zone *zone = zone_of_hosts(1, COUNT);
    CLEANUP(zone) struct zone *next = with_host(zone, 2, 7, 99);
    struct zone_walk old = {.zone = zone};
    struct zone_walk new_ = {.zone = next};
    const struct rrset *set;
    while ((set = zone_walk(&old)))
        others += zone_walk(&new_) != set;
    assert_int_equal(others, 2); // with the SOA
}

static void an_equal_set_or_none_in_place_of_none_changes_nothing(void **state)
{
    (void)state;
    uint8_t owner[DNAME_MAX];
    CLEANUP(zone) struct zone *zone = shop_zone(1);
    struct rrset *puts[] = {nothing_at("x", RR_A), nothing_at("www", RR_TXT),
                            rrset_ref(zone_find(zone, name_of("www", owner), RR_A))};
    CLEANUP(zone) struct zone *next = zone_next(zone, shop_soa(2), puts, COUNT_OF(puts));
    expect_walk(next, "shop/NS shop/SOA */TXT ns1/A www/A ");
    expect_hash(next, "17805488931213979224");
}

static void an_old_version_stays_as_it_was(void **state)
{
    (void)state;
    CLEANUP(zone) struct zone *zone = shop_zone(1);
    struct zone *again = zone_ref(zone);
    struct rrset *puts[] = {nothing_at("", RR_NS), host("www", 3), host("x", 4)};
    CLEANUP(zone) struct zone *next = zone_next(zone, NULL, puts, COUNT_OF(puts));
    expect_walk(next, "shop/SOA */TXT ns1/A www/A x/A ");
    zone_unref(again);
    expect_walk(zone, "shop/NS shop/SOA */TXT ns1/A www/A ");
    expect_hash(zone, "17805488931213979224");
}

static void a_change_anywhere_gives_the_digest_of_the_zone_that_is_made_at_once(void **state)
{
    (void)state;
    enum { COUNT = 30000, STRIDE = 1999 };
    CLEANUP(zone) struct zone *zone = zone_of_hosts(1, COUNT);
    struct zone_walk walk = {.zone = zone};
    const struct rrset *set;
    for (uint32_t i = 0; (set = zone_walk(&walk)); i++) {
        uint8_t digests[3][32];
        if (i % STRIDE != 1)
            continue;
        struct rrset *put = rrset_new(rrset_owner(set), RR_TXT, i, &TEXT("x"), 1);
        zone_digest(zone, digests[0]);
        CLEANUP(zone) struct zone *next = zone_next(zone, shop_soa(2), &put, 1);
        CLEANUP(zone) struct zone *anew = made_anew(next);
        zone_digest(next, digests[1]);
        zone_digest(anew, digests[2]);
        assert_memory_not_equal(digests[1], digests[0], 32);
        assert_memory_equal(digests[1], digests[2], 32);
    }
}

static void another_soa_or_ttl_is_seen_in_the_digest_of_a_large_zone(void **state)
{
    (void)state;
    uint8_t digests[2][32];
    struct zone_soa soa;
    CLEANUP(zone) struct zone *zone = zone_of_hosts(1, 30000);
    zone_digest(zone, digests[0]);
    zone_soa_read(zone_soa(zone), &soa);
    soa.minimum_s++;
    CLEANUP(zone) struct zone *minimum = zone_next(zone, zone_soa_set(shop, 3600, &soa), NULL, 0);
    zone_digest(minimum, digests[1]);
    assert_memory_not_equal(digests[0], digests[1], 32);
    soa.minimum_s--;
    CLEANUP(zone) struct zone *ttl = zone_next(zone, zone_soa_set(shop, 3601, &soa), NULL, 0);
    zone_digest(ttl, digests[1]);
    assert_memory_not_equal(digests[0], digests[1], 32);
    soa.serial++;
    CLEANUP(zone) struct zone *serial = zone_next(zone, zone_soa_set(shop, 3600, &soa), NULL, 0);
    zone_digest(serial, digests[1]);
    assert_memory_equal(digests[0], digests[1], 32);
}

static void a_zone_without_its_end_has_a_digest_of_its_own(void **state)
{
    (void)state;
    enum { COUNT = 3000, END = 400 };
    struct rrset *puts[END] = {NULL};
    uint8_t digests[2][32];
    size_t at = 0;
    const struct rrset *set;
    CLEANUP(zone) struct zone *zone = zone_of_hosts(1, COUNT);
    zone_digest(zone, digests[0]);
    for (struct zone_walk walk = {.zone = zone}; (set = zone_walk(&walk)); at++)
        if (at > COUNT - END)
            puts[COUNT - at] = rrset_new(rrset_owner(set), RR_A, 0, NULL, 0);
    for (size_t count = 1; count <= END; count++) {
        for (size_t i = 0; i < count; i++)
            rrset_ref(puts[i]);
        CLEANUP(zone) struct zone *next = zone_next(zone, NULL, puts, count);
        zone_digest(next, digests[1]);
        assert_memory_not_equal(digests[0], digests[1], 32);
        assert_int_equal(next->set_count, COUNT + 1 - count);
    }
    for (size_t i = 0; i < END; i++)
        rrset_unref(puts[i]);
}

// ---- any changes --------------------------------------------------------------------------------

enum { SLOTS = 1500, CHANGES = 2000 };

struct model {
    uint64_t random;
    struct rrset *slots[SLOTS]; // NULL: not there
};

static uint32_t draw(struct model *model, uint32_t below)
{
    model->random = model->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(model->random >> 33) % below;
}

static struct rrset *drawn_set(struct model *model, uint32_t slot, bool is_there)
{
    static const uint16_t types[] = {RR_A, RR_MX, RR_TXT};
    uint8_t octets[4][4];
    struct text rdatas[4];
    char label[DNAME_LABEL_MAX + 1] = "";
    size_t count = is_there ? 1 + draw(model, COUNT_OF(rdatas)) : 0;
    if (slot / COUNT_OF(types))
        snprintf(label, sizeof label, "n%u", slot / (uint32_t)COUNT_OF(types));
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < 4; j++)
            octets[i][j] = (uint8_t)draw(model, 3);
        rdatas[i] = (struct text){(const char *)octets[i], 1 + draw(model, 4)};
    }
    return set_of(label, types[slot % COUNT_OF(types)], 60 * (1 + draw(model, 2)), rdatas, count);
}

// Sometimes runs of neighbours, so that chunks grow and shrink.
static size_t draw_puts(struct model *model, struct rrset **puts, unsigned percent)
{
    bool is_run = draw(model, 10) == 0;
    uint32_t first = draw(model, SLOTS);
    size_t wanted = 1 + draw(model, is_run ? 400 : 8);
    size_t count = 0;
    bool is_taken[SLOTS] = {false};
    while (count < wanted) {
        uint32_t slot = is_run ? (first + (uint32_t)count) % SLOTS : draw(model, SLOTS);
        if (is_taken[slot])
            continue;
        is_taken[slot] = true;
        struct rrset *put = drawn_set(model, slot, draw(model, 100) < percent);
        rrset_unref(model->slots[slot]);
        model->slots[slot] = put->count ? rrset_ref(put) : NULL;
        puts[count++] = put;
    }
    return count;
}

static struct zone *zone_of_model(const struct model *model, uint32_t serial)
{
    struct rrset *sets[SLOTS];
    size_t count = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (model->slots[i])
            sets[count++] = rrset_ref(model->slots[i]);
    return zone_new(shop_soa(serial), sets, count);
}

static void expect_equal(const struct zone *zone, const struct zone *wanted)
{
    uint8_t digests[2][32];
    struct zone_walk walk = {.zone = zone};
    struct zone_walk wanted_walk = {.zone = wanted};
    const struct rrset *set;
    while ((set = zone_walk(&walk))) {
        const struct rrset *other = zone_walk(&wanted_walk);
        assert_non_null(other);
        assert_true(rrset_equal(set, other));
        assert_ptr_equal(zone_find(zone, rrset_owner(set), set->type), set);
    }
    assert_null(zone_walk(&wanted_walk));
    assert_int_equal(zone->set_count, wanted->set_count);
    assert_int_equal(zone_record_count(zone), zone_record_count(wanted));
    assert_int_equal(zone_octets(zone), zone_octets(wanted));
    zone_digest(zone, digests[0]);
    zone_digest(wanted, digests[1]);
    assert_memory_equal(digests[0], digests[1], 32);
}

static void expect_chunks_of_good_size(const struct zone *zone)
{
    for (size_t i = 0; i < zone->chunk_count; i++) {
        assert_in_range(zone->chunks[i]->count, 1, CHUNK_SETS_MAX);
        assert_true(zone->chunk_count == 1 || zone->chunks[i]->count >= CHUNK_SETS_MIN);
    }
}

static void any_changes_lead_to_the_zone_that_is_made_at_once(void **state)
{
    (void)state;
    struct model model = {.random = 7};
    struct rrset *puts[SLOTS];
    struct zone *zone = zone_new(shop_soa(0), NULL, 0);
    for (uint32_t i = 1; i <= CHANGES; i++) {
        unsigned percent = i / 500 % 2 ? 20 : 80; // it grows and shrinks by turns
        size_t count = draw_puts(&model, puts, percent);
        struct zone *next = zone_next(zone, shop_soa(i), puts, count);
        zone_unref(zone);
        zone = next;
        expect_chunks_of_good_size(zone);
        if (i % 10)
            continue;
        CLEANUP(zone) struct zone *wanted = zone_of_model(&model, i);
        expect_equal(zone, wanted);
    }
    zone_unref(zone);
    for (size_t i = 0; i < SLOTS; i++)
        rrset_unref(model.slots[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_of_the_known_zone_is_the_known_one),
        cmocka_unit_test(the_hash_is_the_same_under_every_serial),
        cmocka_unit_test(the_hash_sees_every_other_change),
        cmocka_unit_test(a_walk_meets_all_sets_in_order_with_the_soa_among_them),
        cmocka_unit_test(a_zone_may_have_nothing_but_its_soa),
        cmocka_unit_test(sets_of_one_name_and_type_are_merged_under_the_lowest_ttl),
        cmocka_unit_test(sets_are_found_by_name_and_type),
        cmocka_unit_test(names_that_differ_late_or_in_odd_octets_are_sorted),
        cmocka_unit_test(a_zone_of_300000_sets_is_built_from_any_order),
        cmocka_unit_test(what_did_not_change_is_shared),
        cmocka_unit_test(an_equal_set_or_none_in_place_of_none_changes_nothing),
        cmocka_unit_test(an_old_version_stays_as_it_was),
        cmocka_unit_test(a_change_anywhere_gives_the_digest_of_the_zone_that_is_made_at_once),
        cmocka_unit_test(another_soa_or_ttl_is_seen_in_the_digest_of_a_large_zone),
        cmocka_unit_test(a_zone_without_its_end_has_a_digest_of_its_own),
        cmocka_unit_test(any_changes_lead_to_the_zone_that_is_made_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
