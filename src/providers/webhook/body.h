#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "base/value.h"
#include "dns/record.h"

// Bodies of the webhook protocol, octet for octet as Go's encoding/json writes them: a server that
// decodes and encodes again before it verifies must come to the same octets.

// Of requests and replies alike: 4 MiB, depth 16. 256 values of 4,096 octets are over one.
extern const struct value_limits body_limits;

// One JSON string with its quotes: < > & as \u003c \u003e \u0026, U+2028/2029 escaped, short forms
// for \b \f \n \r \t, other controls as \u00xx, invalid UTF-8 as \ufffd, all else raw.
void body_write_string(struct buffer *out, struct text text);
// {"record":{...},"operation":"upsert"}. Inline puts MX and SRV numbers into the values.
void body_write_upsert(struct buffer *out, const struct record_set *set, bool is_inline);
// The record alone: {"type":...}.
void body_write_record(struct buffer *out, const struct record_set *set, bool is_inline);
