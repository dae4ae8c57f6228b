#include "store/cluster/split.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/must.h"

enum {
    HEAD_OCTETS = 4096,
    KEPT_OCTETS = 64 * 1024, // a buffer that grew beyond is given back
    // An event stands around its object.
    EVENT_OCTETS = 64,
    EVENT_DEPTH = 1,
};

enum octet { OCTET_BAD, OCTET_PLAIN, OCTET_QUOTE, OCTET_OPEN, OCTET_CLOSE };
#define PLAIN_DIGITS ['0' ... '9'] = OCTET_PLAIN
// Outside of strings.
static const unsigned char octets[256] = {
    [' '] = OCTET_PLAIN, ['\t'] = OCTET_PLAIN, ['\r'] = OCTET_PLAIN, ['\n'] = OCTET_PLAIN,
    [','] = OCTET_PLAIN, [':'] = OCTET_PLAIN,  ['-'] = OCTET_PLAIN,  ['+'] = OCTET_PLAIN,
    ['.'] = OCTET_PLAIN, ['E'] = OCTET_PLAIN,  PLAIN_DIGITS,         ['a'] = OCTET_PLAIN,
    ['e'] = OCTET_PLAIN, ['f'] = OCTET_PLAIN,  ['l'] = OCTET_PLAIN,  ['n'] = OCTET_PLAIN,
    ['r'] = OCTET_PLAIN, ['s'] = OCTET_PLAIN,  ['t'] = OCTET_PLAIN,  ['u'] = OCTET_PLAIN,
    ['"'] = OCTET_QUOTE, ['{'] = OCTET_OPEN,   ['['] = OCTET_OPEN,   ['}'] = OCTET_CLOSE,
    [']'] = OCTET_CLOSE,
};

// How deep in a value we are.
struct nest {
    size_t depth;
    size_t depth_max;
    bool is_deep; // it went deeper at some point
    bool is_in_string;
    bool is_escaped;
    char closers[SPLIT_DEPTH_MAX + EVENT_DEPTH];
};

enum nest_state { NEST_GOES_ON, NEST_ENDED, NEST_BROKEN };

enum place {
    PLACE_BETWEEN,  // EVENTS: documents; LIST: before its map
    PLACE_FRAME,    // in the list's map, outside of `items`
    PLACE_FIRST,    // in `items`, before the first
    PLACE_DOCUMENT, // in a document
    PLACE_ITEM_END, // in `items`, after an item
    PLACE_NEXT,     // in `items`, after a comma
    PLACE_AFTER,    // LIST: after its map
};

enum key_state { KEY_OTHER, KEY_ITEMS, KEY_ITEMS_COLON };

struct splitter {
    enum split_mode mode;
    struct splitter_sink sink;
    size_t octets_max;
    enum place place;
    struct nest nest;   // of the document
    size_t len;         // of the document so far
    struct buffer held; // what of it came in earlier pieces; of one to be skipped its head
    struct nest outer;  // of the frame
    struct buffer frame;
    size_t key_from;
    enum key_state key;
    size_t offset; // of the piece
    bool is_over;  // no more may be fed
};

static enum nest_state run_string(struct nest *nest, const char **at, const char *end)
{
    const char *c = json_plain_end(*at + nest->is_escaped, end);
    nest->is_escaped = false;
    while (c < end && *c == '\\') {
        nest->is_escaped = end - c == 1;
        c = json_plain_end(c + (nest->is_escaped ? 1 : 2), end);
    }
    *at = c;
    if (c == end)
        return NEST_GOES_ON;
    if (*c != '"')
        return NEST_BROKEN;
    nest->is_in_string = false;
    ++*at;
    return NEST_GOES_ON;
}

static void nest_enter(struct nest *nest, char opener)
{
    if (nest->depth < nest->depth_max)
        nest->closers[nest->depth] = opener == '{' ? '}' : ']';
    else
        nest->is_deep = true;
    nest->depth++;
}

static bool nest_leave(struct nest *nest, char closer)
{
    if (nest->depth == 0)
        return false;
    nest->depth--;
    return nest->depth >= nest->depth_max || nest->closers[nest->depth] == closer;
}

static enum nest_state nest_mark(struct nest *nest, char c)
{
    switch ((enum octet)octets[(unsigned char)c]) {
    case OCTET_QUOTE:
        nest->is_in_string = true;
        return NEST_GOES_ON;
    case OCTET_OPEN:
        nest_enter(nest, c);
        return NEST_GOES_ON;
    case OCTET_CLOSE:
        if (!nest_leave(nest, c))
            return NEST_BROKEN;
        return nest->depth == 0 ? NEST_ENDED : NEST_GOES_ON;
    case OCTET_PLAIN:
        return NEST_GOES_ON;
    case OCTET_BAD:
        break;
    }
    return NEST_BROKEN;
}

// Moves *at past the end of the value, to the octet that breaks it, or to `end`.
static enum nest_state nest_run(struct nest *nest, const char **at, const char *end)
{
    enum nest_state state = NEST_GOES_ON;
    const char *c = *at;
    while (c < end && state == NEST_GOES_ON) {
        if (nest->is_in_string) {
            state = run_string(nest, &c, end);
            continue;
        }
        state = nest_mark(nest, *c);
        c += state != NEST_BROKEN;
    }
    *at = c;
    return state;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool pass_blank(const char **at)
{
    if (!is_blank(**at))
        return false;
    ++*at;
    return true;
}

static bool is_too_much(const struct splitter *splitter)
{
    return splitter->len > splitter->octets_max || splitter->nest.is_deep;
}

static void give_back(struct buffer *buffer)
{
    if (buffer->capacity > KEPT_OCTETS)
        buffer_done(buffer);
    buffer_clear(buffer);
}

static void keep_head(struct buffer *held, struct text more)
{
    if (held->len > HEAD_OCTETS) {
        struct buffer head = {0};
        buffer_add(&head, held->at, HEAD_OCTETS);
        buffer_done(held);
        *held = head;
    }
    size_t room = HEAD_OCTETS - held->len;
    buffer_add(held, more.at, more.len < room ? more.len : room);
}

static void hold(struct splitter *splitter, struct text part)
{
    splitter->len += part.len;
    if (is_too_much(splitter))
        keep_head(&splitter->held, part);
    else
        buffer_add(&splitter->held, part.at, part.len);
}

static void report_skipped(struct splitter *splitter, struct text last)
{
    hold(splitter, last);
    const char *why = splitter->nest.is_deep ? "nested too deep" : "too large";
    splitter->sink.skipped(splitter->sink.context, buffer_text(&splitter->held), why);
}

static bool report_document(struct splitter *splitter, struct text last)
{
    const struct splitter_sink *sink = &splitter->sink;
    if (splitter->held.len == 0)
        return sink->document(sink->context, last);
    buffer_add(&splitter->held, last.at, last.len);
    return sink->document(sink->context, buffer_text(&splitter->held));
}

// Its last part came.
static void end_document(struct splitter *splitter, struct text last)
{
    bool is_skipped = splitter->nest.is_deep || splitter->len + last.len > splitter->octets_max;
    splitter->place = splitter->mode == SPLIT_LIST ? PLACE_ITEM_END : PLACE_BETWEEN;
    if (is_skipped)
        report_skipped(splitter, last);
    else
        splitter->is_over = !report_document(splitter, last);
    give_back(&splitter->held);
}

static bool run_document(struct splitter *splitter, const char **at, const char *end)
{
    const char *from = *at;
    enum nest_state state = nest_run(&splitter->nest, at, end);
    struct text part = {from, (size_t)(*at - from)};
    if (state == NEST_ENDED)
        end_document(splitter, part);
    if (state == NEST_GOES_ON)
        hold(splitter, part);
    return state != NEST_BROKEN;
}

static void begin_document(struct splitter *splitter)
{
    size_t depth_max = SPLIT_DEPTH_MAX + (splitter->mode == SPLIT_EVENTS ? EVENT_DEPTH : 0);
    splitter->nest = (struct nest){.depth_max = depth_max};
    splitter->len = 0;
    splitter->place = PLACE_DOCUMENT;
}

// Is the string that ends here the key `items`, and does a list follow it?
static void follow_key(struct splitter *splitter, char c, bool was_in_string)
{
    const struct buffer *frame = &splitter->frame;
    struct text key = {frame->at + splitter->key_from, frame->len - splitter->key_from};
    if (splitter->outer.is_in_string && !was_in_string)
        splitter->key_from = frame->len - 1;
    else if (was_in_string && !splitter->outer.is_in_string)
        splitter->key = text_is(key, "\"items\"") ? KEY_ITEMS : KEY_OTHER;
    else if (c == ':' && splitter->key == KEY_ITEMS)
        splitter->key = KEY_ITEMS_COLON;
    else if (!is_blank(c))
        splitter->key = KEY_OTHER;
}

static bool run_frame(struct splitter *splitter, const char **at)
{
    const char c = **at;
    const char *octet = *at;
    bool was_in_string = splitter->outer.is_in_string;
    enum nest_state state = nest_run(&splitter->outer, &octet, octet + 1);
    if (state == NEST_BROKEN || splitter->outer.is_deep || splitter->frame.len == SPLIT_OCTETS_MAX)
        return false;
    buffer_add_char(&splitter->frame, c);
    ++*at;
    if (state == NEST_ENDED)
        splitter->place = PLACE_AFTER;
    else if (c == '[' && splitter->outer.depth == 2 && splitter->key == KEY_ITEMS_COLON)
        splitter->place = PLACE_FIRST;
    if (splitter->outer.depth == 1)
        follow_key(splitter, c, was_in_string);
    else
        splitter->key = KEY_OTHER;
    return true;
}

static bool run_items(struct splitter *splitter, const char **at)
{
    const char c = **at;
    if (c == ']' && splitter->place != PLACE_NEXT) {
        splitter->place = PLACE_FRAME;
        return run_frame(splitter, at);
    }
    if (c == '{' && splitter->place != PLACE_ITEM_END) {
        begin_document(splitter);
        return true;
    }
    if (c != ',' || splitter->place != PLACE_ITEM_END)
        return pass_blank(at);
    splitter->place = PLACE_NEXT;
    ++*at;
    return true;
}

static bool run_between(struct splitter *splitter, const char **at)
{
    if (**at == '{' && splitter->mode == SPLIT_EVENTS)
        begin_document(splitter);
    else if (**at == '{')
        splitter->place = PLACE_FRAME;
    else
        return pass_blank(at);
    return true;
}

static bool run(struct splitter *splitter, const char **at, const char *end)
{
    switch (splitter->place) {
    case PLACE_BETWEEN:
        return run_between(splitter, at);
    case PLACE_FRAME:
        return run_frame(splitter, at);
    case PLACE_FIRST:
    case PLACE_ITEM_END:
    case PLACE_NEXT:
        return run_items(splitter, at);
    case PLACE_DOCUMENT:
        return run_document(splitter, at, end);
    case PLACE_AFTER:
        return pass_blank(at);
    }
    return false;
}

struct splitter *splitter_new(enum split_mode mode, const struct splitter_sink *sink)
{
    struct splitter *splitter = mem_new_of(struct splitter);
    splitter->mode = mode;
    splitter->sink = *sink;
    splitter->octets_max = SPLIT_OCTETS_MAX + (mode == SPLIT_EVENTS ? EVENT_OCTETS : 0);
    splitter->outer.depth_max = SPLIT_DEPTH_MAX;
    return splitter;
}

void splitter_free(struct splitter *splitter)
{
    if (!splitter)
        return;
    buffer_done(&splitter->held);
    buffer_done(&splitter->frame);
    free(splitter);
}

bool splitter_feed(struct splitter *splitter, struct text piece, struct error *err)
{
    const char *at = piece.at;
    const char *end = at + piece.len;
    must(!splitter->is_over);
    while (at < end && !splitter->is_over)
        if (!run(splitter, &at, end)) {
            splitter->is_over = true;
            return error_set(err, FAULT_AGAIN, "InvalidJSON", "octet %zu is not JSON",
                             splitter->offset + (size_t)(at - piece.at));
        }
    splitter->offset += piece.len;
    return true;
}

bool splitter_is_done(const struct splitter *splitter)
{
    return splitter->place == (splitter->mode == SPLIT_LIST ? PLACE_AFTER : PLACE_BETWEEN);
}

struct text splitter_frame(const struct splitter *splitter)
{
    must(splitter->place == PLACE_AFTER);
    return buffer_text(&splitter->frame);
}
