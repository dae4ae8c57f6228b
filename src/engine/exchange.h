#pragma once

#include "engine/engine.h"

// An exchange carries a batch of changes, a question or the end of a session (JOB_LEAVE) through
// the provider's state machine, and ends with an outcome for each of them. It lives until then, or
// until it is aborted.

struct engine;
struct backend;
struct session;
struct question_state;
struct change_request;
struct batch;
struct exchange;

// busy_names.c: owner names in flight. No two exchanges change one name at the same time.
uint32_t busy_add(struct engine *engine, uint16_t registry, const char *name);
bool busy_has(struct engine *engine, uint16_t registry, const char *name);
void busy_free(struct engine *engine);

// exchange.c
void exchange_begin(struct backend *backend, const struct batch *batch);
// Either is NULL: a question that keys ask, or a frontend that asks for the backend's health once.
void exchange_begin_question(struct backend *backend, struct question_state *question,
                             struct change_request *change_request);
void exchange_drop_question(struct exchange *exchange); // nobody names it any more
void exchange_begin_leave(struct backend *backend, struct session *session);
void exchange_abort(struct exchange *exchange);
void exchanges_abort(struct backend *backend); // all of that backend
// The backend has another server now: exchanges that have sent something end at the server where
// they began; questions that only wait end now.
void exchanges_move_elsewhere(struct backend *backend);
// Aborts those of the backend that only wait for time to pass: no reply is under way.
void exchanges_end_waiting(struct backend *backend);
// Sends the first message. To be called when everything that must be written ahead is stored.
void exchange_start(struct exchange *exchange);
