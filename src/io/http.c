#include "io/http.h"

#include <strings.h>

const char *http_reply_header(const struct http_reply *reply, const char *name)
{
    for (size_t i = 0; i < reply->header_count; i++) {
        if (strcasecmp(reply->headers[i].name, name) == 0)
            return reply->headers[i].value;
    }
    return NULL;
}
