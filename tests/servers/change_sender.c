// Makes changes at a DNS server through the provider rfc2136, once, without an engine. Standard
// input is JSON: {"config": {...}, "secret": "...", "changes": [{"op": "set", "type": "A",
// "domain": "example.test", "subdomain": "www", "ttl": 60, "values": [...]}]}; standard output is
// how many UPDATEs went out, and the outcomes in that order.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "io/dnsnet.h"
#include "io/loop.h"
#include "providers/provider.h"

struct sender {
    const struct provider *provider;
    struct arena *arena;
    struct loop *loop;
    struct dnsnet *net;
    void *session;
    void *exchange;
    struct job job;
    int64_t update_count;
};

static _Noreturn void give_up(const struct error *err)
{
    fprintf(stderr, "%s\n", err->text);
    exit(2);
}

static const struct value *read_request(struct arena *arena)
{
    AUTO_BUFFER input = {0};
    char piece[4096];
    struct error err;
    for (size_t len; (len = fread(piece, 1, sizeof piece, stdin));)
        buffer_add(&input, piece, len);
    const struct value *request =
        value_read_json(arena, buffer_text(&input), &value_manifest_limits, &err);
    if (!request)
        give_up(&err);
    return request;
}

// ---- changes ------------------------------------------------------------------------------------

static enum change_op read_op(struct text text)
{
    if (text_is(text, "set"))
        return CHANGE_SET;
    return text_is(text, "remove") ? CHANGE_REMOVE : CHANGE_READ;
}

static struct change read_change(struct arena *arena, const struct value *from)
{
    const struct value *listed = value_list_at(from, "values");
    size_t count = value_count(listed), at = 0;
    struct text *values = arena_new_array(arena, struct text, count);
    struct change change = {
        .op = read_op(value_text_at(from, "op")),
        .set = {.domain = value_text_at(from, "domain"),
                .subdomain = value_text_at(from, "subdomain"),
                .ttl_s = (uint32_t)value_int_at(from, "ttl", 60),
                .values = values,
                .value_count = count,
                .priority = -1,
                .weight = -1,
                .port = -1},
    };
    for (const struct value *each = listed ? listed->first : NULL; each; each = each->next)
        values[at++] = value_text(each);
    must(record_type_parse(value_text_at(from, "type"), &change.set.type));
    return change;
}

static void read_changes(struct sender *sender, const struct value *listed)
{
    struct job *job = &sender->job;
    job->changes = arena_new_array(sender->arena, struct change, value_count(listed));
    for (const struct value *each = listed->first; each; each = each->next)
        job->changes[job->change_count++] = read_change(sender->arena, each);
}

static struct value *value_of_outcome(struct arena *arena, const struct outcome *outcome)
{
    struct value *value = value_make(arena, VALUE_MAP);
    value_put_bool(arena, value, "done", outcome->is_done);
    value_put_bool(arena, value, "created", outcome->was_created);
    value_put_bool(arena, value, "absent", outcome->was_absent);
    value_put_bool(arena, value, "unchanged", outcome->is_unchanged);
    if (outcome->note)
        value_put_text(arena, value, "note", outcome->note);
    if (!outcome->error)
        return value;
    value_put_int(arena, value, "status", outcome->error->status);
    value_put_text(arena, value, "code", outcome->error->code);
    value_put_text(arena, value, "text", outcome->error->text);
    return value;
}

static void print_outcomes(const struct sender *sender)
{
    AUTO_BUFFER out = {0};
    struct value *report = value_make(sender->arena, VALUE_MAP);
    struct value *outcomes = value_make(sender->arena, VALUE_LIST);
    for (size_t i = 0; i < sender->job.change_count; i++)
        value_append(outcomes, value_of_outcome(sender->arena, &sender->job.changes[i].outcome));
    value_put_int(sender->arena, report, "updates", sender->update_count);
    value_set(report, TEXT("outcomes"), outcomes);
    value_write_json(&out, report);
    printf("%.*s\n", TEXT_ARGS(buffer_text(&out)));
}

// ---- the exchange -------------------------------------------------------------------------------

static struct moment moment_of(const struct sender *sender)
{
    return (struct moment){.unix_ms = loop_unix_ms(sender->loop),
                           .mono_ms = loop_mono_ms(sender->loop),
                           .random = random_system()};
}

static void take_reply(void *context, const struct dns_reply *reply);

static void send_next(void *context)
{
    static const char update_opcode = 5 << 3;
    struct sender *sender = context;
    struct ask ask = {0};
    const struct moment moment = moment_of(sender);
    if (sender->provider->ask(sender->exchange, &moment, &ask) == ASK_DONE) {
        loop_stop(sender->loop);
        return;
    }
    sender->update_count += (ask.dns.octets.at[2] & 0x78) == update_opcode;
    dns_send(sender->net, &ask.dns, take_reply, sender);
}

static void take_reply(void *context, const struct dns_reply *reply)
{
    struct sender *sender = context;
    const struct moment moment = moment_of(sender);
    const struct ask_result result = {.kind = ASK_DNS, .dns = reply};
    sender->provider->handle_reply(sender->exchange, &moment, &result);
    send_next(sender);
}

static void open_session(struct sender *sender, const struct value *request)
{
    struct error err;
    struct text text = value_text_at(request, "secret");
    struct secret *secret = secret_new(text.at, text.len);
    const struct session_setup setup = {.config = value_find(request, "config"), .secret = secret};
    bool is_open = sender->provider->open(&setup, &sender->session, &err);
    secret_unref(secret);
    if (!is_open)
        give_up(&err);
}

int main(void)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct sender sender = {
        .provider = provider_find("rfc2136"), .arena = arena, .job = {.arena = arena, .trace = ""}};
    const struct value *request = read_request(arena);
    read_changes(&sender, value_list_at(request, "changes"));
    sender.loop = loop_new();
    sender.net = dnsnet_new(sender.loop);
    open_session(&sender, request);
    sender.exchange = sender.provider->begin(sender.session, &sender.job);
    loop_defer(sender.loop, send_next, &sender);
    loop_run(sender.loop);
    print_outcomes(&sender);
    sender.provider->end(sender.exchange);
    sender.provider->close(sender.session);
    dnsnet_free(sender.net);
    loop_free(sender.loop);
    return 0;
}
