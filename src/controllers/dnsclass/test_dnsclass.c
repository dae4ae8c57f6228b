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
    bool has_backend;
    struct backend_view backend;
    struct dnsclass_settings settings;
    int64_t now_ms;
    struct decision decision;
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
        .backend = {.name = "class-home", .is_open = true, .registry = HOME},
    };
    return 0;
}

static void drop_decision(void)
{
    for (size_t i = 0; i < world.decision.backend_count; i++)
        secret_unref(world.decision.backends[i].secret);
    world.decision = (struct decision){0};
}

static int tear_down(void **state)
{
    (void)state;
    drop_decision();
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

static const struct decision *decide(void)
{
    drop_decision();
    const struct object *subject = object_made(
        &dnsclass_kind,
        arena_printf(world.arena,
                     "{'apiVersion':'dns.homelab.mortenolsen.pro/v1alpha1','kind':'DNSClass',"
                     "'metadata':{'name':'home','generation':2,'creationTimestamp':'" BEFORE
                     "'},'spec':{%s},'status':{%s}}",
                     world.spec, world.status ? world.status : ""));
    struct strings wants = {.arena = world.arena};
    dnsclass_controller.inputs[0].lookup_keys(subject, &wants);
    const struct object *secrets[1];
    struct input_objects input_objects = {
        .objects = secrets, .is_synced = !world.is_unsynced, .unreadable = world.unreadable};
    if (world.secret && wants.count) {
        assert_string_equal(wants.items[0], "dns/key");
        secrets[input_objects.count++] = object_made(
            &secret_kind, arena_printf(world.arena,
                                       "{'apiVersion':'v1','kind':'Secret','metadata':{'name':"
                                       "'key','namespace':'dns'},%s}",
                                       world.secret));
    }
    const struct backend_view *view = world.has_backend ? &world.backend : NULL;
    const char *backend_name = "class-home";
    const struct snapshot snapshot = {
        .arena = world.arena,
        .namespace_ = TEXT(""),
        .name = TEXT("home"),
        .subject = subject,
        .inputs = &input_objects,
        .backends = &view,
        .backend_count = 1,
        .backend_names = &backend_name,
        .now_ms = world.now_ms,
        .settings = &world.settings,
        .trace = "0af7651916cd43dd8448eb211c80319c",
    };
    dnsclass_controller.decide(&snapshot, NULL, &world.decision);
    return &world.decision;
}

static void be_answered(const char *answer, int64_t answered_s)
{
    world.has_backend = true;
    world.backend.answer = quote(world.arena, answer);
    world.backend.answered_s = answered_s;
    world.backend.is_answer_ok = true;
}

static void be_failing(enum fault fault, const char *reason, const char *text)
{
    world.has_backend = true;
    world.backend.answer = NULL;
    world.backend.answered_s = NOW_S;
    world.backend.is_answer_ok = false;
    error_set(&world.backend.answer_error, fault, reason, "%s", text);
}

#define READY(decision) condition_of(world.arena, (decision)->status, "Ready")
#define MESSAGE(decision) message_of(world.arena, (decision)->status, "Ready")
#define READY_AS(status, reason)                                                                   \
    "'conditions':[{'type':'Ready','status':'" status "','reason':'" reason                        \
    "','lastTransitionTime':'" BEFORE "'}],'observedGeneration':2,'lastHealthCheck':"              \
    "'2025-12-30T09:55:00Z'"

static const char *text_at(const struct decision *decision, const char *path)
{
    struct text text = value_text_at(decision->status, path);
    return arena_copy(world.arena, text.at ? text.at : "", text.len);
}

static void the_backend_has_what_the_provider_needs(void **state)
{
    (void)state;
    world.spec = "'server':'HTTPS://DNS.example.com:443/api/','timeoutSeconds':7,"
                 "'signedPath':'Full','metadataStyle':'Inline','maxInFlight':9,"
                 "'hmacAuth':{'secret':'inline','algorithm':'SHA512'},"
                 "'tls':{'caBundle':'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t','serverName':'in'}";
    const struct backend_want *backend = decide()->backends;
    assert_string_equal(backend->name, "class-home");
    assert_string_equal(backend->provider, "webhook");
    assert_string_equal(backend->registry, "https://dns.example.com/api");
    assert_string_equal(json_of(world.arena, backend->config),
                        "{\"server\":\"https://dns.example.com/api\",\"timeoutSeconds\":7,"
                        "\"algorithm\":\"SHA512\",\"signedPath\":\"Full\",\"metadataStyle\":"
                        "\"Inline\",\"caBundle\":\"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t\","
                        "\"serverName\":\"in\"}");
    assert_true(text_is(secret_expose(backend->secret), "inline"));
    assert_int_equal(backend->max_in_flight, 9);
    assert_int_equal(backend->retry_base_ms, 5000);
    assert_int_equal(backend->retry_max_ms, 60000);
    assert_int_equal(backend->retry_attempts, 5);
    assert_int_equal(backend->retry_slow_ms, 600000);
    assert_int_equal(backend->linger_ms, 600000);
    assert_int_equal(backend->learn_ms, 1000);
    assert_int_equal(backend->fault.fault, FAULT_NONE);
    assert_string_equal(world.decision.questions->name, "health");
    assert_int_equal(world.decision.questions->good_for_ms, 600000);
}

static void without_hmac_requests_go_unsigned(void **state)
{
    (void)state;
    assert_null(decide()->backends->secret);
    assert_int_equal(world.decision.backends->fault.fault, FAULT_NONE);
}

static void a_changed_spec_or_secret_asks_anew(void **state)
{
    (void)state;
    world.spec = HMAC;
    world.secret = "'stringData':{'hmac':'one'}";
    uint64_t first = decide()->questions->epoch;
    assert_true(decide()->questions->epoch == first);
    world.secret = "'stringData':{'hmac':'two'}";
    uint64_t second = decide()->questions->epoch;
    assert_true(second != first);
    world.spec = HMAC ",'timeoutSeconds':9";
    assert_true(decide()->questions->epoch != second);
}

static void what_is_missing_shuts_the_backend_and_is_told(void **state)
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
        const struct decision *decision = decide();
        assert_string_equal(READY(decision), rows[i].ready);
        assert_string_equal(MESSAGE(decision), rows[i].text);
        assert_string_equal(text_at(decision, "health.status"), "Unknown");
        assert_int_equal(decision->backend_count, 1);
        assert_string_equal(decision->backends->fault.text, rows[i].text);
        assert_int_equal(decision->question_count, 0);
        assert_non_null(event_of(decision, "HealthChanged"));
    }
}

static void a_bad_url_opens_no_backend(void **state)
{
    (void)state;
    world.spec = "'server':'nonsense','hmacAuth':{'secret':'x'}";
    const struct decision *decision = decide();
    assert_int_equal(decision->backend_count, 0);
    assert_int_equal(decision->question_count, 0);
    assert_string_equal(READY(decision), "False/InvalidConfiguration");
}

static void a_secret_that_is_not_read_yet_is_not_called_missing(void **state)
{
    (void)state;
    world.spec = HMAC;
    world.is_unsynced = true;
    const struct decision *decision = decide();
    assert_null(decision->status);
    assert_string_equal(decision->backends->fault.reason, "Pending");
    assert_int_equal(decision->question_count, 0);
}

static void a_secret_that_cannot_be_read_is_not_called_missing(void **state)
{
    (void)state;
    world.spec = HMAC;
    world.unreadable = "forbidden: cannot get secrets; add verb get";
    const struct decision *decision = decide();
    assert_string_equal(READY(decision), "False/Forbidden");
    assert_string_equal(MESSAGE(decision), "Secret dns/key cannot be read: forbidden: cannot get "
                                           "secrets; add verb get");
    assert_string_equal(decision->backends->fault.reason, "Forbidden");
    assert_int_equal(decision->question_count, 0);
}

static void before_the_first_answer_the_class_is_pending(void **state)
{
    (void)state;
    const struct decision *decision = decide();
    assert_string_equal(READY(decision), "Unknown/HealthCheckPending");
    assert_string_equal(text_at(decision, "health.status"), "Unknown");
    assert_int_equal(decision->event_count, 0);
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
        const struct decision *decision = decide();
        assert_string_equal(READY(decision), rows[i].ready);
        assert_string_equal(text_at(decision, "health.status"), rows[i].health);
        assert_string_equal(text_at(decision, "lastHealthCheck"), NOW);
        assert_string_equal(text_at(decision, "health.lastCheck"), NOW);
        assert_int_equal(value_int_at(decision->status, "observedGeneration", 0), 2);
        if (!rows[i].answer)
            assert_string_equal(MESSAGE(decision), "what happened");
    }
}

static void what_the_server_offers_is_shown(void **state)
{
    (void)state;
    be_answered("{'status':'healthy','message':'fine'}", NOW_S);
    world.backend.known =
        quote(world.arena, "{'signedPath':'Relative','capabilities':{'get':true,'types':['A']}}");
    world.backend.note = "server still uses the previous secret";
    const struct decision *decision = decide();
    assert_string_equal(text_at(decision, "health.message"), "fine");
    assert_string_equal(text_at(decision, "signedPath"), "Relative");
    assert_string_equal(json_of(world.arena, value_find(decision->status, "capabilities")),
                        "{\"get\":true,\"types\":[\"A\"]}");
    assert_string_equal(MESSAGE(decision),
                        HOME " is healthy; server still uses the previous secret");
}

static const char *known_at_first(void)
{
    AUTO_BUFFER text = {0};
    const struct value *known = decide()->backends->known;
    if (!known)
        return "nothing";
    value_write_json(&text, known);
    return arena_copy_text(world.arena, text.at);
}

static void what_the_status_remembers_of_a_server_is_known_to_a_new_backend(void **state)
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
    world.backend.known = quote(world.arena, "{'capabilities':{'metadata':false}}");
    assert_string_equal(text_at(decide(), "server"), HOME);
    assert_string_equal(json_of(world.arena, value_find(world.decision.status, "capabilities")),
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
    const struct decision *decision = decide();
    assert_string_equal(event_of(decision, "HealthChanged"), "ServerUnreachable: refused");
    assert_int_equal(decision->line_count, 1);
    world.status = READY_AS("False", "ServerUnreachable");
    assert_int_equal(decide()->event_count, 0);
}

static void a_moved_server_is_asked_anew_and_noted(void **state)
{
    (void)state;
    world.status = READY_AS("True", "ServerHealthy");
    be_answered("{'status':'healthy'}", NOW_S);
    world.backend.registry = "http://old";
    const struct decision *decision = decide();
    assert_string_equal(READY(decision), "Unknown/HealthCheckPending");
    assert_non_null(event_of(decision, "ServerChanged"));
}

static void a_new_key_is_noted_without_its_content(void **state)
{
    (void)state;
    CLEANUP(secret) struct secret *before = secret_new("one", 3);
    world.spec = HMAC;
    world.status = READY_AS("True", "ServerHealthy");
    be_answered("{'status':'healthy'}", NOW_S - 300);
    world.backend.secret = before;
    world.secret = "'stringData':{'hmac':'one'}";
    assert_null(event_of(decide(), "SecretRotated"));
    world.secret = "'stringData':{'hmac':'s3cret'}";
    const char *note = event_of(decide(), "SecretRotated");
    assert_string_equal(note, "Secret dns/key has a new key hmac: it signs from now on");
    world.secret = NULL;
    assert_null(event_of(decide(), "SecretRotated"));
    world.backend.secret = NULL;
    world.secret = "'stringData':{'hmac':'s3cret'}";
    assert_null(event_of(decide(), "SecretRotated"));
}

static void settings_that_the_provider_refuses_are_told(void **state)
{
    (void)state;
    world.has_backend = true;
    error_set(&world.backend.fault, FAULT_SPEC, "InvalidConfiguration", "caBundle: no certificate");
    const struct decision *decision = decide();
    assert_string_equal(READY(decision), "False/InvalidConfiguration");
    assert_string_equal(MESSAGE(decision), "caBundle: no certificate");
    assert_int_equal(decision->backends->fault.fault, FAULT_NONE);
}

int main(void)
{
#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        UNIT(the_backend_has_what_the_provider_needs),
        UNIT(without_hmac_requests_go_unsigned),
        UNIT(a_changed_spec_or_secret_asks_anew),
        UNIT(what_is_missing_shuts_the_backend_and_is_told),
        UNIT(a_bad_url_opens_no_backend),
        UNIT(a_secret_that_is_not_read_yet_is_not_called_missing),
        UNIT(a_secret_that_cannot_be_read_is_not_called_missing),
        UNIT(before_the_first_answer_the_class_is_pending),
        UNIT(after_a_restart_the_last_word_stands_until_the_next),
        UNIT(answers_become_reasons),
        UNIT(what_the_status_remembers_of_a_server_is_known_to_a_new_backend),
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
