#include "providers/sample.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 63 };

// ---- pieces of a line ---------------------------------------------------------------------------

static void skip_blanks(struct text *rest)
{
    while (rest->len && (*rest->at == ' ' || *rest->at == '\t'))
        *rest = (struct text){rest->at + 1, rest->len - 1};
}

static bool take_char(struct text *rest, char mark)
{
    skip_blanks(rest);
    if (!rest->len || *rest->at != mark)
        return false;
    *rest = (struct text){rest->at + 1, rest->len - 1};
    return true;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == ':';
}

static bool take_name(struct text *rest, struct text *out)
{
    size_t len = 0;
    skip_blanks(rest);
    while (len < rest->len && is_name_char(rest->at[len]))
        len++;
    *out = (struct text){rest->at, len};
    *rest = (struct text){rest->at + len, rest->len - len};
    return len;
}

// Behind the first quote.
static bool take_quoted(struct text *rest, struct text *out)
{
    size_t len = 0;
    while (len < rest->len && rest->at[len] != '"')
        len += rest->at[len] == '\\' ? 2 : 1;
    if (len >= rest->len)
        return false;
    *out = (struct text){rest->at, len};
    *rest = (struct text){rest->at + len + 1, rest->len - len - 1};
    return true;
}

static bool take_label(struct text *rest, struct sample *out)
{
    if (out->label_count == SAMPLE_LABELS_MAX)
        return false;
    struct sample_label *label = &out->labels[out->label_count++];
    return take_name(rest, &label->name) && take_char(rest, '=') && take_char(rest, '"') &&
           take_quoted(rest, &label->value);
}

// Behind the brace. A comma may stand behind the last label.
static bool take_labels(struct text *rest, struct sample *out)
{
    while (!take_char(rest, '}')) {
        if (!take_label(rest, out))
            return false;
        if (!take_char(rest, ','))
            return take_char(rest, '}');
    }
    return true;
}

// A time may stand behind it.
static bool take_number(struct text *rest, double *out)
{
    char copy[NUMBER_MAX + 1] = {0};
    char *end;
    size_t len = 0;
    skip_blanks(rest);
    while (len < rest->len && rest->at[len] != ' ' && rest->at[len] != '\t')
        len++;
    if (!len || len > NUMBER_MAX)
        return false;
    memcpy(copy, rest->at, len);
    *out = strtod(copy, &end);
    return end == copy + len;
}

// ---- lines --------------------------------------------------------------------------------------

static bool read_line(struct text line, struct sample *out)
{
    out->label_count = 0;
    if (line.len && line.at[line.len - 1] == '\r')
        line.len--;
    return take_name(&line, &out->name) && (!take_char(&line, '{') || take_labels(&line, out)) &&
           take_number(&line, &out->value);
}

bool sample_next(struct text *rest, struct sample *out)
{
    struct text line;
    while (rest->len && text_cut(rest, '\n', &line))
        if (read_line(line, out))
            return true;
    return false;
}

static struct text unescape(struct arena *arena, struct text raw)
{
    char *out = arena_alloc(arena, raw.len + 1, 1);
    size_t len = 0;
    for (size_t i = 0; i < raw.len; i++) {
        bool is_escape = raw.at[i] == '\\' && i + 1 < raw.len;
        if (is_escape)
            i++;
        out[len++] = is_escape && raw.at[i] == 'n' ? '\n' : raw.at[i];
    }
    return (struct text){out, len};
}

struct text sample_label(struct arena *arena, const struct sample *sample, const char *name)
{
    for (size_t i = 0; i < sample->label_count; i++) {
        struct text value = sample->labels[i].value;
        if (text_is(sample->labels[i].name, name))
            return memchr(value.at, '\\', value.len) ? unescape(arena, value) : value;
    }
    return (struct text){0};
}
