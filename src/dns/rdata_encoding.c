#include "dns/rdata_private.h"

// Octets in hex, base64 and base32 of presentation text.

struct bits {
    uint32_t held;
    size_t digits; // so far
    size_t fill;   // = at the end
};

static bool add_hex_word(const struct rdata_reader *reader, struct text word, struct bits *bits,
                         struct buffer *out)
{
    buffer_reserve(out, word.len / 2 + 1);
    for (size_t i = 0; i < word.len; i++) {
        int digit = rdata_hex_digit(word.at[i]);
        if (digit < 0)
            return rdata_refuse(reader, word.at + i, "no hex digit: write 0-9 and a-f alone");
        bits->held = bits->held << 4 | (uint32_t)digit;
        if (++bits->digits % 2 == 0)
            out->at[out->len++] = (char)bits->held;
    }
    out->at[out->len] = '\0';
    return true;
}

bool rdata_add_hex(struct rdata_reader *reader, bool rest, struct buffer *out)
{
    struct bits bits = {0};
    if (!rest || rdata_has_next(reader)) {
        do {
            const struct rdata_word *word = rdata_next_plain(reader, "hex text");
            if (!word || !add_hex_word(reader, word->text, &bits, out))
                return false;
        } while (rest && rdata_has_next(reader));
    }
    return bits.digits % 2 == 0 ||
           rdata_refuse(reader, NULL, "%zu hex digits: an even number is wanted", bits.digits);
}

static int base64_digit(char c)
{
    if (rdata_is_digit(c))
        return c - '0' + 52;
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool add_base64_word(const struct rdata_reader *reader, struct text word, struct bits *bits,
                            struct buffer *out)
{
    for (size_t i = 0; i < word.len; i++) {
        int digit = base64_digit(word.at[i]);
        if (word.at[i] == '=') {
            bits->fill++;
            continue;
        }
        if (digit < 0 || bits->fill)
            return rdata_refuse(reader, word.at + i, "this does not belong into base64 text");
        bits->held = bits->held << 6 | (uint32_t)digit;
        if (++bits->digits % 4 == 0) {
            uint8_t octets[] = {(uint8_t)(bits->held >> 16), (uint8_t)(bits->held >> 8),
                                (uint8_t)bits->held};
            buffer_add(out, octets, sizeof octets);
        }
    }
    return true;
}

static bool end_base64(const struct rdata_reader *reader, const struct bits *bits,
                       struct buffer *out)
{
    size_t over = bits->digits % 4;
    if ((bits->digits + bits->fill) % 4 || bits->fill > 2 || over == 1)
        return rdata_refuse(reader, NULL,
                            "%zu characters of base64 text: fill it up with = to a multiple of 4",
                            bits->digits + bits->fill);
    if (over && (bits->held & (over == 2 ? 0xf : 0x3)))
        return rdata_refuse(reader, NULL, "the end of the base64 text was cut off");
    if (over)
        buffer_add_char(out, (char)(bits->held >> (over == 2 ? 4 : 10)));
    if (over == 3)
        buffer_add_char(out, (char)(bits->held >> 2));
    return true;
}

bool rdata_add_base64(struct rdata_reader *reader, bool rest, struct buffer *out)
{
    struct bits bits = {0};
    do {
        const struct rdata_word *word = rdata_next_plain(reader, "base64 text");
        if (!word || !add_base64_word(reader, word->text, &bits, out))
            return false;
    } while (rest && rdata_has_next(reader));
    return end_base64(reader, &bits, out);
}

bool rdata_add_base64_text(const struct rdata_reader *reader, struct text word, struct buffer *out)
{
    struct bits bits = {0};
    return add_base64_word(reader, word, &bits, out) && end_base64(reader, &bits, out);
}

bool rdata_hex_read(struct rdata_reader *reader)
{
    size_t before = reader->out->len;
    if (!rdata_has_next(reader))
        return rdata_next(reader, "hex text") != NULL;
    return rdata_add_hex(reader, true, reader->out) &&
           (reader->out->len > before || rdata_refuse(reader, NULL, "hex text is missing"));
}

bool rdata_base64_read(struct rdata_reader *reader)
{
    size_t before = reader->out->len;
    return rdata_add_base64(reader, true, reader->out) &&
           (reader->out->len > before || rdata_refuse(reader, NULL, "base64 text is missing"));
}

bool rdata_key_read(struct rdata_reader *reader)
{
    return !rdata_has_next(reader) || rdata_add_base64(reader, true, reader->out);
}

bool rdata_salt_read(struct rdata_reader *reader)
{
    AUTO_BUFFER octets = {0};
    if (rdata_has_next(reader) && text_is(reader->words[reader->next].text, "-")) {
        reader->next++;
        buffer_add_char(reader->out, 0);
        return true;
    }
    return rdata_add_hex(reader, false, &octets) &&
           rdata_add_strings(reader, buffer_text(&octets), false);
}

static int base32_digit(char c)
{
    if (rdata_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'v' ? c - 'a' + 10 : -1;
}

bool rdata_hash_read(struct rdata_reader *reader)
{
    AUTO_BUFFER octets = {0};
    uint32_t held = 0;
    unsigned count = 0; // of bits that are held
    const struct rdata_word *word = rdata_next_plain(reader, "a hash");
    if (!word)
        return false;
    for (size_t i = 0; i < word->text.len; i++) {
        int digit = base32_digit(word->text.at[i]);
        if (digit < 0)
            return rdata_refuse(reader, word->text.at + i, "write 0-9 and a-v alone");
        held = (held << 5 | (uint32_t)digit) & 0xfff;
        count += 5;
        if (count >= 8) {
            count -= 8;
            buffer_add_char(&octets, (char)(held >> count));
        }
    }
    if (!octets.len || count >= 5 || (held & ((1u << count) - 1)))
        return rdata_refuse(reader, NULL, "the hash is cut off");
    return rdata_add_strings(reader, buffer_text(&octets), false);
}

bool rdata_nsap_read(struct rdata_reader *reader)
{
    struct bits bits = {0};
    const struct rdata_word *word = rdata_next_plain(reader, "an address in hex");
    if (!word)
        return false;
    struct text rest = word->text, part;
    if (rest.len < 3 || rest.at[0] != '0' || (rest.at[1] | 0x20) != 'x')
        return rdata_refuse(reader, NULL, "write 0x in front of the hex digits");
    rest = (struct text){rest.at + 2, rest.len - 2};
    while (text_cut(&rest, '.', &part))
        if (!add_hex_word(reader, part, &bits, reader->out))
            return false;
    return (bits.digits && bits.digits % 2 == 0) ||
           rdata_refuse(reader, NULL, "%zu hex digits: an even number is wanted", bits.digits);
}

bool rdata_opaque_read(struct rdata_reader *reader)
{
    return rdata_refuse(reader, NULL, "this type has no text: write its rdata as \\# LEN HEX");
}
