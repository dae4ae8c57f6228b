#include "dns/tsig.h"

#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "dns/wire.h"

enum {
    MAC_OCTETS_MIN = 10, // RFC 8945 5.2.2.1
    RECORD_FIXED = 26,   // without names and MAC
};

static const struct {
    unsigned code;
    const char *name;
} errors[] = {
    {0, "NOERROR"},
    {TSIG_ERROR_BADSIG, "BADSIG"},
    {TSIG_ERROR_BADKEY, "BADKEY"},
    {TSIG_ERROR_BADTIME, "BADTIME"},
    {19, "BADMODE"},
    {20, "BADNAME"},
    {21, "BADALG"},
    {22, "BADTRUNC"},
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

// A TSIG record (RFC 8945 4.2), its names in canonical form. Other data is at most a time in what
// we make.
struct tsig_record {
    size_t start; // of the record in the message
    struct dname name;
    struct dname algorithm;
    uint64_t time_s;
    uint16_t fudge_s;
    uint16_t original_id;
    uint16_t error;
    struct text mac;
    struct text other;
};

// The names of a record.
struct names {
    uint8_t name[DNAME_MAX];
    uint8_t algorithm[DNAME_MAX];
};

// What else a MAC is made over: the MAC that was before it, and messages without one since then. In
// a later message of several the times stand for all the variables.
struct chain {
    const struct tsig_mac *mac; // of the request, or of the message before; NULL: none
    struct text between;
    bool is_later;
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

static void add_name(struct buffer *out, struct dname name)
{
    buffer_add(out, name.at, name.len);
}

static void add_text(struct buffer *out, struct text text)
{
    wire_add_u16(out, (unsigned)text.len);
    buffer_add(out, text.at, text.len);
}

static struct dname name_of(const char *text, uint8_t out[DNAME_MAX])
{
    AUTO_RDF *rdf = wire_name_new(text_of(text), NULL);
    must(rdf && ldns_rdf_size(rdf) <= DNAME_MAX);
    memcpy(out, ldns_rdf_data(rdf), ldns_rdf_size(rdf));
    return (struct dname){out, ldns_rdf_size(rdf)};
}

static void name_key(const struct tsig_key *key, struct names *names, struct tsig_record *record)
{
    record->name = name_of(key->name, names->name);
    record->algorithm = name_of(tsig_algorithm_name(key->algorithm), names->algorithm);
}

static void add_times(struct buffer *out, const struct tsig_record *record)
{
    add_u48(out, record->time_s);
    wire_add_u16(out, record->fudge_s);
}

// RFC 8945 4.3.3.
static void add_variables(struct buffer *out, const struct tsig_record *record)
{
    add_name(out, record->name);
    wire_add_u16(out, CLASS_ANY);
    add_u32(out, 0);
    add_name(out, record->algorithm);
    add_times(out, record);
    wire_add_u16(out, record->error);
    add_text(out, record->other);
}

static void compute_mac(const struct tsig_key *key, const struct chain *chain, struct text header,
                        struct text body, const struct tsig_record *record, struct tsig_mac *mac)
{
    AUTO_BUFFER before = {0};
    AUTO_BUFFER after = {0};
    if (chain->mac && chain->mac->len > 0)
        add_text(&before, (struct text){(const char *)chain->mac->octets, chain->mac->len});
    if (chain->is_later)
        add_times(&after, record);
    else
        add_variables(&after, record);
    const struct text pieces[] = {buffer_text(&before), chain->between, header, body,
                                  buffer_text(&after)};
    hmac(key->algorithm, key->secret, pieces, COUNT_OF(pieces), mac->octets);
    mac->len = digest_len(key->algorithm);
}

static void add_record(struct buffer *out, const struct tsig_record *record)
{
    AUTO_BUFFER rdata = {0};
    add_name(&rdata, record->algorithm);
    add_times(&rdata, record);
    add_text(&rdata, record->mac);
    wire_add_u16(&rdata, record->original_id);
    wire_add_u16(&rdata, record->error);
    add_text(&rdata, record->other);
    add_name(out, record->name);
    wire_add_u16(out, RR_TSIG);
    wire_add_u16(out, CLASS_ANY);
    add_u32(out, 0);
    add_text(out, buffer_text(&rdata));
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

static bool append(struct buffer *message, const struct tsig_record *record, struct error *err)
{
    unsigned additional = u16_at((const uint8_t *)message->at + 10);
    AUTO_BUFFER added = {0};
    add_record(&added, record);
    if (message->len + added.len > WIRE_MESSAGE_MAX || additional == UINT16_MAX)
        return error_set(err, FAULT_SPEC, "", "DNS message has no room for a TSIG record");
    buffer_add(message, added.at, added.len);
    message->at[10] = (char)((additional + 1) >> 8);
    message->at[11] = (char)(additional + 1);
    return true;
}

static bool time_is_possible(int64_t unix_s, struct error *err)
{
    return (unix_s >= 0 && unix_s >> 48 == 0) ||
           error_set(err, FAULT_AGAIN, "", "the clock shows no time that TSIG can carry");
}

// `given` has the time and what is unusual.
static bool sign(struct buffer *message, const struct tsig_key *key, const struct chain *chain,
                 const struct tsig_record *given, struct tsig_mac *mac, struct error *err)
{
    struct tsig_record record = *given;
    struct names names;
    struct tsig_mac made = {0};
    uint8_t header[WIRE_HEADER];
    const uint8_t *octets = (const uint8_t *)message->at;
    must(message->len >= WIRE_HEADER);
    record.fudge_s = TSIG_FUDGE_S;
    record.original_id = u16_at(octets);
    name_key(key, &names, &record);
    struct text body = {message->at + WIRE_HEADER, message->len - WIRE_HEADER};
    struct text signed_header =
        header_as_signed(octets, record.original_id, u16_at(octets + 10), header);
    compute_mac(key, chain, signed_header, body, &record, &made);
    record.mac = (struct text){(const char *)made.octets, made.len};
    if (!append(message, &record, err))
        return false;
    *mac = made;
    return true;
}

bool tsig_sign(struct buffer *message, const struct tsig_key *key, int64_t unix_s,
               const struct tsig_mac *request_mac, struct tsig_mac *mac, struct error *err)
{
    struct chain chain = {.mac = request_mac};
    struct tsig_record record = {.time_s = (uint64_t)unix_s, .other = TEXT("")};
    return time_is_possible(unix_s, err) && sign(message, key, &chain, &record, mac, err);
}

bool tsig_sign_later(struct buffer *message, const struct tsig_key *key, int64_t unix_s,
                     struct tsig_mac *mac, struct error *err)
{
    struct chain chain = {.mac = mac, .is_later = true};
    struct tsig_record record = {.time_s = (uint64_t)unix_s, .other = TEXT("")};
    return time_is_possible(unix_s, err) && sign(message, key, &chain, &record, mac, err);
}

size_t tsig_octets(const struct tsig_key *key)
{
    return strlen(key->name) + strlen(tsig_algorithm_name(key->algorithm)) + 2 + RECORD_FIXED +
           digest_len(key->algorithm);
}

static bool refuse_unsigned(struct buffer *reply, const struct tsig_found *found,
                            struct tsig_record *record, struct error *err)
{
    record->name = (struct dname){found->name, found->name_len};
    record->algorithm = (struct dname){found->algorithm, found->algorithm_len};
    record->fudge_s = TSIG_FUDGE_S;
    record->original_id = u16_at((const uint8_t *)reply->at);
    return append(reply, record, err);
}

bool tsig_refuse(struct buffer *reply, const struct tsig_found *found, unsigned error,
                 const struct tsig_key *key, const struct tsig_mac *request_mac, int64_t unix_s,
                 struct error *err)
{
    struct tsig_mac mac;
    struct chain chain = {.mac = request_mac};
    AUTO_BUFFER now = {0};
    struct tsig_record record = {
        .time_s = (uint64_t)unix_s, .error = (uint16_t)error, .other = TEXT("")};
    if (!time_is_possible(unix_s, err))
        return false;
    if (error != TSIG_ERROR_BADTIME)
        return refuse_unsigned(reply, found, &record, err);
    add_u48(&now, (uint64_t)unix_s);
    record.time_s = found->time_s;
    record.other = buffer_text(&now);
    return sign(reply, key, &chain, &record, &mac, err);
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
static enum tsig_result find_record(struct text message, size_t *start)
{
    struct wire wire = wire_of(message);
    if (!wire_skip(&wire, WIRE_HEADER))
        return TSIG_MALFORMED;
    size_t additional = u16_at(wire.at + 10);
    size_t count = (size_t)u16_at(wire.at + 6) + u16_at(wire.at + 8) + additional;
    if (!skip_questions(&wire, u16_at(wire.at + 4)))
        return TSIG_MALFORMED;
    enum tsig_result result = TSIG_ABSENT;
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
        result = TSIG_GOOD;
    }
    return wire.position == wire.len ? result : TSIG_MALFORMED;
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

// The record at `start`, which is the message's last.
static bool read_record(struct text message, size_t start, struct names *names,
                        struct tsig_record *record)
{
    struct wire wire = wire_of(message);
    wire.position = start;
    uint16_t type, class, rdata_len;
    uint32_t ttl_s;
    if (!wire_take_name(&wire, names->name, &record->name) || !wire_read_u16(&wire, &type) ||
        !wire_read_u16(&wire, &class) || !wire_read_u32(&wire, &ttl_s) ||
        !wire_read_u16(&wire, &rdata_len) || class != CLASS_ANY || ttl_s != 0)
        return false;
    size_t name_start = wire.position;
    record->start = start;
    return wire_take_name(&wire, names->algorithm, &record->algorithm) &&
           wire.position - name_start == record->algorithm.len && read_fields(&wire, record);
}

static bool is_of_key(const struct tsig_record *record, const struct tsig_key *key)
{
    struct names names;
    struct tsig_record own;
    name_key(key, &names, &own);
    return dname_equal(record->name, own.name) && dname_equal(record->algorithm, own.algorithm);
}

static bool mac_is_good(struct text message, const struct tsig_key *key, const struct chain *chain,
                        const struct tsig_record *record)
{
    struct tsig_mac wanted;
    uint8_t header[WIRE_HEADER];
    const uint8_t *octets = (const uint8_t *)message.at;
    struct text body = {message.at + WIRE_HEADER, record->start - WIRE_HEADER};
    uint16_t additional = (uint16_t)(u16_at(octets + 10) - 1);
    struct text signed_header = header_as_signed(octets, record->original_id, additional, header);
    compute_mac(key, chain, signed_header, body, record, &wanted);
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

static enum tsig_result judge(struct text message, const struct tsig_key *key, int64_t unix_s,
                              const struct chain *chain, const struct tsig_record *record)
{
    if (!mac_len_is_possible(record->mac.len, key->algorithm))
        return TSIG_MALFORMED;
    if (!mac_is_good(message, key, chain, record))
        return TSIG_BADSIG;
    if (chain->mac && record->error != 0)
        return TSIG_REFUSED_BY_PEER;
    return is_in_time(record, unix_s) ? TSIG_GOOD : TSIG_BADTIME;
}

static void keep_mac(const struct tsig_record *record, struct tsig_mac *mac)
{
    *mac = (struct tsig_mac){0};
    if (record->mac.len > sizeof mac->octets)
        return;
    memcpy(mac->octets, record->mac.at, record->mac.len);
    mac->len = record->mac.len;
}

// GOOD: there is one, and it is whole.
static enum tsig_result look(struct text message, struct names *names, struct tsig_record *record)
{
    size_t start = 0;
    enum tsig_result found = find_record(message, &start);
    if (found != TSIG_GOOD)
        return found;
    return read_record(message, start, names, record) ? TSIG_GOOD : TSIG_MALFORMED;
}

static enum tsig_result verify(struct text message, const struct tsig_key *key, int64_t unix_s,
                               const struct chain *chain, const struct tsig_record *record)
{
    // BADSIG and BADKEY come back unsigned (RFC 8945 5.2): a hint, never an answer.
    if (chain->mac && record->error != 0 && record->mac.len == 0)
        return TSIG_REFUSED_BY_PEER;
    return is_of_key(record, key) ? judge(message, key, unix_s, chain, record) : TSIG_BADKEY;
}

enum tsig_result tsig_verify(struct text message, const struct tsig_key *key, int64_t unix_s,
                             const struct tsig_mac *request_mac, size_t *stripped_len,
                             struct tsig_mac *mac, unsigned *peer_error)
{
    struct names names;
    struct tsig_record record = {0};
    struct chain chain = {.mac = request_mac};
    *stripped_len = message.len;
    *mac = (struct tsig_mac){0};
    *peer_error = 0;
    enum tsig_result found = look(message, &names, &record);
    if (found != TSIG_GOOD)
        return found;
    *stripped_len = record.start;
    *peer_error = record.error;
    keep_mac(&record, mac);
    return verify(message, key, unix_s, &chain, &record);
}

enum tsig_result tsig_verify_later(struct text message, const struct tsig_key *key, int64_t unix_s,
                                   struct text between, struct tsig_mac *mac, unsigned *peer_error)
{
    struct names names;
    struct tsig_record record = {0};
    struct chain chain = {.mac = mac, .between = between, .is_later = true};
    enum tsig_result result = look(message, &names, &record);
    *peer_error = record.error;
    if (result == TSIG_GOOD)
        result = verify(message, key, unix_s, &chain, &record);
    if (result == TSIG_GOOD)
        keep_mac(&record, mac);
    return result;
}

enum tsig_result tsig_find(struct text message, struct tsig_found *found)
{
    struct names names;
    struct tsig_record record = {0};
    enum tsig_result result = look(message, &names, &record);
    if (result != TSIG_GOOD)
        return result;
    memcpy(found->name, record.name.at, record.name.len);
    found->name_len = record.name.len;
    memcpy(found->algorithm, record.algorithm.at, record.algorithm.len);
    found->algorithm_len = record.algorithm.len;
    found->time_s = record.time_s;
    return TSIG_GOOD;
}
