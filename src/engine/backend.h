#pragma once

#include "engine/engine.h"

// A backend is what a class, or an address in settings, stands for: a queue towards one server,
// with a limit of exchanges in flight, back-off and health, and a session of its provider. It lives
// from the decision that names it first until no claim, question or session needs it any more.

struct engine;
struct backend;
struct change_request;
struct batch;

// A provider's session at a server, kept until the last exchange that began with it ends.
struct session {
    const struct provider *provider;
    void *at;
    unsigned refs;
    bool is_elsewhere; // the backend has another server by now
};

// backend.c
struct backend *backend_find(const struct engine *engine, const char *name); // or NULL
// Makes the backend of that name what `want` says, and its owner that key (NO_ID: none); opens it
// if there is none. *out is always set. False: the provider refuses the config, err (or NULL) says
// why; the backend stands with that as its view's fault.
bool backend_set(struct engine *engine, const struct backend_want *want, uint32_t owner,
                 struct backend **out, struct error *err);
bool backend_is_owned_by(const struct backend *backend, uint32_t key);
// Its owner is gone. REMOVEs may go on for a while; it is freed when nothing needs it any more.
void backend_release(struct backend *backend);
bool backend_can_send(const struct backend *backend, enum claim_intent intent);
bool backend_has_sendable(const struct backend *backend); // something due that it can send
// The same, or what stands at the server is not known yet.
bool backend_is_unread(const struct backend *backend);
// The provider said why nothing can be done there now, and it waits before it is tried again.
bool backend_is_unavailable(const struct backend *backend);
void backend_queue(struct backend *backend, uint32_t claim); // due now
void backend_unqueue(struct backend *backend, uint32_t claim);
bool backend_has_queued(const struct backend *backend, uint32_t claim); // the claim is in its queue
// Counts the claims that go through it: one more, one less.
void backend_add_claim(struct backend *backend);
void backend_remove_claim(struct backend *backend);
// Somebody else had changed what stood there, and it has been put right.
void backend_count_repair(struct backend *backend);
uint16_t backend_number(const struct backend *backend);      // from 1
const char *backend_registry(const struct backend *backend); // the URL that stands for its registry
// Claims with the same content stand together there.
bool backend_shares(const struct backend *backend); // NULL: false
// The fingerprint of the set as it would stand there. False: nobody can tell. `backend` may be
// NULL.
bool backend_fingerprint(const struct backend *backend, const struct record_set *set,
                         uint8_t hash[FINGERPRINT_OCTETS]);
// How long (ms) a claim waits that has failed so many times in a row.
int64_t backend_retry_delay(const struct backend *backend, unsigned attempts,
                            const struct error *error);
int64_t backend_retry_slow_ms(const struct backend *backend);
// An exchange has just ended, and the server can be reached.
bool backend_is_moving(const struct backend *backend);
void backend_pump(struct backend *backend); // begins what is due, up to its limit of exchanges
void backends_pump(struct engine *engine);  // all of them
// An exchange of changes has ended: draws from their outcomes what holds for the whole backend.
void backend_judge(struct backend *backend, const struct job *job, const char *trace);
void backend_clear_backoff(struct backend *backend);
// Takes the health that the server reported, in answer to a question or along with changes.
void backend_take_answer(struct backend *backend, const struct job *job);
// Adds what an exchange learned of the server to what is known of it.
void backend_learn(struct backend *backend, const struct value *learned);
void session_unref(struct session *session);
void batch_put(struct backend *backend, struct batch *batch, uint32_t claim,
               struct change_request *change_request, uint16_t registry, const char *name);
void batch_take_change_requests(struct backend *backend, struct batch *batch);
void backends_sweep(struct engine *engine); // frees those that nothing needs any more
void backends_free(struct engine *engine);
// Shows why nothing can be done at the backend now (NULL: it can), and wakes the keys that use it
// if that has changed. An error without a reason may pass by itself: it is only logged, once.
// `waits`: the backend is not tried again before the error's retry_ms.
void backend_set_unavailable(struct backend *backend, const struct error *why, bool waits);
// This replica begins to lead, or ceases to.
void backends_lead(struct engine *engine, bool is_leading);
// Begins the last exchanges of sessions. False: none is left to begin.
bool backends_leave(struct engine *engine);
// Asks for a new listing of what stands at the backends of that controller's settings.
void backends_list_anew(struct engine *engine, size_t controller);
// Aborts the exchanges of those that leave: their time is over.
void backends_leave_late(struct engine *engine);

// serial.c: backends that have one exchange at a time.
void serial_pump(struct backend *backend);
void serial_collect(struct backend *backend, enum record_type type); // one more is due
void serial_uncollect(struct backend *backend, enum record_type type);
// What stands there is not known yet, but its listing is under way.
bool serial_is_awaited(const struct backend *backend);
