#pragma once

#include <stdbool.h>
#include <stdint.h>

// Which proxy an HTTP request takes, by the rules of Go programs: HTTP_PROXY, HTTPS_PROXY and
// NO_PROXY (upper case before lower case), localhost and loopback addresses never. NO_PROXY is a
// list by commas of `*`, addresses, CIDRs and domains, each but a CIDR with an optional port;
// `example.org` means the domain and all below it, `.example.org` and `*.example.org` only what is
// below.

struct http_proxies {
    char *http; // URL of the proxy or NULL
    char *https;
    char *exceptions; // NO_PROXY or NULL
};

// Reads the environment.
void http_proxies_init(struct http_proxies *proxies);
void http_proxies_done(struct http_proxies *proxies);
// A proxy as Go reads it, for libcurl: without scheme an HTTP one, and SOCKS5 resolves names
// itself. NULL stays NULL, empty stays empty. Caller frees.
char *http_proxy_copy(const char *value);
// The proxy's URL, or NULL for none. The host is without brackets.
const char *http_proxies_find(const struct http_proxies *proxies, bool is_https, const char *host,
                              uint16_t port);
