#pragma once

#include "engine/recording.h"

struct replay;

// Makes the reconciliations of a recording (engine/recorder.h) again, line by line, and holds each
// decision against the recorded one. Nothing is read but the lines, and nothing is written.
//
//     struct replay *replay = replay_new(&options);
//     while (next_line(&text) && replay_line(replay, text, &err))
//         ...
//     replay_free(replay);

// A reconciliation that was made again. Borrowed.
struct replayed {
    const struct controller *controller;
    struct text namespace_; // of the key
    struct text name;
    struct text trace;
    int64_t now_ms;               // Unix
    const struct value *snapshot; // objects are numbers, see replay_object()
    const struct value *recorded; // the decision as it stands there
    const struct value *decision; // as it is made here
    bool is_same;                 // to the octet
};

struct replay_options {
    // What this program has; of the controllers those, too, that they bring.
    const struct kind *const *kinds;
    size_t kind_count;
    const struct controller *const *controllers;
    size_t controller_count;
    // Makes the settings of all controllers from how they were described; `out` has room for those
    // of each. What they point to lives until replay_free(): shared models keep it.
    bool (*settle)(void *context, const struct value *described,
                   const struct controller *const *controllers, size_t count, const void **out,
                   struct error *err);
    void (*reconciled)(void *context, const struct replay *replay, const struct replayed *replayed);
    void *context;
};
struct replay *replay_new(const struct replay_options *options);
void replay_free(struct replay *replay); // accepts NULL
DEFINE_CLEANUP(replay, replay_free)
// The whole object of that number, as it was; in the arena. NULL: no line before has it.
const struct value *replay_object(const struct replay *replay, struct arena *arena, int64_t number);
// One line, without its line feed. False: it is none of a recording that this program can read.
bool replay_line(struct replay *replay, struct text line, struct error *err);
