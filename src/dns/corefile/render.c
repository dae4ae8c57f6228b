#include "dns/corefile/render.h"

#include <string.h>

enum { BUFSIZE = 1232, DENIAL_CAPACITY = 9984, LAMEDUCK_S = 20 };

const char corefile_no_id[CONFIG_ID_LEN + 1] = "0000000000000000";
const char *const forward_policy_names[FORWARD_POLICIES] = {
    [FORWARD_RANDOM] = "random",
    [FORWARD_ROUND_ROBIN] = "round_robin",
    [FORWARD_SEQUENTIAL] = "sequential",
};
static const char one_level[] = "    ";
static const char *const classes[] = {"class error", "class denial error", "class all"};

static void indent(struct buffer *out, unsigned level)
{
    for (unsigned i = 0; i < level; i++)
        buffer_add_text(out, one_level);
}

static void line(struct buffer *out, unsigned level, const char *text)
{
    indent(out, level);
    buffer_add_text(out, text);
    buffer_add_char(out, '\n');
}

static void format_line(struct buffer *out, unsigned level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void format_line(struct buffer *out, unsigned level, const char *format, ...)
{
    va_list args;
    indent(out, level);
    va_start(args, format);
    buffer_vprintf(out, format, args);
    va_end(args);
    buffer_add_char(out, '\n');
}

static void add_words(struct buffer *out, const char *before, const struct text *items,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buffer_add_text(out, before);
        buffer_add(out, items[i].at, items[i].len);
    }
}

static void words(struct buffer *out, unsigned level, const char *name, const struct text *items,
                  size_t count)
{
    if (!count)
        return;
    indent(out, level);
    buffer_add_text(out, name);
    add_words(out, " ", items, count);
    buffer_add_char(out, '\n');
}

static void text_line(struct buffer *out, unsigned level, const char *name, struct text text)
{
    words(out, level, name, &text, text.len > 0);
}

static void render_tls(struct buffer *out, const struct corefile_forward *forward, unsigned level)
{
    if (!forward->uses_tls)
        return;
    text_line(out, level, "tls_servername", forward->tls_server_name);
    if (forward->tls_bundle.len)
        text_line(out, level, "tls", forward->tls_bundle);
    else
        line(out, level, "tls");
}

static void render_health_check(struct buffer *out, const struct corefile_forward *forward,
                                unsigned level)
{
    if (!forward->health_interval.len)
        return;
    indent(out, level);
    buffer_printf(out, "health_check %.*s%s", TEXT_ARGS(forward->health_interval),
                  forward->is_health_without_recursion ? " no_rec" : "");
    if (forward->health_domain.len)
        buffer_printf(out, " domain %.*s", TEXT_ARGS(forward->health_domain));
    buffer_add_char(out, '\n');
}

// In the order of the API's table.
static void render_additions(struct buffer *out, const struct corefile_forward *forward,
                             unsigned level)
{
    words(out, level, "except", forward->except, forward->except_count);
    if (forward->prefers_udp)
        line(out, level, "prefer_udp");
    text_line(out, level, "expire", forward->expire);
    if (forward->has_max_fails)
        format_line(out, level, "max_fails %u", forward->max_fails);
    render_health_check(out, forward, level);
    if (forward->has_max_concurrent)
        format_line(out, level, "max_concurrent %u", forward->max_concurrent);
    words(out, level, "failover", forward->failover, forward->failover_count);
}

void corefile_render_forward(struct buffer *out, const struct corefile_forward *forward,
                             unsigned level)
{
    indent(out, level);
    buffer_add_text(out, "forward .");
    add_words(out, forward->uses_tls ? " tls://" : " ", forward->upstreams,
              forward->upstream_count);
    buffer_add_text(out, " {\n");
    render_tls(out, forward, level + 1);
    text_line(out, level + 1, "policy", text_of(forward_policy_names[forward->policy]));
    if (forward->forces_tcp)
        line(out, level + 1, "force_tcp");
    render_additions(out, forward, level + 1);
    line(out, level, "}");
}

static void render_log(struct buffer *out, enum corefile_log_level level)
{
    line(out, 1, "errors");
    line(out, 1, "log . {");
    line(out, 2, classes[level]);
    line(out, 1, "}");
}

static void render_cache(struct buffer *out, const struct corefile_cache *cache)
{
    format_line(out, 1, "cache %u {", cache->positive_s);
    format_line(out, 2, "denial %d %u", DENIAL_CAPACITY, cache->negative_s);
    text_line(out, 2, "serve_stale", cache->serve_stale);
    line(out, 1, "}");
}

void corefile_render_entry(struct buffer *out, const struct corefile_input *input,
                           const struct corefile_entry *entry)
{
    words(out, 0, "#", &entry->name, 1);
    for (size_t i = 0; i < entry->zone_count; i++) {
        buffer_add(out, entry->zones[i].at, entry->zones[i].len);
        buffer_printf(out, ":%u ", input->port);
    }
    buffer_add_text(out, "{\n");
    text_line(out, 1, "prometheus", input->metrics_address);
    corefile_render_forward(out, &entry->forward, 1);
    render_log(out, input->log_level);
    format_line(out, 1, "bufsize %d", BUFSIZE);
    render_cache(out, &entry->cache);
    if (entry->filters_aaaa) {
        line(out, 1, "template IN AAAA . {");
        line(out, 2, "rcode NOERROR");
        line(out, 1, "}");
    }
    line(out, 0, "}");
}

static void render_kubernetes(struct buffer *out, struct text domain)
{
    format_line(out, 1, "kubernetes %.*s in-addr.arpa ip6.arpa {", TEXT_ARGS(domain));
    line(out, 2, "pods insecure");
    line(out, 2, "fallthrough in-addr.arpa ip6.arpa");
    line(out, 1, "}");
}

static void render_root(struct buffer *out, const struct corefile_input *input)
{
    format_line(out, 0, ".:%u {", input->port);
    format_line(out, 1, "bufsize %d", BUFSIZE);
    render_log(out, input->log_level);
    line(out, 1, "health {");
    format_line(out, 2, "lameduck %ds", LAMEDUCK_S);
    line(out, 1, "}");
    line(out, 1, "ready");
    if (input->cluster_domain.len)
        render_kubernetes(out, input->cluster_domain);
    text_line(out, 1, "prometheus", input->metrics_address);
    corefile_render_forward(out, &input->root, 1);
    render_cache(out, &input->cache);
    line(out, 1, "reload");
    line(out, 0, "}");
}

void corefile_render_last(struct buffer *out, const struct corefile_input *input, const char *id)
{
    if (input->layout == COREFILE_OPENSHIFT) {
        format_line(out, 0, "hostname.bind:%u {", input->port);
        line(out, 1, "chaos");
    } else {
        format_line(out, 0, "hostname.bind:%u version.bind:%u {", input->port, input->port);
        format_line(out, 1, "chaos " CONFIG_ID_PREFIX "%s signpost", id);
    }
    line(out, 0, "}");
}

void corefile_render(struct buffer *out, const struct corefile_input *input,
                     char id[CONFIG_ID_LEN + 1])
{
    size_t start = out->len;
    for (size_t i = 0; i < input->entry_count; i++)
        corefile_render_entry(out, input, &input->entries[i]);
    render_root(out, input);
    size_t last = out->len;
    corefile_render_last(out, input, corefile_no_id);
    config_id_of((struct text){out->at + start, out->len - start}, id);
    out->len = last;
    corefile_render_last(out, input, id);
}
