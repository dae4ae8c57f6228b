#include "store/cluster/lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/value.h"
#include "store/cluster/lease_object.h"
#include "store/cluster/test_server.h"
#include "store/cluster/watch.h"
#include "store/owner.h"
#include "store/store.h"

enum { UNIX_MS = 1767323045, PROCESSES = 2, TIMERS_MAX = 4, LINES_MAX = 64 };

// ---- the world ----------------------------------------------------------------------------------

// One API server with one Lease; processes that use it, each with a loop that can be stopped.

struct server {
    struct loop *loop;
    struct random random;
    uint64_t seed;
    struct arena *arena;
    struct value *lease; // NULL: not there
    int64_t version;
    int refuse_read; // status to answer with; 0: none
    int refuse_write;
    int refuse_namespace;
    int64_t retry_ms;
    bool is_cut;       // nothing arrives
    const char *keeps; // whatever is written, the Lease is that
    bool is_wild;      // delays and losses are drawn
    struct watch *watches;
};

struct shadow { // of a timer, on the real loop
    struct process *process;
    struct loop_timer real;
    struct loop_timer *user;
    bool is_due;
};

struct process {
    struct loop loop;
    struct server *server;
    struct world world;
    struct api api;
    struct shadow shadows[TIMERS_MAX];
    bool is_stopped;
    bool is_blind; // may not take the lease
    int64_t free_ms;
    struct lease *lease;
    struct log *log;
    char holder[24];
    char lines[LINES_MAX * 64]; // what was logged
    char owner[OWNER_ID_MAX + 1];
    char owner_error[ERROR_TEXT_MAX];
    unsigned owners;
    bool is_leading;
    bool is_in_flight; // led, and was not fenced since
    unsigned fences;
    bool is_released;
};

struct watch {
    struct server *server;
    struct watch_sink sink;
    bool is_started;
    struct watch *next;
    struct process *process;
};

static uint64_t draw(struct server *server, uint64_t limit)
{
    server->seed ^= server->seed << 13;
    server->seed ^= server->seed >> 7;
    server->seed ^= server->seed << 17;
    return (server->seed * 0x2545f4914f6cdd1d >> 20) % limit;
}

static void fill(struct random *random, void *out, size_t len)
{
    struct server *server = (struct server *)((char *)random - offsetof(struct server, random));
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)out)[i] = (uint8_t)draw(server, 256);
}

// ---- loops that stop ----------------------------------------------------------------------------

static struct process *process_of(struct loop *loop)
{
    return (struct process *)(void *)loop;
}

static int64_t process_mono(struct loop *loop)
{
    return loop_mono_ms(process_of(loop)->server->loop);
}

static int64_t process_unix(struct loop *loop)
{
    return loop_unix_ms(process_of(loop)->server->loop);
}

static void shadow_fired(void *context)
{
    struct shadow *shadow = context;
    struct loop_timer *user = shadow->user;
    shadow->is_due = shadow->process->is_stopped;
    if (shadow->is_due)
        return;
    shadow->user = NULL;
    user->call(user->context);
}

static struct shadow *shadow_find(struct process *process, const struct loop_timer *user)
{
    for (size_t i = 0; i < TIMERS_MAX; i++)
        if (process->shadows[i].user == user)
            return &process->shadows[i];
    return NULL;
}

static void process_cancel(struct loop *loop, struct loop_timer *timer)
{
    struct process *process = process_of(loop);
    struct shadow *shadow = shadow_find(process, timer);
    if (!shadow)
        return;
    loop_timer_cancel(process->server->loop, &shadow->real);
    shadow->user = NULL;
    shadow->is_due = false;
}

static void process_set(struct loop *loop, struct loop_timer *timer, int64_t delay_ms)
{
    struct process *process = process_of(loop);
    process_cancel(loop, timer);
    struct shadow *shadow = shadow_find(process, NULL);
    assert_non_null(shadow);
    shadow->process = process;
    shadow->user = timer;
    shadow->real = (struct loop_timer){.call = shadow_fired, .context = shadow};
    loop_timer_set(process->server->loop, &shadow->real, delay_ms);
}

static const struct loop_ops process_ops = {
    .mono_ms = process_mono,
    .unix_ms = process_unix,
    .timer_set = process_set,
    .timer_cancel = process_cancel,
};

static void process_stop(struct process *process)
{
    process->is_stopped = true;
    process->api.is_stopped = true;
}

// As libevent has it: what came in is heard before the timers that are due.
static void process_go_on(struct process *process)
{
    process->is_stopped = false;
    test_api_go_on(&process->api);
    for (size_t i = 0; i < TIMERS_MAX; i++)
        if (process->shadows[i].user && process->shadows[i].is_due)
            shadow_fired(&process->shadows[i]);
}

// ---- the server ---------------------------------------------------------------------------------

struct watch *watch_new(const struct watch_options *options, const struct watch_sink *sink)
{
    struct watch *watch = mem_new_of(struct watch);
    watch->process = process_of(options->world->loop);
    watch->server = watch->process->server;
    watch->sink = *sink;
    assert_string_equal(options->name, "signpost");
    return watch;
}

void watch_start(struct watch *watch)
{
    watch->is_started = true;
    watch->next = watch->server->watches;
    watch->server->watches = watch;
}

void watch_free(struct watch *watch)
{
    for (struct watch **at = &watch->server->watches; *at; at = &(*at)->next)
        if (*at == watch) {
            *at = watch->next;
            break;
        }
    free(watch);
}

struct news { // an event on its way to all watches
    struct loop_timer timer;
    struct server *server;
    struct arena *arena;
    const struct value *tree;
    bool is_deleted;
};

static void news_came(void *context)
{
    struct news *news = context;
    for (struct watch *watch = news->server->watches; watch; watch = watch->next)
        if (!watch->process->is_stopped && !news->server->is_cut)
            watch->sink.object(watch->sink.context, news->is_deleted, news->tree);
    arena_free(news->arena);
    free(news);
}

static void report_watches(struct server *server, bool is_deleted)
{
    struct news *news = mem_new_of(struct news);
    news->server = server;
    news->arena = arena_new();
    news->tree = value_copy(news->arena, server->lease);
    news->is_deleted = is_deleted;
    news->timer = (struct loop_timer){.call = news_came, .context = news};
    loop_timer_set(server->loop, &news->timer, server->is_wild ? (int64_t)draw(server, 4000) : 2);
}

static void stamp(struct server *server)
{
    char version[24];
    snprintf(version, sizeof version, "%lld", (long long)++server->version);
    value_set(value_find(server->lease, "metadata"), TEXT("resourceVersion"),
              value_make_text(server->arena, text_of(arena_copy_text(server->arena, version))));
}

static void server_keep(struct server *server, const char *json)
{
    struct arena *arena = arena_new();
    struct value *tree =
        value_read_json(arena, text_of(arena_copy_text(arena, json)), &value_reply_limits, NULL);
    assert_non_null(tree);
    arena_free(server->arena);
    server->arena = arena;
    server->lease = tree;
    stamp(server);
    report_watches(server, false);
}

static void server_delete(struct server *server)
{
    report_watches(server, true);
    server->lease = NULL;
}

static void answer(struct test_reply *reply, int status, const struct value *tree)
{
    reply->status = status;
    if (tree)
        value_write_json(&reply->body, tree);
}

static bool is_write(const struct api_call *call)
{
    return strcmp(call->method, "GET") != 0;
}

static void serve_write(struct server *server, const struct api_call *call,
                        struct test_reply *reply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *body =
        value_read_json(arena, text_of(call->body), &value_reply_limits, NULL);
    struct text version = value_text_at(body, "metadata.resourceVersion");
    bool is_post = !strcmp(call->method, "POST");
    assert_string_equal(call->path + strlen(call->path) - 22, "?fieldManager=signpost");
    if (is_post != !server->lease) {
        answer(reply, is_post ? 409 : 404, NULL);
        return;
    }
    if (!is_post &&
        !text_equal(version, value_text_at(server->lease, "metadata.resourceVersion"))) {
        answer(reply, version.len ? 409 : 422, NULL);
        return;
    }
    server_keep(server, server->keeps ? server->keeps : call->body);
    answer(reply, is_post ? 201 : 200, server->lease);
}

static void serve_namespace(const struct server *server, struct test_reply *reply)
{
    reply->status = server->refuse_namespace ? server->refuse_namespace : 200;
    if (reply->status == 200)
        buffer_add_text(&reply->body, "{\"metadata\":{\"uid\":\"1111-22\"}}");
}

static void serve(void *context, const struct api_call *call, struct test_reply *reply)
{
    struct process *process = context;
    struct server *server = process->server;
    int refusal = is_write(call) ? server->refuse_write : server->refuse_read;
    assert_string_equal(call->agent, "/leader-election");
    reply->retry_ms = server->retry_ms;
    if (!strcmp(call->path, "/api/v1/namespaces/kube-system"))
        serve_namespace(server, reply);
    else if (refusal)
        answer(reply, refusal, NULL);
    else if (is_write(call))
        serve_write(server, call, reply);
    else
        answer(reply, server->lease ? 200 : 404, server->lease);
}

static int64_t delay(void *context, bool is_reply)
{
    struct process *process = context;
    struct server *server = process->server;
    (void)is_reply;
    if (server->is_cut)
        return TEST_LOST;
    if (!server->is_wild)
        return 1;
    switch (draw(server, 16)) {
    case 0:
        return TEST_LOST;
    case 1:
        return (int64_t)draw(server, 20000);
    case 2:
        return (int64_t)draw(server, 3000);
    default:
        return (int64_t)draw(server, 50);
    }
}

// ---- processes ----------------------------------------------------------------------------------

static void on_leading(void *context, bool is_leading)
{
    struct process *process = context;
    assert_true(process->is_leading != is_leading);
    assert_true(!is_leading || process->owners);
    process->is_leading = is_leading;
    process->is_in_flight = process->is_in_flight || is_leading;
}

static void on_fenced(void *context)
{
    struct process *process = context;
    assert_false(process->is_leading);
    process->is_in_flight = false;
    process->fences++;
}

static void on_owner(void *context, const char *owner_id, const struct error *err)
{
    struct process *process = context;
    if (err) {
        snprintf(process->owner_error, sizeof process->owner_error, "%s", err->text);
        return;
    }
    process->owners++;
    snprintf(process->owner, sizeof process->owner, "%s", owner_id);
}

static void on_line(void *context, struct text line)
{
    struct process *process = context;
    size_t used = strlen(process->lines);
    snprintf(process->lines + used, sizeof process->lines - used, "%.*s", TEXT_ARGS(line));
}

static int64_t log_now(void *context)
{
    (void)context;
    return UNIX_MS * INT64_C(1000);
}

static void on_released(void *context)
{
    struct process *process = context;
    process->is_released = true;
}

struct setup {
    const char *owner_id;
    const char *namespaces;
    bool is_alone;
};

static bool may_take(void *context, int64_t free_ms)
{
    struct process *process = context;
    process->free_ms = free_ms;
    return !process->is_blind;
}

static void process_start(struct process *process, struct server *server, const char *holder,
                          const struct setup *setup)
{
    const struct log_sink sink = {on_line, log_now, process};
    *process = (struct process){.loop = {&process_ops}, .server = server};
    snprintf(process->holder, sizeof process->holder, "%s", holder);
    process->world = (struct world){.loop = &process->loop, .random = &server->random};
    process->api =
        (struct api){.loop = server->loop, .serve = serve, .delay = delay, .context = process};
    process->log = log_new(&sink, LOG_TEXTUAL, LOG_INFO);
    const struct lease_options options = {
        .world = &process->world,
        .log = server->is_wild ? NULL : process->log,
        .api = &process->api,
        .namespace_ = "dns",
        .name = "signpost",
        .holder = process->holder,
        .duration_ms = 15000,
        .renew_deadline_ms = 10000,
        .retry_ms = 2000,
        .is_elected = !setup || !setup->is_alone,
        .owner_id = setup ? setup->owner_id : NULL,
        .namespaces = setup && setup->namespaces ? setup->namespaces : "",
    };
    const struct lease_sink reported = {on_leading, on_fenced, on_owner, may_take, process};
    process->lease = lease_new(&options, &reported);
    lease_start(process->lease);
}

static void process_end(struct process *process)
{
    if (!process->lease)
        return;
    lease_free(process->lease);
    process->lease = NULL;
    test_api_done(&process->api);
    log_free(process->log);
}

struct bench {
    struct server server;
    struct process a;
    struct process b;
};

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->server.loop = virtual_loop_new(UNIX_MS * INT64_C(1000));
    bench->server.random.fill = fill;
    bench->server.seed = 7;
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    process_end(&bench->a);
    process_end(&bench->b);
    virtual_loop_run_until(bench->server.loop, loop_mono_ms(bench->server.loop) + 10000);
    size_t timers = virtual_loop_timer_count(bench->server.loop);
    loop_free(bench->server.loop);
    arena_free(bench->server.arena);
    free(bench);
    return timers ? -1 : 0;
}

static void pass(struct bench *bench, int64_t ms)
{
    virtual_loop_run_until(bench->server.loop, loop_mono_ms(bench->server.loop) + ms);
}

static void expect_holder(const struct bench *bench, const char *holder)
{
    struct text found = value_text_at(bench->server.lease, "spec.holderIdentity");
    if (!text_is(found, holder))
        fail_msg("held by \"%.*s\", not by \"%s\"", TEXT_ARGS(found), holder);
}

static struct text carried(const struct bench *bench)
{
    return value_text_at(bench->server.lease, "metadata.annotations[" LEASE_OWNER_ID "]");
}

// ---- holding ------------------------------------------------------------------------------------

static void the_first_makes_the_lease_and_leads(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    assert_true(bench->a.is_leading);
    assert_true(lease_may_write(bench->a.lease));
    assert_string_equal(lease_holder(bench->a.lease), "a_1");
    expect_holder(bench, "a_1");
}

static void a_renewal_is_one_write_each_retry_period(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 500);
    size_t count = bench->a.api.count;
    pass(bench, 20000);
    assert_int_equal(bench->a.api.count - count, 10);
    assert_int_equal(bench->a.fences, 0);
}

static void the_second_stands_by_and_names_the_first(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 60000);
    assert_true(bench->a.is_leading);
    assert_false(bench->b.is_leading);
    assert_false(lease_may_write(bench->b.lease));
    assert_string_equal(lease_holder(bench->b.lease), "a_1");
    assert_non_null(strstr(bench->b.lines, "standing by"));
    assert_true(lease_check(bench->b.lease).is_ok);
}

static void a_release_is_taken_over_at_once(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 60000);
    lease_release(bench->a.lease, on_released, &bench->a);
    assert_false(lease_may_write(bench->a.lease));
    pass(bench, 10);
    assert_true(bench->a.is_released);
    assert_false(bench->a.is_in_flight);
    assert_true(bench->b.is_leading);
    expect_holder(bench, "b_1");
    assert_int_equal(value_int_at(bench->server.lease, "spec.leaseTransitions", -1), 1);
    pass(bench, 60000);
    expect_holder(bench, "b_1");
}

static void who_may_take_the_lease_is_asked_with_the_time_since_when_it_is_free(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    assert_true(bench->a.is_leading);
    assert_int_equal(bench->a.free_ms, 0);
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 60000);
    int64_t end_ms = loop_mono_ms(bench->server.loop);
    process_end(&bench->a);
    pass(bench, 20000);
    assert_true(bench->b.is_leading);
    assert_in_range(bench->b.free_ms, end_ms + 13000, end_ms + 15010);
    process_start(&bench->a, &bench->server, "a_2", NULL);
    pass(bench, 60000);
    end_ms = loop_mono_ms(bench->server.loop);
    lease_release(bench->b.lease, on_released, &bench->b);
    pass(bench, 10);
    assert_true(bench->a.is_leading);
    assert_in_range(bench->a.free_ms, end_ms, end_ms + 10);
}

static void who_did_not_see_the_other_lead_is_asked_with_the_time_when_it_led_last(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 10000);
    int64_t stopped_ms = loop_mono_ms(bench->server.loop);
    process_stop(&bench->a);
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 30000);
    assert_true(bench->b.is_leading);
    lease_release(bench->b.lease, on_released, &bench->b);
    pass(bench, 10);
    process_go_on(&bench->a);
    pass(bench, 5000);
    assert_true(bench->a.is_leading);
    assert_in_range(bench->a.free_ms, stopped_ms - 2000, stopped_ms);
}

static void who_may_not_take_the_lease_is_asked_again_soon(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 10000);
    bench->b.is_blind = true;
    lease_release(bench->a.lease, on_released, &bench->a);
    pass(bench, 100);
    bench->b.is_blind = false;
    pass(bench, 170);
    assert_true(bench->b.is_leading);
    assert_null(strstr(bench->b.lines, "the lease is not taken"));
}

static void who_may_not_take_the_lease_waits_and_takes_it_later(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 30000);
    bench->a.is_blind = bench->b.is_blind = true;
    pass(bench, 60000);
    assert_true(bench->a.is_leading);
    process_end(&bench->a);
    pass(bench, 60000);
    assert_false(bench->b.is_leading);
    const char *said = strstr(bench->b.lines, "the lease is not taken until all watches are up");
    assert_non_null(said);
    assert_null(strchr(strchr(said, '\n') + 1, '\n'));
    bench->b.is_blind = false;
    pass(bench, 2100);
    assert_true(bench->b.is_leading);
    expect_holder(bench, "b_1");
}

// Nobody else can have led meanwhile.
static void who_did_not_lose_the_lease_renews_it_though_it_may_not_take_one(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 2500);
    bench->a.is_blind = bench->server.is_cut = true;
    pass(bench, 20000);
    assert_false(bench->a.is_leading);
    bench->server.is_cut = false;
    pass(bench, 10000);
    assert_true(bench->a.is_leading);
}

static void each_time_that_the_lease_is_not_taken_is_told_once(void **state)
{
    static const char held_back[] = "the lease is not taken";
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    process_start(&bench->b, &bench->server, "b_1", NULL);
    bench->b.is_blind = true;
    pass(bench, 5000);
    process_end(&bench->a);
    pass(bench, 30000);
    assert_string_equal(lease_check(bench->b.lease).text, "standing by until all watches are up");
    const char *first = strstr(bench->b.lines, held_back);
    assert_non_null(first);
    process_start(&bench->a, &bench->server, "a_2", NULL);
    pass(bench, 20000);
    assert_true(bench->a.is_leading);
    assert_string_equal(lease_check(bench->b.lease).text, "standing by");
    process_end(&bench->a);
    pass(bench, 30000);
    const char *second = strstr(first + 1, held_back);
    assert_non_null(second);
    assert_null(strstr(second + 1, held_back));
}

static void what_dies_is_followed_after_its_lease(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 30000);
    process_end(&bench->a);
    pass(bench, 12900);
    assert_false(bench->b.is_leading);
    pass(bench, 2500);
    assert_true(bench->b.is_leading);
}

static void a_lease_that_is_deleted_is_made_again_by_its_holder(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 5000);
    server_delete(&bench->server);
    pass(bench, 100);
    expect_holder(bench, "a_1");
    pass(bench, 30000);
    assert_true(bench->a.is_leading);
    assert_false(bench->b.is_in_flight);
}

static void what_others_write_into_the_lease_is_kept(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 500);
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *tree = value_copy(arena, bench->server.lease);
    value_set(value_at(tree, "metadata.annotations", NULL), TEXT("note"),
              value_make_text(arena, TEXT("mine")));
    AUTO_BUFFER json = {0};
    value_write_json(&json, tree);
    server_keep(&bench->server, json.at);
    pass(bench, 10000);
    assert_true(bench->a.is_leading);
    assert_int_equal(bench->a.fences, 0);
    assert_true(text_is(value_text_at(bench->server.lease, "metadata.annotations.note"), "mine"));
    AUTO_BUFFER metrics = {0};
    lease_write_metrics(bench->a.lease, &metrics);
    assert_non_null(strstr(metrics.at, "leader_election_slowpath_total{name=\"signpost\"} 1\n"));
}

static void an_update_that_is_lost_ends_no_hold(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    bench->server.is_cut = true;
    pass(bench, 4000);
    bench->server.is_cut = false;
    pass(bench, 30000);
    assert_true(bench->a.is_leading);
    assert_int_equal(bench->a.fences, 0);
}

static void a_standby_looks_again_after_a_look_that_failed_though_it_hears_renewals(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    bench->server.refuse_read = 503;
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 50);
    assert_non_null(strstr(bench->b.lines, "the lease could not be looked after"));
    bench->server.refuse_read = 0;
    pass(bench, 10000);
    assert_true(bench->a.is_leading);
    assert_non_null(strstr(bench->b.lines, "the lease is looked after again"));
    assert_true(lease_check(bench->b.lease).is_ok);
}

// ---- the fence ----------------------------------------------------------------------------------

static void without_renewals_nothing_begins_and_then_nothing_goes_on(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 2500); // renewed at 2 s
    bench->server.is_cut = true;
    pass(bench, 9000);
    assert_true(lease_may_write(bench->a.lease));
    pass(bench, 1010);
    assert_false(lease_may_write(bench->a.lease));
    assert_false(bench->a.is_leading);
    assert_true(bench->a.is_in_flight);
    assert_true(lease_may_go_on(bench->a.lease));
    pass(bench, 3000);
    assert_false(bench->a.is_in_flight);
    assert_false(lease_may_go_on(bench->a.lease));
    assert_false(lease_check(bench->a.lease).is_ok);
    bench->server.is_cut = false;
    pass(bench, 10000);
    assert_true(bench->a.is_leading);
    assert_int_equal(bench->a.fences, 1);
}

static void a_machine_that_slept_may_not_write_when_it_wakes(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 1000);
    virtual_loop_suspend(bench->server.loop, 60000);
    assert_false(lease_may_write(bench->a.lease));
    assert_false(lease_may_go_on(bench->a.lease));
    assert_int_equal(lease_margin_ms(bench->a.lease), 0);
    assert_true(lease_is_stuck(bench->a.lease));
    pass(bench, 1100);
    assert_int_equal(bench->a.fences, 1);
    assert_false(lease_is_stuck(bench->a.lease));
    pass(bench, 1000);
    assert_true(bench->a.is_leading);
}

static void one_that_was_stopped_is_fenced_before_it_hears_anything(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 3950); // a renewal of a is under way
    size_t count = bench->a.api.count;
    process_stop(&bench->a);
    pass(bench, 20000);
    assert_true(bench->b.is_leading);
    process_go_on(&bench->a);
    assert_false(bench->a.is_in_flight);
    assert_false(lease_may_write(bench->a.lease));
    assert_true(bench->a.api.count <= count + 1);
    pass(bench, 1000);
    assert_string_equal(lease_holder(bench->a.lease), "b_1");
    assert_true(bench->b.is_leading);
}

static void a_renewal_that_answers_after_its_time_does_not_count(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 1999);
    process_stop(&bench->a); // just before the next renewal is sent
    pass(bench, 12000);
    process_go_on(&bench->a);
    assert_false(bench->a.is_leading);
    assert_int_equal(bench->a.fences, 1);
    pass(bench, 10);
    assert_true(bench->a.is_leading);
}

// ---- leaving ------------------------------------------------------------------------------------

static void what_never_led_has_nothing_to_give_back(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 500);
    lease_release(bench->b.lease, on_released, &bench->b);
    assert_true(bench->b.is_released);
    expect_holder(bench, "a_1");
}

static void a_release_that_clashes_is_tried_again(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 500);
    AUTO_BUFFER json = {0};
    value_write_json(&json, bench->server.lease);
    server_keep(&bench->server, json.at);
    lease_release(bench->a.lease, on_released, &bench->a);
    pass(bench, 20);
    assert_true(bench->a.is_released);
    expect_holder(bench, "");
}

static void a_release_that_always_clashes_is_tried_a_few_times(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 500);
    size_t count = bench->a.api.count;
    bench->server.refuse_write = 409;
    lease_release(bench->a.lease, on_released, &bench->a);
    pass(bench, 6000);
    assert_true(bench->a.is_released);
    assert_in_range(bench->a.api.count - count, 20, 60);
}

static void a_take_under_way_is_given_back_when_it_ended(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", &(struct setup){.owner_id = "home"});
    pass(bench, 2); // the POST is sent
    assert_null(bench->server.lease);
    lease_release(bench->a.lease, on_released, &bench->a);
    assert_false(bench->a.is_released);
    pass(bench, 50);
    assert_true(bench->a.is_released);
    expect_holder(bench, "");
}

static void leaving_waits_five_seconds_at_most(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 500);
    bench->server.is_cut = true;
    lease_release(bench->a.lease, on_released, &bench->a);
    pass(bench, 4990);
    assert_false(bench->a.is_released);
    pass(bench, 20);
    assert_true(bench->a.is_released);
    assert_non_null(strstr(bench->a.lines, "could not be given back"));
}

// ---- answers that are not so --------------------------------------------------------------------

#define LEASE_OF(spec)                                                                             \
    "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":"                  \
    "{\"name\":\"signpost\",\"namespace\":\"dns\"},\"spec\":" spec "}"

static void expect_few_writes(struct bench *bench, bool is_alone)
{
    process_start(&bench->a, &bench->server, "a_1", &(struct setup){.is_alone = is_alone});
    pass(bench, 20000);
    assert_in_range(bench->a.api.count, 3, 25);
    struct store_check check = lease_check(bench->a.lease);
    assert_false(check.is_ok);
    assert_string_equal(check.text, "the server takes the Lease and does not keep what is in it");
    bench->server.keeps = NULL;
    pass(bench, 6000);
    assert_true(lease_may_write(bench->a.lease));
    assert_true(lease_check(bench->a.lease).is_ok);
}

static void a_holder_that_is_not_kept_is_not_written_without_end(void **state)
{
    struct bench *bench = *state;
    bench->server.keeps = LEASE_OF("{\"holderIdentity\":\"\"}");
    expect_few_writes(bench, false);
}

// One that was heard of long ago, and whose claim is over.
static void
another_holder_that_stays_whatever_is_written_is_not_overwritten_without_end(void **state)
{
    struct bench *bench = *state;
    bench->server.keeps = LEASE_OF("{\"holderIdentity\":\"b_1\",\"leaseDurationSeconds\":1}");
    expect_few_writes(bench, false);
}

static void an_owner_id_that_is_not_kept_is_not_written_without_end(void **state)
{
    struct bench *bench = *state;
    bench->server.keeps = LEASE_OF("{}");
    process_start(&bench->a, &bench->server, "a_1", &(struct setup){.is_alone = true});
    pass(bench, 20000);
    assert_in_range(bench->a.api.count, 3, 25);
}

static void clashes_without_end_are_not_met_without_a_pause(void **state)
{
    struct bench *bench = *state;
    server_keep(&bench->server, LEASE_OF("{}"));
    bench->server.refuse_write = 409;
    process_start(&bench->a, &bench->server, "a_1", &(struct setup){.is_alone = true});
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 20000);
    assert_in_range(bench->a.api.count, 3, 200);
    assert_in_range(bench->b.api.count, 3, 200);
}

// ---- refusals -----------------------------------------------------------------------------------

static void a_missing_right_is_named_with_its_verb(void **state)
{
    struct bench *bench = *state;
    bench->server.refuse_write = 403;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 10000);
    struct store_check check = lease_check(bench->a.lease);
    assert_false(check.is_ok);
    assert_string_equal(check.text,
                        "forbidden: cannot create leases.coordination.k8s.io "
                        "\"signpost\" in namespace dns; add verb create to role signpost");
    assert_true(bench->a.api.count < 16);
    bench->server.refuse_write = 0;
    pass(bench, 10000);
    assert_true(bench->a.is_leading);
    assert_true(lease_check(bench->a.lease).is_ok);
}

static void a_server_that_asks_for_patience_gets_it(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 500);
    size_t count = bench->a.api.count;
    bench->server.refuse_write = 429;
    bench->server.refuse_read = 429;
    bench->server.retry_ms = 4000;
    pass(bench, 5000);
    assert_int_equal(bench->a.api.count - count, 1);
}

// ---- the owner id -------------------------------------------------------------------------------

static void the_owner_id_is_derived_and_kept_by_the_first_leader(void **state)
{
    struct bench *bench = *state;
    uint8_t hash[DIGEST_MAX];
    char hex[9];
    digest_of(DIGEST_SHA256, TEXT("1111-22/dns,shop"), hash);
    hex_encode(hash, 4, hex);
    process_start(&bench->a, &bench->server, "a_1", &(struct setup){.namespaces = "dns,shop"});
    pass(bench, 50);
    assert_string_equal(bench->a.owner, hex);
    assert_true(text_is(carried(bench), hex));
    assert_int_equal(bench->a.owners, 1);
}

static void a_kept_owner_id_outlives_other_namespaces(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", &(struct setup){.namespaces = "dns"});
    pass(bench, 50);
    process_start(&bench->b, &bench->server, "b_1", &(struct setup){.namespaces = "shop"});
    pass(bench, 5000);
    assert_string_equal(bench->b.owner, bench->a.owner);
    lease_release(bench->a.lease, on_released, &bench->a);
    pass(bench, 5000);
    assert_true(bench->b.is_leading);
    assert_true(text_is(carried(bench), bench->a.owner));
}

static void a_given_owner_id_replaces_the_kept_one_with_a_warning(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    process_start(&bench->b, &bench->server, "b_1", &(struct setup){.owner_id = "home"});
    pass(bench, 5000);
    assert_string_equal(bench->b.owner, "home");
    assert_null(strstr(bench->b.lines, "replaced"));
    lease_release(bench->a.lease, on_released, &bench->a);
    pass(bench, 5000);
    assert_true(text_is(carried(bench), "home"));
    char line[96];
    snprintf(line, sizeof line, "the owner id is replaced  old=%s  owner=home", bench->a.owner);
    assert_non_null(strstr(bench->b.lines, line));
    assert_null(strstr(strstr(bench->b.lines, line) + 1, "the owner id is replaced"));
}

static void a_standby_whose_owner_id_is_replaced_has_to_start_again(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 50);
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 5000);
    assert_string_equal(bench->b.owner, bench->a.owner);
    process_end(&bench->a);
    process_stop(&bench->b);
    process_start(&bench->a, &bench->server, "a_2", &(struct setup){.owner_id = "home"});
    pass(bench, 20000);
    assert_true(bench->a.is_leading);
    process_go_on(&bench->b);
    pass(bench, 5000);
    assert_non_null(strstr(bench->b.owner_error, "was replaced by home: start again"));
    assert_false(lease_may_write(bench->b.lease));
}

static void without_the_right_to_derive_there_is_no_owner(void **state)
{
    struct bench *bench = *state;
    bench->server.refuse_namespace = 403;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 20000);
    assert_false(bench->a.is_leading);
    assert_non_null(strstr(bench->a.owner_error, "add verb get on namespace kube-system"));
    assert_non_null(strstr(bench->a.owner_error, "--owner-id"));
    assert_null(bench->server.lease);
}

static void a_server_that_has_not_read_its_roles_yet_only_delays_the_owner_id(void **state)
{
    struct bench *bench = *state;
    bench->server.refuse_namespace = 403;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 5000);
    assert_string_equal(bench->a.owner_error, "");
    bench->server.refuse_namespace = 0;
    pass(bench, 5000);
    assert_true(bench->a.is_leading);
}

static void a_server_in_trouble_only_delays_the_owner_id(void **state)
{
    struct bench *bench = *state;
    bench->server.refuse_namespace = 500;
    process_start(&bench->a, &bench->server, "a_1", NULL);
    pass(bench, 5000);
    assert_string_equal(bench->a.owner_error, "");
    bench->server.refuse_namespace = 0;
    pass(bench, 5000);
    assert_true(bench->a.is_leading);
}

// ---- without an election ------------------------------------------------------------------------

static void alone_it_leads_and_keeps_the_owner_id_without_a_holder(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", &(struct setup){.is_alone = true});
    pass(bench, 100);
    assert_true(bench->a.is_leading);
    assert_true(text_is(carried(bench), bench->a.owner));
    assert_false(value_text_at(bench->server.lease, "spec.holderIdentity").len);
    size_t count = bench->a.api.count;
    pass(bench, 60000);
    assert_int_equal(bench->a.api.count, count);
    assert_true(lease_may_write(bench->a.lease));
    assert_false(lease_is_stuck(bench->a.lease));
}

static void alone_it_warns_of_a_holder_that_lives_and_of_no_dead_one(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->b, &bench->server, "b_1", NULL);
    pass(bench, 50);
    process_end(&bench->b);
    process_start(&bench->a, &bench->server, "a_1", &(struct setup){.is_alone = true});
    pass(bench, 10000);
    assert_null(strstr(bench->a.lines, "another process"));
    process_start(&bench->b, &bench->server, "b_2", NULL);
    pass(bench, 40000);
    assert_non_null(strstr(bench->a.lines, "another process holds the lease"));
    assert_true(lease_may_write(bench->a.lease));
    assert_true(bench->b.is_leading);
}

static void alone_it_goes_on_without_a_lease_it_may_not_touch(void **state)
{
    struct bench *bench = *state;
    bench->server.refuse_read = 403;
    bench->server.refuse_write = 403;
    process_start(&bench->a, &bench->server, "a_1", &(struct setup){.is_alone = true});
    pass(bench, 10000);
    assert_true(bench->a.is_leading);
    assert_non_null(strstr(bench->a.lines, "the owner id cannot be kept"));
    assert_false(lease_check(bench->a.lease).is_ok);
    assert_true(lease_check(bench->a.lease).is_advice);
}

static void alone_it_gives_nothing_back(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", &(struct setup){.is_alone = true});
    pass(bench, 100);
    size_t count = bench->a.api.count;
    lease_release(bench->a.lease, on_released, &bench->a);
    assert_true(bench->a.is_released);
    assert_int_equal(bench->a.api.count, count);
}

// ---- metrics ------------------------------------------------------------------------------------

static void metrics_say_who_leads_and_for_how_long(void **state)
{
    struct bench *bench = *state;
    process_start(&bench->a, &bench->server, "a_1", &(struct setup){.owner_id = "home"});
    pass(bench, 1003); // written at 3 ms
    AUTO_BUFFER metrics = {0};
    lease_write_metrics(bench->a.lease, &metrics);
    assert_non_null(strstr(metrics.at, "\nleader_election_master_status{name=\"signpost\"} 1\n"));
    assert_non_null(strstr(metrics.at, "\nleader_election_slowpath_total{name=\"signpost\"} 0\n"));
    assert_non_null(strstr(metrics.at, "\nsignpost_lease_margin_seconds 8.999\n"));
}

// ---- torture ------------------------------------------------------------------------------------

enum { SEEDS = 1000, STEPS = 300, STEP_MS = 150 };

static void disturb(struct bench *bench, struct process *process, unsigned step)
{
    char holder[24];
    switch (draw(&bench->server, 100)) {
    case 0:
        process_stop(process);
        break;
    case 1:
    case 2:
    case 3:
        if (process->is_stopped)
            process_go_on(process);
        break;
    case 4:
        if (process->is_stopped || draw(&bench->server, 4))
            break;
        process_end(process);
        snprintf(holder, sizeof holder, "p_%u_%d", step, process == &bench->a);
        process_start(process, &bench->server, holder, &(struct setup){.owner_id = "home"});
        break;
    case 5:
        if (bench->server.lease && !draw(&bench->server, 8))
            report_watches(&bench->server, false);
        break;
    default:
        break;
    }
}

static unsigned check_one_writer(const struct bench *bench, uint64_t seed)
{
    const struct process *a = &bench->a;
    const struct process *b = &bench->b;
    bool may_both = lease_may_go_on(a->lease) && lease_may_go_on(b->lease);
    bool do_both = a->is_in_flight && b->is_in_flight && !a->is_stopped && !b->is_stopped;
    if (may_both || do_both)
        fail_msg("seed %llu: two %s", (unsigned long long)seed, may_both ? "may" : "do");
    return lease_may_write(a->lease) || lease_may_write(b->lease);
}

static unsigned torture(uint64_t seed)
{
    void *state = NULL;
    unsigned led = 0;
    set_up(&state);
    struct bench *bench = state;
    bench->server.seed = seed * 0x9e3779b97f4a7c15 + 1;
    bench->server.is_wild = true;
    process_start(&bench->a, &bench->server, "a_1", &(struct setup){.owner_id = "home"});
    process_start(&bench->b, &bench->server, "b_1", &(struct setup){.owner_id = "home"});
    for (unsigned step = 0; step < STEPS; step++) {
        disturb(bench, &bench->a, step);
        disturb(bench, &bench->b, step);
        pass(bench, STEP_MS);
        led += check_one_writer(bench, seed);
    }
    assert_int_equal(tear_down(&state), 0);
    return led;
}

static void never_do_two_write_whatever_is_lost_late_or_stopped(void **state)
{
    (void)state;
    uint64_t led = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        led += torture(seed);
    assert_true(led > (uint64_t)SEEDS * STEPS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        UNIT(the_first_makes_the_lease_and_leads),
        UNIT(a_renewal_is_one_write_each_retry_period),
        UNIT(the_second_stands_by_and_names_the_first),
        UNIT(a_release_is_taken_over_at_once),
        UNIT(who_may_take_the_lease_is_asked_with_the_time_since_when_it_is_free),
        UNIT(who_did_not_see_the_other_lead_is_asked_with_the_time_when_it_led_last),
        UNIT(who_may_not_take_the_lease_is_asked_again_soon),
        UNIT(who_may_not_take_the_lease_waits_and_takes_it_later),
        UNIT(who_did_not_lose_the_lease_renews_it_though_it_may_not_take_one),
        UNIT(each_time_that_the_lease_is_not_taken_is_told_once),
        UNIT(what_dies_is_followed_after_its_lease),
        UNIT(a_lease_that_is_deleted_is_made_again_by_its_holder),
        UNIT(what_others_write_into_the_lease_is_kept),
        UNIT(an_update_that_is_lost_ends_no_hold),
        UNIT(a_standby_looks_again_after_a_look_that_failed_though_it_hears_renewals),
        UNIT(without_renewals_nothing_begins_and_then_nothing_goes_on),
        UNIT(a_machine_that_slept_may_not_write_when_it_wakes),
        UNIT(one_that_was_stopped_is_fenced_before_it_hears_anything),
        UNIT(a_renewal_that_answers_after_its_time_does_not_count),
        UNIT(what_never_led_has_nothing_to_give_back),
        UNIT(a_release_that_clashes_is_tried_again),
        UNIT(a_release_that_always_clashes_is_tried_a_few_times),
        UNIT(a_holder_that_is_not_kept_is_not_written_without_end),
        UNIT(another_holder_that_stays_whatever_is_written_is_not_overwritten_without_end),
        UNIT(an_owner_id_that_is_not_kept_is_not_written_without_end),
        UNIT(clashes_without_end_are_not_met_without_a_pause),
        UNIT(a_take_under_way_is_given_back_when_it_ended),
        UNIT(leaving_waits_five_seconds_at_most),
        UNIT(a_missing_right_is_named_with_its_verb),
        UNIT(a_server_that_asks_for_patience_gets_it),
        UNIT(the_owner_id_is_derived_and_kept_by_the_first_leader),
        UNIT(a_kept_owner_id_outlives_other_namespaces),
        UNIT(a_given_owner_id_replaces_the_kept_one_with_a_warning),
        UNIT(a_standby_whose_owner_id_is_replaced_has_to_start_again),
        UNIT(without_the_right_to_derive_there_is_no_owner),
        UNIT(a_server_that_has_not_read_its_roles_yet_only_delays_the_owner_id),
        UNIT(a_server_in_trouble_only_delays_the_owner_id),
        UNIT(alone_it_leads_and_keeps_the_owner_id_without_a_holder),
        UNIT(alone_it_warns_of_a_holder_that_lives_and_of_no_dead_one),
        UNIT(alone_it_goes_on_without_a_lease_it_may_not_touch),
        UNIT(alone_it_gives_nothing_back),
        UNIT(metrics_say_who_leads_and_for_how_long),
        cmocka_unit_test(never_do_two_write_whatever_is_lost_late_or_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
