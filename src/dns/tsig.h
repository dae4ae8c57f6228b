#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"

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

enum tsig_verdict {
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
enum tsig_verdict tsig_verify(struct text message, const struct tsig_key *key, int64_t unix_s,
                              const struct tsig_mac *request_mac, size_t *stripped_len,
                              struct tsig_mac *mac, unsigned *peer_error);
const char *tsig_error_name(unsigned code); // 16 "BADSIG", 17 "BADKEY", 18 "BADTIME"
