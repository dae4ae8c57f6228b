#include "model/model_dns_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"

enum { WAY_MS = 1 };

struct dns_call {
    struct model_dns *dns;
    const struct model_dnsnet *net;
    struct loop *loop; // its sender's
    struct dns_call *next;
    struct loop_timer way;   // to the server
    struct loop_timer timer; // of the reply
    struct hostport server;
    char *octets;
    size_t len;
    bool is_tcp;
    int64_t timeout_ms;
    dns_done *done;
    void *context;
    struct dns_reply reply;
    struct buffer answer;
};

// ---- what is seen -------------------------------------------------------------------------------

void model_dns_log(struct model_dns *dns, const char *format, ...)
{
    char line[512];
    va_list args;
    int len = snprintf(line, sizeof line, "%lld ", (long long)loop_mono_ms(dns->loop));
    va_start(args, format);
    vsnprintf(line + len, sizeof line - (size_t)len, format, args);
    va_end(args);
    mem_reserve(&dns->log, &dns->log_capacity, dns->log_count + 1);
    dns->log[dns->log_count++] = mem_copy_text(line);
}

void model_dns_break(struct model_dns *dns, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!dns->breach)
        dns->breach = mem_copy_text(text);
}

const char *model_dns_breach(const struct model_dns *dns)
{
    return dns->breach;
}

void model_dns_write_log(const struct model_dns *dns, struct buffer *out)
{
    for (size_t i = 0; i < dns->log_count; i++)
        buffer_printf(out, "%s\n", dns->log[i]);
}

size_t model_dns_count(const struct model_dns *dns, const char *beginning)
{
    size_t count = 0;
    for (size_t i = 0; i < dns->log_count; i++)
        count += !strncmp(strchr(dns->log[i], ' ') + 1, beginning, strlen(beginning));
    return count;
}

const char *model_dns_text(struct buffer *out, struct dname apex)
{
    dname_write(out, apex);
    return buffer_text(out).at;
}

struct model_past *model_dns_past(struct model_dns *dns, struct dname apex)
{
    for (struct model_past *past = dns->pasts; past; past = past->next)
        if (dname_equal(past->apex, apex))
            return past;
    struct model_past *past = mem_new_of(struct model_past);
    memcpy(past->octets, apex.at, apex.len);
    past->apex = (struct dname){past->octets, apex.len};
    past->next = dns->pasts;
    dns->pasts = past;
    return past;
}

void model_dns_witness(struct model_dns *dns, const struct zone *zone)
{
    AUTO_BUFFER name = {0};
    struct model_past *past = model_dns_past(dns, zone_apex(zone));
    struct model_serial seen = {.serial = zone_serial(zone)};
    zone_digest(zone, seen.digest);
    for (size_t i = 0; i < past->count; i++) {
        if (past->serials[i].serial != seen.serial)
            continue;
        if (memcmp(past->serials[i].digest, seen.digest, sizeof seen.digest) != 0)
            model_dns_break(dns, "serial %u of %s stands for two contents", seen.serial,
                            model_dns_text(&name, zone_apex(zone)));
        return;
    }
    mem_reserve(&past->serials, &past->capacity, past->count + 1);
    past->serials[past->count++] = seen;
}

void model_dns_guard(struct dnsnet *net, bool (*may_send)(void *context), void *context)
{
    ((struct model_dnsnet *)net)->may_send = may_send;
    ((struct model_dnsnet *)net)->context = context;
}

void model_dns_excuse(struct dnsnet *net, bool is_excused)
{
    ((struct model_dnsnet *)net)->is_excused = is_excused;
}

// ---- what goes wrong ----------------------------------------------------------------------------

void model_dns_fault(struct model_dns *dns, unsigned skip, enum model_dns_fault fault)
{
    must(dns->fault_count < MODEL_DNS_FAULTS);
    dns->faults[dns->fault_count++] = (struct model_planned){skip, fault};
}

size_t model_dns_calls(const struct model_dns *dns)
{
    return dns->call_count;
}

bool model_dns_meets(struct model_dns *dns, enum model_dns_fault *fault)
{
    bool is_met = false;
    dns->call_count++;
    for (size_t i = 0; i < dns->fault_count;) {
        if (dns->faults[i].skip) {
            dns->faults[i++].skip--;
            continue;
        }
        *fault = dns->faults[i].fault;
        is_met = true;
        dns->faults[i] = dns->faults[--dns->fault_count];
    }
    return is_met;
}

// ---- the network --------------------------------------------------------------------------------

static void unlink_call(struct dns_call *call)
{
    struct dns_call **at = &call->dns->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    loop_timer_cancel(call->dns->loop, &call->way);
    loop_timer_cancel(call->loop, &call->timer);
}

static void call_free(struct dns_call *call)
{
    buffer_done(&call->answer);
    free(call->octets);
    free(call);
}

static void call_done(void *context)
{
    struct dns_call *call = context;
    unlink_call(call);
    call->reply.octets = buffer_text(&call->answer);
    call->done(call->context, &call->reply);
    call_free(call);
}

static void end_later(struct dns_call *call, int64_t delay_ms)
{
    loop_timer_set(call->loop, &call->timer, delay_ms);
}

static void time_out(struct dns_call *call)
{
    call->reply.is_timeout = true;
    error_set(&call->reply.error, FAULT_AGAIN, "", "no answer within %lld ms",
              (long long)call->timeout_ms);
    end_later(call, call->timeout_ms);
}

static struct model_secondary *server_at(const struct model_dns *dns, const struct hostport *at)
{
    for (struct model_secondary *server = dns->servers; server; server = server->next)
        if (server->config && !strcmp(server->config->address.host, at->host) &&
            server->config->address.port == at->port)
            return server;
    return NULL;
}

static void arrive(void *context)
{
    struct dns_call *call = context;
    enum model_dns_fault fault = DNS_FAILS;
    struct model_secondary *server = server_at(call->dns, &call->server);
    bool is_met = model_dns_meets(call->dns, &fault);
    if (!server || server->mood == MOOD_DOWN) {
        error_set(&call->reply.error, FAULT_AGAIN, "", "connection refused");
        end_later(call, WAY_MS);
        return;
    }
    bool is_reached = server->mood != MOOD_SILENT && !(is_met && fault == DNS_FAILS);
    call->dns->is_excused = call->net->is_excused;
    bool is_answered =
        is_reached && model_secondary_handle_reply(server, (struct text){call->octets, call->len},
                                                   call->is_tcp, &call->answer);
    if (is_met && fault == DNS_SILENCE)
        loop_stop(call->loop);
    if (!is_answered || is_met) {
        call->answer.len = 0;
        time_out(call);
        return;
    }
    call->reply.is_answered = true;
    end_later(call, WAY_MS);
}

static struct dns_call *net_send(struct dnsnet *net, const struct dns_request *request,
                                 dns_done *done, void *context)
{
    const struct model_dnsnet *own = (struct model_dnsnet *)net;
    struct model_dns *dns = own->dns;
    struct dns_call *call = mem_new_of(struct dns_call);
    if (own->may_send && !own->may_send(own->context))
        model_dns_break(dns, "a message is sent while another process leads");
    call->dns = dns;
    call->net = own;
    call->loop = own->loop;
    call->next = dns->calls;
    call->server = request->server;
    call->octets = mem_copy(request->octets.at, request->octets.len);
    call->len = request->octets.len;
    call->is_tcp = request->use_tcp;
    call->timeout_ms = request->timeout_ms;
    call->done = done;
    call->context = context;
    call->way = (struct loop_timer){.call = arrive, .context = call};
    call->timer = (struct loop_timer){.call = call_done, .context = call};
    dns->calls = call;
    loop_timer_set(dns->loop, &call->way, WAY_MS);
    return call;
}

static void net_cancel(struct dnsnet *net, struct dns_call *call)
{
    (void)net;
    unlink_call(call);
    call_free(call);
}

static void net_free(struct dnsnet *net)
{
    struct model_dnsnet *own = (struct model_dnsnet *)net;
    if (own != &own->dns->net)
        free(own);
}

static const struct dnsnet_ops net_ops = {net_send, net_cancel, net_free};

struct dnsnet *model_dns_net(struct model_dns *dns)
{
    return &dns->net.net;
}

struct dnsnet *model_dns_net_new(struct model_dns *dns, struct loop *loop)
{
    struct model_dnsnet *net = mem_new_of(struct model_dnsnet);
    *net = (struct model_dnsnet){.net = {&net_ops}, .dns = dns, .loop = loop};
    return &net->net;
}

// ---- life ---------------------------------------------------------------------------------------

struct model_dns *model_dns_new(struct loop *loop)
{
    struct model_dns *dns = mem_new_of(struct model_dns);
    dns->loop = loop;
    dns->net = (struct model_dnsnet){.net = {&net_ops}, .dns = dns, .loop = loop};
    return dns;
}

static void past_free(struct model_past *past)
{
    free(past->serials);
    free(past);
}

void model_dns_free(struct model_dns *dns)
{
    if (!dns)
        return;
    must(!dns->calls);
    for (struct model_secondary *server; (server = dns->servers);) {
        dns->servers = server->next;
        model_secondary_free(server);
    }
    for (struct model_past *past; (past = dns->pasts);) {
        dns->pasts = past->next;
        past_free(past);
    }
    for (size_t i = 0; i < dns->log_count; i++)
        free(dns->log[i]);
    free(dns->log);
    free(dns->breach);
    free(dns);
}

struct model_secondary *model_dns_find(const struct model_dns *dns, const char *name)
{
    for (struct model_secondary *server = dns->servers; server; server = server->next)
        if (!strcmp(server->name, name))
            return server;
    return NULL;
}

struct model_secondary *model_dns_at(const struct model_dns *dns, size_t at)
{
    struct model_secondary *server = dns->servers;
    while (server && at--)
        server = server->next;
    return server;
}

static struct model_secondary *add_server(struct model_dns *dns, const char *name)
{
    struct model_secondary **end = &dns->servers;
    while (*end)
        end = &(*end)->next;
    *end = mem_new_of(struct model_secondary);
    (*end)->dns = dns;
    (*end)->name = mem_copy_text(name);
    return *end;
}

void model_dns_set_config(struct model_dns *dns, const struct zones_config *config)
{
    for (struct model_secondary *server = dns->servers; server; server = server->next)
        server->config = NULL;
    for (size_t i = 0; config && i < config->group_count; i++)
        for (size_t k = 0; k < config->groups[i].server_count; k++) {
            const struct zones_server *wanted = &config->groups[i].servers[k];
            struct model_secondary *server = model_dns_find(dns, wanted->name);
            if (!server)
                server = add_server(dns, wanted->name);
            server->config = wanted;
        }
}

void model_dns_set_primary(struct model_dns *dns, size_t at, struct primary_frontend *frontend,
                           struct loop *loop)
{
    must(at < MODEL_PRIMARIES);
    dns->primaries[at] = (struct model_primary){frontend, loop};
}
