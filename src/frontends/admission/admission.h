#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/kind.h"
#include "base/secret.h"
#include "base/text.h"

// Admission over HTTPS: POST /validate-<group with dashes>-<version>-<kind> for each of our kinds,
// and for kinds of others. Of what those carry for us it warns, and never denies (kind.advised);
// kinds that an option has it judge it denies as our own (kind.judged_with).
// The peer's /mutate-... paths answer "allowed", so that a configuration that was left over blocks
// nobody. Every replica serves; nothing is asked of the API server. Connections are closed until a
// certificate is there.

struct hostport;
struct admission_options {
    const char *address; // "" = all
    uint16_t port;
    const struct kind *const
        *kinds; // foreign ones are left out, unless they are advised or judged_with
    size_t kind_count;
    // What other objects say to one whose own content is in order; adds to `findings`. Or NULL.
    void (*judge)(void *context, const struct kind *kind, const struct value *object,
                  struct findings *findings);
    // As http_server_options has it.
    void (*listening)(void *context, const struct hostport *at, const char *trouble);
    void *context;
};

struct admission;
struct loop;
struct admission *admission_new(struct loop *loop, const struct admission_options *options,
                                struct error *err);
void admission_free(struct admission *admission);
const char *admission_trouble(const struct admission *admission); // why it does not listen, or NULL
uint16_t admission_port(const struct admission *admission);
// For connections from now on; fails and changes nothing when the two do not belong together.
bool admission_set_certificate(struct admission *admission, struct text certificate_pem,
                               const struct secret *key_pem, struct error *err);
// Replies carry `Connection: close` from now on.
void admission_drain(struct admission *admission);
void admission_write_metrics(const struct admission *admission, struct buffer *out);
// "/validate-dns-homelab-mortenolsen-pro-v1alpha1-dnsrecord", appended; `verb` is "validate".
void admission_path(struct buffer *out, const char *verb, const struct kind *kind);
