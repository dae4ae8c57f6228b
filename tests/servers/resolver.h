#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "io/loop.h"

// A real dnsmasq on 127.0.0.1 that serves what it is told and NXDOMAIN for all else. Hosts reach it
// through --hostsdir (inotify: additions, changes and removals, without a restart), CNAMEs through
// its configuration and a restart. It dies with the process that made it, kill -9 included.
//
//     struct resolver *resolver = resolver_new(loop, folder, port, &err);
//     resolver_serve(resolver, TEXT("192.0.2.1 nas.lan\n"), TEXT("cname=www.lan,nas.lan\n"), &err);
//     resolver_set_up(resolver, true, &err);

struct resolver;

// The folder exists; it keeps its files there. Not up yet.
struct resolver *resolver_new(struct loop *loop, const char *folder, uint16_t port,
                              struct error *err);
void resolver_free(struct resolver *resolver); // ends it; accepts NULL

// Lines of a hosts file, and of dnsmasq's configuration. If the second ones are others than before
// and it is up, it starts anew.
bool resolver_serve(struct resolver *resolver, struct text hosts, struct text settings,
                    struct error *err);
// Starts it, or kills it: no query is answered. Fails when there is no dnsmasq.
bool resolver_set_up(struct resolver *resolver, bool is_up, struct error *err);
bool resolver_is_up(const struct resolver *resolver); // it may have ended by itself
