#include "providers/pihole/talk.h"

#include "base/must.h"

enum { RENEW_MS = 50000 }; // a wait of 60 s may be 54 s long

static const char *const paths[] = {
    [PREFLIGHT_HOSTS] = "dns/hosts?detailed=true",
    [PREFLIGHT_CNAMES] = "dns/cnameRecords?detailed=true",
    [PREFLIGHT_READ_ONLY] = "misc/readOnly",
    [PREFLIGHT_APP_SUDO] = "webserver/api/app_sudo",
    [PREFLIGHT_HOSTS_LOCAL] = "dns/hostsLocal",
};

void preflight_write(struct talk *talk)
{
    must(talk->seat->preflight < PREFLIGHT_DONE);
    buffer_add_text(&talk->url, paths[talk->seat->preflight]);
}

static void take(struct pihole_seat *seat, const struct value *tree)
{
    const struct value *config = value_find(tree, "config");
    switch (seat->preflight) {
    case PREFLIGHT_HOSTS:
        seat->is_forced[LIST_HOSTS] = value_bool_at(config, "dns.hosts.flags.env_var", false);
        seat->hosts_restart = value_bool_at(config, "dns.hosts.flags.restart_dnsmasq", false);
        break;
    case PREFLIGHT_CNAMES:
        seat->is_forced[LIST_CNAMES] =
            value_bool_at(config, "dns.cnameRecords.flags.env_var", false);
        break;
    case PREFLIGHT_READ_ONLY:
        seat->is_read_only = value_bool_at(config, "misc.readOnly", false);
        break;
    case PREFLIGHT_APP_SUDO:
        seat->lacks_app_sudo =
            seat->is_app && !value_bool_at(config, "webserver.api.app_sudo", true);
        break;
    case PREFLIGHT_HOSTS_LOCAL:
        seat->hosts_are_local = value_bool_at(config, "dns.hostsLocal", false);
        break;
    case PREFLIGHT_DONE:
        break;
    }
}

// A version that has no such setting says so with some 4xx.
static bool is_answer(const struct talk *talk)
{
    enum reply_kind kind = talk->reply.kind;
    return kind == REPLY_OK || kind == REPLY_ABSENT || kind == REPLY_REFUSED ||
           kind == REPLY_APP_SUDO || talk->reply.status == 404;
}

void preflight_hear(struct talk *talk)
{
    struct pihole_seat *seat = talk->seat;
    if (!is_answer(talk)) {
        talk_trouble_of_reply(talk);
        return;
    }
    take(seat, talk->reply.tree);
    seat->preflight++;
    seat->preflight_ms = talk->moment->mono_ms;
    if (seat->preflight == PREFLIGHT_APP_SUDO && !seat->is_app) {
        seat->lacks_app_sudo = false;
        seat->preflight++;
    }
    talk_go_on(talk);
}

static enum list_part forced_part(const struct talk *talk)
{
    return text_ends(talk->reply.hint, list_part_key(LIST_CNAMES)) ? LIST_CNAMES : LIST_HOSTS;
}

bool preflight_knows(const struct talk *talk)
{
    return talk->seat->is_forced[forced_part(talk)];
}

void preflight_learn(struct talk *talk)
{
    struct pihole_seat *seat = talk->seat;
    seat->is_read_only |= talk->reply.kind == REPLY_READ_ONLY;
    seat->lacks_app_sudo |= talk->reply.kind == REPLY_APP_SUDO;
    if (talk->reply.kind == REPLY_FORCED)
        seat->is_forced[forced_part(talk)] = true;
    seat->preflight_ms = talk->moment->mono_ms;
}

void preflight_renew(struct talk *talk)
{
    struct pihole_seat *seat = talk->seat;
    bool is_held =
        seat_is_blocked(seat) || seat->is_forced[LIST_HOSTS] || seat->is_forced[LIST_CNAMES];
    if (is_held && seat->preflight == PREFLIGHT_DONE && talk->job->kind != JOB_LEAVE &&
        talk->moment->mono_ms - seat->preflight_ms >= RENEW_MS)
        seat->preflight = PREFLIGHT_HOSTS;
}

const char *preflight_forced_text(struct talk *talk, enum list_part part)
{
    return arena_printf(talk->job->arena,
                        "Pi-hole at %s has dns.%s set by its environment: take FTLCONF_dns_%s away "
                        "there",
                        talk->seat->base, list_part_key(part), list_part_key(part));
}

void preflight_trouble(struct talk *talk)
{
    const struct pihole_seat *seat = talk->seat;
    if (seat->is_read_only)
        talk_trouble(talk, TROUBLE_BLOCKED,
                     "Pi-hole at %s is read-only: set misc.readOnly to false there", seat->base);
    else if (seat->lacks_app_sudo)
        talk_trouble(talk, TROUBLE_BLOCKED,
                     "Pi-hole at %s lets this app password read only: set webserver.api.app_sudo "
                     "to true there",
                     seat->base);
    else
        talk_trouble(talk, TROUBLE_BLOCKED, "%s; the same for dns.cnameRecords",
                     preflight_forced_text(talk, LIST_HOSTS));
}
