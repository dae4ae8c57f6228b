#include "io/x509_pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/must.h"

// OpenSSL would ask the terminal.
static int no_password(char *out, int size, int is_writing, void *context)
{
    (void)out, (void)size, (void)is_writing, (void)context;
    return -1;
}

static bool refuse(struct error *err, const char *text)
{
    ERR_clear_error();
    return error_set(err, FAULT_SPEC, "InvalidCertificate", "%s", text);
}

static BIO *open_text(struct text pem)
{
    BIO *in = BIO_new_mem_buf(pem.len > 0 ? pem.at : "", (int)pem.len);
    must(in);
    return in;
}

// Behind the last one OpenSSL finds no further first line.
static bool is_at_end(void)
{
    unsigned long code = ERR_peek_last_error();
    return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}

struct stack_st_X509 *x509_pem_read(struct text pem, struct error *err)
{
    CLEANUP(stack_st_X509) struct stack_st_X509 *all = sk_X509_new_null();
    X509 *next;
    must(all);
    if (pem.len > X509_PEM_OCTETS_MAX)
        return refuse(err, "certificates are over 1 MiB"), NULL;
    CLEANUP(bio_st) BIO *in = open_text(pem);
    ERR_clear_error();
    while ((next = PEM_read_bio_X509(in, NULL, no_password, NULL))) {
        must(sk_X509_push(all, next) > 0);
        if (sk_X509_num(all) > X509_PEM_COUNT_MAX)
            return refuse(err, "more than 64 certificates"), NULL;
    }
    if (!is_at_end())
        return refuse(err, "a certificate cannot be read: its PEM is broken"), NULL;
    if (sk_X509_num(all) == 0)
        return refuse(err, "no certificate: expected PEM"), NULL;
    ERR_clear_error();
    return steal(all);
}

EVP_PKEY *x509_pem_read_key(const struct secret *pem, struct error *err)
{
    struct text text = pem ? secret_expose(pem) : TEXT("");
    if (text.len > X509_PEM_OCTETS_MAX)
        return refuse(err, "the private key is over 1 MiB"), NULL;
    CLEANUP(bio_st) BIO *in = open_text(text);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, no_password, NULL);
    if (!key)
        return refuse(err, "the private key cannot be read: expected PEM without password"), NULL;
    ERR_clear_error();
    return key;
}

char *x509_pem_write(X509 *certificate)
{
    CLEANUP(bio_st) BIO *out = BIO_new(BIO_s_mem());
    char *at = NULL;
    must(out && PEM_write_bio_X509(out, certificate) == 1);
    long len = BIO_get_mem_data(out, &at);
    struct buffer pem = {0};
    buffer_add(&pem, at, (size_t)len);
    return buffer_steal(&pem);
}

struct secret *x509_pem_write_key(EVP_PKEY *key)
{
    CLEANUP(bio_st) BIO *out = BIO_new(BIO_s_secmem());
    char *at = NULL;
    must(out && PEM_write_bio_PKCS8PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) == 1);
    long len = BIO_get_mem_data(out, &at);
    return secret_new(at, (size_t)len);
}
