#include <stdlib.h>

#include "providers/kubernetes/access.h"
#include "providers/kubernetes/listing.h"
#include "providers/kubernetes/reply.h"
#include "providers/provider.h"

enum {
    TIMEOUT_MS = 15000,
    CONNECT_MS = 5000,
    PAGE_ITEMS = 500,
    PAGES_MAX = 100,
    CONTINUE_OCTETS_MAX = 8192,
    NAMESPACE_OCTETS_MAX = 63,
    STATUS_FORBIDDEN = 403,
    HEADERS_MAX = 2,
};

// What is asked for next.
enum kubernetes_step { STEP_DONE, STEP_VERSION, STEP_SERVICES, STEP_NODES };

struct kubernetes_exchange {
    const struct access *access; // the session's
    struct job *job;
    enum kubernetes_step step;
    char *path;           // of the list, or of the version
    char *continue_token; // of the next page; NULL: it is the first
    unsigned pages;
    struct listing listing;
    const char *unreadable; // why Nodes could not be read; NULL: they could
    struct buffer url;
    struct http_header headers[HEADERS_MAX];
};

// ---- session ------------------------------------------------------------------------------------

static bool kubernetes_open(const struct session_setup *setup, void **session, struct error *err)
{
    struct access access;
    if (!setup->secret || !secret_len(setup->secret))
        return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION, "the kubeconfig is empty");
    if (!access_read(&access, setup->secret, err))
        return false;
    *session = mem_copy(&access, sizeof access);
    return true;
}

static void kubernetes_close(void *session)
{
    access_done(session);
    free(session);
}

// ---- the end of an exchange ---------------------------------------------------------------------

static void fail(struct kubernetes_exchange *exchange, const struct error *error)
{
    exchange->step = STEP_DONE;
    exchange->job->health = (struct outcome){.error = error_copy(exchange->job->arena, error)};
}

static void answer(struct kubernetes_exchange *exchange, const struct value *value)
{
    exchange->step = STEP_DONE;
    exchange->job->health = (struct outcome){.is_done = true};
    exchange->job->answer = value;
}

static void answer_addresses(struct kubernetes_exchange *exchange)
{
    struct arena *arena = exchange->job->arena;
    struct value *value = value_make(arena, VALUE_MAP);
    value_set(value, TEXT("services"), exchange->listing.services);
    if (exchange->listing.nodes)
        value_set(value, TEXT("nodes"), exchange->listing.nodes);
    if (exchange->unreadable)
        value_put_text(arena, value, "nodesUnreadable", exchange->unreadable);
    answer(exchange, value);
}

// ---- requests -----------------------------------------------------------------------------------

static void go_to(struct kubernetes_exchange *exchange, enum kubernetes_step step, char *path)
{
    free(exchange->path);
    free(exchange->continue_token);
    exchange->path = path;
    exchange->continue_token = NULL;
    exchange->pages = 0;
    exchange->step = step;
}

static bool is_unreserved(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

static void add_escaped(struct buffer *out, const char *text)
{
    for (; *text; text++) {
        if (is_unreserved(*text))
            buffer_add_char(out, *text);
        else
            buffer_printf(out, "%%%02X", (unsigned char)*text);
    }
}

static void write_url(struct kubernetes_exchange *exchange)
{
    buffer_clear(&exchange->url);
    buffer_add_text(&exchange->url, exchange->access->server);
    buffer_add_text(&exchange->url, exchange->path);
    if (exchange->step == STEP_VERSION)
        return;
    buffer_printf(&exchange->url, "?limit=%d", PAGE_ITEMS);
    if (exchange->continue_token) {
        buffer_add_text(&exchange->url, "&continue=");
        add_escaped(&exchange->url, exchange->continue_token);
    }
}

static const char *exposed(const struct secret *secret)
{
    return secret ? secret_expose(secret).at : NULL;
}

static enum ask_kind kubernetes_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct kubernetes_exchange *exchange = at;
    const struct access *access = exchange->access;
    (void)moment;
    if (exchange->step == STEP_DONE)
        return ASK_DONE;
    write_url(exchange);
    exchange->headers[0] = (struct http_header){"Accept", "application/json"};
    exchange->headers[1] = (struct http_header){"Authorization", exposed(access->authorization)};
    out->http = (struct http_request){.method = "GET",
                                      .url = exchange->url.at,
                                      .headers = exchange->headers,
                                      .header_count = access->authorization ? 2 : 1,
                                      .timeout_ms = TIMEOUT_MS,
                                      .connect_timeout_ms = CONNECT_MS,
                                      .max_body_octets = REPLY_OCTETS_MAX,
                                      .proxy = access->proxy,
                                      .tls = {.ca_pem = exposed(access->ca),
                                              .server_name = access->tls_server_name,
                                              .certificate_pem = exposed(access->certificate),
                                              .key_pem = exposed(access->key),
                                              .is_unverified = access->is_unverified}};
    return ASK_HTTP;
}

// ---- replies ------------------------------------------------------------------------------------

static void handle_version(struct kubernetes_exchange *exchange, const struct value *reply)
{
    struct arena *arena = exchange->job->arena;
    struct value *value = value_make(arena, VALUE_MAP);
    struct text version = value_text_at(reply, "gitVersion");
    value_put_text(arena, value, "version",
                   arena_copy(arena, version.at ? version.at : "", version.len));
    answer(exchange, value);
}

// A server that never ends its pages is given up.
static bool take_next_page(struct kubernetes_exchange *exchange, const struct value *page,
                           struct error *err)
{
    struct text token = value_text_at(page, "metadata.continue");
    free(exchange->continue_token);
    exchange->continue_token = token.len ? text_dup(token) : NULL;
    if (token.len <= CONTINUE_OCTETS_MAX && ++exchange->pages < PAGES_MAX)
        return true;
    return error_set(err, FAULT_AGAIN, "ServerError", "the list has no end: %s has over %d pages",
                     exchange->path, PAGES_MAX);
}

static void handle_services(struct kubernetes_exchange *exchange, const struct value *page)
{
    struct error err;
    if (!listing_add_services(&exchange->listing, page, &err) ||
        !take_next_page(exchange, page, &err))
        fail(exchange, &err);
    else if (exchange->continue_token)
        return;
    else if (exchange->listing.has_node_ports)
        go_to(exchange, STEP_NODES, mem_copy_text("/api/v1/nodes"));
    else
        answer_addresses(exchange);
}

static void handle_nodes(struct kubernetes_exchange *exchange, const struct value *page)
{
    struct error err;
    if (!listing_add_nodes(&exchange->listing, page, &err) || !take_next_page(exchange, page, &err))
        fail(exchange, &err);
    else if (!exchange->continue_token)
        answer_addresses(exchange);
}

// Without the right to read Nodes the addresses of Services still count.
static void handle_failure(struct kubernetes_exchange *exchange, const struct error *err)
{
    if (exchange->step == STEP_NODES && err->status == STATUS_FORBIDDEN) {
        exchange->listing.nodes = NULL;
        exchange->unreadable = arena_copy_text(exchange->job->arena, err->text);
        answer_addresses(exchange);
        return;
    }
    fail(exchange, err);
}

static void kubernetes_handle_reply(void *at, const struct moment *moment,
                                    const struct ask_result *result)
{
    struct error err;
    struct kubernetes_exchange *exchange = at;
    const struct http_reply *reply = result->http;
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *tree = kubernetes_reply_read(arena, reply, exchange->access->credential,
                                                     moment->unix_ms / 1000, &err);
    if (exchange->job->kind == JOB_HEALTH)
        exchange->job->is_transport_failure = reply->failure != HTTP_OK;
    if (!tree)
        handle_failure(exchange, &err);
    else if (exchange->step == STEP_VERSION)
        handle_version(exchange, tree);
    else if (exchange->step == STEP_SERVICES)
        handle_services(exchange, tree);
    else
        handle_nodes(exchange, tree);
}

// ---- exchange -----------------------------------------------------------------------------------

static bool is_namespace(struct text name)
{
    bool is_ok = name.len > 0 && name.len <= NAMESPACE_OCTETS_MAX;
    for (size_t i = 0; is_ok && i < name.len; i++)
        is_ok = (name.at[i] >= 'a' && name.at[i] <= 'z') ||
                (name.at[i] >= '0' && name.at[i] <= '9') || name.at[i] == '-';
    return is_ok;
}

static void begin_addresses(struct kubernetes_exchange *exchange)
{
    struct error err;
    AUTO_BUFFER path = {0};
    struct text name = value_text_at(exchange->job->about, "namespace");
    if (!is_namespace(name)) {
        error_set(&err, FAULT_SPEC, "", "question addresses: namespace: name one");
        fail(exchange, &err);
        return;
    }
    buffer_printf(&path, "/api/v1/namespaces/%.*s/services", TEXT_ARGS(name));
    listing_init(&exchange->listing, exchange->job->arena);
    go_to(exchange, STEP_SERVICES, buffer_steal(&path));
}

static void *kubernetes_begin(void *session, struct job *job)
{
    struct kubernetes_exchange *exchange = mem_new_of(struct kubernetes_exchange);
    exchange->access = session;
    exchange->job = job;
    provider_refuse_changes(job, "a cluster takes no records: it can only be asked");
    if (job->kind == JOB_HEALTH)
        go_to(exchange, STEP_VERSION, mem_copy_text("/version"));
    else if (job->kind == JOB_QUESTION)
        begin_addresses(exchange);
    return exchange;
}

static void kubernetes_end(void *at)
{
    struct kubernetes_exchange *exchange = at;
    buffer_done(&exchange->url);
    free(exchange->path);
    free(exchange->continue_token);
    free(exchange);
}

static const char *const questions[] = {"addresses", NULL};

extern const struct provider kubernetes_provider;
const struct provider kubernetes_provider = {
    .name = "kubernetes",
    .title = "cluster",
    .unreachable = "ServerUnreachable",
    .max_changes = 1,
    .questions = questions,
    .open = kubernetes_open,
    .close = kubernetes_close,
    .fingerprint = provider_fingerprint_none,
    .begin = kubernetes_begin,
    .ask = kubernetes_ask,
    .handle_reply = kubernetes_handle_reply,
    .end = kubernetes_end,
};
