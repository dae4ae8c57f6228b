#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

// The one loop that everything runs on: time, timers, descriptors, signals, deferred calls. The
// product has the libevent one (loop_new); tests/model has a twin on a virtual clock. Nothing above
// io calls a clock by itself: it asks the loop. Single-threaded; no call blocks but loop_run.

struct loop;
typedef void loop_call(void *context);

// Storage for one timer, owned by the user, zeroed before first use.
struct loop_timer {
    loop_call *call;
    void *context;
    void *handle; // the loop's own
    // Its delay runs on while the machine is suspended, and once it is over nothing else is called
    // before it, whatever became ready while the process was stopped.
    bool goes_first;
};

enum loop_interest { LOOP_READ = 1, LOOP_WRITE = 2 };
typedef void loop_fd_call(void *context, int fd, unsigned interest);
struct loop_fd; // a watched descriptor

struct loop_ops {
    int64_t (*mono_ms)(struct loop *loop); // CLOCK_BOOTTIME
    int64_t (*unix_ms)(struct loop *loop); // wall clock
    void (*timer_set)(struct loop *loop, struct loop_timer *timer, int64_t delay_ms);
    void (*timer_cancel)(struct loop *loop, struct loop_timer *timer);
    void (*defer)(struct loop *loop, loop_call *call, void *context);
    struct loop_fd *(*watch_fd)(struct loop *loop, int fd, unsigned interest, loop_fd_call *call,
                                void *context);
    void (*unwatch_fd)(struct loop *loop, struct loop_fd *watched);
    void (*watch_signal)(struct loop *loop, int number, loop_call *call, void *context);
    void (*run)(struct loop *loop);
    void (*stop)(struct loop *loop);
    void (*free)(struct loop *loop);
};
// First member of every loop.
struct loop {
    const struct loop_ops *ops;
};

// The libevent loop. SIGPIPE is ignored from here on.
struct loop *loop_new(void);
void loop_free(struct loop *loop); // accepts NULL; pending deferred calls are dropped

// Milliseconds that never step back (suspend included); the origin is arbitrary.
static inline int64_t loop_mono_ms(struct loop *loop)
{
    return loop->ops->mono_ms(loop);
}
// Milliseconds since 1970, UTC; may step.
static inline int64_t loop_unix_ms(struct loop *loop)
{
    return loop->ops->unix_ms(loop);
}
// (Re)arms: one call after delay_ms (>= 0), never early. The last set wins. May be set from its own
// call; a timer that has fired keeps nothing and may be freed, also in its own call. Delays (but of
// one that goes first) do not run on while the machine is suspended: who must know asks
// loop_mono_ms when it fires.
static inline void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t delay_ms)
{
    loop->ops->timer_set(loop, timer, delay_ms);
}
// Also frees what the loop kept for it; fine on a timer that was never set.
static inline void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    loop->ops->timer_cancel(loop, timer);
}
// Runs once, soon, never from within this call; in order of deferral.
static inline void loop_defer(struct loop *loop, loop_call *call, void *context)
{
    loop->ops->defer(loop, call, context);
}
// Level-triggered and persistent: called as long as the descriptor is ready. It stays the caller's;
// unwatch it before it is closed.
static inline struct loop_fd *loop_watch_fd(struct loop *loop, int fd, unsigned interest,
                                            loop_fd_call *call, void *context)
{
    return loop->ops->watch_fd(loop, fd, interest, call, context);
}
// Accepts NULL. No call follows, also when made from within the watch's own call.
static inline void loop_unwatch_fd(struct loop *loop, struct loop_fd *watched)
{
    loop->ops->unwatch_fd(loop, watched);
}
// Persistent. One call per number.
static inline void loop_watch_signal(struct loop *loop, int number, loop_call *call, void *context)
{
    loop->ops->watch_signal(loop, number, call, context);
}
// Until loop_stop; at once when that was called before.
static inline void loop_run(struct loop *loop)
{
    loop->ops->run(loop);
}
static inline void loop_stop(struct loop *loop)
{
    loop->ops->stop(loop);
}
