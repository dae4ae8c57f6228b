#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "providers/pihole/instance.h"

#define BASE "http://pi.example"
#define OWNER "1a2b3c4d"
#define TAG " # signpost:" OWNER
#define PASSWORD "correct horse"
#define KEY_1 "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define KEY_2 "sha256//AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
#define DNS(hosts, cnames)                                                                         \
    "{\"config\":{\"dns\":{\"upstreams\":[],\"hosts\":[" hosts "],\"cnameRecords\":[" cnames       \
    "]}},\"took\":0.001}"
#define ERROR(key, message, hint)                                                                  \
    "{\"error\":{\"key\":\"" key "\",\"message\":\"" message "\",\"hint\":" hint "},\"took\":0.1}"
#define SESSION                                                                                    \
    "{\"session\":{\"valid\":true,\"totp\":false,\"sid\":\"sid+1=\",\"csrf\":\"c\","               \
    "\"validity\":1800,\"message\":\"password correct\"},\"took\":0.06}"
#define UNAUTHORIZED ERROR("unauthorized", "Unauthorized", "null")
#define TOOK "{\"took\":0.003}"

enum { NOW_S = 1767088800 };

// ---- a world of rows: what is asked next, and what is answered ----------------------------------

// "PUT /path" or "PUT /path body". Status 0: nobody answers. Or a pause: "wait 50".
struct row {
    const char *ask;
    int status;
    const char *reply;
};

struct world {
    struct pihole_instance *instance;
    struct arena *arena;
    struct random random;
    uint8_t random_octet;
    int64_t now_ms;
    struct job job;
    char facts[8][2][120];
    size_t fact_count;
    const char *ledger; // all that it names
    struct ledger_view view;
    bool has_ledger;
    struct buffer reported; // existing_sets, one a line
    // of the next replies
    bool is_sent_but_lost;
    bool is_other_key;
    const char *peer_pin;
    int64_t peer_until_s;
    const struct http_header *headers;
    size_t header_count;
    // of the last request
    char sid[64];
    size_t sid_headers;
    char pin[64];
    char bearer[64];
    bool is_unverified;
    int64_t timeout_ms;
};

static void fill(struct random *random, void *out, size_t len)
{
    const struct world *world =
        (const void *)((const char *)random - offsetof(struct world, random));
    memset(out, world->random_octet, len);
}

static struct moment moment_of(struct world *world)
{
    return (struct moment){.unix_ms = 1000 * (int64_t)NOW_S + world->now_ms,
                           .mono_ms = 1000000 + world->now_ms,
                           .random = &world->random};
}

static const char *ledger_find(const void *context, enum record_type type, struct text name)
{
    (void)type;
    (void)name;
    return ((const struct world *)context)->ledger;
}

static const char *ledger_recall(const void *context, const char *fact)
{
    const struct world *world = context;
    for (size_t i = 0; i < world->fact_count; i++)
        if (!strcmp(world->facts[i][0], fact))
            return world->facts[i][1];
    return NULL;
}

static void ledger_keep(void *context, const char *fact, const char *value)
{
    struct world *world = context;
    size_t i = 0;
    while (i < world->fact_count && strcmp(world->facts[i][0], fact) != 0)
        i++;
    assert_true(i < COUNT_OF(world->facts));
    world->fact_count += i == world->fact_count;
    snprintf(world->facts[i][0], sizeof world->facts[i][0], "%s", fact);
    snprintf(world->facts[i][1], sizeof world->facts[i][1], "%s", value);
}

static void add_existing(void *context, const struct existing_set *existing)
{
    struct world *world = context;
    buffer_printf(&world->reported, "%s %s %.*s", existing->is_ours ? "ours" : "theirs",
                  record_type_name(existing->set.type), TEXT_ARGS(existing->set.domain));
    for (size_t i = 0; i < existing->set.value_count; i++)
        buffer_printf(&world->reported, " %.*s", TEXT_ARGS(existing->set.values[i]));
    buffer_add_char(&world->reported, '\n');
}

static bool try_open(struct world *world, const char *json, const char *password, struct error *err)
{
    struct error why;
    *world = (struct world){.random = {.fill = fill}, .random_octet = 0x55, .arena = arena_new()};
    world->view = (struct ledger_view){ledger_find, ledger_recall, ledger_keep, world};
    const struct value *config =
        value_read_json(world->arena, text_of(json), &value_manifest_limits, &why);
    if (!config)
        fail_msg("%s", why.text);
    CLEANUP(secret)
    struct secret *secret = password ? secret_new(password, strlen(password)) : NULL;
    void *instance = NULL;
    const struct session_setup setup = {.config = config, .secret = secret, .owner_id = OWNER};
    bool is_open = pihole_provider.open(&setup, &instance, err);
    world->instance = instance;
    return is_open;
}

static void world_done(struct world *world)
{
    if (world->instance)
        pihole_provider.close(world->instance);
    arena_free(world->arena);
    buffer_done(&world->reported);
}

static void note_headers(struct world *world, const struct http_request *http)
{
    world->sid_headers = 0;
    world->sid[0] = world->bearer[0] = '\0';
    for (size_t i = 0; i < http->header_count; i++) {
        bool is_sid = !strcmp(http->headers[i].name, "X-FTL-SID");
        world->sid_headers += is_sid;
        if (is_sid)
            snprintf(world->sid, sizeof world->sid, "%s", http->headers[i].value);
        if (!strcmp(http->headers[i].name, "Authorization"))
            snprintf(world->bearer, sizeof world->bearer, "%s", http->headers[i].value);
    }
    snprintf(world->pin, sizeof world->pin, "%s", http->tls.pin ? http->tls.pin : "");
    world->is_unverified = http->tls.is_unverified;
    world->timeout_ms = http->timeout_ms;
}

static void check_ask(struct world *world, const struct http_request *http, const struct row *row)
{
    const char *path = http->url + sizeof BASE - 1;
    const char *asked =
        arena_printf(world->arena, "%s %s %.*s", http->method, path, TEXT_ARGS(http->body));
    size_t len = strlen(row->ask);
    bool has_body = strchr(strchr(row->ask, ' ') + 1, ' ') != NULL;
    assert_true(!strncmp(http->url, BASE, sizeof BASE - 1));
    if (strncmp(asked, row->ask, len) != 0 || (has_body ? asked[len] != '\0' : asked[len] != ' '))
        fail_msg("asked '%s', not '%s'", asked, row->ask);
    assert_true(http->is_single && http->max_idle_s == 4);
    assert_true(http->max_body_octets == REPLY_OCTETS_MAX);
    assert_string_equal(http->user_agent,
                        arena_printf(world->arena,
                                     "signpost/" SIGNPOST_VERSION " %s%s(" OWNER "%s)",
                                     world->instance->place ? world->instance->place : "",
                                     world->instance->place ? " " : "",
                                     world->instance->is_visitor ? " visits" : ""));
}

static void answer(struct world *world, void *exchange, const struct row *row)
{
    struct moment moment = moment_of(world);
    struct http_reply reply = {.status = row->status,
                               .body = text_of(row->reply),
                               .headers = world->headers,
                               .header_count = world->header_count};
    if (!row->status) {
        reply.failure = HTTP_UNREACHABLE;
        reply.is_unsent = !world->is_sent_but_lost;
        reply.is_tls = reply.is_other_key = world->is_other_key;
        error_set(&reply.error, FAULT_AGAIN, "ServerUnreachable", "connection refused");
    }
    if (world->peer_pin) {
        snprintf(reply.peer.pin, sizeof reply.peer.pin, "%s", world->peer_pin);
        reply.peer.until_s = world->peer_until_s;
    }
    pihole_provider.handle_reply(exchange, &moment,
                                 &(struct ask_result){.kind = ASK_HTTP, .http = &reply});
}

static void wait(struct world *world, void *exchange, int64_t wait_ms, const struct row *row)
{
    assert_string_equal(arena_printf(world->arena, "wait %lld", (long long)wait_ms), row->ask);
    world->now_ms += wait_ms;
    struct moment moment = moment_of(world);
    pihole_provider.handle_reply(exchange, &moment, &(struct ask_result){.kind = ASK_WAIT});
}

static void play_job(struct world *world, const struct row *rows, size_t count)
{
    struct ask ask;
    size_t at = 0;
    struct job *job = &world->job;
    job->arena = world->arena;
    job->ledger = world->has_ledger ? &world->view : NULL;
    job->report_existing = add_existing;
    job->context = world;
    buffer_clear(&world->reported);
    void *exchange = pihole_provider.begin(world->instance, job);
    for (;; at++) {
        struct moment moment = moment_of(world);
        enum ask_kind kind = pihole_provider.ask(exchange, &moment, &ask);
        if (kind == ASK_DONE)
            break;
        assert_true(kind == ASK_HTTP || kind == ASK_WAIT);
        if (at >= count) {
            fail_msg("asked %s %s, and no more was expected",
                     kind == ASK_WAIT ? "to wait" : ask.http.method,
                     kind == ASK_WAIT ? "" : ask.http.url);
            break;
        }
        if (kind == ASK_WAIT) {
            wait(world, exchange, ask.wait_ms, &rows[at]);
            continue;
        }
        note_headers(world, &ask.http);
        check_ask(world, &ask.http, &rows[at]);
        answer(world, exchange, &rows[at]);
    }
    pihole_provider.end(exchange);
    if (at < count)
        fail_msg("'%s' was expected", rows[at].ask);
}

#define PLAY(world, kind_, ...)                                                                    \
    do {                                                                                           \
        const struct row rows_[] = {__VA_ARGS__};                                                  \
        (world)->job = (struct job){.kind = (kind_)};                                              \
        play_job((world), rows_, COUNT_OF(rows_));                                                 \
    } while (0)
#define PLAY_CHANGES(world, changes_, count_, ...)                                                 \
    do {                                                                                           \
        const struct row rows_[] = {__VA_ARGS__};                                                  \
        (world)->job =                                                                             \
            (struct job){.kind = JOB_CHANGES, .changes = (changes_), .change_count = (count_)};    \
        play_job((world), rows_, COUNT_OF(rows_));                                                 \
    } while (0)

#define LOGIN                                                                                      \
    {                                                                                              \
        "POST /api/auth {\"password\":\"" PASSWORD "\"}", 200, SESSION                             \
    }
#define SESSIONS                                                                                   \
    {                                                                                              \
        "GET /api/auth/sessions", 200,                                                             \
            "{\"sessions\":[{\"id\":0,\"current_session\":true,\"valid\":true,\"app\":false,"      \
            "\"user_agent\":\"signpost/0.1 (" OWNER ")\"}]}"                                       \
    }
#define DETAILED(part, forced, restarts)                                                           \
    {                                                                                              \
        "GET /api/config/dns/" part "?detailed=true", 200,                                         \
            "{\"config\":{\"dns\":{\"" part                                                        \
            "\":{\"value\":[],\"flags\":{\"restart_dnsmasq\":" restarts ",\"env_var\":" forced     \
            "}}}}}"                                                                                \
    }
#define READ_ONLY(is)                                                                              \
    {                                                                                              \
        "GET /api/config/misc/readOnly", 200, "{\"config\":{\"misc\":{\"readOnly\":" is "}}}"      \
    }
#define HOSTS_LOCAL_UNKNOWN                                                                        \
    {                                                                                              \
        "GET /api/config/dns/hostsLocal", 404, TOOK                                                \
    }
#define PREFLIGHT                                                                                  \
    DETAILED("hosts", "false", "false"), DETAILED("cnameRecords", "false", "true"),                \
        READ_ONLY("false"), HOSTS_LOCAL_UNKNOWN
#define READ(hosts, cnames)                                                                        \
    {                                                                                              \
        "GET /api/config/dns", 200, DNS(hosts, cnames)                                             \
    }

static void world_open(struct world *world, const char *json)
{
    struct error err = {0};
    if (!try_open(world, json, PASSWORD, &err))
        fail_msg("%s", err.text);
}

// Logged in, with all asked that is asked before.
static void world_start(struct world *world)
{
    world_open(world, "{\"url\":\"" BASE "/\"}");
    PLAY(world, JOB_HEALTH, LOGIN, SESSIONS, PREFLIGHT, READ("", ""));
    assert_null(world->job.unavailable);
    world->now_ms += 500;                     // no restart of others is under way
    world->instance->others.is_known = false; // what a test finds there was there before
}

static struct change change_of(enum change_op op, enum record_type type, const char *name,
                               const struct text *values, size_t count)
{
    return (struct change){.op = op,
                           .set = {.type = type,
                                   .domain = text_of(name),
                                   .subdomain = TEXT("@"),
                                   .values = values,
                                   .value_count = count,
                                   .priority = -1,
                                   .weight = -1,
                                   .port = -1}};
}

static const struct text ip_50[] = {{"192.168.1.50", 12}};
static const struct text ip_51[] = {{"192.168.1.51", 12}};
static const struct text a_lan[] = {{"a.lan", 5}};

static struct change set_a(const char *name)
{
    return change_of(CHANGE_SET, RECORD_A, name, ip_50, 1);
}

static struct change set_cname(const char *name)
{
    return change_of(CHANGE_SET, RECORD_CNAME, name, a_lan, 1);
}

static struct change remove_a(const char *name)
{
    return change_of(CHANGE_REMOVE, RECORD_A, name, NULL, 0);
}

static void check_trouble(const struct world *world, const char *reason, int64_t about_ms,
                          const char *part)
{
    const struct error *trouble = world->job.unavailable;
    assert_non_null(trouble);
    assert_string_equal(trouble->reason, reason);
    if (trouble->retry_ms < about_ms * 9 / 10 || trouble->retry_ms > about_ms * 11 / 10)
        fail_msg("rests for %lld ms: %s", (long long)trouble->retry_ms, trouble->text);
    if (!strstr(trouble->text, part))
        fail_msg("'%s' is not in: %s", part, trouble->text);
    if (strstr(trouble->text, PASSWORD) || strstr(trouble->text, "sid+1="))
        fail_msg("a secret is in: %s", trouble->text);
}

// ---- replies ------------------------------------------------------------------------------------

static void every_reply_is_read_by_status_key_and_message(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum reply_kind kind;
    } rows[] = {
        {200, SESSION, REPLY_OK},
        {201, TOOK, REPLY_OK},
        {204, "", REPLY_OK},
        {401, "{\"session\":{\"valid\":false,\"sid\":null,\"validity\":-1}}", REPLY_UNAUTHORIZED},
        {400, ERROR("bad_request", "No request body data", "null"), REPLY_TOO_LONG},
        {400, ERROR("bad_request", "No password found in JSON payload", "null"), REPLY_REFUSED},
        {400, ERROR("bad_request", "No 2FA token found in JSON payload", "null"),
         REPLY_NEEDS_TOKEN},
        {401, ERROR("unauthorized", "Invalid 2FA token", "null"), REPLY_NEEDS_TOKEN},
        {401, ERROR("unauthorized", "Reused 2FA token", "null"), REPLY_NEEDS_TOKEN},
        {429, ERROR("rate_limiting", "Rate-limiting login attempts", "null"), REPLY_RATE},
        {429, ERROR("api_seats_exceeded", "API seats exceeded", "\"increase it\""), REPLY_SEATS},
        {429, ERROR("too_many", "Slow down", "null"), REPLY_LIMIT},
        {429, "slow down", REPLY_LIMIT},
        {401, UNAUTHORIZED, REPLY_UNAUTHORIZED},
        {400, ERROR("bad_request", "Item already present", "\"Uniqueness of items is enforced\""),
         REPLY_THERE},
        {400, ERROR("bad_request", "Invalid value", "\"invalid hostname\""), REPLY_REFUSED},
        {404, TOOK, REPLY_ABSENT},
        {404, "", REPLY_ABSENT},
        {404, ERROR("not_found", "Not found", "null"), REPLY_FAILED},
        {404, "<html>", REPLY_STRANGE},
        {400, ERROR("bad_request", "Config item validation failed", "\"dns.hosts[4]: no\""),
         REPLY_REFUSED},
        {400, ERROR("body_error", "No \\\"config\\\" object", "null"), REPLY_REFUSED},
        {400, ERROR("bad_request", "Invalid configuration", "\"dnsmasq: no\""), REPLY_REFUSED},
        {403, ERROR("forbidden", "Unable to change configuration (read-only)", "null"),
         REPLY_APP_SUDO},
        {403, ERROR("forbidden", "The config is currently in read-only mode", "null"),
         REPLY_READ_ONLY},
        {400,
         ERROR("bad_request",
               "Config items set via environment variables cannot be changed via the API",
               "\"dns.hosts\""),
         REPLY_FORCED},
        {500, ERROR("internal_error", "oh", "null"), REPLY_FAILED},
        {502, "<html>bad gateway", REPLY_FAILED},
        {302, "", REPLY_STRANGE},
        {200, "<html>", REPLY_STRANGE},
        {200, "[]", REPLY_STRANGE},
        {200, "{\"a\":", REPLY_STRANGE},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(arena) struct arena *arena = arena_new();
        const struct http_reply http = {.status = rows[i].status, .body = text_of(rows[i].body)};
        struct reply reply;
        reply_read(&reply, arena, &http, NOW_S);
        if (reply.kind != rows[i].kind)
            fail_msg("%d %s is %d", rows[i].status, rows[i].body, (int)reply.kind);
    }
}

static void replies_deeper_than_32_are_not_of_a_pihole(void **state)
{
    (void)state;
    for (size_t depth = 31; depth <= 33; depth++) {
        CLEANUP(arena) struct arena *arena = arena_new();
        AUTO_BUFFER body = {0};
        struct reply reply;
        buffer_add_text(&body, "{\"a\":");
        for (size_t i = 1; i < depth; i++)
            buffer_add_char(&body, '[');
        for (size_t i = 1; i < depth; i++)
            buffer_add_char(&body, ']');
        buffer_add_char(&body, '}');
        const struct http_reply http = {.status = 200, .body = buffer_text(&body)};
        reply_read(&reply, arena, &http, NOW_S);
        assert_int_equal(reply.kind, depth <= 32 ? REPLY_OK : REPLY_STRANGE);
    }
}

static void what_never_came_whole_is_told_apart(void **state)
{
    static const struct {
        enum http_failure failure;
        bool is_tls, is_unsent;
        enum reply_kind kind;
    } rows[] = {
        {HTTP_UNREACHABLE, false, false, REPLY_DOWN},
        {HTTP_TIMEOUT, false, true, REPLY_DOWN},
        {HTTP_TIMEOUT, false, false, REPLY_HUNG},
        {HTTP_UNREACHABLE, true, false, REPLY_UNTRUSTED},
        {HTTP_TOO_BIG, false, false, REPLY_STRANGE},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(arena) struct arena *arena = arena_new();
        const struct http_reply http = {
            .failure = rows[i].failure, .is_tls = rows[i].is_tls, .is_unsent = rows[i].is_unsent};
        struct reply reply;
        reply_read(&reply, arena, &http, NOW_S);
        assert_int_equal(reply.kind, rows[i].kind);
    }
}

static void what_is_not_of_a_pihole_is_quoted(void **state)
{
    static const struct text none[] = {{0}};
    static const struct text secrets[] = {{"hunter2", 7}, {"", 0}, {0}};
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    char long_body[400];
    memset(long_body, 'x', sizeof long_body - 1);
    long_body[sizeof long_body - 1] = '\0';
    const struct {
        int status;
        const char *body;
        const struct text *secrets;
        const char *text;
    } rows[] = {
        {200, "<html>\n<title>\x01Router", none, "HTTP 200: \"<html> <title> Router\""},
        {200, long_body, none, NULL},
        {404, "", none, "HTTP 404"},
        {400, ERROR("bad_request", "Invalid value", "\"no host\""), none,
         "HTTP 400: Invalid value (no host)"},
        {200, "you said hunter2", secrets, "HTTP 200: \"(not shown: a secret stands in it)\""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct http_reply http = {.status = rows[i].status, .body = text_of(rows[i].body)};
        struct reply reply;
        reply_read(&reply, arena, &http, NOW_S);
        const char *text = reply_text(arena, &reply, &http, rows[i].secrets);
        if (rows[i].text)
            assert_string_equal(text, rows[i].text);
        else
            assert_int_equal(strlen(text), sizeof "HTTP 200: \"\"" - 1 + 120);
    }
    const struct http_header location = {"Location", "https://login.example/"};
    const struct http_reply http = {.status = 302, .headers = &location, .header_count = 1};
    struct reply reply;
    reply_read(&reply, arena, &http, NOW_S);
    assert_non_null(strstr(reply_text(arena, &reply, &http, none), "leads to https://login"));
}

// ---- clocks -------------------------------------------------------------------------------------

static void every_trouble_has_its_clock(void **state)
{
    static const struct {
        enum trouble_kind kind;
        int64_t after_ms; // since the failure before
        const char *reason;
        int64_t wait_ms;
    } rows[] = {
        {TROUBLE_RESTARTING, 0, "", 100},
        {TROUBLE_RESTARTING, 100, "", 200},
        {TROUBLE_RESTARTING, 200, "", 400},
        {TROUBLE_RESTARTING, 400, "", 800},
        {TROUBLE_RESTARTING, 800, "", 1000},
        {TROUBLE_RESTARTING, 100000, "", 1000},
        {TROUBLE_DOWN, 80000, "PiholeUnreachable", 1500},
        {TROUBLE_NONE, 0, NULL, 0},
        {TROUBLE_DOWN, 0, "", 100},
        {TROUBLE_DOWN, 4999, "", 200},
        {TROUBLE_DOWN, 1, "PiholeUnreachable", 400},
        {TROUBLE_DOWN, 594999, "PiholeUnreachable", 800},
        {TROUBLE_DOWN, 1, "PiholeUnreachable", 15000},
        {TROUBLE_HUNG, 15000, "PiholeHung", 15000},
        {TROUBLE_DOWN, 700000, "", 100},
        {TROUBLE_HUNG, 1, "PiholeHung", 200},
        {TROUBLE_NONE, 0, NULL, 0},
        {TROUBLE_HUNG, 0, "PiholeHung", 100},
        {TROUBLE_HUNG, 10100, "PiholeHung", 200},
        {TROUBLE_DOWN, 200, "PiholeUnreachable", 400},
        {TROUBLE_FAILED, 0, "PiholeUnreachable", 30000},
        {TROUBLE_FAILED, 30000, "PiholeUnreachable", 60000},
        {TROUBLE_FAILED, 60000, "PiholeUnreachable", 120000},
        {TROUBLE_FAILED, 120000, "PiholeUnreachable", 240000},
        {TROUBLE_FAILED, 240000, "PiholeUnreachable", 300000},
        {TROUBLE_PASSWORD, 0, "PiholeRefusesUs", 30000},
        {TROUBLE_PASSWORD, 0, "PiholeRefusesUs", 60000},
        {TROUBLE_BLOCKED, 0, "PiholeReadOnly", 60000},
        {TROUBLE_BLOCKED, 0, "PiholeReadOnly", 60000},
        {TROUBLE_RATE, 0, "", 2000},
        {TROUBLE_RATE, 2000, "", 4000},
        {TROUBLE_RATE, 4000, "PiholeRefusesUs", 8000},
        {TROUBLE_RATE, 0, "PiholeRefusesUs", 16000},
        {TROUBLE_RATE, 0, "PiholeRefusesUs", 32000},
        {TROUBLE_RATE, 0, "PiholeRefusesUs", 60000},
        {TROUBLE_SEATS, 0, "PiholeSeatsExceeded", 60000},
        {TROUBLE_SEATS, 0, "PiholeSeatsExceeded", 60000},
        {TROUBLE_UNTRUSTED, 0, "PiholeUnreachable", 30000},
        {TROUBLE_PIN, 0, "PiholeRefusesUs", 30000},
        {TROUBLE_CONTENDED, 0, "PiholeUnreachable", 30000},
    };
    (void)state;
    for (int octet = 1; octet < 256; octet += 50) {
        struct world world = {.random = {.fill = fill}, .random_octet = (uint8_t)octet};
        struct ladder ladder = {0};
        int64_t now_ms = 5000;
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            struct error err;
            now_ms += rows[i].after_ms;
            if (rows[i].kind == TROUBLE_NONE) {
                ladder = (struct ladder){0};
                continue;
            }
            trouble_report(&ladder, rows[i].kind, now_ms, 0, &world.random, &err, "why");
            assert_string_equal(err.reason, rows[i].reason);
            if (llabs(err.retry_ms - rows[i].wait_ms) > rows[i].wait_ms / 10)
                fail_msg("row %zu rests for %lld ms", i, (long long)err.retry_ms);
            assert_true(err.fault != FAULT_NONE);
        }
    }
}

static void waits_are_spread_by_a_tenth(void **state)
{
    struct world world = {.random = {.fill = fill}};
    int64_t least = INT64_MAX, most = 0;
    (void)state;
    for (int octet = 1; octet < 256; octet++) {
        struct ladder ladder = {0};
        struct error err;
        world.random_octet = (uint8_t)octet;
        trouble_report(&ladder, TROUBLE_SEATS, 0, 0, &world.random, &err, "why");
        least = err.retry_ms < least ? err.retry_ms : least;
        most = err.retry_ms > most ? err.retry_ms : most;
    }
    assert_in_range(least, 54000, 56000);
    assert_in_range(most, 64000, 66000);
}

// ---- configuration ------------------------------------------------------------------------------

static void bad_configurations_are_refused(void **state)
{
    static const struct {
        const char *config, *password, *part;
    } rows[] = {
        {"{}", PASSWORD, "url"},
        {"{\"url\":\"ftp://pi.example\"}", PASSWORD, "url"},
        {"{\"url\":\"http://me:pw@pi.example\"}", PASSWORD, "url"},
        {"{\"url\":\"http://pi.example/?a\"}", PASSWORD, "url"},
        {"{\"url\":\"" BASE "\",\"dialect\":\"v5\"}", PASSWORD, "dialect: \"v5\""},
        {"{\"url\":\"" BASE "\",\"ownership\":\"txt\"}", PASSWORD, "ownership"},
        {"{\"url\":\"" BASE "\",\"write\":\"put\"}", PASSWORD, "write"},
        {"{\"url\":\"" BASE "\",\"adopt\":\"all\"}", PASSWORD, "adopt"},
        {"{\"url\":\"" BASE "\",\"restartMinSeconds\":3601}", PASSWORD, "restartMinSeconds"},
        {"{\"url\":\"" BASE "\",\"tls\":{\"caPem\":\"x\"}}", PASSWORD, "tls.caPem"},
        {"{\"url\":\"" BASE "\",\"tls\":{\"pin\":\"sha1//AAAA\"}}", PASSWORD, "tls.pin"},
        {"{\"url\":\"" BASE "\",\"tls\":{\"pin\":\"sha256//AAAA\"}}", PASSWORD, "tls.pin"},
        {"{\"url\":\"" BASE "\"}", NULL, "no password"},
        {"{\"url\":\"" BASE "\"}", "\n", "no password"},
        {"{\"url\":\"" BASE "\"}", "a\tb", "control character"},
        {"{\"url\":\"" BASE "\"}", "a\xff", "no UTF-8"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world world;
        struct error err = {0};
        assert_false(try_open(&world, rows[i].config, rows[i].password, &err));
        assert_int_equal(err.fault, FAULT_SPEC);
        assert_string_equal(err.reason, "InvalidConfiguration");
        if (!strstr(err.text, rows[i].part))
            fail_msg("'%s' is not in: %s", rows[i].part, err.text);
        world_done(&world);
    }
}

static void changes_wait_for_more_as_long_as_they_may(void **state)
{
    static const struct {
        enum record_type type;
        bool hosts_restart;
        int64_t restarted_ms, first_ms, last_ms, ready_ms;
    } rows[] = {
        {RECORD_A, false, 0, 1000, 1000, 1025},        {RECORD_A, false, 0, 1000, 1020, 1045},
        {RECORD_AAAA, false, 0, 1000, 1060, 1075},     {RECORD_A, false, 900, 1000, 1000, 1025},
        {RECORD_CNAME, false, 0, 1000, 1000, 2000},    {RECORD_CNAME, false, 0, 1000, 5500, 6000},
        {RECORD_CNAME, false, 900, 1000, 1000, 10900}, {RECORD_A, true, 0, 1000, 1000, 2000},
        {RECORD_A, true, 900, 1000, 1000, 10900},
    };
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\"}");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        world.instance->hosts_restart = rows[i].hosts_restart;
        world.instance->restarted_ms = rows[i].restarted_ms;
        assert_int_equal(pihole_provider.ready_ms(world.instance, rows[i].type, rows[i].first_ms,
                                                  rows[i].last_ms),
                         rows[i].ready_ms);
    }
    world_done(&world);
}

static void the_ledger_remembers_what_carries_no_mark(void **state)
{
    static const struct {
        const char *config, *hosts;
    } rows[] = {
        {"{\"url\":\"" BASE "\"}", NULL},
        {"{\"url\":\"" BASE "\",\"ownership\":\"annotation\"}", "192.168.1.50 a.lan\n"},
        {"{\"url\":\"" BASE "\",\"dialect\":\"legacy\"}", "192.168.1.50 a.lan\n"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world world;
        AUTO_BUFFER out = {0};
        const struct change host = set_a("a.lan"), alias = set_cname("www.lan");
        world_open(&world, rows[i].config);
        assert_int_equal(pihole_provider.entry(world.instance, &host.set, &out),
                         rows[i].hosts != NULL);
        assert_string_equal(out.len ? out.at : "", rows[i].hosts ? rows[i].hosts : "");
        buffer_clear(&out);
        assert_true(pihole_provider.entry(world.instance, &alias.set, &out));
        assert_string_equal(out.at, "www.lan,a.lan\n");
        world_done(&world);
    }
}

static void fingerprints_tell_content_and_address_but_no_ttl_of_hosts(void **state)
{
    uint8_t prints[6][FINGERPRINT_OCTETS];
    struct world world, other;
    (void)state;
    struct change changes[6] = {set_a("a.lan"), set_a("a.lan"),     set_a("a.lan"),
                                set_a("a.lan"), set_cname("w.lan"), set_cname("w.lan")};
    world_open(&world, "{\"url\":\"" BASE "\"}");
    world_open(&other, "{\"url\":\"" BASE "/other\"}");
    changes[1].set.ttl_s = changes[5].set.ttl_s = 60;
    changes[3].set.values = ip_51;
    for (size_t i = 0; i < COUNT_OF(prints); i++)
        pihole_provider.fingerprint(i == 2 ? other.instance : world.instance, &changes[i].set,
                                    prints[i]);
    assert_memory_equal(prints[0], prints[1], 8);
    assert_memory_not_equal(prints[0], prints[2], 8);
    assert_memory_not_equal(prints[0], prints[3], 8);
    assert_memory_not_equal(prints[4], prints[5], 8);
    world_done(&world);
    world_done(&other);
}

// ---- session ------------------------------------------------------------------------------------

static void the_first_exchange_logs_in_sweeps_and_asks_what_could_stop_us(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "/\"}");
    PLAY(&world, JOB_HEALTH, LOGIN,
         {"GET /api/auth/sessions", 200,
          "{\"sessions\":["
          "{\"id\":0,\"current_session\":false,\"valid\":true,\"user_agent\":\"signpost/9 (" OWNER
          ")\"},"
          "{\"id\":1,\"current_session\":false,\"valid\":true,\"user_agent\":\"signpost/9 "
          "(other)\"},"
          "{\"id\":2,\"current_session\":false,\"valid\":true,\"user_agent\":\"Firefox\"},"
          "{\"id\":3,\"current_session\":true,\"valid\":true,\"user_agent\":\"signpost/9 (" OWNER
          ")\"},"
          "{\"id\":4,\"current_session\":false,\"valid\":false,\"user_agent\":\"signpost/9 (" OWNER
          ")\"},"
          "{\"id\":5,\"current_session\":false,\"valid\":true,\"user_agent\":\"signpost/1 (" OWNER
          ")\"}]}"},
         {"DELETE /api/auth/session/5", 204, ""}, {"DELETE /api/auth/session/0", 404, TOOK},
         PREFLIGHT, READ("", ""));
    assert_true(world.job.health.is_done && world.job.is_listed);
    assert_int_equal(value_int_at(world.job.answer, "seatsInUse", 0), 4);
    assert_string_equal(world.sid, "sid+1=");
    assert_int_equal(world.sid_headers, 1);
    world_done(&world);
}

#define BACKEND(id, is_current, place)                                                             \
    "{\"id\":" #id ",\"current_session\":" is_current ",\"user_agent\":\"signpost/9 " place OWNER  \
    ")\"}"

static void a_backend_gives_way_to_an_earlier_one_of_its_process(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\",\"place\":\"down.1#5f3a\"}");
    for (int i = 0; i < 2; i++) {
        PLAY(&world, JOB_HEALTH, LOGIN,
             {"GET /api/auth/sessions", 200,
              "{\"sessions\":[" BACKEND(0, "false", "up.0#5f3a (") "," BACKEND(
                  1, "true", "down.1#5f3a (") "]}"},
             {"DELETE /api/auth", 204, ""});
        check_trouble(&world, "PiholeNamedTwice", i ? 120000 : 60000,
                      "Pi-hole at " BASE " is the same as up: take one of the two out");
        assert_false(world.job.is_listed);
    }
    PLAY(&world, JOB_LEAVE, );
    PLAY(&world, JOB_HEALTH, LOGIN, SESSIONS, PREFLIGHT, READ("", ""));
    assert_null(world.job.unavailable);
    world_done(&world);
}

static void sessions_of_later_backends_and_of_other_processes_are_ended(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\",\"place\":\"mid.1#5f3a\"}");
    PLAY(
        &world, JOB_HEALTH, LOGIN,
        {"GET /api/auth/sessions", 200,
         "{\"sessions\":[" BACKEND(0, "false", "down.2#5f3a (") "," BACKEND(1, "true", "mid.1#5f3a (") "," BACKEND(
             2, "false",
             "up.0#77aa (") "," BACKEND(3, "false",
                                        "mid.1#5f3a (") "," BACKEND(4, "false",
                                                                    "(") "," BACKEND(5, "false",
                                                                                     "up.x#5f3a (") "]}"},
        {"DELETE /api/auth/session/5", 204, ""}, {"DELETE /api/auth/session/4", 204, ""},
        {"DELETE /api/auth/session/3", 204, ""}, {"DELETE /api/auth/session/2", 204, ""},
        {"DELETE /api/auth/session/0", 204, ""}, PREFLIGHT, READ("", ""));
    assert_null(world.job.unavailable);
    world_done(&world);
}

static void a_refused_list_of_sessions_stops_nothing(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\"}");
    PLAY(&world, JOB_HEALTH, LOGIN, {"GET /api/auth/sessions", 403, UNAUTHORIZED}, PREFLIGHT,
         READ("", ""));
    assert_true(world.job.health.is_done);
    assert_null(value_find(world.job.answer, "seatsInUse"));
    world_done(&world);
}

static void without_a_password_there_is_no_session(void **state)
{
    struct world world;
    struct error err;
    (void)state;
    assert_true(try_open(&world, "{\"url\":\"" BASE "\",\"noPassword\":true}", NULL, &err));
    PLAY(
        &world, JOB_HEALTH,
        {"POST /api/auth {\"password\":\"\"}", 200,
         "{\"session\":{\"valid\":true,\"sid\":null,\"validity\":-1,\"message\":\"no password\"}}"},
        PREFLIGHT, READ("", ""));
    assert_true(world.job.health.is_done);
    assert_int_equal(world.sid_headers, 0);
    PLAY(&world, JOB_LEAVE, );
    world_done(&world);
}

static void the_last_exchange_gives_the_instance_back(void **state)
{
    struct world world;
    (void)state;
    world_start(&world);
    PLAY(&world, JOB_LEAVE, {"DELETE /api/auth", 204, ""});
    assert_string_equal(world.sid, "sid+1=");
    assert_int_equal(world.timeout_ms, 500);
    PLAY(&world, JOB_LEAVE, );
    world_done(&world);
}

static void a_lost_session_costs_one_login_and_the_call_is_repeated(void **state)
{
    struct world world;
    (void)state;
    world_start(&world);
    PLAY(&world, JOB_HEALTH, {"GET /api/config/dns", 401, UNAUTHORIZED}, LOGIN, SESSIONS, PREFLIGHT,
         READ("", ""));
    assert_true(world.job.health.is_done);
    PLAY(&world, JOB_HEALTH, {"GET /api/config/dns", 401, UNAUTHORIZED}, LOGIN, SESSIONS, PREFLIGHT,
         {"GET /api/config/dns", 401, UNAUTHORIZED});
    check_trouble(&world, "PiholeRefusesUs", 30000, "refuses the session");
    assert_true(world.job.health.error == world.job.unavailable);
    world_done(&world);
}

static void every_failed_login_says_what_to_do(void **state)
{
    static const struct {
        int status;
        const char *body, *reason;
        int64_t wait_ms;
        const char *part;
    } rows[] = {
        {400, ERROR("bad_request", "No 2FA token found in JSON payload", "null"), "PiholeRefusesUs",
         30000, "set webserver.api.app_sudo to true"},
        {429, ERROR("rate_limiting", "Rate-limiting login attempts", "null"), "", 2000,
         "limits logins"},
        {429, ERROR("api_seats_exceeded", "API seats exceeded", "\"increase it\""),
         "PiholeSeatsExceeded", 60000, "raise webserver.api.max_sessions"},
        {429, ERROR("odd", "Odd", "null"), "PiholeSeatsExceeded", 60000, "Odd"},
        {500, ERROR("internal", "oh", "null"), "PiholeUnreachable", 30000, "HTTP 500: oh"},
        {200, "<html>Router</html>", "PiholeUnreachable", 30000,
         "not a Pi-hole API at " BASE ": HTTP 200: \"<html>Router</html>\""},
        {200, "{}", "PiholeUnreachable", 30000, "not a Pi-hole API"},
        {200, "{\"session\":{\"valid\":true,\"sid\":\"a b\"}}", "PiholeUnreachable", 30000,
         "not a Pi-hole API"},
        {302, "", "PiholeUnreachable", 30000, "redirects are not followed"},
        {0, NULL, "", 100, "does not answer: connection refused"},
        {200, "you sent " PASSWORD, "PiholeUnreachable", 30000, "not shown"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world world;
        world_open(&world, "{\"url\":\"" BASE "\",\"dialect\":\"v6\"}");
        PLAY(&world, JOB_HEALTH, {"POST /api/auth", rows[i].status, rows[i].body});
        check_trouble(&world, rows[i].reason, rows[i].wait_ms, rows[i].part);
        assert_false(world.job.is_transport_failure);
        world_done(&world);
    }
}

#define WRONG_PASSWORD                                                                             \
    {                                                                                              \
        "POST /api/auth", 401,                                                                     \
            "{\"session\":{\"valid\":false,\"sid\":null,\"message\":\"password incorrect\"}}"      \
    }

// Where others have just logged in with an app password, the right one is said to be wrong.
static void a_password_that_is_refused_is_tried_once_more_before_that_is_believed(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\",\"dialect\":\"v6\"}");
    PLAY(&world, JOB_HEALTH, WRONG_PASSWORD, {"wait 2000", 0, NULL}, LOGIN, SESSIONS, PREFLIGHT,
         READ("", ""));
    assert_null(world.job.unavailable);
    world_done(&world);
    world_open(&world, "{\"url\":\"" BASE "\",\"dialect\":\"v6\"}");
    PLAY(&world, JOB_HEALTH, WRONG_PASSWORD, {"wait 2000", 0, NULL}, WRONG_PASSWORD);
    check_trouble(&world, "PiholeRefusesUs", 30000, "refuses the password");
    PLAY(&world, JOB_HEALTH, WRONG_PASSWORD);
    check_trouble(&world, "PiholeRefusesUs", 60000, "refuses the password");
    world_done(&world);
    world_open(&world, "{\"url\":\"" BASE "\",\"dialect\":\"v6\"}");
    PLAY(&world, JOB_HEALTH, WRONG_PASSWORD, {"wait 2000", 0, NULL},
         {"POST /api/auth", 200, "{\"session\":{\"valid\":false,\"sid\":null}}"});
    check_trouble(&world, "PiholeRefusesUs", 30000, "refuses the password");
    world_done(&world);
}

static void a_url_that_was_copied_from_the_page_gets_a_hint(void **state)
{
    static const struct {
        const char *base, *path, *hint;
    } rows[] = {
        {BASE "/admin", "POST /admin/api/auth", "; leave /admin out of its URL"},
        {BASE "/admin/login/", "POST /admin/login/api/auth", "; leave /admin/login out of its URL"},
        {BASE "/pi/api", "POST /pi/api/api/auth", "; leave /api out of its URL"},
        {BASE "/pi", "POST /pi/api/auth", "HTTP 400"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world world;
        AUTO_BUFFER json = {0};
        buffer_printf(&json, "{\"url\":\"%s\",\"dialect\":\"v6\"}", rows[i].base);
        world_open(&world, json.at);
        PLAY(&world, JOB_HEALTH, {rows[i].path, 400, ERROR("bad_request", "Bad", "null")});
        check_trouble(&world, "PiholeUnreachable", 30000, rows[i].hint);
        bool is_hinted = strstr(world.job.unavailable->text, "leave ") != NULL;
        assert_int_equal(is_hinted, rows[i].hint[0] == ';');
        PLAY(&world, JOB_HEALTH, {rows[i].path, 429, ERROR("rate_limiting", "Wait", "null")});
        assert_null(strstr(world.job.unavailable->text, "leave "));
        world_done(&world);
    }
}

static void a_wait_that_pihole_asks_for_is_kept_if_it_is_sane(void **state)
{
    static const struct {
        const char *value;
        int64_t least_ms, most_ms;
    } rows[] = {
        {"120", 120000, 132000}, {"300", 300000, 330000}, {"301", 54000, 66000},
        {"soon", 54000, 66000},  {"-5", 54000, 66000},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world world;
        const struct http_header header = {"Retry-After", rows[i].value};
        world_start(&world);
        world.headers = &header;
        world.header_count = 1;
        PLAY(&world, JOB_HEALTH, {"GET /api/config/dns", 429, ERROR("odd", "Odd", "null")});
        assert_string_equal(world.job.unavailable->reason, "PiholeSeatsExceeded");
        assert_in_range(world.job.unavailable->retry_ms, rows[i].least_ms, rows[i].most_ms);
        world_done(&world);
    }
}

// ---- preflight ----------------------------------------------------------------------------------

#define APP_SESSIONS                                                                               \
    {                                                                                              \
        "GET /api/auth/sessions", 200,                                                             \
            "{\"sessions\":[{\"id\":0,\"current_session\":true,\"valid\":true,\"app\":true}]}"     \
    }
#define APP_SUDO(is)                                                                               \
    {                                                                                              \
        "GET /api/config/webserver/api/app_sudo", 200,                                             \
            "{\"config\":{\"webserver\":{\"api\":{\"app_sudo\":" is "}}}}"                         \
    }

static void what_keeps_us_from_writing_is_seen_before_the_first_write(void **state)
{
    static const struct row read_only[] = {LOGIN,
                                           SESSIONS,
                                           DETAILED("hosts", "false", "false"),
                                           DETAILED("cnameRecords", "false", "true"),
                                           READ_ONLY("true"),
                                           HOSTS_LOCAL_UNKNOWN};
    static const struct row app[] = {LOGIN,
                                     APP_SESSIONS,
                                     DETAILED("hosts", "false", "false"),
                                     DETAILED("cnameRecords", "false", "true"),
                                     READ_ONLY("false"),
                                     APP_SUDO("false"),
                                     HOSTS_LOCAL_UNKNOWN};
    static const struct row forced[] = {LOGIN,
                                        SESSIONS,
                                        DETAILED("hosts", "true", "false"),
                                        DETAILED("cnameRecords", "true", "true"),
                                        READ_ONLY("false"),
                                        HOSTS_LOCAL_UNKNOWN};
    static const struct {
        const struct row *rows;
        size_t count;
        const char *part;
    } cases[] = {
        {read_only, COUNT_OF(read_only), "set misc.readOnly to false"},
        {app, COUNT_OF(app), "set webserver.api.app_sudo to true"},
        {forced, COUNT_OF(forced), "take FTLCONF_dns_hosts away"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world world;
        struct change change = set_a("a.lan");
        world_open(&world, "{\"url\":\"" BASE "\"}");
        world.job = (struct job){.kind = JOB_CHANGES, .changes = &change, .change_count = 1};
        play_job(&world, cases[i].rows, cases[i].count);
        check_trouble(&world, "PiholeReadOnly", 60000, cases[i].part);
        assert_false(change.outcome.is_done || change.outcome.error);
        PLAY_CHANGES(&world, &change, 1, );
        PLAY(&world, JOB_HEALTH, READ("", ""));
        assert_true(world.job.health.is_done && world.job.is_listed);
        check_trouble(&world, "PiholeReadOnly", 60000, cases[i].part);
        world.now_ms += 54000;
        PLAY_CHANGES(&world, &change, 1, {"GET /api/config/dns/hosts?detailed=true", 0, NULL});
        world_done(&world);
    }
}

static void an_app_password_that_may_write_is_not_in_the_way(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\"}");
    PLAY(&world, JOB_HEALTH, LOGIN, APP_SESSIONS, DETAILED("hosts", "false", "false"),
         DETAILED("cnameRecords", "false", "true"), READ_ONLY("false"), APP_SUDO("true"),
         {"GET /api/config/dns/hostsLocal", 200, "{\"config\":{\"dns\":{\"hostsLocal\":true}}}"},
         READ("", ""));
    assert_null(world.job.unavailable);
    assert_int_equal(pihole_provider.ready_ms(world.instance, RECORD_A, 0, 0), 1000);
    world_done(&world);
}

static void a_host_list_that_becomes_local_is_seen_by_the_next_read(void **state)
{
    struct world world;
    (void)state;
    world_start(&world);
    assert_int_equal(pihole_provider.ready_ms(world.instance, RECORD_A, 0, 0), 25);
    PLAY(&world, JOB_HEALTH,
         {"GET /api/config/dns", 200,
          "{\"config\":{\"dns\":{\"hosts\":[],\"cnameRecords\":[],\"hostsLocal\":true}}}"});
    assert_int_equal(pihole_provider.ready_ms(world.instance, RECORD_A, 0, 0), 1000);
    assert_true(value_bool_at(world.job.answer, "hostsRestart", false));
    world_done(&world);
}

static void a_forced_list_keeps_only_its_own_changes_out(void **state)
{
    struct world world;
    struct change changes[] = {set_a("b.lan"), set_cname("www.lan")};
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\"}");
    PLAY(&world, JOB_HEALTH, LOGIN, SESSIONS, DETAILED("hosts", "true", "false"),
         DETAILED("cnameRecords", "false", "true"), READ_ONLY("false"), HOSTS_LOCAL_UNKNOWN,
         READ("", ""));
    world.now_ms += 500;
    PLAY_CHANGES(&world, changes, 2, READ("", ""),
                 {"PATCH /api/config {\"config\":{\"dns\":{\"cnameRecords\":[\"www.lan,a.lan\"]}}}",
                  200, DNS("", "\"www.lan,a.lan\"")});
    assert_null(world.job.unavailable);
    assert_string_equal(changes[0].outcome.error->reason, "PiholeReadOnly");
    assert_non_null(strstr(changes[0].outcome.error->text, "FTLCONF_dns_hosts"));
    assert_true(changes[1].outcome.is_done && changes[1].outcome.was_created);
    world_done(&world);
}

// ---- writing ------------------------------------------------------------------------------------

#define A_LINE "\"192.168.1.50 a.lan" TAG "\""
#define B_LINE "\"192.168.1.50 b.lan" TAG "\""
#define C_LINE "\"192.168.1.50 c.lan" TAG "\""
#define A_PATH "/api/config/dns/hosts/192.168.1.50%20a.lan%20%23%20signpost%3A1a2b3c4d"
#define NAS "\"192.168.1.9  nas.lan\""
#define PATCH(hosts) "PATCH /api/config {\"config\":{\"dns\":{\"hosts\":[" hosts "]}}}"

static void one_host_more_is_one_put(void **state)
{
    struct world world;
    struct change change = set_a("a.lan");
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, &change, 1, READ(NAS, ""), {"PUT " A_PATH, 201, TOOK},
                 READ(NAS "," A_LINE, ""));
    assert_null(world.job.unavailable);
    assert_true(change.outcome.is_done && change.outcome.was_created);
    assert_false(change.outcome.is_unchanged);
    PLAY_CHANGES(&world, &change, 1, READ(NAS "," A_LINE, ""));
    assert_true(change.outcome.is_done && change.outcome.is_unchanged);
    world_done(&world);
}

static void one_host_less_is_one_delete_and_404_is_gone(void **state)
{
    static const int statuses[] = {204, 404};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        struct world world;
        struct change change = remove_a("a.lan");
        world_start(&world);
        PLAY_CHANGES(&world, &change, 1, READ(A_LINE, ""),
                     {"DELETE " A_PATH, statuses[i], statuses[i] == 404 ? TOOK : ""}, READ("", ""));
        assert_true(change.outcome.is_done && !change.outcome.is_unchanged);
        assert_non_null(change.outcome.replaced);
        PLAY_CHANGES(&world, &change, 1, READ("", ""));
        assert_true(change.outcome.is_done && change.outcome.was_absent);
        world_done(&world);
    }
}

static void an_item_that_is_present_already_counts_as_written(void **state)
{
    struct world world;
    struct change change = set_a("a.lan");
    (void)state;
    world_start(&world);
    PLAY_CHANGES(
        &world, &change, 1, READ("", ""),
        {"PUT " A_PATH, 400,
         ERROR("bad_request", "Item already present", "\"Uniqueness of items is enforced\"")},
        READ(A_LINE, ""));
    assert_null(world.job.unavailable);
    assert_true(change.outcome.is_done);
    world_done(&world);
}

static void many_changes_are_one_patch_and_no_second_read(void **state)
{
    struct world world;
    struct change changes[] = {set_a("b.lan"), set_a("a.lan"), set_cname("www.lan")};
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, changes, 3, READ(NAS, ""),
                 {"PATCH /api/config {\"config\":{\"dns\":{\"hosts\":[" NAS "," B_LINE "," A_LINE
                  "],\"cnameRecords\":[\"www.lan,a.lan\"]}}}",
                  200, DNS("\"192.168.1.9 nas.lan\"," B_LINE "," A_LINE, "\"www.lan,a.lan\"")});
    assert_null(world.job.unavailable);
    for (size_t i = 0; i < 3; i++)
        assert_true(changes[i].outcome.is_done && changes[i].outcome.was_created);
    world_done(&world);
}

static void an_address_changes_in_its_place(void **state)
{
    struct world world;
    struct change change = set_a("a.lan");
    (void)state;
    world_start(&world);
    change.set.values = ip_51;
    PLAY_CHANGES(&world, &change, 1, READ(A_LINE "," NAS, ""),
                 {PATCH("\"192.168.1.51 a.lan" TAG "\"," NAS), 200,
                  DNS("\"192.168.1.51 a.lan" TAG "\"," NAS, "")});
    assert_true(change.outcome.is_done);
    assert_int_equal(change.outcome.replaced->value_count, 1);
    world_done(&world);
}

static void the_way_of_writing_can_be_forced(void **state)
{
    struct world world;
    struct change change = set_a("a.lan");
    struct change two[] = {set_a("a.lan"), set_a("b.lan")};
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\",\"write\":\"patch\"}");
    PLAY_CHANGES(&world, &change, 1, LOGIN, SESSIONS, PREFLIGHT, READ("", ""),
                 {PATCH(A_LINE), 200, DNS(A_LINE, "")});
    assert_true(change.outcome.is_done);
    world_done(&world);
    world_open(&world, "{\"url\":\"" BASE "\",\"write\":\"element\"}");
    PLAY_CHANGES(
        &world, two, 2, LOGIN, SESSIONS, PREFLIGHT, READ("", ""), {"PUT " A_PATH, 201, TOOK},
        {"PUT /api/config/dns/hosts/192.168.1.50%20b.lan%20%23%20signpost%3A1a2b3c4d", 201, TOOK},
        READ(A_LINE "," B_LINE, ""));
    assert_true(two[0].outcome.was_created && two[1].outcome.was_created);
    world_done(&world);
}

static void what_others_wrote_is_said_and_left_alone(void **state)
{
    struct world world;
    struct change changes[] = {set_a("a.lan"), set_a("b.lan"), set_a("c.lan")};
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, changes, 3,
                 READ("\"192.168.1.7 a.lan\",\"192.168.1.50 b.lan\",\"192.168.1.7 c.lan "
                      "# signpost:other\"",
                      ""));
    assert_string_equal(changes[0].outcome.error->reason, "NameTaken");
    assert_true(changes[1].outcome.is_done && changes[1].outcome.is_foreign);
    assert_string_equal(changes[2].outcome.error->reason, "OwnedElsewhere");
    world_done(&world);
}

static void a_record_that_no_list_holds_is_refused(void **state)
{
    static const struct text text[] = {{"x", 1}};
    struct world world;
    struct change changes[] = {change_of(CHANGE_SET, RECORD_TXT, "a.lan", text, 1)};
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, changes, 1, READ("", ""));
    assert_string_equal(changes[0].outcome.error->reason, "RecordRefused");
    world_done(&world);
}

static void what_stands_there_can_be_looked_up(void **state)
{
    struct world world;
    struct change changes[] = {change_of(CHANGE_READ, RECORD_A, "a.lan", NULL, 0),
                               change_of(CHANGE_READ, RECORD_A, "b.lan", NULL, 0)};
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, changes, 2, READ(A_LINE, ""));
    assert_true(changes[0].outcome.is_done && changes[0].outcome.found);
    assert_true(text_is(changes[0].outcome.found->values[0], "192.168.1.50"));
    assert_true(changes[1].outcome.is_done && changes[1].outcome.was_absent);
    world_done(&world);
}

static void what_does_not_stay_is_written_three_times_more_at_most(void **state)
{
    struct world world;
    struct change changes[] = {set_a("a.lan"), set_a("b.lan")};
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, changes, 2, READ("", ""), {PATCH(A_LINE "," B_LINE), 200, DNS("", "")},
                 {PATCH(A_LINE "," B_LINE), 200, DNS("", "")},
                 {PATCH(A_LINE "," B_LINE), 200, "{}"}, READ(A_LINE "," B_LINE, ""));
    assert_null(world.job.unavailable);
    assert_true(changes[0].outcome.was_created && changes[1].outcome.was_created);
    PLAY_CHANGES(&world, changes, 2, READ("", ""), {PATCH(A_LINE "," B_LINE), 200, DNS("", "")},
                 {PATCH(A_LINE "," B_LINE), 200, DNS("", "")},
                 {PATCH(A_LINE "," B_LINE), 200, DNS("", "")},
                 {PATCH(A_LINE "," B_LINE), 200, DNS("", "")});
    check_trouble(&world, "PiholeUnreachable", 30000, "changes by someone else");
    assert_false(changes[0].outcome.is_done);
    world_done(&world);
}

// ---- refusals -----------------------------------------------------------------------------------

#define REFUSED(hint) 400, ERROR("bad_request", "Config item validation failed", "\"" hint "\"")

static void an_entry_that_pihole_refuses_is_set_apart_and_the_rest_sent_at_once(void **state)
{
    struct world world;
    struct change changes[] = {set_a("a.lan"), set_a("b.lan"), set_a("c.lan")};
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, changes, 3, READ(NAS, ""),
                 {PATCH(NAS "," A_LINE "," B_LINE "," C_LINE),
                  REFUSED("dns.hosts[2]: invalid hostname (\\\"b.lan\\\")")},
                 READ(NAS, ""),
                 {PATCH(NAS "," A_LINE "," C_LINE), 200, DNS(NAS "," A_LINE "," C_LINE, "")});
    assert_null(world.job.unavailable);
    assert_true(changes[0].outcome.is_done && changes[2].outcome.is_done);
    assert_string_equal(changes[1].outcome.error->reason, "RecordRefused");
    assert_int_equal(changes[1].outcome.error->fault, FAULT_SPEC);
    assert_int_equal(changes[1].outcome.error->retry_ms, 3600000);
    assert_non_null(strstr(changes[1].outcome.error->text, "invalid hostname (\"b.lan\")"));
    world_done(&world);
}

#define BAD "\"192.168.1.9 b_d*.lan\""

static void a_line_of_others_that_pihole_refuses_blocks_all_but_removals(void **state)
{
    struct world world;
    struct change changes[] = {set_a("b.lan"), set_a("c.lan"), remove_a("a.lan")};
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, changes, 3, READ(BAD "," A_LINE, ""),
                 {"PATCH /api/config", REFUSED("dns.hosts[0]: invalid hostname")},
                 READ(BAD "," A_LINE, ""), {"DELETE " A_PATH, 204, ""}, READ(BAD, ""));
    check_trouble(&world, "PiholeReadOnly", 60000, "192.168.1.9 b_d*.lan");
    assert_true(changes[2].outcome.is_done);
    assert_false(changes[0].outcome.is_done || changes[0].outcome.error);
    PLAY(&world, JOB_HEALTH, READ(BAD, ""));
    check_trouble(&world, "PiholeReadOnly", 60000, "192.168.1.9 b_d*.lan");
    assert_true(world.job.health.is_done);
    PLAY(&world, JOB_HEALTH, READ("", ""));
    assert_null(world.job.unavailable);
    world_done(&world);
}

static void without_an_index_the_culprit_is_found_by_halves(void **state)
{
    struct world world;
    struct change changes[] = {set_a("a.lan"), set_a("b.lan"), set_a("c.lan"), set_a("d.lan")};
    (void)state;
    world_start(&world);
    PLAY_CHANGES(
        &world, changes, 4, READ("", ""), {"PATCH /api/config", REFUSED("no")}, READ("", ""),
        {PATCH(A_LINE "," B_LINE), REFUSED("no")}, READ("", ""), {"PUT " A_PATH, 201, TOOK},
        READ(A_LINE, ""), READ(A_LINE, ""),
        {"PATCH /api/config", 200, DNS(A_LINE "," C_LINE ",\"192.168.1.50 d.lan" TAG "\"", "")});
    assert_null(world.job.unavailable);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(changes[i].outcome.is_done, i != 1);
    assert_string_equal(changes[1].outcome.error->reason, "RecordRefused");
    world_done(&world);
}

#define TRY(method, line)                                                                          \
    method " /api/config/dns/hosts/192.168.1.50%20" line "%20%23%20signpost%3A1a2b3c4d"

static void of_a_line_with_several_names_only_the_culprit_is_set_apart(void **state)
{
    struct world world;
    struct change changes[] = {set_a("a.lan"), set_a("b.lan"), set_a("c.lan"), set_a("d.lan")};
    (void)state;
    world_start(&world);
    const char *full = arena_printf(world.arena, "\"192.168.1.9 nas.lan # %065500d\"", 0);
    const char *none = arena_printf(world.arena, DNS("%s", ""), full);
    const char *some = arena_printf(world.arena, DNS("%s," A_LINE, ""), full);
    const char *rest = "\"192.168.1.50 c.lan d.lan" TAG "\"";
    const char *all = arena_printf(world.arena, DNS("%s," A_LINE ",%s", ""), full, rest);
    PLAY_CHANGES(&world, changes, 4, {"GET /api/config/dns", 200, none},
                 {TRY("PUT", "a.lan%20b.lan%20c.lan%20d.lan"), REFUSED("no")},
                 {"GET /api/config/dns", 200, none}, {TRY("PUT", "a.lan%20b.lan"), REFUSED("no")},
                 {"GET /api/config/dns", 200, none}, {TRY("PUT", "a.lan"), 201, TOOK},
                 {"GET /api/config/dns", 200, some}, {"GET /api/config/dns", 200, some},
                 {TRY("PUT", "c.lan%20d.lan"), 201, TOOK}, {"GET /api/config/dns", 200, all});
    assert_null(world.job.unavailable);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(changes[i].outcome.is_done, i != 1);
    assert_string_equal(changes[1].outcome.error->reason, "RecordRefused");
    world_done(&world);
}

static void a_refusal_that_is_no_changes_fault_ends_the_exchange(void **state)
{
    struct world world;
    struct change change = remove_a("old.lan");
    (void)state;
    world_start(&world);
    PLAY_CHANGES(
        &world, &change, 1, READ("\"384.168.1.7 f old.lan" TAG "\"", ""),
        {"DELETE /api/config/dns/hosts/384.168.1.7%20f%20old.lan%20%23%20signpost%3A1a2b3c4d", 400,
         ERROR("bad_request", "Invalid configuration", "\"no\"")});
    check_trouble(&world, "PiholeUnreachable", 30000, "no");
    world_done(&world);
}

static void writes_that_are_refused_as_a_whole_end_the_exchange(void **state)
{
    static const struct {
        int status;
        const char *body, *reason;
        int64_t wait_ms;
        const char *part;
    } rows[] = {
        {403, ERROR("forbidden", "The config is currently in read-only mode", "null"),
         "PiholeReadOnly", 60000, "set misc.readOnly to false"},
        {403, ERROR("forbidden", "Unable to change configuration (read-only)", "null"),
         "PiholeReadOnly", 60000, "set webserver.api.app_sudo to true"},
        {500, ERROR("internal", "oh", "null"), "PiholeUnreachable", 30000, "HTTP 500: oh"},
        {404, ERROR("not_found", "Not found", "null"), "PiholeUnreachable", 30000, "HTTP 404"},
        {404, TOOK, "PiholeUnreachable", 30000, "HTTP 404"},
        {429, ERROR("rate_limiting", "slow", "null"), "", 2000, "slow"},
        {200, "<html>", "PiholeUnreachable", 30000, "not a Pi-hole API at " BASE},
        {0, NULL, "", 100, "does not answer"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world world;
        struct change changes[] = {set_a("a.lan"), set_a("b.lan")};
        world_start(&world);
        PLAY_CHANGES(&world, changes, 2, READ("", ""),
                     {"PATCH /api/config", rows[i].status, rows[i].body});
        check_trouble(&world, rows[i].reason, rows[i].wait_ms, rows[i].part);
        assert_false(changes[0].outcome.is_done || changes[0].outcome.error);
        world_done(&world);
    }
}

static void a_value_that_turns_out_forced_keeps_only_its_list_out(void **state)
{
    struct world world;
    struct change changes[] = {set_a("a.lan"), set_cname("www.lan")};
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, changes, 2, READ("", ""),
                 {"PATCH /api/config", 400,
                  ERROR("bad_request",
                        "Config items set via environment variables cannot be changed via the API",
                        "\"dns.hosts\"")},
                 READ("", ""),
                 {"PATCH /api/config {\"config\":{\"dns\":{\"cnameRecords\":[\"www.lan,a.lan\"]}}}",
                  200, DNS("", "\"www.lan,a.lan\"")});
    assert_string_equal(changes[0].outcome.error->reason, "PiholeReadOnly");
    assert_true(changes[1].outcome.is_done);
    world_done(&world);
}

static void a_body_that_was_dropped_is_written_element_by_element(void **state)
{
    struct world world;
    struct change changes[] = {set_a("a.lan"), set_a("b.lan")};
    (void)state;
    world_start(&world);
    PLAY_CHANGES(
        &world, changes, 2, READ("", ""),
        {"PATCH /api/config", 400, ERROR("bad_request", "No request body data", "null")},
        READ("", ""), {"PUT " A_PATH, 201, TOOK},
        {"PUT /api/config/dns/hosts/192.168.1.50%20b.lan%20%23%20signpost%3A1a2b3c4d", 201, TOOK},
        READ(A_LINE "," B_LINE, ""));
    assert_true(changes[0].outcome.is_done && changes[1].outcome.is_done);
    world_done(&world);
}

static void the_list_is_read_again_after_64_elements(void **state)
{
    enum { COUNT = 150 };
    struct world world;
    struct change changes[COUNT];
    struct row rows[COUNT + 4] = {READ("", "")};
    AUTO_BUFFER list = {0};
    size_t at = 1;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\",\"write\":\"element\"}");
    PLAY(&world, JOB_HEALTH, LOGIN, SESSIONS, PREFLIGHT, READ("", ""));
    for (int i = 0; i < COUNT; i++) {
        changes[i] = set_a(arena_printf(world.arena, "n%d.lan", i));
        const char *put = "PUT /api/config/dns/hosts/192.168.1.50%20n";
        rows[at++] = (struct row){
            arena_printf(world.arena, "%s%d.lan%%20%%23%%20signpost%%3A" OWNER, put, i), 201, TOOK};
        buffer_printf(&list, "%s\"192.168.1.50 n%d.lan" TAG "\"", i ? "," : "", i);
        if ((i + 1) % 64 == 0 || i + 1 == COUNT)
            rows[at++] = (struct row){
                "GET /api/config/dns", 200,
                arena_printf(world.arena,
                             "{\"config\":{\"dns\":{\"hosts\":[%s],\"cnameRecords\":[]}}}",
                             list.at)};
    }
    world.job = (struct job){.kind = JOB_CHANGES, .changes = changes, .change_count = COUNT};
    play_job(&world, rows, at);
    for (int i = 0; i < COUNT; i++)
        assert_true(changes[i].outcome.is_done && changes[i].outcome.was_created);
    world_done(&world);
}

// ---- silence ------------------------------------------------------------------------------------

static void silence_soon_after_a_restarting_write_is_no_error(void **state)
{
    struct world world;
    struct change change = set_cname("www.lan");
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, &change, 1, READ("", ""),
                 {"PATCH /api/config", 200, DNS("", "\"www.lan,a.lan\"")});
    assert_true(change.outcome.is_done);
    world.now_ms += 179000;
    PLAY(&world, JOB_HEALTH, {"GET /api/config/dns", 0, NULL});
    check_trouble(&world, "", 100, "restarts its resolver");
    world.now_ms += 2000;
    PLAY(&world, JOB_HEALTH, {"GET /api/config/dns", 0, NULL});
    check_trouble(&world, "", 200, "does not answer");
    world.now_ms += 5000;
    PLAY(&world, JOB_HEALTH, {"GET /api/config/dns", 0, NULL});
    check_trouble(&world, "PiholeUnreachable", 400, "does not answer");
    PLAY(&world, JOB_HEALTH, READ("", ""));
    assert_int_equal(world.instance->ladder.failures, 0);
    world_done(&world);
}

static void a_write_whose_reply_was_lost_is_told_as_done_by_the_next_exchange(void **state)
{
    struct world world;
    struct change changes[] = {set_a("a.lan"), set_cname("www.lan")};
    (void)state;
    world_start(&world);
    world.ledger = "www.lan,a.lan\n";
    world.has_ledger = true;
    world.is_sent_but_lost = true;
    PLAY_CHANGES(&world, changes, 2, READ("", ""), {"PATCH /api/config", 0, NULL});
    check_trouble(&world, "", 100, "restarts its resolver");
    PLAY_CHANGES(&world, changes, 2, READ(A_LINE, "\"www.lan,a.lan\""));
    assert_null(world.job.unavailable);
    for (size_t i = 0; i < 2; i++)
        assert_true(changes[i].outcome.was_created && !changes[i].outcome.is_unchanged);
    PLAY_CHANGES(&world, changes, 2, READ(A_LINE, "\"www.lan,a.lan\""));
    assert_true(changes[0].outcome.is_unchanged && changes[1].outcome.is_unchanged);
    world_done(&world);
}

#define KNOCK(status, reply)                                                                       \
    {"wait 50", 0, NULL},                                                                          \
    {                                                                                              \
        "GET /api/auth", status, reply                                                             \
    }
#define WWW "\"www.lan,a.lan\""
#define WEB "\"web.lan,a.lan\""

// A write may go on when we have turned away, and meet the next; what is read may not.
static void a_write_has_more_time_than_what_is_read(void **state)
{
    struct world world;
    struct change change = set_cname("www.lan");
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\",\"dialect\":\"v6\"}");
    PLAY(&world, JOB_HEALTH, {"POST /api/auth", 0, NULL});
    assert_int_equal(world.timeout_ms, 10000);
    world_done(&world);
    world_start(&world);
    assert_int_equal(world.timeout_ms, 10000);
    PLAY_CHANGES(&world, &change, 1, READ("", ""),
                 {"PATCH /api/config", 200, DNS("", "\"www.lan,a.lan\"")});
    assert_int_equal(world.timeout_ms, 30000);
    world_done(&world);
}

// It may have been taken, and two within one restart would stop that Pi-hole for good.
static void after_an_alias_the_api_has_to_go_and_come_back_before_the_next(void **state)
{
    struct world world;
    struct change www = set_cname("www.lan"), web = set_cname("web.lan");
    (void)state;
    world_start(&world);
    world.ledger = "www.lan,a.lan\nweb.lan,a.lan\n";
    world.has_ledger = true;
    world.is_sent_but_lost = true;
    PLAY_CHANGES(&world, &www, 1, READ("", ""), {"PATCH /api/config", 0, NULL});
    check_trouble(&world, "", 100, "restarts its resolver");
    PLAY_CHANGES(&world, &web, 1, READ("", WWW), KNOCK(200, SESSION), KNOCK(0, NULL),
                 KNOCK(0, NULL), KNOCK(200, SESSION), READ("", WWW),
                 {"PATCH /api/config", 200, DNS("", WWW "," WEB)});
    assert_null(world.job.unavailable);
    // Not a restart that nobody saw, some time later; and hosts wait for none.
    world.now_ms += 5000;
    struct change app = set_a("app.lan");
    PLAY_CHANGES(&world, &www, 1, READ("", WEB), {"PATCH /api/config", 200, DNS("", WEB "," WWW)});
    PLAY_CHANGES(
        &world, &app, 1, READ("", WEB "," WWW),
        {"PUT /api/config/dns/hosts/192.168.1.50%20app.lan%20%23%20signpost%3A" OWNER, 201, TOOK},
        READ("\"192.168.1.50 app.lan" TAG "\"", WEB "," WWW));
    world_done(&world);
}

// An earlier process may have asked for a restart just before it ended.
static void the_first_alias_of_a_session_waits_until_no_restart_can_be_under_way(void **state)
{
    struct world world;
    struct change app = set_a("app.lan"), www = set_cname("www.lan");
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\"}");
    PLAY_CHANGES(
        &world, &app, 1, LOGIN, SESSIONS, PREFLIGHT, READ("", ""),
        {"PUT /api/config/dns/hosts/192.168.1.50%20app.lan%20%23%20signpost%3A" OWNER, 201, TOOK},
        READ("\"192.168.1.50 app.lan" TAG "\"", ""));
    PLAY_CHANGES(&world, &www, 1, READ("", ""), KNOCK(200, SESSION), KNOCK(0, NULL),
                 KNOCK(200, SESSION), READ("", ""), {"PATCH /api/config", 200, DNS("", WWW)});
    assert_null(world.job.unavailable);
    assert_int_equal(world.instance->count.restarts, 1);
    world_done(&world);
    world_open(&world, "{\"url\":\"" BASE "\"}");
    PLAY(&world, JOB_HEALTH, LOGIN, SESSIONS, PREFLIGHT, READ("", ""));
    world.now_ms += 500;
    PLAY_CHANGES(&world, &www, 1, READ("", ""), {"PATCH /api/config", 200, DNS("", WWW)});
    world_done(&world);
}

static void an_api_that_stays_away_is_waited_for_by_the_next_exchange(void **state)
{
    struct world world;
    struct change www = set_cname("www.lan"), web = set_cname("web.lan");
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, &www, 1, READ("", ""), {"PATCH /api/config", 200, DNS("", WWW)});
    world.now_ms += 4900;
    PLAY_CHANGES(&world, &web, 1, READ("", WWW), KNOCK(0, NULL), KNOCK(0, NULL));
    check_trouble(&world, "", 100, "restarts its resolver");
    world_done(&world);
}

// Where the setting is not known, one restart comes for each.
static void a_restart_that_was_not_to_be_is_noticed(void **state)
{
    struct world world;
    struct change changes[] = {set_cname("www.lan"), set_cname("web.lan"), set_cname("x.lan")};
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\",\"write\":\"element\"}");
    PLAY(&world, JOB_HEALTH, LOGIN, SESSIONS, PREFLIGHT, READ("", ""));
    world.now_ms += 500;
    const char *all = DNS("", WWW "," WEB ",\"x.lan,a.lan\"");
    PLAY_CHANGES(&world, changes, 3, READ("", ""),
                 {"PUT /api/config/dns/cnameRecords/www.lan%2Ca.lan?restart=false", 201, TOOK},
                 KNOCK(200, SESSION), KNOCK(0, NULL), KNOCK(200, SESSION), READ("", WWW),
                 {"PUT /api/config/dns/cnameRecords/web.lan%2Ca.lan", 201, TOOK}, KNOCK(0, NULL),
                 KNOCK(200, SESSION), READ("", WWW "," WEB),
                 {"PUT /api/config/dns/cnameRecords/x.lan%2Ca.lan", 201, TOOK},
                 {"GET /api/config/dns", 200, all});
    assert_null(world.job.unavailable);
    assert_int_equal(world.instance->count.restarts, 3);
    world_done(&world);
}

// What is written without a restart is served when the search for the bad one is over.
static void a_search_that_ends_with_a_refusal_asks_for_the_restart(void **state)
{
    struct world world;
    struct change changes[] = {set_cname("www.lan"), set_cname("web.lan")};
    (void)state;
    world_start(&world);
    world.instance->restart.deferral = DEFERRAL_KNOWN;
    PLAY_CHANGES(&world, changes, 2, READ("", ""), {"PATCH /api/config", REFUSED("loop")},
                 READ("", ""), {"PATCH /api/config?restart=false", 200, DNS("", WWW)},
                 READ("", WWW), {"POST /api/action/restartdns", 200, "{\"status\":\"ok\"}"});
    assert_null(world.job.unavailable);
    assert_true(changes[0].outcome.is_done);
    assert_non_null(strstr(changes[1].outcome.error->text, "refuses it: HTTP 400: "));
    assert_non_null(strstr(changes[1].outcome.error->text, "loop"));
    assert_int_equal(changes[1].outcome.error->status, 400);
    world_done(&world);
}

static void a_restart_that_is_owed_is_asked_for_until_it_comes(void **state)
{
    struct world world;
    (void)state;
    world_start(&world);
    world.instance->restart.is_owed = true;
    PLAY(&world, JOB_HEALTH, READ("", ""),
         {"POST /api/action/restartdns", 403,
          ERROR("forbidden", "Restarting DNS is not allowed", "null")});
    check_trouble(&world, "PiholeReadOnly", 60000, "set webserver.api.allow_destructive to true");
    assert_true(world.job.is_listed && world.job.health.is_done);
    PLAY(&world, JOB_HEALTH, READ("", ""), {"POST /api/action/restartdns", 0, NULL});
    assert_non_null(world.job.unavailable);
    PLAY(&world, JOB_HEALTH, READ("", ""), {"POST /api/action/restartdns", 200, TOOK});
    assert_null(world.job.unavailable);
    PLAY(&world, JOB_HEALTH, READ("", ""));
    world_done(&world);
}

static void refused_connections_are_no_restart(void **state)
{
    struct world world;
    struct change change = set_cname("www.lan");
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, &change, 1, READ("", ""), {"PATCH /api/config", 0, NULL});
    check_trouble(&world, "", 100, "does not answer");
    assert_int_equal(world.instance->restarted_ms, 0);
    world_done(&world);
}

// ---- questions ----------------------------------------------------------------------------------

static void a_question_is_one_get_and_tells_all_that_stands_there(void **state)
{
    struct world world;
    (void)state;
    world_start(&world);
    world.ledger = "www.lan,a.lan\n";
    world.has_ledger = true;
    PLAY(&world, JOB_HEALTH,
         READ(NAS "," A_LINE ",\"192.168.1.50 x.lan # signpost:other\"", "\"www.lan,a.lan\""));
    assert_true(world.job.is_listed && world.job.health.is_done);
    const char *const lines[] = {"theirs A nas.lan 192.168.1.9\n", "ours A a.lan 192.168.1.50\n",
                                 "theirs A x.lan 192.168.1.50\n", "ours CNAME www.lan a.lan\n"};
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (!strstr(world.reported.at, lines[i]))
            fail_msg("'%s' is not in: %s", lines[i], world.reported.at);
    const struct value *answer = world.job.answer;
    assert_true(text_is(value_text_at(answer, "dialect"), "v6"));
    assert_int_equal(value_int_at(answer, "lines.hosts", -1), 3);
    assert_int_equal(value_int_at(answer, "records.owned", -1), 2);
    assert_int_equal(value_int_at(answer, "records.foreign", -1), 2);
    assert_int_equal(value_int_at(answer, "otherOwners.other", -1), 1);
    assert_int_equal(value_count(value_find(answer, "unknownTargets")), 0);
    world_done(&world);
}

static void targets_of_our_aliases_that_no_line_names_are_told(void **state)
{
    struct world world;
    (void)state;
    world_start(&world);
    world.ledger = "www.lan,a.lan\nweb.lan,Gone.lan\nw3.lan,www.lan\n";
    world.has_ledger = true;
    PLAY(&world, JOB_HEALTH,
         READ("\"192.168.1.9 x.lan A.lan\"",
              "\"www.lan,a.lan\",\"web.lan,Gone.lan\",\"w3.lan,www.lan\",\"their.lan,lost.lan\""));
    const struct value *unknown = value_find(world.job.answer, "unknownTargets");
    assert_int_equal(value_count(unknown), 1);
    assert_true(text_is(value_text(unknown->first), "gone.lan"));
    world_done(&world);
}

static void a_visitor_ends_no_session_but_its_own_and_is_told_lines_of_others(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\",\"isVisitor\":true}");
    PLAY(&world, JOB_HEALTH, LOGIN,
         {"GET /api/auth/sessions", 200,
          "{\"sessions\":["
          "{\"id\":0,\"current_session\":false,\"valid\":true,\"user_agent\":\"signpost/9 (" OWNER
          ")\"},"
          "{\"id\":1,\"current_session\":false,\"valid\":true,\"user_agent\":\"signpost/9 (" OWNER
          " visits)\"},"
          "{\"id\":2,\"current_session\":true,\"valid\":true,\"user_agent\":\"signpost/9 (" OWNER
          " visits)\"}]}"},
         {"DELETE /api/auth/session/1", 204, ""}, DETAILED("hosts", "true", "false"),
         DETAILED("cnameRecords", "false", "true"), READ_ONLY("false"), HOSTS_LOCAL_UNKNOWN,
         READ(NAS "," A_LINE
                  ",\"192.168.1.50 x.lan # signpost:other\",\"192.168.1.51 y.lan z.lan\","
                  "\"192.168.1.52 mine.lan # do not touch\"",
              ""));
    const struct value *answer = world.job.answer;
    assert_int_equal(value_int_at(answer, "seatsInUse", -1), 2);
    assert_int_equal(value_int_at(answer, "visit.ours", -1), 1);
    assert_true(value_bool_at(answer, "visit.forced.hosts", false));
    assert_false(value_bool_at(answer, "visit.forced.cnameRecords", true));
    const struct value *left = value_at(answer, "visit.left", NULL);
    assert_int_equal(value_count(left), 1);
    assert_true(text_is(left->first->text, "192.168.1.50 x.lan # signpost:other"));
    const struct value *plain = value_at(answer, "visit.plain", NULL);
    assert_int_equal(value_count(plain), 1);
    assert_true(text_is(plain->first->text, "192.168.1.9  nas.lan"));
    world_done(&world);
}

static void metrics_tell_what_stands_there_and_what_was_done(void **state)
{
    struct world world;
    AUTO_BUFFER out = {0};
    struct change changes[] = {set_a("b.lan"), set_a("c.lan")};
    (void)state;
    world_start(&world);
    PLAY_CHANGES(&world, changes, 2, READ(NAS, ""),
                 {"PATCH /api/config", 200, DNS(NAS "," B_LINE "," C_LINE, "")});
    PLAY(&world, JOB_HEALTH, READ(NAS "," B_LINE "," C_LINE, ""));
    PLAY_CHANGES(
        &world, changes, 1, READ(NAS "," C_LINE, ""),
        {"PUT /api/config/dns/hosts/192.168.1.50%20b.lan%20%23%20signpost%3A1a2b3c4d", 201, TOOK},
        READ(NAS "," B_LINE "," C_LINE, ""));
    const struct session_view views[] = {{.backend = "pihole-attic",
                                          .session = world.instance,
                                          .repaired = 1,
                                          .refused = {[RECORD_CNAME] = 4}}};
    pihole_provider.write_metrics(views, COUNT_OF(views), &out);
    const char *const lines[] = {
        "signpost_pihole_records{pihole=\"attic\",type=\"A\",state=\"owned\"} 2\n",
        "signpost_pihole_records{pihole=\"attic\",type=\"A\",state=\"foreign\"} 1\n",
        "signpost_pihole_records{pihole=\"attic\",type=\"CNAME\",state=\"refused\"} 4\n",
        "signpost_pihole_batches_total{pihole=\"attic\",how=\"patch\"} 1\n",
        "signpost_pihole_batches_total{pihole=\"attic\",how=\"element\"} 1\n",
        "signpost_pihole_restarts_total{pihole=\"attic\"} 0\n",
        "signpost_pihole_logins_total{pihole=\"attic\",result=\"success\"} 1\n",
        "signpost_pihole_seats_in_use{pihole=\"attic\"} 1\n",
        "signpost_pihole_drift_repaired_total{pihole=\"attic\"} 1\n",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (!strstr(out.at, lines[i]))
            fail_msg("'%s' is not in: %s", lines[i], out.at);
    world_done(&world);
}

static void what_is_no_list_is_no_answer(void **state)
{
    static const char *const bodies[] = {
        "{}", "{\"config\":{\"dns\":{\"hosts\":1}}}",
        "{\"config\":{\"dns\":{\"hosts\":[1],\"cnameRecords\":[]}}}"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct world world;
        world_start(&world);
        PLAY(&world, JOB_HEALTH, {"GET /api/config/dns", 200, bodies[i]});
        check_trouble(&world, "PiholeUnreachable", 30000, "not a Pi-hole API at " BASE);
        assert_false(world.job.is_listed);
        world_done(&world);
    }
}

// ---- adoption -----------------------------------------------------------------------------------

static void a_predecessors_line_is_adopted_at_the_first_sync_only(void **state)
{
    struct world world;
    struct change change = set_a("a.lan");
    (void)state;
    world_start(&world);
    world.has_ledger = true;
    change.may_adopt = true;
    PLAY_CHANGES(&world, &change, 1, READ("\"192.168.1.50 a.lan\"", ""),
                 {PATCH(A_LINE), 200, DNS(A_LINE, "")});
    assert_true(change.outcome.is_done && !change.outcome.is_foreign);
    assert_non_null(ledger_recall(&world, "first-sync"));
    change = set_a("b.lan");
    change.may_adopt = true;
    PLAY_CHANGES(&world, &change, 1, READ("\"192.168.1.50 b.lan\"", ""));
    assert_true(change.outcome.is_done && change.outcome.is_foreign);
    world_done(&world);
}

static void a_second_quiet_question_ends_the_first_sync(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\"}");
    world.has_ledger = true;
    PLAY(&world, JOB_HEALTH, LOGIN, SESSIONS, PREFLIGHT, READ("", ""));
    assert_null(ledger_recall(&world, "first-sync"));
    PLAY(&world, JOB_HEALTH, READ("", ""));
    assert_non_null(ledger_recall(&world, "first-sync"));
    world_done(&world);
}

// ---- TLS ----------------------------------------------------------------------------------------

static void a_key_is_learned_once_and_another_taken_only_near_its_end(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\",\"tls\":{\"pin\":\"learn\"}}");
    world.has_ledger = true;
    world.peer_pin = KEY_1;
    world.peer_until_s = NOW_S + 40 * 86400;
    PLAY(&world, JOB_HEALTH, LOGIN, {"GET /api/auth/sessions", 0, NULL});
    assert_string_equal(world.pin, KEY_1);
    assert_string_equal(ledger_recall(&world, "tls-key"), KEY_1 " 1770544800");
    world.peer_pin = KEY_2;
    world.is_other_key = true;
    PLAY(&world, JOB_HEALTH, {"GET /api/auth/sessions", 0, NULL});
    check_trouble(&world, "PiholeRefusesUs", 30000, KEY_1);
    assert_non_null(strstr(world.job.unavailable->text, KEY_2));
    world.now_ms += (int64_t)33 * 86400000;
    PLAY(&world, JOB_HEALTH, {"GET /api/auth/sessions", 0, NULL},
         {"GET /api/auth/sessions", 0, NULL});
    assert_string_equal(world.pin, KEY_2);
    assert_memory_equal(ledger_recall(&world, "tls-key"), KEY_2, sizeof KEY_2 - 1);
    world_done(&world);
}

static void a_learned_key_outlives_the_process(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\",\"tls\":{\"pin\":\"learn\"}}");
    world.has_ledger = true;
    ledger_keep(&world, "tls-key", KEY_1 " 1999999999");
    PLAY(&world, JOB_HEALTH, {"POST /api/auth", 0, NULL});
    assert_string_equal(world.pin, KEY_1);
    assert_false(world.is_unverified);
    world_done(&world);
}

static void a_configured_key_is_asked_for(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\",\"tls\":{\"pin\":\"" KEY_1 "\"}}");
    world.is_other_key = true;
    PLAY(&world, JOB_HEALTH, {"POST /api/auth", 0, NULL});
    check_trouble(&world, "PiholeRefusesUs", 30000, "has another TLS key");
    assert_string_equal(world.pin, KEY_1);
    world_done(&world);
}

// ---- the API of old -----------------------------------------------------------------------------

#define OLD "/admin/api/dns/local"
#define OLD_A "{\"domain\":\"a.lan\",\"ip\":\"192.168.1.50\"}"
#define OLD_A_51 "{\"domain\":\"a.lan\",\"ip\":\"192.168.1.51\"}"
#define OLD_B "{\"domain\":\"b.lan\",\"ip\":\"192.168.1.50\"}"
#define OLD_READ(data)                                                                             \
    {                                                                                              \
        "GET " OLD, 200, "{\"data\":[" data "]}"                                                   \
    }

static void legacy_start(struct world *world)
{
    world_open(world, "{\"url\":\"" BASE "\",\"dialect\":\"legacy\"}");
    world->has_ledger = true;
    world->ledger = "192.168.1.50 a.lan\n192.168.1.51 a.lan\n192.168.1.50 b.lan\n";
}

static void the_api_of_old_is_taken_only_where_it_answers(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "{\"url\":\"" BASE "\"}");
    PLAY(&world, JOB_HEALTH, {"POST /api/auth", 404, ""}, OLD_READ(OLD_A), OLD_READ(OLD_A));
    assert_true(world.job.health.is_done);
    assert_string_equal(world.bearer, "Bearer " PASSWORD);
    assert_true(text_is(value_text_at(world.job.answer, "dialect"), "legacy"));
    PLAY(&world, JOB_HEALTH, OLD_READ(""));
    PLAY(&world, JOB_LEAVE, );
    world_done(&world);
    world_open(&world, "{\"url\":\"" BASE "\"}");
    PLAY(&world, JOB_HEALTH, {"POST /api/auth", 404, "<html>"},
         {"GET " OLD, 400, ERROR("bad_request", "Bad", "\"The API is hosted at pi.hole/api\"")});
    check_trouble(&world, "PiholeUnreachable", 30000, "not a Pi-hole API at " BASE);
    world_done(&world);
    world_open(&world, "{\"url\":\"" BASE "\",\"dialect\":\"v6\"}");
    PLAY(&world, JOB_HEALTH, {"POST /api/auth", 404, ""});
    check_trouble(&world, "PiholeUnreachable", 30000, "not a Pi-hole API at " BASE);
    world_done(&world);
}

static void the_api_of_old_takes_one_record_a_request(void **state)
{
    struct world world;
    struct change changes[] = {set_a("a.lan"), set_cname("www.lan"), remove_a("b.lan")};
    (void)state;
    legacy_start(&world);
    PLAY_CHANGES(&world, changes, 3, OLD_READ(OLD_B), {"POST " OLD " " OLD_A, 201, ""},
                 OLD_READ(OLD_B "," OLD_A), {"DELETE " OLD "/b.lan", 204, ""}, OLD_READ(OLD_A));
    assert_null(world.job.unavailable);
    assert_true(changes[0].outcome.was_created);
    assert_string_equal(changes[1].outcome.error->reason, "RecordRefused");
    assert_true(changes[2].outcome.is_done && changes[2].outcome.replaced);
    world_done(&world);
}

static void an_address_of_old_is_replaced_by_what_the_server_allows(void **state)
{
    struct world world;
    struct change change = set_a("a.lan");
    (void)state;
    legacy_start(&world);
    change.set.values = ip_51;
    PLAY_CHANGES(&world, &change, 1, OLD_READ(OLD_A), {"POST " OLD " " OLD_A_51, 201, ""},
                 OLD_READ(OLD_A_51));
    assert_true(change.outcome.is_done && change.outcome.replaced);
    PLAY_CHANGES(&world, &change, 1, OLD_READ(OLD_A), {"POST " OLD " " OLD_A_51, 409, "{}"},
                 {"DELETE " OLD "/a.lan", 204, ""}, OLD_READ(""),
                 {"POST " OLD " " OLD_A_51, 201, ""}, OLD_READ(OLD_A_51));
    assert_true(change.outcome.is_done);
    PLAY_CHANGES(&world, &change, 1, OLD_READ(OLD_A), {"POST " OLD " " OLD_A_51, 201, ""},
                 OLD_READ(OLD_A "," OLD_A_51), {"DELETE " OLD "/a.lan", 204, ""},
                 {"POST " OLD " " OLD_A_51, 201, ""}, OLD_READ(OLD_A_51));
    assert_true(change.outcome.is_done);
    world_done(&world);
}

static void a_name_of_old_that_others_have_too_is_not_removed(void **state)
{
    struct world world;
    struct change change = remove_a("a.lan");
    (void)state;
    legacy_start(&world);
    PLAY_CHANGES(&world, &change, 1, OLD_READ(OLD_A ",{\"domain\":\"a.lan\",\"ip\":\"fd00::7\"}"),
                 OLD_READ(OLD_A ",{\"domain\":\"a.lan\",\"ip\":\"fd00::7\"}"));
    assert_string_equal(change.outcome.error->reason, "RecordRefused");
    assert_non_null(strstr(change.outcome.error->text, "somebody else has an address"));
    world_done(&world);
}

static void a_wrong_key_of_old_is_a_refusal(void **state)
{
    struct world world;
    (void)state;
    legacy_start(&world);
    PLAY(&world, JOB_HEALTH, {"GET " OLD, 401, UNAUTHORIZED});
    check_trouble(&world, "PiholeRefusesUs", 30000, "refuses the password");
    world_done(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reply_is_read_by_status_key_and_message),
        cmocka_unit_test(replies_deeper_than_32_are_not_of_a_pihole),
        cmocka_unit_test(what_never_came_whole_is_told_apart),
        cmocka_unit_test(what_is_not_of_a_pihole_is_quoted),
        cmocka_unit_test(every_trouble_has_its_clock),
        cmocka_unit_test(waits_are_spread_by_a_tenth),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(changes_wait_for_more_as_long_as_they_may),
        cmocka_unit_test(the_ledger_remembers_what_carries_no_mark),
        cmocka_unit_test(fingerprints_tell_content_and_address_but_no_ttl_of_hosts),
        cmocka_unit_test(the_first_exchange_logs_in_sweeps_and_asks_what_could_stop_us),
        cmocka_unit_test(a_visitor_ends_no_session_but_its_own_and_is_told_lines_of_others),
        cmocka_unit_test(a_backend_gives_way_to_an_earlier_one_of_its_process),
        cmocka_unit_test(sessions_of_later_backends_and_of_other_processes_are_ended),
        cmocka_unit_test(a_refused_list_of_sessions_stops_nothing),
        cmocka_unit_test(without_a_password_there_is_no_session),
        cmocka_unit_test(the_last_exchange_gives_the_instance_back),
        cmocka_unit_test(a_lost_session_costs_one_login_and_the_call_is_repeated),
        cmocka_unit_test(every_failed_login_says_what_to_do),
        cmocka_unit_test(a_password_that_is_refused_is_tried_once_more_before_that_is_believed),
        cmocka_unit_test(a_url_that_was_copied_from_the_page_gets_a_hint),
        cmocka_unit_test(a_wait_that_pihole_asks_for_is_kept_if_it_is_sane),
        cmocka_unit_test(what_keeps_us_from_writing_is_seen_before_the_first_write),
        cmocka_unit_test(an_app_password_that_may_write_is_not_in_the_way),
        cmocka_unit_test(a_host_list_that_becomes_local_is_seen_by_the_next_read),
        cmocka_unit_test(a_forced_list_keeps_only_its_own_changes_out),
        cmocka_unit_test(one_host_more_is_one_put),
        cmocka_unit_test(one_host_less_is_one_delete_and_404_is_gone),
        cmocka_unit_test(an_item_that_is_present_already_counts_as_written),
        cmocka_unit_test(many_changes_are_one_patch_and_no_second_read),
        cmocka_unit_test(an_address_changes_in_its_place),
        cmocka_unit_test(the_way_of_writing_can_be_forced),
        cmocka_unit_test(what_others_wrote_is_said_and_left_alone),
        cmocka_unit_test(a_record_that_no_list_holds_is_refused),
        cmocka_unit_test(what_stands_there_can_be_looked_up),
        cmocka_unit_test(what_does_not_stay_is_written_three_times_more_at_most),
        cmocka_unit_test(an_entry_that_pihole_refuses_is_set_apart_and_the_rest_sent_at_once),
        cmocka_unit_test(a_line_of_others_that_pihole_refuses_blocks_all_but_removals),
        cmocka_unit_test(without_an_index_the_culprit_is_found_by_halves),
        cmocka_unit_test(of_a_line_with_several_names_only_the_culprit_is_set_apart),
        cmocka_unit_test(a_refusal_that_is_no_changes_fault_ends_the_exchange),
        cmocka_unit_test(writes_that_are_refused_as_a_whole_end_the_exchange),
        cmocka_unit_test(a_value_that_turns_out_forced_keeps_only_its_list_out),
        cmocka_unit_test(a_body_that_was_dropped_is_written_element_by_element),
        cmocka_unit_test(the_list_is_read_again_after_64_elements),
        cmocka_unit_test(silence_soon_after_a_restarting_write_is_no_error),
        cmocka_unit_test(a_write_whose_reply_was_lost_is_told_as_done_by_the_next_exchange),
        cmocka_unit_test(a_write_has_more_time_than_what_is_read),
        cmocka_unit_test(after_an_alias_the_api_has_to_go_and_come_back_before_the_next),
        cmocka_unit_test(the_first_alias_of_a_session_waits_until_no_restart_can_be_under_way),
        cmocka_unit_test(an_api_that_stays_away_is_waited_for_by_the_next_exchange),
        cmocka_unit_test(a_restart_that_was_not_to_be_is_noticed),
        cmocka_unit_test(a_search_that_ends_with_a_refusal_asks_for_the_restart),
        cmocka_unit_test(a_restart_that_is_owed_is_asked_for_until_it_comes),
        cmocka_unit_test(refused_connections_are_no_restart),
        cmocka_unit_test(a_question_is_one_get_and_tells_all_that_stands_there),
        cmocka_unit_test(targets_of_our_aliases_that_no_line_names_are_told),
        cmocka_unit_test(metrics_tell_what_stands_there_and_what_was_done),
        cmocka_unit_test(what_is_no_list_is_no_answer),
        cmocka_unit_test(a_predecessors_line_is_adopted_at_the_first_sync_only),
        cmocka_unit_test(a_second_quiet_question_ends_the_first_sync),
        cmocka_unit_test(a_key_is_learned_once_and_another_taken_only_near_its_end),
        cmocka_unit_test(a_learned_key_outlives_the_process),
        cmocka_unit_test(a_configured_key_is_asked_for),
        cmocka_unit_test(the_api_of_old_is_taken_only_where_it_answers),
        cmocka_unit_test(the_api_of_old_takes_one_record_a_request),
        cmocka_unit_test(an_address_of_old_is_replaced_by_what_the_server_allows),
        cmocka_unit_test(a_name_of_old_that_others_have_too_is_not_removed),
        cmocka_unit_test(a_wrong_key_of_old_is_a_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
