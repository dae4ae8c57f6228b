#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/must.h"
#include "controllers/ingress/targets.h"

static struct arena *arena;
static struct pihole_targets targets;
static struct error err;

static int set_up(void **state)
{
    (void)state;
    arena = arena_new();
    targets = pihole_targets_defaults;
    err = (struct error){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

// ---- addresses ----------------------------------------------------------------------------------

static struct pihole_addresses addresses_of(const char *list)
{
    struct pihole_addresses out = {0};
    assert_true(pihole_addresses_read(arena, text_of(list), &out, &err));
    return out;
}

static const char *refused(const char *list)
{
    struct pihole_addresses out = {0};
    assert_false(pihole_addresses_read(arena, text_of(list), &out, &err));
    assert_false(out.v4_count || out.v6_count || out.is_status);
    return err.text;
}

static void addresses_are_told_apart_and_written_alike(void **state)
{
    (void)state;
    struct pihole_addresses got =
        addresses_of(" 192.168.1.50 ,, FD00:0::0050,192.168.1.50,::ffff:10.0.0.1,::ffff:a00:1,");
    assert_int_equal(got.v4_count, 2);
    assert_true(text_is(got.v4[0], "192.168.1.50"));
    assert_true(text_is(got.v4[1], "10.0.0.1"));
    assert_int_equal(got.v6_count, 1);
    assert_true(text_is(got.v6[0], "fd00::50"));
    assert_false(got.is_status);
}

static void status_is_a_word_of_its_own(void **state)
{
    (void)state;
    assert_true(addresses_of(" status ").is_status);
    assert_string_equal(refused("status,192.0.2.1"),
                        "status: write four numbers with dots, as 192.0.2.1");
}

static void what_is_no_address_is_named(void **state)
{
    (void)state;
    assert_string_equal(refused("192.0.2.1,192.168.1.500"),
                        "192.168.1.500: each number is at most 255");
    assert_string_equal(refused("fe80::1%eth0"), "fe80::1%eth0: remove the zone id behind '%'");
    assert_string_equal(refused(" , "), "no address is given");
    assert_string_equal(refused(""), "no address is given");
}

static void what_is_no_single_computers_address_is_refused(void **state)
{
    static const char *const lists[] = {"0.0.0.0", "0.1.2.3", "224.0.0.251",   "255.255.255.255",
                                        "::",      "ff02::1", "::ffff:0.0.0.0"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        assert_non_null(strstr(refused(lists[i]), ": it is no computer's address"));
    assert_int_equal(addresses_of("1.0.0.0,223.255.255.255,fe80::1").v4_count, 2);
    assert_int_equal(addresses_of("::192.0.2.1,::1").v6_count, 2);
}

static void addresses_that_mean_whoever_asks_are_seen(void **state)
{
    (void)state;
    struct pihole_addresses one = addresses_of("192.0.2.1,127.255.0.1");
    assert_true(pihole_addresses_loop(&one));
    one = addresses_of("::1");
    assert_true(pihole_addresses_loop(&one));
    one = addresses_of("::ffff:127.0.0.1");
    assert_true(pihole_addresses_loop(&one));
    one = addresses_of("126.0.0.1,128.0.0.1,::2,fd00::1");
    assert_false(pihole_addresses_loop(&one));
    one = addresses_of("status");
    assert_false(pihole_addresses_loop(&one));
}

static void a_list_has_at_most_16_addresses(void **state)
{
    AUTO_BUFFER list = {0};
    (void)state;
    for (int i = 0; i < 8; i++)
        buffer_printf(&list, "10.0.0.%d,fd00::%d,", i, i);
    assert_int_equal(addresses_of(list.at).v6_count, 8);
    buffer_add_text(&list, "10.0.0.7");
    assert_int_equal(addresses_of(list.at).v4_count, 8);
    buffer_add_text(&list, ",10.0.0.99");
    assert_string_equal(refused(list.at), "at most 16 addresses are allowed");
}

static void pins_are_of_sha256_or_learned(void **state)
{
    (void)state;
    assert_true(pihole_pin_check(TEXT("learn"), &err));
    assert_true(
        pihole_pin_check(TEXT("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="), &err));
    assert_false(
        pihole_pin_check(TEXT("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), &err));
    assert_false(pihole_pin_check(TEXT("sha256//AAAA"), &err));
    assert_false(pihole_pin_check(TEXT("Learn"), &err));
}

// ---- documents ----------------------------------------------------------------------------------

static const struct value *yaml(const char *text)
{
    struct yaml_reader *reader = yaml_reader_new(text_of(text), &value_manifest_limits);
    struct value *out = NULL;
    bool has = false;
    must(yaml_reader_next(reader, arena, &out, &has, &err));
    yaml_reader_free(reader);
    return out;
}

static bool reads(const char *text)
{
    return pihole_targets_read(arena, yaml(text), &(struct pihole_target){0}, &targets, &err);
}

static void read_well(const char *text)
{
    if (!reads(text))
        fail_msg("%s", err.text);
}

static const char *fault_of(const char *text)
{
    assert_false(reads(text));
    return err.text;
}

#define UP "targets:\n- name: up\n  url: http://192.168.1.2\n  tokenEnv: T\n"

static void a_document_names_each_pihole_with_all_that_it_has(void **state)
{
    (void)state;
    read_well("targets:\n"
              "- name: upstairs\n"
              "  url: HTTP://Pi.Hole:80/a/\n"
              "  tokenFile: upstairs.token\n"
              "  targetIPs: [192.168.1.50, 'fd00::50']\n"
              "  namespaces: [shop, home]\n"
              "  dialect: v6\n"
              "  ownership: annotation\n"
              "  write: element\n"
              "  tls: {caFile: ca.pem, serverName: pi.hole, pin: learn, skipVerify: true}\n"
              "- {name: down, url: 'https://192.168.1.3', noPassword: true, tls: null}\n");
    assert_int_equal(targets.count, 2);
    const struct pihole_target *one = &targets.items[0];
    assert_string_equal(one->url, "http://pi.hole/a");
    assert_string_equal(one->backend, "pihole-upstairs");
    assert_string_equal(one->token_file, "upstairs.token");
    assert_int_equal(one->addresses.v4_count + one->addresses.v6_count, 2);
    assert_int_equal(one->namespace_count, 2);
    assert_string_equal(one->namespaces[1], "home");
    assert_string_equal(one->dialect, "v6");
    assert_string_equal(one->ownership, "annotation");
    assert_string_equal(one->write, "element");
    assert_string_equal(one->ca_file, "ca.pem");
    assert_string_equal(one->server_name, "pi.hole");
    assert_string_equal(one->pin, "learn");
    assert_true(one->skips_verify);
    const struct pihole_target *two = pihole_targets_find(&targets, TEXT("down"));
    assert_ptr_equal(two, &targets.items[1]);
    assert_true(two->has_no_password);
    assert_string_equal(two->write, "auto");
    assert_null(pihole_targets_find(&targets, TEXT("up")));
}

static void what_an_entry_leaves_out_is_as_in_the_defaults(void **state)
{
    (void)state;
    const struct pihole_target defaults = {
        .name = "x", .url = "http://x", .dialect = "legacy", .pin = "learn", .token_env = "T"};
    assert_true(pihole_targets_read(
        arena,
        yaml("targets: [{name: a, url: 'http://a'}, {name: b, url: 'http://b', dialect: "
             "auto, tokenFile: f}]"),
        &defaults, &targets, &err));
    assert_string_equal(targets.items[0].dialect, "legacy");
    assert_string_equal(targets.items[0].token_env, "T");
    assert_string_equal(targets.items[1].dialect, "auto");
    assert_string_equal(targets.items[1].token_file, "f");
    assert_null(targets.items[1].token_env);
}

static void faults_of_a_document_have_their_place(void **state)
{
    static const struct {
        const char *text, *fault;
    } cases[] = {
        {UP "  dialct: v6\n", "5:3: unknown key dialct; did you mean dialect?"},
        {UP "  tls: {caBundle: x}\n", "5:9: unknown key caBundle"},
        {UP "extra: 1\n", "5:1: unknown key extra"},
        {UP "  dialect: v5\n", "5:12: dialect: expected one of auto, v6, legacy"},
        {UP "  tls: {skipVerify: 'true'}\n",
         "5:21: skipVerify: expected true or false, found text"},
        {UP "  tls: {pin: x}\n",
         "5:14: pin: expected sha256// and 44 characters of base64, or learn"},
        {UP "  tls: [a]\n", "5:8: tls: expected a map, found list"},
        {UP "  targetIPs: [192.0.2.1, 300.0.0.1]\n", "5:26: 300.0.0.1: each number is at most 255"},
        {UP "  targetIPs: [status, 192.0.2.1]\n", "5:15: status stands alone"},
        {UP "  namespaces: shop\n", "5:15: namespaces: expected a list, found text"},
        {UP "  namespaces: [1]\n", "5:16: expected text, found number"},
        {UP "  tokenFile: f\n", "2:3: only one of tokenFile, tokenEnv and noPassword is needed"},
        {UP "- name: up\n  url: http://192.168.1.3\n  tokenEnv: T\n",
         "5:9: name: another Pi-hole is called up"},
        {UP "- name: two\n  url: http://192.168.1.2:80/other\n  tokenEnv: T\n",
         "6:8: url: up is at the same host and port"},
        {"targets: [{name: Up, url: 'http://a', tokenEnv: T}]",
         "1:18: name: 1 to 63 of a-z, 0-9 and - are allowed"},
        {"targets: [{name: up, url: 'ftp://a', tokenEnv: T}]", "1:27: url: "},
        {"targets: [{name: up, url: '', tokenEnv: T}]", "1:27: url: it is empty, or not text"},
        {"targets: [{name: up, tokenEnv: T}]", "1:11: url is missing"},
        {"targets: [{url: 'http://a', tokenEnv: T}]", "1:11: name is missing"},
        {"targets: [{name: up, url: 'http://a'}]",
         "1:11: one of tokenFile, tokenEnv and noPassword is needed"},
        {"targets: [up]", "1:11: expected a map, found text"},
        {"targets: []", "1:1: targets: expected a list of Pi-holes"},
        {"- a", "1:1: expected a map with the key targets"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        targets = pihole_targets_defaults;
        const char *fault = fault_of(cases[i].text);
        if (strncmp(fault, cases[i].fault, strlen(cases[i].fault)) != 0)
            fail_msg("%s\nis told as %s\ninstead of %s", cases[i].text, fault, cases[i].fault);
    }
}

static void one_host_may_have_two_piholes_at_different_ports(void **state)
{
    (void)state;
    read_well(UP "- name: two\n  url: http://192.168.1.2:8080\n  tokenEnv: T\n"
                 "- name: three\n  url: https://192.168.1.2\n  tokenEnv: T\n");
    assert_int_equal(targets.count, 3);
}

static void there_are_at_most_64_piholes(void **state)
{
    (void)state;
    for (int i = 0; i < PIHOLE_TARGETS_MAX; i++)
        assert_true(
            pihole_targets_add(arena, &targets,
                               &(struct pihole_target){.name = arena_printf(arena, "p%d", i),
                                                       .url = arena_printf(arena, "http://p%d", i)},
                               &err));
    assert_false(pihole_targets_add(arena, &targets,
                                    &(struct pihole_target){.name = "p", .url = "http://p"}, &err));
}

static void the_provider_gets_what_was_given(void **state)
{
    AUTO_BUFFER json = {0};
    (void)state;
    read_well(UP);
    value_write_json(&json, pihole_target_config(arena, &targets, &targets.items[0]));
    assert_string_equal(json.at,
                        "{\"url\":\"http://192.168.1.2\",\"dialect\":\"auto\",\"ownership\":"
                        "\"comment\",\"write\":\"auto\",\"adopt\":\"none\",\"tls\":"
                        "{\"skipVerify\":false},\"noPassword\":false,\"restartMinSeconds\":10}");
    targets.items[0].ca = "PEM";
    targets.items[0].server_name = "pi.hole";
    targets.items[0].pin = "learn";
    const struct value *config = pihole_target_config(arena, &targets, &targets.items[0]);
    assert_true(text_is(value_text_at(config, "tls.caPem"), "PEM"));
    assert_true(text_is(value_text_at(config, "tls.serverName"), "pi.hole"));
    assert_true(text_is(value_text_at(config, "tls.pin"), "learn"));
}

static const char *place_of(size_t at)
{
    return value_text_at(pihole_target_config(arena, &targets, &targets.items[at]), "place").at;
}

static void of_several_each_is_told_which_it_is(void **state)
{
    (void)state;
    targets.access.process = "5f3a";
    assert_true(pihole_targets_add(arena, &targets,
                                   &(struct pihole_target){.name = "up", .url = "http://a"}, &err));
    assert_null(place_of(0));
    assert_true(pihole_targets_add(
        arena, &targets, &(struct pihole_target){.name = "down", .url = "http://b"}, &err));
    assert_string_equal(place_of(0), "up.0#5f3a");
    assert_string_equal(place_of(1), "down.1#5f3a");
    targets.access.is_read_probe = true;
    assert_null(place_of(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(addresses_are_told_apart_and_written_alike),
        UNIT(status_is_a_word_of_its_own),
        UNIT(what_is_no_address_is_named),
        UNIT(what_is_no_single_computers_address_is_refused),
        UNIT(addresses_that_mean_whoever_asks_are_seen),
        UNIT(a_list_has_at_most_16_addresses),
        UNIT(pins_are_of_sha256_or_learned),
        UNIT(a_document_names_each_pihole_with_all_that_it_has),
        UNIT(what_an_entry_leaves_out_is_as_in_the_defaults),
        UNIT(faults_of_a_document_have_their_place),
        UNIT(one_host_may_have_two_piholes_at_different_ports),
        UNIT(there_are_at_most_64_piholes),
        UNIT(the_provider_gets_what_was_given),
        UNIT(of_several_each_is_told_which_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
