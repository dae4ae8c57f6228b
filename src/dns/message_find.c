#include "dns/message.h"

#include "dns/rdata.h"
#include "dns/wire.h"

enum { RECORD_OCTETS_MIN = 11 };

struct finding {
    struct arena *arena;
    struct text octets;
    struct dname name;
    uint16_t type;
    struct message_set set;
};

static bool refuse(struct error *err)
{
    return error_set(err, FAULT_SPEC, "", "the reply is malformed");
}

static bool take(struct finding *finding, const struct wire_record *record, struct error *err)
{
    struct message_set *set = &finding->set;
    AUTO_BUFFER rdata = {0};
    if (record->type != finding->type || record->class != CLASS_IN ||
        !dname_equal(record->owner, finding->name))
        return true;
    if (!rdata_take(record->type, finding->octets, record->rdata_at, record->rdata_len, &rdata,
                    err))
        return false;
    set->ttl_s = !set->count || record->ttl < set->ttl_s ? record->ttl : set->ttl_s;
    set->rdatas[set->count++] =
        (struct text){arena_copy(finding->arena, buffer_text(&rdata).at, rdata.len), rdata.len};
    return true;
}

static bool skip_questions(struct wire *wire, size_t count)
{
    struct wire_question question;
    for (size_t i = 0; i < count; i++)
        if (!wire_take_question(wire, &question))
            return false;
    return true;
}

static bool read_name(struct text text, uint8_t octets[DNAME_MAX], struct dname *name,
                      struct error *err)
{
    static const uint8_t empty[1] = {0};
    static const struct dname root = {empty, sizeof empty};
    return dname_read(text, &root, DNAME_OF_FILE, octets, name, err);
}

bool message_find(struct arena *arena, struct text octets, struct text name, uint16_t rr_type,
                  struct message_set *out, struct error *err)
{
    struct finding finding = {.arena = arena, .octets = octets, .type = rr_type};
    struct wire wire = wire_of(octets);
    struct wire_header header;
    struct wire_record record;
    uint8_t name_octets[DNAME_MAX];
    if (!read_name(name, name_octets, &finding.name, err))
        return false;
    if (!wire_take_header(&wire, &header) || !skip_questions(&wire, header.counts[0]))
        return refuse(err);
    size_t count = (size_t)header.counts[1] + header.counts[2] + header.counts[3];
    if (count > octets.len / RECORD_OCTETS_MIN)
        return refuse(err);
    finding.set.rdatas = arena_new_array(arena, struct text, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (!wire_take_record(&wire, &record))
            return refuse(err);
        if (!take(&finding, &record, err))
            return false;
    }
    *out = finding.set;
    return true;
}
