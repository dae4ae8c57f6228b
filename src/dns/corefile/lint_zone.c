#include "dns/corefile/setup.h"

// Plugins that serve zones of files and of other servers, and hand zones on.

enum { REGEXP_LEN_MAX = 10000 };

static const struct coredns_version with_transfer_required = {1, 12, 2};
static const struct coredns_version with_catalog_members = {1, 14, 7};
static const struct coredns_version with_addresses_in_zones = {1, 14, 5};
static const struct coredns_version with_regexp_limit = {1, 13, 2}; // of auto

// ---- file ---------------------------------------------------------------------------------------

static bool check_file_reload(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns;
    if (!count)
        return setup_fail(setup, "reload", "reload duration value is expected");
    if (go_duration(setup, arguments[0], &ns))
        return true;
    setup_repeat_prefix(setup);
    return false;
}

static const struct option file_options[] = {
    {.name = "fallthrough", .form = OPTION_ANY, .since = {1, 12, 2}},
    {.name = "reload", .form = OPTION_ALL, .check = check_file_reload},
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

// ---- auto ---------------------------------------------------------------------------------------

// Part of the file's name is the zone, so that the pattern must have a group.
static bool check_file_pattern(struct setup *setup, struct text pattern)
{
    unsigned groups = 0;
    const char *fault = NULL;
    if (pattern.len > REGEXP_LEN_MAX && !setup_is_before(setup, with_regexp_limit))
        return setup_fail_at(setup, "regexp", "regexp too large");
    enum go_regexp found = go_regexp_read(setup->linter->arena, pattern, &groups, &fault);
    if (found == GO_REGEXP_BAD)
        return setup_fail(setup, "regexp", "%s", fault);
    return found == GO_REGEXP_UNKNOWN || groups ||
           setup_fail_at(setup, "regexp", "Need at least one sub expression");
}

// DIRECTORY [REGEXP TEMPLATE]
static bool check_directory(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)arguments;
    (void)count;
    if (!setup_next_argument(setup))
        return true;
    if (!check_file_pattern(setup, setup_value(setup)))
        return false;
    return (setup_next_argument(setup) && !setup_next_argument(setup)) ||
           setup_fail_argument(setup);
}

// CoreDNS says `file` here, too.
static bool check_auto_reload(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns = 0;
    if (!count)
        return setup_fail(setup, "reload", "reload duration value is expected");
    const char *fault = go_duration_error(setup->linter->arena, arguments[0], &ns);
    if (!fault && ns < 0)
        fault = "invalid duration";
    return !fault || setup_fail(setup, "duration", "plugin/file: %s", fault);
}

static const struct option auto_options[] = {
    {.name = "directory", .form = OPTION_ONE, .check = check_directory},
    {.name = "reload", .form = OPTION_ALL, .check = check_auto_reload},
    {.name = "upstream", .form = OPTION_ANY},
};

static bool check_auto(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        setup_arguments(setup, &count);
        if (!setup_read_options(setup, auto_options, COUNT_OF(auto_options)))
            return false;
    }
    return true;
}

// ---- secondary ----------------------------------------------------------------------------------

// HOST or HOST:PORT, an address.
static bool check_host_port(struct setup *setup, struct text text)
{
    struct text port;
    struct text host = text;
    go_split_host_port(NULL, text, &host, &port);
    bool has_zones = !setup_is_before(setup, with_addresses_in_zones);
    return go_is_ip(has_zones ? go_without_zone(host) : host) ||
           setup_fail(setup, "address", "must specify an IP address: `%.*s'", TEXT_ARGS(host));
}

static bool check_transfer_from(struct setup *setup, const struct text *words, size_t word_count)
{
    size_t count;
    (void)word_count;
    if (!text_is(words[0], "from"))
        return setup_fail_at(setup, "unknown-property", "unknown property %.*s",
                             TEXT_ARGS(words[0]));
    struct text *addresses = setup_arguments(setup, &count);
    if (!count)
        return setup_fail_argument(setup);
    for (size_t i = 0; i < count; i++) {
        if (text_is(addresses[i], "*"))
            return setup_fail(setup, "address", "can't use '*' in transfer from");
        if (!check_host_port(setup, addresses[i]))
            return false;
    }
    return true;
}

static bool check_catalog(struct setup *setup, const struct text *zones, size_t count)
{
    if (setup_is_before(setup, with_catalog_members))
        return !count || setup_fail_argument(setup);
    for (size_t i = 0; i < count; i++)
        if (!zone_is_normal(setup->linter, zones[i]))
            return setup_fail(setup, "catalog", "invalid catalog member zone %s",
                              go_quote(setup->linter->arena, zones[i]));
    return true;
}

static const struct option secondary_options[] = {
    {.name = "transfer", .form = OPTION_ONE, .check = check_transfer_from},
    {.name = "catalog", .form = OPTION_ALL, .check = check_catalog, .since = {1, 14, 5}},
    {.name = "fallthrough", .form = OPTION_ANY, .since = {1, 14, 4}},
};

static bool check_secondary(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        setup_arguments(setup, &count);
        if (!setup_read_options(setup, secondary_options, COUNT_OF(secondary_options)))
            return false;
        if (!setup_has_option(setup, "transfer") && !setup_is_before(setup, with_transfer_required))
            return setup_fail_at(setup, "transfer-from",
                                 "secondary zones require a transfer from property");
    }
    return true;
}

// ---- transfer -----------------------------------------------------------------------------------

// CoreDNS prints the plugin's name twice before all that it says of lines of its own.
static bool fail_transfer(struct setup *setup, const char *rule, const char *text)
{
    setup_fail_at(setup, rule, "%s", text);
    setup_repeat_prefix(setup);
    return false;
}

static bool fail_transfer_option(struct setup *setup)
{
    struct arena *arena = setup->linter->arena;
    return fail_transfer(
        setup, "unknown-property",
        arena_printf(arena, "unknown property %s", go_quote(arena, setup_value(setup))));
}

static bool check_transfer_source(struct setup *setup, const struct text *arguments, size_t count)
{
    struct arena *arena = setup->linter->arena;
    (void)count;
    if (setup_has_option(setup, "source"))
        return fail_transfer(setup, "once", "source already specified");
    return go_is_ip(arguments[0]) || fail_transfer(setup, "address",
                                                   arena_printf(arena, "invalid source address %s",
                                                                go_quote(arena, arguments[0])));
}

static bool check_transfer_to(struct setup *setup, const struct text *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!text_is(addresses[i], "*") && !check_host_port(setup, addresses[i]))
            return false;
    return true;
}

static const struct option transfer_options[] = {
    {.name = "to", .form = OPTION_ALL, .min = 1, .check = check_transfer_to},
    {.name = "source",
     .form = OPTION_ALL,
     .min = 1,
     .max = 1,
     .check = check_transfer_source,
     .since = {1, 14, 5}},
};

static bool check_transfer(struct setup *setup)
{
    setup->fail_option = fail_transfer_option;
    while (setup_next(setup)) {
        size_t count;
        setup_arguments(setup, &count);
        if (!setup_read_options(setup, transfer_options, COUNT_OF(transfer_options)))
            return false;
        if (!setup_has_option(setup, "to"))
            return fail_transfer(setup, "transfer-to", "'to' is required");
    }
    return true;
}

const struct checked_plugin zone_plugins[] = {
    {.name = "file", .check = check_file},
    {.name = "auto", .check = check_auto},
    {.name = "secondary", .check = check_secondary},
    {.name = "transfer", .check = check_transfer},
    {0},
};
