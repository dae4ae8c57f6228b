// Signed upserts on kept connections, one request deep each, for as long as told: the rate that a
// provider answers. Nonces and signatures are made beforehand, so that the generator costs little
// beside what it measures.
//
//     load PORT KEYFILE CONNECTIONS SECONDS
//
// Prints "answers=N refused=N seconds=S rate=R p50_us=N p99_us=N".

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/must.h"
#include "base/when.h"
#include "providers/webhook/sign.h"

enum {
    REQUESTS_MAX = 990000, // a provider remembers a million nonces
    REQUESTS_PER_S = 45000,
    NAMES = 10000,
    ROOM = 4096,
    SAMPLES = 1 << 20,
};

struct signed_request {
    uint8_t nonce[16];
    uint8_t mac[32];
};

struct connection {
    int fd;
    size_t got; // octets of the answer so far
    int64_t sent_us;
    char answer[ROOM];
};

struct load {
    struct signed_request *requests;
    size_t request_count;
    size_t next;
    char stamp[WHEN_TEXT_MAX];
    uint16_t port;
    int poll;
    int64_t end_us;
    size_t answers;
    size_t refused;
    size_t open;
    uint32_t *took_us;
};

static int64_t now_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(1);
}

// ---- requests -----------------------------------------------------------------------------------

static size_t write_body(char *out, size_t size, size_t at)
{
    return (size_t)snprintf(
        out, size,
        "{\"record\":{\"type\":\"A\",\"domain\":\"bench.example\",\"subdomain\":"
        "\"h%zu\",\"values\":[\"192.0.%zu.%zu\"],\"ttl\":300},\"operation\":"
        "\"upsert\"}",
        at % NAMES, at / 250 % 250, at % 250);
}

static void write_nonce(const struct signed_request *request, char out[37])
{
    char hex[33];
    hex_encode(request->nonce, sizeof request->nonce, hex);
    snprintf(out, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static void sign_one(const struct load *load, const struct hmac_key *key, size_t at,
                     uint64_t process)
{
    struct signed_request *request = &load->requests[at];
    char body[256], nonce[37], signature[SIGNATURE_MAX];
    uint64_t number = at;
    memcpy(request->nonce, &process, 8);
    memcpy(request->nonce + 8, &number, 8);
    write_nonce(request, nonce);
    const struct sign_input input = {.method = TEXT("POST"),
                                     .path = TEXT("/records"),
                                     .timestamp = text_of(load->stamp),
                                     .nonce = text_of(nonce),
                                     .body = {body, write_body(body, sizeof body, at)}};
    sign_request(key, DIGEST_SHA256, &input, signature);
    must(hex_decode(text_of(signature), request->mac, sizeof request->mac));
}

static void sign_all(struct load *load, const char *path, size_t count)
{
    char octets[4096];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = file < 0 ? -1 : read(file, octets, sizeof octets);
    if (len < 0)
        fail(path);
    close(file);
    CLEANUP(secret) struct secret *secret = secret_new(octets, (size_t)len);
    CLEANUP(hmac_key) struct hmac_key *key = hmac_key_new(DIGEST_SHA256, secret);
    uint64_t process = (uint64_t)now_us(CLOCK_REALTIME);
    when_write((int64_t)process / 1000000, load->stamp);
    load->requests = mem_new_array(struct signed_request, count);
    load->request_count = count;
    for (size_t i = 0; i < count; i++)
        sign_one(load, key, i, process);
}

// ---- connections --------------------------------------------------------------------------------

static void send_next(struct load *load, struct connection *connection)
{
    char body[256], nonce[37], mac[65], request[1024];
    size_t at = load->next++;
    size_t body_len = write_body(body, sizeof body, at);
    write_nonce(&load->requests[at], nonce);
    hex_encode(load->requests[at].mac, sizeof load->requests[at].mac, mac);
    int len = snprintf(request, sizeof request,
                       "POST /records HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                       "User-Agent: bench\r\nContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\nX-DNS-Timestamp: %s\r\nX-DNS-Nonce: %s\r\n"
                       "X-DNS-Signature: %s\r\n\r\n%s",
                       load->port, body_len, load->stamp, nonce, mac, body);
    connection->got = 0;
    connection->sent_us = now_us(CLOCK_MONOTONIC);
    if (send(connection->fd, request, (size_t)len, MSG_NOSIGNAL) != len)
        fail("send");
}

// Octets of the whole answer, or 0 while its head is not complete.
static size_t answer_len(const struct connection *connection)
{
    const char *end = memmem(connection->answer, connection->got, "\r\n\r\n", 4);
    const char *length = memmem(connection->answer, connection->got, "Content-Length: ", 16);
    if (!end || !length)
        return 0;
    return (size_t)(end + 4 - connection->answer) + strtoul(length + 16, NULL, 10);
}

static void leave(struct load *load, struct connection *connection)
{
    close(connection->fd);
    connection->fd = -1;
    load->open--;
}

static void count_answer(struct load *load, const struct connection *connection, int64_t now)
{
    load->took_us[load->answers++ % SAMPLES] = (uint32_t)(now - connection->sent_us);
    if (memcmp(connection->answer, "HTTP/1.1 200", 12) != 0 && !load->refused++)
        fprintf(stderr, "load: %.*s\n", (int)connection->got, connection->answer);
}

static void handle_reply(struct load *load, struct connection *connection)
{
    ssize_t len = recv(connection->fd, connection->answer + connection->got,
                       sizeof connection->answer - 1 - connection->got, MSG_DONTWAIT);
    if (len <= 0)
        fail("the provider closed a connection");
    connection->got += (size_t)len;
    connection->answer[connection->got] = '\0';
    size_t need = answer_len(connection);
    if (!need || connection->got < need)
        return;
    int64_t now = now_us(CLOCK_MONOTONIC);
    count_answer(load, connection, now);
    if (now < load->end_us && load->next < load->request_count)
        send_next(load, connection);
    else
        leave(load, connection);
}

static void join(struct load *load, struct connection *connection)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(load->port)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0 ||
        connect(connection->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        epoll_ctl(load->poll, EPOLL_CTL_ADD, connection->fd, &event) < 0)
        fail("connect");
    load->open++;
}

static void run(struct load *load)
{
    struct epoll_event events[64];
    while (load->open) {
        int count = epoll_wait(load->poll, events, COUNT_OF(events), 10000);
        if (count <= 0)
            fail("no answer for 10 s");
        for (int i = 0; i < count; i++)
            handle_reply(load, events[i].data.ptr);
    }
}

// ---- report -------------------------------------------------------------------------------------

static int compare(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static void report(const struct load *load, int64_t took_us)
{
    size_t count = load->answers < SAMPLES ? load->answers : SAMPLES;
    qsort(load->took_us, count, sizeof *load->took_us, compare);
    printf("answers=%zu refused=%zu seconds=%.2f rate=%.0f p50_us=%u p99_us=%u\n", load->answers,
           load->refused, (double)took_us / 1e6, (double)load->answers * 1e6 / (double)took_us,
           load->took_us[count / 2], load->took_us[count * 99 / 100]);
}

int main(int count, char **words)
{
    if (count != 5) {
        fprintf(stderr, "usage: load PORT KEYFILE CONNECTIONS SECONDS\n");
        return 2;
    }
    struct load load = {.port = (uint16_t)strtol(words[1], NULL, 10)};
    size_t connections = (size_t)strtol(words[3], NULL, 10),
           seconds = (size_t)strtol(words[4], NULL, 10);
    size_t wanted = REQUESTS_PER_S * seconds + connections;
    load.took_us = mem_new_array(uint32_t, SAMPLES);
    load.poll = epoll_create1(EPOLL_CLOEXEC);
    sign_all(&load, words[2], wanted < REQUESTS_MAX ? wanted : REQUESTS_MAX);
    struct connection *all = mem_new_array(struct connection, connections);
    for (size_t i = 0; i < connections; i++)
        join(&load, &all[i]);
    int64_t begin_us = now_us(CLOCK_MONOTONIC);
    load.end_us = begin_us + (int64_t)seconds * 1000000;
    for (size_t i = 0; i < connections; i++)
        send_next(&load, &all[i]);
    run(&load);
    report(&load, now_us(CLOCK_MONOTONIC) - begin_us);
    free(all);
    free(load.requests);
    free(load.took_us);
    close(load.poll);
    return load.refused ? 1 : 0;
}
