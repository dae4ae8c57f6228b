#include <stdlib.h>

#include "base/memory.h"
#include "base/must.h"
#include "store/cluster/write_private.h"

enum {
    GROW_AFTER = 16, // successes
    ROW_MAX = 15,    // of a rank, while those of lower ranks wait
};

// So many wait: turns wait, too, until there is room.
static const struct {
    size_t full;
    size_t room;
} limits[RANK_COUNT] = {
    [RANK_URGENT] = {128, 64}, [RANK_AHEAD] = {128, 64}, [RANK_BEHIND] = {1024, 512}};

static void pump(struct cluster *cluster);

// ---- life ---------------------------------------------------------------------------------------

static void write_free(struct write *write)
{
    loop_timer_cancel(write->cluster->world.loop, &write->timer);
    object_unref(write->object);
    free(write->path);
    free(write->name);
    free(write->body);
    free(write->kept);
    free(write->collection);
    free(write->grant_key);
    free(write->grant_value);
    free(write->clear);
    free(write->error);
    free(write);
}

static void leave_flight(struct write *write)
{
    struct writes *writes = &write->cluster->writes;
    list_remove(&writes->in_flight, write);
    writes->in_flight_count--;
}

// It is in no list any more.
static void deliver(struct write *write, const struct store_reply *reply)
{
    write->done(write->context, reply);
    write_free(write);
}

void writes_answer(struct write *write, const struct store_reply *reply)
{
    struct cluster *cluster = write->cluster;
    leave_flight(write);
    deliver(write, reply);
    pump(cluster);
}

static void name_object(const struct write *write, struct error *error)
{
    AUTO_BUFFER name = {0};
    if (write->name)
        error_prefix(error, "%s: ", write->name);
    if (!write->object)
        return;
    object_write_name(&name, write->object);
    error_prefix(error, "%s %s: ", write->kind->kind->name, name.at);
}

void writes_fail(struct write *write, const struct error *error)
{
    struct store_reply reply = {.error = *error};
    name_object(write, &reply.error);
    writes_answer(write, &reply);
}

// ---- the window ---------------------------------------------------------------------------------

void writes_shrink_window(struct writes *writes)
{
    writes->window = writes->window > 1 ? writes->window / 2 : 1;
    writes->successes = 0;
}

void writes_grow_window(struct cluster *cluster)
{
    struct writes *writes = &cluster->writes;
    if (writes->window >= cluster->options.max_in_flight || ++writes->successes < GROW_AFTER)
        return;
    writes->window++;
    writes->successes = 0;
}

// ---- lines --------------------------------------------------------------------------------------

// Those of lower ranks have a turn now and then, however many of higher ranks come.
static enum write_rank next_rank(const struct writes *writes)
{
    enum write_rank best = RANK_COUNT;
    for (enum write_rank rank = RANK_BEHIND + 1; rank-- > RANK_URGENT;)
        if (list_first(&writes->waiting[rank].list) &&
            (best == RANK_COUNT || writes->waiting[rank].row < ROW_MAX))
            best = rank;
    return best == RANK_COUNT ? RANK_BEHIND : best;
}

// NULL: none.
static struct write *next_waiting(const struct writes *writes)
{
    return list_first(&writes->waiting[next_rank(writes)].list);
}

static struct write *take_waiting(struct writes *writes)
{
    enum write_rank rank = next_rank(writes);
    struct write_line *line = &writes->waiting[rank];
    struct write *write = list_take_first(&line->list);
    line->count--;
    line->row++;
    for (enum write_rank better = RANK_URGENT; better < rank; better++)
        writes->waiting[better].row = 0;
    return write;
}

static void add_waiting(struct writes *writes, struct write *write)
{
    struct write_line *line = &writes->waiting[write->rank];
    list_append(&line->list, write);
    line->is_full |= ++line->count >= limits[write->rank].full;
}

// A token bucket; 0 milliseconds: one may go now, and has been taken.
static int64_t wait_for_token(struct cluster *cluster)
{
    struct writes *writes = &cluster->writes;
    const struct cluster_options *options = &cluster->options;
    int64_t now_ms = loop_mono_ms(cluster->world.loop);
    if (!options->rate)
        return 0;
    writes->tokens += (double)(now_ms - writes->filled_ms) * options->rate / 1000.0;
    if (writes->tokens > options->burst)
        writes->tokens = options->burst;
    writes->filled_ms = now_ms;
    if (!writes->held_since_ms)
        writes->held_since_ms = now_ms;
    if (writes->tokens < 1)
        return 1 + (int64_t)((1 - writes->tokens) * 1000.0 / options->rate);
    api_count_wait(cluster->api, write_forms[next_waiting(writes)->type].method,
                   now_ms - writes->held_since_ms);
    writes->held_since_ms = 0;
    writes->tokens -= 1;
    return 0;
}

static void standby_error(struct error *error)
{
    error_set(error, FAULT_AGAIN, "Standby",
              "another process holds the lease; only that one writes");
}

void writes_refuse_standby(struct write *write)
{
    struct error error;
    standby_error(&error);
    writes_fail(write, &error);
}

bool write_may_be_sent(const struct write *write)
{
    return write->type == WRITE_GET || write->is_of_any_replica ||
           cluster_may_write_now(write->cluster);
}

bool writes_are_full(const struct cluster *cluster, bool is_urgent)
{
    const struct write_line *lines = cluster->writes.waiting;
    return is_urgent ? lines[RANK_URGENT].is_full
                     : lines[RANK_URGENT].is_full || lines[RANK_AHEAD].is_full ||
                           lines[RANK_BEHIND].is_full;
}

// Those that are urgent need not wait for the others' room.
static void report_room(struct cluster *cluster)
{
    bool was_full[] = {writes_are_full(cluster, false), writes_are_full(cluster, true)};
    for (enum write_rank rank = RANK_URGENT; rank < RANK_COUNT; rank++)
        if (cluster->writes.waiting[rank].count <= limits[rank].room)
            cluster->writes.waiting[rank].is_full = false;
    if (was_full[false] != writes_are_full(cluster, false) ||
        was_full[true] != writes_are_full(cluster, true))
        cluster->sink.room(cluster->sink.context);
}

static void send_waiting(struct cluster *cluster)
{
    struct writes *writes = &cluster->writes;
    while (next_waiting(writes) && writes->in_flight_count < writes->window) {
        int64_t wait_ms = wait_for_token(cluster);
        if (wait_ms) {
            loop_timer_set(cluster->world.loop, &writes->timer, wait_ms);
            return;
        }
        struct write *write = take_waiting(writes);
        list_prepend(&writes->in_flight, write);
        writes->in_flight_count++;
        if (write_may_be_sent(write))
            write_send(write);
        else
            writes_refuse_standby(write);
    }
}

// What is refused at once is answered from within: the next of them has its turn in the same round.
static void pump(struct cluster *cluster)
{
    struct writes *writes = &cluster->writes;
    if (writes->is_pumping)
        return;
    writes->is_pumping = true;
    send_waiting(cluster);
    writes->is_pumping = false;
    report_room(cluster);
}

static void pump_soon(void *context)
{
    pump(context);
}

void writes_enqueue(struct write *write)
{
    struct cluster *cluster = write->cluster;
    struct writes *writes = &cluster->writes;
    add_waiting(writes, write);
    writes->timer.call = pump_soon;
    writes->timer.context = cluster;
    if (writes->in_flight_count < writes->window)
        loop_timer_set(cluster->world.loop, &writes->timer, 0);
}

// ---- the end ------------------------------------------------------------------------------------

void writes_fence(struct cluster *cluster)
{
    struct writes *writes = &cluster->writes;
    LIST_OF(struct write) fenced = {0};
    list_each (write, &writes->in_flight)
        if (write->type != WRITE_GET && !write->is_of_any_replica) {
            leave_flight(write);
            list_prepend(&fenced, write);
        }
    for (struct write *write; (write = list_take_first(&fenced));) {
        struct store_reply reply = {0};
        if (write->call)
            api_cancel(cluster->api, write->call);
        standby_error(&reply.error);
        name_object(write, &reply.error);
        deliver(write, &reply);
    }
    pump(cluster);
}

void writes_done(struct cluster *cluster)
{
    struct writes *writes = &cluster->writes;
    while (next_waiting(writes))
        write_free(take_waiting(writes));
    list_each (write, &writes->in_flight) {
        if (write->call)
            api_cancel(cluster->api, write->call);
        write_free(write);
    }
    loop_timer_cancel(cluster->world.loop, &writes->timer);
}
