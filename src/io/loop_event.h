#pragma once

#include <event2/event.h>

#include "io/loop.h"

// Private to this room: the event_base under a loop made by loop_new, for what libevent brings
// along itself (evhttp, bufferevents). Borrowed. A loop of another kind is a mistake of the caller.
struct event_base *loop_event_base(struct loop *loop);
