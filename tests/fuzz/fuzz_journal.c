#include "base/memory.h"
#include "base/must.h"
#include "store/folder/journal.h"
#include "store/folder/name.h"
#include "store/folder/ours.h"
#include "store/folder/status_book.h"

// A journal of any content: each object has one line, and lines merge into status files that can be
// read again.

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static void merge(const struct journal_item *item)
{
    struct status_file file;
    struct buffer none = {0};
    status_file_init(&file, 1);
    status_file_load(&file, &none);
    status_book_merge_line(&file, item);
    status_book_merge_line(&file, item);
    must(file.changes.count <= 1);
    const struct status_doc *doc = status_file_find(&file, item->key);
    must(!doc || (!item->is_gone && doc->version == item->version));
    status_file_done(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    struct buffer text = {0};
    buffer_add(&text, at, len);
    struct journal_index *index = journal_index_of(&text);
    for (size_t i = 0; i < index->count; i++) {
        const struct journal_item *item = &index->items[i];
        must(item->key.len && name_is_path(item->path));
        must(item->version > 0 && item->version <= OURS_VERSION_MAX);
        for (size_t j = 0; j < i && i < 64; j++)
            must(!text_equal(index->items[j].key, item->key));
        merge(item);
    }
    journal_index_free(index);
    return 0;
}
