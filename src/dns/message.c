#include "dns/message.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"
#include "base/table.h"
#include "dns/wire.h"

static const char *const rcode_names[] = {
    "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN",  "NOTIMP",  "REFUSED", "YXDOMAIN", "YXRRSET",
    "NXRRSET", "NOTAUTH", "NOTZONE",  "DSOTYPENI", "RCODE12", "RCODE13", "RCODE14",  "RCODE15",
    "BADSIG",  "BADKEY",  "BADTIME",  "BADMODE",   "BADNAME", "BADALG",  "BADTRUNC", "BADCOOKIE",
};

const char *message_rcode_name(unsigned rcode)
{
    return rcode < COUNT_OF(rcode_names) ? rcode_names[rcode] : "unknown RCODE";
}

// One record of the answer section, before records become sets.
struct answer {
    enum record_type type;
    bool is_repeated; // an equal record came before
    uint32_t ttl_s;
    struct text owner;
    struct text value;
    int32_t numbers[3]; // priority, weight, port; -1 where the type has none
    size_t set;         // index in the message's answers
    uint64_t set_hash;
    uint64_t value_hash;
};

struct reading {
    struct arena *arena;
    struct wire wire;
    struct message message;
    struct answer *answers;
    size_t count;
};

static struct text name_text(struct arena *arena, const ldns_rdf *name)
{
    autofree char *written = ldns_rdf2str(name);
    must(written);
    return record_value_canonical(arena, RECORD_PTR, text_of(written));
}

static bool read_header(struct reading *reading, uint16_t counts[4])
{
    struct message *message = &reading->message;
    uint16_t flags;
    if (!wire_read_u16(&reading->wire, &message->id) || !wire_read_u16(&reading->wire, &flags))
        return false;
    message->is_reply = flags & 0x8000;
    message->opcode = flags >> 11 & 0xf;
    message->is_authoritative = flags & 0x0400;
    message->is_truncated = flags & 0x0200;
    message->rcode = flags & 0xf;
    for (size_t i = 0; i < 4; i++) {
        if (!wire_read_u16(&reading->wire, &counts[i]))
            return false;
    }
    return true;
}

static bool read_question(struct reading *reading, bool is_first)
{
    uint16_t type, class;
    AUTO_RDF *name = wire_read_name(&reading->wire);
    if (!name || !wire_read_u16(&reading->wire, &type) || !wire_read_u16(&reading->wire, &class))
        return false;
    if (is_first) {
        reading->message.question_name = name_text(reading->arena, name);
        reading->message.question_type = type;
    }
    return true;
}

static bool join_strings(struct arena *arena, struct wire *rdata, struct text *out)
{
    size_t total = 0;
    char *joined = arena_alloc(arena, rdata->len - rdata->position + 1, 1);
    if (rdata->position == rdata->len)
        return false;
    while (rdata->position < rdata->len) {
        size_t len = rdata->at[rdata->position];
        const uint8_t *string = rdata->at + rdata->position + 1;
        if (!wire_skip(rdata, 1 + len))
            return false;
        memcpy(joined + total, string, len);
        total += len;
    }
    *out = (struct text){joined, total};
    return true;
}

static bool read_address(struct arena *arena, struct wire *rdata, int family, struct text *out)
{
    char written[INET6_ADDRSTRLEN];
    const uint8_t *address = rdata->at + rdata->position;
    if (!wire_skip(rdata, family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr)))
        return false;
    must(inet_ntop(family, address, written, sizeof written));
    *out = text_of(arena_copy_text(arena, written));
    return true;
}

static bool read_target(struct arena *arena, struct wire *rdata, struct text *out)
{
    AUTO_RDF *name = wire_read_name(rdata);
    if (!name)
        return false;
    *out = name_text(arena, name);
    return true;
}

static size_t number_count(enum record_type type)
{
    return type == RECORD_SRV ? 3 : type == RECORD_MX ? 1 : 0;
}

static bool decode_value(struct arena *arena, struct wire *rdata, struct answer *answer)
{
    for (size_t i = 0; i < number_count(answer->type); i++) {
        uint16_t number;
        if (!wire_read_u16(rdata, &number))
            return false;
        answer->numbers[i] = number;
    }
    if (answer->type == RECORD_A)
        return read_address(arena, rdata, AF_INET, &answer->value);
    if (answer->type == RECORD_AAAA)
        return read_address(arena, rdata, AF_INET6, &answer->value);
    if (answer->type == RECORD_TXT)
        return join_strings(arena, rdata, &answer->value);
    return read_target(arena, rdata, &answer->value);
}

static uint64_t hash_of_set(const struct answer *answer)
{
    uint64_t parts[3] = {hash_octets(answer->owner.at, answer->owner.len), (uint64_t)answer->type,
                         hash_octets(answer->numbers, sizeof answer->numbers)};
    return hash_octets(parts, sizeof parts);
}

static bool keep_answer(struct reading *reading, struct wire *rdata, const ldns_rdf *owner,
                        enum record_type type, uint32_t ttl_s)
{
    struct answer *answer = &reading->answers[reading->count];
    *answer = (struct answer){.type = type, .numbers = {-1, -1, -1}};
    if (!decode_value(reading->arena, rdata, answer))
        return false;
    // RFC 2181 section 8: a TTL with the highest bit set counts as 0.
    answer->ttl_s = ttl_s > INT32_MAX ? 0 : ttl_s;
    answer->owner = name_text(reading->arena, owner);
    answer->set_hash = hash_of_set(answer);
    answer->value_hash = hash_octets(answer->value.at, answer->value.len);
    reading->count++;
    return true;
}

static bool keep_serial(struct reading *reading, struct wire *rdata)
{
    reading->message.has_soa = true;
    bool has_names = wire_skip_name(rdata);
    has_names = has_names && wire_skip_name(rdata);
    return has_names && wire_read_u32(rdata, &reading->message.soa_serial) && wire_skip(rdata, 16);
}

static bool find_type(uint16_t number, enum record_type *type)
{
    for (size_t i = 0; i < RECORD_TYPES; i++) {
        if (record_type_number((enum record_type)i) == number) {
            *type = (enum record_type)i;
            return true;
        }
    }
    return false;
}

static bool read_answer(struct reading *reading)
{
    struct wire *wire = &reading->wire;
    uint16_t number, class, rdata_len;
    uint32_t ttl_s;
    enum record_type type;
    AUTO_RDF *owner = wire_read_name(wire);
    if (!owner || !wire_read_u16(wire, &number) || !wire_read_u16(wire, &class) ||
        !wire_read_u32(wire, &ttl_s) || !wire_read_u16(wire, &rdata_len))
        return false;
    struct wire rdata = {wire->at, wire->position + rdata_len, wire->position};
    if (!wire_skip(wire, rdata_len))
        return false;
    if (class == LDNS_RR_CLASS_IN && find_type(number, &type))
        return keep_answer(reading, &rdata, owner, type, ttl_s) && rdata.position == rdata.len;
    if (class == LDNS_RR_CLASS_IN && number == LDNS_RR_TYPE_SOA)
        return keep_serial(reading, &rdata) && rdata.position == rdata.len;
    reading->message.skipped_count++;
    return true;
}

// ---- records into sets --------------------------------------------------------------------------

static bool is_same_set(const struct answer *a, const struct answer *b)
{
    return a->type == b->type && memcmp(a->numbers, b->numbers, sizeof a->numbers) == 0 &&
           text_equal(a->owner, b->owner);
}

static bool head_matches(const void *context, uint32_t id, const void *key)
{
    return is_same_set((const struct answer *)context + id, key);
}

static uint64_t head_hash(const void *context, uint32_t id)
{
    return ((const struct answer *)context)[id].set_hash;
}

static bool value_matches(const void *context, uint32_t id, const void *key)
{
    const struct answer *a = (const struct answer *)context + id, *b = key;
    return a->set == b->set && text_equal(a->value, b->value);
}

static uint64_t value_hash_of(const void *context, uint32_t id)
{
    const struct answer *answer = (const struct answer *)context + id;
    return answer->set_hash ^ answer->value_hash;
}

static const struct table_ops head_ops = {head_matches, head_hash};
static const struct table_ops value_ops = {value_matches, value_hash_of};

static struct record_set open_set(const struct answer *head)
{
    return (struct record_set){.type = head->type,
                               .domain = head->owner,
                               .subdomain = TEXT("@"),
                               .ttl_s = head->ttl_s,
                               .priority = head->numbers[0],
                               .weight = head->numbers[1],
                               .port = head->numbers[2]};
}

// Tells each answer its set, and the sets how many values they will have. The smallest TTL stands
// for the set.
static void assign_sets(struct reading *reading)
{
    struct message *message = &reading->message;
    struct table heads = {.ops = &head_ops, .context = reading->answers};
    struct table values = {.ops = &value_ops, .context = reading->answers};
    for (uint32_t i = 0; i < reading->count; i++) {
        struct answer *answer = &reading->answers[i];
        uint32_t head = table_find(&heads, answer->set_hash, answer);
        answer->set = head == TABLE_NONE ? message->answer_count : reading->answers[head].set;
        if (head == TABLE_NONE) {
            table_add(&heads, answer->set_hash, i);
            message->answers[message->answer_count++] = open_set(answer);
        }
        struct record_set *set = &message->answers[answer->set];
        if (answer->ttl_s < set->ttl_s)
            set->ttl_s = answer->ttl_s;
        uint64_t hash = answer->set_hash ^ answer->value_hash;
        answer->is_repeated = table_find(&values, hash, answer) != TABLE_NONE;
        if (answer->is_repeated)
            continue;
        table_add(&values, hash, i);
        set->value_count++;
    }
    table_done(&heads);
    table_done(&values);
}

static void fill_sets(struct reading *reading)
{
    struct message *message = &reading->message;
    struct text *values = arena_new_array(reading->arena, struct text, reading->count);
    size_t *next = arena_new_array(reading->arena, size_t, message->answer_count);
    for (size_t i = 0, at = 0; i < message->answer_count; i++) {
        next[i] = at;
        message->answers[i].values = values + at;
        at += message->answers[i].value_count;
    }
    for (size_t i = 0; i < reading->count; i++) {
        const struct answer *answer = &reading->answers[i];
        if (!answer->is_repeated)
            values[next[answer->set]++] = answer->value;
    }
}

// ---- whole messages -----------------------------------------------------------------------------

static bool refuse(struct error *err, const char *what, size_t number)
{
    return error_set(err, FAULT_AGAIN, "", "DNS message is malformed: %s %zu cannot be read", what,
                     number);
}

static bool read_answers(struct reading *reading, size_t count, struct error *err)
{
    // No record is shorter than its root name and fixed fields.
    size_t most = (reading->wire.len - reading->wire.position) / 11;
    if (count > most)
        return refuse(err, "answer", most + 1);
    reading->answers = arena_new_array(reading->arena, struct answer, count);
    for (size_t i = 0; i < count; i++) {
        if (!read_answer(reading))
            return refuse(err, "answer", i + 1);
    }
    reading->message.answers = arena_new_array(reading->arena, struct record_set, reading->count);
    assign_sets(reading);
    fill_sets(reading);
    return true;
}

bool message_read(struct arena *arena, struct text octets, struct message *out, struct error *err)
{
    struct reading reading = {.arena = arena, .wire = wire_of(octets)};
    uint16_t counts[4];
    if (octets.len > WIRE_MESSAGE_MAX)
        return error_set(err, FAULT_AGAIN, "", "DNS message has %zu octets: at most %d are allowed",
                         octets.len, WIRE_MESSAGE_MAX);
    if (!read_header(&reading, counts))
        return error_set(err, FAULT_AGAIN, "", "DNS message has %zu octets: its header needs %d",
                         octets.len, WIRE_HEADER);
    for (size_t i = 0; i < counts[0]; i++) {
        if (!read_question(&reading, i == 0))
            return refuse(err, "question", i + 1);
    }
    if (!read_answers(&reading, counts[1], err))
        return false;
    *out = reading.message;
    return true;
}
