#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/tsig.h"
#include "dns/zone_history.h"

// The answers of a primary that serves other servers only: SOA, AXFR (RFC 5936), IXFR (RFC 1995),
// TSIG (RFC 8945). Octets in, octets out: a transfer is made message by message, as fast as the
// peer reads, of one version from beginning to end.

// What one RR may have for rdata, so that it fits a message with an SOA, a question and a TSIG
// record. A zone with a larger one cannot be transferred: SERVFAIL when its turn comes.
enum { PRIMARY_RDATA_MAX = 64000 };

enum primary_kind { PRIMARY_SOA, PRIMARY_AXFR, PRIMARY_IXFR, PRIMARY_OTHER };

struct primary_request {
    struct text octets; // without the TCP length
    bool is_tcp;
    uint8_t address[16]; // of the peer; IPv4 as ::ffff:a.b.c.d
    int64_t unix_s;
};
// What the owner of the zones says of them.
enum primary_grant {
    PRIMARY_NOTHING,
    PRIMARY_WHOLES, // no differences: what it has of the zone may be another's, or they lead
                    // nowhere
    PRIMARY_ALL,
};
struct primary_calls {
    // NULL: no such key.
    const struct tsig_key *(*key)(void *context, struct dname name);
    // False: not known. history NULL: known, but without a good version (SERVFAIL). `grant` says
    // what that peer with that key (or NULL) may have; `has` is the serial that it has, of an IXFR,
    // else NULL.
    bool (*zone)(void *context, struct dname apex, const uint8_t address[16],
                 const struct tsig_key *key, const uint32_t *has,
                 const struct zone_history **history, enum primary_grant *grant);
    void *context;
};

// An answer under way.
struct primary_answer;
// NULL: nothing is to be answered (no DNS request at all, or an answer). Borrows nothing but keys,
// which must live as long.
struct primary_answer *primary_answer_new(const struct primary_request *request,
                                          const struct primary_calls *calls);
void primary_answer_free(struct primary_answer *answer);
DEFINE_CLEANUP(primary_answer, primary_answer_free)
// The next message, appended without TCP length. False: there is none left, nothing was appended;
// after SERVFAIL in the middle of a transfer the connection had better be closed. `unix_s` is for
// TSIG.
bool primary_answer_next(struct primary_answer *answer, int64_t unix_s, struct buffer *out);
// What it is: for logs, metrics and the fact that a server fetched a serial.
struct primary_reported {
    enum primary_kind kind; // that was asked for, also when it is refused
    bool has_records;       // more than the SOA alone: a transfer
    bool is_incremental;    // IXFR answered with differences
    unsigned rcode;
    unsigned tsig_error; // 0, BADSIG, BADKEY, BADTIME
    uint8_t apex[DNAME_MAX];
    size_t apex_len;
    bool has_serial;
    uint32_t serial;            // of what is answered
    const struct tsig_key *key; // that the request was signed with, verified; or NULL
};
void primary_answer_report(const struct primary_answer *answer, struct primary_reported *out);

// ---- what a primary says of its own accord, and what it asks ------------------------------------

// NOTIFY (RFC 1996) with the new SOA in the answer section. Appends; *mac is for the reply.
bool primary_notify(struct buffer *out, uint16_t id, const struct rrset *soa,
                    const struct tsig_key *key, int64_t unix_s, struct tsig_mac *mac,
                    struct error *err);
// A question for the SOA.
bool primary_probe(struct buffer *out, uint16_t id, struct dname apex, const struct tsig_key *key,
                   int64_t unix_s, struct tsig_mac *mac, struct error *err);
// The reply to either. False with an error: no answer to it, its TSIG is not good, or a refusal
// (fault AUTH, code "REFUSED", "BADKEY", "BADTIME"...). *has_serial: an SOA of that apex was there.
bool primary_reply(struct text octets, uint16_t id, struct dname apex, const struct tsig_key *key,
                   int64_t unix_s, const struct tsig_mac *mac, bool *has_serial, uint32_t *serial,
                   struct error *err);

// ---- a transfer from the other side -------------------------------------------------------------

// Fetches a zone: messages in, a zone out.
struct transfer;
struct transfer *transfer_new(struct dname apex, const struct tsig_key *key); // key may be NULL
void transfer_free(struct transfer *transfer);
DEFINE_CLEANUP(transfer, transfer_free)
bool transfer_request(struct transfer *transfer, uint16_t id, int64_t unix_s, struct buffer *out,
                      struct error *err);
// The next message of the answer. *zone is set (the caller's) when it was the last.
bool transfer_read_reply(struct transfer *transfer, struct text octets, int64_t unix_s,
                         struct zone **zone, struct error *err);
