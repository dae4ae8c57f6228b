#include "io/http.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/http.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/listen.h"
#include "io/loop.h"
#include "io/loop_event.h"
#include "io/x509.h"
#include "io/x509_pem.h"

// libevent's 200; here it is a value of enum http_failure.
#undef HTTP_OK

enum { PATIENCE_MS = 600 * 1000, DAY_S = 86400 };

enum { CA, NEXT_CA, SERVER, NEXT_SERVER, ANNA, BERT, STRANGER, PAIRS };

// A TLS server that shows the name in its client's certificate, and a small PKI.
struct story {
    struct loop *loop;
    struct http *http;
    struct evhttp *server;
    SSL_CTX *tls;
    unsigned accepted;
    struct x509_pair pairs[PAIRS];
    uint16_t port;
    char url[64];
    struct loop_timer patience;
    enum http_failure failure;
    struct error error;
    bool is_tls;
    char body[128];
};

static const struct plan {
    const char *name;
    int ca; // of itself: a CA
} plans[PAIRS] = {
    [CA] = {"ca", CA},
    [NEXT_CA] = {"ca", NEXT_CA},
    [SERVER] = {"server", CA},
    [NEXT_SERVER] = {"server", NEXT_CA},
    [ANNA] = {"anna", CA},
    [BERT] = {"bert", CA},
    [STRANGER] = {"anna", NEXT_CA},
};

static void make_pairs(struct story *story, int64_t now_s)
{
    static const char *const hosts[] = {"127.0.0.1"};
    for (int i = 0; i < PAIRS; i++) {
        struct x509_leaf leaf = {plans[i].name, hosts, 1, now_s - 60, now_s + DAY_S};
        if (plans[i].ca == i)
            assert_true(x509_make_ca(&story->pairs[i], random_system(), leaf.common_name,
                                     leaf.from_s, leaf.until_s, NULL));
        else
            assert_true(x509_make_leaf(&story->pairs[i], random_system(),
                                       &story->pairs[plans[i].ca], &leaf, NULL));
    }
}

static struct bufferevent *on_accepted(struct event_base *base, void *context)
{
    struct story *story = context;
    story->accepted++;
    return bufferevent_openssl_socket_new(base, -1, SSL_new(story->tls), BUFFEREVENT_SSL_ACCEPTING,
                                          BEV_OPT_CLOSE_ON_FREE);
}

static void on_request(struct evhttp_request *request, void *context)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    SSL *tls = bufferevent_openssl_get_ssl(evhttp_connection_get_bufferevent(connection));
    X509 *certificate = SSL_get0_peer_certificate(tls);
    char name[64] = "nobody";
    (void)context;
    if (certificate)
        X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
                                  sizeof(name));
    evbuffer_add_printf(evhttp_request_get_output_buffer(request), "%s", name);
    evhttp_send_reply(request, 200, NULL, NULL);
}

// New connections get this certificate; clients without one from CA are refused, or none are.
static void serve(struct story *story, int pair, bool is_strict)
{
    static const unsigned char scope[] = "test";
    SSL_CTX_free(story->tls);
    story->tls = SSL_CTX_new(TLS_server_method());
    struct stack_st_X509 *own = x509_pem_read(text_of(story->pairs[pair].certificate_pem), NULL);
    struct stack_st_X509 *cas = x509_pem_read(text_of(story->pairs[CA].certificate_pem), NULL);
    EVP_PKEY *key = x509_pem_read_key(story->pairs[pair].key_pem, NULL);
    SSL_CTX_use_certificate(story->tls, sk_X509_value(own, 0));
    SSL_CTX_use_PrivateKey(story->tls, key);
    SSL_CTX_set_session_id_context(story->tls, scope, sizeof(scope));
    X509_STORE_add_cert(SSL_CTX_get_cert_store(story->tls), sk_X509_value(cas, 0));
    // Our leaves are made for servers.
    X509_VERIFY_PARAM_set_purpose(SSL_CTX_get0_param(story->tls), X509_PURPOSE_ANY);
    SSL_CTX_set_verify(story->tls,
                       SSL_VERIFY_PEER | (is_strict ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
    x509_stack_free(own);
    x509_stack_free(cas);
    EVP_PKEY_free(key);
}

static int set_up(void **state)
{
    struct story *story = mem_new_of(struct story);
    struct listen_socket socket;
    story->loop = loop_new();
    story->http = http_curl_new(story->loop, "signpost/test");
    make_pairs(story, loop_unix_ms(story->loop) / 1000);
    serve(story, SERVER, false);
    assert_true(listen_open(&socket, "127.0.0.1", 0, NULL));
    story->port = socket.port;
    story->server = evhttp_new(loop_event_base(story->loop));
    evhttp_set_bevcb(story->server, on_accepted, story);
    evhttp_set_gencb(story->server, on_request, story);
    evhttp_accept_socket(story->server, socket.fd);
    *state = story;
    return 0;
}

static int tear_down(void **state)
{
    struct story *story = *state;
    http_free(story->http);
    evhttp_free(story->server);
    loop_free(story->loop);
    SSL_CTX_free(story->tls);
    for (size_t i = 0; i < PAIRS; i++)
        x509_pair_done(&story->pairs[i]);
    free(story);
    return 0;
}

static void give_up(void *context)
{
    (void)context;
    fail_msg("nothing happened");
}

static void on_done(void *context, const struct http_reply *reply)
{
    struct story *story = context;
    story->failure = reply->failure;
    story->error = reply->error;
    story->is_tls = reply->is_tls;
    snprintf(story->body, sizeof(story->body), "%.*s", TEXT_ARGS(reply->body));
    loop_stop(story->loop);
}

static struct http_request request_by(struct story *story, int ca, int client)
{
    snprintf(story->url, sizeof(story->url), "https://127.0.0.1:%u/", story->port);
    struct http_request request = {.method = "GET",
                                   .url = story->url,
                                   .timeout_ms = PATIENCE_MS,
                                   .connect_timeout_ms = PATIENCE_MS,
                                   .tls = {.ca_pem = story->pairs[ca].certificate_pem}};
    if (client < PAIRS) {
        request.tls.certificate_pem = story->pairs[client].certificate_pem;
        request.tls.key_pem = secret_expose(story->pairs[client].key_pem).at;
    }
    return request;
}

static void get(struct story *story, const struct http_request *request)
{
    story->patience = (struct loop_timer){.call = give_up};
    loop_timer_set(story->loop, &story->patience, PATIENCE_MS);
    http_send(story->http, request, on_done, story);
    loop_run(story->loop);
    loop_timer_cancel(story->loop, &story->patience);
}

static void expect_answer(struct story *story, const struct http_request *request, const char *body)
{
    get(story, request);
    assert_string_equal(story->error.text, "");
    assert_int_equal(story->failure, HTTP_OK);
    assert_string_equal(story->body, body);
}

static void expect_failure(struct story *story, const struct http_request *request,
                           const char *text)
{
    get(story, request);
    if (!strstr(story->error.text, text))
        print_message("got: %s\n", story->error.text);
    assert_int_equal(story->failure, HTTP_UNREACHABLE);
    assert_int_equal(story->error.fault, FAULT_AGAIN);
    assert_non_null(strstr(story->error.text, text));
}

// ---- tests --------------------------------------------------------------------------------------

static void a_client_shows_its_certificate(void **state)
{
    struct story *story = *state;
    serve(story, SERVER, true);
    struct http_request request = request_by(story, CA, ANNA);
    for (unsigned i = 0; i < 2; i++)
        expect_answer(story, &request, "anna");
    assert_int_equal(story->accepted, 1);
}

static void a_client_without_certificate_or_with_a_strange_one_is_refused(void **state)
{
    struct story *story = *state;
    serve(story, SERVER, true);
    struct http_request request = request_by(story, CA, PAIRS);
    expect_failure(story, &request, ": tlsv13 alert certificate required");
    assert_true(story->is_tls);
    request = request_by(story, CA, STRANGER);
    expect_failure(story, &request, ": tlsv1 alert unknown ca");
    assert_true(story->is_tls);
    assert_string_equal(strstr(story->error.text, "ca"), "ca");
}

static void another_certificate_gets_another_connection(void **state)
{
    struct story *story = *state;
    struct http_request anna = request_by(story, CA, ANNA), bert = request_by(story, CA, BERT),
                        nobody = request_by(story, CA, PAIRS);
    expect_answer(story, &anna, "anna");
    expect_answer(story, &bert, "bert");
    expect_answer(story, &nobody, "nobody");
    assert_int_equal(story->accepted, 3);
    expect_answer(story, &anna, "anna");
    assert_int_equal(story->accepted, 3);
}

static void no_tls_session_outlives_a_change_of_certificate(void **state)
{
    struct story *story = *state;
    static const int clients[] = {ANNA, BERT, PAIRS, ANNA, PAIRS, BERT};
    for (size_t i = 0; i < COUNT_OF(clients); i++) {
        struct http_request request = request_by(story, CA, clients[i]);
        request.is_alone = true;
        expect_answer(story, &request, clients[i] < PAIRS ? plans[clients[i]].name : "nobody");
    }
    assert_int_equal(story->accepted, COUNT_OF(clients));
}

static void another_ca_never_gets_the_old_connection(void **state)
{
    struct story *story = *state;
    struct http_request old = request_by(story, CA, ANNA), next = request_by(story, NEXT_CA, ANNA);
    expect_answer(story, &old, "anna");
    expect_failure(story, &next, "cannot trust 127.0.0.1:");
    serve(story, NEXT_SERVER, true);
    expect_answer(story, &next, "anna");
    assert_int_equal(story->accepted, 3);
    old.is_alone = true;
    expect_failure(story, &old, "cannot trust 127.0.0.1:");
}

static void a_bundle_of_two_cas_trusts_both(void **state)
{
    struct story *story = *state;
    AUTO_BUFFER bundle = {0};
    buffer_add_text(&bundle, story->pairs[NEXT_CA].certificate_pem);
    buffer_add_text(&bundle, story->pairs[CA].certificate_pem);
    struct http_request request = request_by(story, CA, ANNA);
    request.tls.ca_pem = bundle.at;
    request.is_alone = true;
    expect_answer(story, &request, "anna");
    serve(story, NEXT_SERVER, true);
    expect_answer(story, &request, "anna");
}

static void unverified_any_server_is_believed_but_by_nobody_else(void **state)
{
    struct story *story = *state;
    struct http_request request = request_by(story, NEXT_CA, PAIRS);
    request.tls.is_unverified = true;
    expect_answer(story, &request, "nobody");
    request.tls.server_name = "other.test";
    expect_answer(story, &request, "nobody");
    request.tls = (struct http_tls){.is_unverified = true};
    expect_answer(story, &request, "nobody");
    request = request_by(story, NEXT_CA, PAIRS);
    expect_failure(story, &request, "cannot trust 127.0.0.1:");
}

static void a_certificate_that_is_no_use_is_told(void **state)
{
    struct story *story = *state;
    struct http_request request = request_by(story, CA, ANNA);
    request.tls.key_pem = secret_expose(story->pairs[BERT].key_pem).at;
    expect_failure(story, &request, "cannot use the client certificate for 127.0.0.1:");
    assert_non_null(strstr(story->error.text, "need no password"));
    request.tls.key_pem = "nonsense";
    expect_failure(story, &request, "cannot use the client certificate for 127.0.0.1:");
    assert_non_null(strstr(story->error.text, "need no password"));
    request = request_by(story, CA, ANNA);
    request.tls.certificate_pem = "nonsense";
    expect_failure(story, &request, "cannot use the client certificate for 127.0.0.1:");
    assert_non_null(strstr(story->error.text, "need no password"));
}

static void a_key_with_a_password_is_told_without_a_question(void **state)
{
    struct story *story = *state;
    struct http_request request = request_by(story, CA, ANNA);
    EVP_PKEY *key = x509_pem_read_key(story->pairs[ANNA].key_pem, NULL);
    BIO *out = BIO_new(BIO_s_mem());
    char *at = NULL;
    PEM_write_bio_PKCS8PrivateKey(out, key, EVP_aes_128_cbc(), "secret", 6, NULL, NULL);
    BIO_write(out, "", 1);
    BIO_get_mem_data(out, &at);
    request.tls.key_pem = at;
    expect_failure(story, &request, "cannot use the client certificate for 127.0.0.1:");
    assert_non_null(strstr(story->error.text, "need no password"));
    BIO_free(out);
    EVP_PKEY_free(key);
}

static void a_proxy_with_tls_is_trusted_by_the_same_ca(void **state)
{
    struct story *story = *state;
    char proxy[64];
    struct http_request request = request_by(story, CA, PAIRS);
    snprintf(proxy, sizeof(proxy), "https://127.0.0.1:%u", story->port);
    request.url = "http://signpost.example/";
    request.proxy = proxy;
    expect_answer(story, &request, "nobody");
    request = request_by(story, NEXT_CA, PAIRS);
    request.url = "http://signpost.example/";
    request.proxy = proxy;
    request.is_alone = true;
    expect_failure(story, &request, "cannot trust signpost.example:80 through the proxy: ");
    request.tls.is_unverified = true;
    expect_answer(story, &request, "nobody");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_shows_its_certificate),
        TEST(a_client_without_certificate_or_with_a_strange_one_is_refused),
        TEST(another_certificate_gets_another_connection),
        TEST(no_tls_session_outlives_a_change_of_certificate),
        TEST(another_ca_never_gets_the_old_connection),
        TEST(a_bundle_of_two_cas_trusts_both),
        TEST(unverified_any_server_is_believed_but_by_nobody_else),
        TEST(a_proxy_with_tls_is_trusted_by_the_same_ca),
        TEST(a_certificate_that_is_no_use_is_told),
        TEST(a_key_with_a_password_is_told_without_a_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
