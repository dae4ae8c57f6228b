#include "kinds/private_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/digest.h"

// Of one Ed25519 key that was made for this test.
#define PKCS8 "MC4CAQAwBQYDK2VwBCIEIFP7gnKsDKfawEEPnSzbTtAuafQFqJBp3hCEi6LOo0jp"
#define PUBLIC "MCowBQYDK2VwAyEAKMZpoVWNSNT9iLuhBETgg9bLJtvOl28+JBoPMAWqH+U="
#define CERTIFICATE                                                                                \
    "MIIBLDCB36ADAgECAhQJ6zbRsDunfaEKYDAikFxi3FZ7tjAFBgMrZXAwDDEKMAgGA1UEAwwBYTAeFw0yNjExMjkwMjAz" \
    "MDVaFw0yNjExMzAwMjAzMDVaMAwxCjAIBgNVBAMMAWEwKjAFBgMrZXADIQAoxmmhVY1I1P2Iu6EEROCD1ssm286Xbz4k" \
    "Gg8wBaof5aNTMFEwHQYDVR0OBBYEFPN41n+JrDVCAuIEGeP1PMd5/gp3MB8GA1UdIwQYMBaAFPN41n+JrDVCAuIEGeP1" \
    "PMd5/gp3MA8GA1UdEwEB/wQFMAMBAf8wBQYDK2VwA0EAQ7WE8W9YMZvGheXugPwRQOhA367cotPelgjTVLXh4b2Eklnu" \
    "n59Q4Nj8H2ViTNZbQ+vsWR+uPKCMsy7g/s/NBQ=="
#define REQUEST                                                                                    \
    "MIGLMD8CAQAwDDEKMAgGA1UEAwwBYTAqMAUGAytlcAMhACjGaaFVjUjU/Yi7oQRE4IPWyybbzpdvPiQaDzAFqh/loAAw" \
    "BQYDK2VwA0EAgYMYMsFIRjlVYST8jgN3ssxED9SVk1bO8y83ztedHSzojEhTakL8LtRPIxxcrrOTvHcEaUO6ZVNMjViq" \
    "WrG5Bw=="

static void keys_are_found_in_each_form(void **state)
{
    static const char *const keys[] = {
        "-----BEGIN RSA PRIVATE KEY-----\nMII",
        PKCS8,
        "MC4CAQAwBQYDK2VwBCIE\n IFP7gnKsDKfawEEPnSzbTtAuafQFqJBp3hCEi6LOo0jp\r\n",
        // Without padding, and in the alphabet of URLs.
        "MHcCAQEEIEGAh5f1p7fzBCJ8pZiyF_sU0N11zX_Zo_R9m21U7-lhoAoGCCqGSM49AwEHoUQDQgAEm8XnEFh5vQw-"
        "s6_"
        "irj0BWzOs-fgTk3E-Pb7mz3ZhxMztKe1cQUJzHnKt1oaF0SkxFPAX3zXFg_ta-rJYV7rIng",
        // Under a password.
        "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAg5vMJnFsPdtQICCAAwDAYIKoZIhvcNAgkFADAdBglghk"
        "gB"
        "ZQMEASoEEK/tXJUGVgwULpjCFcFjr1YEQMRHX0ccN7will8zdJW73u30O+cjO9Tozp6TAdqWzRHos9sE5x/"
        "wqtW5y2/"
        "s3jDLfHa04p0V0wayhcxrY08sCxQ=",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        assert_true(private_key_is_in(text_of(keys[i])));
}

static bool is_found_in_base64(const char *octets, size_t len)
{
    AUTO_BUFFER text = {0};
    base64_encode(&text, octets, len);
    return private_key_is_in(buffer_text(&text));
}
#define IN_BASE64(octets) is_found_in_base64(octets, sizeof(octets) - 1)

static void base64_is_looked_into(void **state)
{
    (void)state;
    assert_true(IN_BASE64("-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nMC4C"));
    assert_true(IN_BASE64("openssh-key-v1\0none"));
    assert_true(IN_BASE64("\x30\x06\x02\x01\x00\x02\x01\x05"));         // PKCS#1 and DSA
    assert_true(IN_BASE64("\x30\x05\x02\x01\x03\x30\x00"));             // PKCS#12
    assert_true(IN_BASE64("\x30\x00\x30\x06\x02\x01\x00\x02\x01\x05")); // behind a certificate
    assert_false(IN_BASE64("\x30\x07\x02\x02\x01\x00\x02\x01\x05"));    // a public key of PKCS#1
    assert_false(IN_BASE64("\x30\x86\x01\x01\x01\x01\x01\x01"));
    assert_false(IN_BASE64("\x30\x84\xff\xff\xff\xff\x02\x01\x00"));
    assert_false(IN_BASE64("\x30\x03\x02\x01\x00"));
    assert_false(IN_BASE64("-----BEGIN CERTIFICATE-----\nMC4C"));
}

static void what_may_be_known_is_no_private_key(void **state)
{
    static const char *const texts[] = {
        "",
        "=",
        "====",
        "a",
        "tls",
        "MDAw",
        PUBLIC,
        REQUEST,
        CERTIFICATE,
        "-----BEGIN CERTIFICATE-----\n" CERTIFICATE,
        "\xc3\xa9",
        "example.org",
        "MC4CAQAwBQYD!K2Vw",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (private_key_is_in(text_of(texts[i])))
            fail_msg("%s", texts[i]);
    assert_false(private_key_is_in((struct text){0}));
    assert_false(private_key_is_in((struct text){"MC4C\0AQAw", 9}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_found_in_each_form),
        cmocka_unit_test(base64_is_looked_into),
        cmocka_unit_test(what_may_be_known_is_no_private_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
