#include "engine/state.h"

#include <stdlib.h>
#include <string.h>

// One allocation for all of it: by the thousand such copies wait for their writes.

static size_t attr_count(const struct log_attr *attrs)
{
    size_t count = 0;
    while (attrs && attrs[count].type != LOG_ATTR_END)
        count++;
    return count;
}

struct room {
    char *fixed; // structs
    char *texts;
};

static size_t octets_of(const struct decision *decision, size_t *texts)
{
    size_t octets = sizeof(struct report) + decision->event_count * sizeof(struct decision_event) +
                    decision->line_count * sizeof(struct decision_line);
    octets += decision->sample_count * sizeof(struct decision_sample);
    *texts = 0;
    for (size_t i = 0; i < decision->event_count; i++)
        *texts += strlen(decision->events[i].text) + 1;
    for (size_t i = 0; i < decision->line_count; i++) {
        const struct log_attr *attrs = decision->lines[i].attrs;
        size_t count = attr_count(attrs);
        octets += (count + 1) * sizeof(struct log_attr);
        for (size_t k = 0; k < count; k++)
            *texts += attrs[k].text.len + 1;
    }
    return octets;
}

static void *take(struct room *room, size_t octets)
{
    char *at = room->fixed;
    room->fixed += octets;
    return at;
}

static const char *put(struct room *room, struct text text)
{
    char *at = room->texts;
    if (text.len)
        memcpy(at, text.at, text.len);
    at[text.len] = '\0';
    room->texts += text.len + 1;
    return at;
}

static const struct log_attr *copy_attrs(struct room *room, const struct log_attr *attrs)
{
    size_t count = attr_count(attrs);
    struct log_attr *copy = take(room, (count + 1) * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = attrs[i];
        if (attrs[i].text.at)
            copy[i].text.at = put(room, attrs[i].text);
    }
    copy[count] = LOG_END;
    return copy;
}

// A gauge is no news.
static size_t copy_counts(const struct decision *decision, struct decision_sample *out)
{
    size_t count = 0;
    for (size_t i = 0; i < decision->sample_count; i++)
        if (metric_adds_up(decision->samples[i].metric->type))
            out[count++] = decision->samples[i];
    return count;
}

static bool has_counts(const struct decision *decision)
{
    struct decision_sample counts[DECISION_SAMPLES_MAX];
    return decision->programmed_ms || copy_counts(decision, counts);
}

struct report *report_new(const struct decision *decision)
{
    size_t texts;
    if (!decision->event_count && !decision->line_count && !has_counts(decision))
        return NULL;
    size_t fixed = octets_of(decision, &texts);
    struct report *report = mem_new(1, fixed + texts);
    struct room room = {.fixed = (char *)(report + 1), .texts = (char *)report + fixed};
    report->event_count = decision->event_count;
    report->line_count = decision->line_count;
    report->events = take(&room, report->event_count * sizeof *report->events);
    report->lines = take(&room, report->line_count * sizeof *report->lines);
    for (size_t i = 0; i < report->event_count; i++) {
        report->events[i] = decision->events[i];
        report->events[i].text = put(&room, text_of(decision->events[i].text));
        if (decision->events[i].regarding)
            report->events[i].regarding = object_ref(decision->events[i].regarding);
    }
    for (size_t i = 0; i < report->line_count; i++) {
        report->lines[i] = decision->lines[i];
        report->lines[i].attrs = copy_attrs(&room, decision->lines[i].attrs);
    }
    report->counts = take(&room, decision->sample_count * sizeof *report->counts);
    report->count_count = copy_counts(decision, report->counts);
    report->programmed_ms = decision->programmed_ms;
    return report;
}

void report_free(struct report *report)
{
    for (size_t i = 0; report && i < report->event_count; i++)
        object_unref(report->events[i].regarding);
    free(report);
}

static void count(struct engine *engine, uint32_t key, const struct report *report,
                  const struct object *object)
{
    for (size_t i = 0; i < report->count_count; i++)
        samples_count(engine, key, &report->counts[i]);
    if (!report->programmed_ms)
        return;
    histogram_add(&engine->controllers[engine->keys[key].controller].programmed_seconds,
                  report->programmed_ms);
    change_log_arrival(engine, object, report->programmed_ms);
}

void report_send(struct engine *engine, uint32_t key, const struct report *report,
                 const struct object *object)
{
    if (!report)
        return;
    count(engine, key, report, object);
    for (size_t i = 0; i < report->event_count; i++) {
        const struct object *regarding = report->events[i].regarding;
        const struct kube_event event = {.regarding = regarding ? regarding : object,
                                         .related = regarding ? object : NULL,
                                         .is_warning = report->events[i].is_warning,
                                         .reason = report->events[i].reason,
                                         .action = "Reconcile",
                                         .text = report->events[i].text};
        store_publish_event(engine->options.store, &event);
    }
    for (size_t i = 0; i < report->line_count; i++)
        log_attrs(engine->log, report->lines[i].level, report->lines[i].message,
                  report->lines[i].attrs);
}
