#include "io/http.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/listen.h"
#include "io/loop.h"
#include "io/loop_event.h"
#include "io/x509.h"

// libevent's 200; here it is a value of enum http_failure.
#undef HTTP_OK

enum { PATIENCE_MS = 600 * 1000 };

// A TLS server that shows the Host header, with a certificate of its own for signpost.test.
struct story {
    struct loop *loop;
    struct http *http;
    struct evhttp *server;
    SSL_CTX *tls;
    char *pem;
    uint16_t port;
    char url[64];
    struct loop_timer patience;
    enum http_failure failure;
    struct error error;
    bool is_unsent;
    bool is_tls;
    bool is_other_key;
    struct http_peer peer;
    unsigned accepted;
    char body[128];
};

static X509 *make_certificate(EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:signpost.test");
    X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    return certificate;
}

static char *write_pem(X509 *certificate)
{
    BIO *out = BIO_new(BIO_s_mem());
    BUF_MEM *memory = NULL;
    PEM_write_bio_X509(out, certificate);
    BIO_get_mem_ptr(out, &memory);
    char *pem = mem_new(1, memory->length + 1);
    memcpy(pem, memory->data, memory->length);
    BIO_free(out);
    return pem;
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
    (void)context;
    const char *host = evhttp_find_header(evhttp_request_get_input_headers(request), "Host");
    evbuffer_add_printf(evhttp_request_get_output_buffer(request), "%s %s", host,
                        evhttp_request_get_uri(request));
    evhttp_send_reply(request, 200, NULL, NULL);
}

static int set_up(void **state)
{
    struct story *story = mem_new_of(struct story);
    struct listen_socket socket;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = make_certificate(key);
    story->loop = loop_new();
    story->http = http_curl_new(story->loop, "signpost/test");
    story->tls = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(story->tls, certificate);
    SSL_CTX_use_PrivateKey(story->tls, key);
    story->pem = write_pem(certificate);
    X509_free(certificate);
    EVP_PKEY_free(key);
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
    free(story->pem);
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
    story->is_unsent = reply->is_unsent;
    story->is_tls = reply->is_tls;
    story->is_other_key = reply->is_other_key;
    story->peer = reply->peer;
    snprintf(story->body, sizeof(story->body), "%.*s", TEXT_ARGS(reply->body));
    loop_stop(story->loop);
}

static struct http_request request_to(struct story *story)
{
    snprintf(story->url, sizeof(story->url), "https://127.0.0.1:%u/p?q", story->port);
    return (struct http_request){.method = "GET",
                                 .url = story->url,
                                 .timeout_ms = PATIENCE_MS,
                                 .connect_timeout_ms = PATIENCE_MS,
                                 .tls = {.ca_pem = story->pem, .server_name = "signpost.test"}};
}

static void get(struct story *story, const struct http_request *request)
{
    story->patience = (struct loop_timer){.call = give_up};
    loop_timer_set(story->loop, &story->patience, PATIENCE_MS);
    http_send(story->http, request, on_done, story);
    loop_run(story->loop);
    loop_timer_cancel(story->loop, &story->patience);
}

static void a_server_is_checked_by_another_name_than_its_own(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story);
    char expected[64];
    snprintf(expected, sizeof(expected), "127.0.0.1:%u /p?q", story->port);
    for (unsigned i = 0; i < 2; i++) {
        get(story, &request);
        assert_string_equal(story->error.text, "");
        assert_int_equal(story->failure, HTTP_OK);
        assert_string_equal(story->body, expected);
    }
}

static void the_name_of_the_url_counts_without_another(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story);
    char expected[64];
    request.tls.server_name = NULL;
    get(story, &request);
    snprintf(expected, sizeof(expected), "cannot trust 127.0.0.1:%u: ", story->port);
    assert_int_equal(story->failure, HTTP_UNREACHABLE);
    assert_int_equal(strncmp(story->error.text, expected, strlen(expected)), 0);
}

static void without_its_ca_a_server_is_not_trusted(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story);
    request.tls.ca_pem = NULL;
    get(story, &request);
    assert_int_equal(story->failure, HTTP_UNREACHABLE);
    assert_non_null(strstr(story->error.text, "cannot trust"));
    assert_true(story->is_tls && story->is_unsent);
}

static void a_trusted_connection_is_not_lent_to_others(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story);
    get(story, &request);
    assert_int_equal(story->failure, HTTP_OK);
    request.tls.ca_pem = NULL;
    get(story, &request);
    assert_int_equal(story->failure, HTTP_UNREACHABLE);
}

static void what_is_no_certificate_is_named(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story);
    request.tls.ca_pem = "nonsense";
    get(story, &request);
    assert_int_equal(story->failure, HTTP_UNREACHABLE);
    assert_non_null(strstr(story->error.text, "ca certificates"));
    assert_true(story->is_tls);
}

static void old_versions_are_refused(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story);
    SSL_CTX_set_min_proto_version(story->tls, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(story->tls, TLS1_1_VERSION);
    get(story, &request);
    assert_int_equal(story->failure, HTTP_UNREACHABLE);
    assert_non_null(strstr(story->error.text, "tls handshake failed with 127.0.0.1:"));
}

static void a_server_that_speaks_no_tls_is_told_as_that(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story);
    evhttp_set_bevcb(story->server, NULL, NULL);
    get(story, &request);
    assert_int_equal(story->failure, HTTP_UNREACHABLE);
    assert_non_null(strstr(story->error.text, "the server may not speak TLS on this port"));
}

static void a_handshake_without_answer_times_out(void **state)
{
    struct story *story = *state;
    struct listen_socket silent;
    char expected[128];
    struct http_request request = request_to(story);
    assert_true(listen_open(&silent, "127.0.0.1", 0, NULL));
    snprintf(story->url, sizeof(story->url), "https://127.0.0.1:%u/", silent.port);
    request.connect_timeout_ms = 30;
    get(story, &request);
    close(silent.fd);
    snprintf(expected, sizeof(expected), "cannot connect to 127.0.0.1:%u within 30 ms",
             silent.port);
    assert_int_equal(story->failure, HTTP_TIMEOUT);
    assert_string_equal(story->error.text, expected);
}

static void hang_up(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from,
                    int from_len, void *context)
{
    (void)listener;
    (void)from;
    (void)from_len;
    (void)context;
    close(fd);
}

static void a_connection_that_ends_during_the_handshake_says_nothing_of_certificates(void **state)
{
    struct story *story = *state;
    struct listen_socket socket;
    char expected[128];
    struct http_request request = request_to(story);
    assert_true(listen_open(&socket, "127.0.0.1", 0, NULL));
    struct evconnlistener *listener =
        evconnlistener_new(loop_event_base(story->loop), hang_up, NULL, 0, 0, socket.fd);
    snprintf(story->url, sizeof(story->url), "https://127.0.0.1:%u/", socket.port);
    get(story, &request);
    evconnlistener_free(listener);
    close(socket.fd);
    snprintf(expected, sizeof(expected),
             "lost the connection to 127.0.0.1:%u: it ended during the TLS handshake", socket.port);
    assert_int_equal(story->failure, HTTP_UNREACHABLE);
    assert_string_equal(story->error.text, expected);
    assert_false(story->is_tls);
    assert_true(story->is_unsent);
}

// ---- pins ---------------------------------------------------------------------------------------

static const char other_pin[] = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

static struct http_request pinned_request(struct story *story, const char *pin)
{
    struct http_request request = request_to(story);
    request.tls = (struct http_tls){.pin = pin};
    request.is_single = true;
    return request;
}

// As anybody else would work it out from the certificate.
static void read_pin(const struct story *story, struct x509_facts *facts)
{
    assert_true(x509_read(facts, text_of(story->pem), NULL));
}

static void a_server_is_believed_by_its_key_alone(void **state)
{
    struct story *story = *state;
    struct x509_facts facts;
    read_pin(story, &facts);
    struct http_request request = pinned_request(story, facts.pin);
    get(story, &request);
    assert_int_equal(story->failure, HTTP_OK);
    assert_string_equal(story->peer.pin, facts.pin);
    assert_int_equal(story->peer.until_s, facts.until_s);
    request.tls.server_name = "pi.hole";
    get(story, &request);
    assert_int_equal(story->failure, HTTP_OK);
}

static void a_server_with_another_key_is_told_by_both(void **state)
{
    struct story *story = *state;
    struct x509_facts facts;
    char expected[256];
    read_pin(story, &facts);
    struct http_request request = pinned_request(story, other_pin);
    request.tls.ca_pem = story->pem;
    request.tls.server_name = "signpost.test";
    get(story, &request);
    snprintf(expected, sizeof(expected),
             "cannot trust 127.0.0.1:%u: its key is %s, not the pinned %s", story->port, facts.pin,
             other_pin);
    assert_int_equal(story->failure, HTTP_UNREACHABLE);
    assert_true(story->is_tls && story->is_other_key && story->is_unsent);
    assert_string_equal(story->error.text, expected);
    assert_string_equal(story->peer.pin, facts.pin);
    assert_int_equal(story->peer.until_s, facts.until_s);
}

static void other_failures_are_not_those_of_a_pin(void **state)
{
    struct story *story = *state;
    struct http_request request = pinned_request(story, other_pin);
    evhttp_set_bevcb(story->server, NULL, NULL);
    get(story, &request);
    assert_int_equal(story->failure, HTTP_UNREACHABLE);
    assert_false(story->is_other_key);
    assert_string_equal(story->peer.pin, "");
}

static void a_key_is_learnt_from_a_server_that_is_not_known(void **state)
{
    struct story *story = *state;
    struct x509_facts facts;
    read_pin(story, &facts);
    struct http_request request = pinned_request(story, NULL);
    request.tls.is_unverified = true;
    get(story, &request);
    assert_string_equal(story->peer.pin, "");
    request.tls.reports_peer = true;
    request.is_single = false;
    get(story, &request);
    assert_int_equal(story->failure, HTTP_OK);
    assert_string_equal(story->peer.pin, facts.pin);
    assert_int_equal(story->peer.until_s, facts.until_s);
    get(story, &request);
    assert_string_equal(story->peer.pin, "");
}

static void a_pin_is_no_pin_for_the_connection_of_another(void **state)
{
    struct story *story = *state;
    struct x509_facts facts;
    read_pin(story, &facts);
    struct http_request request = pinned_request(story, facts.pin);
    get(story, &request);
    get(story, &request);
    assert_int_equal(story->accepted, 1);
    request.tls.pin = other_pin;
    get(story, &request);
    assert_true(story->is_other_key);
    assert_int_equal(story->accepted, 2);
}

static void what_is_no_pin_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "learn",
        "/etc/hostname",
        "sha256//",
        "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=;",
        "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=;sha256//AAAA",
    };
    struct story *story = *state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct http_request request = pinned_request(story, texts[i]);
        get(story, &request);
        assert_int_equal(story->failure, HTTP_UNREACHABLE);
        assert_string_equal(story->error.reason, "InvalidRequest");
    }
    assert_int_equal(story->accepted, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_server_is_checked_by_another_name_than_its_own),
        TEST(the_name_of_the_url_counts_without_another),
        TEST(without_its_ca_a_server_is_not_trusted),
        TEST(a_trusted_connection_is_not_lent_to_others),
        TEST(what_is_no_certificate_is_named),
        TEST(old_versions_are_refused),
        TEST(a_server_that_speaks_no_tls_is_told_as_that),
        TEST(a_handshake_without_answer_times_out),
        TEST(a_connection_that_ends_during_the_handshake_says_nothing_of_certificates),
        TEST(a_server_is_believed_by_its_key_alone),
        TEST(a_server_with_another_key_is_told_by_both),
        TEST(other_failures_are_not_those_of_a_pin),
        TEST(a_key_is_learnt_from_a_server_that_is_not_known),
        TEST(a_pin_is_no_pin_for_the_connection_of_another),
        TEST(what_is_no_pin_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
