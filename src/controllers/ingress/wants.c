#include "controllers/ingress/wants.h"

#include <string.h>

#include "dns/record.h"

enum { SHOWN_OCTETS_MAX = 80 };

struct reading {
    struct arena *arena;
    const struct source *source;
    const struct pihole_targets *targets;
    struct text namespace_;
    struct wants *out;
    struct problems *problems;
};

static struct text annotation(const struct reading *reading, enum pihole_annotation which)
{
    return text_trim(reading->source->annotations.at[which]);
}

// Of an object that is not registered only the annotation `register` matters.
static void refuse_annotation(struct reading *reading, enum pihole_annotation which,
                              const char *error)
{
    if (!reading->out->is_registered && which != PIHOLE_REGISTER)
        return;
    problems_add_value(reading->problems, pihole_annotation_names[which],
                       reading->source->annotations.at[which], "%s", error);
}

static const char *shown(struct arena *arena, struct text text)
{
    char clean[SHOWN_OCTETS_MAX];
    text_clean_into(clean, sizeof clean, text);
    return arena_copy_text(arena, clean);
}

static bool next_item(struct text *list, struct text *item)
{
    while (text_cut(list, ',', item)) {
        *item = text_trim(*item);
        if (item->len)
            return true;
    }
    return false;
}

// ---- register -----------------------------------------------------------------------------------

static void read_register(struct reading *reading)
{
    static const char *const refusals[] = {"", "false", "no", "n", "off", "0", "f"};
    struct text given = reading->source->annotations.at[PIHOLE_REGISTER];
    if (text_is(given, "true")) {
        reading->out->is_registered = true;
        return;
    }
    for (size_t i = 0; i < COUNT_OF(refusals); i++)
        if (text_equal_nocase(text_trim(given), text_of(refusals[i])))
            return;
    refuse_annotation(reading, PIHOLE_REGISTER, "only \"true\" registers");
}

// ---- names --------------------------------------------------------------------------------------

static bool is_address(struct arena *arena, struct text name)
{
    struct text ignored;
    return record_value_normalise(arena, RECORD_A, name, &ignored, NULL);
}

// Why we publish nothing under that name, or NULL.
static const char *harm_of(struct arena *arena, struct text name)
{
    if (text_is(name, "localhost") || text_ends(name, ".localhost"))
        return "means the computer that asks, wherever it stands (RFC 6761)";
    if (text_is(name, "pi.hole"))
        return "is Pi-hole's own name";
    return is_address(arena, name) ? "is an address and no name" : NULL;
}

bool wants_name(struct arena *arena, struct text host, struct text *out, struct error *err)
{
    struct text name;
    if (host.len && memchr(host.at, '*', host.len))
        return error_set(err, FAULT_SPEC, "InvalidHost", "Pi-hole serves no wildcards");
    if (!domain_normalise(arena, host, &name, err))
        return false;
    const char *harm = harm_of(arena, name);
    if (harm)
        return error_set(err, FAULT_SPEC, "InvalidHost", "%s", harm);
    *out = name;
    return true;
}

static bool has_name(const struct wants *wants, struct text name)
{
    for (size_t i = 0; i < wants->name_count; i++)
        if (text_equal(wants->names[i], name))
            return true;
    return false;
}

static void refuse_host(struct reading *reading, struct text host, const char *why)
{
    problems_add(reading->problems, "InvalidHost", "%s: %s", shown(reading->arena, host), why);
}

// False: there are too many.
static bool add_host(struct reading *reading, struct text *names, struct text host)
{
    struct text name = {0};
    struct error err;
    struct wants *out = reading->out;
    if (!wants_name(reading->arena, host, &name, &err))
        refuse_host(reading, host, err.text);
    else if (out->cname.len && text_equal(name, out->cname))
        refuse_host(reading, host, "it is its own target");
    else if (!has_name(out, name)) {
        if (out->name_count == WANTS_NAMES_MAX)
            return false;
        names[out->name_count++] = name;
    }
    return true;
}

static const struct text *list_hosts(const struct reading *reading, size_t *count)
{
    struct text list = reading->source->annotations.at[PIHOLE_HOSTS];
    struct text rest = list;
    struct text item;
    for (*count = 0; next_item(&rest, &item);)
        ++*count;
    if (!*count) {
        *count = reading->source->host_count;
        return reading->source->hosts;
    }
    struct text *hosts = arena_new_array(reading->arena, struct text, *count);
    for (size_t i = 0; next_item(&list, &item);)
        hosts[i++] = item;
    return hosts;
}

static void read_names(struct reading *reading)
{
    size_t count;
    size_t i = 0;
    const struct text *hosts = list_hosts(reading, &count);
    size_t looked = count < WANTS_LOOKED_MAX ? count : WANTS_LOOKED_MAX;
    size_t room = looked < WANTS_NAMES_MAX ? looked : WANTS_NAMES_MAX;
    struct text *names = arena_new_array(reading->arena, struct text, room + 1);
    reading->out->names = names;
    while (i < looked && add_host(reading, names, hosts[i]))
        i++;
    if (i < count)
        problems_add(reading->problems, "TooManyHosts",
                     "%zu names are left out: one object has at most %d", count - i,
                     WANTS_NAMES_MAX);
    if (!reading->out->name_count)
        problems_add(reading->problems, "NoHosts", "%s",
                     count ? "no name of it can be published" : reading->source->no_hosts);
}

// ---- targets ------------------------------------------------------------------------------------

static void read_ttl(struct reading *reading)
{
    int64_t ttl_s = 0;
    struct text given = annotation(reading, PIHOLE_CNAME_TTL);
    if (!given.len)
        return;
    if (text_to_int64(given, &ttl_s) && ttl_s >= 1 && ttl_s <= INT32_MAX)
        reading->out->cname_ttl_s = (uint32_t)ttl_s;
    else
        refuse_annotation(reading, PIHOLE_CNAME_TTL,
                          "expected seconds from 1 to 2147483647; none is set");
}

static void freeze(struct reading *reading, enum pihole_annotation which, const char *error)
{
    reading->out->is_frozen = true;
    refuse_annotation(reading, which,
                      arena_printf(reading->arena, "%s; published records stay", error));
}

static void read_cname(struct reading *reading)
{
    struct error err;
    struct text given = annotation(reading, PIHOLE_TARGET_CNAME);
    if (!given.len)
        return;
    if (annotation(reading, PIHOLE_TARGET_IP).len) {
        freeze(reading, PIHOLE_TARGET_CNAME, "pihole.io/target-ip is set, too: remove one");
        return;
    }
    if (memchr(given.at, '*', given.len))
        error_set(&err, FAULT_SPEC, "", "a target is no wildcard");
    else if (is_address(reading->arena, given))
        error_set(&err, FAULT_SPEC, "", "addresses belong into pihole.io/target-ip");
    else if (target_normalise(reading->arena, given, false, &reading->out->cname, &err)) {
        read_ttl(reading);
        return;
    }
    freeze(reading, PIHOLE_TARGET_CNAME, err.text);
}

static const struct pihole_addresses *read_own(struct reading *reading)
{
    struct error err;
    struct pihole_addresses *own = arena_new_of(reading->arena, struct pihole_addresses);
    struct text given = annotation(reading, PIHOLE_TARGET_IP);
    if (!given.len || annotation(reading, PIHOLE_TARGET_CNAME).len)
        return NULL;
    if (!pihole_addresses_read(reading->arena, given, own, &err)) {
        freeze(reading, PIHOLE_TARGET_IP, err.text);
        return NULL;
    }
    if (pihole_addresses_loop(own))
        refuse_annotation(reading, PIHOLE_TARGET_IP,
                          "leads each computer to itself; it is published so");
    return own;
}

// What is no address is left out: the status of others is not ours to judge.
static const struct pihole_addresses *read_status(const struct reading *reading)
{
    AUTO_BUFFER list = {0};
    struct pihole_addresses one;
    struct pihole_addresses *all = arena_new_of(reading->arena, struct pihole_addresses);
    for (size_t i = 0, kept = 0; i < reading->source->address_count && kept < PIHOLE_ADDRESSES_MAX;
         i++) {
        struct text ip = reading->source->addresses[i];
        if (!pihole_addresses_read(reading->arena, ip, &one, NULL) || one.is_status)
            continue;
        buffer_printf(&list, "%.*s,", TEXT_ARGS(ip));
        kept++;
    }
    (void)pihole_addresses_read(reading->arena, buffer_text(&list), all, NULL);
    return all;
}

static bool is_empty(const struct pihole_addresses *addresses)
{
    return !addresses->v4_count && !addresses->v6_count;
}

static const struct pihole_addresses *usual_of(const struct reading *reading,
                                               const struct pihole_target *target)
{
    const struct pihole_addresses *its = &target->addresses;
    return its->is_status || !is_empty(its) ? its : &reading->targets->addresses;
}

static void read_addresses(struct reading *reading)
{
    const struct pihole_addresses *own = read_own(reading);
    const struct pihole_addresses *status = read_status(reading);
    for (size_t i = 0; i < reading->out->target_count; i++) {
        struct want_target *at = &reading->out->targets[i];
        at->addresses = own ? own : usual_of(reading, at->target);
        bool is_status = at->addresses->is_status;
        if (is_status)
            at->addresses = status;
        if (is_empty(at->addresses) && !reading->out->cname.len)
            at->missing = is_status ? reading->source->no_addresses : "no address is given";
    }
}

static void report_missing(struct reading *reading)
{
    for (size_t i = 0; i < reading->out->target_count; i++) {
        const struct want_target *at = &reading->out->targets[i];
        if (!at->is_in_reach || !at->missing)
            continue;
        problems_add(reading->problems, "TargetsMissing", "%s; what is published stays",
                     at->missing);
        return;
    }
}

// ---- instances ----------------------------------------------------------------------------------

static bool serves(const struct pihole_target *target, struct text namespace_)
{
    for (size_t i = 0; i < target->namespace_count; i++)
        if (text_is(namespace_, target->namespaces[i]))
            return true;
    return !target->namespace_count;
}

static void list_targets(struct reading *reading)
{
    struct wants *out = reading->out;
    out->target_count = reading->targets->count;
    out->targets = arena_new_array(reading->arena, struct want_target, out->target_count + 1);
    for (size_t i = 0; i < out->target_count; i++) {
        const struct pihole_target *target = &reading->targets->items[i];
        out->targets[i] = (struct want_target){.target = target,
                                               .is_in_reach = serves(target, reading->namespace_)};
    }
}

static void refuse_instance(struct reading *reading, struct text name, const char *why)
{
    refuse_annotation(reading, PIHOLE_INSTANCES,
                      arena_printf(reading->arena, "%s %s", shown(reading->arena, name), why));
}

// Unknown names are reported and left out. If none is known, nobody knows what is meant: all stays.
static void choose_targets(struct reading *reading, struct text list)
{
    struct wants *out = reading->out;
    bool *is_chosen = arena_new_array(reading->arena, bool, out->target_count + 1);
    bool has_any = false;
    struct text name;
    while (next_item(&list, &name)) {
        const struct pihole_target *target = pihole_targets_find(reading->targets, name);
        if (!target) {
            refuse_instance(reading, name, "is no Pi-hole here");
            continue;
        }
        size_t at = (size_t)(target - reading->targets->items);
        is_chosen[at] = has_any = true;
        if (!out->targets[at].is_in_reach)
            refuse_instance(reading, name, "does not serve this namespace");
    }
    out->is_frozen |= !has_any;
    for (size_t i = 0; has_any && i < out->target_count; i++)
        out->targets[i].is_in_reach &= is_chosen[i];
}

static void read_instances(struct reading *reading)
{
    struct text list = reading->source->annotations.at[PIHOLE_INSTANCES];
    struct text rest = list;
    struct text name;
    list_targets(reading);
    if (reading->targets->count && next_item(&rest, &name))
        choose_targets(reading, list);
}

// ---- the rest -----------------------------------------------------------------------------------

static void read_policy(struct reading *reading)
{
    struct text given = annotation(reading, PIHOLE_DELETION_POLICY);
    if (given.len && !text_is(given, "orphan") && !text_is(given, "delete"))
        refuse_annotation(reading, PIHOLE_DELETION_POLICY, "expected orphan or delete");
}

void wants_read(struct arena *arena, const struct source *source,
                const struct pihole_targets *targets, struct text namespace_, struct wants *out,
                struct problems *problems)
{
    struct reading reading = {arena, source, targets, namespace_, out, problems};
    *out = (struct wants){0};
    read_register(&reading);
    read_instances(&reading);
    if (!out->is_registered)
        return;
    read_cname(&reading);
    read_addresses(&reading);
    read_names(&reading);
    if (!out->is_frozen)
        report_missing(&reading);
    read_policy(&reading);
}
