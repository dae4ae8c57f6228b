#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/when.h"
#include "io/disk.h"
#include "model/engine_inside.h"
#include "scenarios/play.h"
#include "store/cache.h"

enum { SLACK_MS = 60 };

// ---- requests -----------------------------------------------------------------------------------

static bool is_health(const char *path)
{
    size_t len = strlen(path);
    return len >= 7 && !strcmp(path + len - 7, "/health");
}

static const char *server_name(const struct stage *stage, const struct model_request *request)
{
    for (size_t i = 0; i < stage->server_count; i++)
        if (stage->servers[i].host == request->host)
            return stage->servers[i].name;
    return "?";
}

static const struct model_request *next_request(struct stage *stage, bool with_questions)
{
    while (stage->next_request < model_backend_request_count(stage->backend)) {
        const struct model_request *request =
            model_backend_request(stage->backend, stage->next_request++);
        if (with_questions || !request->is_question)
            return request;
    }
    return NULL;
}

static const char *show(struct arena *arena, const struct stage *stage,
                        const struct model_request *request)
{
    return arena_printf(arena, "%s %s %s %s", server_name(stage, request), request->method,
                        request->path, request->body);
}

static bool check_gap(struct stage *stage, const struct model_request *request, const char *after,
                      struct error *err)
{
    int64_t wanted_ms;
    int64_t gap_ms = request->at_ms - stage->last_request_ms;
    if (!after)
        return true;
    if (!duration_parse(text_of(after), &wanted_ms, err))
        return false;
    if (llabs(gap_ms - wanted_ms) <= SLACK_MS)
        return true;
    return fail(err, "it left %lld ms after the one before", (long long)gap_ms);
}

// Does the step want one that is skipped else?
static bool is_question(const struct stage *stage, const struct step *step)
{
    const char *path = step_word(step, 4);
    if (!stage_pihole(stage, step_word(step, 2)))
        return is_health(path);
    return !strcmp(step_word(step, 3), "GET") || !strncmp(path, "/api/auth", 9);
}

// expect request SERVER METHOD PATH [after=5s] [BODY]
static bool expect_request(struct stage *stage, const struct step *step, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const char *path = step_word(step, 4);
    const char *after = step_option(step, "after");
    const char *body = step_rest(step, after ? 6 : 5);
    const struct model_request *request = next_request(stage, is_question(stage, step));
    if (!request)
        return fail(err, "there is no further request");
    bool is_same = !strcmp(server_name(stage, request), step_word(step, 2)) &&
                   !strcmp(request->method, step_word(step, 3)) && !strcmp(request->path, path) &&
                   (!*body || !strcmp(request->body, body));
    if (!is_same)
        return fail(err, "got %s", show(arena, stage, request));
    if (!check_gap(stage, request, after, err))
        return false;
    stage->last_request_ms = request->at_ms;
    return true;
}

static bool expect_no_requests(struct stage *stage, const struct step *step, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct model_request *request = next_request(stage, false);
    (void)step;
    return !request || fail(err, "got %s", show(arena, stage, request));
}

// expect requests SERVER COUNT [METHOD]: those not looked at so far.
static bool expect_requests(struct stage *stage, const struct step *step, struct error *err)
{
    long count = 0;
    const struct model_request *request;
    const char *method = step_word(step, 4);
    while ((request = next_request(stage, false))) {
        count += !strcmp(server_name(stage, request), step_word(step, 2)) &&
                 (!*method || !strcmp(method, request->method));
        stage->last_request_ms = request->at_ms;
    }
    return count == step_number(step_word(step, 3)) || fail(err, "there are %ld", count);
}

// expect asked SERVER COUNT: questions since the start.
static bool expect_asked(struct stage *stage, const struct step *step, struct error *err)
{
    long count = 0;
    for (size_t i = 0; i < model_backend_request_count(stage->backend); i++) {
        const struct model_request *request = model_backend_request(stage->backend, i);
        count += request->is_question && !strcmp(server_name(stage, request), step_word(step, 2));
    }
    return count == step_number(step_word(step, 3)) || fail(err, "there are %ld", count);
}

// Since the start: every request that can be signed is.
static bool expect_all_signed(struct stage *stage, const struct step *step, struct error *err)
{
    (void)step;
    for (size_t i = 0; i < model_backend_request_count(stage->backend); i++)
        if (!model_backend_request(stage->backend, i)->is_signed)
            return fail(err, "number %zu is not", i);
    return true;
}

// ---- records ------------------------------------------------------------------------------------

static bool has_value(const struct value *list, const char *wanted)
{
    value_each (item, list)
        if (text_is(value_text(item), wanted))
            return true;
    return false;
}

static bool check_numbers(const struct step *step, const struct value *record, struct error *err)
{
    static const char *const fields[][2] = {{"ttl", "ttl"},
                                            {"priority", "metadata.priority"},
                                            {"weight", "metadata.weight"},
                                            {"port", "metadata.port"}};
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const char *wanted = step_option(step, fields[i][0]);
        if (wanted && value_int_at(record, fields[i][1], -1) != step_number(wanted))
            return fail(err, "%s is %lld", fields[i][0],
                        (long long)value_int_at(record, fields[i][1], -1));
    }
    return true;
}

// expect record SERVER TYPE NAME VALUE... [ttl=N] [priority=N] [weight=N] [port=N]
static bool expect_record(struct stage *stage, const struct step *step, struct error *err)
{
    size_t count = 0;
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct model_webhook *server = stage_server(stage, step_word(step, 2));
    const struct webhook_record *found =
        server ? model_webhook_find(server, step_word(step, 3), step_word(step, 4)) : NULL;
    if (!found)
        return fail(err, "it is not there");
    const struct value *record = value_read_json(arena, found->content, &value_reply_limits, NULL);
    const struct value *values = value_find(record, "values");
    for (size_t i = 5; i < step->word_count; i++) {
        const char *word = step->words[i];
        if (!strncmp(word, "ttl=", 4) || !strncmp(word, "priority=", 9) ||
            !strncmp(word, "weight=", 7) || !strncmp(word, "port=", 5))
            continue;
        count++;
        if (!has_value(values, word))
            return fail(err, "got %s", found->content.at);
    }
    if (count && count != value_count(values))
        return fail(err, "got %s", found->content.at);
    return check_numbers(step, record, err);
}

static bool expect_no_record(struct stage *stage, const struct step *step, struct error *err)
{
    const struct model_webhook *server = stage_server(stage, step_word(step, 3));
    const struct webhook_record *found =
        server ? model_webhook_find(server, step_word(step, 4), step_word(step, 5)) : NULL;
    return !found || fail(err, "got %s", found->content.at);
}

static bool expect_records(struct stage *stage, const struct step *step, struct error *err)
{
    const struct model_webhook *server = stage_server(stage, step_word(step, 2));
    size_t count = server ? model_webhook_count(server) : 0;
    return (long)count == step_number(step_word(step, 3)) || fail(err, "there are %zu", count);
}

// ---- objects ------------------------------------------------------------------------------------

static const struct value *condition_of(const struct value *status, const char *type)
{
    value_each (item, value_find(status, "conditions"))
        if (text_is(value_text_at(item, "type"), type))
            return item;
    return NULL;
}

static const char *text_at(struct arena *arena, const struct value *map, const char *path)
{
    const struct value *found = value_at(map, path, NULL);
    if (!found || found->type == VALUE_NULL)
        return "";
    if (found->type == VALUE_TEXT)
        return arena_copy(arena, found->text.at, found->text.len);
    AUTO_BUFFER out = {0};
    value_write_json(&out, found);
    return arena_copy(arena, out.at, out.len);
}

// What a word of `expect status` names: a condition (Ready, by its capital) or a path.
static const char *shown(struct arena *arena, const struct value *status, const char *name,
                         bool wants_message)
{
    if (!isupper((unsigned char)*name))
        return text_at(arena, status, name);
    const struct value *condition = condition_of(status, name);
    if (!condition)
        return "";
    if (wants_message)
        return text_at(arena, condition, "message");
    return arena_printf(arena, "%s/%s", text_at(arena, condition, "status"),
                        text_at(arena, condition, "reason"));
}

static bool check_word(struct arena *arena, const struct value *status, const char *word,
                       struct error *err)
{
    size_t len = strcspn(word, "=~");
    bool is_part = word[len] == '~';
    const char *name = arena_copy(arena, word, len);
    const char *wanted = word + len + (word[len] != '\0');
    const char *got = shown(arena, status, name, is_part);
    if (is_part ? strstr(got, wanted) != NULL : !strcmp(got, wanted))
        return true;
    AUTO_BUFFER whole = {0};
    if (status)
        value_write_json(&whole, status);
    return fail(err, "%s is \"%s\" in %s", name, got, whole.at ? whole.at : "no status");
}

bool find_object(struct stage *stage, struct arena *arena, const char *text, struct value **tree,
                 struct error *err)
{
    struct object_ref_key key;
    if (!stage_key(stage, arena, text, &key))
        return fail(err, "no such kind: %s", text);
    *tree = stage_find(stage, arena, &key);
    return true;
}

// expect status KEY Ready=True/RecordCreated state=Created error.code=X Ready~"part of message"
static bool expect_status(struct stage *stage, const struct step *step, struct error *err)
{
    struct value *tree = NULL;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!find_object(stage, arena, step_word(step, 2), &tree, err))
        return false;
    if (!tree)
        return fail(err, "the object is gone");
    for (size_t i = 3; i < step->word_count; i++)
        if (!check_word(arena, value_find(tree, "status"), step->words[i], err))
            return false;
    return true;
}

// expect object KEY metadata.generation=2 ...
static bool expect_object(struct stage *stage, const struct step *step, struct error *err)
{
    struct value *tree = NULL;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!find_object(stage, arena, step_word(step, 2), &tree, err))
        return false;
    for (size_t i = 3; i < step->word_count; i++)
        if (!check_word(arena, tree, step->words[i], err))
            return false;
    return true;
}

static bool expect_gone(struct stage *stage, const struct step *step, struct error *err)
{
    struct value *tree = NULL;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!find_object(stage, arena, step_word(step, 2), &tree, err))
        return false;
    AUTO_BUFFER whole = {0};
    if (tree)
        value_write_json(&whole, tree);
    return !tree || fail(err, "it is %s", whole.at);
}

static const char *annotation_of(struct arena *arena, const struct value *tree, const char *name)
{
    const struct value *found =
        value_find(value_at(tree, "metadata.annotations", NULL), annotation_name(arena, name));
    return found ? arena_copy(arena, found->text.at, found->text.len) : "";
}

// expect annotation KEY NAME PART...
static bool expect_annotation(struct stage *stage, const struct step *step, struct error *err)
{
    struct value *tree = NULL;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!find_object(stage, arena, step_word(step, 2), &tree, err))
        return false;
    const char *got = annotation_of(arena, tree, step_word(step, 3));
    for (size_t i = 4; i < step->word_count; i++)
        if (!strstr(got, step->words[i]))
            return fail(err, "it is %s", got);
    return *got || fail(err, "there is none");
}

// expect no annotation KEY NAME [PART]
static bool expect_no_annotation(struct stage *stage, const struct step *step, struct error *err)
{
    struct value *tree = NULL;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!find_object(stage, arena, step_word(step, 3), &tree, err))
        return false;
    const char *got = annotation_of(arena, tree, step_word(step, 4));
    const char *part = step_word(step, 5);
    return (*part ? !strstr(got, part) : !*got) || fail(err, "it is %s", got);
}

struct counted_objects {
    struct stage *stage;
    struct arena *arena;
    const struct kind *kind;
    long count;
    struct object_ref_key *keys;
    size_t key_count;
    size_t key_capacity;
};

static void add_counted_key(void *context, const struct object *object)
{
    struct counted_objects *counted = context;
    struct text namespace_ = object_namespace(object);
    struct text name = object_name(object);
    mem_reserve(&counted->keys, &counted->key_capacity, counted->key_count + 1);
    counted->keys[counted->key_count++] = (struct object_ref_key){
        object->kind, text_of(arena_copy(counted->arena, namespace_.at, namespace_.len)),
        text_of(arena_copy(counted->arena, name.at, name.len))};
}

// expect count KIND Ready=True/RecordCreated 999
static bool expect_count(struct stage *stage, const struct step *step, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct counted_objects counted = {.stage = stage, .arena = arena};
    for (size_t i = 0; i < stage->kind_count; i++)
        if (!strcmp(stage->kinds[i].kind->name, step_word(step, 2)))
            counted.kind = stage->kinds[i].kind;
    if (!counted.kind)
        return fail(err, "no such kind");
    cache_each(stage->inner->cache, counted.kind, add_counted_key, &counted);
    for (size_t i = 0; i < counted.key_count; i++) {
        CLEANUP(arena) struct arena *one = arena_new();
        const struct value *tree = stage_find(stage, one, &counted.keys[i]);
        counted.count += check_word(one, value_find(tree, "status"), step_word(step, 3), NULL);
    }
    free(counted.keys);
    return counted.count == step_number(step_word(step, 4)) ||
           fail(err, "there are %ld", counted.count);
}

// ---- words --------------------------------------------------------------------------------------

static bool has_event(const struct stage *stage, const char *object, const char *reason,
                      const char *part, bool is_warning)
{
    for (size_t i = 0; i < stage->note_count; i++)
        if (!strcmp(stage->notes[i].object, object) && !strcmp(stage->notes[i].reason, reason) &&
            strstr(stage->notes[i].text, part) && (!is_warning || stage->notes[i].is_warning))
            return true;
    return false;
}

// expect event default/web RecordCreated [PART]
static bool expect_event(struct stage *stage, const struct step *step, struct error *err)
{
    return has_event(stage, step_word(step, 2), step_word(step, 3), step_word(step, 4), false) ||
           fail(err, "there was none");
}

// expect warning default/web RecordOrphaned [PART]: the same, of type Warning.
static bool expect_warning(struct stage *stage, const struct step *step, struct error *err)
{
    return has_event(stage, step_word(step, 2), step_word(step, 3), step_word(step, 4), true) ||
           fail(err, "there was none");
}

// expect events default/web RecordCreated 2
static bool expect_events(struct stage *stage, const struct step *step, struct error *err)
{
    long count = 0;
    for (size_t i = 0; i < stage->note_count; i++)
        count += !strcmp(stage->notes[i].object, step_word(step, 2)) &&
                 !strcmp(stage->notes[i].reason, step_word(step, 3));
    return count == step_number(step_word(step, 4)) || fail(err, "there are %ld", count);
}

static bool expect_no_event(struct stage *stage, const struct step *step, struct error *err)
{
    return !has_event(stage, step_word(step, 3), step_word(step, 4), step_word(step, 5), false) ||
           fail(err, "there was one");
}

static bool has_parts(struct text line, const struct step *step, size_t from)
{
    size_t i = from;
    while (i < step->word_count &&
           memmem(line.at, line.len, step->words[i], strlen(step->words[i])))
        i++;
    return i == step->word_count;
}

static bool is_logged(const struct stage *stage, const struct step *step, size_t from)
{
    struct text rest = buffer_text(&stage->log_text);
    for (struct text line; text_cut(&rest, '\n', &line);)
        if (has_parts(line, step, from))
            return true;
    return false;
}

// expect log PART...: one line has them all.
static bool expect_log(struct stage *stage, const struct step *step, struct error *err)
{
    return is_logged(stage, step, 2) || fail(err, "the log does not say so");
}

// expect no log PART...
static bool expect_no_log(struct stage *stage, const struct step *step, struct error *err)
{
    return !is_logged(stage, step, 3) || fail(err, "the log says so");
}

// expect written KEY COUNT: calls that wrote it since it was made, those that changed nothing too.
static bool expect_written(struct stage *stage, const struct step *step, struct error *err)
{
    struct object_ref_key key;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!stage->server || !stage_key(stage, arena, step_word(step, 2), &key))
        return fail(err, "no such object at an API server: %s", step_word(step, 2));
    long count = (long)model_server_written(stage->server, &key);
    return count == step_number(step_word(step, 3)) || fail(err, "there were %ld", count);
}

// expect refused PART: the last manifest, by the API server.
static bool expect_refused(struct stage *stage, const struct step *step, struct error *err)
{
    return (stage->refused && strstr(stage->refused, step_word(step, 2))) ||
           fail(err, "refused: %s", stage->refused ? stage->refused : "nothing");
}

// "+8..10": it grew by so much since a metric was looked at last.
static bool check_growth(const struct stage *stage, int64_t got, const char *wanted,
                         struct error *err)
{
    int64_t least = step_number(wanted + 1);
    const char *dots = strstr(wanted, "..");
    int64_t most = dots ? step_number(dots + 2) : least;
    int64_t grown = got - stage->last_sample;
    if (grown >= least && grown <= most)
        return true;
    return fail(err, "it grew by %lld", (long long)grown);
}

static bool check_sample(const struct stage *stage, struct text got, int64_t number,
                         const char *wanted, struct error *err)
{
    if (*wanted == '+')
        return check_growth(stage, number, wanted, err);
    return !strcmp(wanted, "any") || text_is(got, wanted) ||
           fail(err, "it is %.*s", TEXT_ARGS(got));
}

// expect metric SAMPLE VALUE: "name{labels}" as it is served; VALUE may be any, none, +N or +N..M.
static bool expect_metric(struct stage *stage, const struct step *step, struct error *err)
{
    AUTO_BUFFER all = {0};
    const char *sample = step_word(step, 2);
    const char *wanted = step_word(step, 3);
    engine_write_metrics(stage->engine, &all);
    struct text rest = buffer_text(&all);
    for (struct text line; text_cut(&rest, '\n', &line);) {
        size_t len = strlen(sample);
        if (!text_starts(line, sample) || line.len <= len || line.at[len] != ' ')
            continue;
        struct text got = {line.at + len + 1, line.len - len - 1};
        int64_t number = 0;
        text_to_int64(got, &number);
        bool is_right = check_sample(stage, got, number, wanted, err);
        stage->last_sample = number;
        return is_right;
    }
    return !strcmp(wanted, "none") || fail(err, "it is not there");
}

// expect held any|same: what the engine holds, compared with when that was looked at last.
static bool expect_held(struct stage *stage, const struct step *step, struct error *err)
{
    size_t before = stage->last_items;
    stage->last_items = engine_items(stage->engine);
    if (strcmp(step_word(step, 2), "same") || stage->last_items == before)
        return true;
    return fail(err, "%zu were, %zu are", before, stage->last_items);
}

// expect check NAME PART: a line of /readyz that fails.
static bool expect_check(struct stage *stage, const struct step *step, struct error *err)
{
    struct store_check checks[64];
    size_t count = engine_checks(stage->engine, checks, COUNT_OF(checks));
    for (size_t i = 0; i < count; i++)
        if (!checks[i].is_ok && !strcmp(checks[i].name, step_word(step, 2)) &&
            strstr(checks[i].text, step_word(step, 3)))
            return true;
    for (size_t i = 0; i < count; i++)
        if (!checks[i].is_ok)
            return fail(err, "%s: %s", checks[i].name, checks[i].text);
    return fail(err, "all is well");
}

// expect ready: no line of /readyz that counts fails.
static bool expect_ready(struct stage *stage, const struct step *step, struct error *err)
{
    struct store_check checks[64];
    size_t count = engine_checks(stage->engine, checks, COUNT_OF(checks));
    if (step->word_count > 2)
        return fail(err, "%s: it is ready, or the step fails", step->words[2]);
    for (size_t i = 0; i < count; i++)
        if (!checks[i].is_ok && !checks[i].is_advice)
            return fail(err, "%s: %s", checks[i].name, checks[i].text);
    return true;
}

// expect text FILE PART...: of a file in the folder.
static bool expect_text(struct stage *stage, const struct step *step, struct error *err)
{
    char path[4096];
    AUTO_BUFFER content = {0};
    snprintf(path, sizeof path, "%s/%s", stage->dir ? stage->dir : "", step_word(step, 2));
    if (!stage->dir || !disk_read(&content, path, (size_t)1024 * 1024, err))
        return fail(err, "it cannot be read");
    for (size_t i = 3; i < step->word_count; i++)
        if (!strstr(buffer_text(&content).at, step->words[i]))
            return fail(err, "it is %s", buffer_text(&content).at);
    return true;
}

// expect plan LINE...: what a dry run would send, and all of it.
static bool expect_plan(struct stage *stage, const struct step *step, struct error *err)
{
    AUTO_BUFFER wanted = {0};
    AUTO_BUFFER got = {0};
    for (size_t i = 2; i < step->word_count; i++)
        buffer_printf(&wanted, "%s\n", step->words[i]);
    if (!stage_plan(stage, &got, err))
        return false;
    return text_equal(buffer_text(&got), buffer_text(&wanted)) ||
           fail(err, "it is\n%s", buffer_text(&got).at);
}

static const struct {
    const char *words;
    expectation *call;
} expectations[] = {
    {"request", expect_request},
    {"requests", expect_requests},
    {"no requests", expect_no_requests},
    {"asked", expect_asked},
    {"signatures", expect_all_signed},
    {"record", expect_record},
    {"no record", expect_no_record},
    {"records", expect_records},
    {"status", expect_status},
    {"object", expect_object},
    {"gone", expect_gone},
    {"annotation", expect_annotation},
    {"no annotation", expect_no_annotation},
    {"count", expect_count},
    {"event", expect_event},
    {"warning", expect_warning},
    {"events", expect_events},
    {"no event", expect_no_event},
    {"log", expect_log},
    {"no log", expect_no_log},
    {"refused", expect_refused},
    {"check", expect_check},
    {"held", expect_held},
    {"metric", expect_metric},
    {"ready", expect_ready},
    {"written", expect_written},
    {"text", expect_text},
    {"plan", expect_plan},
    {"zone", expect_zone},
    {"no zone", expect_no_zone},
    {"serial", expect_serial},
    {"answer", expect_answer},
    {"secondary", expect_secondary},
    {"sent", expect_sent},
    {"label", expect_label},
    {"no label", expect_no_label},
    {"made", expect_made},
    {"pihole", expect_pihole},
};

bool expect_step(struct stage *stage, const struct step *step, struct error *err)
{
    char words[128];
    bool is_no = !strcmp(step_word(step, 1), "no");
    snprintf(words, sizeof words, "%s%s%s", step_word(step, 1), is_no ? " " : "",
             is_no ? step_word(step, 2) : "");
    for (size_t i = 0; i < COUNT_OF(expectations); i++)
        if (!strcmp(expectations[i].words, words))
            return expectations[i].call(stage, step, err);
    return fail(err, "nothing like that can be expected");
}
