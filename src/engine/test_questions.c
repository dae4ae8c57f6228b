#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/labels.h"
#include "base/must.h"
#include "engine/engine.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"
#include "providers/provider.h"

// Questions of a made-up controller with two subjects, a and b, to a made-up provider whose server
// takes 100 ms for each. Subject a keeps the backend open.

enum { SECOND = 1000, SUBJECTS = 2, QUESTIONS_MAX = 200, TOOK_MS = 100 };

static const struct kind subject_kind = {
    .group = "test.example",
    .version = "v1",
    .name = "Subject",
    .plural = "subjects",
    .singular = "subject",
    .is_namespaced = true,
    .is_foreign = true,
    .pack_spec = labels_pack,
    .keeps_labels = true,
};

struct subject {
    bool opens; // the backend
    struct question wants[QUESTIONS_MAX];
    size_t count;
    struct buffer seen; // by the last decision: "count=1 count=?", "!Reason" where it failed
    unsigned decisions;
    unsigned edits;
};

static struct {
    struct arena *arena;
    struct loop *loop;
    struct random random;
    struct world world;
    struct store_kind kind;
    struct model_server *server;
    struct model_api *api;
    struct store *store;
    struct engine *engine;
    struct subject subjects[SUBJECTS];
    const char *registry; // where the backend leads to
    unsigned max_in_flight;
    // The server.
    int64_t count;
    const char *failure; // reason; NULL: it answers
    unsigned asked;
    unsigned under_way;
    unsigned most_under_way;
} bench;

// ---- the provider -------------------------------------------------------------------------------

struct made_up_exchange {
    struct job *job;
    bool has_waited;
};

static bool made_up_open(const struct session_setup *setup, void **session, struct error *err)
{
    (void)setup;
    (void)err;
    *session = &bench;
    return true;
}

static void made_up_close(void *session)
{
    (void)session;
}

static void *made_up_begin(void *session, struct job *job)
{
    (void)session;
    struct made_up_exchange *exchange = mem_new_of(struct made_up_exchange);
    exchange->job = job;
    if (job->kind == JOB_QUESTION) {
        bench.asked++;
        bench.under_way++;
    }
    if (bench.under_way > bench.most_under_way)
        bench.most_under_way = bench.under_way;
    return exchange;
}

static enum ask_kind made_up_ask(void *at, const struct moment *moment, struct ask *out)
{
    (void)moment;
    const struct made_up_exchange *exchange = at;
    struct job *job = exchange->job;
    if (!exchange->has_waited) {
        out->wait_ms = TOOK_MS;
        return ASK_WAIT;
    }
    if (bench.failure) {
        struct error *error = arena_new_of(job->arena, struct error);
        error_set(error, FAULT_AGAIN, bench.failure, "it failed");
        job->health.error = error;
        return ASK_DONE;
    }
    struct value *answer = value_make(job->arena, VALUE_MAP);
    int64_t about = value_int_at(job->about, "number", 0);
    value_set(answer, TEXT("count"), value_make_int(job->arena, bench.count + about));
    job->answer = answer;
    job->health.is_done = true;
    return ASK_DONE;
}

static void made_up_handle_reply(void *at, const struct moment *moment,
                                 const struct ask_result *result)
{
    (void)moment;
    (void)result;
    struct made_up_exchange *exchange = at;
    exchange->has_waited = true;
}

static void made_up_end(void *at)
{
    struct made_up_exchange *exchange = at;
    bench.under_way -= exchange->job->kind == JOB_QUESTION;
    free(exchange);
}

static const char *const known[] = {"count", NULL};
static struct provider provider = {
    .name = "made-up",
    .max_changes = 1,
    .questions = known,
    .open = made_up_open,
    .close = made_up_close,
    .begin = made_up_begin,
    .ask = made_up_ask,
    .handle_reply = made_up_handle_reply,
    .end = made_up_end,
};
static const struct provider *const all_providers[] = {&provider};

// ---- the controller -----------------------------------------------------------------------------

static struct subject *subject_of(struct text name)
{
    return &bench.subjects[name.at[0] - 'a'];
}

static void see(struct subject *subject, const struct answer_view *answer)
{
    buffer_printf(&subject->seen, "%s%s=", subject->seen.len ? " " : "", answer->name);
    if (!answer->answered_ms)
        buffer_add_text(&subject->seen, "?");
    else if (!answer->is_ok)
        buffer_printf(&subject->seen, "!%s", answer->error->reason);
    else
        buffer_printf(&subject->seen, "%d", (int)value_int_at(answer->value, "count", -1));
}

static void open_backend(const struct snapshot *snapshot, struct decision *out)
{
    *decision_add_backend(out, snapshot->arena) =
        (struct backend_want){.name = "backend",
                              .provider = "made-up",
                              .registry = bench.registry,
                              .config = value_make(snapshot->arena, VALUE_MAP),
                              .max_in_flight = bench.max_in_flight,
                              .retry_base_ms = SECOND,
                              .retry_max_ms = 4 * SECOND,
                              .retry_attempts = 5,
                              .retry_slow_ms = 60 * SECOND};
}

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    (void)model;
    struct subject *subject = subject_of(snapshot->name);
    if (!snapshot->subject)
        return;
    subject->decisions++;
    buffer_clear(&subject->seen);
    for (size_t i = 0; i < snapshot->answer_count; i++)
        see(subject, &snapshot->answers[i]);
    if (subject->opens)
        open_backend(snapshot, out);
    for (size_t i = 0; i < subject->count; i++)
        *decision_add_question(out, snapshot->arena) = subject->wants[i];
}

static const struct controller controller = {
    .name = "made-up", .kind = &subject_kind, .decide = decide};
static const struct controller *const all_controllers[] = {&controller};

// ---- what happens -------------------------------------------------------------------------------

static void run(int64_t ms)
{
    virtual_loop_run_until(bench.loop, loop_mono_ms(bench.loop) + ms);
}

// Gives the subject a reconciliation.
static void edit(const char *name)
{
    struct error err = {0};
    unsigned edits = ++subject_of(text_of(name))->edits;
    struct text yaml = text_of(arena_printf(bench.arena,
                                            "{apiVersion: test.example/v1, kind: Subject, "
                                            "metadata: {namespace: shop, name: %s, labels: "
                                            "{edits: '%u'}}}",
                                            name, edits));
    if (!model_server_apply_yaml(bench.server, yaml, &err))
        fail_msg("%s", err.text);
    run(0);
}

static void ask_about(const char *name, int number, int64_t good_for_ms)
{
    struct subject *subject = subject_of(text_of(name));
    struct value *about = number ? value_make(bench.arena, VALUE_MAP) : NULL;
    if (about)
        value_put_int(bench.arena, about, "number", number);
    subject->wants[subject->count++] = (struct question){
        .backend = "backend", .name = "count", .about = about, .good_for_ms = good_for_ms};
}

static void start(void)
{
    bench.store = model_cluster_new(&bench.world, &bench.kind, 1, "questions", NULL);
    bench.engine = engine_new(&(struct engine_options){.world = &bench.world,
                                                       .store = bench.store,
                                                       .controllers = all_controllers,
                                                       .controller_count = 1,
                                                       .providers = all_providers,
                                                       .provider_count = 1});
    assert_true(engine_start(bench.engine, NULL));
    run(2 * SECOND);
}

static int set_up(void **state)
{
    (void)state;
    memset(&bench, 0, sizeof bench);
    provider.is_serial = false;
    bench.arena = arena_new();
    bench.loop = virtual_loop_new(1767225600000);
    bench.random.fill = model_fill_even;
    bench.kind.kind = &subject_kind;
    bench.server = model_server_new(bench.loop, &bench.kind, 1);
    bench.api = model_api_new(bench.server, MODEL_CLUSTER_URL, NULL);
    bench.world = (struct world){
        .loop = bench.loop, .random = &bench.random, .http = model_api_http(bench.api)};
    model_cluster_prepare(bench.server);
    bench.registry = "http://one.test";
    bench.max_in_flight = 4;
    bench.subjects[0].opens = true;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    engine_free(bench.engine);
    store_free(bench.store);
    model_api_free(bench.api);
    model_server_free(bench.server);
    loop_free(bench.loop);
    for (size_t i = 0; i < SUBJECTS; i++)
        buffer_done(&bench.subjects[i].seen);
    arena_free(bench.arena);
    return 0;
}

static void assert_sees(const char *name, const char *seen)
{
    assert_string_equal(buffer_text(&subject_of(text_of(name))->seen).at, seen);
}

// ---- tests --------------------------------------------------------------------------------------

static void who_asks_sees_the_answer_and_asks_again_when_it_is_old(void **state)
{
    (void)state;
    ask_about("a", 0, 10 * SECOND);
    bench.count = 7;
    edit("a");
    start();
    assert_sees("a", "count=7");
    assert_int_equal(bench.asked, 1);
    run(20 * SECOND);
    assert_int_equal(bench.asked, 3);
}

static void two_keys_share_a_question_and_the_most_impatient_counts(void **state)
{
    (void)state;
    ask_about("a", 0, 60 * SECOND);
    ask_about("b", 0, 10 * SECOND);
    edit("a");
    edit("b");
    start();
    assert_int_equal(bench.asked, 1);
    bench.count = 5;
    run(11 * SECOND);
    assert_int_equal(bench.asked, 2);
    assert_sees("a", "count=5");
    assert_sees("b", "count=5");
    subject_of(TEXT("b"))->count = 0;
    edit("b");
    run(40 * SECOND);
    assert_int_equal(bench.asked, 2);
    run(20 * SECOND);
    assert_int_equal(bench.asked, 3);
}

static void what_it_is_about_makes_another_question(void **state)
{
    (void)state;
    ask_about("a", 1, 10 * SECOND);
    ask_about("a", 2, 10 * SECOND);
    ask_about("b", 2, 10 * SECOND);
    edit("a");
    edit("b");
    start();
    assert_int_equal(bench.asked, 2);
    assert_sees("a", "count=1 count=2");
    assert_sees("b", "count=2");
}

static void an_answer_wakes_only_who_waits_for_it_and_only_when_it_is_another(void **state)
{
    (void)state;
    ask_about("a", 1, 10 * SECOND);
    ask_about("b", 2, 3600 * SECOND);
    edit("a");
    edit("b");
    start();
    unsigned of_a = bench.subjects[0].decisions;
    unsigned of_b = bench.subjects[1].decisions;
    run(25 * SECOND);
    assert_int_equal(bench.asked, 4);
    assert_int_equal(bench.subjects[0].decisions, of_a);
    bench.count = 3;
    run(10 * SECOND);
    assert_int_equal(bench.subjects[0].decisions, of_a + 1);
    assert_int_equal(bench.subjects[1].decisions, of_b);
    assert_sees("a", "count=4");
}

static void who_only_looks_asks_nothing_and_sees_what_others_know_at_once(void **state)
{
    (void)state;
    ask_about("b", 1, 0);
    edit("a");
    edit("b");
    start();
    assert_int_equal(bench.asked, 0);
    assert_sees("b", "count=?");
    ask_about("a", 1, 10 * SECOND);
    edit("a");
    run(SECOND);
    assert_sees("b", "count=1");
    ask_about("b", 1, 0);
    edit("b");
    run(TOOK_MS / 2);
    assert_sees("b", "count=1 count=1");
    assert_int_equal(bench.asked, 1);
}

static void another_epoch_asks_anew_once(void **state)
{
    (void)state;
    ask_about("a", 0, 3600 * SECOND);
    edit("a");
    start();
    edit("a");
    run(SECOND);
    assert_int_equal(bench.asked, 1);
    bench.subjects[0].wants[0].epoch = 1;
    edit("a");
    run(SECOND);
    edit("a");
    run(SECOND);
    assert_int_equal(bench.asked, 2);
    bench.subjects[0].wants[0].epoch = 2;
    edit("a");
    bench.subjects[0].wants[0].epoch = 3;
    run(TOOK_MS / 2);
    edit("a");
    run(SECOND);
    assert_int_equal(bench.asked, 4);
}

static void what_nobody_names_any_more_is_forgotten(void **state)
{
    (void)state;
    ask_about("a", 0, 10 * SECOND);
    edit("a");
    start();
    bench.subjects[0].count = 0;
    edit("a");
    run(60 * SECOND);
    assert_int_equal(bench.asked, 1);
    ask_about("b", 0, 0);
    edit("b");
    edit("b");
    assert_sees("b", "count=?");
}

static void a_question_that_is_dropped_under_way_is_broken_off(void **state)
{
    (void)state;
    edit("a");
    start();
    ask_about("a", 0, 10 * SECOND);
    edit("a");
    run(TOOK_MS / 2);
    assert_int_equal(bench.under_way, 1);
    bench.subjects[0].count = 0;
    edit("a");
    run(TOOK_MS / 4);
    assert_int_equal(bench.under_way, 0);
}

static void a_failure_is_seen_and_asked_again_before_the_answer_were_old(void **state)
{
    (void)state;
    ask_about("a", 0, 3600 * SECOND);
    bench.failure = "Away";
    edit("a");
    start();
    assert_sees("a", "count=!Away");
    run(20 * SECOND);
    assert_in_range(bench.asked, 4, 12);
    bench.failure = NULL;
    run(60 * SECOND);
    assert_sees("a", "count=0");
    unsigned asked = bench.asked;
    run(1800 * SECOND);
    assert_int_equal(bench.asked, asked);
}

static void what_the_provider_does_not_know_is_refused_without_an_exchange(void **state)
{
    (void)state;
    ask_about("a", 0, 10 * SECOND);
    bench.subjects[0].wants[0].name = "weather";
    edit("a");
    start();
    assert_sees("a", "weather=!UnknownQuestion");
    assert_int_equal(bench.asked, 0);
}

static void a_question_waits_for_its_backend(void **state)
{
    (void)state;
    ask_about("b", 0, 10 * SECOND);
    edit("b");
    start();
    run(60 * SECOND);
    assert_int_equal(bench.asked, 0);
    assert_sees("b", "count=?");
    edit("a");
    run(SECOND);
    assert_sees("b", "count=0");
}

static void answers_of_another_server_are_forgotten(void **state)
{
    (void)state;
    ask_about("b", 0, 3600 * SECOND);
    edit("a");
    edit("b");
    start();
    assert_sees("b", "count=0");
    bench.registry = "http://two.test";
    edit("a");
    run(TOOK_MS / 2);
    assert_sees("b", "count=?");
    bench.count = 2;
    run(SECOND);
    assert_sees("b", "count=2");
    assert_int_equal(bench.asked, 2);
}

static void only_who_leads_asks(void **state)
{
    (void)state;
    ask_about("a", 0, 10 * SECOND);
    edit("a");
    start();
    run(9 * SECOND);
    model_cluster_take_lease(bench.server);
    run(60 * SECOND);
    unsigned asked = bench.asked;
    run(60 * SECOND);
    assert_int_equal(bench.asked, asked);
    assert_int_equal(bench.under_way, 0);
    model_cluster_free_lease(bench.server);
    run(30 * SECOND);
    assert_true(bench.asked > asked);
}

static void ask_two_hundred(unsigned limit)
{
    bench.max_in_flight = limit;
    for (int i = 1; i <= QUESTIONS_MAX; i++)
        ask_about("a", i, 60 * SECOND);
    edit("a");
    start();
    run(QUESTIONS_MAX * (int64_t)TOOK_MS / limit);
    assert_int_equal(bench.asked, QUESTIONS_MAX);
    assert_int_equal(bench.most_under_way, limit);
    const char *seen = buffer_text(&bench.subjects[0].seen).at;
    assert_null(strchr(seen, '?'));
    assert_memory_equal(seen, "count=1 count=2 count=3 ", 24);
    unsigned decisions = bench.subjects[0].decisions;
    run(60 * SECOND);
    assert_int_equal(bench.asked, 2 * QUESTIONS_MAX);
    assert_int_equal(bench.subjects[0].decisions, decisions);
}

static void two_hundred_questions_share_the_limit_of_one_backend(void **state)
{
    (void)state;
    ask_two_hundred(4);
}

static void a_serial_backend_is_asked_one_after_another(void **state)
{
    (void)state;
    provider.is_serial = true;
    ask_two_hundred(1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_asks_sees_the_answer_and_asks_again_when_it_is_old),
        TEST(two_keys_share_a_question_and_the_most_impatient_counts),
        TEST(what_it_is_about_makes_another_question),
        TEST(an_answer_wakes_only_who_waits_for_it_and_only_when_it_is_another),
        TEST(who_only_looks_asks_nothing_and_sees_what_others_know_at_once),
        TEST(another_epoch_asks_anew_once),
        TEST(what_nobody_names_any_more_is_forgotten),
        TEST(a_question_that_is_dropped_under_way_is_broken_off),
        TEST(a_failure_is_seen_and_asked_again_before_the_answer_were_old),
        TEST(what_the_provider_does_not_know_is_refused_without_an_exchange),
        TEST(a_question_waits_for_its_backend),
        TEST(answers_of_another_server_are_forgotten),
        TEST(only_who_leads_asks),
        TEST(two_hundred_questions_share_the_limit_of_one_backend),
        TEST(a_serial_backend_is_asked_one_after_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
