#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"

// Private to this room: PEM to OpenSSL's own and back, for x509.c and the HTTP server.

static inline void x509_stack_free(struct stack_st_X509 *certificates)
{
    sk_X509_pop_free(certificates, X509_free);
}
DEFINE_CLEANUP(x509_st, X509_free)
DEFINE_CLEANUP(stack_st_X509, x509_stack_free)
DEFINE_CLEANUP(evp_pkey_st, EVP_PKEY_free)
DEFINE_CLEANUP(bio_st, BIO_free_all)

enum { X509_PEM_OCTETS_MAX = 1024 * 1024, X509_PEM_COUNT_MAX = 64 };

// All certificates of a PEM text in their order, one at least; NULL when any cannot be read.
struct stack_st_X509 *x509_pem_read(struct text pem, struct error *err);
// NULL when it is none, or asks for a password.
EVP_PKEY *x509_pem_read_key(const struct secret *pem, struct error *err);
// Caller frees with free().
char *x509_pem_write(X509 *certificate);
struct secret *x509_pem_write_key(EVP_PKEY *key);
