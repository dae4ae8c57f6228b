#include "frontends/primary/primary_frontend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/primary.h"
#include "dns/test_zones.h"
#include "io/address.h"
#include "io/dnsnet.h"
#include "io/loop.h"
#include "io/random.h"

enum { PATIENCE_MS = 600 * 1000, HOSTS = 4000 };

// ns1 (127.0.0.1) has a key, ns2 (127.0.0.2) has none; both are of the group "default".
struct story {
    struct loop *loop;
    struct log *log;
    struct buffer lines;
    struct published *published;
    unsigned heard;
    struct primary_frontend *frontend;
    struct zones_config *config;
    struct tsig_key key; // ns1's
    struct dnsnet *net;
    struct loop_timer patience;
};

// ---- the configuration --------------------------------------------------------------------------

static const char secret_text[] = "c2lnbnBvc3QtdGVzdC1zZWNyZXQtMzItb2N0ZXRzIQ==";

static void key_init(struct tsig_key *key, const char *name, const char *secret)
{
    assert_true(tsig_key_init(key, text_of(name), TEXT("hmac-sha256"), text_of(secret), NULL));
}

static bool read_secret(void *context, const char *file, struct buffer *out, struct error *err)
{
    (void)context, (void)err;
    assert_string_equal(file, "signpost.key");
    buffer_add_text(out, secret_text);
    return true;
}

static struct zones_config *config_new(void)
{
    static const char yaml[] =
        "keys:\n"
        "- {name: signpost., algorithm: hmac-sha256, secretFile: signpost.key}\n"
        "groups:\n"
        "- name: default\n"
        "  servers:\n"
        "  - {name: ns1, address: 127.0.0.1, key: signpost.}\n"
        "  - {name: ns2, address: 127.0.0.2}\n"
        "  transferFrom: [192.0.2.0/24]\n"
        "- name: inside\n"
        "  servers:\n"
        "  - {name: ns3, address: 127.0.0.3}\n";
    CLEANUP(arena) struct arena *arena = arena_new();
    struct findings findings = {.arena = arena};
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(TEXT(yaml), &value_manifest_limits);
    struct value *tree = NULL;
    bool has;
    assert_true(yaml_reader_next(reader, arena, &tree, &has, NULL));
    struct zones_config *config = zones_config_new(tree, read_secret, NULL, &findings);
    assert_non_null(config);
    return config;
}

// ---- the story ----------------------------------------------------------------------------------

static void keep_line(void *context, struct text line)
{
    struct story *story = context;
    buffer_add(&story->lines, line.at, line.len);
}

static int64_t no_time(void *context)
{
    (void)context;
    return 0;
}

static void on_server_report(void *context, const struct published_sign *sign)
{
    struct story *story = context;
    assert_true(dname_equal(sign->apex, shop));
    story->heard++;
}

static void open_frontend(struct story *story, size_t listen_count)
{
    const struct hostport at = {.host = "127.0.0.1"};
    const struct primary_frontend_options options = {.loop = story->loop,
                                                     .random = random_system(),
                                                     .log = story->log,
                                                     .published = story->published,
                                                     .listen = &at,
                                                     .listen_count = listen_count};
    primary_frontend_free(story->frontend);
    story->frontend = primary_frontend_new(&options, NULL);
    assert_non_null(story->frontend);
    primary_frontend_set_config(story->frontend, story->config);
}

static int set_up(void **state)
{
    struct story *story = mem_new_of(struct story);
    const struct log_sink sink = {.write = keep_line, .now_ms = no_time, .context = story};
    story->loop = loop_new();
    story->log = log_new(&sink, LOG_JSON, LOG_INFO);
    story->published = published_new(on_server_report, story);
    published_complete(story->published);
    story->config = config_new();
    story->net = dnsnet_new(story->loop);
    key_init(&story->key, "signpost.", secret_text);
    buffer_add_char(&story->lines, '\n');
    open_frontend(story, 0);
    *state = story;
    return 0;
}

static int tear_down(void **state)
{
    struct story *story = *state;
    assert_null(strstr(story->lines.at, secret_text));
    dnsnet_free(story->net);
    primary_frontend_free(story->frontend);
    zones_config_free(story->config);
    published_free(story->published);
    tsig_key_done(&story->key);
    log_free(story->log);
    loop_free(story->loop);
    buffer_done(&story->lines);
    free(story);
    return 0;
}

static void serve(struct story *story, struct zone *zone)
{
    published_serve(story->published, "default", zone);
    zone_unref(zone);
}

static int64_t now_s(struct story *story)
{
    return loop_unix_ms(story->loop) / 1000;
}

static const struct published_fetch *fetch_of(struct story *story, const char *server)
{
    const struct published_zone *zone = published_find(story->published, shop);
    for (size_t i = 0; i < zone->fetch_count; i++) {
        if (strcmp(zone->fetches[i].server, server) == 0)
            return &zone->fetches[i];
    }
    return NULL;
}

// ---- requests by hand ---------------------------------------------------------------------------

static struct dns_server_request request_from(const char *address, const struct buffer *octets,
                                              bool is_tcp)
{
    struct dns_server_request request = {.octets = buffer_text(octets), .is_tcp = is_tcp};
    assert_true(address_read(address, request.address));
    return request;
}

static void write_axfr(struct story *story, const struct tsig_key *key, struct transfer **transfer,
                       struct buffer *out)
{
    *transfer = transfer_new(shop, key);
    assert_true(transfer_request(*transfer, 77, now_s(story), out, NULL));
}

static unsigned rcode_of(const struct buffer *message)
{
    assert_true(message->len >= 12);
    return (unsigned char)message->at[3] & 15;
}

// The RCODE of the first message; all of it is heard.
static unsigned ask_axfr(struct story *story, const char *address, const struct tsig_key *key,
                         struct zone **zone)
{
    CLEANUP(transfer) struct transfer *transfer = NULL;
    AUTO_BUFFER octets = {0};
    struct dns_answer answer;
    unsigned rcode = 99;
    write_axfr(story, key, &transfer, &octets);
    struct dns_server_request request = request_from(address, &octets, true);
    assert_true(primary_frontend_ask(story->frontend, &request, &answer));
    for (;;) {
        AUTO_BUFFER message = {0};
        if (!answer.next(answer.context, &message))
            break;
        rcode = rcode == 99 ? rcode_of(&message) : rcode;
        if (rcode == 0)
            assert_true(
                transfer_read_reply(transfer, buffer_text(&message), now_s(story), zone, NULL));
    }
    answer.end(answer.context, true);
    return rcode;
}

static unsigned ask_refused(struct story *story, const char *address, const struct tsig_key *key)
{
    struct zone *none = NULL;
    unsigned rcode = ask_axfr(story, address, key, &none);
    assert_null(none);
    return rcode;
}

static void ask_soa(struct story *story, const char *address, const struct tsig_key *key)
{
    AUTO_BUFFER octets = {0};
    AUTO_BUFFER message = {0};
    struct tsig_mac mac;
    struct dns_answer answer;
    bool has_serial;
    uint32_t serial;
    assert_true(primary_probe(&octets, 78, shop, key, now_s(story), &mac, NULL));
    struct dns_server_request request = request_from(address, &octets, false);
    assert_true(primary_frontend_ask(story->frontend, &request, &answer));
    assert_true(answer.next(answer.context, &message));
    assert_true(primary_reply(buffer_text(&message), 78, shop, key, now_s(story), &mac, &has_serial,
                              &serial, NULL));
    assert_true(has_serial);
    assert_int_equal(serial, 7);
    answer.end(answer.context, true);
}

// An IXFR of one who has that serial, without TSIG.
static void write_ixfr(struct buffer *out, uint32_t serial)
{
    static const char head[] = "\0\x4d\0\0\0\1\0\0\0\1\0\0";
    static const char asked[] = "\0\xfb\0\1";
    static const char soa[] = "\xc0\x0c\0\6\0\1\0\0\0\0\0\x16\0\0";
    static const char rest[16] = "";
    buffer_add(out, head, 12);
    buffer_add(out, shop.at, shop.len);
    buffer_add(out, asked, 4);
    buffer_add(out, soa, 14);
    for (unsigned shift = 32; shift > 0; shift -= 8)
        buffer_add_char(out, (char)(serial >> (shift - 8) & 0xff));
    buffer_add(out, rest, 16);
}

static size_t ask_ixfr(struct story *story, const char *address, uint32_t serial, bool is_tcp)
{
    AUTO_BUFFER octets = {0};
    AUTO_BUFFER all = {0};
    struct dns_answer answer;
    write_ixfr(&octets, serial);
    struct dns_server_request request = request_from(address, &octets, is_tcp);
    assert_true(primary_frontend_ask(story->frontend, &request, &answer));
    while (answer.next(answer.context, &all)) {
    }
    assert_int_equal(rcode_of(&all), 0);
    answer.end(answer.context, true);
    return all.len;
}

static void expect_sample(struct story *story, const char *sample)
{
    AUTO_BUFFER out = {0};
    primary_frontend_write_metrics(story->frontend, &out);
    if (!strstr(out.at, sample))
        fail_msg("%s not in %s", sample, out.at);
}

static void expect_line(struct story *story, const char *part)
{
    if (!strstr(story->lines.at, part))
        fail_msg("%s not in %s", part, story->lines.at);
}

// ---- before all zones are known -----------------------------------------------------------------

static void until_all_zones_are_known_servers_hear_of_no_refusal(void **state)
{
    struct story *story = *state;
    struct published *before = steal(story->published);
    story->published = published_new(on_server_report, story);
    open_frontend(story, 0);
    published_free(before);
    assert_int_equal(ask_refused(story, "192.0.2.77", NULL), 2);
    assert_int_equal(ask_refused(story, "192.0.3.77", NULL), 5);
    expect_line(story, "no group of servers has such a peer");
    published_complete(story->published);
    assert_int_equal(ask_refused(story, "192.0.2.77", NULL), 5);
}

// ---- by network ---------------------------------------------------------------------------------

struct fetch {
    struct story *story;
    struct transfer *transfer;
    struct zone *zone;
    struct error err;
    bool is_ok;
    bool is_done;
};

static bool handle_reply(void *context, struct text octets)
{
    struct fetch *fetch = context;
    fetch->is_ok = transfer_read_reply(fetch->transfer, octets, now_s(fetch->story), &fetch->zone,
                                       &fetch->err);
    return fetch->is_ok && !fetch->zone;
}

static void on_done(void *context, const struct dns_reply *reply)
{
    struct fetch *fetch = context;
    fetch->is_ok &= reply->is_answered;
    fetch->is_done = true;
    loop_stop(fetch->story->loop);
}

static void give_up(void *context)
{
    (void)context;
    fail_msg("nothing happened");
}

static void run(struct story *story)
{
    story->patience = (struct loop_timer){.call = give_up};
    loop_timer_set(story->loop, &story->patience, PATIENCE_MS);
    loop_run(story->loop);
    loop_timer_cancel(story->loop, &story->patience);
}

static void fetch_begin(struct fetch *fetch, struct story *story, const struct tsig_key *key)
{
    AUTO_BUFFER octets = {0};
    *fetch = (struct fetch){.story = story};
    write_axfr(story, key, &fetch->transfer, &octets);
    struct dns_request request = {
        .server = {.host = "127.0.0.1", .port = primary_frontend_port(story->frontend, 0)},
        .octets = buffer_text(&octets),
        .use_tcp = true,
        .timeout_ms = PATIENCE_MS,
        .has_more = handle_reply};
    dns_send(story->net, &request, on_done, fetch);
}

static void fetch_done(struct fetch *fetch)
{
    transfer_free(fetch->transfer);
    zone_unref(fetch->zone);
}

static void on_step(void *context)
{
    loop_stop(((struct story *)context)->loop);
}

// What the server hears when the peer has it all comes a little after the peer's last octet.
static void wait_for_fact(struct story *story)
{
    for (unsigned i = 0; i < PATIENCE_MS; i++) {
        struct loop_timer step = {.call = on_step, .context = story};
        const struct published_fetch *fetch = fetch_of(story, "ns1");
        if (fetch && fetch->has_fetched)
            return;
        loop_timer_set(story->loop, &step, 1);
        loop_run(story->loop);
    }
    fail_msg("the fact does not come");
}

// ---- tests --------------------------------------------------------------------------------------

static void a_server_fetches_a_zone(void **state)
{
    struct story *story = *state;
    struct fetch fetch;
    uint8_t served[32], fetched[32];
    struct zone *zone = zone_of_hosts(7, HOSTS);
    zone_digest(zone, served);
    serve(story, zone);
    open_frontend(story, 1);
    fetch_begin(&fetch, story, &story->key);
    run(story);
    assert_true(fetch.is_ok);
    assert_non_null(fetch.zone);
    zone_digest(fetch.zone, fetched);
    assert_memory_equal(served, fetched, sizeof served);
    wait_for_fact(story);
    assert_int_equal(fetch_of(story, "ns1")->asked_serial, 7);
    assert_int_equal(fetch_of(story, "ns1")->fetched_serial, 7);
    assert_int_equal(story->heard, 2);
    expect_sample(story, "{server=\"ns1\",kind=\"axfr\",result=\"success\"} 1\n");
    expect_line(story, "\"level\":\"INFO\",\"msg\":\"zone transferred\",\"server\":\"ns1\","
                       "\"peer\":\"127.0.0.1\",\"zone\":\"shop.example.\",\"serial\":7,"
                       "\"kind\":\"axfr\",\"octets\":");
    fetch_done(&fetch);
}

static void a_transfer_is_of_one_version_and_one_configuration(void **state)
{
    struct story *story = *state;
    CLEANUP(transfer) struct transfer *transfer = NULL;
    CLEANUP(zone) struct zone *heard = NULL;
    CLEANUP(zone) struct zone *other = zone_of_hosts(8, 10);
    AUTO_BUFFER octets = {0};
    struct dns_answer answer;
    bool is_first = true;
    serve(story, zone_of_hosts(7, HOSTS));
    write_axfr(story, &story->key, &transfer, &octets);
    struct dns_server_request request = request_from("127.0.0.1", &octets, true);
    assert_true(primary_frontend_ask(story->frontend, &request, &answer));
    for (;;) {
        AUTO_BUFFER message = {0};
        if (!answer.next(answer.context, &message))
            break;
        assert_true(
            transfer_read_reply(transfer, buffer_text(&message), now_s(story), &heard, NULL));
        if (!is_first)
            continue;
        is_first = false;
        assert_null(heard);
        published_serve(story->published, "default", other);
        primary_frontend_set_config(story->frontend, NULL);
        zones_config_free(steal(story->config));
    }
    answer.end(answer.context, true);
    assert_non_null(heard);
    assert_int_equal(zone_serial(heard), 7);
    assert_int_equal(zone_record_count(heard), HOSTS + 1);
    assert_int_equal(fetch_of(story, "ns1")->fetched_serial, 7);
}

static void a_server_needs_its_key(void **state)
{
    struct story *story = *state;
    serve(story, shop_zone(7));
    assert_int_equal(ask_refused(story, "127.0.0.1", NULL), 5);
    expect_line(story, "\"level\":\"WARN\",\"msg\":\"request to the primary refused\","
                       "\"peer\":\"127.0.0.1\",\"zone\":\"shop.example.\","
                       "\"reason\":\"server ns1 must use its key\"}\n");
    expect_sample(story, "{server=\"\",kind=\"axfr\",result=\"refused\"} 1\n");
    assert_null(fetch_of(story, "ns1"));
}

static void another_secret_is_no_key(void **state)
{
    struct story *story = *state;
    struct tsig_key other;
    serve(story, shop_zone(7));
    key_init(&other, "signpost.", "b3RoZXIgc2VjcmV0IG90aGVyIHNlY3JldCBvdGhlciE=");
    assert_int_equal(ask_refused(story, "127.0.0.1", &other), 9);
    expect_line(story, "\"reason\":\"BADSIG\"");
    expect_sample(story, "{server=\"\",kind=\"axfr\",result=\"notauth\"} 1\n");
    tsig_key_done(&other);
    key_init(&other, "nobody.", secret_text);
    assert_int_equal(ask_refused(story, "127.0.0.2", &other), 9);
    expect_line(story, "\"reason\":\"BADKEY\"");
    tsig_key_done(&other);
}

static void a_stranger_is_refused_in_few_octets(void **state)
{
    struct story *story = *state;
    CLEANUP(transfer) struct transfer *transfer = NULL;
    AUTO_BUFFER octets = {0};
    AUTO_BUFFER message = {0};
    struct dns_answer answer;
    serve(story, shop_zone(7));
    write_axfr(story, NULL, &transfer, &octets);
    struct dns_server_request request = request_from("203.0.113.9", &octets, true);
    assert_true(primary_frontend_ask(story->frontend, &request, &answer));
    assert_true(answer.next(answer.context, &message));
    assert_int_equal(rcode_of(&message), 5);
    assert_true(message.len <= octets.len);
    assert_false(answer.next(answer.context, &message));
    answer.end(answer.context, true);
    expect_line(story, "\"reason\":\"not a server of group default, nor in its transferFrom\"");
}

static void an_address_of_transfer_from_needs_no_key(void **state)
{
    struct story *story = *state;
    CLEANUP(zone) struct zone *zone = NULL;
    serve(story, shop_zone(7));
    assert_int_equal(ask_axfr(story, "192.0.2.77", NULL, &zone), 0);
    assert_non_null(zone);
    assert_int_equal(ask_refused(story, "192.0.3.77", NULL), 5);
    assert_int_equal(story->heard, 0);
    expect_sample(story, "{server=\"\",kind=\"axfr\",result=\"success\"} 1\n");
}

static void the_group_of_a_zone_says_who_may_have_it(void **state)
{
    struct story *story = *state;
    CLEANUP(zone) struct zone *zone = shop_zone(7);
    CLEANUP(zone) struct zone *fetched = NULL;
    published_serve(story->published, "inside", zone);
    assert_int_equal(ask_refused(story, "127.0.0.2", NULL), 5);
    assert_int_equal(ask_axfr(story, "127.0.0.3", NULL, &fetched), 0);
    published_serve(story->published, "unknown", zone);
    assert_int_equal(ask_refused(story, "127.0.0.3", NULL), 5);
}

static void what_is_not_good_is_not_answered(void **state)
{
    struct story *story = *state;
    CLEANUP(zone) struct zone *frozen = NULL;
    assert_int_equal(ask_refused(story, "127.0.0.2", NULL), 5); // not known
    published_withhold(story->published, shop, "default", PUBLISHED_WITHHELD);
    assert_int_equal(ask_refused(story, "127.0.0.2", NULL), 2);
    assert_int_equal(ask_refused(story, "127.0.0.9", NULL), 5);
    expect_sample(story, "{server=\"ns2\",kind=\"axfr\",result=\"servfail\"} 1\n");
    serve(story, shop_zone(7));
    published_withhold(story->published, shop, "default", PUBLISHED_WITHHELD);
    assert_int_equal(ask_refused(story, "127.0.0.2", NULL), 2);
    published_withhold(story->published, shop, "default", PUBLISHED_FROZEN);
    assert_int_equal(ask_axfr(story, "127.0.0.2", NULL, &frozen), 0);
    assert_int_equal(zone_serial(frozen), 7);
}

static void who_asks_for_the_soa_has_fetched_nothing(void **state)
{
    struct story *story = *state;
    serve(story, shop_zone(7));
    ask_soa(story, "127.0.0.1", &story->key);
    assert_true(fetch_of(story, "ns1")->has_asked);
    assert_int_equal(fetch_of(story, "ns1")->asked_serial, 7);
    assert_false(fetch_of(story, "ns1")->has_fetched);
    assert_string_equal(story->lines.at, "\n");
    assert_int_equal(story->heard, 1);
    ask_soa(story, "127.0.0.1", &story->key);
    assert_int_equal(story->heard, 2);
}

static void steps_are_told_from_all_of_a_zone(void **state)
{
    struct story *story = *state;
    struct zone *first = zone_of_hosts(7, HOSTS);
    struct zone *second = with_host(first, 8, 5, 99);
    serve(story, first);
    serve(story, second);
    // A seven that it has is not known to be ours.
    assert_in_range(ask_ixfr(story, "127.0.0.2", 7, true), 10000, 1000000);
    assert_int_equal(fetch_of(story, "ns2")->fetched_serial, 8);
    assert_in_range(ask_ixfr(story, "127.0.0.2", 7, true), 100, 1000);
    expect_sample(story, "{server=\"ns2\",kind=\"ixfr\",result=\"success\"} 1\n");
    assert_in_range(ask_ixfr(story, "127.0.0.2", 6, true), 10000, 1000000);
    expect_sample(story, "{server=\"ns2\",kind=\"axfr\",result=\"success\"} 2\n");
    // Nothing new, or only where to get it: no transfers.
    buffer_clear(&story->lines);
    buffer_add_char(&story->lines, '\n');
    ask_ixfr(story, "127.0.0.2", 8, true);
    ask_ixfr(story, "127.0.0.2", 7, false);
    assert_string_equal(story->lines.at, "\n");
}

static void what_is_cut_off_was_not_fetched(void **state)
{
    struct story *story = *state;
    CLEANUP(transfer) struct transfer *transfer = NULL;
    AUTO_BUFFER octets = {0};
    AUTO_BUFFER message = {0};
    struct dns_answer answer;
    serve(story, zone_of_hosts(7, HOSTS));
    write_axfr(story, &story->key, &transfer, &octets);
    struct dns_server_request request = request_from("127.0.0.1", &octets, true);
    assert_true(primary_frontend_ask(story->frontend, &request, &answer));
    assert_true(answer.next(answer.context, &message));
    answer.end(answer.context, false);
    assert_true(fetch_of(story, "ns1")->has_asked);
    assert_false(fetch_of(story, "ns1")->has_fetched);
    expect_line(story, "\"level\":\"WARN\",\"msg\":\"transfer of a zone cut off\"");
    expect_sample(story, "{server=\"ns1\",kind=\"axfr\",result=\"cut\"} 1\n");
}

static void a_peer_is_warned_of_once(void **state)
{
    struct story *story = *state;
    serve(story, shop_zone(7));
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(ask_refused(story, "203.0.113.9", NULL), 5);
    const char *first = strstr(story->lines.at, "refused");
    assert_non_null(first);
    assert_null(strstr(first + 1, "refused"));
    expect_sample(story, "{server=\"\",kind=\"axfr\",result=\"refused\"} 10\n");
}

static void what_is_no_request_is_not_answered(void **state)
{
    struct story *story = *state;
    AUTO_BUFFER octets = {0};
    struct dns_answer answer;
    buffer_add(&octets, "\0\1\x80\0\0\0\0\0\0\0\0\0", 12);
    struct dns_server_request request = request_from("127.0.0.1", &octets, false);
    assert_false(primary_frontend_ask(story->frontend, &request, &answer));
}

static void a_taken_port_is_told_and_waited_for(void **state)
{
    struct story *story = *state;
    open_frontend(story, 1);
    const struct hostport taken = {.host = "127.0.0.1",
                                   .port = primary_frontend_port(story->frontend, 0)};
    const struct primary_frontend_options options = {.loop = story->loop,
                                                     .random = random_system(),
                                                     .log = story->log,
                                                     .published = story->published,
                                                     .listen = &taken,
                                                     .listen_count = 1};
    struct primary_frontend *second = primary_frontend_new(&options, NULL);
    assert_non_null(second);
    assert_null(primary_frontend_trouble(story->frontend));
    assert_non_null(strstr(primary_frontend_trouble(second), "address already in use"));
    expect_line(story, "zones cannot be served at an address");
    primary_frontend_free(second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(until_all_zones_are_known_servers_hear_of_no_refusal),
        TEST(a_server_fetches_a_zone),
        TEST(a_transfer_is_of_one_version_and_one_configuration),
        TEST(a_server_needs_its_key),
        TEST(another_secret_is_no_key),
        TEST(a_stranger_is_refused_in_few_octets),
        TEST(an_address_of_transfer_from_needs_no_key),
        TEST(the_group_of_a_zone_says_who_may_have_it),
        TEST(what_is_not_good_is_not_answered),
        TEST(who_asks_for_the_soa_has_fetched_nothing),
        TEST(steps_are_told_from_all_of_a_zone),
        TEST(what_is_cut_off_was_not_fetched),
        TEST(a_peer_is_warned_of_once),
        TEST(what_is_no_request_is_not_answered),
        TEST(a_taken_port_is_told_and_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
