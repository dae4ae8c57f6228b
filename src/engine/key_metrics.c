#include "engine/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

// Users choose names of classes, so the rows are capped: what comes later counts by reason alone.
enum { ROWS_MAX = 8192, LABEL_OCTETS_MAX = 253 };

struct labels {
    const char *class_label;
    const char *reason_label;
};

static uint64_t labels_hash(const struct labels *labels)
{
    return hash_octets(labels->class_label, strlen(labels->class_label)) * 31 +
           hash_octets(labels->reason_label, strlen(labels->reason_label));
}

static bool row_is(const struct key_metrics_row *row, const struct labels *labels)
{
    return !strcmp(row->reason_label, labels->reason_label) &&
           !strcmp(row->class_label, labels->class_label);
}

static bool row_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct key_metrics *key_metrics = context;
    return row_is(&key_metrics->rows[id], wanted);
}

static uint64_t row_hash(const void *context, uint32_t id)
{
    const struct key_metrics *key_metrics = context;
    const struct key_metrics_row *row = &key_metrics->rows[id];
    return labels_hash(&(struct labels){row->class_label, row->reason_label});
}

static const struct table_ops key_metrics_table_ops = {row_matches, row_hash};

static struct table *rows_by_labels(struct key_metrics *key_metrics)
{
    key_metrics->by_labels.ops = &key_metrics_table_ops;
    key_metrics->by_labels.context = key_metrics;
    return &key_metrics->by_labels;
}

static void row_clear(struct key_metrics *key_metrics, uint32_t id)
{
    struct key_metrics_row *row = &key_metrics->rows[id];
    if (!row->class_label)
        return;
    table_remove(rows_by_labels(key_metrics), row_hash(key_metrics, id), id);
    free(row->class_label);
    free(row->reason_label);
    *row = (struct key_metrics_row){0};
}

// Free rows first of all; at the cap a row that counts nothing but the past gives way.
static uint32_t slot_take(struct key_metrics *key_metrics)
{
    bool is_full = key_metrics->used >= ROWS_MAX;
    for (uint32_t i = 0; key_metrics->idle && i < key_metrics->used; i++) {
        uint32_t id = key_metrics->hand++ % key_metrics->used;
        struct key_metrics_row *row = &key_metrics->rows[id];
        if (row->keys || (row->class_label && !is_full))
            continue;
        row_clear(key_metrics, id);
        key_metrics->idle--;
        return id;
    }
    mem_reserve(&key_metrics->rows, &key_metrics->capacity, (size_t)key_metrics->used + 1);
    key_metrics->rows[key_metrics->used] = (struct key_metrics_row){0};
    return key_metrics->used++;
}

static bool is_at_cap(const struct key_metrics *key_metrics)
{
    return key_metrics->used >= ROWS_MAX && !key_metrics->idle;
}

static uint32_t row_get(struct key_metrics *key_metrics, struct labels labels)
{
    struct table *table = rows_by_labels(key_metrics);
    uint32_t id = table_find(table, labels_hash(&labels), &labels);
    if (id == TABLE_NONE && is_at_cap(key_metrics)) {
        labels.class_label = "";
        id = table_find(table, labels_hash(&labels), &labels);
    }
    if (id != TABLE_NONE) {
        key_metrics->idle -= !key_metrics->rows[id].keys;
        return id;
    }
    id = slot_take(key_metrics);
    key_metrics->rows[id].class_label = mem_copy_text(labels.class_label);
    key_metrics->rows[id].reason_label = mem_copy_text(labels.reason_label);
    table_add(table, labels_hash(&labels), id);
    return id;
}

static void row_leave(struct key_metrics *key_metrics, uint32_t id)
{
    struct key_metrics_row *row = &key_metrics->rows[id];
    if (--row->keys)
        return;
    key_metrics->idle++;
    if (!row->retries)
        row_clear(key_metrics, id);
}

static struct key_metrics *key_metrics_of(struct engine *engine, const struct key *key)
{
    return &engine->controllers[key->controller].key_metrics;
}

void key_metrics_forget(struct engine *engine, uint32_t id)
{
    struct key *key = &engine->keys[id];
    if (!key->key_metrics_row)
        return;
    row_leave(key_metrics_of(engine, key), key->key_metrics_row - 1U);
    key->key_metrics_row = 0;
}

void key_metrics_count(struct engine *engine, uint32_t id, const struct decision *decision)
{
    struct key *key = &engine->keys[id];
    struct key_metrics *key_metrics = key_metrics_of(engine, key);
    struct labels labels = {decision->class_label, decision->reason_label};
    bool is_counted = labels.class_label && labels.reason_label;
    if (is_counted && strlen(labels.class_label) > LABEL_OCTETS_MAX)
        labels.class_label = "";
    if (is_counted && key->key_metrics_row &&
        row_is(&key_metrics->rows[key->key_metrics_row - 1], &labels))
        return;
    key_metrics_forget(engine, id);
    if (!is_counted)
        return;
    uint32_t row = row_get(key_metrics, labels);
    key_metrics->rows[row].keys++;
    key->key_metrics_row = (uint16_t)(row + 1);
}

void key_metrics_retry(struct engine *engine, uint32_t id)
{
    const struct key *key = &engine->keys[id];
    if (key->key_metrics_row)
        key_metrics_of(engine, key)->rows[key->key_metrics_row - 1].retries++;
}

void key_metrics_done(struct key_metrics *key_metrics)
{
    for (uint32_t id = 0; id < key_metrics->used; id++) {
        free(key_metrics->rows[id].class_label);
        free(key_metrics->rows[id].reason_label);
    }
    free(key_metrics->rows);
    table_done(&key_metrics->by_labels);
}
