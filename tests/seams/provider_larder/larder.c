#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "providers/provider.h"

enum {
    CHANGES_MAX = 64,
    FILE_OCTETS_MAX = 64 * 1024,
    OUTPUT_OCTETS_MAX = 1024,
    TIMEOUT_MS = 5000,
};

struct larder_session {
    char *path;
    char *command;
    struct secret *secret;
};

enum step { STEP_READ, STEP_WRITE, STEP_RUN, STEP_ASK, STEP_DONE };

struct larder_exchange {
    struct larder_session *session;
    struct job *job;
    enum step step;
    const char *argv[3];
    struct buffer content;
    struct buffer url; // of who is asked
};

// ---- session ------------------------------------------------------------------------------------

static bool larder_open(const struct session_setup *setup, void **out, struct error *err)
{
    struct text path = value_text_at(setup->config, "path");
    struct text command = value_text_at(setup->config, "command");
    if (!path.len || !command.len)
        return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION,
                         "a larder needs a file and a program: set path and command");
    struct larder_session *session = mem_new_of(struct larder_session);
    *session = (struct larder_session){text_dup(path), text_dup(command),
                                       setup->secret ? secret_ref(setup->secret) : NULL};
    *out = session;
    return true;
}

static void larder_close(void *at)
{
    struct larder_session *session = at;
    secret_unref(session->secret);
    free(session->command);
    free(session->path);
    free(session);
}

// ---- lines --------------------------------------------------------------------------------------

static void add_owner(struct buffer *out, const struct record_set *set)
{
    buffer_printf(out, "%s %.*s.%.*s ", record_type_name(set->type), TEXT_ARGS(set->subdomain),
                  TEXT_ARGS(set->domain));
}

static void add_values(struct buffer *out, const struct record_set *set)
{
    buffer_printf(out, "%u", set->ttl_s);
    for (size_t i = 0; i < set->value_count; i++) {
        buffer_add_char(out, ' ');
        value_write_json_text(out, set->values[i]);
    }
}

static void larder_fingerprint(const void *at, const struct record_set *set,
                               uint8_t out[FINGERPRINT_OCTETS])
{
    const struct larder_session *session = at;
    uint8_t full[DIGEST_MAX];
    AUTO_BUFFER content = {0};
    buffer_add_text(&content, session->path);
    add_values(&content, set);
    digest_of(DIGEST_SHA256, buffer_text(&content), full);
    memcpy(out, full, FINGERPRINT_OCTETS);
}

static void copy_others(struct buffer *out, struct text content, const char *owner)
{
    struct text line;
    while (content.len && text_cut(&content, '\n', &line))
        if (line.len && !text_starts(line, owner))
            buffer_printf(out, "%.*s\n", TEXT_ARGS(line));
}

static void change_lines(struct larder_exchange *exchange, const struct change *change)
{
    struct buffer changed = {0};
    AUTO_BUFFER owner = {0};
    add_owner(&owner, &change->set);
    copy_others(&changed, buffer_text(&exchange->content), owner.at);
    if (change->op == CHANGE_SET) {
        buffer_add(&changed, owner.at, owner.len);
        add_values(&changed, &change->set);
        buffer_add_char(&changed, '\n');
    }
    buffer_done(&exchange->content);
    exchange->content = changed;
}

// ---- exchange -----------------------------------------------------------------------------------

static void *larder_begin(void *at, struct job *job)
{
    struct larder_session *session = at;
    struct larder_exchange *exchange = mem_new_of(struct larder_exchange);
    *exchange = (struct larder_exchange){
        .session = session, .job = job, .argv = {session->command, "reload", NULL}};
    if (job->kind == JOB_QUESTION) {
        exchange->step = STEP_ASK;
        buffer_printf(&exchange->url, "http://%.*s/rooms",
                      TEXT_ARGS(value_text_at(job->about, "address")));
    }
    return exchange;
}

static void larder_end(void *at)
{
    struct larder_exchange *exchange = at;
    buffer_done(&exchange->content);
    buffer_done(&exchange->url);
    free(exchange);
}

static void end_job(struct larder_exchange *exchange, const struct error *error)
{
    struct job *job = exchange->job;
    struct error *copy = NULL;
    if (error) {
        copy = arena_new_of(job->arena, struct error);
        *copy = *error;
    }
    exchange->step = STEP_DONE;
    job->health = (struct outcome){.is_done = !copy, .error = copy};
    job->is_transport_failure = copy;
    for (size_t i = 0; i < job->change_count; i++)
        job->changes[i].outcome = job->health;
}

static enum ask_kind larder_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct larder_exchange *exchange = at;
    const struct larder_session *session = exchange->session;
    (void)moment;
    if (exchange->step == STEP_DONE)
        return ASK_DONE;
    if (exchange->step == STEP_ASK) {
        out->http = (struct http_request){
            .method = "GET", .url = exchange->url.at, .timeout_ms = TIMEOUT_MS};
        return ASK_HTTP;
    }
    if (exchange->step == STEP_RUN) {
        out->process = (struct process_request){
            .argv = exchange->argv,
            .input =
                session->secret ? secret_expose(session->secret) : buffer_text(&exchange->content),
            .max_output_octets = OUTPUT_OCTETS_MAX,
            .timeout_ms = TIMEOUT_MS,
        };
        return ASK_PROCESS;
    }
    out->file = (struct file_request){.path = session->path, .max_octets = FILE_OCTETS_MAX};
    if (exchange->step == STEP_WRITE) {
        out->file.is_replaced = true;
        out->file.content = buffer_text(&exchange->content);
    }
    return ASK_FILE;
}

static bool can_be_changed(const struct job *job, struct error *err)
{
    for (size_t i = 0; i < job->change_count; i++)
        if (job->changes[i].op == CHANGE_READ)
            return error_set(err, FAULT_SPEC, "", "a larder can't be read");
    return true;
}

static void take_content(struct larder_exchange *exchange, const struct file_reply *reply)
{
    struct error err;
    const struct job *job = exchange->job;
    buffer_add(&exchange->content, reply->content.at ? reply->content.at : "", reply->content.len);
    if (job->kind != JOB_CHANGES) {
        end_job(exchange, NULL);
        return;
    }
    if (!can_be_changed(job, &err)) {
        end_job(exchange, &err);
        return;
    }
    for (size_t i = 0; i < job->change_count; i++)
        change_lines(exchange, &job->changes[i]);
    exchange->step = STEP_WRITE;
}

static void handle_file(struct larder_exchange *exchange, const struct file_reply *reply)
{
    bool is_new = exchange->step == STEP_READ && reply->is_absent;
    if (!reply->is_done && !is_new)
        end_job(exchange, &reply->error);
    else if (exchange->step == STEP_READ)
        take_content(exchange, reply);
    else
        exchange->step = STEP_RUN;
}

static void handle_process(struct larder_exchange *exchange, const struct process_result *result)
{
    struct error err = result->error;
    if (result->has_exited && result->exit_code)
        error_set(&err, FAULT_AGAIN, "ServerError", "%s reload ended with %d: %.*s",
                  exchange->session->command, result->exit_code,
                  TEXT_ARGS(text_trim(result->errors)));
    end_job(exchange, result->has_exited && !result->exit_code ? NULL : &err);
}

static void take_rooms(struct larder_exchange *exchange, const struct http_reply *reply)
{
    struct error err = reply->error;
    struct arena *arena = exchange->job->arena;
    const struct value *body = value_read_json(arena, reply->body, &value_reply_limits, NULL);
    int64_t rooms = value_int_at(body, "rooms", -1);
    if (reply->failure == HTTP_OK && rooms < 0)
        error_set(&err, FAULT_AGAIN, "ServerError", "%s answered %d and no number of rooms",
                  exchange->url.at, reply->status);
    bool is_ok = reply->failure == HTTP_OK && rooms >= 0;
    struct value *answer = is_ok ? value_make(arena, VALUE_MAP) : NULL;
    if (is_ok)
        value_put_int(arena, answer, "rooms", rooms);
    exchange->job->answer = answer;
    end_job(exchange, is_ok ? NULL : &err);
    exchange->job->is_transport_failure = false; // of the house alone
}

static void larder_handle_reply(void *at, const struct moment *moment,
                                const struct ask_result *result)
{
    (void)moment;
    if (result->kind == ASK_HTTP)
        take_rooms(at, result->http);
    else if (result->kind == ASK_FILE)
        handle_file(at, result->file);
    else
        handle_process(at, result->process);
}

static const char *const questions[] = {"rooms", NULL};

extern const struct provider larder_provider;
const struct provider larder_provider = {
    .name = "larder",
    .max_changes = CHANGES_MAX,
    .questions = questions,
    .open = larder_open,
    .close = larder_close,
    .fingerprint = larder_fingerprint,
    .begin = larder_begin,
    .ask = larder_ask,
    .handle_reply = larder_handle_reply,
    .end = larder_end,
};
