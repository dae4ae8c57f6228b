#include "dns/primary.h"

#include <stdlib.h>
#include <string.h>

#include "dns/message.h"
#include "dns/packer.h"
#include "dns/parsed_query.h"
#include "dns/primary_records.h"
#include "dns/rr_type.h"
#include "dns/serial.h"
#include "dns/wire.h"

enum {
    RCODE_BADVERS = 16,
    MESSAGE_OCTETS = 16 << 10, // about as much as names can be compressed in
    PAYLOAD_OCTETS = 1232,     // of UDP, with EDNS
    EDNS_OCTETS = 11,
};

struct primary_answer {
    struct primary_reported reported;
    struct parsed_query query;
    bool is_tcp;
    bool is_over;
    size_t message_count;
    struct primary_records records;
    struct tsig_found found;       // of the request
    const struct tsig_key *signer; // of the answer
    struct tsig_mac mac;           // of the request, then of the message before
    struct packer packer;
};

static enum primary_kind kind_of(const struct parsed_query *query)
{
    static const struct {
        uint16_t type;
        enum primary_kind kind;
    } kinds[] = {{RR_SOA, PRIMARY_SOA}, {RR_AXFR, PRIMARY_AXFR}, {RR_IXFR, PRIMARY_IXFR}};
    bool is_read = query->opcode == OPCODE_QUERY && query->question_count == 1 &&
                   query->question.class == CLASS_IN;
    for (size_t i = 0; is_read && i < COUNT_OF(kinds); i++) {
        if (kinds[i].type == query->question.type)
            return kinds[i].kind;
    }
    return PRIMARY_OTHER;
}

// ---- what the request is worth ------------------------------------------------------------------

typedef unsigned judge(struct primary_answer *answer, const struct primary_request *request,
                       const struct primary_calls *calls);

static unsigned judge_shape(struct primary_answer *answer, const struct primary_request *request,
                            const struct primary_calls *calls)
{
    (void)request;
    (void)calls;
    if (answer->query.is_whole)
        return RCODE_NOERROR;
    return answer->query.opcode == OPCODE_QUERY ? RCODE_FORMERR : RCODE_NOTIMP;
}

static enum tsig_result verify(struct primary_answer *answer, const struct primary_request *request,
                               const struct tsig_key *key)
{
    size_t stripped_len;
    unsigned peer_error;
    return tsig_verify(request->octets, key, request->unix_s, NULL, &stripped_len, &answer->mac,
                       &peer_error);
}

static unsigned judge_signature(struct primary_answer *answer,
                                const struct primary_request *request,
                                const struct primary_calls *calls)
{
    static const struct {
        uint8_t rcode;
        uint8_t error;
        bool is_signed; // so is the answer
    } outcomes[] = {
        [TSIG_GOOD] = {RCODE_NOERROR, 0, true},
        [TSIG_ABSENT] = {RCODE_NOERROR, 0, false},
        [TSIG_MALFORMED] = {RCODE_FORMERR, 0, false},
        [TSIG_BADKEY] = {RCODE_NOTAUTH, TSIG_ERROR_BADKEY, false},
        [TSIG_BADSIG] = {RCODE_NOTAUTH, TSIG_ERROR_BADSIG, false},
        [TSIG_BADTIME] = {RCODE_NOTAUTH, TSIG_ERROR_BADTIME, true},
        [TSIG_REFUSED_BY_PEER] = {RCODE_FORMERR, 0, false},
    };
    const struct tsig_key *key = NULL;
    enum tsig_result result = tsig_find(request->octets, &answer->found);
    if (result == TSIG_GOOD) {
        key =
            calls->key(calls->context, (struct dname){answer->found.name, answer->found.name_len});
        result = key ? verify(answer, request, key) : TSIG_BADKEY;
    }
    answer->signer = outcomes[result].is_signed ? key : NULL;
    answer->reported.key = result == TSIG_GOOD ? key : NULL;
    answer->reported.tsig_error = outcomes[result].error;
    return outcomes[result].rcode;
}

static unsigned judge_head(struct primary_answer *answer, const struct primary_request *request,
                           const struct primary_calls *calls)
{
    (void)request;
    (void)calls;
    if (answer->query.opcode != OPCODE_QUERY)
        return RCODE_NOTIMP;
    if (answer->query.edns_version)
        return RCODE_BADVERS;
    return answer->query.question_count == 1 ? RCODE_NOERROR : RCODE_FORMERR;
}

static unsigned judge_question(struct primary_answer *answer, const struct primary_request *request,
                               const struct primary_calls *calls)
{
    (void)calls;
    enum primary_kind kind = answer->reported.kind;
    if (kind == PRIMARY_OTHER)
        return RCODE_REFUSED;
    bool is_unfit = (kind == PRIMARY_AXFR && !request->is_tcp) ||
                    (kind == PRIMARY_IXFR && !answer->query.has_serial);
    return is_unfit ? RCODE_FORMERR : RCODE_NOERROR;
}

static void choose_records(struct primary_answer *answer, const struct zone_history *history,
                           enum primary_grant grant)
{
    const struct zone *zone = zone_history_newest(history);
    bool is_behind = serial_is_before(answer->query.serial, zone_serial(zone));
    answer->reported.has_serial = true;
    answer->reported.serial = zone_serial(zone);
    if (answer->reported.kind == PRIMARY_AXFR ||
        (answer->reported.kind == PRIMARY_IXFR && answer->is_tcp && is_behind &&
         grant != PRIMARY_ALL))
        primary_records_init(&answer->records, zone, PRIMARY_WHOLE);
    else if (answer->reported.kind == PRIMARY_IXFR && answer->is_tcp)
        primary_records_init_since(&answer->records, history, answer->query.serial);
    else
        primary_records_init(&answer->records, zone, PRIMARY_ONE_SOA);
    answer->reported.has_records = answer->records.shape != PRIMARY_ONE_SOA;
    answer->reported.is_incremental = answer->records.shape == PRIMARY_STEPS;
}

static unsigned judge_zone(struct primary_answer *answer, const struct primary_request *request,
                           const struct primary_calls *calls)
{
    const struct zone_history *history = NULL;
    enum primary_grant grant = PRIMARY_NOTHING;
    const uint32_t *has = answer->reported.kind == PRIMARY_IXFR ? &answer->query.serial : NULL;
    if (!calls->zone(calls->context, answer->query.question.name, request->address,
                     answer->reported.key, has, &history, &grant) ||
        grant == PRIMARY_NOTHING)
        return RCODE_REFUSED;
    if (!history || !zone_history_newest(history))
        return RCODE_SERVFAIL;
    choose_records(answer, history, grant);
    return RCODE_NOERROR;
}

static unsigned judge_all(struct primary_answer *answer, const struct primary_request *request,
                          const struct primary_calls *calls)
{
    static judge *const judges[] = {judge_shape, judge_signature, judge_head, judge_question,
                                    judge_zone};
    for (size_t i = 0; i < COUNT_OF(judges); i++) {
        unsigned rcode = judges[i](answer, request, calls);
        if (rcode)
            return rcode;
    }
    return RCODE_NOERROR;
}

struct primary_answer *primary_answer_new(const struct primary_request *request,
                                          const struct primary_calls *calls)
{
    CLEANUP(primary_answer) struct primary_answer *answer = mem_new_of(struct primary_answer);
    if (!parsed_query_read(request->octets, &answer->query))
        return NULL;
    answer->is_tcp = request->is_tcp;
    answer->reported.kind = kind_of(&answer->query);
    if (answer->query.question_count) {
        answer->reported.apex_len = answer->query.question.name.len;
        memcpy(answer->reported.apex, answer->query.question.name.at,
               answer->query.question.name.len);
    }
    answer->reported.rcode = judge_all(answer, request, calls);
    return steal(answer);
}

void primary_answer_free(struct primary_answer *answer)
{
    if (!answer)
        return;
    primary_records_done(&answer->records);
    free(answer);
}

void primary_answer_report(const struct primary_answer *answer, struct primary_reported *out)
{
    *out = answer->reported;
}

// ---- its messages -------------------------------------------------------------------------------

static unsigned flags_of(const struct primary_answer *answer)
{
    unsigned rcode = answer->reported.rcode;
    unsigned kept = answer->query.flags & (FLAG_OPCODE | FLAG_RECURSION_DESIRED);
    return FLAG_REPLY | kept | (rcode ? rcode & FLAG_RCODE : FLAG_AUTHORITATIVE);
}

static void add_edns(struct buffer *out, unsigned rcode)
{
    buffer_add_char(out, 0);
    wire_add_u16(out, RR_OPT);
    wire_add_u16(out, PAYLOAD_OCTETS);
    wire_add_u16(out, rcode >> 4 << 8);
    wire_add_u16(out, 0);
    wire_add_u16(out, 0);
    packer_set_u16(out, PACKER_ADDITIONAL, 1);
}

// What stands behind the records.
static size_t tail_octets(const struct primary_answer *answer)
{
    size_t edns = answer->message_count == 1 && answer->query.has_edns ? EDNS_OCTETS : 0;
    return edns + (answer->signer ? tsig_octets(answer->signer) : 0);
}

// A first message with an SOA alone would say that there is nothing new (RFC 1995 2): two records
// always go together.
static size_t octets_limit(const struct primary_answer *answer)
{
    size_t payload =
        answer->query.payload < PAYLOAD_OCTETS ? answer->query.payload : PAYLOAD_OCTETS;
    bool is_begun = packer_count(&answer->packer, PACKER_ANSWER) >= 2;
    size_t octets = !answer->is_tcp ? payload : is_begun ? MESSAGE_OCTETS : WIRE_MESSAGE_MAX;
    return octets - tail_octets(answer);
}

static void add_records(struct primary_answer *answer)
{
    const struct rrset *set;
    struct text rdata;
    if (answer->is_tcp)
        buffer_reserve(answer->packer.out, MESSAGE_OCTETS);
    while (primary_records_see(&answer->records, &set, &rdata)) {
        if (!packer_record(&answer->packer, PACKER_ANSWER, set, rdata, octets_limit(answer)))
            return;
        primary_records_take(&answer->records);
    }
    answer->is_over = true;
}

static void begin_message(struct primary_answer *answer, struct buffer *out)
{
    const struct parsed_query *query = &answer->query;
    buffer_clear(out);
    packer_begin(&answer->packer, out, query->id, flags_of(answer));
    if (answer->message_count == 1 && query->question_count == 1)
        packer_question(&answer->packer, query->question.name, query->question.type,
                        query->question.class);
}

// Not even one record fits: over UDP the peer is told to come back over TCP (RFC 8945 5.3).
static void end_without_records(struct primary_answer *answer, struct buffer *out)
{
    answer->is_over = true;
    if (!answer->is_tcp) {
        packer_set_u16(out, 2, flags_of(answer) | FLAG_TRUNCATED);
        return;
    }
    answer->reported.rcode = RCODE_SERVFAIL;
    begin_message(answer, out);
}

static void make_message(struct primary_answer *answer, struct buffer *out)
{
    answer->message_count++;
    begin_message(answer, out);
    if (answer->reported.rcode)
        answer->is_over = true;
    else
        add_records(answer);
    if (!answer->is_over && !packer_count(&answer->packer, PACKER_ANSWER))
        end_without_records(answer, out);
    if (answer->message_count == 1 && answer->query.has_edns)
        add_edns(out, answer->reported.rcode);
}

static bool seal_message(struct primary_answer *answer, int64_t unix_s, struct buffer *out)
{
    if (answer->reported.tsig_error)
        return tsig_refuse(out, &answer->found, answer->reported.tsig_error, answer->signer,
                           &answer->mac, unix_s, NULL);
    if (!answer->signer)
        return true;
    if (answer->message_count == 1)
        return tsig_sign(out, answer->signer, unix_s, &answer->mac, &answer->mac, NULL);
    return tsig_sign_later(out, answer->signer, unix_s, &answer->mac, NULL);
}

bool primary_answer_next(struct primary_answer *answer, int64_t unix_s, struct buffer *out)
{
    AUTO_BUFFER message = {0};
    if (answer->is_over)
        return false;
    make_message(answer, &message);
    if (!seal_message(answer, unix_s, &message)) {
        answer->is_over = true;
        return false;
    }
    buffer_add(out, message.at, message.len);
    return true;
}
