#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_rounds.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"
#include "scenarios/replica.h"

// Two processes on one cluster and a Pi-hole, of which one leads: they die, stop and wake up, lose
// sight of the API server; the Pi-hole restarts, loses replies, is killed; people write lines, of
// names of their own and of ours, and take them away. What must hold:
//
// - The Pi-hole never has two requests of theirs at once: its lists are not safe for that.
// - What people wrote stands there all the time, in its order.
// - In the end the names of the Ingresses stand there, nothing else of ours, and one seat is taken.
// - Then the annotations of each Ingress name just what is there for it; also after single changes
//   that nothing else happens beside.
//
// What is wanted in the end is worked out anew: the oldest Ingress has a name, others that want the
// same share it, what people wrote of the same type counts more, an alias stands beside nothing.
//
// PIHOLE_STORY=7 plays that one alone, and tells what happens.

enum {
    STORIES = RANDOM_ROUNDS(60),
    EVENTS = 30,
    LATE_EVENTS = 4,
    REPLY_MS = 20,
    REPLICAS = 2,
    OBJECTS = 6,
    NAMES = 4,
    ROUNDS = 5,
    REST_MS = 15 * 60 * 1000,
};

// Of what stands for a name; 0: nothing.
enum sort { A, AAAA, ALIAS, SORTS };
static const struct content {
    const char *annotation;
    unsigned sorts[SORTS];
} contents[] = {
    {"pihole.io/target-ip: 192.0.2.1", {[A] = 1}},
    {"pihole.io/target-ip: 192.0.2.2", {[A] = 2}},
    {"pihole.io/target-ip: \"192.0.2.1,fd00::1\"", {[A] = 1, [AAAA] = 1}},
    {"pihole.io/target-ip: \"fd00::2\"", {[AAAA] = 2}},
    {"pihole.io/target-cname: nas1.lan", {[ALIAS] = 1}},
    {"pihole.io/target-cname: nas2.lan", {[ALIAS] = 2}},
    {"pihole.io/target-ip: 192.0.2.600", {0}}, // what is published stays, until it is mended
};
enum { MISTAKE = COUNT_OF(contents) - 1 };

struct change_request {
    bool is_there;
    bool is_registered;
    unsigned content;
    bool names[NAMES];
};

struct story {
    uint64_t seed;
    uint64_t state;
    struct stage *stage;
    struct model_pihole *pihole;
    struct replica replicas[REPLICAS];
    struct change_request change_requests[OBJECTS];
    unsigned lines;       // that people wrote of names of their own
    bool taken[2][NAMES]; // they have written a line of ours: by type, A or AAAA
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

static void report(const struct story *story)
{
    AUTO_BUFFER dump = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    stage_dump_requests(story->stage, &dump);
    stage_dump(story->stage, &dump);
    for (unsigned object = 0; object < OBJECTS; object++) {
        struct object_ref_key key;
        (void)stage_key(story->stage, arena, arena_printf(arena, "Ingress/default/web%u", object),
                        &key);
        const struct value *tree = stage_find(story->stage, arena, &key);
        if (tree)
            value_write_json(&dump, tree);
        buffer_add_char(&dump, '\n');
    }
    fprintf(stderr, "%s%s", buffer_text(&story->stage->log_text).at, buffer_text(&dump).at);
}

static void breach(const struct story *story, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (getenv("PIHOLE_STORY"))
        report(story);
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

static void write_ingress(const struct story *story, unsigned object)
{
    char file[32];
    struct error err;
    AUTO_BUFFER text = {0};
    const struct change_request *change_request = &story->change_requests[object];
    snprintf(file, sizeof file, "web%u.yaml", object);
    buffer_printf(&text,
                  "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: web%u\n"
                  "  annotations: {pihole.io/register: \"%s\", %s}\nspec:\n  rules:\n",
                  object, change_request->is_registered ? "true" : "false",
                  contents[change_request->content].annotation);
    for (unsigned name = 0; name < NAMES; name++)
        if (change_request->names[name])
            buffer_printf(&text, "  - host: app%u.lan\n", name);
    assert_true(
        stage_write_file(story->stage, file, change_request->is_there ? text.at : NULL, &err));
}

static void change_ingress(struct story *story)
{
    unsigned object = draw(story, OBJECTS);
    struct change_request *change_request = &story->change_requests[object];
    uint32_t what = change_request->is_there ? draw(story, 8) : 7;
    if (what == 0) {
        change_request->is_there = false;
    } else if (what == 1) {
        change_request->is_registered = !change_request->is_registered;
    } else {
        *change_request = (struct change_request){.is_there = true, .is_registered = true};
        change_request->content = draw(story, COUNT_OF(contents));
        change_request->names[draw(story, NAMES)] = change_request->names[draw(story, NAMES)] =
            true;
    }
    write_ingress(story, object);
}

static void change_many(struct story *story)
{
    for (int i = 0; i < 4; i++)
        change_ingress(story);
}

// Who reads a list and writes it back takes along what was written in between: people write when
// nobody has just asked.
static void let_be(struct story *story)
{
    const struct model_backend *backend = story->stage->backend;
    size_t count = model_backend_request_count(backend);
    while (count && model_backend_request(backend, count - 1)->at_ms > now_ms(story) - REPLY_MS) {
        advance(story, 1);
        count = model_backend_request_count(backend);
    }
}

static void person_writes(struct story *story)
{
    char line[64];
    let_be(story);
    snprintf(line, sizeof line, "192.0.2.200 mine%u.lan", story->lines++);
    model_pihole_put(story->pihole, PIHOLE_HOSTS, line, true);
}

static void person_takes_name(struct story *story)
{
    char line[64];
    uint32_t sort = draw(story, 2);
    uint32_t name = draw(story, NAMES);
    bool *is_taken = &story->taken[sort][name];
    let_be(story);
    snprintf(line, sizeof line, sort == A ? "192.0.2.99 app%u.lan" : "fd00::99 app%u.lan", name);
    *is_taken = !*is_taken;
    if (*is_taken)
        model_pihole_put(story->pihole, PIHOLE_HOSTS, line, true);
    else
        assert_true(model_pihole_take(story->pihole, PIHOLE_HOSTS, line));
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
    change_ingress(story);
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
        change_ingress, change_many, change_many,   person_writes, person_takes_name,
        start,          start,       die,           stop,          wake,
        wake,           lose_api,    stop_for_long, fail_request,  trouble_pihole,
        trouble_pihole,
    };
    static const int64_t pauses_ms[] = {0, 1, 3, 30, 70, 800, 1500, 12000, 70000, 400000};
    events[draw(story, COUNT_OF(events))](story);
    advance(story, pauses_ms[draw(story, COUNT_OF(pauses_ms))]);
}

// ---- how it ends --------------------------------------------------------------------------------

static void mend_change_requests(struct story *story)
{
    for (unsigned object = 0; object < OBJECTS; object++) {
        struct change_request *change_request = &story->change_requests[object];
        if (!change_request->is_there || change_request->content != MISTAKE)
            continue;
        change_request->content = 0;
        write_ingress(story, object);
    }
}

// Faults that were not met yet may still kill.
static void heal(struct story *story)
{
    static const char *const switches[][2] = {
        {"up", "true"}, {"fails", "0"}, {"loses_replies", "0"}};
    for (size_t i = 0; i < COUNT_OF(switches); i++)
        assert_true(
            model_pihole_set(story->pihole, now_ms(story), switches[i][0], switches[i][1], NULL));
    mend_change_requests(story);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < REPLICAS; i++) {
            replica_continue(&story->replicas[i]);
            replica_start(&story->replicas[i]);
        }
        advance(story, REST_MS);
    }
}

// Ingresses as the store shows them.
struct shown {
    struct arena *arena;
    struct value *trees[OBJECTS]; // NULL: it is not there
    unsigned oldest_first[OBJECTS];
};

static const char *shown_text(const struct shown *shown, unsigned object, const char *path)
{
    struct text text = value_text_at(shown->trees[object], path);
    return arena_copy(shown->arena, text.at, text.len);
}

static bool is_older(const struct shown *shown, unsigned left, unsigned right)
{
    static const char path[] = "metadata.creationTimestamp";
    int order = strcmp(shown_text(shown, left, path), shown_text(shown, right, path));
    return order ? order < 0 : left < right;
}

static void show(const struct story *story, struct shown *shown)
{
    shown->arena = arena_new();
    for (unsigned object = 0; object < OBJECTS; object++) {
        struct object_ref_key key;
        const char *name = arena_printf(shown->arena, "Ingress/default/web%u", object);
        assert_true(stage_key(story->stage, shown->arena, name, &key));
        shown->trees[object] = stage_find(story->stage, shown->arena, &key);
        if (!shown->trees[object] == story->change_requests[object].is_there)
            breach(story, "%s is there, or is not", name);
        unsigned at = object;
        for (; at > 0 && is_older(shown, object, shown->oldest_first[at - 1]); at--)
            shown->oldest_first[at] = shown->oldest_first[at - 1];
        shown->oldest_first[at] = object;
    }
}

// Who has a name, by type.
struct held {
    unsigned sorts[SORTS];
    unsigned holder[SORTS];
    bool is_owned[OBJECTS];
};

static bool is_shut_out(const struct held *held, enum sort sort, unsigned object)
{
    for (enum sort other = A; other < SORTS; other++) {
        bool excludes = other == sort || other == ALIAS || sort == ALIAS;
        if (held->sorts[other] && excludes && held->holder[other] != object)
            return true;
    }
    return false;
}

static bool is_peoples(const struct story *story, enum sort sort, unsigned name)
{
    if (sort == ALIAS)
        return story->taken[A][name] || story->taken[AAAA][name];
    return story->taken[sort][name];
}

static void hold(const struct story *story, struct held *held, unsigned name, unsigned object)
{
    const struct change_request *change_request = &story->change_requests[object];
    for (enum sort sort = A; sort < SORTS; sort++) {
        unsigned wanted = contents[change_request->content].sorts[sort];
        if (!wanted)
            continue;
        bool is_free = !is_shut_out(held, sort, object);
        if (is_free) {
            held->sorts[sort] = wanted;
            held->holder[sort] = object;
        }
        if ((is_free || held->sorts[sort] == wanted) && !is_peoples(story, sort, name))
            held->is_owned[object] = true;
    }
}

static void settle(const struct story *story, const struct shown *shown, unsigned name,
                   struct held *held)
{
    memset(held, 0, sizeof *held);
    for (size_t i = 0; i < OBJECTS; i++) {
        unsigned object = shown->oldest_first[i];
        const struct change_request *change_request = &story->change_requests[object];
        if (change_request->is_there && change_request->is_registered &&
            change_request->names[name])
            hold(story, held, name, object);
    }
}

static size_t times_there(const struct story *story, enum pihole_list list, const char *part)
{
    size_t count = 0;
    for (size_t i = 0; i < model_pihole_count(story->pihole, list); i++)
        count += strstr(model_pihole_at(story->pihole, list, i), part) != NULL;
    return count;
}

static const char *line_of(const struct shown *shown, enum sort sort, unsigned content,
                           unsigned name)
{
    if (sort == ALIAS)
        return arena_printf(shown->arena, "app%u.lan,nas%u.lan", name, content);
    return arena_printf(shown->arena,
                        "%s%u app%u.lan # signpost:", sort == A ? "192.0.2." : "fd00::", content,
                        name);
}

static size_t expect_name(const struct story *story, const struct shown *shown,
                          const struct held *held, unsigned name)
{
    size_t count = 0;
    for (enum sort sort = A; sort < SORTS; sort++) {
        const char *line = line_of(shown, sort, held->sorts[sort], name);
        if (!held->sorts[sort] || is_peoples(story, sort, name))
            continue;
        if (times_there(story, sort == ALIAS ? PIHOLE_CNAMES : PIHOLE_HOSTS, line) != 1)
            breach(story, "%s is not there", line);
        count++;
    }
    return count;
}

static void expect_annotations(const struct story *story, const struct shown *shown,
                               const struct held helds[NAMES])
{
    for (unsigned object = 0; object < OBJECTS; object++) {
        AUTO_BUFFER wanted = {0};
        const char *found = "";
        const struct value *annotations =
            value_at(shown->trees[object], "metadata.annotations", NULL);
        for (unsigned name = 0; name < NAMES; name++)
            if (helds[name].is_owned[object])
                buffer_printf(&wanted, "%sapp%u.lan", wanted.len ? "," : "", name);
        const struct value *listed = value_find(annotations, "pihole.io/managed-hosts");
        if (listed)
            found = arena_copy(shown->arena, listed->text.at, listed->text.len);
        if (strcmp(found, buffer_text(&wanted).at))
            breach(story, "web%u has %s in managed-hosts, not %s", object, found,
                   buffer_text(&wanted).at);
    }
}

static void expect_lists(const struct story *story)
{
    size_t count = 0;
    struct shown shown;
    struct held helds[NAMES];
    show(story, &shown);
    for (unsigned name = 0; name < NAMES; name++) {
        settle(story, &shown, name, &helds[name]);
        count += expect_name(story, &shown, &helds[name], name);
    }
    if (times_there(story, PIHOLE_HOSTS, "# signpost:") + times_there(story, PIHOLE_CNAMES, ",") !=
        count)
        breach(story, "something of ours is there besides");
    expect_annotations(story, &shown, helds);
    arena_free(shown.arena);
}

static void expect_one_seat(const struct story *story)
{
    uint64_t seats = 0;
    assert_true(model_pihole_counter(story->pihole, now_ms(story), "seats", &seats));
    if (seats != 1)
        breach(story, "%" PRIu64 " seats are taken", seats);
}

static void expect_end(struct story *story)
{
    expect_lists(story);
    expect_one_seat(story);
    for (int i = 0; i < LATE_EVENTS; i++) {
        if (draw(story, 3))
            change_ingress(story);
        else
            person_takes_name(story);
        mend_change_requests(story);
        advance(story, REST_MS);
        expect_lists(story);
    }
}

// ---- the story ----------------------------------------------------------------------------------

static void begin(struct story *story, uint64_t seed)
{
    struct error err;
    static const char piholes[] =
        "targets: [{name: home, url: http://pi.test, tokenEnv: secret}]\n";
    *story =
        (struct story){.seed = seed, .state = seed, .stage = stage_new(STAGE_CLUSTER, seed % 2)};
    struct pihole_targets settings = pihole_targets_defaults;
    settings.max_delete_percent = 100; // what goes while nobody looks is no accident here
    story->pihole = stage_add_pihole(story->stage, "home", "http://pi.test", "secret");
    assert_true(stage_set_piholes(story->stage, &settings, piholes, &err));
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
    uint64_t first = only ? strtoull(only, NULL, 10) : 0;
    (void)state;
    for (uint64_t seed = first; seed < (only ? first + 1 : STORIES); seed++) {
        struct story story;
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
