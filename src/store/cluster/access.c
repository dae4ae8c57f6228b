#include "store/cluster/access.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"

enum {
    AGAIN_MS = 60 * 1000,
    RETRY_MS = 10 * 1000,
    DOUBT_MS = 1000, // requests that are refused come in crowds
    CALL_MS = 10 * 1000,
};

enum result {
    NOT_ASKED,
    ALLOWED,
    DOUBTED, // a request that needs it was refused since it was allowed
    DENIED,  // and by the review, too, if only once: a server that starts knows no roles yet
    MISSING,
};

// May we do this there?
struct question {
    const struct kube_right *right;
    const char *verb;
    const char *namespace_; // "": everywhere, or it has none
    const char *name;       // "": any
    enum result result;
};

struct access {
    struct world world;
    struct log *log;
    struct api *api;
    struct question *questions; // those of one right and verb stand together
    size_t count;
    size_t capacity;
    size_t next;
    struct api_call *call;
    struct loop_timer timer;
    int64_t not_before_ms; // no doubt makes it ask before
    struct error fault;    // given up because of it
    struct arena *kept;    // rows, names of namespaces
    struct arena *texts;   // of checks
};

// ---- what to ask --------------------------------------------------------------------------------

static const char *const anywhere[] = {"", NULL};

static void add_question(struct access *access, const struct question *question)
{
    if (access->count == ACCESS_QUESTIONS_MAX)
        return;
    mem_reserve(&access->questions, &access->capacity, access->count + 1);
    access->questions[access->count++] = *question;
}

static void add_place(struct access *access, struct question question, const char *namespace_)
{
    question.namespace_ = arena_copy_text(access->kept, namespace_);
    const char *const *names = question.right->names;
    for (names = names ? names : anywhere; *names; names++) {
        question.name = *names;
        add_question(access, &question);
    }
}

static void add_verb(struct access *access, const struct access_options *options,
                     const struct question *question)
{
    enum kube_scope scope = question->right->scope;
    bool is_by_namespace = scope == RIGHT_OBJECTS || scope == RIGHT_EVENTS;
    if (scope == RIGHT_OWN_NAMESPACE || scope == RIGHT_LEASE) {
        add_place(access, *question,
                  scope == RIGHT_LEASE ? options->lease_namespace : options->own_namespace);
        return;
    }
    if (!is_by_namespace || !options->namespaces) {
        add_place(access, *question, "");
        return;
    }
    for (const char *const *namespace_ = options->namespaces; *namespace_; namespace_++)
        add_place(access, *question, *namespace_);
    if (scope == RIGHT_EVENTS)
        add_place(access, *question, "default");
}

static void add_right(struct access *access, const struct access_options *options,
                      const struct kube_right *row)
{
    struct kube_right *right = arena_new_of(access->kept, struct kube_right);
    *right = *row;
    for (const char *const *verb = right->verbs; *verb; verb++)
        add_verb(access, options, &(struct question){.right = right, .verb = *verb});
}

// ---- what to say --------------------------------------------------------------------------------

static bool is_advice(const struct question *question)
{
    const struct kube_right *right = question->right;
    return right->scope == RIGHT_EVENTS || right->scope == RIGHT_REFERENCED ||
           right->is_dispensable;
}

static void write_place(struct buffer *out, const struct question *question)
{
    if (*question->namespace_)
        buffer_printf(out, "in namespace %s", question->namespace_);
    else
        buffer_add_text(out, "at cluster scope");
}

static void write_text(struct buffer *out, const struct question *question)
{
    const struct kube_right *right = question->right;
    buffer_printf(out, "forbidden: cannot %s %s%s%s ", question->verb, right->resource,
                  *right->group ? "." : "", right->group);
    if (*question->name)
        buffer_printf(out, "%s ", question->name);
    write_place(out, question);
    buffer_printf(out, "; add the rule {apiGroups: [\"%s\"], resources: [\"%s\"]", right->group,
                  right->resource);
    if (*question->name)
        buffer_printf(out, ", resourceNames: [\"%s\"]", question->name);
    buffer_printf(out, ", verbs: [\"%s\"]}", question->verb);
}

static void log_missing(const struct access *access, const struct question *question)
{
    AUTO_BUFFER text = {0};
    write_text(&text, question);
    log_line(access->log, is_advice(question) ? LOG_INFO : LOG_WARN, "a right is missing",
             LOG_TEXT("error", text.at), LOG_TEXT("for", question->right->why), LOG_END);
}

static bool is_sister(const struct question *a, const struct question *b)
{
    return a->right == b->right && a->verb == b->verb;
}

static bool was_reported(const struct access *access, const struct question *question)
{
    for (size_t i = 0; i < access->count; i++)
        if (access->questions[i].result == MISSING && is_sister(&access->questions[i], question))
            return true;
    return false;
}

static bool is_to_read(const char *verb)
{
    return !strcmp(verb, "get") || !strcmp(verb, "list") || !strcmp(verb, "watch");
}

// Of a dispensable kind that cannot be read the watch says so, in one line.
static bool is_reported_by_watch(const struct access *access, const struct question *question)
{
    if (!question->right->is_dispensable)
        return false;
    for (size_t i = 0; i < access->count; i++) {
        const struct question *other = &access->questions[i];
        if (other->right == question->right && other->result == MISSING && is_to_read(other->verb))
            return true;
    }
    return false;
}

static void judge(struct access *access, struct question *question, bool is_allowed)
{
    bool is_news = !is_allowed && !was_reported(access, question);
    bool was_missing = question->result == MISSING;
    if (!is_allowed && question->result == DOUBTED) {
        question->result = DENIED;
        return;
    }
    question->result = is_allowed ? ALLOWED : MISSING;
    if (is_news && !is_reported_by_watch(access, question))
        log_missing(access, question);
    if (is_allowed && was_missing)
        log_line(access->log, LOG_INFO, "a right was given", LOG_TEXT("verb", question->verb),
                 LOG_TEXT("resource", question->right->resource), LOG_END);
}

// ---- asking -------------------------------------------------------------------------------------

static void add_attribute(struct arena *arena, struct value *map, const char *key, struct text text)
{
    if (text.len)
        value_set(map, text_of(key), value_make_text(arena, text));
}

static struct value *attributes_of(struct arena *arena, const struct question *question)
{
    struct value *map = value_make(arena, VALUE_MAP);
    struct text rest = text_of(question->right->resource);
    struct text resource;
    text_cut(&rest, '/', &resource);
    add_attribute(arena, map, "group", text_of(question->right->group));
    add_attribute(arena, map, "resource", resource);
    add_attribute(arena, map, "subresource", rest);
    add_attribute(arena, map, "verb", text_of(question->verb));
    add_attribute(arena, map, "namespace", text_of(question->namespace_));
    add_attribute(arena, map, "name", text_of(question->name));
    return map;
}

static void write_review(struct buffer *out, const struct question *question)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *root = value_make(arena, VALUE_MAP);
    struct value *spec = value_make(arena, VALUE_MAP);
    value_set(spec, TEXT("resourceAttributes"), attributes_of(arena, question));
    value_set(root, TEXT("apiVersion"), value_make_text(arena, TEXT("authorization.k8s.io/v1")));
    value_set(root, TEXT("kind"), value_make_text(arena, TEXT("SelfSubjectAccessReview")));
    value_set(root, TEXT("spec"), spec);
    value_write_json(out, root);
}

static void handle_reply(void *context, const struct api_reply *reply);

static void ask(struct access *access)
{
    AUTO_BUFFER body = {0};
    write_review(&body, &access->questions[access->next]);
    const struct api_request request = {
        .method = "POST",
        .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        .body = buffer_text(&body),
        .timeout_ms = CALL_MS,
    };
    access->call = api_send(access->api, &request, handle_reply, access);
}

static bool is_missing(const struct question *question)
{
    return question->result == MISSING;
}

static bool is_doubted(const struct question *question)
{
    return question->result == DOUBTED || question->result == DENIED;
}

static bool is_any(const struct access *access, bool (*is_so)(const struct question *question))
{
    for (size_t i = 0; i < access->count; i++)
        if (is_so(&access->questions[i]))
            return true;
    return false;
}

static void ask_in(struct access *access, int64_t ms)
{
    loop_timer_set(access->world.loop, &access->timer, ms);
}

static void put_doubts_off(struct access *access, int64_t ms)
{
    access->not_before_ms = loop_mono_ms(access->world.loop) + ms;
}

static void go_on(struct access *access)
{
    while (access->next < access->count && access->questions[access->next].result == ALLOWED)
        access->next++;
    if (access->next < access->count) {
        ask(access);
        return;
    }
    access->next = 0;
    put_doubts_off(access, RETRY_MS);
    if (is_any(access, is_doubted))
        ask_in(access, RETRY_MS);
    else if (is_any(access, is_missing))
        ask_in(access, AGAIN_MS);
}

static bool is_passing(const struct api_reply *reply)
{
    return reply->error.fault == FAULT_AGAIN || reply->error.fault == FAULT_LIMIT ||
           reply->status == 401;
}

static void handle_result(struct access *access, const struct api_reply *reply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *tree = value_read_json(arena, reply->body, &value_reply_limits, NULL);
    struct question *question = &access->questions[access->next++];
    const struct value *allowed = value_at(tree, "status.allowed", NULL);
    bool is_no_answer = !allowed || allowed->type != VALUE_BOOL;
    error_clear(&access->fault);
    judge(access, question, is_no_answer || allowed->boolean);
    go_on(access);
}

const char *access_fault(const struct access *access)
{
    return access->fault.fault == FAULT_NONE ? NULL : access->fault.text;
}

// It may come to have a credential, and what was found missing may have been given by now.
static void give_up(struct access *access, const struct api_reply *reply)
{
    bool is_unsent = reply->status == 0;
    if (!access_fault(access))
        log_line(access->log, LOG_WARN, "rights cannot be checked",
                 LOG_TEXT("error", reply->error.text), LOG_END);
    access->fault = reply->error;
    put_doubts_off(access, AGAIN_MS);
    if (is_unsent || is_any(access, is_missing) || is_any(access, is_doubted))
        ask_in(access, AGAIN_MS);
}

static void try_again(struct access *access, int64_t retry_ms)
{
    int64_t ms = retry_ms > RETRY_MS ? retry_ms : RETRY_MS;
    put_doubts_off(access, ms);
    ask_in(access, ms);
}

static void handle_reply(void *context, const struct api_reply *reply)
{
    struct access *access = context;
    access->call = NULL;
    if (reply->is_ok)
        handle_result(access, reply);
    else if (is_passing(reply))
        try_again(access, reply->error.retry_ms);
    else
        give_up(access, reply);
}

static void timer_fired(void *context)
{
    go_on(context);
}

bool access_is_over(const struct access *access)
{
    if (access_fault(access))
        return true;
    for (size_t i = 0; i < access->count; i++)
        if (access->questions[i].result == NOT_ASKED)
            return false;
    return true;
}

// ---- doubts -------------------------------------------------------------------------------------

// A PATCH that applies may take the right to create.
static bool is_needed_for(const struct question *question, const char *method, const char *path)
{
    AUTO_BUFFER plural = {0};
    const char *resource = question->right->resource;
    const char *subresource = strchr(resource, '/');
    buffer_printf(&plural, "/%.*s", (int)strcspn(resource, "/"), resource);
    return is_to_read(question->verb) == !strcmp(method, "GET") && strstr(path, plural.at) &&
           strstr(path, question->right->group) && strstr(path, question->namespace_) &&
           (!subresource || strstr(path, subresource));
}

void access_doubt(struct access *access, const char *method, const char *path)
{
    int64_t wait_ms = access->not_before_ms - loop_mono_ms(access->world.loop);
    bool is_any_new = false;
    for (size_t i = 0; i < access->count; i++) {
        struct question *question = &access->questions[i];
        if (question->result != ALLOWED || !is_needed_for(question, method, path))
            continue;
        question->result = DOUBTED;
        is_any_new = true;
    }
    if (is_any_new && !access->call)
        ask_in(access, wait_ms > DOUBT_MS ? wait_ms : DOUBT_MS);
}

// ---- public -------------------------------------------------------------------------------------

struct access *access_new(const struct access_options *options)
{
    struct access *access = mem_new_of(struct access);
    access->world = *options->world;
    access->log = options->log;
    access->api = options->api;
    access->kept = arena_new();
    access->texts = arena_new();
    access->timer = (struct loop_timer){.call = timer_fired, .context = access};
    for (const struct kube_right *right = options->rights; right->resource; right++)
        add_right(access, options, right);
    return access;
}

void access_start(struct access *access)
{
    ask_in(access, 0);
}

void access_free(struct access *access)
{
    if (!access)
        return;
    if (access->call)
        api_cancel(access->api, access->call);
    loop_timer_cancel(access->world.loop, &access->timer);
    arena_free(access->kept);
    arena_free(access->texts);
    free(access->questions);
    free(access);
}

// "may-patch-dnsrecords-status.dns.homelab.mortenolsen.pro": one segment of a path.
static const char *name_of(struct access *access, const struct question *question)
{
    const struct kube_right *right = question->right;
    char *name = arena_printf(access->texts, "may-%s-%s%s%s", question->verb, right->resource,
                              *right->group ? "." : "", right->group);
    for (char *c = strchr(name, '/'); c; c = strchr(c, '/'))
        *c = '-';
    return name;
}

static struct store_check check_of(struct access *access, const struct question *question)
{
    AUTO_BUFFER text = {0};
    write_text(&text, question);
    return (struct store_check){
        .name = name_of(access, question),
        .is_advice = is_advice(question),
        .text = arena_copy_text(access->texts, text.at),
    };
}

size_t access_checks(struct access *access, struct store_check *out, size_t capacity)
{
    const struct question *last = NULL;
    size_t count = 0;
    arena_reset(access->texts);
    for (size_t i = 0; i < access->count && count < capacity; i++) {
        const struct question *question = &access->questions[i];
        if (question->result != MISSING || (last && is_sister(last, question)))
            continue;
        out[count++] = check_of(access, question);
        last = question;
    }
    return count;
}
