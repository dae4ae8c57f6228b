#pragma once

#include "scenarios/stage.h"

// A process on a stage that is recorded (engine/recorder.h), from its start to its end, when its
// reconciliations are made again from the recording alone.

// After the store is open, before there is an engine.
struct recorder *stage_recording_new(struct stage *stage);
// The process has ended. Appends what came out otherwise than it was recorded, a line for each.
void stage_recording_end(struct stage *stage, struct recorder *recorder, struct buffer *out);
