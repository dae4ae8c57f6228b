#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/address.h"
#include "io/dns_server_private.h"

enum {
    LENGTH_OCTETS = 2,
    PIECE_OCTETS = 4096,
    FILL_OCTETS = 64 * 1024,
    FILLS_A_TURN = 4,
    KERNEL_OCTETS = 128 * 1024, // the kernel takes twice that
    ACCEPTS_A_TURN = 16,
    ACCEPT_PAUSE_MS = 100,
    CONNECTIONS_OF_STRANGER = 8,
    CONNECTIONS_OF_KNOWN = 192,
    ANSWERS_OF_ONE = 8,
    LOOK_FIRST_MS = 1,
    LOOK_LAST_MS = 128,
};

static bool is_of(const struct dns_connection *connection, const uint8_t address[16])
{
    return memcmp(connection->address, address, sizeof connection->address) == 0;
}

static void note_progress(struct dns_connection *connection)
{
    connection->progress_ms = loop_mono_ms(connection->server->loop);
}

// ---- what is acknowledged -----------------------------------------------------------------------

static uint64_t count_acknowledged(const struct dns_connection *connection)
{
    int held = 0;
    if (ioctl(connection->fd, SIOCOUTQ, &held) != 0 || held < 0)
        return 0;
    return connection->written - (uint64_t)held;
}

static void settle(struct dns_connection *connection)
{
    size_t count = 0;
    if (connection->unacked_count == 0)
        return;
    uint64_t until = count_acknowledged(connection);
    if (until > connection->acknowledged) {
        connection->acknowledged = until;
        note_progress(connection);
    }
    while (count < connection->unacked_count && connection->unacked[count].end <= until) {
        struct dns_answer *answer = &connection->unacked[count++].answer;
        answer->end(answer->context, true);
    }
    if (count == 0)
        return;
    connection->look_ms = LOOK_FIRST_MS;
    connection->unacked_count -= count;
    memmove(connection->unacked, connection->unacked + count,
            connection->unacked_count * sizeof *connection->unacked);
}

// ---- the end of a connection --------------------------------------------------------------------

static void end_answers(struct dns_connection *connection)
{
    settle(connection);
    for (size_t i = 0; i < connection->unacked_count; i++) {
        struct dns_answer *answer = &connection->unacked[i].answer;
        answer->end(answer->context, false);
    }
    if (connection->is_answering)
        connection->answer.end(connection->answer.context, false);
}

static void wake_waiting(struct dns_server *server)
{
    loop_timer_set(server->loop, &server->resume, 0);
}

static void close_connection(struct dns_connection *connection)
{
    struct dns_server *server = connection->server;
    list_remove(&server->connections, connection);
    server->connection_count--;
    end_answers(connection);
    wake_waiting(server);
    loop_timer_cancel(server->loop, &connection->timer);
    loop_unwatch_fd(server->loop, connection->watch);
    close(connection->fd);
    buffer_done(&connection->input);
    buffer_done(&connection->output);
    free(connection);
}

void dns_stream_free_all(struct dns_server *server)
{
    while (list_first(&server->connections))
        close_connection(list_first(&server->connections));
}

// ---- requests -----------------------------------------------------------------------------------

static size_t pending(const struct dns_connection *connection)
{
    return connection->output.len - connection->sent;
}

// The length in front of the next message; false while it is not there.
static bool read_length(const struct dns_connection *connection, size_t *len)
{
    const unsigned char *at = (const unsigned char *)connection->input.at;
    if (connection->input.len < LENGTH_OCTETS)
        return false;
    *len = (size_t)at[0] << 8 | at[1];
    return true;
}

static bool has_request(const struct dns_connection *connection)
{
    size_t len;
    return read_length(connection, &len) && connection->input.len >= LENGTH_OCTETS + len;
}

// Others of that address are kept waiting, not refused: a server that hears of a hundred zones at
// once asks for all of them.
static bool has_turn(const struct dns_connection *connection)
{
    unsigned busy = 0;
    list_each (at, &connection->server->connections)
        busy += at->is_answering && is_of(at, connection->address);
    return busy < ANSWERS_OF_ONE;
}

static bool handle(struct dns_connection *connection)
{
    struct dns_server *server = connection->server;
    size_t len;
    must(read_length(connection, &len));
    if (len < DNS_SERVER_HEADER_OCTETS ||
        !dns_server_admits(server, connection->address, connection->is_known))
        return false;
    struct dns_server_request request = {.octets = {connection->input.at + LENGTH_OCTETS, len},
                                         .is_tcp = true,
                                         .port = connection->port};
    memcpy(request.address, connection->address, sizeof request.address);
    connection->is_answering =
        server->options.handle(server->options.context, &request, &connection->answer);
    buffer_drop_front(&connection->input, LENGTH_OCTETS + len);
    note_progress(connection);
    return true;
}

// ---- answers ------------------------------------------------------------------------------------

static void pull(struct dns_connection *connection)
{
    struct buffer *out = &connection->output;
    struct dns_answer *answer = &connection->answer;
    size_t at = out->len;
    buffer_add(out, "\0", LENGTH_OCTETS);
    if (answer->next(answer->context, out)) {
        size_t len = out->len - at - LENGTH_OCTETS;
        must(len <= DNS_SERVER_MESSAGE_MAX);
        out->at[at] = (char)(len >> 8);
        out->at[at + 1] = (char)(len & 0xff);
        return;
    }
    out->len = at;
    connection->is_answering = false;
    connection->look_ms = LOOK_FIRST_MS;
    connection->unacked[connection->unacked_count++] =
        (struct dns_unacked){*answer, connection->written + pending(connection)};
    wake_waiting(connection->server);
}

// As much as is to be sent in one go. False: the peer is not worth going on with.
static bool produce(struct dns_connection *connection)
{
    while (pending(connection) < FILL_OCTETS) {
        if (connection->is_answering) {
            pull(connection);
            continue;
        }
        if (!has_request(connection) || connection->unacked_count == DNS_SERVER_UNACKED_MAX)
            return true;
        connection->is_waiting = !has_turn(connection);
        if (connection->is_waiting)
            return true;
        if (!handle(connection))
            return false;
    }
    return true;
}

static bool flush(struct dns_connection *connection)
{
    struct buffer *out = &connection->output;
    while (pending(connection) > 0) {
        ssize_t len =
            send(connection->fd, out->at + connection->sent, pending(connection), MSG_NOSIGNAL);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            return errno == EAGAIN;
        connection->sent += (size_t)len;
        connection->written += (size_t)len;
        note_progress(connection);
    }
    buffer_clear(out);
    connection->sent = 0;
    return true;
}

// ---- a connection's turn ------------------------------------------------------------------------

static bool is_idle(const struct dns_connection *connection)
{
    return !connection->is_answering && pending(connection) == 0 && !has_request(connection);
}

static bool has_work(const struct dns_connection *connection)
{
    return connection->is_answering || (has_request(connection) && !connection->is_waiting &&
                                        connection->unacked_count < DNS_SERVER_UNACKED_MAX);
}

static unsigned interest_of(const struct dns_connection *connection)
{
    if (has_work(connection) || pending(connection) > 0)
        return LOOP_WRITE;
    return connection->has_ended || has_request(connection) ? 0 : LOOP_READ;
}

static void on_ready(void *context, int fd, unsigned interest);

static void watch(struct dns_connection *connection)
{
    struct loop *loop = connection->server->loop;
    unsigned interest = interest_of(connection);
    if (connection->interest == interest)
        return;
    loop_unwatch_fd(loop, connection->watch);
    connection->watch =
        interest ? loop_watch_fd(loop, connection->fd, interest, on_ready, connection) : NULL;
    connection->interest = interest;
}

static void set_timer(struct dns_connection *connection)
{
    struct dns_server *server = connection->server;
    int64_t left_ms =
        connection->progress_ms + server->options.timeout_ms - loop_mono_ms(server->loop);
    if (connection->unacked_count > 0 && connection->look_ms < left_ms)
        left_ms = connection->look_ms;
    loop_timer_set(server->loop, &connection->timer, left_ms > 0 ? left_ms : 0);
}

static void let_go_of_memory(struct dns_connection *connection)
{
    buffer_done(&connection->output);
    if (connection->input.len == 0)
        buffer_done(&connection->input);
}

// The connection may be gone afterwards.
static void go_on(struct dns_connection *connection)
{
    for (unsigned i = 0; i < FILLS_A_TURN; i++) {
        if (!produce(connection) || !flush(connection)) {
            close_connection(connection);
            return;
        }
        settle(connection);
        if (pending(connection) > 0 || !has_work(connection))
            break;
    }
    if (is_idle(connection))
        let_go_of_memory(connection);
    if (is_idle(connection) && connection->has_ended && connection->unacked_count == 0) {
        close_connection(connection);
        return;
    }
    watch(connection);
    set_timer(connection);
}

static bool take_in(struct dns_connection *connection)
{
    char piece[PIECE_OCTETS];
    ssize_t len = recv(connection->fd, piece, sizeof piece, 0);
    if (len < 0)
        return errno == EINTR || errno == EAGAIN;
    connection->has_ended = len == 0;
    buffer_add(&connection->input, piece, (size_t)len);
    return true;
}

static void on_ready(void *context, int fd, unsigned interest)
{
    struct dns_connection *connection = context;
    (void)fd;
    settle(connection);
    if ((interest & LOOP_READ) && !take_in(connection))
        close_connection(connection);
    else
        go_on(connection);
}

static void on_time(void *context)
{
    struct dns_connection *connection = context;
    struct dns_server *server = connection->server;
    settle(connection);
    if (connection->is_waiting)
        note_progress(connection);
    if (loop_mono_ms(server->loop) - connection->progress_ms >= server->options.timeout_ms) {
        close_connection(connection);
        return;
    }
    if (connection->look_ms < LOOK_LAST_MS)
        connection->look_ms *= 2;
    go_on(connection);
}

void dns_stream_resume(struct dns_server *server)
{
    list_each (at, &server->connections) {
        if (at->is_waiting)
            go_on(at);
    }
}

// ---- new connections ----------------------------------------------------------------------------

// Whose place a new one may take: that of one that waits for its peer, and a known peer any
// stranger's.
static bool is_weaker(const struct dns_connection *connection, bool is_for_known)
{
    if (connection->is_known)
        return is_for_known && is_idle(connection);
    return is_for_known || is_idle(connection);
}

static bool goes_before(const struct dns_connection *a, const struct dns_connection *b)
{
    if (a->is_known != b->is_known)
        return !a->is_known;
    // Newer ones stand further ahead, so that the last of equals is the oldest.
    return a->progress_ms <= b->progress_ms;
}

// Of all, or of one address.
static bool make_room(struct dns_server *server, bool is_for_known, const uint8_t *address)
{
    struct dns_connection *found = NULL;
    list_each (at, &server->connections) {
        if ((!address || is_of(at, address)) && is_weaker(at, is_for_known) &&
            (!found || goes_before(at, found)))
            found = at;
    }
    if (!found)
        return false;
    close_connection(found);
    return true;
}

static bool has_room(struct dns_server *server, const uint8_t address[16], bool is_known)
{
    unsigned own = 0;
    unsigned strangers = 0;
    list_each (at, &server->connections) {
        own += is_of(at, address);
        strangers += !at->is_known;
    }
    if (own >= (is_known ? CONNECTIONS_OF_KNOWN : CONNECTIONS_OF_STRANGER))
        return make_room(server, is_known, address);
    if ((!is_known && strangers >= DNS_SERVER_STRANGERS_MAX) ||
        server->connection_count == DNS_SERVER_CONNECTIONS_MAX)
        return make_room(server, is_known, NULL);
    return true;
}

static void adopt(struct dns_server *server, int fd, const struct sockaddr *peer)
{
    uint8_t address[16];
    uint16_t port;
    address_of(peer, address, &port);
    bool is_known = dns_server_is_known(server, address);
    if (!dns_server_admits(server, address, is_known) || !has_room(server, address, is_known)) {
        close(fd);
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){KERNEL_OCTETS}, sizeof(int));
    struct dns_connection *connection = mem_new_of(struct dns_connection);
    *connection =
        (struct dns_connection){.server = server, .fd = fd, .port = port, .is_known = is_known};
    memcpy(connection->address, address, sizeof address);
    connection->timer = (struct loop_timer){.call = on_time, .context = connection};
    list_prepend(&server->connections, connection);
    server->connection_count++;
    note_progress(connection);
    watch(connection);
    set_timer(connection);
}

// Out of descriptors or memory: the loop would spin on the same error.
static void pause_accepting(struct dns_server *server)
{
    make_room(server, true, NULL);
    dns_listeners_pause(server);
    loop_timer_set(server->loop, &server->pause, ACCEPT_PAUSE_MS);
}

bool dns_stream_accept(struct dns_server *server, int fd)
{
    for (unsigned i = 0; i < ACCEPTS_A_TURN; i++) {
        struct sockaddr_in6 peer; // the larger of both
        socklen_t len = sizeof peer;
        int accepted = accept4(fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted >= 0)
            adopt(server, accepted, (const struct sockaddr *)&peer);
        else if (errno == EAGAIN)
            return true;
        else if (dns_listener_is_lost(errno))
            return false;
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_accepting(server);
            return true;
        }
    }
    return true;
}
