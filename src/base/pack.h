#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

// Compact bodies for objects that are kept by the hundred thousand. A body is a sequence of numbers
// (LEB128) and texts; a text that stood in the same body before costs two octets. Reading never
// copies: texts point into the body. Only our own memory is read this way, so a malformed body is
// a must().

struct pack_writer {
    struct buffer out;
    struct {
        uint32_t at;
        uint32_t len;
    } seen[32];
    unsigned seen_count;
};
void pack_init(struct pack_writer *writer);
void pack_done(struct pack_writer *writer);
void pack_number(struct pack_writer *writer, uint64_t number);
void pack_signed(struct pack_writer *writer, int64_t number);             // zigzag
void pack_octets(struct pack_writer *writer, const void *at, size_t len); // fixed length
void pack_text(struct pack_writer *writer, struct text text); // absent and empty are told apart

struct pack_reader {
    struct text body;
    size_t at;
};
struct pack_reader pack_open(struct text body);
// A body that was written behind another with the same writer, and may refer back into it: `before`
// is that other one, with `body` right behind it in memory. Anywhere else: as pack_open(body).
struct pack_reader pack_open_behind(struct text before, struct text body);
uint64_t unpack_number(struct pack_reader *reader);
int64_t unpack_signed(struct pack_reader *reader);
const uint8_t *unpack_octets(struct pack_reader *reader, size_t len);
struct text unpack_text(struct pack_reader *reader);
