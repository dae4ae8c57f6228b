#include "providers/metrics_page.h"

enum {
    TIMEOUT_MS = 5000,
    CONNECT_MS = 2000,
    IDLE_S = 2, // until the next scrape of that server its connection is not worth keeping
    OCTETS_MAX = 1 << 20,
    STATUS_OK = 200,
};

void metrics_page_request(struct buffer *url, struct text address, struct http_request *out)
{
    buffer_clear(url);
    buffer_printf(url, "http://%.*s/metrics", TEXT_ARGS(address));
    *out = (struct http_request){.method = "GET",
                                 .url = url->at,
                                 .timeout_ms = TIMEOUT_MS,
                                 .connect_timeout_ms = CONNECT_MS,
                                 .max_body_octets = OCTETS_MAX,
                                 .max_idle_s = IDLE_S,
                                 .proxy = ""};
}

bool metrics_page_read(struct arena *arena, const struct http_reply *reply, const char *url,
                       struct text *page, struct error *err)
{
    struct text body = reply->body;
    if (reply->failure != HTTP_OK) {
        *err = reply->error;
        return false;
    }
    if (reply->status != STATUS_OK) {
        error_set(err, FAULT_AGAIN, "ServerError", "%s answered %d", url, reply->status);
        err->status = reply->status;
        return false;
    }
    *page = (struct text){arena_copy(arena, body.at ? body.at : "", body.len), body.len};
    return true;
}
