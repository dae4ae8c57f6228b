#include <string.h>

#include "dns/corefile/setup.h"

// The plugins `cache` and `hosts`.

enum {
    PERCENT_MIN = 10,
    PERCENT_MAX = 90,
    HOSTS_TTL_MAX = 65535,
    FAILURE_MAX_S = 300, // RFC 2308 7: failures are cached for five minutes at most
};
static const int64_t second_ns = 1000 * 1000 * 1000;

static const struct coredns_version with_own_keepttl = {1, 11, 1};
static const struct coredns_version with_verify_timeout = {1, 14, 4};
static const struct coredns_version with_stale_ttl = {1, 14, 7};

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

// A duration with words of its own for what is wrong with it. False: an error was reported.
static bool read_stale_duration(struct setup *setup, struct text text, const char *what,
                                const char *negative, int64_t *ns)
{
    const char *fault = go_duration_error(setup->linter->arena, text, ns);
    if (fault)
        return setup_fail(setup, "duration", "invalid serve_stale %s: %s", what, fault);
    return *ns >= 0 || setup_fail(setup, "negative", "invalid negative %s", negative);
}

static bool check_verify_timeout(struct setup *setup, struct text text)
{
    int64_t ns = 0;
    return read_stale_duration(setup, text, "verify timeout", "timeout for serve_stale verify",
                               &ns);
}

static bool check_stale_ttl(struct setup *setup, struct text text)
{
    int64_t ns = 0;
    if (!read_stale_duration(setup, text, "response TTL", "response TTL for serve_stale", &ns))
        return false;
    if (ns % second_ns)
        return setup_fail(setup, "cache-stale",
                          "serve_stale response TTL must be a whole number of seconds");
    return ns / second_ns <= UINT32_MAX ||
           setup_fail(setup, "cache-stale", "serve_stale response TTL exceeds the DNS TTL range");
}

static bool check_recheck(struct setup *setup, struct text text)
{
    int64_t ns = 0;
    if (!read_stale_duration(setup, text, "failure recheck", "failure recheck for serve_stale",
                             &ns))
        return false;
    return ns <= FAILURE_MAX_S * second_ns ||
           setup_fail(setup, "cache-stale", "serve_stale failure recheck cannot exceed 5 minutes");
}

// Words that `serve_stale` takes.
static size_t stale_words_max(const struct setup *setup)
{
    if (setup_is_before(setup, with_verify_timeout))
        return 2;
    return setup_is_before(setup, with_stale_ttl) ? 3 : 5;
}

// What stands behind the mode: [TIMEOUT], of `verify` alone, [TTL [RECHECK]]
static bool check_stale_times(struct setup *setup, const struct text *times, size_t count,
                              bool is_verify)
{
    size_t at = 0;
    if (!count)
        return true;
    if (!is_verify && setup_is_before(setup, with_stale_ttl))
        return setup_fail(setup, "cache-stale",
                          "serve_stale timeout is only valid with the verify refresh mode");
    if (is_verify && !check_verify_timeout(setup, times[at++]))
        return false;
    if (count > at + 2)
        return setup_fail_argument(setup);
    if (count > at && !check_stale_ttl(setup, times[at]))
        return false;
    return count <= at + 1 || check_recheck(setup, times[at + 1]);
}

// DURATION [immediate|verify TIMES...]
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
                          TEXT_ARGS(go_lower(setup->linter->arena, arguments[1])));
    return check_stale_times(setup, arguments + 2, count - 2, is_verify);
}

static bool check_servfail(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns = 0;
    (void)count;
    if (!go_duration(setup, arguments[0], &ns))
        return false;
    if (ns < 0)
        return setup_fail(setup, "negative", "invalid negative ttl for servfail");
    return ns <= FAILURE_MAX_S * second_ns ||
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
    if (setup_has_option(setup, "serve_stale_policy"))
        return setup_fail(setup, "once", "serve_stale_policy can only be specified once");
    if (count != 1)
        return setup_fail_argument(setup);
    return text_is_nocase(arguments[0], "prefer_positive") ||
           setup_fail(setup, "cache-stale", "invalid serve_stale_policy: %.*s",
                      TEXT_ARGS(arguments[0]));
}

// Before 1.11.1 it looked at the arguments of `cache` in place of its own, which came to be read as
// the next option.
static bool check_keepttl(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)arguments;
    (void)count;
    if (!setup_is_before(setup, with_own_keepttl)) {
        size_t own;
        setup_arguments(setup, &own);
        return !own || setup_fail_argument(setup);
    }
    return !*(const size_t *)setup->own || setup_fail_argument(setup);
}

static const struct option cache_options[] = {
    {.name = "success", .form = OPTION_ALL, .min = 1, .check = check_part},
    {.name = "denial", .form = OPTION_ALL, .min = 1, .check = check_part},
    {.name = "prefetch", .form = OPTION_ALL, .min = 1, .max = 3, .check = check_prefetch},
    {.name = "serve_stale", .form = OPTION_ALL, .check = check_serve_stale},
    {.name = "serve_stale_policy",
     .form = OPTION_ALL,
     .check = check_stale_policy,
     .since = {1, 14, 7}},
    {.name = "servfail", .form = OPTION_ALL, .min = 1, .max = 1, .check = check_servfail},
    {.name = "disable", .form = OPTION_ALL, .min = 1, .check = check_disable},
    {.name = "keepttl", .form = OPTION_BARE, .check = check_keepttl},
};

// [TTL] [ZONES]: a first word that is no number is a zone.
static bool read_cache_head(struct setup *setup, size_t *zone_count)
{
    size_t count;
    int64_t ttl = 1;
    struct text *arguments = setup_arguments(setup, &count);
    bool has_ttl = count && go_read_int(arguments[0], &ttl);
    *zone_count = count - has_ttl;
    return ttl > 0 || setup_fail(setup, "cache-ttl", "cache TTL can not be zero or negative: %lld",
                                 (long long)ttl);
}

static bool check_cache(struct setup *setup)
{
    size_t *zone_count = arena_new_of(setup->linter->arena, size_t);
    setup->own = zone_count;
    setup->fail_option = setup_fail_argument;
    while (setup_next(setup)) {
        if (!setup_is_first(setup) || !read_cache_head(setup, zone_count) ||
            !setup_read_options(setup, cache_options, COUNT_OF(cache_options)))
            return false;
        if (setup_has_option(setup, "serve_stale_policy") &&
            !setup_has_option(setup, "serve_stale"))
            return setup_fail(setup, "cache-stale", "serve_stale_policy requires serve_stale");
    }
    return true;
}

// ---- hosts --------------------------------------------------------------------------------------

// Lines of hosts stand among the options, but not behind `fallthrough` with a zone.
struct hosts_block {
    bool falls_through;
    bool falls_through_unsupported;
};

static bool check_hosts_ttl(struct setup *setup)
{
    size_t count;
    int64_t ttl;
    struct text *arguments = setup_arguments(setup, &count);
    if (!count)
        return setup_fail_at(setup, "hosts-ttl", "ttl needs a time in second");
    if (!go_read_int(arguments[0], &ttl))
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

static bool read_fallthrough(struct setup *setup, struct hosts_block *block)
{
    size_t count;
    struct text *zones = setup_arguments(setup, &count);
    block->falls_through = !count;
    for (size_t i = 0; i < count; i++)
        block->falls_through = block->falls_through || zone_is_normal(setup->linter, zones[i]);
    return true;
}

static bool read_unsupported(struct setup *setup, struct hosts_block *block)
{
    size_t count;
    setup_arguments(setup, &count);
    block->falls_through_unsupported = true;
    return !count || setup_fail_argument(setup);
}

static bool read_hosts_line(struct setup *setup, const struct hosts_block *block)
{
    size_t count;
    if (block->falls_through) {
        setup_fail_option(setup);
        setup_hint(setup, "write lines with hosts in front of fallthrough");
        return false;
    }
    setup_arguments(setup, &count);
    return true;
}

static bool read_hosts_option(struct setup *setup, struct hosts_block *block)
{
    static const struct coredns_version with_unsupported = {1, 14, 7};
    struct text word = setup_value(setup);
    if (text_is(word, "ttl"))
        return check_hosts_ttl(setup);
    if (text_is(word, "reload"))
        return check_hosts_reload(setup);
    if (text_is(word, "no_reverse"))
        return true;
    if (text_is(word, "fallthrough"))
        return read_fallthrough(setup, block);
    if (text_is(word, "fallthrough_unsupported") && !setup_is_before(setup, with_unsupported))
        return read_unsupported(setup, block);
    return read_hosts_line(setup, block);
}

static bool check_hosts(struct setup *setup)
{
    struct hosts_block block = {0};
    while (setup_next(setup)) {
        size_t count;
        if (!setup_is_first(setup))
            return false;
        setup_arguments(setup, &count);
        while (setup_next_option(setup))
            if (!read_hosts_option(setup, &block))
                return false;
    }
    return !block.falls_through_unsupported || block.falls_through ||
           setup_fail_at(setup, "hosts-fallthrough",
                         "fallthrough_unsupported requires fallthrough");
}

const struct checked_plugin cache_plugins[] = {
    {.name = "cache", .check = check_cache},
    {.name = "hosts", .check = check_hosts},
    {0},
};
