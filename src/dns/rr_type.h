#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

// RR types by number and by mnemonic (the IANA registry of DNS parameters): all that a zone may
// hold. The few that a DNSRecord may have are record.h's enum record_type.

enum rr_type {
    RR_A = 1,
    RR_NS = 2,
    RR_CNAME = 5,
    RR_SOA = 6,
    RR_PTR = 12,
    RR_MX = 15,
    RR_TXT = 16,
    RR_AAAA = 28,
    RR_SRV = 33,
    RR_DNAME = 39,
    RR_DS = 43,
    RR_DNSKEY = 48,
    RR_CDS = 59,
    RR_CDNSKEY = 60,
    RR_SVCB = 64,
    RR_HTTPS = 65,
    RR_SPF = 99,
    RR_CAA = 257,
    RR_TA = 32768,
};

// A mnemonic in any case, or TYPE<0-65535> (RFC 3597 5), which is folded to the mnemonic's number.
bool rr_type_read(struct text text, uint16_t *type);
// "A", or "TYPE65280" in `out` for one without mnemonic, or with one that not every server reads.
const char *rr_type_write(uint16_t type, char out[10]);
// As every server in use reads it: TYPE<n> for HIP, SIG, TA and DLV as well, of which Knot or NSD
// know no mnemonic.
const char *rr_type_write_portable(uint16_t type, char out[10]);
// Of questions and messages alone (RFC 6895 3.1): no zone may hold one, and named drops a transfer
// that does.
bool rr_type_is_meta(uint16_t type);
// Made by whoever serves the zone, about questions, or of one message alone: nobody's to write.
bool rr_type_is_reserved(uint16_t type);
