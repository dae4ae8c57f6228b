#include <stdlib.h>
#include <string.h>

#include "base/url.h"
#include "base/value.h"
#include "commands/commands.h"
#include "commands/corefile/corefile_files.h"
#include "commands/print.h"
#include "commands/process.h"
#include "dns/corefile/canary.h"
#include "dns/corefile/identity.h"
#include "dns/message.h"
#include "io/dnsnet.h"
#include "io/random.h"

// A probe lasts --timeout. Half of that after the first query a second one follows, and the first
// answer to either counts.
enum { DNS_PORT = 53, OPEN_MAX = 32, TRIES = 2, STATE_COLUMNS = 8 };

static const char *const output_names[] = {"text", "json", NULL};

struct probing;
struct probe {
    struct probing *probing;
    struct hostport server;
    uint16_t id;
    struct dns_call *calls[TRIES];
    size_t try_count;
    struct loop_timer next_try;
    bool is_answered;
    struct canary_reply reply;
    struct error error; // of the last try that failed otherwise than by its time
};

struct probing {
    const struct invocation *invocation;
    struct process_world process;
    const char *wanted; // config id, or NULL
    int64_t timeout_ms;
    struct probe *probes;
    size_t count;
    size_t next;
    size_t open_count;
    size_t states[CANARY_SILENT + 1];
};

// ---- exchange -----------------------------------------------------------------------------------

static void begin_probes(struct probing *probing);

static void end_probe(struct probe *probe)
{
    struct probing *probing = probe->probing;
    const struct world *world = &probing->process.world;
    loop_timer_cancel(world->loop, &probe->next_try);
    for (size_t i = 0; i < TRIES; i++)
        if (probe->calls[i])
            dns_cancel(world->dns, probe->calls[i]);
    probing->open_count--;
    begin_probes(probing);
}

static bool is_reply(const void *context, struct text octets)
{
    return canary_is_reply(octets, ((const struct probe *)context)->id);
}

static void replied(struct probe *probe, size_t try, const struct dns_reply *reply)
{
    probe->calls[try] = NULL;
    if (!reply->is_timeout)
        probe->error = reply->error;
    probe->is_answered =
        reply->is_answered && canary_read(reply->octets, probe->id, &probe->reply, &probe->error);
    bool is_last = probe->try_count == TRIES && !probe->calls[0] && !probe->calls[1];
    if (probe->is_answered || is_last)
        end_probe(probe);
}

static void first_replied(void *context, const struct dns_reply *reply)
{
    replied(context, 0, reply);
}

static void second_replied(void *context, const struct dns_reply *reply)
{
    replied(context, 1, reply);
}

static void send_query(struct probe *probe)
{
    static dns_done *const done[TRIES] = {first_replied, second_replied};
    const struct probing *probing = probe->probing;
    AUTO_BUFFER octets = {0};
    size_t try = probe->try_count++;
    int64_t spent_ms = try ? probing->timeout_ms / TRIES : 0;
    canary_query(&octets, probe->id);
    const struct dns_request request = {
        .server = probe->server,
        .octets = buffer_text(&octets),
        .timeout_ms = probing->timeout_ms - spent_ms,
        .is_wanted = is_reply,
        .context = probe,
    };
    probe->calls[try] = dns_send(probing->process.world.dns, &request, done[try], probe);
}

static void send_again(void *context)
{
    send_query(context);
}

static void begin_probe(struct probe *probe)
{
    struct probing *probing = probe->probing;
    const struct world *world = &probing->process.world;
    probe->id = random_u16(world->random);
    probe->next_try = (struct loop_timer){.call = send_again, .context = probe};
    probing->open_count++;
    send_query(probe);
    loop_timer_set(world->loop, &probe->next_try, probing->timeout_ms / TRIES);
}

static void begin_probes(struct probing *probing)
{
    while (probing->next < probing->count && probing->open_count < OPEN_MAX)
        begin_probe(&probing->probes[probing->next++]);
    if (!probing->open_count)
        loop_stop(probing->process.world.loop);
}

// ---- report -------------------------------------------------------------------------------------

static enum canary_state judge(const struct probe *probe)
{
    return canary_judge(probe->is_answered ? &probe->reply : NULL, probe->probing->wanted);
}

static const char *state_name(const struct probing *probing, enum canary_state state)
{
    static const char *const names[] = {"current", "old", "silent"};
    return !probing->wanted && state == CANARY_CURRENT ? "runs" : names[state];
}

// A text for people: the answer of the server, or why it gave none.
static const char *answer_of(const struct probe *probe)
{
    struct arena *arena = probe->probing->invocation->arena;
    if (!probe->is_answered && probe->error.text[0])
        return probe->error.text;
    if (!probe->is_answered)
        return arena_printf(arena, "no answer within %lld ms",
                            (long long)probe->probing->timeout_ms);
    if (canary_config_id(&probe->reply))
        return canary_config_id(&probe->reply);
    if (probe->reply.rcode)
        return arena_printf(arena, "answers %s", message_rcode_name(probe->reply.rcode));
    if (!probe->reply.text[0])
        return "answers without a TXT record";
    return arena_printf(arena, "answers \"%s\", which names no config id", probe->reply.text);
}

static const char *show_address(const struct probe *probe)
{
    AUTO_BUFFER text = {0};
    hostport_write(&text, &probe->server);
    return arena_copy(probe->probing->invocation->arena, text.at, text.len);
}

static void write_text(struct buffer *out, const struct probing *probing)
{
    size_t columns = 0;
    for (size_t i = 0; i < probing->count; i++) {
        size_t len = strlen(show_address(&probing->probes[i]));
        columns = len > columns ? len : columns;
    }
    for (size_t i = 0; i < probing->count; i++) {
        const struct probe *probe = &probing->probes[i];
        print_padded(out, text_of(show_address(probe)), columns + 2);
        print_padded(out, text_of(state_name(probing, judge(probe))), STATE_COLUMNS + 1);
        buffer_printf(out, "%s\n", answer_of(probe));
    }
    print_count(out, probing->count, "server");
    for (size_t state = 0; state < COUNT_OF(probing->states); state++)
        if (probing->wanted || state != CANARY_OLD)
            buffer_printf(out, "%s %zu %s", state ? "," : ":", probing->states[state],
                          state_name(probing, (enum canary_state)state));
    if (probing->wanted)
        buffer_printf(out, "; expected: %s", probing->wanted);
    buffer_add_char(out, '\n');
}

static void write_json(struct buffer *out, const struct probing *probing)
{
    struct arena *arena = probing->invocation->arena;
    struct value *root = value_make(arena, VALUE_MAP);
    struct value *list = value_make(arena, VALUE_LIST);
    value_put(arena, root, "probes", list);
    for (size_t i = 0; i < probing->count; i++) {
        const struct probe *probe = &probing->probes[i];
        const char *id = probe->is_answered ? canary_config_id(&probe->reply) : NULL;
        struct value *item = value_make(arena, VALUE_MAP);
        value_put_text(arena, item, "address", show_address(probe));
        value_put_text(arena, item, "state", state_name(probing, judge(probe)));
        value_put_text(arena, item, id ? "id" : "text", answer_of(probe));
        value_append(list, item);
    }
    for (size_t state = 0; state < COUNT_OF(probing->states); state++)
        if (probing->wanted || state != CANARY_OLD)
            value_put_int(arena, root, state_name(probing, (enum canary_state)state),
                          (int64_t)probing->states[state]);
    if (probing->wanted)
        value_put_text(arena, root, "expected", probing->wanted);
    value_write_json(out, root);
    buffer_add_char(out, '\n');
}

static int report(struct probing *probing)
{
    AUTO_BUFFER out = {0};
    struct error err;
    for (size_t i = 0; i < probing->count; i++)
        probing->states[judge(&probing->probes[i])]++;
    if (!strcmp(option_text(probing->invocation, "output"), "json"))
        write_json(&out, probing);
    else
        write_text(&out, probing);
    if (!print_out(&out, &err))
        return command_fail(1, "%s", err.text);
    return probing->states[CANARY_CURRENT] != probing->count;
}

// ---- the command --------------------------------------------------------------------------------

static bool is_config_id(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!memchr("0123456789abcdef", text.at[i], 16))
            return false;
    return text.len == CONFIG_ID_LEN;
}

// The id that a Corefile names: what a CoreDNS that runs it answers.
static bool read_id(const struct invocation *invocation, const char *path, struct text *id,
                    struct error *err)
{
    const struct corefile_files files = {.arena = invocation->arena};
    struct corefile_file file;
    if (!corefile_files_read(&files, path, &file, err))
        return false;
    *id = config_id_find(file.text);
    if (id->at)
        return true;
    error_set(err, FAULT_SPEC, "",
              "names no config id, so that no CoreDNS that runs it says so: expected an id of 16 "
              "hex digits, or a Corefile with `chaos " CONFIG_ID_PREFIX "ID`");
    return option_blame(invocation, "expect", path, err);
}

static bool take_expected(struct probing *probing, struct error *err)
{
    const struct invocation *invocation = probing->invocation;
    const char *given = option_text(invocation, "expect");
    if (!given)
        return true;
    bool has_prefix = text_starts(text_of(given), CONFIG_ID_PREFIX);
    struct text id = text_of(has_prefix ? given + strlen(CONFIG_ID_PREFIX) : given);
    if (!is_config_id(id) && !read_id(invocation, given, &id, err))
        return false;
    probing->wanted = arena_copy(invocation->arena, id.at, id.len);
    return true;
}

static bool take_addresses(struct probing *probing, struct error *err)
{
    const struct invocation *invocation = probing->invocation;
    probing->count = invocation->argument_count;
    probing->probes = arena_new_array(invocation->arena, struct probe, probing->count);
    for (size_t i = 0; i < probing->count; i++) {
        struct probe *probe = &probing->probes[i];
        const char *given = invocation->arguments[i];
        *probe = (struct probe){.probing = probing};
        if (!hostport_parse(&probe->server, text_of(given), DNS_PORT, false, err))
            return error_prefix(err, "%s: ", given);
        if (!probe->server.host[0] || !probe->server.port)
            return error_set(err, FAULT_SPEC, "",
                             "%s: expected the address of a CoreDNS, such as 10.0.0.10, "
                             "10.0.0.10:5353 or [2001:db8::10]:53",
                             given);
    }
    return true;
}

static int probe_run(struct invocation *invocation)
{
    struct error err;
    struct probing probing = {.invocation = invocation,
                              .timeout_ms = option_ms(invocation, "timeout")};
    if (!invocation->argument_count)
        return command_fail(2, "give the addresses of the CoreDNS to ask");
    if (!take_expected(&probing, &err) || !take_addresses(&probing, &err))
        return command_fail(2, "%s", err.text);
    if (!process_world_init(&probing.process, invocation, &err))
        return command_fail(1, "%s", err.text);
    begin_probes(&probing);
    loop_run(probing.process.world.loop);
    int code = report(&probing);
    process_world_done(&probing.process);
    return code;
}

static const struct option probe_rows[] = {
    {.name = "expect",
     .type = OPTION_TEXT,
     .placeholder = "ID|FILE",
     .doc = "The config id that all should have, or the Corefile that names it. Any will do when "
            "not given."},
    TIMEOUT_OPTION("1s", "How long each may take. It is asked again after half of that time."),
    OUTPUT_OPTION(output_names, "For people, or as one JSON document."),
};

extern const struct command corefile_probe_command;
const struct command corefile_probe_command = {
    .name = "corefile probe",
    .summary = "ask CoreDNS servers which Corefile they run",
    .positional = "ADDRESS...",
    .doc = "Asks each address over UDP for TXT of version.bind in the class CH, which a Corefile "
           "of Signpost answers with its config id. The answer changes exactly when a new file is "
           "live; one that was refused leaves the old id. ADDRESS is IP, IP:PORT or [IPv6]:PORT; "
           "the port is 53 when not given. 32 are asked at a time.\n\n"
           "With --expect an address is current if it answers with that id and old if it answers "
           "with another. It is silent if it does not answer, or with anything that names no "
           "config id, such as the version of CoreDNS.\n\n"
           "--output json prints one document: \"probes\", a list of maps with \"address\", "
           "\"state\" and \"id\" or, if it is silent, \"text\"; the number of servers in each "
           "state; and what was \"expected\".",
    .exit_docs =
        {
            "all are current, or, without --expect, all have an id",
            "others are not",
            "an argument is wrong",
        },
    .examples = "signpost corefile probe 10.96.0.10\n"
                "signpost corefile probe --expect Corefile 10.244.0.2 10.244.1.3:5353\n"
                "signpost corefile probe --expect 7123ad3aa85b6c10 -o json [2001:db8::10]:53\n",
    .groups = {{probe_rows, COUNT_OF(probe_rows), false},
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .run = probe_run,
};
