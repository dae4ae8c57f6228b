#pragma once

// For tests: the certificate of a made-up authority, whose key is nowhere.
static const char test_certificate[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBeTCCAR+gAwIBAgIUBUgeD1GGFPo1SZLm3XWruSqcjo0wCgYIKoZIzj0EAwIw\n"
    "EjEQMA4GA1UEAwwHY29ycC1jYTAeFw0yNjExMjgxMDIzMDJaFw0zNjExMjUxMDIz\n"
    "MDJaMBIxEDAOBgNVBAMMB2NvcnAtY2EwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n"
    "AAR7KGZHmmG0Q61m33DUyxuq342VZPrWsvwByWQejebSmAw7WZaWCPYlcutcHiKK\n"
    "jgt8pufCXQ0bGvb+5OU3zY0Ko1MwUTAdBgNVHQ4EFgQUUGnpbcQhHaU+Ui2rd+jn\n"
    "GbG9PUswHwYDVR0jBBgwFoAUUGnpbcQhHaU+Ui2rd+jnGbG9PUswDwYDVR0TAQH/\n"
    "BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBAf7f64wCrjCM0AGAfugav2NPqaiGr\n"
    "NnCEnEkC5Hy6HAIhAKDwtDFoMTWg7xBJe48ksjUU4TJMG2FOEowHqGyZaPS1\n"
    "-----END CERTIFICATE-----\n";
