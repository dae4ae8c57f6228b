#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "io/http.h"

// A model of a Pi-hole v6 (FTL 6.4.1) behind its HTTP API: status codes, texts and hints, sessions
// and seats, the two lists of local names, restarts of the resolver, and what goes wrong with it.
// Pure: no socket, no clock of its own, no randomness. Time comes in as `now_ms`, of a clock that
// never goes back; two models given the same calls say the same.
//
//     struct model_pihole *pihole = model_pihole_new("a password", unix_ms - now_ms);
//     uint64_t flight = model_pihole_begin(pihole, now_ms, &request, &reply);
//     ... after reply.delay_ms, if model_pihole_is_alive(pihole, flight, then_ms): send it ...
//     model_pihole_end(pihole, flight);

struct model_pihole;

// A password "" is a Pi-hole without one. `epoch_ms` + now_ms is Unix time.
struct model_pihole *model_pihole_new(const char *password, int64_t epoch_ms);
void model_pihole_free(struct model_pihole *pihole); // accepts NULL

// ---- requests -----------------------------------------------------------------------------------

struct pihole_request {
    const char *method;
    struct text target; // path and query, as sent
    const struct http_header *headers;
    size_t header_count;
    struct text body; // all of it, however long; absent or empty: none
    const char *peer; // address of the client; NULL: "127.0.0.1"
};

enum pihole_fate {
    PIHOLE_ANSWERS, // after delay_ms
    PIHOLE_REFUSES, // no connection: nobody listens. There is no flight then
    PIHOLE_SILENT,  // takes the request and never says anything
};

// Its texts live until the flight ends.
struct pihole_reply {
    enum pihole_fate fate;
    int status;
    const struct http_header *headers; // all but Date, Content-Length and Connection
    size_t header_count;
    struct text body; // absent: none (204)
    int64_t delay_ms; // what the work took: checks of passwords, the pause of the rate limit, ...
    bool is_cut;      // the connection breaks after so many octets of the reply, head and all
    size_t cut_octets;
};

// A request has arrived as a whole, on a connection that lives; what it asks for is done at once.
// Returns the number of its flight, or 0 (PIHOLE_REFUSES).
uint64_t model_pihole_begin(struct model_pihole *pihole, int64_t now_ms,
                            const struct pihole_request *request, struct pihole_reply *reply);
// Its last octet was sent, or its client is gone. To be called for each flight; 0 is accepted.
void model_pihole_end(struct model_pihole *pihole, uint64_t flight);
// False: the process that took it died or began anew since. The connection is broken, as is every
// other one; nothing more is sent.
bool model_pihole_is_alive(const struct model_pihole *pihole, uint64_t flight, int64_t now_ms);

// ---- what others see of the process -------------------------------------------------------------

// Are connections taken?
bool model_pihole_is_open(const struct model_pihole *pihole, int64_t now_ms);
// One more with each start of the process: connections from before are broken.
uint64_t model_pihole_life(const struct model_pihole *pihole, int64_t now_ms);
// Is no query answered?
bool model_pihole_is_dumb(const struct model_pihole *pihole, int64_t now_ms);
// When any of what is asked in this part and in the next says something else by time alone; -1.
int64_t model_pihole_next_ms(const struct model_pihole *pihole, int64_t now_ms);

// ---- what the resolver serves -------------------------------------------------------------------

// Another number whenever what is served is another. Host entries are served at once (with
// hosts_local: after a restart), CNAMEs after a restart.
uint64_t model_pihole_served(const struct model_pihole *pihole, int64_t now_ms);
// Lines of a hosts file, without comments; entries that are not valid left out.
void model_pihole_write_hosts(const struct model_pihole *pihole, int64_t now_ms,
                              struct buffer *out);
// Lines of dnsmasq's configuration: "cname=www.home.lan,a.home.lan".
void model_pihole_write_cnames(const struct model_pihole *pihole, int64_t now_ms,
                               struct buffer *out);

// ---- the lists, and what people do --------------------------------------------------------------

enum pihole_list { PIHOLE_HOSTS, PIHOLE_CNAMES };
size_t model_pihole_count(const struct model_pihole *pihole, enum pihole_list list);
const char *model_pihole_at(const struct model_pihole *pihole, enum pihole_list list, size_t at);
// A person writes that entry, in the page or right into pihole.toml: nothing is checked, it stands
// at the end with its blanks as they are read back, and the resolver serves it at once. With
// `is_kept`, nobody else may change it.
void model_pihole_put(struct model_pihole *pihole, enum pihole_list list, const char *entry,
                      bool is_kept);
// A person takes it away; false: there is none.
bool model_pihole_take(struct model_pihole *pihole, enum pihole_list list, const char *entry);
// So many seats are taken by browsers now, which use their sessions forever or (0) leave.
void model_pihole_seat_others(struct model_pihole *pihole, int64_t now_ms, size_t count);
// All sessions are gone, as when the app password is set.
void model_pihole_forget_sessions(struct model_pihole *pihole);

// ---- switches -----------------------------------------------------------------------------------

// Sets one by name, in force from that time on. False: there is none of that name, or it takes no
// such value. Booleans are "true" and "false"; what goes by number ("the next N") counts down.
//
//     name                 at first  what
//     ----------------------------------------------------------------------------------------
//     up                   true      false: killed; no port is open until it is started again
//     hangs                false     connections are taken, nothing is ever answered
//     dialect              v6        legacy: `/admin/api/dns/local` with a Bearer token alone
//     legacy_unique        false     legacy: POST of a name that has an address is 409
//     password             as made   "": none is wanted. Setting it ends all sessions
//     app_password         ""        "": there is none. Setting it ends all sessions
//     app_sudo             false     may sessions of the app password change the configuration
//     totp                 ""        2FA: the six digits of now; "": off
//     totp_limited         false     2FA: tokens come too often
//     max_sessions         16        seats, browsers included
//     session_timeout_s    1800      sliding
//     dns_port             53        where it says that its resolver listens
//     password_ms          60        cost of one check of a password
//     read_ms              1         of a reply that read
//     write_ms             5         of a reply that changed something
//     read_only            false     misc.readOnly: PATCH is refused, PUT and DELETE are not
//     forced_hosts         false     dns.hosts comes from the environment
//     forced_cnames        false     dns.cnameRecords comes from the environment
//     hosts_local          absent    dns.hostsLocal, "true": host entries want a restart; "absent":
//                                    an old version without it; "missing": and says 404
//     restart_grace_ms     250       after a change that wants a restart until the API closes
//     restart_api_ms       140       how long it is closed then (the real one: 140 to 1000)
//     restart_dns_ms       370       how long no query is answered, from the reply on (370 to 1200)
//     overlap              safe      loses: of two writes at once, the changes of one are lost;
//                                    dies: all ports close, and stay closed until `up` is set
//     deadlocks            true      a change that has the resolver's configuration tried, after a
//                                    restart was asked for and before the API has gone for it:
//                                    nothing is ever answered again, queries neither, until `up`
//                                    was false
//     defers               true      is "?restart=false" known; false: as before v6.3
//     alias_hints          true      does the resolver say which line it refuses
//     restart_allowed      true      webserver.api.allow_destructive: POST /api/action/restartdns
//     resurrects           0         the next N removed entries are back with the next change
//     loses_replies        0         the next N changes are done, and their replies never come
//     fails                0         the next N requests are answered with 500, nothing done
//     cut_octets           none      the next reply breaks off after so many octets
//     body                 none      the next reply of status 200 has this body instead
bool model_pihole_set(struct model_pihole *pihole, int64_t now_ms, const char *name,
                      const char *value, struct error *err);

// ---- what is counted ----------------------------------------------------------------------------

// By name; false: there is none. Whole since the beginning, but for `seats`.
//
//     requests, gets, posts, puts, patches, deletes    that arrived, whatever came of them
//     logins, failed_logins, logouts                   a password was right; wrong; DELETE of auth
//     seats                                            sessions that are valid now
//     changes                                          accepted writes that changed something
//     written_octets                                   to the disk for those: config and its backup
//     restarts                                         of the resolver
//     largest_body                                     of all requests, in octets
//     overlaps                                         see below
//     deadlocks                                        see the switch
bool model_pihole_counter(const struct model_pihole *pihole, int64_t now_ms, const char *name,
                          uint64_t *value);
// All of them: {"requests":12,"gets":3,...}.
void model_pihole_write_counters(const struct model_pihole *pihole, int64_t now_ms,
                                 struct buffer *out);

// ---- what nobody may do -------------------------------------------------------------------------

// What went wrong first, or NULL: two requests with the same User-Agent were in flight at once
// (FTL's configuration API is not safe for that), or an entry that people keep was changed.
const char *model_pihole_breach(const struct model_pihole *pihole);
