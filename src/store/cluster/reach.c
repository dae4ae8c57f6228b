#include "store/cluster/reach.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/cluster/cluster.h"

enum {
    PAUSE_MS = 500,
    TRIES_MAX = 8, // of a server that fails
    CALL_MS = 15 * 1000,
    USER_OCTETS_MAX = 253,
    HTTP_UNAUTHORIZED = 401,
    HTTP_FORBIDDEN = 403,
    HTTP_NOT_FOUND = 404,
};

// One short list.
struct question {
    struct reach *reach;
    const struct kind *kind;
    const char *namespace_; // NULL: everywhere, or the kind has none
    const char *version;
    unsigned versions_tried;
    enum reach_state state;
    char *user; // whom the server takes us for, of a refusal; or NULL
    struct api_call *call;
    struct loop_timer again;
    unsigned failures;
};

struct reach {
    struct reach_options options;
    const char *const *namespaces;
    const char *narrow[2];
    const char **left; // of those that were wanted; NULL: all
    struct question *questions;
    size_t count;
    size_t first; // those from here to `until` count; what is before it was asked of all namespaces
    size_t until;
    struct loop_timer timer;
    struct error last; // of those that are asked again
    bool is_over;
};

static void ask(struct question *question);
static void ask_late(void *context);

static void end(struct reach *reach, const struct error *err)
{
    if (reach->is_over)
        return;
    reach->is_over = true;
    loop_timer_cancel(reach->options.world->loop, &reach->timer);
    reach->options.done(reach->options.context, err);
}

// ---- what is asked ------------------------------------------------------------------------------

static void add(struct reach *reach, const struct kind *kind, const char *namespace_)
{
    struct question *question = &reach->questions[reach->count++];
    *question = (struct question){
        .reach = reach,
        .kind = kind,
        .namespace_ = namespace_,
        .version = kind->version,
        .again = {.call = ask_late, .context = question},
    };
    reach->until = reach->count;
}

static size_t count_namespaces(const struct reach *reach)
{
    size_t count = 0;
    while (reach->namespaces && reach->namespaces[count])
        count++;
    return count;
}

static void ask_all(struct reach *reach)
{
    size_t namespaces = count_namespaces(reach);
    bool is_by_namespace = namespaces && namespaces <= CLUSTER_NAMESPACES_MAX;
    reach->first = reach->count;
    for (size_t i = 0; i < reach->options.kind_count; i++) {
        const struct kind *kind = reach->options.kinds[i];
        size_t count = kind->is_namespaced && is_by_namespace ? namespaces : 1;
        for (size_t n = 0; n < count; n++)
            add(reach, kind, kind->is_namespaced && is_by_namespace ? reach->namespaces[n] : NULL);
    }
    for (size_t i = reach->first; i < reach->count; i++)
        ask(&reach->questions[i]);
}

// ---- what is known ------------------------------------------------------------------------------

static bool counts(const struct reach *reach, const struct question *question)
{
    if (!reach->left || !question->namespace_)
        return true;
    for (const char **name = reach->left; *name; name++)
        if (!strcmp(*name, question->namespace_))
            return true;
    return false;
}

static bool is_narrower_wanted(const struct reach *reach)
{
    if (reach->namespaces || !reach->options.fallback)
        return false;
    for (size_t i = 0; i < reach->count; i++)
        if (reach->questions[i].state == REACH_FORBIDDEN && reach->questions[i].kind->is_namespaced)
            return true;
    return false;
}

static bool has_own(const struct reach *reach, size_t from, size_t until)
{
    for (size_t i = from; i < until; i++)
        if (reach->questions[i].state == REACH_READABLE &&
            reach->questions[i].kind->is_namespaced && !reach->questions[i].kind->is_foreign)
            return true;
    return false;
}

// What is ours was not readable everywhere, and is in the one namespace.
static bool is_better_narrow(const struct reach *reach)
{
    return has_own(reach, reach->first, reach->until) && !has_own(reach, 0, reach->first);
}

static void conclude(struct reach *reach)
{
    for (size_t i = reach->first; i < reach->count; i++)
        if (reach->questions[i].state == REACH_UNKNOWN)
            return;
    if (is_narrower_wanted(reach)) {
        reach->narrow[0] = reach->options.fallback;
        reach->namespaces = reach->narrow;
        ask_all(reach);
        return;
    }
    if (reach->first && !is_better_narrow(reach)) {
        reach->namespaces = NULL;
        reach->until = reach->first;
        reach->first = 0;
    }
    end(reach, NULL);
}

// ---- answers ------------------------------------------------------------------------------------

// As a Status has it: `User "jane" cannot list resource ...`.
static char *read_user(struct text message)
{
    static const char head[] = "User \"";
    const char *at = memmem(message.at, message.len, head, sizeof head - 1);
    if (!at)
        return NULL;
    at += sizeof head - 1;
    const char *end = memchr(at, '"', (size_t)(message.at + message.len - at));
    struct buffer user = {0};
    if (end)
        text_clean(&user, (struct text){at, (size_t)(end - at)}, USER_OCTETS_MAX);
    return end ? buffer_steal(&user) : NULL;
}

static void blame(struct reach *reach, const struct error *why)
{
    struct error err = *why;
    api_blame(reach->options.api, &err);
    end(reach, &err);
}

static void settle(struct question *question, enum reach_state state)
{
    question->state = state;
    conclude(question->reach);
}

// The server may have the kind in another version.
static void miss(struct question *question)
{
    question->version = kind_version_at(question->kind, ++question->versions_tried);
    if (question->version)
        ask(question);
    else
        settle(question, REACH_MISSING);
}

static bool is_to_be_asked_again(const struct question *question, const struct api_reply *reply)
{
    return reply->error.fault == FAULT_LIMIT ||
           (reply->status >= 500 && question->failures < TRIES_MAX);
}

static void ask_again(struct question *question, const struct api_reply *reply)
{
    struct reach *reach = question->reach;
    int64_t pause_ms = reply->error.retry_ms > PAUSE_MS ? reply->error.retry_ms : PAUSE_MS;
    question->failures++;
    reach->last = reply->error;
    api_blame(reach->options.api, &reach->last);
    loop_timer_set(reach->options.world->loop, &question->again, pause_ms);
}

// A plain 404 is that of a group that the server does not have; one with a page is no API server's.
static bool is_missing(const struct api_reply *reply)
{
    return reply->status == HTTP_NOT_FOUND && !text_starts(text_trim(reply->body), "<");
}

// Nobody means to be that.
static void handle_refusal(struct question *question, const struct api_reply *reply)
{
    struct error err = reply->error;
    question->user = read_user(text_of(reply->error.text));
    if (!question->user || strcmp(question->user, "system:anonymous") != 0) {
        settle(question, REACH_FORBIDDEN);
        return;
    }
    error_set(&err, FAULT_AUTH, "",
              "no credential was sent: give the kubeconfig's user a token, a certificate or exec");
    err.status = reply->status;
    blame(question->reach, &err);
}

static void handle_list(struct question *question, const struct api_reply *reply)
{
    struct error err;
    if (text_starts(text_trim(reply->body), "{")) {
        settle(question, REACH_READABLE);
        return;
    }
    error_set(&err, FAULT_SPEC, "", "this is no list; it seems to be no API server");
    err.status = reply->status;
    blame(question->reach, &err);
}

static void heard(void *context, const struct api_reply *reply)
{
    struct question *question = context;
    question->call = NULL;
    if (question->reach->is_over)
        return;
    if (reply->is_ok) {
        handle_list(question, reply);
    } else if (reply->status == HTTP_FORBIDDEN) {
        handle_refusal(question, reply);
    } else if (is_missing(reply)) {
        miss(question);
    } else if (is_to_be_asked_again(question, reply)) {
        ask_again(question, reply);
    } else {
        blame(question->reach, &reply->error);
    }
}

static void ask(struct question *question)
{
    const struct reach *reach = question->reach;
    AUTO_BUFFER path = {0};
    api_version_path(&path, question->kind, question->version, text_of(question->namespace_),
                     TEXT(""), NULL);
    buffer_add_text(&path, "?limit=1");
    const struct api_request request = {
        .method = "GET", .path = path.at, .timeout_ms = CALL_MS, .max_body_octets = 0};
    question->call = api_send(reach->options.api, &request, heard, question);
}

static void ask_late(void *context)
{
    ask(context);
}

static void time_is_over(void *context)
{
    struct reach *reach = context;
    struct error err = reach->last;
    if (err.fault == FAULT_NONE) {
        error_set(&err, FAULT_AGAIN, "", "no answer within --timeout");
        api_blame(reach->options.api, &err);
    }
    end(reach, &err);
}

// ---- telling ------------------------------------------------------------------------------------

// Of all places of a kind the worst counts.
enum reach_state reach_state(const struct reach *reach, const struct kind *kind)
{
    enum reach_state state = REACH_UNKNOWN;
    for (size_t i = reach->first; i < reach->until; i++) {
        const struct question *question = &reach->questions[i];
        if (question->kind != kind || !counts(reach, question))
            continue;
        if (question->state != REACH_READABLE)
            return question->state;
        state = REACH_READABLE;
    }
    return state;
}

static bool has_own_in(const struct reach *reach, const char *namespace_)
{
    for (size_t i = reach->first; i < reach->until; i++) {
        const struct question *question = &reach->questions[i];
        if (question->namespace_ && !strcmp(question->namespace_, namespace_) &&
            question->state == REACH_READABLE && !question->kind->is_foreign)
            return true;
    }
    return false;
}

void reach_skip_unreadable(struct reach *reach)
{
    size_t left = 0;
    size_t count = count_namespaces(reach);
    if (count > CLUSTER_NAMESPACES_MAX)
        return;
    const char **names = mem_new_array(const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        if (has_own_in(reach, reach->namespaces[i]))
            names[left++] = reach->namespaces[i];
    if (!left || left == count) {
        free(names);
        return;
    }
    reach->left = names;
    reach->namespaces = names;
}

const char *const *reach_namespaces(const struct reach *reach)
{
    return reach->namespaces;
}

bool reach_is_narrowed(const struct reach *reach)
{
    return reach->first > 0;
}

static bool is_same_place(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

struct span {
    size_t from;
    size_t until;
    bool (*wanted)(const void *context, const struct kind *kind);
    const void *context;
};

static bool is_reported(const struct reach *reach, const struct span *span, size_t at)
{
    const struct question *question = &reach->questions[at];
    return question->state == REACH_FORBIDDEN &&
           (!span->wanted || span->wanted(span->context, question->kind));
}

static void write_place(const struct reach *reach, struct buffer *out, const struct span *span,
                        size_t first)
{
    const struct question *one = &reach->questions[first];
    const char *separator = "";
    if (one->user)
        buffer_printf(out, "User \"%s\" may not list ", one->user);
    else
        buffer_add_text(out, "you may not list ");
    for (size_t i = first; i < span->until; i++) {
        if (!is_reported(reach, span, i) ||
            !is_same_place(reach->questions[i].namespace_, one->namespace_))
            continue;
        buffer_printf(out, "%s%s", separator, reach->questions[i].kind->plural);
        separator = ", ";
    }
    if (one->namespace_)
        buffer_printf(out, " in namespace %s\n", one->namespace_);
    else
        buffer_add_text(out, " at cluster scope\n");
}

static bool is_first_of_place(const struct reach *reach, const struct span *span, size_t at)
{
    for (size_t i = span->from; i < at; i++)
        if (is_reported(reach, span, i) &&
            is_same_place(reach->questions[i].namespace_, reach->questions[at].namespace_))
            return false;
    return is_reported(reach, span, at);
}

static void write_span(const struct reach *reach, struct buffer *out, const struct span *span)
{
    for (size_t i = span->from; i < span->until; i++)
        if (is_first_of_place(reach, span, i))
            write_place(reach, out, span, i);
}

void reach_write_refusals(const struct reach *reach, struct buffer *out,
                          bool (*wanted)(const void *context, const struct kind *kind),
                          const void *context)
{
    write_span(reach, out, &(struct span){reach->first, reach->until, wanted, context});
}

static bool is_namespaced(const void *context, const struct kind *kind)
{
    (void)context;
    return kind->is_namespaced;
}

void reach_write_narrowing(const struct reach *reach, struct buffer *out)
{
    write_span(reach, out, &(struct span){0, reach->first, is_namespaced, NULL});
}

// ---- life ---------------------------------------------------------------------------------------

struct reach *reach_new(const struct reach_options *options)
{
    struct reach *reach = mem_new_of(struct reach);
    reach->options = *options;
    reach->namespaces = options->namespaces;
    reach->questions =
        mem_new_array(struct question, options->kind_count * (CLUSTER_NAMESPACES_MAX + 2) + 1);
    reach->timer = (struct loop_timer){.call = time_is_over, .context = reach};
    loop_timer_set(options->world->loop, &reach->timer, options->timeout_ms);
    ask_all(reach);
    return reach;
}

void reach_free(struct reach *reach)
{
    if (!reach)
        return;
    for (size_t i = 0; i < reach->count; i++) {
        struct question *question = &reach->questions[i];
        if (question->call)
            api_cancel(reach->options.api, question->call);
        loop_timer_cancel(reach->options.world->loop, &question->again);
        free(question->user);
    }
    loop_timer_cancel(reach->options.world->loop, &reach->timer);
    free(reach->questions);
    free(reach->left);
    free(reach);
}
