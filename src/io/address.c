#include "io/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/must.h"

static const uint8_t ipv4_prefix[12] = {[10] = 0xff, [11] = 0xff};

bool address_is_ipv4(const uint8_t address[ADDRESS_OCTETS])
{
    return memcmp(address, ipv4_prefix, sizeof ipv4_prefix) == 0;
}

static void put_ipv4(uint8_t out[ADDRESS_OCTETS], const void *four)
{
    memcpy(out, ipv4_prefix, sizeof ipv4_prefix);
    memcpy(out + sizeof ipv4_prefix, four, 4);
}

bool address_read(const char *text, uint8_t out[ADDRESS_OCTETS])
{
    uint8_t octets[ADDRESS_OCTETS];
    if (inet_pton(AF_INET, text, octets) == 1) {
        put_ipv4(out, octets);
        return true;
    }
    if (inet_pton(AF_INET6, text, octets) != 1)
        return false;
    memcpy(out, octets, sizeof octets);
    return true;
}

void address_write(struct buffer *out, const uint8_t address[ADDRESS_OCTETS])
{
    char text[INET6_ADDRSTRLEN];
    bool is_ipv4 = address_is_ipv4(address);
    must(inet_ntop(is_ipv4 ? AF_INET : AF_INET6, is_ipv4 ? address + 12 : address, text,
                   sizeof text));
    buffer_add_text(out, text);
}

bool address_is_loopback(const char *text)
{
    uint8_t address[ADDRESS_OCTETS];
    static const uint8_t loopback[ADDRESS_OCTETS] = {[15] = 1};
    if (!strcmp(text, "localhost"))
        return true;
    return address_read(text, address) && (!memcmp(address, loopback, sizeof address) ||
                                           (address_is_ipv4(address) && address[12] == 127));
}

void address_of(const struct sockaddr *peer, uint8_t out[ADDRESS_OCTETS], uint16_t *port)
{
    if (peer->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)peer;
        put_ipv4(out, &four->sin_addr);
        *port = ntohs(four->sin_port);
        return;
    }
    must(peer->sa_family == AF_INET6);
    const struct sockaddr_in6 *six = (const void *)peer;
    memcpy(out, &six->sin6_addr, ADDRESS_OCTETS);
    *port = ntohs(six->sin6_port);
}
