#include "io/x509.h"

#include <openssl/asn1.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/x509_pem.h"

// 2026-01-01 and 90 days more; ten years more.
enum { DAY_S = 86400 };
static const int64_t FROM_S = 1767225600;
static const int64_t UNTIL_S = 1767225600 + 90LL * DAY_S;
static const int64_t CA_UNTIL_S = 1767225600 + 3650LL * DAY_S;

static const char *const hosts[] = {"signpost.dns.svc", "signpost.dns.svc.cluster.local",
                                    "*.wild.test", "10.0.0.7", "2001:db8::7"};

struct counting {
    struct random random;
    uint8_t next;
};

static void fill_counting(struct random *random, void *out, size_t len)
{
    struct counting *counting = (struct counting *)random;
    uint8_t *at = out;
    for (size_t i = 0; i < len; i++)
        at[i] = counting->next++;
}

struct story {
    struct counting random;
    struct x509_pair ca;
    struct x509_pair leaf;
    struct error err;
};

static struct x509_leaf leaf_options(void)
{
    return (struct x509_leaf){.common_name = hosts[0],
                              .hosts = hosts,
                              .host_count = COUNT_OF(hosts),
                              .from_s = FROM_S,
                              .until_s = UNTIL_S};
}

static int set_up(void **state)
{
    struct story *story = mem_new_of(struct story);
    struct x509_leaf options = leaf_options();
    story->random = (struct counting){.random = {.fill = fill_counting}, .next = 0xf0};
    assert_true(x509_make_ca(&story->ca, &story->random.random, "signpost CA", FROM_S, CA_UNTIL_S,
                             &story->err));
    assert_true(
        x509_make_leaf(&story->leaf, &story->random.random, &story->ca, &options, &story->err));
    *state = story;
    return 0;
}

static int tear_down(void **state)
{
    struct story *story = *state;
    x509_pair_done(&story->leaf);
    x509_pair_done(&story->ca);
    free(story);
    return 0;
}

static struct text pem_of(const struct x509_pair *pair)
{
    return text_of(pair->certificate_pem);
}

static X509 *open_certificate(const struct x509_pair *pair)
{
    BIO *in = BIO_new_mem_buf(pair->certificate_pem, -1);
    X509 *certificate = PEM_read_bio_X509(in, NULL, NULL, NULL);
    assert_non_null(certificate);
    BIO_free(in);
    return certificate;
}

// What `openssl verify -purpose sslserver -attime ... -verify_hostname ...` says.
static int verify(const struct x509_pair *ca, const struct x509_pair *leaf, const char *host,
                  int64_t at_s)
{
    X509 *root = open_certificate(ca), *certificate = open_certificate(leaf);
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    X509_STORE_add_cert(store, root);
    assert_int_equal(X509_STORE_CTX_init(context, store, certificate, NULL), 1);
    X509_VERIFY_PARAM *wanted = X509_STORE_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_flags(wanted, X509_V_FLAG_X509_STRICT);
    X509_VERIFY_PARAM_set_purpose(wanted, X509_PURPOSE_SSL_SERVER);
    X509_VERIFY_PARAM_set_time(wanted, (time_t)at_s);
    X509_VERIFY_PARAM_set1_host(wanted, host, 0);
    int code = X509_verify_cert(context) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(context);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    X509_free(certificate);
    X509_free(root);
    return code;
}

// ---- making -------------------------------------------------------------------------------------

static void a_leaf_is_taken_by_who_knows_its_ca(void **state)
{
    struct story *story = *state;
    assert_int_equal(verify(&story->ca, &story->leaf, hosts[0], FROM_S + 1), X509_V_OK);
    assert_int_equal(verify(&story->ca, &story->leaf, "a.wild.test", UNTIL_S - 1), X509_V_OK);
    assert_int_equal(verify(&story->ca, &story->leaf, "other.test", FROM_S + 1),
                     X509_V_ERR_HOSTNAME_MISMATCH);
    assert_int_equal(verify(&story->ca, &story->leaf, hosts[0], UNTIL_S + 1),
                     X509_V_ERR_CERT_HAS_EXPIRED);
    assert_int_equal(verify(&story->ca, &story->leaf, hosts[0], FROM_S - 1),
                     X509_V_ERR_CERT_NOT_YET_VALID);
}

static void another_ca_of_the_same_name_does_not_do(void **state)
{
    struct story *story = *state;
    struct x509_pair other;
    assert_true(
        x509_make_ca(&other, &story->random.random, "signpost CA", FROM_S, CA_UNTIL_S, NULL));
    assert_int_not_equal(verify(&other, &story->leaf, hosts[0], FROM_S + 1), X509_V_OK);
    assert_false(x509_check_signer(pem_of(&story->leaf), pem_of(&other), &story->err));
    assert_string_equal(story->err.text, "the certificate is not signed by the CA");
    assert_int_equal(story->err.fault, FAULT_SPEC);
    x509_pair_done(&other);
}

static void serial_numbers_come_from_the_random_numbers_handed_in(void **state)
{
    struct story *story = *state;
    X509 *certificate = open_certificate(&story->ca);
    const ASN1_INTEGER *serial = X509_get0_serialNumber(certificate);
    unsigned char expected[16];
    for (size_t i = 0; i < sizeof(expected); i++)
        expected[i] = (unsigned char)(0xf0 + i);
    expected[0] = 0x70;
    assert_int_equal(ASN1_STRING_type(serial), V_ASN1_INTEGER);
    assert_int_equal(ASN1_STRING_length(serial), sizeof(expected));
    assert_memory_equal(ASN1_STRING_get0_data(serial), expected, sizeof(expected));
    X509_free(certificate);
}

static void keys_are_of_the_curve_p_256(void **state)
{
    struct story *story = *state;
    char group[32];
    EVP_PKEY *key = x509_pem_read_key(story->leaf.key_pem, NULL);
    assert_int_equal(EVP_PKEY_get_group_name(key, group, sizeof(group), NULL), 1);
    assert_string_equal(group, "prime256v1");
    EVP_PKEY_free(key);
    assert_true(text_starts(secret_expose(story->leaf.key_pem), "-----BEGIN PRIVATE KEY-----\n"));
}

static void what_cannot_stand_in_a_certificate_is_refused(void **state)
{
    struct story *story = *state;
    static const char *const bad[] = {"", "a b", "a,DNS:b", "http://a", "[::1]", "a\nb"};
    struct x509_leaf options = leaf_options();
    struct x509_pair out = {0};
    options.host_count = 1;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        options.hosts = &bad[i];
        assert_false(
            x509_make_leaf(&out, &story->random.random, &story->ca, &options, &story->err));
        assert_non_null(strstr(story->err.text, "is neither a DNS name nor an IP address"));
    }
    options = leaf_options();
    options.host_count = 0;
    assert_false(x509_make_leaf(&out, &story->random.random, &story->ca, &options, &story->err));
    options = leaf_options();
    options.until_s = options.from_s;
    assert_false(x509_make_leaf(&out, &story->random.random, &story->ca, &options, &story->err));
    options = leaf_options();
    options.until_s = 253402300800;
    assert_false(x509_make_leaf(&out, &story->random.random, &story->ca, &options, &story->err));
    assert_false(x509_make_ca(&out, &story->random.random, "", FROM_S, UNTIL_S, &story->err));
    assert_null(out.certificate_pem);
}

static void only_a_ca_signs(void **state)
{
    struct story *story = *state;
    struct x509_leaf options = leaf_options();
    struct x509_pair out = {0};
    struct x509_pair mixed = {story->ca.certificate_pem, story->leaf.key_pem};
    assert_false(x509_make_leaf(&out, &story->random.random, &story->leaf, &options, &story->err));
    assert_string_equal(story->err.text, "CA: the certificate is not one of a CA");
    assert_false(x509_make_leaf(&out, &story->random.random, &mixed, &options, &story->err));
    assert_string_equal(story->err.text, "CA: the key does not belong to the certificate");
    mixed.key_pem = NULL;
    assert_false(x509_make_leaf(&out, &story->random.random, &mixed, &options, &story->err));
    mixed.certificate_pem = NULL;
    assert_false(x509_make_leaf(&out, &story->random.random, &mixed, &options, &story->err));
    assert_string_equal(story->err.text, "CA: no certificate: expected PEM");
}

// ---- reading ------------------------------------------------------------------------------------

static void the_facts_of_a_certificate_are_read(void **state)
{
    struct story *story = *state;
    struct x509_facts facts;
    AUTO_BUFFER bundle = {0};
    assert_true(x509_read(&facts, pem_of(&story->leaf), &story->err));
    assert_int_equal(facts.from_s, FROM_S);
    assert_int_equal(facts.until_s, UNTIL_S);
    assert_false(facts.is_ca);
    assert_int_equal(facts.count, 1);
    buffer_add_text(&bundle, story->ca.certificate_pem);
    buffer_add_text(&bundle, story->leaf.certificate_pem);
    assert_true(x509_read(&facts, buffer_text(&bundle), &story->err));
    assert_int_equal(facts.until_s, CA_UNTIL_S);
    assert_true(facts.is_ca);
    assert_int_equal(facts.count, 2);
}

static void times_beyond_2049_are_read_and_written(void **state)
{
    struct story *story = *state;
    struct x509_pair late;
    struct x509_facts facts;
    assert_true(x509_make_ca(&late, &story->random.random, "late", 0, 253402300799, NULL));
    assert_true(x509_read(&facts, pem_of(&late), &story->err));
    assert_int_equal(facts.from_s, 0);
    assert_int_equal(facts.until_s, 253402300799);
    x509_pair_done(&late);
}

static void hosts_are_found_by_name_wildcard_and_address(void **state)
{
    struct story *story = *state;
    static const char *const good[] = {"signpost.dns.svc", "SIGNPOST.dns.svc.cluster.local",
                                       "a.wild.test", "10.0.0.7", "2001:DB8:0::7"};
    static const char *const bad[] = {"other.test", "wild.test",   "a.b.wild.test",
                                      "10.0.0.8",   "2001:db8::8", "signpost CA"};
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(x509_check_host(pem_of(&story->leaf), good[i], &story->err));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(x509_check_host(pem_of(&story->leaf), bad[i], &story->err));
    assert_string_equal(story->err.text, "the certificate is not for signpost CA");
}

static void a_key_belongs_to_one_certificate(void **state)
{
    struct story *story = *state;
    assert_true(x509_check_key(pem_of(&story->leaf), story->leaf.key_pem, &story->err));
    assert_false(x509_check_key(pem_of(&story->leaf), story->ca.key_pem, &story->err));
    assert_string_equal(story->err.text, "the private key does not belong to the certificate");
    assert_false(x509_check_key(pem_of(&story->leaf), NULL, &story->err));
}

static void the_signer_is_found_among_several(void **state)
{
    struct story *story = *state;
    struct x509_pair other;
    AUTO_BUFFER bundle = {0};
    assert_true(
        x509_make_ca(&other, &story->random.random, "signpost CA", FROM_S, CA_UNTIL_S, NULL));
    buffer_add_text(&bundle, other.certificate_pem);
    buffer_add_text(&bundle, story->ca.certificate_pem);
    assert_true(x509_check_signer(pem_of(&story->leaf), buffer_text(&bundle), &story->err));
    assert_true(x509_check_signer(pem_of(&story->ca), pem_of(&story->ca), &story->err));
    assert_false(x509_check_signer(pem_of(&story->ca), pem_of(&story->leaf), &story->err));
    x509_pair_done(&other);
}

static void what_is_no_certificate_is_told(void **state)
{
    struct story *story = *state;
    struct x509_facts facts;
    AUTO_BUFFER broken = {0};
    assert_false(x509_read(&facts, TEXT(""), &story->err));
    assert_string_equal(story->err.text, "no certificate: expected PEM");
    assert_false(x509_read(&facts, (struct text){NULL, 0}, &story->err));
    assert_false(x509_read(&facts, TEXT("nonsense"), &story->err));
    assert_false(x509_read(&facts, secret_expose(story->ca.key_pem), &story->err));
    buffer_add_text(&broken, story->ca.certificate_pem);
    buffer_add(&broken, story->ca.certificate_pem, strlen(story->ca.certificate_pem) - 40);
    assert_false(x509_read(&facts, buffer_text(&broken), &story->err));
    assert_string_equal(story->err.text, "a certificate cannot be read: its PEM is broken");
    buffer_clear(&broken);
    for (unsigned i = 0; i < 65; i++)
        buffer_add_text(&broken, story->ca.certificate_pem);
    assert_false(x509_read(&facts, buffer_text(&broken), &story->err));
    assert_string_equal(story->err.text, "more than 64 certificates");
}

static void a_key_with_a_password_is_refused_without_a_question(void **state)
{
    struct story *story = *state;
    EVP_PKEY *key = x509_pem_read_key(story->leaf.key_pem, NULL);
    BIO *out = BIO_new(BIO_s_mem());
    char *at = NULL;
    assert_int_equal(
        PEM_write_bio_PKCS8PrivateKey(out, key, EVP_aes_128_cbc(), "secret", 6, NULL, NULL), 1);
    long len = BIO_get_mem_data(out, &at);
    CLEANUP(secret) struct secret *locked = secret_new(at, (size_t)len);
    assert_false(x509_check_key(pem_of(&story->leaf), locked, &story->err));
    assert_string_equal(story->err.text,
                        "the private key cannot be read: expected PEM without password");
    BIO_free(out);
    EVP_PKEY_free(key);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_leaf_is_taken_by_who_knows_its_ca),
        TEST(another_ca_of_the_same_name_does_not_do),
        TEST(serial_numbers_come_from_the_random_numbers_handed_in),
        TEST(keys_are_of_the_curve_p_256),
        TEST(what_cannot_stand_in_a_certificate_is_refused),
        TEST(only_a_ca_signs),
        TEST(the_facts_of_a_certificate_are_read),
        TEST(times_beyond_2049_are_read_and_written),
        TEST(hosts_are_found_by_name_wildcard_and_address),
        TEST(a_key_belongs_to_one_certificate),
        TEST(the_signer_is_found_among_several),
        TEST(what_is_no_certificate_is_told),
        TEST(a_key_with_a_password_is_refused_without_a_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
