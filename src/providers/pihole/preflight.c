#include "providers/pihole/exchange.h"

#include "base/must.h"

enum { RENEW_MS = 50000 }; // a wait of 60 s may be 54 s long

static const char *const paths[] = {
    [PREFLIGHT_HOSTS] = "dns/hosts?detailed=true",
    [PREFLIGHT_CNAMES] = "dns/cnameRecords?detailed=true",
    [PREFLIGHT_READ_ONLY] = "misc/readOnly",
    [PREFLIGHT_APP_SUDO] = "webserver/api/app_sudo",
    [PREFLIGHT_HOSTS_LOCAL] = "dns/hostsLocal",
};

void preflight_write(struct exchange *exchange)
{
    must(exchange->instance->preflight < PREFLIGHT_DONE);
    buffer_add_text(&exchange->url, paths[exchange->instance->preflight]);
}

static void take(struct pihole_instance *instance, const struct value *tree)
{
    const struct value *config = value_find(tree, "config");
    switch (instance->preflight) {
    case PREFLIGHT_HOSTS:
        instance->is_forced[LIST_HOSTS] = value_bool_at(config, "dns.hosts.flags.env_var", false);
        instance->hosts_restart = value_bool_at(config, "dns.hosts.flags.restart_dnsmasq", false);
        break;
    case PREFLIGHT_CNAMES:
        instance->is_forced[LIST_CNAMES] =
            value_bool_at(config, "dns.cnameRecords.flags.env_var", false);
        break;
    case PREFLIGHT_READ_ONLY:
        instance->is_read_only = value_bool_at(config, "misc.readOnly", false);
        break;
    case PREFLIGHT_APP_SUDO:
        instance->lacks_app_sudo =
            instance->is_app && !value_bool_at(config, "webserver.api.app_sudo", true);
        break;
    case PREFLIGHT_HOSTS_LOCAL:
        instance->hosts_are_local = value_bool_at(config, "dns.hostsLocal", false);
        break;
    case PREFLIGHT_DONE:
        break;
    }
}

// A version that has no such setting says so with some 4xx.
static bool is_answer(const struct exchange *exchange)
{
    enum reply_kind kind = exchange->reply.kind;
    return kind == REPLY_OK || kind == REPLY_ABSENT || kind == REPLY_REFUSED ||
           kind == REPLY_APP_SUDO || exchange->reply.status == 404;
}

void preflight_handle_reply(struct exchange *exchange)
{
    struct pihole_instance *instance = exchange->instance;
    if (!is_answer(exchange)) {
        exchange_trouble_of_reply(exchange);
        return;
    }
    take(instance, exchange->reply.tree);
    instance->preflight++;
    instance->preflight_ms = exchange->moment->mono_ms;
    if (instance->preflight == PREFLIGHT_APP_SUDO && !instance->is_app) {
        instance->lacks_app_sudo = false;
        instance->preflight++;
    }
    exchange_go_on(exchange);
}

static enum list_part forced_part(const struct exchange *exchange)
{
    return text_ends(exchange->reply.hint, list_part_key(LIST_CNAMES)) ? LIST_CNAMES : LIST_HOSTS;
}

bool preflight_knows(const struct exchange *exchange)
{
    return exchange->instance->is_forced[forced_part(exchange)];
}

void preflight_learn(struct exchange *exchange)
{
    struct pihole_instance *instance = exchange->instance;
    instance->is_read_only |= exchange->reply.kind == REPLY_READ_ONLY;
    instance->lacks_app_sudo |= exchange->reply.kind == REPLY_APP_SUDO;
    if (exchange->reply.kind == REPLY_FORCED)
        instance->is_forced[forced_part(exchange)] = true;
    instance->preflight_ms = exchange->moment->mono_ms;
}

void preflight_renew(struct exchange *exchange)
{
    struct pihole_instance *instance = exchange->instance;
    bool is_held = instance_is_blocked(instance) || instance->is_forced[LIST_HOSTS] ||
                   instance->is_forced[LIST_CNAMES];
    if (is_held && instance->preflight == PREFLIGHT_DONE && exchange->job->kind != JOB_LEAVE &&
        exchange->moment->mono_ms - instance->preflight_ms >= RENEW_MS)
        instance->preflight = PREFLIGHT_HOSTS;
}

const char *preflight_forced_text(struct exchange *exchange, enum list_part part)
{
    return arena_printf(exchange->job->arena,
                        "Pi-hole at %s has dns.%s set by its environment: take FTLCONF_dns_%s away "
                        "there",
                        exchange->instance->base, list_part_key(part), list_part_key(part));
}

void preflight_trouble(struct exchange *exchange)
{
    const struct pihole_instance *instance = exchange->instance;
    if (instance->is_read_only)
        exchange_trouble(exchange, TROUBLE_BLOCKED,
                         "Pi-hole at %s is read-only: set misc.readOnly to false there",
                         instance->base);
    else if (instance->lacks_app_sudo)
        exchange_trouble(
            exchange, TROUBLE_BLOCKED,
            "Pi-hole at %s lets this app password read only: set webserver.api.app_sudo "
            "to true there",
            instance->base);
    else
        exchange_trouble(exchange, TROUBLE_BLOCKED, "%s; the same for dns.cnameRecords",
                         preflight_forced_text(exchange, LIST_HOSTS));
}
