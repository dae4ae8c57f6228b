#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "model/model_pihole_private.h"

enum { TRIES_PER_SECOND = 3, PAUSE_MS = 250, NO_VALIDITY = -1 };

// ---- seats --------------------------------------------------------------------------------------

static void session_done(struct pihole_session *session)
{
    free(session->agent);
    free(session->peer);
    *session = (struct pihole_session){0};
}

void model_pihole_sessions_done(struct model_pihole *pihole)
{
    for (size_t i = 0; i < PIHOLE_SEATS_MAX; i++)
        session_done(&pihole->sessions[i]);
}

void model_pihole_forget_sessions(struct model_pihole *pihole)
{
    model_pihole_sessions_done(pihole);
}

static bool is_valid(const struct pihole_session *session, int64_t now_s)
{
    return session->is_used && (session->is_forever || session->until_s >= now_s);
}

size_t model_pihole_seats(const struct model_pihole *pihole, int64_t now_ms)
{
    size_t count = 0;
    for (size_t i = 0; i < PIHOLE_SEATS_MAX; i++)
        count += is_valid(&pihole->sessions[i], model_pihole_unix_s(pihole, now_ms));
    return count;
}

static void make_sid(struct model_pihole *pihole, char sid[PIHOLE_SID_MAX])
{
    uint8_t octets[DIGEST_MAX];
    AUTO_BUFFER seed = {0};
    AUTO_BUFFER text = {0};
    buffer_printf(&seed, "%lld %llu", (long long)pihole->epoch_ms,
                  (unsigned long long)++pihole->sids);
    digest_of(DIGEST_SHA1, buffer_text(&seed), octets);
    base64_encode(&text, octets, digest_len(DIGEST_SHA1));
    snprintf(sid, PIHOLE_SID_MAX, "%s", text.at);
}

// A free seat; those whose time is over are freed on the way. NULL: there is none.
static struct pihole_session *take_seat(struct model_pihole *pihole, int64_t now_s)
{
    for (size_t i = 0; i < (size_t)pihole->switches.max_sessions; i++) {
        struct pihole_session *session = &pihole->sessions[i];
        if (session->is_used && !is_valid(session, now_s))
            session_done(session);
        if (session->is_used)
            continue;
        *session = (struct pihole_session){
            .is_used = true,
            .login_s = now_s,
            .until_s = now_s + pihole->switches.session_timeout_s,
        };
        make_sid(pihole, session->sid);
        make_sid(pihole, session->csrf);
        return session;
    }
    return NULL;
}

void model_pihole_seat_others(struct model_pihole *pihole, int64_t now_ms, size_t count)
{
    for (size_t i = 0; i < PIHOLE_SEATS_MAX; i++)
        if (pihole->sessions[i].is_forever)
            session_done(&pihole->sessions[i]);
    for (size_t i = 0; i < count; i++) {
        struct pihole_session *session = take_seat(pihole, model_pihole_unix_s(pihole, now_ms));
        if (!session)
            return;
        session->is_forever = true;
        session->agent = mem_copy_text("Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101");
        session->peer = mem_copy_text("192.0.2.200");
    }
}

// ---- who calls ----------------------------------------------------------------------------------

static const char *cookie_of(const struct pihole_call *call)
{
    struct text pair;
    struct text rest = text_of(model_pihole_header(call, "Cookie"));
    while (text_cut(&rest, ';', &pair)) {
        struct text trimmed = text_trim(pair);
        if (text_starts(trimmed, "sid="))
            return arena_copy(call->arena, trimmed.at + 4, trimmed.len - 4);
    }
    return NULL;
}

static const char *undo_plus(char *sid)
{
    for (char *at = sid; *at; at++)
        if (*at == ' ')
            *at = '+';
    return sid;
}

static const char *variable_sid(const struct pihole_call *call, struct text source)
{
    const char *found = model_pihole_variable(call->arena, source, "sid");
    return found ? undo_plus(arena_copy_text(call->arena, found)) : NULL;
}

static const char *body_sid(const struct pihole_call *call)
{
    const char *form = call->has_body ? variable_sid(call, call->request->body) : NULL;
    struct text json = value_text_at(call->body, "sid");
    if (form || !json.at)
        return form;
    return arena_copy(call->arena, json.at, json.len);
}

// From the body, a header, a cookie, the query: in this order, and the first counts alone.
static const char *sid_of(const struct pihole_call *call, bool *is_cookie)
{
    const char *sid = body_sid(call);
    *is_cookie = false;
    if (!sid)
        sid = model_pihole_header(call, "sid");
    if (!sid)
        sid = model_pihole_header(call, "X-FTL-SID");
    if (sid)
        return sid;
    sid = cookie_of(call);
    *is_cookie = sid != NULL;
    return sid ? sid : variable_sid(call, call->query);
}

static bool has_csrf(const struct pihole_call *call, const struct pihole_session *session)
{
    const char *token = model_pihole_header(call, "X-CSRF-TOKEN");
    return token && !strcmp(token, session->csrf);
}

static void set_cookie(struct pihole_call *call, const char *sid, int64_t age_s)
{
    struct pihole_flight *flight = call->flight;
    snprintf(flight->cookie, sizeof flight->cookie,
             "sid=%s; SameSite=Strict; Path=/; Max-Age=%lld; HttpOnly", sid, (long long)age_s);
    model_pihole_add_header(call, "Set-Cookie", flight->cookie);
}

// The session of the call, which lives on with it; NULL: none.
static struct pihole_session *session_of(struct pihole_call *call, bool wants_csrf)
{
    bool is_cookie;
    struct model_pihole *pihole = call->pihole;
    const char *sid = sid_of(call, &is_cookie);
    int64_t now_s = model_pihole_unix_s(pihole, call->now_ms);
    for (size_t i = 0; sid && i < PIHOLE_SEATS_MAX; i++) {
        struct pihole_session *session = &pihole->sessions[i];
        if (!is_valid(session, now_s) || strcmp(session->sid, sid) != 0)
            continue;
        if (is_cookie && wants_csrf && !has_csrf(call, session))
            return NULL;
        session->until_s = now_s + pihole->switches.session_timeout_s;
        return session;
    }
    return NULL;
}

bool model_pihole_is_let_in(struct pihole_call *call)
{
    if (!*call->pihole->switches.password)
        return true;
    call->session = session_of(call, true);
    if (!call->session) {
        model_pihole_refuse(call, 401, "unauthorized", "Unauthorized", NULL);
        return false;
    }
    set_cookie(call, call->session->sid, call->pihole->switches.session_timeout_s);
    return true;
}

// ---- passwords ----------------------------------------------------------------------------------

enum password { PASSWORD_WRONG, PASSWORD_MAIN, PASSWORD_APP, PASSWORD_LIMITED };

// One check takes its time and counts as a try unless it is right; too many in one second of the
// clock end in a pause.
static enum password try_password(struct pihole_call *call, const char *password,
                                  const char *wanted, enum password right)
{
    struct model_pihole *pihole = call->pihole;
    int64_t now_s = model_pihole_unix_s(pihole, call->now_ms);
    if (!*password)
        return PASSWORD_WRONG;
    if (pihole->tried_s != now_s)
        pihole->tries = 0;
    pihole->tried_s = now_s;
    if (++pihole->tries > TRIES_PER_SECOND) {
        call->reply->delay_ms += PAUSE_MS;
        return PASSWORD_LIMITED;
    }
    call->reply->delay_ms += pihole->switches.password_ms;
    if (strcmp(password, wanted) != 0)
        return PASSWORD_WRONG;
    pihole->tries--;
    return right;
}

// The password of applications is tried when the main one is wrong, which has counted by then; too
// many tries there read as a wrong password.
static enum password check_password(struct pihole_call *call, const char *password)
{
    const struct pihole_switches *switches = &call->pihole->switches;
    enum password result = try_password(call, password, switches->password, PASSWORD_MAIN);
    if (result == PASSWORD_WRONG && *switches->app_password &&
        try_password(call, password, switches->app_password, PASSWORD_APP) == PASSWORD_APP)
        return PASSWORD_APP;
    return result;
}

// ---- logins -------------------------------------------------------------------------------------

static void answer_session(struct pihole_call *call, const struct pihole_session *session,
                           bool is_in, const char *message)
{
    struct arena *arena = call->arena;
    struct model_pihole *pihole = call->pihole;
    struct value *map = value_make(arena, VALUE_MAP);
    int64_t now_s = model_pihole_unix_s(pihole, call->now_ms);
    value_put_bool(arena, map, "session.valid", is_in);
    value_put_bool(arena, map, "session.totp", *pihole->switches.totp != '\0');
    if (session) {
        value_put_text(arena, map, "session.sid", session->sid);
        value_put_text(arena, map, "session.csrf", session->csrf);
        set_cookie(call, session->sid, pihole->switches.session_timeout_s);
    } else {
        value_put(arena, map, "session.sid", value_make(arena, VALUE_NULL));
    }
    value_put_int(arena, map, "session.validity", session ? session->until_s - now_s : NO_VALIDITY);
    value_put_text(arena, map, "session.message", message);
    model_pihole_answer(call, is_in ? 200 : 401, map);
}

// The second factor, of the main password alone. False: refused.
static bool pass_totp(struct pihole_call *call)
{
    char token[16];
    struct model_pihole *pihole = call->pihole;
    const struct value *given = value_find(call->body, "totp");
    if (!*pihole->switches.totp)
        return true;
    if (!given) {
        model_pihole_refuse(call, 400, "bad_request", "No 2FA token found in JSON payload", NULL);
        return false;
    }
    if (pihole->switches.totp_limited) {
        model_pihole_refuse(call, 429, "rate_limiting", "Rate-limiting login attempts", NULL);
        return false;
    }
    int64_t number = given->type == VALUE_INT ? given->integer : 0;
    snprintf(token, sizeof token, "%06lld", (long long)(number % 1000000));
    if (strcmp(token, pihole->switches.totp) != 0) {
        model_pihole_refuse(call, 401, "unauthorized", "Invalid 2FA token", NULL);
        return false;
    }
    if (!strcmp(token, pihole->used_totp)) {
        model_pihole_refuse(call, 401, "unauthorized", "Reused 2FA token", "wait for new token");
        return false;
    }
    free(pihole->used_totp);
    pihole->used_totp = mem_copy_text(token);
    return true;
}

static void give_seat(struct pihole_call *call, enum password password)
{
    struct model_pihole *pihole = call->pihole;
    const char *agent = model_pihole_header(call, "User-Agent");
    struct pihole_session *session = take_seat(pihole, model_pihole_unix_s(pihole, call->now_ms));
    if (!session) {
        model_pihole_refuse(call, 429, "api_seats_exceeded", "API seats exceeded",
                            "increase webserver.api.max_sessions");
        return;
    }
    session->is_app = password == PASSWORD_APP;
    session->agent = mem_copy_text(agent ? agent : "");
    session->peer = mem_copy_text(call->request->peer ? call->request->peer : "127.0.0.1");
    pihole->counters.logins++;
    answer_session(call, session, true,
                   session->is_app ? "app-password correct" : "password correct");
}

static void log_in(struct pihole_call *call)
{
    const struct value *given = value_find(call->body, "password");
    if (!model_pihole_has_json(call))
        return;
    if (!given) {
        model_pihole_refuse(call, 400, "bad_request", "No password found in JSON payload", NULL);
        return;
    }
    if (given->type != VALUE_TEXT) {
        model_pihole_refuse(call, 400, "bad_request", "Field password has to be of type 'string'",
                            NULL);
        return;
    }
    if (!*call->pihole->switches.password) {
        answer_session(call, NULL, true, "no password set");
        return;
    }
    enum password result =
        check_password(call, arena_copy(call->arena, given->text.at, given->text.len));
    if (result == PASSWORD_MAIN || result == PASSWORD_APP) {
        if (result == PASSWORD_APP || pass_totp(call))
            give_seat(call, result);
        return;
    }
    call->pihole->counters.failed_logins++;
    if (result == PASSWORD_LIMITED)
        model_pihole_refuse(call, 429, "rate_limiting", "Rate-limiting login attempts", NULL);
    else
        answer_session(call, NULL, false, "password incorrect");
}

static void log_out(struct pihole_call *call)
{
    struct pihole_session *session = session_of(call, false);
    if (!session) {
        answer_session(call, NULL, false, "no valid session");
        return;
    }
    call->pihole->counters.logouts++;
    session_done(session);
    model_pihole_add_header(call, "Set-Cookie", "sid=deleted; SameSite=Strict; Path=/; Max-Age=-1");
    model_pihole_answer_empty(call, 204);
}

void model_pihole_auth(struct pihole_call *call)
{
    bool is_free = !*call->pihole->switches.password;
    if (call->segment_count > 1) {
        model_pihole_refuse(call, 404, "not_found", "Not found",
                            arena_copy(call->arena, call->path.at, call->path.len));
    } else if (!strcmp(call->request->method, "POST")) {
        log_in(call);
    } else if (!strcmp(call->request->method, "DELETE")) {
        log_out(call);
    } else {
        struct pihole_session *session = is_free ? NULL : session_of(call, false);
        answer_session(call, session, is_free || session, session ? "session valid" : "no session");
    }
}

// ---- what sessions there are --------------------------------------------------------------------

static struct value *session_value(const struct pihole_call *call, size_t id)
{
    struct arena *arena = call->arena;
    const struct model_pihole *pihole = call->pihole;
    const struct pihole_session *session = &pihole->sessions[id];
    int64_t now_s = model_pihole_unix_s(pihole, call->now_ms);
    int64_t until_s =
        session->is_forever ? now_s + pihole->switches.session_timeout_s : session->until_s;
    struct value *map = value_make(arena, VALUE_MAP);
    value_put_int(arena, map, "id", (int64_t)id);
    value_put_bool(arena, map, "current_session", session == call->session);
    value_put_bool(arena, map, "valid", is_valid(session, now_s));
    value_put_bool(arena, map, "tls.login", false);
    value_put_bool(arena, map, "tls.mixed", false);
    value_put_int(arena, map, "login_at", session->login_s);
    value_put_int(arena, map, "last_active", until_s - pihole->switches.session_timeout_s);
    value_put_int(arena, map, "valid_until", until_s);
    value_put_text(arena, map, "remote_addr", session->peer);
    value_put_text(arena, map, "user_agent", session->agent);
    value_put_bool(arena, map, "app", session->is_app);
    return map;
}

static void list_sessions(struct pihole_call *call)
{
    struct value *map = value_make(call->arena, VALUE_MAP);
    struct value *list = value_make(call->arena, VALUE_LIST);
    for (size_t i = 0; i < PIHOLE_SEATS_MAX; i++)
        if (call->pihole->sessions[i].is_used)
            value_append(list, session_value(call, i));
    value_set(map, TEXT("sessions"), list);
    model_pihole_answer(call, 200, map);
}

static void delete_session(struct pihole_call *call)
{
    int64_t id;
    struct pihole_session *sessions = call->pihole->sessions;
    const char *name = call->segment_count > 2 ? call->segments[2] : "";
    if (!text_to_int64(text_of(name), &id)) {
        model_pihole_refuse(call, 400, "bad_request", "Missing or invalid session ID", NULL);
    } else if (id < 0 || id >= call->pihole->switches.max_sessions) {
        model_pihole_refuse(call, 400, "bad_request", "Session ID out of bounds", NULL);
    } else if (!sessions[id].is_used) {
        model_pihole_refuse(call, 400, "bad_request", "Session ID not in use", NULL);
    } else {
        session_done(&sessions[id]);
        model_pihole_answer_empty(call, 204);
    }
}

void model_pihole_sessions(struct pihole_call *call)
{
    if (!model_pihole_is_let_in(call))
        return;
    if (!strcmp(call->segments[1], "sessions"))
        list_sessions(call);
    else
        delete_session(call);
}
