#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"
#include "io/random.h"

// Certificates that we make ourselves, and what has to be known of others: P-256 and SHA-256, all
// of it PEM as in a Secret of type kubernetes.io/tls. Nothing here reads a clock: times are unix
// seconds from the caller. Serial numbers come from `random`, keys and signatures from OpenSSL.
//
//     struct x509_pair ca = {0}, leaf = {0};
//     if (!x509_make_ca(&ca, random, "signpost-webhook-ca", from_s, until_s, err))
//         return false;
//     const char *const hosts[] = {"signpost.dns.svc", "10.0.0.7"};
//     struct x509_leaf options = {.common_name = hosts[0], .hosts = hosts, .host_count = 2, ...};
//     bool is_made = x509_make_leaf(&leaf, random, &ca, &options, err);
//
// Failures are FAULT_SPEC, reason "InvalidCertificate"; no text shows a key.

struct x509_pair {
    char *certificate_pem;  // one certificate
    struct secret *key_pem; // PKCS #8, not encrypted
};
void x509_pair_done(struct x509_pair *pair); // leaves it zeroed; accepts the half-built

// Self-signed, may sign leaves only (path length 0). The name is 1 to 64 octets. Times are whole
// seconds from 1970 to 9999, from before until. Two CAs of one name are told apart by key
// identifiers, so that both can stand in a bundle.
bool x509_make_ca(struct x509_pair *out, struct random *random, const char *common_name,
                  int64_t from_s, int64_t until_s, struct error *err);

struct x509_leaf {
    const char *common_name; // 1 to 64 octets; nobody checks a server by it
    const char *const *hosts;
    size_t host_count; // 1 to 32: DNS names and IP addresses (IPv6 without brackets)
    int64_t from_s;
    int64_t until_s;
};
// For a server. Fails when the CA's pair does not belong together or is no CA.
bool x509_make_leaf(struct x509_pair *out, struct random *random, const struct x509_pair *ca,
                    const struct x509_leaf *leaf, struct error *err);

// ---- reading: of several certificates in the PEM the first counts, unless said otherwise --------

enum { X509_PIN_OCTETS = 52 };

struct x509_facts {
    int64_t from_s; // notBefore
    int64_t until_s;
    bool is_ca;
    size_t count; // certificates in the PEM, 64 at most
    // "sha256//" and the base64 of the SHA-256 of the public key (its SubjectPublicKeyInfo): what
    // stays when the same key gets another certificate.
    char pin[X509_PIN_OCTETS + 1];
};
// Fails when any of them cannot be read, or there is none.
bool x509_read(struct x509_facts *out, struct text certificate_pem, struct error *err);
// Would a client that wants this host (DNS name or IP address) take the certificate? By its subject
// alternative names alone, wildcards included. The error names the host.
bool x509_check_host(struct text certificate_pem, const char *host, struct error *err);
// Does this private key belong to the certificate?
bool x509_check_key(struct text certificate_pem, const struct secret *key_pem, struct error *err);
// Did one of these CAs sign it? Their validity in time is not looked at.
bool x509_check_signer(struct text certificate_pem, struct text ca_pem, struct error *err);
