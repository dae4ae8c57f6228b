#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/test_rounds.h"
#include "base/value.h"
#include "controllers/zone/zone_tree.h"
#include "dns/rr_type.h"
#include "kinds/record/record_kind.h"
#include "kinds/zone/zone_kind.h"

// Objects are told as "namespace/name", specs in JSON with single quotes. An object is the older
// the sooner it was put first.

enum { OBJECTS_MAX = 256, VIEW_MAX = 4096 };

struct entry {
    const struct object *object;
    bool is_reported;
    bool has_content;
    bool is_gone;
    bool is_new;
    char view[VIEW_MAX]; // after the last settle
    bool is_live;
    char fqdn[DNAME_TEXT_MAX];
    uint8_t digest[32];
};

static struct world {
    struct arena *arena;
    struct zone_tree_settings settings;
    struct zone_tree *zone_tree;
    struct entry entries[OBJECTS_MAX];
    size_t count;
    unsigned age;
    size_t reported_count;
} world;

// ---- objects ------------------------------------------------------------------------------------

static struct object *make(const struct kind *kind, const char *id, unsigned age, const char *spec)
{
    struct error err;
    const char *slash = strchr(id, '/');
    char *json = arena_printf(
        world.arena,
        "{'metadata':{'namespace':'%.*s','name':'%s','generation':1,'resourceVersion':'1',"
        "'creationTimestamp':'2026-01-01T%02u:%02u:%02uZ'},'spec':{%s}}",
        (int)(slash - id), id, slash + 1, age / 3600 % 24, age / 60 % 60, age % 60, spec);
    for (char *at = json; *at; at++)
        if (*at == '\'')
            *at = '"';
    struct value *tree = value_read_json(world.arena, text_of(json), &value_manifest_limits, &err);
    assert_non_null(tree);
    return object_new(kind, NULL, tree);
}

static bool has_id(const struct object *object, const struct kind *kind, const char *id)
{
    AUTO_BUFFER name = {0};
    object_write_name(&name, object);
    return object->kind == kind && text_is(buffer_text(&name), id);
}

static struct entry *entry_of(const struct kind *kind, const char *id)
{
    for (size_t i = 0; i < world.count; i++)
        if (has_id(world.entries[i].object, kind, id))
            return &world.entries[i];
    return NULL;
}

static struct entry *entry_at(const struct object *object)
{
    AUTO_BUFFER name = {0};
    object_write_name(&name, object);
    return entry_of(object->kind, name.at);
}

static void put_aged(const struct kind *kind, const char *id, unsigned age, const char *spec)
{
    struct entry *entry = entry_of(kind, id);
    if (!entry) {
        assert_true(world.count < OBJECTS_MAX);
        entry = &world.entries[world.count++];
        *entry = (struct entry){.is_new = true};
    }
    object_unref(entry->object);
    entry->object = make(kind, id, age, spec);
    zone_tree_put(world.zone_tree, entry->object);
}

static void put(const struct kind *kind, const char *id, const char *spec)
{
    const struct entry *entry = entry_of(kind, id);
    unsigned age = entry ? entry->object->created_s % 86400 : ++world.age;
    put_aged(kind, id, age, spec);
}

static void zone(const char *id, const char *spec)
{
    put(&zone_kind, id, spec);
}

static void record(const char *id, const char *spec)
{
    put(&record_kind, id, spec);
}

static void forget(struct entry *entry)
{
    object_unref(entry->object);
    *entry = world.entries[--world.count];
}

static void take_away(const struct kind *kind, const char *id)
{
    struct entry *entry = entry_of(kind, id);
    assert_non_null(entry);
    zone_tree_remove(world.zone_tree, entry->object);
    forget(entry);
}

// ---- views --------------------------------------------------------------------------------------

static void write_warnings(struct buffer *out, const struct zone_tree_warning *warnings,
                           size_t count, bool has_texts)
{
    for (size_t i = 0; i < count; i++) {
        buffer_printf(out, " %s", reason_name(warnings[i].reason));
        if (has_texts)
            buffer_printf(out, "(%s)", warnings[i].text);
    }
}

static void write_object(struct buffer *out, const char *before, const struct object *object)
{
    if (!object)
        return;
    buffer_add_text(out, before);
    object_write_name(out, object);
}

static void write_zone(struct buffer *out, const struct zone_tree *zone_tree, struct arena *arena,
                       const struct object *object, bool has_texts)
{
    struct zone_tree_zone zone;
    assert_true(zone_tree_zone(zone_tree, arena, object, &zone));
    assert_int_equal(zone.is_live, zone.compiler != NULL);
    assert_int_equal(zone_tree_zone_ready(zone_tree, object), zone.ready);
    if (zone.has_fqdn)
        dname_write(out, zone.fqdn);
    else
        buffer_add_char(out, '-');
    buffer_printf(out, " %s %s", zone.is_live ? "live" : "held", reason_name(zone.accepted));
    if (has_texts)
        buffer_printf(out, "(%s)", zone.accepted_text);
    write_object(out, " below ", zone.parent);
    if (zone.ready != REASON_COMPILED && zone.ready != REASON_NOT_ACCEPTED)
        buffer_printf(out, " %s", reason_name(zone.ready));
    if (has_texts)
        buffer_printf(out, " %s(%s)", reason_name(zone.ready), zone.ready_text);
    write_warnings(out, zone.warnings, zone.warning_count, has_texts);
}

static void write_record(struct buffer *out, const struct zone_tree *zone_tree, struct arena *arena,
                         const struct object *object, bool has_texts)
{
    struct zone_tree_record record;
    assert_true(zone_tree_record(zone_tree, arena, object, &record));
    if (record.has_fqdn)
        dname_write(out, record.fqdn);
    else
        buffer_add_char(out, '-');
    buffer_printf(out, " %s", reason_name(record.accepted));
    if (has_texts)
        buffer_printf(out, "(%s)", record.accepted_text);
    write_object(out, " ", record.zone);
    if (record.conflicted != REASON_NO_CONFLICT)
        buffer_printf(out, " %s", reason_name(record.conflicted));
    if (has_texts)
        buffer_printf(out, "(%s)", record.conflicted_text);
    if (record.is_in)
        buffer_add_text(out, " in");
    if (has_texts)
        write_warnings(out, record.warnings, record.warning_count, true);
}

static const char *view_of(const struct zone_tree *zone_tree, const struct object *object,
                           bool has_texts)
{
    AUTO_BUFFER out = {0};
    if (object->kind == &zone_kind)
        write_zone(&out, zone_tree, world.arena, object, has_texts);
    else
        write_record(&out, zone_tree, world.arena, object, has_texts);
    return arena_copy(world.arena, out.at, out.len);
}

static void assert_zone(const char *id, const char *view)
{
    const struct entry *entry = entry_of(&zone_kind, id);
    assert_string_equal(view_of(world.zone_tree, entry->object, false), view);
}

static void assert_record(const char *id, const char *view)
{
    const struct entry *entry = entry_of(&record_kind, id);
    assert_string_equal(view_of(world.zone_tree, entry->object, false), view);
}

static const char *accepted_text(const struct kind *kind, const char *id)
{
    struct zone_tree_zone zone;
    struct zone_tree_record record;
    const struct object *object = entry_of(kind, id)->object;
    if (kind == &zone_kind) {
        assert_true(zone_tree_zone(world.zone_tree, world.arena, object, &zone));
        return zone.accepted_text;
    }
    assert_true(zone_tree_record(world.zone_tree, world.arena, object, &record));
    return record.accepted_text;
}

static const char *warning_text(const char *id, enum reason reason)
{
    struct zone_tree_zone zone;
    assert_true(
        zone_tree_zone(world.zone_tree, world.arena, entry_of(&zone_kind, id)->object, &zone));
    for (size_t i = 0; i < zone.warning_count; i++)
        if (zone.warnings[i].reason == reason)
            return zone.warnings[i].text;
    return NULL;
}

// False: it is not live.
static bool digest_of_zone(const struct zone_tree *zone_tree, const struct object *object,
                           uint8_t out[32])
{
    struct zone_tree_zone zone;
    memset(out, 0, 32);
    assert_true(zone_tree_zone(zone_tree, world.arena, object, &zone));
    if (!zone.compiler)
        return false;
    CLEANUP(zone) struct zone *content = zone_compiler_zone(zone.compiler, 1);
    zone_digest(content, out);
    return true;
}

// ---- settling -----------------------------------------------------------------------------------

static void handle_changed(void *context, const struct object *object)
{
    struct entry *entry = entry_at(object);
    (void)context;
    assert_non_null(entry);
    assert_ptr_equal(entry->object, object);
    assert_false(entry->is_reported);
    entry->is_reported = true;
    world.reported_count++;
}

static void handle_content(void *context, const struct object *object)
{
    struct entry *entry = entry_at(object);
    (void)context;
    assert_non_null(entry);
    assert_false(entry->has_content);
    entry->has_content = true;
}

static void handle_gone(void *context, const struct object *object, struct dname fqdn)
{
    struct entry *entry = entry_at(object);
    (void)context;
    assert_true(fqdn.len > 1);
    if (entry)
        entry->is_gone = true;
}

static const struct zone_tree_reported reported = {handle_changed, handle_content, handle_gone,
                                                   NULL};

static const char *fqdn_of(const struct object *object)
{
    struct zone_tree_zone zone;
    AUTO_BUFFER out = {0};
    assert_true(zone_tree_zone(world.zone_tree, world.arena, object, &zone));
    if (zone.has_fqdn)
        dname_write(&out, zone.fqdn);
    return arena_copy(world.arena, buffer_text(&out).at, out.len);
}

// Whoever is not told has nothing new to be told.
static void check_zone_reported(struct entry *entry)
{
    uint8_t digest[32];
    bool is_live = digest_of_zone(world.zone_tree, entry->object, digest);
    const char *fqdn = fqdn_of(entry->object);
    bool is_same = !strcmp(fqdn, entry->fqdn);
    // What goes and comes again is a new one.
    if (!entry->is_new)
        assert_int_equal(entry->is_gone, entry->is_live && !(is_live && is_same));
    entry->is_new = false;
    if (is_live && (!entry->is_live || !is_same || memcmp(digest, entry->digest, 32) != 0))
        assert_true(entry->has_content);
    entry->is_live = is_live;
    memcpy(entry->digest, digest, 32);
    (void)snprintf(entry->fqdn, sizeof entry->fqdn, "%s", fqdn);
}

static void check_reported(struct entry *entry)
{
    const char *view = view_of(world.zone_tree, entry->object, true);
    assert_true(strlen(view) < VIEW_MAX);
    if (strcmp(view, entry->view) != 0 && !entry->is_reported)
        fail_msg("not reported: from %s to %s", entry->view, view);
    (void)snprintf(entry->view, sizeof entry->view, "%s", view);
    if (entry->object->kind == &zone_kind)
        check_zone_reported(entry);
}

static void settle(void)
{
    world.reported_count = 0;
    for (size_t i = 0; i < world.count; i++)
        world.entries[i].is_reported = world.entries[i].has_content = world.entries[i].is_gone =
            false;
    zone_tree_settle(world.zone_tree, &reported);
    for (size_t i = 0; i < world.count; i++)
        check_reported(&world.entries[i]);
}

static bool is_reported(const struct kind *kind, const char *id)
{
    return entry_of(kind, id)->is_reported;
}

static int set_up(void **state)
{
    (void)state;
    world = (struct world){.arena = arena_new()};
    world.zone_tree = zone_tree_new(&world.settings);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    while (world.count)
        forget(&world.entries[0]);
    zone_tree_free(world.zone_tree);
    arena_free(world.arena);
    return 0;
}

static void set_settings(struct zone_tree_settings settings)
{
    world.settings = settings;
    zone_tree_set_settings(world.zone_tree, &world.settings);
}

#define ALL "'delegations':[{'zones':['*'],'records':[{'pattern':'*'},{'pattern':'@'}]}]"
#define NONE "'delegations':[]"
#define RECORDS(patterns) "'delegations':[{'records':[" patterns "]}]"
#define ZONES(patterns) "'delegations':[{'zones':[" patterns "]}]"
#define A "'type':'A','rdata':'192.0.2.1'"
#define REF(name) "'zoneRef':{'name':'" name "','namespace':'dns'}"

// ---- 3.2: delegations ---------------------------------------------------------------------------

static void nothing_is_delegated_by_default_not_even_to_the_zones_own_namespace(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," NONE);
    record("dns/www", "'domainName':'www.example.org.'," A);
    settle();
    assert_record("dns/www", "www.example.org. NotDelegated");
    assert_string_equal(accepted_text(&record_kind, "dns/www"),
                        "zone example.org. does not delegate www to namespace dns");
}

static void a_delegation_without_namespaces_is_for_all(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," RECORDS("{'pattern':'www'}"));
    record("shop/www", "'domainName':'www.example.org.'," A);
    record("shop/ftp", "'domainName':'ftp.example.org.'," A);
    settle();
    assert_record("shop/www", "www.example.org. Adopted dns/example in");
    assert_record("shop/ftp", "ftp.example.org. NotDelegated");
}

static void any_one_delegation_with_namespace_pattern_and_type_is_enough(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.','delegations':["
                        "{'namespaces':['shop'],'records':[{'pattern':'www','types':['TXT']}]},"
                        "{'namespaces':['blog'],'records':[{'pattern':'www','types':['A']}]}]");
    record("shop/www", "'domainName':'www.example.org.'," A);
    record("blog/www", "'domainName':'www.example.org.'," A);
    record("shop/text", "'domainName':'www.example.org.','type':'TXT','rdata':'hello'");
    settle();
    assert_record("shop/www", "www.example.org. NotDelegated");
    assert_string_equal(accepted_text(&record_kind, "shop/www"),
                        "zone example.org. does not delegate www to namespace shop for type A");
    assert_record("blog/www", "www.example.org. Adopted dns/example in");
    assert_record("shop/text", "www.example.org. Adopted dns/example in");
}

static void types_that_nobody_knows_do_not_make_a_list_of_all(void **state)
{
    (void)state;
    zone("dns/example",
         "'domainName':'example.org.'," RECORDS("{'pattern':'www','types':['NONSENSE']}"));
    record("shop/www", "'domainName':'www.example.org.'," A);
    settle();
    assert_record("shop/www", "www.example.org. NotDelegated");
}

static void the_apex_needs_a_pattern_of_its_own(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," RECORDS("{'pattern':'*'}"));
    record("dns/apex", "'domainName':'@'," REF("example") "," A);
    record("dns/star", "'domainName':'*.example.org.'," A);
    settle();
    assert_record("dns/apex", "example.org. NotDelegated");
    assert_string_equal(accepted_text(&record_kind, "dns/apex"),
                        "zone example.org. does not delegate @ to namespace dns");
    assert_record("dns/star", "*.example.org. Adopted dns/example in");
    zone("dns/example", "'domainName':'example.org.'," RECORDS("{'pattern':'@'}"));
    settle();
    assert_record("dns/apex", "example.org. Adopted dns/example in");
    assert_record("dns/star", "*.example.org. NotDelegated");
}

static void a_pattern_that_cannot_be_read_delegates_nothing_and_its_neighbours_count(void **state)
{
    (void)state;
    zone("dns/example",
         "'domainName':'example.org.'," RECORDS("{'pattern':'a..b'},{'pattern':'www'}"));
    record("dns/www", "'domainName':'www.example.org.'," A);
    settle();
    assert_record("dns/www", "www.example.org. Adopted dns/example in");
    assert_non_null(strstr(warning_text("dns/example", REASON_INVALID_PATTERN),
                           "pattern a..b: segment is an empty string"));
}

static void patterns_that_were_hardly_meant_so_are_warned_of_in_their_order(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," RECORDS(
                            "{'pattern':'www.example.net.'},{'pattern':'www.example.org'},"
                            "{'pattern':'***'}"));
    settle();
    const char *view = view_of(world.zone_tree, entry_of(&zone_kind, "dns/example")->object, false);
    assert_non_null(strstr(view, "InvalidPattern PatternLooksAbsolute PatternOutsideZone"));
}

static void a_label_left_of_a_wildcard_counts_and_who_lost_by_that_is_named(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," RECORDS("{'pattern':'_acme-challenge.*'}"));
    record("shop/mine",
           "'domainName':'_acme-challenge.shop.example.org.','type':'TXT','rdata':'x'");
    record("shop/www", "'domainName':'www.shop.example.org.'," A);
    settle();
    assert_record("shop/mine", "_acme-challenge.shop.example.org. Adopted dns/example in");
    assert_record("shop/www", "www.shop.example.org. NotDelegated");
    assert_non_null(strstr(warning_text("dns/example", REASON_PATTERN_NARROWED), "shop/www"));
    take_away(&record_kind, "shop/www");
    settle();
    assert_null(warning_text("dns/example", REASON_PATTERN_NARROWED));
    assert_true(is_reported(&zone_kind, "dns/example"));
}

static void a_prefix_pattern_covers_no_other_depth(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," RECORDS("{'pattern':'app-*'}"));
    record("shop/one", "'domainName':'app-1.example.org.'," A);
    record("shop/two", "'domainName':'x.app-1.example.org.'," A);
    record("shop/own", "'domainName':'app.example.org.'," A);
    settle();
    assert_record("shop/one", "app-1.example.org. Adopted dns/example in");
    assert_record("shop/two", "x.app-1.example.org. NotDelegated");
    assert_record("shop/own", "app.example.org. NotDelegated");
}

// ---- 4.1: records -------------------------------------------------------------------------------

static void a_partial_name_is_completed_by_the_zone_that_it_names(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'Example.ORG.'," ALL);
    record("shop/www", "'domainName':'www'," REF("example") "," A);
    record("dns/ftp", "'domainName':'ftp','zoneRef':{'name':'example'}," A);
    settle();
    assert_record("shop/www", "www.example.org. Adopted dns/example in");
    assert_record("dns/ftp", "ftp.example.org. Adopted dns/example in");
}

static void a_partial_name_is_known_even_when_it_is_not_delegated(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," NONE);
    record("shop/www", "'domainName':'www'," REF("example") "," A);
    settle();
    assert_record("shop/www", "www.example.org. NotDelegated");
    take_away(&zone_kind, "dns/example");
    settle();
    assert_record("shop/www", "- ZoneNotFound");
    assert_string_equal(accepted_text(&record_kind, "shop/www"),
                        "there is no zone dns/example: create it");
}

static void the_longest_live_zone_has_the_record(void **state)
{
    (void)state;
    zone("dns/org", "'domainName':'org.'," ALL);
    zone("dns/example", "'domainName':'example.org.'," ALL);
    record("shop/www", "'domainName':'www.example.org.'," A);
    record("shop/apex", "'domainName':'example.org.'," A);
    record("shop/other", "'domainName':'xexample.org.'," A);
    settle();
    assert_record("shop/www", "www.example.org. Adopted dns/example in");
    assert_record("shop/apex", "example.org. Adopted dns/example in");
    assert_record("shop/other", "xexample.org. Adopted dns/org in");
}

static void suffix_goes_before_delegation_and_there_is_no_way_back(void **state)
{
    (void)state;
    zone("dns/org", "'domainName':'org.'," ALL);
    zone("dns/example", "'domainName':'example.org.'," NONE);
    record("shop/www", "'domainName':'www.example.org.'," A);
    settle();
    assert_record("shop/www", "www.example.org. NotDelegated");
}

static void ds_records_are_of_the_zone_above(void **state)
{
    (void)state;
    zone("dns/org", "'domainName':'org.'," ALL);
    zone("dns/example", "'domainName':'example.org.'," ALL);
    record("shop/ds", "'domainName':'example.org.','type':'DS','rdata':'1 8 2 " //
                      "e2d3c916f6deeac73294e8268fb5885044a833fc5459588f4a9184cfc41a5766'");
    settle();
    const char *view = view_of(world.zone_tree, entry_of(&record_kind, "shop/ds")->object, false);
    assert_non_null(strstr(view, "example.org. Adopted dns/org"));
}

static void a_name_in_no_zone_waits_for_one(void **state)
{
    (void)state;
    record("shop/www", "'domainName':'www.example.org.'," A);
    settle();
    assert_record("shop/www", "www.example.org. NoZone");
    zone("dns/example", "'domainName':'example.org.'," ALL);
    settle();
    assert_record("shop/www", "www.example.org. Adopted dns/example in");
    take_away(&zone_kind, "dns/example");
    settle();
    assert_record("shop/www", "www.example.org. NoZone");
}

static void names_that_are_complete_twice_or_never_are_refused(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," ALL);
    record("shop/both", "'domainName':'www.example.org.'," REF("example") "," A);
    record("shop/neither", "'domainName':'www'," A);
    record("shop/at", "'domainName':'@'," A);
    record("shop/bad", "'domainName':'a..b'," REF("example") "," A);
    record("shop/none", A);
    settle();
    assert_record("shop/both", "- NameAndZoneRef");
    assert_record("shop/neither", "- NameIncomplete");
    assert_record("shop/at", "- NameIncomplete");
    assert_record("shop/bad", "- InvalidName");
    assert_record("shop/none", "- InvalidName");
    assert_string_equal(accepted_text(&record_kind, "shop/bad"),
                        "spec.domainName: segment is an empty string");
}

#define L60 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define L60S L60 "." L60 "." L60

static void a_name_that_gets_too_long_with_its_zone_is_refused(void **state)
{
    (void)state;
    zone("dns/long", "'domainName':'" L60 "." L60 ".'," ALL);
    record("shop/fits", "'domainName':'" L60 "." L60 "'," REF("long") "," A);
    record("shop/long", "'domainName':'" L60S "'," REF("long") "," A);
    settle();
    assert_record("shop/long", "- InvalidName");
    assert_string_equal(accepted_text(&record_kind, "shop/long"),
                        "spec.domainName: name too long 306 > 255");
    assert_record("shop/fits", L60 "." L60 "." L60 "." L60 ". Adopted dns/long in");
}

static void what_is_wrong_with_a_record_by_itself_is_told(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," ALL);
    record("a/type", "'domainName':'www.example.org.','type':'NONSENSE','rdata':'x'");
    record("a/soa", "'domainName':'www.example.org.','type':'SOA','rdata':'x'");
    record("a/ttl", "'domainName':'www.example.org.','ttl':2147483648," A);
    record("a/class", "'domainName':'www.example.org.','class':'CH'," A);
    record("a/rdata", "'domainName':'www.example.org.','type':'A','rdata':'1.2.3'");
    record("a/nodata", "'domainName':'www.example.org.','type':'A'");
    record("a/literal", "'domainName':'sub.example.org.','type':'NS','rdata':'192.0.2.1'");
    record("a/star", "'domainName':'*.example.org.','type':'NS','rdata':'ns1'");
    record("a/self", "'domainName':'s.example.org.','type':'HTTPS','rdata':'0 s'");
    settle();
    assert_record("a/type", "www.example.org. InvalidType");
    assert_record("a/soa", "www.example.org. ReservedType");
    assert_record("a/ttl", "www.example.org. InvalidTTL");
    assert_record("a/class", "www.example.org. ClassMismatch");
    assert_record("a/rdata", "www.example.org. InvalidRData");
    assert_record("a/nodata", "www.example.org. InvalidRData");
    assert_record("a/literal", "sub.example.org. NSTargetIsAddress");
    assert_record("a/star", "*.example.org. WildcardNS");
    assert_record("a/self", "s.example.org. SVCBSelfAlias");
}

static void a_record_that_moves_leaves_the_zone_before(void **state)
{
    uint8_t before[32];
    uint8_t after[32];
    (void)state;
    zone("dns/a", "'domainName':'a.'," ALL);
    zone("dns/b", "'domainName':'b.'," ALL);
    settle();
    (void)digest_of_zone(world.zone_tree, entry_of(&zone_kind, "dns/a")->object, before);
    record("shop/www", "'domainName':'www.a.'," A);
    settle();
    record("shop/www", "'domainName':'www.b.'," A);
    settle();
    assert_record("shop/www", "www.b. Adopted dns/b in");
    (void)digest_of_zone(world.zone_tree, entry_of(&zone_kind, "dns/a")->object, after);
    assert_memory_equal(before, after, 32);
    assert_true(entry_of(&zone_kind, "dns/a")->has_content);
    assert_true(entry_of(&zone_kind, "dns/b")->has_content);
}

static void the_older_of_two_that_exclude_each_other_wins_and_the_other_heals(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," ALL);
    record("z/old", "'domainName':'www.example.org.','type':'CNAME','rdata':'x.example.net.'");
    record("a/new", "'domainName':'www.example.org.'," A);
    settle();
    assert_record("z/old", "www.example.org. Adopted dns/example in");
    assert_record("a/new", "www.example.org. Adopted dns/example CNAMEConflict");
    take_away(&record_kind, "z/old");
    settle();
    assert_record("a/new", "www.example.org. Adopted dns/example in");
}

static void a_new_status_alone_changes_nothing(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," ALL);
    record("a/www", "'domainName':'www.example.org.'," A);
    settle();
    zone("dns/example", "'domainName':'example.org.'," ALL);
    record("a/www", "'domainName':'www.example.org.'," A);
    settle();
    assert_int_equal(world.reported_count, 2);
    assert_false(entry_of(&zone_kind, "dns/example")->has_content);
}

// ---- 4.2: names of zones ------------------------------------------------------------------------

static void a_partial_zone_is_named_by_its_parent_and_must_be_listed(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," ZONES("'shop'"));
    zone("dns/shop", "'domainName':'shop'," REF("example") "," ALL);
    zone("dns/blog", "'domainName':'blog'," REF("example") "," ALL);
    settle();
    assert_zone("dns/shop", "shop.example.org. live Accepted below dns/example NoNameservers");
    assert_zone("dns/blog", "blog.example.org. held NotDelegated");
    assert_string_equal(accepted_text(&zone_kind, "dns/blog"),
                        "zone example.org. does not delegate zone blog.example.org. to "
                        "namespace dns");
}

static void a_zone_waits_for_the_one_that_it_names(void **state)
{
    (void)state;
    zone("dns/leaf", "'domainName':'leaf'," REF("middle") "," ALL);
    zone("dns/middle", "'domainName':'middle'," REF("top") "," ALL);
    record("a/www", "'domainName':'www'," REF("leaf") "," A);
    settle();
    assert_zone("dns/middle", "- held ZoneNotFound");
    assert_zone("dns/leaf", "- held ZoneWaiting");
    assert_record("a/www", "- ZoneWaiting");
    zone("dns/top", "'domainName':'top.'," ALL);
    settle();
    assert_zone("dns/leaf", "leaf.middle.top. live Accepted below dns/middle NoNameservers");
    assert_record("a/www", "www.leaf.middle.top. Adopted dns/leaf in");
}

static void a_loop_names_no_zone_and_every_member_says_so(void **state)
{
    (void)state;
    zone("dns/a", "'domainName':'a'," REF("b") "," ALL);
    zone("dns/b", "'domainName':'b'," REF("c") "," ALL);
    zone("dns/c", "'domainName':'c'," REF("a") "," ALL);
    zone("dns/self", "'domainName':'self'," REF("self") "," ALL);
    zone("dns/on", "'domainName':'on'," REF("a") "," ALL);
    settle();
    assert_zone("dns/a", "- held ZoneLoop");
    assert_zone("dns/b", "- held ZoneLoop");
    assert_zone("dns/c", "- held ZoneLoop");
    assert_zone("dns/self", "- held ZoneLoop");
    assert_zone("dns/on", "- held ZoneWaiting");
    assert_non_null(strstr(accepted_text(&zone_kind, "dns/a"), "dns/a -> dns/b -> dns/c -> dns/a"));
    zone("dns/c", "'domainName':'c.'," ALL);
    settle();
    assert_zone("dns/on", "on.a.b.c. live Accepted below dns/a NoNameservers");
}

static void a_renamed_zone_takes_its_records_along(void **state)
{
    (void)state;
    zone("dns/top", "'domainName':'old.'," ALL);
    zone("dns/sub", "'domainName':'sub'," REF("top") "," ALL);
    record("a/www", "'domainName':'www'," REF("sub") "," A);
    record("a/full", "'domainName':'full.sub.old.'," A);
    settle();
    assert_record("a/full", "full.sub.old. Adopted dns/sub in");
    zone("dns/top", "'domainName':'new.'," ALL);
    settle();
    assert_record("a/www", "www.sub.new. Adopted dns/sub in");
    assert_record("a/full", "full.sub.old. NoZone");
    assert_true(entry_of(&zone_kind, "dns/sub")->is_gone);
    assert_true(entry_of(&zone_kind, "dns/sub")->has_content);
}

static void a_zone_has_a_name_of_its_own(void **state)
{
    (void)state;
    zone("dns/root", "'domainName':'.'," ALL);
    zone("dns/at", "'domainName':'@'," REF("root") "," ALL);
    zone("dns/both", "'domainName':'a.'," REF("root") "," ALL);
    zone("dns/neither", "'domainName':'a'," ALL);
    settle();
    assert_zone("dns/root", "- held InvalidName");
    assert_zone("dns/at", "- held InvalidName");
    assert_zone("dns/both", "- held NameAndZoneRef");
    assert_zone("dns/neither", "- held NameIncomplete");
}

// ---- 4.3: which zone is live --------------------------------------------------------------------

static void the_older_of_two_zones_with_one_name_is_live(void **state)
{
    (void)state;
    zone("z/old", "'domainName':'example.org.'," ALL);
    zone("a/new", "'domainName':'example.org.'," ALL);
    record("shop/www", "'domainName':'www.example.org.'," A);
    record("shop/ref", "'domainName':'ref','zoneRef':{'name':'new','namespace':'a'}," A);
    settle();
    assert_zone("z/old", "example.org. live Accepted NoNameservers");
    assert_zone("a/new", "example.org. held ZoneConflict");
    assert_non_null(strstr(accepted_text(&zone_kind, "a/new"), "zone z/old is older"));
    assert_record("shop/www", "www.example.org. Adopted z/old in");
    assert_record("shop/ref", "ref.example.org. ZoneWaiting");
    take_away(&zone_kind, "z/old");
    settle();
    assert_zone("a/new", "example.org. live Accepted NoNameservers");
    assert_record("shop/www", "www.example.org. Adopted a/new in");
    assert_record("shop/ref", "ref.example.org. Adopted a/new in");
}

static void zones_of_one_age_are_told_apart_by_name(void **state)
{
    (void)state;
    put_aged(&zone_kind, "b/zone", 7, "'domainName':'example.org.'," ALL);
    put_aged(&zone_kind, "a/zone", 7, "'domainName':'example.org.'," ALL);
    settle();
    assert_zone("a/zone", "example.org. live Accepted NoNameservers");
    assert_zone("b/zone", "example.org. held ZoneConflict");
}

static void a_zone_that_is_made_anew_is_the_younger_one(void **state)
{
    (void)state;
    put_aged(&zone_kind, "a/zone", 1, "'domainName':'example.org.'," ALL);
    put_aged(&zone_kind, "b/zone", 2, "'domainName':'example.org.'," ALL);
    put_aged(&record_kind, "a/cname", 3,
             "'domainName':'www.example.org.','type':'CNAME','rdata':'x.example.net.'");
    put_aged(&record_kind, "a/a", 4, "'domainName':'www.example.org.'," A);
    settle();
    assert_zone("b/zone", "example.org. held ZoneConflict");
    assert_record("a/a", "www.example.org. Adopted a/zone CNAMEConflict");
    put_aged(&zone_kind, "a/zone", 5, "'domainName':'example.org.'," ALL);
    put_aged(&record_kind, "a/cname", 6,
             "'domainName':'www.example.org.','type':'CNAME','rdata':'x.example.net.'");
    settle();
    assert_zone("a/zone", "example.org. held ZoneConflict");
    assert_record("a/a", "www.example.org. Adopted b/zone in");
    assert_record("a/cname", "www.example.org. Adopted b/zone CNAMEConflict");
}

static void an_unlisted_zone_below_is_live_within_its_namespace_but_not_pointed_at(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," RECORDS("{'pattern':'*'}"));
    zone("dns/sub", "'domainName':'sub.example.org.'," ALL);
    record("a/www", "'domainName':'www.sub.example.org.'," A);
    settle();
    assert_zone("dns/sub", "sub.example.org. live Accepted NoNameservers NotDelegatedByParent");
    assert_record("a/www", "www.sub.example.org. Adopted dns/sub in");
}

static void a_zone_of_another_namespace_captures_nothing(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," RECORDS("{'pattern':'*'}"));
    zone("evil/www", "'domainName':'www.example.org.'," ALL);
    record("shop/www", "'domainName':'www.example.org.'," A);
    record("shop/below", "'domainName':'x.www.example.org.'," A);
    settle();
    assert_zone("evil/www", "www.example.org. held NotDelegated");
    assert_record("shop/www", "www.example.org. Adopted dns/example in");
    assert_record("shop/below", "x.www.example.org. Adopted dns/example in");
}

static void a_zone_made_above_those_of_others_takes_nothing_down(void **state)
{
    (void)state;
    zone("shop/shop", "'domainName':'shop.example.org.'," ALL);
    record("shop/www", "'domainName':'www.shop.example.org.'," A);
    zone("evil/org", "'domainName':'org.'," NONE);
    zone("late/late", "'domainName':'late.example.org.'," ALL);
    settle();
    assert_zone("shop/shop", "shop.example.org. live Accepted NoNameservers NotDelegatedByParent");
    assert_record("shop/www", "www.shop.example.org. Adopted shop/shop in");
    assert_zone("late/late", "late.example.org. held NotDelegated");
}

static void a_partial_zone_cannot_take_a_name_from_below_another(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," ZONES("'*'"));
    zone("shop/shop", "'domainName':'shop.example.org.'," NONE);
    zone("evil/www", "'domainName':'www.shop'," REF("example") "," ALL);
    settle();
    assert_zone("shop/shop", "shop.example.org. live Accepted below dns/example NoNameservers");
    assert_zone("evil/www", "www.shop.example.org. held NotDelegated");
}

static void zones_below_none_need_a_claim_where_there_are_any(void **state)
{
    static const char *const patterns[] = {"example.org.", "*.example.org."};
    static const char *const namespaces[] = {"dns"};
    static const struct zone_tree_claim claims[] = {{patterns, 2, namespaces, 1}};
    (void)state;
    set_settings((struct zone_tree_settings){.claims = claims, .claim_count = 1});
    zone("dns/example", "'domainName':'example.org.'," ZONES("'*'"));
    zone("shop/net", "'domainName':'example.net.'," ALL);
    zone("dns/net", "'domainName':'www.example.net.'," ALL);
    zone("shop/sub", "'domainName':'sub.example.org.'," ALL);
    settle();
    assert_zone("dns/example", "example.org. live Accepted NoNameservers");
    assert_zone("shop/net", "example.net. held ZoneNotAllowed");
    assert_zone("dns/net", "www.example.net. held ZoneNotAllowed");
    assert_zone("shop/sub", "sub.example.org. live Accepted below dns/example NoNameservers");
    set_settings((struct zone_tree_settings){.claims = NULL});
    settle();
    assert_zone("shop/net", "example.net. live Accepted NoNameservers");
    set_settings((struct zone_tree_settings){.claims = claims});
    settle();
    assert_zone("dns/example", "example.org. held ZoneNotAllowed");
}

static void open_claims_let_every_zone_live(void **state)
{
    (void)state;
    set_settings((struct zone_tree_settings){.is_open = true});
    zone("dns/example", "'domainName':'example.org.'," NONE);
    zone("shop/sub", "'domainName':'sub.example.org.'," ALL);
    zone("shop/ref", "'domainName':'ref'," REF("example") "," ALL);
    settle();
    assert_zone("shop/sub", "sub.example.org. live Accepted NoNameservers NotDelegatedByParent");
    assert_zone("shop/ref", "ref.example.org. live Accepted NoNameservers NotDelegatedByParent");
}

// ---- the zone's own fields ----------------------------------------------------------------------

static bool knows_east(const void *context, struct text name, struct zone_limits *limits)
{
    (void)context;
    (void)limits;
    return text_is(name, "east");
}

static void a_zone_that_names_servers_that_are_not_there_keeps_its_records(void **state)
{
    (void)state;
    set_settings((struct zone_tree_settings){.find_group = knows_east});
    zone("dns/east", "'domainName':'east.','servers':'east'," ALL);
    zone("dns/west", "'domainName':'west.','servers':'west'," ALL);
    zone("dns/none", "'domainName':'none.','servers':'default'," ALL);
    record("a/www", "'domainName':'www.west.'," A);
    settle();
    assert_zone("dns/east", "east. live Accepted NoNameservers");
    assert_zone("dns/west", "west. live UnknownServers");
    assert_zone("dns/none", "none. live Accepted NoNameservers");
    assert_record("a/www", "www.west. Adopted dns/west in");
}

static bool takes_two(const void *context, struct text name, struct zone_limits *limits)
{
    (void)context;
    limits->records_per_type = text_is(name, "east") ? 2 : 0;
    return true;
}

static void the_servers_of_a_zone_say_how_many_records_a_name_may_have(void **state)
{
    (void)state;
    set_settings((struct zone_tree_settings){.find_group = takes_two});
    zone("dns/east", "'domainName':'east.','servers':'east'," ALL);
    zone("dns/west", "'domainName':'west.','servers':'west'," ALL);
    record("a/e1", "'domainName':'www.east.','type':'A','rdata':'192.0.2.1'");
    record("a/e2", "'domainName':'www.east.','type':'A','rdata':'192.0.2.2'");
    record("a/e3", "'domainName':'www.east.','type':'A','rdata':'192.0.2.3'");
    record("a/w1", "'domainName':'www.west.','type':'A','rdata':'192.0.2.1'");
    record("a/w2", "'domainName':'www.west.','type':'A','rdata':'192.0.2.2'");
    record("a/w3", "'domainName':'www.west.','type':'A','rdata':'192.0.2.3'");
    settle();
    assert_record("a/e2", "www.east. Adopted dns/east in");
    assert_record("a/e3", "www.east. Adopted dns/east TooManyRecords");
    assert_record("a/w3", "www.west. Adopted dns/west in");
}

static const char *has_catalog(const void *context, struct dname name)
{
    (void)context;
    return dname_equal(name, (struct dname){(const uint8_t *)"\3cat", 5}) ? "east" : NULL;
}

static void a_zone_with_the_name_of_a_catalog_is_not_live(void **state)
{
    (void)state;
    struct zone_tree_zone view;
    set_settings((struct zone_tree_settings){.catalog_of = has_catalog});
    zone("dns/cat", "'domainName':'cat.'," ALL);
    zone("dns/below", "'domainName':'dog.cat.'," ALL);
    settle();
    assert_zone("dns/cat", "cat. held ZoneConflict");
    assert_zone("dns/below", "dog.cat. live Accepted NoNameservers");
    assert_true(zone_tree_zone(world.zone_tree, world.arena,
                               entry_of(&zone_kind, "dns/cat")->object, &view));
    assert_non_null(strstr(view.accepted_text, "catalog of server group east"));
    set_settings((struct zone_tree_settings){.catalog_of = NULL});
    settle();
    assert_zone("dns/cat", "cat. live Accepted NoNameservers");
}

static struct zone_soa soa_of(const char *id)
{
    static struct zone *content;
    struct zone_tree_zone zone;
    struct zone_soa soa;
    const struct object *object = entry_of(&zone_kind, id)->object;
    assert_true(zone_tree_zone(world.zone_tree, world.arena, object, &zone));
    content = zone_compiler_zone(zone.compiler, 1);
    zone_soa_read(zone_soa(content), &soa);
    soa.mname.at = (uint8_t *)arena_copy(world.arena, soa.mname.at, soa.mname.len);
    soa.rname.at = (uint8_t *)arena_copy(world.arena, soa.rname.at, soa.rname.len);
    zone_unref(content);
    return soa;
}

static const char *rname_of(const char *id)
{
    AUTO_BUFFER out = {0};
    dname_write(&out, soa_of(id).rname);
    return arena_copy(world.arena, out.at, out.len);
}

static void a_mailbox_becomes_a_name(void **state)
{
    (void)state;
    zone("dns/a", "'domainName':'a.','rname':'a.b@c.d'," ALL);
    zone("dns/b", "'domainName':'b.','rname':'host@c.d.'," ALL);
    zone("dns/c", "'domainName':'c.','rname':'host.master'," ALL);
    zone("dns/d", "'domainName':'d.'," ALL);
    settle();
    assert_string_equal(rname_of("dns/a"), "a\\.b.c.d.");
    assert_string_equal(rname_of("dns/b"), "host.c.d.");
    assert_string_equal(rname_of("dns/c"), "host.master.c.");
    assert_string_equal(rname_of("dns/d"), "noc.d.");
}

static void an_soa_that_cannot_be_made_is_told_and_the_name_stays_taken(void **state)
{
    (void)state;
    zone("dns/a", "'domainName':'a.','rname':'@c.d'," ALL);
    zone("dns/b", "'domainName':'b.','mname':'x..y'," ALL);
    zone("dns/c", "'domainName':'c.','refresh':4294967296," ALL);
    zone("dns/d", "'domainName':'d.','nameservers':[{'name':'a b'}]," ALL);
    record("a/www", "'domainName':'www.b.'," A);
    settle();
    assert_zone("dns/a", "a. live InvalidSOA");
    assert_zone("dns/b", "b. live InvalidSOA");
    assert_zone("dns/c", "c. live InvalidSOA");
    assert_zone("dns/d", "d. live InvalidSOA");
    assert_string_equal(accepted_text(&zone_kind, "dns/b"),
                        "spec.mname: segment is an empty string");
    assert_record("a/www", "www.b. Adopted dns/b in");
}

static void nameservers_are_names_with_addresses(void **state)
{
    (void)state;
    zone("dns/a", "'domainName':'a.','nameservers':[{'name':'192.0.2.1'}]," ALL);
    zone("dns/b",
         "'domainName':'b.','nameservers':[{'name':'ns1','addresses':['192.0.2.999']}]," ALL);
    zone("dns/c", "'domainName':'c.','nameservers':[{'name':'ns1','addresses':['192.0.2.1','::1']},"
                  "{'name':'ns.example.net.'}]," ALL);
    settle();
    assert_zone("dns/a", "a. live Accepted NSTargetIsAddress");
    const char *view = view_of(world.zone_tree, entry_of(&zone_kind, "dns/b")->object, false);
    assert_non_null(strstr(view, "b. live Accepted MissingAddress"));
    assert_zone("dns/c", "c. live Accepted");
}

// ---- 4.4: cuts ----------------------------------------------------------------------------------

static bool holds(const char *id, const char *owner, uint16_t type)
{
    struct zone_tree_zone zone;
    uint8_t octets[DNAME_MAX];
    struct dname name;
    assert_true(
        zone_tree_zone(world.zone_tree, world.arena, entry_of(&zone_kind, id)->object, &zone));
    assert_true(dname_read(text_of(owner), NULL, DNAME_OF_OBJECT, octets, &name, NULL));
    CLEANUP(zone) struct zone *content = zone_compiler_zone(zone.compiler, 1);
    return zone_find(content, name, type) != NULL;
}

#define NS1 "'nameservers':[{'name':'ns1','addresses':['192.0.2.53']}],"

static void a_parent_points_at_the_zones_that_it_lists(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," NS1 ALL);
    zone("shop/sub", "'domainName':'sub.example.org.'," NS1 ALL);
    settle();
    assert_true(holds("dns/example", "sub.example.org.", RR_NS));
    assert_true(holds("dns/example", "ns1.sub.example.org.", RR_A));
    zone("dns/example", "'domainName':'example.org.'," NS1 NONE);
    settle();
    assert_false(holds("dns/example", "sub.example.org.", RR_NS));
    assert_zone("shop/sub", "sub.example.org. held NotDelegated");
}

static void an_unlisted_zone_below_is_not_pointed_at(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," NS1 NONE);
    zone("dns/sub", "'domainName':'sub.example.org.'," NS1 ALL);
    settle();
    assert_false(holds("dns/example", "sub.example.org.", RR_NS));
}

static void a_parent_is_woken_by_name_servers_of_a_child_and_not_by_all_of_it(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," NS1 ALL);
    zone("dns/sub", "'domainName':'sub.example.org.'," NS1 ALL);
    zone("dns/low", "'domainName':'low.sub.example.org.'," NS1 ALL);
    settle();
    record("a/www", "'domainName':'www.sub.example.org.'," A);
    settle();
    assert_true(entry_of(&zone_kind, "dns/sub")->has_content);
    assert_false(entry_of(&zone_kind, "dns/example")->has_content);
    assert_false(entry_of(&zone_kind, "dns/low")->has_content);
    record("a/ns", "'domainName':'sub.example.org.','type':'NS','rdata':'ns.example.net.'");
    settle();
    assert_true(entry_of(&zone_kind, "dns/example")->has_content);
}

static void a_child_that_goes_takes_its_cut_along(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," NS1 ALL);
    zone("dns/sub", "'domainName':'sub.example.org.'," NS1 ALL);
    record("a/www", "'domainName':'www','zoneRef':{'name':'example','namespace':'dns'}," A);
    record("a/below", "'domainName':'www.sub','zoneRef':{'name':'example','namespace':'dns'}," A);
    settle();
    assert_record("a/below", "www.sub.example.org. Adopted dns/example OccludedByDelegation");
    take_away(&zone_kind, "dns/sub");
    settle();
    assert_false(holds("dns/example", "sub.example.org.", RR_NS));
    assert_record("a/below", "www.sub.example.org. Adopted dns/example in");
}

// ---- robustness ---------------------------------------------------------------------------------

static void zones_lie_in_each_other_as_deep_as_names_can(void **state)
{
    char id[16];
    char spec[128];
    (void)state;
    zone("dns/z1", "'domainName':'a.'," ALL);
    for (unsigned i = 2; i <= 128; i++) {
        (void)snprintf(id, sizeof id, "dns/z%u", i);
        (void)snprintf(spec, sizeof spec, "'domainName':'a','zoneRef':{'name':'z%u'}," ALL, i - 1);
        zone(id, spec);
    }
    record("a/deep", "'domainName':'a','zoneRef':{'name':'z126','namespace':'dns'}," A);
    record("a/deeper", "'domainName':'a','zoneRef':{'name':'z128','namespace':'dns'}," A);
    settle();
    const char *view = view_of(world.zone_tree, entry_of(&zone_kind, "dns/z127")->object, false);
    assert_non_null(strstr(view, " live Accepted below dns/z126"));
    assert_zone("dns/z128", "- held InvalidName");
    assert_record("a/deeper", "- ZoneWaiting");
    take_away(&zone_kind, "dns/z1");
    settle();
    assert_zone("dns/z127", "- held ZoneWaiting");
}

static void fields_of_other_types_read_as_absent(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," ALL);
    zone("dns/number", "'domainName':5,'delegations':'x','nameservers':{'a':1},'ttl':'y'");
    zone("dns/lists", "'domainName':'lists.','delegations':[1,{'namespaces':'a','zones':[[]],"
                      "'records':[{'pattern':{}},{'types':'A'},[]]}],'nameservers':[[],{}],"
                      "'zoneRef':[],'rname':{},'servers':[]");
    record("a/number", "'domainName':5,'type':7,'rdata':[],'ttl':'x','class':{}");
    record("a/ref", "'domainName':'www','zoneRef':{'name':5}," A);
    record("a/type", "'domainName':'www.example.org.','type':['A'],'rdata':'192.0.2.1'");
    record("a/rdata", "'domainName':'www.example.org.','type':'A','rdata':{}");
    record("a/good", "'domainName':'www.example.org.'," A);
    settle();
    assert_zone("dns/number", "- held InvalidName");
    assert_record("a/number", "- InvalidName");
    assert_record("a/ref", "- NameIncomplete");
    assert_record("a/type", "www.example.org. InvalidType");
    assert_record("a/rdata", "www.example.org. InvalidRData");
    assert_record("a/good", "www.example.org. Adopted dns/example in");
}

// ---- many ---------------------------------------------------------------------------------------

static void handle_nothing(void *context, const struct object *object)
{
    (void)context;
    (void)object;
}

static void handle_no_end(void *context, const struct object *object, struct dname fqdn)
{
    (void)context;
    (void)object;
    (void)fqdn;
}

static size_t many_reported;

static void count_reported(void *context, const struct object *object)
{
    (void)object;
    ++*(size_t *)context;
}

// Each # is the number.
static const char *numbered(const char *text, unsigned number)
{
    AUTO_BUFFER out = {0};
    for (; *text; text++)
        if (*text == '#')
            buffer_printf(&out, "%u", number);
        else
            buffer_add_char(&out, *text);
    return arena_copy(world.arena, out.at, out.len);
}

static void put_many(const struct kind *kind, const char *id, const char *spec, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct object *object = make(kind, numbered(id, i), 1, numbered(spec, i));
        zone_tree_put(world.zone_tree, object);
        object_unref(object);
        arena_reset(world.arena);
    }
}

static size_t settle_many(void)
{
    struct zone_tree_reported counting = {count_reported, handle_nothing, handle_no_end,
                                          &many_reported};
    many_reported = 0;
    zone_tree_settle(world.zone_tree, &counting);
    return many_reported;
}

static void one_of_many_is_told_alone(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," NS1 ALL);
    put_many(&record_kind, "a/r#", "'domainName':'h#.example.org.'," A, 5000);
    assert_int_equal(settle_many(), 5001);
    record("a/r77", "'domainName':'h77.example.org.','type':'A','rdata':'192.0.2.2'");
    assert_int_equal(settle_many(), 2);
    zone("dns/example", "'domainName':'example.org.','retry':7," NS1 ALL);
    assert_int_equal(settle_many(), 1);
    zone("dns/other", "'domainName':'example.net.'," ALL);
    assert_int_equal(settle_many(), 1);
}

static void orphans_are_looked_at_again_when_a_zone_comes_and_told_when_it_is_theirs(void **state)
{
    (void)state;
    put_many(&record_kind, "a/r#", "'domainName':'h#.example.org.'," A, 5000);
    put_many(&record_kind, "b/r#", "'domainName':'h','zoneRef':{'name':'z#'}," A, 5000);
    assert_int_equal(settle_many(), 10000);
    zone("dns/other", "'domainName':'other.org.'," ALL);
    zone("b/z9", "'domainName':'z9.'," ALL);
    assert_int_equal(settle_many(), 3);
    zone("dns/example", "'domainName':'example.org.'," ALL);
    assert_int_equal(settle_many(), 5001);
}

static void a_thousand_zones_are_worked_out_when_one_changes_and_few_are_told(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," NS1 ALL);
    put_many(&zone_kind, "dns/z#", "'domainName':'z#.example.org.'," NS1 ALL, 1000);
    assert_int_equal(settle_many(), 1001);
    zone("dns/z77", "'domainName':'other.example.org.'," NS1 ALL);
    assert_int_equal(settle_many(), 2);
    zone("dns/z77", "'domainName':'z77.example.org.','ttl':7," NS1 ALL);
    assert_int_equal(settle_many(), 2);
}

static void what_is_odd_about_a_zone_itself_is_told_however_much_is_below_it(void **state)
{
    struct zone_tree_zone reported_zone;
    (void)state;
    zone("dns/example",
         "'domainName':'example.org.'," NS1 "'delegations':[{'zones':['*','a..b']}]");
    put_many(&zone_kind, "dns/z#",
             "'domainName':'z#.example.org.','nameservers':[{'name':'ns1'}]," NONE, 40);
    (void)settle_many();
    const struct object *object = entry_of(&zone_kind, "dns/example")->object;
    assert_true(zone_tree_zone(world.zone_tree, world.arena, object, &reported_zone));
    assert_int_equal(reported_zone.warnings[0].reason, REASON_MISSING_GLUE);
    assert_non_null(warning_text("dns/example", REASON_INVALID_PATTERN));
}

static void of_too_many_patterns_the_first_count(void **state)
{
    AUTO_BUFFER spec = {0};
    (void)state;
    buffer_add_text(&spec, "'domainName':'example.org.','delegations':[{'records':[");
    for (unsigned i = 0; i < 1002; i++)
        buffer_printf(&spec, "{'pattern':'w%u-*'},", i);
    buffer_add_text(&spec, "{'pattern':'plain'}]}]");
    zone("dns/example", spec.at);
    record("a/first", "'domainName':'w0-x.example.org.'," A);
    record("a/last", "'domainName':'w999-x.example.org.'," A);
    record("a/beyond", "'domainName':'w1000-x.example.org.'," A);
    record("a/plain", "'domainName':'plain.example.org.'," A);
    settle();
    assert_record("a/first", "w0-x.example.org. Adopted dns/example in");
    assert_record("a/last", "w999-x.example.org. Adopted dns/example in");
    assert_record("a/beyond", "w1000-x.example.org. NotDelegated");
    assert_record("a/plain", "plain.example.org. Adopted dns/example in");
    assert_string_equal(warning_text("dns/example", REASON_INVALID_PATTERN),
                        "pattern w1000-*: the zone has more than 1000 with *; pattern w1001-*: the "
                        "zone has more than 1000 with *: delegates nothing");
}

static void a_zone_tree_that_holds_much_can_be_dropped_before_it_is_settled(void **state)
{
    (void)state;
    zone("dns/example", "'domainName':'example.org.'," NS1 ALL);
    record("a/www", "'domainName':'www.example.org.'," A);
    record("a/ftp", "'domainName':'ftp','zoneRef':{'name':'nobody'}," A);
    settle();
    zone("dns/sub", "'domainName':'sub.example.org.'," NS1 ALL);
    take_away(&record_kind, "a/www");
    take_away(&zone_kind, "dns/example");
    record("a/new", "'domainName':'www.example.org.'," A);
}

// ---- aliases through several zones --------------------------------------------------------------

static const char *record_warning(const char *id, enum reason reason)
{
    struct zone_tree_record view;
    const struct object *object = entry_of(&record_kind, id)->object;
    assert_true(zone_tree_record(world.zone_tree, world.arena, object, &view));
    for (size_t i = 0; i < view.warning_count; i++)
        if (view.warnings[i].reason == reason)
            return view.warnings[i].text;
    return NULL;
}

#define CNAME(target) "'type':'CNAME','rdata':'" target "'"

static void aliases_that_lead_back_through_other_zones_are_warned_of(void **state)
{
    (void)state;
    zone("dns/org", "'domainName':'example.org.'," ALL);
    zone("dns/net", "'domainName':'example.net.'," ALL);
    record("a/out", "'domainName':'a.example.org.'," CNAME("b.example.net."));
    record("a/in", "'domainName':'b.example.net.'," CNAME("c.example.net."));
    record("a/into", "'domainName':'i.example.net.'," CNAME("a.example.org."));
    settle();
    assert_null(record_warning("a/out", REASON_CNAME_LOOP));
    record("b/back", "'domainName':'c.example.net.'," CNAME("a.example.org."));
    settle();
    assert_string_equal(record_warning("a/out", REASON_CNAME_LOOP),
                        "CNAME loop: a.example.org. leads to b.example.net., out of its zone, and "
                        "from there back");
    assert_non_null(record_warning("b/back", REASON_CNAME_LOOP));
    assert_null(record_warning("a/in", REASON_CNAME_LOOP)); // it stays in its zone
    assert_null(record_warning("a/into", REASON_CNAME_LOOP));
    assert_true(is_reported(&record_kind, "a/out"));
    assert_record("a/out", "a.example.org. Adopted dns/org in");
    take_away(&record_kind, "a/in");
    settle();
    assert_null(record_warning("a/out", REASON_CNAME_LOOP));
    assert_true(is_reported(&record_kind, "b/back"));
}

static void a_zone_or_a_wildcard_may_close_the_circle(void **state)
{
    (void)state;
    zone("dns/org", "'domainName':'example.org.'," ALL);
    record("a/out", "'domainName':'a.example.org.'," CNAME("x.w.example.net."));
    record("b/back", "'domainName':'*.w.example.net.'," CNAME("a.example.org."));
    settle();
    assert_null(record_warning("a/out", REASON_CNAME_LOOP));
    zone("dns/net", "'domainName':'example.net.'," ALL);
    settle();
    assert_non_null(record_warning("a/out", REASON_CNAME_LOOP));
    assert_non_null(record_warning("b/back", REASON_CNAME_LOOP));
    record("b/x", "'domainName':'x.w.example.net.'," A);
    settle();
    assert_null(record_warning("a/out", REASON_CNAME_LOOP));
    take_away(&record_kind, "b/x");
    settle();
    assert_non_null(record_warning("a/out", REASON_CNAME_LOOP));
    take_away(&zone_kind, "dns/net");
    settle();
    assert_null(record_warning("a/out", REASON_CNAME_LOOP));
}

static void a_circle_may_go_by_a_sub_zone_and_a_dname(void **state)
{
    (void)state;
    zone("dns/org", "'domainName':'example.org.','nameservers':[{'name':'ns.example.com.'}]," ALL);
    zone("dns/sub",
         "'domainName':'sub.example.org.','nameservers':[{'name':'ns.example.com.'}]," ALL);
    record("a/out", "'domainName':'x.example.org.'," CNAME("x.old.sub.example.org."));
    record("a/dname", "'domainName':'old.sub.example.org.','type':'DNAME','rdata':'example.org.'");
    settle();
    assert_non_null(record_warning("a/out", REASON_CNAME_LOOP));
    assert_null(record_warning("a/dname", REASON_CNAME_LOOP));
    record("a/dname", "'domainName':'old.sub.example.org.','type':'DNAME','rdata':'example.net.'");
    settle();
    assert_null(record_warning("a/out", REASON_CNAME_LOOP));
}

// ---- any order of events ------------------------------------------------------------------------

static uint32_t seed_of_dice;

static unsigned dice(unsigned sides)
{
    seed_of_dice = seed_of_dice * 1664525u + 1013904223u;
    return (seed_of_dice >> 8) % sides;
}

#define ONE_OF(list) ((list)[dice(COUNT_OF(list))])

static const char *const namespaces[] = {"n1", "n2", "n3"};
static const char *const patterns[] = {"*",   "@",  "www",      "*.b", "www.*", "a..b",
                                       "b.a", "*b", "www.b.a.", "x.*", "x",     "_*.*"};

static const char *some_patterns(bool have_types)
{
    AUTO_BUFFER out = {0};
    for (unsigned i = dice(3), n = 0; i > 0; i--, n++) {
        buffer_printf(&out, have_types ? "%s{'pattern':'%s'" : "%s'%s'", n ? "," : "",
                      ONE_OF(patterns));
        if (have_types && !dice(4))
            buffer_add_text(&out, ",'types':['A','NS']");
        buffer_add_text(&out, have_types ? "}" : "");
    }
    return arena_copy(world.arena, buffer_text(&out).at, out.len);
}

static const char *some_delegations(void)
{
    AUTO_BUFFER out = {0};
    buffer_add_text(&out, "'delegations':[");
    if (dice(3))
        buffer_add_text(&out, "{'zones':['*'],'records':[{'pattern':'*'},{'pattern':'@'}]}");
    else
        for (unsigned i = dice(3), n = 0; i > 0; i--, n++)
            buffer_printf(&out, "%s{'namespaces':[%s%s%s],'zones':[%s],'records':[%s]}",
                          n ? "," : "", n ? "'" : "", n ? ONE_OF(namespaces) : "", n ? "'" : "",
                          some_patterns(false), some_patterns(true));
    buffer_add_char(&out, ']');
    return arena_copy(world.arena, out.at, out.len);
}

static const char *some_ref(void)
{
    return arena_printf(world.arena, ",'zoneRef':{'name':'z%u','namespace':'%s'}", dice(5),
                        ONE_OF(namespaces));
}

static const char *some_zone(void)
{
    static const char *const full[] = {"a.", "b.a.", "c.b.a.", "d.", "www.a.", "x.b.a."};
    static const char *const partial[] = {"b", "x", "x.b", "www", "b", "@"};
    static const char *const more[] = {
        "",
        "",
        "",
        "'rname':'x..y',",
        "'servers':'nope',",
        "'ttl':60,",
        "'nameservers':[{'name':'ns1','addresses':['192.0.2.53']}],",
        "'nameservers':[{'name':'ns1','addresses':['192.0.2.53']}],",
        "'nameservers':[{'name':'ns.x.b.a.'},{'name':'192.0.2.1'}],",
    };
    bool is_partial = dice(3) == 0;
    bool has_ref = is_partial != !dice(16);
    return arena_printf(world.arena, "%s%s'domainName':'%s'%s", ONE_OF(more),
                        arena_printf(world.arena, "%s,", some_delegations()),
                        is_partial ? ONE_OF(partial) : ONE_OF(full), has_ref ? some_ref() : "");
}

static const char *some_record(void)
{
    static const char *const full[] = {"www.a.", "a.",   "b.a.", "www.b.a.", "*.a.", "x.c.b.a.",
                                       "d.",     "q.d.", "q.",   "ns1.b.a.", "x..",  "ns.x.b.a."};
    static const char *const partial[] = {"@", "www", "*", "b", "ns1", "x.b", "..", "_x.b"};
    static const char *const data[] = {
        "'type':'A','rdata':'192.0.2.1'",
        "'type':'A','rdata':'192.0.2.2','ttl':5",
        "'type':'TXT','rdata':'hello'",
        "'type':'NS','rdata':'ns1.b.a.'",
        "'type':'NS','rdata':'ns1'",
        "'type':'CNAME','rdata':'www'",
        "'type':'CNAME','rdata':'www.b.a.'",
        "'type':'CNAME','rdata':'www.a.'",
        "'type':'CNAME','rdata':'q.d.'",
        "'type':'CNAME','rdata':'x.c.b.a.'",
        "'type':'DNAME','rdata':'b.a.'",
        "'type':'SOA','rdata':'x'",
        "'type':'DS','rdata':'1 8 1 0123456789012345678901234567890123456789'",
        "'type':'A','rdata':'1.2.3'",
        "'type':'A','rdata':'192.0.2.1','class':'HS'",
    };
    bool is_partial = dice(3) == 0;
    bool has_ref = is_partial != !dice(16);
    return arena_printf(world.arena, "'domainName':'%s'%s,%s",
                        is_partial ? ONE_OF(partial) : ONE_OF(full), has_ref ? some_ref() : "",
                        ONE_OF(data));
}

// Of few zones, most records of which lead into others.
static const char *some_alias(void)
{
    static const char *const owners[] = {"www.a.", "www.b.a.", "q.d.", "*.d.", "x.c.b.a."};
    static const char *const targets[] = {"www.a.", "www.b.a.", "q.d.", "y.d.", "x.c.b.a."};
    if (!dice(6))
        return arena_printf(world.arena, "'domainName':'%s'," A, ONE_OF(owners));
    return arena_printf(world.arena, "'domainName':'%s','type':'CNAME','rdata':'%s'",
                        ONE_OF(owners), ONE_OF(targets));
}

static const char *some_open_zone(void)
{
    static const char *const names[] = {"a.", "b.a.", "c.b.a.", "d."};
    return arena_printf(world.arena, "'domainName':'%s'," ALL, ONE_OF(names));
}

static void change_alias(void)
{
    bool is_zone = dice(12) == 0;
    const struct kind *kind = is_zone ? &zone_kind : &record_kind;
    const char *id = arena_printf(world.arena, "n1/%c%u", is_zone ? 'z' : 'r', dice(7));
    if (dice(4) || !entry_of(kind, id))
        put(kind, id, is_zone ? some_open_zone() : some_alias());
    else
        take_away(kind, id);
}

static void change_something(void)
{
    bool is_zone = dice(3) == 0;
    const struct kind *kind = is_zone ? &zone_kind : &record_kind;
    const char *id = arena_printf(world.arena, "%s/%c%u", ONE_OF(namespaces), is_zone ? 'z' : 'r',
                                  dice(is_zone ? 5 : 12));
    if (dice(4) == 0) {
        if (entry_of(kind, id))
            take_away(kind, id);
        return;
    }
    const char *spec = is_zone ? some_zone() : some_record();
    if (dice(8) == 0)
        put_aged(kind, id, dice(40), spec);
    else
        put(kind, id, spec);
}

static void put_shuffled(struct zone_tree *zone_tree)
{
    const struct object *order[OBJECTS_MAX] = {NULL};
    for (size_t i = 0; i < world.count; i++)
        order[i] = world.entries[i].object;
    for (size_t i = world.count; i > 0; i--) {
        size_t j = dice((unsigned)i);
        const struct object *object = order[j];
        order[j] = order[i - 1];
        zone_tree_put(zone_tree, object);
    }
}

// A new zone tree that is given all at once says the same.
static void compare_with_new(void)
{
    static const struct zone_tree_reported deaf = {handle_nothing, handle_nothing, handle_no_end,
                                                   NULL};
    struct zone_tree *zone_tree = zone_tree_new(&world.settings);
    put_shuffled(zone_tree);
    zone_tree_settle(zone_tree, &deaf);
    for (size_t i = 0; i < world.count; i++) {
        const struct object *object = world.entries[i].object;
        uint8_t old[32];
        uint8_t fresh[32];
        assert_string_equal(view_of(world.zone_tree, object, true),
                            view_of(zone_tree, object, true));
        if (object->kind != &zone_kind)
            continue;
        assert_int_equal(digest_of_zone(world.zone_tree, object, old),
                         digest_of_zone(zone_tree, object, fresh));
        assert_memory_equal(old, fresh, 32);
    }
    zone_tree_free(zone_tree);
}

static void change_settings(void)
{
    static const char *const names[] = {"a.", "*.a."};
    static const char *const owners[] = {"n1", "n2"};
    static const struct zone_tree_claim claims[] = {{names, 2, owners, 2}};
    set_settings((struct zone_tree_settings){
        .is_open = dice(4) == 0,
        .claims = dice(3) ? NULL : claims,
        .claim_count = 1,
        .find_group = knows_east,
    });
}

static void any_order_of_events_leads_to_the_same(void **state)
{
    for (unsigned round = 0; round < RANDOM_ROUNDS(25); round++) {
        seed_of_dice = round * 7919;
        change_settings();
        for (unsigned step = 0; step < 120; step++) {
            for (unsigned i = dice(4) + 1; i > 0; i--)
                change_something();
            if (dice(40) == 0)
                change_settings();
            settle();
            if (dice(4) == 0)
                compare_with_new();
            arena_reset(world.arena);
        }
        compare_with_new();
        assert_int_equal(tear_down(state), 0);
        assert_int_equal(set_up(state), 0);
    }
}

static size_t count_circles(void)
{
    size_t found = 0;
    for (size_t i = 0; i < world.count; i++) {
        struct zone_tree_record view;
        if (world.entries[i].object->kind != &record_kind)
            continue;
        assert_true(zone_tree_record(world.zone_tree, world.arena, world.entries[i].object, &view));
        for (size_t j = 0; j < view.warning_count; j++)
            found += view.warnings[j].reason == REASON_CNAME_LOOP;
    }
    return found;
}

static void any_order_of_aliases_leads_to_the_same(void **state)
{
    (void)state;
    size_t circles = 0;
    seed_of_dice = 4711;
    for (unsigned step = 0; step < RANDOM_ROUNDS(1000); step++) {
        for (unsigned i = dice(3) + 1; i > 0; i--)
            change_alias();
        settle();
        compare_with_new();
        circles += count_circles();
        arena_reset(world.arena);
    }
    assert_true(circles > RANDOM_ROUNDS(100));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_delegated_by_default_not_even_to_the_zones_own_namespace),
        TEST(a_delegation_without_namespaces_is_for_all),
        TEST(any_one_delegation_with_namespace_pattern_and_type_is_enough),
        TEST(types_that_nobody_knows_do_not_make_a_list_of_all),
        TEST(the_apex_needs_a_pattern_of_its_own),
        TEST(a_pattern_that_cannot_be_read_delegates_nothing_and_its_neighbours_count),
        TEST(patterns_that_were_hardly_meant_so_are_warned_of_in_their_order),
        TEST(a_label_left_of_a_wildcard_counts_and_who_lost_by_that_is_named),
        TEST(a_prefix_pattern_covers_no_other_depth),
        TEST(a_partial_name_is_completed_by_the_zone_that_it_names),
        TEST(a_partial_name_is_known_even_when_it_is_not_delegated),
        TEST(the_longest_live_zone_has_the_record),
        TEST(suffix_goes_before_delegation_and_there_is_no_way_back),
        TEST(ds_records_are_of_the_zone_above),
        TEST(a_name_in_no_zone_waits_for_one),
        TEST(names_that_are_complete_twice_or_never_are_refused),
        TEST(a_name_that_gets_too_long_with_its_zone_is_refused),
        TEST(what_is_wrong_with_a_record_by_itself_is_told),
        TEST(a_record_that_moves_leaves_the_zone_before),
        TEST(the_older_of_two_that_exclude_each_other_wins_and_the_other_heals),
        TEST(a_new_status_alone_changes_nothing),
        TEST(a_partial_zone_is_named_by_its_parent_and_must_be_listed),
        TEST(a_zone_waits_for_the_one_that_it_names),
        TEST(a_loop_names_no_zone_and_every_member_says_so),
        TEST(a_renamed_zone_takes_its_records_along),
        TEST(a_zone_has_a_name_of_its_own),
        TEST(the_older_of_two_zones_with_one_name_is_live),
        TEST(zones_of_one_age_are_told_apart_by_name),
        TEST(a_zone_that_is_made_anew_is_the_younger_one),
        TEST(an_unlisted_zone_below_is_live_within_its_namespace_but_not_pointed_at),
        TEST(a_zone_of_another_namespace_captures_nothing),
        TEST(a_zone_made_above_those_of_others_takes_nothing_down),
        TEST(a_partial_zone_cannot_take_a_name_from_below_another),
        TEST(zones_below_none_need_a_claim_where_there_are_any),
        TEST(open_claims_let_every_zone_live),
        TEST(a_zone_with_the_name_of_a_catalog_is_not_live),
        TEST(a_zone_that_names_servers_that_are_not_there_keeps_its_records),
        TEST(the_servers_of_a_zone_say_how_many_records_a_name_may_have),
        TEST(a_mailbox_becomes_a_name),
        TEST(an_soa_that_cannot_be_made_is_told_and_the_name_stays_taken),
        TEST(nameservers_are_names_with_addresses),
        TEST(a_parent_points_at_the_zones_that_it_lists),
        TEST(an_unlisted_zone_below_is_not_pointed_at),
        TEST(a_parent_is_woken_by_name_servers_of_a_child_and_not_by_all_of_it),
        TEST(a_child_that_goes_takes_its_cut_along),
        TEST(zones_lie_in_each_other_as_deep_as_names_can),
        TEST(fields_of_other_types_read_as_absent),
        TEST(one_of_many_is_told_alone),
        TEST(orphans_are_looked_at_again_when_a_zone_comes_and_told_when_it_is_theirs),
        TEST(a_thousand_zones_are_worked_out_when_one_changes_and_few_are_told),
        TEST(what_is_odd_about_a_zone_itself_is_told_however_much_is_below_it),
        TEST(of_too_many_patterns_the_first_count),
        TEST(a_zone_tree_that_holds_much_can_be_dropped_before_it_is_settled),
        TEST(aliases_that_lead_back_through_other_zones_are_warned_of),
        TEST(a_zone_or_a_wildcard_may_close_the_circle),
        TEST(a_circle_may_go_by_a_sub_zone_and_a_dname),
        TEST(any_order_of_events_leads_to_the_same),
        TEST(any_order_of_aliases_leads_to_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
