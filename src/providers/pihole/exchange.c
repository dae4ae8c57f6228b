#include "providers/pihole/exchange.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"

enum {
    CONNECT_MS = 3000,
    REQUEST_MS = 30000,
    HUNG_MS = 10000, // without an answer. A write may go on all the same, so it gets its time
    LEAVE_MS = 500,
    MAX_IDLE_S = 4, // Pi-hole closes connections after 5
};

static const struct step_rule {
    const char *method;
    const char *path;
    void (*write)(struct exchange *exchange); // what else the request has; NULL: nothing
    void (*handle_reply)(struct exchange *exchange);
    bool has_session;
} rules[] = {
    [STEP_LOGIN] = {"POST", "/api/auth", session_write_login, session_handle_login, false},
    [STEP_LEGACY_TRY] = {"GET", LEGACY_PATH, legacy_write_key, legacy_handle_try, false},
    [STEP_SESSIONS] = {"GET", "/api/auth/sessions", NULL, session_handle_sessions, true},
    [STEP_SWEEP] = {"DELETE", "/api/auth/session/", session_write_sweep, session_handle_sweep,
                    true},
    [STEP_PREFLIGHT] = {"GET", "/api/config/", preflight_write, preflight_handle_reply, true},
    [STEP_READ] = {"GET", "/api/config/dns", NULL, read_handle_reply, true},
    [STEP_WRITE] = {"PATCH", "", write_write, write_handle_reply, true},
    [STEP_KNOCK] = {"GET", "/api/auth", NULL, restart_handle_knock, true},
    [STEP_RESTART] = {"POST", "/api/action/restartdns", NULL, restart_handle_paid, true},
    [STEP_LEGACY_READ] = {"GET", LEGACY_PATH, legacy_write_key, legacy_handle_read, false},
    [STEP_LEGACY_WRITE] = {"POST", LEGACY_PATH, legacy_write, legacy_handle_write, false},
    [STEP_LEAVE] = {"DELETE", "/api/auth", NULL, session_handle_leave, true},
};

// ---- life ---------------------------------------------------------------------------------------

void *pihole_begin(void *instance, struct job *job)
{
    struct exchange *exchange = mem_new_of(struct exchange);
    exchange->instance = instance;
    exchange->job = job;
    exchange->arena = arena_new();
    exchange->way = exchange->instance->way;
    job->health = (struct outcome){0};
    if (job->kind == JOB_CHANGES)
        changes_begin(exchange);
    return exchange;
}

// It may have held the password.
static void wipe(struct buffer *buffer)
{
    if (buffer->at)
        secret_wipe(buffer->at, buffer->capacity);
    buffer_done(buffer);
}

void pihole_end(void *at)
{
    struct exchange *exchange = at;
    changes_end(exchange);
    wipe(&exchange->body);
    wipe(&exchange->bearer);
    buffer_done(&exchange->url);
    arena_free(exchange->arena);
    free(exchange);
}

// ---- ends ---------------------------------------------------------------------------------------

// Not sooner: between the reading and the writing nothing takes time.
static void end(struct exchange *exchange)
{
    exchange->step = STEP_DONE;
    if (exchange->list && exchange->job->kind == JOB_CHANGES)
        health_answer(exchange);
}

static void report_trouble(struct exchange *exchange, const struct error *error)
{
    exchange->job->unavailable = error;
    end(exchange);
    exchange->instance->has_listed = false;
    if (exchange->job->kind == JOB_HEALTH && !exchange->job->is_listed)
        exchange->job->health.error = error;
}

static void trouble(struct exchange *exchange, enum trouble_kind kind, int64_t reported_ms,
                    const char *text)
{
    struct error *error = arena_new_of(exchange->job->arena, struct error);
    struct ladder *ladder = &exchange->instance->ladder;
    trouble_report(ladder, kind, exchange->moment->mono_ms, reported_ms, exchange->moment->random,
                   error, text);
    ladder->is_of_changes = exchange->job->kind == JOB_CHANGES;
    error->status = exchange->reply.status;
    report_trouble(exchange, error);
}

void exchange_trouble(struct exchange *exchange, enum trouble_kind kind, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    trouble(exchange, kind, 0, text.at);
}

const char *exchange_reply_text(struct exchange *exchange)
{
    const struct text secrets[] = {
        secret_expose(exchange->instance->password), text_of(exchange->instance->sid), {0}};
    return reply_text(exchange->arena, &exchange->reply, exchange->http, secrets);
}

// What to do about it, before what Pi-hole said.
static const char *messages_of(const struct exchange *exchange, enum trouble_kind kind)
{
    static const char refuses_password[] = "refuses the password: give its own, or an app password "
                                           "(PIHOLE_PASSWORD or its tokenFile)";
    static const char is_untrusted[] =
        "has a certificate that is not trusted: give its CA, its name or a pin "
        "(PIHOLE_TLS_CA_FILE, PIHOLE_TLS_SERVER_NAME, PIHOLE_TLS_PIN or its tls)";
    static const char asks_for_token[] =
        "asks for a second factor: make an app password on its page, give that one, and set "
        "webserver.api.app_sudo to true";
    static const char has_no_seat[] =
        "has no API seat left: end sessions on its page, or raise webserver.api.max_sessions";
    static const char hangs[] = "takes connections and answers nothing: restart FTL there "
                                "(systemctl restart pihole-FTL, or its container)";
    static const char *const words[REPLY_KINDS] = {
        [REPLY_UNAUTHORIZED] = refuses_password, [REPLY_NEEDS_TOKEN] = asks_for_token,
        [REPLY_RATE] = "limits logins",          [REPLY_SEATS] = has_no_seat,
        [REPLY_LIMIT] = "limits requests",       [REPLY_DOWN] = "does not answer",
        [REPLY_UNTRUSTED] = is_untrusted,        [REPLY_HUNG] = hangs,
    };
    if (kind == TROUBLE_RESTARTING)
        return "restarts its resolver";
    if (kind == TROUBLE_PASSWORD && exchange->has_logged_in)
        return "lets us in, and then refuses the session";
    if (kind == TROUBLE_PASSWORD && exchange->instance->has_no_password)
        return "has a password: give it, or an app password, and take PIHOLE_NO_PASSWORD or its "
               "noPassword away";
    return words[exchange->reply.kind] ? words[exchange->reply.kind] : "failed";
}

// The end of a URL that was copied from the page, or NULL: the API is looked for behind it.
static const char *page_of(const char *base)
{
    static const char *const pages[] = {"/admin/login", "/admin/api", "/admin", "/api"};
    struct text url = text_of(base);
    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        const char *at = base + url.len - strlen(pages[i]);
        if (text_ends(url, pages[i]) && at[-1] != '/')
            return at;
    }
    return NULL;
}

static void add_page_hint(const struct exchange *exchange, enum trouble_kind kind,
                          struct buffer *text)
{
    const char *page = exchange->instance->is_in ? NULL : page_of(exchange->instance->base);
    if (page && kind == TROUBLE_FAILED)
        buffer_printf(text, "; leave %s out of its URL", page);
}

void exchange_trouble_of_reply(struct exchange *exchange)
{
    const struct pihole_instance *instance = exchange->instance;
    const struct reply *reply = &exchange->reply;
    AUTO_BUFFER text = {0};
    enum trouble_kind kind =
        trouble_kind_of(reply->kind, instance->restarted_ms, exchange->moment->mono_ms);
    if (kind == TROUBLE_BLOCKED) {
        preflight_learn(exchange);
        preflight_trouble(exchange);
        return;
    }
    if (reply->kind == REPLY_STRANGE)
        buffer_printf(&text, "not a Pi-hole API at %s: ", instance->base);
    else
        buffer_printf(&text, "Pi-hole at %s %s: ", instance->base, messages_of(exchange, kind));
    buffer_add_text(&text, exchange_reply_text(exchange));
    add_page_hint(exchange, kind, &text);
    trouble(exchange, kind, reply->retry_ms, text.at);
}

void exchange_done(struct exchange *exchange)
{
    struct ladder *ladder = &exchange->instance->ladder;
    end(exchange);
    if (exchange->job->kind == JOB_CHANGES || !ladder->is_of_changes)
        *ladder = (struct ladder){0};
}

void exchange_pause(struct exchange *exchange, int64_t pause_ms, enum step after)
{
    exchange->step = STEP_PAUSE;
    exchange->pause_ms = pause_ms;
    exchange->after_pause = after;
}

// ---- asking -------------------------------------------------------------------------------------

static enum step next_step(const struct exchange *exchange)
{
    const struct pihole_instance *instance = exchange->instance;
    if (exchange->job->kind == JOB_LEAVE)
        return *instance->sid ? STEP_LEAVE : STEP_DONE;
    if (instance->dialect == DIALECT_LEGACY)
        return STEP_LEGACY_READ;
    if (!instance->is_in)
        return STEP_LOGIN;
    if (!instance->is_swept)
        return exchange->sweep_count ? STEP_SWEEP : STEP_SESSIONS;
    return instance->preflight < PREFLIGHT_DONE ? STEP_PREFLIGHT : STEP_READ;
}

void exchange_go_on(struct exchange *exchange)
{
    exchange->step = next_step(exchange);
    if (exchange->step == STEP_READ && exchange->job->kind == JOB_CHANGES &&
        !exchange->job->is_dry_run && instance_is_blocked(exchange->instance))
        preflight_trouble(exchange);
}

void exchange_add_header(struct exchange *exchange, const char *name, const char *value)
{
    must(exchange->header_count < REQUEST_HEADERS_MAX);
    exchange->headers[exchange->header_count++] = (struct http_header){name, value};
}

static void write_request(struct exchange *exchange)
{
    const struct step_rule *rule = &rules[exchange->step];
    must(rule->handle_reply);
    exchange->method = rule->method;
    exchange->header_count = 0;
    buffer_clear(&exchange->body);
    buffer_clear(&exchange->url);
    buffer_add_text(&exchange->url, exchange->instance->base);
    buffer_add_text(&exchange->url, rule->path);
    if (rule->has_session && *exchange->instance->sid)
        exchange_add_header(exchange, "X-FTL-SID", exchange->instance->sid);
    if (rule->write)
        rule->write(exchange);
    if (exchange->body.len)
        exchange_add_header(exchange, "Content-Type", "application/json");
}

static int64_t timeout_ms(const struct exchange *exchange)
{
    if (exchange->step == STEP_LEAVE)
        return LEAVE_MS;
    bool is_write = exchange->step == STEP_WRITE || exchange->step == STEP_RESTART ||
                    exchange->step == STEP_LEGACY_WRITE;
    return is_write ? REQUEST_MS : HUNG_MS;
}

static void fill(struct exchange *exchange, struct http_request *out)
{
    const struct pihole_instance *instance = exchange->instance;
    *out = (struct http_request){
        .method = exchange->method,
        .url = exchange->url.at,
        .headers = exchange->headers,
        .header_count = exchange->header_count,
        .body = exchange->body.len ? buffer_text(&exchange->body) : (struct text){0},
        .timeout_ms = timeout_ms(exchange),
        .connect_timeout_ms = exchange->step == STEP_LEAVE ? LEAVE_MS : CONNECT_MS,
        .max_body_octets = REPLY_OCTETS_MAX,
        .tls = {.ca_pem = instance->ca_pem, .server_name = instance->server_name},
        .user_agent = instance->user_agent,
        .is_single = true,
        .max_idle_s = MAX_IDLE_S,
    };
    pin_fill(instance, &out->tls);
}

enum ask_kind pihole_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct exchange *exchange = at;
    exchange->moment = moment;
    if (exchange->step == STEP_BEGIN) {
        pin_recall(exchange);
        preflight_renew(exchange);
        exchange_go_on(exchange);
    }
    if (exchange->step == STEP_DONE)
        return ASK_DONE;
    if (exchange->step == STEP_PAUSE) {
        out->wait_ms = exchange->pause_ms;
        return ASK_WAIT;
    }
    write_request(exchange);
    fill(exchange, &out->http);
    return ASK_HTTP;
}

// ---- hearing ------------------------------------------------------------------------------------

// The session is gone: one login, and all from there on again. False: that was tried.
static bool log_in_again(struct exchange *exchange)
{
    if (exchange->has_logged_in)
        return false;
    exchange->has_logged_in = true;
    instance_forget_session(exchange->instance);
    exchange_go_on(exchange);
    return true;
}

static void handle_http(struct exchange *exchange, const struct http_reply *http)
{
    const struct step_rule *rule = &rules[exchange->step];
    arena_reset(exchange->arena);
    exchange->http = http;
    reply_read(&exchange->reply, exchange->arena, http, exchange->moment->unix_ms / 1000);
    if (!pin_handle_reply(exchange))
        return;
    restart_handle_reply(exchange);
    bool is_out = exchange->reply.kind == REPLY_UNAUTHORIZED && rule->has_session;
    if (!is_out || exchange->step == STEP_LEAVE || !log_in_again(exchange))
        rule->handle_reply(exchange);
}

void pihole_handle_reply(void *at, const struct moment *moment, const struct ask_result *result)
{
    struct exchange *exchange = at;
    exchange->moment = moment;
    if (result->kind == ASK_WAIT)
        exchange->step = exchange->after_pause;
    else
        handle_http(exchange, result->http);
}
