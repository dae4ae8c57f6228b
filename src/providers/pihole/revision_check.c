#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"
#include "providers/pihole/revision_private.h"

// What came of a revision: does it stand, and if not, whose line was refused?

struct hashes {
    uint64_t *at;
    size_t count;
    size_t capacity;
};

static void add_hash(struct hashes *hashes, uint64_t hash)
{
    mem_reserve(&hashes->at, &hashes->capacity, hashes->count + 1);
    hashes->at[hashes->count++] = hash;
}

// Pi-hole collapses runs of blanks and tabs.
static uint64_t hash_of(struct buffer *scratch, struct text text)
{
    bool is_behind_blank = false;
    text = text_trim(text);
    buffer_clear(scratch);
    for (size_t i = 0; i < text.len; i++) {
        bool is_blank = text.at[i] == ' ' || text.at[i] == '\t';
        if (!is_blank)
            buffer_add_char(scratch, text.at[i]);
        else if (!is_behind_blank)
            buffer_add_char(scratch, ' ');
        is_behind_blank = is_blank;
    }
    return hash_octets(scratch->at, scratch->len);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort(struct hashes *hashes)
{
    if (hashes->count)
        qsort(hashes->at, hashes->count, sizeof *hashes->at, compare);
}

// Our lines and theirs, as revised.
static void hash_revised(const struct layout *layout, struct buffer *scratch, struct hashes *ours,
                         struct hashes *theirs)
{
    for (size_t i = 0; i < layout->count; i++)
        add_hash(layout->at[i].is_ours ? ours : theirs, hash_of(scratch, layout->at[i].text));
    sort(ours);
}

// Takes theirs off in their order; what is left over has to be ours.
static bool hash_read(const struct value *texts, struct buffer *scratch,
                      const struct hashes *theirs, struct hashes *rest)
{
    size_t next = 0;
    value_each (text, texts) {
        if (text->type != VALUE_TEXT)
            return false;
        uint64_t hash = hash_of(scratch, text->text);
        if (next < theirs->count && theirs->at[next] == hash)
            next++;
        else
            add_hash(rest, hash);
    }
    sort(rest);
    return next == theirs->count;
}

static bool part_stands(const struct layout *layout, const struct value *texts)
{
    AUTO_BUFFER scratch = {0};
    struct hashes ours = {0}, theirs = {0}, rest = {0};
    if (texts && texts->type != VALUE_LIST)
        return false;
    hash_revised(layout, &scratch, &ours, &theirs);
    bool stands = hash_read(texts, &scratch, &theirs, &rest) && rest.count == ours.count &&
                  (rest.count == 0 || memcmp(rest.at, ours.at, rest.count * sizeof *rest.at) == 0);
    free(ours.at);
    free(theirs.at);
    free(rest.at);
    return stands;
}

bool revision_stands(const struct revision *revision, const struct value *hosts,
                     const struct value *cnames)
{
    const struct value *const texts[LIST_PARTS] = {[LIST_HOSTS] = hosts, [LIST_CNAMES] = cnames};
    for (enum list_part part = 0; part < LIST_PARTS; part++) {
        if (revision_changes_part(revision, part) &&
            !part_stands(&revision->parts[part], texts[part]))
            return false;
    }
    return true;
}

// ---- whose fault --------------------------------------------------------------------------------

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
