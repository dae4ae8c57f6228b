#include "dns/test_served.h"

#include "base/digest.h"
#include "dns/rdata.h"

// Transfers, both sides: what comes out is what went in.

static void assert_same_zone(const struct zone *a, const struct zone *b)
{
    uint8_t left[32], right[32];
    zone_digest(a, left);
    zone_digest(b, right);
    assert_memory_equal(left, right, sizeof left);
    assert_int_equal(zone_serial(a), zone_serial(b));
    assert_int_equal(zone_record_count(a), zone_record_count(b));
}

// All that comes in many messages: names that can be compressed and names that cannot, sets of many
// RRs, names beyond what a pointer reaches.
static struct zone *large_zone(uint32_t serial)
{
    enum { COUNT = 4000 };
    autofree struct rrset **sets = mem_new_array(struct rrset *, 2 * COUNT);
    size_t count = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        char label[64];
        uint8_t target[2 + DNAME_MAX] = {0, 10};
        snprintf(label, sizeof label, "host-%u", (i * 7) % COUNT);
        size_t len = name_of(label, target + 2).len;
        struct text mx = {(const char *)target, len + 2};
        struct text cname = {(const char *)target + 2, len};
        sets[count++] = host_number(i, i);
        snprintf(label, sizeof label, i % 3 ? "alias-%u" : "%u-mail", i);
        sets[count++] = i % 3 ? set_of(label, RR_CNAME, 60, &cname, 1)
                              : set_of(label, i % 2 ? RR_MX : RR_SRV - 18, 60, &mx, 1);
    }
    return zone_new(shop_soa(serial), sets, count);
}

// ---- fetching -----------------------------------------------------------------------------------

// Feeds the messages to the client; NULL: it did not come to an end, or fails with *err.
static struct zone *handle_all(struct transfer *transfer, const struct answered *got,
                               struct error *err)
{
    struct zone *zone = NULL;
    for (size_t i = 0; i < got->count; i++) {
        assert_null(zone);
        autofree char *exact = mem_copy(got->messages[i].at, got->messages[i].len);
        struct text octets = {exact, got->messages[i].len};
        if (!transfer_read_reply(transfer, octets, NOW_S, &zone, err))
            return NULL;
    }
    return zone;
}

static void request_of(struct transfer *transfer, struct buffer *out)
{
    assert_true(transfer_request(transfer, ID, NOW_S, out, NULL));
}

static struct zone *fetch(struct served *served, const struct tsig_key *key, struct answered *got)
{
    CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, key);
    AUTO_BUFFER request = {0};
    struct error err = {0};
    request_of(transfer, &request);
    answer(served, &request, true, got);
    struct zone *zone = handle_all(transfer, got, &err);
    if (!zone)
        fail_msg("%s", err.text);
    return zone;
}

static void a_zone_is_transferred_as_it_is(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_ANSWERED got = {0};
    CLEANUP(zone) struct zone *zone = fetch(&served, NULL, &got);
    assert_same_zone(zone, zone_history_newest(served.history));
    assert_int_equal(got.count, 1);
    assert_int_equal(got.reported.kind, PRIMARY_AXFR);
    assert_int_equal(got.reported.serial, 7);
}

static void a_zone_of_an_soa_alone_is_transferred(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(zone_new(shop_soa(7), NULL, 0));
    AUTO_ANSWERED got = {0};
    CLEANUP(zone) struct zone *zone = fetch(&served, NULL, &got);
    assert_same_zone(zone, zone_history_newest(served.history));
}

static void a_large_zone_comes_in_compressed_messages_of_16_kib(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(large_zone(7));
    AUTO_ANSWERED got = {0};
    size_t octets = 0;
    CLEANUP(zone) struct zone *zone = fetch(&served, NULL, &got);
    assert_same_zone(zone, zone_history_newest(served.history));
    for (size_t i = 0; i < got.count; i++) {
        octets += got.messages[i].len;
        assert_true(got.messages[i].len <= 16384);
        assert_true(i + 1 == got.count || got.messages[i].len > 16000);
    }
    assert_true(got.count > 10);
    assert_true(octets < zone_octets(zone) * 3 / 4);
}

static void every_message_is_signed_with_every_algorithm(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"hmac-sha1", "hmac-sha224", "hmac-sha256",
                                             "hmac-sha384", "hmac-sha512"};
    AUTO_SERVED served = served_of(large_zone(7));
    served.is_keyed = true;
    for (size_t i = 0; i < COUNT_OF(algorithms); i++) {
        AUTO_ANSWERED got = {0};
        tsig_key_done(&served.key);
        served.key = key_of(algorithms[i]);
        CLEANUP(zone) struct zone *zone = fetch(&served, &served.key, &got);
        assert_same_zone(zone, zone_history_newest(served.history));
        for (size_t at = 0; at < got.count; at++)
            assert_int_equal(got.messages[at].at[11], 1);
    }
}

static void edns_is_in_the_first_message_alone(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(large_zone(7));
    AUTO_BUFFER request = {0};
    AUTO_ANSWERED got = {0};
    ask(&request, RR_AXFR);
    add_edns(&request, 4096, 0);
    answer(&served, &request, true, &got);
    for (size_t i = 0; i < got.count; i++) {
        assert_int_equal(got.messages[i].at[11], i == 0);
        assert_int_equal(got.messages[i].at[5], i == 0);
    }
}

static void a_slow_reader_gets_one_version(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(large_zone(7));
    AUTO_BUFFER request = {0};
    AUTO_ANSWERED got = {0};
    struct error err = {0};
    CLEANUP(zone) struct zone *old = zone_ref(zone_history_newest(served.history));
    CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, NULL);
    request_of(transfer, &request);
    CLEANUP(primary_answer)
    struct primary_answer *made = answer_of(&served, buffer_text(&request), true);
    while (primary_answer_next(made, NOW_S, &got.messages[got.count])) {
        uint32_t serial = 8 + (uint32_t)got.count++;
        CLEANUP(zone)
        struct zone *next = with_host(zone_history_newest(served.history), serial, serial, 1);
        zone_history_publish(served.history, next);
    }
    CLEANUP(zone) struct zone *zone = handle_all(transfer, &got, &err);
    assert_same_zone(zone, old);
}

static void an_answer_may_outlive_its_zone(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    AUTO_BUFFER out = {0};
    ask(&request, RR_AXFR);
    CLEANUP(primary_answer)
    struct primary_answer *made = answer_of(&served, buffer_text(&request), true);
    zone_history_free(steal(served.history));
    assert_true(primary_answer_next(made, NOW_S, &out));
}

// ---- large records ------------------------------------------------------------------------------

// Records of `len` octets rdata, of a type that nobody knows.
static struct zone *zone_of_blobs(size_t len, size_t count)
{
    struct rrset *sets[4];
    autofree char *octets = mem_new(1, len);
    for (size_t i = 0; i < count; i++) {
        char label[32];
        struct text rdata = {octets, len};
        snprintf(label, sizeof label, "blob-%zu", i);
        octets[0] = (char)i;
        sets[i] = set_of(label, 65280, 60, &rdata, 1);
    }
    return zone_new(shop_soa(7), sets, count);
}

static void records_up_to_the_limit_are_transferred(void **state)
{
    (void)state;
    static const size_t lens[] = {0, 16000, 16384, 40000, PRIMARY_RDATA_MAX};
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        AUTO_SERVED served = served_of(zone_of_blobs(lens[i], 4));
        AUTO_ANSWERED got = {0};
        CLEANUP(zone) struct zone *zone = fetch(&served, &served.key, &got);
        assert_same_zone(zone, zone_history_newest(served.history));
        for (size_t at = 0; at < got.count; at++)
            assert_true(at > 0 || got.messages[at].at[7] >= 2);
    }
}

static void a_record_that_fits_no_message_ends_the_transfer(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(zone_of_blobs(65535, 1));
    AUTO_ANSWERED got = {0};
    AUTO_BUFFER request = {0};
    struct error err = {0};
    CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, &served.key);
    request_of(transfer, &request);
    answer(&served, &request, true, &got);
    assert_null(handle_all(transfer, &got, &err));
    assert_string_equal(err.code, "SERVFAIL");
    assert_int_equal(got.reported.rcode, 2);
}

// ---- increments ---------------------------------------------------------------------------------

// RRs as text of hexadecimal digits, in order: the SOA's are told apart.
struct rr {
    char *text;
    bool is_soa;
};

struct rrs {
    struct rr *at;
    size_t count;
    size_t capacity;
};

static void rrs_done(struct rrs *rrs)
{
    for (size_t i = 0; i < rrs->count; i++)
        free(rrs->at[i].text);
    free(rrs->at);
}
#define AUTO_RRS __attribute__((cleanup(rrs_done))) struct rrs

static void add_rr(struct rrs *rrs, struct dname owner, uint16_t type, uint32_t ttl_s,
                   struct text rdata)
{
    AUTO_BUFFER octets = {0};
    buffer_add(&octets, owner.at, owner.len);
    buffer_printf(&octets, "/%u/%u/", type, ttl_s);
    buffer_add(&octets, rdata.at, rdata.len);
    mem_reserve(&rrs->at, &rrs->capacity, rrs->count + 1);
    struct rr rr = {mem_new(octets.len + 1, 2), type == RR_SOA};
    hex_encode(octets.at, octets.len, rr.text);
    rrs->at[rrs->count++] = rr;
}

static void read_zone(const struct zone *zone, struct rrs *out)
{
    struct zone_walk walk = {.zone = zone};
    const struct rrset *set;
    mem_reserve(&out->at, &out->capacity, 1);
    while ((set = zone_walk(&walk))) {
        struct text rdata;
        for (size_t cursor = 0; rrset_next(set, &cursor, &rdata);)
            add_rr(out, rrset_owner(set), set->type, set->ttl_s, rdata);
    }
}

static void read_answer(const struct answered *got, struct rrs *out)
{
    mem_reserve(&out->at, &out->capacity, 1);
    for (size_t i = 0; i < got->count; i++) {
        struct wire_header header;
        struct wire_question question;
        struct wire_record record;
        struct text octets = buffer_text(&got->messages[i]);
        struct wire wire = wire_of(octets);
        assert_true(wire_take_header(&wire, &header));
        for (size_t at = 0; at < header.counts[0]; at++)
            assert_true(wire_take_question(&wire, &question));
        for (size_t at = 0; at < header.counts[1]; at++) {
            AUTO_BUFFER rdata = {0};
            assert_true(wire_take_record(&wire, &record));
            assert_true(
                rdata_take(record.type, octets, record.rdata_at, record.rdata_len, &rdata, NULL));
            add_rr(out, record.owner, record.type, record.ttl, buffer_text(&rdata));
        }
    }
}

static void remove_rr(struct rrs *rrs, const char *text)
{
    for (size_t i = 0; i < rrs->count; i++) {
        if (strcmp(rrs->at[i].text, text) != 0)
            continue;
        free(rrs->at[i].text);
        rrs->at[i] = rrs->at[--rrs->count];
        return;
    }
    fail_msg("what is removed is not there: %s", text);
}

// RFC 1995 4: the newest SOA; old SOA, removed, new SOA, added, over and over; the newest SOA.
static void apply(struct rrs *zone, const struct rrs *answer)
{
    bool is_removed = false;
    assert_true(answer->count > 4);
    assert_string_equal(answer->at[0].text, answer->at[answer->count - 1].text);
    for (size_t i = 1; i + 1 < answer->count; i++) {
        is_removed ^= answer->at[i].is_soa;
        if (is_removed) {
            remove_rr(zone, answer->at[i].text);
            continue;
        }
        mem_reserve(&zone->at, &zone->capacity, zone->count + 1);
        zone->at[zone->count++] =
            (struct rr){mem_copy_text(answer->at[i].text), answer->at[i].is_soa};
    }
}

static int compare_rrs(const void *a, const void *b)
{
    return strcmp(((const struct rr *)a)->text, ((const struct rr *)b)->text);
}

static void assert_same_rrs(struct rrs *a, struct rrs *b)
{
    assert_int_equal(a->count, b->count);
    qsort(a->at, a->count, sizeof *a->at, compare_rrs);
    qsort(b->at, b->count, sizeof *b->at, compare_rrs);
    for (size_t i = 0; i < a->count; i++)
        assert_string_equal(a->at[i].text, b->at[i].text);
}

static void ask_for_steps(struct served *served, uint32_t since, struct answered *got)
{
    AUTO_BUFFER request = {0};
    ask_since(&request, since);
    answer(served, &request, true, got);
    assert_true(got->count > 0);
}

// Of changes, removals, additions and a changed TTL.
static void publish_changes(struct served *served, uint32_t serial)
{
    static const struct text addresses[] = {{"\12\0\0\1", 4}, {"\12\0\0\2", 4}};
    char gone[16];
    snprintf(gone, sizeof gone, "host-%u", serial);
    struct rrset *sets[] = {
        host_number(100, serial),
        nothing_at(gone, RR_A),
        host_number(1000 + serial, serial),
        set_of("both", RR_A, 300 + serial / 3, addresses, 1 + serial % 2),
    };
    CLEANUP(zone)
    struct zone *zone =
        zone_next(zone_history_newest(served->history), shop_soa(serial), sets, COUNT_OF(sets));
    zone_history_publish(served->history, zone);
}

static void steps_lead_from_any_version_to_the_newest(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(zone_of_hosts(10, 500));
    struct zone *versions[21] = {[10] = zone_ref(zone_history_newest(served.history))};
    for (uint32_t serial = 11; serial <= 20; serial++) {
        publish_changes(&served, serial);
        versions[serial] = zone_ref(zone_history_newest(served.history));
    }
    for (uint32_t serial = 10; serial < 20; serial++) {
        AUTO_ANSWERED got = {0};
        AUTO_RRS zone = {0};
        AUTO_RRS steps = {0};
        AUTO_RRS newest = {0};
        ask_for_steps(&served, serial, &got);
        assert_int_equal(got.reported.kind, PRIMARY_IXFR);
        assert_true(got.reported.is_incremental);
        assert_int_equal(got.reported.serial, 20);
        read_zone(versions[serial], &zone);
        read_answer(&got, &steps);
        apply(&zone, &steps);
        read_zone(versions[20], &newest);
        assert_same_rrs(&zone, &newest);
    }
    for (size_t i = 10; i <= 20; i++)
        zone_unref(versions[i]);
}

static void expect_whole(struct served *served, uint32_t since)
{
    AUTO_ANSWERED got = {0};
    AUTO_RRS came = {0};
    AUTO_RRS wanted = {0};
    ask_for_steps(served, since, &got);
    assert_false(got.reported.is_incremental);
    read_zone(zone_history_newest(served->history), &wanted);
    read_answer(&got, &came);
    assert_string_equal(came.at[0].text, came.at[came.count - 1].text);
    assert_true(came.at[0].is_soa && !came.at[1].is_soa);
    free(came.at[--came.count].text);
    assert_same_rrs(&came, &wanted);
}

static void what_is_not_in_the_history_comes_whole(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(zone_of_hosts(10, 500));
    publish_changes(&served, 11);
    expect_whole(&served, 9);
    expect_whole(&served, 11 - (1u << 30));
}

static void who_has_nothing_from_here_gets_it_whole(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(zone_of_hosts(10, 500));
    AUTO_ANSWERED current = {0};
    publish_changes(&served, 11);
    served.is_stranger = true;
    expect_whole(&served, 10);
    ask_for_steps(&served, 11, &current);
    assert_false(current.reported.has_records);
}

static void changes_over_a_quarter_of_the_zone_come_whole(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(zone_of_hosts(10, 39)); // 40 records: 10 of them may change
    for (uint32_t i = 1; i <= 5; i++) {
        CLEANUP(zone)
        struct zone *zone = with_host(zone_history_newest(served.history), 10 + i, i, 1000 + i);
        zone_history_publish(served.history, zone);
    }
    AUTO_ANSWERED got = {0};
    ask_for_steps(&served, 10, &got);
    assert_true(got.reported.is_incremental);
    CLEANUP(zone)
    struct zone *zone = with_host(zone_history_newest(served.history), 16, 6, 1006);
    zone_history_publish(served.history, zone);
    expect_whole(&served, 10);
}

// ---- a server that does not play by the rules ---------------------------------------------------

static const char soa_rdata[] = "\0\0\0\0\0\7\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1";

static void begin_reply(struct buffer *out, unsigned flags)
{
    ask(out, RR_AXFR);
    out->at[2] = (char)(flags >> 8);
    out->at[3] = (char)flags;
}

static void add_reply_rr(struct buffer *out, const char *owner, size_t owner_len, uint16_t type,
                         uint16_t class, struct text rdata)
{
    buffer_add(out, owner, owner_len);
    wire_add_u16(out, type);
    wire_add_u16(out, class);
    wire_add_u16(out, 0xffff); // a TTL that counts as 0
    wire_add_u16(out, 0);
    wire_add_u16(out, (unsigned)rdata.len);
    buffer_add(out, rdata.at, rdata.len);
    out->at[7]++;
}

static void add_soa(struct buffer *out, uint8_t serial)
{
    char rdata[22];
    memcpy(rdata, soa_rdata, sizeof rdata);
    rdata[5] = (char)serial;
    add_reply_rr(out, "\300\14", 2, RR_SOA, CLASS_IN, (struct text){rdata, sizeof rdata});
}

static void add_a(struct buffer *out, const char *owner, size_t owner_len)
{
    add_reply_rr(out, owner, owner_len, RR_A, CLASS_IN, TEXT("\12\0\0\1"));
}

// Without key. NULL: it came to an end.
static void expect_error(const struct buffer *message, const char *wanted)
{
    CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, NULL);
    CLEANUP(zone) struct zone *zone = NULL;
    AUTO_BUFFER request = {0};
    struct error err = {0};
    request_of(transfer, &request);
    bool is_answered = transfer_read_reply(transfer, buffer_text(message), NOW_S, &zone, &err);
    assert_int_equal(is_answered, wanted == NULL);
    assert_int_equal(zone != NULL, wanted == NULL);
    assert_string_equal(err.text, wanted ? wanted : "");
}

static void a_plain_answer_is_taken(void **state)
{
    (void)state;
    AUTO_BUFFER reply = {0};
    begin_reply(&reply, 0x8400);
    add_soa(&reply, 7);
    add_a(&reply, "\1A\300\14", 4);
    add_soa(&reply, 7);
    expect_error(&reply, NULL);
}

static void answers_to_something_else_are_refused(void **state)
{
    (void)state;
    static const char wanted[] = "transfer: what came is no reply to our question";
    static const struct {
        size_t at;
        char octet;
    } rows[] = {{0, 0}, {2, 4}, {2, (char)0xa4}, {2, (char)0x86}, {13, 'x'}, {27, 1}, {29, 3}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER reply = {0};
        begin_reply(&reply, 0x8400);
        add_soa(&reply, 7);
        add_soa(&reply, 7);
        reply.at[rows[i].at] = rows[i].octet;
        expect_error(&reply, wanted);
    }
}

static void refusals_have_their_code(void **state)
{
    (void)state;
    static const struct {
        unsigned rcode;
        enum fault fault;
        const char *code;
    } rows[] = {
        {5, FAULT_AUTH, "REFUSED"}, {9, FAULT_AUTH, "NOTAUTH"}, {2, FAULT_AGAIN, "SERVFAIL"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, NULL);
        struct zone *zone = NULL;
        AUTO_BUFFER request = {0};
        AUTO_BUFFER reply = {0};
        struct error err = {0};
        request_of(transfer, &request);
        begin_reply(&reply, 0x8000 | rows[i].rcode);
        assert_false(transfer_read_reply(transfer, buffer_text(&reply), NOW_S, &zone, &err));
        assert_int_equal(err.fault, rows[i].fault);
        assert_int_equal(err.status, rows[i].rcode);
        assert_string_equal(err.code, rows[i].code);
    }
}

static void records_that_are_none_of_the_zone_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *owner;
        size_t owner_len;
        uint16_t type;
        uint16_t class;
        const char *wanted;
    } rows[] = {
        {"\3net", 5, RR_A, CLASS_IN, "transfer: net. A: it is out of zone data"},
        {"\300\21", 2, RR_A, CLASS_IN, "transfer: example. A: it is out of zone data"},
        {"\300\14", 2, RR_A, 3, "transfer: shop.example. A: it is no record of a zone"},
        {"\300\14", 2, RR_OPT, CLASS_IN, "transfer: shop.example. OPT: it is no record of a zone"},
        {"\300\14", 2, RR_TSIG, 255, "transfer: shop.example. TSIG: it is no record of a zone"},
        {"\1a\300\14", 4, RR_SOA, CLASS_IN,
         "transfer: a.shop.example. SOA: it holds an SOA of "
         "another name"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER reply = {0};
        begin_reply(&reply, 0x8400);
        add_soa(&reply, 7);
        add_reply_rr(&reply, rows[i].owner, rows[i].owner_len, rows[i].type, rows[i].class,
                     TEXT("\12\0\0\1"));
        add_soa(&reply, 7);
        expect_error(&reply, rows[i].wanted);
    }
}

static void answers_begin_and_end_with_one_soa(void **state)
{
    (void)state;
    AUTO_BUFFER other = {0};
    AUTO_BUFFER none = {0};
    AUTO_BUFFER on = {0};
    AUTO_BUFFER empty = {0};
    begin_reply(&other, 0x8400);
    add_soa(&other, 7);
    add_soa(&other, 8);
    expect_error(&other, "transfer: it ends with another SOA than it began with");
    begin_reply(&none, 0x8400);
    add_a(&none, "\300\14", 2);
    expect_error(&none, "transfer: it does not begin with an SOA");
    begin_reply(&on, 0x8400);
    add_soa(&on, 7);
    add_soa(&on, 7);
    add_a(&on, "\300\14", 2);
    expect_error(&on, "transfer: it goes on behind its last SOA");
    begin_reply(&empty, 0x8400);
    expect_error(&empty, "transfer: a message holds no records");
}

static void answers_cut_short_are_malformed(void **state)
{
    (void)state;
    AUTO_BUFFER reply = {0};
    begin_reply(&reply, 0x8400);
    add_soa(&reply, 7);
    add_a(&reply, "\1A\300\14", 4);
    add_soa(&reply, 7);
    size_t whole = reply.len;
    for (reply.len = 0; reply.len < whole; reply.len++) {
        CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, NULL);
        AUTO_BUFFER request = {0};
        struct zone *zone = NULL;
        request_of(transfer, &request);
        autofree char *exact = mem_copy(reply.at, reply.len + 1);
        assert_false(
            transfer_read_reply(transfer, (struct text){exact, reply.len}, NOW_S, &zone, NULL));
    }
}

// ---- TSIG on the client's side ------------------------------------------------------------------

// A reply of `count` messages, of which those at a multiple of `step` and the last are signed.
static void sign_some(struct answered *got, const struct tsig_key *key,
                      const struct tsig_mac *request_mac, size_t count, size_t step)
{
    struct tsig_mac mac = *request_mac;
    got->count = count;
    for (size_t i = 0; i < count; i++) {
        struct buffer *message = &got->messages[i];
        begin_reply(message, 0x8400);
        if (i == 0 || i + 1 == count)
            add_soa(message, 7);
        else
            add_a(message, "\300\14", 2);
        if (i % step != 0 && i + 1 != count)
            continue;
        assert_true(i ? tsig_sign_later(message, key, NOW_S, &mac, NULL)
                      : tsig_sign(message, key, NOW_S, request_mac, &mac, NULL));
    }
}

static struct zone *fetch_signed(size_t count, size_t step, struct error *err)
{
    struct tsig_key key = key_of("hmac-sha256");
    AUTO_ANSWERED got = {0};
    AUTO_BUFFER request = {0};
    struct tsig_mac mac;
    size_t stripped_len;
    unsigned peer_error;
    CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, &key);
    request_of(transfer, &request);
    assert_int_equal(
        tsig_verify(buffer_text(&request), &key, NOW_S, NULL, &stripped_len, &mac, &peer_error),
        TSIG_GOOD);
    sign_some(&got, &key, &mac, count, step);
    struct zone *zone = handle_all(transfer, &got, err);
    tsig_key_done(&key);
    return zone;
}

// Made by dnspython 2.3: the reply to our request, its second and third message not signed.
static const char *const between[] = {
    "1234840000000001000000010473686f70076578616d706c6500000600010000003c00160000000000070000"
    "0001000000010000000100000001087369676e706f7374036b65790000fa00ff00000000003d0b686d61632d"
    "7368613235360000006553f100012c0020c792596f1ba36e8bf766782f0d1da1c48a7c3a0529681b08a7b534"
    "8c5ec32bff123400000000",
    "12348400000000010000000001610473686f70076578616d706c6500000100010000003c00040a000001",
    "12348400000000010000000001620473686f70076578616d706c6500000100010000003c00040a000002",
    "1234840000000001000000010473686f70076578616d706c6500000600010000003c00160000000000070000"
    "0001000000010000000100000001087369676e706f7374036b65790000fa00ff00000000003d0b686d61632d"
    "7368613235360000006553f100012c002077ce5316311ad100178e9acfb584f02880869bc6156bc6ff5a490c"
    "154aeccb6d123400000000",
};

static void messages_without_signature_may_stand_between_signed_ones(void **state)
{
    (void)state;
    struct tsig_key key = key_of("hmac-sha256");
    CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, &key);
    AUTO_BUFFER request = {0};
    AUTO_ANSWERED got = {0};
    struct error err = {0};
    request_of(transfer, &request);
    for (; got.count < COUNT_OF(between); got.count++) {
        uint8_t octets[256];
        size_t len = strlen(between[got.count]) / 2;
        assert_true(len <= sizeof octets && hex_decode(text_of(between[got.count]), octets, len));
        buffer_add(&got.messages[got.count], octets, len);
    }
    CLEANUP(zone) struct zone *zone = handle_all(transfer, &got, &err);
    assert_non_null(zone);
    assert_int_equal(zone_record_count(zone), 3);
    tsig_key_done(&key);
}

static void a_message_without_signature_in_between_must_be_covered_by_the_next(void **state)
{
    (void)state;
    struct error err = {0};
    CLEANUP(zone) struct zone *every = fetch_signed(5, 1, &err);
    assert_non_null(every);
    // The next signature leaves the unsigned message out.
    CLEANUP(zone) struct zone *left_out = fetch_signed(5, 2, &err);
    assert_null(left_out);
    assert_string_equal(err.code, "BADSIG");
}

static void more_than_99_messages_without_signature_are_refused(void **state)
{
    (void)state;
    struct error err = {0};
    assert_null(fetch_signed(102, 101, &err));
    assert_string_equal(err.code, "UNSIGNED");
    assert_null(fetch_signed(101, 100, &err));
    assert_string_equal(err.code, "BADSIG");
}

static void an_answer_to_a_signed_request_is_signed(void **state)
{
    (void)state;
    struct tsig_key key = key_of("hmac-sha256");
    CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, &key);
    AUTO_BUFFER request = {0};
    AUTO_BUFFER reply = {0};
    struct zone *zone = NULL;
    struct error err = {0};
    request_of(transfer, &request);
    begin_reply(&reply, 0x8400);
    add_soa(&reply, 7);
    add_soa(&reply, 7);
    assert_false(transfer_read_reply(transfer, buffer_text(&reply), NOW_S, &zone, &err));
    assert_int_equal(err.fault, FAULT_AUTH);
    assert_string_equal(err.code, "UNSIGNED");
    reply.at[3] = 5;
    assert_false(transfer_read_reply(transfer, buffer_text(&reply), NOW_S, &zone, &err));
    assert_string_equal(err.code, "REFUSED");
    tsig_key_done(&key);
}

static void what_the_primary_says_of_our_key_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *algorithm;
        int64_t unix_s;
        const char *code;
    } rows[] = {{"other", "hmac-sha256", NOW_S, "BADKEY"},
                {"signpost.key", "hmac-sha256", NOW_S, "BADSIG"},
                {"signpost.key", "hmac-sha512", NOW_S, "BADKEY"}};
    AUTO_SERVED served = served_of(shop_zone(7));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct tsig_key key;
        AUTO_BUFFER request = {0};
        AUTO_ANSWERED got = {0};
        struct error err = {0};
        assert_true(tsig_key_init(&key, text_of(rows[i].name), text_of(rows[i].algorithm),
                                  TEXT("AAAA"), NULL));
        CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, &key);
        request_of(transfer, &request);
        answer(&served, &request, true, &got);
        assert_null(handle_all(transfer, &got, &err));
        assert_int_equal(err.fault, FAULT_AUTH);
        assert_string_equal(err.code, rows[i].code);
        tsig_key_done(&key);
    }
}

static void a_clock_that_is_off_is_told(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, &served.key);
    AUTO_BUFFER request = {0};
    AUTO_ANSWERED got = {0};
    struct error err = {0};
    assert_true(transfer_request(transfer, ID, NOW_S - 1000, &request, NULL));
    answer(&served, &request, true, &got);
    assert_null(handle_all(transfer, &got, &err));
    assert_string_equal(err.code, "BADTIME");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zone_is_transferred_as_it_is),
        cmocka_unit_test(a_zone_of_an_soa_alone_is_transferred),
        cmocka_unit_test(a_large_zone_comes_in_compressed_messages_of_16_kib),
        cmocka_unit_test(every_message_is_signed_with_every_algorithm),
        cmocka_unit_test(edns_is_in_the_first_message_alone),
        cmocka_unit_test(a_slow_reader_gets_one_version),
        cmocka_unit_test(an_answer_may_outlive_its_zone),
        cmocka_unit_test(records_up_to_the_limit_are_transferred),
        cmocka_unit_test(a_record_that_fits_no_message_ends_the_transfer),
        cmocka_unit_test(steps_lead_from_any_version_to_the_newest),
        cmocka_unit_test(what_is_not_in_the_history_comes_whole),
        cmocka_unit_test(who_has_nothing_from_here_gets_it_whole),
        cmocka_unit_test(changes_over_a_quarter_of_the_zone_come_whole),
        cmocka_unit_test(a_plain_answer_is_taken),
        cmocka_unit_test(answers_to_something_else_are_refused),
        cmocka_unit_test(refusals_have_their_code),
        cmocka_unit_test(records_that_are_none_of_the_zone_are_refused),
        cmocka_unit_test(answers_begin_and_end_with_one_soa),
        cmocka_unit_test(answers_cut_short_are_malformed),
        cmocka_unit_test(messages_without_signature_may_stand_between_signed_ones),
        cmocka_unit_test(a_message_without_signature_in_between_must_be_covered_by_the_next),
        cmocka_unit_test(more_than_99_messages_without_signature_are_refused),
        cmocka_unit_test(an_answer_to_a_signed_request_is_signed),
        cmocka_unit_test(what_the_primary_says_of_our_key_is_told),
        cmocka_unit_test(a_clock_that_is_off_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
