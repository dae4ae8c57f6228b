#include "base/must.h"
#include "store/cluster/split.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static bool handle_reply(void *context, struct text document)
{
    buffer_add(context, document.at, document.len);
    buffer_add_char(context, '|');
    return true;
}

static void handle_skipped(void *context, struct text head, const char *why)
{
    buffer_printf(context, "~%s:%zu|", why, head.len);
}

// All that came out, then how it ended.
static void split(enum split_mode mode, struct text all, size_t step, struct buffer *out)
{
    struct error err = {0};
    struct splitter_sink sink = {handle_reply, handle_skipped, out};
    CLEANUP(splitter) struct splitter *splitter = splitter_new(mode, &sink);
    bool ok = true;
    for (size_t at = 0; at < all.len && ok; at += step) {
        size_t len = all.len - at < step ? all.len - at : step;
        ok = splitter_feed(splitter, (struct text){all.at + at, len}, &err);
    }
    buffer_printf(out, "%s, %d", err.text, ok && splitter_is_done(splitter));
    if (ok && mode == SPLIT_LIST && splitter_is_done(splitter)) {
        struct text frame = splitter_frame(splitter);
        buffer_add(out, frame.at, frame.len);
    }
}

// However the octets are cut into pieces, the same documents come out. The first octet says how.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    if (len == 0)
        return 0;
    enum split_mode mode = at[0] & 1 ? SPLIT_LIST : SPLIT_EVENTS;
    const size_t steps[] = {1, 2 + (at[0] >> 1)};
    struct text all = {(const char *)at + 1, len - 1};
    AUTO_BUFFER whole = {0};
    split(mode, all, SIZE_MAX / 2, &whole);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        AUTO_BUFFER cut = {0};
        split(mode, all, steps[i], &cut);
        must(text_equal(buffer_text(&whole), buffer_text(&cut)));
    }
    return 0;
}
