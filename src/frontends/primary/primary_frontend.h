#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "base/url.h"
#include "dns/zones_config.h"
#include "engine/published.h"
#include "io/dns_server.h"

// The hidden primary: answers the servers of the zones configuration, and nobody else, with SOA,
// AXFR and IXFR of the zones that are published. Who may have a zone is for its group to say. What
// a server was told or has fetched becomes a fact of the table of published zones. One log line for
// each transfer, and one for refusals of a peer in a minute.

struct primary_frontend_options {
    struct loop *loop;
    struct random *random;
    struct log *log;               // may be NULL
    struct published *published;   // borrowed
    const struct hostport *listen; // each over UDP and TCP
    size_t listen_count;           // 0: only primary_frontend_ask brings requests
};

struct primary_frontend;
// Fails with the address and errno's text where it will never be had.
struct primary_frontend *primary_frontend_new(const struct primary_frontend_options *options,
                                              struct error *err);
void primary_frontend_free(struct primary_frontend *frontend); // transfers are cut; accepts NULL
// Who may ask from now on; transfers under way go on. Borrowed until the next call or the end of
// the frontend. NULL, as at first: nobody.
void primary_frontend_set_config(struct primary_frontend *frontend,
                                 const struct zones_config *config);
uint16_t primary_frontend_port(const struct primary_frontend *frontend, size_t at);
// The first address that is not listened at, and why. NULL: all are. Borrowed until the next turn
// of the loop.
const char *primary_frontend_trouble(const struct primary_frontend *frontend);
// Every address of both families was asked for, but this machine has no IPv6.
bool primary_frontend_is_ipv4_fallback(const struct primary_frontend *frontend);
void primary_frontend_write_metrics(const struct primary_frontend *frontend, struct buffer *out);
// What the network does: a request, and the answer to it that is under way then, to be ended before
// the frontend. False: none is due.
bool primary_frontend_ask(struct primary_frontend *frontend,
                          const struct dns_server_request *request, struct dns_answer *out);
