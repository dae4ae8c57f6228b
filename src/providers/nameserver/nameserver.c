#include <stdlib.h>
#include <string.h>

#include "dns/message.h"
#include "providers/provider.h"

enum { TIMEOUT_MS = 2000, VALUES_MAX = 64, RANDOM_LABEL = 16 };

struct nameserver_exchange {
    struct job *job;
    bool is_over;
    struct hostport server;
    struct buffer address;
    enum record_type type;
    char *name; // that is asked for: below a wildcard, a name that nobody else has
    uint16_t id;
    bool use_tcp;
    struct buffer query;
};

// ---- the end of an exchange ---------------------------------------------------------------------

// The outcome is that of the question alone: one server that is silent does not make the backend
// fail.
static void fail(struct nameserver_exchange *exchange, const struct error *error)
{
    exchange->is_over = true;
    exchange->job->health = (struct outcome){.error = error_copy(exchange->job->arena, error)};
}

static void fail_again(struct nameserver_exchange *exchange, const char *reason, const char *text)
{
    struct error err;
    error_set(&err, FAULT_AGAIN, reason, "%s: %s", exchange->address.at, text);
    fail(exchange, &err);
}

// ---- the query ----------------------------------------------------------------------------------

static bool take_question(struct nameserver_exchange *exchange, struct error *err)
{
    const struct value *about = exchange->job->about;
    struct text name = value_text_at(about, "name");
    if (!provider_question_address(exchange->job, &exchange->server, err))
        return false;
    if (!name.len)
        return error_set(err, FAULT_SPEC, "", "question answers: name: name a record set");
    if (!record_type_parse(value_text_at(about, "type"), &exchange->type))
        return error_set(err, FAULT_SPEC, "", "question answers: type: write A, AAAA, CNAME, ...");
    hostport_write(&exchange->address, &exchange->server);
    return true;
}

// Below a wildcard a random name is asked for, which no record of its own answers.
static void choose_name(struct nameserver_exchange *exchange, struct random *random)
{
    AUTO_BUFFER out = {0};
    struct text name = value_text_at(exchange->job->about, "name");
    if (exchange->name)
        return;
    if (text_starts(name, "*.")) {
        for (int i = 0; i < RANDOM_LABEL; i++)
            buffer_printf(&out, "%c", (char)('a' + random_below(random, 26)));
        name = (struct text){name.at + 1, name.len - 1};
    }
    buffer_add(&out, name.at, name.len);
    exchange->name = text_dup(buffer_text(&out));
}

// Anything else that comes over UDP is passed over.
static bool is_reply(const void *at, struct text octets)
{
    struct message message;
    const struct nameserver_exchange *exchange = at;
    CLEANUP(arena) struct arena *arena = arena_new();
    return message_read(arena, octets, &message, NULL) && message.is_reply &&
           message.id == exchange->id &&
           (!message.question_name.at ||
            text_equal_nocase(message.question_name, text_of(exchange->name)));
}

static enum ask_kind nameserver_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct error err;
    struct nameserver_exchange *exchange = at;
    if (exchange->is_over)
        return ASK_DONE;
    choose_name(exchange, moment->random);
    exchange->id = random_u16(moment->random);
    buffer_clear(&exchange->query);
    if (!message_query(&exchange->query, exchange->id, text_of(exchange->name),
                       record_type_number(exchange->type), false, &err)) {
        fail(exchange, &err);
        return ASK_DONE;
    }
    out->dns = (struct dns_request){.server = exchange->server,
                                    .octets = buffer_text(&exchange->query),
                                    .use_tcp = exchange->use_tcp,
                                    .timeout_ms = TIMEOUT_MS,
                                    .is_wanted = is_reply,
                                    .context = exchange};
    return ASK_DNS;
}

// ---- the reply ----------------------------------------------------------------------------------

static void add_values(const struct nameserver_exchange *exchange, const struct record_set *set,
                       struct value *list)
{
    struct arena *arena = exchange->job->arena;
    for (size_t i = 0; i < set->value_count && value_count(list) < VALUES_MAX; i++)
        value_append(
            list, value_make_text(arena, record_value_canonical(arena, set->type, set->values[i])));
}

static const struct value *make_answer(const struct nameserver_exchange *exchange,
                                       const struct message *message)
{
    struct arena *arena = exchange->job->arena;
    struct value *answer = value_make(arena, VALUE_MAP);
    struct value *list = value_make(arena, VALUE_LIST);
    struct value *aliases = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < message->answer_count; i++) {
        const struct record_set *set = &message->answers[i];
        if (!text_equal_nocase(set->domain, text_of(exchange->name)))
            continue;
        if (set->type == exchange->type)
            add_values(exchange, set, list);
        else if (set->type == RECORD_CNAME)
            add_values(exchange, set, aliases);
    }
    value_put_text(arena, answer, "rcode", message_rcode_name(message->rcode));
    value_put_bool(arena, answer, "authoritative", message->is_authoritative);
    value_set(answer, TEXT("values"), list);
    if (aliases->first)
        value_set(answer, TEXT("alias"), value_make_text(arena, value_text(aliases->first)));
    return answer;
}

static void nameserver_handle_reply(void *at, const struct moment *moment,
                                    const struct ask_result *result)
{
    struct message message;
    struct error err;
    struct nameserver_exchange *exchange = at;
    const struct dns_reply *reply = result->dns;
    (void)moment;
    if (!reply->is_answered) {
        fail_again(exchange, "ServerUnreachable", reply->error.text);
    } else if (!message_read(exchange->job->arena, reply->octets, &message, &err)) {
        fail_again(exchange, "ServerError", err.text);
    } else if (message.is_truncated && !exchange->use_tcp) {
        exchange->use_tcp = true;
    } else {
        exchange->is_over = true;
        exchange->job->answer = make_answer(exchange, &message);
    }
}

// ---- exchange -----------------------------------------------------------------------------------

static void *nameserver_begin(void *session, struct job *job)
{
    struct error err;
    struct nameserver_exchange *exchange = mem_new_of(struct nameserver_exchange);
    (void)session;
    *exchange = (struct nameserver_exchange){.job = job, .is_over = job->kind != JOB_QUESTION};
    job->health = (struct outcome){.is_done = true};
    provider_refuse_changes(job, "a name server takes no records here: it is only asked");
    if (!exchange->is_over && !take_question(exchange, &err))
        fail(exchange, &err);
    return exchange;
}

static void nameserver_end(void *at)
{
    struct nameserver_exchange *exchange = at;
    buffer_done(&exchange->address);
    buffer_done(&exchange->query);
    free(exchange->name);
    free(exchange);
}

static const char *const questions[] = {"answers", NULL};

extern const struct provider nameserver_provider;
const struct provider nameserver_provider = {
    .name = "nameserver",
    .title = "name server",
    .unreachable = "ServerUnreachable",
    .max_changes = 1,
    .questions = questions,
    .open = provider_open_none,
    .close = provider_close_none,
    .fingerprint = provider_fingerprint_none,
    .begin = nameserver_begin,
    .ask = nameserver_ask,
    .handle_reply = nameserver_handle_reply,
    .end = nameserver_end,
};
