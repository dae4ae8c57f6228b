#pragma once

#include "providers/rfc2136/item.h"

// An item whose set has an ownership record beside it (txt_registry.h). Both are queried, and the
// item gets its plan from that; each plan has prerequisites (RFC 2136 2.4), so that neither a
// wildcard nor a delegation nor somebody who writes at the same time has us change what is not
// ours.

// Makes the name of the record; refuses a set that can have none.
bool owned_item_accept(struct item *item, struct arena *arena,
                       const struct rfc2136_session *session, struct error *err);
// When `was_there`, `is_as_wanted`, `delegation` and `txt` are known. What needs no proof is done.
void owned_item_plan(struct item *item, struct arena *arena);
// The plan changes nothing: an UPDATE with its prerequisites alone proves it.
bool owned_item_is_proof(const struct item *item);
size_t owned_item_octets(const struct item *item);
bool owned_item_add(struct update *update, const struct item *item, struct error *err);
// The prerequisites of a proof hold: it is done, or refused.
void owned_item_take_proof(struct item *item, struct arena *arena);
// The prerequisites do not hold: it gets another plan, or ends with an error.
void owned_item_take_contradiction(struct item *item, struct arena *arena, unsigned rcode);
