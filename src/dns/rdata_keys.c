#include "base/digest.h"
#include "base/memory.h"
#include "dns/rdata_private.h"

// The gateway of IPSECKEY (RFC 4025 2.5) and the front of HIP (RFC 8005 5).

// ---- gateway ------------------------------------------------------------------------------------

enum { GATEWAY_TYPE_AT = 1 }; // precedence stands before it

enum { GATEWAY_NONE, GATEWAY_IP4, GATEWAY_IP6, GATEWAY_NAME };

static bool read_none(struct rdata_reader *reader)
{
    const struct rdata_word *word = rdata_next_plain(reader, "a gateway");
    if (!word)
        return false;
    return text_is(word->text, ".") ||
           rdata_refuse(reader, NULL, "write . as the gateway: its type 0 stands for none");
}

bool rdata_gateway_read(struct rdata_reader *reader)
{
    switch (reader->out->at[reader->start + GATEWAY_TYPE_AT]) {
    case GATEWAY_NONE:
        return read_none(reader);
    case GATEWAY_IP4:
        return rdata_ip4_read(reader);
    case GATEWAY_IP6:
        return rdata_ip6_read(reader);
    case GATEWAY_NAME:
        return rdata_name_read(reader);
    default:
        return rdata_refuse(reader, NULL, "gateways have type 0..3: none, IPv4, IPv6, name");
    }
}

bool rdata_gateway_take(struct rdata_taker *taker)
{
    switch (taker->out->at[taker->start + GATEWAY_TYPE_AT]) {
    case GATEWAY_NONE:
        return true;
    case GATEWAY_IP4:
        return rdata_copy(taker, 4);
    case GATEWAY_IP6:
        return rdata_copy(taker, 16);
    case GATEWAY_NAME:
        return rdata_take_name(taker);
    default:
        return rdata_refuse_taken(taker, "the type of the gateway is not one of 0..3");
    }
}

bool rdata_gateway_write(struct rdata_writer *writer)
{
    static const uint8_t lens[] = {[GATEWAY_IP4] = 4, [GATEWAY_IP6] = 16};
    uint8_t kind = writer->first[GATEWAY_TYPE_AT];
    if (kind == GATEWAY_NAME)
        return rdata_write_name(writer);
    if (kind > GATEWAY_NAME || !rdata_has_octets(writer, lens[kind]))
        return false;
    rdata_separate(writer);
    if (kind == GATEWAY_NONE)
        buffer_add_char(writer->out, '.');
    else
        (kind == GATEWAY_IP4 ? rdata_put_ip4 : rdata_put_ip6)(writer->out, writer->at);
    writer->at += lens[kind];
    return true;
}

// ---- HIP ----------------------------------------------------------------------------------------

enum { HIP_HEAD = 4, HIT_MAX = 255 };

// Text: algorithm, HIT in hex, key in base64. Wire: length of the HIT, algorithm, length of the
// key, HIT, key.
bool rdata_hip_read(struct rdata_reader *reader)
{
    AUTO_BUFFER hit = {0};
    AUTO_BUFFER key = {0};
    uint32_t algorithm = 0;
    const struct rdata_word *word = rdata_next_plain(reader, "a number");
    if (!word || !rdata_number(reader, word->text, UINT8_MAX, &algorithm))
        return false;
    if (!rdata_add_hex(reader, false, &hit))
        return false;
    if (!hit.len || hit.len > HIT_MAX)
        return rdata_refuse(reader, NULL, "a HIT of %zu octets: 1..%d are possible", hit.len,
                            HIT_MAX);
    if (!rdata_add_base64(reader, false, &key))
        return false;
    if (!key.len || key.len > UINT16_MAX)
        return rdata_refuse(reader, NULL, "a key of %zu octets: 1..%d are possible", key.len,
                            UINT16_MAX);
    buffer_add_char(reader->out, (char)hit.len);
    buffer_add_char(reader->out, (char)algorithm);
    rdata_add_u16(reader->out, (unsigned)key.len);
    buffer_add(reader->out, hit.at, hit.len);
    buffer_add(reader->out, key.at, key.len);
    return true;
}

bool rdata_hip_take(struct rdata_taker *taker)
{
    const uint8_t *at = taker->message + taker->at;
    if (taker->end - taker->at < HIP_HEAD)
        return rdata_refuse_taken(taker, "the rdata ends within a field");
    if (!at[0] || !rdata_u16_at(at + 2))
        return rdata_refuse_taken(taker, "the HIT or the key is empty");
    return rdata_copy(taker, HIP_HEAD + at[0] + rdata_u16_at(at + 2));
}

bool rdata_hip_write(struct rdata_writer *writer)
{
    const uint8_t *at = writer->at;
    if (!rdata_has_octets(writer, HIP_HEAD))
        return false;
    size_t hit = at[0], key = rdata_u16_at(at + 2);
    if (!hit || !key || !rdata_has_octets(writer, HIP_HEAD + hit + key))
        return false;
    buffer_add_number(writer->out, at[1]);
    rdata_separate(writer);
    rdata_put_hex(writer->out, at + HIP_HEAD, hit);
    rdata_separate(writer);
    base64_encode(writer->out, at + HIP_HEAD + hit, key);
    writer->at += HIP_HEAD + hit + key;
    return true;
}
