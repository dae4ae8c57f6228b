#include "model/virtual_loop.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"

enum {
    SIGNALS_MAX = 8,
    ROUNDS_MAX = 1000000, // without a move of the clock
};

// What a timer's handle points to.
struct alarm {
    int64_t due_ms;
    uint64_t sequence;
    size_t at; // in the heap
    struct loop_timer *timer;
};

struct deferred {
    loop_call *call;
    void *context;
};

struct deferred_list {
    struct deferred *items;
    size_t count;
    size_t capacity;
};

struct loop_fd {
    int fd;
    unsigned interest;
    loop_fd_call *call;
    void *context;
};

struct signal_watch {
    int number;
    loop_call *call;
    void *context;
};

struct virtual_loop {
    struct loop loop;
    int64_t mono_ms;
    int64_t unix_minus_mono_ms;
    int64_t look_ms; // that a look at the clock takes
    uint64_t sequence;
    struct alarm **heap; // earliest first
    size_t heap_count;
    size_t heap_capacity;
    struct deferred_list waiting;
    struct deferred_list running;
    size_t next;              // in running
    struct loop_fd **watched; // in order of watching; NULL where one was given up
    size_t watched_count;
    size_t watched_capacity;
    struct signal_watch signals[SIGNALS_MAX];
    size_t signal_count;
    unsigned rounds;
    bool is_stopped;
    bool was_stopped;
};

static const struct loop_ops virtual_ops;

static struct virtual_loop *of(struct loop *loop)
{
    must(loop->ops == &virtual_ops);
    return (struct virtual_loop *)loop;
}

static const struct virtual_loop *of_const(const struct loop *loop)
{
    must(loop->ops == &virtual_ops);
    return (const struct virtual_loop *)loop;
}

static int64_t virtual_mono_ms(struct loop *loop)
{
    struct virtual_loop *self = of(loop);
    int64_t now_ms = self->mono_ms;
    self->mono_ms += self->look_ms;
    return now_ms;
}

static int64_t virtual_unix_ms(struct loop *loop)
{
    return of(loop)->mono_ms + of(loop)->unix_minus_mono_ms;
}

static bool is_before(const struct alarm *a, const struct alarm *b)
{
    if (a->due_ms != b->due_ms)
        return a->due_ms < b->due_ms;
    if (a->timer->goes_first != b->timer->goes_first)
        return a->timer->goes_first;
    return a->sequence < b->sequence;
}

static void heap_put(struct virtual_loop *self, size_t at, struct alarm *alarm)
{
    self->heap[at] = alarm;
    alarm->at = at;
}

static void heap_rise(struct virtual_loop *self, size_t at, struct alarm *alarm)
{
    for (; at > 0 && is_before(alarm, self->heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap_put(self, at, self->heap[(at - 1) / 2]);
    heap_put(self, at, alarm);
}

static void heap_sink(struct virtual_loop *self, size_t at, struct alarm *alarm)
{
    for (size_t child; (child = 2 * at + 1) < self->heap_count; at = child) {
        if (child + 1 < self->heap_count && is_before(self->heap[child + 1], self->heap[child]))
            child++;
        if (!is_before(self->heap[child], alarm))
            break;
        heap_put(self, at, self->heap[child]);
    }
    heap_rise(self, at, alarm);
}

static void heap_add(struct virtual_loop *self, struct alarm *alarm)
{
    mem_reserve(&self->heap, &self->heap_capacity, self->heap_count + 1);
    heap_rise(self, self->heap_count++, alarm);
}

static void heap_remove(struct virtual_loop *self, const struct alarm *alarm)
{
    struct alarm *last = self->heap[--self->heap_count];
    if (last != alarm)
        heap_sink(self, alarm->at, last);
}

static void virtual_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    struct alarm *alarm = timer->handle;
    if (!alarm)
        return;
    must(alarm->timer == timer); // a copied timer is a mistake
    heap_remove(of(loop), alarm);
    free(alarm);
    timer->handle = NULL;
}

static int64_t later(int64_t at_ms, int64_t delay_ms)
{
    return delay_ms < INT64_MAX - at_ms ? at_ms + delay_ms : INT64_MAX;
}

static void virtual_timer_set(struct loop *loop, struct loop_timer *timer, int64_t delay_ms)
{
    struct virtual_loop *self = of(loop);
    must(timer->call && delay_ms >= 0);
    virtual_timer_cancel(loop, timer);
    struct alarm *alarm = mem_new_of(struct alarm);
    alarm->due_ms = later(self->mono_ms, delay_ms);
    alarm->sequence = self->sequence++;
    alarm->timer = timer;
    timer->handle = alarm;
    heap_add(self, alarm);
}

static void move_clock(struct virtual_loop *self, int64_t mono_ms)
{
    if (mono_ms <= self->mono_ms)
        return;
    self->rounds = 0;
    self->mono_ms = mono_ms;
}

static bool fire_earliest(struct virtual_loop *self)
{
    if (self->heap_count == 0)
        return false;
    struct loop_timer *timer = self->heap[0]->timer;
    move_clock(self, self->heap[0]->due_ms);
    virtual_timer_cancel(&self->loop, timer);
    timer->call(timer->context);
    return true;
}

// What goes first is at the top as soon as it is due: a suspended machine holds all others.
static bool fire_first(struct virtual_loop *self)
{
    const struct alarm *top = self->heap_count ? self->heap[0] : NULL;
    return top && top->timer->goes_first && top->due_ms <= self->mono_ms && fire_earliest(self);
}

static void virtual_defer(struct loop *loop, loop_call *call, void *context)
{
    struct deferred_list *waiting = &of(loop)->waiting;
    mem_reserve(&waiting->items, &waiting->capacity, waiting->count + 1);
    waiting->items[waiting->count++] = (struct deferred){call, context};
}

static bool run_deferred(struct virtual_loop *self)
{
    if (self->next == self->running.count) {
        struct deferred_list done = self->running;
        done.count = self->next = 0;
        self->running = self->waiting;
        self->waiting = done;
    }
    bool has_run = false;
    while (self->next < self->running.count && !self->is_stopped) {
        struct deferred deferred = self->running.items[self->next++];
        deferred.call(deferred.context);
        has_run = true;
    }
    return has_run;
}

static struct loop_fd *virtual_watch_fd(struct loop *loop, int fd, unsigned interest,
                                        loop_fd_call *call, void *context)
{
    struct virtual_loop *self = of(loop);
    must(fd >= 0 && interest && call);
    struct loop_fd *watched = mem_new_of(struct loop_fd);
    *watched = (struct loop_fd){fd, interest, call, context};
    mem_reserve(&self->watched, &self->watched_capacity, self->watched_count + 1);
    self->watched[self->watched_count++] = watched;
    return watched;
}

// Its place stays empty until the next poll: one may be under way.
static void virtual_unwatch_fd(struct loop *loop, struct loop_fd *watched)
{
    struct virtual_loop *self = of(loop);
    if (!watched)
        return;
    size_t i = 0;
    while (i < self->watched_count && self->watched[i] != watched)
        i++;
    must(i < self->watched_count);
    self->watched[i] = NULL;
    free(watched);
}

static void close_gaps(struct virtual_loop *self)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->watched_count; i++)
        if (self->watched[i])
            self->watched[kept++] = self->watched[i];
    self->watched_count = kept;
}

static short events_of(unsigned interest)
{
    return (short)((interest & LOOP_READ ? POLLIN : 0) | (interest & LOOP_WRITE ? POLLOUT : 0));
}

// A broken or closed descriptor is ready for whatever is wanted, as with epoll.
static unsigned ready_for(unsigned interest, short events)
{
    must(!(events & POLLNVAL)); // closed before it was unwatched
    if (events & (POLLERR | POLLHUP))
        return interest;
    return (events & POLLIN ? LOOP_READ : 0U) | (events & POLLOUT ? LOOP_WRITE : 0U);
}

static bool run_ready_fds(struct virtual_loop *self)
{
    close_gaps(self);
    size_t count = self->watched_count;
    autofree struct pollfd *polled = mem_new_array(struct pollfd, count);
    for (size_t i = 0; i < count; i++) {
        polled[i].fd = self->watched[i]->fd;
        polled[i].events = events_of(self->watched[i]->interest);
    }
    bool has_run = false;
    int ready = count ? poll(polled, count, 0) : 0;
    for (size_t i = 0; ready > 0 && i < count && !self->is_stopped; i++) {
        const struct loop_fd *watched = self->watched[i];
        if (!polled[i].revents || !watched)
            continue;
        watched->call(watched->context, watched->fd,
                      ready_for(watched->interest, polled[i].revents));
        has_run = true;
    }
    return has_run;
}

static bool run_what_is_ready(struct virtual_loop *self)
{
    must(++self->rounds < ROUNDS_MAX);
    if (fire_first(self))
        return true;
    bool has_run = run_deferred(self);
    if (self->is_stopped)
        return has_run;
    return run_ready_fds(self) || has_run;
}

static void virtual_watch_signal(struct loop *loop, int number, loop_call *call, void *context)
{
    struct virtual_loop *self = of(loop);
    must(self->signal_count < SIGNALS_MAX);
    self->signals[self->signal_count++] = (struct signal_watch){number, call, context};
}

static bool take_stop(struct virtual_loop *self)
{
    self->was_stopped = self->is_stopped;
    self->is_stopped = false;
    return self->was_stopped;
}

static void virtual_run(struct loop *loop)
{
    struct virtual_loop *self = of(loop);
    while (!take_stop(self))
        if (!virtual_loop_step(loop))
            return;
}

static void virtual_stop(struct loop *loop)
{
    of(loop)->is_stopped = true;
}

static void virtual_free(struct loop *loop)
{
    struct virtual_loop *self = of(loop);
    for (size_t i = 0; i < self->heap_count; i++)
        free(self->heap[i]);
    for (size_t i = 0; i < self->watched_count; i++)
        free(self->watched[i]);
    free(self->heap);
    free(self->waiting.items);
    free(self->running.items);
    free(self->watched);
    free(self);
}

static const struct loop_ops virtual_ops = {
    .mono_ms = virtual_mono_ms,
    .unix_ms = virtual_unix_ms,
    .timer_set = virtual_timer_set,
    .timer_cancel = virtual_timer_cancel,
    .defer = virtual_defer,
    .watch_fd = virtual_watch_fd,
    .unwatch_fd = virtual_unwatch_fd,
    .watch_signal = virtual_watch_signal,
    .run = virtual_run,
    .stop = virtual_stop,
    .free = virtual_free,
};

struct loop *virtual_loop_new(int64_t unix_ms)
{
    struct virtual_loop *self = mem_new_of(struct virtual_loop);
    self->loop.ops = &virtual_ops;
    self->mono_ms = VIRTUAL_LOOP_START_MS;
    self->unix_minus_mono_ms = unix_ms - VIRTUAL_LOOP_START_MS;
    return &self->loop;
}

bool virtual_loop_step(struct loop *loop)
{
    struct virtual_loop *self = of(loop);
    if (run_what_is_ready(self) || (!self->is_stopped && fire_earliest(self)))
        return true;
    self->rounds = 0;
    return false;
}

void virtual_loop_run_until(struct loop *loop, int64_t mono_ms)
{
    struct virtual_loop *self = of(loop);
    must(mono_ms + self->look_ms >= self->mono_ms);
    while (!take_stop(self)) {
        if (run_what_is_ready(self) || self->is_stopped)
            continue;
        if (self->heap_count == 0 || self->heap[0]->due_ms > mono_ms) {
            move_clock(self, mono_ms);
            self->rounds = 0;
            return;
        }
        fire_earliest(self);
    }
}

bool virtual_loop_is_stopped(const struct loop *loop)
{
    return of_const(loop)->is_stopped || of_const(loop)->was_stopped;
}

int64_t virtual_loop_next_ms(const struct loop *loop)
{
    const struct virtual_loop *self = of_const(loop);
    return self->heap_count ? self->heap[0]->due_ms : -1;
}

size_t virtual_loop_timer_count(const struct loop *loop)
{
    return of_const(loop)->heap_count;
}

void virtual_loop_jump_wall(struct loop *loop, int64_t delta_ms)
{
    of(loop)->unix_minus_mono_ms += delta_ms;
}

void virtual_loop_suspend(struct loop *loop, int64_t delta_ms)
{
    struct virtual_loop *self = of(loop);
    must(delta_ms >= 0);
    for (size_t i = 0; i < self->heap_count; i++)
        if (!self->heap[i]->timer->goes_first)
            self->heap[i]->due_ms = later(self->heap[i]->due_ms, delta_ms);
    for (size_t i = 0; i < self->heap_count; i++)
        heap_rise(self, i, self->heap[i]);
    move_clock(self, self->mono_ms + delta_ms);
}

void virtual_loop_stall(struct loop *loop, int64_t delta_ms)
{
    struct virtual_loop *self = of(loop);
    must(delta_ms >= 0);
    move_clock(self, self->mono_ms + delta_ms);
    for (size_t i = 0; i < self->heap_count; i++)
        if (self->heap[i]->timer->goes_first && self->heap[i]->due_ms <= self->mono_ms)
            self->heap[i]->due_ms = 0;
    for (size_t i = 0; i < self->heap_count; i++)
        heap_rise(self, i, self->heap[i]);
}

void virtual_loop_slow_down(struct loop *loop, int64_t look_ms)
{
    of(loop)->look_ms = look_ms;
}

bool virtual_loop_has_due(const struct loop *loop)
{
    const struct virtual_loop *self = of_const(loop);
    return self->waiting.count || self->next < self->running.count ||
           (self->heap_count && self->heap[0]->due_ms <= self->mono_ms);
}

bool virtual_loop_signal(struct loop *loop, int number)
{
    const struct virtual_loop *self = of(loop);
    for (size_t i = 0; i < self->signal_count; i++) {
        if (self->signals[i].number != number)
            continue;
        self->signals[i].call(self->signals[i].context);
        return true;
    }
    return false;
}

void virtual_loop_drop_deferred(struct loop *loop)
{
    struct virtual_loop *self = of(loop);
    self->next = self->running.count = 0;
    self->waiting.count = 0;
}
