#include "providers/pihole/talk.h"

#include <stdio.h>
#include <string.h>

#define AGENT "signpost/"

enum { DOUBT_MS = 2000 }; // what is counted there, is by the second

// ---- logging in ---------------------------------------------------------------------------------

void session_write_login(struct talk *talk)
{
    buffer_add_text(&talk->body, "{\"password\":");
    value_write_json_text(&talk->body, secret_expose(talk->seat->password));
    buffer_add_char(&talk->body, '}');
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
static bool take_session(struct pihole_seat *seat, const struct value *session)
{
    struct text sid = value_text_at(session, "sid");
    if (sid.at && !sid_is_sane(sid))
        return false;
    seat_forget_session(seat);
    snprintf(seat->sid, sizeof seat->sid, "%.*s", TEXT_ARGS(sid));
    seat->is_in = true;
    seat->is_app = text_starts(value_text_at(session, "message"), "app-password");
    seat->is_swept = !sid.len;
    seat->count.logins++;
    return true;
}

static bool may_be_legacy(const struct talk *talk)
{
    int status = talk->reply.status;
    return (status == 404 || status == 405) && talk->seat->dialect == DIALECT_AUTO;
}

// A Pi-hole that has just let in others with an app password says to the right one that it is
// wrong: each such login counts as a try that failed.
static bool may_be_right(const struct talk *talk)
{
    bool is_known = talk->seat->ladder.failures && talk->seat->ladder.kind == TROUBLE_PASSWORD;
    return talk->reply.kind == REPLY_UNAUTHORIZED && !talk->has_doubted && !is_known &&
           !talk->seat->has_no_password;
}

static void refuse_login(struct talk *talk)
{
    const struct reply *reply = &talk->reply;
    if (may_be_right(talk)) {
        talk->has_doubted = true;
        talk_pause(talk, DOUBT_MS, STEP_LOGIN);
        return;
    }
    talk->seat->count.refused_logins += reply->status != 0;
    if (reply->kind == REPLY_ABSENT || reply->status == 404 || reply->status == 405)
        talk->reply.kind = REPLY_STRANGE;
    talk_trouble_of_reply(talk);
}

void session_hear_login(struct talk *talk)
{
    const struct value *session = value_find(talk->reply.tree, "session");
    if (may_be_legacy(talk)) {
        talk->step = STEP_LEGACY_TRY;
        return;
    }
    if (talk->reply.kind == REPLY_OK && !session)
        talk->reply.kind = REPLY_STRANGE;
    else if (talk->reply.kind == REPLY_OK && !value_bool_at(session, "valid", false))
        talk->reply.kind = REPLY_UNAUTHORIZED;
    if (talk->reply.kind != REPLY_OK) {
        refuse_login(talk);
        return;
    }
    if (!take_session(talk->seat, session)) {
        talk->reply.kind = REPLY_STRANGE;
        talk_trouble_of_reply(talk);
        return;
    }
    talk->seat->dialect = DIALECT_V6;
    restart_suspect(talk);
    talk_go_on(talk);
}

// ---- seats --------------------------------------------------------------------------------------

// Signpost's with our owner id, of whatever version.
static bool is_ours(const struct pihole_seat *seat, struct text agent)
{
    AUTO_BUFFER tail = {0};
    buffer_add_char(&tail, ' ');
    seat_write_mark(seat, &tail);
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

// Another lane of this process keeps this Pi-hole as well. The one that is named first stays; it
// ends the session of the other, who then finds it here.
static bool is_elder(const struct pihole_seat *seat, struct text agent, struct place *out)
{
    struct place own;
    return seat->place && read_place(text_of(seat->place), &own) && place_of(agent, out) &&
           text_equal(out->process, own.process) && out->number < own.number;
}

static void give_way(struct talk *talk, const struct place *elder)
{
    snprintf(talk->elder, sizeof talk->elder, "%.*s", TEXT_ARGS(elder->name));
}

static void take_leftover(struct talk *talk, const struct value *item, int64_t id)
{
    struct place elder;
    struct text agent = value_text_at(item, "user_agent");
    if (id < 0 || !is_ours(talk->seat, agent))
        return;
    if (is_elder(talk->seat, agent, &elder))
        give_way(talk, &elder);
    else if (talk->sweep_count < SWEEPS_MAX)
        talk->sweeps[talk->sweep_count++] = id;
}

static void take_sessions(struct talk *talk, const struct value *sessions)
{
    struct pihole_seat *seat = talk->seat;
    seat->seats_in_use = 0;
    value_each (item, sessions) {
        int64_t id = value_int_at(item, "id", -1);
        bool is_current = value_bool_at(item, "current_session", false);
        bool is_valid = value_bool_at(item, "valid", true);
        seat->seats_in_use += is_valid;
        if (is_current)
            seat->is_app = value_bool_at(item, "app", seat->is_app);
        else if (is_valid)
            take_leftover(talk, item, id);
    }
    seat->is_swept = !talk->sweep_count;
}

static bool is_silent(const struct talk *talk)
{
    return talk->reply.kind == REPLY_DOWN || talk->reply.kind == REPLY_UNTRUSTED;
}

// Where the list is refused, we carry on without.
void session_hear_sessions(struct talk *talk)
{
    const struct value *sessions = value_find(talk->reply.tree, "sessions");
    if (is_silent(talk)) {
        talk_trouble_of_reply(talk);
        return;
    }
    talk->seat->is_swept = true;
    if (talk->reply.kind == REPLY_OK && sessions && sessions->type == VALUE_LIST)
        take_sessions(talk, sessions);
    talk_go_on(talk);
    if (*talk->elder)
        talk->step = STEP_LEAVE;
}

void session_write_sweep(struct talk *talk)
{
    buffer_add_number(&talk->url, (uint64_t)talk->sweeps[talk->sweep_count - 1]);
}

void session_hear_sweep(struct talk *talk)
{
    struct pihole_seat *seat = talk->seat;
    if (is_silent(talk)) {
        talk_trouble_of_reply(talk);
        return;
    }
    seat->seats_in_use -= talk->reply.kind == REPLY_OK;
    talk->sweep_count--;
    seat->is_swept = !talk->sweep_count;
    talk_go_on(talk);
}

void session_hear_leave(struct talk *talk)
{
    seat_forget_session(talk->seat);
    talk->step = STEP_DONE;
    if (*talk->elder)
        talk_trouble(talk, TROUBLE_TWICE,
                     "Pi-hole at %s is the same as %s: take one of the two out of the settings",
                     talk->seat->base, talk->elder);
}
