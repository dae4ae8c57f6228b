#pragma once

#include "frontends/intent/request.h"

// Inside this folder: what of a write is about secrets and places of a record.

// Adds to the spec a reference for each secret that the body brought, and keeps those whose masks
// it has.
void credentials_refer(struct request *request, const struct found *found, struct value *spec);
// Writes the Secret `<object>-credentials`, owned by the record that was written. Calls `done` when
// it is stored; else it answers.
void credentials_write(struct request *request, const struct object *owner,
                       void (*done)(struct request *request, const struct object *owner));
// Do two states of a record stand at different places of its provider?
bool record_is_moved(const struct value *old, const struct value *now);
