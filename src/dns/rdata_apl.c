#include <string.h>

#include "base/memory.h"
#include "dns/rdata_private.h"

// APL (RFC 3123): [!]family:address/prefix, any number of them. On the wire: family, prefix,
// negation and length, then the address without the zero octets at its end.

enum { ITEM_HEAD = 4, IS_NEGATED = 0x80, ITEMS_MAX = 64 };

// By family number.
static const uint8_t address_lens[] = {[1] = 4, [2] = 16};

static bool refuse_item(const struct rdata_reader *reader, struct text word)
{
    char shown[RDATA_SHOWN_MAX];
    return rdata_refuse(reader, NULL,
                        "'%s': write family:address/prefix, as 1:192.0.2.0/24 or !2:2001:db8::/32",
                        rdata_show(word, shown));
}

static bool split_item(struct text text, unsigned *family, struct text *address,
                       struct text *prefix)
{
    if (text.len < 3 || (*text.at != '1' && *text.at != '2') || text.at[1] != ':')
        return false;
    *family = (unsigned)(*text.at - '0');
    text = (struct text){text.at + 2, text.len - 2};
    *prefix = text;
    return text_cut(prefix, '/', address) && prefix->at;
}

static bool read_item(struct rdata_reader *reader, struct text word)
{
    bool is_negated = word.len && *word.at == '!';
    uint8_t octets[16];
    unsigned family;
    uint32_t bits = 0;
    struct text address, prefix;
    struct text text = {word.at + is_negated, word.len - is_negated};
    if (!split_item(text, &family, &address, &prefix))
        return refuse_item(reader, word);
    if (!(family == 1 ? rdata_to_ip4(address, octets) : rdata_to_ip6(address, octets)))
        return refuse_item(reader, word);
    size_t len = address_lens[family];
    if (!rdata_number(reader, prefix, (uint32_t)len * 8, &bits))
        return false;
    while (len && !octets[len - 1])
        len--;
    uint8_t head[ITEM_HEAD] = {0, (uint8_t)family, (uint8_t)bits,
                               (uint8_t)(len | (is_negated ? IS_NEGATED : 0))};
    buffer_add(reader->out, head, sizeof head);
    buffer_add(reader->out, octets, len);
    return true;
}

bool rdata_apl_read(struct rdata_reader *reader)
{
    while (rdata_has_next(reader)) {
        const struct rdata_word *word = rdata_next_plain(reader, "an address with its prefix");
        if (!word || !read_item(reader, word->text))
            return false;
    }
    return true;
}

// Families that are not known have no limits.
static bool is_item(const uint8_t *at, size_t rest)
{
    if (rest < ITEM_HEAD)
        return false;
    size_t len = at[3] & ~IS_NEGATED, family = rdata_u16_at(at);
    if (len > rest - ITEM_HEAD || (len && !at[ITEM_HEAD + len - 1]))
        return false;
    bool is_known = family && family < COUNT_OF(address_lens);
    return !is_known || (len <= address_lens[family] && at[2] <= 8 * address_lens[family]);
}

bool rdata_check_apl(struct text rdata, struct error *err)
{
    size_t count = 0;
    for (size_t at = 0; at < rdata.len; at += ITEM_HEAD + (rdata.at[at + 3] & ~IS_NEGATED))
        count++;
    return count <= ITEMS_MAX || error_set(err, FAULT_SPEC, "InvalidRData",
                                           "%zu addresses: NSD takes %d at most", count, ITEMS_MAX);
}

bool rdata_apl_take(struct rdata_taker *taker)
{
    while (taker->at < taker->end) {
        const uint8_t *at = taker->message + taker->at;
        if (!is_item(at, taker->end - taker->at))
            return rdata_refuse_taken(taker, "an item of the address list is malformed");
        if (!rdata_copy(taker, ITEM_HEAD + (size_t)(at[3] & ~IS_NEGATED)))
            return false;
    }
    return true;
}

static bool write_item(struct rdata_writer *writer)
{
    const uint8_t *at = writer->at;
    size_t rest = (size_t)(writer->end - at);
    uint8_t octets[16] = {0};
    if (!is_item(at, rest) || at[0] || at[1] < 1 || at[1] >= COUNT_OF(address_lens))
        return false;
    size_t len = at[3] & ~IS_NEGATED;
    memcpy(octets, at + ITEM_HEAD, len);
    rdata_separate(writer);
    buffer_add_text(writer->out, at[3] & IS_NEGATED ? "!" : "");
    buffer_add_text(writer->out, at[1] == 1 ? "1:" : "2:");
    (at[1] == 1 ? rdata_put_ip4 : rdata_put_ip6)(writer->out, octets);
    buffer_add_char(writer->out, '/');
    buffer_add_number(writer->out, at[2]);
    writer->at += ITEM_HEAD + len;
    return true;
}

bool rdata_apl_write(struct rdata_writer *writer)
{
    while (writer->at < writer->end)
        if (!write_item(writer))
            return false;
    return true;
}
