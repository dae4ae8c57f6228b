#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dns/zone.h"
#include "dns/zones_config.h"
#include "frontends/primary/primary_frontend.h"
#include "io/dnsnet.h"
#include "io/loop.h"

// A virtual network of name servers that follow us: the secondaries of a hidden primary, behind one
// `struct dnsnet`. Each takes NOTIFY, asks the primary for its SOA, transfers what is newer, and
// answers for the SOA with that. Together they watch the primary: one serial never stands for two
// contents, and no NOTIFY has a serial before one that was told.
//
//     struct model_dns *dns = model_dns_new(loop);
//     world.dns = model_dns_net(dns);
//     model_dns_set_config(dns, config);
//     model_dns_set_primary(dns, 0, frontend, loop);

struct model_dns;

struct model_dns *model_dns_new(struct loop *loop);
void model_dns_free(struct model_dns *dns);          // all who send have left; accepts NULL
struct dnsnet *model_dns_net(struct model_dns *dns); // dnsnet_free leaves the servers
// For a process with a loop of its own, where replies arrive.
struct dnsnet *model_dns_net_new(struct model_dns *dns, struct loop *loop);
// The servers of that configuration, which lives longer; one of the same name keeps what it has.
void model_dns_set_config(struct model_dns *dns, const struct zones_config *config);
enum { MODEL_PRIMARIES = 2 };
// Whom they ask, in this order; NULL: nobody listens there. The loop is that of its process.
void model_dns_set_primary(struct model_dns *dns, size_t at, struct primary_frontend *frontend,
                           struct loop *loop);

// ---- what is seen -------------------------------------------------------------------------------

// What the primary did that no primary may do, or NULL.
const char *model_dns_breach(const struct model_dns *dns);
// That content under that serial was to be had from some primary, whether anybody fetched it or
// not.
void model_dns_witness(struct model_dns *dns, const struct zone *zone);
// What is sent there while that says no is a breach: somebody else is the one to exchange.
void model_dns_guard(struct dnsnet *net, bool (*may_send)(void *context), void *context);
// Who sends there may not know yet what others told: its NOTIFY may have a serial before that.
void model_dns_excuse(struct dnsnet *net, bool is_excused);
// What was sent to the servers and transferred by them, a line each:
//     "1000012 NOTIFY ns1 shop.example. 2026010100", "1000013 AXFR ns1 shop.example. 2026010100"
void model_dns_write_log(const struct model_dns *dns, struct buffer *out);
// Lines of the log so far that begin so behind the time.
size_t model_dns_count(const struct model_dns *dns, const char *beginning);

// ---- what goes wrong ----------------------------------------------------------------------------

enum model_dns_fault {
    DNS_FAILS,   // it never arrives; a transfer is cut in the middle
    DNS_LOSES,   // the server acts, its reply is lost; a transfer is cut at its end
    DNS_SILENCE, // as DNS_LOSES, and stops the loop: the process dies here
};
// The message or transfer after `skip` further ones meets the fault, once.
void model_dns_fault(struct model_dns *dns, unsigned skip, enum model_dns_fault fault);
size_t model_dns_calls(const struct model_dns *dns); // messages and transfers so far

// ---- one server ---------------------------------------------------------------------------------

struct model_secondary;
struct model_secondary *model_dns_find(const struct model_dns *dns, const char *name); // or NULL
enum model_mood {
    MOOD_WELL,
    MOOD_DOWN,      // nobody listens, nothing is asked
    MOOD_SILENT,    // hears nothing, says nothing
    MOOD_WRONG_KEY, // its key has another secret than ours
    MOOD_STUCK,     // hears and answers, and fetches nothing
    MOOD_UNABLE,    // fetches, and cannot load what it fetched
    MOOD_FORGED,    // over UDP somebody answers in its place, of a serial far ahead
};
// One that is well again asks for the zones that it knows.
void model_secondary_set_mood(struct model_secondary *server, enum model_mood mood);
void model_secondary_set_clock(struct model_secondary *server, int64_t ahead_ms);
// It answers that serial, from wherever it has it.
void model_secondary_set_serial(struct model_secondary *server, struct dname apex, uint32_t serial);
// Its copy goes, as when a zone leaves the catalog; what the serials stood for is forgotten too.
void model_secondary_forget(struct model_secondary *server, struct dname apex);
// What it answers; false: nothing.
bool model_secondary_serial(const struct model_secondary *server, struct dname apex,
                            uint32_t *serial);
// Its copies in order of first sight; NULL: there are no more.
const struct zone *model_secondary_at(const struct model_secondary *server, size_t at);
// It asks the first primary for the SOA, and keeps nothing of it. A refusal has the RCODE or the
// error of TSIG as code.
bool model_secondary_ask(struct model_secondary *server, struct dname apex, uint32_t *serial,
                         struct error *err);
const char *model_secondary_name(const struct model_secondary *server);
struct model_secondary *model_dns_at(const struct model_dns *dns, size_t at); // NULL: no more
