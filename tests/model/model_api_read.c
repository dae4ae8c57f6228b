#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/labels.h"
#include "model/model_api_private.h"

bool model_version_read(struct text text, uint64_t *out)
{
    int64_t number;
    if (!text_to_int64(text, &number) || number < 0)
        return false;
    *out = (uint64_t)number;
    return true;
}

static void refuse_request(struct http_call *call, const char *text)
{
    model_refuse(call, &(struct model_status){.code = 400, .reason = "BadRequest"}, "%s", text);
}

bool model_selected_name(struct http_call *call, const struct model_target *target,
                         struct text *name)
{
    struct text rest = target->query.fields;
    struct text key;
    *name = TEXT("");
    if (!rest.at)
        return true;
    if (text_cut(&rest, '=', &key) && text_is(key, "metadata.name") && rest.at) {
        *name = rest;
        return true;
    }
    model_refuse(call, &(struct model_status){.code = 400, .reason = "BadRequest"},
                 "field label not supported: %.*s", TEXT_ARGS(key));
    return false;
}

// ---- one ----------------------------------------------------------------------------------------

void model_handle_get(struct http_call *call, const struct model_target *target,
                      const struct http_request *request, struct arena *arena)
{
    (void)request;
    (void)arena;
    const struct model_object *object = model_server_object(call->api->server, &target->key);
    if (object)
        model_answer_json(call, 200, object->json);
    else
        model_refuse_missing(call, target);
}

// ---- discovery ----------------------------------------------------------------------------------

static void add_resource(struct buffer *out, const struct kind *kind)
{
    buffer_printf(out,
                  "%s{\"name\":\"%s\",\"singularName\":\"%s\",\"namespaced\":%s,\"kind\":\"%s\","
                  "\"verbs\":[\"delete\",\"get\",\"list\",\"patch\",\"create\",\"update\","
                  "\"watch\"]}",
                  out->at[out->len - 1] == '[' ? "" : ",", kind->plural, kind->singular,
                  kind->is_namespaced ? "true" : "false", kind->name);
}

static bool describe_group(const struct model_api *api, struct text path, struct arena *arena,
                           struct buffer *out)
{
    size_t count;
    bool has = false;
    const struct store_kind *rows = model_server_kinds(api->server, &count);
    buffer_printf(out,
                  "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":"
                  "\"%.*s\",\"resources\":[",
                  TEXT_ARGS(path));
    for (size_t i = 0; i < count; i++) {
        const struct kind *kind = rows[i].kind;
        const char *at = arena_printf(arena, *kind->group ? "/apis/%s/%s" : "/api%s/%s",
                                      kind->group, kind->version);
        if (api->is_absent[i] || !text_is(path, at))
            continue;
        add_resource(out, kind);
        has = true;
    }
    buffer_add_text(out, "]}");
    return has;
}

void model_handle_discovery(struct http_call *call, const struct model_target *target,
                            const struct http_request *request, struct arena *arena)
{
    AUTO_BUFFER out = {0};
    (void)request;
    if (text_is(target->path, "/readyz") || text_is(target->path, "/healthz")) {
        model_answer_text(call, 200, "ok");
        return;
    }
    bool is_version = text_is(target->path, "/version");
    if (is_version)
        buffer_add_text(&out, "{\"major\":\"1\",\"minor\":\"37\",\"gitVersion\":\"v1.37.1\"}");
    if (!is_version && !describe_group(call->api, target->path, arena, &out)) {
        model_answer_text(call, 404, "404 page not found\n");
        return;
    }
    model_answer_text(call, 200, buffer_text(&out).at);
    call->content_type = "application/json";
}

// ---- what stood there ---------------------------------------------------------------------------

struct lister {
    const struct model_target *target;
    struct text name;
    uint64_t version;
    struct model_listing *out;
};

static bool is_asked(const struct lister *lister, const char *namespace_, const char *name)
{
    struct text wanted = lister->target->key.namespace_;
    return (!wanted.len || text_is(wanted, namespace_)) &&
           (!lister->name.len || text_is(lister->name, name));
}

static void take(const struct lister *lister, const char *namespace_, const char *name,
                 const struct model_json *json)
{
    struct model_listing *out = lister->out;
    if (!is_asked(lister, namespace_, name))
        return;
    mem_reserve(&out->items, &out->capacity, out->count + 1);
    out->items[out->count++] = (struct model_listed){namespace_, name, json};
}

static void take_object(void *context, const struct model_object *object)
{
    const struct lister *lister = context;
    if (object->type == lister->target->row && object->version <= lister->version)
        take(lister, object->namespace_, object->name, object->json);
}

static int compare_listed(const void *a, const void *b)
{
    const struct model_listed *left = a;
    const struct model_listed *right = b;
    int order = strcmp(left->namespace_, right->namespace_);
    return order ? order : strcmp(left->name, right->name);
}

void model_list(struct model_server *server, const struct model_target *target, struct text name,
                uint64_t version, struct model_listing *out)
{
    struct lister lister = {target, name, version, out};
    const struct model_history *history = model_server_history(server, target->row->kind);
    model_server_each(server, take_object, &lister);
    for (size_t i = history->count; i-- > 0 && history->events[i].version > version;) {
        const struct model_event *event = &history->events[i];
        if (event->old && event->old_version <= version)
            take(&lister, event->namespace_, event->name, event->old);
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_listed);
}

// ---- many ---------------------------------------------------------------------------------------

struct page {
    uint64_t version;
    struct text after; // "namespace/name" of the last one that was shown; empty: from the start
    size_t limit;      // 0: all
};

static void write_token(struct buffer *out, uint64_t version, const struct model_listed *last)
{
    AUTO_BUFFER plain = {0};
    buffer_printf(&plain, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%llu,\"start\":\"%s/%s\"}",
                  (unsigned long long)version, last->namespace_, last->name);
    size_t from = out->len;
    base64_encode(out, plain.at, plain.len);
    for (size_t i = from; i < out->len; i++)
        out->at[i] = out->at[i] == '+' ? '-' : out->at[i] == '/' ? '_' : out->at[i];
    while (out->len > from && out->at[out->len - 1] == '=')
        out->at[--out->len] = '\0';
}

static bool read_token(struct page *page, struct text token, struct arena *arena)
{
    AUTO_BUFFER plain = {0};
    char *base64 = arena_printf(arena, "%.*s%.*s", TEXT_ARGS(token), (int)(-token.len % 4), "===");
    for (char *at = base64; *at; at++)
        *at = *at == '-' ? '+' : *at == '_' ? '/' : *at;
    if (!base64_decode(&plain, text_of(base64), NULL))
        return false;
    const char *json = arena_copy(arena, buffer_text(&plain).at, plain.len);
    const struct value *tree = value_read_json(arena, text_of(json), &value_reply_limits, NULL);
    int64_t version = value_int_at(tree, "rv", -1);
    page->version = (uint64_t)version;
    page->after = value_text_at(tree, "start");
    return version >= 0 && page->after.at;
}

static bool read_page(struct http_call *call, const struct model_query *query, struct page *page,
                      struct arena *arena)
{
    uint64_t now = model_server_version(call->api->server);
    page->version = now;
    page->after = TEXT("");
    page->limit = query->limit > 0 ? (size_t)query->limit : 0;
    if (query->next.at && (query->version.at || query->match.at)) {
        refuse_request(call, "specifying resource version is not allowed when using continue");
        return false;
    }
    if (query->next.at && !read_token(page, query->next, arena)) {
        refuse_request(call, "continue key is not valid: illegal base64 data");
        return false;
    }
    if (query->version.at && !model_version_read(query->version, &page->version)) {
        refuse_request(call, "Invalid value: resourceVersion");
        return false;
    }
    if (page->version > now) {
        model_refuse_too_large(call, page->version, now);
        return false;
    }
    if (text_is(query->version, "0"))
        page->limit = 0;
    return true;
}

static void refuse_old(struct http_call *call, const struct model_query *query)
{
    model_refuse(call, &(struct model_status){.code = 410, .reason = "Expired"}, "%s",
                 query->next.at
                     ? "The provided continue parameter is too old to display a consistent list "
                       "result. You can start a new list without the continue parameter."
                     : "The resourceVersion for the provided list is too old.");
}

// Its own kinds stand in a list without their name.
static void add_item(struct buffer *out, const struct kind *kind, const struct model_json *json)
{
    if (!kind->is_foreign) {
        buffer_add(out, json->at, json->len);
        return;
    }
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct text text = {json->at, json->len};
    struct value *tree = value_read_json(arena, text, &value_manifest_limits, NULL);
    value_remove(tree, "apiVersion");
    value_remove(tree, "kind");
    value_write_json(out, tree);
}

static bool is_behind(const struct model_listed *item, struct text after)
{
    struct text rest = after;
    struct text namespace_;
    if (!after.len)
        return true;
    text_cut(&rest, '/', &namespace_);
    int order = text_compare(text_of(item->namespace_), namespace_);
    return order > 0 || (order == 0 && text_compare(text_of(item->name), rest) > 0);
}

static void write_list(struct buffer *out, const struct model_target *target,
                       const struct model_listing *listing, const struct page *page)
{
    size_t from = 0;
    while (from < listing->count && !is_behind(&listing->items[from], page->after))
        from++;
    size_t left = listing->count - from;
    size_t shown = page->limit && page->limit < left ? page->limit : left;
    buffer_add_text(out, "{\"apiVersion\":\"");
    kind_api_version(out, target->row->kind);
    buffer_printf(out, "\",\"items\":[");
    for (size_t i = 0; i < shown; i++) {
        buffer_add_text(out, i ? "," : "");
        add_item(out, target->row->kind, listing->items[from + i].json);
    }
    buffer_printf(out, "],\"kind\":\"%sList\",\"metadata\":{\"continue\":\"",
                  target->row->kind->name);
    if (shown < left)
        write_token(out, page->version, &listing->items[from + shown - 1]);
    buffer_add_char(out, '"');
    if (shown < left)
        buffer_printf(out, ",\"remainingItemCount\":%zu", left - shown);
    buffer_printf(out, ",\"resourceVersion\":\"%llu\"}}\n", (unsigned long long)page->version);
}

static char *copy_labels(struct arena *arena, const struct model_query *query)
{
    return query->labels.at ? arena_copy(arena, query->labels.at, query->labels.len) : NULL;
}

bool model_is_selected(const char *labels, const struct model_json *json)
{
    if (!labels)
        return true;
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct text text = {json->at, json->len};
    const struct value *tree = value_read_json(arena, text, &value_manifest_limits, NULL);
    return labels_match_object(labels, tree);
}

void model_select(struct model_listing *listing, const char *labels)
{
    size_t kept = 0;
    for (size_t i = 0; i < listing->count; i++)
        if (model_is_selected(labels, listing->items[i].json))
            listing->items[kept++] = listing->items[i];
    listing->count = kept;
}

void model_handle_list(struct http_call *call, const struct model_target *target,
                       const struct http_request *request, struct arena *arena)
{
    struct text name;
    struct page page;
    struct model_listing listing = {0};
    const struct model_query *query = &target->query;
    struct model_server *server = call->api->server;
    (void)request;
    if (!model_selected_name(call, target, &name) || !read_page(call, query, &page, arena))
        return;
    bool is_exact = query->next.at || text_is(query->match, "Exact");
    if (is_exact && page.version < model_server_history(server, target->row->kind)->expired) {
        refuse_old(call, query);
        return;
    }
    if (!is_exact)
        page.version = model_server_version(server);
    model_list(server, target, name, page.version, &listing);
    model_select(&listing, copy_labels(arena, query));
    model_answer_text(call, 200, "");
    call->content_type = "application/json";
    write_list(&call->body, target, &listing, &page);
    free(listing.items);
}
