#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/zones_config.h"

// Which addresses the zones configuration names at all, as servers or in transferFrom: what is none
// of them is a stranger.

struct peers {
    uint8_t (*servers)[16];
    size_t server_count;
    const struct zones_network **networks;
    size_t network_count;
};
// Borrows the configuration; NULL: everybody is a stranger. What was there before is freed.
void peers_set(struct peers *peers, const struct zones_config *config);
void peers_done(struct peers *peers);
bool peers_know(const struct peers *peers, const uint8_t address[16]);

// The server of the group at that address, or NULL.
const struct zones_server *peers_server_at(const struct zones_group *group,
                                           const uint8_t address[16]);
