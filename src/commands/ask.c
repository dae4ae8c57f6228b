#include "commands/ask.h"

#include <stdlib.h>
#include <string.h>

#include "dns/message.h"
#include "dns/rdata.h"

enum { OPEN_MAX = 32, TIMEOUT_MS = 2000, TRIES = 2, WILDCARD_LABEL_LIMIT = 1 << 30 };

struct ask;
struct asked_row {
    struct ask *ask;
    struct dns_call *call;
    struct view_row *row; // NULL: free
    struct text name;     // what is asked: a label in place of "*"
    uint16_t id;
    unsigned tries;
    bool use_tcp;
};

struct ask {
    struct ask_options options;
    struct view *view;
    loop_call *done;
    void *context;
    size_t next; // row
    struct asked_row open[OPEN_MAX];
    size_t open_count;
    struct loop_timer end;
    bool is_done;
};

// ---- judging ------------------------------------------------------------------------------------

static const char *show_value(struct arena *arena, const struct record_set *set, struct text value)
{
    AUTO_BUFFER text = {0};
    if (set->type == RECORD_MX)
        buffer_printf(&text, "%d ", set->priority);
    if (set->type == RECORD_SRV)
        buffer_printf(&text, "%d %d %d ", set->priority, set->weight, set->port);
    text_clean(&text, value, SIZE_MAX);
    return arena_copy(arena, buffer_text(&text).at, text.len);
}

static int compare_texts(const void *left, const void *right)
{
    const char *const *a = left;
    const char *const *b = right;
    return strcmp(*a, *b);
}

// Sorted: name servers turn their answers around.
static const char *join_sorted(struct arena *arena, const char **shown, size_t count)
{
    AUTO_BUFFER text = {0};
    qsort(shown, count, sizeof *shown, compare_texts);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&text, "%s%s", i ? ", " : "", shown[i]);
    return arena_copy(arena, buffer_text(&text).at, text.len);
}

static const char *join_values(struct arena *arena, const struct message *message)
{
    size_t count = 0;
    for (size_t i = 0; i < message->answer_count; i++)
        count += message->answers[i].value_count;
    const char **shown = arena_new_array(arena, const char *, count + 1);
    count = 0;
    for (size_t i = 0; i < message->answer_count; i++)
        for (size_t j = 0; j < message->answers[i].value_count; j++)
            shown[count++] = show_value(arena, &message->answers[i], message->answers[i].values[j]);
    return join_sorted(arena, shown, count);
}

static bool is_wanted(const struct asked_row *question, const struct message *message)
{
    struct record_set want = question->row->question.set;
    if (message->answer_count != 1)
        return false;
    want.ttl_s = message->answers[0].ttl_s;
    return text_equal_nocase(message->answers[0].domain, question->name) &&
           record_set_equal(&want, &message->answers[0]);
}

static void settle(struct asked_row *question, enum answer answer, const char *text)
{
    question->row->answer = answer;
    question->row->answer_text = arena_copy_text(question->ask->view->arena, text);
}

static void judge_set(struct asked_row *question, const struct message *message)
{
    const char *values = join_values(question->ask->view->arena, message);
    question->row->answer_ttl_s = message->answer_count ? message->answers[0].ttl_s : 0;
    if (!message->answer_count)
        settle(question, ANSWER_NONE, "no data");
    else
        settle(question, is_wanted(question, message) ? ANSWER_OK : ANSWER_DIFFERS, values);
}

static const char *show_rdata(struct arena *arena, uint16_t type, struct text rdata)
{
    AUTO_BUFFER text = {0};
    rdata_write(&text, type, rdata);
    return arena_copy(arena, text.at, text.len);
}

static bool has_rdata(const struct message_set *set, struct text rdata)
{
    for (size_t i = 0; i < set->count; i++)
        if (text_equal(set->rdatas[i], rdata))
            return true;
    return false;
}

static void judge_one(struct asked_row *question, struct text octets, const struct message *message)
{
    struct arena *arena = question->ask->view->arena;
    const struct name_question *wanted = &question->row->question;
    struct message_set set;
    struct error err;
    if (!message_find(arena, octets, question->name, wanted->type, &set, &err)) {
        settle(question, ANSWER_FAILED, err.text);
        return;
    }
    const char **shown = arena_new_array(arena, const char *, set.count + 1);
    for (size_t i = 0; i < set.count; i++)
        shown[i] = show_rdata(arena, wanted->type, set.rdatas[i]);
    question->row->answer_ttl_s = set.ttl_s;
    if (!set.count)
        judge_set(question, message);
    else
        settle(question, has_rdata(&set, wanted->rdata) ? ANSWER_OK : ANSWER_DIFFERS,
               join_sorted(arena, shown, set.count));
}

static void judge(struct asked_row *question, struct text octets, const struct message *message)
{
    if (message->rcode == RCODE_NXDOMAIN)
        settle(question, ANSWER_NONE, "NXDOMAIN");
    else if (message->rcode != RCODE_NOERROR)
        settle(question, ANSWER_FAILED, message_rcode_name(message->rcode));
    else if (question_is_of_one(&question->row->question))
        judge_one(question, octets, message);
    else
        judge_set(question, message);
}

// ---- talking ------------------------------------------------------------------------------------

static void pump(struct ask *ask);
static bool send(struct asked_row *question, struct error *err);

static void finish(struct asked_row *question)
{
    struct ask *ask = question->ask;
    *question = (struct asked_row){.ask = ask};
    ask->open_count--;
    pump(ask);
}

static bool read_reply(struct asked_row *question, struct text octets, struct message *message,
                       struct error *err)
{
    if (!message_read(question->ask->view->arena, octets, message, err))
        return false;
    if (message->is_reply && message->id == question->id &&
        text_equal_nocase(message->question_name, question->name) &&
        message->question_type == question->row->question.type)
        return true;
    return error_set(err, FAULT_AGAIN, "", "the reply is for another question");
}

static void replied(void *context, const struct dns_reply *reply)
{
    struct asked_row *question = context;
    struct message message;
    struct error err = reply->error;
    question->call = NULL;
    bool is_again = reply->is_timeout && question->tries < TRIES;
    bool is_read = reply->is_answered && read_reply(question, reply->octets, &message, &err);
    if (is_read && message.is_truncated && !question->use_tcp)
        is_again = question->use_tcp = true;
    if (is_again && send(question, &err))
        return;
    if (is_read && !is_again)
        judge(question, reply->octets, &message);
    else
        settle(question, ANSWER_FAILED, reply->is_timeout ? "no reply" : err.text);
    finish(question);
}

static bool send(struct asked_row *question, struct error *err)
{
    struct ask *ask = question->ask;
    AUTO_BUFFER octets = {0};
    question->id = random_u16(ask->options.random);
    question->tries++;
    if (!message_query(&octets, question->id, question->name, question->row->question.type, false,
                       err))
        return false;
    const struct dns_request request = {.server = ask->options.server,
                                        .octets = buffer_text(&octets),
                                        .use_tcp = question->use_tcp,
                                        .timeout_ms = ask->options.timeout_ms};
    question->call = dns_send(ask->options.net, &request, replied, question);
    return true;
}

// A wildcard is asked by a name that only it can answer.
static struct text asked_name(struct ask *ask, const struct view_row *row)
{
    struct text rest = row->question.name;
    if (!text_starts(rest, "*."))
        return rest;
    unsigned label = (unsigned)random_below(ask->options.random, WILDCARD_LABEL_LIMIT);
    return text_of(
        arena_printf(ask->view->arena, "signpost-%08x%.*s", label, (int)rest.len - 1, rest.at + 1));
}

static struct asked_row *free_question(struct ask *ask)
{
    for (size_t i = 0; i < OPEN_MAX; i++)
        if (!ask->open[i].row)
            return &ask->open[i];
    return NULL;
}

static void begin(struct ask *ask, struct view_row *row)
{
    struct asked_row *question = free_question(ask);
    struct error err;
    *question = (struct asked_row){.ask = ask, .row = row, .name = asked_name(ask, row)};
    if (send(question, &err)) {
        ask->open_count++;
        return;
    }
    settle(question, ANSWER_FAILED, err.text);
    question->row = NULL;
}

static void report_done(void *context)
{
    struct ask *ask = context;
    ask->done(ask->context);
}

static void pump(struct ask *ask)
{
    while (ask->next < ask->view->count && ask->open_count < OPEN_MAX) {
        struct view_row *row = &ask->view->rows[ask->next++];
        if (row->has_question)
            begin(ask, row);
    }
    if (ask->open_count || ask->is_done)
        return;
    ask->is_done = true;
    loop_timer_set(ask->options.loop, &ask->end, 0);
}

struct ask *ask_new(const struct ask_options *options, struct view *view, loop_call *done,
                    void *context)
{
    struct ask *ask = mem_new_of(struct ask);
    *ask = (struct ask){.options = *options, .view = view, .done = done, .context = context};
    if (!ask->options.timeout_ms)
        ask->options.timeout_ms = TIMEOUT_MS;
    ask->end = (struct loop_timer){.call = report_done, .context = ask};
    view->is_asked = true;
    pump(ask);
    return ask;
}

void ask_free(struct ask *ask)
{
    if (!ask)
        return;
    for (size_t i = 0; i < OPEN_MAX; i++)
        if (ask->open[i].call)
            dns_cancel(ask->options.net, ask->open[i].call);
    loop_timer_cancel(ask->options.loop, &ask->end);
    free(ask);
}
