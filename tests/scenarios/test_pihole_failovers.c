#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model_cluster.h"
#include "model/virtual_loop.h"
#include "scenarios/replica.h"

// Two processes on one cluster and a Pi-hole, of which one leads: they die, stop and wake up, lose
// sight of the API server; the Pi-hole restarts, loses replies, is killed; people write lines. What
// must hold:
//
// - The Pi-hole never has two requests of theirs at once: its lists are not safe for that.
// - What people wrote stands there all the time, in its order.
// - In the end the names of the Ingresses stand there, nothing else of ours, and one seat is taken.
//
// PIHOLE_STORY=7 plays that one alone, and tells what happens.

enum { STORIES = 60, EVENTS = 30, REPLICAS = 2, NAMES = 6, ROUNDS = 5, REST_MS = 15 * 60 * 1000 };

struct story {
    uint64_t seed;
    uint64_t state;
    struct stage *stage;
    struct model_pihole *pihole;
    struct replica replicas[REPLICAS];
    unsigned contents[NAMES]; // 0: no Ingress
    unsigned lines;           // that people wrote
};

static uint32_t draw(struct story *story, uint32_t below)
{
    story->state = story->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(story->state >> 33) % below;
}

static int64_t now_ms(const struct story *story)
{
    return loop_mono_ms(story->stage->loop);
}

static void breach(const struct story *story, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

static void breach(const struct story *story, const char *format, ...)
{
    char text[1024];
    va_list args;
    AUTO_BUFFER requests = {0};
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    stage_dump_requests(story->stage, &requests);
    if (getenv("PIHOLE_STORY"))
        fprintf(stderr, "%s%s", buffer_text(&story->stage->log_text).at, buffer_text(&requests).at);
    fail_msg("story %" PRIu64 " at %" PRId64 " ms: %s", story->seed, now_ms(story), text);
    abort();
}

static void advance(struct story *story, int64_t ms)
{
    replicas_advance(story->replicas, REPLICAS, ms);
    const char *found = stage_breach(story->stage);
    if (found)
        breach(story, "%s", found);
}

// ---- what happens -------------------------------------------------------------------------------

static void write_ingress(const struct story *story, unsigned name)
{
    char file[32];
    char text[512];
    struct error err;
    bool is_alias = story->contents[name] > 3;
    snprintf(file, sizeof file, "web%u.yaml", name);
    snprintf(text, sizeof text,
             "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: web%u\n"
             "  annotations: {pihole.io/register: \"true\", pihole.io/target-%s%u%s}\n"
             "spec:\n  rules: [{host: app%u.lan}]\n",
             name, is_alias ? "cname: nas" : "ip: 192.0.2.", story->contents[name],
             is_alias ? ".lan" : "", name);
    assert_true(stage_write_file(story->stage, file, story->contents[name] ? text : NULL, &err));
}

static void change_name(struct story *story)
{
    unsigned name = draw(story, NAMES);
    story->contents[name] = draw(story, 6);
    write_ingress(story, name);
}

static void change_many(struct story *story)
{
    for (int i = 0; i < 4; i++)
        change_name(story);
}

static void person_writes(struct story *story)
{
    char line[64];
    snprintf(line, sizeof line, "192.0.2.200 mine%u.lan", story->lines++);
    model_pihole_put(story->pihole, PIHOLE_HOSTS, line, true);
}

static struct replica *any(struct story *story)
{
    return &story->replicas[draw(story, REPLICAS)];
}

static void start(struct story *story)
{
    replica_start(any(story));
}

static void die(struct story *story)
{
    bool is_free = draw(story, 2);
    struct replica *replica = any(story);
    bool was_leading = replica_leads(replica);
    replica_kill(replica);
    if (was_leading && is_free)
        model_cluster_free_lease(story->stage->server);
}

static void stop(struct story *story)
{
    replica_stop(any(story));
}

static void wake(struct story *story)
{
    replica_continue(any(story));
}

static void stop_for_long(struct story *story)
{
    struct replica *replica = any(story);
    change_many(story);
    advance(story, draw(story, 1100));
    replica_stop(replica);
    change_many(story);
    advance(story, 500000);
    replica_continue(replica);
}

static void lose_api(struct story *story)
{
    struct replica *replica = any(story);
    model_api_set_down(replica->api, true);
    model_api_meet(replica->api, NULL, STREAM_BREAKS);
    change_many(story);
    advance(story, draw(story, 2) ? 1000 : 400000);
    model_api_set_down(replica->api, false);
}

static void fail_request(struct story *story)
{
    static const enum model_network_fault faults[] = {NETWORK_FAILS, NETWORK_LOSES,
                                                      NETWORK_SILENCE};
    change_name(story);
    model_backend_fault(story->stage->backend, draw(story, 4), faults[draw(story, 3)]);
    advance(story, 5000);
}

static void trouble_pihole(struct story *story)
{
    static const char *const switches[][2] = {
        {"up", "false"},
        {"up", "true"},
        {"fails", "1"},
        {"loses_replies", "1"},
        {"write_ms", "900"},
        {"write_ms", "5"},
        {"restart_api_ms", "9000"},
        {"restart_api_ms", "140"},
    };
    uint32_t at = draw(story, COUNT_OF(switches));
    assert_true(
        model_pihole_set(story->pihole, now_ms(story), switches[at][0], switches[at][1], NULL));
}

static void take_event(struct story *story)
{
    static void (*const events[])(struct story * story) = {
        change_name, change_many,   change_many,  person_writes,  start,
        start,       die,           stop,         wake,           wake,
        lose_api,    stop_for_long, fail_request, trouble_pihole, trouble_pihole,
    };
    static const int64_t pauses_ms[] = {0, 1, 3, 30, 70, 800, 1500, 12000, 70000, 400000};
    events[draw(story, COUNT_OF(events))](story);
    advance(story, pauses_ms[draw(story, COUNT_OF(pauses_ms))]);
}

// ---- how it ends --------------------------------------------------------------------------------

// Faults that were not met yet may still kill.
static void heal(struct story *story)
{
    static const char *const switches[][2] = {
        {"up", "true"}, {"fails", "0"}, {"loses_replies", "0"}};
    for (size_t i = 0; i < COUNT_OF(switches); i++)
        assert_true(
            model_pihole_set(story->pihole, now_ms(story), switches[i][0], switches[i][1], NULL));
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < REPLICAS; i++) {
            replica_continue(&story->replicas[i]);
            replica_start(&story->replicas[i]);
        }
        advance(story, REST_MS);
    }
}

static size_t times_there(const struct story *story, enum pihole_list list, const char *part)
{
    size_t count = 0;
    for (size_t i = 0; i < model_pihole_count(story->pihole, list); i++)
        count += strstr(model_pihole_at(story->pihole, list, i), part) != NULL;
    return count;
}

static void expect_name(const struct story *story, unsigned name)
{
    char line[64];
    unsigned content = story->contents[name];
    bool is_alias = content > 3;
    enum pihole_list other = is_alias ? PIHOLE_HOSTS : PIHOLE_CNAMES;
    snprintf(line, sizeof line, "app%u.lan", name);
    if (times_there(story, other, line))
        breach(story, "%s is there as something else", line);
    if (times_there(story, is_alias ? PIHOLE_CNAMES : PIHOLE_HOSTS, line) != (content > 0))
        breach(story, "%s is not there as wanted", line);
    if (is_alias)
        snprintf(line, sizeof line, "app%u.lan,nas%u.lan", name, content);
    else
        snprintf(line, sizeof line, "192.0.2.%u app%u.lan # signpost:", content, name);
    if (content && times_there(story, is_alias ? PIHOLE_CNAMES : PIHOLE_HOSTS, line) != 1)
        breach(story, "%s is not there", line);
}

static void expect_end(const struct story *story)
{
    uint64_t seats = 0;
    for (unsigned name = 0; name < NAMES; name++)
        expect_name(story, name);
    assert_true(model_pihole_counter(story->pihole, now_ms(story), "seats", &seats));
    if (seats != 1)
        breach(story, "%" PRIu64 " seats are taken", seats);
}

// ---- the story ----------------------------------------------------------------------------------

static void begin(struct story *story, uint64_t seed)
{
    struct error err;
    static const char piholes[] =
        "targets: [{name: home, url: http://pi.test, tokenEnv: secret}]\n";
    *story =
        (struct story){.seed = seed, .state = seed, .stage = stage_new(STAGE_CLUSTER, seed % 2)};
    story->pihole = stage_add_pihole(story->stage, "home", "http://pi.test", "secret");
    assert_true(stage_set_piholes(story->stage, &pihole_targets_defaults, piholes, &err));
    for (size_t i = 0; i < REPLICAS; i++)
        replica_init(&story->replicas[i], story->stage, i);
    start(story);
    advance(story, 100);
}

static void end(struct story *story)
{
    for (size_t i = 0; i < REPLICAS; i++)
        replica_done(&story->replicas[i]);
    stage_free(story->stage);
}

static void the_lists_of_a_pihole_have_one_writer(void **state)
{
    const char *only = getenv("PIHOLE_STORY");
    (void)state;
    for (uint64_t seed = 0; seed < STORIES; seed++) {
        struct story story;
        if (only && strtoull(only, NULL, 10) != seed)
            continue;
        begin(&story, seed);
        for (int i = 0; i < EVENTS; i++)
            take_event(&story);
        heal(&story);
        expect_end(&story);
        end(&story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lists_of_a_pihole_have_one_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
