#include <string.h>

#include "base/memory.h"
#include "dns/rdata_private.h"

// LOC (RFC 1876): 42 21 54 N 71 06 18 W -24m 30m 100m 10m. On the wire: version 0, size and
// precisions as digit and power of ten of centimetres, then latitude, longitude (thousandths of a
// second from 2^31) and altitude (centimetres from 100 km below).

enum { LOC_LEN = 16, SECOND = 1000, MINUTE = 60 * SECOND, DEGREE = 60 * MINUTE };

static const uint32_t middle = 0x80000000;
static const uint32_t ground_cm = 10000000;

// ---- reading ------------------------------------------------------------------------------------

// A decimal number with at most `places` digits behind a point; counts in units of the last place.
static bool to_decimal(struct text text, unsigned places, uint64_t max, uint64_t *out)
{
    struct text rest = text, whole, part = {"", 0};
    uint64_t number = 0;
    if (!text.len || !text_cut(&rest, '.', &whole) || !whole.len)
        return false;
    if (rest.at)
        part = rest;
    if (part.len > places || (rest.at && !part.len))
        return false;
    for (size_t i = 0; i < whole.len + places; i++) {
        char c = '0';
        if (i < whole.len)
            c = whole.at[i];
        else if (i - whole.len < part.len)
            c = part.at[i - whole.len];
        if (c < '0' || c > '9' || number > max)
            return false;
        number = number * 10 + (uint64_t)(c - '0');
    }
    *out = number;
    return number <= max;
}

static bool is_direction(struct text word, const char *pair)
{
    return word.len == 1 && ((*word.at & ~0x20) == pair[0] || (*word.at & ~0x20) == pair[1]);
}

// Degrees, minutes and seconds, the last two if they stand there.
static bool read_angle(struct rdata_reader *reader, const char *pair, unsigned degrees_max)
{
    static const uint32_t units[] = {DEGREE, MINUTE, 1};
    const uint64_t maxima[] = {degrees_max, 59, 59999};
    uint64_t angle = 0, number;
    for (size_t i = 0; i <= COUNT_OF(units); i++) {
        const struct rdata_word *word = rdata_next_plain(reader, "an angle with its direction");
        if (!word)
            return false;
        if (i && is_direction(word->text, pair)) {
            bool is_first = (*word->text.at & ~0x20) == pair[0];
            if (angle > (uint64_t)degrees_max * DEGREE)
                return rdata_refuse(reader, NULL, "the angle is above %u degrees", degrees_max);
            rdata_add_u32(reader->out,
                          is_first ? middle + (uint32_t)angle : middle - (uint32_t)angle);
            return true;
        }
        if (i == COUNT_OF(units) || !to_decimal(word->text, i == 2 ? 3 : 0, maxima[i], &number))
            return rdata_refuse(reader, NULL,
                                "write 0..%u degrees, minutes 0..59, seconds 0..59.999, then %c "
                                "or %c",
                                degrees_max, pair[0], pair[1]);
        angle += number * units[i];
    }
    return false;
}

static struct text without_unit(struct text word)
{
    if (word.len > 1 && (word.at[word.len - 1] | 0x20) == 'm')
        word.len--;
    return word;
}

static bool read_altitude(struct rdata_reader *reader)
{
    const struct rdata_word *word = rdata_next_plain(reader, "an altitude");
    if (!word)
        return false;
    struct text text = without_unit(word->text);
    uint64_t cm;
    bool is_below = text.len && *text.at == '-';
    text = (struct text){text.at + is_below, text.len - is_below};
    if (!to_decimal(text, 2, is_below ? ground_cm : UINT32_MAX - ground_cm, &cm))
        return rdata_refuse(reader, NULL, "write an altitude of -100000.00m to 42849672.95m");
    rdata_add_u32(reader->out, is_below ? ground_cm - (uint32_t)cm : ground_cm + (uint32_t)cm);
    return true;
}

// Rounded down to a digit and a power of ten.
static uint8_t pack_size(uint64_t cm)
{
    unsigned power = 0;
    for (; cm > 9; cm /= 10)
        power++;
    return (uint8_t)(cm << 4 | power);
}

static bool read_size(struct rdata_reader *reader, uint8_t *out)
{
    const struct rdata_word *word = rdata_next_plain(reader, "a size");
    uint64_t cm;
    if (!word)
        return false;
    if (!to_decimal(without_unit(word->text), 2, 9000000000, &cm))
        return rdata_refuse(reader, NULL, "write a size of 0.00m to 90000000.00m");
    *out = pack_size(cm);
    return true;
}

bool rdata_loc_read(struct rdata_reader *reader)
{
    uint8_t head[] = {0, 0x12, 0x16, 0x13}; // version, 1 m, 10 km, 10 m
    buffer_add(reader->out, head, sizeof head);
    if (!read_angle(reader, "NS", 90) || !read_angle(reader, "EW", 180) || !read_altitude(reader))
        return false;
    for (size_t i = 1; i < sizeof head && rdata_has_next(reader); i++)
        if (!read_size(reader, &head[i]))
            return false;
    memcpy(reader->out->at + reader->start, head, sizeof head);
    return true;
}

// ---- taking -------------------------------------------------------------------------------------

// Zero has no power of ten.
static bool is_size(uint8_t size)
{
    return !size || (size >> 4 && size >> 4 <= 9 && (size & 0xf) <= 9);
}

static uint32_t angle_of(uint32_t octets)
{
    return octets >= middle ? octets - middle : middle - octets;
}

static bool is_sound(const uint8_t at[LOC_LEN])
{
    return is_size(at[1]) && is_size(at[2]) && is_size(at[3]) &&
           angle_of(rdata_u32_at(at + 4)) <= 90u * DEGREE &&
           angle_of(rdata_u32_at(at + 8)) <= 180u * DEGREE;
}

bool rdata_loc_take(struct rdata_taker *taker)
{
    const uint8_t *at = taker->message + taker->at;
    if (taker->end - taker->at < LOC_LEN)
        return rdata_refuse_taken(taker, "the location is not 16 octets long");
    if (*at)
        return rdata_refuse_taken(taker, "the location has another version than 0");
    if (!is_sound(at))
        return rdata_refuse_taken(taker, "a number of the location is out of range");
    return rdata_copy(taker, LOC_LEN);
}

// ---- writing ------------------------------------------------------------------------------------

static void put_padded(struct buffer *out, uint32_t number, unsigned places)
{
    uint32_t unit = 1;
    while (--places)
        unit *= 10;
    for (; unit; unit /= 10)
        buffer_add_char(out, (char)('0' + number / unit % 10));
}

static void put_angle(struct rdata_writer *writer, uint32_t octets, const char *pair)
{
    uint32_t angle = angle_of(octets);
    rdata_separate(writer);
    buffer_add_number(writer->out, angle / DEGREE);
    buffer_add_char(writer->out, ' ');
    buffer_add_number(writer->out, angle / MINUTE % 60);
    buffer_add_char(writer->out, ' ');
    buffer_add_number(writer->out, angle / SECOND % 60);
    buffer_add_char(writer->out, '.');
    put_padded(writer->out, angle % SECOND, 3);
    buffer_add_char(writer->out, ' ');
    buffer_add_char(writer->out, octets >= middle ? pair[0] : pair[1]);
}

static void put_metres(struct buffer *out, uint64_t cm)
{
    buffer_add_number(out, cm / 100);
    buffer_add_char(out, '.');
    put_padded(out, (uint32_t)(cm % 100), 2);
    buffer_add_char(out, 'm');
}

static void put_altitude(struct rdata_writer *writer, uint32_t octets)
{
    rdata_separate(writer);
    if (octets < ground_cm)
        buffer_add_char(writer->out, '-');
    put_metres(writer->out, octets < ground_cm ? ground_cm - octets : octets - ground_cm);
}

static void put_size(struct rdata_writer *writer, uint8_t size)
{
    uint64_t cm = size >> 4;
    for (unsigned power = size & 0xf; power; power--)
        cm *= 10;
    rdata_separate(writer);
    put_metres(writer->out, cm);
}

bool rdata_loc_write(struct rdata_writer *writer)
{
    const uint8_t *at = writer->at;
    if (!rdata_has_octets(writer, LOC_LEN) || *at || !is_sound(at))
        return false;
    put_angle(writer, rdata_u32_at(at + 4), "NS");
    put_angle(writer, rdata_u32_at(at + 8), "EW");
    put_altitude(writer, rdata_u32_at(at + 12));
    for (size_t i = 1; i <= 3; i++)
        put_size(writer, at[i]);
    writer->at += LOC_LEN;
    return true;
}
