#include "store/folder/status_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/value.h"
#include "store/folder/managed.h"
#include "store/folder/name.h"

#define MARK "--- # "
#define LAST_LINE "...\n"

enum { NAME_SHOWN_MAX = 4096 };

// ---- lists --------------------------------------------------------------------------------------

static bool doc_matches(const void *context, uint32_t id, const void *key)
{
    const struct status_docs *docs = context;
    const struct text *wanted = key;
    return text_equal(docs->items[id].key, *wanted);
}

static uint64_t hash_key(struct text key)
{
    return hash_octets(key.at, key.len);
}

static uint64_t doc_hash(const void *context, uint32_t id)
{
    const struct status_docs *docs = context;
    return hash_key(docs->items[id].key);
}

static const struct table_ops doc_ops = {.matches = doc_matches, .hash = doc_hash};

static void docs_init(struct status_docs *docs)
{
    *docs = (struct status_docs){.by_key = {.ops = &doc_ops, .context = docs}};
}

static void docs_done(struct status_docs *docs)
{
    table_done(&docs->by_key);
    free(docs->items);
    docs_init(docs);
}

static struct status_doc *docs_find(const struct status_docs *docs, struct text key)
{
    uint32_t id = docs->count ? table_find(&docs->by_key, hash_key(key), &key) : TABLE_NONE;
    return id == TABLE_NONE ? NULL : &docs->items[id];
}

static const struct status_doc *docs_get(const struct status_docs *docs, size_t at)
{
    must(docs->items && at < docs->count);
    return &docs->items[at];
}

static void docs_add(struct status_docs *docs, struct status_doc doc)
{
    mem_reserve(&docs->items, &docs->capacity, docs->count + 1);
    must(docs->items);
    docs->items[docs->count] = doc;
    table_add(&docs->by_key, hash_key(doc.key), (uint32_t)docs->count);
    docs->count++;
}

// ---- reading ------------------------------------------------------------------------------------

static bool is_number_of_ours(int64_t version)
{
    return version >= 0 && version <= OURS_VERSION_MAX;
}

// "Thing.example.org shop/www 42"
static bool read_mark(struct text line, struct status_doc *doc)
{
    size_t at = line.len;
    int64_t version;
    if (!text_starts(line, MARK))
        return false;
    while (at > 0 && line.at[at - 1] != ' ')
        at--;
    struct text digits = {line.at + at, line.len - at};
    size_t start = sizeof MARK - 1;
    if (at <= start || !text_to_int64(digits, &version) || !is_number_of_ours(version))
        return false;
    doc->version = (uint64_t)version;
    doc->key = (struct text){line.at + start, at - 1 - start};
    return doc->key.len > 0 && !memchr(doc->key.at, '\0', doc->key.len);
}

// Someone's editor dropped the comment: the document itself says whose it is.
static bool read_body(struct status_doc *doc, struct buffer *key)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(doc->body, &managed_limits);
    struct value *tree = NULL;
    bool has = false;
    int64_t version;
    if (!yaml_reader_next(reader, arena, &tree, &has, NULL) || !has)
        return false;
    const struct value *metadata = value_find(tree, "metadata");
    if (!text_to_int64(value_text(value_find(metadata, "resourceVersion")), &version) ||
        !is_number_of_ours(version))
        return false;
    doc->version = (uint64_t)version;
    return name_write_key_of(
        key, value_text(value_find(tree, "apiVersion")), value_text(value_find(tree, "kind")),
        value_text(value_find(metadata, "namespace")), value_text(value_find(metadata, "name")));
}

static bool is_line_end(const char *at, const char *end)
{
    return at == end || *at == '\n';
}

// Where the next line begins that starts with three dashes, or the end.
static const char *next_mark(const char *at, const char *end)
{
    const char *found = at < end ? memmem(at, (size_t)(end - at), "\n---", 4) : NULL;
    return found ? found + 1 : end;
}

static void take_doc(struct status_file *file, struct status_doc *doc)
{
    if (memchr(doc->body.at, '\0', doc->body.len))
        return;
    struct status_doc *known = docs_find(&file->base, doc->key);
    if (!known)
        docs_add(&file->base, *doc);
    else if (known->version < doc->version)
        *known = *doc;
}

static void take_unmarked(struct status_file *file, struct status_doc *doc)
{
    AUTO_BUFFER key = {0};
    if (!read_body(doc, &key))
        return;
    struct text body = doc->body;
    status_file_set(file, buffer_text(&key), doc->version, body);
}

static void split_documents(struct status_file *file, const char *end)
{
    const char *start = file->text.at;
    const char *at =
        end - start >= 3 && memcmp(start, "---", 3) == 0 ? start : next_mark(start, end);
    while (at < end) {
        const char *line_end = at;
        struct status_doc doc = {0};
        while (!is_line_end(line_end, end))
            line_end++;
        const char *body = line_end < end ? line_end + 1 : end;
        // The body's first line may be the next mark: its line feed belongs to this one.
        const char *next = next_mark(line_end, end);
        doc.body = (struct text){body, next > body ? (size_t)(next - body) : 0};
        if (read_mark((struct text){at, (size_t)(line_end - at)}, &doc))
            take_doc(file, &doc);
        else
            take_unmarked(file, &doc);
        at = next;
    }
}

static const char *whole_end(struct status_file *file)
{
    struct text text = buffer_text(&file->text);
    const char *end = text.at + text.len;
    file->was_torn = false;
    if (!text.len || text_is(text, LAST_LINE))
        return text.at;
    if (text_ends(text, "\n" LAST_LINE))
        return end - (sizeof LAST_LINE - 1);
    file->was_torn = true;
    while (end > text.at && !(end - text.at >= 4 && memcmp(end - 4, "\n---", 4) == 0))
        end--;
    return end > text.at ? end - 3 : text.at;
}

// ---- public -------------------------------------------------------------------------------------

void status_file_init(struct status_file *file, uint32_t id)
{
    *file = (struct status_file){.id = id};
    docs_init(&file->base);
    docs_init(&file->changes);
}

void status_file_forget_changes(struct status_file *file)
{
    for (size_t i = 0; i < file->changes.count; i++)
        free(file->changes.items[i].own);
    docs_done(&file->changes);
    file->is_missed = false;
}

void status_file_done(struct status_file *file)
{
    status_file_forget_changes(file);
    status_file_unload(file);
}

void status_file_unload(struct status_file *file)
{
    docs_done(&file->base);
    buffer_done(&file->text);
    file->is_loaded = false;
}

void status_file_load(struct status_file *file, struct buffer *text)
{
    status_file_unload(file);
    file->text = *text;
    *text = (struct buffer){0};
    file->is_loaded = true;
    const char *end = whole_end(file);
    if (file->text.len)
        split_documents(file, end);
}

const struct status_doc *status_file_find(const struct status_file *file, struct text key)
{
    const struct status_doc *changed = docs_find(&file->changes, key);
    if (changed)
        return changed->body.at ? changed : NULL;
    return docs_find(&file->base, key);
}

// Key and body in one piece of memory.
static struct status_doc make_own(struct text key, uint64_t version, struct text body)
{
    char *at = mem_new(1, key.len + body.len + 2);
    memcpy(at, key.at, key.len);
    if (body.len)
        memcpy(at + key.len + 1, body.at, body.len);
    return (struct status_doc){
        .key = {at, key.len},
        .version = version,
        .body = {body.at ? at + key.len + 1 : NULL, body.len},
        .own = at,
    };
}

static void put_change(struct status_file *file, struct status_doc doc)
{
    struct status_doc *known = docs_find(&file->changes, doc.key);
    if (!known) {
        docs_add(&file->changes, doc);
        return;
    }
    free(known->own);
    *known = doc;
}

void status_file_set(struct status_file *file, struct text key, uint64_t version, struct text body)
{
    const struct status_doc *known = status_file_find(file, key);
    if (known && known->version == version && text_equal(known->body, body))
        return;
    put_change(file, make_own(key, version, body));
}

void status_file_drop(struct status_file *file, struct text key)
{
    if (status_file_find(file, key))
        put_change(file, make_own(key, 0, (struct text){0}));
}

bool status_file_is_changed(const struct status_file *file)
{
    return file->changes.count > 0 || file->is_missed;
}

// A name with a line feed would be read as documents.
static void write_top(struct buffer *out, const char *manifest)
{
    buffer_add_text(out, "# Written by Signpost beside ");
    text_clean(out, text_of(manifest), NAME_SHOWN_MAX);
    buffer_add_text(out, "; do not edit.\n");
}

static void write_doc(struct buffer *out, const struct status_doc *doc, const char *manifest)
{
    if (!doc->body.at)
        return;
    if (!out->len)
        write_top(out, manifest);
    buffer_printf(out, MARK "%.*s %" PRIu64 "\n", TEXT_ARGS(doc->key), doc->version);
    buffer_add(out, doc->body.at, doc->body.len);
    if (!doc->body.len || doc->body.at[doc->body.len - 1] != '\n')
        buffer_add_char(out, '\n');
}

void status_file_write(struct buffer *out, const struct status_file *file, const char *manifest)
{
    AUTO_BUFFER text = {0};
    buffer_reserve(&text, file->text.len + 256);
    for (size_t i = 0; i < file->base.count; i++) {
        const struct status_doc *doc = docs_get(&file->base, i);
        const struct status_doc *changed = docs_find(&file->changes, doc->key);
        write_doc(&text, changed ? changed : doc, manifest);
    }
    for (size_t i = 0; i < file->changes.count; i++) {
        const struct status_doc *doc = docs_get(&file->changes, i);
        if (!docs_find(&file->base, doc->key))
            write_doc(&text, doc, manifest);
    }
    if (!text.len)
        return;
    buffer_add_text(&text, LAST_LINE);
    if (out->len) {
        buffer_add(out, text.at, text.len);
        return;
    }
    buffer_done(out);
    *out = text;
    text = (struct buffer){0};
}

void status_file_each(const struct status_file *file,
                      void (*call)(void *context, const struct status_doc *doc), void *context)
{
    for (size_t i = 0; i < file->base.count; i++) {
        const struct status_doc *doc = docs_get(&file->base, i);
        if (!docs_find(&file->changes, doc->key))
            call(context, doc);
    }
    for (size_t i = 0; i < file->changes.count; i++) {
        const struct status_doc *doc = docs_get(&file->changes, i);
        if (doc->body.at)
            call(context, doc);
    }
}
