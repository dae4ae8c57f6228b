#include <stdlib.h>
#include <string.h>

#include "dns/packer.h"
#include "dns/primary.h"
#include "dns/rdata.h"
#include "dns/reply_check.h"
#include "dns/rr_type.h"
#include "dns/wire.h"

enum {
    RECORDS_MAX = 1000000,
    OCTETS_MAX = 256 << 20,
    UNSIGNED_MAX = 99, // messages, between signed ones (RFC 8945 5.3.1)
    RR_FIXED = 10,
    TTL_BAD = 1u << 31, // counts as 0 (RFC 2181 8)
};

// Neighbours in the answer, which become one set.
struct input_objects {
    uint8_t owner_octets[DNAME_MAX];
    struct dname owner;
    uint16_t type;
    uint32_t ttl_s;
    struct buffer rdatas;
    struct text *texts; // their lengths; the buffer may still move
    size_t count;
    size_t capacity;
};

struct transfer {
    uint8_t apex_octets[DNAME_MAX];
    struct dname apex;
    uint16_t id;
    const struct tsig_key *key;
    struct tsig_mac mac; // of the request, then of the signed message before
    struct buffer unsigned_octets;
    size_t unsigned_count;
    size_t message_count;
    size_t record_count;
    size_t octets;      // that came
    size_t kept_octets; // uncompressed
    bool is_complete;
    struct rrset *soa;
    struct input_objects input_objects;
    struct rrset **sets;
    size_t count;
    size_t capacity;
};

struct transfer *transfer_new(struct dname apex, const struct tsig_key *key)
{
    struct transfer *transfer = mem_new_of(struct transfer);
    memcpy(transfer->apex_octets, apex.at, apex.len);
    transfer->apex = (struct dname){transfer->apex_octets, apex.len};
    transfer->key = key;
    return transfer;
}

void transfer_free(struct transfer *transfer)
{
    if (!transfer)
        return;
    for (size_t i = 0; i < transfer->count; i++)
        rrset_unref(transfer->sets[i]);
    rrset_unref(transfer->soa);
    free(transfer->sets);
    free(transfer->input_objects.texts);
    buffer_done(&transfer->input_objects.rdatas);
    buffer_done(&transfer->unsigned_octets);
    free(transfer);
}

bool transfer_request(struct transfer *transfer, uint16_t id, int64_t unix_s, struct buffer *out,
                      struct error *err)
{
    AUTO_BUFFER message = {0};
    struct packer packer;
    packer_begin(&packer, &message, id, 0);
    packer_question(&packer, transfer->apex, RR_AXFR, CLASS_IN);
    if (transfer->key && !tsig_sign(&message, transfer->key, unix_s, NULL, &transfer->mac, err))
        return false;
    transfer->id = id;
    buffer_add(out, message.at, message.len);
    return true;
}

static bool refuse(struct error *err, const char *text)
{
    return error_set(err, FAULT_AGAIN, "", "%s", text);
}

// ---- signatures ---------------------------------------------------------------------------------

static bool take_unsigned(struct transfer *transfer, struct text octets)
{
    buffer_add(&transfer->unsigned_octets, octets.at, octets.len);
    return ++transfer->unsigned_count <= UNSIGNED_MAX;
}

static bool check_first(struct transfer *transfer, struct text octets, int64_t unix_s,
                        unsigned rcode, struct error *err)
{
    struct tsig_mac mac;
    size_t stripped_len;
    unsigned peer_error;
    enum tsig_result result = tsig_verify(octets, transfer->key, unix_s, &transfer->mac,
                                          &stripped_len, &mac, &peer_error);
    if (!reply_check_tsig(result, peer_error, rcode, err))
        return false;
    transfer->mac = mac;
    return true;
}

static bool check_later(struct transfer *transfer, struct text octets, int64_t unix_s,
                        unsigned rcode, struct error *err)
{
    unsigned peer_error;
    enum tsig_result result =
        tsig_verify_later(octets, transfer->key, unix_s, buffer_text(&transfer->unsigned_octets),
                          &transfer->mac, &peer_error);
    if (result == TSIG_ABSENT)
        return take_unsigned(transfer, octets) || reply_check_tsig(result, 0, rcode, err);
    if (!reply_check_tsig(result, peer_error, rcode, err))
        return false;
    transfer->unsigned_count = 0;
    buffer_clear(&transfer->unsigned_octets);
    return true;
}

static bool check_signature(struct transfer *transfer, struct text octets, int64_t unix_s,
                            unsigned rcode, struct error *err)
{
    if (!transfer->key)
        return true;
    return transfer->message_count ? check_later(transfer, octets, unix_s, rcode, err)
                                   : check_first(transfer, octets, unix_s, rcode, err);
}

// ---- records ------------------------------------------------------------------------------------

static void end_set(struct transfer *transfer)
{
    struct input_objects *input_objects = &transfer->input_objects;
    if (!input_objects->count)
        return;
    const char *at = buffer_text(&input_objects->rdatas).at;
    for (size_t i = 0; i < input_objects->count; i++) {
        input_objects->texts[i].at = at;
        at += input_objects->texts[i].len;
    }
    mem_reserve(&transfer->sets, &transfer->capacity, transfer->count + 1);
    transfer->sets[transfer->count++] =
        rrset_new(input_objects->owner, input_objects->type, input_objects->ttl_s,
                  input_objects->texts, input_objects->count);
    input_objects->count = 0;
    buffer_clear(&input_objects->rdatas);
}

static void begin_set(struct transfer *transfer, const struct wire_record *record, uint32_t ttl_s)
{
    struct input_objects *input_objects = &transfer->input_objects;
    if (input_objects->count && input_objects->type == record->type &&
        input_objects->ttl_s == ttl_s && dname_equal(input_objects->owner, record->owner))
        return;
    end_set(transfer);
    memcpy(input_objects->owner_octets, record->owner.at, record->owner.len);
    input_objects->owner = (struct dname){input_objects->owner_octets, record->owner.len};
    input_objects->type = record->type;
    input_objects->ttl_s = ttl_s;
}

static bool refuse_record(const struct wire_record *record, struct error *err)
{
    AUTO_BUFFER owner = {0};
    char type[10];
    dname_write(&owner, record->owner);
    return error_prefix(err, "%s %s: ", owner.at, rr_type_write(record->type, type));
}

static bool take_record(struct transfer *transfer, struct text octets,
                        const struct wire_record *record, struct error *err)
{
    struct input_objects *input_objects = &transfer->input_objects;
    begin_set(transfer, record, record->ttl < TTL_BAD ? record->ttl : 0);
    size_t before = input_objects->rdatas.len;
    if (!rdata_take(record->type, octets, record->rdata_at, record->rdata_len,
                    &input_objects->rdatas, err))
        return refuse_record(record, err);
    size_t len = input_objects->rdatas.len - before;
    mem_reserve(&input_objects->texts, &input_objects->capacity, input_objects->count + 1);
    input_objects->texts[input_objects->count++] = (struct text){NULL, len};
    transfer->kept_octets += record->owner.len + RR_FIXED + len;
    return true;
}

// The first and the last RR, the same.
static bool take_soa(struct transfer *transfer, struct text octets,
                     const struct wire_record *record, struct error *err)
{
    AUTO_BUFFER rdata = {0};
    if (!dname_equal(record->owner, transfer->apex))
        return refuse(err, "it holds an SOA of another name") || refuse_record(record, err);
    if (!rdata_take(RR_SOA, octets, record->rdata_at, record->rdata_len, &rdata, err))
        return refuse_record(record, err);
    struct text text = buffer_text(&rdata);
    struct rrset *soa =
        rrset_new(record->owner, RR_SOA, record->ttl < TTL_BAD ? record->ttl : 0, &text, 1);
    transfer->is_complete = transfer->soa && rrset_equal(transfer->soa, soa);
    bool is_other = transfer->soa && !transfer->is_complete;
    if (transfer->soa)
        rrset_unref(soa);
    else
        transfer->soa = soa;
    return !is_other || refuse(err, "it ends with another SOA than it began with");
}

static bool check_record(const struct transfer *transfer, const struct wire_record *record,
                         struct error *err)
{
    if (transfer->is_complete)
        return refuse(err, "it goes on behind its last SOA");
    if (!transfer->soa && record->type != RR_SOA)
        return refuse(err, "it does not begin with an SOA");
    if (record->class != CLASS_IN || rr_type_is_meta(record->type))
        return refuse(err, "it is no record of a zone") || refuse_record(record, err);
    if (!dname_is_within(record->owner, transfer->apex))
        return refuse(err, "it is out of zone data") || refuse_record(record, err);
    if (transfer->record_count > RECORDS_MAX || transfer->kept_octets > OCTETS_MAX)
        return refuse(err, "the zone has more than 1000000 records, or 256 MiB");
    return true;
}

static bool read_records(struct transfer *transfer, struct text octets, struct wire *wire,
                         size_t count, struct error *err)
{
    struct wire_record record;
    for (size_t i = 0; i < count; i++) {
        if (!wire_take_record(wire, &record))
            return refuse(err, "a message is malformed");
        transfer->record_count++;
        if (!check_record(transfer, &record, err))
            return false;
        bool is_taken = record.type == RR_SOA ? take_soa(transfer, octets, &record, err)
                                              : take_record(transfer, octets, &record, err);
        if (!is_taken)
            return false;
    }
    return true;
}

// ---- messages -----------------------------------------------------------------------------------

static bool check_header(const struct transfer *transfer, const struct wire_header *header,
                         struct error *err)
{
    unsigned wanted = FLAG_REPLY | OPCODE_QUERY << OPCODE_SHIFT;
    if (header->id != transfer->id || (header->flags & (FLAG_REPLY | FLAG_OPCODE)) != wanted)
        return refuse(err, "what came is no reply to our question");
    return true;
}

static bool read_message(struct transfer *transfer, struct text octets, int64_t unix_s,
                         struct error *err)
{
    struct wire wire = wire_of(octets);
    struct wire_header header;
    if (!wire_take_header(&wire, &header))
        return refuse(err, "a message is malformed");
    unsigned rcode = header.flags & FLAG_RCODE;
    if (!check_header(transfer, &header, err) ||
        !check_signature(transfer, octets, unix_s, rcode, err) || !reply_check_rcode(rcode, err))
        return false;
    if (header.flags & FLAG_TRUNCATED ||
        !reply_check_questions(&wire, &header, transfer->apex, RR_AXFR))
        return refuse(err, "what came is no reply to our question");
    if (!header.counts[1])
        return refuse(err, "a message holds no records");
    transfer->octets += octets.len;
    if (transfer->octets > OCTETS_MAX)
        return refuse(err, "the answer has more than 256 MiB");
    return read_records(transfer, octets, &wire, header.counts[1], err);
}

bool transfer_read_reply(struct transfer *transfer, struct text octets, int64_t unix_s,
                         struct zone **zone, struct error *err)
{
    if (transfer->is_complete)
        return refuse(err, "it goes on behind its last SOA");
    if (!read_message(transfer, octets, unix_s, err))
        return error_prefix(err, "transfer: ");
    transfer->message_count++;
    if (!transfer->is_complete)
        return true;
    if (transfer->unsigned_count)
        return reply_check_tsig(TSIG_ABSENT, 0, 0, err) || error_prefix(err, "transfer: ");
    end_set(transfer);
    *zone = zone_new(steal(transfer->soa), transfer->sets, transfer->count);
    free(steal(transfer->sets));
    transfer->count = transfer->capacity = 0;
    return true;
}
