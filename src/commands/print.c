#include "commands/print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool wants_colour(void)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return !(no_colour && *no_colour) && !(term && !strcmp(term, "dumb"));
}

struct terminal terminal_of(int fd)
{
    struct winsize size = {0};
    if (!isatty(fd))
        return (struct terminal){0};
    struct terminal terminal = {
        .is_terminal = true, .has_colour = wants_colour(), .columns = 80, .rows = 24};
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row) {
        terminal.columns = size.ws_col;
        terminal.rows = size.ws_row;
    }
    return terminal;
}

bool print_out(const struct buffer *text, struct error *err)
{
    struct text rest = buffer_text(text);
    while (rest.len) {
        ssize_t written = write(STDOUT_FILENO, rest.at, rest.len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return error_set_errno(err, errno, "cannot write to standard output");
        rest.at += written;
        rest.len -= (size_t)written;
    }
    return true;
}

static void begin_line(struct buffer *out, unsigned indent)
{
    buffer_printf(out, "%*s", (int)indent, "");
}

static void wrap_paragraph(struct buffer *out, struct text words, unsigned indent, unsigned columns)
{
    struct text word;
    size_t at = 0;
    while (text_cut(&words, ' ', &word)) {
        size_t width = print_columns(word);
        if (!width)
            continue;
        if (at && at + 1 + width > columns) {
            buffer_add_char(out, '\n');
            at = 0;
        }
        if (at)
            buffer_add_char(out, ' ');
        else
            begin_line(out, indent);
        at += (at ? 1 : indent) + width;
        buffer_add(out, word.at, word.len);
    }
    buffer_add_char(out, '\n');
}

void print_wrapped(struct buffer *out, const char *text, unsigned indent, unsigned columns)
{
    struct text rest = text_of(text);
    struct text paragraph;
    while (text_cut(&rest, '\n', &paragraph)) {
        if (paragraph.len)
            wrap_paragraph(out, paragraph, indent, columns);
        else if (rest.at)
            buffer_add_char(out, '\n');
    }
}

size_t print_columns(struct text text)
{
    size_t columns = 0;
    for (size_t i = 0; i < text.len; i++)
        columns += ((unsigned char)text.at[i] & 0xC0) != 0x80;
    return columns;
}

void print_padded(struct buffer *out, struct text text, size_t columns)
{
    size_t used = print_columns(text);
    buffer_add(out, text.at, text.len);
    buffer_printf(out, "%*s", used < columns ? (int)(columns - used) : 0, "");
}

static size_t octets_of(struct text text, size_t columns)
{
    size_t at = 0;
    while (at < text.len && (columns || ((unsigned char)text.at[at] & 0xC0) == 0x80)) {
        columns -= ((unsigned char)text.at[at] & 0xC0) != 0x80;
        at++;
    }
    return at;
}

void print_cut(struct buffer *out, struct text text, size_t columns)
{
    if (print_columns(text) <= columns) {
        buffer_add(out, text.at, text.len);
        return;
    }
    size_t kept = columns > 3 ? columns - 3 : 0;
    buffer_add(out, text.at, octets_of(text, kept));
    buffer_add(out, "...", columns < 3 ? columns : 3);
}

void print_count(struct buffer *out, size_t count, const char *noun)
{
    buffer_printf(out, "%zu %s%s", count, noun, count == 1 ? "" : "s");
}
