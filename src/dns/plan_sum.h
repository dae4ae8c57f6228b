#pragma once

#include <stddef.h>

#include "dns/record.h"

// The checksum by which people approve exactly these changes: SHA-256 over a line that names the
// class, and a line for each RR that goes ("- www.example.com. 300 IN A 192.0.2.7") or comes
// ("+ ..."), in the order of their octets. Of a set whose values are not known there is one line
// without TTL and value ("- www.example.com. IN A"). Neither the order of changes nor that of
// values counts.

enum { PLAN_SUM_MAX = 65 }; // hex, with a NUL

struct plan_sum_change {
    const struct record_set *before; // NULL: nothing stood there
    const struct record_set *after;  // NULL: it goes
    struct text set;                 // set identifier; empty: none
};
void plan_sum_write(const char *class_name, const struct plan_sum_change *changes, size_t count,
                    char out[PLAN_SUM_MAX]);
