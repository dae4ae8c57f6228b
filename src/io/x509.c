#include "io/x509.h"

#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/x509_pem.h"

enum { SERIAL_OCTETS = 16, COMMON_NAME_MAX = 64, HOSTS_MAX = 32, DNS_NAME_MAX = 253 };

// 9999-12-31T23:59:59Z, the last that a certificate can say.
static const int64_t LAST_S = 253402300799;

struct extension {
    int nid;
    const char *value;
};

DEFINE_CLEANUP(stack_st_GENERAL_NAME, GENERAL_NAMES_free)

void x509_pair_done(struct x509_pair *pair)
{
    free(pair->certificate_pem);
    secret_unref(pair->key_pem);
    *pair = (struct x509_pair){0};
}

static bool refuse(struct error *err, const char *what, const char *text)
{
    ERR_clear_error();
    return error_set(err, FAULT_SPEC, "InvalidCertificate", "%s%s", what, text);
}

// ---- making -------------------------------------------------------------------------------------

static bool check_frame(const char *common_name, int64_t from_s, int64_t until_s, struct error *err)
{
    size_t len = strlen(common_name);
    if (len < 1 || len > COMMON_NAME_MAX || !utf8_is_valid(text_of(common_name)))
        return refuse(err, "", "the name of a certificate has 1 to 64 octets of UTF-8");
    if (from_s < 0 || until_s > LAST_S || from_s >= until_s)
        return refuse(err, "", "a certificate is valid for a time between 1970 and 9999");
    return true;
}

// Positive, of 127 bits, and never zero (RFC 5280, 4.1.2.2).
static void set_serial(X509 *certificate, struct random *random)
{
    unsigned char octets[SERIAL_OCTETS];
    random_fill(random, octets, sizeof(octets));
    octets[0] = (octets[0] & 0x7f) | 0x40;
    BIGNUM *number = BN_bin2bn(octets, sizeof(octets), NULL);
    must(number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)));
    BN_free(number);
}

static X509 *begin(EVP_PKEY *key, struct random *random, const char *common_name, int64_t from_s,
                   int64_t until_s)
{
    X509 *certificate = X509_new();
    must(certificate && X509_set_version(certificate, X509_VERSION_3) == 1);
    set_serial(certificate, random);
    must(ASN1_TIME_set(X509_getm_notBefore(certificate), (time_t)from_s));
    must(ASN1_TIME_set(X509_getm_notAfter(certificate), (time_t)until_s));
    must(X509_set_pubkey(certificate, key) == 1);
    must(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    (const unsigned char *)common_name, -1, -1, 0) == 1);
    return certificate;
}

static void add_extensions(X509 *certificate, X509 *issuer, const struct extension *all,
                           size_t count)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509V3_set_ctx_nodb(&context);
    for (size_t i = 0; i < count; i++) {
        X509_EXTENSION *one = X509V3_EXT_conf_nid(NULL, &context, all[i].nid, all[i].value);
        must(one && X509_add_ext(certificate, one, -1) == 1);
        X509_EXTENSION_free(one);
    }
}

static void finish(struct x509_pair *out, X509 *certificate, X509 *issuer, EVP_PKEY *issuer_key,
                   EVP_PKEY *key)
{
    must(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1);
    must(X509_sign(certificate, issuer_key, EVP_sha256()) > 0);
    *out = (struct x509_pair){.certificate_pem = x509_pem_write(certificate),
                              .key_pem = x509_pem_write_key(key)};
}

static EVP_PKEY *make_key(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    must(key);
    return key;
}

bool x509_make_ca(struct x509_pair *out, struct random *random, const char *common_name,
                  int64_t from_s, int64_t until_s, struct error *err)
{
    static const struct extension extensions[] = {
        {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
        {NID_key_usage, "critical,keyCertSign,cRLSign"},
        {NID_subject_key_identifier, "hash"},
        {NID_authority_key_identifier, "keyid:always"},
    };
    if (!check_frame(common_name, from_s, until_s, err))
        return false;
    CLEANUP(evp_pkey_st) EVP_PKEY *key = make_key();
    CLEANUP(x509_st) X509 *certificate = begin(key, random, common_name, from_s, until_s);
    add_extensions(certificate, certificate, extensions, COUNT_OF(extensions));
    finish(out, certificate, certificate, key, key);
    return true;
}

// The octets of an IP address, or 0.
static int parse_address(const char *host, unsigned char out[16])
{
    if (inet_pton(AF_INET, host, out) == 1)
        return 4;
    return inet_pton(AF_INET6, host, out) == 1 ? 16 : 0;
}

static bool is_dns_name(const char *host)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.*";
    size_t len = strlen(host);
    return len >= 1 && len <= DNS_NAME_MAX && strspn(host, allowed) == len;
}

static void add_name(GENERAL_NAMES *names, const char *host)
{
    unsigned char address[16];
    int len = parse_address(host, address);
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_STRING *value = ASN1_STRING_type_new(len > 0 ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
    must(name && value &&
         ASN1_STRING_set(value, len > 0 ? (const void *)address : host,
                         len > 0 ? len : (int)strlen(host)));
    GENERAL_NAME_set0_value(name, len > 0 ? GEN_IPADD : GEN_DNS, value);
    must(sk_GENERAL_NAME_push(names, name) > 0);
}

static bool add_names(X509 *certificate, const struct x509_leaf *leaf, struct error *err)
{
    unsigned char address[16];
    CLEANUP(stack_st_GENERAL_NAME) GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    must(names);
    if (leaf->host_count < 1 || leaf->host_count > HOSTS_MAX)
        return refuse(err, "", "a certificate is for 1 to 32 hosts");
    for (size_t i = 0; i < leaf->host_count; i++) {
        if (!is_dns_name(leaf->hosts[i]) && parse_address(leaf->hosts[i], address) == 0)
            return refuse(err, leaf->hosts[i], " is neither a DNS name nor an IP address");
        add_name(names, leaf->hosts[i]);
    }
    must(X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1);
    return true;
}

struct signer {
    struct stack_st_X509 *certificates;
    EVP_PKEY *key;
};

static void signer_done(struct signer *signer)
{
    x509_stack_free(signer->certificates);
    EVP_PKEY_free(signer->key);
}

static bool read_signer(struct signer *out, const struct x509_pair *ca, struct error *err)
{
    out->certificates = x509_pem_read(text_of(ca->certificate_pem), err);
    out->key = out->certificates ? x509_pem_read_key(ca->key_pem, err) : NULL;
    if (!out->key)
        return error_prefix(err, "CA: ");
    X509 *certificate = sk_X509_value(out->certificates, 0);
    if (X509_check_private_key(certificate, out->key) != 1)
        return refuse(err, "CA: ", "the key does not belong to the certificate");
    if (X509_check_ca(certificate) != 1)
        return refuse(err, "CA: ", "the certificate is not one of a CA");
    return true;
}

bool x509_make_leaf(struct x509_pair *out, struct random *random, const struct x509_pair *ca,
                    const struct x509_leaf *leaf, struct error *err)
{
    static const struct extension extensions[] = {
        {NID_basic_constraints, "critical,CA:FALSE"},
        {NID_key_usage, "critical,digitalSignature"},
        {NID_ext_key_usage, "serverAuth"},
        {NID_subject_key_identifier, "hash"},
        {NID_authority_key_identifier, "keyid"},
    };
    __attribute__((cleanup(signer_done))) struct signer signer = {0};
    if (!check_frame(leaf->common_name, leaf->from_s, leaf->until_s, err) ||
        !read_signer(&signer, ca, err))
        return false;
    X509 *issuer = sk_X509_value(signer.certificates, 0);
    CLEANUP(evp_pkey_st) EVP_PKEY *key = make_key();
    CLEANUP(x509_st)
    X509 *certificate = begin(key, random, leaf->common_name, leaf->from_s, leaf->until_s);
    if (!add_names(certificate, leaf, err))
        return false;
    add_extensions(certificate, issuer, extensions, COUNT_OF(extensions));
    finish(out, certificate, issuer, signer.key, key);
    return true;
}

// ---- reading ------------------------------------------------------------------------------------

static int64_t time_of(const ASN1_TIME *time)
{
    struct tm broken = {0};
    return ASN1_TIME_to_tm(time, &broken) == 1 ? (int64_t)timegm(&broken) : -1;
}

static void write_pin(X509 *certificate, char *out)
{
    uint8_t octets[DIGEST_MAX];
    AUTO_BUFFER text = {0};
    unsigned char *der = NULL;
    int len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
    must(len > 0);
    digest_of(DIGEST_SHA256, (struct text){(const char *)der, (size_t)len}, octets);
    OPENSSL_free(der);
    base64_encode(&text, octets, digest_len(DIGEST_SHA256));
    snprintf(out, X509_PIN_OCTETS + 1, "sha256//%s", text.at);
}

bool x509_read(struct x509_facts *out, struct text certificate_pem, struct error *err)
{
    CLEANUP(stack_st_X509) struct stack_st_X509 *all = x509_pem_read(certificate_pem, err);
    if (!all)
        return false;
    X509 *certificate = sk_X509_value(all, 0);
    struct x509_facts facts = {.from_s = time_of(X509_get0_notBefore(certificate)),
                               .until_s = time_of(X509_get0_notAfter(certificate)),
                               .is_ca = X509_check_ca(certificate) == 1,
                               .count = (size_t)sk_X509_num(all)};
    if (facts.from_s < 0 || facts.until_s < 0)
        return refuse(err, "", "the validity of the certificate cannot be read");
    write_pin(certificate, facts.pin);
    *out = facts;
    return true;
}

bool x509_check_host(struct text certificate_pem, const char *host, struct error *err)
{
    unsigned char address[16];
    CLEANUP(stack_st_X509) struct stack_st_X509 *all = x509_pem_read(certificate_pem, err);
    if (!all)
        return false;
    int len = parse_address(host, address);
    X509 *certificate = sk_X509_value(all, 0);
    int answer = len > 0 ? X509_check_ip(certificate, address, (size_t)len, 0)
                         : X509_check_host(certificate, host, strlen(host),
                                           X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL);
    if (answer != 1)
        return refuse(err, "the certificate is not for ", host);
    return true;
}

bool x509_check_key(struct text certificate_pem, const struct secret *key_pem, struct error *err)
{
    CLEANUP(stack_st_X509) struct stack_st_X509 *all = x509_pem_read(certificate_pem, err);
    CLEANUP(evp_pkey_st) EVP_PKEY *key = all ? x509_pem_read_key(key_pem, err) : NULL;
    if (!key)
        return false;
    if (X509_check_private_key(sk_X509_value(all, 0), key) != 1)
        return refuse(err, "", "the private key does not belong to the certificate");
    return true;
}

static bool has_signed(X509 *ca, X509 *certificate)
{
    return X509_check_ca(ca) > 0 && X509_check_issued(ca, certificate) == X509_V_OK &&
           X509_verify(certificate, X509_get0_pubkey(ca)) == 1;
}

bool x509_check_signer(struct text certificate_pem, struct text ca_pem, struct error *err)
{
    CLEANUP(stack_st_X509) struct stack_st_X509 *all = x509_pem_read(certificate_pem, err);
    if (!all)
        return false;
    CLEANUP(stack_st_X509) struct stack_st_X509 *cas = x509_pem_read(ca_pem, err);
    if (!cas)
        return error_prefix(err, "CA: ");
    for (int i = 0; i < sk_X509_num(cas); i++) {
        if (has_signed(sk_X509_value(cas, i), sk_X509_value(all, 0)))
            return true;
    }
    return refuse(err, "", "the certificate is not signed by the CA");
}
