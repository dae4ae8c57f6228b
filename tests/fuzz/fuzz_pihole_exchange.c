#include <string.h>

#include "base/must.h"
#include "providers/provider.h"

// A server that answers whatever it likes, over and over again, in place of a Pi-hole: every talk
// ends, with outcomes and texts that can be shown.

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

enum { REPLIES_MAX = 64, ASKS_MAX = 4000, CHANGES = 4, HOUR_MS = 3600000 };

#define PASSWORD "correct horse battery"

struct line {
    int status; // 0: no answer
    struct text body;
};

struct server {
    struct line replies[REPLIES_MAX];
    size_t count;
    size_t at;
    int64_t now_ms;
    struct random random;
    struct arena *arena;
};

static void fill(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, 0x55, len);
}

static const char *find(const void *context, enum record_type type, struct text name)
{
    (void)context;
    (void)name;
    return type == RECORD_CNAME ? "www.lan,a.lan\n" : "192.168.1.50 a.lan\n192.168.1.7 old.lan\n";
}

static const char *recall(const void *context, const char *fact)
{
    (void)context;
    (void)fact;
    return NULL;
}

static void keep(void *context, const char *fact, const char *value)
{
    (void)context;
    must(*fact && *value);
}

static void hold(void *context, const struct existing_set *existing)
{
    (void)context;
    must(existing->set.domain.len && existing->set.value_count);
}

// Replies as they stand on paper: "=200", then the body, until the next line with "=".
static void read_replies(struct server *server, struct text rest)
{
    while (rest.len && server->count < REPLIES_MAX) {
        int64_t status = 0;
        struct text line;
        const char *end = memmem(rest.at, rest.len, "\n=", 2);
        struct text piece = {rest.at, end ? (size_t)(end - rest.at) : rest.len};
        rest = (struct text){rest.at + piece.len, rest.len - piece.len};
        rest = rest.len ? (struct text){rest.at + 2, rest.len - 2} : rest;
        if (text_cut(&piece, '\n', &line))
            text_to_int64(line, &status);
        bool is_status = status >= 100 && status < 600;
        server->replies[server->count++] = (struct line){is_status ? (int)status : 0, piece};
    }
}

// These quote lines of the lists, as they stand in the page for everybody.
static bool quotes_lines(const struct error *err)
{
    static const char *const reasons[] = {"NameTaken", "OwnedElsewhere", "PiholeReadOnly"};
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (!strcmp(err->reason, reasons[i]))
            return true;
    return false;
}

static void check_error(const struct error *err)
{
    struct text rest = text_of(err->text);
    must(err->fault != FAULT_NONE && rest.len);
    must(quotes_lines(err) || !strstr(err->text, PASSWORD));
    must(err->retry_ms >= 0 && err->retry_ms <= HOUR_MS);
    while (rest.len) {
        uint32_t code;
        size_t octets = utf8_decode(rest, &code);
        must(octets > 0 && !utf8_is_control(code));
        rest = (struct text){rest.at + octets, rest.len - octets};
    }
}

static void check_job(const struct job *job)
{
    if (job->unavailable)
        check_error(job->unavailable);
    for (size_t i = 0; i < job->change_count; i++) {
        const struct outcome *outcome = &job->changes[i].outcome;
        must(outcome->is_done || outcome->error || job->unavailable);
        if (outcome->error)
            check_error(outcome->error);
    }
    if (job->kind == JOB_HEALTH)
        must(job->health.is_done ? job->is_listed && job->answer : job->health.error != NULL);
}

static void answer(struct server *server, const struct provider *provider, void *exchange,
                   const struct moment *moment)
{
    const struct line *line = &server->replies[server->at++ % server->count];
    struct http_reply reply = {.status = line->status, .body = line->body};
    if (!line->status) {
        reply.failure = HTTP_UNREACHABLE;
        error_set(&reply.error, FAULT_AGAIN, "ServerUnreachable", "no answer");
    }
    provider->handle_reply(exchange, moment,
                           &(struct ask_result){.kind = ASK_HTTP, .http = &reply});
}

static void wait(struct server *server, const struct provider *provider, void *exchange,
                 int64_t wait_ms)
{
    must(wait_ms > 0 && wait_ms <= HOUR_MS);
    server->now_ms += wait_ms;
    const struct moment moment = {
        .unix_ms = server->now_ms, .mono_ms = server->now_ms, .random = &server->random};
    provider->handle_reply(exchange, &moment, &(struct ask_result){.kind = ASK_WAIT});
}

static void run(struct server *server, void *instance, struct job *job)
{
    const struct provider *provider = provider_find("pihole");
    const struct ledger_view ledger = {find, recall, keep, NULL};
    struct ask ask;
    job->arena = server->arena;
    job->ledger = &ledger;
    job->report_existing = hold;
    void *exchange = provider->begin(instance, job);
    for (int i = 0;; i++) {
        const struct moment moment = {
            .unix_ms = server->now_ms, .mono_ms = server->now_ms, .random = &server->random};
        enum ask_kind kind = provider->ask(exchange, &moment, &ask);
        if (kind == ASK_DONE)
            break;
        must(i < ASKS_MAX);
        if (kind == ASK_WAIT)
            wait(server, provider, exchange, ask.wait_ms);
        else
            answer(server, provider, exchange, &moment);
    }
    provider->end(exchange);
    check_job(job);
    server->now_ms += 60000;
}

static void *open_instance(struct arena *arena, char letter)
{
    static const char *const configs[] = {
        "{\"url\":\"http://pi.lan\"}",
        "{\"url\":\"http://pi.lan\",\"write\":\"element\"}",
        "{\"url\":\"http://pi.lan\",\"dialect\":\"legacy\"}",
        "{\"url\":\"http://pi.lan\",\"ownership\":\"annotation\",\"write\":\"patch\"}",
    };
    CLEANUP(secret) struct secret *secret = secret_new(PASSWORD, sizeof PASSWORD - 1);
    struct error err;
    void *instance;
    const struct value *config = value_read_json(
        arena, text_of(configs[letter % COUNT_OF(configs)]), &value_manifest_limits, &err);
    const struct session_setup setup = {.config = config, .secret = secret, .owner_id = "1a2b3c4d"};
    must(config && provider_find("pihole")->open(&setup, &instance, &err));
    return instance;
}

static struct change change_of(enum change_op op, enum record_type type, const char *name,
                               const struct text *value)
{
    return (struct change){.op = op,
                           .may_adopt = true,
                           .set = {.type = type,
                                   .domain = text_of(name),
                                   .subdomain = TEXT("@"),
                                   .values = value,
                                   .value_count = value ? 1 : 0,
                                   .priority = -1,
                                   .weight = -1,
                                   .port = -1}};
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    static const struct text values[] = {{"192.168.1.50", 12}, {"fd00::50", 8}, {"a.lan", 5}};
    CLEANUP(arena) struct arena *arena = arena_new();
    struct server server = {.now_ms = 1000000, .random = {.fill = fill}, .arena = arena};
    if (len < 2)
        return 0;
    read_replies(&server, (struct text){(const char *)at + 1, len - 1});
    void *instance = open_instance(arena, (char)(at[0] & 3));
    for (int round = 0; round < 2; round++) {
        struct change changes[CHANGES] = {
            change_of(CHANGE_SET, RECORD_A, "a.lan", &values[0]),
            change_of(CHANGE_SET, RECORD_AAAA, "b.lan", &values[1]),
            change_of(CHANGE_SET, RECORD_CNAME, "www.lan", &values[2]),
            change_of(CHANGE_REMOVE, RECORD_A, "old.lan", NULL),
        };
        run(&server, instance, &(struct job){.kind = JOB_HEALTH});
        run(&server, instance,
            &(struct job){.kind = JOB_CHANGES, .changes = changes, .change_count = CHANGES});
    }
    run(&server, instance, &(struct job){.kind = JOB_LEAVE});
    provider_find("pihole")->close(instance);
    return 0;
}
