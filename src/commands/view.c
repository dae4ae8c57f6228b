#include "commands/view.h"

#include <stdlib.h>
#include <string.h>

#include "commands/enabled_controllers.h"
#include "commands/subject.h"
#include "commands/view_zones.h"
#include "kinds/condition.h"
#include "kinds/dnsrecord/dnsrecord.h"
#include "kinds/kinds.h"
#include "kinds/record/record_kind.h"
#include "kinds/zone/zone_kind.h"
#include "kinds/zone_ref.h"

static const char *copy(struct view *view, struct text text)
{
    return arena_copy(view->arena, text.at ? text.at : "", text.len);
}

// ---- what an object is about --------------------------------------------------------------------

static const char *join_written(struct view *view, const struct dnsrecord *record)
{
    bool is_apex = text_is(record->subdomain, "@");
    const struct text parts[] = {record->subdomain, record->domain, record->type};
    AUTO_BUFFER out = {0};
    for (size_t i = is_apex; i < COUNT_OF(parts); i++) {
        if (out.len && parts[i].len)
            buffer_add_char(&out, i == 1 ? '.' : ' ');
        buffer_add(&out, parts[i].at, parts[i].len);
    }
    return copy(view, buffer_text(&out));
}

// As `signpost run` resolves it; a record that it would refuse is shown as written.
static void describe_dnsrecord(struct view *view, struct view_row *row, const struct value *tree)
{
    struct dnsrecord record;
    struct findings findings = {.arena = view->arena};
    dnsrecord_decode(view->arena, tree, &record);
    struct name_question *question = &row->question;
    struct record_set *set = &question->set;
    row->has_question =
        dnsrecord_resolve(view->arena, &record, DNSRECORD_TTL_DEFAULT, set, &findings) &&
        record_name_join(view->arena, set->domain, set->subdomain, &question->name, NULL);
    if (!row->has_question) {
        row->what = join_written(view, &record);
        return;
    }
    question->has_ttl = record.ttl_s > 0;
    question->type = record_type_number(set->type);
    question->ttl_s = set->ttl_s;
    row->what = arena_printf(view->arena, "%.*s %s", TEXT_ARGS(question->name),
                             record_type_name(set->type));
}

// The rest is known when its zone is.
static void describe_record(struct view *view, struct view_row *row, const struct value *tree)
{
    (void)view;
    (void)tree;
    row->has_question = true;
}

// Kinds of which more is shown than their summary: what name servers ought to answer, or do.
static const struct {
    const struct kind *kind;
    void (*describe)(struct view *view, struct view_row *row, const struct value *tree);
} describers[] = {{&dnsrecord_kind, describe_dnsrecord},
                  {&record_kind, describe_record},
                  {&zone_kind, view_describe_zone}};

static bool has_rows(const struct view *view, const struct kind *kind)
{
    return (kind->has_status && !kind->is_foreign) || kind->advised != NULL ||
           (view->has_names && kind->list_names);
}

bool view_choose_kinds(const struct view *view, const struct invocation *invocation,
                       const struct kind **out, size_t *count, struct error *err)
{
    struct enabled_controllers enabled;
    bool is_all = !option_is_set(invocation, "controllers");
    if (!enabled_controllers_init(&enabled, invocation, err))
        return false;
    size_t all = kinds_of_manifests(out);
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (has_rows(view, out[i]) && (is_all || enabled_controllers_reads(&enabled, out[i])))
            out[(*count)++] = out[i];
    return true;
}

static void describe(struct view *view, struct view_row *row, const struct value *tree)
{
    AUTO_BUFFER summary = {0};
    if (row->kind->write_summary)
        row->kind->write_summary(tree, &summary);
    row->what = copy(view, buffer_text(&summary));
    for (size_t i = 0; i < COUNT_OF(describers); i++)
        if (describers[i].kind == row->kind)
            describers[i].describe(view, row, tree);
}

// ---- status -------------------------------------------------------------------------------------

static void read_status(struct view *view, struct view_row *row, const struct value *tree)
{
    const struct value *ready =
        kind_find_reporting(row->kind, value_find(tree, "status"), &row->is_right);
    row->ready = row->reason = "-";
    row->message = "`signpost run` has not acted on it yet";
    row->is_pending = !ready;
    if (!ready)
        return;
    int64_t generation = value_int_at(tree, "metadata.generation", 0);
    row->ready = row->is_right                                        ? "True"
                 : text_is(value_text_at(ready, "status"), "Unknown") ? "Unknown"
                                                                      : "False";
    row->since = copy(view, value_text_at(ready, "lastTransitionTime"));
    row->reason = copy(view, value_text_at(ready, "reason"));
    row->message = copy(view, value_text_at(ready, "message"));
    row->is_pending = !strcmp(row->reason, reason_name(REASON_PENDING));
    if (value_int_at(tree, "status.observedGeneration", generation) < generation) {
        row->is_right = false;
        row->is_pending = true;
        row->message = "edited since; `signpost run` has not acted on it yet";
    }
}

static void read_warning(struct view *view, struct view_row *row, const struct value *tree)
{
    const struct value *warned = kind_find_condition(value_find(tree, "status"), TEXT("Warned"));
    if (warned && text_is(value_text_at(warned, "status"), "True"))
        row->warning = copy(view, value_text_at(warned, "message"));
}

// Who has a ZoneFile has somebody who reads it.
static bool is_unserved(const struct view_row *row, const struct value *tree)
{
    return row->kind == &zone_kind && !strcmp(row->reason, reason_name(REASON_NO_SERVERS)) &&
           !value_find(value_at(tree, "metadata.labels", NULL), ZONE_FILE_LABEL);
}

static void read_gone(struct view *view, struct view_row *row, const struct value *tree)
{
    bool is_begun = value_text_at(tree, "metadata.deletionTimestamp").len > 0;
    row->is_right = row->has_question = false;
    row->is_gone = true;
    row->is_pending = !is_begun;
    if (!is_begun) {
        row->message = "its manifest is gone; `signpost run` has not acted on it yet";
    } else if (strcmp(row->ready, "True") != 0) {
        row->message = arena_printf(view->arena, "being deleted; %s", row->message);
    } else {
        row->ready = "False";
        row->reason = "-";
        row->message = "being deleted";
    }
}

static void read_refused(struct view *view, struct view_row *row)
{
    row->is_right = false;
    row->is_refused = true;
    row->message =
        arena_printf(view->arena, "%s is refused; %s", row->path,
                     row->has_good ? "the last good one stays" : "nothing of it is published");
}

static bool is_broken(const struct view *view, const char *path)
{
    for (size_t i = 0; i < view->broken_count; i++)
        if (!strcmp(view->broken[i], path))
            return true;
    return false;
}

static void write_object(struct buffer *out, const struct view_row *row)
{
    buffer_printf(out, "%s/%s%s%s", row->kind->name, row->namespace_, *row->namespace_ ? "/" : "",
                  row->name);
}

void view_add_row(struct view *view, const struct view_row *row)
{
    mem_reserve(&view->rows, &view->capacity, view->count + 1);
    view->rows[view->count++] = *row;
}

static const struct subject *find_subject(const struct kind *kind, const struct value *tree)
{
    for (size_t i = 0; kind->advised && i < subject_count; i++)
        if (subjects[i]->shows && subjects[i]->shows(kind, tree))
            return subjects[i];
    return NULL;
}

static bool is_over(const struct folder_entry *entry)
{
    return entry->kind->is_over && entry->kind->is_over(entry->tree);
}

// Nobody has to do anything about it: it is in the state that it is meant to be in.
static void read_over(struct view *view, struct view_row *row, const struct value *tree)
{
    row->is_right = true;
    row->ready = "-";
    row->reason = copy(view, value_text_at(tree, "status.state"));
    row->message = "";
}

// What became of them the kind says, or nobody.
static void read_mere_names(struct view *view, struct view_row *row)
{
    row->what = row->message = copy(view, TEXT(""));
    row->ready = row->reason = "-";
    row->is_right = true;
}

static void add_row(struct view *view, const struct folder_entry *entry)
{
    AUTO_BUFFER object = {0};
    struct view_row row = {
        .kind = entry->kind,
        .namespace_ = copy(view, value_text_at(entry->tree, "metadata.namespace")),
        .name = copy(view, value_text_at(entry->tree, "metadata.name")),
        .path = arena_copy_text(view->arena, entry->path),
        .line = entry->line,
        .since = "",
        .has_good = entry->has_good,
        .answer_text = "",
        .order = view->count,
        .tree = entry->tree,
    };
    const struct subject *subject = find_subject(entry->kind, entry->tree);
    if (subject) {
        subject->show(view, &row, entry->tree);
    } else if (entry->kind->is_foreign) {
        read_mere_names(view, &row);
    } else {
        describe(view, &row, entry->tree);
        read_status(view, &row, entry->tree);
        if (is_over(entry) && !row.is_pending)
            read_over(view, &row, entry->tree);
        read_warning(view, &row, entry->tree);
        row.is_unserved = is_unserved(&row, entry->tree);
    }
    bool is_kept = entry->is_gone && is_broken(view, row.path);
    if (entry->is_gone && !is_kept)
        read_gone(view, &row, entry->tree);
    if (entry->fault || is_kept)
        read_refused(view, &row);
    if (entry->fault)
        row.has_question = false; // the tree is what was refused
    write_object(&object, &row);
    row.object = copy(view, buffer_text(&object));
    view_add_row(view, &row);
}

static void take_fault(struct view *view, const struct folder_entry *entry)
{
    mem_reserve(&view->faults, &view->fault_capacity, view->fault_count + 1);
    view->faults[view->fault_count++] = arena_copy_text(view->arena, entry->fault);
    if (entry->tree)
        return;
    mem_reserve(&view->broken, &view->broken_capacity, view->broken_count + 1);
    view->broken[view->broken_count++] = arena_copy_text(view->arena, entry->path);
}

// It went at once, held by nothing.
static bool is_past(const struct folder_entry *entry)
{
    return entry->is_gone && !value_text_at(entry->tree, "metadata.deletionTimestamp").len;
}

static bool is_shown(const struct view *view, const struct folder_entry *entry)
{
    const struct kind *kind = entry->kind;
    if (kind->has_status && !kind->is_foreign)
        return !is_over(entry) || value_text_at(entry->tree, "status.state").len;
    bool has_names = view->has_names && kind->list_names;
    return (has_names || find_subject(kind, entry->tree)) && !is_past(entry);
}

void view_add(struct view *view, const struct folder_entry *entry)
{
    if (entry->fault)
        take_fault(view, entry);
    if (entry->kind && entry->tree && !entry->is_duplicate && is_shown(view, entry) &&
        value_text_at(entry->tree, "metadata.name").len)
        add_row(view, entry);
}

static int compare_rows(const void *left, const void *right)
{
    const struct view_row *a = left;
    const struct view_row *b = right;
    int order = strcmp(a->object, b->object);
    return order ? order : (a->order < b->order) - (a->order > b->order);
}

// A list that broke off is told again from its begin: what was told last counts.
static void drop_doubles(struct view *view)
{
    size_t kept = 0;
    for (size_t i = 0; i < view->count; i++)
        if (!kept || strcmp(view->rows[kept - 1].object, view->rows[i].object) != 0)
            view->rows[kept++] = view->rows[i];
    view->count = kept;
}

void view_close(struct view *view)
{
    if (view->count)
        qsort(view->rows, view->count, sizeof *view->rows, compare_rows);
    drop_doubles(view);
    view_link_records(view);
}

static void take_entry(void *context, const struct folder_entry *entry)
{
    view_add(context, entry);
}

bool view_read(struct view *view, const struct folder_options *options, struct error *err)
{
    if (!folder_read(options, view->arena, take_entry, view, err))
        return false;
    view_close(view);
    return true;
}

void view_done(struct view *view)
{
    free(view->rows);
    free(view->faults);
    free(view->broken);
    struct arena *arena = view->arena;
    if (arena)
        arena_reset(arena);
    *view = (struct view){.arena = arena, .has_names = view->has_names};
}

struct view_row *view_find(const struct view *view, const char *object)
{
    size_t low = 0;
    size_t high = view ? view->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(view->rows[middle].object, object);
        if (!order)
            return &view->rows[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

size_t view_ready(const struct view *view)
{
    size_t count = 0;
    for (size_t i = 0; i < view->count; i++)
        count += view->rows[i].is_right;
    return count;
}

bool view_has_good(const struct view *view, const char *fault)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct view_row *row = &view->rows[i];
        if (row->is_refused && row->has_good && text_starts(text_of(fault), row->path) &&
            fault[strlen(row->path)] == ':')
            return true;
    }
    return false;
}

bool view_is_right(const struct view *view)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->rows[i].answer != ANSWER_NOT_ASKED && view->rows[i].answer != ANSWER_OK)
            return false;
    for (size_t i = 0; i < view->count; i++)
        if (view->is_asked && view->rows[i].is_unserved &&
            !view_zone_is_answered(view, &view->rows[i]))
            return false;
    return view_ready(view) == view->count && !view->fault_count;
}
