#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "store/cluster/inside.h"
#include "store/put.h"
#include "store/status.h"

enum {
    TRIES_MAX = 10,       // of a write that is told to wait
    LIMIT_MAX_MS = 60000, // as long as that is listened to
    LIMIT_MS = 1000,      // where the server names no time
    GROW_AFTER = 16,      // successes
    ROW_MAX = 15,         // of a rank, while others wait behind
};

// So many wait: turns wait, too, until there is room.
static const struct {
    size_t full;
    size_t room;
} limits[RANK_COUNT] = {
    [RANK_URGENT] = {128, 64}, [RANK_AHEAD] = {128, 64}, [RANK_BEHIND] = {1024, 512}};

enum write_type {
    WRITE_APPLY,
    WRITE_STATUS,
    WRITE_REMOVE_FINALIZER,
    WRITE_PUT,
    WRITE_CREATE, // a child; not applied, which would take over what somebody else made
    WRITE_CHANGE,
    WRITE_DROP,
    WRITE_PAGE_CREATE,
    WRITE_PAGE_CHANGE,
    WRITE_PAGE_DROP,
    WRITE_GET,
};

// What is asked of the server now.
enum write_step {
    STEP_READ, // the object, as the body depends on what others wrote there
    STEP_MAKE, // PUT: an empty one, as an apply would take over what somebody else made meanwhile
    STEP_SEND,
    STEP_CLEAR,     // labels and annotations that others wrote as well: an apply leaves them there
    STEP_READ_BACK, // nobody knows whether it took effect
};

struct write {
    struct cluster *cluster;
    struct write *next;
    struct write *previous; // in flight
    enum write_type type;
    enum write_rank rank;
    enum write_step first_step; // of each try: READ where others wrote there, too
    enum write_step step;
    const struct store_kind *kind; // NULL: PUT, pages
    const struct kind *put_kind;   // PUT
    const struct object *object;   // as the asker saw it; NULL: GET, PUT, CREATE, pages
    char *path;
    char *name;       // PUT, CREATE, pages: for people
    char *body;       // what is sent. STATUS, PUT: what is wanted
    char *kept;       // PUT: names of data that stay; NULL: none
    char *collection; // PUT: where it is made
    char *grant_key;  // PUT: the annotation that hands over; NULL: none
    char *grant_value;
    char *clear;         // APPLY: the merge patch of those that go; NULL: none do
    struct error *error; // READ_BACK: what the asker will hear; else NULL
    store_done *done;
    void *context;
    struct api_call *call;
    struct loop_timer timer; // told to wait
    unsigned tries;
};

static const struct {
    const char *method;
    const char *subresource;
    const char *query;
    const char *content_type;
    enum write_rank rank;
} forms[] = {
    [WRITE_APPLY] = {"PATCH", NULL, "?fieldManager=signpost&force=true",
                     "application/apply-patch+yaml", RANK_AHEAD},
    [WRITE_STATUS] = {"PATCH", "status", "?fieldManager=signpost", "application/merge-patch+json",
                      RANK_BEHIND},
    [WRITE_REMOVE_FINALIZER] = {"PATCH", NULL, "?fieldManager=signpost",
                                "application/merge-patch+json", RANK_BEHIND},
    [WRITE_PUT] = {"PATCH", NULL, "?fieldManager=signpost&force=true",
                   "application/apply-patch+yaml", RANK_BEHIND},
    [WRITE_CREATE] = {"POST", NULL, "?fieldManager=signpost", "application/json", RANK_BEHIND},
    [WRITE_CHANGE] = {"PATCH", NULL, "?fieldManager=signpost", "application/merge-patch+json",
                      RANK_BEHIND},
    [WRITE_DROP] = {"DELETE", NULL, "", "application/json", RANK_BEHIND},
    [WRITE_PAGE_CREATE] = {"POST", NULL, "?fieldManager=signpost", "application/json", RANK_AHEAD},
    [WRITE_PAGE_CHANGE] = {"PATCH", NULL, "?fieldManager=signpost", "application/merge-patch+json",
                           RANK_AHEAD},
    [WRITE_PAGE_DROP] = {"DELETE", NULL, "", "application/json", RANK_AHEAD},
    [WRITE_GET] = {"GET", NULL, "", NULL, RANK_AHEAD},
};

// Nothing of the object comes back with the reply: the watch tells it.
static bool is_told_by_watch(const struct write *write)
{
    return write->type >= WRITE_PUT && write->type <= WRITE_DROP;
}

static bool is_of_page(enum write_type type)
{
    return type >= WRITE_PAGE_CREATE && type <= WRITE_PAGE_DROP;
}

static const char *method_of(const struct write *write)
{
    return forms[write->type].method;
}

static void pump(struct cluster *cluster);
static void send_step(struct write *write);

// ---- life ---------------------------------------------------------------------------------------

static void write_free(struct write *write)
{
    loop_timer_cancel(write->cluster->world.loop, &write->timer);
    object_unref(write->object);
    free(write->path);
    free(write->name);
    free(write->body);
    free(write->kept);
    free(write->collection);
    free(write->grant_key);
    free(write->grant_value);
    free(write->clear);
    free(write->error);
    free(write);
}

static void link_in_flight(struct write *write)
{
    struct writes *writes = &write->cluster->writes;
    write->previous = NULL;
    write->next = writes->in_flight;
    if (write->next)
        write->next->previous = write;
    writes->in_flight = write;
    writes->in_flight_count++;
}

static void unlink_in_flight(struct write *write)
{
    struct writes *writes = &write->cluster->writes;
    if (write->previous)
        write->previous->next = write->next;
    else
        writes->in_flight = write->next;
    if (write->next)
        write->next->previous = write->previous;
    must(writes->in_flight != write);
    writes->in_flight_count--;
}

// It is in no list any more.
static void deliver(struct write *write, const struct store_reply *reply)
{
    write->done(write->context, reply);
    write_free(write);
}

static void answer(struct write *write, const struct store_reply *reply)
{
    struct cluster *cluster = write->cluster;
    unlink_in_flight(write);
    deliver(write, reply);
    pump(cluster);
}

static void name_object(const struct write *write, struct error *error)
{
    AUTO_BUFFER name = {0};
    if (write->name)
        error_prefix(error, "%s: ", write->name);
    if (!write->object)
        return;
    object_write_name(&name, write->object);
    error_prefix(error, "%s %s: ", write->kind->kind->name, name.at);
}

static void fail(struct write *write, const struct error *error)
{
    struct store_reply reply = {.error = *error};
    name_object(write, &reply.error);
    answer(write, &reply);
}

// ---- the window ---------------------------------------------------------------------------------

static void shrink_window(struct writes *writes)
{
    writes->window = writes->window > 1 ? writes->window / 2 : 1;
    writes->successes = 0;
}

static void grow_window(struct cluster *cluster)
{
    struct writes *writes = &cluster->writes;
    if (writes->window >= cluster->options.max_in_flight || ++writes->successes < GROW_AFTER)
        return;
    writes->window++;
    writes->successes = 0;
}

// Those behind have a turn now and then, however many come ahead of them.
static enum write_rank next_rank(const struct writes *writes)
{
    enum write_rank best = RANK_COUNT;
    for (enum write_rank rank = RANK_BEHIND + 1; rank-- > RANK_URGENT;)
        if (writes->waiting[rank].first &&
            (best == RANK_COUNT || writes->waiting[rank].row < ROW_MAX))
            best = rank;
    return best == RANK_COUNT ? RANK_BEHIND : best;
}

// NULL: none.
static struct write *next_waiting(const struct writes *writes)
{
    return writes->waiting[next_rank(writes)].first;
}

static struct write *take_waiting(struct writes *writes)
{
    enum write_rank rank = next_rank(writes);
    struct write_line *line = &writes->waiting[rank];
    struct write *write = line->first;
    line->first = write->next;
    if (!line->first)
        line->last = NULL;
    line->count--;
    line->row++;
    for (enum write_rank better = RANK_URGENT; better < rank; better++)
        writes->waiting[better].row = 0;
    return write;
}

static void add_waiting(struct writes *writes, struct write *write)
{
    struct write_line *line = &writes->waiting[write->rank];
    if (line->last)
        line->last->next = write;
    else
        line->first = write;
    line->last = write;
    line->is_full |= ++line->count >= limits[write->rank].full;
}

// A token bucket; 0 milliseconds: one may go now, and has been taken.
static int64_t wait_for_token(struct cluster *cluster)
{
    struct writes *writes = &cluster->writes;
    const struct cluster_options *options = &cluster->options;
    int64_t now_ms = loop_mono_ms(cluster->world.loop);
    if (!options->rate)
        return 0;
    writes->tokens += (double)(now_ms - writes->filled_ms) * options->rate / 1000.0;
    if (writes->tokens > options->burst)
        writes->tokens = options->burst;
    writes->filled_ms = now_ms;
    if (!writes->held_since_ms)
        writes->held_since_ms = now_ms;
    if (writes->tokens < 1)
        return 1 + (int64_t)((1 - writes->tokens) * 1000.0 / options->rate);
    api_count_wait(cluster->api, method_of(next_waiting(writes)), now_ms - writes->held_since_ms);
    writes->held_since_ms = 0;
    writes->tokens -= 1;
    return 0;
}

static void standby_error(struct error *error)
{
    error_set(error, FAULT_AGAIN, "Standby",
              "another process holds the lease; only that one writes");
}

static void refuse_standby(struct write *write)
{
    struct error error;
    standby_error(&error);
    fail(write, &error);
}

bool writes_are_full(const struct cluster *cluster, bool is_urgent)
{
    const struct write_line *lines = cluster->writes.waiting;
    return is_urgent ? lines[RANK_URGENT].is_full
                     : lines[RANK_URGENT].is_full || lines[RANK_AHEAD].is_full ||
                           lines[RANK_BEHIND].is_full;
}

// Those that are urgent need not wait for the others' room.
static void tell_room(struct cluster *cluster)
{
    bool was_full[] = {writes_are_full(cluster, false), writes_are_full(cluster, true)};
    for (enum write_rank rank = RANK_URGENT; rank < RANK_COUNT; rank++)
        if (cluster->writes.waiting[rank].count <= limits[rank].room)
            cluster->writes.waiting[rank].is_full = false;
    if (was_full[false] != writes_are_full(cluster, false) ||
        was_full[true] != writes_are_full(cluster, true))
        cluster->sink.room(cluster->sink.context);
}

static void send_waiting(struct cluster *cluster)
{
    struct writes *writes = &cluster->writes;
    while (next_waiting(writes) && writes->in_flight_count < writes->window) {
        int64_t wait_ms = wait_for_token(cluster);
        if (wait_ms) {
            loop_timer_set(cluster->world.loop, &writes->timer, wait_ms);
            return;
        }
        struct write *write = take_waiting(writes);
        link_in_flight(write);
        if (write->type == WRITE_GET || cluster_may_write_now(cluster))
            send_step(write);
        else
            refuse_standby(write);
    }
}

// What is refused at once is answered from within: the next of them has its turn in the same round.
static void pump(struct cluster *cluster)
{
    struct writes *writes = &cluster->writes;
    if (writes->is_pumping)
        return;
    writes->is_pumping = true;
    send_waiting(cluster);
    writes->is_pumping = false;
    tell_room(cluster);
}

static void pump_soon(void *context)
{
    pump(context);
}

static void enqueue(struct write *write)
{
    struct cluster *cluster = write->cluster;
    struct writes *writes = &cluster->writes;
    add_waiting(writes, write);
    writes->timer.call = pump_soon;
    writes->timer.context = cluster;
    if (writes->in_flight_count < writes->window)
        loop_timer_set(cluster->world.loop, &writes->timer, 0);
}

// ---- bodies -------------------------------------------------------------------------------------

static char *json_of(const struct value *value)
{
    struct buffer json = {0};
    value_write_json(&json, value);
    return buffer_steal(&json);
}

static void put_uid(struct arena *arena, struct value *root, const struct object *object)
{
    char uid[37];
    object_write_uid(object, uid);
    value_put_text(arena, root, "metadata.uid", arena_copy_text(arena, uid));
}

static void put_version(struct arena *arena, struct value *root, const struct object *object)
{
    value_put(arena, root, "metadata.resourceVersion",
              value_make_text(arena, object_version(object)));
}

static const char *mark_path(struct arena *arena, const struct store_mark *mark)
{
    return arena_printf(arena, "metadata.%s[%s]", mark->is_label ? "labels" : "annotations",
                        mark->key);
}

static void put_identity(struct arena *arena, struct value *root, const struct cluster *cluster,
                         const struct object *object)
{
    AUTO_BUFFER version = {0};
    versions_write(&version, &cluster->memory.versions, object->kind);
    value_put_text(arena, root, "apiVersion", arena_copy_text(arena, version.at));
    value_put_text(arena, root, "kind", object->kind->name);
    value_put(arena, root, "metadata.name", value_make_text(arena, object_name(object)));
    if (object_namespace(object).len)
        value_put(arena, root, "metadata.namespace",
                  value_make_text(arena, object_namespace(object)));
    put_uid(arena, root, object);
}

static char *apply_body(const struct write *write, const struct store_apply *apply)
{
    const struct store_kind *kind = write->kind;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *root = value_make(arena, VALUE_MAP);
    put_identity(arena, root, write->cluster, apply->object);
    for (size_t i = 0; i < apply->mark_count; i++)
        if (apply->marks[i].value)
            value_put_text(arena, root, mark_path(arena, &apply->marks[i]), apply->marks[i].value);
    if (kind->finalizer && (apply->add_finalizer || apply->object->has_finalizer))
        value_put_texts(arena, root, "metadata.finalizers",
                        (const char *const[]){kind->finalizer, NULL});
    return json_of(root);
}

// NULL: none is to go.
static char *clear_body(const struct store_apply *apply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *root = value_make(arena, VALUE_MAP);
    bool is_empty = true;
    put_uid(arena, root, apply->object);
    for (size_t i = 0; i < apply->mark_count; i++) {
        if (apply->marks[i].value)
            continue;
        value_put(arena, root, mark_path(arena, &apply->marks[i]), value_make(arena, VALUE_NULL));
        is_empty = false;
    }
    return is_empty ? NULL : json_of(root);
}

// `tree`: the object as it stands, or NULL when nothing of others is in the way.
static char *finalizer_body(const struct write *write, const struct value *tree)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *root = value_make(arena, VALUE_MAP);
    struct value *kept = value_make(arena, VALUE_LIST);
    put_version(arena, root, write->object);
    value_each (item, value_find(value_find(tree, "metadata"), "finalizers"))
        if (!text_is(value_text(item), write->kind->finalizer))
            value_append(kept, value_copy(arena, item));
    value_put(arena, root, "metadata.finalizers",
              value_count(kept) ? kept : value_make(arena, VALUE_NULL));
    return json_of(root);
}

// What is wanted, with the conditions of others in their places.
static struct value *beside_others(struct arena *arena, const struct kind *kind,
                                   const struct value *tree, const struct value *wanted)
{
    struct value *patch = value_make(arena, VALUE_MAP);
    struct value *result = status_patched(arena, kind, value_find(tree, "status"), wanted);
    value_each (item, wanted) {
        const struct value *now = value_find_text(result, item->key);
        value_set(patch, item->key, now ? value_copy(arena, now) : value_make(arena, VALUE_NULL));
    }
    return patch;
}

static char *status_body(const struct write *write, const struct value *tree)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *root = value_make(arena, VALUE_MAP);
    struct value *wanted =
        value_read_json(arena, text_of(write->body), &value_manifest_limits, NULL);
    must(wanted != NULL);
    put_version(arena, root, write->object);
    value_put(arena, root, "status",
              tree ? beside_others(arena, write->kind->kind, tree, wanted) : wanted);
    return json_of(root);
}

static struct value *wanted_of(struct arena *arena, const struct write *write)
{
    struct value *wanted =
        value_read_json(arena, text_of(write->body), &value_manifest_limits, NULL);
    must(wanted != NULL);
    return wanted;
}

// Of the very state `tree`, so that nothing that came in between is taken over.
static char *put_body(const struct write *write, const struct value *tree)
{
    static const char *const guards[] = {"metadata.uid", "metadata.resourceVersion"};
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *wanted = wanted_of(arena, write);
    for (size_t i = 0; i < COUNT_OF(guards); i++)
        value_put(arena, wanted, guards[i], value_make_text(arena, value_text_at(tree, guards[i])));
    if (write->kept)
        put_keep(arena, wanted,
                 value_read_json(arena, text_of(write->kept), &value_manifest_limits, NULL), tree);
    return json_of(wanted);
}

// Whose it is, and nothing else: what is applied later is ours by that alone, and can go again.
static char *make_body(const struct write *write)
{
    static const char *const heads[] = {"apiVersion", "kind", "metadata.name", "metadata.namespace",
                                        "metadata.ownerReferences"};
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *wanted = wanted_of(arena, write);
    struct value *bare = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        const struct value *head = value_at(wanted, heads[i], NULL);
        if (head)
            value_put(arena, bare, heads[i], value_copy(arena, head));
    }
    return json_of(bare);
}

// ---- talking ------------------------------------------------------------------------------------

static void replied(void *context, const struct api_reply *reply);

static void add_path(struct buffer *out, const struct cluster *cluster, const struct object *object)
{
    api_version_path(out, object->kind, versions_find(&cluster->memory.versions, object->kind),
                     object_namespace(object), object_name(object), NULL);
}

static void send_read(struct write *write)
{
    AUTO_BUFFER path = {0};
    if (write->object)
        add_path(&path, write->cluster, write->object);
    else
        buffer_add(&path, write->path, strcspn(write->path, "?"));
    write->call = api_send(write->cluster->api,
                           &(struct api_request){.method = "GET", .path = path.at}, replied, write);
}

static char *body_of(const struct write *write, const struct value *tree)
{
    if (write->type == WRITE_STATUS)
        return status_body(write, tree);
    if (write->type == WRITE_REMOVE_FINALIZER)
        return finalizer_body(write, tree);
    if (write->type == WRITE_PUT)
        return put_body(write, tree);
    return write->body ? mem_copy_text(write->body) : NULL;
}

static void send_write(struct write *write, const struct value *tree)
{
    autofree char *body = body_of(write, tree);
    write->step = STEP_SEND;
    write->call = api_send(write->cluster->api,
                           &(struct api_request){.method = forms[write->type].method,
                                                 .path = write->path,
                                                 .content_type = forms[write->type].content_type,
                                                 .body = text_of(body)},
                           replied, write);
}

static void send_make(struct write *write)
{
    autofree char *body = make_body(write);
    write->step = STEP_MAKE;
    write->call = api_send(write->cluster->api,
                           &(struct api_request){.method = forms[WRITE_CREATE].method,
                                                 .path = write->collection,
                                                 .content_type = forms[WRITE_CREATE].content_type,
                                                 .body = text_of(body)},
                           replied, write);
}

static void send_clear(struct write *write)
{
    AUTO_BUFFER path = {0};
    add_path(&path, write->cluster, write->object);
    buffer_add_text(&path, forms[WRITE_REMOVE_FINALIZER].query);
    write->step = STEP_CLEAR;
    write->call =
        api_send(write->cluster->api,
                 &(struct api_request){.method = "PATCH",
                                       .path = path.at,
                                       .content_type = forms[WRITE_REMOVE_FINALIZER].content_type,
                                       .body = text_of(write->clear)},
                 replied, write);
}

static void send_step(struct write *write)
{
    if (write->step == STEP_SEND)
        send_write(write, NULL);
    else
        send_read(write);
}

static void send_again(void *context)
{
    struct write *write = context;
    if (write->type == WRITE_GET || cluster_may_write_now(write->cluster))
        send_step(write);
    else
        refuse_standby(write);
}

// ---- replies ------------------------------------------------------------------------------------

// The cached state of the very object; NULL: it went, or another has its name.
static const struct object *cached(const struct write *write)
{
    const struct object *now =
        cache_find(write->cluster->store.cache, write->kind->kind, object_namespace(write->object),
                   object_name(write->object));
    return now && !memcmp(now->uid, write->object->uid, sizeof now->uid) ? now : NULL;
}

// The state that came back is filed, unless the stream told a newer one.
static void file_reply(struct write *write, const struct value *tree, bool is_silent)
{
    if (cached(write) && !feed_has_told(write->cluster, write->kind, tree))
        file_object(write->cluster, write->kind, tree,
                    &(struct filing){.is_reply = true, .is_silent = is_silent});
}

static bool has_any(const struct value *there, const struct value *marks)
{
    value_each (item, marks)
        if (value_find_text(there, item->key))
            return true;
    return false;
}

// A label or annotation that is to go, and that somebody else wrote, too.
static bool has_leftover(const struct write *write, const struct value *tree)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!write->clear || write->step == STEP_CLEAR)
        return false;
    const struct value *clear =
        value_read_json(arena, text_of(write->clear), &value_manifest_limits, NULL);
    return has_any(value_at(tree, "metadata.labels", NULL),
                   value_at(clear, "metadata.labels", NULL)) ||
           has_any(value_at(tree, "metadata.annotations", NULL),
                   value_at(clear, "metadata.annotations", NULL));
}

static void answer_page(struct write *write, const struct value *tree)
{
    AUTO_BUFFER version = {0};
    struct text text = value_text_at(tree, "metadata.resourceVersion");
    buffer_add(&version, text.at, text.len);
    answer(write, &(struct store_reply){.is_ok = true, .version = version.at});
}

static void succeed(struct write *write, const struct value *tree)
{
    struct store_reply reply = {.is_ok = true, .tree = tree};
    if (write->type == WRITE_GET) {
        answer(write, &reply);
        return;
    }
    if (has_leftover(write, tree)) {
        send_clear(write);
        return;
    }
    grow_window(write->cluster);
    if (is_of_page(write->type)) {
        answer_page(write, tree);
        return;
    }
    if (is_told_by_watch(write)) {
        answer(write, &(struct store_reply){.is_ok = true});
        return;
    }
    file_reply(write, tree, true);
    const struct object *now = cached(write);
    reply.object = now ? object_ref(now) : NULL;
    answer(write, &reply);
    object_unref(reply.object);
}

static bool wait_and_try(struct write *write, const struct error *error)
{
    struct cluster *cluster = write->cluster;
    int64_t wait_ms = error->retry_ms ? error->retry_ms : LIMIT_MS;
    if (error->fault != FAULT_LIMIT || ++write->tries >= TRIES_MAX)
        return false;
    shrink_window(&cluster->writes);
    write->step = write->first_step;
    wait_ms = wait_ms > LIMIT_MAX_MS ? LIMIT_MAX_MS : wait_ms;
    wait_ms += (int64_t)random_below(cluster->world.random, (uint64_t)wait_ms / 4 + 1);
    write->timer =
        (struct loop_timer){.call = send_again, .context = write, .handle = write->timer.handle};
    loop_timer_set(cluster->world.loop, &write->timer, wait_ms);
    return true;
}

// Whether it took effect is seen by reading; the asker decides afresh from that. What we make is
// simply made again.
static bool read_back(struct write *write, const struct api_reply *reply)
{
    if (!reply->is_fate_unknown || write->step == STEP_READ || !write->object)
        return false;
    write->error = mem_copy(&reply->error, sizeof reply->error);
    write->step = STEP_READ_BACK;
    send_read(write);
    return true;
}

static void was_read_back(struct write *write, const struct value *tree)
{
    struct cluster *cluster = write->cluster;
    if (tree) {
        file_reply(write, tree, false);
        cluster->sink.batch_end(cluster->sink.context);
    }
    fail(write, write->error);
}

static bool is_ours(const struct write *write, const struct value *tree, struct error *error)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *wanted = wanted_of(arena, write);
    const struct store_mark grant = {.key = write->grant_key, .value = write->grant_value};
    const struct store_put put = {
        .key = {write->put_kind, value_text_at(wanted, "metadata.namespace"),
                value_text_at(wanted, "metadata.name")},
        .tree = wanted,
        .grant = write->grant_key ? &grant : NULL,
    };
    return put_is_ours(&put, tree) || put_refuse(&put, error);
}

// Others wrote there: the body is made beside that, if it still is the state that was seen.
static void was_read(struct write *write, const struct value *tree)
{
    struct error error = {0};
    if (write->type == WRITE_PUT && !is_ours(write, tree, &error)) {
        free(steal(write->name)); // the text begins with it
        fail(write, &error);
        return;
    }
    struct text version = value_text_at(value_find(tree, "metadata"), "resourceVersion");
    if (write->object && !text_equal(version, object_version(write->object))) {
        error_set(&error, FAULT_RACE, "Conflict",
                  "the object has been modified; decide again from its latest version");
        error.status = 409;
        fail(write, &error);
        return;
    }
    send_write(write, tree);
}

static void unreadable(struct write *write)
{
    struct error error;
    error_set(&error, FAULT_AGAIN, "ServerError", "the reply of the API server is not JSON");
    fail(write, &error);
}

static bool is_dropped(const struct write *write, const struct api_reply *reply)
{
    bool is_drop = write->type == WRITE_DROP || write->type == WRITE_PAGE_DROP;
    return is_drop && write->step == STEP_SEND && !reply->is_ok && reply->error.status == 404;
}

// What is to be made is not there.
static bool is_absent(const struct write *write, const struct api_reply *reply)
{
    return write->type == WRITE_PUT && write->step == STEP_READ && !reply->is_ok &&
           reply->error.status == 404;
}

static void replied(void *context, const struct api_reply *reply)
{
    struct write *write = context;
    CLEANUP(arena) struct arena *arena = arena_new();
    write->call = NULL;
    const struct value *tree =
        reply->is_ok ? value_read_json(arena, reply->body, &value_manifest_limits, NULL) : NULL;
    if (write->step == STEP_READ_BACK)
        was_read_back(write, tree);
    else if (is_absent(write, reply))
        send_make(write);
    else if (is_dropped(write, reply))
        succeed(write, NULL);
    else if (!reply->is_ok && (wait_and_try(write, &reply->error) || read_back(write, reply)))
        return;
    else if (!reply->is_ok)
        fail(write, &reply->error);
    else if (!tree)
        unreadable(write);
    else if (write->step == STEP_READ)
        was_read(write, tree);
    else if (write->step == STEP_MAKE)
        send_write(write, tree);
    else
        succeed(write, tree);
}

// ---- the operations -----------------------------------------------------------------------------

static struct write *write_new(struct cluster *cluster, enum write_type type,
                               const struct object_ref_key *key, store_done *done, void *context)
{
    struct buffer path = {0};
    struct write *write = mem_new_of(struct write);
    *write = (struct write){.cluster = cluster,
                            .type = type,
                            .rank = forms[type].rank,
                            .first_step = STEP_SEND,
                            .step = STEP_SEND,
                            .kind = cluster_type(cluster, key->kind),
                            .done = done,
                            .context = context};
    must(write->kind || type == WRITE_PUT || is_of_page(type));
    bool is_new = type == WRITE_CREATE || type == WRITE_PAGE_CREATE;
    api_version_path(&path, key->kind, versions_find(&cluster->memory.versions, key->kind),
                     key->namespace_, is_new ? TEXT("") : key->name, forms[type].subresource);
    buffer_add_text(&path, forms[type].query);
    write->path = buffer_steal(&path);
    return write;
}

static struct write *write_to(struct cluster *cluster, enum write_type type,
                              const struct object *object, store_done *done, void *context)
{
    const struct object_ref_key key = {object->kind, object_namespace(object), object_name(object)};
    struct write *write = write_new(cluster, type, &key, done, context);
    write->object = object_ref(object);
    return write;
}

void writes_apply(struct cluster *cluster, const struct store_apply *apply, store_done *done,
                  void *context)
{
    struct write *write = write_to(cluster, WRITE_APPLY, apply->object, done, context);
    write->body = apply_body(write, apply);
    write->clear = clear_body(apply);
    enqueue(write);
}

void writes_patch_status(struct cluster *cluster, const struct object *object,
                         const struct value *status, store_done *done, void *context)
{
    struct write *write = write_to(cluster, WRITE_STATUS, object, done, context);
    write->rank = object->kind->is_status_ahead ? RANK_URGENT : write->rank;
    write->body = json_of(status);
    write->first_step = write->step = object->has_foreign_status ? STEP_READ : STEP_SEND;
    enqueue(write);
}

void writes_remove_finalizer(struct cluster *cluster, const struct object *object, store_done *done,
                             void *context)
{
    struct write *write = write_to(cluster, WRITE_REMOVE_FINALIZER, object, done, context);
    write->first_step = write->step = object->has_other_finalizers ? STEP_READ : STEP_SEND;
    enqueue(write);
}

static char *name_of(const struct object_ref_key *key)
{
    struct buffer name = {0};
    buffer_printf(&name, "%s %.*s%s%.*s", key->kind->name, TEXT_ARGS(key->namespace_),
                  key->namespace_.len ? "/" : "", TEXT_ARGS(key->name));
    return buffer_steal(&name);
}

static char *collection_of(const struct object_ref_key *key)
{
    struct buffer path = {0};
    api_path(&path, key->kind, key->namespace_, TEXT(""), NULL);
    buffer_add_text(&path, forms[WRITE_CREATE].query);
    return buffer_steal(&path);
}

void writes_put(struct cluster *cluster, const struct store_put *put, store_done *done,
                void *context)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct write *write = write_new(cluster, WRITE_PUT, &put->key, done, context);
    write->name = name_of(&put->key);
    write->put_kind = put->key.kind;
    write->body = json_of(put_tree(arena, &put->key, put->tree));
    write->kept = value_count(put->kept) ? json_of(put->kept) : NULL;
    write->collection = collection_of(&put->key);
    if (put->grant) {
        write->grant_key = mem_copy_text(put->grant->key);
        write->grant_value = mem_copy_text(put->grant->value);
    }
    write->first_step = write->step = STEP_READ;
    enqueue(write);
}

static void create_child(struct cluster *cluster, const struct store_child *child, store_done *done,
                         void *context)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct write *write = write_new(cluster, WRITE_CREATE, &child->key, done, context);
    write->name = name_of(&child->key);
    write->body = json_of(put_tree(arena, &child->key, child->tree));
    enqueue(write);
}

void writes_put_child(struct cluster *cluster, const struct store_child *child, store_done *done,
                      void *context)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!child->seen) {
        create_child(cluster, child, done, context);
        return;
    }
    struct write *write = write_to(cluster, WRITE_CHANGE, child->seen, done, context);
    struct value *root = value_copy(arena, child->tree);
    put_version(arena, root, child->seen);
    write->body = json_of(root);
    enqueue(write);
}

static struct value *make_delete_options(struct arena *arena)
{
    struct value *options = value_make(arena, VALUE_MAP);
    value_put_text(arena, options, "apiVersion", "v1");
    value_put_text(arena, options, "kind", "DeleteOptions");
    return options;
}

void writes_drop_child(struct cluster *cluster, const struct object *seen, store_done *done,
                       void *context)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    char uid[37];
    struct write *write = write_to(cluster, WRITE_DROP, seen, done, context);
    struct value *options = make_delete_options(arena);
    object_write_uid(seen, uid);
    value_put_text(arena, options, "preconditions.uid", arena_copy_text(arena, uid));
    value_put(arena, options, "preconditions.resourceVersion",
              value_make_text(arena, object_version(seen)));
    value_put_text(arena, options, "propagationPolicy", "Background");
    write->body = json_of(options);
    enqueue(write);
}

static struct write *write_to_page(struct cluster *cluster, enum write_type type, const char *name,
                                   store_done *done, void *context)
{
    const struct object_ref_key key = {&page_kind, text_of(cluster->own_namespace), text_of(name)};
    struct write *write = write_new(cluster, type, &key, done, context);
    write->name = name_of(&key);
    return write;
}

void writes_put_page(struct cluster *cluster, const struct store_page_put *put, store_done *done,
                     void *context)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    enum write_type type = put->version ? WRITE_PAGE_CHANGE : WRITE_PAGE_CREATE;
    struct write *write = write_to_page(cluster, type, put->name, done, context);
    write->body = json_of(page_body(arena, cluster->own_namespace, put));
    enqueue(write);
}

void writes_drop_page(struct cluster *cluster, const char *name, const char *version,
                      store_done *done, void *context)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *options = make_delete_options(arena);
    struct write *write = write_to_page(cluster, WRITE_PAGE_DROP, name, done, context);
    value_put_text(arena, options, "preconditions.resourceVersion", version);
    write->body = json_of(options);
    enqueue(write);
}

void writes_get(struct cluster *cluster, const struct object_ref_key *key, store_done *done,
                void *context)
{
    enqueue(write_new(cluster, WRITE_GET, key, done, context));
}

// Those that write, out of their list.
static struct write *take_in_flight(struct writes *writes)
{
    struct write *taken = NULL;
    for (struct write *write = writes->in_flight, *next; write; write = next) {
        next = write->next;
        if (write->type == WRITE_GET)
            continue;
        unlink_in_flight(write);
        write->next = taken;
        taken = write;
    }
    return taken;
}

void writes_fence(struct cluster *cluster)
{
    for (struct write *write = take_in_flight(&cluster->writes), *next; write; write = next) {
        struct store_reply reply = {0};
        next = write->next;
        if (write->call)
            api_cancel(cluster->api, write->call);
        standby_error(&reply.error);
        name_object(write, &reply.error);
        deliver(write, &reply);
    }
    pump(cluster);
}

void writes_done(struct cluster *cluster)
{
    struct writes *writes = &cluster->writes;
    while (next_waiting(writes))
        write_free(take_waiting(writes));
    for (struct write *write = writes->in_flight, *next; write; write = next) {
        next = write->next;
        if (write->call)
            api_cancel(cluster->api, write->call);
        write_free(write);
    }
    writes->in_flight = NULL;
    writes->in_flight_count = 0;
    loop_timer_cancel(cluster->world.loop, &writes->timer);
}
