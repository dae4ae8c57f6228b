#pragma once

#include <stdbool.h>
#include <stdint.h>

// Which refused requests are worth a log line: of one peer one in a minute. Resident and bounded:
// beyond the 64 peers of the last minute all others are one peer.

enum { WARNINGS_PEERS_MAX = 64 };

struct warning {
    uint8_t address[16];
    bool is_reported;
    int64_t reported_ms;
    uint64_t untold; // since then
};
// {0} is ready for use.
struct warnings {
    struct warning peers[WARNINGS_PEERS_MAX];
    uint64_t used;
    struct warning others;
};
// *untold: how many of that peer were not, since the last that was; *is_of_many: of other peers.
bool warnings_are_due(struct warnings *warnings, const uint8_t address[16], int64_t mono_ms,
                      uint64_t *untold, bool *is_of_many);
