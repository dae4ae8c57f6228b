#include "dns/parsed_query.h"

#include "dns/rr_type.h"

enum { PAYLOAD_MIN = 512, SECTIONS = 3, SECTION_AUTHORITY = 1 };

// RFC 6891 6.1.1: one at most, and the root's.
static bool take_edns(const struct wire_record *record, struct parsed_query *out)
{
    if (out->has_edns || !dname_is_root(record->owner))
        return false;
    out->has_edns = true;
    out->edns_version = record->ttl >> 16 & UINT8_MAX;
    out->payload = record->class > PAYLOAD_MIN ? record->class : PAYLOAD_MIN;
    return true;
}

static bool take(const struct wire *wire, const struct wire_record *record, size_t section,
                 struct parsed_query *out)
{
    if (record->type == RR_OPT)
        return section == SECTIONS - 1 && take_edns(record, out);
    bool is_ours = section == SECTION_AUTHORITY && record->type == RR_SOA && !out->has_serial &&
                   out->question_count && dname_equal(record->owner, out->question.name);
    if (!is_ours)
        return true;
    out->has_serial = wire_read_serial(wire, record, &out->serial);
    return out->has_serial;
}

static bool read_questions(struct wire *wire, size_t count, struct parsed_query *out)
{
    struct wire_question other;
    for (size_t i = 0; i < count; i++) {
        if (!wire_take_question(wire, i ? &other : &out->question))
            return false;
        out->question_count++;
    }
    return true;
}

static bool read_rest(struct wire *wire, const struct wire_header *header, struct parsed_query *out)
{
    struct wire_record record;
    if (!read_questions(wire, header->counts[0], out))
        return false;
    for (size_t section = 0; section < SECTIONS; section++)
        for (size_t i = 0; i < header->counts[1 + section]; i++)
            if (!wire_take_record(wire, &record) || !take(wire, &record, section, out))
                return false;
    return wire->position == wire->len;
}

bool parsed_query_read(struct text octets, struct parsed_query *out)
{
    struct wire wire = wire_of(octets);
    struct wire_header header;
    if (!wire_take_header(&wire, &header) || header.flags & FLAG_REPLY)
        return false;
    *out = (struct parsed_query){.id = header.id,
                                 .flags = header.flags,
                                 .opcode = (header.flags & FLAG_OPCODE) >> OPCODE_SHIFT,
                                 .payload = PAYLOAD_MIN};
    out->is_whole = read_rest(&wire, &header, out);
    return true;
}
