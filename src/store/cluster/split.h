#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

// Cuts JSON that comes in pieces of any length into documents, without building a tree: a watch
// stream into its events, a list into its items. Only strings, escapes and depth are followed; a
// document is framed by itself, never by line or piece.

enum split_mode {
    SPLIT_EVENTS, // documents behind each other, blanks between them
    SPLIT_LIST,   // one map; each entry of its `items` is a document, the rest of it is `frame`
};

// Of an object: in EVENTS the document around it may be a little more.
enum { SPLIT_OCTETS_MAX = 2 * 1024 * 1024, SPLIT_DEPTH_MAX = 128 };

struct splitter_sink {
    // One whole document; borrowed. False ends the feeding (splitter_feed returns true).
    bool (*document)(void *context, struct text document);
    // One that was too long or too deep was skipped to its end; `head` is how it began (4 KiB at
    // most), to find its name in.
    void (*skipped)(void *context, struct text head, const char *why);
    void *context;
};

struct splitter;
struct splitter *splitter_new(enum split_mode mode, const struct splitter_sink *sink);
// Not from within a call of the sink.
void splitter_free(struct splitter *splitter);
DEFINE_CLEANUP(splitter, splitter_free)
// False when it is not JSON; nothing more can be fed then.
bool splitter_feed(struct splitter *splitter, struct text piece, struct error *err);
// Is the end here a clean one: between documents, or behind the whole list?
bool splitter_is_done(const struct splitter *splitter);
// LIST, when done: the map with its `items` left empty; borrowed.
struct text splitter_frame(const struct splitter *splitter);

// Octets of the map or list that `text` begins with. 0: it is none, is broken, or has no end here.
size_t split_measure(struct text text);
