#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

// An IP address as 16 octets: an IPv4 one as ::ffff:a.b.c.d, so that one address has one form.
// Nothing is looked up.

enum { ADDRESS_OCTETS = 16 };

struct sockaddr;
// "192.0.2.1", "2001:db8::1"; false: it is none.
bool address_read(const char *text, uint8_t out[ADDRESS_OCTETS]);
void address_write(struct buffer *out, const uint8_t address[ADDRESS_OCTETS]);
bool address_is_ipv4(const uint8_t address[ADDRESS_OCTETS]);
// Does the text, "localhost" or an address, name this machine alone (127.0.0.0/8, ::1)?
bool address_is_loopback(const char *text);
// Of a peer, IPv4 or IPv6.
void address_of(const struct sockaddr *peer, uint8_t out[ADDRESS_OCTETS], uint16_t *port);
