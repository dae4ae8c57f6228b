#include "commands/intent/intent_service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "commands/process.h"
#include "commands/setup.h"
#include "controllers/intent/intent_controller.h"
#include "frontends/intent/intent_api.h"
#include "io/address.h"
#include "io/disk.h"
#include "store/cluster/bearers.h"
#include "store/cluster/cluster.h"

enum {
    LISTEN_MAX = 16,
    LOOK_MS = 10000,
    PEM_OCTETS_MAX = 1 << 20,
    BODY_OCTETS_DEFAULT = 1 << 20,
    BODY_OCTETS_MAX = 16 << 20,
};

static const char *const auth_choices[] = {"kubernetes", "none", "gateway", NULL};
static const char *const project_choices[] = {"explicit", "implicit", NULL};

const struct option intent_options[INTENT_OPTION_COUNT] = {
    {.name = "intent-listen",
     .type = OPTION_LIST,
     .placeholder = "ADDR:PORT",
     .doc = "Where the REST API of DNS update records listens, if --controllers names intent. Not "
            "given: [::]:9015 in a cluster, 127.0.0.1:9015 and [::1]:9015 on a folder."},
    {.name = "intent-auth",
     .type = OPTION_CHOICE,
     .placeholder = "WAY",
     .choices = auth_choices,
     .doc =
         "Who may use that API. kubernetes: accounts of the cluster that may do the same with "
         "its objects, by their bearer tokens; gateway: whoever a gateway names in X-Remote-User;"
         " none: everybody, on loopback addresses alone. Not given: kubernetes in a cluster, "
         "none on a folder."},
    {.name = "intent-gateway-cidr",
     .type = OPTION_LIST,
     .placeholder = "CIDR",
     .doc = "Addresses of the gateway of --intent-auth=gateway; no one else is believed."},
    {.name = "intent-tls-cert",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "Certificate of that API as PEM, with those between it and its CA; it may change at "
            "any time. Not given: it speaks plain HTTP."},
    {.name = "intent-tls-key",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "The key of --intent-tls-cert."},
    {.name = "intent-projects",
     .type = OPTION_CHOICE,
     .fallback = "explicit",
     .placeholder = "WAY",
     .choices = project_choices,
     .doc = "implicit makes the Namespace of a project together with what is first made in it, for "
            "use beside an EMCO that keeps the projects to itself."},
    {.name = "intent-max-body",
     .type = OPTION_INT,
     .fallback = "1048576",
     .placeholder = "OCTETS",
     .min = 1024,
     .max = BODY_OCTETS_MAX,
     .doc = "The largest body that the API takes."},
};

static const struct bearers_limits review_limits = {
    .good_ms = 10000, .per_s = 32, .burst = 64, .asking = 32, .asking_of_one = 16};

struct cidr {
    uint8_t address[ADDRESS_OCTETS];
    unsigned bits;
};

enum auth { AUTH_KUBERNETES, AUTH_NONE, AUTH_GATEWAY };

struct configured_api {
    struct process_world *process;
    const struct invocation *invocation;
    bool is_wanted;
    bool is_cluster;
    const char *secret_namespace;
    enum auth auth;
    struct hostport listen[LISTEN_MAX];
    size_t listen_count;
    struct cidr gateways[LISTEN_MAX];
    size_t gateway_count;
    struct bearers *bearers; // NULL: no tokens are checked
    struct intent_api *apis[LISTEN_MAX];
    size_t api_count;
    const char *cert_path; // NULL: plain HTTP
    const char *key_path;
    uint8_t seen[DIGEST_MAX]; // digest of the pair in use
    struct error tls_fault;   // of the last look
    struct loop_timer timer;
};

// ---- options ------------------------------------------------------------------------------------

static bool is_loopback(const char *host)
{
    uint8_t address[ADDRESS_OCTETS];
    static const uint8_t v6[ADDRESS_OCTETS] = {[15] = 1};
    if (!address_read(host, address))
        return false;
    return address_is_ipv4(address) ? address[12] == 127 : !memcmp(address, v6, sizeof v6);
}

static bool read_auth(struct configured_api *service, struct error *err)
{
    const char *given = option_text(service->invocation, "intent-auth");
    if (!given)
        given = service->is_cluster ? "kubernetes" : "none";
    service->auth = !strcmp(given, "kubernetes") ? AUTH_KUBERNETES
                    : !strcmp(given, "none")     ? AUTH_NONE
                                                 : AUTH_GATEWAY;
    if (service->auth == AUTH_KUBERNETES && !service->is_cluster)
        return error_set(err, FAULT_SPEC, "",
                         "--intent-auth=kubernetes needs a cluster: a folder has no accounts");
    for (size_t i = 0; i < service->listen_count && service->auth == AUTH_NONE; i++)
        if (!is_loopback(service->listen[i].host))
            return error_set(err, FAULT_SPEC, "",
                             "--intent-auth=none lets everybody in: --intent-listen must name "
                             "loopback addresses alone");
    return true;
}

static bool read_listen(struct configured_api *service, struct error *err)
{
    static const char *const local[] = {"127.0.0.1:9015", "[::1]:9015"};
    static const char *const everywhere[] = {"[::]:9015"};
    const char *const *items = service->is_cluster ? everywhere : local;
    const char **given;
    size_t count = option_list(service->invocation, "intent-listen", &given);
    service->listen_count = count ? count : service->is_cluster ? 1 : 2;
    if (count > LISTEN_MAX)
        return error_set(err, FAULT_SPEC, "", "--intent-listen: more than %d addresses",
                         LISTEN_MAX);
    for (size_t i = 0; i < service->listen_count; i++)
        if (!hostport_parse(&service->listen[i], text_of(count ? given[i] : items[i]), 0, false,
                            err))
            return error_prefix(err, "--intent-listen: ");
    return true;
}

static bool read_cidr(const char *text, struct cidr *out)
{
    int64_t bits;
    const char *slash = strchr(text, '/');
    char address[64];
    snprintf(address, sizeof address, "%.*s", slash ? (int)(slash - text) : 63, text);
    if (!address_read(address, out->address))
        return false;
    bool is_v4 = address_is_ipv4(out->address);
    int64_t most = is_v4 ? 32 : 128;
    bits = most;
    if (slash && (!text_to_int64(text_of(slash + 1), &bits) || bits < 0 || bits > most))
        return false;
    out->bits = (unsigned)bits + (is_v4 ? 96 : 0);
    return true;
}

static bool read_gateways(struct configured_api *service, struct error *err)
{
    const char **items;
    size_t count = option_list(service->invocation, "intent-gateway-cidr", &items);
    if (count > LISTEN_MAX)
        return error_set(err, FAULT_SPEC, "", "--intent-gateway-cidr: more than %d of them",
                         LISTEN_MAX);
    for (size_t i = 0; i < count; i++)
        if (!read_cidr(items[i], &service->gateways[i]))
            return error_set(err, FAULT_SPEC, "",
                             "--intent-gateway-cidr: %s is no address and length, such as "
                             "192.0.2.0/24",
                             items[i]);
    service->gateway_count = count;
    if ((service->auth == AUTH_GATEWAY) != (count > 0))
        return error_set(err, FAULT_SPEC, "",
                         "--intent-auth=gateway and --intent-gateway-cidr need each other");
    return true;
}

static bool read_tls(struct configured_api *service, struct error *err)
{
    service->cert_path = option_text(service->invocation, "intent-tls-cert");
    service->key_path = option_text(service->invocation, "intent-tls-key");
    if (!service->cert_path != !service->key_path)
        return error_set(err, FAULT_SPEC, "",
                         "--intent-tls-cert and --intent-tls-key need each other");
    return true;
}

// ---- who may ------------------------------------------------------------------------------------

static bool is_within(const uint8_t address[ADDRESS_OCTETS], const struct cidr *cidr)
{
    for (unsigned bit = 0; bit < cidr->bits; bit++) {
        unsigned mask = 0x80U >> (bit % 8);
        if ((address[bit / 8] & mask) != (cidr->address[bit / 8] & mask))
            return false;
    }
    return true;
}

static bool is_gateway(const struct configured_api *service, const char *peer)
{
    uint8_t address[ADDRESS_OCTETS];
    if (!address_read(peer, address))
        return false;
    for (size_t i = 0; i < service->gateway_count; i++)
        if (is_within(address, &service->gateways[i]))
            return true;
    return false;
}

static void bearer_judged_(void *asker, enum bearer_result result)
{
    static const enum intent_answer answers[] = {
        [BEARER_ALLOWED] = INTENT_ALLOWED,
        [BEARER_UNKNOWN] = INTENT_UNKNOWN,
        [BEARER_FORBIDDEN] = INTENT_FORBIDDEN,
        [BEARER_UNSURE] = INTENT_UNSURE,
    };
    intent_api_judged(asker, answers[result]);
}

static void judge(void *context, const struct intent_access *access, void *asker)
{
    struct configured_api *service = context;
    struct bearer bearer = {.token = access->token};
    const struct bearer_access wanted = {access->verb, access->kind, access->namespace_};
    if (service->auth == AUTH_GATEWAY) {
        bool is_let_in = access->user.len && is_gateway(service, access->peer);
        intent_api_judged(asker, is_let_in ? INTENT_ALLOWED : INTENT_UNKNOWN);
        return;
    }
    address_read(access->peer, bearer.source);
    bearer.access = &wanted;
    bearers_ask(service->bearers, &bearer, bearer_judged_, asker);
}

static void forget(void *context, void *asker)
{
    struct configured_api *service = context;
    if (service->bearers)
        bearers_forget(service->bearers, asker);
}

// ---- the certificate ----------------------------------------------------------------------------

static bool use_pair(struct configured_api *service, const struct buffer *cert,
                     const struct secret *key, struct error *err)
{
    const struct http_server_tls tls = {buffer_text(cert), key};
    for (size_t i = 0; i < service->api_count; i++)
        if (!intent_api_set_tls(service->apis[i], &tls, err))
            return false;
    return true;
}

static bool look_at_pair(struct configured_api *service, struct error *err)
{
    uint8_t digest[DIGEST_MAX] = {0};
    AUTO_BUFFER cert = {0};
    struct buffer key = {0};
    buffer_reserve(&key, PEM_OCTETS_MAX + 1);
    bool is_good = disk_read(&cert, service->cert_path, PEM_OCTETS_MAX, err) &&
                   disk_read(&key, service->key_path, PEM_OCTETS_MAX, err);
    if (is_good) {
        struct digest_state *state = digest_begin(DIGEST_SHA256);
        digest_add(state, cert.at, cert.len);
        digest_add(state, key.at, key.len);
        digest_end(state, digest);
    }
    if (is_good && memcmp(digest, service->seen, sizeof digest) != 0) {
        struct secret *secret = secret_new(key.at, key.len);
        is_good = use_pair(service, &cert, secret, err);
        secret_unref(secret);
    }
    if (is_good)
        memcpy(service->seen, digest, sizeof digest);
    secret_wipe(key.at, key.len);
    buffer_done(&key);
    return is_good;
}

static void look(void *context)
{
    struct configured_api *service = context;
    struct error fault = {0};
    if (!look_at_pair(service, &fault) && strcmp(fault.text, service->tls_fault.text) != 0)
        log_line(service->process->log, LOG_WARN,
                 "the certificate of the REST API is left aside; the one before stays in use",
                 LOG_TEXT("error", fault.text), LOG_END);
    service->tls_fault = fault;
    loop_timer_set(service->process->world.loop, &service->timer, LOOK_MS);
}

// ---- life ---------------------------------------------------------------------------------------

static void free_service(void *place)
{
    struct configured_api *service = place;
    if (!service)
        return;
    for (size_t i = 0; i < service->api_count; i++)
        intent_api_free(service->apis[i]);
    bearers_free(service->bearers);
    free(service);
}

static void *make(const struct service_setup *setup, struct error *err)
{
    struct configured_api *service = mem_new_of(struct configured_api);
    service->process = setup->process;
    service->invocation = setup->invocation;
    service->is_cluster = setup->setup->place.is_cluster;
    service->is_wanted = setup_settings(setup->setup, &intent_controller) != NULL;
    service->timer = (struct loop_timer){.call = look, .context = service};
    if (!service->is_wanted || (read_listen(service, err) && read_auth(service, err) &&
                                read_gateways(service, err) && read_tls(service, err)))
        return service;
    free_service(service);
    return NULL;
}

static void listening(void *context, const struct hostport *at, const char *trouble)
{
    const struct configured_api *service = context;
    process_world_report_port(service->process, at, trouble);
}

static bool open_api(struct configured_api *service, struct engine *engine,
                     const struct hostport *at, struct error *err)
{
    const struct intent_api_options options = {
        .world = &service->process->world,
        .engine = engine,
        .log = service->process->log,
        .address = at->host,
        .port = at->port,
        .max_body_octets = (size_t)option_int(service->invocation, "intent-max-body"),
        .is_tls = service->cert_path != NULL,
        .makes_projects = !strcmp(option_text(service->invocation, "intent-projects"), "implicit"),
        .judge = service->auth == AUTH_NONE ? NULL : judge,
        .forget = forget,
        .listening = listening,
        .context = service,
    };
    struct intent_api *api = intent_api_new(&options, err);
    if (!api)
        return error_prefix(err, "--intent-listen: ");
    service->apis[service->api_count++] = api;
    return true;
}

static bool open_service(void *place, struct engine *engine, struct store *store, struct error *err)
{
    struct configured_api *service = place;
    if (!service->is_wanted)
        return true;
    if (service->auth == AUTH_KUBERNETES)
        service->bearers =
            bearers_new(&service->process->world, cluster_api(store), NULL, &review_limits);
    for (size_t i = 0; i < service->listen_count; i++)
        if (!open_api(service, engine, &service->listen[i], err))
            return false;
    if (service->cert_path)
        look(service);
    return true;
}

static void close_service(void *place)
{
    struct configured_api *service = place;
    loop_timer_cancel(service->process->world.loop, &service->timer);
    for (size_t i = 0; i < service->api_count; i++)
        intent_api_close(service->apis[i]);
    bearers_free(service->bearers);
    service->bearers = NULL;
}

static size_t check_service(const void *place, struct store_check *out, size_t capacity)
{
    const struct configured_api *service = place;
    const char *trouble = NULL;
    if (!service->api_count || !capacity)
        return 0;
    for (size_t i = 0; i < service->api_count && !trouble; i++)
        trouble = intent_api_trouble(service->apis[i]);
    if (!trouble && service->tls_fault.text[0])
        trouble = service->tls_fault.text;
    out[0] = (struct store_check){
        .name = "intent-api", .is_ok = !trouble, .text = trouble ? trouble : "it listens"};
    return 1;
}

static void write_metrics(const void *place, struct buffer *out)
{
    const struct configured_api *service = place;
    intent_apis_write_metrics(service->apis, service->api_count, out);
}

static void reload(void *place)
{
    struct configured_api *service = place;
    if (service->cert_path && service->api_count)
        look(service);
}

const struct service intent_service = {
    .make = make,
    .open = open_service,
    .checks = check_service,
    .write_metrics = write_metrics,
    .reload = reload,
    .close = close_service,
    .free = free_service,
};
