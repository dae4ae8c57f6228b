#include <string.h>

#include "dns/corefile/coredns_word.h"
#include "dns/corefile/setup.h"

// Plugins that look at a query or an answer: template, acl, dns64, loadbalance.

enum { REGEXP_LEN_MAX = 10000, PREFIX_MIN = 32, PREFIX_MAX = 96, PREFIX_STEP = 8 };

static const struct coredns_version with_regexp_limit = {1, 14, 0};
static const struct coredns_version with_weights = {1, 10, 1};
static const struct coredns_version with_preferred_networks = {1, 12, 4};

// ---- template -----------------------------------------------------------------------------------

static bool check_match(struct setup *setup, const struct text *patterns, size_t count)
{
    unsigned groups;
    const char *fault = NULL;
    bool has_limit = !setup_is_before(setup, with_regexp_limit);
    for (size_t i = 0; i < count; i++) {
        if (has_limit && patterns[i].len > REGEXP_LEN_MAX)
            return setup_fail_at(setup, "regexp", "regex pattern too long: %zu > %d",
                                 patterns[i].len, REGEXP_LEN_MAX);
        if (go_regexp_read(setup->linter->arena, patterns[i], &groups, &fault) == GO_REGEXP_BAD)
            return setup_fail_at(setup, "regexp", "could not parse regex: %.*s, %s",
                                 TEXT_ARGS(patterns[i]), fault);
    }
    return true;
}

static bool check_template_rcode(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)count;
    return coredns_is_rcode(arguments[0], setup->linter->options->version) ||
           setup_fail_at(setup, "rcode", "unknown rcode %.*s", TEXT_ARGS(arguments[0]));
}

// CODE [REASON]: of two words CoreDNS names the second.
static bool check_ederror(struct setup *setup, const struct text *arguments, size_t count)
{
    uint64_t code;
    const char *fault = go_uint_error(setup->linter->arena, arguments[0], 16, &code);
    return !fault ||
           setup_fail_at(setup, "ederror", "error parsing extended DNS error code %.*s, %s",
                         TEXT_ARGS(arguments[count - 1]), fault);
}

static const struct option template_options[] = {
    {.name = "match", .form = OPTION_ALL, .min = 1, .check = check_match},
    {.name = "answer", .form = OPTION_ALL, .min = 1},
    {.name = "additional", .form = OPTION_ALL, .min = 1},
    {.name = "authority", .form = OPTION_ALL, .min = 1},
    {.name = "rcode", .form = OPTION_ONE, .check = check_template_rcode},
    {.name = "ederror",
     .form = OPTION_ALL,
     .min = 1,
     .max = 2,
     .check = check_ederror,
     .since = {1, 10, 1}},
    {.name = "fallthrough", .form = OPTION_ANY},
    {.name = "upstream", .form = OPTION_ANY},
};

// CLASS TYPE [ZONES]
static bool read_template_head(struct setup *setup)
{
    size_t count;
    if (!setup_next_argument(setup))
        return setup_fail_argument(setup);
    if (!coredns_is_class(setup_value(setup)))
        return setup_fail_at(setup, "template-class", "invalid query class %.*s",
                             TEXT_ARGS(setup_value(setup)));
    if (!setup_next_argument(setup))
        return setup_fail_argument(setup);
    if (!coredns_is_type(setup_value(setup), setup->linter->options->version))
        return setup_fail_at(setup, "template-type", "invalid RR class %.*s",
                             TEXT_ARGS(setup_value(setup)));
    setup_arguments(setup, &count);
    return true;
}

static bool check_template(struct setup *setup)
{
    setup->fail_option = setup_fail_argument;
    while (setup_next(setup))
        if (!read_template_head(setup) ||
            !setup_read_options(setup, template_options, COUNT_OF(template_options)))
            return false;
    return true;
}

// ---- acl ----------------------------------------------------------------------------------------

static bool text_is_nocase(struct text text, const char *word)
{
    return text_equal_nocase(text, text_of(word));
}

static bool check_acl_type(struct setup *setup, struct text type)
{
    return coredns_is_type(type, setup->linter->options->version) ||
           setup_fail_at(setup, "acl-type", "unexpected token %s; expect legal QTYPE",
                         go_quote(setup->linter->arena, type));
}

// A network, or an address, which is completed to one.
static bool check_acl_net(struct setup *setup, struct text net)
{
    struct arena *arena = setup->linter->arena;
    struct text whole = net;
    if (!net.len || !memchr(net.at, '/', net.len)) {
        bool is_v6 = net.len && memchr(net.at, ':', net.len);
        whole = text_of(arena_printf(arena, "%.*s/%d", TEXT_ARGS(net), is_v6 ? 128 : 32));
    }
    return go_is_cidr(whole) ||
           setup_fail_at(setup, "acl-net", "illegal CIDR notation %s", go_quote(arena, whole));
}

// Its words, up to a '*', which stands for all.
static bool check_acl_section(struct setup *setup, const struct text *words, size_t count,
                              bool (*check)(struct setup *setup, struct text word))
{
    for (size_t i = 0; i < count && !text_is(words[i], "*"); i++)
        if (!check(setup, words[i]))
            return false;
    return true;
}

static bool is_section(struct text text)
{
    return text_is_nocase(text, "type") || text_is_nocase(text, "net");
}

static bool is_action(struct text text)
{
    static const char *const actions[] = {"allow", "block", "filter", "drop"};
    for (size_t i = 0; i < COUNT_OF(actions); i++)
        if (text_is_nocase(text, actions[i]))
            return true;
    return false;
}

// [type TYPES] [net NETWORKS], in any order and any number.
static bool check_acl_sections(struct setup *setup, const struct text *words, size_t count)
{
    struct arena *arena = setup->linter->arena;
    for (size_t at = 0, end; at < count; at = end) {
        if (!is_section(words[at]))
            return setup_fail_at(setup, "acl-section", "unexpected token %s; expect 'type | net'",
                                 go_quote(arena, words[at]));
        for (end = at + 1; end < count && !is_section(words[end]);)
            end++;
        if (end == at + 1)
            return setup_fail_at(setup, "acl-section", "no token specified in %s section",
                                 go_quote(arena, go_lower(arena, words[at])));
        if (!check_acl_section(setup, words + at + 1, end - at - 1,
                               text_is_nocase(words[at], "net") ? check_acl_net : check_acl_type))
            return false;
    }
    return true;
}

static bool check_acl_policy(struct setup *setup)
{
    size_t count;
    if (!is_action(setup_value(setup)))
        return setup_fail_at(setup, "acl-action",
                             "unexpected token %s; expect 'allow', 'block', 'filter' or 'drop'",
                             go_quote(setup->linter->arena, setup_value(setup)));
    struct text *words = setup_arguments(setup, &count);
    return check_acl_sections(setup, words, count);
}

static bool check_acl(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        setup_arguments(setup, &count);
        while (setup_next_option(setup))
            if (!check_acl_policy(setup))
                return false;
    }
    return true;
}

// ---- dns64 --------------------------------------------------------------------------------------

static bool check_prefix(struct setup *setup, const struct text *arguments, size_t count)
{
    struct go_network network;
    struct arena *arena = setup->linter->arena;
    (void)count;
    if (!go_network_read(arena, arguments[0], &network))
        return setup_fail(setup, "dns64-prefix", "invalid CIDR address: %.*s",
                          TEXT_ARGS(arguments[0]));
    const char *quoted = go_quote(arena, text_of(network.text));
    if (network.bits != 128)
        return setup_fail_at(setup, "dns64-prefix", "invalid netmask %u IPv6 address: %s",
                             network.bits, quoted);
    if (network.prefix % PREFIX_STEP == 0 && network.prefix >= PREFIX_MIN &&
        network.prefix <= PREFIX_MAX)
        return true;
    setup_fail_at(setup, "dns64-prefix", "invalid prefix length %s", quoted);
    setup_hint(setup, "write a length of %d to %d that %d divides", PREFIX_MIN, PREFIX_MAX,
               PREFIX_STEP);
    return false;
}

static const struct option dns64_options[] = {
    {.name = "prefix", .form = OPTION_ONE, .check = check_prefix},
    {.name = "translate_all", .form = OPTION_BARE},
    {.name = "allow_ipv4", .form = OPTION_BARE},
};

// What stands in a block behind a prefix is read as directives of their own, without an effect.
static bool check_dns64(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        struct text *arguments = setup_arguments(setup, &count);
        if (count > 1)
            return setup_fail_argument(setup);
        bool is_good = count ? check_prefix(setup, arguments, count)
                             : setup_read_options(setup, dns64_options, COUNT_OF(dns64_options));
        if (!is_good)
            return false;
    }
    return true;
}

// ---- loadbalance --------------------------------------------------------------------------------

static bool check_weights_reload(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns;
    if (!count)
        return setup_fail_at(setup, "reload", "reload duration value is missing");
    if (count > 1)
        return setup_fail_at(setup, "reload", "unexpected argument");
    return !go_duration_error(setup->linter->arena, arguments[0], &ns) ||
           setup_fail_at(setup, "duration", "invalid reload duration '%.*s'",
                         TEXT_ARGS(arguments[0]));
}

static bool check_preferred(struct setup *setup, const struct text *networks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!go_is_cidr(networks[i]))
            return setup_fail_at(setup, "network", "invalid CIDR %s: invalid CIDR address: %.*s",
                                 go_quote(setup->linter->arena, networks[i]),
                                 TEXT_ARGS(networks[i]));
    return true;
}

static const struct option weighted_options[] = {
    {.name = "reload", .form = OPTION_ALL, .check = check_weights_reload},
};
static const struct option loadbalance_options[] = {
    {.name = "prefer", .form = OPTION_ALL, .check = check_preferred},
};

static bool check_weighted(struct setup *setup, size_t count)
{
    if (count < 2)
        return setup_fail_at(setup, "weights", "missing weight file argument");
    if (count > 2)
        return setup_fail_at(setup, "weights", "unexpected argument(s)");
    return setup_read_options(setup, weighted_options, COUNT_OF(weighted_options));
}

// [round_robin | weighted FILE]
static bool check_balance_policy(struct setup *setup)
{
    size_t count;
    struct text *arguments = setup_arguments(setup, &count);
    if (!count)
        return true;
    if (text_is(arguments[0], "round_robin"))
        return count == 1 || setup_fail_at(setup, "policy", "unknown property for round_robin");
    if (text_is(arguments[0], "weighted") && !setup_is_before(setup, with_weights))
        return check_weighted(setup, count);
    setup_fail(setup, "policy", "unknown policy: %.*s", TEXT_ARGS(arguments[0]));
    setup_hint(setup, "write round_robin or weighted");
    return false;
}

// Before 1.12.4 it had no block but that of `weighted`, and only its first directive counted.
static bool check_loadbalance(struct setup *setup)
{
    while (setup_next(setup)) {
        if (!check_balance_policy(setup))
            return false;
        if (setup_is_before(setup, with_preferred_networks))
            return true;
        if (!setup_read_options(setup, loadbalance_options, COUNT_OF(loadbalance_options)))
            return false;
    }
    return true;
}

const struct checked_plugin query_plugins[] = {
    {.name = "template", .check = check_template},
    {.name = "acl", .check = check_acl},
    {.name = "dns64", .check = check_dns64},
    {.name = "loadbalance", .check = check_loadbalance},
    {0},
};
