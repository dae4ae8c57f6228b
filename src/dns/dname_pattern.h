#pragma once

#include "dns/dname.h"

// Which names a zone's owner delegates: "_acme-challenge.*", "app-*", "@". Each label has at most
// one *, which stands for any octets within that label; as the whole of the first label it stands
// for one label or more.

struct dname_pattern {
    uint8_t octets[DNAME_MAX]; // a name in which * has that meaning
    size_t len;
    // It ends in a dot and is not within the zone, or does not and ends in the zone's own name: it
    // was hardly meant so.
    bool is_outside;
    bool looks_absolute;
};

// A pattern without final dot is completed with the zone's name; "@" is the zone itself, and as a
// last label nothing. Errors as of dname_read.
bool dname_pattern_read(struct text text, struct dname zone, struct dname_pattern *out,
                        struct error *err);
// All labels are compared.
bool dname_pattern_matches(const struct dname_pattern *pattern, struct dname name);
// As Kubizone reads it: behind the last label that is * whatever stands on its left counts as met.
bool dname_pattern_matches_loosely(const struct dname_pattern *pattern, struct dname name);
