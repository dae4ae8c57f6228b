#pragma once

#include "dns/corefile/coredns.h"

// The names of types, classes and response codes that plugins of CoreDNS know: those of the DNS
// library that it is built with, and no numbers such as TYPE64. All in upper case, as it is for a
// plugin to say whether it takes others.

bool coredns_is_type(struct text text, struct coredns_version version);
bool coredns_is_class(struct text text);
bool coredns_is_rcode(struct text text, struct coredns_version version);

// "noerror" as "NOERROR", for plugins that take names in any case. In the arena.
struct text coredns_word_upper(struct arena *arena, struct text text);
