#include <string.h>

#include "dns/rdata_private.h"
#include "dns/rr_type.h"

// Names and addresses of presentation text.

// ---- names --------------------------------------------------------------------------------------

static bool has_two_labels(struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '.')
            return true;
        i += text.at[i] == '\\';
    }
    return false;
}

// Do the labels that were completed with `origin` end in its own?
static bool repeats_origin(struct dname name, struct dname origin)
{
    size_t own = name.len - origin.len, wanted = origin.len - 1, at = 0;
    if (!wanted)
        return false;
    while (own - at > wanted)
        at += name.at[at] + 1u;
    return own - at == wanted && !memcmp(name.at + at, origin.at, wanted);
}

static void mark_name(struct rdata_reader *reader, struct text text, struct dname name)
{
    if (dname_text_is_full(text) || text_is(text, "@"))
        return;
    if (has_two_labels(text))
        reader->marks |= RDATA_RELATIVE_LABELS;
    if (repeats_origin(name, *reader->rules->origin))
        reader->marks |= RDATA_RELATIVE_ZONE;
}

bool rdata_name_read(struct rdata_reader *reader)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    const struct rdata_word *word = rdata_next_plain(reader, "a domain name");
    if (!word)
        return false;
    if ((reader->type == RR_NS || reader->type == RR_MX) && rdata_is_address(word->text)) {
        rdata_refuse_address(reader->type, word->text, reader->err);
        return rdata_refuse_here(reader);
    }
    if (!dname_read(word->text, reader->rules->origin, reader->rules->names, octets, &name,
                    reader->err))
        return rdata_refuse_here(reader);
    mark_name(reader, word->text, name);
    buffer_add(reader->out, name.at, name.len);
    return true;
}

bool rdata_names_read(struct rdata_reader *reader)
{
    while (rdata_has_next(reader))
        if (!rdata_name_read(reader))
            return false;
    return true;
}

// ---- addresses ----------------------------------------------------------------------------------

bool rdata_to_ip4(struct text text, uint8_t out[4])
{
    const char *at = text.at, *end = at + text.len;
    for (size_t part = 0; part < 4; part++) {
        unsigned number = 0, digits = 0;
        if (part && (at == end || *at++ != '.'))
            return false;
        for (; at < end && rdata_is_digit(*at) && digits < 4; digits++)
            number = number * 10 + (unsigned)(*at++ - '0');
        if (!digits || number > UINT8_MAX || (digits > 1 && at[-(int)digits] == '0'))
            return false;
        out[part] = (uint8_t)number;
    }
    return at == end;
}

struct groups {
    uint8_t octets[16];
    size_t len;
    size_t gap; // where :: stands
    bool has_gap;
};

static bool add_group(struct groups *groups, const char **at, const char *end)
{
    unsigned number = 0, digits = 0;
    for (; *at < end && digits < 5 && rdata_hex_digit(**at) >= 0; digits++)
        number = number << 4 | (unsigned)rdata_hex_digit(*(*at)++);
    if (!digits || digits > 4 || groups->len > 14)
        return false;
    groups->octets[groups->len++] = (uint8_t)(number >> 8);
    groups->octets[groups->len++] = (uint8_t)number;
    return true;
}

// A last part such as 192.0.2.1.
static bool add_quad(struct groups *groups, const char **at, const char *end)
{
    struct text rest = {*at, (size_t)(end - *at)};
    if (rest.len < 7 || !memchr(rest.at, '.', rest.len) || memchr(rest.at, ':', rest.len))
        return false;
    if (groups->len > 12 || !rdata_to_ip4(rest, groups->octets + groups->len))
        return false;
    groups->len += 4;
    *at = end;
    return true;
}

static bool read_groups_ip6(struct groups *groups, const char *at, const char *end)
{
    while (at < end) {
        bool is_gap = end - at >= 2 && at[0] == ':' && at[1] == ':';
        if (is_gap && groups->has_gap)
            return false;
        if (is_gap) {
            groups->has_gap = true;
            groups->gap = groups->len;
            at += 2;
            if (at == end)
                break;
        } else if (groups->len && (*at++ != ':' || at == end)) {
            return false;
        }
        if (!add_quad(groups, &at, end) && !add_group(groups, &at, end))
            return false;
    }
    return true;
}

bool rdata_to_ip6(struct text text, uint8_t out[16])
{
    struct groups groups = {.len = 0};
    if (!read_groups_ip6(&groups, text.at, text.at + text.len))
        return false;
    if (groups.has_gap ? groups.len > 14 : groups.len != 16)
        return false;
    size_t behind = groups.has_gap ? groups.len - groups.gap : 0;
    memset(out, 0, 16);
    memcpy(out, groups.octets, groups.len - behind);
    memcpy(out + 16 - behind, groups.octets + groups.len - behind, behind);
    return true;
}

bool rdata_ip4_read(struct rdata_reader *reader)
{
    uint8_t octets[4];
    char shown[RDATA_SHOWN_MAX];
    const struct rdata_word *word = rdata_next_plain(reader, "an IPv4 address");
    if (!word)
        return false;
    if (!rdata_to_ip4(word->text, octets))
        return rdata_refuse(reader, NULL,
                            "'%s' is no IPv4 address: write four numbers 0..255 with dots, as "
                            "192.0.2.1",
                            rdata_show(word->text, shown));
    buffer_add(reader->out, octets, sizeof octets);
    return true;
}

bool rdata_ip6_read(struct rdata_reader *reader)
{
    uint8_t octets[16];
    char shown[RDATA_SHOWN_MAX];
    const struct rdata_word *word = rdata_next_plain(reader, "an IPv6 address");
    if (!word)
        return false;
    if (!rdata_to_ip6(word->text, octets))
        return rdata_refuse(reader, NULL, "'%s' is no IPv6 address: write it as 2001:db8::1",
                            rdata_show(word->text, shown));
    buffer_add(reader->out, octets, sizeof octets);
    return true;
}

// `count` groups of hex with `mark` between them, each of at most `digits`, or just as many.
static bool to_groups(struct text text, size_t count, char mark, size_t digits, bool is_exact,
                      uint64_t *out)
{
    struct text part;
    *out = 0;
    for (; count; count--) {
        if (!text_cut(&text, mark, &part) || !part.len || part.len > digits)
            return false;
        if (is_exact && part.len != digits)
            return false;
        uint64_t number = 0;
        for (size_t i = 0; i < part.len; i++) {
            if (rdata_hex_digit(part.at[i]) < 0)
                return false;
            number = number << 4 | (uint64_t)rdata_hex_digit(part.at[i]);
        }
        *out = *out << (4 * digits) | number;
    }
    return !text.at;
}

static bool add_eui(struct rdata_reader *reader, size_t octets)
{
    uint64_t number;
    const struct rdata_word *word = rdata_next_plain(reader, "an address in hex");
    if (!word)
        return false;
    if (!to_groups(word->text, octets, '-', 2, true, &number))
        return rdata_refuse(reader, NULL, "write %zu pairs of hex digits with - between them",
                            octets);
    while (octets--)
        buffer_add_char(reader->out, (char)(number >> (8 * octets)));
    return true;
}

bool rdata_eui48_read(struct rdata_reader *reader)
{
    return add_eui(reader, 6);
}

bool rdata_eui64_read(struct rdata_reader *reader)
{
    return add_eui(reader, 8);
}

bool rdata_groups_read(struct rdata_reader *reader)
{
    uint64_t number;
    const struct rdata_word *word = rdata_next_plain(reader, "an identifier in hex");
    if (!word)
        return false;
    if (!to_groups(word->text, 4, ':', 4, false, &number))
        return rdata_refuse(reader, NULL,
                            "write four groups of hex digits with : between them, as "
                            "0014:4fff:ff20:ee64");
    rdata_add_u32(reader->out, (uint32_t)(number >> 32));
    rdata_add_u32(reader->out, (uint32_t)number);
    return true;
}
