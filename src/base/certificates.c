#include "base/certificates.h"

#include <limits.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/memory.h"

// Reads the next certificate of the text. False: there is none, or one that is broken.
static bool read_certificate(BIO *in)
{
    X509 *certificate = PEM_read_bio_X509(in, NULL, NULL, NULL);
    X509_free(certificate);
    return certificate != NULL;
}

bool certificates_has_any(struct text pem)
{
    bool is_found = false;
    if (!pem.len || pem.len > INT_MAX)
        return false;
    BIO *in = BIO_new_mem_buf(pem.at, (int)pem.len);
    // A broken one is passed over: its lines are consumed.
    while (!is_found && !BIO_eof(in))
        is_found = read_certificate(in);
    BIO_free_all(in);
    ERR_clear_error();
    return is_found;
}
