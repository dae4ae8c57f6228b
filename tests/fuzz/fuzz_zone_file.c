#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "dns/zone_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

enum { INCLUDED_MAX = 64 }; // octets of a text that may include itself

struct seen {
    struct text text;
    size_t entry_count;
    size_t fault_count;
    size_t octets;
};

static void check_name(struct dname name)
{
    uint8_t octets[DNAME_MAX];
    struct dname again;
    AUTO_BUFFER text = {0};
    dname_write(&text, name);
    must(dname_read(buffer_text(&text), NULL, DNAME_OF_FILE, octets, &again, NULL));
    must(dname_equal(name, again));
}

static void take_entry(void *context, const struct zone_file_entry *entry)
{
    struct seen *seen = context;
    check_name(entry->owner);
    check_name(entry->origin);
    must(entry->word_count <= ZONE_FILE_WORDS_MAX && entry->line && entry->column);
    for (size_t i = 0; i < entry->word_count; i++)
        for (size_t j = 0; j < entry->words[i].text.len; j++)
            seen->octets += entry->words[i].text.at[j] != '\n';
    seen->entry_count++;
}

static void take_fault(void *context, const char *file, uint32_t line, uint32_t column,
                       const struct error *error)
{
    struct seen *seen = context;
    must(file && line && column && *error->reason && *error->text);
    seen->fault_count++;
}

static bool include(void *context, struct text path, const char *from, struct text *out,
                    const char **file, struct error *err)
{
    struct seen *seen = context;
    (void)from;
    if (path.len != 1 || seen->text.len > INCLUDED_MAX)
        return error_set(err, FAULT_SPEC, "Include", "no such file");
    *out = seen->text;
    *file = "self";
    return true;
}

// Every entry is handed out or told once; all of it comes to an end.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    static const struct dname origin = {(const uint8_t *)"\7example", 9};
    autofree char *copy = mem_copy(at, len); // ends where its block ends
    struct seen seen = {.text = {copy, len}};
    const struct zone_file_calls calls = {take_entry, take_fault, include, &seen};
    zone_file_read(seen.text, "file", origin, &calls);
    must(seen.entry_count <= (len + 1) * (ZONE_FILE_INCLUDES_MAX + 1) + ZONE_FILE_GENERATED_MAX);
    return 0;
}
