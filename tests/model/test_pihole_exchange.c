#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/test_rounds.h"
#include "base/value.h"
#include "model/model_pihole.h"
#include "providers/provider.h"

// The Pi-hole provider against the model of one, with people who write there too and with random
// faults. Whatever happens: their lines stay as they are, we have one seat, no two requests are in
// flight at once, and in the end all stands as wanted.

#define OWNER "1a2b3c4d"

enum {
    UNIX_S = 1767225600,
    NAMES = 14,
    ALIASES = 4, // the last of the names
    ROUNDS = 60,
    SEEDS = RANDOM_ROUNDS(40),
    CALM_ROUNDS = 30,
    TRIES_MAX = 2500,
};

struct want {
    char name[32];
    enum record_type type;
    char value[32];   // "": nothing
    char stored[200]; // what the ledger has for it
    char before[200]; // and had, before the change under way was written ahead
};

struct cast {
    const char *config;
    const char *dialect;  // the model's
    bool has_aliases;     // we want CNAMEs
    bool has_neighbours;  // people write names that we want
    bool has_resurrected; // what was removed comes back, as it does
    bool has_seats;
};

struct play {
    struct model_pihole *pihole;
    const struct provider *provider;
    const struct cast *cast;
    void *instance;
    struct random random;
    uint64_t number; // of the last draw
    int64_t now_ms;
    struct arena *arena;
    struct want wants[NAMES];
    char stands[NAMES][32]; // ours, as the last question told
    bool is_held[NAMES];    // somebody else has that name, too
    char facts[4][2][120];
    size_t fact_count;
    struct ledger_view view;
    struct job job;
    unsigned exchanges;
};

// ---- randomness ---------------------------------------------------------------------------------

static uint64_t draw(struct play *play, uint64_t below)
{
    play->number ^= play->number << 13;
    play->number ^= play->number >> 7;
    play->number ^= play->number << 17;
    return (play->number >> 11) % below;
}

static void fill(struct random *random, void *out, size_t len)
{
    struct play *play = (void *)((char *)random - offsetof(struct play, random));
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)out)[i] = (uint8_t)(1 + draw(play, 255));
}

// ---- the ledger ---------------------------------------------------------------------------------

static struct want *want_of(struct play *play, enum record_type type, struct text name)
{
    for (size_t i = 0; i < NAMES; i++)
        if (play->wants[i].type == type && text_is(name, play->wants[i].name))
            return &play->wants[i];
    return NULL;
}

// Only what stood there before proves whose something is.
static const char *ledger_find(const void *context, enum record_type type, struct text name)
{
    const struct play *play = context;
    for (size_t i = 0; i < NAMES; i++)
        if (play->wants[i].type == type && text_is(name, play->wants[i].name))
            return *play->wants[i].before ? play->wants[i].before : NULL;
    return NULL;
}

static void ledger_look(struct play *play)
{
    for (size_t i = 0; i < NAMES; i++)
        memcpy(play->wants[i].before, play->wants[i].stored, sizeof play->wants[i].before);
}

static const char *ledger_recall(const void *context, const char *fact)
{
    const struct play *play = context;
    for (size_t i = 0; i < play->fact_count; i++)
        if (!strcmp(play->facts[i][0], fact))
            return play->facts[i][1];
    return NULL;
}

static void ledger_keep(void *context, const char *fact, const char *value)
{
    struct play *play = context;
    assert_true(play->fact_count < COUNT_OF(play->facts));
    snprintf(play->facts[play->fact_count][0], sizeof play->facts[0][0], "%s", fact);
    snprintf(play->facts[play->fact_count++][1], sizeof play->facts[0][1], "%s", value);
}

static void write_ahead(struct play *play, const struct change *change)
{
    AUTO_BUFFER entry = {0};
    struct want *want = want_of(play, change->set.type, change->set.domain);
    if (change->op != CHANGE_SET || !play->provider->entry(play->instance, &change->set, &entry) ||
        strstr(want->stored, entry.at))
        return;
    size_t used = strlen(want->stored);
    assert_true(used + entry.len < sizeof want->stored);
    memcpy(want->stored + used, entry.at, entry.len + 1);
}

static void settle(struct play *play, const struct change *change)
{
    AUTO_BUFFER entry = {0};
    struct want *want = want_of(play, change->set.type, change->set.domain);
    if (!change->outcome.is_done)
        return;
    want->stored[0] = '\0';
    if (change->op == CHANGE_SET && !change->outcome.is_foreign &&
        play->provider->entry(play->instance, &change->set, &entry))
        snprintf(want->stored, sizeof want->stored, "%s", entry.at);
}

// ---- talking ------------------------------------------------------------------------------------

static void set(struct play *play, const char *name, const char *value)
{
    struct error err = {0};
    if (!model_pihole_set(play->pihole, play->now_ms, name, value, &err))
        fail_msg("%s", err.text);
}

static struct moment moment_of(struct play *play)
{
    return (struct moment){.unix_ms = UNIX_S * 1000LL + play->now_ms,
                           .mono_ms = play->now_ms,
                           .random = &play->random};
}

static void handle_reply(struct play *play, void *exchange, const struct http_reply *reply)
{
    const struct moment moment = moment_of(play);
    play->provider->handle_reply(exchange, &moment,
                                 &(struct ask_result){.kind = ASK_HTTP, .http = reply});
}

static void wait_and_handle_reply(struct play *play, void *exchange, int64_t wait_ms)
{
    assert_in_range(wait_ms, 1, 5000);
    play->now_ms += wait_ms;
    const struct moment moment = moment_of(play);
    play->provider->handle_reply(exchange, &moment, &(struct ask_result){.kind = ASK_WAIT});
}

static void fail_reply(struct http_reply *reply, enum http_failure failure, bool is_unsent)
{
    *reply = (struct http_reply){.failure = failure, .is_unsent = is_unsent};
    error_set(&reply->error, FAULT_AGAIN, "ServerUnreachable", "no answer");
}

static void send_and_handle_reply(struct play *play, void *exchange,
                                  const struct http_request *http)
{
    struct http_header headers[6] = {{"User-Agent", http->user_agent}};
    struct pihole_reply said = {0};
    struct http_reply reply = {0};
    assert_true(http->header_count < COUNT_OF(headers));
    for (size_t i = 0; i < http->header_count; i++)
        headers[i + 1] = http->headers[i];
    const char *host = strstr(http->url, "://") + 3;
    const struct pihole_request request = {.method = http->method,
                                           .target = text_of(strchr(host, '/')),
                                           .headers = headers,
                                           .header_count = http->header_count + 1,
                                           .body = http->body};
    uint64_t flight = model_pihole_begin(play->pihole, play->now_ms, &request, &said);
    play->now_ms += said.fate == PIHOLE_ANSWERS ? said.delay_ms : 1;
    if (said.fate == PIHOLE_REFUSES) {
        fail_reply(&reply, HTTP_UNREACHABLE, true);
    } else if (said.fate == PIHOLE_SILENT) {
        play->now_ms += http->timeout_ms;
        fail_reply(&reply, HTTP_TIMEOUT, false);
    } else if (said.is_cut || !model_pihole_is_alive(play->pihole, flight, play->now_ms)) {
        fail_reply(&reply, HTTP_UNREACHABLE, false);
    } else {
        reply = (struct http_reply){.status = said.status,
                                    .headers = said.headers,
                                    .header_count = said.header_count,
                                    .body = said.body};
    }
    handle_reply(play, exchange, &reply);
    model_pihole_end(play->pihole, flight);
}

static void do_job(struct play *play)
{
    struct ask ask;
    play->job.arena = play->arena;
    play->job.ledger = &play->view;
    void *exchange = play->provider->begin(play->instance, &play->job);
    for (unsigned i = 0;; i++) {
        const struct moment moment = moment_of(play);
        enum ask_kind kind = play->provider->ask(exchange, &moment, &ask);
        if (kind == ASK_DONE)
            break;
        assert_true(kind == ASK_HTTP || kind == ASK_WAIT);
        assert_true(i < TRIES_MAX);
        if (kind == ASK_WAIT)
            wait_and_handle_reply(play, exchange, ask.wait_ms);
        else
            send_and_handle_reply(play, exchange, &ask.http);
    }
    play->provider->end(exchange);
    play->exchanges++;
    if (play->job.unavailable)
        play->now_ms += play->job.unavailable->retry_ms;
}

// ---- one round ----------------------------------------------------------------------------------

static void report_existing(void *context, const struct existing_set *existing)
{
    struct play *play = context;
    for (size_t i = 0; i < NAMES; i++) {
        if (play->wants[i].type != existing->set.type ||
            !text_is(existing->set.domain, play->wants[i].name))
            continue;
        play->is_held[i] |= !existing->is_ours;
        if (existing->is_ours)
            snprintf(play->stands[i], sizeof play->stands[i], "%.*s%s",
                     TEXT_ARGS(existing->set.values[0]), existing->set.value_count > 1 ? " +" : "");
    }
}

static bool ask_what_stands(struct play *play)
{
    memset(play->stands, 0, sizeof play->stands);
    memset(play->is_held, 0, sizeof play->is_held);
    arena_reset(play->arena);
    ledger_look(play);
    play->job =
        (struct job){.kind = JOB_HEALTH, .report_existing = report_existing, .context = play};
    do_job(play);
    return play->job.is_listed;
}

static size_t input(struct play *play, struct change *changes)
{
    size_t count = 0;
    for (size_t i = 0; i < NAMES; i++) {
        struct want *want = &play->wants[i];
        struct text *value = arena_new_of(play->arena, struct text);
        bool is_double = play->is_held[i] && *play->stands[i];
        if (!strcmp(want->value, play->stands[i]) && !is_double)
            continue;
        *value = text_of(arena_copy_text(play->arena, want->value));
        changes[count++] = (struct change){.op = *want->value ? CHANGE_SET : CHANGE_REMOVE,
                                           .set = {.type = want->type,
                                                   .domain = text_of(want->name),
                                                   .subdomain = TEXT("@"),
                                                   .values = value,
                                                   .value_count = *want->value ? 1 : 0,
                                                   .priority = -1,
                                                   .weight = -1,
                                                   .port = -1}};
    }
    return count;
}

static void make_it_so(struct play *play)
{
    struct change changes[NAMES];
    if (!ask_what_stands(play))
        return;
    size_t count = input(play, changes);
    if (!count)
        return;
    for (size_t i = 0; i < count; i++)
        write_ahead(play, &changes[i]);
    play->job = (struct job){.kind = JOB_CHANGES, .changes = changes, .change_count = count};
    do_job(play);
    for (size_t i = 0; i < count; i++) {
        assert_true(play->job.unavailable || changes[i].outcome.is_done ||
                    changes[i].outcome.error);
        settle(play, &changes[i]);
    }
}

static void sit_down(struct play *play)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    CLEANUP(secret) struct secret *secret = secret_new("hunter2", 7);
    struct error err = {0};
    const struct session_setup setup = {
        .config = value_read_json(arena, text_of(play->cast->config), &value_manifest_limits, &err),
        .secret = secret,
        .owner_id = OWNER};
    if (!setup.config || !play->provider->open(&setup, &play->instance, &err))
        fail_msg("%s", err.text);
}

// As after a kill -9: nobody logs out.
static void begin_anew(struct play *play)
{
    play->provider->close(play->instance);
    sit_down(play);
}

// ---- people, annotations and faults -------------------------------------------------------------

static const char *person_entry(struct play *play, enum pihole_list *list)
{
    uint64_t number = play->cast->has_neighbours ? draw(play, NAMES + 3) : NAMES + draw(play, 9);
    *list = number >= NAMES - ALIASES && number < NAMES ? PIHOLE_CNAMES : PIHOLE_HOSTS;
    if (*list == PIHOLE_CNAMES)
        return arena_printf(play->arena, "n%llu.lan,person.lan", (unsigned long long)number);
    return arena_printf(play->arena, "192.168.9.%llu n%llu.lan%s", (unsigned long long)number,
                        (unsigned long long)number, number % 3 ? "" : " # by hand  # signpost:no");
}

static bool is_there(const struct play *play, enum pihole_list list, const char *entry)
{
    for (size_t i = 0; i < model_pihole_count(play->pihole, list); i++)
        if (!strcmp(model_pihole_at(play->pihole, list, i), entry))
            return true;
    return false;
}

// Two CNAMEs of one alias would be a fault of people's, which the resolver refuses.
static bool is_taken(const struct play *play, const char *entry)
{
    size_t len = (size_t)(strchrnul(entry, ',') - entry) + 1;
    for (size_t i = 0; i < model_pihole_count(play->pihole, PIHOLE_CNAMES); i++)
        if (!strncmp(model_pihole_at(play->pihole, PIHOLE_CNAMES, i), entry, len))
            return true;
    return false;
}

static void people_write(struct play *play)
{
    enum pihole_list list;
    const char *entry = person_entry(play, &list);
    if (is_there(play, list, entry))
        model_pihole_take(play->pihole, list, entry);
    else if (list == PIHOLE_HOSTS || !is_taken(play, entry))
        model_pihole_put(play->pihole, list, entry, true);
}

static void want_anew(struct play *play)
{
    struct want *want = &play->wants[draw(play, NAMES - (play->cast->has_aliases ? 0 : ALIASES))];
    uint64_t number = draw(play, 5);
    if (!number)
        want->value[0] = '\0';
    else if (want->type == RECORD_CNAME)
        snprintf(want->value, sizeof want->value, "n%llu.lan", (unsigned long long)number);
    else if (want->type == RECORD_AAAA)
        snprintf(want->value, sizeof want->value, "fd00::%llu", (unsigned long long)number);
    else
        snprintf(want->value, sizeof want->value, "192.168.1.%llu", (unsigned long long)number);
}

static void go_wrong(struct play *play)
{
    static const struct {
        const char *name, *value;
    } rows[] = {
        {"fails", "1"},
        {"fails", "3"},
        {"loses_replies", "1"},
        {"cut_octets", "40"},
        {"cut_octets", "300"},
        {"body", "<html>Router"},
        {"resurrects", "1"},
        {"restart_api_ms", "60000"},
        {"restart_api_ms", "140"},
        {"hangs", "true"},
        {"up", "false"},
        {"max_sessions", "16"},
    };
    size_t i = draw(play, COUNT_OF(rows) + 3);
    bool is_other = i < COUNT_OF(rows) && !strcmp(rows[i].name, "resurrects");
    if (i < COUNT_OF(rows) && (!is_other || play->cast->has_resurrected))
        set(play, rows[i].name, rows[i].value);
    else if (i == COUNT_OF(rows))
        model_pihole_forget_sessions(play->pihole);
    else if (i == COUNT_OF(rows) + 1)
        begin_anew(play);
}

static void mend(struct play *play)
{
    set(play, "hangs", "false");
    set(play, "up", "true");
}

static void check_peace(const struct play *play)
{
    uint64_t count;
    const char *breach = model_pihole_breach(play->pihole);
    if (breach)
        fail_msg("after %u exchanges: %s", play->exchanges, breach);
    assert_true(model_pihole_counter(play->pihole, play->now_ms, "overlaps", &count));
    assert_int_equal(count, 0);
    assert_true(model_pihole_counter(play->pihole, play->now_ms, "deadlocks", &count));
    assert_int_equal(count, 0);
}

// ---- the end ------------------------------------------------------------------------------------

static void calm_down(struct play *play)
{
    set(play, "fails", "0");
    set(play, "loses_replies", "0");
    set(play, "resurrects", "0");
    set(play, "restart_api_ms", "140");
    mend(play);
    for (int i = 0; i < CALM_ROUNDS; i++) {
        make_it_so(play);
        check_peace(play);
        play->now_ms += 20000;
    }
}

// Somebody's line keeps a name of ours out of its list.
static bool is_held_by_people(const struct play *play, const struct want *want)
{
    enum pihole_list list = want->type == RECORD_CNAME ? PIHOLE_CNAMES : PIHOLE_HOSTS;
    const char *mark = list == PIHOLE_CNAMES ? ",person.lan" : "192.168.9.";
    for (size_t i = 0; i < model_pihole_count(play->pihole, list); i++) {
        const char *entry = model_pihole_at(play->pihole, list, i);
        if (strstr(entry, mark) && strstr(entry, want->name))
            return want->type != RECORD_AAAA;
    }
    return false;
}

static void check_end(struct play *play)
{
    uint64_t seats;
    begin_anew(play);
    assert_true(ask_what_stands(play));
    for (size_t i = 0; i < NAMES; i++) {
        const struct want *want = &play->wants[i];
        const char *wanted = is_held_by_people(play, want) ? "" : want->value;
        if (strcmp(play->stands[i], wanted) != 0)
            fail_msg("%s %s stands, not %s", want->name, play->stands[i], wanted);
    }
    assert_true(model_pihole_counter(play->pihole, play->now_ms, "seats", &seats));
    assert_int_equal(seats, play->cast->has_seats);
    play->job = (struct job){.kind = JOB_LEAVE};
    do_job(play);
    assert_true(model_pihole_counter(play->pihole, play->now_ms, "seats", &seats));
    assert_int_equal(seats, 0);
}

// ---- plays --------------------------------------------------------------------------------------

static void play_init(struct play *play, const struct cast *cast, uint64_t seed)
{
    static const enum record_type types[] = {RECORD_A, RECORD_A, RECORD_AAAA};
    *play = (struct play){.provider = provider_find("pihole"),
                          .cast = cast,
                          .random = {.fill = fill},
                          .number = 0x9e3779b97f4a7c15U * (seed + 1),
                          .now_ms = 5000,
                          .arena = arena_new(),
                          .pihole = model_pihole_new("hunter2", UNIX_S * 1000LL)};
    play->view = (struct ledger_view){ledger_find, ledger_recall, ledger_keep, play};
    for (size_t i = 0; i < NAMES; i++) {
        struct want *want = &play->wants[i];
        snprintf(want->name, sizeof want->name, "n%zu.lan", i);
        want->type = i >= NAMES - ALIASES ? RECORD_CNAME : types[i % COUNT_OF(types)];
    }
    set(play, "dialect", cast->dialect);
    sit_down(play);
}

static void play_done(struct play *play)
{
    play->provider->close(play->instance);
    model_pihole_free(play->pihole);
    arena_free(play->arena);
}

static void play_round(struct play *play)
{
    for (uint64_t i = draw(play, 4); i > 0; i--)
        people_write(play);
    for (uint64_t i = draw(play, 5); i > 0; i--)
        want_anew(play);
    if (!draw(play, 3))
        go_wrong(play);
    make_it_so(play);
    check_peace(play);
    if (!draw(play, 3))
        mend(play);
    play->now_ms += (int64_t)draw(play, 70000);
}

static void play_all(const struct cast *cast)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct play play;
        play_init(&play, cast, seed);
        for (int round = 0; round < ROUNDS; round++)
            play_round(&play);
        calm_down(&play);
        check_end(&play);
        play_done(&play);
    }
}

#define URL "{\"url\":\"http://pi.example\""

static void lines_of_people_outlive_all_faults(void **state)
{
    (void)state;
    play_all(&(struct cast){URL "}", "v6", true, true, false, true});
}

static void what_comes_back_is_removed_again(void **state)
{
    (void)state;
    play_all(&(struct cast){URL "}", "v6", false, true, true, true});
}

static void element_by_element_too(void **state)
{
    (void)state;
    play_all(&(struct cast){URL ",\"write\":\"element\"}", "v6", true, true, false, true});
}

static void by_the_ledger_alone_too(void **state)
{
    (void)state;
    play_all(&(struct cast){URL ",\"ownership\":\"annotation\"}", "v6", true, true, false, true});
}

static void with_the_api_of_old_too(void **state)
{
    (void)state;
    play_all(&(struct cast){URL "}", "legacy", false, false, false, false});
}

// ---- many ---------------------------------------------------------------------------------------

enum { MANY = 3400 };

static const struct text one_address[] = {{"192.168.1.50", 12}};
static const struct text one_target[] = {{"target.home.lan", 15}};

static void count_existing(void *context, const struct existing_set *existing)
{
    size_t *count = context;
    *count += existing->is_ours;
}

static size_t count_ours(struct play *play)
{
    size_t count = 0;
    arena_reset(play->arena);
    play->job =
        (struct job){.kind = JOB_HEALTH, .report_existing = count_existing, .context = &count};
    do_job(play);
    assert_true(play->job.is_listed && !play->job.unavailable);
    return count;
}

static void change_many(struct play *play, enum record_type type, enum change_op op, size_t from,
                        size_t to)
{
    const struct text *values = type == RECORD_CNAME ? one_target : one_address;
    while (from < to) {
        size_t room = play->provider->max_changes;
        size_t count = to - from < room ? to - from : room;
        struct change *changes = mem_new_array(struct change, count);
        arena_reset(play->arena);
        for (size_t i = 0; i < count; i++) {
            const char *name = arena_printf(play->arena, "name-%04zu.%shome.lan", from + i,
                                            type == RECORD_CNAME ? "apps." : "");
            changes[i] = (struct change){.op = op,
                                         .set = {.type = type,
                                                 .domain = text_of(name),
                                                 .subdomain = TEXT("@"),
                                                 .values = values,
                                                 .value_count = op == CHANGE_SET,
                                                 .priority = -1,
                                                 .weight = -1,
                                                 .port = -1}};
        }
        play->job = (struct job){.kind = JOB_CHANGES, .changes = changes, .change_count = count};
        do_job(play);
        assert_null(play->job.unavailable);
        for (size_t i = 0; i < count; i++)
            assert_true(changes[i].outcome.is_done && !changes[i].outcome.is_unchanged);
        free(changes);
        from += count;
    }
}

static uint64_t counter(const struct play *play, const char *name)
{
    uint64_t value;
    assert_true(model_pihole_counter(play->pihole, play->now_ms, name, &value));
    return value;
}

// One PATCH each while they fit, packed or not; then element by element.
static void more_names_than_a_patch_can_carry_come_and_go(void **state)
{
    struct play play;
    (void)state;
    play_init(&play, &(struct cast){URL "}", "v6", false, false, false, true}, 1);
    model_pihole_put(play.pihole, PIHOLE_HOSTS, "192.168.9.9 nas.lan # mine", true);
    assert_int_equal(count_ours(&play), 0);
    change_many(&play, RECORD_A, CHANGE_SET, 0, 2000);
    assert_int_equal(counter(&play, "patches"), 2);
    assert_int_equal(counter(&play, "puts"), 0);
    change_many(&play, RECORD_A, CHANGE_SET, 2000, MANY);
    assert_int_equal(count_ours(&play), MANY);
    assert_in_range(counter(&play, "largest_body"), 40000, 65534);
    assert_true(counter(&play, "puts") > 0);
    change_many(&play, RECORD_A, CHANGE_REMOVE, 10, MANY);
    assert_int_equal(count_ours(&play), 10);
    assert_int_equal(model_pihole_count(play.pihole, PIHOLE_HOSTS), 11);
    check_peace(&play);
    play_done(&play);
}

// ---- aliases, which restart the resolver --------------------------------------------------------

enum { MANY_ALIASES = 3000, SOME_ALIASES = 12, SUSPECTS = 1000 };

// All that may be tried stands there already: a bad one is an alias of itself.
static const char *ledger_of_aliases(const void *context, enum record_type type, struct text name)
{
    const struct play *play = context;
    if (type != RECORD_CNAME)
        return NULL;
    return arena_printf(play->arena, "%.*s,%s\n%.*s,%.*s\n", TEXT_ARGS(name), one_target[0].at,
                        TEXT_ARGS(name), TEXT_ARGS(name));
}

static void play_aliases(struct play *play, const char *config)
{
    static struct cast cast;
    cast = (struct cast){config, "v6", true, false, false, true};
    play_init(play, &cast, 1);
    play->view.find = ledger_of_aliases;
    assert_int_equal(count_ours(play), 0);
}

// What the resolver serves, once it has spoken.
static size_t count_served(struct play *play)
{
    AUTO_BUFFER served = {0};
    size_t count = 0;
    play->now_ms += 5000;
    model_pihole_write_cnames(play->pihole, play->now_ms, &served);
    for (size_t i = 0; i < served.len; i++)
        count += served.at[i] == ',';
    return count;
}

static void aliases_written_one_by_one_never_meet_a_restart(void **state)
{
    static const struct {
        const char *defers, *hosts_local;
        size_t restarts;
    } rows[] = {
        {"true", "absent", 1},
        {"true", "true", 1},
        {"false", "absent", SOME_ALIASES},
        {"false", "true", SOME_ALIASES},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct play play;
        play_aliases(&play, URL ",\"write\":\"element\"}");
        set(&play, "defers", rows[i].defers);
        set(&play, "hosts_local", rows[i].hosts_local);
        change_many(&play, RECORD_CNAME, CHANGE_SET, 0, SOME_ALIASES);
        check_peace(&play);
        assert_int_equal(counter(&play, "restarts"), rows[i].restarts);
        assert_int_equal(count_served(&play), SOME_ALIASES);
        change_many(&play, RECORD_CNAME, CHANGE_REMOVE, 0, SOME_ALIASES);
        check_peace(&play);
        assert_int_equal(counter(&play, "restarts"), 2 * rows[i].restarts);
        assert_int_equal(count_served(&play), 0);
        play_done(&play);
    }
}

static void hosts_that_restart_never_meet_one_either(void **state)
{
    static const char *const defers[] = {"true", "false"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(defers); i++) {
        struct play play;
        play_aliases(&play, URL ",\"write\":\"element\"}");
        set(&play, "defers", defers[i]);
        set(&play, "hosts_local", "true");
        begin_anew(&play);
        change_many(&play, RECORD_A, CHANGE_SET, 0, SOME_ALIASES);
        check_peace(&play);
        assert_int_equal(counter(&play, "restarts"), i ? SOME_ALIASES : 1);
        play_done(&play);
    }
}

static void more_aliases_than_a_patch_can_carry_take_few_restarts(void **state)
{
    struct play play;
    (void)state;
    play_aliases(&play, URL "}");
    model_pihole_put(play.pihole, PIHOLE_CNAMES, "nas.lan,box.lan", true);
    change_many(&play, RECORD_CNAME, CHANGE_SET, 0, MANY_ALIASES);
    check_peace(&play);
    assert_int_equal(count_ours(&play), MANY_ALIASES);
    assert_in_range(counter(&play, "restarts"), 1, 5);
    assert_in_range(counter(&play, "puts"), 1, 100);
    assert_in_range(counter(&play, "largest_body"), 40000, 65534);
    assert_int_equal(count_served(&play), MANY_ALIASES + 1);
    change_many(&play, RECORD_CNAME, CHANGE_REMOVE, 10, MANY_ALIASES);
    check_peace(&play);
    assert_int_equal(count_ours(&play), 10);
    assert_in_range(counter(&play, "restarts"), 2, 10);
    assert_int_equal(model_pihole_count(play.pihole, PIHOLE_CNAMES), 11);
    play_done(&play);
}

static uint64_t writes(const struct play *play)
{
    return counter(play, "patches") + counter(play, "puts") + counter(play, "deletes");
}

static unsigned log2_up(size_t number)
{
    unsigned result = 0;
    while ((1U << result) < number)
        result++;
    return result;
}

static void search(struct play *play, const bool *is_bad, size_t count)
{
    struct change *changes = mem_new_array(struct change, count);
    struct text *values = mem_new_array(struct text, count);
    size_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        struct text name = text_of(arena_printf(play->arena, "name-%04zu.home.lan", i));
        values[i] = is_bad[i] ? name : one_target[0];
        bad += is_bad[i];
        changes[i] = (struct change){.op = CHANGE_SET,
                                     .set = {.type = RECORD_CNAME,
                                             .domain = name,
                                             .subdomain = TEXT("@"),
                                             .values = &values[i],
                                             .value_count = 1,
                                             .priority = -1,
                                             .weight = -1,
                                             .port = -1}};
    }
    uint64_t before = writes(play);
    play->job = (struct job){.kind = JOB_CHANGES, .changes = changes, .change_count = count};
    do_job(play);
    assert_null(play->job.unavailable);
    // Behind the one that was refused as a whole.
    assert_in_range(writes(play) - before - 1, 0, bad * log2_up(count) + bad);
    for (size_t i = 0; i < count; i++) {
        const struct error *error = changes[i].outcome.error;
        assert_int_equal(changes[i].outcome.is_done, !is_bad[i]);
        if (!is_bad[i])
            continue;
        assert_string_equal(error->reason, "RecordRefused");
        assert_non_null(strstr(error->text, "HTTP 400: Invalid configuration"));
        assert_int_equal(error->status, 400);
    }
    free(changes);
    free(values);
}

static void aliases_that_are_refused_are_found_among_many(void **state)
{
    static const struct {
        const char *config, *defers;
        size_t bad[6]; // the first 0 behind another ends it
        size_t count;
    } rows[] = {
        {URL "}", "true", {SUSPECTS - 1}, SUSPECTS},
        {URL "}", "true", {0}, SUSPECTS},
        {URL "}", "true", {17, 18, 480, 512, 998}, SUSPECTS},
        {URL "}", "false", {17, 480, 998}, SUSPECTS},
        {URL "}", "false", {1}, 2},
        {URL "}", "true", {0}, 1},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct play play;
        bool is_bad[SUSPECTS] = {false};
        size_t bad = 0;
        is_bad[rows[i].bad[0]] = true;
        for (bad = 1; rows[i].bad[bad]; bad++)
            is_bad[rows[i].bad[bad]] = true;
        play_aliases(&play, rows[i].config);
        set(&play, "defers", rows[i].defers);
        set(&play, "alias_hints", "false");
        search(&play, is_bad, rows[i].count);
        check_peace(&play);
        assert_int_equal(count_served(&play), rows[i].count - bad);
        play_done(&play);
    }
}

static void of_many_aliases_all_may_be_refused(void **state)
{
    struct play play;
    bool is_bad[100];
    (void)state;
    memset(is_bad, true, sizeof is_bad);
    play_aliases(&play, URL "}");
    search(&play, is_bad, COUNT_OF(is_bad));
    check_peace(&play);
    play_done(&play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_people_outlive_all_faults),
        cmocka_unit_test(what_comes_back_is_removed_again),
        cmocka_unit_test(element_by_element_too),
        cmocka_unit_test(by_the_ledger_alone_too),
        cmocka_unit_test(with_the_api_of_old_too),
        cmocka_unit_test(more_names_than_a_patch_can_carry_come_and_go),
        cmocka_unit_test(aliases_written_one_by_one_never_meet_a_restart),
        cmocka_unit_test(hosts_that_restart_never_meet_one_either),
        cmocka_unit_test(more_aliases_than_a_patch_can_carry_take_few_restarts),
        cmocka_unit_test(aliases_that_are_refused_are_found_among_many),
        cmocka_unit_test(of_many_aliases_all_may_be_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
