#include "dns/zones_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"
#include "dns/catalog.h"

#define SECRET "c2VjcmV0IG9jdGV0cw=="

// "missing" cannot be read, "broken" is no base64, all others hold the secret.
static bool fetch(void *context, const char *path, struct buffer *out, struct error *err)
{
    (void)context;
    if (strcmp(path, "missing") == 0)
        return error_set(err, FAULT_WAIT, "", "no such file");
    buffer_reserve(out, 64);
    buffer_add_text(out, strcmp(path, "broken") == 0 ? "hush hush!" : " " SECRET "\n");
    return true;
}

static struct zones_config *read_config(const char *yaml, struct findings *findings)
{
    bool has;
    struct error err;
    struct value *tree;
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(text_of(yaml), &value_manifest_limits);
    *findings = (struct findings){.arena = arena};
    if (!yaml_reader_next(reader, arena, &tree, &has, &err) || !has)
        fail_msg("%s", yaml);
    return zones_config_new(tree, fetch, NULL, findings);
}

// All findings of a level, each with "line:column: " in front.
static const char *shown(const struct findings *findings, enum finding_level level)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].level == level)
            buffer_printf(&out, "%u:%u: %s\n", findings->items[i].line, findings->items[i].column,
                          findings->items[i].text);
    return arena_copy(arena, buffer_text(&out).at, out.len);
}

static struct zones_config *read_good(const char *yaml)
{
    struct findings findings;
    struct zones_config *config = read_config(yaml, &findings);
    assert_string_equal(shown(&findings, FINDING_ERROR), "");
    assert_non_null(config);
    return config;
}

static void assert_refused(const char *yaml, const char *errors)
{
    struct findings findings;
    struct zones_config *config = read_config(yaml, &findings);
    assert_string_equal(shown(&findings, FINDING_ERROR), errors);
    assert_null(config);
}

static const char example[] =
    "keys:\n"
    "- {name: signpost., algorithm: hmac-sha256, secretFile: signpost.key}\n"
    "- {name: Other.Key, algorithm: HMAC-SHA512., secretFile: sub/other.key}\n"
    "groups:\n"
    "- name: default\n"
    "  catalog: Catalog.signpost.invalid.\n"
    "  servers:\n"
    "  - {name: ns1, address: 192.0.2.53, port: 5353, key: signpost, probe: false, signs: true}\n"
    "  - {name: ns2, address: \"2001:DB8:0::53\"}\n"
    "  - {name: ns3, address: \"::ffff:192.0.2.54\", key: OTHER.key.}\n"
    "  transferFrom: [198.51.100.0/24, 203.0.113.7, \"2001:db8:1::/48\"]\n"
    "- {name: edge, maxRecordsPerType: 0, maxTypesPerName: 250}\n"
    "claims:\n"
    "- {names: [example.org., \"*.example.org.\"], namespaces: [dns-admins, shop]}\n";

static void a_whole_file_is_read(void **state)
{
    (void)state;
    CLEANUP(zones_config) struct zones_config *config = read_good(example);
    assert_int_equal(config->key_count, 2);
    assert_string_equal(config->keys[1].key.name, "other.key.");
    assert_int_equal(config->keys[1].key.algorithm, DIGEST_SHA512);
    assert_string_equal(config->keys[1].secret_file, "sub/other.key");
    assert_true(text_is(secret_expose(config->keys[1].key.secret), "secret octets"));
    assert_int_equal(config->group_count, 2);
    const struct zones_group *group = zones_config_group(config, TEXT("default"));
    assert_int_equal(group->catalog_len, 26);
    assert_memory_equal(group->catalog, "\7catalog\10signpost\7invalid", 26);
    assert_int_equal(group->network_count, 3);
    assert_int_equal(group->transfer_from[0].prefix, 120);
    assert_int_equal(group->transfer_from[1].prefix, 128);
    assert_int_equal(group->transfer_from[2].prefix, 48);
    assert_null(zones_config_group(config, TEXT("Default")));
    assert_int_equal(zones_config_group(config, TEXT("edge"))->server_count, 0);
    assert_int_equal(group->max_records_per_type, 100);
    assert_int_equal(group->max_types_per_name, 100);
    assert_int_equal(zones_config_group(config, TEXT("edge"))->max_records_per_type, 0);
    assert_int_equal(zones_config_group(config, TEXT("edge"))->max_types_per_name, 250);
    assert_true(config->has_claims);
    assert_int_equal(config->claims[0].pattern_count, 2);
    assert_string_equal(config->claims[0].patterns[1], "*.example.org.");
    assert_string_equal(config->claims[0].namespaces[1], "shop");
}

static void servers_have_addresses_ports_and_keys(void **state)
{
    (void)state;
    CLEANUP(zones_config) struct zones_config *config = read_good(example);
    const struct zones_server *servers = config->groups[0].servers;
    assert_int_equal(config->groups[0].server_count, 3);
    assert_string_equal(servers[0].name, "ns1");
    assert_string_equal(servers[0].address.host, "192.0.2.53");
    assert_int_equal(servers[0].address.port, 5353);
    assert_ptr_equal(servers[0].key, &config->keys[0]);
    assert_false(servers[0].probe);
    assert_true(servers[0].signs);
    assert_string_equal(servers[1].address.host, "2001:db8::53");
    assert_int_equal(servers[1].address.port, 53);
    assert_null(servers[1].key);
    assert_true(servers[1].probe);
    assert_false(servers[1].signs);
    assert_string_equal(servers[2].address.host, "192.0.2.54");
    assert_ptr_equal(servers[2].key, &config->keys[1]);
}

static void nothing_is_needed(void **state)
{
    (void)state;
    CLEANUP(zones_config) struct zones_config *config = read_good("{}\n");
    assert_int_equal(config->group_count, 0);
    assert_false(config->has_claims);
    CLEANUP(zones_config) struct zones_config *nobody = read_good("claims: []\n");
    assert_true(nobody->has_claims);
}

static void unknown_fields_name_the_nearest(void **state)
{
    (void)state;
    assert_refused("key: []\ngroups:\n- {name: a, severs: [], catalogue: a.}\nkind: Zone\n",
                   "1:1: key: unknown field; did you mean keys?\n"
                   "3:13: groups[0].severs: unknown field; did you mean servers?\n"
                   "3:25: groups[0].catalogue: unknown field; did you mean catalog?\n"
                   "4:1: kind: unknown field\n");
}

static void shapes_are_reported_once(void **state)
{
    (void)state;
    assert_refused("keys: {}\ngroups:\n- 5\nclaims: null\n",
                   "1:1: keys: expected a list, found a map\n"
                   "3:3: groups[0]: expected a map, found a number\n"
                   "4:1: claims: expected a list, found null\n");
    assert_refused("keys:\n- {name: 5, secretFile: a}\n",
                   "2:4: keys[0].name: expected text, found a number: quote it\n"
                   "2:3: keys[0].algorithm is required\n");
    assert_refused("[]\n", "1:1: expected a map, found a list\n");
}

#define KEY(fields) "keys:\n- {" fields "}\n"

static void keys_are_checked(void **state)
{
    (void)state;
    assert_refused(KEY("name: a, algorithm: hmac-md5, secretFile: f"),
                   "2:3: keys[0]: TSIG key a: TSIG algorithm hmac-md5 is refused, it is too weak: "
                   "use hmac-sha256\n");
    assert_refused(KEY("name: a, algorithm: rot13, secretFile: f"),
                   "2:3: keys[0]: TSIG key a: unknown TSIG algorithm 'rot13': use hmac-sha256 (or "
                   "hmac-sha512, -sha384, -sha224, -sha1)\n");
    assert_refused(KEY("name: a, algorithm: hmac-sha256, secretFile: f") "- {name: A., "
                                                                         "algorithm: "
                                                                         "hmac-sha256, "
                                                                         "secretFile: f}\n",
                   "3:4: keys[1].name: there is a key A. already\n");
}

static void a_secret_that_cannot_be_read_names_its_file_and_never_its_content(void **state)
{
    (void)state;
    assert_refused(KEY("name: a, algorithm: hmac-sha256, secretFile: missing"),
                   "2:37: keys[0].secretFile: missing: no such file\n");
    assert_refused(KEY("name: a, algorithm: hmac-sha256, secretFile: broken"),
                   "2:37: keys[0].secretFile: broken: TSIG key a: TSIG secret is not base64 of 1 "
                   "to 1024 octets: copy it from the server's key as it stands\n");
}

static void a_weak_algorithm_is_warned_of(void **state)
{
    (void)state;
    struct findings findings;
    CLEANUP(zones_config)
    struct zones_config *config =
        read_config(KEY("name: a, algorithm: hmac-sha1, secretFile: f"), &findings);
    assert_non_null(config);
    assert_string_equal(shown(&findings, FINDING_WARNING),
                        "2:13: keys[0].algorithm: hmac-sha1 is weak: use hmac-sha256\n");
}

static void groups_are_checked(void **state)
{
    (void)state;
    assert_refused(
        "groups: [{name: a}, {name: a}, {name: '-'}, {}]\n",
        "1:33: a group's name must be letters, digits, - _ and ., with a letter or digit "
        "at both ends\n"
        "1:45: groups[3].name is required\n"
        "1:22: groups[1].name: there is a group a already\n");
    assert_refused(
        "groups:\n- {name: a, catalog: a.b.}\n- {name: b, catalog: A.b.}\n"
        "- {name: c, catalog: a.b}\n- {name: d, catalog: a..}\n- {name: e, catalog: .}\n",
        "3:13: groups[1].catalog: is that of group a already\n"
        "4:13: groups[2].catalog: must be a full name with a final dot: a.b.\n"
        "5:13: groups[3].catalog: segment is an empty string\n"
        "6:13: groups[4].catalog: the root is no catalog\n");
}

#define LABEL_63 "a23456789-123456789-123456789-123456789-123456789-123456789-123"
#define CATALOG_OF(label)                                                                          \
    "groups:\n- {name: a, catalog: " LABEL_63 "." LABEL_63 "." LABEL_63 "." label ".}\n"

static void a_catalog_leaves_room_for_its_members(void **state)
{
    (void)state;
    CLEANUP(zones_config)
    struct zones_config *config = read_good(CATALOG_OF("a23456789-123456"));
    assert_int_equal(config->groups[0].catalog_len, CATALOG_APEX_MAX);
    assert_refused(CATALOG_OF("a23456789-1234567"),
                   "2:13: groups[0].catalog: is too long: at most 210 octets in wire format leave "
                   "room below it for its members\n");
}

#define SERVERS(rows) "groups:\n- name: a\n  servers:\n" rows

static void servers_are_checked(void **state)
{
    (void)state;
    assert_refused(SERVERS("  - {name: x, address: 192.0.2.1}\n"
                           "  - {name: x, address: 192.0.2.2}\n"
                           "  - {name: y, address: \"::ffff:192.0.2.1\", port: 53}\n"
                           "  - {name: z, address: 192.0.2.1, port: 54}\n"),
                   "5:6: groups[0].servers[1].name: there is a server x in the group already\n"
                   "6:15: groups[0].servers[2].address: is that of server x already\n");
    assert_refused(
        SERVERS("  - {name: x, address: ns1.example.org}\n"
                "  - {name: y, address: \"192.0.2.1:53\"}\n"
                "  - {name: z, address: 192.0.2.1, port: 0}\n"
                "  - {name: w, address: \"fe80::1%eth0\", port: 65536}\n"),
        "6:35: groups[0].servers[2].port: must be between 1 and 65535\n"
        "7:40: groups[0].servers[3].port: must be between 1 and 65535\n"
        "4:15: groups[0].servers[0].address: ns1.example.org is no IPv4 or IPv6 address\n"
        "5:15: groups[0].servers[1].address: 192.0.2.1:53 is no IPv4 or IPv6 address\n"
        "7:15: groups[0].servers[3].address: fe80::1%eth0 is no IPv4 or IPv6 address\n");
}

static void a_key_that_is_not_there_is_told_with_the_nearest(void **state)
{
    (void)state;
    assert_refused(KEY("name: signpost., algorithm: hmac-sha256, secretFile: f")
                       SERVERS("  - {name: x, address: 192.0.2.1, key: singpost}\n"
                               "  - {name: y, address: 192.0.2.2, key: quux}\n"),
                   "6:35: groups[0].servers[0].key: there is no key singpost; did you mean "
                   "signpost.?\n"
                   "7:35: groups[0].servers[1].key: there is no key quux\n");
    // It is there, though its file is not: one fault, one text.
    assert_refused(KEY("name: k, algorithm: hmac-sha256, secretFile: missing")
                       SERVERS("  - {name: x, address: 192.0.2.1, key: k}\n"),
                   "2:37: keys[0].secretFile: missing: no such file\n");
}

static void networks_are_checked(void **state)
{
    (void)state;
    assert_refused("groups:\n- name: a\n  transferFrom:\n  - 192.0.2.0/33\n  - 192.0.2.1/24\n"
                   "  - 2001:db8::/129\n  - example.org\n  - 192.0.2.0/\n  - 2001:db8::1/64\n",
                   "4:5: groups[0].transferFrom[0]: 192.0.2.0/33 is no address and no network such "
                   "as 192.0.2.0/24\n"
                   "5:5: groups[0].transferFrom[1]: 192.0.2.1/24 has bits behind its prefix: clear "
                   "them, or name the address alone\n"
                   "6:5: groups[0].transferFrom[2]: 2001:db8::/129 is no address and no network "
                   "such as 192.0.2.0/24\n"
                   "7:5: groups[0].transferFrom[3]: example.org is no address and no network such "
                   "as 192.0.2.0/24\n"
                   "8:5: groups[0].transferFrom[4]: 192.0.2.0/ is no address and no network such "
                   "as 192.0.2.0/24\n"
                   "9:5: groups[0].transferFrom[5]: 2001:db8::1/64 has bits behind its prefix: "
                   "clear them, or name the address alone\n");
}

static void claims_are_checked(void **state)
{
    (void)state;
    assert_refused("claims:\n- {names: [], namespaces: [a]}\n- {names: [a.b], namespaces: [A]}\n"
                   "- {names: [\"a*b*.c.\"], namespaces: []}\n- {namespaces: [a]}\n",
                   "2:4: claims[0].names is required\n"
                   "3:31: a namespace's name must be lower-case letters, digits and -, with a "
                   "letter or digit at both ends\n"
                   "4:24: claims[2].namespaces is required\n"
                   "5:3: claims[3].names is required\n"
                   "3:12: claims[1].names[0]: must be a full name with a final dot: a.b.\n"
                   "4:12: claims[2].names[0]: patterns can only have one wildcard\n");
}

static void keys_are_found_by_their_wire_name(void **state)
{
    (void)state;
    CLEANUP(zones_config) struct zones_config *config = read_good(example);
    const struct dname other = {(const uint8_t *)"\5other\3key", 11};
    const struct dname none = {(const uint8_t *)"\5otheR\3key", 11};
    assert_ptr_equal(zones_config_key(config, other), &config->keys[1]);
    assert_null(zones_config_key(config, none));
    CLEANUP(zones_config)
    struct zones_config *foreign =
        read_good(KEY("name: schl\xc3\xbcssel., algorithm: hmac-sha256, secretFile: f")
                      SERVERS("  - {name: x, address: 192.0.2.1, key: xn--schlssel-95a}\n"));
    assert_ptr_equal(foreign->groups[0].servers[0].key, &foreign->keys[0]);
}

// ---- who may have zones -------------------------------------------------------------------------

static const uint8_t *v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
    uint8_t *out = arena_alloc(arena, 16, 1);
    out[10] = out[11] = 0xff;
    out[12] = a;
    out[13] = b;
    out[14] = c;
    out[15] = d;
    return out;
}

static const uint8_t *v6(uint8_t third, uint8_t last)
{
    uint8_t *out = arena_alloc(arena, 16, 1);
    memcpy(out, "\x20\x01\x0d\xb8", 4);
    out[5] = third;
    out[15] = last;
    return out;
}

static bool admits(const struct zones_config *config, const uint8_t *address, int key,
                   const char *server)
{
    const struct zones_server *found;
    bool is_admitted = zones_group_admits(&config->groups[0], address,
                                          key < 0 ? NULL : &config->keys[key].key, &found);
    assert_string_equal(found ? found->name : "-", server);
    return is_admitted;
}

static void a_server_is_admitted_at_its_address_and_with_its_key(void **state)
{
    (void)state;
    CLEANUP(zones_config) struct zones_config *config = read_good(example);
    assert_true(admits(config, v4(192, 0, 2, 53), 0, "ns1"));
    assert_false(admits(config, v4(192, 0, 2, 53), 1, "-"));
    assert_false(admits(config, v4(192, 0, 2, 53), -1, "-"));
    assert_true(admits(config, v4(192, 0, 2, 54), 1, "ns3"));
    assert_true(admits(config, v6(0, 0x53), -1, "ns2"));
    assert_true(admits(config, v6(0, 0x53), 0, "ns2"));
    assert_false(admits(config, v4(192, 0, 2, 55), 0, "-"));
    assert_false(admits(config, v6(0, 0x54), -1, "-"));
}

static void networks_admit_who_is_no_server(void **state)
{
    (void)state;
    CLEANUP(zones_config) struct zones_config *config = read_good(example);
    assert_true(admits(config, v4(198, 51, 100, 0), -1, "-"));
    assert_true(admits(config, v4(198, 51, 100, 255), -1, "-"));
    assert_false(admits(config, v4(198, 51, 101, 0), -1, "-"));
    assert_true(admits(config, v4(203, 0, 113, 7), -1, "-"));
    assert_false(admits(config, v4(203, 0, 113, 6), -1, "-"));
    assert_true(admits(config, v6(1, 9), -1, "-"));
    assert_false(admits(config, v6(2, 9), -1, "-"));
    assert_true(admits(config, v4(198, 51, 100, 9), 1, "ns3"));
}

static void a_network_does_not_spare_a_server_its_key(void **state)
{
    (void)state;
    CLEANUP(zones_config)
    struct zones_config *config =
        read_good(KEY("name: k, algorithm: hmac-sha256, secretFile: f")
                      SERVERS("  - {name: x, address: 192.0.2.1, key: k}\n"
                              "  - {name: y, address: 192.0.2.2, port: 1, key: k}\n"
                              "  - {name: z, address: 192.0.2.2, port: 2}\n"
                              "  transferFrom: [0.0.0.0/0]\n"));
    assert_false(admits(config, v4(192, 0, 2, 1), -1, "-"));
    assert_true(admits(config, v4(192, 0, 2, 1), 0, "x"));
    assert_true(admits(config, v4(192, 0, 2, 2), 0, "y"));
    assert_true(admits(config, v4(192, 0, 2, 2), -1, "z"));
    assert_true(admits(config, v4(192, 0, 2, 3), -1, "-"));
    assert_false(admits(config, v6(0, 1), -1, "-"));
}

static void networks_of_ipv6_hold_no_ipv4(void **state)
{
    (void)state;
    CLEANUP(zones_config)
    struct zones_config *config = read_good("groups: [{name: a, transferFrom: ['::/0']}]\n");
    assert_true(zones_network_holds(&config->groups[0].transfer_from[0], v6(0, 1)));
    assert_false(zones_network_holds(&config->groups[0].transfer_from[0], v4(192, 0, 2, 1)));
}

static void a_prefix_within_an_octet_counts_bit_by_bit(void **state)
{
    (void)state;
    CLEANUP(zones_config)
    struct zones_config *config = read_good("groups: [{name: a, transferFrom: [192.0.2.96/27]}]\n");
    const struct zones_network *network = &config->groups[0].transfer_from[0];
    assert_true(zones_network_holds(network, v4(192, 0, 2, 96)));
    assert_true(zones_network_holds(network, v4(192, 0, 2, 127)));
    assert_false(zones_network_holds(network, v4(192, 0, 2, 95)));
    assert_false(zones_network_holds(network, v4(192, 0, 2, 128)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_whole_file_is_read),
        UNIT(servers_have_addresses_ports_and_keys),
        UNIT(nothing_is_needed),
        UNIT(unknown_fields_name_the_nearest),
        UNIT(shapes_are_reported_once),
        UNIT(keys_are_checked),
        UNIT(a_secret_that_cannot_be_read_names_its_file_and_never_its_content),
        UNIT(a_weak_algorithm_is_warned_of),
        UNIT(groups_are_checked),
        UNIT(a_catalog_leaves_room_for_its_members),
        UNIT(servers_are_checked),
        UNIT(a_key_that_is_not_there_is_told_with_the_nearest),
        UNIT(networks_are_checked),
        UNIT(claims_are_checked),
        UNIT(keys_are_found_by_their_wire_name),
        UNIT(a_server_is_admitted_at_its_address_and_with_its_key),
        UNIT(networks_admit_who_is_no_server),
        UNIT(a_network_does_not_spare_a_server_its_key),
        UNIT(networks_of_ipv6_hold_no_ipv4),
        UNIT(a_prefix_within_an_octet_counts_bit_by_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
