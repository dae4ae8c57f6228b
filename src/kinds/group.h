#pragma once

// The API group of DNSClass and DNSRecord, which is also the prefix of their annotations and of the
// finalizer: that of the operator whose objects these are.
#define DNS_GROUP "dns.homelab.mortenolsen.pro"
