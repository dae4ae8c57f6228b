#include <stdlib.h>

#include "base/metric.h"
#include "frontends/intent/call.h"
#include "frontends/intent/counts.h"

static const int codes[] = {200, 201, 202, 204, 304, 400, 401, 403, 404, 405,
                            409, 412, 413, 414, 422, 431, 500, 501, 503};

enum { ROUTE_COUNTS = RESOURCES + 2 }; // the document, and what is no route

struct intent_counts {
    unsigned long long requests[ROUTE_COUNTS][COUNT_OF(codes)];
};

struct intent_counts *intent_counts_new(void)
{
    return mem_new_of(struct intent_counts);
}

void intent_counts_free(struct intent_counts *counts)
{
    free(counts);
}

void intent_counts_add(struct intent_counts *counts, const struct route *route, int status)
{
    size_t at = !route                           ? RESOURCES + 1
                : route->action == ROUTE_OPENAPI ? (size_t)RESOURCES
                                                 : route->resource;
    for (size_t i = 0; counts && i < COUNT_OF(codes); i++)
        if (codes[i] == status)
            counts->requests[at][i]++;
}

static const char *route_name(size_t at)
{
    if (at < RESOURCES)
        return resources[at].route;
    return at == RESOURCES ? "openapi" : "other";
}

void intent_counts_write(const struct intent_counts *counts, struct buffer *out)
{
    metric_write_head(out, "signpost_intent_requests_total", "counter",
                      "Requests of the intent API by route and code.");
    for (size_t at = 0; at < ROUTE_COUNTS; at++)
        for (size_t i = 0; i < COUNT_OF(codes); i++)
            if (counts->requests[at][i])
                buffer_printf(out,
                              "signpost_intent_requests_total{route=\"%s\",code=\"%d\"} %llu\n",
                              route_name(at), codes[i], counts->requests[at][i]);
}
