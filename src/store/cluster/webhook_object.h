#pragma once

#include "base/text.h"
#include "base/value.h"
#include "store/cluster/webhook_cert.h"

// The two API objects around the certificates of the admission webhook: the Secret and the
// ValidatingWebhookConfiguration, read from and written as JSON.

// A field that is missing or no base64 is left out: the plan mends it. `out` is the caller's.
void webhook_keys_read(const struct value *secret, struct webhook_keys *out);
// Is it one that we made, or an empty one that was prepared for us? Another is somebody else's.
bool webhook_secret_is_ours(const struct value *secret);
// The body of a create, and of a merge patch that wants this resourceVersion. Both hold keys: the
// buffer is the caller's to wipe, and never grows by copies.
void webhook_keys_write_new(struct buffer *out, const char *namespace_, const char *name,
                            const struct webhook_keys *keys);
void webhook_keys_write_patch(struct buffer *out, const char *version,
                              const struct webhook_keys *keys);

// Where our frontend is reached. A webhook of a configuration that leads elsewhere is somebody
// else's.
struct webhook_hosts {
    const char *const *items; // "signpost.dns.svc"
    size_t count;
};
// NULL: there is no configuration.
void webhook_bundle_read(struct arena *arena, const struct value *configuration,
                         const struct webhook_hosts *hosts, struct webhook_bundle *out);
// JSON patch that puts the bundle into every webhook of ours, if all still is as it was read.
void webhook_bundle_write_patch(struct buffer *out, const struct value *configuration,
                                const struct webhook_hosts *hosts, const char *pem);
