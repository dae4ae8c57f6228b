#include <string.h>

#include "base/digest.h"
#include "base/when.h"
#include "dns/rdata_private.h"
#include "dns/rr_type.h"

// How each kind of field is written as text.

// ---- pieces -------------------------------------------------------------------------------------

void rdata_separate(struct rdata_writer *writer)
{
    if (writer->out->len > writer->start)
        buffer_add_char(writer->out, ' ');
}

bool rdata_has_octets(const struct rdata_writer *writer, size_t len)
{
    return (size_t)(writer->end - writer->at) >= len;
}

void rdata_put_hex(struct buffer *out, const uint8_t *at, size_t len)
{
    static const char digits[] = "0123456789ABCDEF";
    buffer_reserve(out, 2 * len);
    for (size_t i = 0; i < len; i++) {
        out->at[out->len++] = digits[at[i] >> 4];
        out->at[out->len++] = digits[at[i] & 0xf];
    }
    if (len)
        out->at[out->len] = '\0';
}

void rdata_put_ip4(struct buffer *out, const uint8_t at[4])
{
    for (size_t i = 0; i < 4; i++) {
        if (i)
            buffer_add_char(out, '.');
        buffer_add_number(out, at[i]);
    }
}

static void put_group(struct buffer *out, unsigned number)
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned shift = 12; shift < 16; shift -= 4)
        if (number >> shift || !shift)
            buffer_add_char(out, digits[number >> shift & 0xf]);
}

// The first of the longest runs of two zero groups or more; 8: there is none.
static size_t longest_gap(const uint8_t at[16], size_t *len)
{
    size_t best = 8;
    *len = 1;
    for (size_t first = 0; first < 8; first++) {
        size_t end = first;
        while (end < 8 && !rdata_u16_at(at + 2 * end))
            end++;
        if (end - first > *len) {
            *len = end - first;
            best = first;
        }
    }
    return best;
}

static bool is_mapped(const uint8_t at[16])
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return !memcmp(at, prefix, sizeof prefix);
}

// RFC 5952.
void rdata_put_ip6(struct buffer *out, const uint8_t at[16])
{
    size_t gap_len, gap = longest_gap(at, &gap_len);
    if (is_mapped(at)) {
        buffer_add_text(out, "::ffff:");
        rdata_put_ip4(out, at + 12);
        return;
    }
    for (size_t i = 0; i < 8; i++) {
        if (i == gap) {
            buffer_add_text(out, "::");
            i += gap_len - 1;
            continue;
        }
        if (i && i != gap + gap_len)
            buffer_add_char(out, ':');
        put_group(out, rdata_u16_at(at + 2 * i));
    }
}

void rdata_put_octet(struct buffer *out, uint8_t octet)
{
    char escape[] = {'\\', (char)('0' + octet / 100), (char)('0' + octet / 10 % 10),
                     (char)('0' + octet % 10)};
    if (octet < ' ' || octet >= 0x7f) {
        buffer_add(out, escape, sizeof escape);
        return;
    }
    if (octet == '"' || octet == '\\')
        buffer_add_char(out, '\\');
    buffer_add_char(out, (char)octet);
}

static bool is_bare(uint8_t octet)
{
    return octet >= ' ' && octet < 0x7f && octet != '"' && octet != '\\';
}

static void put_quoted(struct buffer *out, const uint8_t *at, size_t len)
{
    buffer_add_char(out, '"');
    for (size_t i = 0; i < len;) {
        size_t run = i;
        while (run < len && is_bare(at[run]))
            run++;
        buffer_add(out, at + i, run - i);
        if (run < len)
            rdata_put_octet(out, at[run++]);
        i = run;
    }
    buffer_add_char(out, '"');
}

// ---- numbers ------------------------------------------------------------------------------------

static bool write_u8(struct rdata_writer *writer)
{
    if (!rdata_has_octets(writer, 1))
        return false;
    rdata_separate(writer);
    buffer_add_number(writer->out, *writer->at++);
    return true;
}

static bool write_u16(struct rdata_writer *writer)
{
    if (!rdata_has_octets(writer, 2))
        return false;
    rdata_separate(writer);
    buffer_add_number(writer->out, rdata_u16_at(writer->at));
    writer->at += 2;
    return true;
}

static bool write_u32(struct rdata_writer *writer)
{
    if (!rdata_has_octets(writer, 4))
        return false;
    rdata_separate(writer);
    buffer_add_number(writer->out, rdata_u32_at(writer->at));
    writer->at += 4;
    return true;
}

static bool write_type(struct rdata_writer *writer)
{
    char name[10];
    if (!rdata_has_octets(writer, 2))
        return false;
    rdata_separate(writer);
    buffer_add_text(writer->out, rr_type_write((uint16_t)rdata_u16_at(writer->at), name));
    writer->at += 2;
    return true;
}

// YYYYMMDDHHmmSS: the digits of 2025-12-30T10:00:00Z.
static bool write_time(struct rdata_writer *writer)
{
    char text[WHEN_TEXT_MAX];
    if (!rdata_has_octets(writer, 4))
        return false;
    when_write(rdata_u32_at(writer->at), text);
    rdata_separate(writer);
    for (const char *at = text; *at; at++)
        if (rdata_is_digit(*at))
            buffer_add_char(writer->out, *at);
    writer->at += 4;
    return true;
}

// ---- names and addresses ------------------------------------------------------------------------

bool rdata_write_name(struct rdata_writer *writer)
{
    size_t len = rdata_name_len(writer->at, writer->end);
    if (!len)
        return false;
    rdata_separate(writer);
    dname_write(writer->out, (struct dname){writer->at, len});
    writer->at += len;
    return true;
}

static bool write_names(struct rdata_writer *writer)
{
    while (writer->at < writer->end)
        if (!rdata_write_name(writer))
            return false;
    return true;
}

static bool write_ip4(struct rdata_writer *writer)
{
    if (!rdata_has_octets(writer, 4))
        return false;
    rdata_separate(writer);
    rdata_put_ip4(writer->out, writer->at);
    writer->at += 4;
    return true;
}

static bool write_ip6(struct rdata_writer *writer)
{
    if (!rdata_has_octets(writer, 16))
        return false;
    rdata_separate(writer);
    rdata_put_ip6(writer->out, writer->at);
    writer->at += 16;
    return true;
}

// Groups of `step` octets in lower-case hex with `mark` between them.
static bool write_hex_groups(struct rdata_writer *writer, size_t len, size_t step, char mark)
{
    char pair[3];
    if (!rdata_has_octets(writer, len))
        return false;
    rdata_separate(writer);
    for (size_t i = 0; i < len; i++) {
        if (i && i % step == 0)
            buffer_add_char(writer->out, mark);
        hex_encode(writer->at++, 1, pair);
        buffer_add(writer->out, pair, 2);
    }
    return true;
}

static bool write_eui48(struct rdata_writer *writer)
{
    return write_hex_groups(writer, 6, 1, '-');
}

static bool write_eui64(struct rdata_writer *writer)
{
    return write_hex_groups(writer, 8, 1, '-');
}

static bool write_groups(struct rdata_writer *writer)
{
    return write_hex_groups(writer, 8, 2, ':');
}

// ---- strings and octets -------------------------------------------------------------------------

// A length and as many octets; NULL: they are not there.
static const uint8_t *next_counted(struct rdata_writer *writer, size_t *len)
{
    if (!rdata_has_octets(writer, 1) || !rdata_has_octets(writer, 1u + *writer->at))
        return NULL;
    const uint8_t *at = writer->at + 1;
    *len = *writer->at;
    writer->at += 1 + *len;
    return at;
}

static bool write_string(struct rdata_writer *writer)
{
    size_t len;
    const uint8_t *at = next_counted(writer, &len);
    if (!at)
        return false;
    rdata_separate(writer);
    put_quoted(writer->out, at, len);
    return true;
}

static bool write_strings(struct rdata_writer *writer)
{
    do {
        if (!write_string(writer))
            return false;
    } while (writer->at < writer->end);
    return true;
}

static bool write_tag(struct rdata_writer *writer)
{
    size_t len;
    const uint8_t *at = next_counted(writer, &len);
    if (!at || !len)
        return false;
    rdata_separate(writer);
    buffer_add(writer->out, at, len);
    return true;
}

static size_t take_rest(struct rdata_writer *writer)
{
    size_t len = (size_t)(writer->end - writer->at);
    writer->at = writer->end;
    return len;
}

static bool write_value(struct rdata_writer *writer)
{
    const uint8_t *at = writer->at;
    rdata_separate(writer);
    put_quoted(writer->out, at, take_rest(writer));
    return true;
}

static bool write_salt(struct rdata_writer *writer)
{
    size_t len;
    const uint8_t *at = next_counted(writer, &len);
    if (!at)
        return false;
    rdata_separate(writer);
    if (len)
        rdata_put_hex(writer->out, at, len);
    else
        buffer_add_char(writer->out, '-');
    return true;
}

static bool write_hash(struct rdata_writer *writer)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
    size_t len;
    const uint8_t *at = next_counted(writer, &len);
    unsigned held = 0, count = 0;
    if (!at || !len)
        return false;
    rdata_separate(writer);
    for (size_t i = 0; i < len; i++) {
        held = (held << 8 | at[i]) & 0xfff;
        for (count += 8; count >= 5; count -= 5)
            buffer_add_char(writer->out, digits[held >> (count - 5) & 0x1f]);
    }
    if (count)
        buffer_add_char(writer->out, digits[held << (5 - count) & 0x1f]);
    return true;
}

static bool write_hex(struct rdata_writer *writer)
{
    const uint8_t *at = writer->at;
    rdata_separate(writer);
    rdata_put_hex(writer->out, at, take_rest(writer));
    return at < writer->end;
}

static bool write_base64(struct rdata_writer *writer)
{
    const uint8_t *at = writer->at;
    rdata_separate(writer);
    base64_encode(writer->out, at, take_rest(writer));
    return at < writer->end;
}

static bool write_key(struct rdata_writer *writer)
{
    return writer->at == writer->end || write_base64(writer);
}

// Of types that are always written in their generic form, too.
static bool write_opaque(struct rdata_writer *writer)
{
    (void)writer;
    return false;
}

// ---- all of it ----------------------------------------------------------------------------------

static rdata_write_field *const fields[RDATA_FIELD_COUNT] = {
    [RDATA_U8] = write_u8,
    [RDATA_U16] = write_u16,
    [RDATA_U32] = write_u32,
    [RDATA_PERIOD] = write_u32,
    [RDATA_TIME] = write_time,
    [RDATA_TYPE] = write_type,
    [RDATA_ALGORITHM] = write_u8,
    [RDATA_DIGEST_TYPE] = write_u8,
    [RDATA_CERT_TYPE] = write_u16,
    [RDATA_NAME] = rdata_write_name,
    [RDATA_NAMES] = write_names,
    [RDATA_IP4] = write_ip4,
    [RDATA_IP6] = write_ip6,
    [RDATA_EUI48] = write_eui48,
    [RDATA_EUI64] = write_eui64,
    [RDATA_GROUPS] = write_groups,
    [RDATA_STRING] = write_string,
    [RDATA_MAYBE] = write_opaque,
    [RDATA_STRINGS] = write_strings,
    [RDATA_TAG] = write_tag,
    [RDATA_VALUE] = write_value,
    [RDATA_NONEMPTY] = write_value,
    [RDATA_SALT] = write_salt,
    [RDATA_HASH] = write_hash,
    [RDATA_HEX] = write_hex,
    [RDATA_NSAP] = write_opaque,
    [RDATA_BASE64] = write_base64,
    [RDATA_KEY] = write_key,
    [RDATA_BITMAP] = rdata_bitmap_write,
    [RDATA_LOC] = rdata_loc_write,
    [RDATA_APL] = rdata_apl_write,
    [RDATA_GATEWAY] = rdata_gateway_write,
    [RDATA_HIP] = rdata_hip_write,
    [RDATA_PARAMS] = rdata_params_write,
    [RDATA_WKS] = write_opaque,
    [RDATA_ATMA] = write_opaque,
    [RDATA_A6] = write_opaque,
    [RDATA_RELAY] = write_opaque,
    [RDATA_DOA] = write_opaque,
    [RDATA_SCHEME] = write_u8,
    [RDATA_OPAQUE] = write_opaque,
};

static bool write_fields(struct rdata_writer *writer, const struct rdata_shape *shape)
{
    for (const uint8_t *field = shape->fields; *field; field++)
        if (!fields[*field](writer))
            return false;
    return writer->at == writer->end;
}

void rdata_write_generic(struct buffer *out, struct text rdata)
{
    buffer_add_text(out, "\\# ");
    buffer_add_number(out, rdata.len);
    if (rdata.len)
        buffer_add_char(out, ' ');
    rdata_put_hex(out, (const uint8_t *)rdata.at, rdata.len);
}

// A type that is written as TYPE and number has generic rdata for everyone.
static bool has_mnemonic(uint16_t type)
{
    char number[10];
    return rr_type_write(type, number) != number;
}

void rdata_write(struct buffer *out, uint16_t type, struct text rdata)
{
    const uint8_t *at = (const uint8_t *)rdata.at;
    const struct rdata_shape *shape = has_mnemonic(type) ? rdata_shape_find(type) : NULL;
    struct rdata_writer writer = {
        .first = at, .at = at, .end = at + rdata.len, .out = out, .start = out->len};
    if (shape && write_fields(&writer, shape))
        return;
    out->len = writer.start;
    rdata_write_generic(out, rdata);
}
