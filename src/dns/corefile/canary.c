#include "dns/corefile/canary.h"

#include <string.h>

#include "dns/corefile/identity.h"
#include "dns/rr_type.h"
#include "dns/wire.h"

enum { CLASS_CH = 3, QUERY_LEN = 30 };

static const uint8_t canary_octets[] = {7,   'v', 'e', 'r', 's', 'i', 'o',
                                        'n', 4,   'b', 'i', 'n', 'd', 0};
static const struct dname canary_name = {canary_octets, sizeof canary_octets};

void canary_query(struct buffer *out, uint16_t id)
{
    buffer_reserve(out, QUERY_LEN);
    wire_add_u16(out, id);
    wire_add_u16(out, 0); // flags
    wire_add_u16(out, 1); // questions
    for (int section = 0; section < 3; section++)
        wire_add_u16(out, 0);
    buffer_add(out, canary_name.at, canary_name.len);
    wire_add_u16(out, RR_TXT);
    wire_add_u16(out, CLASS_CH);
}

// Moves behind the question.
static bool take_question(struct wire *wire, uint16_t id, struct wire_header *header)
{
    struct wire_question question;
    return wire_take_header(wire, header) && header->id == id && header->flags & FLAG_REPLY &&
           header->counts[0] == 1 && wire_take_question(wire, &question) &&
           question.type == RR_TXT && question.class == CLASS_CH &&
           dname_equal(question.name, canary_name);
}

bool canary_is_reply(struct text octets, uint16_t id)
{
    struct wire_header header;
    struct wire wire = wire_of(octets);
    return take_question(&wire, id, &header);
}

// Joins the character-strings of a TXT record (RFC 1035 3.3.14). False: they do not fill it.
static bool read_strings(struct text rdata, struct canary_reply *out)
{
    AUTO_BUFFER text = {0};
    while (rdata.len) {
        size_t len = (uint8_t)*rdata.at;
        if (len >= rdata.len)
            return false;
        buffer_add(&text, rdata.at + 1, len);
        rdata = (struct text){rdata.at + 1 + len, rdata.len - 1 - len};
    }
    text_clean_into(out->text, sizeof out->text, buffer_text(&text));
    return true;
}

static bool read_answers(struct wire *wire, size_t count, struct text octets,
                         struct canary_reply *out)
{
    struct wire_record record;
    for (size_t i = 0; i < count; i++) {
        if (!wire_take_record(wire, &record))
            return false;
        if (record.type == RR_TXT && record.class == CLASS_CH &&
            dname_equal(record.owner, canary_name))
            return read_strings((struct text){octets.at + record.rdata_at, record.rdata_len}, out);
    }
    return true;
}

bool canary_read(struct text octets, uint16_t id, struct canary_reply *out, struct error *err)
{
    struct wire_header header;
    struct canary_reply reply = {0};
    struct wire wire = wire_of(octets);
    if (!take_question(&wire, id, &header))
        return error_set(err, FAULT_AGAIN, "", "the reply is for another question");
    reply.rcode = header.flags & FLAG_RCODE;
    if (!read_answers(&wire, header.counts[1], octets, &reply))
        return error_set(err, FAULT_SPEC, "", "the reply is malformed");
    *out = reply;
    return true;
}

const char *canary_config_id(const struct canary_reply *reply)
{
    size_t len = strlen(CONFIG_ID_PREFIX);
    return strncmp(reply->text, CONFIG_ID_PREFIX, len) ? NULL : reply->text + len;
}

enum canary_state canary_judge(const struct canary_reply *reply, const char *wanted)
{
    const char *id = reply ? canary_config_id(reply) : NULL;
    if (!id)
        return CANARY_SILENT;
    return !wanted || !strcmp(id, wanted) ? CANARY_CURRENT : CANARY_OLD;
}
