#include "base/pack.h"

#include <string.h>

#include "base/memory.h"
#include "base/must.h"

// A text starts with a number: 0 absent; odd: its half is where the same text stands already;
// even: half of it, less one, octets follow.

enum { WORTH_A_REFERENCE = 2 };

void pack_init(struct pack_writer *writer)
{
    *writer = (struct pack_writer){0};
}

void pack_done(struct pack_writer *writer)
{
    buffer_done(&writer->out);
    pack_init(writer);
}

void pack_number(struct pack_writer *writer, uint64_t number)
{
    char octets[10];
    size_t len = 0;
    for (; number > 0x7f; number >>= 7)
        octets[len++] = (char)(number | 0x80);
    octets[len++] = (char)number;
    buffer_add(&writer->out, octets, len);
}

void pack_signed(struct pack_writer *writer, int64_t number)
{
    uint64_t doubled = (uint64_t)number << 1;
    pack_number(writer, number < 0 ? ~doubled : doubled);
}

void pack_octets(struct pack_writer *writer, const void *at, size_t len)
{
    buffer_add(&writer->out, at, len);
}

static bool pack_reference(struct pack_writer *writer, struct text text)
{
    size_t count = writer->seen_count;
    if (count > COUNT_OF(writer->seen))
        count = COUNT_OF(writer->seen);
    for (size_t i = 0; i < count; i++) {
        size_t at = writer->seen[i].at;
        if (writer->seen[i].len != text.len)
            continue;
        struct pack_reader reader = {buffer_text(&writer->out), at};
        if (!text_equal(unpack_text(&reader), text))
            continue;
        pack_number(writer, (uint64_t)at << 1 | 1);
        return true;
    }
    return false;
}

void pack_text(struct pack_writer *writer, struct text text)
{
    if (!text.at) {
        pack_number(writer, 0);
        return;
    }
    bool is_worth = text.len >= WORTH_A_REFERENCE;
    if (is_worth && pack_reference(writer, text))
        return;
    must(text.len < UINT32_MAX && writer->out.len < UINT32_MAX);
    if (is_worth) {
        unsigned i = writer->seen_count++ % COUNT_OF(writer->seen);
        writer->seen[i].at = (uint32_t)writer->out.len;
        writer->seen[i].len = (uint32_t)text.len;
    }
    pack_number(writer, ((uint64_t)text.len + 1) << 1);
    buffer_add(&writer->out, text.at, text.len);
}

struct pack_reader pack_open(struct text body)
{
    return (struct pack_reader){body, 0};
}

struct pack_reader pack_open_behind(struct text before, struct text body)
{
    if (!before.at || before.at + before.len != body.at)
        return pack_open(body);
    return (struct pack_reader){{before.at, before.len + body.len}, before.len};
}

uint64_t unpack_number(struct pack_reader *reader)
{
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        must(reader->at < reader->body.len && shift < 64);
        uint8_t octet = (uint8_t)reader->body.at[reader->at++];
        number |= (uint64_t)(octet & 0x7f) << shift;
        if (octet < 0x80)
            return number;
    }
}

int64_t unpack_signed(struct pack_reader *reader)
{
    uint64_t number = unpack_number(reader);
    return (int64_t)(number >> 1 ^ -(number & 1));
}

const uint8_t *unpack_octets(struct pack_reader *reader, size_t len)
{
    must(len <= reader->body.len - reader->at);
    const char *at = reader->body.at + reader->at;
    reader->at += len;
    return (const uint8_t *)at;
}

static struct text unpack_literal(struct pack_reader *reader, uint64_t head)
{
    must(head > 0 && head % 2 == 0);
    size_t len = (size_t)(head >> 1) - 1;
    return (struct text){(const char *)unpack_octets(reader, len), len};
}

struct text unpack_text(struct pack_reader *reader)
{
    size_t start = reader->at;
    uint64_t head = unpack_number(reader);
    if (head == 0)
        return (struct text){NULL, 0};
    if (head % 2 == 0)
        return unpack_literal(reader, head);
    must(head >> 1 < start);
    struct pack_reader earlier = {reader->body, (size_t)(head >> 1)};
    head = unpack_number(&earlier);
    return unpack_literal(&earlier, head);
}
