#include <string.h>

#include "base/memory.h"
#include "dns/rdata_private.h"
#include "dns/rr_type.h"

// Bitmaps of types (RFC 4034 4.1.2): windows of 256 types, each with its number, a length 1..32 and
// as many octets, the last of which is not 0.

enum { WINDOWS = 256, WINDOW_OCTETS = 32 };

struct bitmap {
    uint8_t windows[WINDOWS][WINDOW_OCTETS];
};

static void add_bitmap(struct buffer *out, const struct bitmap *bitmap)
{
    for (size_t i = 0; i < WINDOWS; i++) {
        size_t len = WINDOW_OCTETS;
        while (len && !bitmap->windows[i][len - 1])
            len--;
        if (!len)
            continue;
        uint8_t head[] = {(uint8_t)i, (uint8_t)len};
        buffer_add(out, head, sizeof head);
        buffer_add(out, bitmap->windows[i], len);
    }
}

bool rdata_bitmap_read(struct rdata_reader *reader)
{
    char shown[RDATA_SHOWN_MAX];
    autofree struct bitmap *bitmap = mem_new_of(struct bitmap);
    while (rdata_has_next(reader)) {
        uint16_t type;
        const struct rdata_word *word = rdata_next_plain(reader, "a type");
        if (!word)
            return false;
        if (!rr_type_read(word->text, &type))
            return rdata_refuse(reader, NULL,
                                "'%s' is no type: write its mnemonic, or TYPE and number",
                                rdata_show(word->text, shown));
        bitmap->windows[type >> 8][(type & 0xff) >> 3] |= (uint8_t)(0x80 >> (type & 7));
    }
    add_bitmap(reader->out, bitmap);
    return true;
}

bool rdata_bitmap_take(struct rdata_taker *taker)
{
    int before = -1;
    while (taker->at < taker->end) {
        const uint8_t *at = taker->message + taker->at;
        size_t rest = taker->end - taker->at;
        if (rest < 3 || at[1] < 1 || at[1] > WINDOW_OCTETS || at[1] > rest - 2)
            return rdata_refuse_taken(taker, "the bitmap of types ends within a window");
        if (*at <= before || !at[1 + at[1]])
            return rdata_refuse_taken(taker, "the bitmap of types is not in its canonical form");
        before = *at;
        if (!rdata_copy(taker, 2u + at[1]))
            return false;
    }
    return true;
}

static void write_window(struct rdata_writer *writer, unsigned first, const uint8_t *octets,
                         size_t len)
{
    char name[10];
    for (unsigned i = 0; i < 8 * len; i++) {
        if (!(octets[i >> 3] & (0x80 >> (i & 7))))
            continue;
        rdata_separate(writer);
        buffer_add_text(writer->out, rr_type_write_portable((uint16_t)(first + i), name));
    }
}

bool rdata_bitmap_write(struct rdata_writer *writer)
{
    while (writer->at < writer->end) {
        const uint8_t *at = writer->at;
        if (!rdata_has_octets(writer, 2) || at[1] > WINDOW_OCTETS ||
            !rdata_has_octets(writer, 2u + at[1]))
            return false;
        write_window(writer, *at * 256u, at + 2, at[1]);
        writer->at += 2 + at[1];
    }
    return true;
}
