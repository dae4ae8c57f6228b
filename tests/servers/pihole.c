// A Pi-hole that is none: the model (model/model_pihole.h) behind real sockets with what shows
// there (wire.h), a real dnsmasq that serves what the model says (resolver.h), and a control
// frontend.
//
//     pihole_server --port N --control-port N [--dns-port N --folder DIR] [--tls] [--real-time]
//                   [--set NAME=VALUE]...
//
// All of it on 127.0.0.1. --set is a switch of the model from the beginning. Without --dns-port
// there is no resolver. It ends with SIGTERM, and dnsmasq with it.

#include "pihole.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/http_tls.h"
#include "io/random.h"
#include "io/x509.h"

enum { BUSY_PORT_MS = 20 };
static const int64_t certificate_age_s = INT64_C(47) * 86400;

struct options {
    uint16_t port;
    uint16_t control_port;
    uint16_t dns_port; // 0: no resolver
    const char *folder;
    bool has_tls;
    bool is_real_time;
    const char *switches[64];
    size_t switch_count;
};

static _Noreturn void fail(const struct error *err)
{
    fprintf(stderr, "pihole_server: %s\n", err->text);
    exit(1);
}

// ---- as the model says --------------------------------------------------------------------------

static bool sync_port(struct pihole *pihole, int64_t now_ms)
{
    uint64_t life = model_pihole_life(pihole->model, now_ms);
    struct error err;
    if (!model_pihole_is_open(pihole->model, now_ms))
        wire_close(pihole->api);
    if (life != pihole->life || !model_pihole_is_open(pihole->model, now_ms))
        wire_drop_clients(pihole->api);
    pihole->life = life;
    return !model_pihole_is_open(pihole->model, now_ms) ||
           wire_open(pihole->api, pihole->port, &err);
}

static bool serve_names(struct pihole *pihole, int64_t now_ms, struct error *err)
{
    uint64_t served = model_pihole_served(pihole->model, now_ms);
    AUTO_BUFFER hosts = {0};
    AUTO_BUFFER cnames = {0};
    if (served == pihole->served || now_ms < pihole->works_ms)
        return true;
    pihole->served = served;
    model_pihole_write_hosts(pihole->model, now_ms, &hosts);
    model_pihole_write_cnames(pihole->model, now_ms, &cnames);
    return resolver_serve(pihole->resolver, buffer_text(&hosts), buffer_text(&cnames), err);
}

static void sync_resolver(struct pihole *pihole, int64_t now_ms)
{
    bool is_dumb = model_pihole_is_dumb(pihole->model, now_ms);
    struct error err = {0};
    if (!pihole->resolver)
        return;
    if (!serve_names(pihole, now_ms, &err) || !resolver_set_up(pihole->resolver, !is_dumb, &err))
        fail(&err);
}

static int64_t next_ms_of(const struct pihole *pihole, int64_t now_ms)
{
    int64_t next_ms = model_pihole_next_ms(pihole->model, now_ms);
    bool is_working = pihole->works_ms > now_ms;
    return is_working && (next_ms < 0 || pihole->works_ms < next_ms) ? pihole->works_ms : next_ms;
}

void pihole_sync_now(struct pihole *pihole)
{
    int64_t now_ms = loop_mono_ms(pihole->loop);
    pihole_answer_due(pihole, now_ms);
    bool is_open = sync_port(pihole, now_ms);
    sync_resolver(pihole, now_ms);
    int64_t next_ms = next_ms_of(pihole, now_ms);
    if (!is_open)
        loop_timer_set(pihole->loop, &pihole->sync, BUSY_PORT_MS);
    else if (next_ms >= 0)
        loop_timer_set(pihole->loop, &pihole->sync, next_ms > now_ms ? next_ms - now_ms : 0);
    else
        loop_timer_cancel(pihole->loop, &pihole->sync);
}

static void on_sync(void *context)
{
    pihole_sync_now(context);
}

void pihole_sync_soon(struct pihole *pihole)
{
    loop_timer_set(pihole->loop, &pihole->sync, 0);
}

// ---- the certificate ----------------------------------------------------------------------------

static bool make_pairs(struct x509_pair *ca, struct x509_pair *leaf, int64_t from_s,
                       int64_t until_s, struct error *err)
{
    static const char *const hosts[] = {"pi.hole"};
    struct random *random = random_system();
    const struct x509_leaf desired = {.common_name = "pi.hole",
                                      .hosts = hosts,
                                      .host_count = 1,
                                      .from_s = from_s,
                                      .until_s = until_s};
    return x509_make_ca(ca, random, "pi.hole", from_s, until_s, err) &&
           x509_make_leaf(leaf, random, ca, &desired, err);
}

static bool use_pair(struct pihole *pihole, const struct x509_pair *leaf, struct error *err)
{
    const struct http_server_tls pem = {.certificate_pem = text_of(leaf->certificate_pem),
                                        .key_pem = leaf->key_pem};
    SSL_CTX *context = http_tls_context(&pem, err);
    if (!context)
        return false;
    wire_set_tls(pihole->api, context);
    SSL_CTX_free(context);
    return true;
}

bool pihole_renew(struct pihole *pihole, int64_t valid_s, struct error *err)
{
    struct x509_pair ca = {0}, leaf = {0};
    int64_t until_s = loop_unix_ms(pihole->loop) / 1000 + valid_s;
    bool is_made = make_pairs(&ca, &leaf, until_s - certificate_age_s, until_s, err) &&
                   use_pair(pihole, &leaf, err);
    if (is_made) {
        free(pihole->certificate_pem);
        free(pihole->ca_pem);
        pihole->certificate_pem = steal(leaf.certificate_pem);
        pihole->ca_pem = steal(ca.certificate_pem);
    }
    x509_pair_done(&ca);
    x509_pair_done(&leaf);
    return is_made;
}

// ---- beginning and end --------------------------------------------------------------------------

static void set_switch(struct pihole *pihole, const char *word)
{
    const char *value = strchr(word, '=');
    struct error err = {0};
    autofree char *name = value ? text_dup((struct text){word, (size_t)(value - word)}) : NULL;
    if (!value)
        error_set(&err, FAULT_SPEC, "", "--set wants NAME=VALUE");
    else if (model_pihole_set(pihole->model, loop_mono_ms(pihole->loop), name, value + 1, &err))
        return;
    fail(&err);
}

static void start(struct pihole *pihole, const struct options *options)
{
    struct error err = {0};
    for (size_t i = 0; i < options->switch_count; i++)
        set_switch(pihole, options->switches[i]);
    if (options->has_tls && !pihole_renew(pihole, certificate_age_s, &err))
        fail(&err);
    if (options->dns_port)
        pihole->resolver = resolver_new(pihole->loop, options->folder, options->dns_port, &err);
    if (options->dns_port && !pihole->resolver)
        fail(&err);
    pihole->served = UINT64_MAX;
    pihole_sync_now(pihole);
    if (!wire_open(pihole->control, options->control_port, &err))
        fail(&err);
}

static void on_stop(void *context)
{
    loop_stop(context);
}

static void serve(const struct options *options)
{
    struct loop *loop = loop_new();
    struct pihole pihole = {
        .loop = loop, .port = options->port, .is_real_time = options->is_real_time};
    struct wire_calls api = pihole_api_calls, control = pihole_control_calls;
    api.context = control.context = &pihole;
    pihole.sync = (struct loop_timer){.call = on_sync, .context = &pihole};
    pihole.model = model_pihole_new("", loop_unix_ms(loop) - loop_mono_ms(loop));
    pihole.api = wire_new(loop, &api);
    pihole.control = wire_new(loop, &control);
    loop_watch_signal(loop, SIGTERM, on_stop, loop);
    start(&pihole, options);
    loop_run(loop);
    wire_free(pihole.control);
    wire_free(pihole.api);
    resolver_free(pihole.resolver);
    model_pihole_free(pihole.model);
    loop_timer_cancel(loop, &pihole.sync);
    free(pihole.certificate_pem);
    free(pihole.ca_pem);
    loop_free(loop);
}

static _Noreturn void usage(void)
{
    fputs("usage: pihole_server --port N --control-port N [--dns-port N --folder DIR] [--tls]\n"
          "                     [--real-time] [--set NAME=VALUE]...\n",
          stderr);
    exit(2);
}

static uint16_t read_port(const char *word)
{
    int64_t port;
    if (!text_to_int64(text_of(word), &port) || port < 1 || port > UINT16_MAX)
        usage();
    return (uint16_t)port;
}

static void add_switch(struct options *options, const char *word)
{
    if (options->switch_count == COUNT_OF(options->switches))
        usage();
    options->switches[options->switch_count++] = word;
}

static void read_option(struct options *options, int option)
{
    switch (option) {
    case 'p':
        options->port = read_port(optarg);
        break;
    case 'c':
        options->control_port = read_port(optarg);
        break;
    case 'd':
        options->dns_port = read_port(optarg);
        break;
    case 'f':
        options->folder = optarg;
        break;
    case 't':
        options->has_tls = true;
        break;
    case 'r':
        options->is_real_time = true;
        break;
    case 's':
        add_switch(options, optarg);
        break;
    default:
        usage();
    }
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {{"port", required_argument, NULL, 'p'},
                                          {"control-port", required_argument, NULL, 'c'},
                                          {"dns-port", required_argument, NULL, 'd'},
                                          {"folder", required_argument, NULL, 'f'},
                                          {"tls", no_argument, NULL, 't'},
                                          {"real-time", no_argument, NULL, 'r'},
                                          {"set", required_argument, NULL, 's'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {0};
    int option;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1)
        read_option(&options, option);
    if (optind != argc || !options.port || !options.control_port ||
        (options.dns_port && !options.folder))
        usage();
    serve(&options);
    return 0;
}
