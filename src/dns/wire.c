#include "dns/wire.h"

#include <string.h>

#include "base/memory.h"
#include "base/must.h"

// Every octet escaped as \DDD, and dots.
enum { NAME_TEXT_MAX = 1024, NAME_SHOWN_MAX = 255, POINTER_MARK = 0xc0, POINTERS_MAX = 127 };
enum { SOA_NAMES = 2, SOA_TIMERS = 16 };

struct wire wire_of(struct text octets)
{
    return (struct wire){.at = (const uint8_t *)(octets.at ? octets.at : ""), .len = octets.len};
}

bool wire_skip(struct wire *wire, size_t len)
{
    if (len > wire->len - wire->position)
        return false;
    wire->position += len;
    return true;
}

bool wire_read_u16(struct wire *wire, uint16_t *out)
{
    const uint8_t *at = wire->at + wire->position;
    if (!wire_skip(wire, 2))
        return false;
    *out = (uint16_t)(at[0] << 8 | at[1]);
    return true;
}

bool wire_read_u32(struct wire *wire, uint32_t *out)
{
    uint16_t high, low;
    if (wire->len - wire->position < 4 || !wire_read_u16(wire, &high) || !wire_read_u16(wire, &low))
        return false;
    *out = (uint32_t)high << 16 | low;
    return true;
}

bool wire_skip_name(struct wire *wire)
{
    size_t start = wire->position;
    while (wire->position < wire->len && wire->position - start < WIRE_NAME_MAX) {
        uint8_t len = wire->at[wire->position];
        if (len >= POINTER_MARK)
            return wire_skip(wire, 2);
        if (len > LDNS_MAX_LABELLEN || !wire_skip(wire, 1u + len))
            return false;
        if (len == 0)
            return true;
    }
    return false;
}

// Behind the pointer at *at, which must lead back, behind nothing that was read.
static bool follow(const struct wire *wire, size_t *at, size_t *run_start)
{
    if (*at + 2 > wire->len)
        return false;
    *at = (size_t)(wire->at[*at] & 0x3f) << 8 | wire->at[*at + 1];
    if (*at >= *run_start)
        return false;
    *run_start = *at;
    return true;
}

// No loop, and no long way to go, which ldns alone would allow.
static bool name_is_sound(const struct wire *wire)
{
    size_t at = wire->position, run_start = at, pointers = 0;
    while (at < wire->len) {
        size_t len = wire->at[at];
        if (len == 0)
            return true;
        if (len < POINTER_MARK)
            at += 1 + len;
        else if (++pointers > POINTERS_MAX || !follow(wire, &at, &run_start))
            return false;
    }
    return false;
}

ldns_rdf *wire_read_name(struct wire *wire)
{
    if (!name_is_sound(wire))
        return NULL;
    ldns_rdf *name = NULL;
    size_t position = wire->position;
    if (ldns_wire2dname(&name, wire->at, wire->len, &position) != LDNS_STATUS_OK)
        return NULL;
    wire->position = position;
    return name;
}

static void take_label(uint8_t *out, const uint8_t *label)
{
    out[0] = label[0];
    for (size_t i = 1; i <= label[0]; i++)
        out[i] = label[i] >= 'A' && label[i] <= 'Z' ? label[i] | 0x20 : label[i];
}

bool wire_take_name(struct wire *wire, uint8_t out[DNAME_MAX], struct dname *name)
{
    size_t at = wire->position, run_start = at, end = 0, len = 0, pointers = 0;
    while (at < wire->len) {
        size_t label = wire->at[at];
        if (label >= POINTER_MARK) {
            end = end ? end : at + 2;
            if (++pointers > POINTERS_MAX || !follow(wire, &at, &run_start))
                return false;
            continue;
        }
        if (label > DNAME_LABEL_MAX || at + label >= wire->len || len + 1 + label > DNAME_MAX)
            return false;
        take_label(out + len, wire->at + at);
        at += 1 + label;
        len += 1 + label;
        if (label)
            continue;
        *name = (struct dname){out, len};
        wire->position = end ? end : at;
        return true;
    }
    return false;
}

bool wire_take_header(struct wire *wire, struct wire_header *out)
{
    if (!wire_read_u16(wire, &out->id) || !wire_read_u16(wire, &out->flags))
        return false;
    for (size_t i = 0; i < COUNT_OF(out->counts); i++)
        if (!wire_read_u16(wire, &out->counts[i]))
            return false;
    return true;
}

bool wire_take_question(struct wire *wire, struct wire_question *out)
{
    return wire_take_name(wire, out->name_octets, &out->name) && wire_read_u16(wire, &out->type) &&
           wire_read_u16(wire, &out->class);
}

bool wire_take_record(struct wire *wire, struct wire_record *out)
{
    if (!wire_take_name(wire, out->owner_octets, &out->owner) || !wire_read_u16(wire, &out->type) ||
        !wire_read_u16(wire, &out->class) || !wire_read_u32(wire, &out->ttl) ||
        !wire_read_u16(wire, &out->rdata_len))
        return false;
    out->rdata_at = wire->position;
    return wire_skip(wire, out->rdata_len);
}

bool wire_read_serial(const struct wire *wire, const struct wire_record *soa, uint32_t *serial)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    struct wire inner = {wire->at, soa->rdata_at + soa->rdata_len, soa->rdata_at};
    for (size_t i = 0; i < SOA_NAMES; i++)
        if (!wire_take_name(&inner, octets, &name))
            return false;
    return wire_read_u32(&inner, serial) && wire_skip(&inner, SOA_TIMERS) &&
           inner.position == inner.len;
}

void wire_add_u16(struct buffer *out, unsigned number)
{
    uint8_t octets[2] = {(uint8_t)(number >> 8), (uint8_t)number};
    buffer_add(out, octets, sizeof octets);
}

ldns_rdf *wire_name_new(struct text name, struct error *err)
{
    char terminated[NAME_TEXT_MAX];
    ldns_rdf *rdf = NULL;
    bool is_fit = name.len > 0 && name.len < sizeof terminated && !memchr(name.at, 0, name.len);
    if (is_fit) {
        memcpy(terminated, name.at, name.len);
        terminated[name.len] = '\0';
        ldns_status status = ldns_str2rdf_dname(&rdf, terminated);
        must(status != LDNS_STATUS_MEM_ERR);
        is_fit = status == LDNS_STATUS_OK;
    }
    if (!is_fit)
        error_set(err, FAULT_SPEC, "ValidationFailed", "'%.*s' is not a domain name",
                  (int)(name.len < NAME_SHOWN_MAX ? name.len : NAME_SHOWN_MAX), name.at);
    return is_fit ? rdf : NULL;
}
