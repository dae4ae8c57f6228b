#include "scenarios/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/when.h"
#include "model/faulty_disk.h"
#include "model/virtual_loop.h"

enum { RECOVER_MS = 70 * 1000 };

bool fail(struct error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_setv(err, FAULT_SPEC, "", format, args);
    va_end(args);
    return false;
}

const char *annotation_name(struct arena *arena, const char *word)
{
    return strchr(word, '/') ? word : arena_printf(arena, "dns.homelab.mortenolsen.pro/%s", word);
}

static bool duration_of(const char *text, int64_t *ms, struct error *err)
{
    return duration_parse(text_of(text), ms, err);
}

// ---- manifests ----------------------------------------------------------------------------------

static bool do_file(struct play *play, const struct step *step, struct error *err)
{
    if (!step->text)
        return fail(err, "file NAME <<END");
    return stage_write_file(play->stage, step_word(step, 1), step->text, err);
}

static bool do_remove(struct play *play, const struct step *step, struct error *err)
{
    return stage_write_file(play->stage, step_word(step, 1), NULL, err);
}

static bool do_replace(struct play *play, const struct step *step, struct error *err)
{
    AUTO_BUFFER out = {0};
    const char *old = step_word(step, 2);
    const char *at = stage_file(play->stage, step_word(step, 1));
    if (!at || !*old || !strstr(at, old))
        return fail(err, "%s does not hold %s", step_word(step, 1), old);
    for (const char *hit; (hit = strstr(at, old)); at = hit + strlen(old)) {
        buffer_add(&out, at, (size_t)(hit - at));
        buffer_add_text(&out, step_word(step, 3));
    }
    buffer_add_text(&out, at);
    return stage_write_file(play->stage, step_word(step, 1), buffer_text(&out).at, err);
}

static void add_generated(struct buffer *out, const char *template, long number)
{
    const char *at = template;
    for (const char *hit; (hit = strchr(at, '{')); at = hit) {
        buffer_add(out, at, (size_t)(hit - at));
        if (!strncmp(hit, "{n}", 3))
            buffer_printf(out, "%ld", number);
        else if (!strncmp(hit, "{h}", 3))
            buffer_printf(out, "%ld", number / 250);
        else if (!strncmp(hit, "{l}", 3))
            buffer_printf(out, "%ld", number % 250 + 1);
        else
            buffer_add(out, hit, 3);
        hit += 3;
    }
    buffer_add_text(out, at);
}

// generate NAME COUNT <<END: the text COUNT times, {n} counted from 1, {h} and {l} of its halves.
static bool do_generate(struct play *play, const struct step *step, struct error *err)
{
    AUTO_BUFFER out = {0};
    long count = step_number(step_word(step, 2));
    for (long i = 1; step->text && i <= count; i++) {
        buffer_add_text(&out, "---\n");
        add_generated(&out, step->text, i);
    }
    return stage_write_file(play->stage, step_word(step, 1), buffer_text(&out).at, err);
}

static bool key_arg(struct play *play, struct arena *arena, const struct step *step,
                    struct object_ref_key *key, struct error *err)
{
    if (stage_key(play->stage, arena, step_word(step, 1), key))
        return true;
    return fail(err, "no such object: %s", step_word(step, 1));
}

// annotate KEY NAME VALUE: somebody else writes it; without VALUE it goes.
static bool do_annotate(struct play *play, const struct step *step, struct error *err)
{
    struct object_ref_key key;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!key_arg(play, arena, step, &key, err))
        return false;
    const char *name = annotation_name(arena, step_word(step, 2));
    const char *value = step->text ? step->text : step->word_count > 3 ? step_rest(step, 3) : NULL;
    if (play->stage->server && model_server_annotate(play->stage->server, &key, name, value))
        return true;
    return fail(err, "cannot annotate");
}

// edit KEY FIELD TEXT: somebody edits an object that we made.
static bool do_edit(struct play *play, const struct step *step, struct error *err)
{
    struct object_ref_key key;
    CLEANUP(arena) struct arena *arena = arena_new();
    return key_arg(play, arena, step, &key, err) &&
           stage_edit(play->stage, &key, step_word(step, 2), step_word(step, 3), err);
}

// judge KEY TYPE STATUS: another controller adds a condition.
static bool do_judge(struct play *play, const struct step *step, struct error *err)
{
    struct object_ref_key key;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!key_arg(play, arena, step, &key, err))
        return false;
    return (play->stage->server && model_server_judge(play->stage->server, &key, step_word(step, 2),
                                                      step_word(step, 3))) ||
           fail(err, "cannot judge");
}

// restore KEY <<END: what its status was in a backup, a JSON object of those fields.
static bool do_restore(struct play *play, const struct step *step, struct error *err)
{
    struct object_ref_key key;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!key_arg(play, arena, step, &key, err))
        return false;
    const struct value *status =
        value_read_json(arena, text_of(step->text), &value_manifest_limits, err);
    if (!status)
        return false;
    return (play->stage->server && model_server_restore(play->stage->server, &key, status)) ||
           fail(err, "cannot restore");
}

static bool do_lose(struct play *play, const struct step *step, struct error *err)
{
    struct object_ref_key key;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!key_arg(play, arena, step, &key, err))
        return false;
    return model_server_lose(play->stage->server, &key) || fail(err, "no such object");
}

// ---- servers ------------------------------------------------------------------------------------

bool play_ms_option(const struct step *step, const char *name, int64_t *ms, struct error *err)
{
    const char *text = step_option(step, name);
    return !text || duration_of(text, ms, err);
}

// server NAME URL [key=K] [sha512] [prefix=/api] [stripped] [delay=5ms]
static bool do_server(struct play *play, const struct step *step, struct error *err)
{
    int64_t delay_ms = 2;
    const char *key = step_option(step, "key");
    const char *prefix = step_option(step, "prefix");
    if (!play_ms_option(step, "delay", &delay_ms, err))
        return false;
    struct model_webhook *server =
        stage_add_server(play->stage, step_word(step, 1), step_word(step, 2));
    model_webhook_set_keys(server, &key, key != NULL);
    model_webhook_set_algorithm(server, step_option(step, "sha512") != NULL);
    if (prefix)
        model_webhook_set_prefix(server, prefix, step_option(step, "stripped") != NULL);
    model_webhook_set_delay(server, delay_ms);
    return true;
}

static bool add_rule(struct model_webhook *server, const struct step *step,
                     enum webhook_behaviour behaviour)
{
    const char *times = step_option(step, "times");
    const struct webhook_rule rule = {
        .method = step_option(step, "method"),
        .contains = step_option(step, "for"),
        .with_health = step_option(step, "health") != NULL,
        .times = times ? (unsigned)step_number(times) : 0,
        .behaviour = behaviour,
        .status = step_number(step_word(step, 3)),
        .retry_after = step_option(step, "retry-after"),
        .body = step->text,
    };
    model_webhook_add_rule(server, &rule);
    return true;
}

static bool set_keys(struct model_webhook *server, const struct step *step)
{
    model_webhook_set_keys(server, step->words + 3, step->word_count - 3);
    return true;
}

static bool set_health(struct model_webhook *server, const struct step *step)
{
    model_webhook_set_health(server, step_number(step_word(step, 3)), step->text);
    return true;
}

static bool set_times(struct model_webhook *server, const struct step *step, struct error *err)
{
    int64_t ms;
    bool is_minus = step_word(step, 3)[0] == '-';
    if (!duration_of(step_word(step, 3) + is_minus, &ms, err))
        return false;
    if (!strcmp(step_word(step, 2), "delay"))
        model_webhook_set_delay(server, ms);
    else
        model_webhook_set_clock(server, is_minus ? -ms : ms);
    return true;
}

// at NAME BEHAVIOUR ...
static bool do_at(struct play *play, const struct step *step, struct error *err)
{
    static const struct {
        const char *word;
        enum webhook_behaviour behaviour;
    } rules[] = {{"down", WEBHOOK_DOWN},
                 {"timeout", WEBHOOK_TIMEOUT},
                 {"answers", WEBHOOK_ANSWERS},
                 {"loses", WEBHOOK_ACTS_LOST},
                 {"acts", WEBHOOK_ACTS}};
    const char *word = step_word(step, 2);
    struct model_webhook *server = stage_server(play->stage, step_word(step, 1));
    if (!server)
        return fail(err, "no such server: %s", step_word(step, 1));
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (!strcmp(word, rules[i].word))
            return add_rule(server, step, rules[i].behaviour);
    if (!strcmp(word, "keys"))
        return set_keys(server, step);
    if (!strcmp(word, "health"))
        return set_health(server, step);
    if (!strcmp(word, "delay") || !strcmp(word, "clock"))
        return set_times(server, step, err);
    if (!strcmp(word, "heals"))
        model_webhook_clear_rules(server);
    else if (!strcmp(word, "capabilities"))
        model_webhook_set_capabilities(server, step_rest(step, 3));
    else if (!strcmp(word, "has"))
        model_webhook_put(server, step_word(step, 3), step_word(step, 4), step_rest(step, 5));
    else if (!strcmp(word, "drops"))
        model_webhook_drop(server, step_word(step, 3), step_word(step, 4));
    else
        return fail(err, "a server cannot do that: %s", word);
    return true;
}

// ---- the process and the clock ------------------------------------------------------------------

// disk full|works
static bool do_disk(struct play *play, const struct step *step, struct error *err)
{
    (void)err;
    faulty_disk_fill(play->stage->disk, !strcmp(step_word(step, 1), "full"));
    return true;
}

static void add_nameserver(struct stage_zones *zones, const char *text)
{
    size_t at = 0;
    while (zones->nameservers[at])
        at++;
    must(at < STAGE_NAMESERVERS_MAX);
    zones->nameservers[at] = text;
    zones->settings.nameservers = zones->nameservers;
}

static bool do_setting(struct play *play, const struct step *step, struct error *err)
{
    struct stage *stage = play->stage;
    const struct {
        const char *name;
        int64_t *ms[2];
    } times[] = {
        {"health-interval", {&stage->class_settings.health_interval_ms}},
        {"sync-period", {&stage->sync_period_ms}},
        {"retry-base", {&stage->class_settings.retry_base_ms}},
        {"retry-max", {&stage->class_settings.retry_max_ms}},
        {"orphan-after",
         {&stage->class_settings.orphan_after_ms, &stage->record_settings.orphan_after_ms}},
    };
    const char *name = step_word(step, 1);
    for (size_t i = 0; i < COUNT_OF(times); i++)
        if (!strcmp(times[i].name, name))
            return duration_of(step_word(step, 2), times[i].ms[0], err) &&
                   (!times[i].ms[1] || duration_of(step_word(step, 2), times[i].ms[1], err));
    if (!strcmp(name, "retry-attempts"))
        stage->class_settings.retry_attempts = step_number(step_word(step, 2));
    else if (!strcmp(name, "conflict-names"))
        stage->record_settings.conflict_names = !strcmp(step_word(step, 2), "true");
    else if (!strcmp(name, "status-entries"))
        stage->zones.settings.status_entries = step_number(step_word(step, 2));
    else if (!strcmp(name, "zone-claims"))
        stage->zones.settings.claims = step_word(step, 2);
    else if (!strcmp(name, "zone-nameserver"))
        add_nameserver(&stage->zones, step_word(step, 2));
    else if (!strcmp(name, "ingress-record-creation"))
        stage_switch_on(stage, name);
    else if (!strcmp(name, "allow-empty"))
        stage->allow_empty = !strcmp(step_word(step, 2), "true");
    else
        return fail(err, "no such setting: %s", name);
    return true;
}

static bool do_advance(struct play *play, const struct step *step, struct error *err)
{
    int64_t ms;
    if (!duration_of(step_word(step, 1), &ms, err))
        return false;
    if (!play->is_torture)
        return stage_advance(play->stage, ms, err);
    play->stage->may_fail_to_start = true;
    bool is_ok = stage_advance(play->stage, ms + RECOVER_MS, err);
    play->stage->may_fail_to_start = false;
    return is_ok;
}

static bool do_start(struct play *play, const struct step *step, struct error *err)
{
    (void)step;
    return stage_start(play->stage, err);
}

static bool do_stop(struct play *play, const struct step *step, struct error *err)
{
    (void)step;
    (void)err;
    stage_crash(play->stage);
    return true;
}

// kill: as restart, but the lease stays with the one that died.
static bool do_kill(struct play *play, const struct step *step, struct error *err)
{
    (void)step;
    stage_kill(play->stage);
    return stage_start(play->stage, err);
}

static bool do_restart(struct play *play, const struct step *step, struct error *err)
{
    (void)step;
    stage_crash(play->stage);
    return stage_start(play->stage, err);
}

static bool do_jump(struct play *play, const struct step *step, struct error *err)
{
    int64_t ms;
    if (!duration_of(step_word(step, 1), &ms, err))
        return false;
    virtual_loop_jump_wall(play->stage->loop, ms);
    return true;
}

static bool do_expect(struct play *play, const struct step *step, struct error *err)
{
    if (play->is_torture)
        return true;
    if (!stage_advance(play->stage, 0, err))
        return false;
    return expect_step(play->stage, step, err);
}

static bool do_nothing(struct play *play, const struct step *step, struct error *err)
{
    (void)play;
    (void)step;
    (void)err;
    return true;
}

// Read by who runs the script.
static bool do_torture(struct play *play, const struct step *step, struct error *err)
{
    (void)play;
    bool is_known = !strcmp(step_word(step, 1), "leaves") || !strcmp(step_word(step, 1), "ignores");
    bool is_steady = !strcmp(step_word(step, 1), "steady");
    return is_steady || (is_known && step->word_count == 3) ||
           fail(err, "torture steady, or leaves|ignores TEXT; every scenario is tortured");
}

// ---- all steps ----------------------------------------------------------------------------------

static const struct {
    const char *word;
    play_step *call;
} verbs[] = {
    {"api", play_api},
    {"advance", do_advance},
    {"annotate", do_annotate},
    {"at", do_at},
    {"compare", do_nothing},
    {"disk", do_disk},
    {"edit", do_edit},
    {"expect", do_expect},
    {"file", do_file},
    {"generate", do_generate},
    {"jump", do_jump},
    {"judge", do_judge},
    {"kill", do_kill},
    {"lead", play_lead},
    {"lose", do_lose},
    {"only", do_nothing},
    {"pihole", play_pihole},
    {"piholes", play_piholes},
    {"remove", do_remove},
    {"replace", do_replace},
    {"restart", do_restart},
    {"restore", do_restore},
    {"secondary", play_secondary},
    {"server", do_server},
    {"setting", do_setting},
    {"start", do_start},
    {"stop", do_stop},
    {"store", play_store},
    {"torture", do_torture},
    {"watch", play_watch},
    {"zones", play_zones},
};

static struct step without_first_word(const struct step *step)
{
    struct step rest = *step;
    rest.word_count--;
    memmove(rest.words, rest.words + 1, rest.word_count * sizeof *rest.words);
    memmove(rest.word_at, rest.word_at + 1, rest.word_count * sizeof *rest.word_at);
    return rest;
}

static play_step *verb_call(const char *word)
{
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (!strcmp(verbs[i].word, word))
            return verbs[i].call;
    return NULL;
}

static void strike_after(struct play *play, play_step *call)
{
    if (call == do_expect || call == do_nothing || call == do_torture)
        return;
    bool is_running = play->stage->engine;
    size_t at = play->strikes_process ? play->steps_running : play->steps;
    bool counts = is_running || !play->strikes_process;
    play->steps++;
    play->steps_running += is_running;
    if (counts && at == play->strike_at)
        play->strike(play->stage, play->torment);
}

static bool take_step(struct play *play, const struct step *step, struct error *err)
{
    struct step rest;
    if (!strcmp(step_word(step, 0), "maybe")) {
        if (!play->with_extras)
            return true;
        rest = without_first_word(step);
        step = &rest;
    }
    play_step *call = verb_call(step_word(step, 0));
    if (!call)
        return fail(err, "no such step: %s", step_word(step, 0));
    if (!call(play, step, err))
        return false;
    strike_after(play, call);
    return true;
}

bool play_run(struct play *play, struct error *err)
{
    for (size_t i = 0; i < play->script->count; i++) {
        const struct step *step = &play->script->steps[i];
        if (!take_step(play, step, err))
            return error_prefix(err, "%s.scenario:%zu: %s: ", play->script->name, step->line,
                                step->raw);
    }
    return true;
}
