#include "store/cluster/watch_private.h"

enum { PAGE_ITEMS = 500 };

static void add_not_older(struct buffer *path, struct text position)
{
    buffer_add_text(path, "resourceVersionMatch=NotOlderThan&resourceVersion=");
    api_query_escape(path, position);
}

static void add_page(struct watch *watch, struct buffer *path)
{
    buffer_printf(path, "limit=%d", PAGE_ITEMS);
    if (watch->page_token.len == 0)
        return;
    buffer_add_text(path, "&continue=");
    api_query_escape(path, buffer_text(&watch->page_token));
}

static void open_page(struct watch *watch)
{
    AUTO_BUFFER path = {0};
    watch_add_path(watch, &path);
    bool is_first = watch->page_token.len == 0;
    if (is_first && watch->from == FROM_FIRST_PAGE)
        add_not_older(&path, buffer_text(&watch->page_position));
    else if (is_first && watch->from == FROM_POSITION && watch->position.len)
        add_not_older(&path, buffer_text(&watch->position));
    else
        add_page(watch, &path);
    watch_send(watch, PHASE_LIST, path.at);
}

void watch_open_list(struct watch *watch)
{
    watch_begin_pass(watch);
    open_page(watch);
}

void watch_open_get(struct watch *watch)
{
    const struct watch_options *options = &watch->options;
    AUTO_BUFFER path = {0};
    api_version_path(&path, options->kind, watch->api_version, text_of(options->namespace_),
                     text_of(options->name), NULL);
    watch_send(watch, PHASE_GET, path.at);
}

bool watch_handle_item(void *context, struct text document)
{
    struct watch *watch = context;
    struct error err = {0};
    const struct value *object = watch_read_document(watch, document, &err);
    if (!object) {
        watch_handle_skipped(watch, document, err.text);
        return true;
    }
    watch->has_reported = true;
    watch->counts.last_event_ms = watch_now(watch);
    watch->sink.object(watch->sink.context, false, object);
    return true;
}

static void set_text(struct buffer *out, struct text text)
{
    buffer_clear(out);
    buffer_add(out, text.at, text.len);
}

static bool read_frame(struct watch *watch, struct error *err)
{
    if (!splitter_is_done(watch->splitter))
        return error_set(err, FAULT_AGAIN, "CutList", "the list ended before it was complete");
    const struct value *frame = watch_read_document(watch, splitter_frame(watch->splitter), err);
    if (!frame)
        return false;
    if (text_is(value_text_at(frame, "kind"), "Table"))
        return error_set(err, FAULT_AGAIN, "Table", "the server sent a Table, not a list");
    struct text position = value_text_at(frame, "metadata.resourceVersion");
    if (position.len == 0)
        return error_set(err, FAULT_AGAIN, "NoVersion", "the list has no resourceVersion");
    if (watch->page_token.len == 0)
        set_text(&watch->page_position, position);
    set_text(&watch->page_token, value_text_at(frame, "metadata.continue"));
    return true;
}

void watch_handle_list_end(struct watch *watch)
{
    struct error err = {0};
    if (!read_frame(watch, &err)) {
        watch_end(watch, HOW_AGAIN, &err);
        return;
    }
    if (watch->page_token.len) {
        splitter_free(watch->splitter);
        watch->splitter = NULL;
        open_page(watch);
        return;
    }
    bool ok = watch_end_pass(watch, buffer_text(&watch->page_position));
    watch_end(watch, ok ? HOW_RENEW : watch->how, &watch->error);
}

// Absent: it is not there.
static bool handle_one(struct watch *watch, struct text body, struct text *position,
                       struct error *err)
{
    watch_begin_pass(watch);
    if (!body.at)
        return true;
    const struct value *object = watch_read_document(watch, body, err);
    if (!object)
        return false;
    *position = value_text_at(object, "metadata.resourceVersion");
    watch->sink.object(watch->sink.context, false, object);
    watch->has_reported = true;
    return true;
}

void watch_handle_get_end(struct watch *watch, struct text body)
{
    struct error err = {0};
    struct text position = {0};
    if (!handle_one(watch, body, &position, &err)) {
        watch_end(watch, HOW_AGAIN, &err);
        return;
    }
    if (watch->from == FROM_CACHED)
        position = (struct text){0};
    // A bookmark may have been newer than the object.
    buffer_clear(&watch->position);
    bool ok = watch_end_pass(watch, position);
    watch_end(watch, ok ? HOW_RENEW : watch->how, &watch->error);
}
