#include <stdarg.h>
#include <string.h>

#include "dns/zone_file_private.h"

enum octet { PLAIN, BLANK, LINE_END, RETURN, QUOTE, OPEN, CLOSE, COMMENT, ESCAPE, CONTROL };

static const uint8_t octets[256] = {
    [0 ... 8] = CONTROL, ['\t'] = BLANK,        ['\n'] = LINE_END, [11 ... 12] = CONTROL,
    ['\r'] = RETURN,     [14 ... 31] = CONTROL, [' '] = BLANK,     ['"'] = QUOTE,
    ['('] = OPEN,        [')'] = CLOSE,         [';'] = COMMENT,   ['\\'] = ESCAPE,
    [127] = CONTROL,
};

static enum octet octet_at(const char *at)
{
    return octets[(uint8_t)*at];
}

// ---- places and faults --------------------------------------------------------------------------

struct zone_file_place zone_file_place_of(const struct zone_file_reader *reader, const char *at)
{
    if (reader->generator)
        return *reader->generator;
    struct zone_file_place place = {reader->source.file, reader->entry_line, 0};
    const char *line_at = reader->entry_line_at;
    const char *end;
    while ((end = memchr(line_at, '\n', (size_t)(at - line_at)))) {
        line_at = end + 1;
        place.line++;
    }
    place.column = (uint32_t)(at - line_at) + 1;
    return place;
}

void zone_file_report_error(struct zone_file_reader *reader, const char *at)
{
    struct zone_file_place place = zone_file_place_of(reader, at);
    reader->calls->fault(reader->calls->context, place.file, place.line, place.column,
                         &reader->err);
}

void zone_file_report(struct zone_file_reader *reader, const char *at, const char *reason,
                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_setv(&reader->err, FAULT_SPEC, reason, format, args);
    va_end(args);
    zone_file_report_error(reader, at);
}

// The first one of an entry counts.
static bool is_first(struct zone_file_reader *reader, const char *at)
{
    if (reader->has_fault)
        return false;
    reader->has_fault = true;
    reader->fault_at = at;
    return true;
}

static void refuse(struct zone_file_reader *reader, const char *at, const char *text)
{
    if (is_first(reader, at))
        error_set(&reader->err, FAULT_SPEC, "Syntax", "%s", text);
}

static void refuse_octet(struct zone_file_reader *reader, const char *at)
{
    if (is_first(reader, at))
        error_set(&reader->err, FAULT_SPEC, "Syntax",
                  "octet %u may not stand here: write it as \\%03u", (uint8_t)*at, (uint8_t)*at);
}

// ---- words --------------------------------------------------------------------------------------

static void add_word(struct zone_file_reader *reader, const char *from, const char *end,
                     bool is_quoted)
{
    if (reader->has_fault || reader->has_too_many_words)
        return;
    if (reader->count == ZONE_FILE_WORDS_MAX) {
        reader->has_too_many_words = true;
        return;
    }
    mem_reserve(&reader->words, &reader->capacity, reader->count + 1);
    reader->words[reader->count++] = (struct rdata_word){{from, (size_t)(end - from)}, is_quoted};
}

static bool is_line_end(const char *at)
{
    return *at == '\n' || *at == '\r';
}

// Behind the backslash and what it escapes, which is never the end of a line.
static const char *skip_escape(const char *at, const char *end)
{
    at++;
    return at < end && !is_line_end(at) && octet_at(at) != CONTROL ? at + 1 : at;
}

// Behind the closing quote; the line's end or a control octet, where it is missing.
static const char *skip_quoted(struct zone_file_reader *reader, const char *open)
{
    const char *end = reader->source.end;
    const char *at = open + 1;
    while (at < end) {
        enum octet octet = octet_at(at);
        if (octet == QUOTE)
            return at + 1;
        if (octet == LINE_END || octet == RETURN)
            break;
        if (octet == CONTROL)
            refuse_octet(reader, at);
        at = octet == ESCAPE ? skip_escape(at, end) : at + 1;
    }
    refuse(reader, open, "this quote is not closed on its line");
    return at;
}

static const char *take_quoted(struct zone_file_reader *reader, const char *open)
{
    const char *behind = skip_quoted(reader, open);
    add_word(reader, open + 1, behind - 1, true);
    return behind;
}

static const char *take_word(struct zone_file_reader *reader, const char *from)
{
    const char *end = reader->source.end;
    const char *at = from;
    while (at < end) {
        enum octet octet = octet_at(at);
        if (octet == PLAIN)
            at++;
        else if (octet == ESCAPE)
            at = skip_escape(at, end);
        else
            break;
    }
    add_word(reader, from, at, false);
    return at;
}

// ---- entries ------------------------------------------------------------------------------------

struct group {
    size_t depth; // of parentheses
    const char *open_at;
};

static const char *take_parenthesis(struct zone_file_reader *reader, struct group *group,
                                    const char *at)
{
    if (*at == '(') {
        if (!group->depth++)
            group->open_at = at;
    } else if (group->depth) {
        group->depth--;
    } else {
        refuse(reader, at, "this parenthesis closes none");
    }
    return at + 1;
}

static const char *take_return(struct zone_file_reader *reader, const char *at)
{
    if (at + 1 < reader->source.end && at[1] != '\n')
        refuse_octet(reader, at);
    return at + 1;
}

static const char *skip_comment(const struct zone_file_reader *reader, const char *at)
{
    const char *end = memchr(at, '\n', (size_t)(reader->source.end - at));
    return end ? end : reader->source.end;
}

static const char *take_line_end(struct zone_file_reader *reader, const char *at)
{
    reader->source.line++;
    reader->source.line_at = at + 1;
    return at + 1;
}

static const char *take_control(struct zone_file_reader *reader, const char *at)
{
    refuse_octet(reader, at);
    return at + 1;
}

// One word, mark or blank.
static const char *take(struct zone_file_reader *reader, struct group *group, const char *at)
{
    switch (octet_at(at)) {
    case PLAIN:
    case ESCAPE:
        return take_word(reader, at);
    case BLANK:
        return at + 1;
    case LINE_END:
        return take_line_end(reader, at);
    case RETURN:
        return take_return(reader, at);
    case QUOTE:
        return take_quoted(reader, at);
    case OPEN:
    case CLOSE:
        return take_parenthesis(reader, group, at);
    case COMMENT:
        return skip_comment(reader, at);
    case CONTROL:
        break;
    }
    return take_control(reader, at);
}

static void begin(struct zone_file_reader *reader)
{
    reader->entry_at = reader->source.at;
    reader->entry_line = reader->source.line;
    reader->entry_line_at = reader->source.line_at;
    reader->begins_blank = octet_at(reader->source.at) == BLANK;
    reader->has_fault = reader->has_too_many_words = false;
    reader->count = 0;
}

static void end(struct zone_file_reader *reader, const struct group *group)
{
    if (group->depth)
        refuse(reader, group->open_at, "this parenthesis is not closed");
    if (reader->has_too_many_words && is_first(reader, reader->entry_at))
        error_set(&reader->err, FAULT_SPEC, "Syntax", "the entry has more than %d words",
                  ZONE_FILE_WORDS_MAX);
}

void zone_file_scan(struct zone_file_reader *reader)
{
    const char *at = reader->source.at;
    struct group group = {0};
    bool is_over = false;
    begin(reader);
    while (at < reader->source.end && !is_over) {
        is_over = *at == '\n' && !group.depth;
        at = take(reader, &group, at);
    }
    reader->source.at = at;
    end(reader, &group);
}
