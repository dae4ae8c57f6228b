#pragma once

#include "engine/recording.h"
#include "io/disk.h"
#include "io/random.h"

// A recording of this process (`signpost run --record FOLDER`): one file of JSON lines from which
// `signpost replay` makes each reconciliation again. Lines are, in the order in which things
// happened:
//
//     {"signpost":"0.1.0","format":1,"startedAt":"...","controllers":["dnsclass",...]}
//     {"settings":{...}}                          as whoever records describes them
//     {"object":7,"kind":"Zone","group":"kubi.zone","finalizer":"...","tree":{...}}
//     {"object":8,"metadata":7,"bodies":5}        the metadata of one with the bodies of another
//     {"model":4,"put":7} {"model":4,"remove":7} {"model":4,"renewed":true}
//     {"model":4,"settledAt":1764460800000}
//     {"model":4,"published":7,"zone":2} {"model":4,"servers":[...],"of":7,"group":"..."}
//     {"controller":4,"snapshot":{...},"decision":{...}}
//
// Controllers and their shared models go by their place in the first line. An object stands there
// once, before the first line that needs it; a zone is the one that an earlier decision made. What
// is secret is masked (engine/recording.h). When the file would outgrow its bound, or can't be
// written, the recording ends with a log line. Resident, owned by whoever runs an engine.

enum { RECORDER_OCTETS_MAX = 256 * 1024 * 1024 };

struct cache;
struct recorder_options {
    struct disk *disk;
    struct random *random;
    struct log *log;
    const char *folder; // made if it is not there
    const char *version;
    int64_t now_ms;      // Unix
    struct cache *cache; // whose objects are recorded, from before the first one
    // Describes the settings of the controllers as they are now.
    struct value *(*describe)(void *context, struct arena *arena);
    void *context;
    size_t octets_max; // 0: RECORDER_OCTETS_MAX
};
struct recorder;
// Makes the file, and fails where the folder or the file cannot be made. What the options name
// outlives it.
struct recorder *recorder_new(const struct recorder_options *options, struct error *err);
void recorder_free(struct recorder *recorder); // before the cache; accepts NULL
// The path of the file, made of the folder, the time and a random number. It lives as long as the
// recorder.
const char *recorder_path(const struct recorder *recorder);

// False: the recording has ended, and a log line said why.
bool recorder_is_on(const struct recorder *recorder);

// All of the following accept NULL, and do nothing once the recording has ended. What they are
// given is borrowed for the call.

// Writes the first line and the settings: once, before all others.
void recorder_begin(struct recorder *recorder, const struct controller *const *items, size_t count);
void recorder_add_settings(struct recorder *recorder); // they are others now
// `model` is the place of a controller that has it.
// An object came to the shared model, or went from it; `settling` and `renewal` are those of
// struct shared_model.
void recorder_add_put(struct recorder *recorder, size_t model, const struct object *object,
                      bool is_gone);
void recorder_add_settling(struct recorder *recorder, size_t model, int64_t now_ms);
void recorder_add_renewal(struct recorder *recorder, size_t model);
// The zone of an object was published as that version; which servers have it is known anew.
void recorder_add_published(struct recorder *recorder, size_t model, const struct object *object,
                            const struct zone *zone);
void recorder_add_servers(struct recorder *recorder, size_t model, const struct object *object,
                          const char *group, const struct server_view *servers, size_t count);
struct recorder_reconciliation {
    const struct controller *controller;
    size_t place; // of the controller
    void *model;  // NULL: it has none
    const struct snapshot *snapshot;
    const struct decision *decision;
};
// Writes the objects of the snapshot that the file does not have yet, and then the reconciliation.
void recorder_add_reconciliation(struct recorder *recorder,
                                 const struct recorder_reconciliation *reconciliation);
