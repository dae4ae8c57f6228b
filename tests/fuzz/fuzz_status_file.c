#include <string.h>

#include "base/must.h"
#include "store/folder/status_file.h"

// A status file that anyone may have edited: what is read from it is written so that it reads back
// the same.

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

struct comparison {
    const struct status_file *other;
    size_t count;
};

static struct text without_end(struct text body)
{
    if (body.len && body.at[body.len - 1] == '\n')
        body.len--;
    return body;
}

static void compare(void *context, const struct status_doc *doc)
{
    struct comparison *comparison = context;
    const struct status_doc *twin = status_file_find(comparison->other, doc->key);
    must(twin && twin->version == doc->version);
    must(text_equal(without_end(twin->body), without_end(doc->body)));
    comparison->count++;
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    struct status_file file, again;
    struct buffer text = {0};
    status_file_init(&file, 1);
    status_file_init(&again, 2);
    buffer_add(&text, at, len);
    status_file_load(&file, &text);
    status_file_write(&text, &file, "web.yaml");
    status_file_load(&again, &text);
    must(!again.was_torn && again.changes.count == 0);
    struct comparison there = {&again, 0}, back = {&file, 0};
    status_file_each(&file, compare, &there);
    status_file_each(&again, compare, &back);
    must(there.count == back.count);
    status_file_done(&file);
    status_file_done(&again);
    return 0;
}
