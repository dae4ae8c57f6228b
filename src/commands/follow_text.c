#include "commands/follow_text.h"

#include <inttypes.h>
#include <string.h>

#include "commands/print.h"
#include "kinds/condition.h"

enum { LONG_MS = 10000 };

// ---- from view to view --------------------------------------------------------------------------

static void carry_answer(struct view *now, struct view_row *row, const struct view_row *old)
{
    row->answer = old->answer;
    row->answer_text = arena_copy_text(now->arena, old->answer_text);
    row->answer_ttl_s = old->answer_ttl_s;
}

static void carry_question(struct view *now, struct view_row *row, const struct view_row *old)
{
    row->has_question = true;
    row->question = question_copy(now->arena, &old->question);
}

static void carry(struct view *now, struct view_row *row, const struct view_row *old)
{
    row->reported = old->reported ? arena_copy_text(now->arena, old->reported) : NULL;
    if (!old->has_question || row->is_gone)
        return;
    if (!row->has_question)
        carry_question(now, row, old);
    if (follow_is_declared_anew(old, row))
        return;
    carry_answer(now, row, old);
    row->is_ahead = old->is_ahead && !row->is_right;
}

void follow_carry(struct view *now, const struct view *old)
{
    if (now == old)
        return;
    for (size_t i = 0; i < now->count; i++) {
        const struct view_row *before = view_find(old, now->rows[i].object);
        if (before)
            carry(now, &now->rows[i], before);
    }
}

bool follow_is_same_question(const struct view_row *a, const struct view_row *b)
{
    return question_is_same(&a->question, &b->question);
}

bool follow_is_declared_anew(const struct view_row *old, const struct view_row *now)
{
    const struct name_question *a = &old->question;
    const struct name_question *b = &now->question;
    return !question_is_same(a, b) || a->has_ttl != b->has_ttl || a->ttl_s != b->ttl_s ||
           !question_wants_same(a, b);
}

bool follow_save_covers(const struct save *save, const char *path)
{
    size_t len = strlen(save->path);
    return !strncmp(save->path, path, len) && (!path[len] || path[len] == '/');
}

// ---- judging ------------------------------------------------------------------------------------

// A TTL that the class gives is not known here: then the old one has to go.
static bool has_ttl_come(const struct change *change)
{
    if (change->row.question.has_ttl)
        return change->row.answer_ttl_s == change->row.question.ttl_s;
    return !change->before_ttl_s || change->row.answer_ttl_s != change->before_ttl_s;
}

bool follow_is_retried(const struct view_row *row)
{
    static const enum reason retried[] = {
        REASON_SERVER_UNREACHABLE, REASON_SERVER_ERROR,   REASON_AUTHENTICATION_FAILED,
        REASON_RATE_LIMITED,       REASON_QUOTA_EXCEEDED,
    };
    for (size_t i = 0; i < COUNT_OF(retried); i++)
        if (!strcmp(row->reason, reason_name(retried[i])))
            return true;
    return false;
}

enum change_state follow_judge(const struct change *change)
{
    enum answer answer = change->row.answer;
    if (change->is_removal && answer == ANSWER_NONE)
        return CHANGE_DONE;
    if (change->is_removal)
        return answer == ANSWER_DIFFERS ? CHANGE_REPLACED : CHANGE_WAITING;
    return answer == ANSWER_OK && has_ttl_come(change) ? CHANGE_DONE : CHANGE_WAITING;
}

// ---- lines --------------------------------------------------------------------------------------

static const char *show_answer(const struct view_row *row)
{
    return row->answer == ANSWER_NONE ? "nothing" : row->answer_text;
}

static void write_answer(struct buffer *out, const char *before, const char *answer)
{
    buffer_add_text(out, before);
    print_cut(out, text_of(answer), PRINT_ANSWER_COLUMNS);
}

static void write_save(struct buffer *out, const struct save *save)
{
    if (save->is_deletion)
        buffer_printf(out, " after %s was deleted", save->path);
    else
        buffer_printf(out, " after the save of %s", save->path);
}

static void write_values(struct buffer *out, const struct change *change, const char *after)
{
    const char *before = change->before;
    buffer_printf(out, "%s  ", change->row.what);
    if (before && strcmp(before, after) != 0) {
        write_answer(out, "", before);
        buffer_add_text(out, " -> ");
    }
    write_answer(out, "", after);
    bool is_ttl = change->row.question.has_ttl || change->before_ttl_s;
    if (is_ttl && before && !strcmp(before, after) && change->row.answer == ANSWER_OK)
        buffer_printf(out, " (TTL now %" PRIu32 ")", change->row.answer_ttl_s);
}

static void write_latency(struct buffer *out, int64_t latency_ms)
{
    if (latency_ms >= LONG_MS)
        buffer_printf(out, " %.1f s", (double)latency_ms / 1000);
    else
        buffer_printf(out, " %" PRId64 " ms", latency_ms > 0 ? latency_ms : 0);
}

void follow_write_change(struct buffer *out, const struct change *change, int64_t answered_ms)
{
    write_values(out, change, show_answer(&change->row));
    buffer_add_text(out, "  answered");
    if (change->save) {
        write_latency(out, answered_ms - change->save->at_ms);
        write_save(out, change->save);
    }
    if (change->is_quiet)
        buffer_printf(out, ", for %s", strchr(change->row.object, '/') + 1);
}

void follow_write_overdue(struct buffer *out, const struct change *change, int64_t waited_s)
{
    buffer_printf(out, "%s  not %s within %" PRId64 " s", change->row.what,
                  change->is_removal ? "gone" : "answered as declared", waited_s);
    if (change->save)
        write_save(out, change->save);
    write_answer(out, "; answered: ", show_answer(&change->row));
}

static void write_names(struct buffer *out, const struct view_row *row)
{
    buffer_printf(out, "%s  %s%s", row->object, row->what, *row->what ? "  " : "");
}

void follow_write_ready(struct buffer *out, const struct view_row *row)
{
    write_names(out, row);
    buffer_add_text(out, "ready");
}

void follow_write_row(struct buffer *out, const struct view_row *row)
{
    bool is_answered = row->answer == ANSWER_OK || row->answer == ANSWER_NOT_ASKED;
    if (row->is_right && is_answered) {
        follow_write_ready(out, row);
        return;
    }
    write_names(out, row);
    if (row->is_right)
        write_answer(out, "ready, but answered: ", show_answer(row));
    else
        buffer_printf(out, "%s: %s", row->reason, row->message);
    if (!row->is_right && row->answer == ANSWER_OK && !row->is_ahead)
        write_answer(out, "; still answered: ", row->answer_text);
}
