#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "dns/tsig.h"
#include "dns/wire.h"

// What the reply of another server is worth, as errors. Private to dns.

// Moves from the header's end behind the questions. False: one is not what we asked; there may be
// none.
bool reply_check_questions(struct wire *wire, const struct wire_header *header, struct dname name,
                           uint16_t type);
// True for GOOD. Else fault AUTH (AGAIN if it is malformed) and a code such as "BADKEY", or that of
// the reply's own RCODE if it is not signed at all.
bool reply_check_tsig(enum tsig_result result, unsigned peer_error, unsigned rcode,
                      struct error *err);
// True for NOERROR. Else its code: REFUSED and NOTAUTH are fault AUTH, others AGAIN.
bool reply_check_rcode(unsigned rcode, struct error *err);
