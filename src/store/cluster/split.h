#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

// Splits JSON that arrives in pieces of any length into documents without building a tree: a watch
// stream into its events, a list into its items. It only tracks strings, escapes and depth, and
// does not rely on line ends or on how the text was cut.

enum split_mode {
    SPLIT_EVENTS, // documents one after the other, separated by blanks
    SPLIT_LIST,   // one map; each entry of its `items` is a document, the rest of it is `frame`
};

// Limits of an object; in EVENTS the document around it may be a little larger.
enum { SPLIT_OCTETS_MAX = 2 * 1024 * 1024, SPLIT_DEPTH_MAX = 128 };

struct splitter_sink {
    // One whole document; borrowed. False stops splitter_feed(), which then returns true.
    bool (*document)(void *context, struct text document);
    // A document that was too long or too deep, and was skipped; `head` is its beginning (4 KiB at
    // most), which may have its name.
    void (*skipped)(void *context, struct text head, const char *why);
    void *context;
};

struct splitter;
struct splitter *splitter_new(enum split_mode mode, const struct splitter_sink *sink);
// Must not be called from within the sink.
void splitter_free(struct splitter *splitter);
DEFINE_CLEANUP(splitter, splitter_free)
// Returns false when the text is not JSON; nothing more may be fed then.
bool splitter_feed(struct splitter *splitter, struct text piece, struct error *err);
// May the text end here: between documents, or after the whole list?
bool splitter_is_done(const struct splitter *splitter);
// LIST, at the end: the map with `items` left empty; borrowed.
struct text splitter_frame(const struct splitter *splitter);
