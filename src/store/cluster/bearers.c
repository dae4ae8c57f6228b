#include "store/cluster/bearers.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/value.h"

enum {
    ENTRIES_MAX = 64,
    ASKING_MAX = 8,
    HASH_OCTETS = 32,
    TOKEN_OCTETS_MAX = 8192,
    BODY_OCTETS_MAX = 6 * TOKEN_OCTETS_MAX + 256,
    GOOD_MS = 60 * 1000,
    CALL_MS = 10 * 1000,
};

static const char *const create[] = {"create", NULL};
const struct kube_right bearers_rights[] = {
    {.group = "authentication.k8s.io",
     .resource = "tokenreviews",
     .verbs = create,
     .scope = RIGHT_CLUSTER,
     .why = "With --metrics-secure: who asks for /metrics."},
    {.group = "authorization.k8s.io",
     .resource = "subjectaccessreviews",
     .verbs = create,
     .scope = RIGHT_CLUSTER,
     .why = "With --metrics-secure: whether they may."},
    {0},
};

struct waiter {
    bearer_judged *judged;
    void *asker;
    struct waiter *next;
};

// What is known of one token; a call is under way while `call` is set.
struct entry {
    struct bearers *bearers;
    uint8_t hash[HASH_OCTETS];
    enum bearer_verdict verdict;
    int64_t until_ms; // 0: nothing is known
    struct api_call *call;
    struct waiter *waiters;
};

struct bearers {
    struct loop *loop;
    struct api *api;
    char *path;
    struct entry entries[ENTRIES_MAX];
};

// ---- entries ------------------------------------------------------------------------------------

static struct entry *find(struct bearers *bearers, const uint8_t hash[HASH_OCTETS])
{
    for (size_t i = 0; i < ENTRIES_MAX; i++) {
        struct entry *entry = &bearers->entries[i];
        if ((entry->call || entry->until_ms) && !memcmp(entry->hash, hash, HASH_OCTETS))
            return entry;
    }
    return NULL;
}

// The one that ends first makes room; NULL while too many are asked about.
static struct entry *make(struct bearers *bearers, const uint8_t hash[HASH_OCTETS])
{
    struct entry *found = NULL;
    size_t asking = 0;
    for (size_t i = 0; i < ENTRIES_MAX; i++) {
        struct entry *entry = &bearers->entries[i];
        if (entry->call)
            asking++;
        else if (!found || entry->until_ms < found->until_ms)
            found = entry;
    }
    if (asking >= ASKING_MAX || !found)
        return NULL;
    *found = (struct entry){.bearers = bearers};
    memcpy(found->hash, hash, HASH_OCTETS);
    return found;
}

static void settle(struct entry *entry, enum bearer_verdict verdict)
{
    bool is_known = verdict != BEARER_UNSURE;
    entry->verdict = verdict;
    entry->until_ms = is_known ? loop_mono_ms(entry->bearers->loop) + GOOD_MS : 0;
    struct waiter *waiter = entry->waiters;
    entry->waiters = NULL;
    while (waiter) {
        struct waiter *next = waiter->next;
        waiter->judged(waiter->asker, verdict);
        free(waiter);
        waiter = next;
    }
}

// ---- may they? ----------------------------------------------------------------------------------

static const struct value *read_status(struct arena *arena, const struct api_reply *reply)
{
    const struct value *tree = value_read_json(arena, reply->body, &value_reply_limits, NULL);
    return value_find(tree, "status");
}

static bool is_true(const struct value *map, const char *key)
{
    const struct value *found = value_find(map, key);
    return found && found->type == VALUE_BOOL && found->boolean;
}

static void hear_access(void *context, const struct api_reply *reply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct entry *entry = context;
    entry->call = NULL;
    if (!reply->is_ok)
        settle(entry, BEARER_UNSURE);
    else if (is_true(read_status(arena, reply), "allowed"))
        settle(entry, BEARER_ALLOWED);
    else
        settle(entry, BEARER_FORBIDDEN);
}

// All that the server said of the user goes back to it as it came.
static void write_user(struct buffer *out, const struct value *user)
{
    static const struct {
        const char *from;
        const char *to;
    } rows[] = {{"username", "user"}, {"uid", "uid"}, {"groups", "groups"}, {"extra", "extra"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct value *found = value_find(user, rows[i].from);
        if (!found)
            continue;
        buffer_printf(out, "\"%s\":", rows[i].to);
        value_write_json(out, found);
        buffer_add_char(out, ',');
    }
}

static void send(struct entry *entry, const char *path, const struct buffer *body, api_done *done)
{
    const struct api_request request = {
        .method = "POST", .path = path, .body = buffer_text(body), .timeout_ms = CALL_MS};
    entry->call = api_send(entry->bearers->api, &request, done, entry);
}

static void ask_access(struct entry *entry, const struct value *user)
{
    AUTO_BUFFER body = {0};
    buffer_add_text(&body, "{\"apiVersion\":\"authorization.k8s.io/v1\","
                           "\"kind\":\"SubjectAccessReview\",\"spec\":{");
    write_user(&body, user);
    buffer_add_text(&body, "\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":");
    value_write_json_text(&body, text_of(entry->bearers->path));
    buffer_add_text(&body, "}}}");
    send(entry, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &body, hear_access);
}

// ---- who is it? ---------------------------------------------------------------------------------

static void hear_token(void *context, const struct api_reply *reply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct entry *entry = context;
    entry->call = NULL;
    const struct value *status = reply->is_ok ? read_status(arena, reply) : NULL;
    if (!status)
        settle(entry, BEARER_UNSURE);
    else if (is_true(status, "authenticated"))
        ask_access(entry, value_find(status, "user"));
    else
        settle(entry, BEARER_UNKNOWN);
}

static void ask_token(struct entry *entry, struct text token)
{
    AUTO_BUFFER body = {0};
    buffer_reserve(&body, BODY_OCTETS_MAX); // it never moves, so that no copy is left behind
    buffer_add_text(&body, "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\","
                           "\"spec\":{\"token\":");
    value_write_json_text(&body, token);
    buffer_add_text(&body, "}}");
    send(entry, "/apis/authentication.k8s.io/v1/tokenreviews", &body, hear_token);
    secret_wipe(body.at, body.len);
}

// ---- public -------------------------------------------------------------------------------------

struct bearers *bearers_new(const struct world *world, struct api *api, const char *path)
{
    struct bearers *bearers = mem_new_of(struct bearers);
    bearers->loop = world->loop;
    bearers->api = api;
    bearers->path = mem_copy_text(path);
    return bearers;
}

void bearers_free(struct bearers *bearers)
{
    if (!bearers)
        return;
    for (size_t i = 0; i < ENTRIES_MAX; i++) {
        struct entry *entry = &bearers->entries[i];
        if (entry->call)
            api_cancel(bearers->api, entry->call);
        for (struct waiter *next; entry->waiters; entry->waiters = next) {
            next = entry->waiters->next;
            free(entry->waiters);
        }
    }
    free(bearers->path);
    free(bearers);
}

static void wait_for(struct entry *entry, bearer_judged *judged, void *asker)
{
    struct waiter *waiter = mem_new_of(struct waiter);
    *waiter = (struct waiter){.judged = judged, .asker = asker, .next = entry->waiters};
    entry->waiters = waiter;
}

void bearers_ask(struct bearers *bearers, struct text token, bearer_judged *judged, void *asker)
{
    uint8_t hash[HASH_OCTETS];
    if (!token.len || token.len > TOKEN_OCTETS_MAX) {
        judged(asker, BEARER_UNKNOWN);
        return;
    }
    digest_of(DIGEST_SHA256, token, hash);
    struct entry *entry = find(bearers, hash);
    if (entry && !entry->call && loop_mono_ms(bearers->loop) < entry->until_ms) {
        judged(asker, entry->verdict);
        return;
    }
    bool is_asked = entry && entry->call;
    if (entry && !is_asked)
        entry->until_ms = 0;
    if (!is_asked)
        entry = make(bearers, hash);
    if (!entry) {
        judged(asker, BEARER_UNSURE);
        return;
    }
    wait_for(entry, judged, asker);
    if (!is_asked)
        ask_token(entry, token);
}

void bearers_forget(struct bearers *bearers, const void *asker)
{
    for (size_t i = 0; i < ENTRIES_MAX; i++)
        for (struct waiter **at = &bearers->entries[i].waiters; *at; at = &(*at)->next)
            if ((*at)->asker == asker) {
                struct waiter *gone = *at;
                *at = gone->next;
                free(gone);
                return;
            }
}
