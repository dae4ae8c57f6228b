#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "dns/dname.h"

// The data of RRs: presentation text to wire format and back, by type (RFC 1035 5.1 and the RFCs of
// each type; RFC 3597 for types that are not known). Wire format is canonical: names uncompressed
// and in lower case, so two RRs are equal when their octets are. All that is printed anywhere is
// printed back from it.

enum {
    RDATA_MAX = 65535, // octets
    // What may be written: with its name, an SOA and a TSIG record it has to fit one message of
    // 65535 octets, or no server could ever fetch or answer it.
    RDATA_WRITTEN_MAX = 65000,
    // So have all records of one type at a name, which are answered together: the name, and for
    // each record its rdata and these. named fetches no zone with a larger set.
    RDATA_SET_ROOM = 65138,
    RDATA_OVERHEAD = 12,
};

// A word of presentation text. Escapes still stand in it, the quotes do not. A quote behind a =
// ends a word and begins the next: alpn="h2,h3" is `alpn=` and, right behind it in one text,
// `h2,h3`.
struct rdata_word {
    struct text text;
    bool is_quoted;
};

// What else a reader may want to know of a text that it took.
enum rdata_mark {
    RDATA_RELATIVE_LABELS = 1 << 0, // a name without final dot had two labels or more
    RDATA_RELATIVE_ZONE = 1 << 1,   // and ended in the origin's own name
    RDATA_STRING_CUT = 1 << 2,      // a string of more than 255 octets was cut
};

struct rdata_rules {
    const struct dname *origin; // completes relative names; NULL: they are refused
    enum dname_rules names;
};

// Can any server fetch and answer it?
static inline bool rdata_fits_message(struct dname owner, struct text rdata)
{
    return owner.len + rdata.len + RDATA_OVERHEAD <= RDATA_SET_ROOM;
}
// Appends to `out`. Errors have fault SPEC and reason InvalidRData, InvalidName (a name breaks the
// rules), NSTargetIsAddress or MXTargetIsAddress, and say where: "number 70000 is out of range
// 0..65535 (at character 1)", of words "(at word 1)". "\# LEN HEX" is taken for every type, and
// must decode if the type is known.
bool rdata_read_words(uint16_t type, const struct rdata_word *words, size_t count,
                      const struct rdata_rules *rules, struct buffer *out, unsigned *marks,
                      struct error *err);
// The text of an object's field: no comments, parentheses or line ends. Text of TXT and SPF that
// does not begin with a quote is one string, whatever stands in it; blanks around it do not count.
bool rdata_read(uint16_t type, struct text text, const struct rdata_rules *rules,
                struct buffer *out, unsigned *marks, struct error *err);
// Of a message: decompresses names, folds case, checks the shape. Appends. Fault SPEC.
bool rdata_take(uint16_t type, struct text message, size_t at, size_t len, struct buffer *out,
                struct error *err);
// Canonical text: absolute names, strings quoted.
void rdata_write(struct buffer *out, uint16_t type, struct text rdata);
void rdata_write_generic(struct buffer *out, struct text rdata); // \# LEN HEX (RFC 3597 5)
// The domain name that such an RR points at (NS, CNAME, DNAME, PTR, MX, SRV, SVCB, HTTPS and their
// like), borrowed. False: its type has none.
bool rdata_target(uint16_t type, struct text rdata, struct dname *target);
// May the names in its rdata be compressed in a message (RFC 3597 4)?
bool rdata_is_compressible(uint16_t type);
// Where its names stand, for compression: offsets from the front, at most `capacity`.
size_t rdata_names(uint16_t type, struct text rdata, uint16_t *offsets, size_t capacity);
