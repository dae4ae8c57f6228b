#include "controllers/ingress/problems.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "controllers/ingress/events.def"

enum { MORE_OCTETS = 24, VALUE_OCTETS = 120 };

static const struct {
    const char *reason;
    const char *event; // or NULL
} ranks[] = {
    {"PiholeRefusesUs", NULL},
    {"PiholeNamedTwice", NULL},
    {"PiholeReadOnly", NULL},
    {"PiholeSeatsExceeded", NULL},
    {"PiholeHung", NULL},
    {"PiholeUnreachable", NULL},
    {"GuardTripped", NULL},
    {"InvalidAnnotation", EVENT_INVALID_ANNOTATION},
    {"NoHosts", EVENT_NO_HOSTS},
    {"TargetsMissing", EVENT_TARGETS_MISSING},
    {"HostClaimed", EVENT_HOST_CLAIMED},
    {"NameTaken", EVENT_NAME_TAKEN},
    {"OwnedElsewhere", EVENT_OWNED_ELSEWHERE},
    {"RecordRefused", EVENT_RECORD_REFUSED},
    {"InvalidHost", EVENT_INVALID_HOST},
    {"TooManyHosts", EVENT_TOO_MANY_HOSTS},
};

// The worse the lower. Reasons that are not in the table concern a Pi-hole as a whole.
static size_t rank_of(const char *reason)
{
    for (size_t i = 0; i < COUNT_OF(ranks); i++)
        if (!strcmp(ranks[i].reason, reason))
            return i + 1;
    return 0;
}

const char *problem_event(const char *reason)
{
    size_t rank = rank_of(reason);
    return rank ? ranks[rank - 1].event : NULL;
}

// Where a problem goes; NULL: there is no room. Without room the last of the mildest gives way to a
// worse one.
static struct problem *find_slot(struct problems *problems, const char *reason)
{
    size_t mildest = 0;
    if (problems->count < PROBLEMS_MAX)
        return &problems->items[problems->count++];
    problems->more++;
    for (size_t i = 1; i < problems->count; i++)
        if (rank_of(problems->items[i].reason) >= rank_of(problems->items[mildest].reason))
            mildest = i;
    bool is_worse = rank_of(reason) < rank_of(problems->items[mildest].reason);
    return is_worse ? &problems->items[mildest] : NULL;
}

static const char *__attribute__((format(printf, 2, 0)))
print(struct arena *arena, const char *format, va_list args)
{
    AUTO_BUFFER raw = {0};
    AUTO_BUFFER clean = {0};
    buffer_vprintf(&raw, format, args);
    text_clean(&clean, buffer_text(&raw), SIZE_MAX);
    return arena_copy(arena, clean.at ? clean.at : "", clean.len);
}

// A and AAAA of one name often have the same to say, one behind the other.
static bool is_said(const struct problems *problems, const char *reason, const char *text)
{
    if (!problems->count)
        return false;
    const struct problem *last = &problems->items[problems->count - 1];
    return !strcmp(last->reason, reason) && !strcmp(last->text, text);
}

void problems_add(struct problems *problems, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = print(problems->arena, format, args);
    va_end(args);
    struct problem *problem = is_said(problems, reason, text) ? NULL : find_slot(problems, reason);
    if (problem)
        *problem = (struct problem){.reason = reason, .text = text};
}

void problems_add_value(struct problems *problems, const char *annotation, struct text value,
                        const char *format, ...)
{
    static const char reason[] = "InvalidAnnotation";
    struct problem *problem = find_slot(problems, reason);
    AUTO_BUFFER clean = {0};
    va_list args;
    if (!problem)
        return;
    va_start(args, format);
    const char *error = print(problems->arena, format, args);
    va_end(args);
    text_clean(&clean, value, VALUE_OCTETS);
    *problem = (struct problem){
        .reason = reason,
        .text = arena_printf(problems->arena, "%s: %s", annotation, error),
        .annotation = annotation,
        .value = text_of(arena_copy(problems->arena, clean.at ? clean.at : "", clean.len)),
        .error = error,
    };
}

// Stable, and the list is short.
void problems_sort(struct problems *problems)
{
    for (size_t i = 1; i < problems->count; i++) {
        struct problem moving = problems->items[i];
        size_t at = i;
        for (; at && rank_of(problems->items[at - 1].reason) > rank_of(moving.reason); at--)
            problems->items[at] = problems->items[at - 1];
        problems->items[at] = moving;
    }
}

// ---- texts --------------------------------------------------------------------------------------

struct writing {
    struct buffer *out;
    size_t limit;
    size_t left_out;
};

static bool begins_reason(const struct problems *problems, size_t from, size_t at)
{
    return at == from || strcmp(problems->items[at].reason, problems->items[at - 1].reason) != 0;
}

// The first stands there in any case, cut if need be.
static void write_one(struct writing *writing, const struct problems *problems, size_t from,
                      size_t at)
{
    const struct problem *problem = &problems->items[at];
    const char *reason = begins_reason(problems, from, at) ? problem->reason : "";
    AUTO_BUFFER item = {0};
    buffer_printf(&item, "%s%s%s%s", writing->out->len ? "; " : "", reason, *reason ? ": " : "",
                  problem->text);
    size_t room = writing->limit - MORE_OCTETS - writing->out->len;
    struct text text = buffer_text(&item);
    if (text.len > room && writing->out->len) {
        writing->left_out++;
        return;
    }
    text = utf8_prefix(text, room);
    buffer_add(writing->out, text.at, text.len);
}

static const char *write_some(const struct problems *problems, size_t from, size_t end,
                              size_t limit, size_t more)
{
    AUTO_BUFFER out = {0};
    struct writing writing = {&out, limit, more};
    for (size_t i = from; i < end; i++) {
        if (writing.left_out > more)
            writing.left_out++;
        else
            write_one(&writing, problems, from, i);
    }
    if (writing.left_out)
        buffer_printf(&out, "; and %zu more", writing.left_out);
    return arena_copy(problems->arena, out.at, out.len);
}

const char *problems_status(const struct problems *problems)
{
    if (!problems->count)
        return NULL;
    return write_some(problems, 0, problems->count, PROBLEM_STATUS_OCTETS, problems->more);
}

const char *problems_group(const struct problems *problems, size_t at, size_t limit, size_t *end)
{
    for (*end = at + 1; *end < problems->count && !begins_reason(problems, at, *end);)
        ++*end;
    return write_some(problems, at, *end, limit, 0);
}
