#include "providers/pihole/talk.h"

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
    void (*write)(struct talk *talk); // what else the request has; NULL: nothing
    void (*hear)(struct talk *talk);
    bool has_session;
} rules[] = {
    [STEP_LOGIN] = {"POST", "/api/auth", session_write_login, session_hear_login, false},
    [STEP_LEGACY_TRY] = {"GET", LEGACY_PATH, legacy_write_key, legacy_hear_try, false},
    [STEP_SESSIONS] = {"GET", "/api/auth/sessions", NULL, session_hear_sessions, true},
    [STEP_SWEEP] = {"DELETE", "/api/auth/session/", session_write_sweep, session_hear_sweep, true},
    [STEP_PREFLIGHT] = {"GET", "/api/config/", preflight_write, preflight_hear, true},
    [STEP_READ] = {"GET", "/api/config/dns", NULL, read_hear, true},
    [STEP_WRITE] = {"PATCH", "", write_write, write_hear, true},
    [STEP_KNOCK] = {"GET", "/api/auth", NULL, restart_hear_knock, true},
    [STEP_RESTART] = {"POST", "/api/action/restartdns", NULL, restart_hear_paid, true},
    [STEP_LEGACY_READ] = {"GET", LEGACY_PATH, legacy_write_key, legacy_hear_read, false},
    [STEP_LEGACY_WRITE] = {"POST", LEGACY_PATH, legacy_write, legacy_hear_write, false},
    [STEP_LEAVE] = {"DELETE", "/api/auth", NULL, session_hear_leave, true},
};

// ---- life ---------------------------------------------------------------------------------------

void *pihole_begin(void *seat, struct job *job)
{
    struct talk *talk = mem_new_of(struct talk);
    talk->seat = seat;
    talk->job = job;
    talk->arena = arena_new();
    talk->way = talk->seat->way;
    job->health = (struct outcome){0};
    if (job->kind == JOB_CHANGES)
        changes_begin(talk);
    return talk;
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
    struct talk *talk = at;
    changes_end(talk);
    wipe(&talk->body);
    wipe(&talk->bearer);
    buffer_done(&talk->url);
    arena_free(talk->arena);
    free(talk);
}

// ---- ends ---------------------------------------------------------------------------------------

// Not sooner: between the reading and the writing nothing takes time.
static void end(struct talk *talk)
{
    talk->step = STEP_DONE;
    if (talk->list && talk->job->kind == JOB_CHANGES)
        health_answer(talk);
}

static void tell_trouble(struct talk *talk, const struct error *error)
{
    talk->job->trouble = error;
    end(talk);
    talk->seat->has_listed = false;
    if (talk->job->kind == JOB_HEALTH && !talk->job->is_listed)
        talk->job->health.error = error;
}

static void trouble(struct talk *talk, enum trouble_kind kind, int64_t told_ms, const char *text)
{
    struct error *error = arena_new_of(talk->job->arena, struct error);
    struct ladder *ladder = &talk->seat->ladder;
    trouble_tell(ladder, kind, talk->moment->mono_ms, told_ms, talk->moment->random, error, text);
    ladder->is_of_changes = talk->job->kind == JOB_CHANGES;
    error->status = talk->reply.status;
    tell_trouble(talk, error);
}

void talk_trouble(struct talk *talk, enum trouble_kind kind, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    trouble(talk, kind, 0, text.at);
}

const char *talk_reply_text(struct talk *talk)
{
    const struct text secrets[] = {
        secret_expose(talk->seat->password), text_of(talk->seat->sid), {0}};
    return reply_text(talk->arena, &talk->reply, talk->http, secrets);
}

// What to do about it, before what Pi-hole said.
static const char *words_of(const struct talk *talk, enum trouble_kind kind)
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
    if (kind == TROUBLE_PASSWORD && talk->has_logged_in)
        return "lets us in, and then refuses the session";
    if (kind == TROUBLE_PASSWORD && talk->seat->has_no_password)
        return "has a password: give it, or an app password, and take PIHOLE_NO_PASSWORD or its "
               "noPassword away";
    return words[talk->reply.kind] ? words[talk->reply.kind] : "failed";
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

static void add_page_hint(const struct talk *talk, enum trouble_kind kind, struct buffer *text)
{
    const char *page = talk->seat->is_in ? NULL : page_of(talk->seat->base);
    if (page && kind == TROUBLE_FAILED)
        buffer_printf(text, "; leave %s out of its URL", page);
}

void talk_trouble_of_reply(struct talk *talk)
{
    const struct pihole_seat *seat = talk->seat;
    const struct reply *reply = &talk->reply;
    AUTO_BUFFER text = {0};
    enum trouble_kind kind =
        trouble_kind_of(reply->kind, seat->restarted_ms, talk->moment->mono_ms);
    if (kind == TROUBLE_BLOCKED) {
        preflight_learn(talk);
        preflight_trouble(talk);
        return;
    }
    if (reply->kind == REPLY_STRANGE)
        buffer_printf(&text, "not a Pi-hole API at %s: ", seat->base);
    else
        buffer_printf(&text, "Pi-hole at %s %s: ", seat->base, words_of(talk, kind));
    buffer_add_text(&text, talk_reply_text(talk));
    add_page_hint(talk, kind, &text);
    trouble(talk, kind, reply->retry_ms, text.at);
}

void talk_done(struct talk *talk)
{
    struct ladder *ladder = &talk->seat->ladder;
    end(talk);
    if (talk->job->kind == JOB_CHANGES || !ladder->is_of_changes)
        *ladder = (struct ladder){0};
}

void talk_pause(struct talk *talk, int64_t pause_ms, enum step after)
{
    talk->step = STEP_PAUSE;
    talk->pause_ms = pause_ms;
    talk->after_pause = after;
}

// ---- asking -------------------------------------------------------------------------------------

static enum step next_step(const struct talk *talk)
{
    const struct pihole_seat *seat = talk->seat;
    if (talk->job->kind == JOB_LEAVE)
        return *seat->sid ? STEP_LEAVE : STEP_DONE;
    if (seat->dialect == DIALECT_LEGACY)
        return STEP_LEGACY_READ;
    if (!seat->is_in)
        return STEP_LOGIN;
    if (!seat->is_swept)
        return talk->sweep_count ? STEP_SWEEP : STEP_SESSIONS;
    return seat->preflight < PREFLIGHT_DONE ? STEP_PREFLIGHT : STEP_READ;
}

void talk_go_on(struct talk *talk)
{
    talk->step = next_step(talk);
    if (talk->step == STEP_READ && talk->job->kind == JOB_CHANGES && !talk->job->is_trial &&
        seat_is_blocked(talk->seat))
        preflight_trouble(talk);
}

void talk_add_header(struct talk *talk, const char *name, const char *value)
{
    must(talk->header_count < REQUEST_HEADERS_MAX);
    talk->headers[talk->header_count++] = (struct http_header){name, value};
}

static void write_request(struct talk *talk)
{
    const struct step_rule *rule = &rules[talk->step];
    must(rule->hear);
    talk->method = rule->method;
    talk->header_count = 0;
    buffer_clear(&talk->body);
    buffer_clear(&talk->url);
    buffer_add_text(&talk->url, talk->seat->base);
    buffer_add_text(&talk->url, rule->path);
    if (rule->has_session && *talk->seat->sid)
        talk_add_header(talk, "X-FTL-SID", talk->seat->sid);
    if (rule->write)
        rule->write(talk);
    if (talk->body.len)
        talk_add_header(talk, "Content-Type", "application/json");
}

static int64_t timeout_ms(const struct talk *talk)
{
    if (talk->step == STEP_LEAVE)
        return LEAVE_MS;
    bool is_write =
        talk->step == STEP_WRITE || talk->step == STEP_RESTART || talk->step == STEP_LEGACY_WRITE;
    return is_write ? REQUEST_MS : HUNG_MS;
}

static void fill(struct talk *talk, struct http_request *out)
{
    const struct pihole_seat *seat = talk->seat;
    *out = (struct http_request){
        .method = talk->method,
        .url = talk->url.at,
        .headers = talk->headers,
        .header_count = talk->header_count,
        .body = talk->body.len ? buffer_text(&talk->body) : (struct text){0},
        .timeout_ms = timeout_ms(talk),
        .connect_timeout_ms = talk->step == STEP_LEAVE ? LEAVE_MS : CONNECT_MS,
        .max_body_octets = REPLY_OCTETS_MAX,
        .tls = {.ca_pem = seat->ca_pem, .server_name = seat->server_name},
        .user_agent = seat->user_agent,
        .is_single = true,
        .max_idle_s = MAX_IDLE_S,
    };
    pin_fill(seat, &out->tls);
}

enum ask_kind pihole_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct talk *talk = at;
    talk->moment = moment;
    if (talk->step == STEP_BEGIN) {
        pin_recall(talk);
        preflight_renew(talk);
        talk_go_on(talk);
    }
    if (talk->step == STEP_DONE)
        return ASK_DONE;
    if (talk->step == STEP_PAUSE) {
        out->wait_ms = talk->pause_ms;
        return ASK_WAIT;
    }
    write_request(talk);
    fill(talk, &out->http);
    return ASK_HTTP;
}

// ---- hearing ------------------------------------------------------------------------------------

// The session is gone: one login, and all from there on again. False: that was tried.
static bool log_in_again(struct talk *talk)
{
    if (talk->has_logged_in)
        return false;
    talk->has_logged_in = true;
    seat_forget_session(talk->seat);
    talk_go_on(talk);
    return true;
}

static void hear_reply(struct talk *talk, const struct http_reply *http)
{
    const struct step_rule *rule = &rules[talk->step];
    arena_reset(talk->arena);
    talk->http = http;
    reply_read(&talk->reply, talk->arena, http, talk->moment->unix_ms / 1000);
    if (!pin_hear(talk))
        return;
    restart_hear(talk);
    bool is_out = talk->reply.kind == REPLY_UNAUTHORIZED && rule->has_session;
    if (!is_out || talk->step == STEP_LEAVE || !log_in_again(talk))
        rule->hear(talk);
}

void pihole_hear(void *at, const struct moment *moment, const struct heard *heard)
{
    struct talk *talk = at;
    talk->moment = moment;
    if (heard->kind == ASK_WAIT)
        talk->step = talk->after_pause;
    else
        hear_reply(talk, heard->http);
}
