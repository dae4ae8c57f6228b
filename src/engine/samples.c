#include "engine/state.h"

#include <stdlib.h>
#include <string.h>

static struct samples *samples_of(struct engine *engine, uint32_t key)
{
    return &engine->controllers[engine->keys[key].controller].samples;
}

static bool is_same_series(const struct sample *sample, const struct controller_metric *metric,
                           const char *label)
{
    return sample->metric == metric && (!label || !strcmp(sample->label, label));
}

static uint64_t times_of(const struct decision_sample *sample)
{
    return sample->times ? sample->times : 1;
}

static void add(struct samples *samples, const struct decision_sample *sample, uint32_t key)
{
    mem_reserve(&samples->items, &samples->capacity, samples->count + 1);
    samples->items[samples->count++] = (struct sample){.metric = sample->metric,
                                                       .label = sample->label,
                                                       .value = sample->value,
                                                       .times = times_of(sample),
                                                       .key = key};
}

void samples_forget(struct engine *engine, uint32_t key)
{
    struct samples *samples = samples_of(engine, key);
    size_t kept = 0;
    for (size_t i = 0; i < samples->count; i++)
        if (samples->items[i].key != key)
            samples->items[kept++] = samples->items[i];
    samples->count = kept;
}

void samples_replace(struct engine *engine, uint32_t key, const struct decision *decision)
{
    samples_forget(engine, key);
    for (size_t i = 0; i < decision->sample_count; i++)
        if (decision->samples[i].metric->type == METRIC_GAUGE)
            add(samples_of(engine, key), &decision->samples[i], key);
}

void samples_count(struct engine *engine, uint32_t key, const struct decision_sample *count)
{
    struct samples *samples = samples_of(engine, key);
    for (size_t i = 0; i < samples->count; i++)
        if (is_same_series(&samples->items[i], count->metric, count->label)) {
            samples->items[i].value += count->value;
            samples->items[i].times += times_of(count);
            return;
        }
    add(samples, count, NO_ID);
}

// ---- Prometheus text ----------------------------------------------------------------------------

static bool is_first_of_series(const struct samples *samples, size_t at)
{
    const struct sample *sample = &samples->items[at];
    for (size_t i = 0; i < at; i++)
        if (is_same_series(&samples->items[i], sample->metric, sample->label))
            return false;
    return true;
}

static int64_t sum_of_series(const struct samples *samples, const struct sample *first)
{
    int64_t sum = 0;
    for (size_t i = 0; i < samples->count; i++)
        if (is_same_series(&samples->items[i], first->metric, first->label))
            sum += samples->items[i].value;
    return sum;
}

static void write_one(const struct sample *sample, const char *suffix, int64_t value,
                      struct buffer *out)
{
    buffer_printf(out, "%s%s", sample->metric->name, suffix);
    if (sample->label) {
        buffer_printf(out, "{%s=\"", sample->metric->label);
        metric_write_label(out, sample->label);
        buffer_add_text(out, "\"}");
    }
    buffer_printf(out, " %lld\n", (long long)value);
}

static void write_series(const struct sample *sample, int64_t sum, struct buffer *out)
{
    if (sample->metric->type != METRIC_SECONDS) {
        write_one(sample, "", sum, out);
        return;
    }
    write_one(sample, "_sum", sum, out);
    write_one(sample, "_count", (int64_t)sample->times, out);
}

// A counter without labels is there before it has counted anything.
void samples_write(const struct samples *samples, const struct controller_metric *metric,
                   struct buffer *out)
{
    const struct sample none = {.metric = metric};
    bool is_any = false;
    for (size_t i = 0; i < samples->count; i++) {
        const struct sample *sample = &samples->items[i];
        if (sample->metric != metric || !is_first_of_series(samples, i))
            continue;
        is_any = true;
        write_series(sample, sum_of_series(samples, sample), out);
    }
    if (!is_any && metric_adds_up(metric->type) && !metric->label)
        write_series(&none, 0, out);
}

void samples_done(struct samples *samples)
{
    free(samples->items);
}
