#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "providers/pihole/revision_private.h"

// A write of a revision was refused: whose line is it?

// "dns.hosts[4]: invalid hostname": the part, the index, what is behind.
static bool read_hint(const char *hint, enum list_part *part, size_t *index, struct text *why)
{
    for (*part = LIST_HOSTS; *part < LIST_PARTS; (*part)++) {
        char mark[32];
        snprintf(mark, sizeof mark, "dns.%s[", list_part_key(*part));
        const char *at = hint ? strstr(hint, mark) : NULL;
        const char *from = at ? at + strlen(mark) : NULL;
        const char *end = from ? strchr(from, ']') : NULL;
        int64_t number;
        if (!end || !text_to_int64((struct text){from, (size_t)(end - from)}, &number) ||
            number < 0)
            continue;
        *index = (size_t)number;
        *why = text_of(end + 1);
        if (text_starts(*why, ":"))
            *why = (struct text){why->at + 1, why->len - 1};
        *why = text_trim(*why);
        return true;
    }
    return false;
}

static struct blame blame_changes(const struct revised *revised, enum list_part part,
                                  struct text why)
{
    return (struct blame){.kind = BLAME_CHANGES,
                          .part = part,
                          .text = revised->text,
                          .why = why,
                          .changes = revised->changes,
                          .change_count = revised->change_count};
}

static struct blame blame_line(const struct revision *revision, enum list_part part, size_t line,
                               struct text why)
{
    const struct line *at = &revision->list->parts[part].at[line];
    return (struct blame){.kind = at->whose == WHOSE_OURS ? BLAME_OLD : BLAME_FOREIGN,
                          .part = part,
                          .line = line,
                          .text = at->text,
                          .why = why};
}

static struct blame blame_patch(const struct revision *revision, const struct write *write,
                                enum list_part part, size_t index, struct text why)
{
    const struct layout *layout = &revision->parts[part];
    if (!write->writes[part] || index >= layout->count)
        return (struct blame){.kind = BLAME_UNKNOWN, .why = why};
    const struct revised *revised = &layout->at[index];
    if (revised->change_count)
        return blame_changes(revised, part, why);
    if (revised->line != LIST_NONE)
        return blame_line(revision, part, revised->line, why);
    return (struct blame){.kind = BLAME_UNKNOWN, .why = why};
}

struct blame revision_blame(const struct revision *revision, size_t i, const char *hint)
{
    must(i < revision->write_count);
    const struct write *write = &revision->writes[i];
    enum list_part part;
    size_t index;
    struct text why;
    if (!read_hint(hint, &part, &index, &why)) {
        part = write->part;
        index = SIZE_MAX;
        why = text_of(hint);
    }
    if (write->verb == REVISION_PATCH)
        return blame_patch(revision, write, part, index, why);
    // Pi-hole judges the whole list with the new line at its end.
    if (part == write->part && index < revision->list->parts[part].count)
        return blame_line(revision, part, index, why);
    if (write->from && write->from->change_count)
        return blame_changes(write->from, write->part, why);
    return (struct blame){.kind = BLAME_UNKNOWN, .why = why};
}
