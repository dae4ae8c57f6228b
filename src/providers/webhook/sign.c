#include "providers/webhook/sign.h"

void sign_request(const struct hmac_key *key, enum digest algorithm, const struct sign_input *input,
                  char out[SIGNATURE_MAX])
{
    uint8_t mac[DIGEST_MAX];
    const struct text lf = TEXT("\n");
    const struct text pieces[] = {input->method, lf, input->path, lf, input->timestamp, lf,
                                  input->nonce,  lf, input->body};
    size_t count = input->body.len ? 9 : 7;
    hmac_with(key, pieces, count, mac);
    hex_encode(mac, digest_len(algorithm), out);
}
