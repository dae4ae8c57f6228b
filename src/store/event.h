#pragma once

// Reasons of Events, the one table of them with what each says to people. Events.def has for each
// the objects that carry it, and its type.

enum event_reason {
#define EVENT(id, text, objects, type, doc) EVENT_##id,
#include "store/events.def"
#undef EVENT
    EVENT_REASONS,
};
const char *event_reason_name(enum event_reason reason); // "RecordCreated"
