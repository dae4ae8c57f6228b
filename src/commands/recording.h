#pragma once

#include "commands/setup.h"
#include "engine/recorder.h"

// The settings of controllers in a recording: the options that they came of, and the files that
// those name, as far as subjects say that no secret stands in one (subject.settings_file).

// `signpost run --record FOLDER`. *out NULL: it was not given.
bool recording_open(struct setup *setup, const struct world *world, struct log *log,
                    const struct store *store, struct recorder **out, struct error *err);

// Settings that were made of what a recording says.
struct recorded_settings;
// `described` is borrowed. What stands in the environment of this process counts for nothing.
struct recorded_settings *recorded_settings_new(const struct value *described, struct error *err);
void recorded_settings_free(struct recorded_settings *settings);
// The settings of the controller at that place of those that ran. False: they have none for it, or
// without others before it, on whose settings it lives.
bool recorded_settings_find(const struct recorded_settings *settings,
                            const struct controller *const *items, size_t at, const void **out);
