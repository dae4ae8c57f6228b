#include "store/folder/document.h"

#include <string.h>

#include "store/folder/name.h"

enum {
    NAME_OCTETS_MAX = 253,
    NAMESPACE_OCTETS_MAX = 63,
    SHOWN_OCTETS_MAX = 64,
    KEPT_OCTETS_MAX = 256 * 1024, // of text whose trees are held all at once
};

struct walk {
    const struct document_source *source;
    struct arena *arena;
    document_call *call;
    void *context;
};

static void set_fault(const struct walk *walk, struct document *document, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void set_fault(const struct walk *walk, struct document *document, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    va_list args;
    buffer_printf(&text, "%s:%u:%u: ", walk->source->path, document->line, document->column);
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    document->state = DOCUMENT_BROKEN;
    document->fault = arena_copy(walk->arena, text.at, text.len);
}

// ---- which kind ---------------------------------------------------------------------------------

static bool is_own_group(const struct document_source *source, struct text group)
{
    for (size_t i = 0; i < source->kind_count; i++)
        if (!source->kinds[i]->is_foreign && text_is(group, source->kinds[i]->group))
            return true;
    return false;
}

static const char *known_version(const struct document_source *source, struct text group)
{
    for (size_t i = 0; i < source->kind_count; i++)
        if (text_is(group, source->kinds[i]->group))
            return source->kinds[i]->version;
    return NULL;
}

static const char *nearest_kind(const struct document_source *source, struct text group,
                                struct text name)
{
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; i < source->kind_count && count < COUNT_OF(names); i++)
        if (text_is(group, source->kinds[i]->group))
            names[count++] = source->kinds[i]->name;
    return text_nearest(name, names, count);
}

static const char *shown(const struct walk *walk, struct text text)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, text, SHOWN_OCTETS_MAX);
    return arena_copy(walk->arena, buffer_text(&clean).at, clean.len);
}

// A document of our group that no table knows is a mistake only if its version or a slip of the pen
// explains it: other kinds of the group may belong to controllers that do not run.
static void judge_unknown(const struct walk *walk, struct document *document)
{
    struct text version = value_text_at(document->tree, "apiVersion");
    struct text name = value_text_at(document->tree, "kind");
    struct text group = TEXT("");
    document->state = DOCUMENT_UNKNOWN;
    if (memchr(version.at, '/', version.len))
        text_cut(&version, '/', &group);
    if (!is_own_group(walk->source, group))
        return;
    const char *known = known_version(walk->source, group);
    if (!text_is(version, known)) {
        set_fault(walk, document, "apiVersion: unknown version %s; use %.*s/%s",
                  shown(walk, version), TEXT_ARGS(group), known);
        return;
    }
    const char *nearest = nearest_kind(walk->source, group, name);
    if (nearest)
        set_fault(walk, document, "kind: unknown kind %s; did you mean %s?", shown(walk, name),
                  nearest);
}

static bool find_kind(const struct walk *walk, struct document *document)
{
    static const char *const needed[] = {"apiVersion", "kind"};
    bool is_known_group;
    for (size_t i = 0; i < COUNT_OF(needed); i++) {
        if (value_text(value_find(document->tree, needed[i])).len)
            continue;
        set_fault(walk, document, "%s is required", needed[i]);
        return false;
    }
    document->kind =
        kind_lookup(walk->source->kinds, walk->source->kind_count, document->tree, &is_known_group);
    if (!document->kind)
        judge_unknown(walk, document);
    return document->kind != NULL;
}

// ---- defaults -----------------------------------------------------------------------------------

static void fill_at(struct arena *arena, struct value *at, const char *path,
                    const struct field *field)
{
    size_t len = strcspn(path, ".[");
    struct text key = {path, len};
    if (!at || at->type != VALUE_MAP)
        return;
    struct value *child = value_find_text(at, key);
    if (path[len] == '\0') {
        if (!child)
            value_set(at, key, kind_make_fallback(arena, field));
        return;
    }
    if (path[len] == '.') {
        fill_at(arena, child, path + len + 1, field);
        return;
    }
    if (!child || child->type != VALUE_LIST || path[len + 2] != '.')
        return;
    value_each (item, child) {
        fill_at(arena, item, path + len + 3, field);
    }
}

static void fill_defaults(struct arena *arena, const struct kind *kind, struct value *tree)
{
    for (size_t i = 0; i < kind->field_count; i++)
        if (kind->fields[i].fallback)
            fill_at(arena, tree, kind->fields[i].path, &kind->fields[i]);
}

static void fill_namespace(struct arena *arena, const struct kind *kind, struct value *metadata)
{
    const struct value *given = value_find(metadata, "namespace");
    if (!kind->is_namespaced || !metadata || metadata->type != VALUE_MAP)
        return;
    if (!given || given->type == VALUE_NULL)
        value_set(metadata, TEXT("namespace"), value_make_text(arena, TEXT("default")));
}

// ---- checks -------------------------------------------------------------------------------------

static void find_identity(struct document *document)
{
    const struct value *metadata = value_find(document->tree, "metadata");
    document->name = value_text(value_find(metadata, "name"));
    document->namespace_ = value_text(value_find(metadata, "namespace"));
    if (!document->namespace_.at)
        document->namespace_ = TEXT("");
    document->has_identity =
        name_is_plain(document->name, NAME_OCTETS_MAX) &&
        (document->kind->is_namespaced ? name_is_plain(document->namespace_, NAMESPACE_OCTETS_MAX)
                                       : !document->namespace_.len);
}

static const char *join_faults(const struct walk *walk, const struct document *document,
                               const struct findings *findings)
{
    AUTO_BUFFER text = {0};
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->level != FINDING_ERROR)
            continue;
        buffer_printf(&text, "%s%s:%u:%u: %s", text.len ? "; " : "", walk->source->path,
                      finding->line ? finding->line : document->line,
                      finding->line ? finding->column : document->column, finding->text);
    }
    return arena_copy(walk->arena, buffer_text(&text).at, text.len);
}

static void check_shape(const struct walk *walk, struct document *document)
{
    struct findings findings = {.arena = walk->arena, .patterns = walk->source->patterns};
    kind_check(document->kind, document->tree, &findings);
    if (!findings_errors(&findings))
        return;
    findings_locate(&findings, document->tree);
    document->state = DOCUMENT_BROKEN;
    document->fault = join_faults(walk, document, &findings);
}

static bool is_too_large(const struct walk *walk, const struct document *document)
{
    if (walk->source->text.len <= DOCUMENT_OCTETS_MAX)
        return false;
    AUTO_BUFFER json = {0};
    value_write_json(&json, document->tree);
    return json.len > DOCUMENT_OCTETS_MAX;
}

static void check(const struct walk *walk, struct document *document)
{
    if (document->tree->type != VALUE_MAP) {
        set_fault(walk, document, "expected a map with apiVersion and kind, found %s",
                  value_type_name(document->tree->type));
        return;
    }
    if (!find_kind(walk, document))
        return;
    fill_namespace(walk->arena, document->kind, value_find(document->tree, "metadata"));
    find_identity(document);
    document->has_secret = document->kind->has_secret ? document->kind->has_secret(document->tree)
                                                      : document->kind->is_secret;
    if (is_too_large(walk, document)) {
        set_fault(walk, document, "is larger than %d octets; split it", DOCUMENT_OCTETS_MAX);
        return;
    }
    fill_defaults(walk->arena, document->kind, document->tree);
    check_shape(walk, document);
    if (document->state == DOCUMENT_GOOD && !document->has_identity)
        set_fault(walk, document, "metadata.name is required");
}

// ---- walking ------------------------------------------------------------------------------------

static struct value *opened_list(const struct value *tree)
{
    struct value *items = value_find(tree, "items");
    if (!text_ends(value_text_at(tree, "kind"), "List") || !items || items->type != VALUE_LIST)
        return NULL;
    return items;
}

static void take(const struct walk *walk, struct value *tree)
{
    const struct value *items = opened_list(tree);
    if (items) {
        value_each (item, items) {
            take(walk, item);
        }
        return;
    }
    struct document document = {
        .tree = tree,
        .line = tree->line ? tree->line : 1,
        .column = tree->column ? tree->column : 1,
    };
    check(walk, &document);
    walk->call(walk->context, walk->arena, &document);
}

static bool next_tree(const struct walk *walk, struct yaml_reader *reader, struct arena *arena,
                      struct value **out, struct error *err)
{
    bool has = true;
    for (*out = NULL; has && (!*out || (*out)->type == VALUE_NULL);)
        if (!yaml_reader_next(reader, arena, out, &has, err))
            return error_prefix(err, "%s:", walk->source->path);
    if (!has)
        *out = NULL;
    return true;
}

// As they come, and only looked over when `is_silent`.
static bool walk_text(const struct walk *walk, bool is_silent, struct error *err)
{
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(walk->source->text, &value_manifest_limits);
    for (;;) {
        struct value *tree;
        if (!next_tree(walk, reader, walk->arena, &tree, err))
            return false;
        if (!tree)
            return true;
        if (!is_silent)
            take(walk, tree);
        arena_reset(walk->arena);
    }
}

// All of them before the first is called: half as much work where there is room for it.
static bool walk_kept(const struct walk *walk, struct error *err)
{
    CLEANUP(arena) struct arena *kept = arena_new();
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(walk->source->text, &value_manifest_limits);
    struct value *first = NULL;
    struct value **link = &first;
    for (;; link = &(*link)->next) {
        if (!next_tree(walk, reader, kept, link, err))
            return false;
        if (!*link)
            break;
    }
    for (struct value *tree = first, *next; tree; tree = next) {
        next = tree->next;
        tree->next = NULL;
        take(walk, tree);
        arena_reset(walk->arena);
    }
    return true;
}

bool documents_read(const struct document_source *source, document_call *call, void *context,
                    struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct walk walk = {source, arena, call, context};
    if (source->is_draft)
        return walk_text(&walk, false, err);
    if (source->text.len <= KEPT_OCTETS_MAX)
        return walk_kept(&walk, err);
    return walk_text(&walk, true, err) && walk_text(&walk, false, err);
}

const char *document_duplicate(struct arena *arena, const struct document *document,
                               const char *path, const char *elsewhere)
{
    return arena_printf(
        arena, "%s:%u:%u: Duplicate: %s %.*s%s%.*s stands in %s already; remove one of the two",
        path, document->line, document->column, document->kind->name,
        TEXT_ARGS(document->namespace_), document->namespace_.len ? "/" : "",
        TEXT_ARGS(document->name), elsewhere);
}
