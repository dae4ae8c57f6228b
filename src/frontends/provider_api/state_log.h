#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "dns/record.h"
#include "frontends/provider_api/nonces.h"
#include "io/disk.h"

// What `signpost provider --state DIR` keeps over a restart: used nonces, the seconds whose nonces
// were forgotten, and the records of the memory backend. A database, DIR/provider.db: what was
// written survives the process; a power cut may take the last moments.

struct state_log;

struct state_log_reader {
    // One record that stands; in the order in which they were written first.
    void (*record)(void *context, const struct record_set *set);
    void *context;
};
// Reads what is there and keeps it open. Fails when the folder can't be made or written, and when
// another process uses it.
struct state_log *state_log_open(struct disk *disk, const char *dir, struct nonces *nonces,
                                 const struct state_log_reader *reader, int64_t now_s,
                                 struct log *log, struct error *err);
void state_log_free(struct state_log *state);
DEFINE_CLEANUP(state_log, state_log_free)
// Each returns false when it could not be written: the request must then be refused.
bool state_log_nonce(struct state_log *state, struct text nonce, int64_t stamp_s,
                     struct error *err);
bool state_log_record(struct state_log *state, const struct record_set *set, bool is_removed,
                      struct error *err);
