#include "base/must.h"
#include "dns/tsig.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

enum { NOW_S = 1700000000, HEADER = 12 };

static enum tsig_result verify(struct text octets, const struct tsig_key *key,
                               const struct tsig_mac *request_mac)
{
    struct tsig_mac mac;
    size_t stripped_len;
    unsigned peer_error;
    enum tsig_result result =
        tsig_verify(octets, key, NOW_S, request_mac, &stripped_len, &mac, &peer_error);
    must(stripped_len <= octets.len && mac.len <= DIGEST_MAX);
    return result;
}

// Nobody without the key makes a good signature, and ours is good on every message that a TSIG can
// stand in.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    struct text octets = {(const char *)at, len};
    struct tsig_key key;
    must(tsig_key_init(&key, TEXT("signpost.key"), TEXT("hmac-sha256"),
                       TEXT("c2lnbnBvc3Qgc2lnbnBvc3Q="), NULL));
    struct tsig_mac request_mac = {.len = 32}, mac;
    enum tsig_result before = verify(octets, &key, NULL);
    must(before != TSIG_GOOD && before != TSIG_BADTIME);
    must(verify(octets, &key, &request_mac) != TSIG_GOOD);
    AUTO_BUFFER message = {0};
    buffer_add(&message, at, len);
    if (len >= HEADER && tsig_sign(&message, &key, NOW_S, &request_mac, &mac, NULL)) {
        bool is_good = verify(buffer_text(&message), &key, &request_mac) == TSIG_GOOD;
        must(is_good == (before == TSIG_ABSENT));
    }
    tsig_key_done(&key);
    return 0;
}
