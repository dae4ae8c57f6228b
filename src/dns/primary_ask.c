#include "dns/packer.h"
#include "dns/primary.h"
#include "dns/reply_check.h"
#include "dns/rr_type.h"
#include "dns/wire.h"

// NOTIFY, the question for the SOA, and their replies.

enum { PAYLOAD_OCTETS = 512 }; // of UDP without EDNS

static bool seal(struct buffer *out, struct buffer *message, const struct tsig_key *key,
                 int64_t unix_s, struct tsig_mac *mac, struct error *err)
{
    if (key && !tsig_sign(message, key, unix_s, NULL, mac, err))
        return false;
    buffer_add(out, message->at, message->len);
    return true;
}

bool primary_notify(struct buffer *out, uint16_t id, const struct rrset *soa,
                    const struct tsig_key *key, int64_t unix_s, struct tsig_mac *mac,
                    struct error *err)
{
    AUTO_BUFFER message = {0};
    struct packer packer;
    struct text rdata = {0};
    size_t cursor = 0;
    size_t signature = key ? tsig_octets(key) : 0;
    packer_begin(&packer, &message, id, OPCODE_NOTIFY << OPCODE_SHIFT | FLAG_AUTHORITATIVE);
    packer_question(&packer, rrset_owner(soa), RR_SOA, CLASS_IN);
    rrset_next(soa, &cursor, &rdata);
    // It is a hint (RFC 1996 3.7): one that does not fit may be left out.
    packer_record(&packer, PACKER_ANSWER, soa, rdata, PAYLOAD_OCTETS - signature);
    return seal(out, &message, key, unix_s, mac, err);
}

bool primary_probe(struct buffer *out, uint16_t id, struct dname apex, const struct tsig_key *key,
                   int64_t unix_s, struct tsig_mac *mac, struct error *err)
{
    AUTO_BUFFER message = {0};
    struct packer packer;
    packer_begin(&packer, &message, id, 0);
    packer_question(&packer, apex, RR_SOA, CLASS_IN);
    return seal(out, &message, key, unix_s, mac, err);
}

static bool read_answers(struct wire *wire, const struct wire_header *header, struct dname apex,
                         bool *has_serial, uint32_t *serial)
{
    struct wire_record record;
    for (size_t i = 0; i < header->counts[1]; i++) {
        if (!wire_take_record(wire, &record))
            return false;
        if (record.type != RR_SOA || record.class != CLASS_IN || !dname_equal(record.owner, apex))
            continue;
        if (*has_serial || !wire_read_serial(wire, &record, serial))
            return false;
        *has_serial = true;
    }
    return true;
}

static bool is_answer_to_us(struct wire *wire, struct wire_header *header, uint16_t id,
                            struct dname apex)
{
    return wire_take_header(wire, header) && header->flags & FLAG_REPLY && header->id == id &&
           reply_check_questions(wire, header, apex, RR_SOA);
}

static bool check_signature(struct text octets, const struct tsig_key *key, int64_t unix_s,
                            const struct tsig_mac *mac, unsigned rcode, struct error *err)
{
    struct tsig_mac own;
    size_t stripped_len;
    unsigned peer_error;
    enum tsig_result result =
        tsig_verify(octets, key, unix_s, mac, &stripped_len, &own, &peer_error);
    return reply_check_tsig(result, peer_error, rcode, err);
}

bool primary_reply(struct text octets, uint16_t id, struct dname apex, const struct tsig_key *key,
                   int64_t unix_s, const struct tsig_mac *mac, bool *has_serial, uint32_t *serial,
                   struct error *err)
{
    struct wire wire = wire_of(octets);
    struct wire_header header;
    bool has_found = false;
    uint32_t found = 0;
    if (!is_answer_to_us(&wire, &header, id, apex))
        return error_set(err, FAULT_AGAIN, "", "what came is no reply to our question");
    unsigned rcode = header.flags & FLAG_RCODE;
    if (key && !check_signature(octets, key, unix_s, mac, rcode, err))
        return false;
    if (!reply_check_rcode(rcode, err))
        return false;
    if (!read_answers(&wire, &header, apex, &has_found, &found))
        return error_set(err, FAULT_AGAIN, "", "the reply is malformed");
    // What somebody has in a cache is not what he serves.
    bool is_query = (header.flags & FLAG_OPCODE) == 0;
    if (has_found && is_query && !(header.flags & FLAG_AUTHORITATIVE))
        return error_set(err, FAULT_AGAIN, "", "the server is not authoritative for the zone");
    *has_serial = has_found;
    if (has_found)
        *serial = found;
    return true;
}
