#pragma once

#include "base/memory.h"
#include "dns/record.h"

// Record sets as lines of a zone, the same for everybody who compares or hashes them.

// Canonical rdata text of one value: absolute names, IPv6 addresses by RFC 5952, strings quoted;
// "10 mail.example.com.".
struct text record_rdata_make(struct arena *arena, const struct record_set *set, size_t value);
