#pragma once

#include "base/memory.h"
#include "store/object.h"

// Which Records stand for an Ingress: one for each host of its rules and each address of its load
// balancer; for a balancer that has only host names, a CNAME for each host.

enum { INGRESS_SOURCE_RECORDS_MAX = 1000 }; // of one Ingress

struct ingress_source_record {
    const char *fqdn; // of the host, canonical
    const char *type; // "A", "AAAA", "CNAME"
    const char *rdata;
    const char *name; // of the Record: "web-www-example-org-192-0-2-1"
};
struct ingress_source {
    struct ingress_source_record *records;
    size_t count;
    size_t capacity;
    const char **faults; // of hosts and addresses that give none, for users
    size_t fault_count;
    size_t left_out;    // beyond the limit, at most
    bool has_hostnames; // they are CNAMEs
};
// All in the arena.
void ingress_source_make(struct arena *arena, const struct object *ingress,
                         struct ingress_source *out);
// For where something else has its name: the same with a digest behind it.
const char *ingress_source_other_name(struct arena *arena,
                                      const struct ingress_source_record *record);
// "example.org.", or NULL: no host has such a name.
const char *ingress_source_host(struct arena *arena, struct text host, struct error *err);
