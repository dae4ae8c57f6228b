#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/must.h"
#include "base/table.h"
#include "base/when.h"
#include "model/model_backend_private.h"
#include "providers/webhook/sign.h"

enum { RULES_MAX = 32, STALE_MS = 5 * 60 * 1000, DELAY_MS = 2 };

struct stored {
    struct webhook_record record;
    char *type;
    char *name;
    char *content;
    bool is_gone;
};

struct names { // octet strings, found again by content
    char **items;
    size_t count;
    size_t capacity;
    struct table by_text;
};

struct model_webhook {
    struct model_host host;
    struct loop *loop;
    char *prefix;
    bool is_stripped;
    struct secret *keys[WEBHOOK_KEYS_MAX];
    size_t key_count;
    bool is_sha512;
    int64_t delay_ms;
    int64_t ahead_ms;
    int health_status;
    char *health_body;
    char *capabilities;
    struct webhook_rule rules[RULES_MAX];
    size_t rule_count;
    struct stored *records;
    size_t record_count;
    size_t record_capacity;
    size_t live_count;
    struct table by_key;
    struct names nonces;
};

// ---- names seen ---------------------------------------------------------------------------------

static bool name_matches(const void *context, uint32_t id, const void *wanted)
{
    return !strcmp(((const struct names *)context)->items[id], wanted);
}

static uint64_t name_hash(const void *context, uint32_t id)
{
    const char *text = ((const struct names *)context)->items[id];
    return hash_octets(text, strlen(text));
}

static const struct table_ops name_ops = {name_matches, name_hash};

// False when it was there already.
static bool names_add(struct names *names, const char *text)
{
    uint64_t hash = hash_octets(text, strlen(text));
    names->by_text.ops = &name_ops;
    names->by_text.context = names;
    if (table_find(&names->by_text, hash, text) != TABLE_NONE)
        return false;
    mem_reserve(&names->items, &names->capacity, names->count + 1);
    names->items[names->count] = mem_copy_text(text);
    table_add(&names->by_text, hash, (uint32_t)names->count++);
    return true;
}

static void names_done(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    table_done(&names->by_text);
}

// ---- records ------------------------------------------------------------------------------------

struct record_key {
    const char *type;
    const char *name;
};

static bool record_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct model_webhook *server = context;
    const struct record_key *key = wanted;
    return !strcmp(server->records[id].type, key->type) &&
           !strcmp(server->records[id].name, key->name);
}

static uint64_t key_hash(const struct record_key *key)
{
    return hash_octets(key->name, strlen(key->name)) ^ hash_octets(key->type, strlen(key->type));
}

static uint64_t record_hash(const void *context, uint32_t id)
{
    const struct model_webhook *server = context;
    const struct record_key key = {server->records[id].type, server->records[id].name};
    return key_hash(&key);
}

static const struct table_ops record_ops = {record_matches, record_hash};

static struct stored *record_find(const struct model_webhook *server, const char *type,
                                  const char *name)
{
    const struct record_key key = {type, name};
    uint32_t id = table_find(&server->by_key, key_hash(&key), &key);
    return id == TABLE_NONE ? NULL : &server->records[id];
}

const struct webhook_record *model_webhook_find(const struct model_webhook *server,
                                                const char *type, const char *name)
{
    const struct stored *found = record_find(server, type, name);
    return found && !found->is_gone ? &found->record : NULL;
}

size_t model_webhook_count(const struct model_webhook *server)
{
    return server->live_count;
}

const struct webhook_record *model_webhook_at(const struct model_webhook *server, size_t at)
{
    for (size_t i = 0; i < server->record_count; i++)
        if (!server->records[i].is_gone && !at--)
            return &server->records[i].record;
    return NULL;
}

void model_webhook_drop(struct model_webhook *server, const char *type, const char *name)
{
    struct stored *found = record_find(server, type, name);
    if (!found || found->is_gone)
        return;
    found->is_gone = true;
    server->live_count--;
}

static bool is_beside_cname(const struct model_webhook *server, const char *type, const char *name)
{
    bool is_cname = !strcmp(type, "CNAME");
    for (int i = 0; i < RECORD_TYPES; i++) {
        const char *other = record_type_name((enum record_type)i);
        if (model_webhook_find(server, other, name) && is_cname != !strcmp(other, "CNAME"))
            return true;
    }
    return false;
}

static void record_put(struct model_webhook *server, const char *type, const char *name,
                       const char *content)
{
    if (is_beside_cname(server, type, name))
        return;
    struct stored *found = record_find(server, type, name);
    if (!found) {
        const struct record_key key = {type, name};
        mem_reserve(&server->records, &server->record_capacity, server->record_count + 1);
        must(server->records);
        found = &server->records[server->record_count];
        *found = (struct stored){
            .type = mem_copy_text(type), .name = mem_copy_text(name), .is_gone = true};
        table_add(&server->by_key, key_hash(&key), (uint32_t)server->record_count++);
    }
    free(found->content);
    found->content = mem_copy_text(content);
    server->live_count += found->is_gone;
    found->is_gone = false;
    found->record = (struct webhook_record){found->type, found->name, text_of(found->content)};
}

void model_webhook_put(struct model_webhook *server, const char *type, const char *name,
                       const char *content)
{
    record_put(server, type, name, content);
}

// ---- the server's answers -----------------------------------------------------------------------

static void answer(struct http_call *call, int status, const char *body)
{
    model_backend_answer(call, status, text_of(body));
}

static void refuse(struct http_call *call, int status, const char *code, const char *message)
{
    char body[512];
    snprintf(body, sizeof body,
             "{\"success\":false,\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}", code, message);
    answer(call, status, body);
}

static bool signature_fits(const struct model_webhook *server, const struct http_request *request,
                           const char *path, const struct secret *secret)
{
    char wanted[SIGNATURE_MAX];
    enum digest algorithm = server->is_sha512 ? DIGEST_SHA512 : DIGEST_SHA256;
    CLEANUP(hmac_key) struct hmac_key *key = hmac_key_new(algorithm, secret);
    const struct sign_input input = {.method = text_of(request->method),
                                     .path = text_of(path),
                                     .timestamp =
                                         text_of(model_backend_header(request, "X-DNS-Timestamp")),
                                     .nonce = text_of(model_backend_header(request, "X-DNS-Nonce")),
                                     .body = request->body};
    sign_request(key, algorithm, &input, wanted);
    return !strcmp(wanted, model_backend_header(request, "X-DNS-Signature"));
}

static bool is_signed_by_any(const struct model_webhook *server, const struct http_request *request,
                             const char *path)
{
    for (size_t i = 0; i < server->key_count; i++)
        if (signature_fits(server, request, path, server->keys[i]))
            return true;
    return false;
}

static bool let_in(struct model_webhook *server, struct http_call *call,
                   const struct http_request *request, const char *path)
{
    int64_t sent_ms;
    int64_t now_ms = loop_unix_ms(server->loop) + server->ahead_ms;
    if (!server->key_count)
        return true;
    if (!is_signed_by_any(server, request, path)) {
        refuse(call, 401, "AUTH_FAILED", "signature does not match");
        return false;
    }
    if (!when_parse(text_of(model_backend_header(request, "X-DNS-Timestamp")), &sent_ms, NULL) ||
        llabs(now_ms - sent_ms) > STALE_MS) {
        refuse(call, 401, "TIMESTAMP_STALE", "time stamp is too far away");
        return false;
    }
    if (!names_add(&server->nonces, model_backend_header(request, "X-DNS-Nonce"))) {
        refuse(call, 401, "NONCE_REUSED", "nonce was used before");
        return false;
    }
    return true;
}

static const char *owner_name(struct arena *arena, struct text domain, struct text subdomain)
{
    if (text_is(subdomain, "@"))
        return arena_printf(arena, "%.*s", TEXT_ARGS(domain));
    return arena_printf(arena, "%.*s.%.*s", TEXT_ARGS(subdomain), TEXT_ARGS(domain));
}

static void do_upsert(struct model_webhook *server, struct http_call *call,
                      const struct http_request *request)
{
    enum record_type type;
    AUTO_BUFFER content = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *tree = value_read_json(arena, request->body, &value_reply_limits, NULL);
    const struct value *record = value_find(tree, "record");
    if (!record || !text_is(value_text_at(tree, "operation"), "upsert") ||
        !record_type_parse(value_text_at(record, "type"), &type)) {
        refuse(call, 400, "INVALID_RECORD", "the body is not an upsert");
        return;
    }
    value_write_json(&content, record);
    record_put(
        server, record_type_name(type),
        owner_name(arena, value_text_at(record, "domain"), value_text_at(record, "subdomain")),
        content.at);
    answer(call, 200, "{\"success\":true}");
}

static bool key_of_path(struct arena *arena, const char *path, struct record_key *out)
{
    struct text rest = text_of(path);
    struct text piece[5];
    for (size_t i = 0; i < COUNT_OF(piece); i++)
        if (!text_cut(&rest, '/', &piece[i]))
            return false;
    if (rest.at || !text_is(piece[1], "records"))
        return false;
    out->type = arena_copy(arena, piece[2].at, piece[2].len);
    out->name = owner_name(arena, piece[3], piece[4]);
    return true;
}

// NULL: refused already.
static const struct webhook_record *find_by_path(struct model_webhook *server,
                                                 struct http_call *call, const char *path)
{
    struct record_key key;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!key_of_path(arena, path, &key)) {
        refuse(call, 404, "RECORD_NOT_FOUND", "no such path");
        return NULL;
    }
    const struct webhook_record *found = model_webhook_find(server, key.type, key.name);
    if (!found)
        refuse(call, 404, "RECORD_NOT_FOUND", "no such record");
    return found;
}

static void do_delete(struct model_webhook *server, struct http_call *call, const char *path)
{
    const struct webhook_record *found = find_by_path(server, call, path);
    if (!found)
        return;
    model_webhook_drop(server, found->type, found->name);
    answer(call, 200, "{\"success\":true}");
}

static void do_get(struct model_webhook *server, struct http_call *call, const char *path)
{
    AUTO_BUFFER body = {0};
    const struct webhook_record *found = find_by_path(server, call, path);
    if (!found)
        return;
    buffer_printf(&body, "{\"success\":true,\"record\":%.*s}", TEXT_ARGS(found->content));
    answer(call, 200, body.at);
}

static void do_health(struct model_webhook *server, struct http_call *call)
{
    char body[1024];
    if (server->health_body) {
        answer(call, server->health_status, server->health_body);
        return;
    }
    snprintf(body, sizeof body, "{\"status\":\"healthy\",\"message\":\"fine\"%s%s}",
             server->capabilities ? ",\"capabilities\":" : "",
             server->capabilities ? server->capabilities : "");
    answer(call, 200, body);
}

static void serve(struct model_webhook *server, struct http_call *call,
                  const struct http_request *request, const char *full_path)
{
    size_t prefix = strlen(server->prefix);
    const char *path = full_path + prefix;
    if (strncmp(full_path, server->prefix, prefix)) {
        refuse(call, 404, "SERVER_ERROR", "no such path");
        return;
    }
    if (!let_in(server, call, request, server->is_stripped ? path : full_path))
        return;
    if (!strcmp(path, "/health"))
        do_health(server, call);
    else if (!strcmp(request->method, "POST") && !strcmp(path, "/records"))
        do_upsert(server, call, request);
    else if (!strcmp(request->method, "DELETE"))
        do_delete(server, call, path);
    else if (!strcmp(request->method, "GET"))
        do_get(server, call, path);
    else
        refuse(call, 404, "SERVER_ERROR", "no such path");
}

// ---- rules --------------------------------------------------------------------------------------

bool model_webhook_is_health(const char *path)
{
    size_t len = strlen(path);
    return len >= 7 && !strcmp(path + len - 7, "/health");
}

static bool rule_fits(const struct webhook_rule *rule, const struct model_request *request)
{
    if (model_webhook_is_health(request->path) && !rule->with_health)
        return false;
    if (rule->method && strcmp(rule->method, request->method))
        return false;
    return !rule->contains || strstr(request->path, rule->contains) ||
           strstr(request->body, rule->contains);
}

static void rule_done(struct webhook_rule *rule)
{
    free((void *)(uintptr_t)rule->method);
    free((void *)(uintptr_t)rule->contains);
    free((void *)(uintptr_t)rule->retry_after);
    free((void *)(uintptr_t)rule->body);
}

static char *copy_or_null(const char *text)
{
    return text ? mem_copy_text(text) : NULL;
}

void model_webhook_add_rule(struct model_webhook *server, const struct webhook_rule *rule)
{
    must(server->rule_count < RULES_MAX);
    struct webhook_rule *copy = &server->rules[server->rule_count++];
    *copy = *rule;
    copy->method = copy_or_null(rule->method);
    copy->contains = copy_or_null(rule->contains);
    copy->retry_after = copy_or_null(rule->retry_after);
    copy->body = copy_or_null(rule->body);
}

void model_webhook_clear_rules(struct model_webhook *server)
{
    for (size_t i = 0; i < server->rule_count; i++)
        rule_done(&server->rules[i]);
    server->rule_count = 0;
}

static void rule_spend(struct model_webhook *server, size_t at)
{
    struct webhook_rule *rule = &server->rules[at];
    if (!rule->times || --rule->times)
        return;
    rule_done(rule);
    memmove(rule, rule + 1, (server->rule_count - at - 1) * sizeof *rule);
    server->rule_count--;
}

static void rule_answer(struct http_call *call, const struct webhook_rule *rule)
{
    answer(call, rule->status, rule->body ? rule->body : "");
    if (rule->retry_after)
        model_backend_add_header(call, "Retry-After", rule->retry_after);
}

static void rule_apply(struct model_webhook *server, struct http_call *call,
                       const struct http_request *request, const char *path,
                       const struct webhook_rule *rule)
{
    switch (rule->behaviour) {
    case WEBHOOK_DOWN:
        model_backend_break(call, HTTP_UNREACHABLE, "cannot connect: connection refused");
        return;
    case WEBHOOK_TIMEOUT:
        model_backend_break(call, HTTP_TIMEOUT, "no answer in time");
        return;
    case WEBHOOK_ANSWERS:
        rule_answer(call, rule);
        return;
    case WEBHOOK_ACTS_LOST:
        serve(server, call, request, path);
        model_backend_break(call, HTTP_UNREACHABLE, "the connection broke");
        return;
    case WEBHOOK_ACTS:
        serve(server, call, request, path);
        rule_answer(call, rule);
        return;
    }
}

static void webhook_serve(struct model_host *host, struct http_call *call,
                          const struct http_request *request, const struct model_request *kept)
{
    struct model_webhook *server = model_host_webhook(host);
    call->delay_ms = server->delay_ms;
    call->ahead_ms = server->ahead_ms;
    for (size_t i = 0; i < server->rule_count; i++) {
        if (!rule_fits(&server->rules[i], kept))
            continue;
        rule_apply(server, call, request, kept->path, &server->rules[i]);
        rule_spend(server, i);
        return;
    }
    serve(server, call, request, kept->path);
}

// ---- life ---------------------------------------------------------------------------------------

static void webhook_free(struct model_host *host)
{
    struct model_webhook *server = model_host_webhook(host);
    model_webhook_set_keys(server, NULL, 0);
    model_webhook_clear_rules(server);
    for (size_t i = 0; i < server->record_count; i++) {
        free(server->records[i].type);
        free(server->records[i].name);
        free(server->records[i].content);
    }
    free(server->records);
    table_done(&server->by_key);
    names_done(&server->nonces);
    free(server->health_body);
    free(server->capabilities);
    free(server->prefix);
    free(server->host.url);
    free(server);
}

static const struct model_host_ops webhook_ops = {webhook_serve, NULL, NULL, webhook_free};

struct model_webhook *model_host_webhook(struct model_host *host)
{
    return host && host->ops == &webhook_ops ? (struct model_webhook *)host : NULL;
}

struct model_webhook *model_webhook_new(struct loop *loop, const char *url)
{
    struct model_webhook *server = mem_new_of(struct model_webhook);
    server->host = (struct model_host){.ops = &webhook_ops, .url = mem_copy_text(url)};
    server->loop = loop;
    server->prefix = mem_copy_text("");
    server->delay_ms = DELAY_MS;
    server->by_key = (struct table){.ops = &record_ops, .context = server};
    return server;
}

struct model_host *model_webhook_own(struct model_webhook *server)
{
    return &server->host;
}

// ---- setting a server up ------------------------------------------------------------------------

void model_webhook_set_keys(struct model_webhook *server, const char *const *keys, size_t count)
{
    must(count <= WEBHOOK_KEYS_MAX);
    for (size_t i = 0; i < server->key_count; i++)
        secret_unref(server->keys[i]);
    for (size_t i = 0; i < count; i++)
        server->keys[i] = secret_new(keys[i], strlen(keys[i]));
    server->key_count = count;
}

void model_webhook_set_algorithm(struct model_webhook *server, bool is_sha512)
{
    server->is_sha512 = is_sha512;
}

void model_webhook_set_prefix(struct model_webhook *server, const char *prefix, bool is_stripped)
{
    free(server->prefix);
    server->prefix = mem_copy_text(prefix);
    server->is_stripped = is_stripped;
}

void model_webhook_set_delay(struct model_webhook *server, int64_t delay_ms)
{
    server->delay_ms = delay_ms;
}

void model_webhook_set_clock(struct model_webhook *server, int64_t ahead_ms)
{
    server->ahead_ms = ahead_ms;
}

void model_webhook_set_health(struct model_webhook *server, int status, const char *body)
{
    free(server->health_body);
    server->health_status = status;
    server->health_body = copy_or_null(body);
}

void model_webhook_set_capabilities(struct model_webhook *server, const char *json)
{
    free(server->capabilities);
    server->capabilities = copy_or_null(json);
}
