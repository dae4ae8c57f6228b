#include "providers/kubernetes/reply.h"

#include <string.h>

enum {
    STATUS_OK = 200,
    RETRY_DEFAULT_MS = 1000, // 429 that does not say how long
    MESSAGE_OCTETS_MAX = 500,
    FOREIGN_OCTETS_MAX = 200,
};

// Histories of fields are most of an object and say nothing of it.
static const struct value_limits limits = {
    .octets = REPLY_OCTETS_MAX, .depth = 32, .passed_key = "managedFields"};

// The first row that fits counts. 410: the token of the next page is over.
static const struct meaning {
    int first;
    int last;
    enum fault fault;
    const char *reason;
    const char *advice;
} meanings[] = {
    {300, 399, FAULT_AGAIN, "ServerError", "redirects are never followed: name the server itself"},
    {401, 401, FAULT_AUTH, "AuthenticationFailed",
     "the server does not take the credentials of the kubeconfig"},
    {403, 403, FAULT_AUTH, "Forbidden", "a right is missing there"},
    {404, 404, FAULT_AGAIN, "ServerError", "this is no API server of Kubernetes"},
    {410, 410, FAULT_AGAIN, "ServerError", "the list has changed: it is read anew"},
    {429, 429, FAULT_LIMIT, "RateLimited", "the server asks for a pause"},
    {0, 999, FAULT_AGAIN, "ServerError", NULL},
};

static const struct meaning *meaning_of(int status)
{
    const struct meaning *meaning = meanings;
    while (status < meaning->first || status > meaning->last)
        meaning++;
    return meaning;
}

static bool shows_credential(struct text text, const struct secret *credential)
{
    if (!credential || !secret_len(credential) || !text.len)
        return false;
    struct text octets = secret_expose(credential);
    return memmem(text.at, text.len, octets.at, octets.len);
}

// What a Status says, or the beginning of any other body that is no page.
static const char *message_of(struct arena *arena, struct text body,
                              const struct secret *credential)
{
    AUTO_BUFFER shown = {0};
    struct value *tree = body.len ? value_read_json(arena, body, &value_reply_limits, NULL) : NULL;
    struct text message = value_text_at(tree, "message");
    text_clean(&shown, message.len ? message : text_trim(body),
               message.len ? MESSAGE_OCTETS_MAX : FOREIGN_OCTETS_MAX);
    if (shows_credential(body, credential) || shows_credential(buffer_text(&shown), credential))
        return "(not shown: a secret stands in it)";
    bool is_page = shown.len && shown.at[0] == '<';
    return is_page ? "" : arena_copy(arena, buffer_text(&shown).at, shown.len);
}

static void set_error(struct arena *arena, const struct http_reply *reply,
                      const struct secret *credential, int64_t now_s, struct error *err)
{
    const struct meaning *meaning = meaning_of(reply->status);
    const char *message = message_of(arena, reply->body, credential);
    error_set(err, meaning->fault, meaning->reason, "HTTP %d%s%s%s%s", reply->status,
              meaning->advice ? ": " : "", meaning->advice ? meaning->advice : "",
              *message ? ": " : "", message);
    err->status = reply->status;
    if (reply->status == 429 || reply->status == 503)
        http_reply_retry_after(reply, now_s, &err->retry_ms);
    if (reply->status == 429 && !err->retry_ms)
        err->retry_ms = RETRY_DEFAULT_MS;
}

static void set_silence(const struct http_reply *reply, struct error *err)
{
    bool is_too_big = reply->failure == HTTP_TOO_BIG;
    error_set(err, FAULT_AGAIN, is_too_big ? "ServerError" : "ServerUnreachable", "%s",
              reply->error.text);
}

const struct value *kubernetes_reply_read(struct arena *arena, const struct http_reply *reply,
                                          const struct secret *credential, int64_t now_s,
                                          struct error *err)
{
    struct error why;
    if (reply->failure != HTTP_OK) {
        set_silence(reply, err);
        return NULL;
    }
    if (reply->status != STATUS_OK) {
        set_error(arena, reply, credential, now_s, err);
        return NULL;
    }
    const struct value *tree = value_read_json(arena, reply->body, &limits, &why);
    if (tree && tree->type == VALUE_MAP)
        return tree;
    error_set(err, FAULT_AGAIN, "ServerError",
              "the answer is no object of an API server: a proxy may stand before it");
    return NULL;
}
