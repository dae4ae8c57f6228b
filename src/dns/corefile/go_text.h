#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"

// What the library of Go makes of texts, so that a Corefile is judged as CoreDNS judges it, in the
// same words. Pure; what is made lies in the arena.

// ---- numbers and durations (go_number.c) --------------------------------------------------------

// What is wrong with a number, as Go says it; NULL: nothing, and *out is set.
const char *go_int_error(struct arena *arena, struct text text, int64_t *out); // strconv.Atoi
// strconv.ParseUint, base 10.
const char *go_uint_error(struct arena *arena, struct text text, unsigned bits, uint64_t *out);
// strconv.ParseFloat of 32 bits, without hexadecimal digits.
const char *go_float_error(struct arena *arena, struct text text, double *out);
bool go_read_int(struct text text, int64_t *out); // strconv.Atoi, if nobody asks for the error
// time.ParseDuration, and time.Duration.String: "1m30s".
const char *go_duration_error(struct arena *arena, struct text text, int64_t *out_ns);
const char *go_duration_text(struct arena *arena, int64_t ns);

// ---- texts --------------------------------------------------------------------------------------

const char *go_quote(struct arena *arena, struct text text); // %q
struct text go_lower(struct arena *arena, struct text text); // strings.ToLower, of ASCII

// ---- addresses and names ------------------------------------------------------------------------

bool go_is_ip(struct text text);   // net.ParseIP
bool go_is_cidr(struct text text); // net.ParseCIDR
struct go_network {
    unsigned bits; // of an address: 32 or 128
    unsigned prefix;
    const char *text; // without the bits of a host
};
// net.ParseCIDR, with the network. False: it is none.
bool go_network_read(struct arena *arena, struct text text, struct go_network *out);
// net.SplitHostPort; NULL, or why not, with host and port untouched. Without an arena the words do
// not name the address.
const char *go_split_host_port(struct arena *arena, struct text text, struct text *host,
                               struct text *port);
// Cuts what stands behind the last '%': an interface, or a server's name for TLS.
struct text go_without_zone(struct text host);
bool go_is_domain_name(struct text text); // dns.IsDomainName of the library of CoreDNS

// ---- regular expressions (go_regexp.c) ----------------------------------------------------------

// regexp.Compile, of what is told without compiling.
enum go_regexp {
    GO_REGEXP_GOOD,    // *groups: how many subexpressions it has
    GO_REGEXP_BAD,     // *fault: the words of Go
    GO_REGEXP_UNKNOWN, // it has what is not judged here
};
enum go_regexp go_regexp_read(struct arena *arena, struct text text, unsigned *groups,
                              const char **fault);
