#include "store/folder/pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/secret.h"
#include "store/folder/degraded.h"
#include "store/folder/ingest.h"
#include "store/folder/schedule.h"

enum { PASS_NUMBER_MAX = (1 << 24) - 1 };

void pass_begin(struct folder *folder, bool is_load)
{
    struct pass *pass = &folder->pass;
    pass_drop_found(folder);
    for (; pass->next < pass->queue.count; pass->next++)
        folder->entries.files[pass->queue.items[pass->next]].flags &= ~(uint32_t)FILE_IS_QUEUED;
    pass->number = pass->number == PASS_NUMBER_MAX ? 1 : pass->number + 1;
    pass->is_load = is_load;
    pass->has_put_off = false;
    pass->queue.count = pass->next = 0;
}

void pass_queue(struct folder *folder, uint32_t file)
{
    struct file *queued = &folder->entries.files[file];
    if (queued->flags & FILE_IS_QUEUED)
        return;
    queued->flags |= FILE_IS_QUEUED;
    id_list_add(&folder->pass.queue, file);
}

void pass_queue_doubtful(struct folder *folder)
{
    struct entries *entries = &folder->entries;
    bool has_changes = folder->pass.queue.count > 0;
    for (uint32_t id = 0; id < entries->file_slots.end; id++) {
        uint32_t flags = entries->files[id].flags;
        if (!entries->files[id].path ||
            (!(flags & FILE_IS_UNSETTLED) && !(has_changes && (flags & FILE_HAS_DUPLICATES))))
            continue;
        entries->files[id].flags |= FILE_IS_UNSETTLED;
        pass_queue(folder, id);
    }
}

void pass_mark(struct folder *folder, uint32_t id)
{
    struct entry *entry = &folder->entries.items[id];
    entry->pass = folder->pass.number & PASS_NUMBER_MAX;
    entry->flags &= ~(unsigned)(ENTRY_IS_MISSING | ENTRY_IS_PUT_OFF) & 0xff;
}

void pass_miss(struct folder *folder, uint32_t id)
{
    struct entry *entry = &folder->entries.items[id];
    entry->flags &= ~(unsigned)ENTRY_IS_REDEFINED & 0xff;
    if (entry->object->deleted_s || (entry->flags & ENTRY_IS_MISSING))
        return;
    entry->flags |= ENTRY_IS_MISSING;
    id_list_add(&folder->missing, id);
}

void pass_read_again(struct folder *folder, uint32_t file, const struct error *err)
{
    degraded_set(folder, DEGRADED_READING, err);
    folder->pass.has_put_off = true;
    schedule_again(folder, file, RETRY_MS);
}

static const char *path_of(const struct folder *folder, uint32_t file)
{
    return folder->entries.files[file].path;
}

// ---- one file -----------------------------------------------------------------------------------

static void finish_entries(struct folder *folder, uint32_t file, bool is_kept)
{
    const struct entries *entries = &folder->entries;
    for (uint32_t id = entries->files[file].first; id != ENTRY_NONE; id = entries->items[id].next) {
        if (entries->items[id].pass == folder->pass.number)
            continue;
        if (is_kept)
            pass_mark(folder, id);
        else
            pass_miss(folder, id);
    }
}

static void begin_file(struct folder *folder, uint32_t file)
{
    folder->pass.file = file;
    folder->pass.documents = 0;
    folder->pass.broken = 0;
    folder->pass.keeps_missing = false;
    folder->entries.files[file].flags &=
        ~(uint32_t)(FILE_IS_UNSETTLED | FILE_HAS_DUPLICATES | FILE_KEEPS_MISSING);
    faults_begin(folder, file);
}

static void end_file(struct folder *folder, uint32_t file)
{
    if (folder->pass.keeps_missing)
        folder->entries.files[file].flags |= FILE_KEEPS_MISSING;
    ingest_end(folder, file);
    finish_entries(folder, file, folder->pass.keeps_missing);
    folder->entries.files[file].flags &= ~(uint32_t)FILE_HAS_LOST_STATUS;
    files_set_documents(&folder->entries, file, folder->pass.documents);
    faults_end(folder, file);
}

// Not readable as a whole: what was good in it stays. The number of documents too.
static void refuse_file(struct folder *folder, uint32_t file, const char *text)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    uint32_t known = folder->entries.files[file].documents;
    folder->pass.keeps_missing = true;
    if (folder->pass.documents < known || !folder->pass.documents)
        folder->pass.documents = known ? known : 1;
    ingest_broken(folder, arena, NULL, text);
}

static void begin_documents(struct folder *folder, uint32_t file)
{
    struct document_source source = {path_of(folder, file), buffer_text(&folder->pass.text),
                                     folder->kinds,         folder->kind_count,
                                     folder->patterns,      false};
    begin_file(folder, file);
    folder->pass.reader = document_reader_new(&source);
}

static bool holds_secrets(const struct folder *folder)
{
    for (size_t i = 0; i < folder->kind_count; i++)
        if (folder->kinds[i]->is_secret || folder->kinds[i]->has_secret)
            return true;
    return false;
}

static void drop_text(struct folder *folder)
{
    struct buffer *text = &folder->pass.text;
    if (holds_secrets(folder) && text->at)
        secret_wipe(text->at, text->len);
    buffer_done(text);
}

static void stop_documents(struct folder *folder)
{
    document_reader_free(steal(folder->pass.reader));
    drop_text(folder);
}

// Until the last is taken, what the file lacks says nothing.
static void take_next_document(struct folder *folder)
{
    struct error err = {0};
    struct pass *pass = &folder->pass;
    bool has_more = false;
    if (!document_reader_step(pass->reader, ingest_document, folder, &has_more, &err))
        refuse_file(folder, pass->file, err.text);
    if (has_more)
        return;
    end_file(folder, pass->file);
    stop_documents(folder);
}

static void take_absent(struct folder *folder, uint32_t file)
{
    struct file *gone = &folder->entries.files[file];
    gone->flags &= ~(uint32_t)(FILE_IS_PRESENT | FILE_WAS_WARNED);
    gone->content = (struct content_id){0};
    gone->empty_since_s = 0;
    begin_file(folder, file);
    end_file(folder, file);
}

static void take_unreadable(struct folder *folder, uint32_t file, const struct error *err)
{
    begin_file(folder, file);
    AUTO_BUFFER text = {0};
    buffer_printf(&text, "%s: %s", path_of(folder, file), err->text);
    refuse_file(folder, file, text.at);
    end_file(folder, file);
    folder->entries.files[file].flags |= FILE_IS_UNSETTLED;
}

// Its entries stay for now, as does what lies dormant.
static void keep_file(struct folder *folder, uint32_t file)
{
    folder->pass.keeps_missing = true;
    folder->pass.documents = folder->entries.files[file].documents;
    if (!folder->pass.documents)
        folder->pass.documents = folder->entries.files[file].first != ENTRY_NONE;
    finish_entries(folder, file, true);
    folder->entries.files[file].flags |= FILE_KEEPS_MISSING | FILE_IS_UNSETTLED;
    files_set_documents(&folder->entries, file, folder->pass.documents);
}

static void take_without_place(struct folder *folder, uint32_t file, const struct error *err)
{
    begin_file(folder, file);
    AUTO_BUFFER text = {0};
    buffer_printf(&text, "%s: %s", path_of(folder, file), err->text);
    faults_add(folder, file, text.at, NULL);
    keep_file(folder, file);
    faults_end(folder, file);
    schedule_again(folder, file, UNREADABLE_RETRY_MS);
}

// A file without content is taken for one that is being written, for a while.
static bool is_half_written(struct folder *folder, uint32_t file)
{
    struct file *empty = &folder->entries.files[file];
    int64_t now_ms = folder_now_ms(folder);
    if (empty->size > 0) {
        empty->empty_since_s = 0;
        return false;
    }
    if (!empty->empty_since_s)
        empty->empty_since_s = (uint32_t)(now_ms / 1000) + 1;
    int64_t left_ms = (int64_t)empty->empty_since_s * 1000 + HALF_WRITTEN_MS - now_ms;
    if (left_ms <= 0)
        return false;
    schedule_again(folder, file, left_ms);
    return true;
}

static void wait_for_file(struct folder *folder, uint32_t file)
{
    begin_file(folder, file);
    keep_file(folder, file);
}

static void remember_stat(struct file *file, const struct disk_stat *found)
{
    file->inode = found->inode;
    file->mtime_ns = found->mtime_ns;
    file->size = (uint32_t)(found->size > UINT32_MAX ? UINT32_MAX : found->size);
    file->mode = found->mode;
}

static bool is_same_stat(const struct disk_stat *a, const struct disk_stat *b)
{
    return a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

// Reads what stands there; *is_moving when it was being written meanwhile.
static bool read_file(const struct folder *folder, uint32_t file, struct buffer *text,
                      struct disk_stat *found, bool *is_moving, struct error *err)
{
    AUTO_BUFFER full = {0};
    struct disk_stat after;
    const char *root = folder_place(&full, folder, path_of(folder, file));
    *is_moving = false;
    if (!disk_stat(full.at, found, err) || !scan_check_link(root, full.at, err))
        return false;
    if (!disk_read(text, full.at, MANIFEST_OCTETS_MAX, err) || !disk_stat(full.at, &after, err))
        return false;
    *is_moving = !is_same_stat(found, &after);
    return true;
}

static void take_text(struct folder *folder, uint32_t file, bool is_forced)
{
    struct file *read = &folder->entries.files[file];
    struct text text = buffer_text(&folder->pass.text);
    struct content_id content = content_id_of(text.at, text.len);
    if (!is_forced && content_id_equal(read->content, content) && text.len)
        return;
    read->content = content;
    struct error err = {0};
    if (is_half_written(folder, file))
        wait_for_file(folder, file);
    else if (!status_files_has_place(&folder->status_files, path_of(folder, file), &err))
        take_without_place(folder, file, &err);
    else
        begin_documents(folder, file);
}

static void take_file(struct folder *folder, uint32_t file)
{
    struct disk_stat found;
    struct error err = {0};
    bool is_moving;
    uint32_t flags = folder->entries.files[file].flags;
    bool is_forced = folder->pass.is_load || (flags & (FILE_IS_UNSETTLED | FILE_KEEPS_MISSING));
    folder->entries.files[file].flags &= ~(uint32_t)FILE_IS_QUEUED;
    if (!(flags & FILE_IS_PRESENT)) {
        take_absent(folder, file);
        return;
    }
    if (!read_file(folder, file, &folder->pass.text, &found, &is_moving, &err)) {
        if (err.status == ENOENT || err.status == ENOTDIR)
            take_absent(folder, file);
        else
            take_unreadable(folder, file, &err);
        return;
    }
    if (is_moving) {
        wait_for_file(folder, file);
        schedule_again(folder, file, DEBOUNCE_MS);
        return;
    }
    remember_stat(&folder->entries.files[file], &found);
    take_text(folder, file, is_forced);
}

static void take_next_file(struct folder *folder)
{
    struct pass *pass = &folder->pass;
    take_file(folder, pass->queue.items[pass->next++]);
    if (!pass->reader)
        drop_text(folder);
}

// ---- all of them --------------------------------------------------------------------------------

static int compare_paths(const void *a, const void *b, void *context)
{
    const struct folder *folder = context;
    return strcmp(path_of(folder, *(const uint32_t *)a), path_of(folder, *(const uint32_t *)b));
}

// Files may join while others are read; those after the current one are put in their place.
void pass_sort(struct folder *folder)
{
    struct pass *pass = &folder->pass;
    if (pass->queue.count > pass->next)
        qsort_r(pass->queue.items + pass->next, pass->queue.count - pass->next,
                sizeof *pass->queue.items, compare_paths, folder);
}

enum step pass_read(struct folder *folder, int64_t until_ms)
{
    struct pass *pass = &folder->pass;
    size_t sorted = 0;
    pass->is_open = true;
    while (pass->reader || pass->next < pass->queue.count) {
        if (sorted != pass->queue.count)
            pass_sort(folder);
        sorted = pass->queue.count;
        if (pass->reader)
            take_next_document(folder);
        else
            take_next_file(folder);
        if (folder_now_ms(folder) >= until_ms)
            break;
    }
    if (pass->reader)
        return STEP_AGAIN;
    status_files_tidy(&folder->status_files, folder_now_ms(folder));
    return pass->next < pass->queue.count ? STEP_AGAIN : STEP_DONE;
}

void pass_done(struct folder *folder)
{
    stop_documents(folder);
    free(folder->pass.queue.items);
}
