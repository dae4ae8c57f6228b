#include "engine/secondaries_state.h"

#include <inttypes.h>

#include "base/metric.h"

static const char *const exchange_names[SECONDARY_EXCHANGE_TYPES] = {"notify", "soa"};

static void write_labels(const struct secondary_server *backend, enum secondary_exchange_type type,
                         struct buffer *out)
{
    buffer_add_text(out, "backend=\"");
    metric_write_label(out, backend->name);
    buffer_printf(out, "\",operation=\"%s\"", exchange_names[type]);
}

static void write_requests(const struct secondary_server *backend,
                           enum secondary_exchange_type type, struct buffer *out)
{
    static const char *const codes[] = {"answered", "refused", "error"};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        if (!backend->counts.by_result[type][i])
            continue;
        buffer_add_text(out, "signpost_backend_requests_total{");
        write_labels(backend, type, out);
        buffer_printf(out, ",code=\"%s\"} %" PRIu64 "\n", codes[i],
                      backend->counts.by_result[type][i]);
    }
}

static void write_seconds(const struct secondary_server *backend, enum secondary_exchange_type type,
                          struct buffer *out)
{
    AUTO_BUFFER labels = {0};
    if (!backend->counts.seconds[type].count)
        return;
    write_labels(backend, type, &labels);
    metric_write_histogram(out, "signpost_backend_request_seconds", labels.at,
                           &backend->counts.seconds[type]);
}

void secondaries_write_requests(const struct secondaries *secondaries, struct buffer *out)
{
    for (size_t i = 0; i < secondaries->backend_count; i++)
        for (size_t k = 0; k < SECONDARY_EXCHANGE_TYPES; k++)
            write_requests(secondaries->backends[i], (enum secondary_exchange_type)k, out);
}

void secondaries_write_seconds(const struct secondaries *secondaries, struct buffer *out)
{
    for (size_t i = 0; i < secondaries->backend_count; i++)
        for (size_t k = 0; k < SECONDARY_EXCHANGE_TYPES; k++)
            write_seconds(secondaries->backends[i], (enum secondary_exchange_type)k, out);
}

void secondaries_write_in_flight(const struct secondaries *secondaries, struct buffer *out)
{
    for (size_t i = 0; i < secondaries->backend_count; i++) {
        buffer_add_text(out, "signpost_backend_in_flight{backend=\"");
        metric_write_label(out, secondaries->backends[i]->name);
        buffer_printf(out, "\"} %zu\n", secondaries->backends[i]->in_flight);
    }
}
