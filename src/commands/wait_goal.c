#include "commands/wait_goal.h"

#include <string.h>

enum { SHOWN_OCTETS_MAX = 1024, NAMES_MAX = 256 };

// ---- the goal -----------------------------------------------------------------------------------

static bool is_word(struct text text, const char *word)
{
    return text_equal_nocase(text, text_of(word));
}

bool wait_goal_read(struct wait_goal *goal, struct text text, struct error *err)
{
    struct text rest = text, word;
    text_cut(&rest, '=', &word);
    *goal = (struct wait_goal){.what = WAIT_DECLARED};
    if (!rest.at && is_word(word, "declared"))
        return true;
    if (!rest.at && (is_word(word, "delete") || is_word(word, "deleted"))) {
        goal->what = WAIT_DELETED;
        return true;
    }
    *goal = (struct wait_goal){.what = WAIT_CONDITION, .type = word, .status = TEXT("True")};
    if (rest.at && is_word(word, "condition"))
        text_cut(&rest, '=', &goal->type);
    if (rest.at)
        goal->status = rest;
    if (goal->type.len && goal->status.len && !is_word(goal->type, "jsonpath"))
        return true;
    return error_set(err, FAULT_SPEC, "",
                     "expected declared, delete, condition=TYPE, condition=TYPE=STATUS, or the "
                     "TYPE of a condition");
}

// ---- targets ------------------------------------------------------------------------------------

static bool is_named(const struct kind *kind, struct text name)
{
    bool is_short = false;
    for (size_t i = 0; kind->short_names && kind->short_names[i]; i++)
        is_short = is_short || is_word(name, kind->short_names[i]);
    return is_short || is_word(name, kind->name) || is_word(name, kind->plural) ||
           is_word(name, kind->singular);
}

// The kind is written with its group behind a dot, or without it.
static bool find_kind(const struct wait_scope *scope, struct text written, const struct kind **out)
{
    struct text group = written, name;
    text_cut(&group, '.', &name);
    for (size_t i = 0; i < scope->kind_count; i++) {
        const struct kind *kind = scope->kinds[i];
        if (!is_named(kind, name) || (group.at && !is_word(group, kind->group)))
            continue;
        *out = kind;
        return true;
    }
    return false;
}

static bool refuse_kind(const struct wait_scope *scope, struct text written, struct error *err)
{
    const char *names[NAMES_MAX];
    AUTO_BUFFER list = {0};
    size_t count = 0;
    for (; count < scope->kind_count && count < NAMES_MAX; count++) {
        names[count] = scope->kinds[count]->name;
        buffer_printf(&list, "%s%s", count ? ", " : "", names[count]);
    }
    const char *nearest = text_nearest(written, names, count);
    return error_set(err, FAULT_SPEC, "", "there is no kind %.*s%s%s%s; the kinds are %s",
                     TEXT_ARGS(written), nearest ? " (did you mean " : "", nearest ? nearest : "",
                     nearest ? "?)" : "", list.at ? list.at : "none");
}

static bool check_condition(const struct kind *kind, struct text type, struct error *err)
{
    AUTO_BUFFER list = {0};
    const char *const *types = kind->condition_types;
    for (size_t i = 0; types && types[i]; i++) {
        if (is_word(type, types[i]))
            return true;
        buffer_printf(&list, "%s%s", i ? ", " : "", types[i]);
    }
    return error_set(err, FAULT_SPEC, "", "%s has no condition %.*s; it has %s", kind->name,
                     TEXT_ARGS(type), list.at ? list.at : "none: leave --for out");
}

bool wait_target_read(struct wait_target *target, struct arena *arena,
                      const struct wait_scope *scope, struct text text,
                      const struct wait_goal *goal, struct error *err)
{
    struct text rest = text, kind, first;
    text_cut(&rest, '/', &kind);
    if (!text_cut(&rest, '/', &first) || !first.len ||
        (rest.at && (!rest.len || memchr(rest.at, '/', rest.len))))
        return error_set(err, FAULT_SPEC, "", "%.*s: expected KIND/NAMESPACE/NAME or KIND/NAME",
                         TEXT_ARGS(text));
    if (!find_kind(scope, kind, &target->kind))
        return refuse_kind(scope, kind, err);
    if (rest.at && !target->kind->is_namespaced)
        return error_set(err, FAULT_SPEC, "", "%.*s: objects of kind %s are in no namespace",
                         TEXT_ARGS(text), target->kind->name);
    target->name = rest.at ? rest : first;
    target->namespace_ = !target->kind->is_namespaced ? TEXT("")
                         : rest.at                    ? first
                                                      : scope->namespace_;
    target->object =
        arena_printf(arena, "%s/%.*s%s%.*s", target->kind->name, TEXT_ARGS(target->namespace_),
                     target->namespace_.len ? "/" : "", TEXT_ARGS(target->name));
    return goal->what != WAIT_CONDITION || check_condition(target->kind, goal->type, err);
}

// ---- judging ------------------------------------------------------------------------------------

static void add_reason(struct buffer *out, struct text reason, struct text message)
{
    bool has_reason = reason.len && !text_is(reason, "-");
    buffer_add_text(out, has_reason || message.len ? ": " : "");
    if (has_reason)
        buffer_printf(out, "%.*s%s", TEXT_ARGS(reason), message.len ? ": " : "");
    text_clean(out, message, SHOWN_OCTETS_MAX);
}

static bool judge_declared(const struct view_row *row, struct buffer *out)
{
    buffer_add_text(out, row->is_right ? " is as declared" : " is not as declared");
    add_reason(out, text_of(row->reason), text_of(row->message));
    return row->is_right;
}

static const struct value *find_condition(const struct view_row *row, struct text type)
{
    value_each (item, value_list_at(row->tree, "status.conditions"))
        if (text_equal_nocase(value_text_at(item, "type"), type))
            return item;
    return NULL;
}

// A condition of an earlier generation says nothing of what the object asks for now.
static bool judge_condition(const struct wait_goal *goal, const struct view_row *row,
                            struct buffer *out)
{
    const struct value *condition = find_condition(row, goal->type);
    int64_t generation = value_int_at(row->tree, "metadata.generation", 0);
    if (!condition || row->is_refused ||
        value_int_at(condition, "observedGeneration", generation) < generation) {
        buffer_printf(out, " has no condition %.*s of what it asks for now", TEXT_ARGS(goal->type));
        add_reason(out, (struct text){0}, text_of(row->message));
        return false;
    }
    struct text status = value_text_at(condition, "status");
    buffer_printf(out, " has %.*s=%.*s", TEXT_ARGS(value_text_at(condition, "type")),
                  TEXT_ARGS(status));
    add_reason(out, value_text_at(condition, "reason"), value_text_at(condition, "message"));
    return text_equal_nocase(status, goal->status);
}

bool wait_judge(const struct wait_goal *goal, const struct wait_target *target,
                const struct view_row *row, struct buffer *out)
{
    bool is_deletion = goal->what == WAIT_DELETED;
    buffer_add_text(out, target->object);
    if (!row) {
        buffer_add_text(out, is_deletion ? " is not there" : " is not there: nothing declares it");
        return is_deletion;
    }
    if (is_deletion) {
        buffer_add_text(out, " is still there");
        add_reason(out, text_of(row->is_right ? "" : row->reason),
                   text_of(row->is_right ? "" : row->message));
        return false;
    }
    return goal->what == WAIT_CONDITION ? judge_condition(goal, row, out)
                                        : judge_declared(row, out);
}
