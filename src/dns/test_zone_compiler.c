#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "dns/test_compiler_bench.h"
#include "dns/zone_compiler_private.h"

// ---- a record by itself -------------------------------------------------------------------------

static void types_that_servers_make_are_reserved(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t soa = add(&bench, "@ SOA a. b. 1 2 3 4 5");
    size_t below = add(&bench, "sub SOA a. b. 1 2 3 4 5");
    size_t nsec = add(&bench, "@ NSEC a.shop.example. A");
    run(&bench);
    expect_out(&bench, soa, ZONE_RESERVED_TYPE, NULL,
               "the SOA record is made from the zone's own fields");
    expect_out(&bench, below, ZONE_RESERVED_TYPE, NULL,
               "the SOA record is made from the zone's own fields");
    expect_out(&bench, nsec, ZONE_RESERVED_TYPE, NULL,
               "NSEC records are made by the servers, not written into a zone");
    assert_int_equal(zone_compiler_excluded_count(bench.compiler), 3);
    stop(&bench);
}

static void a_ttl_beyond_31_bits_is_refused(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t high = add(&bench, "a 2147483648 A 192.0.2.1");
    size_t highest = add(&bench, "b 2147483647 A 192.0.2.1");
    run(&bench);
    expect_out(&bench, high, ZONE_INVALID_TTL, NULL, "TTL 2147483648 > 2147483647");
    expect_fine(&bench, highest);
    stop(&bench);
}

static void a_name_outside_the_zone_is_out_of_zone(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t out = add(&bench, "www.example. A 192.0.2.1");
    size_t like = add(&bench, "www.workshop.example. A 192.0.2.1");
    run(&bench);
    expect_out(&bench, out, ZONE_OUT_OF_ZONE, NULL,
               "out of zone data: the name does not lie below shop.example.");
    assert_int_equal(zone_record_outcome(bench.things[like].record).reason, ZONE_OUT_OF_ZONE);
    stop(&bench);
}

static void ns_at_a_wildcard_is_refused(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t ns = add(&bench, "*.a NS ns.net.");
    size_t txt = add(&bench, "*.a TXT x");
    run(&bench);
    expect_out(&bench, ns, ZONE_WILDCARD_NS, NULL,
               "NS at a wildcard: a delegation needs a name of its own (RFC 4592)");
    expect_fine(&bench, txt);
    stop(&bench);
}

static void svcb_in_alias_mode_may_not_lead_to_itself(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t alias = add(&bench, "a HTTPS 0 a.shop.example.");
    size_t service = add(&bench, "a HTTPS 1 a.shop.example.");
    size_t other = add(&bench, "b SVCB 0 a.shop.example.");
    run(&bench);
    expect_out(&bench, alias, ZONE_SVCB_SELF_ALIAS, NULL,
               "alias mode (priority 0) leads to its own name: use another target, or \".\" with a "
               "priority above 0");
    expect_fine(&bench, service);
    expect_fine(&bench, other);
    stop(&bench);
}

// ---- the records of a name ----------------------------------------------------------------------

static void a_cname_beside_other_data_loses_to_the_older(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t a = add(&bench, "www A 192.0.2.1");
    size_t cname = add(&bench, "www CNAME other.net.");
    size_t first = add(&bench, "*.w CNAME other.net.");
    size_t second = add(&bench, "*.w TXT x");
    run(&bench);
    expect_fine(&bench, a);
    expect_out(&bench, cname, ZONE_CNAME_CONFLICT, &bench.things[a],
               "CNAME and other data: team/a (A) was there before");
    expect_fine(&bench, first);
    expect_out(&bench, second, ZONE_CNAME_CONFLICT, &bench.things[first],
               "CNAME and other data: team/c (CNAME) was there before");
    stop(&bench);
}

static void age_decides_not_the_order_of_arrival(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t young = add(&bench, "www A 192.0.2.1");
    bench.things[young].age = 50;
    run(&bench);
    expect_fine(&bench, young);
    size_t old = add(&bench, "www CNAME other.net.");
    run(&bench);
    expect_fine(&bench, old);
    expect_out(&bench, young, ZONE_CNAME_CONFLICT, &bench.things[old],
               "CNAME and other data: team/b (CNAME) was there before");
    stop(&bench);
}

static void the_loser_comes_in_when_the_winner_goes(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t a = add(&bench, "www A 192.0.2.1");
    size_t cname = add(&bench, "www CNAME other.net.");
    size_t elsewhere = add(&bench, "mail A 192.0.2.1");
    run(&bench);
    assert_int_equal(bench.reported, 3);
    drop(&bench, a);
    run(&bench);
    assert_int_equal(bench.reported, 1);
    expect_fine(&bench, cname);
    expect_fine(&bench, elsewhere);
    stop(&bench);
}

static void a_second_cname_loses(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t first = add(&bench, "www CNAME a.net.");
    size_t second = add(&bench, "www CNAME b.net.");
    size_t same = add(&bench, "www CNAME a.net.");
    run(&bench);
    expect_fine(&bench, first);
    expect_out(&bench, second, ZONE_CNAME_CONFLICT, &bench.things[first],
               "multiple RRs of singleton type: team/a (CNAME) was there before");
    expect_warned(&bench, same, ZONE_DUPLICATE, "the same record is there already");
    stop(&bench);
}

static void a_cname_and_a_dname_exclude_each_other(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t dname = add(&bench, "a DNAME a.net.");
    size_t cname = add(&bench, "a CNAME b.net.");
    run(&bench);
    expect_fine(&bench, dname);
    expect_out(&bench, cname, ZONE_CNAME_CONFLICT, &bench.things[dname],
               "CNAME and other data: team/a (DNAME) was there before");
    stop(&bench);
}

static void a_cname_at_the_apex_always_loses(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    size_t cname = add(&bench, "@ CNAME a.net.");
    size_t a = add(&bench, "@ A 192.0.2.1");
    run(&bench);
    expect_out(&bench, cname, ZONE_CNAME_CONFLICT, NULL,
               "CNAME and other data: the apex has SOA and NS records; use A and AAAA records "
               "there, or an HTTPS record");
    expect_fine(&bench, a);
    stop(&bench);
}

static void a_cname_loses_to_a_name_server_of_the_zone(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t cname = add(&bench, "ns1 CNAME a.net.");
    run(&bench);
    expect_out(&bench, cname, ZONE_CNAME_CONFLICT, NULL,
               "CNAME and other data: the zone itself (A) was there before");
    stop(&bench);
}

static void a_second_dname_loses(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t first = add(&bench, "a DNAME a.net.");
    size_t second = add(&bench, "a DNAME b.net.");
    run(&bench);
    expect_fine(&bench, first);
    expect_out(&bench, second, ZONE_DUPLICATE_SINGLETON, &bench.things[first],
               "multiple RRs of singleton type: team/a (DNAME) was there before");
    stop(&bench);
}

static void null_mx_stands_alone(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t null = add(&bench, "a MX 0 .");
    size_t mx = add(&bench, "a MX 10 mail.net.");
    size_t same = add(&bench, "a MX 0 .");
    size_t first = add(&bench, "b MX 10 mail.net.");
    size_t second = add(&bench, "b MX 0 .");
    run(&bench);
    expect_fine(&bench, null);
    expect_out(&bench, mx, ZONE_NULL_MX_CONFLICT, &bench.things[null],
               "MX beside a null MX, which says that there is no mail (RFC 7505): team/a was there "
               "before");
    expect_warned(&bench, same, ZONE_DUPLICATE, "the same record is there already");
    expect_fine(&bench, first);
    expect_out(&bench, second, ZONE_NULL_MX_CONFLICT, &bench.things[first],
               "null MX beside another MX (RFC 7505): team/d was there before");
    stop(&bench);
}

static void start_limited(struct bench *bench, uint32_t records_per_type, uint32_t types_per_name)
{
    struct zone_frame frame = plain_frame();
    frame.nameservers = two_servers();
    frame.nameserver_count = 2;
    frame.limits = (struct zone_limits){records_per_type, types_per_name};
    *bench = (struct bench){.compiler = compiler_of_shop()};
    zone_compiler_set_frame(bench->compiler, &frame);
}

static void the_youngest_records_of_a_type_beyond_the_limit_are_out(void **state)
{
    (void)state;
    static const char text[] =
        "2 records of type A at one name, and of 65,138 octets, are the most that the servers take "
        "(max-records-per-type): older ones are there";
    struct bench bench;
    start_limited(&bench, 2, 0);
    size_t first = add(&bench, "a A 192.0.2.1");
    size_t same = add(&bench, "a A 192.0.2.1");
    size_t second = add(&bench, "a A 192.0.2.2");
    size_t third = add(&bench, "a A 192.0.2.3");
    size_t third_again = add(&bench, "a A 192.0.2.3");
    size_t other = add(&bench, "a TXT x");
    run(&bench);
    expect_fine(&bench, first);
    expect_in(&bench, same);
    expect_fine(&bench, second);
    expect_out(&bench, third, ZONE_TOO_MANY_RECORDS, NULL, text);
    expect_out(&bench, third_again, ZONE_TOO_MANY_RECORDS, NULL, text);
    expect_fine(&bench, other);
    drop(&bench, second);
    run(&bench);
    expect_fine(&bench, third);
    expect_in(&bench, third_again);
    stop(&bench);
}

static void the_youngest_types_beyond_the_limit_are_out(void **state)
{
    (void)state;
    static const char text[] =
        "records of 3 types at one name are the most that the servers take (max-types-per-name): "
        "older ones are there";
    struct bench bench;
    start_limited(&bench, 0, 3);
    size_t a = add(&bench, "a A 192.0.2.1");
    size_t txt = add(&bench, "a TXT x");
    size_t mx = add(&bench, "a MX 1 mail.net.");
    size_t srv = add(&bench, "a SRV 1 1 1 mail.net.");
    size_t more = add(&bench, "a A 192.0.2.2");
    size_t ns = add(&bench, "a NS ns.net."); // too late to make a delegation of it
    size_t apex = add(&bench, "@ TXT x");    // beside SOA and NS
    size_t apex_mx = add(&bench, "@ MX 1 mail.net.");
    run(&bench);
    expect_fine(&bench, a);
    expect_fine(&bench, txt);
    expect_fine(&bench, mx);
    expect_out(&bench, srv, ZONE_TOO_MANY_RECORDS, NULL, text);
    expect_fine(&bench, more);
    expect_out(&bench, ns, ZONE_TOO_MANY_RECORDS, NULL, text);
    expect_fine(&bench, apex);
    expect_out(&bench, apex_mx, ZONE_TOO_MANY_RECORDS, NULL, text);
    struct zone_frame frame = plain_frame();
    frame.nameservers = two_servers();
    frame.nameserver_count = 2;
    zone_compiler_set_frame(bench.compiler, &frame);
    run(&bench);
    expect_fine(&bench, apex_mx);
    expect_fine(&bench, ns);
    expect_out(&bench, srv, ZONE_OCCLUDED_BY_DELEGATION, &bench.things[ns],
               "a.shop.example. is occluded by a delegation at a.shop.example. of team/f");
    stop(&bench);
}

// named fetches no zone with such a set, and nobody could answer it in one message.
static void records_of_a_type_that_fit_no_message_together_are_out(void **state)
{
    (void)state;
    struct bench bench;
    start_limited(&bench, 100, 100);
    AUTO_BUFFER line = {0};
    size_t at[3];
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        buffer_clear(&line);
        buffer_printf(&line, "a TYPE65280 \\# 30000 %060000zu", i);
        at[i] = add(&bench, line.at);
    }
    run(&bench);
    expect_fine(&bench, at[0]);
    expect_fine(&bench, at[1]);
    assert_int_equal(bench.things[at[2]].outcome.reason, ZONE_TOO_MANY_RECORDS);
    stop(&bench);
}

static void a_dname_above_a_name_server_of_the_zone_is_out(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t apex = add(&bench, "@ DNAME net.");
    size_t dname = add(&bench, "servers DNAME net.");
    run(&bench);
    expect_out(&bench, apex, ZONE_OCCLUDED_BY_DNAME, NULL,
               "a DNAME here would occlude ns1.shop.example., a name server of the zone, by the "
               "zone itself (NS)");
    expect_fine(&bench, dname);
    size_t address = add(&bench, "ns3.servers A 192.0.2.3");
    size_t ns = add(&bench, "@ NS ns3.servers.shop.example.");
    size_t below = add(&bench, "other.servers A 192.0.2.4");
    run(&bench);
    expect_out(&bench, dname, ZONE_OCCLUDED_BY_DNAME, &bench.things[ns],
               "a DNAME here would occlude ns3.servers.shop.example., a name server of the zone, "
               "by team/d (NS)");
    expect_fine(&bench, address);
    expect_fine(&bench, below);
    expect_fault(&bench, ZONE_FINE, "");
    drop(&bench, ns);
    run(&bench);
    expect_fine(&bench, dname);
    expect_out(&bench, address, ZONE_OCCLUDED_BY_DNAME, &bench.things[dname],
               "ns3.servers.shop.example. is occluded by a DNAME at servers.shop.example. of "
               "team/b");
    stop(&bench);
}

static void the_same_record_twice_is_one(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    size_t first = add(&bench, "a 60 A 192.0.2.1");
    size_t second = add(&bench, "a 60 A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, first);
    expect_warned(&bench, second, ZONE_DUPLICATE, "the same record is there already");
    expect_zone(&bench, "a.shop.example. 60 IN A 192.0.2.1\n");
    drop(&bench, first);
    run(&bench);
    expect_fine(&bench, second);
    expect_zone(&bench, "a.shop.example. 60 IN A 192.0.2.1\n");
    stop(&bench);
}

static void the_lowest_ttl_holds_for_the_whole_set(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    size_t low = add(&bench, "a 60 A 192.0.2.1");
    size_t high = add(&bench, "a 300 A 192.0.2.2");
    size_t zones = add(&bench, "a A 192.0.2.3");
    size_t other = add(&bench, "a 300 TXT x");
    run(&bench);
    expect_fine(&bench, low);
    expect_warned(&bench, high, ZONE_TTL_MISMATCH,
                  "TTLs of the RRset differ: the lowest, 60, holds for all of it");
    expect_warned(&bench, zones, ZONE_TTL_MISMATCH,
                  "TTLs of the RRset differ: the lowest, 60, holds for all of it");
    expect_fine(&bench, other);
    drop(&bench, low);
    run(&bench);
    expect_fine(&bench, high);
    expect_zone(&bench, "a.shop.example. 300 IN A 192.0.2.2\n"
                        "a.shop.example. 300 IN A 192.0.2.3\n"
                        "a.shop.example. 300 IN TXT \"x\"\n");
    stop(&bench);
}

static void what_is_kept_out_does_not_lower_a_ttl(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t kept = add(&bench, "a 300 MX 10 mail.net.");
    add(&bench, "a 60 MX 0 .");
    run(&bench);
    expect_fine(&bench, kept);
    stop(&bench);
}

static void a_change_of_the_zones_ttl_is_heard(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    size_t own = add(&bench, "a 400 A 192.0.2.1");
    size_t zones = add(&bench, "a A 192.0.2.2");
    run(&bench);
    expect_warned(&bench, own, ZONE_TTL_MISMATCH,
                  "TTLs of the RRset differ: the lowest, 360, holds for all of it");
    struct zone_frame frame = plain_frame();
    frame.ttl_s = 400;
    zone_compiler_set_frame(bench.compiler, &frame);
    run(&bench);
    expect_fine(&bench, own);
    expect_fine(&bench, zones);
    expect_zone(&bench, "a.shop.example. 400 IN A 192.0.2.1\na.shop.example. 400 IN A 192.0.2.2\n");
    stop(&bench);
}

// ---- delegations --------------------------------------------------------------------------------

static void a_delegation_occludes_all_but_ns_ds_and_glue(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t at_cut = add(&bench, "sub TXT x");
    size_t ns = add(&bench, "sub NS ns.sub.shop.example.");
    size_t ds = add(&bench, "sub DS 1 8 2 "
                            "0000000000000000000000000000000000000000000000000000000000000000");
    size_t glue = add(&bench, "ns.sub A 192.0.2.1");
    size_t below = add(&bench, "www.sub A 192.0.2.1");
    size_t mail = add(&bench, "ns.sub MX 10 a.net.");
    run(&bench);
    expect_fine(&bench, ns);
    expect_fine(&bench, ds);
    expect_fine(&bench, glue);
    expect_out(&bench, at_cut, ZONE_OCCLUDED_BY_DELEGATION, &bench.things[ns],
               "sub.shop.example. is occluded by a delegation at sub.shop.example. of team/b");
    expect_out(&bench, below, ZONE_OCCLUDED_BY_DELEGATION, &bench.things[ns],
               "www.sub.shop.example. is occluded by a delegation at sub.shop.example. of team/b");
    expect_out(&bench, mail, ZONE_OCCLUDED_BY_DELEGATION, &bench.things[ns],
               "ns.sub.shop.example. is occluded by a delegation at sub.shop.example. of team/b");
    drop(&bench, ns);
    run(&bench);
    expect_fine(&bench, at_cut);
    expect_fine(&bench, below);
    expect_fine(&bench, mail);
    stop(&bench);
}

static void a_delegation_below_a_delegation_is_none(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t lower = add(&bench, "b.a NS ns.net.");
    size_t www = add(&bench, "www.b.a A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, lower);
    size_t upper = add(&bench, "a NS ns.net.");
    run(&bench);
    expect_out(&bench, lower, ZONE_OCCLUDED_BY_DELEGATION, &bench.things[upper],
               "b.a.shop.example. is occluded by a delegation at a.shop.example. of team/c");
    expect_out(&bench, www, ZONE_OCCLUDED_BY_DELEGATION, &bench.things[upper],
               "www.b.a.shop.example. is occluded by a delegation at a.shop.example. of team/c");
    drop(&bench, upper);
    run(&bench);
    expect_fine(&bench, lower);
    expect_out(&bench, www, ZONE_OCCLUDED_BY_DELEGATION, &bench.things[lower],
               "www.b.a.shop.example. is occluded by a delegation at b.a.shop.example. of team/a");
    stop(&bench);
}

static void those_occluded_hear_who_delegates_now(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t first = add(&bench, "a NS ns1.net.");
    size_t second = add(&bench, "a NS ns2.net.");
    size_t www = add(&bench, "www.a A 192.0.2.1");
    run(&bench);
    drop(&bench, first);
    run(&bench);
    assert_int_equal(bench.reported, 1);
    expect_out(&bench, www, ZONE_OCCLUDED_BY_DELEGATION, &bench.things[second],
               "www.a.shop.example. is occluded by a delegation at a.shop.example. of team/b");
    stop(&bench);
}

static void glue_of_a_target_at_the_cut_itself_is_kept(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t ns = add(&bench, "sub NS sub.shop.example.");
    size_t a = add(&bench, "sub A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, ns);
    expect_fine(&bench, a);
    stop(&bench);
}

static void a_target_below_its_own_cut_needs_glue(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t ns = add(&bench, "sub NS ns.sub.shop.example.");
    run(&bench);
    expect_out(&bench, ns, ZONE_MISSING_GLUE, NULL,
               "ns.sub.shop.example. has no address records (A or AAAA): add them to this zone");
    size_t www = add(&bench, "www.sub A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, www); // without NS it is no cut
    size_t glue = add(&bench, "ns.sub AAAA 2001:db8::1");
    run(&bench);
    expect_fine(&bench, ns);
    expect_fine(&bench, glue);
    expect_out(&bench, www, ZONE_OCCLUDED_BY_DELEGATION, &bench.things[ns],
               "www.sub.shop.example. is occluded by a delegation at sub.shop.example. of team/a");
    stop(&bench);
}

static void a_target_in_the_zone_needs_an_address(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t ns = add(&bench, "sub NS ns.shop.example.");
    run(&bench);
    expect_out(&bench, ns, ZONE_MISSING_GLUE, NULL,
               "ns.shop.example. has no address records (A or AAAA): add them to this zone");
    size_t relative = add(&bench, "sub NS ns.net");
    run(&bench);
    expect_out(
        &bench, relative, ZONE_MISSING_GLUE, NULL,
        "ns.net.shop.example. has no address records (A or AAAA): does it want a final dot?");
    drop(&bench, relative);
    size_t star = add(&bench, "* A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, ns);
    drop(&bench, star);
    add(&bench, "ns A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, ns);
    stop(&bench);
}

static void missing_sibling_glue_is_a_warning(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t a = add(&bench, "a NS ns.b.shop.example.");
    size_t b = add(&bench, "b NS ns.net.");
    run(&bench);
    expect_fine(&bench, b);
    expect_warned(&bench, a, ZONE_MISSING_SIBLING_GLUE,
                  "ns.b.shop.example. has no address records (A or AAAA)");
    size_t glue = add(&bench, "ns.b A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, a);
    expect_fine(&bench, glue);
    stop(&bench);
}

static void ds_needs_ns_that_are_in(void **state)
{
    (void)state;
    struct bench bench;
    static const char digest[] = "0000000000000000000000000000000000000000";
    char line[128];
    start(&bench);
    snprintf(line, sizeof line, "sub DS 1 8 1 %s", digest);
    size_t ds = add(&bench, line);
    snprintf(line, sizeof line, "@ DS 1 8 1 %s", digest);
    size_t at_apex = add(&bench, line);
    run(&bench);
    expect_out(&bench, ds, ZONE_DS_WITHOUT_NS, NULL,
               "DS record without a delegation: there are no NS records at sub.shop.example.");
    expect_out(&bench, at_apex, ZONE_DS_WITHOUT_NS, NULL,
               "DS record without a delegation: that of the apex belongs into the zone above");
    size_t ns = add(&bench, "sub NS ns.sub.shop.example.");
    run(&bench);
    assert_int_equal(bench.things[ns].outcome.reason, ZONE_MISSING_GLUE);
    assert_int_equal(bench.things[ds].outcome.reason, ZONE_DS_WITHOUT_NS);
    add(&bench, "ns.sub A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, ds);
    expect_fine(&bench, ns);
    stop(&bench);
}

// ---- DNAME --------------------------------------------------------------------------------------

static void a_dname_occludes_what_is_below_it(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t beside = add(&bench, "old TXT x");
    size_t below = add(&bench, "www.old A 192.0.2.1");
    size_t dname = add(&bench, "old DNAME new.net.");
    run(&bench);
    expect_fine(&bench, beside);
    expect_fine(&bench, dname);
    expect_out(&bench, below, ZONE_OCCLUDED_BY_DNAME, &bench.things[dname],
               "www.old.shop.example. is occluded by a DNAME at old.shop.example. of team/c");
    stop(&bench);
}

static void a_dname_at_the_apex_spares_the_apex(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    size_t ns = add(&bench, "@ NS ns.net.");
    size_t txt = add(&bench, "@ TXT x");
    size_t dname = add(&bench, "@ DNAME new.net.");
    size_t www = add(&bench, "www A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, ns);
    expect_fine(&bench, txt);
    expect_fine(&bench, dname);
    expect_out(&bench, www, ZONE_OCCLUDED_BY_DNAME, &bench.things[dname],
               "www.shop.example. is occluded by a DNAME at shop.example. of team/c");
    stop(&bench);
}

static void a_dname_at_a_cut_is_occluded(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t dname = add(&bench, "a DNAME new.net.");
    size_t ns = add(&bench, "a NS ns.net.");
    run(&bench);
    expect_fine(&bench, ns);
    expect_out(&bench, dname, ZONE_OCCLUDED_BY_DELEGATION, &bench.things[ns],
               "a.shop.example. is occluded by a delegation at a.shop.example. of team/b");
    stop(&bench);
}

static void a_dname_at_a_wildcard_is_warned_of(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t dname = add(&bench, "*.a DNAME new.net.");
    run(&bench);
    expect_warned(&bench, dname, ZONE_WILDCARD_DNAME,
                  "DNAME at a wildcard: servers differ in what they make of it (RFC 6672)");
    stop(&bench);
}

// ---- targets ------------------------------------------------------------------------------------

static void ns_mx_and_srv_may_not_point_at_a_cname(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t alias = add(&bench, "alias CNAME a.net.");
    size_t ns = add(&bench, "sub NS alias.shop.example.");
    size_t mx = add(&bench, "a MX 10 alias.shop.example.");
    size_t srv = add(&bench, "_x._tcp SRV 0 0 1 alias.shop.example.");
    run(&bench);
    expect_out(&bench, ns, ZONE_NS_TARGET_IS_ALIAS, &bench.things[alias],
               "alias.shop.example. is an alias, by team/a (CNAME): point at the name that has the "
               "addresses");
    expect_out(&bench, mx, ZONE_MX_TARGET_IS_ALIAS, &bench.things[alias],
               "alias.shop.example. is an alias, by team/a (CNAME): point at the name that has the "
               "addresses");
    expect_out(&bench, srv, ZONE_SRV_TARGET_IS_ALIAS, &bench.things[alias],
               "alias.shop.example. is an alias, by team/a (CNAME): point at the name that has the "
               "addresses");
    drop(&bench, alias);
    add(&bench, "alias A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, ns);
    expect_fine(&bench, mx);
    expect_fine(&bench, srv);
    stop(&bench);
}

static void nor_at_a_name_below_a_dname(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t mx = add(&bench, "a MX 10 mail.old.shop.example.");
    size_t dname = add(&bench, "old DNAME new.net.");
    run(&bench);
    expect_out(&bench, mx, ZONE_MX_TARGET_IS_ALIAS, &bench.things[dname],
               "mail.old.shop.example. is an alias, by team/b (DNAME): point at the name that has "
               "the addresses");
    stop(&bench);
}

static void nor_at_a_name_that_a_wildcard_makes_an_alias(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t mx = add(&bench, "a MX 10 mail.w.shop.example.");
    size_t star = add(&bench, "*.w CNAME a.net.");
    run(&bench);
    expect_out(&bench, mx, ZONE_MX_TARGET_IS_ALIAS, &bench.things[star],
               "mail.w.shop.example. is an alias, by team/b (CNAME): point at the name that has "
               "the addresses");
    add(&bench, "mail.w A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, mx);
    stop(&bench);
}

static void a_target_without_address_is_warned_of(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t mx = add(&bench, "a MX 10 mail.shop.example.");
    size_t srv = add(&bench, "_x._tcp SRV 0 0 1 a.shop.example.");
    size_t none = add(&bench, "_y._tcp SRV 0 0 0 .");
    size_t below = add(&bench, "b MX 10 mail.sub.shop.example.");
    add(&bench, "sub NS ns.net.");
    run(&bench);
    expect_warned(&bench, mx, ZONE_TARGET_HAS_NO_ADDRESS,
                  "mail.shop.example. has no address records (A or AAAA)");
    expect_warned(&bench, srv, ZONE_TARGET_HAS_NO_ADDRESS,
                  "a.shop.example. has no address records (A or AAAA)");
    expect_fine(&bench, none);
    expect_fine(&bench, below);
    add(&bench, "*.x A 192.0.2.1");
    add(&bench, "mail AAAA 2001:db8::1");
    run(&bench);
    expect_fine(&bench, mx);
    stop(&bench);
}

static void a_cname_that_leads_nowhere_is_warned_of(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t cname = add(&bench, "a CNAME b.c.shop.example.");
    run(&bench);
    expect_warned(&bench, cname, ZONE_DANGLING_TARGET,
                  "b.c.shop.example. does not exist in this zone");
    size_t star = add(&bench, "* TXT x");
    run(&bench);
    expect_fine(&bench, cname);
    size_t closer = add(&bench, "x.c TXT x"); // now c is there, and the wildcard above it is not
    run(&bench);
    expect_warned(&bench, cname, ZONE_DANGLING_TARGET,
                  "b.c.shop.example. does not exist in this zone");
    drop(&bench, star);
    add(&bench, "y.b.c TXT x"); // an empty non-terminal exists
    run(&bench);
    expect_fine(&bench, cname);
    drop(&bench, closer);
    stop(&bench);
}

static void a_relative_target_that_does_not_exist_looks_absolute(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t ptr = add(&bench, "a PTR www.example");
    size_t zone = add(&bench, "b PTR www.shop.example");
    size_t one = add(&bench, "c PTR www");
    size_t known = add(&bench, "d PTR x.y");
    add(&bench, "x.y A 192.0.2.1");
    run(&bench);
    expect_warned(&bench, ptr, ZONE_RELATIVE_TARGET_LOOKS_ABSOLUTE,
                  "the name in the rdata is not absolute and became "
                  "www.example.shop.example.: does it want a final dot?");
    expect_warned(&bench, zone, ZONE_RELATIVE_TARGET_LOOKS_ABSOLUTE,
                  "the name in the rdata is not absolute and became "
                  "www.shop.example.shop.example.: does it want a final dot?");
    expect_fine(&bench, one);
    expect_fine(&bench, known);
    stop(&bench);
}

// ---- loops --------------------------------------------------------------------------------------

static void every_member_of_a_cname_loop_is_out(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t a = add(&bench, "a CNAME b.shop.example.");
    size_t b = add(&bench, "b CNAME c.shop.example.");
    size_t into = add(&bench, "into CNAME a.shop.example.");
    run(&bench);
    expect_fine(&bench, a);
    size_t c = add(&bench, "c CNAME a.shop.example.");
    run(&bench);
    expect_out(&bench, a, ZONE_CNAME_LOOP, NULL,
               "CNAME loop: a.shop.example. leads to b.shop.example. and from there back");
    expect_out(&bench, b, ZONE_CNAME_LOOP, NULL,
               "CNAME loop: b.shop.example. leads to c.shop.example. and from there back");
    expect_out(&bench, c, ZONE_CNAME_LOOP, NULL,
               "CNAME loop: c.shop.example. leads to a.shop.example. and from there back");
    expect_warned(&bench, into, ZONE_DANGLING_TARGET,
                  "a.shop.example. does not exist in this zone");
    drop(&bench, b);
    run(&bench);
    expect_in(&bench, a);
    expect_fine(&bench, into);
    expect_fine(&bench, c);
    stop(&bench);
}

static void a_cname_to_itself_is_a_loop(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t cname = add(&bench, "a CNAME a.shop.example.");
    size_t a = add(&bench, "a A 192.0.2.1");
    run(&bench);
    expect_out(&bench, cname, ZONE_CNAME_LOOP, NULL,
               "CNAME loop: a.shop.example. leads to a.shop.example. and from there back");
    expect_fine(&bench, a);
    stop(&bench);
}

static void a_wildcard_may_close_a_loop(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t star = add(&bench, "*.w CNAME x.w.shop.example.");
    run(&bench);
    expect_out(&bench, star, ZONE_CNAME_LOOP, NULL,
               "CNAME loop: *.w.shop.example. leads to x.w.shop.example. and from there back");
    add(&bench, "x.w A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, star);
    stop(&bench);
}

static void a_dname_may_close_a_loop(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t cname = add(&bench, "q.b CNAME q.a.shop.example.");
    run(&bench);
    assert_int_equal(bench.things[cname].outcome.warnings,
                     1u << (ZONE_DANGLING_TARGET - ZONE_TTL_MISMATCH));
    size_t dname = add(&bench, "a DNAME b.shop.example.");
    run(&bench);
    expect_out(&bench, cname, ZONE_CNAME_LOOP, NULL,
               "CNAME loop: q.b.shop.example. leads to q.a.shop.example. and from there back");
    expect_fine(&bench, dname);
    drop(&bench, dname);
    add(&bench, "a DNAME c.shop.example.");
    run(&bench);
    expect_fine(&bench, cname);
    stop(&bench);
}

static void a_loop_by_a_dname_is_seen_at_its_other_end(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t first = add(&bench, "c CNAME q.a.shop.example.");
    add(&bench, "a DNAME b.shop.example.");
    run(&bench);
    expect_fine(&bench, first);
    size_t last = add(&bench, "q.b CNAME c.shop.example.");
    run(&bench);
    assert_int_equal(bench.things[first].outcome.reason, ZONE_CNAME_LOOP);
    assert_int_equal(bench.things[last].outcome.reason, ZONE_CNAME_LOOP);
    drop(&bench, last);
    run(&bench);
    expect_fine(&bench, first);
    stop(&bench);
}

static void dnames_that_lead_to_each_other_are_a_loop(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t a = add(&bench, "a DNAME x.b.shop.example.");
    size_t b = add(&bench, "b DNAME a.shop.example.");
    size_t self = add(&bench, "c DNAME x.c.shop.example.");
    size_t www = add(&bench, "www.c A 192.0.2.1");
    run(&bench);
    expect_out(&bench, a, ZONE_CNAME_LOOP, NULL,
               "DNAME loop: a.shop.example. leads to x.b.shop.example. and from there back");
    expect_out(&bench, b, ZONE_CNAME_LOOP, NULL,
               "DNAME loop: b.shop.example. leads to a.shop.example. and from there back");
    expect_out(&bench, self, ZONE_CNAME_LOOP, NULL,
               "DNAME loop: c.shop.example. leads to x.c.shop.example. and from there back");
    expect_fine(&bench, www); // a loop by itself hides nothing
    stop(&bench);
}

// ---- other warnings -----------------------------------------------------------------------------

static void cds_at_the_apex_needs_dnskey(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t cds = add(&bench, "@ CDS 1 8 1 0000000000000000000000000000000000000000");
    size_t key = add(&bench, "@ CDNSKEY 257 3 8 AwEAAcw=");
    size_t below = add(&bench, "a CDS 1 8 1 0000000000000000000000000000000000000000");
    add(&bench, "@ DNSKEY 257 3 13 AwEAAcw=");
    run(&bench);
    expect_out(&bench, cds, ZONE_CDS_WITHOUT_DNSKEY, NULL,
               "there is no DNSKEY record of algorithm 8 at the apex that it could belong to: add "
               "it as well");
    assert_int_equal(bench.things[key].outcome.reason, ZONE_CDS_WITHOUT_DNSKEY);
    expect_fine(&bench, below);
    add(&bench, "@ DNSKEY 257 3 8 AwEAAcw=");
    run(&bench);
    expect_fine(&bench, cds);
    expect_fine(&bench, key);
    stop(&bench);
}

static void cds_that_deletes_stands_alone(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t null = add(&bench, "@ CDS 0 0 0 00");
    size_t same = add(&bench, "@ CDS 0 0 0 00");
    size_t null_key = add(&bench, "@ CDNSKEY 0 3 0 AA==");
    run(&bench);
    expect_fine(&bench, null); // a signer brings the key
    expect_warned(&bench, same, ZONE_DUPLICATE, "the same record is there already");
    expect_fine(&bench, null_key);
    size_t cds = add(&bench, "@ CDS 1 8 1 0000000000000000000000000000000000000000");
    size_t key = add(&bench, "@ DNSKEY 257 3 8 AwEAAcw=");
    run(&bench);
    expect_fine(&bench, key);
    expect_out(&bench, cds, ZONE_DUPLICATE_SINGLETON, &bench.things[null],
               "what asks the zone above for nothing any more stands alone (RFC 8078): team/a "
               "(CDS) was there before");
    bench.things[cds].age = 0;
    drop(&bench, null);
    drop(&bench, same);
    run(&bench);
    expect_fine(&bench, cds);
    size_t late = add(&bench, "@ CDS 0 0 0 00");
    run(&bench);
    assert_int_equal(bench.things[late].outcome.reason, ZONE_DUPLICATE_SINGLETON);
    drop(&bench, key);
    run(&bench);
    assert_int_equal(bench.things[cds].outcome.reason, ZONE_CDS_WITHOUT_DNSKEY);
    expect_fine(&bench, late); // what it lost to is out
    stop(&bench);
}

static void names_that_hosts_cannot_have_are_warned_of(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t owner = add(&bench, "a_b A 192.0.2.1");
    size_t six = add(&bench, "-b AAAA ::1");
    size_t ns = add(&bench, "sub NS ns_1.net.");
    size_t target = add(&bench, "a MX 10 a_b.net.");
    size_t star = add(&bench, "* A 192.0.2.1");
    size_t txt = add(&bench, "_dmarc TXT x");
    size_t mail = add(&bench, "_m MX 10 a.net.");
    size_t wild = add(&bench, "c SRV 0 0 1 *.net.");
    run(&bench);
    expect_warned(&bench, mail, ZONE_NOT_A_HOSTNAME,
                  "_m.shop.example. is not a host name: letters, digits and hyphens (RFC 1123)");
    expect_warned(&bench, wild, ZONE_NOT_A_HOSTNAME,
                  "*.net. is not a host name: letters, digits and hyphens (RFC 1123)");
    expect_warned(&bench, owner, ZONE_NOT_A_HOSTNAME,
                  "a_b.shop.example. is not a host name: letters, digits and hyphens (RFC 1123)");
    expect_warned(&bench, target, ZONE_NOT_A_HOSTNAME,
                  "a_b.net. is not a host name: letters, digits and hyphens (RFC 1123)");
    expect_warned(&bench, six, ZONE_NOT_A_HOSTNAME,
                  "-b.shop.example. is not a host name: letters, digits and hyphens (RFC 1123)");
    expect_warned(&bench, ns, ZONE_NOT_A_HOSTNAME,
                  "ns_1.net. is not a host name: letters, digits and hyphens (RFC 1123)");
    expect_fine(&bench, star);
    expect_fine(&bench, txt);
    stop(&bench);
}

static void an_asterisk_in_the_middle_is_warned_of(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t txt = add(&bench, "a.*.b TXT x");
    run(&bench);
    expect_warned(&bench, txt, ZONE_INTERIOR_ASTERISK,
                  "a.*.b.shop.example. has an asterisk where it is no wildcard");
    stop(&bench);
}

static void spf_belongs_into_one_txt(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t old = add(&bench, "a SPF \"v=spf1 -all\"");
    size_t first = add(&bench, "b TXT \"v=spf1 -all\"");
    size_t second = add(&bench, "b TXT \"V=SP\" \"F1\"");
    size_t other = add(&bench, "b TXT \"v=spf10\"");
    size_t alone = add(&bench, "c TXT \"v=spf1\"");
    run(&bench);
    expect_warned(&bench, old, ZONE_USE_TXT_FOR_SPF,
                  "nobody asks for type SPF any more: use TXT (RFC 7208)");
    expect_warned(&bench, first, ZONE_MULTIPLE_SPF,
                  "several v=spf1 records at one name: all of them fail (RFC 7208)");
    expect_warned(&bench, second, ZONE_MULTIPLE_SPF,
                  "several v=spf1 records at one name: all of them fail (RFC 7208)");
    expect_fine(&bench, other);
    expect_fine(&bench, alone);
    stop(&bench);
}

static void what_is_legal_passes_without_a_word(void **state)
{
    static const char *const lines[] = {
        "a.b.c TXT x",          "_x._tcp.a SRV 0 0 1 host.shop.example.",
        "host A 192.0.2.1",     "_acme CNAME other.net.",
        "only-null MX 0 .",     "*.m MX 10 host.shop.example.",
        "0/25 NS ns.net.",      "1 CNAME 1.0/25.shop.example.",
        "u TYPE65280 \\# 1 00", "x HTTPS 0 host.shop.example.",
    };
    (void)state;
    struct bench bench;
    start(&bench);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        add(&bench, lines[i]);
    run(&bench);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        expect_fine(&bench, i);
    assert_int_equal(zone_compiler_excluded_count(bench.compiler), 0);
    stop(&bench);
}

// ---- the zone's own fields ----------------------------------------------------------------------

static void a_zone_needs_name_servers(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    run(&bench);
    expect_fault(&bench, ZONE_NO_NAMESERVERS,
                 "no NS records at the apex: set nameservers, or add NS records");
    add(&bench, "@ NS ns.net.");
    run(&bench);
    expect_fault(&bench, ZONE_FINE, "");
    stop(&bench);
}

static void fallbacks_serve_while_there_are_no_others(void **state)
{
    (void)state;
    struct bench bench;
    struct zone_frame frame = plain_frame();
    frame.fallbacks = two_servers();
    frame.fallback_count = 2;
    start_bare(&bench);
    zone_compiler_set_frame(bench.compiler, &frame);
    run(&bench);
    expect_fault(&bench, ZONE_FINE, "");
    expect_zone(&bench, "shop.example. 360 IN NS ns1.shop.example.\n"
                        "shop.example. 360 IN NS ns2.net.\n"
                        "ns1.shop.example. 360 IN A 192.0.2.1\n");
    size_t ns = add(&bench, "@ NS ns.net.");
    run(&bench);
    expect_zone(&bench, "shop.example. 360 IN NS ns.net.\n");
    drop(&bench, ns);
    run(&bench);
    expect_zone(&bench, "shop.example. 360 IN NS ns1.shop.example.\n"
                        "shop.example. 360 IN NS ns2.net.\n"
                        "ns1.shop.example. 360 IN A 192.0.2.1\n");
    stop(&bench);
}

static void name_servers_and_ns_records_are_one_set(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t ns = add(&bench, "@ 60 NS ns3.net.");
    size_t a = add(&bench, "ns1 A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, ns);
    expect_warned(&bench, a, ZONE_DUPLICATE, "the same record is there already");
    expect_zone(&bench, "shop.example. 60 IN NS ns1.shop.example.\n"
                        "shop.example. 60 IN NS ns2.net.\n"
                        "shop.example. 60 IN NS ns3.net.\n"
                        "ns1.shop.example. 360 IN A 192.0.2.1\n");
    stop(&bench);
}

static void a_name_server_of_the_zone_needs_an_address(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    size_t ns = add(&bench, "@ NS ns.shop.example.");
    run(&bench);
    expect_fine(&bench, ns);
    expect_fault(&bench, ZONE_MISSING_ADDRESS,
                 "ns.shop.example. has no address records (A or AAAA), and is a name server of the "
                 "zone: add some");
    size_t a = add(&bench, "ns A 192.0.2.1");
    run(&bench);
    expect_fault(&bench, ZONE_FINE, "");
    drop(&bench, a);
    add(&bench, "ns CNAME a.net.");
    run(&bench);
    expect_fine(&bench, ns);
    expect_fault(&bench, ZONE_NS_TARGET_IS_ALIAS,
                 "ns.shop.example. is an alias, and a name server of the zone: give it A or AAAA "
                 "records of its own");
    stop(&bench);
}

static void a_name_server_below_a_cut_needs_glue(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    add(&bench, "@ NS ns.sub.shop.example.");
    add(&bench, "sub NS ns.net.");
    run(&bench);
    expect_fault(&bench, ZONE_MISSING_ADDRESS,
                 "ns.sub.shop.example. has no address records (A or AAAA), and is a name server of "
                 "the zone: add some");
    size_t glue = add(&bench, "ns.sub A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, glue);
    expect_fault(&bench, ZONE_FINE, "");
    stop(&bench);
}

static void an_address_is_no_name_server(void **state)
{
    (void)state;
    static const struct zone_nameserver server = {
        {(const uint8_t *)"\003192\0010\0012\0011\4shop\7example", 24}, NULL, 0};
    struct bench bench;
    struct zone_frame frame = plain_frame();
    frame.nameservers = &server;
    frame.nameserver_count = 1;
    start_bare(&bench);
    zone_compiler_set_frame(bench.compiler, &frame);
    run(&bench);
    expect_fault(&bench, ZONE_NS_TARGET_IS_ADDRESS,
                 "192.0.2.1.shop.example. is an address: a name server is given by its name, with "
                 "addresses beside it");
    stop(&bench);
}

static void a_zone_that_is_too_large_is_not_served(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    run(&bench);
    bench.compiler->record_count = ZONE_RECORDS_MAX - 1;
    expect_fault(&bench, ZONE_FINE, "");
    bench.compiler->record_count = ZONE_RECORDS_MAX;
    expect_fault(&bench, ZONE_TOO_LARGE,
                 "1000001 records with 0 MiB of rdata: at most 1000000 and 256 MiB are served");
    bench.compiler->record_count = 1;
    bench.compiler->rdata_octets = ZONE_RDATA_MAX + 1;
    expect_fault(&bench, ZONE_TOO_LARGE,
                 "2 records with 256 MiB of rdata: at most 1000000 and 256 MiB are served");
    stop(&bench);
}

static void rdata_that_is_in_the_zone_is_counted(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    size_t first = add(&bench, "a A 192.0.2.1");
    size_t same = add(&bench, "a A 192.0.2.1");
    add(&bench, "a CNAME a.net.");
    run(&bench);
    assert_int_equal(bench.compiler->rdata_octets, 4);
    assert_int_equal(zone_compiler_record_count(bench.compiler), 2);
    assert_int_equal(zone_compiler_excluded_count(bench.compiler), 1);
    drop(&bench, first);
    run(&bench);
    assert_int_equal(bench.compiler->rdata_octets, 4);
    drop(&bench, same);
    run(&bench);
    assert_int_equal(bench.compiler->rdata_octets, 7);
    assert_int_equal(zone_compiler_excluded_count(bench.compiler), 0);
    stop(&bench);
}

static void names_go_with_their_last_record(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    add(&bench, "a.b.c MX 10 x.y.z.shop.example.");
    add(&bench, "b.c TXT x");
    run(&bench);
    assert_int_equal(bench.compiler->node_count, 3);
    struct zone *zone = zone_compiler_zone(bench.compiler, 1);
    drop(&bench, 0);
    run(&bench);
    drop(&bench, 1);
    run(&bench);
    zone_unref(zone);
    zone = zone_compiler_zone(bench.compiler, 2);
    run(&bench);
    assert_int_equal(zone_record_count(zone), 1);
    assert_int_equal(bench.compiler->node_count, 0);
    zone_unref(zone);
    stop(&bench);
}

static void expect_look(struct bench *bench, const char *text, enum zone_look_kind wanted)
{
    uint8_t octets[DNAME_MAX];
    assert_int_equal(zone_look_name(bench->compiler, read_name(text, octets)).kind, wanted);
}

static void a_name_between_two_others_exists(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    size_t deep = add(&bench, "a.b.*.c.d TXT x");
    add(&bench, "* TXT x");
    add(&bench, "*.e.f TXT x");
    run(&bench);
    assert_int_equal(bench.compiler->node_count, 3);
    expect_look(&bench, "e.f", LOOK_BETWEEN);
    expect_look(&bench, "x.e.f", LOOK_HERE); // the wildcard
    expect_look(&bench, "y.x.e.f", LOOK_HERE);
    expect_look(&bench, "x.f", LOOK_NOTHING);
    expect_look(&bench, "a.b.*.c.d", LOOK_HERE);
    expect_look(&bench, "b.*.c.d", LOOK_BETWEEN);
    expect_look(&bench, "d", LOOK_BETWEEN);
    expect_look(&bench, "x", LOOK_HERE);        // the wildcard
    expect_look(&bench, "x.d", LOOK_NOTHING);   // which is not that of d
    expect_look(&bench, "x.c.d", LOOK_BETWEEN); // answered by a wildcard without records
    expect_look(&bench, "x.b.*.c.d", LOOK_NOTHING);
    expect_look(&bench, "x.a.b.*.c.d", LOOK_NOTHING);
    drop(&bench, deep);
    run(&bench);
    expect_look(&bench, "x.d", LOOK_HERE);
    stop(&bench);
}

static void names_part_where_they_differ(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    size_t star = add(&bench, "a.*.c.d A 192.0.2.1");
    size_t mx = add(&bench, "m MX 10 x.c.d.shop.example.");
    run(&bench);
    expect_in(&bench, star);
    expect_warned(&bench, mx, ZONE_TARGET_HAS_NO_ADDRESS,
                  "x.c.d.shop.example. has no address records (A or AAAA)");
    assert_int_equal(bench.compiler->node_count, 5); // c.d, *, a, x, m
    size_t other = add(&bench, "*.c.d A 192.0.2.1");
    size_t upper = add(&bench, "d TXT x");
    run(&bench);
    expect_fine(&bench, mx);
    expect_zone(&bench, "d.shop.example. 360 IN TXT \"x\"\n"
                        "*.c.d.shop.example. 360 IN A 192.0.2.1\n"
                        "a.*.c.d.shop.example. 360 IN A 192.0.2.1\n"
                        "m.shop.example. 360 IN MX 10 x.c.d.shop.example.\n");
    drop(&bench, upper);
    drop(&bench, mx);
    drop(&bench, star);
    drop(&bench, other);
    run(&bench);
    expect_zone(&bench, "");
    run(&bench);
    assert_int_equal(bench.compiler->node_count, 0);
    stop(&bench);
}

static void a_deep_name_is_one_node(void **state)
{
    (void)state;
    struct bench bench;
    char line[300];
    start_bare(&bench);
    for (size_t i = 0; i < 100; i++)
        memcpy(line + 2 * i, "a.", 2);
    memcpy(line + 200, "b TXT x", 8);
    add(&bench, line);
    memcpy(line + 50, "b.", 2);
    add(&bench, line);
    run(&bench);
    assert_int_equal(bench.compiler->node_count, 3);
    drop(&bench, 1);
    run(&bench);
    assert_int_equal(bench.compiler->node_count, 1); // in one piece again
    expect_in(&bench, 0);
    stop(&bench);
}

static void the_zones_own_fields_are_warned_of(void **state)
{
    (void)state;
    static const struct text address = {"\300\0\2\1", 4};
    static const struct zone_nameserver server = {{(const uint8_t *)"\3ns2\3net", 9}, &address, 1};
    struct bench bench;
    struct zone_frame frame = plain_frame();
    start(&bench);
    run(&bench);
    expect_warnings(&bench, "");
    frame.nameservers = &server;
    frame.nameserver_count = 1;
    frame.has_mname = true;
    frame.mname = (struct dname){(const uint8_t *)"\6hidden\3net", 12};
    frame.retry_s = 86400;
    frame.expire_s = 86400 * 2;
    frame.minimum_s = 10801;
    zone_compiler_set_frame(bench.compiler, &frame);
    run(&bench);
    expect_warnings(
        &bench,
        "SingleNS: the zone has one name server: two or more (RFC 2182)\n"
        "MNAMENotInNS: hidden.net. of the SOA record is neither a name server of the zone nor a "
        "name in it\n"
        "SOATimers: retry 86400 is not below refresh 86400; expire 172800 is not above refresh and "
        "retry together; negative answers are kept for 10801 s, more than 10800\n"
        "AddressIgnored: ns2.net. does not lie in the zone: its addresses are left out\n");
    stop(&bench);
}

static void fields_at_their_bounds_are_fine(void **state)
{
    (void)state;
    struct bench bench;
    struct zone_frame frame = plain_frame();
    frame.nameservers = two_servers();
    frame.nameserver_count = 2;
    frame.has_mname = true;
    frame.mname = (struct dname){(const uint8_t *)"\6hidden\4shop\7example", 21};
    frame.refresh_s = 7200;
    frame.retry_s = 7199;
    frame.expire_s = 14400;
    frame.minimum_s = 10800;
    start_bare(&bench);
    add(&bench, "hidden A 192.0.2.9");
    zone_compiler_set_frame(bench.compiler, &frame);
    run(&bench);
    expect_warnings(&bench, "");
    frame.expire_s = 14399;
    zone_compiler_set_frame(bench.compiler, &frame);
    run(&bench);
    expect_warnings(&bench, "SOATimers: expire 14399 is not above refresh and retry together\n");
    stop(&bench);
}

static void expect_mname(struct bench *bench, const char *wanted)
{
    AUTO_BUFFER out = {0};
    struct zone_soa soa;
    struct zone *zone = zone_compiler_zone(bench->compiler, 7);
    zone_soa_read(zone_soa(zone), &soa);
    assert_int_equal(soa.serial, 7);
    dname_write(&out, soa.mname);
    assert_string_equal(out.at, wanted);
    zone_unref(zone);
}

static void mname_is_the_first_name_server_unless_it_is_given(void **state)
{
    (void)state;
    struct bench bench;
    start_bare(&bench);
    run(&bench);
    expect_mname(&bench, "ns.shop.example.");
    add(&bench, "@ NS b.net.");
    add(&bench, "@ NS a.net.");
    run(&bench);
    expect_mname(&bench, "a.net.");
    struct zone_frame frame = plain_frame();
    frame.nameservers = two_servers();
    frame.nameserver_count = 2;
    zone_compiler_set_frame(bench.compiler, &frame);
    run(&bench);
    expect_mname(&bench, "ns1.shop.example.");
    frame.has_mname = true;
    frame.mname = (struct dname){(const uint8_t *)"\6hidden\3net", 12};
    zone_compiler_set_frame(bench.compiler, &frame);
    expect_mname(&bench, "hidden.net.");
    stop(&bench);
}

static void the_vector_for_hashes_comes_out(void **state)
{
    (void)state;
    static const struct text address = {"\300\0\2\65", 4};
    static const struct zone_nameserver server = {
        {(const uint8_t *)"\3ns1\4shop\7example", 18}, &address, 1};
    struct bench bench;
    char hash[21];
    struct zone_frame frame = plain_frame();
    frame.rname = (struct dname){(const uint8_t *)"\12hostmaster\4shop\7example", 25};
    frame.ttl_s = 3600;
    frame.nameservers = &server;
    frame.nameserver_count = 1;
    start_bare(&bench);
    zone_compiler_set_frame(bench.compiler, &frame);
    add(&bench, "www 300 A 192.0.2.10");
    add(&bench, "* 360 TXT hello");
    add(&bench, "www 300 A 192.0.2.7");
    run(&bench);
    struct zone *zone = zone_compiler_zone(bench.compiler, 2026112100);
    zone_write_hash(zone, hash);
    assert_string_equal(hash, "17805488931213979224");
    assert_int_equal(zone_compiler_record_count(bench.compiler), 6);
    zone_unref(zone);
    stop(&bench);
}

// ---- zones below --------------------------------------------------------------------------------

struct below {
    struct zone_compiler *compiler;
    struct thing things[8];
    size_t count;
    struct zone_child child;
};

static void start_below(struct below *below, const char *apex, const char *const *lines)
{
    static const struct zone_compiler_ops ops = {compare_things, write_thing, NULL};
    uint8_t octets[DNAME_MAX];
    struct zone_frame frame = plain_frame();
    *below = (struct below){.compiler = zone_compiler_new(read_name(apex, octets), &ops)};
    frame.ttl_s = 77;
    zone_compiler_set_frame(below->compiler, &frame);
    for (; *lines; lines++)
        put(below->compiler, &below->things[below->count++], *lines);
    settle(below->compiler);
    zone_compiler_as_child(below->compiler, &below->child);
}

static void a_zone_below_is_delegated_to_with_its_glue(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "sub NS ns.sub.shop.example.", "sub NS ns.b.shop.example.",     "ns.sub A 192.0.2.9",
        "www.sub A 192.0.2.8",         "sub NS gone.sub.shop.example.", NULL};
    struct bench bench;
    struct below below;
    start_bare(&bench);
    start_below(&below, "sub", lines);
    size_t ds = add(&bench, "sub DS 1 8 1 0000000000000000000000000000000000000000");
    size_t ns = add(&bench, "sub NS ns.net.");
    size_t a = add(&bench, "ns.sub A 192.0.2.9");
    size_t other = add(&bench, "other.sub TXT x");
    zone_compiler_set_children(bench.compiler, &below.child, 1);
    run(&bench);
    expect_fine(&bench, ds);
    expect_out(&bench, ns, ZONE_OCCLUDED_BY_DELEGATION, NULL,
               "sub.shop.example. is occluded by a delegation at sub.shop.example., a zone of its "
               "own: put it there");
    expect_out(&bench, a, ZONE_OCCLUDED_BY_DELEGATION, NULL,
               "ns.sub.shop.example. is occluded by a delegation at sub.shop.example., a zone of "
               "its own: put it there");
    assert_int_equal(zone_record_outcome(bench.things[other].record).reason,
                     ZONE_OCCLUDED_BY_DELEGATION);
    expect_zone(&bench, "sub.shop.example. 77 IN NS ns.sub.shop.example.\n"
                        "sub.shop.example. 360 IN DS 1 8 1 "
                        "0000000000000000000000000000000000000000\n"
                        "ns.sub.shop.example. 77 IN A 192.0.2.9\n");
    zone_compiler_set_children(bench.compiler, NULL, 0);
    run(&bench);
    expect_fine(&bench, ns);
    expect_fine(&bench, ds);
    zone_compiler_free(below.compiler);
    stop(&bench);
}

static void zones_below_lend_each_other_glue(void **state)
{
    (void)state;
    static const char *const a_lines[] = {"a NS ns.b.shop.example.", NULL};
    static const char *const b_lines[] = {"b NS ns.b.shop.example.", "ns.b A 192.0.2.9", NULL};
    struct bench bench;
    struct below a;
    struct below b;
    start(&bench);
    start_below(&a, "a", a_lines);
    start_below(&b, "b", b_lines);
    struct zone_child children[] = {a.child, b.child};
    zone_compiler_set_children(bench.compiler, children, 1);
    run(&bench);
    expect_warnings(&bench, "MissingGlue: a.shop.example. is delegated to without its name server "
                            "ns.b.shop.example., which has no address records (A or AAAA)\n");
    zone_compiler_set_children(bench.compiler, children, 2);
    run(&bench);
    expect_warnings(&bench, "");
    zone_compiler_free(a.compiler);
    zone_compiler_free(b.compiler);
    stop(&bench);
}

static void a_zone_below_without_glue_is_not_published_but_occludes(void **state)
{
    (void)state;
    static const char *const lines[] = {"sub NS ns.sub.shop.example.", NULL};
    struct bench bench;
    struct below below;
    start_bare(&bench);
    start_below(&below, "sub", lines);
    size_t www = add(&bench, "www.sub A 192.0.2.1");
    zone_compiler_set_children(bench.compiler, &below.child, 1);
    run(&bench);
    assert_int_equal(bench.things[www].outcome.reason, ZONE_OCCLUDED_BY_DELEGATION);
    expect_zone(&bench, "");
    AUTO_BUFFER out = {0};
    zone_compiler_warnings(bench.compiler, note_warning, &out);
    assert_string_equal(out.at, "MissingGlue: sub.shop.example. is delegated to without its name "
                                "server ns.sub.shop.example., which has no address records (A or "
                                "AAAA)\n");
    zone_compiler_free(below.compiler);
    stop(&bench);
}

static void an_address_by_wildcard_is_glue_as_well(void **state)
{
    (void)state;
    static const char *const lines[] = {"sub NS ns.sub.shop.example.", "*.sub A 192.0.2.9", NULL};
    struct bench bench;
    struct below below;
    start_bare(&bench);
    start_below(&below, "sub", lines);
    zone_compiler_set_children(bench.compiler, &below.child, 1);
    run(&bench);
    expect_zone(&bench, "sub.shop.example. 77 IN NS ns.sub.shop.example.\n"
                        "ns.sub.shop.example. 77 IN A 192.0.2.9\n");
    zone_compiler_free(below.compiler);
    stop(&bench);
}

static void a_zone_below_may_have_its_name_servers_here(void **state)
{
    (void)state;
    static const char *const lines[] = {"sub NS ns.shop.example.", NULL};
    struct bench bench;
    struct below below;
    start(&bench);
    start_below(&below, "sub", lines);
    zone_compiler_set_children(bench.compiler, &below.child, 1);
    size_t a = add(&bench, "ns A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, a);
    expect_warnings(&bench, "");
    drop(&bench, a);
    add(&bench, "ns CNAME a.net.");
    run(&bench);
    expect_warnings(&bench, "NSTargetIsAlias: ns.shop.example. is an alias, by team/b (CNAME): "
                            "point at the name that has the addresses\n");
    zone_compiler_free(below.compiler);
    stop(&bench);
}

static void a_change_below_is_followed(void **state)
{
    (void)state;
    static const char *const lines[] = {"sub NS ns.sub.shop.example.", "ns.sub A 192.0.2.9", NULL};
    struct bench bench;
    struct below below;
    start_bare(&bench);
    start_below(&below, "sub", lines);
    zone_compiler_set_children(bench.compiler, &below.child, 1);
    run(&bench);
    expect_zone(&bench, "sub.shop.example. 77 IN NS ns.sub.shop.example.\n"
                        "ns.sub.shop.example. 77 IN A 192.0.2.9\n");
    zone_compiler_remove(below.compiler, below.things[1].record);
    put(below.compiler, &below.things[1], "ns.sub A 192.0.2.10");
    settle(below.compiler);
    zone_compiler_as_child(below.compiler, &below.child);
    zone_compiler_set_children(bench.compiler, &below.child, 1);
    run(&bench);
    expect_zone(&bench, "sub.shop.example. 77 IN NS ns.sub.shop.example.\n"
                        "ns.sub.shop.example. 77 IN A 192.0.2.10\n");
    zone_compiler_free(below.compiler);
    stop(&bench);
}

// ---- what is told -------------------------------------------------------------------------------

static void who_is_hidden_by_another_zone_below_is_told(void **state)
{
    (void)state;
    static const char *const inner_lines[] = {"a.sub NS ns.net.", NULL};
    static const char *const outer_lines[] = {"sub NS ns.net.", NULL};
    struct bench bench;
    struct below inner;
    struct below outer;
    start_bare(&bench);
    start_below(&inner, "a.sub", inner_lines);
    start_below(&outer, "sub", outer_lines);
    size_t text = add(&bench, "a.sub TXT x");
    struct zone_child children[] = {inner.child, outer.child};
    zone_compiler_set_children(bench.compiler, children, 1);
    run(&bench);
    expect_out(&bench, text, ZONE_OCCLUDED_BY_DELEGATION, NULL,
               "a.sub.shop.example. is occluded by a delegation at a.sub.shop.example., a zone of "
               "its own: put it there");
    zone_compiler_set_children(bench.compiler, children, 2);
    run(&bench);
    assert_int_equal(bench.reported, 1);
    expect_out(&bench, text, ZONE_OCCLUDED_BY_DELEGATION, NULL,
               "a.sub.shop.example. is occluded by a delegation at sub.shop.example., a zone of "
               "its own: put it there");
    zone_compiler_free(inner.compiler);
    zone_compiler_free(outer.compiler);
    stop(&bench);
}

static void only_what_changed_is_told(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    for (int c = 'a'; c <= 'z'; c++) {
        char line[64];
        snprintf(line, sizeof line, "%c MX 10 mail.shop.example.", c);
        add(&bench, line);
    }
    size_t mail = add(&bench, "mail A 192.0.2.1");
    run(&bench);
    assert_int_equal(bench.reported, 27);
    run(&bench);
    assert_int_equal(bench.reported, 0);
    add(&bench, "mail A 192.0.2.2");
    run(&bench);
    assert_int_equal(bench.reported, 1);
    drop(&bench, mail);
    run(&bench);
    assert_int_equal(bench.reported, 0);
    drop(&bench, 27);
    run(&bench);
    assert_int_equal(bench.reported, 26);
    expect_warned(&bench, 0, ZONE_TARGET_HAS_NO_ADDRESS,
                  "mail.shop.example. has no address records (A or AAAA)");
    stop(&bench);
}

static void versions_share_what_did_not_change(void **state)
{
    (void)state;
    struct bench bench;
    uint8_t octets[DNAME_MAX];
    start(&bench);
    add(&bench, "a A 192.0.2.1");
    size_t b = add(&bench, "b A 192.0.2.1");
    run(&bench);
    struct zone *old = zone_compiler_zone(bench.compiler, 1);
    drop(&bench, b);
    add(&bench, "b A 192.0.2.2");
    add(&bench, "x.y.z A 192.0.2.3");
    run(&bench);
    struct zone *new_ = zone_compiler_zone(bench.compiler, 2);
    struct dname a = read_name("a", octets);
    assert_ptr_equal(zone_find(old, a, RR_A), zone_find(new_, a, RR_A));
    drop(&bench, 2);
    drop(&bench, 3);
    run(&bench);
    struct zone *last = zone_compiler_zone(bench.compiler, 3);
    assert_null(zone_find(last, read_name("b", octets), RR_A));
    assert_null(zone_find(last, read_name("x.y.z", octets), RR_A));
    assert_int_equal(zone_record_count(last), 5);
    zone_unref(old);
    zone_unref(new_);
    zone_unref(last);
    stop(&bench);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(types_that_servers_make_are_reserved),
    cmocka_unit_test(a_ttl_beyond_31_bits_is_refused),
    cmocka_unit_test(a_name_outside_the_zone_is_out_of_zone),
    cmocka_unit_test(ns_at_a_wildcard_is_refused),
    cmocka_unit_test(svcb_in_alias_mode_may_not_lead_to_itself),
    cmocka_unit_test(a_cname_beside_other_data_loses_to_the_older),
    cmocka_unit_test(age_decides_not_the_order_of_arrival),
    cmocka_unit_test(the_loser_comes_in_when_the_winner_goes),
    cmocka_unit_test(a_second_cname_loses),
    cmocka_unit_test(a_cname_and_a_dname_exclude_each_other),
    cmocka_unit_test(a_cname_at_the_apex_always_loses),
    cmocka_unit_test(a_cname_loses_to_a_name_server_of_the_zone),
    cmocka_unit_test(a_second_dname_loses),
    cmocka_unit_test(null_mx_stands_alone),
    cmocka_unit_test(the_youngest_records_of_a_type_beyond_the_limit_are_out),
    cmocka_unit_test(the_youngest_types_beyond_the_limit_are_out),
    cmocka_unit_test(records_of_a_type_that_fit_no_message_together_are_out),
    cmocka_unit_test(a_dname_above_a_name_server_of_the_zone_is_out),
    cmocka_unit_test(the_same_record_twice_is_one),
    cmocka_unit_test(the_lowest_ttl_holds_for_the_whole_set),
    cmocka_unit_test(what_is_kept_out_does_not_lower_a_ttl),
    cmocka_unit_test(a_change_of_the_zones_ttl_is_heard),
    cmocka_unit_test(a_delegation_occludes_all_but_ns_ds_and_glue),
    cmocka_unit_test(a_delegation_below_a_delegation_is_none),
    cmocka_unit_test(those_occluded_hear_who_delegates_now),
    cmocka_unit_test(glue_of_a_target_at_the_cut_itself_is_kept),
    cmocka_unit_test(a_target_below_its_own_cut_needs_glue),
    cmocka_unit_test(a_target_in_the_zone_needs_an_address),
    cmocka_unit_test(missing_sibling_glue_is_a_warning),
    cmocka_unit_test(ds_needs_ns_that_are_in),
    cmocka_unit_test(a_dname_occludes_what_is_below_it),
    cmocka_unit_test(a_dname_at_the_apex_spares_the_apex),
    cmocka_unit_test(a_dname_at_a_cut_is_occluded),
    cmocka_unit_test(a_dname_at_a_wildcard_is_warned_of),
    cmocka_unit_test(ns_mx_and_srv_may_not_point_at_a_cname),
    cmocka_unit_test(nor_at_a_name_below_a_dname),
    cmocka_unit_test(nor_at_a_name_that_a_wildcard_makes_an_alias),
    cmocka_unit_test(a_target_without_address_is_warned_of),
    cmocka_unit_test(a_cname_that_leads_nowhere_is_warned_of),
    cmocka_unit_test(a_relative_target_that_does_not_exist_looks_absolute),
    cmocka_unit_test(every_member_of_a_cname_loop_is_out),
    cmocka_unit_test(a_cname_to_itself_is_a_loop),
    cmocka_unit_test(a_wildcard_may_close_a_loop),
    cmocka_unit_test(a_dname_may_close_a_loop),
    cmocka_unit_test(a_loop_by_a_dname_is_seen_at_its_other_end),
    cmocka_unit_test(dnames_that_lead_to_each_other_are_a_loop),
    cmocka_unit_test(cds_at_the_apex_needs_dnskey),
    cmocka_unit_test(cds_that_deletes_stands_alone),
    cmocka_unit_test(names_that_hosts_cannot_have_are_warned_of),
    cmocka_unit_test(an_asterisk_in_the_middle_is_warned_of),
    cmocka_unit_test(spf_belongs_into_one_txt),
    cmocka_unit_test(what_is_legal_passes_without_a_word),
    cmocka_unit_test(a_zone_needs_name_servers),
    cmocka_unit_test(fallbacks_serve_while_there_are_no_others),
    cmocka_unit_test(name_servers_and_ns_records_are_one_set),
    cmocka_unit_test(a_name_server_of_the_zone_needs_an_address),
    cmocka_unit_test(a_name_server_below_a_cut_needs_glue),
    cmocka_unit_test(an_address_is_no_name_server),
    cmocka_unit_test(a_zone_that_is_too_large_is_not_served),
    cmocka_unit_test(rdata_that_is_in_the_zone_is_counted),
    cmocka_unit_test(names_go_with_their_last_record),
    cmocka_unit_test(a_name_between_two_others_exists),
    cmocka_unit_test(names_part_where_they_differ),
    cmocka_unit_test(a_deep_name_is_one_node),
    cmocka_unit_test(the_zones_own_fields_are_warned_of),
    cmocka_unit_test(fields_at_their_bounds_are_fine),
    cmocka_unit_test(mname_is_the_first_name_server_unless_it_is_given),
    cmocka_unit_test(the_vector_for_hashes_comes_out),
    cmocka_unit_test(a_zone_below_is_delegated_to_with_its_glue),
    cmocka_unit_test(zones_below_lend_each_other_glue),
    cmocka_unit_test(a_zone_below_without_glue_is_not_published_but_occludes),
    cmocka_unit_test(an_address_by_wildcard_is_glue_as_well),
    cmocka_unit_test(a_zone_below_may_have_its_name_servers_here),
    cmocka_unit_test(a_change_below_is_followed),
    cmocka_unit_test(who_is_hidden_by_another_zone_below_is_told),
    cmocka_unit_test(only_what_changed_is_told),
    cmocka_unit_test(versions_share_what_did_not_change),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
