#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controllers/ingress/ingress_controller.h"
#include "controllers/ingress/wants.h"
#include "controllers/test_bench.h"
#include "kinds/ingress/ingress_kind.h"
#include "kinds/pihole_annotations.h"

#define NOW_MS 1767088800000LL
#define P(name) "pihole.io/" name

static struct world {
    struct arena *arena;
    struct pihole_targets targets;
    struct value *annotations;
    const char *hosts;  // of the spec's rules, comma list
    const char *status; // JSON
    const char *metadata;
    bool is_gone;
    bool is_lost;
    const char *owner_id;
    const struct error *refused;
    struct receipt receipts[4096];
    size_t receipt_count;
    struct backend_view backend_views[4];
    const struct backend_view *backends[4];
    const char *backend_names[4];
    struct decision decision;
    const struct object *objects[64];
    size_t object_count;
} world;

static void add_target(const char *name, const char *url)
{
    struct error err;
    must(pihole_targets_add(world.arena, &world.targets,
                            &(struct pihole_target){.name = name, .url = url}, &err));
    size_t at = world.targets.count - 1;
    const struct pihole_target *target = &world.targets.items[at];
    world.backend_views[at] =
        (struct backend_view){.name = target->backend, .is_open = true, .registry = target->url};
    world.backends[at] = &world.backend_views[at];
    world.backend_names[at] = target->backend;
}

static int set_up(void **state)
{
    (void)state;
    world = (struct world){.arena = arena_new(),
                           .targets = pihole_targets_defaults,
                           .hosts = "a.home.lan",
                           .owner_id = "1a2b",
                           .metadata = ""};
    world.annotations = value_make(world.arena, VALUE_MAP);
    world.targets.adopts = true;
    must(pihole_addresses_read(world.arena, TEXT("192.168.1.50"), &world.targets.addresses, NULL));
    add_target("default", "http://192.168.1.2");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    while (world.object_count)
        object_unref(world.objects[--world.object_count]);
    arena_free(world.arena);
    return 0;
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void note(const char *key, const char *value)
{
    if (value)
        value_set(world.annotations, text_of(arena_copy_text(world.arena, key)),
                  value_make_text(world.arena, text_of(arena_copy_text(world.arena, value))));
    else
        value_remove(world.annotations, key);
}

static void registered(void)
{
    note(P("register"), "true");
}

static struct value *ingress(void)
{
    struct value *object = quote(
        world.arena,
        arena_printf(world.arena,
                     "{'apiVersion':'networking.k8s.io/v1','kind':'Ingress','metadata':{'namespace'"
                     ":'shop','name':'web','creationTimestamp':'2025-12-30T09:00:00Z'%s},'spec':"
                     "{'rules':[]},'status':%s}",
                     world.metadata, world.status ? world.status : "{}"));
    struct text list = text_of(world.hosts);
    struct text host;
    while (list.len && text_cut(&list, ',', &host)) {
        struct value *rule = value_make(world.arena, VALUE_MAP);
        value_put(world.arena, rule, "host", value_make_text(world.arena, host));
        value_append(value_at(object, "spec.rules", NULL), rule);
    }
    value_put(world.arena, object, "metadata.annotations", world.annotations);
    return object;
}

static const struct object *subject(void)
{
    struct object *object = object_new(&ingress_kind, PIHOLE_FINALIZER, ingress());
    object->is_lost = world.is_lost;
    must(world.object_count < COUNT_OF(world.objects));
    world.objects[world.object_count++] = object;
    return object;
}

static const struct decision *decide(void)
{
    const struct snapshot snapshot = {
        .arena = world.arena,
        .namespace_ = TEXT("shop"),
        .name = TEXT("web"),
        .subject = world.is_gone ? NULL : subject(),
        .backends = world.backends,
        .backend_count = world.targets.count,
        .backend_names = world.backend_names,
        .receipts = world.receipts,
        .receipt_count = world.receipt_count,
        .refused = world.refused,
        .is_leading = true,
        .owner_id = world.owner_id,
        .now_ms = NOW_MS,
        .settings = &world.targets,
    };
    world.decision = (struct decision){0};
    ingress_controller.decide(&snapshot, NULL, &world.decision);
    return &world.decision;
}

// As the engine does: each claim has a receipt then, and those that are not named have none.
static void become(enum receipt_state state)
{
    must(world.decision.claim_count <= COUNT_OF(world.receipts));
    world.receipt_count = world.decision.claim_count;
    for (size_t i = 0; i < world.receipt_count; i++) {
        const struct claim_want *want = &world.decision.claims[i];
        world.receipts[i] = (struct receipt){.registry = want->registry,
                                             .type = want->set.type,
                                             .domain = want->set.domain,
                                             .subdomain = want->set.subdomain,
                                             .intent = want->intent,
                                             .state = state,
                                             .since_ms = NOW_MS};
    }
}

static struct receipt *receipt(const char *name, enum record_type type)
{
    for (size_t i = 0; i < world.receipt_count; i++)
        if (text_is(world.receipts[i].domain, name) && world.receipts[i].type == type)
            return &world.receipts[i];
    fail_msg("no receipt of %s", name);
    return NULL;
}

static void fail_with(struct receipt *receipt, const char *reason, const char *text)
{
    receipt->state = RECEIPT_WAITING;
    receipt->attempts = 1;
    error_set(&receipt->error, FAULT_WAIT, reason, "%s", text);
}

static void write_marks(void)
{
    for (size_t i = 0; i < world.decision.metadata_change_count; i++)
        note(world.decision.metadata_changes[i].key, world.decision.metadata_changes[i].value);
}

// Until nothing changes any more.
static const struct decision *settle(void)
{
    for (int i = 0; i < 8; i++) {
        decide();
        become(RECEIPT_SETTLED);
        write_marks();
    }
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0);
    return &world.decision;
}

static void restart(void)
{
    world.receipt_count = 0;
}

static const char *claims(void)
{
    static const char *const intents[] = {
        [CLAIM_KEEP] = "keep", [CLAIM_SET] = "set", [CLAIM_REMOVE] = "remove"};
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < world.decision.claim_count; i++) {
        const struct claim_want *want = &world.decision.claims[i];
        must(text_is(want->set.subdomain, "@"));
        buffer_printf(&out, "%s%s %s %s %.*s", i ? "; " : "", intents[want->intent],
                      want->backend + 7, record_type_name(want->set.type),
                      TEXT_ARGS(want->set.domain));
        for (size_t k = 0; k < want->set.value_count; k++)
            buffer_printf(&out, "%c%.*s", k ? ',' : '=', TEXT_ARGS(want->set.values[k]));
        if (want->set.ttl_s)
            buffer_printf(&out, " ttl %u", want->set.ttl_s);
        if (want->may_adopt)
            buffer_add_text(&out, " adopt");
        if (want->is_suspended)
            buffer_add_text(&out, " held");
    }
    return arena_copy(world.arena, out.at ? out.at : "", out.len);
}

#define assert_claims(text) assert_string_equal((decide(), claims()), text)

static const char *mark_of(const char *key)
{
    for (size_t i = 0; i < world.decision.metadata_change_count; i++)
        if (!strcmp(world.decision.metadata_changes[i].key, key))
            return world.decision.metadata_changes[i].value
                       ? world.decision.metadata_changes[i].value
                       : "gone";
    return NULL;
}

#define assert_mark(key, text)                                                                     \
    do {                                                                                           \
        const char *mark_ = mark_of(P(key));                                                       \
        if (!mark_)                                                                                \
            fail_msg("%s is left", key);                                                           \
        assert_string_equal(mark_, text);                                                          \
    } while (0)
// It stays as it stands: not named, or named as it is beside one that changes.
static bool stays(const char *key)
{
    const char *wanted = mark_of(key);
    struct text stands = value_text(value_find(world.annotations, key));
    return !wanted || (stands.at && text_is(stands, wanted));
}

#define assert_no_mark(key) assert_true(stays(P(key)))

// "message annotation value error", of all lines.
static const char *lines(void)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < world.decision.line_count; i++) {
        const struct log_attr *attr = world.decision.lines[i].attrs;
        buffer_printf(&out, "%s%s", i ? "\n" : "", world.decision.lines[i].message);
        for (; attr->type != LOG_ATTR_END; attr++)
            buffer_printf(&out, " %s=%.*s", attr->name, TEXT_ARGS(attr->text));
    }
    return arena_copy(world.arena, out.at ? out.at : "", out.len);
}

// ---- names and addresses ------------------------------------------------------------------------

static void nothing_is_wanted_of_an_ingress_that_is_not_registered(void **state)
{
    (void)state;
    assert_claims("");
    assert_int_equal(world.decision.metadata_change_count + world.decision.event_count, 0);
    assert_null(world.decision.class_label);
}

static void each_host_gets_the_default_address(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.home.lan,b.home.lan";
    assert_claims("set default A a.home.lan=192.168.1.50; set default A b.home.lan=192.168.1.50");
    assert_string_equal(world.decision.claims[0].registry, "http://192.168.1.2");
    assert_string_equal(world.decision.claims[0].backend, "pihole-default");
}

static void only_the_exact_word_registers(void **state)
{
    static const char *const meant[] = {"True", "yes", "1", " true", "ture", "TRUE"};
    static const char *const others[] = {"false", "", " ", "no", "False", "0", "off"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(meant); i++) {
        note(P("register"), meant[i]);
        assert_claims("");
        assert_mark("status", "InvalidAnnotation: pihole.io/register: only \"true\" registers");
        assert_non_null(event_of(&world.decision, "InvalidAnnotation"));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        note(P("register"), others[i]);
        assert_claims("");
        assert_int_equal(world.decision.metadata_change_count, 0);
    }
}

static void the_annotation_hosts_stands_in_for_the_rules(void **state)
{
    (void)state;
    registered();
    note(P("hosts"), " c.home.lan ,, d ,");
    assert_claims("set default A c.home.lan=192.168.1.50; set default A d=192.168.1.50");
}

static void an_empty_annotation_hosts_is_as_none(void **state)
{
    static const char *const empty[] = {"", "  ", ",", " , "};
    (void)state;
    registered();
    for (size_t i = 0; i < COUNT_OF(empty); i++) {
        note(P("hosts"), empty[i]);
        assert_claims("set default A a.home.lan=192.168.1.50");
    }
}

static void names_are_taken_as_pihole_takes_them(void **state)
{
    (void)state;
    registered();
    note(P("hosts"), "NAS,-x.lan,a_b.Home.lan.,B\xc3\xbc"
                     "cher.lan");
    assert_claims("set default A nas=192.168.1.50; set default A -x.lan=192.168.1.50; set default "
                  "A a_b.home.lan=192.168.1.50; set default A xn--bcher-kva.lan=192.168.1.50");
}

static void one_bad_name_keeps_no_other_from_being_served(void **state)
{
    (void)state;
    registered();
    note(P("hosts"), "*.home.lan,a.home.lan,x y.lan,a..b,\xff.lan");
    assert_claims("set default A a.home.lan=192.168.1.50");
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status",
                "InvalidHost: *.home.lan: Pi-hole serves no wildcards; x y.lan: label 'x y' "
                "contains a blank: only letters, digits, '-' and '_' are allowed; a..b: label 2 is "
                "empty: remove the extra dot; \xef\xbf\xbd.lan: it is not valid UTF-8");
    assert_mark("managed-hosts", "a.home.lan");
    assert_non_null(event_of(&world.decision, "InvalidHost"));
    assert_null(event_of(&world.decision, "Synced"));
}

static void names_that_mean_something_else_to_those_who_ask_are_refused(void **state)
{
    (void)state;
    registered();
    note(P("hosts"), "a.lan,pi.hole,LocalHost.,db.localhost,192.168.1.2,localhost.lan,x.pi.hole");
    assert_claims("set default A a.lan=192.168.1.50; set default A localhost.lan=192.168.1.50; set "
                  "default A x.pi.hole=192.168.1.50");
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status", "InvalidHost: pi.hole: is Pi-hole's own name; LocalHost.: means the "
                          "computer that asks, wherever it stands (RFC 6761); db.localhost: means "
                          "the computer that asks, wherever it stands (RFC 6761); 192.168.1.2: is "
                          "an address and no name");
}

static void an_address_is_no_target_of_an_alias(void **state)
{
    (void)state;
    registered();
    note(P("target-cname"), "192.168.1.2");
    assert_claims("");
    assert_mark("status", "InvalidAnnotation: pihole.io/target-cname: addresses belong into "
                          "pihole.io/target-ip; published records stay");
}

static void an_address_of_whoever_asks_is_warned_of_and_published(void **state)
{
    (void)state;
    registered();
    note(P("target-ip"), "127.0.0.1");
    assert_claims("set default A a.home.lan=127.0.0.1");
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status", "InvalidAnnotation: pihole.io/target-ip: leads each computer to itself; "
                          "it is published so");
    assert_mark("managed-hosts", "a.home.lan");
}

static void a_label_of_more_than_63_octets_is_refused(void **state)
{
    (void)state;
    registered();
    note(P("hosts"), "a123456789012345678901234567890123456789012345678901234567890123.lan");
    assert_claims("");
    assert_non_null(strstr(mark_of(P("status")), "at most 63"));
}

static void doubles_of_a_name_collapse(void **state)
{
    (void)state;
    registered();
    note(P("hosts"), "a.lan,A.LAN.,a.lan");
    assert_claims("set default A a.lan=192.168.1.50");
    assert_no_mark("status");
}

static void names_beyond_1000_are_left_out(void **state)
{
    AUTO_BUFFER list = {0};
    (void)state;
    registered();
    for (int i = 0; i < 1003; i++)
        buffer_printf(&list, "n%d.lan,", i);
    note(P("hosts"), list.at);
    decide();
    assert_int_equal(world.decision.claim_count, 1000);
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status", "TooManyHosts: 3 names are left out: one object has at most 1000");
}

static void an_object_without_hosts_is_told(void **state)
{
    (void)state;
    registered();
    world.hosts = "";
    assert_claims("");
    assert_mark("status", "NoHosts: it names no host");
    assert_string_equal(lines(), "ingress skipped (no hosts) ingress=shop/web");
    assert_non_null(event_of(&world.decision, "NoHosts"));
}

static void addresses_of_both_families_are_two_sets(void **state)
{
    (void)state;
    registered();
    note(P("target-ip"), "10.0.0.1, fd00::0:1 ,10.0.0.2,::ffff:10.0.0.1");
    assert_claims(
        "set default A a.home.lan=10.0.0.1,10.0.0.2; set default AAAA a.home.lan=fd00::1");
}

static void a_blank_target_is_as_none(void **state)
{
    (void)state;
    registered();
    note(P("target-ip"), " ");
    note(P("target-cname"), "");
    assert_claims("set default A a.home.lan=192.168.1.50");
}

static void the_word_status_takes_the_addresses_of_the_load_balancer(void **state)
{
    (void)state;
    registered();
    note(P("target-ip"), "status");
    world.status = "{'loadBalancer':{'ingress':[{'ip':'10.0.0.9'},{'hostname':'lb'},{'ip':'x'},"
                   "{'ip':'fd00::9'}]}}";
    assert_claims("set default A a.home.lan=10.0.0.9; set default AAAA a.home.lan=fd00::9");
}

static void a_cname_stands_in_for_addresses(void **state)
{
    (void)state;
    registered();
    note(P("target-cname"), "Proxy.Home.lan.");
    assert_claims("set default CNAME a.home.lan=proxy.home.lan");
    note(P("cname-ttl"), "300");
    assert_claims("set default CNAME a.home.lan=proxy.home.lan ttl 300");
}

static void a_bad_ttl_is_left_out(void **state)
{
    static const char *const bad[] = {"0", "-1", "2147483648", "1h", "1.5"};
    (void)state;
    registered();
    note(P("target-cname"), "proxy");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        note(P("cname-ttl"), bad[i]);
        assert_claims("set default CNAME a.home.lan=proxy");
        become(RECEIPT_SETTLED);
        decide();
        assert_mark("status", "InvalidAnnotation: pihole.io/cname-ttl: expected seconds from 1 to "
                              "2147483647; none is set");
        restart();
    }
    note(P("cname-ttl"), "2147483647");
    assert_claims("set default CNAME a.home.lan=proxy ttl 2147483647");
}

static void a_target_that_no_list_has_is_told_by_the_list_that_its_write_left(void **state)
{
    (void)state;
    registered();
    note(P("target-cname"), "gone.lan");
    assert_claims("set default CNAME a.home.lan=gone.lan");
    become(RECEIPT_SETTLED);
    world.receipts[0].settled_s = NOW_MS / 1000 - 5;
    world.backend_views[0].answered_s = NOW_MS / 1000 - 6;
    world.backend_views[0].answer =
        quote(world.arena, "{'unknownTargets':['other.lan','gone.lan']}");
    decide();
    assert_no_mark("status");
    assert_int_equal(world.decision.wake_ms, NOW_MS + 70000);
    world.backend_views[0].answered_s = NOW_MS / 1000 - 5;
    decide();
    assert_mark("status", "TargetsMissing: gone.lan is in no list of Pi-hole default: aliases of "
                          "it may answer nothing");
    assert_mark("managed-hosts", "a.home.lan");
    assert_int_equal(world.decision.wake_ms, NOW_MS + 70000);
    world.backend_views[0].answer = quote(world.arena, "{'unknownTargets':['other.lan']}");
    decide();
    assert_no_mark("status");
    assert_int_equal(world.decision.wake_ms, 0);
}

static void a_name_is_no_alias_of_itself(void **state)
{
    (void)state;
    registered();
    note(P("hosts"), "a.lan,b.lan");
    note(P("target-cname"), "A.lan");
    assert_claims("set default CNAME b.lan=a.lan");
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status", "InvalidHost: a.lan: it is its own target");
}

// ---- several Pi-holes ---------------------------------------------------------------------------

static void all_instances_get_the_names_each_with_its_addresses(void **state)
{
    (void)state;
    registered();
    add_target("up", "http://192.168.1.3");
    must(pihole_addresses_read(world.arena, TEXT("10.1.1.1"), &world.targets.items[1].addresses,
                               NULL));
    assert_claims("set default A a.home.lan=192.168.1.50; set up A a.home.lan=10.1.1.1");
    note(P("target-ip"), "10.0.0.1");
    assert_claims("set default A a.home.lan=10.0.0.1; set up A a.home.lan=10.0.0.1");
}

static void an_object_chooses_its_instances(void **state)
{
    (void)state;
    registered();
    add_target("up", "http://192.168.1.3");
    note(P("instances"), " up ,");
    assert_claims("set up A a.home.lan=192.168.1.50");
    note(P("instances"), " ");
    assert_claims("set default A a.home.lan=192.168.1.50; set up A a.home.lan=192.168.1.50");
}

static void of_unknown_instances_the_known_ones_are_served(void **state)
{
    (void)state;
    registered();
    add_target("up", "http://192.168.1.3");
    note(P("instances"), "upp,up");
    assert_claims("set up A a.home.lan=192.168.1.50");
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status", "InvalidAnnotation: pihole.io/instances: upp is no Pi-hole here");
    assert_string_equal(lines(), "invalid annotation ingress=shop/web annotation=pihole.io/"
                                 "instances value=upp,up error=upp is no Pi-hole here");
}

static void without_any_known_instance_records_stay(void **state)
{
    (void)state;
    registered();
    settle();
    note(P("instances"), "nobody");
    assert_claims("keep default A a.home.lan");
}

static void narrowed_instances_leave_the_others(void **state)
{
    (void)state;
    registered();
    add_target("up", "http://192.168.1.3");
    settle();
    note(P("instances"), "up");
    assert_claims("set up A a.home.lan=192.168.1.50; remove default A a.home.lan");
    settle();
    assert_string_equal(claims(), "set up A a.home.lan=192.168.1.50; remove default A a.home.lan");
}

static void a_pihole_serves_its_namespaces_alone(void **state)
{
    (void)state;
    registered();
    add_target("up", "http://192.168.1.3");
    world.targets.items[0].namespaces = (const char *const[]){"kitchen", "home"};
    world.targets.items[0].namespace_count = 2;
    assert_claims("set up A a.home.lan=192.168.1.50");
    note(P("instances"), "default,up");
    assert_claims("set up A a.home.lan=192.168.1.50");
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status",
                "InvalidAnnotation: pihole.io/instances: default does not serve this namespace");
    world.targets.items[0].namespaces = (const char *const[]){"kitchen", "shop"};
    assert_claims("set default A a.home.lan=192.168.1.50; set up A a.home.lan=192.168.1.50");
}

static void without_piholes_nothing_is_wanted(void **state)
{
    (void)state;
    registered();
    world.targets.count = 0;
    assert_claims("");
}

// ---- what stays when nobody knows what is meant -------------------------------------------------

static void a_bad_target_leaves_published_records_as_they_are(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.home.lan,b.home.lan";
    settle();
    note(P("target-ip"), "192.168.1.500");
    world.hosts = "b.home.lan,c.home.lan";
    assert_claims("keep default A a.home.lan; keep default A b.home.lan");
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status", "InvalidAnnotation: pihole.io/target-ip: 192.168.1.500: each number is "
                          "at most 255; published records stay");
    assert_no_mark("managed-hosts");
    assert_string_equal(lines(), "invalid annotation ingress=shop/web annotation=pihole.io/"
                                 "target-ip value=192.168.1.500 error=192.168.1.500: each number "
                                 "is at most 255; published records stay");
    settle();
    assert_string_equal(claims(), "keep default A a.home.lan; keep default A b.home.lan");
    note(P("target-ip"), "10.0.0.1");
    assert_claims("set default A b.home.lan=10.0.0.1; set default A c.home.lan=10.0.0.1; remove "
                  "default A a.home.lan");
}

static void a_bad_target_without_records_wants_nothing(void **state)
{
    (void)state;
    registered();
    note(P("target-ip"), "x");
    assert_claims("");
    assert_mark("status", "InvalidAnnotation: pihole.io/target-ip: x: write four numbers with "
                          "dots, as 192.0.2.1; published records stay");
}

static void records_survive_a_restart_with_a_bad_target(void **state)
{
    (void)state;
    registered();
    settle();
    note(P("target-ip"), "x");
    restart();
    assert_claims("keep default A a.home.lan; keep default AAAA a.home.lan; keep default CNAME "
                  "a.home.lan");
    settle();
    assert_string_equal(claims(), "keep default A a.home.lan; keep default AAAA a.home.lan; keep "
                                  "default CNAME a.home.lan");
    note(P("target-ip"), NULL);
    assert_claims("set default A a.home.lan=192.168.1.50; remove default AAAA a.home.lan; remove "
                  "default CNAME a.home.lan");
    settle();
    assert_null(value_find(world.annotations, P("status")));
    assert_true(
        text_is(value_text_at(world.annotations, "[pihole.io/managed-hosts]"), "a.home.lan"));
}

static void names_in_managed_hosts_of_others_are_not_kept(void **state)
{
    (void)state;
    registered();
    note(P("target-ip"), "x");
    note(P("managed-hosts"), "a.home.lan");
    assert_claims("");
    note(P("managed-by"), "signpost:other");
    assert_claims("");
    note(P("managed-by"), "signpost:1a2b");
    decide();
    assert_int_equal(world.decision.claim_count, 3);
}

static void two_kinds_of_target_leave_records_as_they_are(void **state)
{
    (void)state;
    registered();
    settle();
    note(P("target-ip"), "10.0.0.1");
    note(P("target-cname"), "proxy");
    assert_claims("keep default A a.home.lan");
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status", "InvalidAnnotation: pihole.io/target-cname: pihole.io/target-ip is set, "
                          "too: remove one; published records stay");
}

static void a_bad_cname_leaves_records_as_they_are(void **state)
{
    static const char *const bad[] = {"192.0.2.1", "*.lan", "a b", "."};
    (void)state;
    registered();
    settle();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        note(P("target-cname"), bad[i]);
        assert_claims("keep default A a.home.lan");
    }
}

static void what_was_under_way_when_the_target_went_bad_is_kept_but_not_what_was_lost(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.lan,b.lan,c.lan";
    decide();
    become(RECEIPT_WAITING);
    receipt("b.lan", RECORD_A)->state = RECEIPT_LOST;
    receipt("c.lan", RECORD_A)->state = RECEIPT_LOST;
    receipt("c.lan", RECORD_A)->is_in_way = true;
    note(P("target-ip"), "x");
    assert_claims("keep default A a.lan; keep default A c.lan");
}

static void a_status_without_addresses_leaves_the_last_good_ones(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.lan,b.lan";
    world.status = "{'loadBalancer':{'ingress':[{'ip':'10.0.0.9'}]}}";
    note(P("target-ip"), "status");
    settle();
    world.status = "{'loadBalancer':{}}";
    assert_claims("keep default A a.lan; keep default A b.lan");
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status", "TargetsMissing: the status has no address yet; what is published stays");
    assert_non_null(event_of(&world.decision, "TargetsMissing"));
    world.hosts = "b.lan";
    assert_claims("remove default A a.lan; keep default A b.lan");
    restart();
    assert_claims("remove default A a.lan; remove default AAAA a.lan; remove default CNAME a.lan; "
                  "keep default A b.lan; keep default AAAA b.lan; keep default CNAME b.lan");
    settle();
    assert_true(text_is(value_text_at(world.annotations, "[pihole.io/managed-hosts]"), "b.lan"));
}

static void a_status_that_is_missing_at_one_pihole_keeps_no_other(void **state)
{
    (void)state;
    registered();
    add_target("up", "http://192.168.1.3");
    world.targets.items[1].addresses.is_status = true;
    assert_claims("set default A a.home.lan=192.168.1.50");
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status", "TargetsMissing: the status has no address yet; what is published stays");
    assert_mark("managed-hosts", "a.home.lan");
}

// ---- what goes ----------------------------------------------------------------------------------

static void names_that_are_no_longer_wanted_go(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.lan,b.lan";
    settle();
    world.hosts = "b.lan,c.lan";
    assert_claims("set default A b.lan=192.168.1.50; set default A c.lan=192.168.1.50; remove "
                  "default A a.lan");
    settle();
    assert_string_equal(claims(),
                        "set default A b.lan=192.168.1.50; set default A c.lan=192.168.1.50");
    assert_true(
        text_is(value_text_at(world.annotations, "[pihole.io/managed-hosts]"), "b.lan,c.lan"));
}

static void a_name_that_was_dropped_while_nobody_ran_goes(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.lan,b.lan";
    settle();
    restart();
    world.hosts = "b.lan";
    assert_claims("set default A b.lan=192.168.1.50; remove default A a.lan; remove default AAAA "
                  "a.lan; remove default CNAME a.lan");
    become(RECEIPT_WAITING);
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0);
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("managed-hosts", "b.lan");
    assert_int_equal(world.decision.claim_count, 4); // until that is written
    settle();
    assert_string_equal(claims(), "set default A b.lan=192.168.1.50");
}

static void a_pihole_that_stopped_serving_the_namespace_is_left_to_the_guard(void **state)
{
    (void)state;
    registered();
    settle();
    restart();
    add_target("up", "http://192.168.1.3");
    world.targets.items[0].namespaces = (const char *const[]){"kitchen"};
    world.targets.items[0].namespace_count = 1;
    world.hosts = "b.lan";
    assert_claims("set up A b.lan=192.168.1.50; remove up A a.home.lan; remove up AAAA a.home.lan; "
                  "remove up CNAME a.home.lan");
}

static void an_unregistered_ingress_loses_its_records_and_its_marks(void **state)
{
    (void)state;
    registered();
    settle();
    note(P("register"), NULL);
    assert_claims("remove default A a.home.lan");
    become(RECEIPT_WAITING);
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0);
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("managed-hosts", "gone");
    assert_mark("managed-by", "gone");
    settle();
    assert_string_equal(claims(), "");
    assert_int_equal(value_count(world.annotations), 0);
}

static void an_ingress_that_was_unregistered_while_nobody_ran_loses_its_records(void **state)
{
    (void)state;
    registered();
    settle();
    restart();
    note(P("register"), "no");
    assert_claims("remove default A a.home.lan; remove default AAAA a.home.lan; remove default "
                  "CNAME a.home.lan");
    settle();
    assert_string_equal(claims(), "");
    assert_null(value_find(world.annotations, P("managed-hosts")));
}

static void a_bad_target_keeps_nothing_of_an_unregistered_ingress(void **state)
{
    (void)state;
    registered();
    settle();
    note(P("register"), NULL);
    note(P("target-ip"), "x");
    assert_claims("remove default A a.home.lan");
    assert_no_mark("status");
}

static void records_of_an_ingress_that_is_gone_go(void **state)
{
    (void)state;
    registered();
    settle();
    world.is_gone = true;
    assert_claims("remove default A a.home.lan");
    assert_int_equal(world.decision.metadata_change_count + world.decision.event_count, 0);
    become(RECEIPT_WAITING);
    assert_claims("remove default A a.home.lan");
    become(RECEIPT_SETTLED);
    assert_claims("");
}

static void a_lost_name_needs_no_removal(void **state)
{
    (void)state;
    registered();
    decide();
    become(RECEIPT_LOST);
    world.is_gone = true;
    assert_claims("");
    receipt("a.home.lan", RECORD_A)->is_in_way = true;
    assert_claims("remove default A a.home.lan");
}

static void a_type_that_is_no_longer_wanted_goes(void **state)
{
    (void)state;
    registered();
    note(P("target-ip"), "10.0.0.1,fd00::1");
    settle();
    note(P("target-ip"), "10.0.0.1");
    assert_claims("set default A a.home.lan=10.0.0.1; remove default AAAA a.home.lan");
    note(P("target-ip"), NULL);
    note(P("target-cname"), "proxy");
    assert_claims("set default CNAME a.home.lan=proxy; remove default A a.home.lan; remove default "
                  "AAAA a.home.lan");
}

// ---- deletion and finalizer ---------------------------------------------------------------------

#define FINALIZED ",'finalizers':['pihole.io/dns-cleanup']"
#define DELETED ",'deletionTimestamp':'2025-12-30T10:00:00Z'"

static void the_finalizer_stands_before_anything_is_sent(void **state)
{
    (void)state;
    registered();
    world.targets.has_finalizer = true;
    assert_claims("set default A a.home.lan=192.168.1.50 held");
    assert_int_equal(world.decision.finalizer, FINALIZER_ADD);
    world.metadata = FINALIZED;
    assert_claims("set default A a.home.lan=192.168.1.50");
    world.metadata = "";
    world.refused = &(struct error){.fault = FAULT_AUTH, .text = "no right to patch"};
    assert_claims("set default A a.home.lan=192.168.1.50");
}

static void a_finalizer_that_comes_later_takes_no_annotation_along(void **state)
{
    (void)state;
    registered();
    settle();
    world.targets.has_finalizer = true;
    decide();
    assert_int_equal(world.decision.finalizer, FINALIZER_ADD);
    assert_string_equal(mark_of(P("managed-hosts")), "a.home.lan");
    assert_string_equal(mark_of(P("managed-by")), "signpost:1a2b");
}

static void a_write_names_all_that_is_ours(void **state)
{
    (void)state;
    registered();
    settle();
    note(P("hosts"), "a.home.lan,*.lan");
    decide();
    assert_non_null(mark_of(P("status")));
    assert_string_equal(mark_of(P("managed-hosts")), "a.home.lan");
    assert_string_equal(mark_of(P("managed-by")), "signpost:1a2b");
}

static void records_go_before_the_finalizer(void **state)
{
    (void)state;
    registered();
    world.targets.has_finalizer = true;
    world.metadata = FINALIZED;
    settle();
    world.metadata = FINALIZED DELETED;
    assert_claims("remove default A a.home.lan");
    assert_int_equal(world.decision.finalizer, FINALIZER_LEAVE);
    become(RECEIPT_WAITING);
    decide();
    assert_int_equal(world.decision.finalizer, FINALIZER_LEAVE);
    become(RECEIPT_SETTLED);
    decide();
    assert_int_equal(world.decision.finalizer, FINALIZER_REMOVE);
    assert_int_equal(world.decision.metadata_change_count, 0);
}

static void records_go_before_the_finalizer_after_a_restart(void **state)
{
    (void)state;
    registered();
    world.targets.has_finalizer = true;
    world.metadata = FINALIZED;
    settle();
    restart();
    world.metadata = FINALIZED DELETED;
    decide();
    assert_int_equal(world.decision.claim_count, 3);
    assert_int_equal(world.decision.finalizer, FINALIZER_LEAVE);
    become(RECEIPT_SETTLED);
    decide();
    assert_int_equal(world.decision.finalizer, FINALIZER_REMOVE);
}

static void what_holds_up_a_deletion_is_told(void **state)
{
    (void)state;
    registered();
    world.targets.has_finalizer = true;
    world.metadata = FINALIZED;
    settle();
    world.backend_views[0].unavailable =
        (struct error){.fault = FAULT_AGAIN, .reason = "PiholeUnreachable", .text = "no answer"};
    world.metadata = FINALIZED DELETED;
    note(P("target-ip"), "x");
    decide();
    become(RECEIPT_WAITING);
    decide();
    assert_string_equal(mark_of(P("status")), "PiholeUnreachable: default: no answer");
    assert_string_equal(mark_of(P("managed-hosts")), "a.home.lan");
    write_marks();
    become(RECEIPT_SETTLED);
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0);
    assert_int_equal(world.decision.finalizer, FINALIZER_REMOVE);
}

static void an_orphan_is_let_go_at_once(void **state)
{
    (void)state;
    registered();
    world.targets.has_finalizer = true;
    world.metadata = FINALIZED;
    settle();
    world.metadata = FINALIZED DELETED;
    note(P("deletion-policy"), "orphan");
    assert_claims("remove default A a.home.lan");
    assert_int_equal(world.decision.finalizer, FINALIZER_REMOVE);
}

static void a_finalizer_of_before_goes_at_take_over(void **state)
{
    (void)state;
    registered();
    world.metadata = FINALIZED;
    decide();
    assert_int_equal(world.decision.finalizer, FINALIZER_REMOVE);
    world.metadata = FINALIZED DELETED;
    become(RECEIPT_WAITING);
    decide();
    assert_int_equal(world.decision.finalizer, FINALIZER_LEAVE);
}

static void the_finalizer_of_an_unregistered_ingress_goes_behind_its_records(void **state)
{
    (void)state;
    registered();
    world.targets.has_finalizer = true;
    world.metadata = FINALIZED;
    settle();
    note(P("register"), NULL);
    decide();
    assert_int_equal(world.decision.finalizer, FINALIZER_LEAVE);
    become(RECEIPT_SETTLED);
    decide();
    assert_int_equal(world.decision.finalizer, FINALIZER_REMOVE);
}

static void an_object_that_went_although_the_finalizer_stood_is_gone(void **state)
{
    (void)state;
    registered();
    world.targets.has_finalizer = true;
    world.metadata = FINALIZED;
    settle();
    world.is_lost = true;
    assert_claims("remove default A a.home.lan");
    become(RECEIPT_SETTLED);
    assert_claims("");
    assert_int_equal(world.decision.metadata_change_count, 0);
}

static void an_unknown_deletion_policy_is_told(void **state)
{
    (void)state;
    registered();
    note(P("deletion-policy"), "keep");
    decide();
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status",
                "InvalidAnnotation: pihole.io/deletion-policy: expected orphan or delete");
}

// ---- managed-hosts ------------------------------------------------------------------------------

static void names_are_listed_when_their_records_stand(void **state)
{
    (void)state;
    registered();
    world.hosts = "b.lan,a.lan";
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0);
    become(RECEIPT_WAITING);
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0);
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("managed-hosts", "b.lan,a.lan");
    assert_mark("managed-by", "signpost:1a2b");
    assert_no_mark("status");
    assert_string_equal(event_of(&world.decision, "Synced"), "2 names are in place");
    assert_string_equal(world.decision.reason_label, "Synced");
    write_marks();
    decide();
    assert_int_equal(world.decision.metadata_change_count + world.decision.event_count, 0);
}

static void what_somebody_else_made_is_not_listed(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.lan,b.lan";
    decide();
    become(RECEIPT_SETTLED);
    receipt("a.lan", RECORD_A)->is_foreign = true;
    decide();
    assert_mark("managed-hosts", "b.lan");
    assert_mark("satisfied-hosts", "a.lan");
    receipt("b.lan", RECORD_A)->is_foreign = true;
    decide();
    assert_no_mark("managed-hosts");
    assert_mark("satisfied-hosts", "a.lan,b.lan");
}

static void what_somebody_else_made_is_told_until_it_is_ours_or_not_wanted(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.lan,b.lan";
    decide();
    become(RECEIPT_SETTLED);
    receipt("a.lan", RECORD_A)->is_foreign = true;
    decide();
    write_marks();
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0);
    receipt("a.lan", RECORD_A)->is_foreign = false;
    decide();
    assert_mark("managed-hosts", "a.lan,b.lan");
    assert_mark("satisfied-hosts", "gone");
    receipt("a.lan", RECORD_A)->is_foreign = true;
    world.hosts = "b.lan";
    decide();
    assert_mark("satisfied-hosts", "gone");
}

static void what_is_shared_is_listed_by_each(void **state)
{
    (void)state;
    registered();
    decide();
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("managed-hosts", "a.home.lan");
}

static void a_name_that_stands_at_one_pihole_is_listed(void **state)
{
    (void)state;
    registered();
    add_target("up", "http://192.168.1.3");
    world.backend_views[1].unavailable =
        (struct error){.fault = FAULT_AGAIN, .reason = "PiholeUnreachable", .text = "no answer"};
    decide();
    become(RECEIPT_SETTLED);
    world.receipts[1].state = RECEIPT_WAITING;
    decide();
    assert_mark("managed-hosts", "a.home.lan");
    assert_mark("status", "PiholeUnreachable: up: no answer");
    assert_null(event_of(&world.decision, "Synced"));
    assert_int_equal(world.decision.event_count, 0);
    write_marks();
    become(RECEIPT_SETTLED);
    world.backend_views[1].unavailable = (struct error){0};
    decide();
    assert_mark("status", "gone");
    assert_non_null(event_of(&world.decision, "Synced"));
}

static void names_stay_listed_while_a_restart_does_not_know(void **state)
{
    (void)state;
    registered();
    settle();
    restart();
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0);
    become(RECEIPT_WAITING);
    world.backend_views[0].unavailable =
        (struct error){.fault = FAULT_AGAIN, .reason = "PiholeUnreachable", .text = "no answer"};
    decide();
    assert_no_mark("managed-hosts");
    assert_mark("status", "PiholeUnreachable: default: no answer");
}

static void a_name_is_listed_until_it_is_gone(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.lan,b.lan";
    settle();
    world.hosts = "b.lan";
    decide();
    become(RECEIPT_SETTLED);
    receipt("a.lan", RECORD_A)->state = RECEIPT_SUSPENDED;
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0); // though in another order
    receipt("a.lan", RECORD_A)->state = RECEIPT_SETTLED;
    decide();
    assert_mark("managed-hosts", "b.lan");
}

static void a_name_that_somebody_took_is_not_listed(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.lan,b.lan";
    settle();
    fail_with(receipt("a.lan", RECORD_A), "NameTaken", "by hand");
    decide();
    assert_mark("managed-hosts", "b.lan");
    receipt("a.lan", RECORD_A)->is_open = true;
    decide();
    assert_no_mark("managed-hosts");
}

static void nothing_is_listed_before_the_owner_id_is_known(void **state)
{
    (void)state;
    registered();
    world.owner_id = NULL;
    decide();
    become(RECEIPT_SETTLED);
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0);
}

static void marks_of_another_owner_stay_while_nothing_is_ours(void **state)
{
    (void)state;
    note(P("managed-hosts"), "x.lan");
    note(P("managed-by"), "signpost:other");
    assert_claims("");
    assert_int_equal(world.decision.metadata_change_count, 0);
    registered();
    decide();
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("managed-hosts", "a.home.lan");
    assert_mark("managed-by", "signpost:1a2b");
}

static void marks_wait_for_what_is_under_way_but_not_for_ever(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.lan,b.lan";
    decide();
    become(RECEIPT_SETTLED);
    receipt("b.lan", RECORD_A)->state = RECEIPT_WAITING;
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0);
    assert_int_equal(world.decision.wake_ms, NOW_MS + 2000);
    receipt("b.lan", RECORD_A)->since_ms = NOW_MS - 2000;
    decide();
    assert_mark("managed-hosts", "a.lan");
    assert_int_equal(world.decision.wake_ms, 0);
    assert_string_equal(world.decision.reason_label, "Pending");
}

// ---- adoption -----------------------------------------------------------------------------------

static void names_of_a_predecessor_may_be_adopted(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.lan,b.lan";
    note(P("managed-hosts"), " A.lan , x.lan");
    assert_claims("set default A a.lan=192.168.1.50 adopt; set default A b.lan=192.168.1.50");
    world.targets.adopts = false;
    assert_claims("set default A a.lan=192.168.1.50; set default A b.lan=192.168.1.50");
}

static void once_the_marker_stands_tags_alone_decide(void **state)
{
    (void)state;
    registered();
    note(P("managed-hosts"), "a.home.lan");
    note(P("managed-by"), "signpost:1a2b");
    assert_claims("set default A a.home.lan=192.168.1.50");
}

static void the_list_of_a_predecessor_stands_until_it_is_adopted(void **state)
{
    (void)state;
    registered();
    add_target("up", "http://192.168.1.3");
    note(P("managed-hosts"), "a.home.lan");
    decide();
    become(RECEIPT_SETTLED);
    world.receipts[1].state = RECEIPT_WAITING;
    world.receipts[1].since_ms = NOW_MS - 9000;
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0);
    become(RECEIPT_SETTLED);
    decide();
    assert_no_mark("managed-hosts"); // it says the same
    assert_mark("managed-by", "signpost:1a2b");
}

static void the_list_of_a_predecessor_stays_when_nothing_of_it_is_ours(void **state)
{
    (void)state;
    registered();
    note(P("managed-hosts"), "a.home.lan");
    decide();
    become(RECEIPT_SETTLED);
    receipt("a.home.lan", RECORD_A)->is_foreign = true;
    decide();
    assert_no_mark("managed-hosts");
    assert_mark("satisfied-hosts", "a.home.lan");
}

static void the_list_of_a_predecessor_stays_on_what_is_not_registered(void **state)
{
    (void)state;
    note(P("managed-hosts"), "a.home.lan");
    assert_claims("");
    assert_int_equal(world.decision.metadata_change_count, 0);
}

static void what_a_predecessor_left_goes_before_its_finalizer(void **state)
{
    (void)state;
    registered();
    note(P("managed-hosts"), "b.lan");
    world.metadata = FINALIZED DELETED;
    assert_claims("remove default A b.lan adopt; remove default AAAA b.lan adopt; remove default "
                  "CNAME b.lan adopt");
    assert_int_equal(world.decision.finalizer, FINALIZER_LEAVE);
    become(RECEIPT_WAITING);
    decide();
    assert_int_equal(world.decision.claim_count, 3);
    assert_int_equal(world.decision.finalizer, FINALIZER_LEAVE);
    become(RECEIPT_SETTLED);
    decide();
    assert_int_equal(world.decision.claim_count, 3);
    assert_int_equal(world.decision.finalizer, FINALIZER_REMOVE);
    restart();
    world.targets.adopts = false;
    assert_claims("");
    assert_int_equal(world.decision.finalizer, FINALIZER_REMOVE);
}

// ---- telling ------------------------------------------------------------------------------------

static void a_lost_name_says_who_has_it(void **state)
{
    (void)state;
    registered();
    world.hosts = "a.lan,b.lan";
    note(P("target-ip"), "10.0.0.1,fd00::1");
    decide();
    become(RECEIPT_SETTLED);
    receipt("a.lan", RECORD_A)->state = RECEIPT_LOST;
    receipt("a.lan", RECORD_A)->holder = TEXT("kitchen/old");
    receipt("a.lan", RECORD_AAAA)->state = RECEIPT_LOST;
    receipt("a.lan", RECORD_AAAA)->holder = TEXT("kitchen/old");
    decide();
    assert_mark("status", "HostClaimed: a.lan: kitchen/old has it with other targets");
    assert_mark("managed-hosts", "b.lan");
    assert_string_equal(event_of(&world.decision, "HostClaimed"),
                        "a.lan: kitchen/old has it with other targets");
    assert_string_equal(world.decision.reason_label, "HostClaimed");
}

static void what_pihole_says_is_told_worst_first(void **state)
{
    (void)state;
    registered();
    note(P("hosts"), "*.lan,a.lan,b.lan,c.lan");
    decide();
    become(RECEIPT_SETTLED);
    fail_with(receipt("a.lan", RECORD_A), "RecordRefused", "a.lan: invalid hostname");
    fail_with(receipt("b.lan", RECORD_A), "NameTaken", "somebody's entry has 10.9.9.9");
    decide();
    assert_mark("status", "NameTaken: b.lan: somebody's entry has 10.9.9.9; RecordRefused: a.lan: "
                          "invalid hostname; InvalidHost: *.lan: Pi-hole serves no wildcards");
    assert_mark("managed-hosts", "c.lan");
    assert_int_equal(world.decision.event_count, 3);
}

static void with_several_piholes_failures_name_theirs(void **state)
{
    (void)state;
    registered();
    add_target("up", "http://192.168.1.3");
    decide();
    become(RECEIPT_SETTLED);
    fail_with(&world.receipts[1], "OwnedElsewhere", "signpost:zz has it");
    decide();
    assert_mark("status", "OwnedElsewhere: up: a.home.lan: signpost:zz has it");
}

static void trouble_of_a_pihole_is_told_where_something_waits_for_it(void **state)
{
    (void)state;
    registered();
    settle();
    world.backend_views[0].unavailable =
        (struct error){.fault = FAULT_AUTH, .reason = "PiholeRefusesUs", .text = "password"};
    decide();
    assert_int_equal(world.decision.metadata_change_count, 0);
    world.hosts = "a.home.lan,b.lan";
    decide();
    world.receipts[1] = world.receipts[0];
    become(RECEIPT_SETTLED);
    receipt("b.lan", RECORD_A)->state = RECEIPT_WAITING;
    decide();
    assert_mark("status", "PiholeRefusesUs: default: password");
    world.backend_views[0].unavailable.reason[0] = '\0'; // too early to tell
    decide();
    assert_no_mark("status");
}

static void what_is_told_already_is_no_news(void **state)
{
    (void)state;
    registered();
    note(P("hosts"), "*.lan,a.lan");
    settle();
    note(P("cname-ttl"), "x");
    note(P("target-cname"), "proxy");
    decide();
    become(RECEIPT_SETTLED);
    decide();
    assert_non_null(event_of(&world.decision, "InvalidAnnotation"));
    assert_null(event_of(&world.decision, "InvalidHost"));
}

static void the_status_has_at_most_512_octets(void **state)
{
    AUTO_BUFFER list = {0};
    (void)state;
    registered();
    for (int i = 0; i < 90; i++)
        buffer_printf(&list, "*.n%d.lan,", i);
    note(P("hosts"), list.at);
    decide();
    const char *status = mark_of(P("status"));
    assert_true(strlen(status) <= 512);
    assert_non_null(strstr(status, "NoHosts: no name of it can be published; InvalidHost: *.n0"));
    assert_non_null(strstr(status, " more"));
    assert_true(strlen(event_of(&world.decision, "InvalidHost")) <= 1024);
}

static void a_status_goes_when_all_is_well(void **state)
{
    (void)state;
    note(P("status"), "NoHosts: it names no host");
    decide();
    assert_mark("status", "gone");
    registered();
    decide();
    become(RECEIPT_SETTLED);
    decide();
    assert_mark("status", "gone");
    assert_non_null(event_of(&world.decision, "Synced"));
}

static void what_the_store_refuses_is_told(void **state)
{
    (void)state;
    registered();
    decide();
    become(RECEIPT_SETTLED);
    world.refused = &(struct error){.fault = FAULT_AUTH, .text = "no right to patch"};
    decide();
    assert_string_equal(lines(), "reconcile failed ingress=shop/web error=no right to patch");
}

static void an_edit_tries_at_once(void **state)
{
    (void)state;
    registered();
    decide();
    uint64_t epoch = world.decision.claims[0].epoch;
    note(P("managed-hosts"), "x.lan");
    decide();
    assert_true(world.decision.claims[0].epoch == epoch);
    note(P("target-ip"), "10.0.0.1");
    decide();
    assert_true(world.decision.claims[0].epoch != epoch);
}

// ---- admission and backends ---------------------------------------------------------------------

static const char *warnings(void)
{
    struct findings findings = {.arena = world.arena};
    ingress_controller.admit(ingress(), &findings);
    assert_int_equal(findings_errors(&findings), 0);
    const char *text = findings_join(&findings, FINDING_WARNING);
    return text ? text : "";
}

static void admission_warns_and_never_refuses(void **state)
{
    (void)state;
    assert_string_equal(warnings(), "");
    registered();
    assert_string_equal(warnings(), "");
    note(P("target-ip"), "x");
    note(P("instances"), "who knows");
    assert_string_equal(warnings(), "InvalidAnnotation: pihole.io/target-ip: x: write four numbers "
                                    "with dots, as 192.0.2.1; published records stay");
    note(P("target-ip"), NULL);
    note(P("hosts"), "*.lan");
    assert_non_null(strstr(warnings(), "InvalidHost: *.lan: Pi-hole serves no wildcards"));
    note(P("hosts"), NULL);
    note(P("target_ip"), "10.0.0.1");
    note(P("managed-hosts"), "a");
    assert_string_equal(warnings(), "pihole.io/target_ip is not known and does nothing; did you "
                                    "mean pihole.io/target-ip?");
}

static void each_pihole_has_its_backend(void **state)
{
    struct backend_want want;
    struct question question;
    (void)state;
    add_target("up", "https://192.168.1.3");
    world.targets.items[1].secret = secret_new("s", 1);
    assert_true(ingress_controller.open(&world.targets, 1, world.arena, &want, &question));
    assert_string_equal(want.name, "pihole-up");
    assert_string_equal(want.registry, "https://192.168.1.3");
    assert_string_equal(want.provider, "pihole");
    assert_ptr_equal(want.secret, world.targets.items[1].secret);
    assert_true(text_is(value_text_at(want.config, "url"), "https://192.168.1.3"));
    assert_int_equal(question.good_for_ms, 60000);
    assert_false(ingress_controller.open(&world.targets, 2, world.arena, &want, &question));
    assert_false(ingress_controller.open(NULL, 0, world.arena, &want, &question));
    secret_unref(want.secret);
    secret_unref(world.targets.items[1].secret);
}

static const struct CMUnitTest annotations[] = {
    UNIT(nothing_is_wanted_of_an_ingress_that_is_not_registered),
    UNIT(each_host_gets_the_default_address),
    UNIT(only_the_exact_word_registers),
    UNIT(the_annotation_hosts_stands_in_for_the_rules),
    UNIT(an_empty_annotation_hosts_is_as_none),
    UNIT(names_are_taken_as_pihole_takes_them),
    UNIT(one_bad_name_keeps_no_other_from_being_served),
    UNIT(names_that_mean_something_else_to_those_who_ask_are_refused),
    UNIT(an_address_is_no_target_of_an_alias),
    UNIT(an_address_of_whoever_asks_is_warned_of_and_published),
    UNIT(a_label_of_more_than_63_octets_is_refused),
    UNIT(doubles_of_a_name_collapse),
    UNIT(names_beyond_1000_are_left_out),
    UNIT(an_object_without_hosts_is_told),
    UNIT(addresses_of_both_families_are_two_sets),
    UNIT(a_blank_target_is_as_none),
    UNIT(the_word_status_takes_the_addresses_of_the_load_balancer),
    UNIT(a_cname_stands_in_for_addresses),
    UNIT(a_bad_ttl_is_left_out),
    UNIT(a_target_that_no_list_has_is_told_by_the_list_that_its_write_left),
    UNIT(a_name_is_no_alias_of_itself),
    UNIT(all_instances_get_the_names_each_with_its_addresses),
    UNIT(an_object_chooses_its_instances),
    UNIT(of_unknown_instances_the_known_ones_are_served),
    UNIT(without_any_known_instance_records_stay),
    UNIT(narrowed_instances_leave_the_others),
    UNIT(a_pihole_serves_its_namespaces_alone),
    UNIT(without_piholes_nothing_is_wanted),
    UNIT(a_bad_target_leaves_published_records_as_they_are),
    UNIT(a_bad_target_without_records_wants_nothing),
    UNIT(records_survive_a_restart_with_a_bad_target),
    UNIT(names_in_managed_hosts_of_others_are_not_kept),
    UNIT(two_kinds_of_target_leave_records_as_they_are),
    UNIT(a_bad_cname_leaves_records_as_they_are),
    UNIT(what_was_under_way_when_the_target_went_bad_is_kept_but_not_what_was_lost),
    UNIT(a_status_without_addresses_leaves_the_last_good_ones),
    UNIT(a_status_that_is_missing_at_one_pihole_keeps_no_other),
};

static const struct CMUnitTest courses[] = {
    UNIT(names_that_are_no_longer_wanted_go),
    UNIT(a_name_that_was_dropped_while_nobody_ran_goes),
    UNIT(a_pihole_that_stopped_serving_the_namespace_is_left_to_the_guard),
    UNIT(an_unregistered_ingress_loses_its_records_and_its_marks),
    UNIT(an_ingress_that_was_unregistered_while_nobody_ran_loses_its_records),
    UNIT(a_bad_target_keeps_nothing_of_an_unregistered_ingress),
    UNIT(records_of_an_ingress_that_is_gone_go),
    UNIT(a_lost_name_needs_no_removal),
    UNIT(a_type_that_is_no_longer_wanted_goes),
    UNIT(the_finalizer_stands_before_anything_is_sent),
    UNIT(a_finalizer_that_comes_later_takes_no_annotation_along),
    UNIT(a_write_names_all_that_is_ours),
    UNIT(records_go_before_the_finalizer),
    UNIT(records_go_before_the_finalizer_after_a_restart),
    UNIT(what_holds_up_a_deletion_is_told),
    UNIT(an_orphan_is_let_go_at_once),
    UNIT(a_finalizer_of_before_goes_at_take_over),
    UNIT(the_finalizer_of_an_unregistered_ingress_goes_behind_its_records),
    UNIT(an_object_that_went_although_the_finalizer_stood_is_gone),
    UNIT(an_unknown_deletion_policy_is_told),
    UNIT(names_are_listed_when_their_records_stand),
    UNIT(what_somebody_else_made_is_not_listed),
    UNIT(what_somebody_else_made_is_told_until_it_is_ours_or_not_wanted),
    UNIT(what_is_shared_is_listed_by_each),
    UNIT(a_name_that_stands_at_one_pihole_is_listed),
    UNIT(names_stay_listed_while_a_restart_does_not_know),
    UNIT(a_name_is_listed_until_it_is_gone),
    UNIT(a_name_that_somebody_took_is_not_listed),
    UNIT(nothing_is_listed_before_the_owner_id_is_known),
    UNIT(marks_of_another_owner_stay_while_nothing_is_ours),
    UNIT(marks_wait_for_what_is_under_way_but_not_for_ever),
    UNIT(names_of_a_predecessor_may_be_adopted),
    UNIT(once_the_marker_stands_tags_alone_decide),
    UNIT(the_list_of_a_predecessor_stands_until_it_is_adopted),
    UNIT(the_list_of_a_predecessor_stays_when_nothing_of_it_is_ours),
    UNIT(the_list_of_a_predecessor_stays_on_what_is_not_registered),
    UNIT(what_a_predecessor_left_goes_before_its_finalizer),
    UNIT(a_lost_name_says_who_has_it),
    UNIT(what_pihole_says_is_told_worst_first),
    UNIT(with_several_piholes_failures_name_theirs),
    UNIT(trouble_of_a_pihole_is_told_where_something_waits_for_it),
    UNIT(what_is_told_already_is_no_news),
    UNIT(the_status_has_at_most_512_octets),
    UNIT(a_status_goes_when_all_is_well),
    UNIT(what_the_store_refuses_is_told),
    UNIT(an_edit_tries_at_once),
    UNIT(admission_warns_and_never_refuses),
    UNIT(each_pihole_has_its_backend),
};

int main(void)
{
    return cmocka_run_group_tests(annotations, NULL, NULL) +
           cmocka_run_group_tests(courses, NULL, NULL);
}
