#include "io/dns_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/address.h"
#include "io/dns_server_private.h"
#include "io/loop.h"
#include "io/random.h"

enum { PATIENCE_MS = 600 * 1000, CLIENTS_MAX = 300, STEP_MS = 1, REQUEST_OCTETS = 18 };

// A request: 12 octets of any kind, then how many messages are wanted, and of how many octets.
struct client {
    int fd;
    struct buffer input;
    bool has_ended;
};

struct story {
    struct loop *loop;
    struct dns_server *server;
    struct client clients[CLIENTS_MAX];
    size_t client_count;
    const char *known; // the address of a known peer begins with this
    struct dns_server_request last;
    unsigned handled;
    unsigned pulled;
    unsigned under_way;
    unsigned delivered;
    unsigned cut;
    unsigned changes;
    bool is_reported_of_trouble;
    struct loop_timer step;
    int64_t give_up_ms;
};

struct answer {
    struct story *story;
    unsigned left;
    unsigned octets;
    char head[12];
};

// ---- the server ---------------------------------------------------------------------------------

static bool next(void *context, struct buffer *out)
{
    struct answer *answer = context;
    if (answer->left == 0)
        return false;
    answer->left--;
    answer->story->pulled++;
    buffer_add(out, answer->head, sizeof answer->head);
    for (unsigned i = sizeof answer->head; i < answer->octets; i++)
        buffer_add_char(out, (char)i);
    return true;
}

static void end(void *context, bool is_delivered)
{
    struct answer *answer = context;
    struct story *story = answer->story;
    story->under_way--;
    story->delivered += is_delivered;
    story->cut += !is_delivered;
    free(answer);
}

static bool handle(void *context, const struct dns_server_request *request, struct dns_answer *out)
{
    struct story *story = context;
    const unsigned char *wanted = (const unsigned char *)request->octets.at + 12;
    story->handled++;
    story->last = *request;
    if (request->octets.len < 16)
        return false;
    struct answer *answer = mem_new_of(struct answer);
    *answer = (struct answer){.story = story,
                              .left = (unsigned)wanted[0] << 8 | wanted[1],
                              .octets = (unsigned)wanted[2] << 8 | wanted[3]};
    memcpy(answer->head, request->octets.at, sizeof answer->head);
    story->under_way++;
    *out = (struct dns_answer){next, end, answer};
    return true;
}

static bool is_known(void *context, const uint8_t address[16])
{
    const struct story *story = context;
    AUTO_BUFFER text = {0};
    address_write(&text, address);
    return story->known && text_starts(buffer_text(&text), story->known);
}

static void start(struct story *story, const char *address, const struct dns_server_options *more)
{
    struct hostport at = {0};
    struct error err;
    snprintf(at.host, sizeof at.host, "%s", address);
    struct dns_server_options options = *more;
    options.at = &at;
    options.count = 1;
    options.handle = handle;
    options.is_known = is_known;
    options.context = story;
    story->server = dns_server_new(story->loop, random_system(), &options, &err);
    assert_non_null(story->server);
}

static void start_all(struct story *story)
{
    // No connection times out because the machine is busy.
    start(story, "", &(struct dns_server_options){.timeout_ms = PATIENCE_MS});
}

static int set_up(void **state)
{
    struct story *story = mem_new_of(struct story);
    story->loop = loop_new();
    story->known = "127.0.0.";
    *state = story;
    return 0;
}

static void hang_up(struct client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    buffer_done(&client->input);
}

static int tear_down(void **state)
{
    struct story *story = *state;
    dns_server_free(story->server);
    assert_int_equal(story->under_way, 0);
    for (size_t i = 0; i < story->client_count; i++)
        hang_up(&story->clients[i]);
    loop_timer_cancel(story->loop, &story->step);
    loop_free(story->loop);
    free(story);
    return 0;
}

// ---- waiting ------------------------------------------------------------------------------------

static void on_step(void *context)
{
    loop_stop(((struct story *)context)->loop);
}

static void turn(struct story *story)
{
    story->step =
        (struct loop_timer){.call = on_step, .context = story, .handle = story->step.handle};
    loop_timer_set(story->loop, &story->step, STEP_MS);
    loop_run(story->loop);
}

static void start_waiting(struct story *story)
{
    story->give_up_ms = loop_mono_ms(story->loop) + PATIENCE_MS;
}

static void wait_more(struct story *story)
{
    assert_true(loop_mono_ms(story->loop) < story->give_up_ms);
    turn(story);
}
#define WAIT_UNTIL(story, condition)                                                               \
    for (start_waiting(story); !(condition);)                                                      \
    wait_more(story)

// ---- clients ------------------------------------------------------------------------------------

static struct client *connect_as(struct story *story, const char *from, int type,
                                 int receive_octets)
{
    struct client *client = &story->clients[story->client_count++];
    struct sockaddr_in own = {.sin_family = AF_INET}, at = {.sin_family = AF_INET};
    inet_pton(AF_INET, from, &own.sin_addr);
    inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
    at.sin_port = htons(dns_server_port(story->server, 0));
    client->fd = socket(AF_INET, type, 0);
    if (receive_octets)
        setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &receive_octets, sizeof receive_octets);
    assert_int_equal(bind(client->fd, (struct sockaddr *)&own, sizeof own), 0);
    assert_int_equal(connect(client->fd, (struct sockaddr *)&at, sizeof at), 0);
    return client;
}

static struct client *connect_tcp(struct story *story)
{
    return connect_as(story, "127.0.0.1", SOCK_STREAM, 0);
}

static void write_request(char out[REQUEST_OCTETS], char mark, unsigned count, unsigned octets)
{
    memset(out, mark, REQUEST_OCTETS);
    out[0] = 0;
    out[1] = REQUEST_OCTETS - 2;
    out[14] = (char)(count >> 8);
    out[15] = (char)(count & 0xff);
    out[16] = (char)(octets >> 8);
    out[17] = (char)(octets & 0xff);
}

static void ask(struct client *client, char mark, unsigned count, unsigned octets)
{
    char out[REQUEST_OCTETS];
    write_request(out, mark, count, octets);
    assert_int_equal(send(client->fd, out, sizeof out, MSG_NOSIGNAL), sizeof out);
}

static void ask_udp(struct client *client, char mark, unsigned octets)
{
    char out[REQUEST_OCTETS];
    write_request(out, mark, 1, octets);
    assert_int_equal(send(client->fd, out + 2, sizeof out - 2, 0), sizeof out - 2);
}

// What is there, `limit` octets at most.
static size_t take(struct client *client, size_t limit)
{
    size_t total = 0;
    while (total < limit) {
        char piece[65536];
        size_t want = limit - total < sizeof piece ? limit - total : sizeof piece;
        ssize_t len = recv(client->fd, piece, want, MSG_DONTWAIT);
        if (len == 0 || (len < 0 && errno == ECONNRESET))
            client->has_ended = true;
        if (len <= 0)
            break;
        buffer_add(&client->input, piece, (size_t)len);
        total += (size_t)len;
    }
    return client->input.len;
}

static bool has_ended(struct client *client)
{
    take(client, SIZE_MAX);
    return client->has_ended;
}

static void expect_answer(struct story *story, struct client *client, char mark)
{
    WAIT_UNTIL(story, take(client, SIZE_MAX) >= 22);
    assert_int_equal(client->input.len, 22);
    assert_int_equal(client->input.at[1], 20);
    assert_int_equal(client->input.at[2], mark);
    buffer_clear(&client->input);
}

// ---- tests --------------------------------------------------------------------------------------

static void a_request_is_answered_over_either(void **state)
{
    struct story *story = *state;
    uint8_t address[ADDRESS_OCTETS];
    start_all(story);
    struct client *tcp = connect_tcp(story);
    ask(tcp, 'a', 1, 20);
    expect_answer(story, tcp, 'a');
    assert_true(story->last.is_tcp);
    struct client *udp = connect_as(story, "127.0.0.2", SOCK_DGRAM, 0);
    ask_udp(udp, 'b', 20);
    WAIT_UNTIL(story, take(udp, 20) == 20);
    assert_int_equal(udp->input.at[0], 'b');
    assert_false(story->last.is_tcp);
    assert_true(address_read("127.0.0.2", address));
    assert_memory_equal(story->last.address, address, sizeof address);
    WAIT_UNTIL(story, story->delivered == 2);
}

static void ipv6_is_answered_too(void **state)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM};
    struct story *story = *state;
    uint8_t address[ADDRESS_OCTETS];
    story->known = "::1";
    start(story, "::1", &(struct dns_server_options){0});
    assert_true(address_read("::1", address));
    for (unsigned i = 0; i < 2; i++) {
        struct client *client = &story->clients[story->client_count++];
        struct sockaddr_in6 at = {.sin6_family = AF_INET6,
                                  .sin6_port = htons(dns_server_port(story->server, 0)),
                                  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        client->fd = socket(AF_INET6, types[i], 0);
        assert_int_equal(connect(client->fd, (struct sockaddr *)&at, sizeof at), 0);
        if (i == 0)
            ask(client, 'a', 1, 20);
        else
            ask_udp(client, 'a', 20);
        WAIT_UNTIL(story, take(client, 22) >= 20);
        assert_memory_equal(story->last.address, address, sizeof address);
    }
}

static void a_datagram_is_answered_from_where_it_was_sent_to(void **state)
{
    struct story *story = *state;
    struct sockaddr_in at = {.sin_family = AF_INET};
    start_all(story);
    struct client *client = connect_as(story, "127.0.0.1", SOCK_DGRAM, 0);
    inet_pton(AF_INET, "127.0.0.9", &at.sin_addr);
    at.sin_port = htons(dns_server_port(story->server, 0));
    assert_int_equal(connect(client->fd, (struct sockaddr *)&at, sizeof at), 0);
    ask_udp(client, 'a', 20);
    // A connected socket hears that address alone.
    WAIT_UNTIL(story, take(client, 20) == 20);
}

static void requests_in_one_go_are_answered_in_order(void **state)
{
    struct story *story = *state;
    AUTO_BUFFER all = {0};
    start_all(story);
    struct client *client = connect_tcp(story);
    for (unsigned i = 0; i < 100; i++) {
        char out[REQUEST_OCTETS];
        write_request(out, (char)i, 2, 300);
        buffer_add(&all, out, sizeof out);
    }
    assert_int_equal(send(client->fd, all.at, all.len, 0), (ssize_t)all.len);
    WAIT_UNTIL(story, take(client, SIZE_MAX) == (size_t)100 * 2 * 302);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(client->input.at[(size_t)i * 302 + 2], i / 2);
    WAIT_UNTIL(story, story->delivered == 100);
}

static void a_request_may_come_in_pieces(void **state)
{
    struct story *story = *state;
    char out[REQUEST_OCTETS];
    start_all(story);
    struct client *client = connect_tcp(story);
    write_request(out, 'a', 1, 20);
    for (size_t i = 0; i < sizeof out; i++) {
        assert_int_equal(send(client->fd, out + i, 1, 0), 1);
        turn(story);
    }
    expect_answer(story, client, 'a');
}

static void a_peer_that_sends_no_more_is_still_answered(void **state)
{
    struct story *story = *state;
    start_all(story);
    struct client *client = connect_tcp(story);
    ask(client, 'a', 100, 60000);
    shutdown(client->fd, SHUT_WR);
    WAIT_UNTIL(story, has_ended(client));
    assert_int_equal(client->input.len, 100 * 60002);
    assert_int_equal(story->delivered, 1);
    assert_int_equal(story->server->connection_count, 0);
}

static void what_is_no_answer_is_none(void **state)
{
    struct story *story = *state;
    start_all(story);
    struct client *client = connect_tcp(story);
    send(client->fd,
         "\0\x0c"
         "............",
         14, 0);
    ask(client, 'b', 1, 20);
    expect_answer(story, client, 'b');
    assert_int_equal(story->handled, 2);
}

static void a_message_too_short_ends_the_connection(void **state)
{
    struct story *story = *state;
    start_all(story);
    struct client *client = connect_tcp(story);
    send(client->fd, "\0\x0b...........", 13, 0);
    WAIT_UNTIL(story, has_ended(client));
    struct client *udp = connect_as(story, "127.0.0.1", SOCK_DGRAM, 0);
    send(udp->fd, "...........", 11, 0);
    ask_udp(udp, 'a', 20);
    WAIT_UNTIL(story, take(udp, 20) == 20);
    assert_int_equal(story->handled, 1);
}

static void half_a_request_is_not_waited_for_for_ever(void **state)
{
    struct story *story = *state;
    start(story, "", &(struct dns_server_options){.timeout_ms = 40});
    struct client *silent = connect_tcp(story);
    struct client *half = connect_tcp(story);
    send(half->fd, "\0\x20..............", 16, 0);
    WAIT_UNTIL(story, has_ended(silent) && has_ended(half));
    assert_int_equal(story->handled, 0);
    assert_int_equal(story->server->connection_count, 0);
}

static void a_peer_that_stops_reading_is_left(void **state)
{
    struct story *story = *state;
    start(story, "", &(struct dns_server_options){.timeout_ms = 40});
    struct client *client = connect_as(story, "127.0.0.1", SOCK_STREAM, 4096);
    ask(client, 'a', 1000, 16384);
    WAIT_UNTIL(story, story->cut == 1);
    assert_int_equal(story->server->connection_count, 0);
}

static void a_transfer_goes_only_as_fast_as_its_peer_reads(void **state)
{
    struct story *story = *state;
    start_all(story);
    struct client *slow = connect_as(story, "127.0.0.1", SOCK_STREAM, 4096);
    ask(slow, 'a', 1000, 16384);
    WAIT_UNTIL(story, story->pulled > 10);
    for (unsigned i = 0; i < 5; i++) {
        struct client *other = connect_as(story, "127.0.0.3", SOCK_STREAM, 0);
        ask(other, 'b', 1, 20);
        expect_answer(story, other, 'b');
    }
    unsigned pulled = story->pulled;
    assert_in_range(pulled, 10, 80); // of 16 MiB
    take(slow, 65536);
    turn(story);
    assert_in_range(story->pulled, pulled, pulled + 16);
    WAIT_UNTIL(story, take(slow, SIZE_MAX) == (size_t)1000 * 16386);
    WAIT_UNTIL(story, story->delivered == 6);
}

static void nothing_is_delivered_before_the_peer_has_it(void **state)
{
    struct story *story = *state;
    start_all(story);
    struct client *client = connect_as(story, "127.0.0.1", SOCK_STREAM, 4096);
    ask(client, 'a', 10, 10000);
    // All is with the kernel.
    WAIT_UNTIL(story, story->pulled == 10);
    for (unsigned i = 0; i < 5; i++)
        turn(story);
    assert_int_equal(story->delivered, 0);
    hang_up(client);
    WAIT_UNTIL(story, story->under_way == 0);
    assert_int_equal(story->delivered, 0);
    assert_int_equal(story->cut, 1);
}

static void a_reset_in_the_middle_harms_nobody_else(void **state)
{
    struct story *story = *state;
    start_all(story);
    struct client *client = connect_as(story, "127.0.0.1", SOCK_STREAM, 4096);
    struct client *other = connect_tcp(story);
    ask(client, 'a', 1000, 16384);
    WAIT_UNTIL(story, take(client, 100000) >= 100000);
    setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    hang_up(client);
    WAIT_UNTIL(story, story->cut == 1);
    ask(other, 'b', 1, 20);
    expect_answer(story, other, 'b');
}

static void the_ninth_answer_of_an_address_waits(void **state)
{
    struct story *story = *state;
    struct client *slow[8];
    start_all(story);
    for (unsigned i = 0; i < 8; i++) {
        slow[i] = connect_as(story, "127.0.0.1", SOCK_STREAM, 4096);
        ask(slow[i], 'a', 1000, 16384);
    }
    WAIT_UNTIL(story, story->handled == 8);
    struct client *ninth = connect_tcp(story);
    ask(ninth, 'n', 1, 20);
    struct client *other = connect_as(story, "127.0.0.2", SOCK_STREAM, 0);
    ask(other, 'b', 1, 20);
    expect_answer(story, other, 'b');
    assert_int_equal(story->handled, 9);
    hang_up(slow[3]);
    expect_answer(story, ninth, 'n');
}

static void a_stranger_has_eight_connections(void **state)
{
    struct story *story = *state;
    struct client *clients[9];
    story->known = NULL;
    start_all(story);
    for (unsigned i = 0; i < 8; i++)
        clients[i] = connect_tcp(story);
    WAIT_UNTIL(story, story->server->connection_count == 8);
    turn(story); // so that what comes is a millisecond younger than the connections
    ask(clients[0], 'a', 1, 20);
    expect_answer(story, clients[0], 'a');
    clients[8] = connect_tcp(story);
    WAIT_UNTIL(story, has_ended(clients[1])); // idle for longest
    ask(clients[8], 'b', 1, 20);
    expect_answer(story, clients[8], 'b');
    assert_false(has_ended(clients[0]));
    assert_int_equal(story->server->connection_count, 8);
}

static void a_busy_connection_is_not_closed_for_a_new_one(void **state)
{
    struct story *story = *state;
    story->known = NULL;
    start_all(story);
    for (unsigned i = 0; i < 8; i++)
        ask(connect_as(story, "127.0.0.1", SOCK_STREAM, 4096), 'a', 1000, 16384);
    WAIT_UNTIL(story, story->handled == 8);
    struct client *ninth = connect_tcp(story);
    WAIT_UNTIL(story, has_ended(ninth));
    assert_int_equal(story->cut, 0);
    // But a stranger's makes way for a known peer.
    story->known = "127.0.0.2";
    for (unsigned i = 0; i < DNS_SERVER_CONNECTIONS_MAX - 8; i++) {
        char from[16];
        snprintf(from, sizeof from, "127.0.0.2%u", i % 2);
        connect_as(story, from, SOCK_STREAM, 0);
    }
    WAIT_UNTIL(story, story->server->connection_count == DNS_SERVER_CONNECTIONS_MAX);
    struct client *known = connect_as(story, "127.0.0.2", SOCK_STREAM, 0);
    ask(known, 'k', 1, 20);
    expect_answer(story, known, 'k');
    assert_int_equal(story->cut, 1);
    assert_int_equal(story->server->connection_count, DNS_SERVER_CONNECTIONS_MAX);
}

static void of_sixty_five_strangers_the_longest_idle_goes(void **state)
{
    struct story *story = *state;
    story->known = "127.0.0.1";
    start_all(story);
    struct client *known = connect_tcp(story);
    for (unsigned i = 0; i < DNS_SERVER_STRANGERS_MAX; i++) {
        char from[16];
        snprintf(from, sizeof from, "127.0.0.%u", 20 + i % 8);
        connect_as(story, from, SOCK_STREAM, 0);
        WAIT_UNTIL(story, story->server->connection_count == i + 2);
    }
    struct client *last = connect_as(story, "127.0.0.30", SOCK_STREAM, 0);
    ask(last, 'z', 1, 20);
    expect_answer(story, last, 'z');
    assert_true(has_ended(&story->clients[1]));
    assert_int_equal(story->server->connection_count, DNS_SERVER_STRANGERS_MAX + 1);
    ask(known, 'k', 1, 20);
    expect_answer(story, known, 'k');
}

static void a_known_peer_may_have_many_connections_at_once(void **state)
{
    struct story *story = *state;
    start_all(story);
    for (unsigned i = 0; i < 128; i++)
        ask(connect_tcp(story), 'a', 3, 6000);
    WAIT_UNTIL(story, story->delivered == 128);
    assert_int_equal(story->server->connection_count, 128);
    for (unsigned i = 0; i < 128; i++)
        assert_int_equal(take(&story->clients[i], SIZE_MAX), 3 * 6002);
}

static void known_peers_make_room_for_each_other(void **state)
{
    struct story *story = *state;
    start_all(story);
    for (unsigned i = 0; i < DNS_SERVER_CONNECTIONS_MAX; i++) {
        char from[16];
        snprintf(from, sizeof from, "127.0.0.%u", 2 + i % 2);
        connect_as(story, from, SOCK_STREAM, 0);
        WAIT_UNTIL(story, story->server->connection_count == i + 1);
    }
    struct client *last = connect_tcp(story);
    ask(last, 'z', 1, 20);
    expect_answer(story, last, 'z');
    assert_true(has_ended(&story->clients[0]));
    // A stranger takes no place of theirs.
    story->known = "127.0.0.7";
    struct client *stranger = connect_as(story, "127.0.0.8", SOCK_STREAM, 0);
    WAIT_UNTIL(story, has_ended(stranger));
    assert_false(has_ended(&story->clients[1]));
}

static unsigned flood(struct story *story, const char *from, unsigned count)
{
    struct client *client = connect_as(story, from, SOCK_DGRAM, 0);
    unsigned before = story->handled;
    for (unsigned i = 0; i < count; i++) {
        ask_udp(client, 'f', 20);
        if (i % 50 == 49)
            turn(story);
    }
    // What is behind the flood is seen after it.
    struct client *known = connect_as(story, "127.0.0.1", SOCK_DGRAM, 0);
    ask_udp(known, 'k', 20);
    WAIT_UNTIL(story, take(known, 20) == 20);
    hang_up(client);
    hang_up(known);
    return story->handled - before - 1;
}

static void a_flood_from_a_stranger_is_dropped(void **state)
{
    struct story *story = *state;
    story->known = "127.0.0.1";
    start(story, "", &(struct dns_server_options){.each = {1, 50}, .together = {1, 80}});
    assert_in_range(flood(story, "127.0.0.50", 2000), 50, 60);
    assert_in_range(flood(story, "127.0.0.51", 2000), 30, 40); // what is left for all
    assert_in_range(flood(story, "127.0.0.52", 2000), 0, 10);
    assert_int_equal(flood(story, "127.0.0.1", 1000), 1000);
}

static void a_stranger_gets_no_large_datagram(void **state)
{
    struct story *story = *state;
    story->known = "127.0.0.1";
    start_all(story);
    struct client *stranger = connect_as(story, "127.0.0.2", SOCK_DGRAM, 0);
    struct client *known = connect_as(story, "127.0.0.1", SOCK_DGRAM, 0);
    ask_udp(stranger, 'l', 400);
    ask_udp(stranger, 's', 20);
    ask_udp(known, 'k', 1200);
    WAIT_UNTIL(story, take(known, 1200) == 1200);
    assert_int_equal(take(stranger, 1000), 20);
    assert_int_equal(stranger->input.at[0], 's');
    assert_int_equal(story->cut, 1);
}

static void a_server_may_go_with_transfers_under_way(void **state)
{
    struct story *story = *state;
    start_all(story);
    for (unsigned i = 0; i < 4; i++)
        ask(connect_as(story, "127.0.0.1", SOCK_STREAM, 4096), 'a', i % 2 ? 1000 : 10, 10000);
    WAIT_UNTIL(story, story->under_way == 4 && story->pulled > 40);
    dns_server_free(story->server);
    story->server = NULL;
    assert_int_equal(story->under_way, 0);
    assert_int_equal(story->cut, 4);
    for (unsigned i = 0; i < 4; i++)
        WAIT_UNTIL(story, has_ended(&story->clients[i]));
}

static void several_addresses_are_listened_at(void **state)
{
    struct story *story = *state;
    static const struct hostport at[] = {{.host = "127.0.0.1"}, {.host = "::1"}};
    const struct dns_server_options options = {
        .at = at, .count = 2, .handle = handle, .is_known = is_known, .context = story};
    story->server = dns_server_new(story->loop, random_system(), &options, NULL);
    assert_non_null(story->server);
    assert_true(dns_server_port(story->server, 0) && dns_server_port(story->server, 1));
    struct client *client = connect_tcp(story);
    ask(client, 'a', 1, 20);
    expect_answer(story, client, 'a');
    assert_false(dns_server_is_ipv4_fallback(story->server));
}

// Descriptors run out for a while: idle connections make room, and the loop does not spin.
static void a_server_without_descriptors_comes_back(void **state)
{
    struct story *story = *state;
    struct rlimit before;
    start_all(story);
    struct client *idle = connect_tcp(story);
    WAIT_UNTIL(story, story->server->connection_count == 1);
    struct client *late = connect_tcp(story);
    ask(late, 'a', 1, 20);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    WAIT_UNTIL(story, has_ended(idle));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(story->handled, 0);
    expect_answer(story, late, 'a');
}

static void changed(void *context, const struct hostport *at, const char *trouble)
{
    struct story *story = context;
    (void)at;
    story->changes++;
    story->is_reported_of_trouble = trouble != NULL;
}

static bool is_port_free(int type, const struct sockaddr_in *at)
{
    int fd = socket(AF_INET, type, 0);
    bool is_free = bind(fd, (const struct sockaddr *)at, sizeof *at) == 0;
    close(fd);
    return is_free;
}

// A socket that holds a port of 127.0.0.1, which is free for the other protocol: a test beside this
// one may have it there.
static int take_port(int type, struct hostport *taken)
{
    for (;;) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof at;
        int fd = socket(AF_INET, type, 0);
        assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
        assert_true(type == SOCK_DGRAM || listen(fd, 1) == 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
        *taken = (struct hostport){.host = "127.0.0.1", .port = ntohs(at.sin_port)};
        if (is_port_free(type == SOCK_DGRAM ? SOCK_STREAM : SOCK_DGRAM, &at))
            return fd;
        close(fd);
    }
}

static void expect_trouble(struct story *story, const char *kind, uint16_t port)
{
    AUTO_BUFFER expected = {0};
    buffer_printf(&expected, "%s127.0.0.1:%u: address already in use", kind, port);
    assert_string_equal(dns_server_trouble(story->server), buffer_text(&expected).at);
}

static void wait_for_port(struct story *story, int type, const char *kind)
{
    struct hostport taken;
    int holder = take_port(type, &taken);
    const struct dns_server_options options = {.at = &taken,
                                               .count = 1,
                                               .handle = handle,
                                               .changed = changed,
                                               .context = story,
                                               .retry_ms = 1};
    story->changes = 0;
    story->server = dns_server_new(story->loop, random_system(), &options, NULL);
    assert_non_null(story->server);
    assert_true(story->changes == 1 && story->is_reported_of_trouble);
    expect_trouble(story, kind, taken.port);
    close(holder);
    WAIT_UNTIL(story, !dns_server_trouble(story->server));
    assert_true(story->changes == 2 && !story->is_reported_of_trouble);
    struct client *client = connect_tcp(story);
    ask(client, 'a', 1, 20);
    expect_answer(story, client, 'a');
    dns_server_free(story->server);
    story->server = NULL;
}

static void a_taken_port_is_named_and_waited_for(void **state)
{
    wait_for_port(*state, SOCK_STREAM, "");
    wait_for_port(*state, SOCK_DGRAM, "udp ");
}

static void an_address_that_will_never_be_had_is_an_error(void **state)
{
    struct story *story = *state;
    static const struct hostport at[] = {{.host = "127.0.0.1"}, {.host = "ff02::1"}};
    const struct dns_server_options options = {.at = at, .count = 2, .handle = handle};
    struct error err;
    assert_null(dns_server_new(story->loop, random_system(), &options, &err));
    assert_non_null(strstr(err.text, "[ff02::1]:0: invalid argument"));
}

// The one of this process that listens at the port.
static int listening_socket(uint16_t port)
{
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_in at = {0};
        socklen_t len = sizeof at;
        int is_listening = 0;
        socklen_t size = sizeof is_listening;
        if (!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) && is_listening &&
            !getsockname(fd, (struct sockaddr *)&at, &len) && ntohs(at.sin_port) == port)
            return fd;
    }
    return -1;
}

// As `ss --kill` does.
static void a_socket_that_is_lost_is_opened_again(void **state)
{
    struct story *story = *state;
    start(story, "127.0.0.1", &(struct dns_server_options){.changed = changed, .retry_ms = 1});
    uint16_t port = dns_server_port(story->server, 0);
    assert_int_equal(shutdown(listening_socket(port), SHUT_RDWR), 0);
    WAIT_UNTIL(story, story->changes == 1);
    assert_true(story->is_reported_of_trouble);
    assert_non_null(strstr(dns_server_trouble(story->server), ": invalid argument"));
    WAIT_UNTIL(story, !dns_server_trouble(story->server));
    assert_int_equal(dns_server_port(story->server, 0), port);
    struct client *client = connect_tcp(story);
    ask(client, 'a', 1, 20);
    expect_answer(story, client, 'a');
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_is_answered_over_either),
        TEST(ipv6_is_answered_too),
        TEST(a_datagram_is_answered_from_where_it_was_sent_to),
        TEST(requests_in_one_go_are_answered_in_order),
        TEST(a_request_may_come_in_pieces),
        TEST(a_peer_that_sends_no_more_is_still_answered),
        TEST(what_is_no_answer_is_none),
        TEST(a_message_too_short_ends_the_connection),
        TEST(half_a_request_is_not_waited_for_for_ever),
        TEST(a_peer_that_stops_reading_is_left),
        TEST(a_transfer_goes_only_as_fast_as_its_peer_reads),
        TEST(nothing_is_delivered_before_the_peer_has_it),
        TEST(a_reset_in_the_middle_harms_nobody_else),
        TEST(the_ninth_answer_of_an_address_waits),
        TEST(a_stranger_has_eight_connections),
        TEST(a_busy_connection_is_not_closed_for_a_new_one),
        TEST(of_sixty_five_strangers_the_longest_idle_goes),
        TEST(a_known_peer_may_have_many_connections_at_once),
        TEST(known_peers_make_room_for_each_other),
        TEST(a_flood_from_a_stranger_is_dropped),
        TEST(a_stranger_gets_no_large_datagram),
        TEST(a_server_may_go_with_transfers_under_way),
        TEST(several_addresses_are_listened_at),
        TEST(a_server_without_descriptors_comes_back),
        TEST(a_taken_port_is_named_and_waited_for),
        TEST(an_address_that_will_never_be_had_is_an_error),
        TEST(a_socket_that_is_lost_is_opened_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
