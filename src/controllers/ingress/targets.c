#include "controllers/ingress/targets.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/must.h"
#include "base/url.h"
#include "dns/record.h"

enum {
    NAME_OCTETS_MAX = 63,
    SHOWN_OCTETS_MAX = 80,
    MAX_DELETE_PERCENT = 30,
    VERIFY_S = 60,
    RESTART_MIN_S = 10,
    MAPPED_AT = 12, // of the IPv4 address in an IPv6 one
    PIN_OCTETS = 44,
    LOOPBACK_NET = 127,
};

const struct pihole_targets pihole_targets_defaults = {
    .max_delete_percent = MAX_DELETE_PERCENT,
    .verify_s = VERIFY_S,
    .restart_min_s = RESTART_MIN_S,
};

const char *const pihole_dialects[] = {"auto", "v6", "legacy", NULL};
const char *const pihole_ownerships[] = {"comment", "annotation", NULL};
const char *const pihole_writes[] = {"auto", "patch", "element", NULL};

// ---- addresses ----------------------------------------------------------------------------------

struct reading {
    struct arena *arena;
    struct text v4[PIHOLE_ADDRESSES_MAX];
    size_t v4_count;
    struct text v6[PIHOLE_ADDRESSES_MAX];
    size_t v6_count;
};

// The IPv4 address within an IPv6 one.
static bool read_mapped(struct arena *arena, struct text text, struct text *out)
{
    struct in6_addr address;
    char quad[INET_ADDRSTRLEN];
    const char *typed = arena_copy(arena, text.at, text.len);
    if (strlen(typed) != text.len || inet_pton(AF_INET6, typed, &address) != 1 ||
        !IN6_IS_ADDR_V4MAPPED(&address))
        return false;
    must(inet_ntop(AF_INET, &address.s6_addr[MAPPED_AT], quad, sizeof quad));
    *out = text_of(arena_copy_text(arena, quad));
    return true;
}

// ---- kinds of addresses -------------------------------------------------------------------------

enum { V6_OCTETS = sizeof(struct in6_addr), TYPED_MAX = INET6_ADDRSTRLEN };

// The address as one of IPv6, an IPv4 one mapped into it. The text is canonical.
static struct in6_addr octets_of(struct text address)
{
    char typed[TYPED_MAX + sizeof "::ffff:"];
    struct in6_addr octets;
    bool is_v4 = !memchr(address.at, ':', address.len);
    snprintf(typed, sizeof typed, "%s%.*s", is_v4 ? "::ffff:" : "", TEXT_ARGS(address));
    must(inet_pton(AF_INET6, typed, &octets) == 1);
    return octets;
}

static bool is_loopback(struct text address)
{
    struct in6_addr octets = octets_of(address);
    return IN6_IS_ADDR_LOOPBACK(&octets) ||
           (IN6_IS_ADDR_V4MAPPED(&octets) && octets.s6_addr[MAPPED_AT] == LOOPBACK_NET);
}

bool pihole_addresses_loop(const struct pihole_addresses *addresses)
{
    bool loops = false;
    for (size_t i = 0; i < addresses->v4_count; i++)
        loops |= is_loopback(addresses->v4[i]);
    for (size_t i = 0; i < addresses->v6_count; i++)
        loops |= is_loopback(addresses->v6[i]);
    return loops;
}

// ---- reading them -------------------------------------------------------------------------------

static bool add_once(struct text *list, size_t *count, struct text text)
{
    for (size_t i = 0; i < *count; i++)
        if (text_equal(list[i], text))
            return true;
    if (*count == PIHOLE_ADDRESSES_MAX)
        return false;
    list[(*count)++] = text;
    return true;
}

// *out is canonical.
static bool check_address(struct arena *arena, struct text text, struct text *out,
                          struct error *err)
{
    bool is_v6 = memchr(text.at, ':', text.len) != NULL;
    enum record_type type = is_v6 ? RECORD_AAAA : RECORD_A;
    if (is_v6 && read_mapped(arena, text, out)) {
        type = RECORD_A;
    } else {
        if (!record_value_normalise(arena, type, text, out, err))
            return false;
        *out = record_value_canonical(arena, type, *out);
    }
    return !record_value_is_of_no_host(type, *out) ||
           error_set(err, FAULT_SPEC, "", "it is no computer's address");
}

static bool read_address(struct reading *reading, struct text text, struct error *err)
{
    struct text value;
    if (!check_address(reading->arena, text, &value, err)) {
        char shown[SHOWN_OCTETS_MAX];
        text_clean_into(shown, sizeof shown, text);
        return error_prefix(err, "%s: ", shown);
    }
    bool is_added = memchr(value.at, ':', value.len)
                        ? add_once(reading->v6, &reading->v6_count, value)
                        : add_once(reading->v4, &reading->v4_count, value);
    if (is_added && reading->v4_count + reading->v6_count <= PIHOLE_ADDRESSES_MAX)
        return true;
    return error_set(err, FAULT_SPEC, "", "at most %d addresses are allowed", PIHOLE_ADDRESSES_MAX);
}

static const struct text *keep_list(struct arena *arena, const struct text *list, size_t count)
{
    struct text *copy = arena_new_array(arena, struct text, count + 1);
    if (count)
        memcpy(copy, list, count * sizeof *list);
    return copy;
}

bool pihole_addresses_read(struct arena *arena, struct text list, struct pihole_addresses *out,
                           struct error *err)
{
    struct reading reading = {.arena = arena};
    struct text piece;
    if (text_is(text_trim(list), "status")) {
        *out = (struct pihole_addresses){.is_status = true};
        return true;
    }
    while (text_cut(&list, ',', &piece)) {
        piece = text_trim(piece);
        if (piece.len && !read_address(&reading, piece, err))
            return false;
    }
    if (!reading.v4_count && !reading.v6_count)
        return error_set(err, FAULT_SPEC, "", "no address is given");
    *out = (struct pihole_addresses){
        .v4 = keep_list(arena, reading.v4, reading.v4_count),
        .v4_count = reading.v4_count,
        .v6 = keep_list(arena, reading.v6, reading.v6_count),
        .v6_count = reading.v6_count,
    };
    return true;
}

// ---- pins ---------------------------------------------------------------------------------------

static bool is_base64(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

bool pihole_pin_check(struct text pin, struct error *err)
{
    static const size_t prefix = sizeof "sha256//" - 1;
    bool is_pin = text_is(pin, "learn");
    if (!is_pin && text_starts(pin, "sha256//") && pin.len == prefix + PIN_OCTETS) {
        is_pin = pin.at[pin.len - 1] == '=';
        for (size_t i = prefix; i + 1 < pin.len; i++)
            is_pin &= is_base64(pin.at[i]);
    }
    return is_pin || error_set(err, FAULT_SPEC, "",
                               "expected sha256// and 44 characters of base64, or learn");
}

// ---- targets ------------------------------------------------------------------------------------

static bool check_name(const char *name, struct error *err)
{
    struct text text = text_of(name);
    bool is_good = text.len && text.len <= NAME_OCTETS_MAX;
    for (size_t i = 0; i < text.len; i++) {
        char c = name[i];
        is_good &= (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    }
    return is_good || error_set(err, FAULT_SPEC, "", "name: 1 to %d of a-z, 0-9 and - are allowed",
                                NAME_OCTETS_MAX);
}

static bool is_same_place(const struct url *a, const struct url *b)
{
    return a->is_https == b->is_https && a->port == b->port && !strcmp(a->host, b->host);
}

static bool check_taken(const struct pihole_targets *targets, const char *name,
                        const struct url *url, struct error *err)
{
    for (size_t i = 0; i < targets->count; i++) {
        const struct pihole_target *other = &targets->items[i];
        struct url its;
        if (!strcmp(other->name, name))
            return error_set(err, FAULT_SPEC, "", "name: another Pi-hole is called %s", name);
        must(url_parse(&its, text_of(other->url), NULL));
        if (is_same_place(&its, url))
            return error_set(err, FAULT_SPEC, "", "url: %s is at the same host and port",
                             other->name);
    }
    return true;
}

static const char *or_first(const char *given, const char *const *choices)
{
    return given ? given : choices[0];
}

bool pihole_targets_add(struct arena *arena, struct pihole_targets *targets,
                        const struct pihole_target *target, struct error *err)
{
    struct url url;
    AUTO_BUFFER normal = {0};
    if (!check_name(target->name, err))
        return false;
    if (!url_parse(&url, text_of(target->url), err))
        return error_prefix(err, "url: ");
    if (!check_taken(targets, target->name, &url, err))
        return false;
    if (targets->count == PIHOLE_TARGETS_MAX)
        return error_set(err, FAULT_SPEC, "", "at most %d Pi-holes are allowed",
                         PIHOLE_TARGETS_MAX);
    if (!targets->items)
        targets->items = arena_new_array(arena, struct pihole_target, PIHOLE_TARGETS_MAX);
    url_write(&normal, &url);
    struct pihole_target *added = &targets->items[targets->count++];
    *added = *target;
    added->name = arena_copy_text(arena, target->name);
    added->url = arena_copy_text(arena, normal.at);
    added->backend = arena_printf(arena, "pihole-%s", target->name);
    added->dialect = or_first(target->dialect, pihole_dialects);
    added->ownership = or_first(target->ownership, pihole_ownerships);
    added->write = or_first(target->write, pihole_writes);
    return true;
}

static void put_given(struct arena *arena, struct value *map, const char *key, const char *text)
{
    if (text)
        value_put_text(arena, map, key, text);
}

struct value *pihole_target_config(struct arena *arena, const struct pihole_targets *targets,
                                   const struct pihole_target *target)
{
    struct value *config = value_make(arena, VALUE_MAP);
    struct value *tls = value_make(arena, VALUE_MAP);
    value_put_text(arena, config, "url", target->url);
    value_put_text(arena, config, "dialect", target->dialect);
    value_put_text(arena, config, "ownership", target->ownership);
    value_put_text(arena, config, "write", target->write);
    value_put_text(arena, config, "adopt", targets->adopts ? "managed" : "none");
    put_given(arena, tls, "caPem", target->ca);
    put_given(arena, tls, "serverName", target->server_name);
    put_given(arena, tls, "pin", target->pin);
    value_put_bool(arena, tls, "skipVerify", target->skips_verify);
    value_set(config, TEXT("tls"), tls);
    value_put_bool(arena, config, "noPassword", target->has_no_password);
    if (targets->access.is_read_probe)
        value_put_bool(arena, config, "isVisitor", true);
    else if (targets->access.process && targets->count > 1)
        value_put_text(arena, config, "place",
                       arena_printf(arena, "%s.%zu#%s", target->name,
                                    (size_t)(target - targets->items), targets->access.process));
    value_put_int(arena, config, "restartMinSeconds", targets->restart_min_s);
    return config;
}

const struct pihole_target *pihole_targets_find(const struct pihole_targets *targets,
                                                struct text name)
{
    for (size_t i = 0; i < targets->count; i++)
        if (text_is(name, targets->items[i].name))
            return &targets->items[i];
    return NULL;
}
