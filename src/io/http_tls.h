#pragma once

// Before evhttp, whose HTTP_OK is a macro.
#include "io/http_server.h"

#include <event2/bufferevent.h>
#include <openssl/ssl.h>

// Private to the HTTP server: TLS 1.2 and later on its connections.

// NULL when certificate and key cannot be used.
SSL_CTX *http_tls_context(const struct http_server_tls *tls, struct error *err);
// A stream that waits for its descriptor and closes it; it keeps the context alive.
struct bufferevent *http_tls_stream(struct event_base *base, SSL_CTX *context);
// The other side is told that nothing more comes. Accepts NULL.
void http_tls_close(SSL *tls);
