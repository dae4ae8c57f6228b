#pragma once

#include "engine/engine.h"

// Questions: exchanges that claim no record. A question is identified by the name of the backend
// that it goes through, its own name and what it is about; all keys that name the same one share
// its answer. While this replica leads, it is asked as often as the most impatient of them wants.
// It keeps its last answer, and is forgotten when no key names it any more.

struct engine;
struct exchange;
struct backend;
struct job;
struct snapshot;
struct question_state;

// All questions that one key names, or the settings of one backend. {0} is empty.
struct asking {
    struct asker **askers; // in the order in which they were named
    size_t count;
};

struct questions *questions_new(struct engine *engine);
void questions_free(struct questions *questions); // no key may name one any more; accepts NULL
void questions_stop(struct questions *questions); // none is asked from now on

// Names these in place of those named before; `key` (NO_ID: none) is woken when one of the answers
// changes. True: one that was not named before has an answer already.
bool questions_set(struct engine *engine, struct asking *asking, uint32_t key,
                   const struct question *wants, size_t count);
void questions_fill_snapshot(const struct asking *asking, struct snapshot *snapshot);
// True while a question other than health has never been answered and soon will be.
bool questions_are_awaited(const struct engine *engine);
// This replica leads from now on: all are asked anew.
void questions_lead(struct engine *engine);

// The backend has been opened: the questions that go through it can be asked.
void questions_add_backend(struct backend *backend);
void questions_remove_backend(struct backend *backend);
// The backend has another server now: all its questions lose their answers and are asked anew.
void questions_move_backend(struct backend *backend);

// True when a key asks for the health of the backend.
bool backend_is_asked(const struct backend *backend);
// Asks for its health as soon as it has room, however fresh the last answer is.
void backend_ask_now(struct backend *backend);
// The same, but no sooner than 1 s after the last answer.
void backend_ask_soon(struct backend *backend);

// Begins the first question that is due there; with `is_health_only` only if that is its health.
// False: none is due, or it can't be asked now.
bool question_begin_next(struct backend *backend, bool is_health_only);
bool question_is_health(const struct question_state *question);
void question_fill_job(const struct question_state *question, struct job *job);
void question_set_exchange(struct question_state *question, struct exchange *exchange);
// Keeps what the job found out about the backend's health, if a key asks for that.
void question_take_health(struct backend *backend, const struct job *job);
// Its exchange has ended. `job` NULL: at a server that is no more the backend's.
void question_end(struct question_state *question, const struct backend *backend,
                  const struct job *job);
// Its exchange was aborted.
void question_abort(struct question_state *question, struct engine *engine);
