#pragma once

#include "engine/engine.h"

// Backends: what a class, or an address in settings, stands for. Each has its line of what is due,
// its limit of exchanges in flight, its back-off and its health, and a session: the provider's
// place there. Resident from the decision that names it first until nobody needs it any more.

struct engine;
struct backend;
struct change_request;
struct batch;

// A provider's place at a backend, kept until the last exchange that began with it ends.
struct session {
    const struct provider *provider;
    void *at;
    unsigned refs;
    bool is_elsewhere; // the backend leads to another server since
};

// backend.c
struct backend *backend_find(const struct engine *engine, const char *name);
bool backend_set(struct engine *engine, const struct backend_want *want, uint32_t owner,
                 struct backend **out, struct error *err);
bool backend_is_owned_by(const struct backend *backend, uint32_t key);
void backend_release(struct backend *backend); // its owner is gone
bool backend_can_send(const struct backend *backend, enum claim_intent intent);
bool backend_has_sendable(const struct backend *backend); // something due that it can send
bool backend_is_unread(
    const struct backend *backend); // that, or what stands there is not known yet
// It was told what is wrong with the backend, and waits before it tries again.
bool backend_rests_in_trouble(const struct backend *backend);
void backend_queue(struct backend *backend, uint32_t claim); // due now
void backend_unqueue(struct backend *backend, uint32_t claim);
bool backend_has_due(const struct backend *backend, uint32_t claim); // it stands in the line
// A claim goes through it from now on, or does no more.
void backend_join(struct backend *backend);
void backend_part(struct backend *backend);
void backend_count_repair(
    struct backend *backend); // somebody changed what stood there, and that is mended
uint16_t backend_number(const struct backend *backend);      // from 1
const char *backend_registry(const struct backend *backend); // the URL that stands for its registry
// Claims with the same content stand together there.
bool backend_shares(const struct backend *backend); // NULL: false
// What the set would look like there. False: nobody can tell. `backend` may be NULL.
bool backend_fingerprint(const struct backend *backend, const struct record_set *set,
                         uint8_t hash[FINGERPRINT_OCTETS]);
// How long a claim waits that has failed so many times in a row.
int64_t backend_retry_delay(const struct backend *backend, unsigned attempts,
                            const struct error *error);
int64_t backend_retry_slow_ms(const struct backend *backend);
// An exchange has ended a moment ago, and the backend is reached.
bool backend_is_moving(const struct backend *backend);
void backend_pump(struct backend *backend); // begins what is due, as far as there is room
void backends_pump(struct engine *engine);  // all of them
// Changes have ended: what their outcomes say of the backend as a whole.
void backend_judge(struct backend *backend, const struct job *job, const char *trace);
void backend_clear_backoff(struct backend *backend);
// What was said of its health, in answer to a question or along with changes.
void backend_take_answer(struct backend *backend, const struct job *job);
// What an exchange learned is known from now on.
void backend_learn(struct backend *backend, const struct value *learned);
void session_unref(struct session *session);
void batch_put(struct backend *backend, struct batch *batch, uint32_t claim,
               struct change_request *change_request, uint16_t registry, const char *name);
void batch_take_change_requests(struct backend *backend, struct batch *batch);
void backends_sweep(struct engine *engine); // frees those that nobody needs any more
void backends_free(struct engine *engine);
// The backend as a whole can't be worked with (NULL: it can): who uses it is told, and it `rests`.
void backend_handle_trouble(struct backend *backend, const struct error *trouble, bool rests);
// We lead, or lead no more.
void backends_lead(struct engine *engine, bool is_leading);
// Begins the last exchanges of sessions. False: none is left to begin.
bool backends_leave(struct engine *engine);
// What stands at those of that controller's settings is asked for again.
void backends_list_anew(struct engine *engine, size_t controller);
// Those that leave have had their time: their exchanges are broken off, whatever they are at.
void backends_leave_late(struct engine *engine);

// serial.c: backends that have one exchange at a time.
void serial_pump(struct backend *backend);
void serial_collect(struct backend *backend, enum record_type type); // one more is due
void serial_uncollect(struct backend *backend, enum record_type type);
// Nothing is known yet of what stands there, and it will be.
bool serial_is_awaited(const struct backend *backend);
