#pragma once

#include "base/digest.h"
#include "dns/corefile/corefile.h"

// By what one tells which Corefile a CoreDNS runs.

// The config id: 16 hex digits. A Corefile that names its own id, in the answer of `chaos`, is
// hashed as if zeroes stood there.
enum { CONFIG_ID_LEN = 16 };
#define CONFIG_ID_PREFIX "signpost-"
void config_id_of(struct text text, char out[CONFIG_ID_LEN + 1]);
// The id that a Corefile names, borrowed; absent: none.
struct text config_id_find(struct text text);

// The value of the metric coredns_reload_version_info for a file that was loaded: the SHA-512, in
// hex, of its blocks as JSON, as Go writes that.
enum { RELOAD_HASH_LEN = 2 * DIGEST_MAX };
void corefile_reload_hash(const struct corefile *corefile, char out[RELOAD_HASH_LEN + 1]);
