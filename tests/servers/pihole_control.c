// The control frontend: one command in JSON as the body of a POST, one reply.
//
//     curl -d '{"do":"set","name":"max_sessions","value":"2"}' http://127.0.0.1:PORT/
//
// The reply is {"result":...} or, with status 400, {"error":"..."}.

#include "base/memory.h"
#include "base/value.h"
#include "pihole.h"

static const struct value_limits limits = {.octets = 4 * 1024 * 1024, .depth = 8};

// Who reads the lists writes them back within this time.
enum { BETWEEN_MS = 1000 };

struct command {
    struct pihole *pihole;
    int64_t now_ms;
    const struct value *arguments;
    struct buffer *out; // the result in JSON; empty: true
};
typedef bool command_call(const struct command *command, struct error *err);

static const char *argument(const struct command *command, struct arena *arena, const char *name)
{
    struct text text = value_text_at(command->arguments, name);
    return arena_copy(arena, text.at ? text.at : "", text.len);
}

static bool find_list(const struct command *command, enum pihole_list *list, struct error *err)
{
    struct text name = value_text_at(command->arguments, "list");
    if (!text_is(name, "hosts") && !text_is(name, "cnames"))
        return error_set(err, FAULT_SPEC, "", "list is hosts or cnames");
    *list = text_is(name, "hosts") ? PIHOLE_HOSTS : PIHOLE_CNAMES;
    return true;
}

static bool do_set(const struct command *command, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    return model_pihole_set(command->pihole->model, command->now_ms,
                            argument(command, arena, "name"), argument(command, arena, "value"),
                            err);
}

static bool do_list(const struct command *command, struct error *err)
{
    const struct model_pihole *model = command->pihole->model;
    enum pihole_list list = PIHOLE_HOSTS;
    if (!find_list(command, &list, err))
        return false;
    buffer_add_char(command->out, '[');
    for (size_t i = 0; i < model_pihole_count(model, list); i++) {
        if (i)
            buffer_add_char(command->out, ',');
        value_write_json_text(command->out, text_of(model_pihole_at(model, list, i)));
    }
    buffer_add_char(command->out, ']');
    return true;
}

// With "apart", nothing is done (and the result false) while a client may be about to write the
// lists as it has just read them: what people do in between is lost with the real one, too.
static bool must_wait(const struct command *command)
{
    const struct pihole *pihole = command->pihole;
    if (!value_bool_at(command->arguments, "apart", false) || !pihole->read_ms ||
        command->now_ms - pihole->read_ms > BETWEEN_MS)
        return false;
    buffer_add_text(command->out, "false");
    return true;
}

static bool do_put(const struct command *command, struct error *err)
{
    enum pihole_list list = PIHOLE_HOSTS;
    if (!find_list(command, &list, err))
        return false;
    if (must_wait(command))
        return true;
    bool is_kept = value_bool_at(command->arguments, "kept", false);
    value_each (entry, value_find(command->arguments, "entries")) {
        autofree char *text = text_dup(value_text(entry));
        model_pihole_put(command->pihole->model, list, text, is_kept);
    }
    return true;
}

static bool do_take(const struct command *command, struct error *err)
{
    enum pihole_list list = PIHOLE_HOSTS;
    if (!find_list(command, &list, err))
        return false;
    if (must_wait(command))
        return true;
    value_each (entry, value_find(command->arguments, "entries")) {
        autofree char *text = text_dup(value_text(entry));
        if (!model_pihole_take(command->pihole->model, list, text))
            return error_set(err, FAULT_SPEC, "", "there is no entry %s", text);
    }
    return true;
}

static bool do_seat_others(const struct command *command, struct error *err)
{
    int64_t count = value_int_at(command->arguments, "count", -1);
    if (count < 0)
        return error_set(err, FAULT_SPEC, "", "count is a number from 0 on");
    model_pihole_seat_others(command->pihole->model, command->now_ms, (size_t)count);
    return true;
}

static bool do_forget_sessions(const struct command *command, struct error *err)
{
    (void)err;
    model_pihole_forget_sessions(command->pihole->model);
    return true;
}

static bool do_counters(const struct command *command, struct error *err)
{
    (void)err;
    model_pihole_write_counters(command->pihole->model, command->now_ms, command->out);
    return true;
}

static bool do_breach(const struct command *command, struct error *err)
{
    const char *breach = model_pihole_breach(command->pihole->model);
    (void)err;
    if (breach)
        value_write_json_text(command->out, text_of(breach));
    else
        buffer_add_text(command->out, "null");
    return true;
}

static const char *json_bool(bool is_true)
{
    return is_true ? "true" : "false";
}

static bool do_state(const struct command *command, struct error *err)
{
    const struct pihole *pihole = command->pihole;
    (void)err;
    buffer_printf(command->out, "{\"open\":%s,\"resolves\":%s,\"clients\":%zu}",
                  json_bool(wire_is_open(pihole->api)),
                  json_bool(pihole->resolver && resolver_is_up(pihole->resolver)),
                  wire_client_count(pihole->api));
    return true;
}

static bool do_real_time(const struct command *command, struct error *err)
{
    (void)err;
    command->pihole->is_real_time = value_bool_at(command->arguments, "value", true);
    return true;
}

static bool do_renew(const struct command *command, struct error *err)
{
    struct pihole *pihole = command->pihole;
    if (!pihole_renew(pihole, value_int_at(command->arguments, "valid_s", 47 * 86400), err))
        return false;
    buffer_add_text(command->out, "{\"certificate\":");
    value_write_json_text(command->out, text_of(pihole->certificate_pem));
    buffer_add_text(command->out, ",\"ca\":");
    value_write_json_text(command->out, text_of(pihole->ca_pem));
    buffer_add_char(command->out, '}');
    return true;
}

static const struct {
    const char *name;
    command_call *call;
} commands[] = {
    {"set", do_set},           {"list", do_list},
    {"put", do_put},           {"take", do_take},
    {"counters", do_counters}, {"seat_others", do_seat_others},
    {"breach", do_breach},     {"forget_sessions", do_forget_sessions},
    {"state", do_state},       {"real_time", do_real_time},
    {"renew", do_renew},
};

static bool run(struct pihole *pihole, struct text body, struct buffer *out, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *arguments = value_read_json(arena, body, &limits, err);
    struct text name = value_text_at(arguments, "do");
    const struct command command = {
        .pihole = pihole, .now_ms = loop_mono_ms(pihole->loop), .arguments = arguments, .out = out};
    if (!arguments)
        return false;
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (text_is(name, commands[i].name))
            return commands[i].call(&command, err);
    return error_set(err, FAULT_SPEC, "", "there is no command %.*s", TEXT_ARGS(name));
}

static void asked(void *context, struct wire_client *client, const struct wire_request *request)
{
    struct pihole *pihole = context;
    AUTO_BUFFER result = {0};
    AUTO_BUFFER body = {0};
    struct error err = {0};
    pihole_answer_due(pihole, loop_mono_ms(pihole->loop));
    bool is_done = run(pihole, request->body, &result, &err);
    buffer_add_text(&body, is_done ? "{\"result\":" : "{\"error\":");
    if (!is_done)
        value_write_json_text(&body, text_of(err.text));
    else if (result.len)
        buffer_add(&body, result.at, result.len);
    else
        buffer_add_text(&body, "true");
    buffer_add_char(&body, '}');
    pihole_sync_now(pihole);
    wire_reply(client,
               &(struct wire_reply){.status = is_done ? 200 : 400, .body = buffer_text(&body)});
}

static void ended(void *context, struct wire_client *client)
{
    (void)context, (void)client;
}

const struct wire_calls pihole_control_calls = {.asked = asked, .ended = ended};
