#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "frontends/provider_api/spans.h"

// Nonces that were used, each until its time stamp + 300 s. Resident, at most a million; kept as
// digests of 16 octets. Never forgets one early: when full it says so.
// The clock may jump ahead and back. So a second whose nonces were forgotten is over for good: no
// nonce with a stamp of that second is new any more.

enum nonce_result { NONCE_NEW, NONCE_USED, NONCE_FULL, NONCE_FORGOTTEN };

struct nonces;
struct nonces *nonces_new(size_t limit);
void nonces_free(struct nonces *nonces);
// Remembers a new one. Expired ones go first. `stamp_s` is the request's time stamp.
enum nonce_result nonces_use(struct nonces *nonces, struct text nonce, int64_t stamp_s,
                             int64_t now_s);
// By digest: for the state log. One that is not live any more makes its second a forgotten one.
void nonces_digest(struct text nonce, uint8_t out[16]);
void nonces_restore(struct nonces *nonces, const uint8_t digest[16], int64_t stamp_s,
                    int64_t now_s);
size_t nonces_count(const struct nonces *nonces);
void nonces_each(const struct nonces *nonces,
                 void (*call)(void *context, const uint8_t digest[16], int64_t stamp_s),
                 void *context);
// Seconds that are over, for the state log.
void nonces_restore_forgotten(struct nonces *nonces, struct span span);
void nonces_each_forgotten(const struct nonces *nonces,
                           void (*call)(void *context, struct span span), void *context);
