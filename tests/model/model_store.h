#pragma once

#include "model/model_server.h"

// Stores that talk to a model_server by hand. Freeing one and opening another is a crash and a
// restart.
//
//     struct store *store = model_store_new(server);

struct store *model_store_new(struct model_server *server);
// The lease goes, or comes back.
void model_store_set_leading(struct store *store, bool is_leading);
// The watch of a kind is lost, or complete again.
void model_store_set_synced(struct store *store, const struct kind *kind, bool is_synced);
