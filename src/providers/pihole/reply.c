#include "providers/pihole/reply.h"

#include <string.h>

enum { SHOWN_OCTETS = 120, SAID_OCTETS = 500, RETRY_AFTER_MAX_MS = 300 * 1000 };

static const struct value_limits limits = {
    .octets = REPLY_OCTETS_MAX, .depth = 32, .nodes = 1 << 17};

// The first row that fits decides; 0 and "" fit anything.
static const struct {
    int status;
    const char *key;
    const char *message;
    enum reply_kind kind;
} rows[] = {
    {400, "", "Item already present", REPLY_THERE},
    {400, "", "No request body data", REPLY_TOO_LONG},
    {400, "", "No 2FA token", REPLY_NEEDS_TOKEN},
    {400, "", "Config items set via environment variables", REPLY_FORCED},
    {400, "", "", REPLY_REFUSED},
    {401, "", "Invalid 2FA token", REPLY_NEEDS_TOKEN},
    {401, "", "Reused 2FA token", REPLY_NEEDS_TOKEN},
    {401, "", "", REPLY_UNAUTHORIZED},
    {403, "", "The config is currently in read-only mode", REPLY_READ_ONLY},
    {403, "", "", REPLY_APP_SUDO},
    {409, "", "", REPLY_REFUSED},
    {413, "", "", REPLY_TOO_LONG},
    {429, "rate_limiting", "", REPLY_RATE},
    {429, "api_seats_exceeded", "", REPLY_SEATS},
    {429, "", "", REPLY_LIMIT},
    {0, "", "", REPLY_FAILED},
};

static enum reply_kind kind_of_status(const struct reply *reply)
{
    size_t i = 0;
    while ((rows[i].status && rows[i].status != reply->status) ||
           (*rows[i].key && !text_is(reply->key, rows[i].key)) ||
           !text_starts(reply->message, rows[i].message))
        i++;
    return rows[i].kind;
}

static enum reply_kind kind_of_failure(const struct http_reply *http)
{
    if (http->failure == HTTP_TOO_BIG)
        return REPLY_STRANGE;
    if (http->failure == HTTP_TIMEOUT && !http->is_unsent)
        return REPLY_HUNG;
    return http->is_tls ? REPLY_UNTRUSTED : REPLY_DOWN;
}

static enum reply_kind kind_of(const struct reply *reply, const struct http_reply *http)
{
    bool is_empty = !text_trim(http->body).len;
    if (http->failure != HTTP_OK)
        return kind_of_failure(http);
    if (reply->status >= 200 && reply->status < 300)
        return reply->tree || is_empty ? REPLY_OK : REPLY_STRANGE;
    if (reply->status == 404 && (is_empty || (reply->tree && !value_find(reply->tree, "error"))))
        return REPLY_ABSENT;
    if (reply->status >= 500 || reply->tree)
        return kind_of_status(reply);
    return reply->status == 429 ? REPLY_LIMIT : REPLY_STRANGE;
}

// A refused login is told in its session.
static struct text message_of(const struct value *tree)
{
    struct text message = value_text_at(tree, "error.message");
    return message.len ? message : value_text_at(tree, "session.message");
}

void reply_read(struct reply *out, struct arena *arena, const struct http_reply *http,
                int64_t now_s)
{
    const struct value *tree = NULL;
    if (http->failure == HTTP_OK && http->body.len)
        tree = value_read_json(arena, http->body, &limits, NULL);
    if (tree && tree->type != VALUE_MAP)
        tree = NULL;
    *out = (struct reply){
        .status = http->failure == HTTP_OK ? http->status : 0,
        .tree = tree,
        .key = value_text_at(tree, "error.key"),
        .message = message_of(tree),
        .hint = value_text_at(tree, "error.hint"),
    };
    out->kind = kind_of(out, http);
    if (out->status == 429)
        http_reply_retry_after(http, now_s, &out->retry_ms);
    if (out->retry_ms > RETRY_AFTER_MAX_MS)
        out->retry_ms = 0;
}

// ---- texts --------------------------------------------------------------------------------------

static bool has_secret(struct text text, const struct text *secrets)
{
    for (; secrets->at; secrets++)
        if (secrets->len && text.len && memmem(text.at, text.len, secrets->at, secrets->len))
            return true;
    return false;
}

static const char *shown(struct arena *arena, struct text foreign, size_t limit,
                         const struct text *secrets)
{
    AUTO_BUFFER out = {0};
    text_clean(&out, text_trim(foreign), limit);
    if (has_secret(foreign, secrets) || has_secret(buffer_text(&out), secrets))
        return "(not shown: a secret stands in it)";
    return arena_copy(arena, buffer_text(&out).at, out.len);
}

static const char *said(struct arena *arena, const struct reply *reply, const struct text *secrets)
{
    const char *message = shown(arena, reply->message, SAID_OCTETS, secrets);
    const char *hint = shown(arena, reply->hint, SAID_OCTETS, secrets);
    if (!*hint)
        return message;
    return *message ? arena_printf(arena, "%s (%s)", message, hint) : hint;
}

const char *reply_text(struct arena *arena, const struct reply *reply,
                       const struct http_reply *http, const struct text *secrets)
{
    const char *location = http_reply_header(http, "Location");
    if (http->failure != HTTP_OK)
        return shown(arena, text_of(http->error.text), SAID_OCTETS, secrets);
    if (reply->status >= 300 && reply->status < 400)
        return arena_printf(
            arena, "HTTP %d, and redirects are not followed: it leads to %s", reply->status,
            location ? shown(arena, text_of(location), SAID_OCTETS, secrets) : "nowhere");
    if (reply->message.len || reply->hint.len)
        return arena_printf(arena, "HTTP %d: %s", reply->status, said(arena, reply, secrets));
    if (!http->body.len)
        return arena_printf(arena, "HTTP %d", reply->status);
    return arena_printf(arena, "HTTP %d: \"%s\"", reply->status,
                        shown(arena, http->body, SHOWN_OCTETS, secrets));
}
