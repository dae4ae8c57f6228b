#include "store/cluster/api_warning.h"

#include <string.h>
#include <strings.h>

#include "base/hash.h"

// `299 - "some text"`, with \" and \\ inside.
static bool read_text(struct buffer *out, struct text header)
{
    static const char start[] = "299 - \"";
    if (!text_starts(header, start))
        return false;
    for (size_t i = sizeof start - 1; i < header.len && header.at[i] != '"'; i++) {
        if (header.at[i] == '\\' && i + 1 < header.len)
            i++;
        buffer_add_char(out, header.at[i]);
    }
    return out->len > 0;
}

static bool is_new(struct api_warnings *warnings, uint64_t hash)
{
    for (size_t i = 0; i < warnings->count; i++)
        if (warnings->reported[i] == hash)
            return false;
    if (warnings->count == API_WARNINGS_MAX)
        return false;
    warnings->reported[warnings->count++] = hash;
    return true;
}

void api_warnings_report(struct api_warnings *warnings, const struct http_reply *reply,
                         struct log *log)
{
    for (size_t i = 0; i < reply->header_count; i++) {
        AUTO_BUFFER text = {0};
        if (strcasecmp(reply->headers[i].name, "Warning") ||
            !read_text(&text, text_trim(text_of(reply->headers[i].value))))
            continue;
        if (is_new(warnings, hash_octets(text.at, text.len)))
            log_line(log, LOG_WARN, "API server warns", LOG_SLICE("warning", buffer_text(&text)),
                     LOG_END);
    }
}
