#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"
#include "dns/dname.h"

// TSIG (RFC 8945), both sides: sign and verify with the time handed in. ldns's own reads the clock
// and skips the fudge check, so only the name encoding is shared with it.

struct tsig_key {
    char name[256];        // lower case, final dot
    enum digest algorithm; // hmac-sha1, -sha224, -sha256, -sha384, -sha512
    struct secret *secret; // owned
};
void tsig_key_done(struct tsig_key *key);
// Name with or without final dot, any case; base64 secret (surrounding blanks are trimmed).
// hmac-md5 and unknown algorithms are refused by name.
bool tsig_key_init(struct tsig_key *key, struct text name, struct text algorithm,
                   struct text secret_base64, struct error *err);
struct text tsig_key_shown(const struct tsig_key *key); // its name as people write it: no final dot
const char *tsig_algorithm_name(enum digest algorithm); // "hmac-sha256."

struct tsig_mac {
    uint8_t octets[DIGEST_MAX];
    size_t len; // 0: none
};

enum { TSIG_FUDGE_S = 300 };

// Appends a TSIG record to the message in `message` (ARCOUNT +1). `request_mac` is the MAC of the
// request when a reply is signed, else NULL. The new MAC goes to *mac.
bool tsig_sign(struct buffer *message, const struct tsig_key *key, int64_t unix_s,
               const struct tsig_mac *request_mac, struct tsig_mac *mac, struct error *err);

// A reply of several messages (RFC 8945 5.3.1): tsig_sign makes the first, this one the later ones.
// *mac is that of the message before, and becomes this one's.
bool tsig_sign_later(struct buffer *message, const struct tsig_key *key, int64_t unix_s,
                     struct tsig_mac *mac, struct error *err);

// What tsig_sign adds to a message, at most.
size_t tsig_octets(const struct tsig_key *key);

enum tsig_result {
    TSIG_GOOD,
    TSIG_ABSENT,
    TSIG_MALFORMED, // answer FORMERR
    TSIG_BADKEY,    // unknown name or algorithm
    TSIG_BADSIG,
    TSIG_BADTIME,
    TSIG_REFUSED_BY_PEER, // a reply whose TSIG error field is set; *peer_error has it
};
// Verifies the message's last additional record. MAC compared in constant time, truncated MACs
// refused, time within fudge checked after the MAC. For a reply, request_mac is what tsig_sign
// returned. *stripped_len gets the length of the message without TSIG, *mac the MAC found.
enum tsig_result tsig_verify(struct text message, const struct tsig_key *key, int64_t unix_s,
                             const struct tsig_mac *request_mac, size_t *stripped_len,
                             struct tsig_mac *mac, unsigned *peer_error);
// A later message of a reply of several. *mac is that of the signed message before; this one's
// takes its place when it is GOOD. `between`: the unsigned messages since then, one behind the
// other, as they came.
enum tsig_result tsig_verify_later(struct text message, const struct tsig_key *key, int64_t unix_s,
                                   struct text between, struct tsig_mac *mac, unsigned *peer_error);

// Whom a request says that it is from, when its key is not known yet.
struct tsig_found {
    uint8_t name[DNAME_MAX]; // of the key
    size_t name_len;
    uint8_t algorithm[DNAME_MAX];
    size_t algorithm_len;
    uint64_t time_s;
};
// GOOD: there is a TSIG record, and it is whole; or ABSENT or MALFORMED.
enum tsig_result tsig_find(struct text message, struct tsig_found *found);

enum { TSIG_ERROR_BADSIG = 16, TSIG_ERROR_BADKEY = 17, TSIG_ERROR_BADTIME = 18 };
// Appends to the reply to such a request the TSIG record that says why it is refused: unsigned, or,
// for BADTIME, signed with `key`, with the request's time and our own in it (RFC 8945 5.2.3).
bool tsig_refuse(struct buffer *reply, const struct tsig_found *found, unsigned error,
                 const struct tsig_key *key, const struct tsig_mac *request_mac, int64_t unix_s,
                 struct error *err);
const char *tsig_error_name(unsigned code); // 16 "BADSIG", 17 "BADKEY", 18 "BADTIME"
