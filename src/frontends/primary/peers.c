#include "frontends/primary/peers.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void peers_done(struct peers *peers)
{
    free(peers->servers);
    free(peers->networks);
    *peers = (struct peers){0};
}

static void add_group(struct peers *peers, const struct zones_group *group)
{
    for (size_t i = 0; i < group->server_count; i++)
        memcpy(peers->servers[peers->server_count++], group->servers[i].octets,
               sizeof *peers->servers);
    for (size_t i = 0; i < group->network_count; i++)
        peers->networks[peers->network_count++] = &group->transfer_from[i];
}

void peers_set(struct peers *peers, const struct zones_config *config)
{
    size_t servers = 0;
    size_t networks = 0;
    peers_done(peers);
    for (size_t i = 0; config && i < config->group_count; i++) {
        servers += config->groups[i].server_count;
        networks += config->groups[i].network_count;
    }
    peers->servers = mem_new(servers + 1, sizeof *peers->servers);
    peers->networks = mem_new_array(const struct zones_network *, networks + 1);
    for (size_t i = 0; config && i < config->group_count; i++)
        add_group(peers, &config->groups[i]);
}

bool peers_know(const struct peers *peers, const uint8_t address[16])
{
    for (size_t i = 0; i < peers->server_count; i++) {
        if (memcmp(peers->servers[i], address, 16) == 0)
            return true;
    }
    for (size_t i = 0; i < peers->network_count; i++) {
        if (zones_network_holds(peers->networks[i], address))
            return true;
    }
    return false;
}

const struct zones_server *peers_server_at(const struct zones_group *group,
                                           const uint8_t address[16])
{
    for (size_t i = 0; i < group->server_count; i++) {
        if (memcmp(group->servers[i].octets, address, sizeof group->servers[i].octets) == 0)
            return &group->servers[i];
    }
    return NULL;
}
