#include <string.h>

#include "dns/corefile/setup.h"

// Plugins that answer from data: cache, files, zones of others, templates, access lists.

enum { PERCENT_MIN = 10, PERCENT_MAX = 90, HOSTS_TTL_MAX = 65535, SERVFAIL_MAX_S = 300 };
static const int64_t second_ns = 1000 * 1000 * 1000;

static const struct coredns_version with_addresses_in_zones = {1, 12, 0};

static bool text_is_nocase(struct text text, const char *word)
{
    return text_equal_nocase(text, text_of(word));
}

// ---- cache --------------------------------------------------------------------------------------

static bool check_cache_ttl(struct setup *setup, struct text text)
{
    int64_t ttl = 0;
    if (!go_int(setup, text, &ttl))
        return false;
    return ttl > 0 || setup_fail(setup, "cache-ttl", "cache TTL can not be zero or negative: %lld",
                                 (long long)ttl);
}

// CAPACITY [TTL] [MINTTL]
static bool check_part(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t number = 0;
    if (!go_int(setup, arguments[0], &number))
        return false;
    if (count > 1 && !check_cache_ttl(setup, arguments[1]))
        return false;
    if (count > 2 && !go_int(setup, arguments[2], &number))
        return false;
    return count <= 2 || number >= 0 ||
           setup_fail(setup, "cache-ttl", "cache min TTL can not be negative: %lld",
                      (long long)number);
}

static bool check_percentage(struct setup *setup, struct text text)
{
    int64_t percent = 0;
    if (!text_ends(text, "%"))
        return setup_fail(setup, "cache-prefetch",
                          "last character of percentage should be `%%`, but is: '%c'",
                          text.len ? text.at[text.len - 1] : ' ');
    if (!go_int(setup, (struct text){text.at, text.len - 1}, &percent))
        return false;
    return (percent >= PERCENT_MIN && percent <= PERCENT_MAX) ||
           setup_fail(setup, "cache-prefetch", "percentage should fall in range [%d, %d]: %lld",
                      PERCENT_MIN, PERCENT_MAX, (long long)percent);
}

static bool check_prefetch(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t amount = 0;
    int64_t ns;
    if (!go_int(setup, arguments[0], &amount))
        return false;
    if (amount < 0)
        return setup_fail(setup, "cache-prefetch", "prefetch amount should be positive: %lld",
                          (long long)amount);
    if (count > 1 && !go_duration(setup, arguments[1], &ns))
        return false;
    return count <= 2 || check_percentage(setup, arguments[2]);
}

static bool check_stale_duration(struct setup *setup, struct text text, const char *what)
{
    int64_t ns = 0;
    const char *fault = go_duration_error(setup->linter->arena, text, &ns);
    if (fault)
        return setup_fail(setup, "duration", "invalid serve_stale %s: %s", what, fault);
    if (ns < 0)
        return setup_fail(setup, "negative", "invalid negative %s for serve_stale", what);
    return strcmp(what, "response TTL") != 0 || ns % second_ns == 0 ||
           setup_fail(setup, "cache-stale", "serve_stale %s must be a whole number of seconds",
                      what);
}

// Words that `serve_stale` takes: the timeout came with 1.14.4, what follows it with 1.14.7.
static size_t stale_words_max(const struct setup *setup)
{
    if (setup_is_before(setup, (struct coredns_version){1, 14, 4}))
        return 2;
    return setup_is_before(setup, (struct coredns_version){1, 14, 7}) ? 3 : 5;
}

// DURATION [immediate|verify [TIMEOUT]] [TTL [RECHECK]]
static bool check_serve_stale(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns = 0;
    if (count > stale_words_max(setup))
        return setup_fail_argument(setup);
    if (count && !go_duration(setup, arguments[0], &ns))
        return false;
    if (ns < 0)
        return setup_fail(setup, "negative", "invalid negative duration for serve_stale");
    if (count < 2)
        return true;
    bool is_verify = text_is_nocase(arguments[1], "verify");
    if (!is_verify && !text_is_nocase(arguments[1], "immediate"))
        return setup_fail(setup, "cache-stale", "invalid value for serve_stale refresh mode: %.*s",
                          TEXT_ARGS(arguments[1]));
    size_t at = 2;
    if (is_verify && count > at && !check_stale_duration(setup, arguments[at++], "verify timeout"))
        return false;
    if (count > at + 2)
        return setup_fail_argument(setup);
    if (count > at && !check_stale_duration(setup, arguments[at], "response TTL"))
        return false;
    return count <= at + 1 || check_stale_duration(setup, arguments[at + 1], "recheck interval");
}

static bool check_servfail(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns = 0;
    (void)count;
    if (!go_duration(setup, arguments[0], &ns))
        return false;
    if (ns < 0)
        return setup_fail(setup, "negative", "invalid negative ttl for servfail");
    return ns <= SERVFAIL_MAX_S * second_ns ||
           setup_fail(setup, "cache-servfail",
                      "caching SERVFAIL responses over 5 minutes is not permitted");
}

static bool check_disable(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)count;
    return text_is(arguments[0], "denial") || text_is(arguments[0], "success") ||
           setup_fail(setup, "cache-disable",
                      "cache type for disable must be \"success\" or \"denial\"");
}

static bool check_stale_policy(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)count;
    return text_is_nocase(arguments[0], "prefer_positive") ||
           setup_fail(setup, "cache-stale", "invalid serve_stale_policy: %.*s",
                      TEXT_ARGS(arguments[0]));
}

static const struct option cache_options[] = {
    {.name = "success", .form = OPTION_ALL, .min = 1, .check = check_part},
    {.name = "denial", .form = OPTION_ALL, .min = 1, .check = check_part},
    {.name = "prefetch", .form = OPTION_ALL, .min = 1, .max = 3, .check = check_prefetch},
    {.name = "serve_stale", .form = OPTION_ALL, .check = check_serve_stale},
    {.name = "serve_stale_policy",
     .form = OPTION_ALL,
     .min = 1,
     .max = 1,
     .check = check_stale_policy,
     .since = {1, 14, 7}},
    {.name = "servfail", .form = OPTION_ALL, .min = 1, .max = 1, .check = check_servfail},
    {.name = "disable", .form = OPTION_ALL, .min = 1, .check = check_disable},
    {.name = "keepttl", .form = OPTION_NONE},
};

static bool check_cache(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        int64_t ttl = 1;
        if (!setup_is_first(setup))
            return false;
        struct text *arguments = setup_arguments(setup, &count);
        if (count && text_to_int64(arguments[0], &ttl) && ttl <= 0)
            return setup_fail(setup, "cache-ttl", "cache TTL can not be zero or negative: %lld",
                              (long long)ttl);
        if (!setup_read_options(setup, cache_options, COUNT_OF(cache_options)))
            return false;
    }
    return true;
}

// ---- hosts --------------------------------------------------------------------------------------

static bool check_hosts_ttl(struct setup *setup)
{
    size_t count;
    int64_t ttl;
    struct text *arguments = setup_arguments(setup, &count);
    if (!count)
        return setup_fail_at(setup, "hosts-ttl", "ttl needs a time in second");
    if (!text_to_int64(arguments[0], &ttl))
        return setup_fail_at(setup, "hosts-ttl", "ttl needs a number of second");
    return (ttl > 0 && ttl <= HOSTS_TTL_MAX) ||
           setup_fail_at(setup, "hosts-ttl", "ttl provided is invalid");
}

static bool check_hosts_reload(struct setup *setup)
{
    size_t count;
    int64_t ns = 0;
    struct text *arguments = setup_arguments(setup, &count);
    if (count != 1)
        return setup_fail_at(setup, "hosts-reload",
                             "reload needs a duration (zero seconds to disable)");
    if (go_duration_error(setup->linter->arena, arguments[0], &ns))
        return setup_fail_at(setup, "hosts-reload", "invalid duration for reload '%.*s'",
                             TEXT_ARGS(arguments[0]));
    return ns >= 0 ||
           setup_fail_at(setup, "hosts-reload", "invalid negative duration for reload '%.*s'",
                         TEXT_ARGS(arguments[0]));
}

// Lines of hosts stand among the options, but not behind `fallthrough`.
static bool check_hosts_line(struct setup *setup, bool *falls_through)
{
    size_t count;
    struct text word = setup_value(setup);
    if (text_is(word, "ttl"))
        return check_hosts_ttl(setup);
    if (text_is(word, "reload"))
        return check_hosts_reload(setup);
    bool knows_unsupported = !setup_is_before(setup, (struct coredns_version){1, 14, 7});
    if (text_is(word, "no_reverse") ||
        (knows_unsupported && text_is(word, "fallthrough_unsupported")))
        return true;
    if (*falls_through && !text_is(word, "fallthrough")) {
        setup_fail_option(setup);
        setup_hint(setup, "write lines with hosts in front of fallthrough");
        return false;
    }
    *falls_through = *falls_through || text_is(word, "fallthrough");
    setup_arguments(setup, &count);
    return true;
}

static bool check_hosts(struct setup *setup)
{
    bool falls_through = false;
    while (setup_next(setup)) {
        size_t count;
        if (!setup_is_first(setup))
            return false;
        setup_arguments(setup, &count);
        while (setup_next_option(setup))
            if (!check_hosts_line(setup, &falls_through))
                return false;
    }
    return true;
}

// ---- zones --------------------------------------------------------------------------------------

static bool check_reload_duration(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns;
    if (!count)
        return setup_fail(setup, "reload", "reload duration value is expected");
    return go_duration(setup, arguments[0], &ns);
}

static const struct option file_options[] = {
    {.name = "fallthrough", .form = OPTION_ANY, .since = {1, 12, 2}},
    {.name = "reload", .form = OPTION_ALL, .check = check_reload_duration},
    {.name = "reload_by_mtime", .form = OPTION_BARE, .since = {1, 14, 4}},
    {.name = "upstream", .form = OPTION_ANY},
};

static bool check_file(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        if (!setup_next_argument(setup))
            return setup_fail_argument(setup);
        setup_arguments(setup, &count);
        if (!setup_read_options(setup, file_options, COUNT_OF(file_options)))
            return false;
    }
    return true;
}

// HOST or HOST:PORT, an address.
static bool check_host_port(struct setup *setup, struct text text)
{
    struct text port;
    struct text host = text;
    go_split_host_port(setup->linter->arena, text, &host, &port);
    const char *percent = host.len ? memrchr(host.at, '%', host.len) : NULL;
    struct text address = host;
    if (percent && !setup_is_before(setup, with_addresses_in_zones))
        address.len = (size_t)(percent - host.at);
    return go_is_ip(address) ||
           setup_fail(setup, "address", "must specify an IP address: `%.*s'", TEXT_ARGS(host));
}

static bool check_transfer_from(struct setup *setup)
{
    size_t count;
    if (!setup_next_argument(setup))
        return setup_fail_argument(setup);
    struct text word = setup_value(setup);
    if (!text_is(word, "from"))
        return setup_fail_at(setup, "unknown-property", "unknown property %.*s", TEXT_ARGS(word));
    struct text *arguments = setup_arguments(setup, &count);
    if (!count)
        return setup_fail_argument(setup);
    for (size_t i = 0; i < count; i++) {
        if (text_is(arguments[i], "*"))
            return setup_fail(setup, "address", "can't use '*' in transfer from");
        if (!check_host_port(setup, arguments[i]))
            return false;
    }
    return true;
}

static bool check_secondary_option(struct setup *setup, bool *has_transfer)
{
    size_t count;
    struct text word = setup_value(setup);
    if (text_is(word, "transfer")) {
        *has_transfer = true;
        return check_transfer_from(setup);
    }
    bool is_catalog =
        text_is(word, "catalog") && !setup_is_before(setup, (struct coredns_version){1, 14, 5});
    bool is_fallthrough =
        text_is(word, "fallthrough") && !setup_is_before(setup, (struct coredns_version){1, 13, 0});
    if (!is_catalog && !is_fallthrough)
        return setup_fail_option(setup);
    setup_arguments(setup, &count);
    return true;
}

static bool check_secondary(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        bool has_transfer = false;
        setup_arguments(setup, &count);
        while (setup_next_option(setup))
            if (!check_secondary_option(setup, &has_transfer))
                return false;
        if (!has_transfer)
            return setup_fail_at(setup, "transfer-from",
                                 "secondary zones require a transfer from property");
    }
    return true;
}

static bool check_transfer_source(struct setup *setup)
{
    size_t count;
    struct text *arguments = setup_arguments(setup, &count);
    if (count != 1)
        return setup_fail_argument(setup);
    return go_is_ip(arguments[0]) || setup_fail_at(setup, "address", "invalid source address %s",
                                                   go_quote(setup->linter->arena, arguments[0]));
}

static bool check_transfer_option(struct setup *setup, bool *has_to)
{
    size_t count;
    struct text word = setup_value(setup);
    if (text_is(word, "source") && !setup_is_before(setup, (struct coredns_version){1, 14, 5}))
        return check_transfer_source(setup);
    if (!text_is(word, "to")) {
        setup_fail_at(setup, "unknown-property", "unknown property %s",
                      go_quote(setup->linter->arena, word));
        return false;
    }
    struct text *arguments = setup_arguments(setup, &count);
    if (!count)
        return setup_fail_argument(setup);
    *has_to = true;
    for (size_t i = 0; i < count; i++)
        if (!text_is(arguments[i], "*") && !check_host_port(setup, arguments[i]))
            return false;
    return true;
}

static bool check_transfer(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        bool has_to = false;
        setup_arguments(setup, &count);
        while (setup_next_option(setup))
            if (!check_transfer_option(setup, &has_to))
                return false;
        if (!has_to)
            return setup_fail_at(setup, "transfer-to", "'to' is required");
    }
    return true;
}

// ---- template and acl ---------------------------------------------------------------------------

static const struct option template_options[] = {
    {.name = "match", .form = OPTION_ALL, .min = 1},
    {.name = "answer", .form = OPTION_ALL, .min = 1},
    {.name = "additional", .form = OPTION_ALL, .min = 1},
    {.name = "authority", .form = OPTION_ALL, .min = 1},
    {.name = "rcode", .form = OPTION_ONE},
    {.name = "ederror", .form = OPTION_ALL, .min = 1, .max = 2},
    {.name = "fallthrough", .form = OPTION_ANY},
    {.name = "upstream", .form = OPTION_ANY},
};

static bool is_class(struct text text)
{
    static const char *const classes[] = {"IN", "CS", "CH", "HS", "NONE", "ANY"};
    for (size_t i = 0; i < COUNT_OF(classes); i++)
        if (text_is(text, classes[i]))
            return true;
    return false;
}

static bool check_template(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        if (!setup_next_argument(setup))
            return setup_fail_argument(setup);
        if (!is_class(setup_value(setup)))
            return setup_fail_at(setup, "template-class", "invalid query class %.*s",
                                 TEXT_ARGS(setup_value(setup)));
        if (!setup_next_argument(setup))
            return setup_fail_argument(setup);
        setup_arguments(setup, &count);
        if (!setup_read_options(setup, template_options, COUNT_OF(template_options)))
            return false;
    }
    return true;
}

static bool check_acl_section(struct setup *setup, const struct text *tokens, size_t count,
                              bool is_net)
{
    for (size_t i = 0; i < count; i++) {
        if (text_is(tokens[i], "*"))
            return true;
        bool is_good = !is_net || go_is_cidr(tokens[i]) || go_is_ip(tokens[i]);
        if (!is_good)
            return setup_fail_at(setup, "acl-net", "illegal CIDR notation %s",
                                 go_quote(setup->linter->arena, tokens[i]));
    }
    return true;
}

static bool is_section(struct text text)
{
    return text_is_nocase(text, "type") || text_is_nocase(text, "net");
}

static bool check_acl_rule(struct setup *setup)
{
    static const char *const actions[] = {"allow", "block", "filter", "drop"};
    size_t count;
    bool is_action = false;
    struct arena *arena = setup->linter->arena;
    for (size_t i = 0; i < COUNT_OF(actions); i++)
        is_action = is_action || text_is_nocase(setup_value(setup), actions[i]);
    if (!is_action)
        return setup_fail_at(setup, "acl-action",
                             "unexpected token %s; expect 'allow', 'block', 'filter' or 'drop'",
                             go_quote(arena, setup_value(setup)));
    struct text *words = setup_arguments(setup, &count);
    for (size_t at = 0; at < count;) {
        size_t end = at + 1;
        if (!is_section(words[at]))
            return setup_fail_at(setup, "acl-section", "unexpected token %s; expect 'type | net'",
                                 go_quote(arena, words[at]));
        while (end < count && !is_section(words[end]))
            end++;
        if (end == at + 1)
            return setup_fail_at(setup, "acl-section", "no token specified in %s section",
                                 go_quote(arena, words[at]));
        if (!check_acl_section(setup, words + at + 1, end - at - 1,
                               text_is_nocase(words[at], "net")))
            return false;
        at = end;
    }
    return true;
}

static bool check_acl(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        setup_arguments(setup, &count);
        while (setup_next_option(setup))
            if (!check_acl_rule(setup))
                return false;
    }
    return true;
}

const struct checked_plugin data_plugins[] = {
    {"cache", check_cache},       {"hosts", check_hosts},
    {"file", check_file},         {"secondary", check_secondary},
    {"transfer", check_transfer}, {"template", check_template},
    {"acl", check_acl},           {NULL, NULL},
};
