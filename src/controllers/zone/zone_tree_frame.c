#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "controllers/zone/zone_tree_private.h"

struct maker {
    struct arena *arena;
    struct dname apex;
    struct frame_faults faults;
    struct frame_errors *errors;
};

// ---- names --------------------------------------------------------------------------------------

static struct dname keep(struct maker *maker, struct dname name)
{
    return (struct dname){(const uint8_t *)arena_copy(maker->arena, name.at, name.len), name.len};
}

static void refuse(struct maker *maker, enum reason reason, const char *field,
                   const struct error *why)
{
    if (maker->faults.accepted)
        return;
    maker->faults.accepted = reason;
    if (maker->errors)
        (void)error_set(&maker->errors->accepted, FAULT_SPEC, NULL, "%s: %s", field, why->text);
}

static void hold(struct maker *maker, enum reason reason, const char *field,
                 const struct error *why)
{
    if (maker->faults.ready)
        return;
    maker->faults.ready = reason;
    if (maker->errors)
        (void)error_set(&maker->errors->ready, FAULT_SPEC, NULL, "%s: %s", field, why->text);
}

static bool read_name(struct maker *maker, const char *field, struct text text, struct dname *out)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    struct error err;
    if (dname_read(text, &maker->apex, DNAME_OF_OBJECT, octets, &name, &err)) {
        *out = keep(maker, name);
        return true;
    }
    refuse(maker, REASON_INVALID_SOA, field, &err);
    return false;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || (unsigned char)c >= 0x80;
}

// What stands before the @ is one label (RFC 1035 8).
static void add_local_part(struct buffer *out, struct text local)
{
    for (size_t i = 0; i < local.len; i++) {
        bool is_escape = local.at[i] == '\\' && i + 1 < local.len;
        if (!is_plain(local.at[i]) && !is_escape)
            buffer_add_char(out, '\\');
        buffer_add_char(out, local.at[i]);
        if (is_escape)
            buffer_add_char(out, local.at[++i]);
    }
}

// "a.b@c.d" as "a\.b.c.d."; what has no @ as it is.
static void write_mailbox(struct buffer *out, struct text text)
{
    const char *at = memrchr(text.at, '@', text.len);
    if (!at || text.len == 1) {
        buffer_add(out, text.at, text.len);
        return;
    }
    struct text local = {text.at, (size_t)(at - text.at)};
    struct text domain = {at + 1, text.len - local.len - 1};
    add_local_part(out, local);
    buffer_add_char(out, '.');
    buffer_add(out, domain.at, domain.len);
    if (!dname_text_is_full(domain))
        buffer_add_char(out, '.');
}

static void make_rname(struct maker *maker, struct text text, struct zone_frame *frame)
{
    AUTO_BUFFER mailbox = {0};
    if (text.at)
        write_mailbox(&mailbox, text);
    if (text.at && read_name(maker, "spec.rname", buffer_text(&mailbox), &frame->rname))
        return;
    uint8_t octets[DNAME_MAX];
    struct dname name;
    bool is_short = dname_read(TEXT("noc"), &maker->apex, DNAME_OF_OBJECT, octets, &name, NULL);
    frame->rname = keep(maker, is_short ? name : maker->apex);
}

// ---- timers -------------------------------------------------------------------------------------

static void make_timers(struct maker *maker, const struct zone_spec *spec, struct zone_frame *frame)
{
    static const uint32_t fallbacks[ZONE_TIMERS] = {360, 86400, 7200, 3600000, 360};
    uint32_t *const outs[ZONE_TIMERS] = {&frame->ttl_s, &frame->refresh_s, &frame->retry_s,
                                         &frame->expire_s, &frame->minimum_s};
    struct zone_timer timers[ZONE_TIMERS];
    struct error err;
    zone_timers(spec, timers);
    for (size_t i = 0; i < ZONE_TIMERS; i++) {
        bool is_within = zone_timer_check(&timers[i], &err);
        *outs[i] = is_within ? (uint32_t)timers[i].value : fallbacks[i];
        if (!is_within)
            refuse(maker, REASON_INVALID_SOA, timers[i].field, &err);
    }
}

// ---- nameservers --------------------------------------------------------------------------------

static bool read_address(struct maker *maker, struct text text, struct text *out)
{
    char terminated[INET6_ADDRSTRLEN];
    uint8_t octets[16];
    if (!text.len || text.len >= sizeof terminated || memchr(text.at, '\0', text.len))
        return false;
    memcpy(terminated, text.at, text.len);
    terminated[text.len] = '\0';
    bool is_4 = inet_pton(AF_INET, terminated, octets) == 1;
    if (!is_4 && inet_pton(AF_INET6, terminated, octets) != 1)
        return false;
    out->len = is_4 ? 4 : 16;
    out->at = arena_copy(maker->arena, octets, out->len);
    return true;
}

static bool is_address(struct maker *maker, struct text text)
{
    struct text octets;
    text.len -= text.len && text.at[text.len - 1] == '.';
    return read_address(maker, text, &octets);
}

static void make_addresses(struct maker *maker, const char *field,
                           const struct zone_spec_nameserver *spec, struct zone_nameserver *out)
{
    struct text *addresses = arena_new_array(maker->arena, struct text, spec->address_count + 1);
    for (size_t i = 0; i < spec->address_count; i++) {
        struct error err;
        if (read_address(maker, spec->addresses[i], &addresses[out->address_count])) {
            out->address_count++;
            continue;
        }
        (void)error_set(&err, FAULT_SPEC, NULL, "%.*s is no address",
                        TEXT_ARGS(spec->addresses[i]));
        hold(maker, REASON_MISSING_ADDRESS, field, &err);
    }
    out->addresses = addresses;
}

static bool make_nameserver(struct maker *maker, size_t number,
                            const struct zone_spec_nameserver *spec, struct zone_nameserver *out)
{
    char field[48];
    struct error err;
    (void)snprintf(field, sizeof field, "spec.nameservers[%zu]", number);
    if (is_address(maker, spec->name)) {
        (void)error_set(&err, FAULT_SPEC, NULL,
                        "%.*s is an address: give a name, and the address in addresses",
                        TEXT_ARGS(spec->name));
        hold(maker, REASON_NS_TARGET_IS_ADDRESS, field, &err);
        return false;
    }
    *out = (struct zone_nameserver){.address_count = 0};
    if (!read_name(maker, field, spec->name, &out->name))
        return false;
    make_addresses(maker, field, spec, out);
    return true;
}

static void make_nameservers(struct maker *maker, const struct zone_spec *spec,
                             struct zone_frame *frame)
{
    struct zone_nameserver *out =
        arena_new_array(maker->arena, struct zone_nameserver, spec->nameserver_count + 1);
    frame->nameservers = out;
    for (size_t i = 0; i < spec->nameserver_count; i++)
        if (make_nameserver(maker, i, &spec->nameservers[i], &out[frame->nameserver_count]))
            frame->nameserver_count++;
}

// ---- public -------------------------------------------------------------------------------------

static void check_group(struct maker *maker, const struct zone_tree_settings *settings,
                        const struct zone_spec *spec, struct zone_limits *limits)
{
    struct error err;
    bool is_found =
        !settings->find_group || settings->find_group(settings->context, spec->servers, limits);
    if (is_found || !spec->servers.at || text_is(spec->servers, "default"))
        return;
    (void)error_set(&err, FAULT_WAIT, NULL,
                    "no server group is named %.*s: choose one of the zones configuration",
                    TEXT_ARGS(spec->servers));
    refuse(maker, REASON_UNKNOWN_SERVERS, "spec.servers", &err);
}

struct frame_faults frame_make(const struct zone_tree_settings *settings, struct arena *arena,
                               struct dname apex, const struct zone_spec *spec,
                               struct zone_frame *out, struct frame_errors *errors)
{
    struct maker maker = {.arena = arena, .apex = apex, .errors = errors};
    *out = (struct zone_frame){
        .fallbacks = settings->fallbacks,
        .fallback_count = settings->fallback_count,
        .limits = ZONE_LIMITS_OF_NAMED,
    };
    make_timers(&maker, spec, out);
    out->has_mname = spec->mname.at && read_name(&maker, "spec.mname", spec->mname, &out->mname);
    make_rname(&maker, spec->rname, out);
    make_nameservers(&maker, spec, out);
    check_group(&maker, settings, spec, &out->limits);
    return maker.faults;
}
