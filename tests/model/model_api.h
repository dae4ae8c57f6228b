#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/http.h"
#include "io/loop.h"
#include "model/model_server.h"

// A model_server behind HTTP, as a Kubernetes API server answers: get, list with pages, watch with
// bookmarks and streaming lists, create, update, apply, merge patch, JSON patch, delete; status
// apart; Status bodies in the real one's words. Nothing goes over a wire: it is one `struct http`.
// A request acts at once; its reply and the events are under way as long as model_server_set_delays
// says.
//
//     struct model_api *api = model_api_new(server, "https://api.test", other_http);
//     world.http = model_api_http(api);
//
// Faults of single calls are those of model_server_fault().

struct model_api;
// Requests for other hosts than that of `url` go to `next`; NULL: nobody answers there.
struct model_api *model_api_new(struct model_server *server, const char *url, struct http *next);
// Who calls is a process of its own, with that loop: there replies and events arrive. Before the
// first call. (Each process has a model_api, all have one server.)
void model_api_set_loop(struct model_api *api, struct loop *loop);
void model_api_free(struct model_api *api); // before server and `next`
struct http *model_api_http(struct model_api *api);

// ---- how it behaves -----------------------------------------------------------------------------

// Bodies that are asked for in pieces come in ones of 1 to 2 * octets, by chance that repeats; 0,
// the default: all that is there at once.
void model_api_set_pieces(struct model_api *api, uint64_t seed, size_t octets);
void model_api_set_streaming(struct model_api *api, bool has_streaming); // the gate WatchList; on
// Calls want this bearer token (401); NULL, the default: any is welcome.
void model_api_set_token(struct model_api *api, const char *token);
// 403 for that verb (NULL: any) on that resource ("dnsrecords", "dnsrecords/status"; NULL: any);
// SelfSubjectAccessReviews say the same. Watches under way go on.
void model_api_deny(struct model_api *api, const char *verb, const char *resource);
void model_api_allow_all(struct model_api *api);
// Its CRD goes (404, and watches end), or comes.
void model_api_set_installed(struct model_api *api, const char *resource, bool is_installed);
void model_api_set_down(struct model_api *api, bool is_down); // no connection

// ---- what happens to it -------------------------------------------------------------------------

// All watches break off, all versions from before are too old, the first watch of each kind gets a
// 429 "storage is (re)initializing".
void model_api_restart(struct model_api *api);
// The same after a restore from a backup: versions go back by that many.
void model_api_rewind(struct model_api *api, uint64_t versions);

enum model_stream_fault {
    STREAM_ENDS,    // cleanly
    STREAM_BREAKS,  // reset between two events
    STREAM_TORN,    // reset within one
    STREAM_FREEZES, // silence; probes are answered (a proxy in between)
    STREAM_DIES,    // silence; the connection's probes end it after 30 s
    STREAM_EXPIRES, // an ERROR event with 410, then a clean end
    STREAM_FAILS,   // an ERROR event with 500, then a clean end
    STREAM_GARBLED, // what is no JSON
    STREAM_REPEATS, // the last event comes twice
};
// What the watches of that resource (NULL: all) that run now meet, before whatever happens next.
void model_api_meet(struct model_api *api, const char *resource, enum model_stream_fault fault);

// ---- looking in ---------------------------------------------------------------------------------

size_t model_api_stream_count(const struct model_api *api, const char *resource); // NULL: all
// Calls so far, refused ones too: verb "get", "list", "watch", "create", "update", "patch",
// "delete", NULL: any; resource NULL: any.
size_t model_api_calls(const struct model_api *api, const char *verb, const char *resource);
