#pragma once

#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"

// Where published names lead: addresses and host names.

// AF_INET or AF_INET6, with as many octets; AF_UNSPEC: it is no address.
int target_family(struct text address, uint8_t octets[16]);
// "A", "AAAA" or "CNAME": the type of a record that leads to that address or host name.
const char *address_type(struct text address);
// Puts what is written as a target of that name into the form that servers take, in *out. NULL: it
// can be one; else why not, behind the target: "is the name itself". Lives in the arena.
const char *target_read(struct arena *arena, struct text name, struct text target,
                        struct text *out);
