#include "io/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int connect_to(uint16_t port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

static int flag_of(int fd, int level, int name)
{
    int value = 0;
    socklen_t len = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

static void what_is_accepted_sends_without_delay(void **state)
{
    struct listen_socket socket;
    (void)state;
    assert_true(listen_open(&socket, "127.0.0.1", 0, NULL));
    assert_true(socket.port > 0);
    assert_false(socket.is_ipv4_fallback);
    int client = connect_to(socket.port);
    int accepted = accept(socket.fd, NULL, NULL);
    assert_int_not_equal(flag_of(accepted, IPPROTO_TCP, TCP_NODELAY), 0);
    assert_int_not_equal(flag_of(accepted, SOL_SOCKET, SO_KEEPALIVE), 0);
    close(accepted);
    close(client);
    close(socket.fd);
}

static void accepting_never_blocks(void **state)
{
    struct listen_socket socket;
    (void)state;
    assert_true(listen_open(&socket, "127.0.0.1", 0, NULL));
    assert_int_equal(accept(socket.fd, NULL, NULL), -1);
    assert_int_equal(errno, EAGAIN);
    close(socket.fd);
}

static void no_address_means_all(void **state)
{
    static const char *const addresses[] = {"", "::", "0.0.0.0"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct listen_socket socket;
        assert_true(listen_open(&socket, addresses[i], 0, NULL));
        close(connect_to(socket.port));
        close(socket.fd);
    }
}

static void a_taken_port_is_named(void **state)
{
    struct listen_socket first, second = {.fd = -7};
    struct error err;
    char expected[64];
    (void)state;
    assert_true(listen_open(&first, "", 0, NULL));
    assert_false(listen_open(&second, "", first.port, &err));
    snprintf(expected, sizeof(expected), ":%u: address already in use", first.port);
    assert_string_equal(err.text, expected);
    assert_int_equal(err.status, EADDRINUSE);
    assert_int_equal(second.fd, -7);
    close(first.fd);
}

static void what_is_no_address_is_named(void **state)
{
    static const char *const addresses[] = {"localhost", "192.0.2.1", "300.1.1.1"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct listen_socket socket;
        struct error err;
        assert_false(listen_open(&socket, addresses[i], 0, &err));
        assert_non_null(strstr(err.text, addresses[i]));
    }
}

static void a_datagram_tells_where_it_was_sent_to(void **state)
{
    static const char *const addresses[] = {"", "127.0.0.1"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct listen_socket socket;
        assert_true(listen_open_udp(&socket, addresses[i], 0, NULL));
        assert_int_equal(i == 0 ? flag_of(socket.fd, IPPROTO_IPV6, IPV6_RECVPKTINFO)
                                : flag_of(socket.fd, IPPROTO_IP, IP_PKTINFO),
                         1);
        assert_int_equal(recv(socket.fd, NULL, 0, 0), -1);
        assert_int_equal(errno, EAGAIN);
        close(socket.fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_accepted_sends_without_delay),
        cmocka_unit_test(accepting_never_blocks),
        cmocka_unit_test(no_address_means_all),
        cmocka_unit_test(a_datagram_tells_where_it_was_sent_to),
        cmocka_unit_test(a_taken_port_is_named),
        cmocka_unit_test(what_is_no_address_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
