#include "commands/follow.h"

#include <stdlib.h>
#include <string.h>

#include "commands/print.h"

enum {
    EVERY_MS = 5,
    LATE_MS = 1000, // what did not come in time, or waits for a retry
    LIMIT_MS = 5000,
    TIMEOUT_MS = 500,
    ITEMS_MAX = 1024,
    QUIET_MAX = 64, // records that may come up by what others leave
    SHOWN_OCTETS_MAX = 4096,
};

struct followed {
    struct arena *arena;
    struct change change;
    int64_t until_ms; // on the loop's clock
    int64_t next_ms;  // to be asked
    bool is_asked;    // in this round
    bool is_late;     // told as such, and still waited for
    bool was_late;
    bool was_acted_on; // by `signpost run`, when it got late
};

struct ask_result {
    char *path;
    struct save save;
};

struct follow {
    struct ask_options options;
    follow_report *report_text;
    void *context;
    struct view *now;
    struct ask_result *saves; // not told yet
    size_t save_count;
    size_t save_capacity;
    struct followed **items;
    size_t count;
    size_t capacity;
    size_t quiet_count;
    size_t unfollowed_count;
    struct view round; // a row for each item
    struct ask *ask;
    struct loop_timer timer;
};

// ---- telling ------------------------------------------------------------------------------------

static void report_text(struct follow *follow, const struct buffer *text)
{
    AUTO_BUFFER line = {0};
    text_clean(&line, buffer_text(text), SHOWN_OCTETS_MAX);
    follow->report_text(follow->context, buffer_text(&line));
}

static void mark_reported(struct follow *follow, const char *path)
{
    for (size_t i = 0; i < follow->save_count; i++)
        if (follow_save_covers(&follow->saves[i].save, path))
            follow->saves[i].save.is_reported = true;
}

// ---- what is followed ---------------------------------------------------------------------------

static struct followed *find_item(const struct follow *follow, const struct view_row *row)
{
    for (size_t i = 0; i < follow->count; i++) {
        const struct view_row *other = &follow->items[i]->change.row;
        if (!strcmp(other->object, row->object) && follow_is_same_question(other, row))
            return follow->items[i];
    }
    return NULL;
}

static bool is_followed(const struct follow *follow, const char *object)
{
    for (size_t i = 0; i < follow->count; i++) {
        const struct followed *item = follow->items[i];
        if (!item->change.is_quiet && !item->is_late && !strcmp(item->change.row.object, object))
            return true;
    }
    return false;
}

static void item_free(struct followed *item)
{
    if (!item)
        return;
    arena_free(item->arena);
    free(item);
}

static void drop(struct follow *follow, size_t index)
{
    follow->quiet_count -= follow->items[index]->change.is_quiet;
    item_free(follow->items[index]);
    follow->items[index] = follow->items[--follow->count];
}

static void drop_item(struct follow *follow, const struct followed *item)
{
    for (size_t i = 0; i < follow->count; i++)
        if (follow->items[i] == item) {
            drop(follow, i);
            return;
        }
}

static struct view_row copy_row(struct arena *arena, const struct view_row *row)
{
    return (struct view_row){
        .object = arena_copy_text(arena, row->object),
        .path = arena_copy_text(arena, row->path),
        .what = arena_copy_text(arena, row->what),
        .has_question = true,
        .question = question_copy(arena, &row->question),
        .answer_text = "",
    };
}

static const struct save *find_save(const struct follow *follow, const char *path)
{
    for (size_t i = 0; path && i < follow->save_count; i++)
        if (follow_save_covers(&follow->saves[i].save, path))
            return &follow->saves[i].save;
    return NULL;
}

// A save that is not of the record's own file may be the cause all the same.
static const struct save *copy_save(struct follow *follow, struct arena *arena, const char *path)
{
    const struct save *save = find_save(follow, path);
    if (!save && follow->save_count == 1)
        save = &follow->saves[0].save;
    if (!save)
        return NULL;
    struct save *copy = arena_new_of(arena, struct save);
    *copy = *save;
    copy->path = arena_copy_text(arena, save->path);
    return copy;
}

// What the name server is known to answer there.
static const char *known_answer(const struct view *view, const struct view_row *row)
{
    for (size_t i = 0; view && i < view->count; i++) {
        const struct view_row *other = &view->rows[i];
        if (other->has_question && follow_is_same_question(other, row) &&
            other->answer != ANSWER_NOT_ASKED && other->answer != ANSWER_FAILED)
            return other->answer == ANSWER_NONE ? "nothing" : other->answer_text;
    }
    return NULL;
}

static bool drop_late(struct follow *follow)
{
    for (size_t i = 0; i < follow->count; i++)
        if (follow->items[i]->is_late) {
            drop(follow, i);
            return true;
        }
    return false;
}

// NULL: too many are followed already.
static struct followed *begin(struct follow *follow, const struct view *old,
                              const struct view_row *row)
{
    if (follow->count == ITEMS_MAX && !drop_late(follow)) {
        follow->unfollowed_count++;
        return NULL;
    }
    struct followed *item = mem_new_of(struct followed);
    struct followed *replaced = find_item(follow, row);
    struct arena *arena = item->arena = arena_new();
    const char *before = replaced ? replaced->change.before : known_answer(old, row);
    item->until_ms = loop_mono_ms(follow->options.loop) + LIMIT_MS;
    item->change = (struct change){
        .row = copy_row(arena, row),
        .before = before ? arena_copy_text(arena, before) : NULL,
        .save = copy_save(follow, arena, row->path),
    };
    if (replaced)
        drop_item(follow, replaced);
    mem_reserve(&follow->items, &follow->capacity, follow->count + 1);
    follow->items[follow->count++] = item;
    return item;
}

// ---- what a new view brings ---------------------------------------------------------------------

// An object may get another name, and its answer stays.
static bool is_declared_by(const struct view *view, const struct view_row *row)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct view_row *other = &view->rows[i];
        if (other->has_question && follow_is_same_question(other, row) &&
            question_wants_same(&other->question, &row->question))
            return true;
    }
    return false;
}

static void begin_declared(struct follow *follow, const struct view *old,
                           const struct view_row *before, const struct view_row *row)
{
    if (!before && is_declared_by(old, row))
        return;
    struct followed *item = begin(follow, old, row);
    if (item && before && before->question.has_ttl && follow_is_same_question(before, row) &&
        question_wants_same(&before->question, &row->question))
        item->change.before_ttl_s = before->question.ttl_s;
}

static void begin_removal(struct follow *follow, const struct view *old, const struct view *now,
                          const struct view_row *row)
{
    if ((row->answer != ANSWER_OK && !find_item(follow, row)) || is_declared_by(now, row))
        return;
    struct followed *item = begin(follow, old, row);
    if (item)
        item->change.is_removal = true;
}

static void begin_changed(struct follow *follow, const struct view *old, const struct view *now)
{
    for (size_t i = 0; i < now->count; i++) {
        const struct view_row *row = &now->rows[i];
        const struct view_row *before = view_find(old, row->object);
        bool is_new = !before || !before->has_question;
        if (row->has_question && (is_new || follow_is_declared_anew(before, row)))
            begin_declared(follow, old, is_new ? NULL : before, row);
    }
}

static void begin_removed(struct follow *follow, const struct view *old, const struct view *now)
{
    for (size_t i = 0; i < old->count; i++) {
        const struct view_row *row = &old->rows[i];
        const struct view_row *after = view_find(now, row->object);
        bool stays = after && after->has_question && follow_is_same_question(row, after);
        if (row->has_question && !stays)
            begin_removal(follow, old, now, row);
    }
}

// Records that wait for a name may get it.
static void begin_quiet(struct follow *follow, const struct view *old, const struct view *now)
{
    for (size_t i = 0; follow_is_busy(follow) && i < now->count; i++) {
        const struct view_row *row = &now->rows[i];
        if (follow->quiet_count == QUIET_MAX || follow->count == ITEMS_MAX)
            return;
        if (!row->has_question || row->is_right || row->answer == ANSWER_OK ||
            find_item(follow, row))
            continue;
        struct followed *item = begin(follow, old, row);
        follow->quiet_count += item != NULL;
        if (item)
            item->change.is_quiet = true;
    }
}

static void report_row(struct follow *follow, struct view_row *row, bool is_first)
{
    AUTO_BUFFER line = {0};
    if (row->is_refused || row->is_pending || row->is_gone || is_followed(follow, row->object))
        return;
    follow_write_row(&line, row);
    if (row->reported && text_is(buffer_text(&line), row->reported))
        return;
    row->reported = arena_copy(follow->now->arena, line.at, line.len);
    mark_reported(follow, row->path);
    if (!is_first)
        report_text(follow, &line);
}

static void report_gone(struct follow *follow, const struct view *old)
{
    for (size_t i = 0; i < old->count; i++) {
        const struct view_row *row = &old->rows[i];
        AUTO_BUFFER line = {0};
        if (view_find(follow->now, row->object) || is_followed(follow, row->object) ||
            !row->reported || !*row->reported)
            continue;
        mark_reported(follow, row->path);
        buffer_printf(&line, "%s  %s%sgone", row->object, row->what, *row->what ? "  " : "");
        report_text(follow, &line);
    }
}

static bool has_fault(const struct view *view, const char *fault)
{
    for (size_t i = 0; i < view->fault_count; i++)
        if (!strcmp(view->faults[i], fault))
            return true;
    return false;
}

static void mark_faulty(struct follow *follow, const char *fault)
{
    for (size_t i = 0; i < follow->save_count; i++)
        if (text_starts(text_of(fault), follow->saves[i].path))
            follow->saves[i].save.is_reported = true;
}

// "web.yaml:7:3" of a fault that is gone; all of one that is new.
static void write_fault(struct buffer *out, const struct follow *follow, const struct view *view,
                        const char *fault)
{
    const char *end = strstr(fault, ": ");
    bool is_new = view == follow->now;
    if (is_new || !end)
        buffer_printf(out, "refused  %s%s", fault,
                      view_has_good(view, fault) ? "; the last good records stay" : "");
    else
        buffer_printf(out, "no longer refused  %.*s", (int)(end - fault), fault);
}

// The faults of `view` that `other` does not have.
static void report_faults(struct follow *follow, const struct view *view, const struct view *other)
{
    for (size_t i = 0; i < view->fault_count; i++) {
        AUTO_BUFFER line = {0};
        if (has_fault(other, view->faults[i]))
            continue;
        mark_faulty(follow, view->faults[i]);
        write_fault(&line, follow, view, view->faults[i]);
        report_text(follow, &line);
    }
}

static void report_unfollowed(struct follow *follow)
{
    AUTO_BUFFER line = {0};
    if (!follow->unfollowed_count)
        return;
    print_count(&line, follow->unfollowed_count, "change");
    buffer_add_text(&line, " more at the same time, not followed one by one");
    follow->unfollowed_count = 0;
    report_text(follow, &line);
}

// ---- saves --------------------------------------------------------------------------------------

static void drop_save(struct follow *follow, size_t index)
{
    free(follow->saves[index].path);
    follow->saves[index] = follow->saves[--follow->save_count];
}

static bool is_pending(const struct follow *follow, const struct save *save)
{
    for (size_t i = 0; i < follow->now->count; i++)
        if (follow->now->rows[i].is_pending && follow_save_covers(save, follow->now->rows[i].path))
            return true;
    return false;
}

static void mark_followed(struct follow *follow)
{
    for (size_t i = 0; i < follow->count; i++)
        if (!follow->items[i]->change.is_quiet && !follow->items[i]->is_late)
            mark_reported(follow, follow->items[i]->change.row.path);
}

// Nobody shall wonder whether a save was seen.
static void settle_saves(struct follow *follow)
{
    mark_followed(follow);
    for (size_t i = follow->save_count; i-- > 0;) {
        const struct save *save = &follow->saves[i].save;
        AUTO_BUFFER line = {0};
        if (!save->is_reported && is_pending(follow, save))
            continue;
        buffer_printf(&line, "%s  %s; no values change by it", save->path,
                      save->is_deletion ? "deleted" : "saved");
        if (!save->is_reported)
            report_text(follow, &line);
        drop_save(follow, i);
    }
}

void follow_saved(struct follow *follow, const struct save *save)
{
    for (size_t i = follow->save_count; i-- > 0;)
        if (!strcmp(follow->saves[i].path, save->path))
            drop_save(follow, i);
    mem_reserve(&follow->saves, &follow->save_capacity, follow->save_count + 1);
    struct ask_result *heard = &follow->saves[follow->save_count++];
    *heard = (struct ask_result){mem_copy_text(save->path), *save};
    heard->save.path = heard->path;
}

// ---- rounds of questions ------------------------------------------------------------------------

static void set_reported(struct follow *follow, const struct change *change)
{
    struct view_row *row = view_find(follow->now, change->row.object);
    struct arena *arena = follow->now->arena;
    AUTO_BUFFER line = {0};
    if (row && row->is_gone)
        row->reported = "";
    if (change->is_removal || !row)
        return;
    row->answer = change->row.answer;
    row->answer_text = arena_copy_text(arena, change->row.answer_text);
    row->answer_ttl_s = change->row.answer_ttl_s;
    row->is_ahead = !row->is_right && !row->is_pending;
    if (row->is_ahead)
        return;
    follow_write_ready(&line, row);
    row->reported = arena_copy(arena, line.at, line.len);
}

static bool is_taken_over(const struct follow *follow, const struct view_row *row)
{
    for (size_t i = 0; i < follow->count; i++) {
        const struct change *change = &follow->items[i]->change;
        if (!change->is_removal && follow_is_same_question(&change->row, row))
            return true;
    }
    return false;
}

static bool is_acted_on(const struct follow *follow, const struct change *change)
{
    const struct view_row *row = view_find(follow->now, change->row.object);
    return change->is_removal ? !row : row && row->is_right;
}

static void make_late(const struct follow *follow, struct followed *item)
{
    item->is_late = item->was_late = true;
    item->was_acted_on = is_acted_on(follow, &item->change);
}

// True: it is given up.
static bool settle_waiting(struct follow *follow, struct followed *item)
{
    AUTO_BUFFER line = {0};
    if (item->is_late || loop_mono_ms(follow->options.loop) < item->until_ms)
        return false;
    if (item->change.is_quiet)
        return true;
    follow_write_overdue(&line, &item->change, LIMIT_MS / 1000);
    if (!item->was_late)
        report_text(follow, &line);
    make_late(follow, item);
    return false;
}

// True: there is nothing more to wait for.
static bool settle(struct follow *follow, struct followed *item)
{
    AUTO_BUFFER line = {0};
    const struct change *change = &item->change;
    enum change_state state = follow_judge(change);
    if (state == CHANGE_WAITING)
        return settle_waiting(follow, item);
    follow_write_change(&line, change, loop_unix_ms(follow->options.loop));
    set_reported(follow, change);
    if (state != CHANGE_REPLACED || !is_taken_over(follow, &change->row))
        report_text(follow, &line);
    return true;
}

// Removals first: whether a name is taken over shows in what still waits for it.
static void settle_all(struct follow *follow, bool are_removals)
{
    for (size_t i = follow->count; i-- > 0;)
        if (follow->items[i]->change.is_removal == are_removals && settle(follow, follow->items[i]))
            drop(follow, i);
}

static void take_answer(struct followed *item, const struct view_row *asked)
{
    struct change *change = &item->change;
    change->row.answer = asked->answer;
    change->row.answer_ttl_s = asked->answer_ttl_s;
    if (strcmp(change->row.answer_text, asked->answer_text) != 0)
        change->row.answer_text = arena_copy_text(item->arena, asked->answer_text);
    if (change->before || asked->answer == ANSWER_FAILED || follow_judge(change) == CHANGE_DONE)
        return;
    change->before = asked->answer == ANSWER_NONE ? "nothing" : change->row.answer_text;
}

static void stop_round(struct follow *follow)
{
    ask_free(follow->ask);
    follow->ask = NULL;
    loop_timer_cancel(follow->options.loop, &follow->timer);
}

static void set_timer(struct follow *follow)
{
    int64_t next_ms = INT64_MAX;
    int64_t now_ms = loop_mono_ms(follow->options.loop);
    for (size_t i = 0; i < follow->count; i++)
        if (follow->items[i]->next_ms < next_ms)
            next_ms = follow->items[i]->next_ms;
    if (follow->count)
        loop_timer_set(follow->options.loop, &follow->timer,
                       next_ms > now_ms ? next_ms - now_ms : 0);
}

static void end_round(void *context)
{
    struct follow *follow = context;
    int64_t now_ms = loop_mono_ms(follow->options.loop);
    size_t row = 0;
    stop_round(follow);
    for (size_t i = 0; i < follow->count; i++) {
        struct followed *item = follow->items[i];
        if (!item->is_asked)
            continue;
        take_answer(item, &follow->round.rows[row++]);
        item->next_ms = now_ms + (item->is_late ? LATE_MS : EVERY_MS);
    }
    settle_all(follow, true);
    settle_all(follow, false);
    set_timer(follow);
}

static void begin_round(void *context)
{
    struct follow *follow = context;
    struct view *round = &follow->round;
    int64_t now_ms = loop_mono_ms(follow->options.loop);
    view_done(round);
    if (follow->count)
        mem_reserve(&round->rows, &round->capacity, follow->count);
    for (size_t i = 0; i < follow->count; i++) {
        struct followed *item = follow->items[i];
        item->is_asked = item->next_ms <= now_ms;
        if (item->is_asked)
            round->rows[round->count++] = item->change.row;
    }
    if (round->count)
        follow->ask = ask_new(&follow->options, round, end_round, follow);
    else
        set_timer(follow);
}

// ---- looking ------------------------------------------------------------------------------------

static const struct view_row *find_failed(const struct follow *follow, const struct change *change)
{
    const struct view_row *row = view_find(follow->now, change->row.object);
    bool is_failed = !change->is_removal && !change->is_quiet && row && !row->is_pending &&
                     !row->is_gone && !row->is_right && !row->is_refused &&
                     !strcmp(row->ready, "False");
    return is_failed ? row : NULL;
}

static void wake(const struct follow *follow, struct followed *item)
{
    item->is_late = false;
    item->next_ms = loop_mono_ms(follow->options.loop);
    item->until_ms = item->next_ms + LIMIT_MS;
}

// True: the status is the end of it.
static bool settle_by_status(struct follow *follow, struct followed *item)
{
    const struct view_row *failed = find_failed(follow, &item->change);
    if (failed && !follow_is_retried(failed))
        return true;
    if (failed && !item->is_late)
        make_late(follow, item);
    if (item->is_late && !item->was_acted_on && is_acted_on(follow, &item->change))
        wake(follow, item);
    return false;
}

static void settle_all_by_status(struct follow *follow)
{
    for (size_t i = follow->count; i-- > 0;)
        if (settle_by_status(follow, follow->items[i]))
            drop(follow, i);
}

// What was asked for all rows is known of the late ones, too.
static void take_answers(struct follow *follow)
{
    for (size_t i = 0; i < follow->count; i++) {
        struct followed *item = follow->items[i];
        const struct view_row *row = view_find(follow->now, item->change.row.object);
        if (item->is_late && row && row->has_question && row->answer != ANSWER_NOT_ASKED &&
            follow_is_same_question(row, &item->change.row))
            take_answer(item, row);
    }
    settle_all(follow, true);
    settle_all(follow, false);
}

void follow_look(struct follow *follow, const struct view *old, struct view *now)
{
    stop_round(follow);
    follow->now = now;
    if (old) {
        follow_carry(now, old);
        begin_changed(follow, old, now);
        begin_removed(follow, old, now);
        settle_all_by_status(follow);
        if (old == now)
            take_answers(follow);
        if (follow->save_count)
            begin_quiet(follow, old, now);
        report_gone(follow, old);
    }
    for (size_t i = 0; i < now->count; i++)
        report_row(follow, &now->rows[i], !old);
    if (old) {
        report_faults(follow, now, old);
        report_faults(follow, old, now);
        report_unfollowed(follow);
        settle_saves(follow);
    }
    begin_round(follow);
}

bool follow_is_busy(const struct follow *follow)
{
    for (size_t i = 0; i < follow->count; i++)
        if (!follow->items[i]->is_late)
            return true;
    return false;
}

struct follow *follow_new(const struct ask_options *options, follow_report *report_line,
                          void *context)
{
    struct follow *follow = mem_new_of(struct follow);
    *follow = (struct follow){.options = *options, .report_text = report_line, .context = context};
    follow->options.timeout_ms = TIMEOUT_MS;
    follow->round.arena = arena_new();
    follow->timer = (struct loop_timer){.call = begin_round, .context = follow};
    return follow;
}

void follow_free(struct follow *follow)
{
    if (!follow)
        return;
    stop_round(follow);
    while (follow->count)
        drop(follow, 0);
    while (follow->save_count)
        drop_save(follow, 0);
    view_done(&follow->round);
    arena_free(follow->round.arena);
    free(follow->items);
    free(follow->saves);
    free(follow);
}
