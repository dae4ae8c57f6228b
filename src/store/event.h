#pragma once

// Reasons of Events, each with what it says to people, the objects that carry it, and its type.
// Whoever reports Events of its own has a table of them beside its code; the reference lists all.
//
//     #include "store/events.def"
//     ... .reason = EVENT_CA_BUNDLE_REPAIRED ...

#define EVENT(id, text, objects, type, doc)                                                        \
    static const char EVENT_##id[] __attribute__((unused)) = text;
