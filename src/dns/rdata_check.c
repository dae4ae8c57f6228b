#include <string.h>

#include "base/memory.h"
#include "dns/rdata_private.h"
#include "dns/rr_type.h"

#define REASON "InvalidRData"

// What must hold of an rdata as a whole, beyond the shape of its fields.

static bool refuse(struct error *err, const char *text)
{
    return error_set(err, FAULT_SPEC, REASON, "%s", text);
}

static bool check_digest(const char *what, unsigned type, size_t len, size_t wanted,
                         struct error *err)
{
    if (len == wanted)
        return true;
    return error_set(err, FAULT_SPEC, REASON, "%s of type %u has %zu octets, not %zu", what, type,
                     wanted, len);
}

// ---- DNSSEC -------------------------------------------------------------------------------------

enum { DS_HEAD = 4, KEY_HEAD = 4, ALGORITHM_PRIVATEDNS = 253 };

bool rdata_check_ds(struct text rdata, struct error *err)
{
    static const uint8_t lens[] = {[1] = 20, [2] = 32, [3] = 32, [4] = 48, [5] = 32, [6] = 32};
    uint8_t type = (uint8_t)rdata.at[3];
    if (type >= COUNT_OF(lens) || !lens[type])
        return true;
    return check_digest("a digest", type, rdata.len - DS_HEAD, lens[type], err);
}

// A private algorithm stands in front of its key as a name (RFC 4034 A.1.1).
static bool check_algorithm(struct text rdata, struct error *err)
{
    const uint8_t *at = (const uint8_t *)rdata.at;
    return at[3] != ALGORITHM_PRIVATEDNS || rdata_name_len(at + KEY_HEAD, at + rdata.len) ||
           refuse(err, "the key of algorithm 253 does not begin with the algorithm's name");
}

// RFC 4034 2.1.2.
bool rdata_check_dnskey(struct text rdata, struct error *err)
{
    return (rdata.at[2] == 3 || refuse(err, "the protocol of a zone's key is 3")) &&
           check_algorithm(rdata, err);
}

// Algorithm 0 asks the parent to remove the DS (RFC 8078 4).
bool rdata_check_cds(struct text rdata, struct error *err)
{
    if (rdata.at[2])
        return rdata_check_ds(rdata, err);
    return text_equal(rdata, (struct text){"\0\0\0\0\0", 5}) ||
           refuse(err, "algorithm 0 asks for removal: write 0 0 0 00");
}

bool rdata_check_cdnskey(struct text rdata, struct error *err)
{
    if (rdata.at[3])
        return rdata_check_dnskey(rdata, err);
    return text_equal(rdata, (struct text){"\0\0\3\0\0", 5}) ||
           refuse(err, "algorithm 0 asks for removal: write 0 3 0 AA==");
}

// Two flags together say that there is no key (RFC 2535 3.1.2).
bool rdata_check_key(struct text rdata, struct error *err)
{
    bool has_none = (rdata.at[0] & 0xc0) == 0xc0;
    if (has_none)
        return rdata.len == KEY_HEAD || refuse(err, "its flags say that there is no key: leave it");
    return (rdata.len > KEY_HEAD || refuse(err, "base64 text is missing")) &&
           check_algorithm(rdata, err);
}

// draft-reid-dnsext-rkey 3.1.
bool rdata_check_rkey(struct text rdata, struct error *err)
{
    return ((!rdata.at[0] && !rdata.at[1]) || refuse(err, "the flags of an RKEY are 0")) &&
           check_algorithm(rdata, err);
}

bool rdata_check_sshfp(struct text rdata, struct error *err)
{
    uint8_t type = (uint8_t)rdata.at[1];
    if (type != 1 && type != 2)
        return true;
    return check_digest("a fingerprint", type, rdata.len - 2, type == 1 ? 20 : 32, err);
}

// RFC 6698 2.1.3, RFC 8162 2.
bool rdata_check_tlsa(struct text rdata, struct error *err)
{
    uint8_t type = (uint8_t)rdata.at[2];
    if (type != 1 && type != 2)
        return true;
    return check_digest("a digest", type, rdata.len - 3, type == 1 ? 32 : 64, err);
}

// RFC 8976 2.2.
bool rdata_check_zonemd(struct text rdata, struct error *err)
{
    uint8_t hash = (uint8_t)rdata.at[5];
    size_t len = rdata.len - 6;
    if (hash == 1 || hash == 2)
        return check_digest("a digest", hash, len, hash == 1 ? 48 : 64, err);
    return len >= 12 || refuse(err, "a digest has at least 12 octets");
}

bool rdata_check_nsec(struct text rdata, struct error *err)
{
    const uint8_t *at = (const uint8_t *)rdata.at;
    return rdata_name_len(at, at + rdata.len) < rdata.len ||
           refuse(err, "types are missing: an NSEC names one at least");
}

// A bitmap of types 0..127, the first of which has another meaning (RFC 2535 5.2).
bool rdata_check_nxt(struct text rdata, struct error *err)
{
    enum { BITMAP_MAX = 16, BIT_OF_TYPE_0 = 0x80 };
    const uint8_t *at = (const uint8_t *)rdata.at, *end = at + rdata.len;
    const uint8_t *bitmap = at + rdata_name_len(at, end);
    return (end > bitmap && end - bitmap <= BITMAP_MAX && !(*bitmap & BIT_OF_TYPE_0) && end[-1]) ||
           refuse(err, "the bitmap of types is malformed");
}

// ---- old types ----------------------------------------------------------------------------------

// RFC 1183 3.1.
bool rdata_check_x25(struct text rdata, struct error *err)
{
    for (size_t i = 1; i < rdata.len; i++)
        if (rdata.at[i] < '0' || rdata.at[i] > '9')
            return refuse(err, "an address of X.25 holds digits alone");
    return rdata.len > 4 || refuse(err, "an address of X.25 has at least 4 digits");
}

// An optional sign, then digits with at most one point among them.
static bool is_float(struct text text)
{
    size_t points = 0, digits = 0;
    for (size_t i = text.len && (*text.at == '-' || *text.at == '+'); i < text.len; i++) {
        points += text.at[i] == '.';
        digits += text.at[i] >= '0' && text.at[i] <= '9';
        if (text.at[i] != '.' && (text.at[i] < '0' || text.at[i] > '9'))
            return false;
    }
    return digits && points <= 1;
}

// RFC 1712 3, whose own example has longitude and latitude the wrong way round: no ranges.
bool rdata_check_gpos(struct text rdata, struct error *err)
{
    size_t at = 0;
    while (at < rdata.len) {
        struct text number = {rdata.at + at + 1, (uint8_t)rdata.at[at]};
        if (!is_float(number))
            return refuse(err, "write longitude, latitude and altitude as decimal numbers");
        at += 1 + number.len;
    }
    return true;
}

// ---- NAPTR --------------------------------------------------------------------------------------

// RFC 3403 4.1.
static bool are_flags(struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i] | 0x20;
        if ((text.at[i] < '0' || text.at[i] > '9') && (c < 'a' || c > 'z'))
            return false;
    }
    return true;
}

bool rdata_check_naptr(struct text rdata, struct error *err)
{
    size_t at = 4;
    if (!are_flags((struct text){rdata.at + at + 1, (uint8_t)rdata.at[at]}))
        return refuse(err, "flags are letters and digits");
    at += 1u + (uint8_t)rdata.at[at]; // flags
    at += 1u + (uint8_t)rdata.at[at]; // services
    struct text regexp = {rdata.at + at + 1, (uint8_t)rdata.at[at]};
    return !regexp.len || rdata_is_regexp(regexp) ||
           refuse(err, "the regexp is none that servers load: write it as !pattern!replacement!");
}

// ---- addresses as names -------------------------------------------------------------------------

bool rdata_is_address(struct text text)
{
    uint8_t octets[16];
    if (text.len > 1 && text.at[text.len - 1] == '.')
        text.len--;
    if (!text.len)
        return false;
    char last = text.at[text.len - 1];
    return (last >= '0' && last <= '9' && rdata_to_ip4(text, octets)) ||
           (memchr(text.at, ':', text.len) && rdata_to_ip6(text, octets));
}

bool rdata_refuse_address(uint16_t type, struct text text, struct error *err)
{
    bool is_ns = type == RR_NS;
    return error_set(err, FAULT_SPEC, is_ns ? "NSTargetIsAddress" : "MXTargetIsAddress",
                     "%.*s is an address: write the name of a host that has it", TEXT_ARGS(text));
}

static bool check_host(uint16_t type, const char *name, struct error *err)
{
    char text[64];
    size_t len = 0;
    for (const char *label = name; *label; label += (uint8_t)*label + 1) {
        if (len + (uint8_t)*label + 2 > sizeof text)
            return true;
        memcpy(text + len, label + 1, (uint8_t)*label);
        len += (uint8_t)*label;
        text[len++] = '.';
    }
    struct text all = {text, len};
    return !rdata_is_address(all) || rdata_refuse_address(type, all, err);
}

bool rdata_check_ns(struct text rdata, struct error *err)
{
    return check_host(RR_NS, rdata.at, err);
}

bool rdata_check_mx(struct text rdata, struct error *err)
{
    return check_host(RR_MX, rdata.at + 2, err);
}
