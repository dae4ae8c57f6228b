#include "base/metric.h"
#include "providers/pihole/instance.h"

#define PREFIX "signpost_pihole_"
#define BACKEND "pihole-"

static const enum record_type types[] = {RECORD_A, RECORD_AAAA, RECORD_CNAME};

// One sample; `labels` stand behind that of the Pi-hole.
static void write_sample(struct buffer *out, const char *name, const struct session_view *view,
                         const char *labels, int64_t value)
{
    struct text backend = text_of(view->backend);
    const char *pihole =
        text_starts(backend, BACKEND) ? backend.at + sizeof BACKEND - 1 : backend.at;
    buffer_printf(out, PREFIX "%s{pihole=\"", name);
    metric_write_label(out, pihole);
    buffer_printf(out, "\"%s} %lld\n", labels, (long long)value);
}

static void write_state(struct buffer *out, const char *name, const struct session_view *view,
                        enum record_type type, const char *state, size_t count)
{
    AUTO_BUFFER labels = {0};
    buffer_printf(&labels, ",type=\"%s\",state=\"%s\"", record_type_name(type), state);
    write_sample(out, name, view, labels.at, (int64_t)count);
}

static void write_records(struct buffer *out, const char *name, const struct session_view *view)
{
    const struct pihole_instance *instance = view->session;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        enum record_type type = types[i];
        write_state(out, name, view, type, "owned", instance->standing.ours[type]);
        write_state(out, name, view, type, "foreign", instance->standing.others[type]);
        write_state(out, name, view, type, "satisfied", view->satisfied[type]);
        write_state(out, name, view, type, "refused", view->refused[type]);
    }
}

static void write_batches(struct buffer *out, const char *name, const struct session_view *view)
{
    const struct pihole_instance *instance = view->session;
    write_sample(out, name, view, ",how=\"patch\"", instance->count.patches);
    write_sample(out, name, view, ",how=\"element\"", instance->count.elements);
}

static void write_restarts(struct buffer *out, const char *name, const struct session_view *view)
{
    write_sample(out, name, view, "",
                 ((const struct pihole_instance *)view->session)->count.restarts);
}

static void write_logins(struct buffer *out, const char *name, const struct session_view *view)
{
    const struct pihole_instance *instance = view->session;
    write_sample(out, name, view, ",result=\"success\"", instance->count.logins);
    write_sample(out, name, view, ",result=\"refused\"", instance->count.refused_logins);
}

static void write_seats_in_use(struct buffer *out, const char *name,
                               const struct session_view *view)
{
    const struct pihole_instance *instance = view->session;
    if (instance->seats_in_use >= 0)
        write_sample(out, name, view, "", instance->seats_in_use);
}

static void write_repaired(struct buffer *out, const char *name, const struct session_view *view)
{
    write_sample(out, name, view, "", (int64_t)view->repaired);
}

static const struct {
    const char *name;
    const char *type;
    const char *help;
    void (*write)(struct buffer *out, const char *name, const struct session_view *view);
} families[] = {
    {"records", "gauge",
     "Record sets: owned or somebody else's (foreign) as read last; wanted, and there already as "
     "somebody else made them (satisfied); refused.",
     write_records},
    {"batches_total", "counter", "Changes written in one go, by one PATCH or element by element.",
     write_batches},
    {"restarts_total", "counter", "Writes that made the resolver restart.", write_restarts},
    {"logins_total", "counter", "Logins by result.", write_logins},
    {"seats_in_use", "gauge", "API sessions, ours and others', at our last login.",
     write_seats_in_use},
    {"drift_repaired_total", "counter",
     "Record sets of ours that somebody had changed or removed, and that were put right.",
     write_repaired},
};

void pihole_write_metrics(const struct session_view *seats, size_t count, struct buffer *out)
{
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        AUTO_BUFFER name = {0};
        buffer_printf(&name, PREFIX "%s", families[i].name);
        metric_write_head(out, name.at, families[i].type, families[i].help);
        for (size_t j = 0; j < count; j++)
            families[i].write(out, families[i].name, &seats[j]);
    }
}
