#include "io/http_tls.h"

#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <string.h>

#include "base/must.h"
#include "io/x509_pem.h"

DEFINE_CLEANUP(ssl_ctx_st, SSL_CTX_free)

// To a loopback URL an API server offers h2 first.
static int choose_protocol(SSL *tls, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *offered, unsigned len, void *context)
{
    static const char wanted[] = "http/1.1";
    (void)tls, (void)context;
    for (unsigned at = 0; at < len; at += 1u + offered[at]) {
        if (offered[at] != sizeof(wanted) - 1 || len - at < sizeof(wanted) ||
            memcmp(offered + at + 1, wanted, sizeof(wanted) - 1) != 0)
            continue;
        *out = offered + at + 1;
        *out_len = offered[at];
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static bool refuse(struct error *err)
{
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    error_set(err, FAULT_SPEC, "InvalidCertificate", "the certificate cannot be used: %s",
              why ? why : "unknown reason");
    ERR_clear_error();
    return false;
}

static bool use_pair(SSL_CTX *context, const struct http_server_tls *tls, struct error *err)
{
    CLEANUP(stack_st_X509) struct stack_st_X509 *chain = x509_pem_read(tls->certificate_pem, err);
    CLEANUP(evp_pkey_st) EVP_PKEY *key = chain ? x509_pem_read_key(tls->key_pem, err) : NULL;
    if (!key)
        return false;
    if (X509_check_private_key(sk_X509_value(chain, 0), key) != 1) {
        ERR_clear_error();
        return error_set(err, FAULT_SPEC, "InvalidCertificate",
                         "the private key does not belong to the certificate");
    }
    bool is_usable = SSL_CTX_use_certificate(context, sk_X509_value(chain, 0)) == 1 &&
                     SSL_CTX_use_PrivateKey(context, key) == 1;
    for (int i = 1; is_usable && i < sk_X509_num(chain); i++)
        is_usable = SSL_CTX_add1_chain_cert(context, sk_X509_value(chain, i)) == 1;
    return is_usable || refuse(err);
}

SSL_CTX *http_tls_context(const struct http_server_tls *tls, struct error *err)
{
    CLEANUP(ssl_ctx_st) SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    must(context);
    must(SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    // Connections are kept, so sessions need not be; and none outlives its certificate.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    must(SSL_CTX_set_num_tickets(context, 0) == 1);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    if (!use_pair(context, tls, err))
        return NULL;
    return steal(context);
}

struct bufferevent *http_tls_stream(struct event_base *base, SSL_CTX *context)
{
    SSL *tls = SSL_new(context);
    must(tls);
    struct bufferevent *stream = bufferevent_openssl_socket_new(
        base, -1, tls, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
    must(stream);
    bufferevent_openssl_set_allow_dirty_shutdown(stream, 1);
    return stream;
}

void http_tls_close(SSL *tls)
{
    if (!tls || !SSL_is_init_finished(tls))
        return;
    SSL_shutdown(tls);
    ERR_clear_error();
}
