#include <stdio.h>

#include "base/memory.h"
#include "base/when.h"
#include "dns/period.h"
#include "dns/rdata_private.h"
#include "dns/rr_type.h"

// Numbers, mnemonics and times of presentation text.

void rdata_add_u16(struct buffer *out, unsigned number)
{
    uint8_t octets[] = {(uint8_t)(number >> 8), (uint8_t)number};
    buffer_add(out, octets, sizeof octets);
}

void rdata_add_u32(struct buffer *out, uint32_t number)
{
    rdata_add_u16(out, number >> 16);
    rdata_add_u16(out, number & UINT16_MAX);
}

// ---- numbers ------------------------------------------------------------------------------------

// Digits alone; UINT64_MAX stands for all that is too large. False: other characters, or none.
static bool to_number(struct text text, uint64_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!rdata_is_digit(text.at[i]))
            return false;
        bool is_large = number > UINT32_MAX;
        number = is_large ? UINT64_MAX : number * 10 + (uint64_t)(text.at[i] - '0');
    }
    *out = number;
    return text.len > 0;
}

bool rdata_number(const struct rdata_reader *reader, struct text word, uint32_t max, uint32_t *out)
{
    char shown[RDATA_SHOWN_MAX];
    uint64_t number;
    bool is_negative = word.len && *word.at == '-';
    struct text digits = {word.at + is_negative, word.len - is_negative};
    if (!to_number(digits, &number))
        return rdata_refuse(reader, word.at, "'%s' is no number: write one of 0..%u",
                            rdata_show(word, shown), max);
    if (is_negative || number > max)
        return rdata_refuse(reader, word.at, "number %s is out of range 0..%u",
                            rdata_show(word, shown), max);
    *out = (uint32_t)number;
    return true;
}

static bool next_number(struct rdata_reader *reader, uint32_t max, uint32_t *out)
{
    const struct rdata_word *word = rdata_next_plain(reader, "a number");
    return word && rdata_number(reader, word->text, max, out);
}

bool rdata_u8_read(struct rdata_reader *reader)
{
    uint32_t number = 0;
    if (!next_number(reader, UINT8_MAX, &number))
        return false;
    buffer_add_char(reader->out, (char)number);
    return true;
}

bool rdata_u16_read(struct rdata_reader *reader)
{
    uint32_t number = 0;
    if (!next_number(reader, UINT16_MAX, &number))
        return false;
    rdata_add_u16(reader->out, number);
    return true;
}

bool rdata_u32_read(struct rdata_reader *reader)
{
    uint32_t number = 0;
    if (!next_number(reader, UINT32_MAX, &number))
        return false;
    rdata_add_u32(reader->out, number);
    return true;
}

bool rdata_period_read(struct rdata_reader *reader)
{
    const struct rdata_word *word = rdata_next_plain(reader, "a number of seconds");
    uint64_t seconds;
    uint32_t number = 0;
    if (!word)
        return false;
    if (period_read(word->text, &seconds) && seconds <= UINT32_MAX)
        number = (uint32_t)seconds;
    else if (!rdata_number(reader, word->text, UINT32_MAX, &number))
        return false;
    rdata_add_u32(reader->out, number);
    return true;
}

// ---- mnemonics ----------------------------------------------------------------------------------

struct mnemonic {
    uint16_t number;
    const char *name;
};

static bool find_mnemonic(const struct mnemonic *rows, size_t count, struct text word,
                          uint32_t *number)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal_nocase(word, text_of(rows[i].name))) {
            *number = rows[i].number;
            return true;
        }
    return false;
}

static bool next_mnemonic(struct rdata_reader *reader, const struct mnemonic *rows, size_t count,
                          const char *noun, uint32_t max, uint32_t *number)
{
    char shown[RDATA_SHOWN_MAX];
    const struct rdata_word *word = rdata_next_plain(reader, noun);
    if (!word)
        return false;
    if (word->text.len && (rdata_is_digit(*word->text.at) || *word->text.at == '-'))
        return rdata_number(reader, word->text, max, number);
    if (find_mnemonic(rows, count, word->text, number))
        return true;
    return rdata_refuse(reader, NULL, "'%s' is not known as %s: write its number 0..%u",
                        rdata_show(word->text, shown), noun, max);
}

bool rdata_algorithm_read(struct rdata_reader *reader)
{
    static const struct mnemonic rows[] = {
        {1, "RSAMD5"},
        {2, "DH"},
        {3, "DSA"},
        {4, "ECC"},
        {5, "RSASHA1"},
        {6, "DSA-NSEC3-SHA1"},
        {6, "NSEC3DSA"},
        {7, "RSASHA1-NSEC3-SHA1"},
        {7, "NSEC3RSASHA1"},
        {8, "RSASHA256"},
        {10, "RSASHA512"},
        {12, "ECC-GOST"},
        {12, "ECCGOST"},
        {13, "ECDSAP256SHA256"},
        {14, "ECDSAP384SHA384"},
        {15, "ED25519"},
        {16, "ED448"},
        {252, "INDIRECT"},
        {253, "PRIVATEDNS"},
        {254, "PRIVATEOID"},
    };
    uint32_t number = 0;
    if (!next_mnemonic(reader, rows, COUNT_OF(rows), "an algorithm", UINT8_MAX, &number))
        return false;
    buffer_add_char(reader->out, (char)number);
    return true;
}

bool rdata_digest_type_read(struct rdata_reader *reader)
{
    static const struct mnemonic rows[] = {{1, "SHA-1"},  {1, "SHA1"}, {2, "SHA-256"},
                                           {2, "SHA256"}, {3, "GOST"}, {4, "SHA-384"},
                                           {4, "SHA384"}};
    uint32_t number = 0;
    if (!next_mnemonic(reader, rows, COUNT_OF(rows), "a type of digest", UINT8_MAX, &number))
        return false;
    buffer_add_char(reader->out, (char)number);
    return true;
}

bool rdata_cert_type_read(struct rdata_reader *reader)
{
    static const struct mnemonic rows[] = {{1, "PKIX"},  {2, "SPKI"}, {3, "PGP"},    {4, "IPKIX"},
                                           {5, "ISPKI"}, {6, "IPGP"}, {7, "ACPKIX"}, {8, "IACPKIX"},
                                           {253, "URI"}, {254, "OID"}};
    uint32_t number = 0;
    if (!next_mnemonic(reader, rows, COUNT_OF(rows), "a type of certificate", UINT16_MAX, &number))
        return false;
    rdata_add_u16(reader->out, number);
    return true;
}

// RFC 9859 2.
bool rdata_scheme_read(struct rdata_reader *reader)
{
    static const struct mnemonic rows[] = {{1, "NOTIFY"}};
    uint32_t number = 0;
    if (!next_mnemonic(reader, rows, COUNT_OF(rows), "a scheme", UINT8_MAX, &number))
        return false;
    buffer_add_char(reader->out, (char)number);
    return true;
}

bool rdata_type_read(struct rdata_reader *reader)
{
    char shown[RDATA_SHOWN_MAX];
    uint16_t type;
    const struct rdata_word *word = rdata_next_plain(reader, "a type");
    if (!word)
        return false;
    if (!rr_type_read(word->text, &type))
        return rdata_refuse(reader, NULL, "'%s' is no type: write its mnemonic, or TYPE and number",
                            rdata_show(word->text, shown));
    rdata_add_u16(reader->out, type);
    return true;
}

// ---- time ---------------------------------------------------------------------------------------

// 14 digits as YYYYMMDDHHmmSS.
static bool to_time(const char *at, uint32_t *out)
{
    char text[WHEN_TEXT_MAX];
    int64_t ms;
    snprintf(text, sizeof text, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", at, at + 4, at + 6, at + 8,
             at + 10, at + 12);
    if (!when_parse(text_of(text), &ms, NULL) || ms < 0 || ms / 1000 > UINT32_MAX)
        return false;
    *out = (uint32_t)(ms / 1000);
    return true;
}

bool rdata_time_read(struct rdata_reader *reader)
{
    uint64_t number;
    uint32_t seconds = 0;
    const struct rdata_word *word = rdata_next_plain(reader, "a time");
    if (!word)
        return false;
    if (word->text.len == 14 && to_number(word->text, &number)) {
        if (!to_time(word->text.at, &seconds))
            return rdata_refuse(reader, NULL, "no time from 1970 to 2106: write YYYYMMDDHHmmSS");
    } else if (!rdata_number(reader, word->text, UINT32_MAX, &seconds)) {
        return false;
    }
    rdata_add_u32(reader->out, seconds);
    return true;
}
