#pragma once

#include "engine/inspection.h"

// The state of each key as its last decision said, for engine_each_state(). Resident, 16 octets a
// key and the message of one that is not ready; only with engine_options.keeps_states. NULL is fine
// for all of these.

struct engine;
struct decision;
struct object_states;

struct object_states *object_states_new(void);
void object_states_free(struct object_states *states);
// There is a new key.
void object_states_make(struct object_states *states, uint32_t key);
// A reconciliation of the key has decided, and its claims are made.
void object_states_decide(struct engine *engine, uint32_t key, const struct decision *decision);
void object_states_forget(struct object_states *states, uint32_t key);
