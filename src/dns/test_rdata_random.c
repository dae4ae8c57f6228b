#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/rdata.h"
#include "dns/rr_type.h"

// Pseudo-random rdata of every type, the same at each run.

enum { ROUNDS = 150, MUTATIONS = 60 };

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};
static const struct rdata_rules rules = {.origin = &shop, .names = DNAME_OF_FILE};

static uint32_t next(uint64_t *state, uint32_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32) % below;
}

// ---- made rdata ---------------------------------------------------------------------------------

static void add_octets(struct buffer *out, uint64_t *state, size_t len)
{
    while (len--)
        buffer_add_char(out, (char)next(state, 256));
}

static void add_string(struct buffer *out, uint64_t *state, size_t max)
{
    size_t len = next(state, (uint32_t)max + 1);
    buffer_add_char(out, (char)len);
    add_octets(out, state, len);
}

// Of letters, and at times of any octets, upper case apart.
static void add_label(struct buffer *out, uint64_t *state)
{
    size_t len = next(state, 20) ? 1 + next(state, 9) : DNAME_LABEL_MAX;
    bool is_odd = next(state, 8) == 0;
    buffer_add_char(out, (char)len);
    while (len--) {
        char odd = (char)next(state, 256);
        bool may_be = is_odd && !(odd >= 'A' && odd <= 'Z');
        buffer_add_char(out, may_be ? odd : (char)('a' + next(state, 26)));
    }
}

static void add_name(struct buffer *out, uint64_t *state)
{
    for (size_t labels = next(state, 4); labels; labels--)
        add_label(out, state);
    buffer_add_char(out, 0);
}

static void add_bitmap(struct buffer *out, uint64_t *state)
{
    for (uint32_t window = next(state, 2); window < 256; window += 1 + next(state, 200)) {
        uint8_t head[] = {(uint8_t)window, (uint8_t)(1 + next(state, 32))};
        buffer_add(out, head, sizeof head);
        add_octets(out, state, head[1] - 1u);
        buffer_add_char(out, (char)(1 + next(state, 255)));
    }
}

static void add_digits(struct buffer *out, uint64_t *state)
{
    size_t len = 4 + next(state, 10);
    buffer_add_char(out, (char)len);
    while (len--)
        buffer_add_char(out, (char)('0' + next(state, 10)));
}

static void add_tag(struct buffer *out, uint64_t *state)
{
    size_t len = 1 + next(state, 15);
    buffer_add_char(out, (char)len);
    while (len--)
        buffer_add_char(out, "abcdefghijklmnopqrstuvwxyz0123456789"[next(state, 36)]);
}

static void add_prefixes(struct buffer *out, uint64_t *state)
{
    for (size_t count = next(state, 4); count; count--) {
        bool is_ip4 = next(state, 2);
        size_t len = next(state, is_ip4 ? 5 : 17);
        uint8_t head[] = {0, is_ip4 ? 1 : 2, (uint8_t)next(state, is_ip4 ? 33 : 129),
                          (uint8_t)(len | (next(state, 2) ? 0x80 : 0))};
        buffer_add(out, head, sizeof head);
        if (len) {
            add_octets(out, state, len - 1);
            buffer_add_char(out, (char)(1 + next(state, 255)));
        }
    }
}

static void add_u32(struct buffer *out, uint32_t number)
{
    uint8_t octets[] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
                        (uint8_t)number};
    buffer_add(out, octets, sizeof octets);
}

static void add_location(struct buffer *out, uint64_t *state)
{
    buffer_add_char(out, 0);
    for (size_t i = 0; i < 3; i++)
        buffer_add_char(out, (char)((1 + next(state, 9)) << 4 | next(state, 10)));
    add_u32(out, 0x80000000 - 324000000 + next(state, 648000001));
    add_u32(out, 0x80000000 - 648000000 + next(state, 1296000001));
    add_u32(out, next(state, UINT32_MAX));
}

static void add_gateway(struct buffer *out, uint64_t *state)
{
    uint32_t kind = next(state, 4);
    uint8_t head[] = {(uint8_t)next(state, 256), (uint8_t)kind, (uint8_t)next(state, 256)};
    buffer_add(out, head, sizeof head);
    if (kind == 3)
        add_name(out, state);
    else
        add_octets(out, state, kind == 0 ? 0 : kind == 1 ? 4 : 16);
    add_octets(out, state, 1 + next(state, 40));
}

static void add_host_identity(struct buffer *out, uint64_t *state)
{
    uint8_t head[] = {(uint8_t)(1 + next(state, 255)), (uint8_t)next(state, 256), 0,
                      (uint8_t)(1 + next(state, 255))};
    buffer_add(out, head, sizeof head);
    add_octets(out, state, (size_t)head[0] + head[3]);
    for (size_t servers = next(state, 3); servers; servers--)
        add_name(out, state);
}

static void add_param(struct buffer *out, uint64_t *state, uint32_t key)
{
    AUTO_BUFFER value = {0};
    for (size_t i = 1 + next(state, 3); i && key == 1; i--) {
        size_t len = 1 + next(state, 9);
        buffer_add_char(&value, (char)len);
        add_octets(&value, state, len);
    }
    if (key == 3)
        add_octets(&value, state, 2);
    if (key == 4 || key == 6)
        add_octets(&value, state, (1 + next(state, 3)) * (key == 4 ? 4 : 16));
    if (key == 5 || key > 8)
        add_octets(&value, state, (key == 5) + next(state, 20));
    if (key == 7)
        buffer_add_text(&value, "/dns-query{?dns}");
    add_u32(out, key << 16 | (uint32_t)value.len);
    buffer_add(out, buffer_text(&value).at, value.len);
}

static void add_service(struct buffer *out, uint64_t *state)
{
    uint8_t priority[] = {(uint8_t)next(state, 2), (uint8_t)next(state, 2)};
    bool has_alpn = next(state, 2), is_mandatory = has_alpn && next(state, 2);
    buffer_add(out, priority, sizeof priority);
    add_name(out, state);
    if (is_mandatory)
        buffer_add(out, "\0\0\0\2\0\1", 6);
    for (uint32_t key = 1; key < 9; key++)
        if (key == 1 ? has_alpn : (key != 2 || has_alpn) && next(state, 2))
            add_param(out, state, key);
    for (uint32_t key = 9 + next(state, 60000); key < 65535; key += 1 + next(state, 30000))
        add_param(out, state, key);
}

static void add_regexp(struct buffer *out, uint64_t *state)
{
    static const char *const some[] = {"", "!^(.*)$!sip:\\1@x.example!", "/a/b/i", "\"\\\"\"\"i"};
    const char *one = some[next(state, COUNT_OF(some))];
    buffer_add_char(out, (char)strlen(one));
    buffer_add_text(out, one);
}

// A type of digest and such a digest, or one that nobody knows.
static void add_digest(struct buffer *out, uint64_t *state)
{
    static const uint8_t lens[] = {0, 20, 32, 32, 48, 32, 32};
    uint32_t type = 1 + next(state, 10);
    buffer_add_char(out, (char)type);
    add_octets(out, state, type < COUNT_OF(lens) ? lens[type] : 1 + next(state, 60));
}

static void add_fingerprint(struct buffer *out, uint64_t *state)
{
    uint32_t type = next(state, 4);
    buffer_add_char(out, (char)type);
    add_octets(out, state, type == 1 ? 20 : type == 2 ? 32 : 1 + next(state, 60));
}

static void add_certificate(struct buffer *out, uint64_t *state)
{
    uint32_t type = next(state, 4);
    add_octets(out, state, 2);
    buffer_add_char(out, (char)type);
    add_octets(out, state, type == 1 ? 32 : type == 2 ? 64 : 1 + next(state, 60));
}

static void add_key(struct buffer *out, uint64_t *state)
{
    buffer_add_char(out, (char)next(state, 64)); // it is not said that there is none
    add_octets(out, state, 1);
    buffer_add_char(out, 3);
}

static void add_flags(struct buffer *out, uint64_t *state)
{
    static const char flags[] = "asupSU09";
    size_t len = next(state, 4);
    buffer_add_char(out, (char)len);
    while (len--)
        buffer_add_char(out, flags[next(state, sizeof flags - 1)]);
}

static void add_zone_digest(struct buffer *out, uint64_t *state)
{
    uint32_t type = next(state, 4);
    buffer_add_char(out, (char)type);
    add_octets(out, state, type == 1 ? 48 : type == 2 ? 64 : 12 + next(state, 60));
}

static void add_algorithm(struct buffer *out, uint64_t *state)
{
    buffer_add_char(out, (char)(1 + next(state, 255)));
}

static void add_any_string(struct buffer *out, uint64_t *state)
{
    add_string(out, state, next(state, 2) ? 255 : 10);
}

static void add_some_string(struct buffer *out, uint64_t *state)
{
    size_t len = 1 + next(state, 40);
    buffer_add_char(out, (char)len);
    add_octets(out, state, len);
}

// ---- rare types ---------------------------------------------------------------------------------

static void add_zero(struct buffer *out, uint64_t *state)
{
    (void)state;
    buffer_add_char(out, 0);
}

// Of services; it ends with another octet than 0.
static void add_services(struct buffer *out, uint64_t *state)
{
    add_octets(out, state, next(state, 40));
    buffer_add_char(out, (char)(1 + next(state, 255)));
}

static void add_relay(struct buffer *out, uint64_t *state)
{
    uint32_t kind = next(state, 4);
    buffer_add_char(out, (char)(kind | (next(state, 2) ? 0x80 : 0)));
    if (kind == 3)
        add_name(out, state);
    else
        add_octets(out, state, kind == 0 ? 0 : kind == 1 ? 4 : 16);
}

static void add_suffix(struct buffer *out, uint64_t *state)
{
    uint32_t prefix = next(state, 129);
    buffer_add_char(out, (char)prefix);
    if (prefix < 128)
        buffer_add_char(out, (char)(next(state, 256) & 0xff >> prefix % 8));
    add_octets(out, state, prefix < 128 ? 15 - prefix / 8 : 0);
    if (prefix)
        add_name(out, state);
}

static void add_no_flags(struct buffer *out, uint64_t *state)
{
    add_zero(out, state);
    add_zero(out, state);
}

// None that stands in front of its key.
static void add_key_algorithm(struct buffer *out, uint64_t *state)
{
    buffer_add_char(out, (char)(1 + next(state, 252)));
}

static void add_nxt_bitmap(struct buffer *out, uint64_t *state)
{
    size_t len = next(state, 16);
    if (len)
        buffer_add_char(out, (char)next(state, 128));
    add_octets(out, state, len ? len - 1 : 0);
    buffer_add_char(out, (char)(1 + next(state, 127)));
}

// As a private algorithm would stand in front of it.
static void add_private(struct buffer *out, uint64_t *state)
{
    buffer_add_char(out, (char)253);
    add_name(out, state);
}

static void add_strings(struct buffer *out, uint64_t *state)
{
    for (size_t strings = 1 + next(state, 4); strings; strings--)
        add_any_string(out, state);
}

static void add_rest(struct buffer *out, uint64_t *state)
{
    add_octets(out, state, 1 + next(state, 60));
}

// What a letter of a type's pattern adds; a digit stands for as many octets.
static const struct {
    char letter;
    void (*add)(struct buffer *out, uint64_t *state);
} adders[] = {
    {'C', add_certificate},   {'K', add_key},         {'f', add_flags},
    {'A', add_algorithm},     {'D', add_digest},      {'F', add_fingerprint},
    {'S', add_strings},       {'Z', add_zone_digest}, {'b', add_bitmap},
    {'d', add_digits},        {'g', add_gateway},     {'h', add_host_identity},
    {'l', add_location},      {'n', add_name},        {'o', add_some_string},
    {'p', add_prefixes},      {'r', add_regexp},      {'s', add_any_string},
    {'B', add_key_algorithm}, {'q', add_nxt_bitmap},  {'e', add_zero},
    {'i', add_services},      {'j', add_suffix},      {'k', add_no_flags},
    {'P', add_private},       {'y', add_relay},       {'t', add_tag},
    {'v', add_service},       {'x', add_rest},
};

static const struct {
    const char *type;
    const char *pattern;
} shapes[] = {
    {"A", "4"},         {"AAAA", "88"},      {"AFSDB", "2n"},    {"APL", "p"},
    {"AVC", "S"},       {"CAA", "1tx"},      {"CDNSKEY", "KBx"}, {"CDS", "2AD"},
    {"CERT", "5x"},     {"CNAME", "n"},      {"CSYNC", "6b"},    {"DHCID", "x"},
    {"DLV", "3D"},      {"DNAME", "n"},      {"DNSKEY", "KBx"},  {"DS", "3D"},
    {"EUI48", "6"},     {"EUI64", "8"},      {"HINFO", "ss"},    {"HIP", "h"},
    {"HTTPS", "v"},     {"IPSECKEY", "g"},   {"ISDN", "ss"},     {"KEY", "KBx"},
    {"KX", "2n"},       {"L32", "24"},       {"L64", "28"},      {"LOC", "l"},
    {"LP", "2n"},       {"MB", "n"},         {"MINFO", "nn"},    {"MX", "2n"},
    {"NAPTR", "4fsrn"}, {"NID", "28"},       {"NS", "n"},        {"NSAP", "x"},
    {"NSEC", "nb"},     {"NSEC3", "4sob"},   {"NULL", "x"},      {"NSEC3PARAM", "4s"},
    {"NXT", "nq"},      {"OPENPGPKEY", "x"}, {"PTR", "n"},       {"PX", "2nn"},
    {"RP", "nn"},       {"RRSIG", "99nx"},   {"RT", "2n"},       {"SIG", "99nx"},
    {"SMIMEA", "C"},    {"SOA", "nn992"},    {"SPF", "S"},       {"SRV", "6n"},
    {"SSHFP", "1F"},    {"SVCB", "v"},       {"TA", "3D"},       {"TALINK", "nn"},
    {"TKEY", "x"},      {"TLSA", "C"},       {"TXT", "S"},       {"TYPE65280", "x"},
    {"ATMA", "ex"},     {"DOA", "9sx"},      {"DSYNC", "5n"},    {"EID", "x"},
    {"HHIT", "x"},      {"NIMLOC", "x"},     {"RESINFO", "S"},   {"SINK", "3x"},
    {"UNSPEC", "x"},    {"WALLET", "S"},     {"WKS", "5i"},      {"AMTRELAY", "1y"},
    {"A6", "j"},        {"RKEY", "k1Bx"},    {"DNSKEY", "KPx"},  {"URI", "4x"},
    {"X25", "d"},       {"ZONEMD", "5Z"},
};

static void make(struct buffer *out, const char *pattern, uint64_t *state)
{
    for (const char *letter = pattern; *letter; letter++) {
        for (size_t i = 0; i < COUNT_OF(adders); i++)
            if (adders[i].letter == *letter)
                adders[i].add(out, state);
        if (*letter >= '0' && *letter <= '9')
            add_octets(out, state, (size_t)(*letter - '0'));
    }
}

// ---- what must hold of it -----------------------------------------------------------------------

static void expect_round_trip(uint16_t type, struct text rdata)
{
    AUTO_BUFFER text = {0};
    AUTO_BUFFER again = {0};
    struct error err = {0};
    unsigned marks = 0;
    rdata_write(&text, type, rdata);
    if (!rdata_read(type, buffer_text(&text), &rules, &again, &marks, &err))
        fail_msg("type %u: '%s' was refused: %s", type, buffer_text(&text).at, err.text);
    assert_int_equal(marks, 0);
    if (!text_equal(buffer_text(&again), rdata))
        fail_msg("type %u: '%s' is something else", type, buffer_text(&text).at);
}

static void expect_taken(const char *name, struct text rdata)
{
    uint16_t type = 0;
    AUTO_BUFFER taken = {0};
    struct error err = {0};
    assert_true(rr_type_read(text_of(name), &type));
    if (!rdata_take(type, rdata, 0, rdata.len, &taken, &err))
        fail_msg("%s was not taken: %s", name, err.text);
    assert_true(text_equal(buffer_text(&taken), rdata));
    expect_round_trip(type, rdata);
}

static void all_that_is_valid_is_taken_written_and_read_back(void **state)
{
    (void)state;
    uint64_t random = 42;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        for (size_t round = 0; round < ROUNDS; round++) {
            AUTO_BUFFER rdata = {0};
            make(&rdata, shapes[i].pattern, &random);
            expect_taken(shapes[i].type, buffer_text(&rdata));
        }
    }
}

static void mutate(struct buffer *octets, uint64_t *state)
{
    if (!octets->len)
        return;
    for (size_t changes = 1 + next(state, 3); changes; changes--) {
        size_t at = next(state, (uint32_t)octets->len);
        if (next(state, 3))
            octets->at[at] = (char)next(state, 256);
        else
            octets->len = at + 1;
    }
}

// What gets through is as good as any other.
static void mutated_octets_are_refused_or_valid(void **state)
{
    (void)state;
    uint64_t random = 43;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        uint16_t type = 0;
        assert_true(rr_type_read(text_of(shapes[i].type), &type));
        for (size_t round = 0; round < MUTATIONS; round++) {
            AUTO_BUFFER rdata = {0};
            AUTO_BUFFER taken = {0};
            make(&rdata, shapes[i].pattern, &random);
            mutate(&rdata, &random);
            if (rdata_take(type, buffer_text(&rdata), 0, rdata.len, &taken, NULL))
                expect_round_trip(type, buffer_text(&taken));
            rdata_write(&taken, type, buffer_text(&rdata));
        }
    }
}

static void mutate_text(struct buffer *text, uint64_t *state)
{
    static const char marks[] = " \"\\();.,:/=-@0123456789aZ\t\xff";
    for (size_t changes = 1 + next(state, 3); text->len && changes; changes--) {
        size_t at = next(state, (uint32_t)text->len);
        if (next(state, 8))
            text->at[at] = marks[next(state, sizeof marks - 1)];
        else
            text->len = at;
    }
}

static void mutated_text_is_refused_or_valid(void **state)
{
    (void)state;
    uint64_t random = 44;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        uint16_t type = 0;
        assert_true(rr_type_read(text_of(shapes[i].type), &type));
        for (size_t round = 0; round < MUTATIONS; round++) {
            AUTO_BUFFER rdata = {0};
            AUTO_BUFFER text = {0};
            AUTO_BUFFER read = {0};
            struct error err = {0};
            make(&rdata, shapes[i].pattern, &random);
            rdata_write(&text, type, buffer_text(&rdata));
            mutate_text(&text, &random);
            if (rdata_read(type, buffer_text(&text), &rules, &read, NULL, &err))
                expect_round_trip(type, buffer_text(&read));
            else
                assert_non_null(strstr(err.text, " (at character "));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_valid_is_taken_written_and_read_back),
        cmocka_unit_test(mutated_octets_are_refused_or_valid),
        cmocka_unit_test(mutated_text_is_refused_or_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
