#include "frontends/primary/primary_frontend.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "dns/message.h"
#include "dns/primary.h"
#include "frontends/primary/peers.h"
#include "frontends/primary/transfer_counts.h"
#include "frontends/primary/warnings.h"
#include "io/address.h"
#include "io/loop.h"

struct primary_frontend {
    struct loop *loop;
    struct log *log;
    struct published *published;
    struct dns_server *server;
    const struct zones_config *config;
    struct peers peers;
    struct transfer_counts counts;
    struct warnings warnings;
    size_t under_way;
};

// An answer under way. What it needs of the configuration is its own: that may change meanwhile.
struct reply {
    struct primary_frontend *frontend;
    struct primary_answer *answer;
    struct tsig_key key; // that the request names, if there is such a key
    bool has_key;
    bool is_tcp;
    uint8_t address[16];
    char *server; // of the zone's group, or NULL
    uint64_t octets;
    int64_t begun_ms;
};

static void reply_free(struct reply *reply)
{
    primary_answer_free(reply->answer);
    if (reply->has_key)
        tsig_key_done(&reply->key);
    free(reply->server);
    free(reply);
}

// ---- who may have what --------------------------------------------------------------------------

static const struct tsig_key *find_key(void *context, struct dname name)
{
    struct reply *reply = context;
    const struct zones_config *config = reply->frontend->config;
    const struct zones_key *found = config ? zones_config_key(config, name) : NULL;
    must(!reply->has_key);
    if (!found)
        return NULL;
    reply->has_key = true;
    reply->key = found->key;
    reply->key.secret = secret_ref(found->key.secret);
    return &reply->key;
}

static const struct zones_group *group_of(const struct primary_frontend *frontend,
                                          const struct published_zone *zone)
{
    return frontend->config && zone->group
               ? zones_config_group(frontend->config, text_of(zone->group))
               : NULL;
}

// A server may have its zone of another primary, under numbers that are ours too: until it has
// fetched here, differences would not fit to what it has. Those that it cannot load would lead
// through what has been put right since.
static enum primary_grant grant_of(const struct primary_frontend *frontend,
                                   const struct published_zone *zone,
                                   const struct zones_server *server, const uint32_t *has)
{
    if (server && has &&
        published_is_stuck(frontend->published, zone->apex, server->name, *has,
                           loop_mono_ms(frontend->loop)))
        return PRIMARY_WHOLES;
    for (size_t i = 0; server && i < zone->fetch_count; i++)
        if (!strcmp(zone->fetches[i].server, server->name) && zone->fetches[i].has_fetched)
            return PRIMARY_ALL;
    return server ? PRIMARY_WHOLES : PRIMARY_ALL;
}

// Not heard of yet: it may be one of ours, as far as the peer may have any.
static enum primary_grant hope_of(const struct primary_frontend *frontend,
                                  const uint8_t address[16], const struct tsig_key *key)
{
    const struct zones_server *server;
    for (size_t i = 0; frontend->config && i < frontend->config->group_count; i++)
        if (zones_group_admits(&frontend->config->groups[i], address, key, &server))
            return PRIMARY_ALL;
    return PRIMARY_NOTHING;
}

static bool find_zone(void *context, struct dname apex, const uint8_t address[16],
                      const struct tsig_key *key, const uint32_t *has,
                      const struct zone_history **history, enum primary_grant *grant)
{
    struct reply *reply = context;
    const struct published_zone *zone = published_find(reply->frontend->published, apex);
    if (!zone)
        *grant = hope_of(reply->frontend, address, key);
    if (!zone)
        return !published_is_complete(reply->frontend->published);
    const struct zones_group *group = group_of(reply->frontend, zone);
    const struct zones_server *server = NULL;
    bool may = group && zones_group_admits(group, address, key, &server);
    *grant = may ? grant_of(reply->frontend, zone, server, has) : PRIMARY_NOTHING;
    *history = zone->state == PUBLISHED_WITHHELD ? NULL : zone->history;
    if (may && server && !reply->server)
        reply->server = mem_copy_text(server->name);
    return true;
}

// ---- what is told of it -------------------------------------------------------------------------

// Appends in plain words why the peer was refused.
static void write_reason(const struct reply *reply, const struct primary_reported *reported,
                         struct buffer *out)
{
    struct dname apex = {reported->apex, reported->apex_len};
    const struct published_zone *zone =
        reported->apex_len ? published_find(reply->frontend->published, apex) : NULL;
    const struct zones_group *group = zone ? group_of(reply->frontend, zone) : NULL;
    const struct zones_server *server = group ? peers_server_at(group, reply->address) : NULL;
    if (reported->tsig_error)
        buffer_add_text(out, tsig_error_name(reported->tsig_error));
    else if (reported->kind == PRIMARY_OTHER)
        buffer_add_text(out, "only SOA, AXFR and IXFR are answered");
    else if (!zone)
        buffer_add_text(out, published_is_complete(reply->frontend->published)
                                 ? "no such zone is served"
                                 : "no group of servers has such a peer");
    else if (!zone->group)
        buffer_add_text(out, "no group of servers has the zone");
    else if (server && server->key)
        buffer_printf(out, "server %s must use its key", server->name);
    else
        buffer_printf(out, "not a server of group %s, nor in its transferFrom", zone->group);
}

static void warn(struct reply *reply, const struct primary_reported *reported)
{
    struct primary_frontend *frontend = reply->frontend;
    AUTO_BUFFER peer = {0};
    AUTO_BUFFER zone = {0};
    AUTO_BUFFER reason = {0};
    AUTO_BUFFER before = {0};
    uint64_t untold;
    bool is_of_many;
    if (!warnings_are_due(&frontend->warnings, reply->address, loop_mono_ms(frontend->loop),
                          &untold, &is_of_many))
        return;
    address_write(&peer, reply->address);
    if (reported->apex_len)
        dname_write(&zone, (struct dname){reported->apex, reported->apex_len});
    write_reason(reply, reported, &reason);
    if (untold)
        buffer_printf(&before, "%llu", (unsigned long long)untold);
    log_line(frontend->log, LOG_WARN, "request to the primary refused",
             LOG_SLICE("peer", buffer_text(&peer)), LOG_SLICE("zone", buffer_text(&zone)),
             LOG_SLICE("reason", buffer_text(&reason)),
             LOG_SLICE("untold", untold ? buffer_text(&before) : (struct text){0}),
             LOG_TEXT("note", is_of_many ? "one of many peers that are refused" : NULL), LOG_END);
}

static const char *kind_of(const struct primary_reported *reported)
{
    bool is_asked_for_steps = reported->kind == PRIMARY_IXFR && reported->rcode;
    return reported->is_incremental || is_asked_for_steps ? "ixfr" : "axfr";
}

static const char *result_of(const struct primary_reported *reported, bool is_delivered)
{
    switch (reported->rcode) {
    case RCODE_NOERROR:
        return is_delivered ? "success" : "cut";
    case RCODE_SERVFAIL:
        return "servfail";
    case RCODE_REFUSED:
        return "refused";
    case RCODE_NOTAUTH:
        return "notauth";
    default:
        return "error";
    }
}

static void log_transfer(const struct reply *reply, const struct primary_reported *reported,
                         bool is_delivered)
{
    struct primary_frontend *frontend = reply->frontend;
    AUTO_BUFFER peer = {0};
    AUTO_BUFFER zone = {0};
    address_write(&peer, reply->address);
    dname_write(&zone, (struct dname){reported->apex, reported->apex_len});
    log_line(frontend->log, is_delivered ? LOG_INFO : LOG_WARN,
             is_delivered ? "zone transferred" : "transfer of a zone cut off",
             LOG_TEXT("server", reply->server), LOG_SLICE("peer", buffer_text(&peer)),
             LOG_SLICE("zone", buffer_text(&zone)), LOG_INT("serial", reported->serial),
             LOG_TEXT("kind", kind_of(reported)), LOG_INT("octets", (int64_t)reply->octets),
             LOG_INT("ms", loop_mono_ms(frontend->loop) - reply->begun_ms), LOG_END);
}

static void note_asked(const struct reply *reply, const struct primary_reported *reported)
{
    if (reply->server && reported->rcode == 0 && reported->has_serial)
        published_asked(reply->frontend->published,
                        (struct dname){reported->apex, reported->apex_len}, reply->server,
                        reported->serial);
}

static void note_fetched(const struct reply *reply, const struct primary_reported *reported)
{
    if (reply->server)
        published_fetched(reply->frontend->published,
                          (struct dname){reported->apex, reported->apex_len}, reply->server,
                          reported->serial, loop_mono_ms(reply->frontend->loop));
}

// ---- answers ------------------------------------------------------------------------------------

static bool next(void *context, struct buffer *out)
{
    struct reply *reply = context;
    size_t before = out->len;
    if (!primary_answer_next(reply->answer, loop_unix_ms(reply->frontend->loop) / 1000, out))
        return false;
    reply->octets += out->len - before;
    return true;
}

static void end(void *context, bool is_delivered)
{
    struct reply *reply = context;
    struct primary_frontend *frontend = reply->frontend;
    struct primary_reported reported;
    primary_answer_report(reply->answer, &reported);
    bool is_transfer = reported.rcode == 0 && reported.has_records;
    bool is_asked_for = reported.kind == PRIMARY_AXFR || reported.kind == PRIMARY_IXFR;
    if (is_transfer && is_delivered)
        note_fetched(reply, &reported);
    if (is_transfer)
        log_transfer(reply, &reported, is_delivered);
    if (is_transfer || (is_asked_for && reported.rcode))
        transfer_counts_add(&frontend->counts, reply->server ? reply->server : "",
                            kind_of(&reported), result_of(&reported, is_delivered));
    frontend->under_way--;
    reply_free(reply);
}

bool primary_frontend_ask(struct primary_frontend *frontend,
                          const struct dns_server_request *request, struct dns_answer *out)
{
    struct reply *reply = mem_new_of(struct reply);
    const struct primary_calls calls = {.key = find_key, .zone = find_zone, .context = reply};
    struct primary_request asked = {.octets = request->octets,
                                    .is_tcp = request->is_tcp,
                                    .unix_s = loop_unix_ms(frontend->loop) / 1000};
    struct primary_reported reported;
    memcpy(asked.address, request->address, sizeof asked.address);
    memcpy(reply->address, request->address, sizeof reply->address);
    reply->frontend = frontend;
    reply->begun_ms = loop_mono_ms(frontend->loop);
    reply->answer = primary_answer_new(&asked, &calls);
    if (!reply->answer) {
        reply_free(reply);
        return false;
    }
    frontend->under_way++;
    primary_answer_report(reply->answer, &reported);
    note_asked(reply, &reported);
    if (reported.rcode == RCODE_REFUSED || reported.rcode == RCODE_NOTAUTH)
        warn(reply, &reported);
    *out = (struct dns_answer){.next = next, .end = end, .context = reply};
    return true;
}

// ---- the frontend -------------------------------------------------------------------------------

static bool handle(void *context, const struct dns_server_request *request, struct dns_answer *out)
{
    return primary_frontend_ask(context, request, out);
}

static bool is_known(void *context, const uint8_t address[16])
{
    const struct primary_frontend *frontend = context;
    return peers_know(&frontend->peers, address);
}

static void listening_changed(void *context, const struct hostport *at, const char *trouble)
{
    const struct primary_frontend *frontend = context;
    AUTO_BUFFER address = {0};
    hostport_write(&address, at);
    if (trouble)
        log_line(frontend->log, LOG_WARN,
                 "zones cannot be served at an address; it is tried again every second",
                 LOG_TEXT("error", trouble), LOG_END);
    else
        log_line(frontend->log, LOG_INFO, "zones are served at the address now",
                 LOG_SLICE("address", buffer_text(&address)), LOG_END);
}

struct primary_frontend *primary_frontend_new(const struct primary_frontend_options *options,
                                              struct error *err)
{
    struct primary_frontend *frontend = mem_new_of(struct primary_frontend);
    const struct dns_server_options server = {.at = options->listen,
                                              .count = options->listen_count,
                                              .handle = handle,
                                              .is_known = is_known,
                                              .changed = listening_changed,
                                              .context = frontend};
    frontend->loop = options->loop;
    frontend->log = options->log;
    frontend->published = options->published;
    if (options->listen_count) {
        frontend->server = dns_server_new(options->loop, options->random, &server, err);
        if (!frontend->server) {
            free(frontend);
            return NULL;
        }
    }
    return frontend;
}

void primary_frontend_free(struct primary_frontend *frontend)
{
    if (!frontend)
        return;
    dns_server_free(frontend->server);
    must(frontend->under_way == 0);
    peers_done(&frontend->peers);
    transfer_counts_done(&frontend->counts);
    free(frontend);
}

void primary_frontend_set_config(struct primary_frontend *frontend,
                                 const struct zones_config *config)
{
    frontend->config = config;
    peers_set(&frontend->peers, config);
}

uint16_t primary_frontend_port(const struct primary_frontend *frontend, size_t at)
{
    must(frontend->server);
    return dns_server_port(frontend->server, at);
}

const char *primary_frontend_trouble(const struct primary_frontend *frontend)
{
    return frontend->server ? dns_server_trouble(frontend->server) : NULL;
}

bool primary_frontend_is_ipv4_fallback(const struct primary_frontend *frontend)
{
    return frontend->server && dns_server_is_ipv4_fallback(frontend->server);
}

void primary_frontend_write_metrics(const struct primary_frontend *frontend, struct buffer *out)
{
    transfer_counts_write(&frontend->counts, out);
}
