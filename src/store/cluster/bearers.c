#include "store/cluster/bearers.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/secret.h"
#include "base/value.h"
#include "io/dns_rate.h"
#include "io/random.h"

enum {
    ENTRIES_MAX = 64,
    KNOWN_MAX = 32,    // of them; the rest is for strangers
    ASKING_MAX = 8,    // strangers' tokens
    ASKING_OF_ONE = 2, // of one source
    ASKED_A_SECOND = 2,
    ASKED_AT_ONCE = 8,
    HASH_OCTETS = 32,
    TOKEN_OCTETS_MAX = 8192,
    BODY_OCTETS_MAX = 6 * TOKEN_OCTETS_MAX + 256,
    GOOD_MS = 60 * 1000,
    GOOD_OF_OBJECT_MS = 10 * 1000,
    TOKENS_MAX = 32,
    CALL_MS = 10 * 1000,
};

static const char *const create[] = {"create", NULL};
const struct kube_right bearers_rights[] = {
    {.group = "authentication.k8s.io",
     .resource = "tokenreviews",
     .verbs = create,
     .scope = RIGHT_CLUSTER,
     .why = "With --metrics-secure or the intent controller's REST API: who asks."},
    {.group = "authorization.k8s.io",
     .resource = "subjectaccessreviews",
     .verbs = create,
     .scope = RIGHT_CLUSTER,
     .why = "With --metrics-secure or the intent controller's REST API: whether they may."},
    {0},
};

struct waiter {
    struct link link;
    bearer_judged *judged;
    void *asker;
};

// What is known of one token and what it is to do; a call is under way while `call` is set. One
// that was allowed stays known until it is refused or KNOWN_MAX others were heard of since.
struct entry {
    struct bearers *bearers;
    uint8_t hash[HASH_OCTETS];
    uint8_t source[16]; // of who brought it first
    bool is_known;
    int64_t allowed_ms; // when it was last
    enum bearer_result result;
    int64_t until_ms; // 0: nothing is known
    struct api_call *call;
    uint8_t token[HASH_OCTETS]; // of the token alone
    char *access;               // resourceAttributes, as JSON; NULL: to get the path
    LIST_OF(struct waiter) waiters;
};

// A token of which the API server said who it is.
struct known_token {
    uint8_t hash[HASH_OCTETS];
    int64_t until_ms;
};

struct bearers {
    struct loop *loop;
    struct api *api;
    char *path;
    struct dns_rate rate; // of strangers' tokens
    struct entry entries[ENTRIES_MAX];
    struct known_token tokens[TOKENS_MAX];
};

// ---- tokens -------------------------------------------------------------------------------------

static bool is_token_known(const struct bearers *bearers, const uint8_t hash[HASH_OCTETS])
{
    int64_t now_ms = loop_mono_ms(bearers->loop);
    for (size_t i = 0; i < TOKENS_MAX; i++)
        if (now_ms < bearers->tokens[i].until_ms &&
            !memcmp(bearers->tokens[i].hash, hash, HASH_OCTETS))
            return true;
    return false;
}

// In place of itself, or of the one that ends first.
static void know_token(struct bearers *bearers, const uint8_t hash[HASH_OCTETS])
{
    struct known_token *place = &bearers->tokens[0];
    for (size_t i = 0; i < TOKENS_MAX; i++) {
        struct known_token *token = &bearers->tokens[i];
        bool is_it = !memcmp(token->hash, hash, HASH_OCTETS);
        if (is_it || token->until_ms < place->until_ms)
            place = token;
        if (is_it)
            break;
    }
    memcpy(place->hash, hash, HASH_OCTETS);
    place->until_ms = loop_mono_ms(bearers->loop) + GOOD_MS;
}

// ---- entries ------------------------------------------------------------------------------------

static bool is_used(const struct entry *entry)
{
    return entry->call || entry->until_ms || entry->is_known;
}

static struct entry *find(struct bearers *bearers, const uint8_t hash[HASH_OCTETS])
{
    for (size_t i = 0; i < ENTRIES_MAX; i++) {
        struct entry *entry = &bearers->entries[i];
        if (is_used(entry) && !memcmp(entry->hash, hash, HASH_OCTETS))
            return entry;
    }
    return NULL;
}

static bool may_ask(struct bearers *bearers, const uint8_t source[16])
{
    size_t asking = 0;
    size_t of_one = 0;
    for (size_t i = 0; i < ENTRIES_MAX; i++) {
        const struct entry *entry = &bearers->entries[i];
        bool is_strange = entry->call && !entry->is_known && !is_token_known(bearers, entry->token);
        asking += is_strange;
        of_one += is_strange && !memcmp(entry->source, source, sizeof entry->source);
    }
    return asking < ASKING_MAX && of_one < ASKING_OF_ONE &&
           dns_rate_take(&bearers->rate, source, loop_mono_ms(bearers->loop));
}

// Of the strangers' the one that ends first makes room; NULL while too many are asked about.
static struct entry *make(struct bearers *bearers, const uint8_t hash[HASH_OCTETS],
                          const uint8_t token[HASH_OCTETS], const uint8_t source[16])
{
    struct entry *found = NULL;
    if (!is_token_known(bearers, token) && !may_ask(bearers, source))
        return NULL;
    for (size_t i = 0; i < ENTRIES_MAX; i++) {
        struct entry *entry = &bearers->entries[i];
        // A waiter that is being answered may ask again, and must not take the place of the others.
        bool is_busy = entry->call || entry->is_known || !list_is_empty(&entry->waiters);
        if (!is_busy && (!found || entry->until_ms < found->until_ms))
            found = entry;
    }
    if (!found)
        return NULL;
    free(found->access);
    *found = (struct entry){.bearers = bearers};
    memcpy(found->token, token, HASH_OCTETS);
    memcpy(found->hash, hash, HASH_OCTETS);
    memcpy(found->source, source, sizeof found->source);
    return found;
}

static void forget_oldest(struct bearers *bearers)
{
    struct entry *oldest = NULL;
    size_t count = 0;
    for (size_t i = 0; i < ENTRIES_MAX; i++) {
        struct entry *entry = &bearers->entries[i];
        count += entry->is_known;
        if (entry->is_known && (!oldest || entry->allowed_ms < oldest->allowed_ms))
            oldest = entry;
    }
    if (count > KNOWN_MAX)
        oldest->is_known = false;
}

static void know(struct entry *entry, enum bearer_result result)
{
    entry->is_known = result == BEARER_ALLOWED || (entry->is_known && result == BEARER_UNSURE);
    if (result != BEARER_ALLOWED)
        return;
    entry->allowed_ms = loop_mono_ms(entry->bearers->loop);
    forget_oldest(entry->bearers);
}

static void settle(struct entry *entry, enum bearer_result result)
{
    bool is_sure = result != BEARER_UNSURE;
    entry->result = result;
    know(entry, result);
    int64_t good_ms = entry->access ? GOOD_OF_OBJECT_MS : GOOD_MS;
    entry->until_ms = is_sure ? loop_mono_ms(entry->bearers->loop) + good_ms : 0;
    for (struct waiter *waiter; (waiter = list_take_first(&entry->waiters));) {
        waiter->judged(waiter->asker, result);
        free(waiter);
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

static void handle_access(void *context, const struct api_reply *reply)
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
    if (entry->access) {
        buffer_printf(&body, "\"resourceAttributes\":%s}}", entry->access);
    } else {
        buffer_add_text(&body, "\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":");
        value_write_json_text(&body, text_of(entry->bearers->path));
        buffer_add_text(&body, "}}}");
    }
    send(entry, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &body, handle_access);
}

// ---- who is it? ---------------------------------------------------------------------------------

static void handle_token(void *context, const struct api_reply *reply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct entry *entry = context;
    entry->call = NULL;
    const struct value *status = reply->is_ok ? read_status(arena, reply) : NULL;
    if (!status)
        settle(entry, BEARER_UNSURE);
    else if (is_true(status, "authenticated")) {
        know_token(entry->bearers, entry->token);
        ask_access(entry, value_find(status, "user"));
    } else
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
    send(entry, "/apis/authentication.k8s.io/v1/tokenreviews", &body, handle_token);
    secret_wipe(body.at, body.len);
}

// ---- public -------------------------------------------------------------------------------------

struct bearers *bearers_new(const struct world *world, struct api *api, const char *path)
{
    struct bearers *bearers = mem_new_of(struct bearers);
    bearers->loop = world->loop;
    bearers->api = api;
    bearers->path = path ? mem_copy_text(path) : NULL;
    bearers->rate.limit = (struct dns_rate_limit){.per_s = ASKED_A_SECOND, .burst = ASKED_AT_ONCE};
    random_fill(world->random, &bearers->rate.seed, sizeof bearers->rate.seed);
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
        list_each (waiter, &entry->waiters)
            free(waiter);
        free(entry->access);
    }
    free(bearers->path);
    free(bearers);
}

static void write_access(struct buffer *out, const struct bearer_access *access)
{
    const struct {
        const char *key;
        struct text text;
    } rows[] = {{"verb", text_of(access->verb)},
                {"group", text_of(access->group)},
                {"resource", text_of(access->resource)},
                {"namespace", access->namespace_},
                {"name", access->name}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        buffer_printf(out, "%s\"%s\":", i ? "," : "{", rows[i].key);
        value_write_json_text(out, rows[i].text.at ? rows[i].text : TEXT(""));
    }
    buffer_add_char(out, '}');
}

static void hash_pair(const uint8_t token[HASH_OCTETS], const struct buffer *access,
                      uint8_t out[HASH_OCTETS])
{
    struct digest_state *state = digest_begin(DIGEST_SHA256);
    digest_add(state, token, HASH_OCTETS);
    digest_add(state, access->len ? access->at : "", access->len);
    digest_end(state, out);
}

static void wait_for(struct entry *entry, bearer_judged *judged, void *asker)
{
    struct waiter *waiter = mem_new_of(struct waiter);
    *waiter = (struct waiter){.judged = judged, .asker = asker};
    list_prepend(&entry->waiters, waiter);
}

void bearers_ask(struct bearers *bearers, const struct bearer *bearer, bearer_judged *judged,
                 void *asker)
{
    struct text token = bearer->token;
    uint8_t hash[HASH_OCTETS];
    uint8_t of_token[HASH_OCTETS];
    AUTO_BUFFER access = {0};
    if (!token.len || token.len > TOKEN_OCTETS_MAX) {
        judged(asker, BEARER_UNKNOWN);
        return;
    }
    if (bearer->access.verb)
        write_access(&access, &bearer->access);
    digest_of(DIGEST_SHA256, token, of_token);
    hash_pair(of_token, &access, hash);
    struct entry *entry = find(bearers, hash);
    if (entry && !entry->call && loop_mono_ms(bearers->loop) < entry->until_ms) {
        judged(asker, entry->result);
        return;
    }
    bool is_asked = entry && entry->call;
    if (entry && !is_asked)
        entry->until_ms = 0; // what was known of it is over
    if (!is_asked)
        entry = entry && entry->is_known ? entry : make(bearers, hash, of_token, bearer->source);
    if (!entry) {
        judged(asker, BEARER_UNSURE);
        return;
    }
    if (access.len && !entry->access)
        entry->access = buffer_steal(&access);
    wait_for(entry, judged, asker);
    if (!is_asked)
        ask_token(entry, token);
}

void bearers_forget(struct bearers *bearers, const void *asker)
{
    for (size_t i = 0; i < ENTRIES_MAX; i++)
        list_each (waiter, &bearers->entries[i].waiters)
            if (waiter->asker == asker) {
                list_remove(&bearers->entries[i].waiters, waiter);
                free(waiter);
                return;
            }
}
