#include "providers/pihole/exchange.h"

#include <stdio.h>
#include <string.h>

#define AGENT "signpost/"

enum { DOUBT_MS = 2000 }; // what is counted there, is by the second

// ---- logging in ---------------------------------------------------------------------------------

void session_write_login(struct exchange *exchange)
{
    buffer_add_text(&exchange->body, "{\"password\":");
    value_write_json_text(&exchange->body, secret_expose(exchange->instance->password));
    buffer_add_char(&exchange->body, '}');
}

// It goes into a header.
static bool sid_is_sane(struct text sid)
{
    for (size_t i = 0; i < sid.len; i++)
        if (sid.at[i] <= ' ' || sid.at[i] > '~')
            return false;
    return sid.len && sid.len < SID_MAX;
}

// Without a SID every call is allowed: Pi-hole has no password.
static bool take_session(struct pihole_instance *instance, const struct value *session)
{
    struct text sid = value_text_at(session, "sid");
    if (sid.at && !sid_is_sane(sid))
        return false;
    instance_forget_session(instance);
    snprintf(instance->sid, sizeof instance->sid, "%.*s", TEXT_ARGS(sid));
    instance->is_in = true;
    instance->is_app = text_starts(value_text_at(session, "message"), "app-password");
    instance->is_swept = !sid.len;
    instance->count.logins++;
    return true;
}

static bool may_be_legacy(const struct exchange *exchange)
{
    int status = exchange->reply.status;
    return (status == 404 || status == 405) && exchange->instance->dialect == DIALECT_AUTO;
}

// A Pi-hole that has just let in others with an app password says to the right one that it is
// wrong: each such login counts as a try that failed.
static bool may_be_right(const struct exchange *exchange)
{
    bool is_known =
        exchange->instance->ladder.failures && exchange->instance->ladder.kind == TROUBLE_PASSWORD;
    return exchange->reply.kind == REPLY_UNAUTHORIZED && !exchange->has_doubted && !is_known &&
           !exchange->instance->has_no_password;
}

static void refuse_login(struct exchange *exchange)
{
    const struct reply *reply = &exchange->reply;
    if (may_be_right(exchange)) {
        exchange->has_doubted = true;
        exchange_pause(exchange, DOUBT_MS, STEP_LOGIN);
        return;
    }
    exchange->instance->count.refused_logins += reply->status != 0;
    if (reply->kind == REPLY_ABSENT || reply->status == 404 || reply->status == 405)
        exchange->reply.kind = REPLY_STRANGE;
    exchange_trouble_of_reply(exchange);
}

void session_handle_login(struct exchange *exchange)
{
    const struct value *session = value_find(exchange->reply.tree, "session");
    if (may_be_legacy(exchange)) {
        exchange->step = STEP_LEGACY_TRY;
        return;
    }
    if (exchange->reply.kind == REPLY_OK && !session)
        exchange->reply.kind = REPLY_STRANGE;
    else if (exchange->reply.kind == REPLY_OK && !value_bool_at(session, "valid", false))
        exchange->reply.kind = REPLY_UNAUTHORIZED;
    if (exchange->reply.kind != REPLY_OK) {
        refuse_login(exchange);
        return;
    }
    if (!take_session(exchange->instance, session)) {
        exchange->reply.kind = REPLY_STRANGE;
        exchange_trouble_of_reply(exchange);
        return;
    }
    exchange->instance->dialect = DIALECT_V6;
    restart_suspect(exchange);
    exchange_go_on(exchange);
}

// ---- seats --------------------------------------------------------------------------------------

// Signpost's with our owner id, of whatever version.
static bool is_ours(const struct pihole_instance *instance, struct text agent)
{
    AUTO_BUFFER tail = {0};
    buffer_add_char(&tail, ' ');
    instance_write_mark(instance, &tail);
    return text_starts(agent, AGENT) && text_ends(agent, tail.at);
}

struct place {
    struct text name;
    int64_t number;
    struct text process;
};

static bool read_place(struct text text, struct place *out)
{
    struct text number;
    return text_cut(&text, '.', &out->name) && text_cut(&text, '#', &number) && text.len &&
           text_to_int64(number, &out->number) && (out->process = text, true);
}

// "signpost/0.1.0 NAME.NUMBER#PROCESS (OWNER)"
static bool place_of(struct text agent, struct place *out)
{
    struct text product;
    struct text word;
    return text_cut(&agent, ' ', &product) && text_cut(&agent, ' ', &word) && read_place(word, out);
}

// Another backend of this process keeps this Pi-hole as well. The one that is named first stays; it
// ends the session of the other, who then finds it here.
static bool is_elder(const struct pihole_instance *instance, struct text agent, struct place *out)
{
    struct place own;
    return instance->place && read_place(text_of(instance->place), &own) && place_of(agent, out) &&
           text_equal(out->process, own.process) && out->number < own.number;
}

static void give_way(struct exchange *exchange, const struct place *elder)
{
    snprintf(exchange->elder, sizeof exchange->elder, "%.*s", TEXT_ARGS(elder->name));
}

static void take_leftover(struct exchange *exchange, const struct value *item, int64_t id)
{
    struct place elder;
    struct text agent = value_text_at(item, "user_agent");
    if (id < 0 || !is_ours(exchange->instance, agent))
        return;
    if (is_elder(exchange->instance, agent, &elder))
        give_way(exchange, &elder);
    else if (exchange->sweep_count < SWEEPS_MAX)
        exchange->sweeps[exchange->sweep_count++] = id;
}

static void take_sessions(struct exchange *exchange, const struct value *sessions)
{
    struct pihole_instance *instance = exchange->instance;
    instance->seats_in_use = 0;
    value_each (item, sessions) {
        int64_t id = value_int_at(item, "id", -1);
        bool is_current = value_bool_at(item, "current_session", false);
        bool is_valid = value_bool_at(item, "valid", true);
        instance->seats_in_use += is_valid;
        if (is_current)
            instance->is_app = value_bool_at(item, "app", instance->is_app);
        else if (is_valid)
            take_leftover(exchange, item, id);
    }
    instance->is_swept = !exchange->sweep_count;
}

static bool is_silent(const struct exchange *exchange)
{
    return exchange->reply.kind == REPLY_DOWN || exchange->reply.kind == REPLY_UNTRUSTED;
}

// Where the list is refused, we carry on without.
void session_handle_sessions(struct exchange *exchange)
{
    const struct value *sessions = value_find(exchange->reply.tree, "sessions");
    if (is_silent(exchange)) {
        exchange_trouble_of_reply(exchange);
        return;
    }
    exchange->instance->is_swept = true;
    if (exchange->reply.kind == REPLY_OK && sessions && sessions->type == VALUE_LIST)
        take_sessions(exchange, sessions);
    exchange_go_on(exchange);
    if (*exchange->elder)
        exchange->step = STEP_LEAVE;
}

void session_write_sweep(struct exchange *exchange)
{
    buffer_add_number(&exchange->url, (uint64_t)exchange->sweeps[exchange->sweep_count - 1]);
}

void session_handle_sweep(struct exchange *exchange)
{
    struct pihole_instance *instance = exchange->instance;
    if (is_silent(exchange)) {
        exchange_trouble_of_reply(exchange);
        return;
    }
    instance->seats_in_use -= exchange->reply.kind == REPLY_OK;
    exchange->sweep_count--;
    instance->is_swept = !exchange->sweep_count;
    exchange_go_on(exchange);
}

void session_handle_leave(struct exchange *exchange)
{
    instance_forget_session(exchange->instance);
    exchange->step = STEP_DONE;
    if (*exchange->elder)
        exchange_trouble(exchange, TROUBLE_TWICE,
                         "Pi-hole at %s is the same as %s: take one of the two out of the settings",
                         exchange->instance->base, exchange->elder);
}
