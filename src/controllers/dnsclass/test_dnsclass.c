#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controllers/dnsclass/dnsclass_controller.h"
#include "controllers/test_bench.h"
#include "kinds/dnsclass/dnsclass.h"
#include "kinds/secret/secret_kind.h"

enum { NOW_S = 1767088800 };
#define NOW "2025-12-30T10:00:00Z"
#define BEFORE "2025-12-30T09:00:00Z"
#define HOME "http://127.0.0.1:7100"
#define SERVER "'server':'" HOME "/'"
#define HMAC SERVER ",'hmacAuth':{'secretRef':{'name':'key','namespace':'dns','key':'hmac'}}"

static struct world {
    struct arena *arena;
    const char *spec;
    const char *status;
    const char *secret; // the Secret's fields, or NULL
    bool is_unsynced;
    const char *unreadable;
    bool has_lane;
    struct lane_view lane;
    struct dnsclass_settings settings;
    int64_t now_ms;
    struct verdict verdict;
    const struct object *objects[32];
    size_t object_count;
} world;

static int set_up(void **state)
{
    (void)state;
    world = (struct world){
        .arena = arena_new(),
        .spec = SERVER,
        .settings = dnsclass_defaults,
        .now_ms = NOW_S * 1000LL,
        .lane = {.name = "class-home", .is_open = true, .book = HOME},
    };
    return 0;
}

static void drop_verdict(void)
{
    if (world.verdict.lane)
        secret_unref(world.verdict.lane->secret);
    world.verdict = (struct verdict){0};
}

static int tear_down(void **state)
{
    (void)state;
    drop_verdict();
    while (world.object_count)
        object_unref(world.objects[--world.object_count]);
    arena_free(world.arena);
    return 0;
}

static const struct object *object_made(const struct kind *kind, const char *json)
{
    const struct object *object = object_new(kind, NULL, quote(world.arena, json));
    must(world.object_count < COUNT_OF(world.objects));
    world.objects[world.object_count++] = object;
    return object;
}

static const struct verdict *decide(void)
{
    drop_verdict();
    const struct object *subject = object_made(
        &dnsclass_kind,
        arena_printf(world.arena,
                     "{'apiVersion':'dns.homelab.mortenolsen.pro/v1alpha1','kind':'DNSClass',"
                     "'metadata':{'name':'home','generation':2,'creationTimestamp':'" BEFORE
                     "'},'spec':{%s},'status':{%s}}",
                     world.spec, world.status ? world.status : ""));
    struct strings wants = {.arena = world.arena};
    dnsclass_controller.gathers[0].wants(subject, &wants);
    const struct object *secrets[1];
    struct gathered gathered = {
        .objects = secrets, .is_synced = !world.is_unsynced, .unreadable = world.unreadable};
    if (world.secret && wants.count) {
        assert_string_equal(wants.items[0], "dns/key");
        secrets[gathered.count++] = object_made(
            &secret_kind, arena_printf(world.arena,
                                       "{'apiVersion':'v1','kind':'Secret','metadata':{'name':"
                                       "'key','namespace':'dns'},%s}",
                                       world.secret));
    }
    const struct lane_view *view = world.has_lane ? &world.lane : NULL;
    const char *lane_name = "class-home";
    const struct snapshot snapshot = {
        .arena = world.arena,
        .namespace_ = TEXT(""),
        .name = TEXT("home"),
        .subject = subject,
        .gathers = &gathered,
        .lanes = &view,
        .lane_count = 1,
        .lane_names = &lane_name,
        .now_ms = world.now_ms,
        .settings = &world.settings,
        .trace = "0af7651916cd43dd8448eb211c80319c",
    };
    dnsclass_controller.decide(&snapshot, NULL, &world.verdict);
    return &world.verdict;
}

static void be_answered(const char *answer, int64_t answered_s)
{
    world.has_lane = true;
    world.lane.answer = quote(world.arena, answer);
    world.lane.answered_s = answered_s;
    world.lane.is_answer_ok = true;
}

static void be_failing(enum fault fault, const char *reason, const char *text)
{
    world.has_lane = true;
    world.lane.answer = NULL;
    world.lane.answered_s = NOW_S;
    world.lane.is_answer_ok = false;
    error_set(&world.lane.answer_error, fault, reason, "%s", text);
}

#define READY(verdict) condition_of(world.arena, (verdict)->status, "Ready")
#define MESSAGE(verdict) message_of(world.arena, (verdict)->status, "Ready")
#define READY_AS(status, reason)                                                                   \
    "'conditions':[{'type':'Ready','status':'" status "','reason':'" reason                        \
    "','lastTransitionTime':'" BEFORE "'}],'observedGeneration':2,'lastHealthCheck':"              \
    "'2025-12-30T09:55:00Z'"

static const char *text_at(const struct verdict *verdict, const char *path)
{
    struct text text = value_text_at(verdict->status, path);
    return arena_copy(world.arena, text.at ? text.at : "", text.len);
}

static void the_lane_has_what_the_provider_needs(void **state)
{
    (void)state;
    world.spec = "'server':'HTTPS://DNS.example.com:443/api/','timeoutSeconds':7,"
                 "'signedPath':'Full','metadataStyle':'Inline','maxInFlight':9,"
                 "'hmacAuth':{'secret':'inline','algorithm':'SHA512'},"
                 "'tls':{'caBundle':'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t','serverName':'in'}";
    const struct lane_want *lane = decide()->lane;
    assert_string_equal(lane->name, "class-home");
    assert_string_equal(lane->provider, "webhook");
    assert_string_equal(lane->book, "https://dns.example.com/api");
    assert_string_equal(json_of(world.arena, lane->config),
                        "{\"server\":\"https://dns.example.com/api\",\"timeoutSeconds\":7,"
                        "\"algorithm\":\"SHA512\",\"signedPath\":\"Full\",\"metadataStyle\":"
                        "\"Inline\",\"caBundle\":\"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t\","
                        "\"serverName\":\"in\"}");
    assert_true(text_is(secret_expose(lane->secret), "inline"));
    assert_int_equal(lane->max_in_flight, 9);
    assert_int_equal(lane->retry_base_ms, 5000);
    assert_int_equal(lane->retry_max_ms, 60000);
    assert_int_equal(lane->retry_attempts, 5);
    assert_int_equal(lane->retry_slow_ms, 600000);
    assert_int_equal(lane->linger_ms, 600000);
    assert_int_equal(lane->learn_ms, 1000);
    assert_int_equal(lane->fault.fault, FAULT_NONE);
    assert_string_equal(world.verdict.question->name, "health");
    assert_int_equal(world.verdict.question->good_for_ms, 600000);
}

static void without_hmac_requests_go_unsigned(void **state)
{
    (void)state;
    assert_null(decide()->lane->secret);
    assert_int_equal(world.verdict.lane->fault.fault, FAULT_NONE);
}

static void a_changed_spec_or_secret_asks_anew(void **state)
{
    (void)state;
    world.spec = HMAC;
    world.secret = "'stringData':{'hmac':'one'}";
    uint64_t first = decide()->question->epoch;
    assert_true(decide()->question->epoch == first);
    world.secret = "'stringData':{'hmac':'two'}";
    uint64_t second = decide()->question->epoch;
    assert_true(second != first);
    world.spec = HMAC ",'timeoutSeconds':9";
    assert_true(decide()->question->epoch != second);
}

static void what_is_missing_shuts_the_lane_and_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *secret;
        const char *ready;
        const char *text;
    } rows[] = {
        {HMAC, NULL, "False/SecretNotFound", "Secret dns/key does not exist: create it"},
        {HMAC, "'stringData':{'other':'x'}", "False/SecretNotFound",
         "Secret dns/key has no key hmac: add it"},
        {HMAC, "'stringData':{'hmac':''}", "False/InvalidConfiguration",
         "Secret dns/key has an empty key hmac: fill it"},
        {SERVER ",'hmacAuth':{}", NULL, "False/InvalidConfiguration",
         "hmacAuth must have either secretRef or secret"},
        {SERVER ",'tokenAuth':{}", NULL, "False/InvalidConfiguration",
         "spec.tokenAuth is not supported by this version: remove it"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        world.spec = rows[i].spec;
        world.secret = rows[i].secret;
        const struct verdict *verdict = decide();
        assert_string_equal(READY(verdict), rows[i].ready);
        assert_string_equal(MESSAGE(verdict), rows[i].text);
        assert_string_equal(text_at(verdict, "health.status"), "Unknown");
        assert_non_null(verdict->lane);
        assert_string_equal(verdict->lane->fault.text, rows[i].text);
        assert_null(verdict->question);
        assert_non_null(note_of(verdict, "HealthChanged"));
    }
}

static void a_bad_url_opens_no_lane(void **state)
{
    (void)state;
    world.spec = "'server':'nonsense','hmacAuth':{'secret':'x'}";
    const struct verdict *verdict = decide();
    assert_null(verdict->lane);
    assert_null(verdict->question);
    assert_string_equal(READY(verdict), "False/InvalidConfiguration");
}

static void a_secret_that_is_not_read_yet_is_not_called_missing(void **state)
{
    (void)state;
    world.spec = HMAC;
    world.is_unsynced = true;
    const struct verdict *verdict = decide();
    assert_null(verdict->status);
    assert_string_equal(verdict->lane->fault.reason, "Pending");
    assert_null(verdict->question);
}

static void a_secret_that_cannot_be_read_is_not_called_missing(void **state)
{
    (void)state;
    world.spec = HMAC;
    world.unreadable = "forbidden: cannot get secrets; add verb get";
    const struct verdict *verdict = decide();
    assert_string_equal(READY(verdict), "False/Forbidden");
    assert_string_equal(MESSAGE(verdict), "Secret dns/key cannot be read: forbidden: cannot get "
                                          "secrets; add verb get");
    assert_string_equal(verdict->lane->fault.reason, "Forbidden");
    assert_null(verdict->question);
}

static void before_the_first_answer_the_class_is_pending(void **state)
{
    (void)state;
    const struct verdict *verdict = decide();
    assert_string_equal(READY(verdict), "Unknown/HealthCheckPending");
    assert_string_equal(text_at(verdict, "health.status"), "Unknown");
    assert_int_equal(verdict->note_count, 0);
}

static void after_a_restart_the_last_word_stands_until_the_next(void **state)
{
    (void)state;
    world.status = READY_AS("True", "ServerHealthy");
    assert_null(decide()->status);
    world.status = READY_AS("False", "SecretNotFound");
    assert_string_equal(READY(decide()), "Unknown/HealthCheckPending");
}

static void answers_become_reasons(void **state)
{
    (void)state;
    static const struct {
        const char *answer; // NULL: failed
        enum fault fault;
        const char *reason;
        const char *ready;
        const char *health;
    } rows[] = {
        {"{'status':'healthy','message':'fine'}", 0, NULL, "True/ServerHealthy", "Healthy"},
        {"{'status':'HEALTHY'}", 0, NULL, "True/ServerHealthy", "Healthy"},
        {"{'status':'degraded'}", 0, NULL, "False/ServerUnhealthy", "Unhealthy"},
        {NULL, FAULT_AGAIN, "ServerUnhealthy", "False/ServerUnhealthy", "Unhealthy"},
        {NULL, FAULT_AGAIN, "ServerUnreachable", "False/ServerUnreachable", "Unhealthy"},
        {NULL, FAULT_AGAIN, "ServerError", "False/ServerError", "Unhealthy"},
        {NULL, FAULT_AUTH, "AuthenticationFailed", "False/AuthenticationFailed", "Unhealthy"},
        {NULL, FAULT_AUTH, "", "False/AuthenticationFailed", "Unhealthy"},
        {NULL, FAULT_AGAIN, "", "False/ServerError", "Unhealthy"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].answer)
            be_answered(rows[i].answer, NOW_S);
        else
            be_failing(rows[i].fault, rows[i].reason, "what happened");
        const struct verdict *verdict = decide();
        assert_string_equal(READY(verdict), rows[i].ready);
        assert_string_equal(text_at(verdict, "health.status"), rows[i].health);
        assert_string_equal(text_at(verdict, "lastHealthCheck"), NOW);
        assert_string_equal(text_at(verdict, "health.lastCheck"), NOW);
        assert_int_equal(value_int_at(verdict->status, "observedGeneration", 0), 2);
        if (!rows[i].answer)
            assert_string_equal(MESSAGE(verdict), "what happened");
    }
}

static void what_the_server_offers_is_shown(void **state)
{
    (void)state;
    be_answered("{'status':'healthy','message':'fine'}", NOW_S);
    world.lane.known =
        quote(world.arena, "{'signedPath':'Relative','capabilities':{'get':true,'types':['A']}}");
    world.lane.note = "server still uses the previous secret";
    const struct verdict *verdict = decide();
    assert_string_equal(text_at(verdict, "health.message"), "fine");
    assert_string_equal(text_at(verdict, "signedPath"), "Relative");
    assert_string_equal(json_of(world.arena, value_find(verdict->status, "capabilities")),
                        "{\"get\":true,\"types\":[\"A\"]}");
    assert_string_equal(MESSAGE(verdict),
                        HOME " is healthy; server still uses the previous secret");
}

static const char *known_at_first(void)
{
    AUTO_BUFFER text = {0};
    const struct value *known = decide()->lane->known;
    if (!known)
        return "nothing";
    value_write_json(&text, known);
    return arena_copy_text(world.arena, text.at);
}

static void what_the_status_remembers_of_a_server_is_known_to_a_new_lane(void **state)
{
    (void)state;
    world.status = "'server':'" HOME "','signedPath':'Relative','capabilities':{'metadata':false}";
    assert_string_equal(known_at_first(), "{\"server\":\"" HOME "\",\"capabilities\":{\"metadata\":"
                                          "false},\"signedPath\":\"Relative\"}");
    world.status = "'server':'http://other','capabilities':{'metadata':false}";
    assert_string_equal(known_at_first(), "nothing");
    world.status = "'capabilities':{'metadata':false}";
    assert_string_equal(known_at_first(), "nothing");
}

static void what_is_known_stays_while_the_server_does_not_answer(void **state)
{
    (void)state;
    be_failing(FAULT_AGAIN, "ServerUnreachable", "cannot connect");
    world.lane.known = quote(world.arena, "{'capabilities':{'metadata':false}}");
    assert_string_equal(text_at(decide(), "server"), HOME);
    assert_string_equal(json_of(world.arena, value_find(world.verdict.status, "capabilities")),
                        "{\"metadata\":false}");
}

static void a_secret_with_a_line_feed_is_warned_of(void **state)
{
    (void)state;
    world.spec = HMAC;
    world.secret = "'stringData':{'hmac':'x\\n'}";
    be_answered("{'status':'healthy'}", NOW_S);
    assert_non_null(strstr(MESSAGE(decide()), "ends in a line feed"));
}

static void a_short_secret_is_warned_of(void **state)
{
    (void)state;
    world.spec = HMAC;
    world.secret = "'stringData':{'hmac':'x'}";
    be_answered("{'status':'healthy'}", NOW_S);
    assert_non_null(strstr(MESSAGE(decide()), "the shared secret is short"));
}

static void time_stamps_alone_are_written_once_an_interval(void **state)
{
    (void)state;
    world.status = READY_AS("True", "ServerHealthy");
    be_answered("{'status':'healthy'}", NOW_S);
    assert_string_equal(text_at(decide(), "lastHealthCheck"), "2025-12-30T09:55:00Z");
    be_answered("{'status':'healthy'}", NOW_S + 300);
    assert_string_equal(text_at(decide(), "lastHealthCheck"), "2025-12-30T10:05:00Z");
    be_answered("{'status':'poorly'}", NOW_S);
    assert_string_equal(text_at(decide(), "lastHealthCheck"), NOW);
}

static void a_change_of_health_is_noted_once(void **state)
{
    (void)state;
    world.status = READY_AS("True", "ServerHealthy");
    be_failing(FAULT_AGAIN, "ServerUnreachable", "refused");
    const struct verdict *verdict = decide();
    assert_string_equal(note_of(verdict, "HealthChanged"), "ServerUnreachable: refused");
    assert_int_equal(verdict->line_count, 1);
    world.status = READY_AS("False", "ServerUnreachable");
    assert_int_equal(decide()->note_count, 0);
}

static void a_moved_server_is_asked_anew_and_noted(void **state)
{
    (void)state;
    world.status = READY_AS("True", "ServerHealthy");
    be_answered("{'status':'healthy'}", NOW_S);
    world.lane.book = "http://old";
    const struct verdict *verdict = decide();
    assert_string_equal(READY(verdict), "Unknown/HealthCheckPending");
    assert_non_null(note_of(verdict, "ServerChanged"));
}

static void a_new_key_is_noted_without_its_content(void **state)
{
    (void)state;
    CLEANUP(secret) struct secret *before = secret_new("one", 3);
    world.spec = HMAC;
    world.status = READY_AS("True", "ServerHealthy");
    be_answered("{'status':'healthy'}", NOW_S - 300);
    world.lane.secret = before;
    world.secret = "'stringData':{'hmac':'one'}";
    assert_null(note_of(decide(), "SecretRotated"));
    world.secret = "'stringData':{'hmac':'s3cret'}";
    const char *note = note_of(decide(), "SecretRotated");
    assert_string_equal(note, "Secret dns/key has a new key hmac: it signs from now on");
    world.secret = NULL;
    assert_null(note_of(decide(), "SecretRotated"));
    world.lane.secret = NULL;
    world.secret = "'stringData':{'hmac':'s3cret'}";
    assert_null(note_of(decide(), "SecretRotated"));
}

static void settings_that_the_provider_refuses_are_told(void **state)
{
    (void)state;
    world.has_lane = true;
    error_set(&world.lane.fault, FAULT_SPEC, "InvalidConfiguration", "caBundle: no certificate");
    const struct verdict *verdict = decide();
    assert_string_equal(READY(verdict), "False/InvalidConfiguration");
    assert_string_equal(MESSAGE(verdict), "caBundle: no certificate");
    assert_int_equal(verdict->lane->fault.fault, FAULT_NONE);
}

int main(void)
{
#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        UNIT(the_lane_has_what_the_provider_needs),
        UNIT(without_hmac_requests_go_unsigned),
        UNIT(a_changed_spec_or_secret_asks_anew),
        UNIT(what_is_missing_shuts_the_lane_and_is_told),
        UNIT(a_bad_url_opens_no_lane),
        UNIT(a_secret_that_is_not_read_yet_is_not_called_missing),
        UNIT(a_secret_that_cannot_be_read_is_not_called_missing),
        UNIT(before_the_first_answer_the_class_is_pending),
        UNIT(after_a_restart_the_last_word_stands_until_the_next),
        UNIT(answers_become_reasons),
        UNIT(what_the_status_remembers_of_a_server_is_known_to_a_new_lane),
        UNIT(what_is_known_stays_while_the_server_does_not_answer),
        UNIT(what_the_server_offers_is_shown),
        UNIT(a_secret_with_a_line_feed_is_warned_of),
        UNIT(a_short_secret_is_warned_of),
        UNIT(time_stamps_alone_are_written_once_an_interval),
        UNIT(a_change_of_health_is_noted_once),
        UNIT(a_moved_server_is_asked_anew_and_noted),
        UNIT(a_new_key_is_noted_without_its_content),
        UNIT(settings_that_the_provider_refuses_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
