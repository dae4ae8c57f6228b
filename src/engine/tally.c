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

static bool row_is(const struct tally_row *row, const struct labels *labels)
{
    return !strcmp(row->reason_label, labels->reason_label) &&
           !strcmp(row->class_label, labels->class_label);
}

static bool row_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct tally *tally = context;
    return row_is(&tally->rows[id], wanted);
}

static uint64_t row_hash(const void *context, uint32_t id)
{
    const struct tally *tally = context;
    const struct tally_row *row = &tally->rows[id];
    return labels_hash(&(struct labels){row->class_label, row->reason_label});
}

static const struct table_ops tally_table_ops = {row_matches, row_hash};

static struct table *rows_by_labels(struct tally *tally)
{
    tally->by_labels.ops = &tally_table_ops;
    tally->by_labels.context = tally;
    return &tally->by_labels;
}

static void row_clear(struct tally *tally, uint32_t id)
{
    struct tally_row *row = &tally->rows[id];
    if (!row->class_label)
        return;
    table_remove(rows_by_labels(tally), row_hash(tally, id), id);
    free(row->class_label);
    free(row->reason_label);
    *row = (struct tally_row){0};
}

// Free rows first of all; at the cap a row that counts nothing but the past gives way.
static uint32_t slot_take(struct tally *tally)
{
    bool is_full = tally->used >= ROWS_MAX;
    for (uint32_t i = 0; tally->idle && i < tally->used; i++) {
        uint32_t id = tally->hand++ % tally->used;
        struct tally_row *row = &tally->rows[id];
        if (row->keys || (row->class_label && !is_full))
            continue;
        row_clear(tally, id);
        tally->idle--;
        return id;
    }
    mem_reserve(&tally->rows, &tally->capacity, (size_t)tally->used + 1);
    tally->rows[tally->used] = (struct tally_row){0};
    return tally->used++;
}

static bool is_at_cap(const struct tally *tally)
{
    return tally->used >= ROWS_MAX && !tally->idle;
}

static uint32_t row_get(struct tally *tally, struct labels labels)
{
    struct table *table = rows_by_labels(tally);
    uint32_t id = table_find(table, labels_hash(&labels), &labels);
    if (id == TABLE_NONE && is_at_cap(tally)) {
        labels.class_label = "";
        id = table_find(table, labels_hash(&labels), &labels);
    }
    if (id != TABLE_NONE) {
        tally->idle -= !tally->rows[id].keys;
        return id;
    }
    id = slot_take(tally);
    tally->rows[id].class_label = mem_copy_text(labels.class_label);
    tally->rows[id].reason_label = mem_copy_text(labels.reason_label);
    table_add(table, labels_hash(&labels), id);
    return id;
}

static void row_leave(struct tally *tally, uint32_t id)
{
    struct tally_row *row = &tally->rows[id];
    if (--row->keys)
        return;
    tally->idle++;
    if (!row->retries)
        row_clear(tally, id);
}

static struct tally *tally_of(struct engine *engine, const struct key *key)
{
    return &engine->controllers[key->controller].tally;
}

void tally_forget(struct engine *engine, uint32_t id)
{
    struct key *key = &engine->keys[id];
    if (!key->tally_row)
        return;
    row_leave(tally_of(engine, key), key->tally_row - 1U);
    key->tally_row = 0;
}

void tally_key(struct engine *engine, uint32_t id, const struct verdict *verdict)
{
    struct key *key = &engine->keys[id];
    struct tally *tally = tally_of(engine, key);
    struct labels labels = {verdict->class_label, verdict->reason_label};
    bool is_counted = labels.class_label && labels.reason_label;
    if (is_counted && strlen(labels.class_label) > LABEL_OCTETS_MAX)
        labels.class_label = "";
    if (is_counted && key->tally_row && row_is(&tally->rows[key->tally_row - 1], &labels))
        return;
    tally_forget(engine, id);
    if (!is_counted)
        return;
    uint32_t row = row_get(tally, labels);
    tally->rows[row].keys++;
    key->tally_row = (uint16_t)(row + 1);
}

void tally_retry(struct engine *engine, uint32_t id)
{
    const struct key *key = &engine->keys[id];
    if (key->tally_row)
        tally_of(engine, key)->rows[key->tally_row - 1].retries++;
}

void tally_done(struct tally *tally)
{
    for (uint32_t id = 0; id < tally->used; id++) {
        free(tally->rows[id].class_label);
        free(tally->rows[id].reason_label);
    }
    free(tally->rows);
    table_done(&tally->by_labels);
}
