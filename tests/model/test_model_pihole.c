#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/value.h"
#include "model/model_pihole.h"

// What a real Pi-hole was seen to do, or reads as doing, asked of the model.

enum { SECOND = 1000, START_MS = 5 * SECOND, UNIX_S = 1767225600, HEADERS_MAX = 4 };

#define HOSTS "/api/config/dns/hosts"
#define CNAMES "/api/config/dns/cnameRecords"
#define AGENT "signpost/1.0 (1a2b3c4d)"

struct bench {
    struct model_pihole *pihole;
    struct arena *arena;
    int64_t now_ms;
    const char *sid; // sent along; NULL: none
    const char *agent;
    struct pihole_reply reply; // of the last request; its body is in the arena
    const struct value *tree;
};

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->pihole = model_pihole_new("secret", UNIX_S * 1000LL);
    bench->arena = arena_new();
    bench->now_ms = START_MS;
    bench->agent = AGENT;
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    model_pihole_free(bench->pihole);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

static uint64_t begin_with(struct bench *bench, const char *method, const char *target,
                           const char *body, const struct http_header *more, size_t more_count)
{
    struct http_header headers[HEADERS_MAX + 2] = {{"User-Agent", bench->agent}};
    size_t count = 1;
    for (size_t i = 0; i < more_count; i++)
        headers[count++] = more[i];
    if (bench->sid)
        headers[count++] = (struct http_header){"X-FTL-SID", bench->sid};
    const struct pihole_request request = {.method = method,
                                           .target = text_of(target),
                                           .headers = headers,
                                           .header_count = count,
                                           .body = text_of(body)};
    return model_pihole_begin(bench->pihole, bench->now_ms, &request, &bench->reply);
}

static uint64_t begin(struct bench *bench, const char *method, const char *target, const char *body)
{
    return begin_with(bench, method, target, body, NULL, 0);
}

static void keep_body(struct bench *bench)
{
    struct text body = bench->reply.body;
    bench->reply.body.at = body.at ? arena_copy(bench->arena, body.at, body.len) : NULL;
    bench->tree = value_read_json(bench->arena, bench->reply.body, &value_reply_limits, NULL);
}

static int ask_with(struct bench *bench, const char *method, const char *target, const char *body,
                    const struct http_header *more, size_t more_count)
{
    uint64_t flight = begin_with(bench, method, target, body, more, more_count);
    keep_body(bench);
    model_pihole_end(bench->pihole, flight);
    return bench->reply.status;
}

static int ask(struct bench *bench, const char *method, const char *target, const char *body)
{
    return ask_with(bench, method, target, body, NULL, 0);
}

static const char *said(const struct bench *bench, const char *path)
{
    struct text text = value_text_at(bench->tree, path);
    return text.at ? arena_copy(bench->arena, text.at, text.len) : "(none)";
}

static int try_login(struct bench *bench, const char *password)
{
    const char *body = arena_printf(bench->arena, "{\"password\":\"%s\"}", password);
    return ask(bench, "POST", "/api/auth", body);
}

static void log_in(struct bench *bench)
{
    bench->sid = NULL;
    assert_int_equal(try_login(bench, "secret"), 200);
    bench->sid = said(bench, "session.sid");
}

static void set(struct bench *bench, const char *name, const char *value)
{
    struct error err = {0};
    bool is_ok = model_pihole_set(bench->pihole, bench->now_ms, name, value, &err);
    if (!is_ok)
        fail_msg("%s", err.text);
}

static int patch(struct bench *bench, const char *lists)
{
    const char *body = arena_printf(bench->arena, "{\"config\":{\"dns\":{%s}}}", lists);
    return ask(bench, "PATCH", "/api/config", body);
}

static uint64_t count_of(const struct bench *bench, const char *name)
{
    uint64_t value = 0;
    assert_true(model_pihole_counter(bench->pihole, bench->now_ms, name, &value));
    return value;
}

static const char *list_of(const struct bench *bench, enum pihole_list list)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < model_pihole_count(bench->pihole, list); i++)
        buffer_printf(&out, "%s|", model_pihole_at(bench->pihole, list, i));
    return arena_copy(bench->arena, out.at ? out.at : "", out.len);
}

static const char *served(const struct bench *bench)
{
    AUTO_BUFFER out = {0};
    model_pihole_write_hosts(bench->pihole, bench->now_ms, &out);
    model_pihole_write_cnames(bench->pihole, bench->now_ms, &out);
    return arena_copy(bench->arena, out.at ? out.at : "", out.len);
}

static void expect_error(struct bench *bench, int status, const char *key, const char *message,
                         const char *hint)
{
    assert_int_equal(bench->reply.status, status);
    assert_string_equal(said(bench, "error.key"), key);
    assert_string_equal(said(bench, "error.message"), message);
    if (hint)
        assert_string_equal(said(bench, "error.hint"), hint);
    else
        assert_int_equal(value_at(bench->tree, "error.hint", NULL)->type, VALUE_NULL);
    assert_non_null(value_find(bench->tree, "took"));
}

// ---- sessions -----------------------------------------------------------------------------------

static void a_good_password_gives_a_session(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(try_login(bench, "secret"), 200);
    assert_true(value_bool_at(bench->tree, "session.valid", false));
    assert_false(value_bool_at(bench->tree, "session.totp", true));
    assert_int_equal(strlen(said(bench, "session.sid")), 28);
    assert_string_not_equal(said(bench, "session.sid"), said(bench, "session.csrf"));
    assert_int_equal(value_int_at(bench->tree, "session.validity", 0), 1800);
    assert_string_equal(said(bench, "session.message"), "password correct");
    assert_int_equal(bench->reply.delay_ms, 61);
    assert_int_equal(count_of(bench, "logins"), 1);
    assert_int_equal(count_of(bench, "seats"), 1);
}

static void a_wrong_password_is_401_with_a_session_and_no_error(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(try_login(bench, "wrong"), 401);
    assert_null(value_find(bench->tree, "error"));
    assert_false(value_bool_at(bench->tree, "session.valid", true));
    assert_int_equal(value_at(bench->tree, "session.sid", NULL)->type, VALUE_NULL);
    assert_int_equal(value_int_at(bench->tree, "session.validity", 0), -1);
    assert_string_equal(said(bench, "session.message"), "password incorrect");
    assert_int_equal(count_of(bench, "failed_logins"), 1);
}

static void a_login_without_password_says_what_is_missing(void **state)
{
    struct bench *bench = *state;
    ask(bench, "POST", "/api/auth", NULL);
    expect_error(bench, 400, "bad_request", "No request body data", NULL);
    ask(bench, "POST", "/api/auth", "{}");
    expect_error(bench, 400, "bad_request", "No password found in JSON payload", NULL);
    ask(bench, "POST", "/api/auth", "{\"password\":7}");
    expect_error(bench, 400, "bad_request", "Field password has to be of type 'string'", NULL);
    ask(bench, "POST", "/api/auth", "{\"password\":");
    expect_error(bench, 400, "bad_request",
                 "Invalid request body data (no valid JSON), error at hint", "{\"password\":");
}

static void the_fourth_wrong_password_of_a_second_is_429_after_a_pause(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(try_login(bench, "wrong"), 401);
    try_login(bench, "wrong");
    expect_error(bench, 429, "rate_limiting", "Rate-limiting login attempts", NULL);
    assert_int_equal(bench->reply.delay_ms, 251);
    bench->now_ms += SECOND;
    assert_int_equal(try_login(bench, "secret"), 200);
}

static void right_main_passwords_are_never_limited(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(try_login(bench, "secret"), 200);
}

static void each_login_with_the_app_password_counts_as_a_try(void **state)
{
    struct bench *bench = *state;
    set(bench, "app_password", "app");
    assert_int_equal(try_login(bench, "app"), 200);
    assert_string_equal(said(bench, "session.message"), "app-password correct");
    assert_int_equal(bench->reply.delay_ms, 121);
    assert_int_equal(try_login(bench, "app"), 200);
    assert_int_equal(try_login(bench, "app"), 401);
    assert_int_equal(try_login(bench, "app"), 429);
}

static void the_seventeenth_session_finds_no_seat(void **state)
{
    struct bench *bench = *state;
    model_pihole_seat_others(bench->pihole, bench->now_ms, 15);
    log_in(bench);
    bench->sid = NULL;
    try_login(bench, "secret");
    expect_error(bench, 429, "api_seats_exceeded", "API seats exceeded",
                 "increase webserver.api.max_sessions");
    model_pihole_seat_others(bench->pihole, bench->now_ms, 3);
    assert_int_equal(try_login(bench, "secret"), 200);
    assert_int_equal(count_of(bench, "seats"), 5);
}

static void sessions_end_1800_s_after_the_last_call_and_their_seats_are_used_again(void **state)
{
    struct bench *bench = *state;
    set(bench, "max_sessions", "1");
    log_in(bench);
    bench->now_ms += 1800 * SECOND;
    assert_int_equal(ask(bench, "GET", HOSTS, NULL), 200);
    bench->now_ms += 1800 * SECOND;
    assert_int_equal(ask(bench, "GET", HOSTS, NULL), 200);
    bench->now_ms += 1801 * SECOND;
    ask(bench, "GET", HOSTS, NULL);
    expect_error(bench, 401, "unauthorized", "Unauthorized", NULL);
    assert_int_equal(count_of(bench, "seats"), 0);
    log_in(bench);
    assert_int_equal(count_of(bench, "seats"), 1);
}

static void a_logout_frees_the_seat_once(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    assert_int_equal(ask(bench, "DELETE", "/api/auth", NULL), 204);
    assert_null(bench->reply.body.at);
    assert_int_equal(count_of(bench, "seats"), 0);
    assert_int_equal(ask(bench, "DELETE", "/api/auth", NULL), 401);
    assert_int_equal(ask(bench, "GET", HOSTS, NULL), 401);
}

static void sessions_are_listed_and_deleted(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    const char *first = bench->sid;
    bench->agent = "other";
    log_in(bench);
    assert_int_equal(ask(bench, "GET", "/api/auth/sessions", NULL), 200);
    assert_int_equal(value_count(value_find(bench->tree, "sessions")), 2);
    assert_string_equal(said(bench, "sessions[0].user_agent"), AGENT);
    assert_false(value_bool_at(bench->tree, "sessions[0].current_session", true));
    assert_true(value_bool_at(bench->tree, "sessions[1].current_session", false));
    assert_int_equal(value_int_at(bench->tree, "sessions[0].last_active", 0), UNIX_S + 5);
    assert_string_equal(said(bench, "sessions[1].remote_addr"), "127.0.0.1");
    assert_int_equal(ask(bench, "DELETE", "/api/auth/session/0", NULL), 204);
    ask(bench, "DELETE", "/api/auth/session/0", NULL);
    expect_error(bench, 400, "bad_request", "Session ID not in use", NULL);
    ask(bench, "DELETE", "/api/auth/session/16", NULL);
    expect_error(bench, 400, "bad_request", "Session ID out of bounds", NULL);
    bench->sid = first;
    assert_int_equal(ask(bench, "GET", HOSTS, NULL), 401);
}

static int get_with(struct bench *bench, const char *target, const struct http_header *headers,
                    size_t count)
{
    return ask_with(bench, "GET", target, NULL, headers, count);
}

static void a_sid_stands_in_many_places_and_the_first_header_wins(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    const char *sid = steal(bench->sid);
    const char *csrf = said(bench, "session.csrf");
    const char *cookie = arena_printf(bench->arena, "theme=dark; sid=%s", sid);
    const struct http_header named[] = {{"sid", sid}};
    const struct http_header twice[] = {{"X-FTL-SID", "stale"}, {"X-FTL-SID", sid}};
    const struct http_header cookies[] = {{"Cookie", cookie}, {"X-CSRF-TOKEN", csrf}};
    assert_int_equal(get_with(bench, HOSTS, named, 1), 200);
    assert_int_equal(get_with(bench, HOSTS, twice, 2), 401);
    assert_int_equal(get_with(bench, HOSTS, twice + 1, 1), 200);
    assert_int_equal(get_with(bench, HOSTS, cookies, 2), 200);
    assert_int_equal(get_with(bench, HOSTS, cookies, 1), 401);
    const char *in_query = arena_printf(bench->arena, HOSTS "?sid=%s", sid);
    assert_int_equal(ask(bench, "GET", in_query, NULL), 200);
    const char *in_json = arena_printf(bench->arena, "{\"sid\":\"%s\",\"config\":{}}", sid);
    assert_int_equal(ask(bench, "PATCH", "/api/config", in_json), 200);
    const struct http_header bearer[] = {{"Authorization", "Bearer secret"}};
    assert_int_equal(get_with(bench, HOSTS, bearer, 1), 401);
}

static void the_second_factor_is_wanted_of_the_main_password_alone(void **state)
{
    struct bench *bench = *state;
    set(bench, "app_password", "app");
    set(bench, "totp", "123456");
    try_login(bench, "secret");
    expect_error(bench, 400, "bad_request", "No 2FA token found in JSON payload", NULL);
    ask(bench, "POST", "/api/auth", "{\"password\":\"secret\",\"totp\":1}");
    expect_error(bench, 401, "unauthorized", "Invalid 2FA token", NULL);
    assert_int_equal(ask(bench, "POST", "/api/auth", "{\"password\":\"secret\",\"totp\":123456}"),
                     200);
    ask(bench, "POST", "/api/auth", "{\"password\":\"secret\",\"totp\":123456}");
    expect_error(bench, 401, "unauthorized", "Reused 2FA token", "wait for new token");
    set(bench, "totp_limited", "true");
    ask(bench, "POST", "/api/auth", "{\"password\":\"secret\",\"totp\":123456}");
    assert_int_equal(bench->reply.status, 429);
    assert_int_equal(try_login(bench, "app"), 200);
    assert_true(value_bool_at(bench->tree, "session.totp", false));
}

static void without_a_password_everybody_is_let_in(void **state)
{
    struct bench *bench = *state;
    set(bench, "password", "");
    assert_int_equal(try_login(bench, ""), 200);
    assert_true(value_bool_at(bench->tree, "session.valid", false));
    assert_int_equal(value_at(bench->tree, "session.sid", NULL)->type, VALUE_NULL);
    assert_int_equal(value_int_at(bench->tree, "session.validity", 0), -1);
    assert_int_equal(ask(bench, "GET", HOSTS, NULL), 200);
    assert_int_equal(count_of(bench, "seats"), 0);
}

static void app_sessions_change_nothing_without_app_sudo(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    set(bench, "app_password", "app");
    assert_int_equal(ask(bench, "GET", HOSTS, NULL), 401); // all sessions went
    bench->sid = NULL;
    assert_int_equal(try_login(bench, "app"), 200);
    bench->sid = said(bench, "session.sid");
    assert_int_equal(ask(bench, "GET", "/api/config/webserver/api/app_sudo", NULL), 200);
    assert_false(value_bool_at(bench->tree, "config.webserver.api.app_sudo", true));
    patch(bench, "\"hosts\":[]");
    expect_error(bench, 403, "forbidden", "Unable to change configuration (read-only)",
                 "The current app session is not allowed to modify Pi-hole config settings "
                 "(webserver.api.app_sudo is false)");
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.1%20a", NULL), 403);
    set(bench, "app_sudo", "true");
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.1%20a", NULL), 201);
}

// ---- the lists ----------------------------------------------------------------------------------

static void elements_are_put_once_and_deleted_once(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.1%20app.lan%20%23%20me", NULL), 201);
    assert_non_null(value_find(bench->tree, "took"));
    assert_string_equal(list_of(bench, PIHOLE_HOSTS), "192.0.2.1 app.lan # me|");
    ask(bench, "PUT", HOSTS "/192.0.2.1%20app.lan%20%23%20me", NULL);
    expect_error(bench, 400, "bad_request", "Item already present",
                 "Uniqueness of items is enforced");
    assert_int_equal(ask(bench, "DELETE", HOSTS "/192.0.2.1%20app.lan", NULL), 404);
    assert_null(value_find(bench->tree, "error"));
    assert_int_equal(ask(bench, "DELETE", HOSTS "/192.0.2.1%20app.lan%20%23%20me", NULL), 204);
    assert_int_equal(ask(bench, "DELETE", HOSTS "/192.0.2.1%20app.lan%20%23%20me", NULL), 404);
    assert_int_equal(count_of(bench, "changes"), 2);
}

static void paths_are_decoded_before_they_are_split(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    assert_int_equal(ask(bench, "PUT", HOSTS "/fd00%3A%3A1+app.lan+%23+a%2Bb", NULL), 201);
    assert_string_equal(list_of(bench, PIHOLE_HOSTS), "fd00::1 app.lan # a+b|");
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.1%20a%20%23%20x%2Fy", NULL), 404);
    ask(bench, "PUT", "/api/config/dns", NULL);
    expect_error(bench, 400, "bad_request", "Invalid path depth",
                 "Use, e.g., PUT /api/config/dns/upstreams/127.0.0.1 to add \"127.0.0.1\" to "
                 "config.dns.upstreams");
}

static void a_patch_replaces_the_arrays_it_names_and_shows_all(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    model_pihole_put(bench->pihole, PIHOLE_CNAMES, "www.lan,a.lan", true);
    assert_int_equal(patch(bench, "\"hosts\":[\"192.0.2.1 a\",\"192.0.2.1 a\"],\"odd\":[1]"), 200);
    assert_string_equal(list_of(bench, PIHOLE_HOSTS), "192.0.2.1 a|192.0.2.1 a|");
    assert_string_equal(list_of(bench, PIHOLE_CNAMES), "www.lan,a.lan|");
    assert_string_equal(said(bench, "config.dns.hosts[1]"), "192.0.2.1 a");
    assert_string_equal(said(bench, "config.dns.cnameRecords[0]"), "www.lan,a.lan");
    assert_int_equal(value_int_at(bench->tree, "config.webserver.api.max_sessions", 0), 16);
    assert_int_equal(patch(bench, "\"hosts\":[\"192.0.2.1 a\",\"192.0.2.1 a\"]"), 200);
    assert_int_equal(count_of(bench, "changes"), 1);
    assert_int_equal(count_of(bench, "written_octets"), 2 * 72 * 1024);
}

static void one_bad_entry_refuses_the_whole_patch(void **state)
{
    static const struct {
        const char *lists;
        const char *hint;
    } rows[] = {
        {"\"hosts\":[\"192.0.2.1 a\",\"192.0.2.1 *.lan\"]",
         "dns.hosts[1]: invalid hostname (\"*.lan\")"},
        {"\"hosts\":[\"192.0.2.300 a\"]",
         "dns.hosts[0]: neither a valid IPv4 nor IPv6 address (\"192.0.2.300\")"},
        {"\"hosts\":[\"192.0.2.1 # a\"]",
         "dns.hosts[0]: entry does not have at least one hostname (\"192.0.2.1 # a\")"},
        {"\"hosts\":[\"\"]", "dns.hosts[0]: found no first element (\"\")"},
        {"\"hosts\":[\"192.0.2.1 a\\nb\"]", "dns.hosts[0]: contains newline characters"},
        {"\"cnameRecords\":[\"a\"]",
         "dns.cnameRecords[0]: not a valid CNAME definition (too few elements)"},
        {"\"cnameRecords\":[\"a,b\",\"a,,b\"]",
         "dns.cnameRecords[1]: contains an empty string at position 1"},
    };
    struct bench *bench = *state;
    log_in(bench);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        patch(bench, rows[i].lists);
        expect_error(bench, 400, "bad_request", "Config item validation failed", rows[i].hint);
    }
    assert_int_equal(count_of(bench, "changes"), 0);
    patch(bench, "\"hosts\":7");
    expect_error(bench, 400, "bad_request", "Config item is invalid",
                 "dns.hosts: not of type array");
    patch(bench, "\"hosts\":[7]");
    expect_error(bench, 400, "bad_request", "Config item is invalid",
                 "dns.hosts: array has invalid elements");
    ask(bench, "PATCH", "/api/config", "{}");
    expect_error(bench, 400, "body_error", "No \"config\" object in body data", NULL);
}

static void names_are_taken_as_ftl_takes_them(void **state)
{
    static const struct {
        const char *name;
        bool is_ok;
    } rows[] = {{"single", true}, {"-lead.lan", true}, {"dot.lan.", true},
                {"_srv.a", true}, {"UPPER.lan", true}, {"a..b", false},
                {".a", false},    {"a_b/c", false},    {"b\xc3\xbc.lan", false}};
    struct bench *bench = *state;
    log_in(bench);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *lists = arena_printf(bench->arena, "\"hosts\":[\"::1 %s\"]", rows[i].name);
        assert_int_equal(patch(bench, lists), rows[i].is_ok ? 200 : 400);
    }
    char label[65];
    memset(label, 'a', sizeof label);
    label[64] = '\0';
    assert_int_equal(patch(bench, arena_printf(bench->arena, "\"hosts\":[\"::1 %s\"]", label)),
                     400);
    assert_int_equal(patch(bench, arena_printf(bench->arena, "\"hosts\":[\"::1 %s\"]", label + 1)),
                     200);
}

static void blanks_come_back_as_one(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    assert_int_equal(patch(bench, "\"hosts\":[\" 192.0.2.1\\t a   b \\t#  my  note\"]"), 200);
    assert_string_equal(list_of(bench, PIHOLE_HOSTS), "192.0.2.1 a b #  my  note|");
}

static void aliases_that_dnsmasq_refuses_are_not_taken(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    patch(bench, "\"cnameRecords\":[\"a.lan,x.lan\",\"b.lan,A.lan\",\"a.LAN,y.lan,300\"]");
    expect_error(bench, 400, "bad_request", "Invalid configuration",
                 "duplicate CNAME at line 49 of /etc/pihole/dnsmasq.conf.temp: "
                 "\"cname=a.LAN,y.lan,300\"");
    patch(bench, "\"cnameRecords\":[\"a.lan,b.lan\",\"b.lan,a.lan,60\"]");
    expect_error(bench, 400, "bad_request", "Invalid configuration", "CNAME loop involving a.lan.");
    assert_int_equal(patch(bench, "\"cnameRecords\":[\"*.lan,x.lan\",\"a,b,c.lan,60\"]"), 200);
    bench->now_ms += SECOND;
    assert_int_equal(ask(bench, "PUT", CNAMES "/b%2Cx.lan", NULL), 400);
    assert_int_equal(count_of(bench, "changes"), 1);
}

static void a_body_above_65534_octets_is_no_body(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER body = {0};
    log_in(bench);
    buffer_add_text(&body, "{\"config\":{\"dns\":{\"hosts\":[\"192.0.2.1 a # ");
    while (body.len < 65534 - 5)
        buffer_add_char(&body, 'x');
    buffer_add_text(&body, "\"]}}}");
    assert_int_equal(body.len, 65534);
    assert_int_equal(ask(bench, "PATCH", "/api/config", body.at), 200);
    buffer_add_char(&body, ' ');
    ask(bench, "PATCH", "/api/config", body.at);
    expect_error(bench, 400, "bad_request", "No request body data", NULL);
    assert_int_equal(count_of(bench, "largest_body"), 65535);
}

static void an_invalid_entry_of_others_blocks_all_but_deletion(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    model_pihole_put(bench->pihole, PIHOLE_HOSTS, "192.0.2.1 good", false);
    model_pihole_put(bench->pihole, PIHOLE_HOSTS, "not an address", true);
    ask(bench, "PUT", HOSTS "/192.0.2.2%20a", NULL);
    expect_error(bench, 400, "bad_request", "Invalid value",
                 "dns.hosts[1]: neither a valid IPv4 nor IPv6 address (\"not\")");
    assert_int_equal(patch(bench, "\"hosts\":[\"192.0.2.2 a\",\"not an address\"]"), 400);
    assert_int_equal(ask(bench, "DELETE", HOSTS "/192.0.2.1%20good", NULL), 204);
    assert_string_equal(served(bench), "");
}

static void details_tell_what_is_forced_and_what_restarts(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    set(bench, "forced_hosts", "true");
    assert_int_equal(ask(bench, "GET", HOSTS "?detailed=true", NULL), 200);
    assert_true(value_bool_at(bench->tree, "config.dns.hosts.flags.env_var", false));
    assert_false(value_bool_at(bench->tree, "config.dns.hosts.flags.restart_dnsmasq", true));
    assert_string_equal(said(bench, "config.dns.hosts.type"), "string array");
    assert_int_equal(ask(bench, "GET", CNAMES "?detailed=true", NULL), 200);
    assert_false(value_bool_at(bench->tree, "config.dns.cnameRecords.flags.env_var", true));
    assert_true(value_bool_at(bench->tree, "config.dns.cnameRecords.flags.restart_dnsmasq", false));
    patch(bench, "\"hosts\":[\"192.0.2.1 a\"]");
    expect_error(bench, 400, "bad_request",
                 "Config items set via environment variables cannot be changed via the API",
                 "dns.hosts");
    assert_int_equal(patch(bench, "\"hosts\":[]"), 200);
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.2%20a", NULL), 400);
    assert_int_equal(ask(bench, "PUT", CNAMES "/a%2Cb", NULL), 201);
}

static void read_only_refuses_a_patch_and_lets_elements_through(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    set(bench, "read_only", "true");
    ask(bench, "GET", "/api/config/misc/readOnly", NULL);
    assert_true(value_bool_at(bench->tree, "config.misc.readOnly", false));
    patch(bench, "\"hosts\":[]");
    expect_error(bench, 403, "forbidden", "The config is currently in read-only mode", NULL);
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.2%20a", NULL), 201);
    assert_int_equal(ask(bench, "DELETE", HOSTS "/192.0.2.2%20a", NULL), 204);
}

static void old_versions_do_not_know_hosts_local(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    ask(bench, "GET", "/api/config/dns/hostsLocal", NULL);
    assert_int_equal(value_count(value_find(bench->tree, "config")), 0);
    set(bench, "hosts_local", "missing");
    assert_int_equal(ask(bench, "GET", "/api/config/dns/hostsLocal", NULL), 404);
    set(bench, "hosts_local", "true");
    ask(bench, "GET", "/api/config/dns/hostsLocal", NULL);
    assert_true(value_bool_at(bench->tree, "config.dns.hostsLocal", false));
}

static void what_is_not_there_is_told_apart(void **state)
{
    struct bench *bench = *state;
    ask(bench, "GET", "/admin/api/dns/local", NULL);
    expect_error(bench, 400, "bad_request", "Bad request",
                 "The API is hosted at pi.hole/api, not pi.hole/admin/api");
    ask(bench, "GET", "/api/dns/local", NULL);
    expect_error(bench, 404, "not_found", "Not found", "/api/dns/local");
    ask(bench, "POST", "/api/config", NULL);
    assert_int_equal(bench->reply.status, 405);
    assert_int_equal(ask(bench, "GET", "/", NULL), 404);
    assert_null(bench->tree);
}

// ---- restarts -----------------------------------------------------------------------------------

static void hosts_are_served_at_once(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    uint64_t before = model_pihole_served(bench->pihole, bench->now_ms);
    patch(bench, "\"hosts\":[\"192.0.2.1 a b # note\"]");
    assert_string_equal(served(bench), "192.0.2.1 a b\n");
    assert_int_not_equal(model_pihole_served(bench->pihole, bench->now_ms), before);
    assert_int_equal(count_of(bench, "restarts"), 0);
    assert_int_equal(model_pihole_next_ms(bench->pihole, bench->now_ms), -1);
}

static void a_change_of_aliases_restarts_the_resolver(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    uint64_t life = model_pihole_life(bench->pihole, bench->now_ms);
    uint64_t flight = begin(bench, "PUT", CNAMES "/www%2Ca.lan", NULL);
    assert_int_equal(bench->reply.status, 201);
    int64_t reply_ms = bench->now_ms + bench->reply.delay_ms;
    assert_true(model_pihole_is_alive(bench->pihole, flight, reply_ms));
    model_pihole_end(bench->pihole, flight);
    assert_false(model_pihole_is_dumb(bench->pihole, reply_ms - 1));
    assert_int_equal(model_pihole_next_ms(bench->pihole, bench->now_ms), reply_ms);
    assert_true(model_pihole_is_dumb(bench->pihole, reply_ms));
    assert_true(model_pihole_is_open(bench->pihole, reply_ms + 249));
    assert_false(model_pihole_is_open(bench->pihole, reply_ms + 250));
    assert_int_equal(model_pihole_life(bench->pihole, reply_ms + 249), life);
    assert_int_equal(model_pihole_life(bench->pihole, reply_ms + 250), life + 1);
    bench->now_ms = reply_ms + 369;
    assert_string_equal(served(bench), "");
    assert_true(model_pihole_is_dumb(bench->pihole, bench->now_ms));
    ask(bench, "GET", HOSTS, NULL);
    assert_int_equal(bench->reply.fate, PIHOLE_REFUSES);
    bench->now_ms = reply_ms + 370;
    assert_string_equal(served(bench), "cname=www,a.lan\n");
    assert_false(model_pihole_is_dumb(bench->pihole, bench->now_ms));
    bench->now_ms = reply_ms + 390;
    assert_int_equal(ask(bench, "GET", HOSTS, NULL), 200); // the session is still good
    assert_int_equal(model_pihole_next_ms(bench->pihole, bench->now_ms), -1);
    assert_int_equal(count_of(bench, "restarts"), 1);
}

static void restarts_within_the_grace_are_one(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    assert_int_equal(ask(bench, "PUT", CNAMES "/a%2Cx", NULL), 201);
    bench->now_ms += 200;
    assert_int_equal(ask(bench, "POST", "/api/action/restartdns", NULL), 200);
    assert_int_equal(count_of(bench, "restarts"), 1);
    bench->now_ms += SECOND;
    assert_string_equal(served(bench), "cname=a,x\n");
    assert_int_equal(ask(bench, "PUT", CNAMES "/c%2Cx", NULL), 201);
    assert_int_equal(count_of(bench, "restarts"), 2);
}

static void two_changes_of_aliases_before_the_restart_deadlock(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    assert_int_equal(ask(bench, "PUT", CNAMES "/a%2Cx?restart=false", NULL), 201);
    assert_int_equal(ask(bench, "PUT", CNAMES "/b%2Cx", NULL), 201);
    bench->now_ms += 100;
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.1%20a", NULL), 201);
    ask(bench, "DELETE", CNAMES "/a%2Cx?restart=false", NULL);
    assert_int_equal(bench->reply.fate, PIHOLE_SILENT);
    assert_int_equal(count_of(bench, "deadlocks"), 1);
    bench->now_ms += 3600 * SECOND;
    ask(bench, "GET", HOSTS, NULL);
    assert_int_equal(bench->reply.fate, PIHOLE_SILENT);
    assert_true(model_pihole_is_open(bench->pihole, bench->now_ms));
    assert_true(model_pihole_is_dumb(bench->pihole, bench->now_ms));
    set(bench, "up", "false");
    set(bench, "up", "true");
    log_in(bench);
    assert_string_equal(served(bench), "192.0.2.1 a\ncname=a,x\ncname=b,x\n");
    assert_int_equal(ask(bench, "PUT", CNAMES "/c%2Cx", NULL), 201);
    bench->now_ms += SECOND;
    assert_int_equal(ask(bench, "PUT", CNAMES "/d%2Cx", NULL), 201);
    assert_int_equal(count_of(bench, "deadlocks"), 1);
}

static void with_hosts_local_host_entries_deadlock_too(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    set(bench, "hosts_local", "true");
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.1%20a", NULL), 201);
    ask(bench, "PUT", HOSTS "/192.0.2.2%20b", NULL);
    assert_int_equal(bench->reply.fate, PIHOLE_SILENT);
    assert_int_equal(count_of(bench, "deadlocks"), 1);
}

static void a_reply_that_the_restart_overtakes_is_lost(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    set(bench, "write_ms", "1000");
    set(bench, "restart_grace_ms", "0");
    uint64_t slow = begin(bench, "PUT", CNAMES "/b%2Cx", NULL);
    set(bench, "write_ms", "5");
    assert_true(model_pihole_is_alive(bench->pihole, slow, bench->now_ms + 999));
    assert_false(model_pihole_is_alive(bench->pihole, slow, bench->now_ms + 1001));
    model_pihole_end(bench->pihole, slow);
}

static void restarts_can_be_put_off(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    assert_int_equal(ask(bench, "PUT", CNAMES "/a%2Cx?restart=false", NULL), 201);
    assert_int_equal(count_of(bench, "restarts"), 0);
    bench->now_ms += SECOND;
    assert_string_equal(served(bench), "");
    assert_string_equal(list_of(bench, PIHOLE_CNAMES), "a,x|");
    assert_int_equal(ask(bench, "POST", "/api/action/restartdns", NULL), 200);
    bench->now_ms += SECOND;
    assert_string_equal(served(bench), "cname=a,x\n");
    set(bench, "restart_allowed", "false");
    assert_int_equal(ask(bench, "POST", "/api/action/restartdns", NULL), 403);
    set(bench, "defers", "false");
    assert_int_equal(ask(bench, "PUT", CNAMES "/b%2Cx?restart=false", NULL), 201);
    assert_int_equal(count_of(bench, "restarts"), 2);
}

static void with_hosts_local_host_entries_want_a_restart(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    set(bench, "hosts_local", "true");
    set(bench, "restart_dns_ms", "90000");
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.1%20a", NULL), 201);
    assert_int_equal(count_of(bench, "restarts"), 1);
    bench->now_ms += 90 * SECOND;
    assert_string_equal(served(bench), "");
    bench->now_ms += 5;
    assert_string_equal(served(bench), "192.0.2.1 a\n");
}

static void what_is_killed_serves_all_it_stored_when_it_is_back(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    assert_int_equal(ask(bench, "PUT", CNAMES "/a%2Cx", NULL), 201);
    uint64_t flight = begin(bench, "GET", HOSTS, NULL);
    set(bench, "up", "false");
    assert_false(model_pihole_is_open(bench->pihole, bench->now_ms));
    assert_true(model_pihole_is_dumb(bench->pihole, bench->now_ms));
    set(bench, "up", "true");
    assert_false(model_pihole_is_alive(bench->pihole, flight, bench->now_ms));
    model_pihole_end(bench->pihole, flight);
    assert_string_equal(served(bench), "cname=a,x\n");
    assert_int_equal(ask(bench, "GET", HOSTS, NULL), 200);
}

// ---- what goes wrong ----------------------------------------------------------------------------

static void two_requests_of_one_client_at_once_are_a_breach(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    uint64_t first = begin(bench, "GET", HOSTS, NULL);
    bench->agent = "a browser";
    assert_int_equal(ask(bench, "GET", HOSTS, NULL), 200);
    assert_null(model_pihole_breach(bench->pihole));
    bench->agent = AGENT;
    uint64_t second = begin(bench, "GET", CNAMES, NULL);
    assert_string_equal(model_pihole_breach(bench->pihole),
                        "two requests of \"" AGENT "\" are in flight at once: GET " HOSTS
                        ", and GET " CNAMES);
    assert_int_equal(count_of(bench, "overlaps"), 1);
    model_pihole_end(bench->pihole, first);
    model_pihole_end(bench->pihole, second);
}

static void requests_whose_connection_is_gone_do_not_count(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    set(bench, "hangs", "true");
    uint64_t first = begin(bench, "GET", HOSTS, NULL);
    assert_int_equal(bench->reply.fate, PIHOLE_SILENT);
    model_pihole_end(bench->pihole, first);
    uint64_t second = begin(bench, "GET", HOSTS, NULL);
    set(bench, "up", "false");
    set(bench, "up", "true");
    set(bench, "hangs", "false");
    assert_int_equal(ask(bench, "GET", HOSTS, NULL), 200);
    assert_null(model_pihole_breach(bench->pihole));
    model_pihole_end(bench->pihole, second);
}

static void of_two_writes_at_once_one_is_lost(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    set(bench, "overlap", "loses");
    uint64_t first = begin(bench, "PUT", HOSTS "/192.0.2.1%20a", NULL);
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.2%20b", NULL), 201);
    model_pihole_end(bench->pihole, first);
    assert_string_equal(list_of(bench, PIHOLE_HOSTS), "192.0.2.2 b|");
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.3%20c", NULL), 201);
    assert_string_equal(list_of(bench, PIHOLE_HOSTS), "192.0.2.2 b|192.0.2.3 c|");
}

static void two_writes_at_once_can_close_all_ports(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    set(bench, "overlap", "dies");
    uint64_t first = begin(bench, "PUT", HOSTS "/192.0.2.1%20a", NULL);
    uint64_t reader = begin(bench, "GET", HOSTS, NULL);
    assert_true(model_pihole_is_open(bench->pihole, bench->now_ms));
    uint64_t second = begin(bench, "PUT", HOSTS "/192.0.2.2%20b", NULL);
    assert_false(model_pihole_is_open(bench->pihole, bench->now_ms));
    assert_false(model_pihole_is_alive(bench->pihole, second, bench->now_ms));
    model_pihole_end(bench->pihole, first);
    model_pihole_end(bench->pihole, reader);
    model_pihole_end(bench->pihole, second);
}

static void taking_what_people_keep_is_a_breach(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    model_pihole_put(bench->pihole, PIHOLE_HOSTS, "192.0.2.1 a", true);
    model_pihole_put(bench->pihole, PIHOLE_HOSTS, "192.0.2.2 b", true);
    model_pihole_put(bench->pihole, PIHOLE_HOSTS, "192.0.2.3 c", false);
    patch(bench, "\"hosts\":[\"192.0.2.1 a\",\"192.0.2.9 z\",\"192.0.2.2 b\"]");
    assert_null(model_pihole_breach(bench->pihole));
    assert_true(model_pihole_take(bench->pihole, PIHOLE_HOSTS, "192.0.2.1 a"));
    assert_false(model_pihole_take(bench->pihole, PIHOLE_HOSTS, "192.0.2.1 a"));
    patch(bench, "\"hosts\":[\"192.0.2.2 b\"]");
    assert_null(model_pihole_breach(bench->pihole));
    patch(bench, "\"hosts\":[\"192.0.2.2  b\"]"); // the same when it is read back
    assert_null(model_pihole_breach(bench->pihole));
    patch(bench, "\"hosts\":[\"192.0.2.2 b # x\"]");
    assert_string_equal(model_pihole_breach(bench->pihole),
                        "PATCH /api/config took \"192.0.2.2 b\" away from people, or its place");
}

static void removed_entries_can_come_back(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    patch(bench, "\"hosts\":[\"192.0.2.1 a\",\"192.0.2.2 b\"]");
    set(bench, "resurrects", "1");
    assert_int_equal(ask(bench, "DELETE", HOSTS "/192.0.2.1%20a", NULL), 204);
    assert_string_equal(list_of(bench, PIHOLE_HOSTS), "192.0.2.2 b|");
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.3%20c", NULL), 201);
    assert_string_equal(list_of(bench, PIHOLE_HOSTS), "192.0.2.2 b|192.0.2.3 c|192.0.2.1 a|");
    assert_int_equal(ask(bench, "DELETE", HOSTS "/192.0.2.1%20a", NULL), 204);
    assert_int_equal(ask(bench, "PUT", HOSTS "/192.0.2.4%20d", NULL), 201);
    assert_string_equal(list_of(bench, PIHOLE_HOSTS), "192.0.2.2 b|192.0.2.3 c|192.0.2.4 d|");
}

static void replies_are_lost_cut_and_replaced(void **state)
{
    struct bench *bench = *state;
    log_in(bench);
    set(bench, "loses_replies", "1");
    ask(bench, "GET", HOSTS, NULL);
    assert_false(bench->reply.is_cut);
    ask(bench, "PUT", HOSTS "/192.0.2.1%20a", NULL);
    assert_true(bench->reply.is_cut);
    assert_int_equal(bench->reply.cut_octets, 0);
    assert_string_equal(list_of(bench, PIHOLE_HOSTS), "192.0.2.1 a|");
    set(bench, "cut_octets", "40");
    ask(bench, "GET", HOSTS, NULL);
    assert_int_equal(bench->reply.cut_octets, 40);
    set(bench, "body", "<html>");
    ask(bench, "GET", HOSTS, NULL);
    assert_false(bench->reply.is_cut);
    assert_true(text_is(bench->reply.body, "<html>"));
    set(bench, "fails", "1");
    ask(bench, "GET", HOSTS, NULL);
    expect_error(bench, 500, "internal_error", "Internal server error", NULL);
    assert_int_equal(ask(bench, "GET", HOSTS, NULL), 200);
}

static void switches_take_what_they_know(void **state)
{
    struct bench *bench = *state;
    struct error err;
    assert_false(model_pihole_set(bench->pihole, 0, "colour", "red", &err));
    assert_false(model_pihole_set(bench->pihole, 0, "hangs", "maybe", &err));
    assert_false(model_pihole_set(bench->pihole, 0, "up", "maybe", &err));
    assert_false(model_pihole_set(bench->pihole, 0, "max_sessions", "257", &err));
    assert_false(model_pihole_set(bench->pihole, 0, "write_ms", "-1", &err));
    assert_string_equal(err.text, "write_ms cannot be \"-1\"");
}

static void counters_are_shown_as_json(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER out = {0};
    uint64_t value;
    log_in(bench);
    ask(bench, "GET", HOSTS, NULL);
    model_pihole_write_counters(bench->pihole, bench->now_ms, &out);
    const struct value *tree =
        value_read_json(bench->arena, buffer_text(&out), &value_reply_limits, NULL);
    assert_int_equal(value_int_at(tree, "requests", 0), 2);
    assert_int_equal(value_int_at(tree, "posts", 0), 1);
    assert_int_equal(value_int_at(tree, "gets", 0), 1);
    assert_int_equal(value_int_at(tree, "seats", 0), 1);
    assert_false(model_pihole_counter(bench->pihole, 0, "smiles", &value));
}

// ---- the other dialect --------------------------------------------------------------------------

static void the_legacy_dialect_has_one_page_and_a_token(void **state)
{
    struct bench *bench = *state;
    const struct http_header token[] = {{"Authorization", "Bearer secret"}};
    const char *page = "/admin/api/dns/local";
    set(bench, "dialect", "legacy");
    assert_int_equal(try_login(bench, "secret"), 404);
    assert_int_equal(get_with(bench, page, NULL, 0), 401);
    const char *record = "{\"domain\":\"a.lan\",\"ip\":\"192.0.2.1\"}";
    assert_int_equal(ask_with(bench, "POST", page, record, token, 1), 201);
    assert_int_equal(ask_with(bench, "POST", page, record, token, 1), 409);
    assert_int_equal(get_with(bench, page, token, 1), 200);
    assert_string_equal(said(bench, "data[0].domain"), "a.lan");
    assert_string_equal(said(bench, "data[0].ip"), "192.0.2.1");
    const char *second = "{\"domain\":\"a.lan\",\"ip\":\"192.0.2.2\"}";
    set(bench, "legacy_unique", "true");
    assert_int_equal(ask_with(bench, "POST", page, second, token, 1), 409);
    set(bench, "legacy_unique", "false");
    assert_int_equal(ask_with(bench, "POST", page, second, token, 1), 201);
    assert_string_equal(served(bench), "192.0.2.1 a.lan\n192.0.2.2 a.lan\n");
    const char *bad = "{\"domain\":\"*.lan\",\"ip\":\"192.0.2.2\"}";
    assert_int_equal(ask_with(bench, "POST", page, bad, token, 1), 400);
    assert_int_equal(ask_with(bench, "DELETE", "/admin/api/dns/local/a.lan", NULL, token, 1), 204);
    assert_int_equal(ask_with(bench, "DELETE", "/admin/api/dns/local/a.lan", NULL, token, 1), 404);
    assert_string_equal(list_of(bench, PIHOLE_HOSTS), "");
}

#define WITH_PIHOLE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PIHOLE(a_good_password_gives_a_session),
        WITH_PIHOLE(a_wrong_password_is_401_with_a_session_and_no_error),
        WITH_PIHOLE(a_login_without_password_says_what_is_missing),
        WITH_PIHOLE(the_fourth_wrong_password_of_a_second_is_429_after_a_pause),
        WITH_PIHOLE(right_main_passwords_are_never_limited),
        WITH_PIHOLE(each_login_with_the_app_password_counts_as_a_try),
        WITH_PIHOLE(the_seventeenth_session_finds_no_seat),
        WITH_PIHOLE(sessions_end_1800_s_after_the_last_call_and_their_seats_are_used_again),
        WITH_PIHOLE(a_logout_frees_the_seat_once),
        WITH_PIHOLE(sessions_are_listed_and_deleted),
        WITH_PIHOLE(a_sid_stands_in_many_places_and_the_first_header_wins),
        WITH_PIHOLE(the_second_factor_is_wanted_of_the_main_password_alone),
        WITH_PIHOLE(without_a_password_everybody_is_let_in),
        WITH_PIHOLE(app_sessions_change_nothing_without_app_sudo),
        WITH_PIHOLE(elements_are_put_once_and_deleted_once),
        WITH_PIHOLE(paths_are_decoded_before_they_are_split),
        WITH_PIHOLE(a_patch_replaces_the_arrays_it_names_and_shows_all),
        WITH_PIHOLE(one_bad_entry_refuses_the_whole_patch),
        WITH_PIHOLE(names_are_taken_as_ftl_takes_them),
        WITH_PIHOLE(blanks_come_back_as_one),
        WITH_PIHOLE(aliases_that_dnsmasq_refuses_are_not_taken),
        WITH_PIHOLE(a_body_above_65534_octets_is_no_body),
        WITH_PIHOLE(an_invalid_entry_of_others_blocks_all_but_deletion),
        WITH_PIHOLE(details_tell_what_is_forced_and_what_restarts),
        WITH_PIHOLE(read_only_refuses_a_patch_and_lets_elements_through),
        WITH_PIHOLE(old_versions_do_not_know_hosts_local),
        WITH_PIHOLE(what_is_not_there_is_told_apart),
        WITH_PIHOLE(hosts_are_served_at_once),
        WITH_PIHOLE(a_change_of_aliases_restarts_the_resolver),
        WITH_PIHOLE(restarts_within_the_grace_are_one),
        WITH_PIHOLE(two_changes_of_aliases_before_the_restart_deadlock),
        WITH_PIHOLE(with_hosts_local_host_entries_deadlock_too),
        WITH_PIHOLE(a_reply_that_the_restart_overtakes_is_lost),
        WITH_PIHOLE(restarts_can_be_put_off),
        WITH_PIHOLE(with_hosts_local_host_entries_want_a_restart),
        WITH_PIHOLE(what_is_killed_serves_all_it_stored_when_it_is_back),
        WITH_PIHOLE(two_requests_of_one_client_at_once_are_a_breach),
        WITH_PIHOLE(requests_whose_connection_is_gone_do_not_count),
        WITH_PIHOLE(of_two_writes_at_once_one_is_lost),
        WITH_PIHOLE(two_writes_at_once_can_close_all_ports),
        WITH_PIHOLE(taking_what_people_keep_is_a_breach),
        WITH_PIHOLE(removed_entries_can_come_back),
        WITH_PIHOLE(replies_are_lost_cut_and_replaced),
        WITH_PIHOLE(switches_take_what_they_know),
        WITH_PIHOLE(counters_are_shown_as_json),
        WITH_PIHOLE(the_legacy_dialect_has_one_page_and_a_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
