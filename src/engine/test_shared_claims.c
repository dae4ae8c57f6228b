#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/labels.h"
#include "engine/engine.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"
#include "providers/provider.h"

// Claims of subjects a and b, of which a is older, on one name of a made-up server; subject k keeps
// the backend open. The provider itself does not share.

enum { SECOND = 1000, SUBJECTS = 2 };

#define REGISTRY "http://one.test"
#define DOMAIN "example.test"
#define SUBDOMAIN "www"

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
    const char *value; // that it claims; NULL: nothing
    bool shares;
    bool goes; // it wants what it claimed removed
    struct receipt receipt;
    char holder[32]; // its text
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
    unsigned edits;
    bool is_review; // decisions tell of lost names
    // The server.
    char there[32]; // the value; "": none
    unsigned sets;
    unsigned removals;
} bench;

// ---- the provider -------------------------------------------------------------------------------

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

static void made_up_fingerprint(const void *session, const struct record_set *set,
                                uint8_t out[FINGERPRINT_OCTETS])
{
    uint8_t full[DIGEST_MAX];
    (void)session;
    digest_of(DIGEST_SHA256, set->values[0], full);
    memcpy(out, full, FINGERPRINT_OCTETS);
}

static void *made_up_begin(void *session, struct job *job)
{
    (void)session;
    return job;
}

static void carry_out(struct change *change)
{
    bool is_set = change->op == CHANGE_SET;
    change->outcome.is_done = true;
    change->outcome.was_created = is_set && !bench.there[0];
    bench.sets += is_set;
    bench.removals += change->op == CHANGE_REMOVE;
    struct text value = is_set ? change->set.values[0] : TEXT("");
    assert_true(value.len < sizeof bench.there);
    memcpy(bench.there, value.at, value.len);
    bench.there[value.len] = '\0';
}

static enum ask_kind made_up_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct job *job = at;
    (void)moment;
    (void)out;
    job->health.is_done = true;
    for (size_t i = 0; i < job->change_count; i++)
        carry_out(&job->changes[i]);
    return ASK_DONE;
}

static void made_up_end(void *at)
{
    (void)at;
}

static const struct provider provider = {
    .name = "made-up",
    .max_changes = 1,
    .open = made_up_open,
    .close = made_up_close,
    .fingerprint = made_up_fingerprint,
    .begin = made_up_begin,
    .ask = made_up_ask,
    .end = made_up_end,
};
static const struct provider *const all_providers[] = {&provider};

// ---- the controller -----------------------------------------------------------------------------

static void open_backend(const struct snapshot *snapshot, struct decision *out)
{
    *decision_add_backend(out, snapshot->arena) =
        (struct backend_want){.name = "backend",
                              .provider = "made-up",
                              .registry = REGISTRY,
                              .config = value_make(snapshot->arena, VALUE_MAP),
                              .max_in_flight = 4,
                              .retry_base_ms = SECOND,
                              .retry_max_ms = SECOND,
                              .retry_attempts = 5,
                              .retry_slow_ms = SECOND};
}

static void see_receipt(const struct snapshot *snapshot, struct subject *subject)
{
    const struct receipt *receipt =
        snapshot_receipt(snapshot, REGISTRY, RECORD_A, TEXT(DOMAIN), TEXT(SUBDOMAIN));
    subject->receipt = receipt ? *receipt : (struct receipt){0};
    struct text holder = subject->receipt.holder;
    assert_true(holder.len < sizeof subject->holder);
    if (holder.len)
        memcpy(subject->holder, holder.at, holder.len);
    subject->holder[holder.len] = '\0';
}

static void claim_name(const struct snapshot *snapshot, const struct subject *subject,
                       struct decision *out)
{
    struct text *value = arena_new_of(snapshot->arena, struct text);
    *value = text_of(subject->value);
    *decision_add_claim(out, snapshot->arena) = (struct claim_want){
        .backend = "backend",
        .registry = REGISTRY,
        .intent = subject->goes ? CLAIM_REMOVE : CLAIM_SET,
        .shares = subject->shares,
        .set = {.type = RECORD_A,
                .domain = TEXT(DOMAIN),
                .subdomain = TEXT(SUBDOMAIN),
                .ttl_s = 300,
                .values = value,
                .value_count = 1,
                .priority = -1,
                .weight = -1,
                .port = -1},
    };
}

static void report_loss(const struct snapshot *snapshot, const struct subject *subject,
                        struct decision *out)
{
    struct value *condition = value_make(snapshot->arena, VALUE_MAP);
    struct value *conditions = value_make(snapshot->arena, VALUE_LIST);
    struct value *status = value_make(snapshot->arena, VALUE_MAP);
    value_put_text(snapshot->arena, condition, "reason", "Conflict");
    value_put_text(snapshot->arena, condition, "message", subject->holder);
    value_append(conditions, condition);
    value_set(status, TEXT("conditions"), conditions);
    out->status = status;
}

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    (void)model;
    if (!snapshot->subject)
        return;
    if (text_is(snapshot->name, "k")) {
        open_backend(snapshot, out);
        return;
    }
    struct subject *subject = &bench.subjects[snapshot->name.at[0] - 'a'];
    see_receipt(snapshot, subject);
    if (subject->value)
        claim_name(snapshot, subject, out);
    if (bench.is_review && subject->receipt.state == RECEIPT_LOST)
        report_loss(snapshot, subject, out);
}

static const char *const outward_reasons[] = {"Conflict", NULL};
static const struct controller controller = {
    .name = "made-up", .kind = &subject_kind, .outward_reasons = outward_reasons, .decide = decide};
static const struct controller *const all_controllers[] = {&controller};

// ---- what happens -------------------------------------------------------------------------------

static void run(int64_t ms)
{
    virtual_loop_run_until(bench.loop, loop_mono_ms(bench.loop) + ms);
}

// Gives the subject a reconciliation, and what follows from it the time that it takes.
static void edit(const char *name)
{
    struct error err = {0};
    struct text yaml = text_of(arena_printf(bench.arena,
                                            "{apiVersion: test.example/v1, kind: Subject, "
                                            "metadata: {namespace: shop, name: %s, labels: "
                                            "{edits: '%u'}}}",
                                            name, ++bench.edits));
    if (!model_server_apply_yaml(bench.server, yaml, &err))
        fail_msg("%s", err.text);
    run(5 * SECOND);
}

static void claim(const char *name, const char *value, bool shares)
{
    struct subject *subject = &bench.subjects[*name - 'a'];
    subject->value = value;
    subject->shares = shares;
    edit(name);
}

static void go(const char *name)
{
    bench.subjects[*name - 'a'].goes = true;
    edit(name);
}

static void open_bench(size_t crowd)
{
    memset(&bench, 0, sizeof bench);
    bench.arena = arena_new();
    bench.loop = virtual_loop_new(1767225600000);
    bench.random.fill = model_fill_even;
    bench.kind.kind = &subject_kind;
    bench.server = model_server_new(bench.loop, &bench.kind, 1);
    bench.api = model_api_new(bench.server, MODEL_CLUSTER_URL, NULL);
    bench.world = (struct world){
        .loop = bench.loop, .random = &bench.random, .http = model_api_http(bench.api)};
    model_cluster_prepare(bench.server);
    bench.store = model_cluster_new(&bench.world, &bench.kind, 1, "claims", NULL);
    bench.engine = engine_new(&(struct engine_options){.world = &bench.world,
                                                       .store = bench.store,
                                                       .controllers = all_controllers,
                                                       .controller_count = 1,
                                                       .providers = all_providers,
                                                       .provider_count = 1,
                                                       .crowd = crowd});
    assert_true(engine_start(bench.engine, NULL));
    run(20 * SECOND);
    edit("k");
}

static int set_up(void **state)
{
    (void)state;
    open_bench(0);
    return 0;
}

// Two at a name are a crowd, of which plans are delayed.
static int set_up_crowded(void **state)
{
    (void)state;
    open_bench(1);
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
    arena_free(bench.arena);
    return 0;
}

static void assert_settled(const char *name)
{
    assert_int_equal(bench.subjects[*name - 'a'].receipt.state, RECEIPT_SETTLED);
}

static void assert_lost_to(const char *name, const char *holder)
{
    const struct subject *subject = &bench.subjects[*name - 'a'];
    assert_int_equal(subject->receipt.state, RECEIPT_LOST);
    assert_string_equal(subject->holder, holder);
}

// ---- tests --------------------------------------------------------------------------------------

static void claims_that_share_and_are_equal_both_settle(void **state)
{
    (void)state;
    claim("a", "192.0.2.1", true);
    claim("b", "192.0.2.1", true);
    assert_settled("a");
    assert_settled("b");
    assert_string_equal(bench.there, "192.0.2.1");
    assert_int_equal(bench.sets, 1);
}

static void of_claims_that_share_and_differ_the_younger_is_told(void **state)
{
    (void)state;
    claim("a", "192.0.2.1", true);
    claim("b", "192.0.2.2", true);
    assert_settled("a");
    assert_lost_to("b", "Subject shop/a");
    assert_string_equal(bench.there, "192.0.2.1");
    claim("b", "192.0.2.1", true);
    assert_settled("b");
    claim("a", "192.0.2.3", true);
    assert_settled("a");
    assert_lost_to("b", "Subject shop/a");
    assert_string_equal(bench.there, "192.0.2.3");
    claim("b", "192.0.2.3", true);
    assert_settled("b");
    assert_int_equal(bench.sets, 2);
    assert_int_equal(bench.removals, 0);
}

static void equal_claims_stand_together_only_if_both_share(void **state)
{
    (void)state;
    claim("a", "192.0.2.1", true);
    claim("b", "192.0.2.1", false);
    assert_settled("a");
    assert_lost_to("b", "Subject shop/a");
    claim("b", "192.0.2.1", true);
    assert_settled("a");
    assert_settled("b");
    claim("a", "192.0.2.1", false);
    assert_settled("a");
    assert_lost_to("b", "Subject shop/a");
    claim("a", "192.0.2.1", true);
    assert_settled("a");
    assert_settled("b");
    assert_int_equal(bench.sets, 1);
}

static void go_one_after_the_other(const char *first, const char *second)
{
    claim("a", "192.0.2.1", true);
    claim("b", "192.0.2.1", true);
    go(first);
    assert_settled(first);
    assert_settled(second);
    assert_string_equal(bench.there, "192.0.2.1");
    assert_int_equal(bench.removals, 0);
    go(second);
    assert_settled(second);
    assert_string_equal(bench.there, "");
    assert_int_equal(bench.removals, 1);
    assert_int_equal(bench.sets, 1);
}

static void the_name_stays_when_the_older_goes_and_goes_with_the_last(void **state)
{
    (void)state;
    go_one_after_the_other("a", "b");
}

static void the_name_stays_when_the_younger_goes_and_goes_with_the_last(void **state)
{
    (void)state;
    go_one_after_the_other("b", "a");
}

static void the_loser_has_the_name_when_the_holder_goes(void **state)
{
    (void)state;
    claim("a", "192.0.2.1", true);
    claim("b", "192.0.2.2", true);
    go("a");
    assert_settled("a");
    assert_true(bench.subjects[0].receipt.is_inherited);
    assert_settled("b");
    assert_string_equal(bench.there, "192.0.2.2");
    assert_int_equal(bench.removals, 0);
}

// What b would be told that is about to be written; "": nothing.
static const char *review_of_b(const char *value, bool shares)
{
    struct findings findings = {.arena = bench.arena};
    struct text json = TEXT("{\"apiVersion\":\"test.example/v1\",\"kind\":\"Subject\",\"metadata\":"
                            "{\"namespace\":\"shop\",\"name\":\"b\"}}");
    const struct value *tree = value_read_json(bench.arena, json, &value_reply_limits, NULL);
    bench.subjects[1].value = value;
    bench.subjects[1].shares = shares;
    bench.is_review = true;
    engine_admit(bench.engine, &subject_kind, tree, FINDING_WARNING, &findings);
    bench.is_review = false;
    const char *told = findings_join(&findings, FINDING_WARNING);
    return told ? told : "";
}

static void who_would_share_is_admitted_without_a_word(void **state)
{
    (void)state;
    claim("a", "192.0.2.1", true);
    run(2 * SECOND);
    assert_string_equal(review_of_b("192.0.2.1", true), "");
    assert_string_equal(review_of_b("192.0.2.1", false), "Subject shop/a");
    assert_string_equal(review_of_b("192.0.2.2", true), "Subject shop/a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name)                                                                                 \
    {#name, name, set_up, tear_down, NULL},                                                        \
        {#name " in a crowd", name, set_up_crowded, tear_down, NULL}
        TEST(claims_that_share_and_are_equal_both_settle),
        TEST(of_claims_that_share_and_differ_the_younger_is_told),
        TEST(equal_claims_stand_together_only_if_both_share),
        TEST(the_name_stays_when_the_older_goes_and_goes_with_the_last),
        TEST(the_name_stays_when_the_younger_goes_and_goes_with_the_last),
        TEST(the_loser_has_the_name_when_the_holder_goes),
        TEST(who_would_share_is_admitted_without_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
