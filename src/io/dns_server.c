#include "io/dns_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/address.h"
#include "io/dns_server_private.h"
#include "io/random.h"

enum {
    DATAGRAM_MAX = 4096,
    DATAGRAMS_A_TURN = 64,
    STRANGERS_SURPLUS = 64,
    DEFAULT_TIMEOUT_MS = 30 * 1000,
    DEFAULT_RETRY_MS = 1000,
};

union peer {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

// One request with all that its answer needs to go back.
struct datagram {
    union peer peer;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
    struct iovec octets;
    struct msghdr head;
};

// ---- who may ask --------------------------------------------------------------------------------

bool dns_server_is_known(const struct dns_server *server, const uint8_t address[16])
{
    const struct dns_server_options *options = &server->options;
    return options->is_known && options->is_known(options->context, address);
}

bool dns_server_admits(struct dns_server *server, const uint8_t address[16], bool is_known)
{
    int64_t now_ms = loop_mono_ms(server->loop);
    if (is_known)
        return dns_rate_take(server->known, address, now_ms);
    return dns_rate_take(server->strangers, address, now_ms) &&
           dns_bucket_take(&server->together, &server->options.together, now_ms);
}

// ---- UDP ----------------------------------------------------------------------------------------

// Back from the address that was asked, by whatever way leads there.
static void forget_way(struct msghdr *head)
{
    for (struct cmsghdr *at = CMSG_FIRSTHDR(head); at; at = CMSG_NXTHDR(head, at)) {
        void *data = CMSG_DATA(at);
        if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo *info = data;
            info->ipi_ifindex = 0;
        } else if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO) {
            struct in6_pktinfo *info = data;
            if (!IN6_IS_ADDR_LINKLOCAL(&info->ipi6_addr))
                info->ipi6_ifindex = 0;
        }
    }
}

static bool send_back(struct datagram *datagram, int fd, const struct buffer *out)
{
    datagram->octets = (struct iovec){out->at, out->len};
    forget_way(&datagram->head);
    return sendmsg(fd, &datagram->head, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)out->len;
}

static void answer_datagram(struct dns_server *server, int fd, struct datagram *datagram,
                            size_t len)
{
    struct dns_server_request request = {.octets = {(const char *)server->scratch, len}};
    struct dns_answer answer;
    address_of(&datagram->peer.any, request.address, &request.port);
    bool is_known = dns_server_is_known(server, request.address);
    if (!dns_server_admits(server, request.address, is_known) ||
        !server->options.handle(server->options.context, &request, &answer))
        return;
    struct buffer *out = &server->datagram;
    buffer_clear(out);
    bool is_sent = answer.next(answer.context, out) &&
                   (is_known || out->len <= len + STRANGERS_SURPLUS) &&
                   send_back(datagram, fd, out);
    answer.end(answer.context, is_sent);
}

// The length, 0 for what is none, or -1 with errno.
static ssize_t receive(struct dns_server *server, int fd, struct datagram *datagram)
{
    datagram->octets = (struct iovec){server->scratch, DATAGRAM_MAX};
    datagram->head = (struct msghdr){.msg_name = &datagram->peer,
                                     .msg_namelen = sizeof datagram->peer,
                                     .msg_iov = &datagram->octets,
                                     .msg_iovlen = 1,
                                     .msg_control = datagram->control,
                                     .msg_controllen = sizeof datagram->control};
    ssize_t len = recvmsg(fd, &datagram->head, MSG_DONTWAIT);
    bool is_whole = !(datagram->head.msg_flags & MSG_TRUNC) && len >= DNS_SERVER_HEADER_OCTETS;
    return len < 0 || is_whole ? len : 0;
}

void dns_server_on_datagrams(void *context, int fd, unsigned interest)
{
    struct dns_listener *listener = context;
    (void)interest;
    for (unsigned i = 0; i < DATAGRAMS_A_TURN; i++) {
        struct datagram datagram;
        ssize_t len = receive(listener->server, fd, &datagram);
        if (len > 0)
            answer_datagram(listener->server, fd, &datagram, (size_t)len);
        else if (len < 0 && dns_listener_is_lost(errno)) {
            dns_listener_lose(listener, errno);
            return;
        } else if (len < 0 && errno != EINTR)
            return;
    }
}

// ---- the server ---------------------------------------------------------------------------------

static void on_pause_over(void *context)
{
    dns_listeners_accept(context);
}

static void on_resume(void *context)
{
    dns_stream_resume(context);
}

static void fill_limit(struct dns_rate_limit *limit, unsigned per_s, unsigned burst)
{
    if (limit->per_s == 0)
        *limit = (struct dns_rate_limit){per_s, burst};
}

static void fill_options(struct dns_server_options *out, const struct dns_server_options *in)
{
    *out = *in;
    out->at = NULL;
    fill_limit(&out->each, 20, 50);
    fill_limit(&out->together, 1000, 1000);
    fill_limit(&out->each_known, 5000, 10000);
    if (out->timeout_ms == 0)
        out->timeout_ms = DEFAULT_TIMEOUT_MS;
    if (out->retry_ms == 0)
        out->retry_ms = DEFAULT_RETRY_MS;
}

static struct dns_rate *rate_new(const struct dns_rate_limit *limit, uint64_t seed)
{
    struct dns_rate *rate = mem_new_of(struct dns_rate);
    rate->limit = *limit;
    rate->seed = seed;
    return rate;
}

struct dns_server *dns_server_new(struct loop *loop, struct random *random,
                                  const struct dns_server_options *options, struct error *err)
{
    must(options->handle && options->count > 0 && options->count <= DNS_SERVER_ADDRESSES_MAX);
    struct dns_server *server = mem_new_of(struct dns_server);
    uint64_t seed;
    random_fill(random, &seed, sizeof seed);
    fill_options(&server->options, options);
    server->loop = loop;
    server->strangers = rate_new(&server->options.each, seed);
    server->known = rate_new(&server->options.each_known, seed);
    server->scratch = mem_new(1, DATAGRAM_MAX);
    server->pause = (struct loop_timer){.call = on_pause_over, .context = server};
    server->resume = (struct loop_timer){.call = on_resume, .context = server};
    if (dns_listeners_open(server, options->at, options->count, err))
        return server;
    dns_server_free(server);
    return NULL;
}

void dns_server_free(struct dns_server *server)
{
    if (!server)
        return;
    dns_listeners_close(server);
    dns_stream_free_all(server);
    loop_timer_cancel(server->loop, &server->pause);
    loop_timer_cancel(server->loop, &server->resume);
    buffer_done(&server->datagram);
    free(server->strangers);
    free(server->known);
    free(server->scratch);
    free(server);
}
