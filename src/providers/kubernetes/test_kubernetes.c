#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/test_arena.h"
#include "base/test_certificate.h"
#include "providers/provider.h"

static const struct moment moment = {.unix_ms = 1000, .mono_ms = 1};

#define CLUSTER "clusters: [{name: c, cluster: {server: 'https://203.0.113.9:6443/'%s}}]\n"
#define USER "users: [{name: u, user: {%s}}]\n"
#define CONTEXT "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"

static const char *kubeconfig_of(const char *cluster, const char *user)
{
    return arena_printf(arena, CONTEXT CLUSTER USER, cluster, user);
}

static const char *base64_of(const char *text)
{
    AUTO_BUFFER out = {0};
    base64_encode(&out, text, strlen(text));
    return arena_copy(arena, out.at, out.len);
}

static bool open_session(const char *kubeconfig, void **session, struct error *err)
{
    CLEANUP(secret) struct secret *secret = secret_new(kubeconfig, strlen(kubeconfig));
    const struct session_setup setup = {.config = value_make(arena, VALUE_MAP), .secret = secret};
    return provider_find("kubernetes")->open(&setup, session, err);
}

// ---- an exchange --------------------------------------------------------------------------------

struct bench {
    const struct provider *provider;
    void *session;
    struct job *job;
    void *exchange;
    struct ask ask;
};

static struct bench begin_with(const char *kubeconfig, enum job_kind kind, const char *namespace_)
{
    struct error err = {0};
    struct bench bench = {.provider = provider_find("kubernetes"),
                          .job = arena_new_of(arena, struct job)};
    struct value *about = value_make(arena, VALUE_MAP);
    if (namespace_)
        value_put_text(arena, about, "namespace", namespace_);
    *bench.job =
        (struct job){.kind = kind, .arena = arena, .question = "addresses", .about = about};
    assert_true(open_session(kubeconfig, &bench.session, &err));
    bench.exchange = bench.provider->begin(bench.session, bench.job);
    return bench;
}

static struct bench begin(void)
{
    return begin_with(kubeconfig_of("", "token: s3cret-token"), JOB_QUESTION, "shop");
}

static void end(struct bench *bench)
{
    bench->provider->end(bench->exchange);
    bench->provider->close(bench->session);
}

static enum ask_kind ask(struct bench *bench)
{
    bench->ask = (struct ask){0};
    return bench->provider->ask(bench->exchange, &moment, &bench->ask);
}

static void reply(struct bench *bench, const struct http_reply *reply)
{
    bench->provider->handle_reply(bench->exchange, &moment,
                                  &(struct ask_result){.kind = ASK_HTTP, .http = reply});
}

// The request goes to that path, and is answered with JSON in single quotes.
static void exchange_one(struct bench *bench, const char *path, int status, const char *json)
{
    char *text = arena_copy_text(arena, json);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    assert_int_equal(ask(bench), ASK_HTTP);
    assert_string_equal(bench->ask.http.url,
                        arena_printf(arena, "https://203.0.113.9:6443%s", path));
    reply(bench, &(struct http_reply){.status = status, .body = text_of(text)});
}

static const char *answer_of(struct bench *bench)
{
    AUTO_BUFFER json = {0};
    assert_int_equal(ask(bench), ASK_DONE);
    assert_true(bench->job->health.is_done);
    value_write_json(&json, bench->job->answer);
    end(bench);
    return arena_copy_text(arena, json.at);
}

static const struct error *error_of(struct bench *bench)
{
    assert_int_equal(ask(bench), ASK_DONE);
    assert_false(bench->job->health.is_done);
    assert_null(bench->job->answer);
    end(bench);
    return bench->job->health.error;
}

#define SERVICES "/api/v1/namespaces/shop/services?limit=500"
#define NODES "/api/v1/nodes?limit=500"
#define NODE_PORT "{'items':[{'metadata':{'name':'web'},'spec':{'type':'NodePort'}}]}"

// ---- addresses ----------------------------------------------------------------------------------

static void addresses_of_services_are_read_page_by_page(void **state)
{
    (void)state;
    struct bench bench = begin();
    exchange_one(
        &bench, SERVICES, 200,
        "{'metadata':{'continue':'a/b='},'items':[{'metadata':{'name':'web','managedFields'"
        ":[{'a':1}]},'spec':{'type':'LoadBalancer','clusterIP':'10.0.0.1','clusterIPs':["
        "'10.0.0.1','fd00::1']},'status':{'loadBalancer':{'ingress':[{'ip':'198.51.100.7'},"
        "{'hostname':'lb.example.net'}]}}}]}");
    exchange_one(&bench, SERVICES "&continue=a%2Fb%3D", 200,
                 "{'metadata':{},'items':[{'metadata':{'name':'db'},'spec':{'clusterIP':'None',"
                 "'clusterIPs':['None']}},{'metadata':{'name':'old'},'spec':{'clusterIP':"
                 "'10.0.0.3'}}]}");
    assert_string_equal(answer_of(&bench),
                        "{\"services\":[{\"name\":\"web\",\"clusterIPs\":[\"10.0.0.1\",\"fd00::1\"]"
                        ",\"ips\":[\"198.51.100.7\"],\"hostnames\":[\"lb.example.net\"]},{\"name\":"
                        "\"db\"},{\"name\":\"old\",\"clusterIPs\":[\"10.0.0.3\"]}]}");
}

static void nodes_are_read_where_a_service_is_reached_through_them(void **state)
{
    (void)state;
    struct bench bench = begin();
    exchange_one(&bench, SERVICES, 200, NODE_PORT);
    exchange_one(
        &bench, NODES, 200,
        "{'items':[{'status':{'conditions':[{'type':'Ready','status':'True'}],'addresses':[{'type':"
        "'ExternalIP','address':'198.51.100.1'},{'type':'InternalIP','address':'10.1.0.1'},{'type':"
        "'Hostname','address':'n1'}]}},"
        "{'spec':{'unschedulable':true},'status':{'conditions':[{'type':'Ready','status':'True'}],"
        "'addresses':[{'type':'InternalIP','address':'10.1.0.2'}]}},"
        "{'status':{'conditions':[{'type':'Ready','status':'Unknown'}],'addresses':[{'type':"
        "'InternalIP','address':'10.1.0.3'}]}}]}");
    assert_string_equal(answer_of(&bench),
                        "{\"services\":[{\"name\":\"web\",\"type\":\"NodePort\"}],\"nodes\":[{"
                        "\"externalIPs\":[\"198.51.100.1\"],\"internalIPs\":[\"10.1.0.1\"]}]}");
}

static void services_count_though_nodes_are_forbidden(void **state)
{
    (void)state;
    struct bench bench = begin();
    exchange_one(&bench, SERVICES, 200, NODE_PORT);
    exchange_one(&bench, NODES, 403, "{'kind':'Status','message':'nodes is forbidden'}");
    assert_string_equal(answer_of(&bench),
                        "{\"services\":[{\"name\":\"web\",\"type\":\"NodePort\"}],"
                        "\"nodesUnreadable\":\"HTTP 403: a right is missing there: nodes is "
                        "forbidden\"}");
}

static void nothing_is_said_of_services_when_nodes_fail_otherwise(void **state)
{
    (void)state;
    struct bench bench = begin();
    exchange_one(&bench, SERVICES, 200, NODE_PORT);
    exchange_one(&bench, NODES, 500, "{}");
    assert_int_equal(error_of(&bench)->fault, FAULT_AGAIN);
}

static void a_list_without_end_is_given_up(void **state)
{
    (void)state;
    struct bench bench = begin();
    for (int i = 0; i < 100; i++) {
        assert_int_equal(ask(&bench), ASK_HTTP);
        reply(&bench, &(struct http_reply){.status = 200,
                                           .body = TEXT("{\"metadata\":{\"continue\":\"c\"}}")});
    }
    assert_string_equal(error_of(&bench)->text,
                        "the list has no end: /api/v1/namespaces/shop/services has over 100 pages");
}

static void too_many_services_are_refused(void **state)
{
    (void)state;
    AUTO_BUFFER page = {0};
    struct bench bench = begin();
    buffer_add_text(&page, "{\"items\":[0");
    for (int i = 0; i < 10000; i++)
        buffer_add_text(&page, ",0");
    buffer_add_text(&page, "]}");
    assert_int_equal(ask(&bench), ASK_HTTP);
    assert_int_equal(bench.ask.http.max_body_octets, 8 << 20);
    reply(&bench, &(struct http_reply){.status = 200, .body = buffer_text(&page)});
    assert_non_null(strstr(error_of(&bench)->text, "more than 10000 Services"));
}

static void a_namespace_is_a_name(void **state)
{
    static const char *const names[] = {NULL, "", "a/b", "A", "..", "a b"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct bench bench = begin_with(kubeconfig_of("", "token: t"), JOB_QUESTION, names[i]);
        assert_int_equal(error_of(&bench)->fault, FAULT_SPEC);
    }
}

// ---- failures -----------------------------------------------------------------------------------

static void each_status_has_its_fault(void **state)
{
    static const struct {
        int status;
        enum fault fault;
        const char *reason;
        const char *body;
        const char *text;
    } rows[] = {
        {401, FAULT_AUTH, "AuthenticationFailed", "{'kind':'Status','message':'Unauthorized'}",
         "HTTP 401: the server does not take the credentials of the kubeconfig: Unauthorized"},
        {403, FAULT_AUTH, "Forbidden", "", "HTTP 403: a right is missing there"},
        {404, FAULT_AGAIN, "ServerError", "<html>",
         "HTTP 404: this is no API server of Kubernetes"},
        {302, FAULT_AGAIN, "ServerError", "",
         "HTTP 302: redirects are never followed: name the server itself"},
        {500, FAULT_AGAIN, "ServerError", "sorry", "HTTP 500: sorry"},
        {500, FAULT_AGAIN, "ServerError", "you sent s3cret-token",
         "HTTP 500: (not shown: a secret stands in it)"},
        {200, FAULT_AGAIN, "ServerError", "[]",
         "the answer is no object of an API server: a proxy may stand before it"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench = begin();
        exchange_one(&bench, SERVICES, rows[i].status, rows[i].body);
        const struct error *error = error_of(&bench);
        assert_int_equal(error->fault, rows[i].fault);
        assert_string_equal(error->reason, rows[i].reason);
        assert_string_equal(error->text, rows[i].text);
    }
}

static void a_pause_is_as_long_as_the_server_says(void **state)
{
    static const struct {
        int status;
        const char *value;
        int64_t ms;
    } rows[] = {{429, "7", 7000}, {429, "999999", 3600000}, {429, NULL, 1000}, {429, "-1", 1000},
                {503, "3", 3000}, {503, NULL, 0},           {429, "x", 1000}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench = begin();
        const struct http_header header = {"Retry-After", rows[i].value};
        assert_int_equal(ask(&bench), ASK_HTTP);
        reply(&bench, &(struct http_reply){.status = rows[i].status,
                                           .headers = &header,
                                           .header_count = rows[i].value ? 1 : 0});
        assert_int_equal(error_of(&bench)->retry_ms, rows[i].ms);
    }
}

static struct http_reply silence(void)
{
    struct http_reply reply = {.failure = HTTP_UNREACHABLE};
    error_set(&reply.error, FAULT_AGAIN, "", "connection refused");
    return reply;
}

static void silence_fails_the_question_alone(void **state)
{
    (void)state;
    struct bench bench = begin();
    const struct http_reply none = silence();
    assert_int_equal(ask(&bench), ASK_HTTP);
    reply(&bench, &none);
    assert_false(bench.job->is_transport_failure);
    assert_string_equal(error_of(&bench)->reason, "ServerUnreachable");
}

// ---- health -------------------------------------------------------------------------------------

static void health_is_the_version(void **state)
{
    (void)state;
    struct bench bench = begin_with(kubeconfig_of("", "token: t"), JOB_HEALTH, NULL);
    exchange_one(&bench, "/version", 200, "{'major':'1','gitVersion':'v1.33.1'}");
    assert_false(bench.job->is_transport_failure);
    assert_string_equal(answer_of(&bench), "{\"version\":\"v1.33.1\"}");
}

static void a_server_that_is_silent_is_not_well(void **state)
{
    (void)state;
    struct bench bench = begin_with(kubeconfig_of("", "token: t"), JOB_HEALTH, NULL);
    const struct http_reply none = silence();
    assert_int_equal(ask(&bench), ASK_HTTP);
    reply(&bench, &none);
    assert_true(bench.job->is_transport_failure);
    assert_string_equal(error_of(&bench)->text, "connection refused");
}

// ---- kubeconfigs --------------------------------------------------------------------------------

static const char *authorization_of(const struct bench *bench)
{
    for (size_t i = 0; i < bench->ask.http.header_count; i++)
        if (!strcmp(bench->ask.http.headers[i].name, "Authorization"))
            return bench->ask.http.headers[i].value;
    return "";
}

static void a_user_signs_in_as_its_kubeconfig_says(void **state)
{
    static const char *const rows[][2] = {
        {"token: s3cret", "Bearer s3cret"},
        {"username: jo, password: pw", "Basic am86cHc="},
        {"username: jo", "Basic am86"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench = begin_with(kubeconfig_of("", rows[i][0]), JOB_HEALTH, NULL);
        assert_int_equal(ask(&bench), ASK_HTTP);
        assert_string_equal(authorization_of(&bench), rows[i][1]);
        end(&bench);
    }
}

static void certificates_stand_in_the_kubeconfig(void **state)
{
    (void)state;
    const char *pem = base64_of(test_certificate);
    const char *cluster = arena_printf(
        arena,
        ", certificate-authority-data: %s, certificate-authority: /ca, tls-server-name: api.test, "
        "proxy-url: 'http://proxy.test:3128'",
        pem);
    const char *user =
        arena_printf(arena, "client-certificate-data: %s, client-key-data: %s", pem, pem);
    struct bench bench = begin_with(kubeconfig_of(cluster, user), JOB_HEALTH, NULL);
    assert_int_equal(ask(&bench), ASK_HTTP);
    const struct http_request *http = &bench.ask.http;
    assert_string_equal(http->tls.ca_pem, test_certificate);
    assert_string_equal(http->tls.certificate_pem, test_certificate);
    assert_string_equal(http->tls.key_pem, test_certificate);
    assert_string_equal(http->tls.server_name, "api.test");
    assert_string_equal(http->proxy, "http://proxy.test:3128");
    assert_false(http->tls.is_unverified);
    end(&bench);
    bench = begin_with(kubeconfig_of(", insecure-skip-tls-verify: true", ""), JOB_HEALTH, NULL);
    assert_int_equal(ask(&bench), ASK_HTTP);
    assert_true(bench.ask.http.tls.is_unverified);
    assert_null(bench.ask.http.tls.ca_pem);
    end(&bench);
}

static void what_stands_outside_of_the_kubeconfig_is_refused(void **state)
{
    static const struct {
        const char *cluster;
        const char *user;
        const char *text;
    } rows[] = {
        {"", "exec: {command: x}",
         "kubeconfig:4:32: users[0].user.exec: programs are not run for the cluster of a Secret"},
        {"", "auth-provider: {name: gcp}", "users[0].user.auth-provider: auth providers are not"},
        {"", "tokenFile: /var/run/token", "users[0].user.tokenFile: files are not read"},
        {"", "client-certificate: /c, client-key: /k", "client-certificate-data"},
        {"", "client-key: /k", "client-key-data"},
        {"", "token: t, as: admin", "users[0].user.as: acting as somebody else"},
        {"", "token: t, as-groups: [a]", "users[0].user.as-groups: acting as somebody else"},
        {", certificate-authority: /ca", "", "put the base64 of its content"},
        {", proxy-url: 'ftp://x'", "", "must start with http://"},
        {", certificate-authority-data: x", "", "expected the base64 of PEM"},
        {"", "client-key-data: YQ==", "expected the base64 of PEM"},
        {"", "token: 5", "expected a text, found a number: quote it"},
        {"", "token: \"a\\nb\"", "control characters are not allowed"},
        {"", "token: t, username: u", "cannot be combined with a token"},
        {"", "password: p", "is not set, but a password is"},
        {"", "username: 'a:b'", "a colon is not allowed"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = {0};
        void *session;
        assert_false(open_session(kubeconfig_of(rows[i].cluster, rows[i].user), &session, &err));
        assert_int_equal(err.fault, FAULT_SPEC);
        assert_string_equal(err.reason, "InvalidConfiguration");
        if (!strstr(err.text, rows[i].text))
            fail_msg("%s", err.text);
    }
}

static void what_is_no_kubeconfig_is_refused_and_not_shown(void **state)
{
    static const char *const rows[][2] = {
        {"", "the kubeconfig is empty"},
        {"s3cret", "this is no kubeconfig: expected a map"},
        {"a: [s3cret", "this is not YAML"},
        {"s3cret: 1\ns3cret: 2\n", "kubeconfig:2:1: this is not YAML"},
        {"a: b", "current-context: is not set"},
        {"current-context: x", "contexts: there is no entry of the name x"},
        {"current-context: x\ncontexts: 5", "contexts: expected a list"},
        {"current-context: x\ncontexts: [5]", "contexts[0]: expected a map"},
        {"current-context: x\ncontexts: [{name: x}]", "cluster: is not set"},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]",
         "clusters: there is no entry of the name c"},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
         "clusters: [{name: c, cluster: {}}]",
         "clusters[0].cluster.server: is not set"},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
         "clusters: [{name: c, cluster: {server: 'https://u:s3cret@h'}}]",
         "clusters[0].cluster.server: user info is not allowed"},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
         "clusters: [{name: c, cluster: {server: 'https://h'}}]",
         "users: there is no entry of the name u"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = {0};
        void *session;
        assert_false(open_session(rows[i][0], &session, &err));
        assert_int_equal(err.fault, FAULT_SPEC);
        if (!strstr(err.text, rows[i][1]) || strstr(err.text, "s3cret"))
            fail_msg("%s", err.text);
    }
}

static void changes_are_refused(void **state)
{
    struct change change = {.op = CHANGE_SET};
    struct job job = {.arena = arena, .changes = &change, .change_count = 1};
    struct ask nothing;
    (void)state;
    const struct provider *provider = provider_find("kubernetes");
    void *exchange = provider->begin(NULL, &job);
    assert_int_equal(provider->ask(exchange, &moment, &nothing), ASK_DONE);
    assert_string_equal(change.outcome.error->text,
                        "a cluster takes no records: it can only be asked");
    provider->end(exchange);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(addresses_of_services_are_read_page_by_page),
        UNIT(nodes_are_read_where_a_service_is_reached_through_them),
        UNIT(services_count_though_nodes_are_forbidden),
        UNIT(nothing_is_said_of_services_when_nodes_fail_otherwise),
        UNIT(a_list_without_end_is_given_up),
        UNIT(too_many_services_are_refused),
        UNIT(a_namespace_is_a_name),
        UNIT(each_status_has_its_fault),
        UNIT(a_pause_is_as_long_as_the_server_says),
        UNIT(silence_fails_the_question_alone),
        UNIT(health_is_the_version),
        UNIT(a_server_that_is_silent_is_not_well),
        UNIT(a_user_signs_in_as_its_kubeconfig_says),
        UNIT(certificates_stand_in_the_kubeconfig),
        UNIT(what_stands_outside_of_the_kubeconfig_is_refused),
        UNIT(what_is_no_kubeconfig_is_refused_and_not_shown),
        UNIT(changes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
