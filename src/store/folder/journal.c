#include "store/folder/journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/value.h"
#include "store/folder/name.h"
#include "store/folder/ours.h"

enum { READ_OCTETS_MAX = 256 * 1024 * 1024 };

void journal_init(struct journal *journal, struct disk *disk, const char *path)
{
    journal->disk = disk;
    journal->path = mem_copy_text(path);
}

static void close_file(struct journal *journal)
{
    disk_append_close(journal->disk, journal->file);
    journal->file = NULL;
}

void journal_done(struct journal *journal)
{
    close_file(journal);
    free(journal->path);
}

// A line that was torn by a crash must not swallow the next one.
static bool end_torn_line(struct journal *journal, struct error *err)
{
    AUTO_BUFFER text = {0};
    if (!disk_read(&text, journal->path, READ_OCTETS_MAX, err))
        return false;
    journal->octets = text.len;
    if (!text.len || text.at[text.len - 1] == '\n')
        return true;
    journal->octets++;
    return disk_append(journal->disk, journal->file, TEXT("\n"), err);
}

static bool open_file(struct journal *journal, struct error *err)
{
    if (journal->file)
        return true;
    journal->file = disk_append_open(journal->disk, journal->path, 0600, err);
    if (!journal->file)
        return false;
    if (end_torn_line(journal, err) && disk_stat(journal->path, &journal->opened, err))
        return true;
    close_file(journal);
    return false;
}

// A file without a name is lost at the end of the process.
static bool is_in_place(const struct journal *journal, struct error *err)
{
    struct disk_stat found = {0};
    const struct disk_stat *opened = &journal->opened;
    if (!journal->file || (disk_stat(journal->path, &found, NULL) &&
                           found.device == opened->device && found.inode == opened->inode))
        return true;
    return error_set(err, FAULT_AGAIN, "SystemError",
                     "cannot write %s: it was removed or replaced; it is being made anew",
                     journal->path);
}

static bool append(struct journal *journal, struct text lines, struct error *err)
{
    return is_in_place(journal, err) && open_file(journal, err) &&
           disk_append(journal->disk, journal->file, lines, err) &&
           disk_sync(journal->disk, journal->file, err);
}

bool journal_is_suspect(const struct journal *journal)
{
    return journal->fault.fault != FAULT_NONE;
}

bool journal_append(struct journal *journal, struct text lines, struct error *err)
{
    if (!journal_is_suspect(journal) && append(journal, lines, &journal->fault)) {
        journal->octets += lines.len;
        return true;
    }
    if (err)
        *err = journal->fault;
    return false;
}

bool journal_renew(struct journal *journal, size_t covered, struct error *err)
{
    AUTO_BUFFER text = {0};
    struct error local = {0};
    if (!disk_read(&text, journal->path, READ_OCTETS_MAX, &local) && local.status != ENOENT) {
        if (err)
            *err = local;
        return false;
    }
    struct text tail = buffer_text(&text);
    size_t cut = covered < tail.len ? covered : tail.len;
    tail = (struct text){tail.at + cut, tail.len - cut};
    if (!disk_replace(journal->disk, journal->path, tail, 0600, true, err))
        return false;
    close_file(journal);
    journal->octets = tail.len;
    error_clear(&journal->fault);
    return true;
}

// ---- index --------------------------------------------------------------------------------------

// Takes `literal` off the front.
static bool skip(struct text *rest, const char *literal)
{
    size_t len = strlen(literal);
    if (rest->len < len || memcmp(rest->at, literal, len) != 0)
        return false;
    *rest = (struct text){rest->at + len, rest->len - len};
    return true;
}

// A text in quotes without any escape.
static bool take_plain(struct text *rest, struct text *out)
{
    const char *end = rest->len ? memchr(rest->at, '"', rest->len) : NULL;
    if (!end || end == rest->at || memchr(rest->at, '\\', (size_t)(end - rest->at)))
        return false;
    *out = (struct text){rest->at, (size_t)(end - rest->at)};
    *rest = (struct text){end + 1, rest->len - out->len - 1};
    return true;
}

static bool take_version(struct text *rest, uint64_t *out)
{
    int64_t version;
    size_t len = 0;
    while (len < rest->len && rest->at[len] >= '0' && rest->at[len] <= '9')
        len++;
    if (!text_to_int64((struct text){rest->at, len}, &version) || version <= 0)
        return false;
    *out = (uint64_t)version;
    *rest = (struct text){rest->at + len, rest->len - len};
    return true;
}

// The usual line says at its front whose it is.
static bool skim_item(struct text line, struct journal_item *out)
{
    struct text rest = line;
    if (!text_ends(line, "}") || !skip(&rest, "{\"key\":\"") || !take_plain(&rest, &out->key) ||
        !skip(&rest, ",\"version\":") || !take_version(&rest, &out->version) ||
        !skip(&rest, ",\"file\":\"") || !take_plain(&rest, &out->path))
        return false;
    out->is_gone = skip(&rest, ",\"gone\":true");
    return true;
}

static bool read_item(struct arena *arena, struct text line, struct journal_item *out)
{
    const struct value *tree = value_read_json(arena, line, &ours_limits, NULL);
    int64_t version = value_int_at(tree, "version", 0);
    out->key = value_text_at(tree, "key");
    out->path = value_text_at(tree, "file");
    out->version = (uint64_t)version;
    out->is_gone = value_bool_at(tree, "gone", false);
    return out->key.len && out->path.len && version > 0;
}

static bool take_item(struct journal_index *index, struct text line, struct journal_item *out)
{
    *out = (struct journal_item){.line = line};
    if (!skim_item(line, out) && !read_item(index->arena, line, out))
        return false;
    if (!name_is_path(out->path) || out->version > OURS_VERSION_MAX)
        return false;
    out->hash = hash_octets(out->key.at, out->key.len);
    return true;
}

static void read_lines(struct journal_index *index)
{
    struct text rest = buffer_text(&index->text);
    struct text line;
    while (text_cut(&rest, '\n', &line)) {
        struct journal_item item;
        bool is_last = !rest.at;
        if (!line.len)
            continue;
        if (take_item(index, line, &item)) {
            mem_reserve(&index->items, &index->capacity, index->count + 1);
            index->items[index->count++] = item;
        } else if (!is_last) {
            index->unreadable++;
        }
    }
}

// The newest first among lines of one object.
static int compare_objects(const void *a, const void *b)
{
    const struct journal_item *left = a, *right = b;
    if (left->hash != right->hash)
        return left->hash < right->hash ? -1 : 1;
    int order = text_compare(left->key, right->key);
    if (order)
        return order;
    return (left->version < right->version) - (left->version > right->version);
}

static int compare_paths(const void *a, const void *b)
{
    const struct journal_item *left = a, *right = b;
    int order = text_compare(left->path, right->path);
    return order ? order : text_compare(left->key, right->key);
}

static void keep_newest(struct journal_index *index)
{
    size_t kept = 0;
    if (!index->count)
        return;
    qsort(index->items, index->count, sizeof *index->items, compare_objects);
    for (size_t i = 0; i < index->count; i++)
        if (!kept || !text_equal(index->items[kept - 1].key, index->items[i].key))
            index->items[kept++] = index->items[i];
    index->count = kept;
    qsort(index->items, kept, sizeof *index->items, compare_paths);
}

struct journal_index *journal_index_of(struct buffer *text)
{
    struct journal_index *index = mem_new_of(struct journal_index);
    index->arena = arena_new();
    index->text = *text;
    *text = (struct buffer){0};
    read_lines(index);
    keep_newest(index);
    return index;
}

struct journal_index *journal_index_new(const char *path, struct error *err)
{
    AUTO_BUFFER text = {0};
    struct error local = {0};
    if (disk_read(&text, path, READ_OCTETS_MAX, &local) || local.status == ENOENT)
        return journal_index_of(&text);
    if (err)
        *err = local;
    return NULL;
}

void journal_index_free(struct journal_index *index)
{
    if (!index)
        return;
    buffer_done(&index->text);
    arena_free(index->arena);
    free(index->items);
    free(index);
}

const struct journal_item *journal_index_find(const struct journal_index *index, const char *path)
{
    struct text wanted = text_of(path);
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (text_compare(index->items[middle].path, wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == index->count || !text_equal(index->items[low].path, wanted))
        return NULL;
    return &index->items[low];
}
