#pragma once

#include "engine/controller.h"

// What a recording (engine/recorder.h, engine/replay.h) holds of a reconciliation: the snapshot,
// from which it can be made again, and the decision that came of it. Objects and zones stand in it
// as numbers, under which the recording has them once.
//
// Secrets are masked before anything is written: the octets of each are replaced by the digits of a
// hash that is keyed with octets which are never written, so equal secrets stay equal and can't be
// guessed. As a decision may depend on what a secret is, the recorded one is of the masked snapshot
// where there was anything to mask: it is what a replay comes to.

enum { RECORDING_FORMAT = 1 };

// How numbers stand for objects and zones, to who writes and to who reads. A number is never 0.
// Zones are numbered in the order in which decisions make them.
struct recording {
    void *context;
    int64_t (*number_object)(void *context, const struct object *object);
    int64_t (*number_zone)(void *context, const struct zone *zone, bool *is_new);
    const struct object *(*find_object)(void *context, int64_t number); // NULL: no such number
    const struct zone *(*find_zone)(void *context, int64_t number);
    struct secret *mask;     // of who writes: the key of the hashes
    bool has_masked;         // something was masked since the caller set this to false
    struct secret **secrets; // that stand in snapshots that were read
    size_t secret_count;
    size_t secret_capacity;
};

// A copy without what kubectl and servers keep for themselves, whose secrets are masked.
struct value *recording_mask_object(struct recording *recording, struct arena *arena,
                                    const struct kind *kind, const struct value *tree);

struct value *recording_write_snapshot(struct recording *recording, struct arena *arena,
                                       const struct controller *controller,
                                       const struct snapshot *snapshot);
// `settings` and the arena come into the snapshot. What it points to lives in the arena or is
// borrowed from `tree`; the secrets of backends live until recording_forget_secrets().
bool recording_read_snapshot(struct recording *recording, struct arena *arena,
                             const struct controller *controller, const void *settings,
                             const struct value *tree, struct snapshot *out, struct error *err);
void recording_forget_secrets(struct recording *recording);
void recording_done(struct recording *recording); // lets go of secrets and mask
struct value *recording_write_decision(struct recording *recording, struct arena *arena,
                                       const struct decision *decision);

struct value *recording_write_servers(struct arena *arena, const struct server_view *servers,
                                      size_t count);
bool recording_read_servers(struct arena *arena, const struct value *list,
                            const struct server_view **servers, size_t *count, struct error *err);
