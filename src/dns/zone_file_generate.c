#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dns/zone_file_private.h"

// $GENERATE start-stop[/step] owner [TTL] [class] type data: as BIND has it. In owner and data $ is
// the number, ${offset,width,radix} another form of it, \$ and $$ a dollar.

enum { LINE_OCTETS_MAX = 1 << 18, WIDTH_MAX = 255 };

struct range {
    int64_t start;
    int64_t stop;
    int64_t step;
};

// ---- the number ---------------------------------------------------------------------------------

static bool read_number(struct text text, int64_t least, int64_t *number)
{
    return text.len && text_to_int64(text, number) && *number >= least && *number <= INT32_MAX;
}

static bool read_range(struct text text, struct range *range)
{
    struct text rest = text;
    struct text numbers;
    struct text start;
    text_cut(&rest, '/', &numbers);
    text_cut(&numbers, '-', &start);
    range->step = 1;
    return read_number(start, 0, &range->start) &&
           read_number(numbers, range->start, &range->stop) &&
           (!rest.at || read_number(rest, 1, &range->step));
}

// Nibbles from the lowest one up, with dots between: the labels of ip6.arpa. Width counts the dots,
// so that an even one ends with a dot.
static void write_nibbles(struct buffer *out, uint64_t value, uint32_t width, bool is_upper)
{
    const char *digits = is_upper ? "0123456789ABCDEF" : "0123456789abcdef";
    do {
        buffer_add_char(out, digits[value & 15]);
        value >>= 4;
        width -= width > 0;
        if (!value && !width)
            return;
        buffer_add_char(out, '.');
        width -= width > 0;
    } while (value || width);
}

struct form {
    int64_t offset;
    uint32_t width;
    char radix;
};

static bool write_number(struct buffer *out, int64_t number, const struct form *form)
{
    if (number + form->offset < 0 || number + form->offset > INT32_MAX)
        return false;
    unsigned value = (unsigned)(number + form->offset);
    int width = (int)form->width;
    switch (form->radix) {
    case 'd':
        buffer_printf(out, "%0*u", width, value);
        return true;
    case 'o':
        buffer_printf(out, "%0*o", width, value);
        return true;
    case 'x':
        buffer_printf(out, "%0*x", width, value);
        return true;
    case 'X':
        buffer_printf(out, "%0*X", width, value);
        return true;
    default:
        write_nibbles(out, value, form->width, form->radix == 'N');
        return true;
    }
}

// "{offset[,width[,radix]]}" at *rest, which is behind it then.
static bool read_form(struct text *rest, struct form *form)
{
    struct text inner = {rest->at + 1, rest->len - 1};
    struct text behind = inner;
    struct text piece;
    int64_t width = 0;
    if (!text_cut(&behind, '}', &inner) || !behind.at)
        return false;
    text_cut(&inner, ',', &piece);
    if (!read_number(piece, -INT32_MAX, &form->offset))
        return false;
    if (text_cut(&inner, ',', &piece) && (!read_number(piece, 0, &width) || width > WIDTH_MAX))
        return false;
    form->width = (uint32_t)width;
    if (inner.at && (inner.len != 1 || !memchr("doxXnN", *inner.at, 6)))
        return false;
    form->radix = inner.at ? *inner.at : 'd';
    *rest = behind;
    return true;
}

// ---- the text -----------------------------------------------------------------------------------

static void skip(struct text *rest, size_t len)
{
    rest->at += len;
    rest->len -= len;
}

// Behind the dollar.
static bool expand_dollar(struct buffer *out, struct text *rest, int64_t number)
{
    struct form form = {.radix = 'd'};
    if (rest->len && *rest->at == '$') {
        skip(rest, 1);
        buffer_add_text(out, "\\$");
        return true;
    }
    if (rest->len && *rest->at == '{' && !read_form(rest, &form))
        return false;
    return write_number(out, number, &form);
}

static bool expand(struct buffer *out, struct text text, int64_t number)
{
    while (text.len) {
        char c = *text.at;
        size_t len = c == '\\' && text.len > 1 ? 2 : 1;
        if (out->len > LINE_OCTETS_MAX)
            return false;
        if (c != '$')
            buffer_add(out, text.at, len);
        skip(&text, len);
        if (c == '$' && !expand_dollar(out, &text, number))
            return false;
    }
    return true;
}

struct template
{
    struct zone_file_head head;
    struct rdata_word owner;
    struct rdata_word *words; // of the rdata
    size_t count;
    struct buffer owner_text;
    struct buffer line;
};

static void template_done(struct template *template)
{
    free(template->words);
    buffer_done(&template->owner_text);
    buffer_done(&template->line);
}

// Quotes around all of the data only hold it together.
static bool expand_all(struct template *template, int64_t number)
{
    buffer_clear(&template->owner_text);
    buffer_clear(&template->line);
    if (!expand(&template->owner_text, template->owner.text, number))
        return false;
    for (size_t i = 0; i < template->count; i++) {
        const char *quote = template->words[i].is_quoted && template->count > 1 ? "\"" : "";
        buffer_printf(&template->line, "%s%s", i ? " " : "", quote);
        if (!expand(&template->line, template->words[i].text, number))
            return false;
        buffer_add_text(&template->line, quote);
    }
    return true;
}

// ---- the entries --------------------------------------------------------------------------------

// In a source of its own: the data is read as if it stood in a file.
static bool emit(struct zone_file_reader *reader, const struct template *template)
{
    struct text line = buffer_text(&template->line);
    if (!zone_file_read_owner(reader, buffer_text(&template->owner_text))) {
        zone_file_report_error(reader, NULL);
        return false;
    }
    reader->source =
        (struct zone_file_source){reader->generator->file, line.at, line.at + line.len, line.at, 1};
    zone_file_scan(reader);
    if (reader->has_fault) {
        zone_file_report_error(reader, NULL);
        return false;
    }
    zone_file_emit(reader, &template->head, 0);
    return true;
}

// Stops at the first one that is wrong: the others would be, too.
static void emit_all(struct zone_file_reader *reader, struct template *template,
                     const struct range *range)
{
    for (int64_t number = range->start; number <= range->stop; number += range->step) {
        if (reader->generated_count == ZONE_FILE_GENERATED_MAX) {
            zone_file_report(reader, NULL, "Syntax", "more than %d entries are generated",
                             ZONE_FILE_GENERATED_MAX);
            return;
        }
        reader->generated_count++;
        if (!expand_all(template, number)) {
            zone_file_report(reader, NULL, "Syntax",
                             "$GENERATE does not work out for %lld: ${offset,width,radix} has a "
                             "radix of d, o, x, X, n or N, and no number is below 0",
                             (long long)number);
            return;
        }
        if (!emit(reader, template))
            return;
    }
}

static void generate(struct zone_file_reader *reader, struct template *template,
                     const struct range *range)
{
    struct zone_file_source source = reader->source;
    uint8_t owner[DNAME_MAX];
    struct dname name = reader->owner;
    enum zone_file_owner state = reader->owner_state;
    struct zone_file_place place = zone_file_place_of(reader, reader->words[0].text.at);
    memcpy(owner, reader->owner_octets, sizeof owner);
    reader->generator = &place;
    emit_all(reader, template, range);
    reader->generator = NULL;
    reader->owner_state = state;
    reader->owner = name;
    memcpy(reader->owner_octets, owner, sizeof owner);
    reader->source = source;
}

void zone_file_generate(struct zone_file_reader *reader)
{
    __attribute__((cleanup(template_done))) struct template template = {0};
    struct range range;
    size_t next = 3;
    if (reader->count < 5) {
        zone_file_report(reader, reader->words[0].text.at, "Syntax",
                         "$GENERATE needs a range, a name, a type and data");
        return;
    }
    if (!read_range(reader->words[1].text, &range)) {
        zone_file_report(reader, reader->words[1].text.at, "Syntax",
                         "expected a range, such as 1-100 or 0-254/2");
        return;
    }
    if (!zone_file_read_head(reader, &next, &template.head))
        return;
    template.owner = reader->words[2];
    template.count = reader->count - next;
    template.words = mem_copy(reader->words + next, template.count * sizeof *template.words);
    generate(reader, &template, &range);
}
