#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "dns/zone.h"

// A DNS message that is written once, front to back, with its names compressed (RFC 1035 4.1.4;
// those in rdata only where every reader expects it, RFC 3597 4). Private to dns. One packer makes
// many messages, one after another.
//
//     packer_begin(&packer, &out, id, flags);
//     packer_question(&packer, apex, RR_SOA, CLASS_IN);
//     packer_record(&packer, PACKER_ANSWER, set, rdata, limit);

enum { PACKER_SUFFIXES = 1024, PACKER_SLOTS = 2 * PACKER_SUFFIXES };

enum packer_section { PACKER_ANSWER = 6, PACKER_AUTHORITY = 8, PACKER_ADDITIONAL = 10 };

// A name, or the end of one, that stands in the message.
struct packer_suffix {
    uint32_t hash;
    uint16_t at;
    uint16_t parent; // where the rest of it stands; 0: the root
};

struct packer {
    struct buffer *out;
    const struct rrset *set; // of the last record
    uint16_t owner_at;       // where its owner stands; 0: too far in
    bool is_compressible;
    bool is_full;
    uint16_t suffix_count;
    uint16_t slots[PACKER_SLOTS]; // 1 + index of a suffix; 0: free
    struct packer_suffix suffixes[PACKER_SUFFIXES];
};

// `out` is empty and lives until the message is whole.
void packer_begin(struct packer *packer, struct buffer *out, uint16_t id, unsigned flags);
void packer_question(struct packer *packer, struct dname name, uint16_t type, uint16_t class);
// False: the message would be longer than `limit`. Nothing is added then, and no record after it.
bool packer_record(struct packer *packer, enum packer_section section, const struct rrset *set,
                   struct text rdata, size_t limit);
size_t packer_count(const struct packer *packer, enum packer_section section);
// Another octet pair of the header: flags (2), a count.
void packer_set_u16(struct buffer *out, size_t at, unsigned number);
