#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dns/message.h"
#include "io/dnsnet.h"
#include "providers/rfc2136/session.h"

// One signed DNS message and its answer, which counts only if its TSIG holds. Errors have status
// and code as the provider API answers them.

struct signed_exchange {
    struct buffer octets; // the request with its TSIG
    struct tsig_mac mac;
    const struct tsig_key *key;
    int64_t unix_s; // when it was signed
};
void signed_exchange_done(struct signed_exchange *signed_exchange);

// Signs the message in exchange->octets.
bool signed_exchange_sign(struct signed_exchange *signed_exchange,
                          const struct rfc2136_session *session, int64_t unix_ms,
                          struct error *err);

// May the answer end the wait over UDP (struct dns_request)? Only what the key vouches for, so that
// nobody off the path makes a request fail. A query can be asked again over TCP: there it may also
// be one that says that it was cut, or that the key is refused, which servers do not sign.
bool signed_exchange_is_wanted(const void *signed_exchange, struct text octets);

enum signed_exchange_result {
    SIGNED_EXCHANGE_GOOD,       // *out is filled; any RCODE
    SIGNED_EXCHANGE_TRUNCATED,  // ask again over TCP; err says so
    SIGNED_EXCHANGE_UNREADABLE, // signed well, but no DNS message: err says so
    SIGNED_EXCHANGE_NONE,       // nothing came, or nothing that can be trusted: err says so
    SIGNED_EXCHANGE_REFUSED,    // the server does not accept our TSIG: err says so
    SIGNED_EXCHANGE_HINT,       // the same, but not signed: nobody vouches for it
};
enum signed_exchange_result signed_exchange_read(const struct signed_exchange *signed_exchange,
                                                 const struct rfc2136_session *session,
                                                 const struct dns_reply *reply, int64_t unix_ms,
                                                 struct arena *arena, struct message *out,
                                                 struct error *err);

// An RCODE as error; what it was about stands in front ("www.example.com A").
void signed_exchange_rcode_error(const struct rfc2136_session *session, unsigned rcode,
                                 const char *about, struct error *err);
// REFUSED as answer to one record's UPDATE alone: it may be about the record, or about the key.
void signed_exchange_refused_record_error(const struct rfc2136_session *session, const char *about,
                                          struct error *err);
// Fault SPEC, reason ValidationFailed, status 400.
bool signed_exchange_spec_error(struct error *err, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Fault SPEC, reason Conflict, status 409, code OWNED_BY_OTHER.
bool signed_exchange_owner_error(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Fault AGAIN, status 503, code SERVER_ERROR.
bool signed_exchange_again_error(struct error *err, const char *reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
