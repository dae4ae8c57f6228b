#pragma once

#include "engine/engine.h"

// Questions: exchanges that claim no record. A question is known by the name of the backend that it
// goes through, its own name and what it is about; all who name the same one share it. It is asked
// as often as the most impatient of them wants while we lead, keeps its last answer, and is
// forgotten when nobody names it any more.

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
void questions_free(struct questions *questions); // nobody may name one any more; NULL is fine
void questions_stop(struct questions *questions); // none is asked any more

// Names these in place of those named before; `key` (NO_ID: none) is woken when one of the answers
// becomes another. True: one that was not named before has an answer already.
bool questions_name(struct engine *engine, struct asking *asking, uint32_t key,
                    const struct question *wants, size_t count);
void questions_fill_snapshot(const struct asking *asking, struct snapshot *snapshot);
// Some have never been answered and soon will be, apart from health.
bool questions_are_awaited(const struct engine *engine);
// We lead from now on: all are asked anew.
void questions_lead(struct engine *engine);

// A backend of that name has come: what is named for it can be asked.
void questions_add_backend(struct backend *backend);
void questions_remove_backend(struct backend *backend);
// It leads to another server now: all answers are forgotten and asked for anew.
void questions_move_backend(struct backend *backend);

// Somebody wants to know the health of the backend.
bool backend_is_asked(const struct backend *backend);
// Its health is asked as soon as it has room, however good the last answer is for.
void backend_ask_now(struct backend *backend);
void backend_ask_soon(
    struct backend *backend); // the same, 1 s after the last answer at the earliest

// Begins the first question that is due there. `is_health_only`: if that is its health. False:
// there is none, or it can't be asked now.
bool question_begin_next(struct backend *backend, bool is_health_only);
bool question_is_health(const struct question_state *question);
void question_fill_job(const struct question_state *question, struct job *job);
void question_set_exchange(struct question_state *question, struct exchange *exchange);
// Keeps what the job found out about the backend's health, if that is asked for.
void question_take_health(struct backend *backend, const struct job *job);
// Its exchange has ended. `job` NULL: at a server that the backend does not lead to any more.
void question_end(struct question_state *question, const struct backend *backend,
                  const struct job *job);
// Its exchange was broken off.
void question_abort(struct question_state *question, struct engine *engine);
