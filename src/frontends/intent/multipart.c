#include "frontends/intent/multipart.h"

#include <string.h>
#include <strings.h>

enum { BOUNDARY_MAX = 70, PART_NAME_MAX = 64 };

static bool refuse_parts(struct error *err, int status, const char *text)
{
    error_set(err, FAULT_SPEC, "Invalid", "%s", text);
    err->status = status;
    return false;
}

static bool refuse_part(struct error *err, struct text name, const char *why)
{
    AUTO_BUFFER shown = {0};
    text_clean(&shown, name.at ? name : TEXT(""), PART_NAME_MAX);
    error_set(err, FAULT_SPEC, "Invalid", "part \"%s\": %s", buffer_text(&shown).at, why);
    err->status = 400;
    return false;
}

bool multipart_is(const char *content_type)
{
    static const char type[] = "multipart/form-data";
    return content_type && !strncasecmp(content_type, type, sizeof type - 1);
}

// The value of `name=value` or `name="value"` among a header's parameters; absent: there is none.
static struct text find_parameter(struct text header, const char *name)
{
    struct text piece;
    size_t len = strlen(name);
    while (text_cut(&header, ';', &piece)) {
        piece = text_trim(piece);
        if (piece.len <= len || strncasecmp(piece.at, name, len) != 0 || piece.at[len] != '=')
            continue;
        struct text value = {piece.at + len + 1, piece.len - len - 1};
        if (value.len >= 2 && value.at[0] == '"' && value.at[value.len - 1] == '"')
            value = (struct text){value.at + 1, value.len - 2};
        return value;
    }
    return (struct text){0};
}

// Where `mark` stands in the rest; NULL: nowhere.
static const char *find_mark(struct text rest, const char *mark)
{
    return rest.len ? memmem(rest.at, rest.len, mark, strlen(mark)) : NULL;
}

static struct text rest_from(struct text whole, const char *at)
{
    return (struct text){at, whole.len - (size_t)(at - whole.at)};
}

// The name of a part, out of its header lines.
static struct text part_name(struct text head)
{
    static const char disposition[] = "content-disposition:";
    struct text line;
    while (text_cut(&head, '\n', &line))
        if (line.len > sizeof disposition &&
            !strncasecmp(line.at, disposition, sizeof disposition - 1))
            return find_parameter(text_trim(line), "name");
    return (struct text){0};
}

static bool take_part(struct text part, struct multipart *out, struct error *err)
{
    const char *blank = find_mark(part, "\r\n\r\n");
    if (!blank)
        return refuse_parts(err, 400, "a part of the body has no end of its headers");
    struct text name = part_name((struct text){part.at, (size_t)(blank - part.at)});
    struct text content = rest_from(part, blank + 4);
    bool is_metadata = text_is(name, "metadata");
    struct text *taken = is_metadata ? &out->metadata : &out->file;
    if (!is_metadata && !text_is(name, "file"))
        return refuse_part(err, name, "unknown; metadata and file are taken");
    if (taken->at)
        return refuse_part(err, name, "stands there twice");
    *taken = content;
    if (out->file.len > MULTIPART_FILE_MAX)
        return refuse_parts(err, 413, "the part file has more than 262144 octets");
    return true;
}

bool multipart_read(struct arena *arena, const char *content_type, struct text octets,
                    struct multipart *out, struct error *err)
{
    struct text boundary = find_parameter(text_of(content_type), "boundary");
    *out = (struct multipart){0};
    if (!boundary.len || boundary.len > BOUNDARY_MAX)
        return refuse_parts(err, 400, "Content-Type needs a boundary of 1 to 70 octets");
    const char *first = arena_printf(arena, "--%.*s", TEXT_ARGS(boundary));
    const char *mark = arena_printf(arena, "\r\n%s", first);
    const char *at = find_mark(octets, first);
    struct text rest = at ? rest_from(octets, at + strlen(first)) : (struct text){0};
    while (!text_starts(rest, "--")) {
        const char *end = find_mark(rest, mark);
        if (!text_starts(rest, "\r\n") || !end)
            return refuse_parts(err, 400, "the body ends before its closing boundary");
        // The line end behind the boundary also begins a part that has no headers.
        struct text part = {rest.at, (size_t)(end - rest.at)};
        rest = rest_from(rest, end + strlen(mark));
        if (!take_part(part, out, err))
            return false;
    }
    if (!out->metadata.at)
        return refuse_parts(err, 400, "Empty body");
    return true;
}
