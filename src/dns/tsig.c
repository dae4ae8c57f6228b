#include "dns/tsig.h"

#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "dns/wire.h"

enum {
    RR_TSIG = 250,
    CLASS_ANY = 255,
    MAC_OCTETS_MIN = 10, // RFC 8945 5.2.2.1
};

static const struct {
    unsigned code;
    const char *name;
} errors[] = {
    {0, "NOERROR"},  {16, "BADSIG"},  {17, "BADKEY"}, {18, "BADTIME"},
    {19, "BADMODE"}, {20, "BADNAME"}, {21, "BADALG"}, {22, "BADTRUNC"},
};

const char *tsig_error_name(unsigned code)
{
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        if (errors[i].code == code)
            return errors[i].name;
    }
    return "unknown TSIG error";
}

// ---- the record ---------------------------------------------------------------------------------

// The fields of a TSIG record (RFC 8945 4.2). Other data is at most a time in what we make.
struct tsig_record {
    size_t start; // of the record in the message
    uint64_t time_s;
    uint16_t fudge_s;
    uint16_t original_id;
    uint16_t error;
    struct text mac;
    struct text other;
};

static void add_u32(struct buffer *out, uint32_t number)
{
    wire_add_u16(out, number >> 16);
    wire_add_u16(out, number & 0xffff);
}

static void add_u48(struct buffer *out, uint64_t number)
{
    wire_add_u16(out, (unsigned)(number >> 32) & 0xffff);
    add_u32(out, (uint32_t)number);
}

// Uncompressed and in lower case: the canonical form, as all names of a key are lower case.
static void add_name(struct buffer *out, const char *name)
{
    AUTO_RDF *rdf = wire_name_new(text_of(name), NULL);
    must(rdf);
    buffer_add(out, ldns_rdf_data(rdf), ldns_rdf_size(rdf));
}

// RFC 8945 4.3.3.
static void add_variables(struct buffer *out, const struct tsig_key *key,
                          const struct tsig_record *record)
{
    add_name(out, key->name);
    wire_add_u16(out, CLASS_ANY);
    add_u32(out, 0);
    add_name(out, tsig_algorithm_name(key->algorithm));
    add_u48(out, record->time_s);
    wire_add_u16(out, record->fudge_s);
    wire_add_u16(out, record->error);
    wire_add_u16(out, (unsigned)record->other.len);
    buffer_add(out, record->other.at, record->other.len);
}

static void compute_mac(const struct tsig_key *key, const struct tsig_mac *request_mac,
                        struct text header, struct text body, const struct tsig_record *record,
                        struct tsig_mac *mac)
{
    AUTO_BUFFER before = {0};
    AUTO_BUFFER after = {0};
    if (request_mac && request_mac->len > 0) {
        wire_add_u16(&before, (unsigned)request_mac->len);
        buffer_add(&before, request_mac->octets, request_mac->len);
    }
    add_variables(&after, key, record);
    const struct text pieces[] = {buffer_text(&before), header, body, buffer_text(&after)};
    hmac(key->algorithm, key->secret, pieces, COUNT_OF(pieces), mac->octets);
    mac->len = digest_len(key->algorithm);
}

static void add_record(struct buffer *out, const struct tsig_key *key,
                       const struct tsig_record *record)
{
    AUTO_BUFFER rdata = {0};
    add_name(&rdata, tsig_algorithm_name(key->algorithm));
    add_u48(&rdata, record->time_s);
    wire_add_u16(&rdata, record->fudge_s);
    wire_add_u16(&rdata, (unsigned)record->mac.len);
    buffer_add(&rdata, record->mac.at, record->mac.len);
    wire_add_u16(&rdata, record->original_id);
    wire_add_u16(&rdata, record->error);
    wire_add_u16(&rdata, (unsigned)record->other.len);
    buffer_add(&rdata, record->other.at, record->other.len);
    add_name(out, key->name);
    wire_add_u16(out, RR_TSIG);
    wire_add_u16(out, CLASS_ANY);
    add_u32(out, 0);
    wire_add_u16(out, (unsigned)rdata.len);
    buffer_add(out, rdata.at, rdata.len);
}

static struct text header_as_signed(const uint8_t *message, uint16_t id, uint16_t additional,
                                    uint8_t header[WIRE_HEADER])
{
    memcpy(header, message, WIRE_HEADER);
    header[0] = (uint8_t)(id >> 8);
    header[1] = (uint8_t)id;
    header[10] = (uint8_t)(additional >> 8);
    header[11] = (uint8_t)additional;
    return (struct text){(const char *)header, WIRE_HEADER};
}

static uint16_t u16_at(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

// ---- signing ------------------------------------------------------------------------------------

bool tsig_sign(struct buffer *message, const struct tsig_key *key, int64_t unix_s,
               const struct tsig_mac *request_mac, struct tsig_mac *mac, struct error *err)
{
    must(message->len >= WIRE_HEADER);
    if (unix_s < 0 || unix_s >> 48 != 0)
        return error_set(err, FAULT_AGAIN, "", "the clock shows no time that TSIG can carry");
    uint8_t *octets = (uint8_t *)message->at;
    uint16_t additional = u16_at(octets + 10);
    struct tsig_record record = {.time_s = (uint64_t)unix_s,
                                 .fudge_s = TSIG_FUDGE_S,
                                 .original_id = u16_at(octets),
                                 .other = TEXT("")};
    struct tsig_mac made = {0};
    uint8_t header[WIRE_HEADER];
    struct text body = {message->at + WIRE_HEADER, message->len - WIRE_HEADER};
    struct text signed_header = header_as_signed(octets, record.original_id, additional, header);
    compute_mac(key, request_mac, signed_header, body, &record, &made);
    record.mac = (struct text){(const char *)made.octets, made.len};
    AUTO_BUFFER added = {0};
    add_record(&added, key, &record);
    if (message->len + added.len > WIRE_MESSAGE_MAX || additional == UINT16_MAX)
        return error_set(err, FAULT_SPEC, "", "DNS message has no room for a TSIG record");
    buffer_add(message, added.at, added.len);
    message->at[10] = (char)((additional + 1) >> 8);
    message->at[11] = (char)(additional + 1);
    *mac = made;
    return true;
}

// ---- verifying ----------------------------------------------------------------------------------

static bool skip_questions(struct wire *wire, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!wire_skip_name(wire) || !wire_skip(wire, 4))
            return false;
    }
    return true;
}

static bool skip_record(struct wire *wire, uint16_t *type)
{
    uint16_t rdata_len;
    return wire_skip_name(wire) && wire_read_u16(wire, type) && wire_skip(wire, 6) &&
           wire_read_u16(wire, &rdata_len) && wire_skip(wire, rdata_len);
}

// GOOD when the only TSIG record is the last additional one; *start is then where it begins.
static enum tsig_verdict find_record(struct text message, size_t *start)
{
    struct wire wire = wire_of(message);
    if (!wire_skip(&wire, WIRE_HEADER))
        return TSIG_MALFORMED;
    size_t additional = u16_at(wire.at + 10);
    size_t count = (size_t)u16_at(wire.at + 6) + u16_at(wire.at + 8) + additional;
    if (!skip_questions(&wire, u16_at(wire.at + 4)))
        return TSIG_MALFORMED;
    enum tsig_verdict verdict = TSIG_ABSENT;
    for (size_t i = 0; i < count; i++) {
        uint16_t type;
        size_t begin = wire.position;
        if (!skip_record(&wire, &type))
            return TSIG_MALFORMED;
        if (type != RR_TSIG)
            continue;
        if (i + 1 != count || additional == 0)
            return TSIG_MALFORMED;
        *start = begin;
        verdict = TSIG_GOOD;
    }
    return wire.position == wire.len ? verdict : TSIG_MALFORMED;
}

static bool is_name(ldns_rdf *found, const char *wanted)
{
    AUTO_BUFFER octets = {0};
    add_name(&octets, wanted);
    ldns_dname2canonical(found);
    return ldns_rdf_size(found) == octets.len &&
           memcmp(ldns_rdf_data(found), octets.at, octets.len) == 0;
}

static bool read_octets(struct wire *wire, struct text *out)
{
    uint16_t len;
    if (!wire_read_u16(wire, &len))
        return false;
    *out = (struct text){(const char *)wire->at + wire->position, len};
    return wire_skip(wire, len);
}

static bool read_fields(struct wire *wire, struct tsig_record *record)
{
    uint16_t time_high;
    uint32_t time_low;
    if (!wire_read_u16(wire, &time_high) || !wire_read_u32(wire, &time_low) ||
        !wire_read_u16(wire, &record->fudge_s) || !read_octets(wire, &record->mac) ||
        !wire_read_u16(wire, &record->original_id) || !wire_read_u16(wire, &record->error) ||
        !read_octets(wire, &record->other))
        return false;
    record->time_s = (uint64_t)time_high << 32 | time_low;
    return wire->position == wire->len;
}

// The record at `start`, which is the message's last. *is_key: name and algorithm are the key's.
static bool read_record(struct text message, size_t start, const struct tsig_key *key,
                        struct tsig_record *record, bool *is_key)
{
    struct wire wire = wire_of(message);
    wire.position = start;
    uint16_t type, class, rdata_len;
    uint32_t ttl_s;
    AUTO_RDF *owner = wire_read_name(&wire);
    if (!owner || !wire_read_u16(&wire, &type) || !wire_read_u16(&wire, &class) ||
        !wire_read_u32(&wire, &ttl_s) || !wire_read_u16(&wire, &rdata_len) || class != CLASS_ANY ||
        ttl_s != 0)
        return false;
    size_t name_start = wire.position;
    AUTO_RDF *algorithm = wire_read_name(&wire);
    bool is_plain = algorithm && wire.position - name_start == ldns_rdf_size(algorithm);
    if (!is_plain || !read_fields(&wire, record))
        return false;
    record->start = start;
    *is_key = is_name(owner, key->name) && is_name(algorithm, tsig_algorithm_name(key->algorithm));
    return true;
}

static bool mac_is_good(struct text message, const struct tsig_key *key,
                        const struct tsig_mac *request_mac, const struct tsig_record *record)
{
    struct tsig_mac wanted;
    uint8_t header[WIRE_HEADER];
    const uint8_t *octets = (const uint8_t *)message.at;
    struct text body = {message.at + WIRE_HEADER, record->start - WIRE_HEADER};
    uint16_t additional = (uint16_t)(u16_at(octets + 10) - 1);
    struct text signed_header = header_as_signed(octets, record->original_id, additional, header);
    compute_mac(key, request_mac, signed_header, body, record, &wanted);
    return record->mac.len == wanted.len && octets_equal(record->mac.at, wanted.octets, wanted.len);
}

// RFC 8945 5.2.2.1: what is longer than the digest or shorter than its half is no MAC at all.
static bool mac_len_is_possible(size_t len, enum digest algorithm)
{
    size_t full = digest_len(algorithm);
    size_t least = full / 2 > MAC_OCTETS_MIN ? full / 2 : MAC_OCTETS_MIN;
    return len >= least && len <= full;
}

static bool is_in_time(const struct tsig_record *record, int64_t unix_s)
{
    int64_t distance = unix_s - (int64_t)record->time_s;
    return (distance < 0 ? -distance : distance) <= record->fudge_s;
}

static enum tsig_verdict judge(struct text message, const struct tsig_key *key, int64_t unix_s,
                               const struct tsig_mac *request_mac, const struct tsig_record *record)
{
    if (!mac_len_is_possible(record->mac.len, key->algorithm))
        return TSIG_MALFORMED;
    if (!mac_is_good(message, key, request_mac, record))
        return TSIG_BADSIG;
    if (request_mac && record->error != 0)
        return TSIG_REFUSED_BY_PEER;
    return is_in_time(record, unix_s) ? TSIG_GOOD : TSIG_BADTIME;
}

enum tsig_verdict tsig_verify(struct text message, const struct tsig_key *key, int64_t unix_s,
                              const struct tsig_mac *request_mac, size_t *stripped_len,
                              struct tsig_mac *mac, unsigned *peer_error)
{
    struct tsig_record record = {0};
    bool is_key = false;
    *stripped_len = message.len;
    *mac = (struct tsig_mac){0};
    *peer_error = 0;
    enum tsig_verdict found = find_record(message, &record.start);
    if (found != TSIG_GOOD)
        return found;
    if (!read_record(message, record.start, key, &record, &is_key))
        return TSIG_MALFORMED;
    *stripped_len = record.start;
    *peer_error = record.error;
    if (record.mac.len <= sizeof mac->octets) {
        memcpy(mac->octets, record.mac.at, record.mac.len);
        mac->len = record.mac.len;
    }
    // BADSIG and BADKEY come back unsigned (RFC 8945 5.2): a hint, never an answer.
    if (request_mac && record.error != 0 && record.mac.len == 0)
        return TSIG_REFUSED_BY_PEER;
    return is_key ? judge(message, key, unix_s, request_mac, &record) : TSIG_BADKEY;
}
