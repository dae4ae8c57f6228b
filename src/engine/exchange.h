#pragma once

#include "engine/engine.h"

// Exchanges: what is under way with a backend. An exchange carries a batch of changes, a question
// or a last word through the provider's state machine, and ends with an outcome of each; it lives
// from its beginning until that, or until it is aborted.

struct engine;
struct backend;
struct session;
struct question_state;
struct change_request;
struct batch;
struct exchange;

// busy_names.c: names in flight, each in one exchange at most.
uint32_t busy_add(struct engine *engine, uint16_t registry, const char *name);
bool busy_has(struct engine *engine, uint16_t registry, const char *name);
void busy_free(struct engine *engine);

// exchange.c
void exchange_begin(struct backend *backend, const struct batch *batch);
// Either may be NULL: a question of keys, or who asks for the backend's health just once.
void exchange_begin_question(struct backend *backend, struct question_state *question,
                             struct change_request *change_request);
void exchange_drop_question(struct exchange *exchange); // nobody names it any more
void exchange_begin_leave(struct backend *backend, struct session *session);
void exchange_abort(struct exchange *exchange);
void exchanges_abort(struct backend *backend); // all of that backend
// The backend has moved: what is under way ends at the place where it began, and idle questions end
// now.
void exchanges_move_elsewhere(struct backend *backend);
// Aborts those of the backend that only wait: there is nothing to be heard of them.
void exchanges_end_waiting(struct backend *backend);
void exchange_start(struct exchange *exchange); // begins, with all written ahead
