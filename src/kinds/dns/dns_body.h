#pragma once

#include "kinds/dns/dns_kind.h"

// Inside this folder: what the kind's table points to, and what the rules share.

void dns_pack_spec(const struct value *object, struct pack_writer *out);
void dns_pack_managed(const struct value *object, struct pack_writer *out);
void dns_list_names(const struct value *object, struct kind_names *out);
void dns_validate(const struct value *object, struct findings *findings);

// Rules that entries and upstreamResolvers share.
void dns_check_policy(struct text policy, const char *path, struct dns_faults *faults);
void dns_check_protocol(struct text protocol, const char *path, struct dns_faults *faults);
void dns_check_transport(const struct dns_transport *transport, const char *path,
                         struct dns_faults *faults);
// Text that can't stand in a Corefile. False: it was reported.
bool dns_check_text(struct text text, const char *path, struct dns_faults *faults);
// A name of the DNS, or a network, which CoreDNS takes as an argument.
void dns_check_domain(struct text text, const char *path, struct dns_faults *faults);
// An address, whatever is wrong with the port behind it.
bool dns_names_ip(struct text text);
extern const char dns_tls_needs_ip[];
// The first fault from `from` on that is no warning, or NULL.
const struct dns_fault *dns_first_error(const struct dns_faults *faults, size_t from);
bool dns_is_tls(const struct dns_transport *transport);
// Why queries must not go to that address, or NULL.
const char *dns_address_fault(const struct dns_address *address, const struct dns_context *context,
                              enum reason *reason);
// Reads, checks and lists the zones of an entry.
void dns_check_zones(const struct dns_server *server, const struct dns_context *context,
                     struct dns_faults *faults, struct dns_server_check *out);
