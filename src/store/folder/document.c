#include "store/folder/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
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

static const char *cleaned(const struct walk *walk, struct text text)
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
                  cleaned(walk, version), TEXT_ARGS(group), known);
        return;
    }
    const char *nearest = nearest_kind(walk->source, group, name);
    if (nearest)
        set_fault(walk, document, "kind: unknown kind %s; did you mean %s?", cleaned(walk, name),
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

static void check_document(const struct walk *walk, struct document *document)
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

// All trees are made before the first is called: nothing of a half-written text is. Where there is
// no room for them the text is looked over first, and read again.
enum phase { PHASE_LOOK, PHASE_KEEP, PHASE_READ };

struct document_reader {
    struct document_source source;
    enum phase phase;
    struct yaml_reader *yaml;
    bool is_within; // a document that is not read to its end
    struct arena *trees;
    struct arena *arena; // of one call
    struct value *first; // trees that are not called yet
    struct value **end;
};

static void begin_text(struct document_reader *reader, enum phase phase)
{
    yaml_reader_free(reader->yaml);
    reader->yaml = yaml_reader_new(reader->source.text, &value_manifest_limits);
    reader->phase = phase;
}

struct document_reader *document_reader_new(const struct document_source *source)
{
    struct document_reader *reader = mem_new_of(struct document_reader);
    bool is_kept = source->text.len <= KEPT_OCTETS_MAX;
    reader->source = *source;
    reader->trees = arena_new();
    reader->arena = arena_new();
    reader->end = &reader->first;
    begin_text(reader, source->is_draft ? PHASE_READ : is_kept ? PHASE_KEEP : PHASE_LOOK);
    return reader;
}

void document_reader_free(struct document_reader *reader)
{
    if (!reader)
        return;
    yaml_reader_free(reader->yaml);
    arena_free(reader->trees);
    arena_free(reader->arena);
    free(reader);
}

static struct value *opened_list(const struct value *tree)
{
    struct value *items = value_find(tree, "items");
    if (!text_ends(value_text_at(tree, "kind"), "List") || !items || items->type != VALUE_LIST)
        return NULL;
    return items;
}

// A list's items stand in its place.
static void open_list(struct document_reader *reader, const struct value *items)
{
    if (!items->first)
        return;
    items->last->next = reader->first;
    reader->first = items->first;
    if (!items->last->next)
        reader->end = &items->last->next;
}

static struct value *pop_tree(struct document_reader *reader)
{
    struct value *tree = reader->first;
    reader->first = tree->next;
    if (!reader->first)
        reader->end = &reader->first;
    tree->next = NULL;
    return tree;
}

static void take_tree(struct document_reader *reader, document_call *call, void *context)
{
    struct value *tree = pop_tree(reader);
    const struct value *items = opened_list(tree);
    if (items) {
        open_list(reader, items);
        return;
    }
    struct document document = {
        .tree = tree,
        .line = tree->line ? tree->line : 1,
        .column = tree->column ? tree->column : 1,
    };
    const struct walk walk = {&reader->source, reader->arena};
    check_document(&walk, &document);
    call(context, reader->arena, &document);
    arena_reset(reader->arena);
}

static void end_text(struct document_reader *reader)
{
    if (reader->phase == PHASE_LOOK)
        begin_text(reader, PHASE_READ);
    else
        yaml_reader_free(steal(reader->yaml));
}

static bool read_part(struct document_reader *reader, struct error *err)
{
    enum yaml_step step;
    struct value *tree = NULL;
    if (reader->phase != PHASE_KEEP && !reader->is_within)
        arena_reset(reader->trees);
    if (!yaml_reader_step(reader->yaml, reader->trees, &tree, &step, err))
        return error_prefix(err, "%s:", reader->source.path);
    reader->is_within = step == YAML_AGAIN;
    if (step == YAML_OVER)
        end_text(reader);
    if (!tree || tree->type == VALUE_NULL || reader->phase == PHASE_LOOK)
        return true;
    *reader->end = tree;
    reader->end = &tree->next;
    return true;
}

bool document_reader_step(struct document_reader *reader, document_call *call, void *context,
                          bool *has_more, struct error *err)
{
    bool is_reading = reader->yaml && (reader->phase == PHASE_KEEP || !reader->first);
    if (is_reading && !read_part(reader, err))
        return false;
    if (!is_reading && reader->first)
        take_tree(reader, call, context);
    *has_more = reader->yaml || reader->first;
    return true;
}

bool documents_read(const struct document_source *source, document_call *call, void *context,
                    struct error *err)
{
    CLEANUP(document_reader) struct document_reader *reader = document_reader_new(source);
    for (bool has_more = true; has_more;)
        if (!document_reader_step(reader, call, context, &has_more, err))
            return false;
    return true;
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
