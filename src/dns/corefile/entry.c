#include "dns/corefile/entry.h"

#include <string.h>

#include "base/must.h"
#include "dns/corefile/address.h"
#include "dns/corefile/corefile_private.h"

// The entry that is read, and what it can't say.
struct reader {
    struct arena *arena;
    const struct corefile *corefile;
    struct corefile_entry *entry;
    struct corefile_rest *rest;
};

// The arguments on one line.
struct line {
    const struct text *items;
    size_t count;
};

static void add_rest(struct reader *reader, struct text text)
{
    struct corefile_rest *rest = reader->rest;
    arena_reserve(reader->arena, &rest->items, &rest->capacity, rest->count + 1);
    rest->items[rest->count++] = text;
}

static void add_line(struct reader *reader, const char *parent, struct text name, struct line line)
{
    AUTO_BUFFER out = {0};
    buffer_printf(&out, "%s%s%.*s", parent, *parent ? " " : "", TEXT_ARGS(name));
    for (size_t i = 0; i < line.count; i++)
        buffer_printf(&out, " %.*s", TEXT_ARGS(line.items[i]));
    add_rest(reader, (struct text){arena_copy(reader->arena, out.at, out.len), out.len});
}

// The tokens behind `at` on the same line, up to a brace.
static struct line line_at(struct reader *reader, size_t at, size_t end)
{
    size_t last = at;
    struct text *items = arena_new_array(reader->arena, struct text, end - at);
    while (last + 1 < end &&
           !corefile_starts_line(&reader->corefile->tokens[last],
                                 &reader->corefile->tokens[last + 1]) &&
           !text_is(corefile_text(reader->corefile, last + 1), "{")) {
        items[last - at] = corefile_text(reader->corefile, last + 1);
        last++;
    }
    return (struct line){items, last - at};
}

// An option within a block: false, it is not one that an entry has.
struct option_reader {
    const char *name;
    bool (*read)(struct reader *reader, struct line line);
};

static bool read_option(struct reader *reader, const struct option_reader *options, size_t count,
                        struct text name, struct line line)
{
    for (size_t i = 0; i < count; i++)
        if (text_is(name, options[i].name))
            return options[i].read(reader, line);
    return false;
}

// Reads the block of options of a directive, if it has one.
static void read_options(struct reader *reader, const struct corefile_directive *directive,
                         const struct option_reader *options, size_t count)
{
    size_t end = directive->first + directive->count;
    struct text name = corefile_text(reader->corefile, directive->first);
    size_t at = directive->first + 1;
    while (at < end && !text_is(corefile_text(reader->corefile, at), "{"))
        at++;
    for (at++; at < end && !text_is(corefile_text(reader->corefile, at), "}");) {
        struct line line = line_at(reader, at, end);
        struct text option = corefile_text(reader->corefile, at);
        if (!read_option(reader, options, count, option, line))
            add_line(reader, arena_copy(reader->arena, name.at, name.len), option, line);
        at += line.count + 1;
    }
}

static bool read_uint32(struct text text, uint32_t *out)
{
    int64_t number;
    if (!text_to_int64(text, &number) || number < 0 || number > UINT32_MAX)
        return false;
    *out = (uint32_t)number;
    return true;
}

// ---- forward ------------------------------------------------------------------------------------

static bool read_policy(struct reader *reader, struct line line)
{
    for (size_t i = 0; line.count == 1 && i < FORWARD_POLICIES; i++)
        if (text_is(line.items[0], forward_policy_names[i])) {
            reader->entry->forward.policy = (enum forward_policy)i;
            return true;
        }
    return false;
}

static bool read_server_name(struct reader *reader, struct line line)
{
    if (line.count != 1)
        return false;
    reader->entry->forward.tls_server_name = line.items[0];
    return true;
}

static bool read_tls(struct reader *reader, struct line line)
{
    if (line.count > 1)
        return false;
    if (line.count)
        reader->entry->forward.tls_bundle = line.items[0];
    return true;
}

static bool read_force_tcp(struct reader *reader, struct line line)
{
    reader->entry->forward.forces_tcp = true;
    return !line.count;
}

static bool read_prefer_udp(struct reader *reader, struct line line)
{
    reader->entry->forward.prefers_udp = true;
    return !line.count;
}

static bool read_except(struct reader *reader, struct line line)
{
    reader->entry->forward.except = line.items;
    reader->entry->forward.except_count = line.count;
    return line.count > 0;
}

static bool read_failover(struct reader *reader, struct line line)
{
    reader->entry->forward.failover = line.items;
    reader->entry->forward.failover_count = line.count;
    return line.count > 0;
}

static bool read_expire(struct reader *reader, struct line line)
{
    if (line.count != 1)
        return false;
    reader->entry->forward.expire = line.items[0];
    return true;
}

static bool read_max_fails(struct reader *reader, struct line line)
{
    struct corefile_forward *forward = &reader->entry->forward;
    forward->has_max_fails = line.count == 1 && read_uint32(line.items[0], &forward->max_fails);
    return forward->has_max_fails;
}

static bool read_max_concurrent(struct reader *reader, struct line line)
{
    struct corefile_forward *forward = &reader->entry->forward;
    forward->has_max_concurrent =
        line.count == 1 && read_uint32(line.items[0], &forward->max_concurrent);
    return forward->has_max_concurrent;
}

static bool read_health_check(struct reader *reader, struct line line)
{
    struct corefile_forward *forward = &reader->entry->forward;
    if (!line.count)
        return false;
    forward->health_interval = line.items[0];
    for (size_t i = 1; i < line.count; i++) {
        if (text_is(line.items[i], "no_rec"))
            forward->is_health_without_recursion = true;
        else if (text_is(line.items[i], "domain") && i + 1 < line.count)
            forward->health_domain = line.items[++i];
        else
            return false;
    }
    return true;
}

static const struct option_reader forward_options[] = {
    {"policy", read_policy},
    {"tls_servername", read_server_name},
    {"tls", read_tls},
    {"force_tcp", read_force_tcp},
    {"except", read_except},
    {"prefer_udp", read_prefer_udp},
    {"expire", read_expire},
    {"max_fails", read_max_fails},
    {"health_check", read_health_check},
    {"max_concurrent", read_max_concurrent},
    {"failover", read_failover},
};

static struct text without_transport(struct text upstream, bool *is_tls)
{
    static const char tls[] = "tls://";
    static const char dns[] = "dns://";
    *is_tls = text_starts(upstream, tls);
    if (!*is_tls && !text_starts(upstream, dns))
        return upstream;
    return (struct text){upstream.at + sizeof tls - 1, upstream.len - (sizeof tls - 1)};
}

// Behind "forward .". All by TLS, or none.
static void read_upstreams(struct reader *reader, struct line line)
{
    struct corefile_forward *forward = &reader->entry->forward;
    struct text *upstreams = arena_new_array(reader->arena, struct text, line.count);
    for (size_t i = 1; i < line.count; i++) {
        bool is_tls;
        struct text upstream = without_transport(line.items[i], &is_tls);
        if (i == 1)
            forward->uses_tls = is_tls;
        if (is_tls != forward->uses_tls)
            add_rest(reader, line.items[i]);
        else
            upstreams[forward->upstream_count++] = upstream;
    }
    forward->upstreams = upstreams;
}

static bool read_forward(struct reader *reader, const struct corefile_directive *directive)
{
    struct line line = line_at(reader, directive->first, directive->first + directive->count);
    if (line.count < 2 || !text_is(line.items[0], "."))
        return false;
    reader->entry->forward = (struct corefile_forward){0};
    read_upstreams(reader, line);
    read_options(reader, directive, forward_options, COUNT_OF(forward_options));
    return true;
}

bool corefile_read_forward(struct arena *arena, const struct corefile *corefile,
                           const struct corefile_directive *directive, struct corefile_forward *out,
                           struct corefile_rest *rest)
{
    struct corefile_entry entry = {0};
    struct reader reader = {arena, corefile, &entry, rest};
    if (!read_forward(&reader, directive))
        return false;
    *out = entry.forward;
    return true;
}

// ---- cache and template -------------------------------------------------------------------------

static bool read_denial(struct reader *reader, struct line line)
{
    uint32_t capacity;
    return line.count == 2 && read_uint32(line.items[0], &capacity) &&
           read_uint32(line.items[1], &reader->entry->cache.negative_s);
}

static bool read_serve_stale(struct reader *reader, struct line line)
{
    if (line.count != 1)
        return false;
    reader->entry->cache.serve_stale = line.items[0];
    return true;
}

static const struct option_reader cache_options[] = {
    {"denial", read_denial},
    {"serve_stale", read_serve_stale},
};

static bool read_cache(struct reader *reader, const struct corefile_directive *directive)
{
    struct line line = line_at(reader, directive->first, directive->first + directive->count);
    if (line.count > 1 ||
        (line.count && !read_uint32(line.items[0], &reader->entry->cache.positive_s)))
        return false;
    read_options(reader, directive, cache_options, COUNT_OF(cache_options));
    return true;
}

// Only the one that answers AAAA with nothing.
static bool read_template(struct reader *reader, const struct corefile_directive *directive)
{
    static const char *const words[] = {"template", "IN",    "AAAA",    ".",
                                        "{",        "rcode", "NOERROR", "}"};
    if (directive->count != COUNT_OF(words))
        return false;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (!text_is(corefile_text(reader->corefile, directive->first + i), words[i]))
            return false;
    reader->entry->filters_aaaa = true;
    return true;
}

static bool is_written_anyway(struct reader *reader, const struct corefile_directive *directive)
{
    (void)reader;
    (void)directive;
    return true;
}

// ---- the block ----------------------------------------------------------------------------------

static const struct directive_reader {
    const char *name;
    bool (*read)(struct reader *reader, const struct corefile_directive *directive);
} directive_readers[] = {
    {"forward", read_forward},         {"cache", read_cache},
    {"template", read_template},       {"errors", is_written_anyway},
    {"log", is_written_anyway},        {"bufsize", is_written_anyway},
    {"prometheus", is_written_anyway}, {"reload", is_written_anyway},
};

static bool read_directive(struct reader *reader, const struct corefile_directive *directive)
{
    struct text name = corefile_text(reader->corefile, directive->first);
    for (size_t i = 0; i < COUNT_OF(directive_readers); i++)
        if (text_is(name, directive_readers[i].name))
            return directive_readers[i].read(reader, directive);
    return false;
}

static struct text zone_of(struct arena *arena, struct text zone)
{
    struct text name = corefile_zone_name(arena, zone, false);
    return name.len > 1 ? (struct text){name.at, name.len - 1} : name;
}

static void read_zones(struct reader *reader, const struct corefile_block *block)
{
    size_t count = 0;
    size_t capacity = 0;
    struct text *zones = NULL;
    for (size_t i = 0; i < block->key_count; i++) {
        struct corefile_address address;
        if (corefile_address_read(reader->arena, block->keys[i], &address) ||
            strcmp(address.transport, "dns") != 0) {
            add_rest(reader, block->keys[i]);
            continue;
        }
        // A network has several.
        arena_reserve(reader->arena, &zones, &capacity, count + address.zone_count);
        for (size_t at = 0; at < address.zone_count; at++)
            zones[count++] = zone_of(reader->arena, address.zones[at]);
    }
    reader->entry->zones = zones;
    reader->entry->zone_count = count;
}

static bool forwards(const struct corefile *corefile, const struct corefile_directive *directive)
{
    return text_is(corefile_text(corefile, directive->first), "forward");
}

bool corefile_read_entry(struct arena *arena, const struct corefile *corefile,
                         const struct corefile_block *block, struct corefile_entry *out,
                         struct corefile_rest *rest)
{
    bool has_forward = false;
    struct reader reader = {arena, corefile, out, rest};
    *out = (struct corefile_entry){0};
    read_zones(&reader, block);
    for (size_t i = 0; i < block->directive_count; i++) {
        const struct corefile_directive *directive = &block->directives[i];
        bool is_second = has_forward && forwards(corefile, directive);
        if (!is_second && read_directive(&reader, directive)) {
            has_forward |= forwards(corefile, directive);
            continue;
        }
        add_line(&reader, "", corefile_text(corefile, directive->first),
                 line_at(&reader, directive->first, directive->first + directive->count));
    }
    return has_forward && out->forward.upstream_count && out->zone_count;
}
