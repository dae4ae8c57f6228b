#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

// An http or https URL as base address of a server. No user info, query or fragment.
struct url {
    bool is_https;
    char host[256]; // lower case; IPv6 without brackets
    bool is_ipv6;
    uint16_t port;   // the scheme's default filled in
    char path[1024]; // prefix with leading and without trailing "/", or ""
};

// Error texts name what is wrong: "user info is not allowed", ... Names are letters, digits, "-"
// and "_" (an international one in its xn-- form); addresses come out in canonical form; "." and
// ".." segments are refused.
bool url_parse(struct url *url, struct text text, struct error *err);
// Normalised: lower-case scheme and host, default port and trailing "/" dropped.
void url_write(struct buffer *out, const struct url *url);
// host[:port] for a Host header; default port dropped.
void url_write_host(struct buffer *out, const struct url *url);

// "ADDR:PORT", "[v6]:PORT", ":PORT", bare ADDR when default_port is not 0. Host may be a name only
// if allow_names; else `localhost` is 127.0.0.1. Port 0 (the system chooses) is let through.
struct hostport {
    char host[256]; // "" for the wildcard
    uint16_t port;
};
bool hostport_parse(struct hostport *out, struct text text, uint16_t default_port, bool allow_names,
                    struct error *err);
void hostport_write(struct buffer *out, const struct hostport *at);
