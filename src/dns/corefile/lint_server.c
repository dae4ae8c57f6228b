#include <string.h>

#include "dns/corefile/setup.h"

// Plugins that set up the server: what it listens on, logs, reports and limits.

enum {
    BUFSIZE_MIN = 512,
    BUFSIZE_MAX = 4096,
    SOCKETS_MAX = 1024,
    RELOAD_MIN_S = 2,
    JITTER_MIN_S = 1,
    REGEXP_LEN_MAX = 10000,
};
static const int64_t second_ns = 1000 * 1000 * 1000;

static const struct coredns_version with_socket_limit = {1, 13, 2};
static const struct coredns_version with_show_first = {1, 14, 0};
static const struct coredns_version with_regexp_limit = {1, 14, 0};
static const struct coredns_version with_zero_reload = {1, 14, 2};
static const struct coredns_version with_strict_blocks = {1, 14, 4}; // any, chaos, health, log

// The one argument that a directive may have is HOST:PORT.
static bool check_listen_address(struct setup *setup)
{
    size_t count;
    struct text host;
    struct text port;
    struct text *arguments = setup_arguments(setup, &count);
    if (count > 1)
        return setup_fail_argument(setup);
    if (!count)
        return true;
    const char *fault = go_split_host_port(setup->linter->arena, arguments[0], &host, &port);
    return !fault || setup_fail(setup, "listen-address", "%s", fault);
}

// Options of a plugin that may stand in a block once. Before `since` it had none, and took the '{'
// for another directive.
static bool read_options_since(struct setup *setup, struct coredns_version since,
                               const struct option *options, size_t count)
{
    if (!setup_is_before(setup, since))
        return setup_read_options(setup, options, count);
    if (!setup_next(setup))
        return true;
    setup_is_first(setup);
    if (text_is(setup_value(setup), "{"))
        setup_hint(setup, "options of %s need CoreDNS %u.%u.%u", setup->plugin, since.major,
                   since.minor, since.patch);
    return false;
}

// ---- errors and log -----------------------------------------------------------------------------

static bool is_level(struct text text)
{
    static const char *const levels[] = {"warning", "error", "info", "debug"};
    for (size_t i = 0; i < COUNT_OF(levels); i++)
        if (text_is(text, levels[i]))
            return true;
    return false;
}

// What stands behind the pattern: a level, then show_first.
static bool check_consolidate_options(struct setup *setup, const struct text *words, size_t count)
{
    bool has_level = false;
    bool shows_first = false;
    for (size_t i = 0; i < count; i++) {
        bool is_first = text_is(words[i], "show_first");
        if (!is_first && !is_level(words[i]))
            return setup_fail_at(setup, "consolidate", "unknown option in consolidate: %.*s",
                                 TEXT_ARGS(words[i]));
        if (!is_first && has_level)
            return setup_fail_at(setup, "consolidate",
                                 "multiple log levels specified in consolidate");
        if (!is_first && shows_first)
            return setup_fail_at(setup, "consolidate",
                                 "log level must come before show_first in consolidate");
        has_level = has_level || !is_first;
        shows_first = shows_first || is_first;
    }
    return true;
}

static bool check_old_consolidate_options(struct setup *setup, const struct text *words,
                                          size_t count)
{
    if (count > 1)
        return setup_fail_argument(setup);
    if (!count || is_level(words[0]))
        return true;
    setup_fail_at(setup, "consolidate", "unknown log level argument in consolidate: %.*s",
                  TEXT_ARGS(words[0]));
    if (text_is(words[0], "show_first"))
        setup_hint(setup, "show_first needs CoreDNS 1.14.0");
    return false;
}

static bool check_pattern(struct setup *setup, struct text pattern)
{
    unsigned groups;
    const char *fault = NULL;
    if (pattern.len > REGEXP_LEN_MAX && !setup_is_before(setup, with_regexp_limit))
        return setup_fail_at(setup, "regexp", "regex pattern too long: %zu > %d", pattern.len,
                             REGEXP_LEN_MAX);
    return go_regexp_read(setup->linter->arena, pattern, &groups, &fault) != GO_REGEXP_BAD ||
           setup_fail_at(setup, "regexp", "%s", fault);
}

static bool check_consolidate(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns;
    bool is_old = setup_is_before(setup, with_show_first);
    if (is_old && count > 3)
        return setup_fail_argument(setup);
    const char *fault = go_duration_error(setup->linter->arena, arguments[0], &ns);
    if (fault)
        return setup_fail_at(setup, "duration", "%s", fault);
    if (!check_pattern(setup, arguments[1]))
        return false;
    return is_old ? check_old_consolidate_options(setup, arguments + 2, count - 2)
                  : check_consolidate_options(setup, arguments + 2, count - 2);
}

static bool fail_errors_option(struct setup *setup)
{
    struct text value = setup_value(setup);
    return setup_fail_syntax(setup, "unknown-property",
                             "Unexpected token '%.*s', expecting 'Unknown field %.*s'",
                             TEXT_ARGS(value), TEXT_ARGS(value));
}

static const struct option errors_options[] = {
    {.name = "stacktrace", .form = OPTION_BARE},
    {.name = "consolidate", .form = OPTION_ALL, .min = 2, .max = 4, .check = check_consolidate},
};

static bool check_errors(struct setup *setup)
{
    setup->fail_option = fail_errors_option;
    while (setup_next(setup)) {
        size_t count;
        if (!setup_is_first(setup))
            return false;
        struct text *arguments = setup_arguments(setup, &count);
        if (count > 1)
            return setup_fail_argument(setup);
        if (count && !text_is(arguments[0], "stdout"))
            return setup_fail_at(setup, "log-file", "invalid log file: %.*s",
                                 TEXT_ARGS(arguments[0]));
        if (!setup_read_options(setup, errors_options, COUNT_OF(errors_options)))
            return false;
    }
    return true;
}

static bool check_class(struct setup *setup, const struct text *arguments, size_t count)
{
    static const char *const classes[] = {"all", "denial", "error", "success"};
    for (size_t i = 0; i < count; i++) {
        bool is_class = false;
        for (size_t at = 0; at < COUNT_OF(classes); at++)
            is_class = is_class || text_is(arguments[i], classes[at]);
        if (!is_class)
            return setup_fail(setup, "log-class", "invalid Class: %.*s", TEXT_ARGS(arguments[i]));
    }
    return true;
}

static const struct option log_options[] = {
    {.name = "class", .form = OPTION_ALL, .min = 1, .check = check_class},
};

static bool check_log(struct setup *setup)
{
    setup->fail_option =
        setup_is_before(setup, with_strict_blocks) ? setup_fail_argument : setup_fail_option;
    while (setup_next(setup)) {
        size_t count;
        setup_arguments(setup, &count);
        if (!setup_read_options(setup, log_options, COUNT_OF(log_options)))
            return false;
    }
    return true;
}

// ---- health, ready, prometheus ------------------------------------------------------------------

static bool check_lameduck(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns;
    (void)count;
    const char *fault = go_duration_error(setup->linter->arena, arguments[0], &ns);
    return !fault ||
           setup_fail(setup, "duration", "unable to parse lameduck duration value: '%.*s' : %s",
                      TEXT_ARGS(arguments[0]), fault);
}

static const struct option health_options[] = {
    {.name = "lameduck", .form = OPTION_ALL, .min = 1, .max = 1, .check = check_lameduck},
};

static bool check_health(struct setup *setup)
{
    setup->fail_option =
        setup_is_before(setup, with_strict_blocks) ? setup_fail_argument : setup_fail_option;
    while (setup_next(setup))
        if (!check_listen_address(setup) ||
            !setup_read_options(setup, health_options, COUNT_OF(health_options)))
            return false;
    return true;
}

static bool check_monitor(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)count;
    return text_is(arguments[0], "until-ready") || text_is(arguments[0], "continuously") ||
           setup_fail_at(setup, "monitor", "monitor type '%.*s' not supported",
                         TEXT_ARGS(arguments[0]));
}

static const struct coredns_version with_ready_options = {1, 12, 2};
static const struct option ready_options[] = {
    {.name = "monitor", .form = OPTION_ALL, .min = 1, .max = 1, .check = check_monitor},
};

static bool check_ready(struct setup *setup)
{
    while (setup_next(setup))
        if (!setup_is_first(setup) || !check_listen_address(setup) ||
            !read_options_since(setup, with_ready_options, ready_options, COUNT_OF(ready_options)))
            return false;
    return true;
}

static bool fail_prometheus_option(struct setup *setup)
{
    struct text value = setup_value(setup);
    return setup_fail_at(setup, "unknown-property", "unknown option: %.*s", TEXT_ARGS(value));
}

static bool check_prometheus_tls(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)arguments;
    (void)count;
    return !setup_has_option(setup, "tls") ||
           setup_fail_at(setup, "once", "tls block already specified");
}

static const struct coredns_version with_prometheus_options = {1, 14, 3};
static const struct option prometheus_options[] = {
    {.name = "runtime_metrics", .form = OPTION_NONE},
    {.name = "tls", .form = OPTION_ALL, .min = 1, .max = 1, .check = check_prometheus_tls},
};

static bool check_prometheus(struct setup *setup)
{
    setup->fail_option = fail_prometheus_option;
    while (setup_next(setup))
        if (!setup_is_first(setup) || !check_listen_address(setup) ||
            !read_options_since(setup, with_prometheus_options, prometheus_options,
                                COUNT_OF(prometheus_options)))
            return false;
    return true;
}

// ---- numbers ------------------------------------------------------------------------------------

// Takes the duration that may stand there. It keeps *ns where none stands.
static bool take_duration(struct setup *setup, const struct text *arguments, size_t count,
                          size_t at, int64_t *ns)
{
    return count <= at || go_duration(setup, arguments[at], ns);
}

// Of several ones in a block only the first counts.
static bool check_reload(struct setup *setup)
{
    size_t count;
    int64_t interval_ns = RELOAD_MIN_S * second_ns;
    int64_t jitter_ns = JITTER_MIN_S * second_ns;
    setup_next(setup);
    struct text *arguments = setup_arguments(setup, &count);
    if (count > 2)
        return setup_fail_argument(setup);
    if (!take_duration(setup, arguments, count, 0, &interval_ns))
        return false;
    if (interval_ns < RELOAD_MIN_S * second_ns)
        return setup_fail(setup, "reload-interval",
                          "interval value must be greater or equal to %ds", RELOAD_MIN_S);
    if (!take_duration(setup, arguments, count, 1, &jitter_ns))
        return false;
    if (setup_is_before(setup, with_zero_reload) && jitter_ns < JITTER_MIN_S * second_ns)
        return setup_fail(setup, "reload-jitter", "jitter value must be greater or equal to %ds",
                          JITTER_MIN_S);
    return jitter_ns == 0 || jitter_ns >= JITTER_MIN_S * second_ns ||
           setup_fail(setup, "reload-jitter", "jitter value must be 0 or greater or equal to %ds",
                      JITTER_MIN_S);
}

static bool check_bufsize(struct setup *setup)
{
    size_t count;
    int64_t octets = BUFSIZE_MIN;
    setup_next(setup);
    struct text *arguments = setup_arguments(setup, &count);
    bool is_number = count != 1 || go_read_int(arguments[0], &octets);
    if (count <= 1 && is_number && octets >= BUFSIZE_MIN && octets <= BUFSIZE_MAX)
        return true;
    setup_fail_argument(setup);
    setup_repeat_prefix(setup);
    setup_hint(setup, "write a number from %d to %d", BUFSIZE_MIN, BUFSIZE_MAX);
    return false;
}

static bool check_multisocket(struct setup *setup)
{
    size_t count;
    int64_t sockets = 1;
    setup_next(setup);
    struct text *arguments = setup_arguments(setup, &count);
    if (count > 1 || setup_next(setup))
        return setup_fail_argument(setup);
    const char *fault = count ? go_int_error(setup->linter->arena, arguments[0], &sockets) : NULL;
    if (fault)
        return setup_fail(setup, "sockets", "invalid num sockets: %s", fault);
    if (sockets < 1)
        return setup_fail(setup, "sockets", "num sockets can not be zero or negative: %lld",
                          (long long)sockets);
    return sockets <= SOCKETS_MAX || setup_is_before(setup, with_socket_limit) ||
           setup_fail(setup, "sockets", "num sockets exceeds maximum (%d): %lld", SOCKETS_MAX,
                      (long long)sockets);
}

// ---- bind, chaos, loadbalance -------------------------------------------------------------------

static bool check_except(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)arguments;
    return count || setup_fail(setup, "bind",
                               "at least one address or interface must be given to except "
                               "subdirective");
}

static bool fail_bind_option(struct setup *setup)
{
    return setup_fail(setup, "unknown-property", "invalid option %s",
                      go_quote(setup->linter->arena, setup_value(setup)));
}

static const struct option bind_options[] = {
    {.name = "except", .form = OPTION_ALL, .check = check_except},
};

static bool check_bind(struct setup *setup)
{
    setup->fail_option = fail_bind_option;
    while (setup_next(setup)) {
        size_t count;
        setup_arguments(setup, &count);
        if (!count)
            return setup_fail(setup, "bind", "at least one address or interface name is expected");
        if (!setup_read_options(setup, bind_options, COUNT_OF(bind_options)))
            return false;
    }
    return true;
}

static bool check_chaos(struct setup *setup)
{
    size_t count;
    setup_next(setup);
    setup_arguments(setup, &count);
    return setup_is_before(setup, with_strict_blocks) || !setup_next_option(setup) ||
           setup_fail_option(setup);
}

// None of them takes an argument; what stands in a block behind it is not looked at.
static bool check_alone(struct setup *setup)
{
    setup_next(setup);
    return !setup_next_argument(setup) || setup_fail_argument(setup);
}

static bool check_any(struct setup *setup)
{
    if (setup_is_before(setup, with_strict_blocks))
        return true;
    return check_alone(setup) && (!setup_next_option(setup) || setup_fail_option(setup));
}

// One of these in a block, without arguments.
static bool check_debug(struct setup *setup)
{
    while (setup_next(setup))
        if (setup_next_argument(setup))
            return setup_fail_argument(setup);
    return true;
}

static bool check_loop(struct setup *setup)
{
    while (setup_next(setup)) {
        if (!setup_is_first(setup))
            return false;
        if (setup_next_argument(setup))
            return setup_fail_argument(setup);
    }
    return true;
}

const struct checked_plugin server_plugins[] = {
    {.name = "errors", .check = check_errors},
    {.name = "log", .check = check_log},
    {.name = "health", .check = check_health},
    {.name = "ready", .check = check_ready},
    {.name = "prometheus", .check = check_prometheus},
    {.name = "reload", .check = check_reload},
    {.name = "bufsize", .check = check_bufsize},
    {.name = "multisocket", .check = check_multisocket},
    {.name = "bind", .check = check_bind},
    {.name = "chaos", .check = check_chaos},
    {.name = "any", .check = check_any},
    {.name = "debug", .check = check_debug},
    {.name = "loop", .check = check_loop},
    {.name = "minimal", .check = check_alone},
    {.name = "whoami", .check = check_alone},
    {0},
};
