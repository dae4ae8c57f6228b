#include "io/http.h"

#include <strings.h>

#include "base/when.h"

enum { RETRY_AFTER_MAX_S = 3600 };

const char *http_reply_header(const struct http_reply *reply, const char *name)
{
    for (size_t i = 0; i < reply->header_count; i++) {
        if (strcasecmp(reply->headers[i].name, name) == 0)
            return reply->headers[i].value;
    }
    return NULL;
}

bool http_reply_retry_after(const struct http_reply *reply, int64_t now_s, int64_t *ms)
{
    struct text header = text_trim(text_of(http_reply_header(reply, "Retry-After")));
    int64_t seconds;
    *ms = 0;
    if (!header.len)
        return false;
    if (!text_to_int64(header, &seconds)) {
        if (!when_parse_http(header, &seconds))
            return false;
        seconds -= now_s;
    }
    if (seconds < 0)
        return false;
    *ms = 1000 * (seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S);
    return true;
}
