#include "io/loop.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/loop_event.h"

enum { SIGNALS_MAX = 8, FIRST_MAX = 8 };

struct deferred {
    loop_call *call;
    void *context;
};

struct deferred_list {
    struct deferred *items;
    size_t count;
    size_t capacity;
};

struct signal_watch {
    struct event *event;
    loop_call *call;
    void *context;
};

struct first_timer {
    struct loop_timer *timer;
    int64_t due_ms;
};

struct event_loop {
    struct loop loop;
    struct event_base *base;
    struct deferred_list waiting;
    struct deferred_list running;
    size_t next; // in running
    struct signal_watch signals[SIGNALS_MAX];
    size_t signal_count;
    struct first_timer first[FIRST_MAX];
    size_t first_count;
    bool is_stopped;
};

struct alarm {
    struct event_loop *loop;
    struct event *event;
    struct loop_timer *timer;
};

struct loop_fd {
    struct event_loop *loop;
    struct event *event;
    loop_fd_call *call;
    void *context;
};

static struct event_loop *of(struct loop *loop)
{
    return (struct event_loop *)loop;
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    must(clock_gettime(clock, &now) == 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t event_mono_ms(struct loop *loop)
{
    (void)loop;
    return clock_ms(CLOCK_BOOTTIME);
}

static int64_t event_unix_ms(struct loop *loop)
{
    (void)loop;
    return clock_ms(CLOCK_REALTIME);
}

static void first_forget(struct event_loop *self, const struct loop_timer *timer)
{
    for (size_t i = 0; i < self->first_count; i++)
        if (self->first[i].timer == timer) {
            self->first[i] = self->first[--self->first_count];
            return;
        }
}

static void event_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    if (timer->goes_first)
        first_forget(of(loop), timer);
    if (timer->handle)
        event_del(((struct alarm *)timer->handle)->event);
    free(timer->handle);
    timer->handle = NULL;
}

static void fire(struct event_loop *self, struct loop_timer *timer)
{
    // Freed first: the call may set the timer again, or free what it lies in.
    event_timer_cancel(&self->loop, timer);
    timer->call(timer->context);
}

static struct loop_timer *first_due(const struct event_loop *self)
{
    int64_t now_ms = self->first_count ? clock_ms(CLOCK_BOOTTIME) : 0;
    for (size_t i = 0; i < self->first_count; i++)
        if (self->first[i].due_ms <= now_ms)
            return self->first[i].timer;
    return NULL;
}

static bool fire_first(struct event_loop *self)
{
    struct loop_timer *timer = first_due(self);
    if (timer)
        fire(self, timer);
    return timer;
}

static void alarm_set(struct alarm *alarm, int64_t delay_ms)
{
    // libevent cuts its clock to microseconds; one more keeps a timer from firing early.
    struct timeval delay = {.tv_sec = (time_t)(delay_ms / 1000),
                            .tv_usec = (suseconds_t)(delay_ms % 1000 * 1000 + 1)};
    must(evtimer_add(alarm->event, &delay) == 0);
}

static void timer_fired(evutil_socket_t fd, short what, void *context)
{
    struct alarm *alarm = context;
    struct event_loop *self = alarm->loop;
    (void)fd, (void)what;
    struct loop_timer *first = first_due(self);
    if (!first || alarm->timer->goes_first) {
        fire(self, alarm->timer);
        return;
    }
    alarm_set(alarm, 0); // the other may cancel it
    fire(self, first);
}

static int64_t after(int64_t at_ms, int64_t delay_ms)
{
    return delay_ms < INT64_MAX - at_ms ? at_ms + delay_ms : INT64_MAX;
}

static struct alarm *alarm_new(struct event_loop *self, struct loop_timer *timer)
{
    struct alarm *alarm = mem_new(1, sizeof *alarm + event_get_struct_event_size());
    *alarm = (struct alarm){.loop = self, .event = (struct event *)(alarm + 1), .timer = timer};
    must(event_assign(alarm->event, self->base, -1, 0, timer_fired, alarm) == 0);
    return alarm;
}

static void event_timer_set(struct loop *loop, struct loop_timer *timer, int64_t delay_ms)
{
    struct event_loop *self = of(loop);
    must(delay_ms >= 0 && timer->call);
    if (!timer->handle)
        timer->handle = alarm_new(self, timer);
    alarm_set(timer->handle, delay_ms);
    if (!timer->goes_first)
        return;
    first_forget(self, timer);
    must(self->first_count < FIRST_MAX);
    self->first[self->first_count++] =
        (struct first_timer){timer, after(clock_ms(CLOCK_BOOTTIME) + 1, delay_ms)};
}

static void event_defer(struct loop *loop, loop_call *call, void *context)
{
    struct deferred_list *waiting = &of(loop)->waiting;
    mem_reserve(&waiting->items, &waiting->capacity, waiting->count + 1);
    waiting->items[waiting->count++] = (struct deferred){call, context};
}

static void fd_ready(evutil_socket_t fd, short what, void *context)
{
    const struct loop_fd *watched = context;
    if (fire_first(watched->loop))
        return; // level-triggered: this one comes again, if it is still watched
    unsigned interest = (what & EV_READ ? LOOP_READ : 0U) | (what & EV_WRITE ? LOOP_WRITE : 0U);
    watched->call(watched->context, fd, interest);
}

static struct loop_fd *event_watch_fd(struct loop *loop, int fd, unsigned interest,
                                      loop_fd_call *call, void *context)
{
    must(fd >= 0 && interest && call);
    struct loop_fd *watched = mem_new_of(struct loop_fd);
    short what = (short)(EV_PERSIST | (interest & LOOP_READ ? EV_READ : 0) |
                         (interest & LOOP_WRITE ? EV_WRITE : 0));
    *watched = (struct loop_fd){.loop = of(loop), .call = call, .context = context};
    watched->event = event_new(of(loop)->base, fd, what, fd_ready, watched);
    must(watched->event && event_add(watched->event, NULL) == 0);
    return watched;
}

static void event_unwatch_fd(struct loop *loop, struct loop_fd *watched)
{
    (void)loop;
    if (!watched)
        return;
    event_free(watched->event);
    free(watched);
}

static void signal_came(evutil_socket_t number, short what, void *context)
{
    struct signal_watch *watch = context;
    (void)number, (void)what;
    watch->call(watch->context);
}

static void event_watch_signal(struct loop *loop, int number, loop_call *call, void *context)
{
    struct event_loop *self = of(loop);
    must(self->signal_count < SIGNALS_MAX);
    struct signal_watch *watch = &self->signals[self->signal_count++];
    *watch = (struct signal_watch){.call = call, .context = context};
    watch->event = evsignal_new(self->base, number, signal_came, watch);
    must(watch->event && evsignal_add(watch->event, NULL) == 0);
}

// What is deferred meanwhile waits for the next round, so that descriptors and timers get theirs.
static void run_deferred(struct event_loop *self)
{
    if (self->next == self->running.count) {
        struct deferred_list done = self->running;
        done.count = self->next = 0;
        self->running = self->waiting;
        self->waiting = done;
    }
    while (self->next < self->running.count && !self->is_stopped) {
        if (fire_first(self))
            continue;
        struct deferred deferred = self->running.items[self->next++];
        deferred.call(deferred.context);
    }
}

static bool has_deferred(const struct event_loop *self)
{
    return self->waiting.count || self->next < self->running.count;
}

static void event_run(struct loop *loop)
{
    struct event_loop *self = of(loop);
    while (!self->is_stopped) {
        run_deferred(self);
        if (self->is_stopped)
            break;
        int flags = EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY;
        must(event_base_loop(self->base, flags | (has_deferred(self) ? EVLOOP_NONBLOCK : 0)) >= 0);
    }
    self->is_stopped = false;
}

static void event_stop(struct loop *loop)
{
    of(loop)->is_stopped = true;
    event_base_loopbreak(of(loop)->base);
}

static void event_loop_free(struct loop *loop)
{
    struct event_loop *self = of(loop);
    for (size_t i = 0; i < self->signal_count; i++)
        event_free(self->signals[i].event);
    event_base_free(self->base);
    free(self->waiting.items);
    free(self->running.items);
    free(self);
}

static const struct loop_ops event_ops = {
    .mono_ms = event_mono_ms,
    .unix_ms = event_unix_ms,
    .timer_set = event_timer_set,
    .timer_cancel = event_timer_cancel,
    .defer = event_defer,
    .watch_fd = event_watch_fd,
    .unwatch_fd = event_unwatch_fd,
    .watch_signal = event_watch_signal,
    .run = event_run,
    .stop = event_stop,
    .free = event_loop_free,
};

// Without the cached time, a delay counts from the call that sets it and not from the wake-up.
static struct event_base *base_new(void)
{
    struct event_config *config = event_config_new();
    must(config);
    must(event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER |
                                           EVENT_BASE_FLAG_NO_CACHE_TIME |
                                           EVENT_BASE_FLAG_NOLOCK) == 0);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    must(base);
    return base;
}

struct loop *loop_new(void)
{
    struct event_loop *self = mem_new_of(struct event_loop);
    self->loop.ops = &event_ops;
    self->base = base_new();
    must(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    return &self->loop;
}

void loop_free(struct loop *loop)
{
    if (loop)
        loop->ops->free(loop);
}

struct event_base *loop_event_base(struct loop *loop)
{
    must(loop->ops == &event_ops);
    return of(loop)->base;
}
