#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "dns/corefile/lint.h"
#include "dns/corefile/splice.h"

static const char kubeadm[] = "# ours, please don't touch\n"
                              ".:53 {\n"
                              "    errors\n"
                              "    health {\n"
                              "       lameduck 5s\n"
                              "    }\n"
                              "    ready\n"
                              "    kubernetes cluster.local in-addr.arpa ip6.arpa {\n"
                              "       pods insecure\n"
                              "       fallthrough in-addr.arpa ip6.arpa # and no further\n"
                              "       ttl 30\n"
                              "    }\n"
                              "    prometheus :9153\n"
                              "    forward . /etc/resolv.conf { # the node's\n"
                              "       max_concurrent 1000\n"
                              "       policy sequential\n"
                              "    }\n"
                              "    cache 30\n"
                              "    loop\n"
                              "    reload\n"
                              "}";

static const struct text corp[] = {{"corp.example", 12}};
static const struct text lab[] = {{"lab.example", 11}, {"x.example", 9}};
static const struct text version[] = {{"hostname.bind", 13}, {"version.bind", 12}};
static const struct corefile_owned owned[] = {
    {{"data-centre", 11}, corp, 1},
    {{"lab", 3}, lab, 2},
    {{NULL, 0}, version, 2},
};

static struct corefile *parse(struct arena *arena, struct text text)
{
    const struct corefile_file file = {"Corefile", text};
    const struct corefile_options options = {0};
    struct corefile_problems problems = {.arena = arena};
    struct corefile *corefile = corefile_new(&file, &options, &problems);
    assert_int_equal(problems.error_count, 0);
    return corefile;
}

static void assert_accepted(struct text text)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct corefile_file file = {"Corefile", text};
    const struct corefile_lint_options options = {.version = coredns_newest};
    struct corefile_problems problems = {.arena = arena};
    corefile_free(corefile_lint(&file, &options, &problems));
    assert_int_equal(problems.error_count, 0);
}

// Replaces *text by what the splice makes of it.
static void splice_to(struct buffer *text, struct corefile_splice splice)
{
    AUTO_BUFFER out = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    CLEANUP(corefile) struct corefile *corefile = parse(arena, buffer_text(text));
    splice.corefile = corefile;
    splice.owned = owned;
    splice.owned_count = COUNT_OF(owned);
    corefile_splice(&out, &splice);
    buffer_clear(text);
    buffer_add(text, out.at, out.len);
}

static const char blocks_of_corp[] =
    "# data-centre\ncorp.example:53 {\n    forward . 192.0.2.1\n}\n";
static const char blocks_of_all[] =
    "# data-centre\ncorp.example:53 {\n    forward . 192.0.2.2\n}\n"
    "# lab\nlab.example:53 x.example:53 {\n    forward . 192.0.2.3\n}\n"
    "hostname.bind:53 version.bind:53 {\n    chaos signpost-0123456789abcdef signpost\n}\n";

static void blocks_come_in_front_and_go_without_a_trace(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, kubeadm);
    splice_to(&text, (struct corefile_splice){.blocks = text_of(blocks_of_corp)});
    assert_memory_equal(text.at, blocks_of_corp, sizeof blocks_of_corp - 1);
    assert_string_equal(text.at + sizeof blocks_of_corp - 1, kubeadm);
    assert_accepted(buffer_text(&text));
    splice_to(&text, (struct corefile_splice){.blocks = text_of(blocks_of_all)});
    assert_string_equal(text.at + sizeof blocks_of_all - 1, kubeadm);
    assert_accepted(buffer_text(&text));
    splice_to(&text, (struct corefile_splice){.blocks = TEXT("")});
    assert_string_equal(text.at, kubeadm);
}

static void a_block_with_a_zone_of_theirs_is_theirs(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    static const char theirs[] = "# data-centre\ncorp.example:53 more.example:53 {\n}\n";
    buffer_add_text(&text, theirs);
    splice_to(&text, (struct corefile_splice){.blocks = TEXT("")});
    assert_string_equal(text.at, theirs);
}

static void comments_of_others_stay(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, "# the company\ncorp.example:53 {\n}\n# end\n");
    splice_to(&text, (struct corefile_splice){.blocks = TEXT("")});
    assert_string_equal(text.at, "# the company\n# end\n");
    buffer_clear(&text);
    buffer_add_text(&text, "\xef\xbb\xbf# mark\n. {\n}\n");
    splice_to(&text, (struct corefile_splice){.blocks = text_of(blocks_of_corp)});
    assert_memory_equal(text.at, "\xef\xbb\xbf# data-centre", 16);
    splice_to(&text, (struct corefile_splice){.blocks = TEXT("")});
    assert_string_equal(text.at, "\xef\xbb\xbf# mark\n. {\n}\n");
}

static const struct text upstreams[] = {{"192.0.2.53", 10}, {"192.0.2.54", 10}};
static const struct corefile_forward with_tls = {
    .upstreams = upstreams,
    .upstream_count = 2,
    .policy = FORWARD_RANDOM,
    .uses_tls = true,
    .tls_server_name = {"dns.example", 11},
};
static const struct corefile_forward plain = {
    .upstreams = upstreams, .upstream_count = 1, .policy = FORWARD_ROUND_ROBIN};

static const char *root_forward(const struct buffer *text)
{
    static char copy[512];
    CLEANUP(arena) struct arena *arena = arena_new();
    CLEANUP(corefile) struct corefile *corefile = parse(arena, buffer_text(text));
    struct text forward = corefile_root_forward(corefile);
    assert_true(forward.len < sizeof copy);
    memcpy(copy, forward.at ? forward.at : "", forward.len);
    copy[forward.len] = '\0';
    return copy;
}

static void the_root_forwards_elsewhere_and_back(void **state)
{
    (void)state;
    char saved[512];
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, kubeadm);
    strcpy(saved, root_forward(&text));
    splice_to(&text, (struct corefile_splice){.root = COREFILE_ROOT_REPLACE, .forward = &with_tls});
    assert_string_equal(root_forward(&text),
                        "forward . tls://192.0.2.53 tls://192.0.2.54 { # the node's\n"
                        "       max_concurrent 1000\n        tls_servername dns.example\n"
                        "        tls\n        policy random\n    }");
    assert_accepted(buffer_text(&text));
    splice_to(&text, (struct corefile_splice){.root = COREFILE_ROOT_REPLACE, .forward = &plain});
    assert_string_equal(root_forward(&text),
                        "forward . 192.0.2.53 { # the node's\n       max_concurrent 1000\n"
                        "        policy round_robin\n    }");
    splice_to(&text,
              (struct corefile_splice){.root = COREFILE_ROOT_RESTORE, .saved = text_of(saved)});
    assert_string_equal(text.at, kubeadm);
}

static void a_forward_without_options_gets_a_block(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, ". {\n    forward . /etc/resolv.conf # theirs\n    cache\n}\n");
    splice_to(&text, (struct corefile_splice){.root = COREFILE_ROOT_REPLACE, .forward = &plain});
    assert_string_equal(text.at, ". {\n    forward . 192.0.2.53 {\n        policy round_robin\n"
                                 "    } # theirs\n    cache\n}\n");
    assert_accepted(buffer_text(&text));
}

static void no_or_two_forwards_of_the_root_are_left_alone(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, ". {\n    forward a.example 192.0.2.1\n}\n");
    assert_string_equal(root_forward(&text), "");
    buffer_clear(&text);
    buffer_add_text(&text, ". {\n    forward . 192.0.2.1\n    forward . 192.0.2.2\n}\n");
    assert_string_equal(root_forward(&text), "");
}

static void zones_are_found_with_their_port_and_text(void **state)
{
    (void)state;
    uint16_t port = 0;
    AUTO_BUFFER text = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    buffer_add_text(&text, blocks_of_all);
    buffer_add_text(&text, kubeadm);
    CLEANUP(corefile) struct corefile *corefile = parse(arena, buffer_text(&text));
    const struct corefile_block *block = corefile_find_zone(corefile, TEXT("X.example"), &port);
    assert_non_null(block);
    assert_int_equal(port, 53);
    struct text found = corefile_block_text(corefile, block, TEXT("lab"));
    static const char wanted[] =
        "# lab\nlab.example:53 x.example:53 {\n    forward . 192.0.2.3\n}\n";
    assert_int_equal(found.len, sizeof wanted - 1);
    assert_memory_equal(found.at, wanted, found.len);
    assert_null(corefile_find_zone(corefile, TEXT("example"), &port));
}

static void zones_are_found_by_network_and_behind_a_transport(void **state)
{
    (void)state;
    uint16_t port = 0;
    CLEANUP(arena) struct arena *arena = arena_new();
    CLEANUP(corefile)
    struct corefile *corefile =
        parse(arena, TEXT("A.Example.org A.Example 192.0.2.0/23 {\n    whoami\n}\n"
                          "dns://b.example tls://c.example .:5353 {\n    whoami\n}\n"));
    const struct corefile_block *blocks = corefile->blocks;
    assert_ptr_equal(corefile_find_zone(corefile, TEXT("a.example"), &port), &blocks[0]);
    assert_ptr_equal(corefile_find_zone(corefile, TEXT("3.0.192.in-addr.arpa"), &port), &blocks[0]);
    assert_ptr_equal(corefile_find_zone(corefile, TEXT("b.example."), &port), &blocks[1]);
    assert_ptr_equal(corefile_find_zone(corefile, TEXT("."), &port), &blocks[1]);
    assert_int_equal(port, 5353);
    assert_null(corefile_find_zone(corefile, TEXT("c.example"), &port));
}

static void an_owner_has_all_zones_of_its_block(void **state)
{
    (void)state;
    static const struct text both[] = {{"A.example.", 10}, {"b.example", 9}};
    static const struct text one[] = {{"a.example", 9}};
    static const struct corefile_owned rivals[] = {
        {{"one", 3}, one, 1}, {{"both", 4}, both, 2}, {{"again", 5}, one, 1}};
    CLEANUP(arena) struct arena *arena = arena_new();
    CLEANUP(corefile)
    struct corefile *corefile = parse(arena, TEXT("a.example {\n}\nb.example a.example {\n}\n"
                                                  "a.example c.example {\n}\nc.example {\n}\n"
                                                  "tls://a.example {\n}\nB.example:53 {\n}\n"));
    const struct corefile_owned **owners = corefile_find_owners(arena, corefile, rivals, 3);
    assert_ptr_equal(owners[0], &rivals[0]);
    assert_ptr_equal(owners[1], &rivals[1]);
    assert_null(owners[2]);
    assert_null(owners[3]);
    assert_null(owners[4]);
    assert_ptr_equal(owners[5], &rivals[1]);
}

static void zones_of_a_block_are_those_of_plain_dns(void **state)
{
    (void)state;
    size_t count;
    struct text *zones;
    CLEANUP(arena) struct arena *arena = arena_new();
    CLEANUP(corefile)
    struct corefile *corefile = parse(arena, TEXT("A.Example 192.0.2.0/23:53 {\n    whoami\n}\n"
                                                  "tls://b.example c.example {\n    whoami\n}\n"));
    assert_true(corefile_block_zones(arena, &corefile->blocks[0], &zones, &count));
    assert_int_equal(count, 3);
    assert_true(text_is(zones[0], "a.example."));
    assert_true(text_is(zones[1], "2.0.192.in-addr.arpa."));
    assert_true(text_is(zones[2], "3.0.192.in-addr.arpa."));
    assert_false(corefile_block_zones(arena, &corefile->blocks[1], &zones, &count));
    assert_int_equal(count, 1);
    assert_true(text_is(zones[0], "c.example."));
}

// ---- whatever stands there ----------------------------------------------------------------------

static const char *const pieces[] = {
    "# comment\n",
    "\n",
    "   \t\n",
    "(common) {\n  errors\n  log # all\n}\n",
    "a.example:53 {\n\tforward . 192.0.2.9\n}\n",
    "b.example c.example # two\n{\n  whoami\n}\r\n",
    ".:53 {\n  forward . 192.0.2.1 192.0.2.2 { # two\n    policy random\n    expire 10s\n  }\n}\n",
    "corp.example.org:53 {\n  log \"a } b\"\n}   \n",
    "tls://corp.example {\n  whoami\n}\n",
};

static unsigned draw(uint64_t *seed, unsigned below)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(*seed >> 33) % below;
}

static void all_octets_of_others_outlive_any_changes(void **state)
{
    (void)state;
    static const char *const blocks[] = {"", blocks_of_corp, blocks_of_all};
    for (uint64_t round = 1; round <= 300; round++) {
        uint64_t seed = round;
        AUTO_BUFFER theirs = {0};
        AUTO_BUFFER text = {0};
        for (unsigned i = draw(&seed, 8); i--;)
            buffer_add_text(&theirs, pieces[draw(&seed, COUNT_OF(pieces))]);
        // A snippet may be declared once.
        const char *first = theirs.len ? strstr(theirs.at, "(common)") : NULL;
        if (first && strstr(first + 1, "(common)"))
            continue;
        buffer_add_text(&text, buffer_text(&theirs).at);
        for (unsigned i = draw(&seed, 5); i--;) {
            const char *ours = blocks[draw(&seed, COUNT_OF(blocks))];
            splice_to(&text, (struct corefile_splice){.blocks = text_of(ours)});
            assert_memory_equal(text.at ? text.at : "", ours, strlen(ours));
            assert_string_equal(buffer_text(&text).at + strlen(ours), buffer_text(&theirs).at);
        }
        splice_to(&text, (struct corefile_splice){.blocks = TEXT("")});
        assert_string_equal(buffer_text(&text).at, buffer_text(&theirs).at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_come_in_front_and_go_without_a_trace),
        cmocka_unit_test(a_block_with_a_zone_of_theirs_is_theirs),
        cmocka_unit_test(comments_of_others_stay),
        cmocka_unit_test(the_root_forwards_elsewhere_and_back),
        cmocka_unit_test(a_forward_without_options_gets_a_block),
        cmocka_unit_test(no_or_two_forwards_of_the_root_are_left_alone),
        cmocka_unit_test(zones_are_found_with_their_port_and_text),
        cmocka_unit_test(zones_are_found_by_network_and_behind_a_transport),
        cmocka_unit_test(an_owner_has_all_zones_of_its_block),
        cmocka_unit_test(zones_of_a_block_are_those_of_plain_dns),
        cmocka_unit_test(all_octets_of_others_outlive_any_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
