#include "store/event.h"

#include "base/must.h"

static const char *const names[] = {
#define EVENT(id, text, objects, type, doc) [EVENT_##id] = (text),
#include "store/events.def"
#undef EVENT
};

const char *event_reason_name(enum event_reason reason)
{
    must(reason < EVENT_REASONS);
    return names[reason];
}
