#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/value_private.h"

enum {
    COPIES_MAX = 1 << 16,     // nodes made through aliases, per document
    TAG_DIRECTIVES_MAX = 256, // libyaml compares each with all before it
    EVENTS_PER_STEP = 1024,
};

struct anchor {
    struct text name;
    const struct value *value; // NULL while its node is being read
    struct anchor *older;
};

struct key {
    struct text text;
    yaml_mark_t mark;
    bool is_merge;
};

// A list or map whose entries are being read.
struct frame {
    struct value *into;
    struct anchor *anchor; // or NULL
    struct key key;        // of the value that comes next
    bool has_key;
    struct value *merged; // the value of `<<`
    yaml_mark_t merge_mark;
};

struct yaml_reader {
    struct text text;
    const struct value_limits *limits;
    yaml_parser_t parser;
    bool is_started;
    bool is_over;
    bool is_broken;
    struct error broken;
    // Of the document that is being read:
    bool is_within;
    struct value *root;
    struct frame *frames;
    size_t frame_capacity;
    size_t depth;
    struct arena *arena;
    struct anchor *anchors;
    unsigned aliases;
    size_t nodes;
    size_t copies;
    size_t copied_octets;
};

static void event_done(yaml_event_t *event)
{
    yaml_event_delete(event);
}
#define AUTO_EVENT __attribute__((cleanup(event_done))) yaml_event_t

static void fill_error(yaml_mark_t mark, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fill_error(yaml_mark_t mark, struct error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_setv(err, FAULT_SPEC, "InvalidYAML", format, args);
    va_end(args);
    error_prefix(err, "%zu:%zu: ", mark.line + 1, mark.column + 1);
}

// False in plain sight: the analyzer does not follow variadic functions.
#define fail_at(mark, err, ...) (fill_error((mark), (err), __VA_ARGS__), false)

static bool fail_octets(const struct yaml_reader *reader, struct error *err)
{
    unsigned line;
    unsigned column;
    value_position(reader->text, reader->parser.problem_offset, &line, &column);
    error_set(err, FAULT_SPEC, "InvalidYAML", "%u:%u: %s: the file must be UTF-8 text", line,
              column, reader->parser.problem);
    return false;
}

// Of the character that a mark stands at; NUL behind the end.
static char first_octet_at(const struct yaml_reader *reader, yaml_mark_t mark)
{
    size_t characters = 0;
    for (size_t i = 0; i < reader->text.len; i++) {
        bool is_first = ((unsigned char)reader->text.at[i] & 0xC0) != 0x80;
        if (is_first && characters++ == mark.index)
            return reader->text.at[i];
    }
    return 0;
}

static const char *find_remedy(const struct yaml_reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    const char *problem = parser->problem ? parser->problem : "";
    bool is_token = !strcmp(problem, "found character that cannot start any token");
    char c = is_token ? first_octet_at(reader, parser->problem_mark) : 0;
    if (c == '\t' || strstr(problem, "found a tab character"))
        return "found a tab, which YAML forbids for indentation: use spaces";
    return c && strchr("@`%", c) ? "quote a value that begins with @, ` or %" : NULL;
}

static bool fail_syntax(const struct yaml_reader *reader, struct error *err)
{
    const yaml_parser_t *parser = &reader->parser;
    must(parser->error != YAML_MEMORY_ERROR);
    if (parser->error == YAML_READER_ERROR)
        return fail_octets(reader, err);
    const char *remedy = find_remedy(reader);
    if (remedy)
        return fail_at(parser->problem_mark, err, "%s", remedy);
    const char *problem = parser->problem ? parser->problem : "not YAML";
    if (!parser->context)
        return fail_at(parser->problem_mark, err, "%s", problem);
    return fail_at(parser->problem_mark, err, "%s %s that began at %zu:%zu", problem,
                   parser->context, parser->context_mark.line + 1, parser->context_mark.column + 1);
}

static bool next_event(struct yaml_reader *reader, yaml_event_t *event, struct error *err)
{
    return yaml_parser_parse(&reader->parser, event) || fail_syntax(reader, err);
}

static struct text octets_of(const yaml_char_t *at, size_t len)
{
    return (struct text){(const char *)at, len};
}

static struct text copy_text(struct yaml_reader *reader, struct text text)
{
    return (struct text){arena_copy(reader->arena, text.at, text.len), text.len};
}

static bool make_node(struct yaml_reader *reader, yaml_mark_t mark, struct value **out,
                      struct error *err)
{
    if (++reader->nodes > value_nodes_max(reader->limits))
        return fail_at(mark, err, "too many values in one document");
    *out = value_make(reader->arena, VALUE_NULL);
    (*out)->line = (uint32_t)mark.line + 1;
    (*out)->column = (uint32_t)mark.column + 1;
    return true;
}

static struct anchor *add_anchor(struct yaml_reader *reader, const yaml_char_t *name)
{
    if (!name)
        return NULL;
    struct anchor *anchor = arena_new_of(reader->arena, struct anchor);
    anchor->name = copy_text(reader, octets_of(name, strlen((const char *)name)));
    anchor->older = reader->anchors;
    reader->anchors = anchor;
    return anchor;
}

static void set_anchor(struct anchor *anchor, const struct value *value)
{
    if (anchor)
        anchor->value = value;
}

static bool find_anchor(struct yaml_reader *reader, const yaml_event_t *event,
                        const struct value **out, struct error *err)
{
    struct text name = text_of((const char *)event->data.alias.anchor);
    const struct anchor *anchor = reader->anchors;
    while (anchor && !text_equal(anchor->name, name))
        anchor = anchor->older;
    if (++reader->aliases > reader->limits->aliases)
        return fail_at(event->start_mark, err, "more than %u aliases in one document",
                       reader->limits->aliases);
    if (!anchor)
        return fail_at(event->start_mark, err,
                       "unknown alias: quote a value that begins with an asterisk");
    if (!anchor->value)
        return fail_at(event->start_mark, err, "an alias stands inside of what it names");
    *out = anchor->value;
    return true;
}

// Each use of an alias is a copy of its own, so that a tree has no shared nodes; texts are shared.
static bool copy_tree(struct yaml_reader *reader, const struct value *from, unsigned depth,
                      struct value **out)
{
    reader->copied_octets += from->text.len + from->key.len;
    if (++reader->copies > COPIES_MAX || reader->copied_octets > reader->limits->octets)
        return false;
    struct value *copy = arena_new_of(reader->arena, struct value);
    *copy = *from;
    *out = copy;
    if (from->type != VALUE_LIST && from->type != VALUE_MAP)
        return true;
    if (depth >= reader->limits->depth)
        return false;
    copy->first = copy->last = NULL;
    copy->count = 0;
    value_each (item, from) {
        struct value *child;
        if (!copy_tree(reader, item, depth + 1, &child))
            return false;
        value_link(copy, child);
    }
    return true;
}

static bool read_alias(struct yaml_reader *reader, const yaml_event_t *event, unsigned depth,
                       struct value **out, struct error *err)
{
    const struct value *target = NULL;
    return find_anchor(reader, event, &target, err) &&
           (copy_tree(reader, target, depth, out) ||
            fail_at(event->start_mark, err, "aliases make the document too large or too deep"));
}

// Of the tags only those of the JSON types are known: any other would be misread in silence.
static bool find_tag(const yaml_event_t *event, const yaml_char_t *tag, const char **out,
                     struct error *err)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    static const char *const known[] = {"str", "int", "float", "bool", "null", "map", "seq"};
    const char *text = (const char *)tag;
    *out = NULL;
    if (!text)
        return true;
    if (strcmp(text, "!") == 0)
        text = "tag:yaml.org,2002:str";
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (strncmp(text, prefix, sizeof prefix - 1) == 0 &&
            strcmp(text + sizeof prefix - 1, known[i]) == 0) {
            *out = known[i];
            return true;
        }
    }
    return fail_at(event->start_mark, err,
                   "this tag is not supported: quote a value that begins with an exclamation mark");
}

static bool has_tagged_type(const char *tag, enum value_type type)
{
    static const char *const names[] = {
        [VALUE_NULL] = "null", [VALUE_BOOL] = "bool", [VALUE_INT] = "int", [VALUE_FLOAT] = "float",
        [VALUE_TEXT] = "str",  [VALUE_LIST] = "seq",  [VALUE_MAP] = "map",
    };
    if (!tag)
        return true;
    return strcmp(names[type], tag) == 0 || (type == VALUE_INT && strcmp(tag, "float") == 0);
}

static bool fill_scalar(struct yaml_reader *reader, const yaml_event_t *event, struct value *value,
                        struct error *err)
{
    struct text typed =
        copy_text(reader, octets_of(event->data.scalar.value, event->data.scalar.length));
    const char *tag;
    if (!find_tag(event, event->data.scalar.tag, &tag, err))
        return false;
    bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    bool is_text = tag ? strcmp(tag, "str") == 0 : !is_plain;
    value->is_plain = is_plain && !tag;
    value->type = VALUE_TEXT;
    value->text = typed;
    if (!is_text)
        scalar_resolve(typed, value);
    if (!has_tagged_type(tag, value->type))
        return fail_at(event->start_mark, err, "%s is not of type %s", value_type_name(value->type),
                       tag);
    if (value->type == VALUE_FLOAT && !isfinite(value->real))
        return fail_at(event->start_mark, err, "%s is not a number that JSON has: quote it",
                       typed.at);
    return true;
}

static bool read_scalar(struct yaml_reader *reader, const yaml_event_t *event, struct value **out,
                        struct error *err)
{
    if (!make_node(reader, event->start_mark, out, err) || !fill_scalar(reader, event, *out, err))
        return false;
    set_anchor(add_anchor(reader, event->data.scalar.anchor), *out);
    return true;
}

static bool enter(struct yaml_reader *reader, const yaml_event_t *event,
                  const yaml_char_t *typed_tag, const yaml_char_t *anchor, enum value_type type,
                  struct value **out, struct error *err)
{
    const char *tag;
    if (reader->depth >= reader->limits->depth)
        return fail_at(event->start_mark, err, "lists and maps are nested deeper than %u",
                       reader->limits->depth);
    if (!find_tag(event, typed_tag, &tag, err) || !make_node(reader, event->start_mark, out, err))
        return false;
    (*out)->type = type;
    (*out)->count = 0;
    if (!has_tagged_type(tag, type))
        return fail_at(event->start_mark, err, "a %s is not of type %s", value_type_name(type),
                       tag);
    mem_reserve(&reader->frames, &reader->frame_capacity, reader->depth + 1);
    reader->frames[reader->depth++] =
        (struct frame){.into = *out, .anchor = add_anchor(reader, anchor)};
    return true;
}

// kubectl turns keys into text: `on: x` has the key "true", `0x50: x` the key "80".
static bool name_key(struct yaml_reader *reader, const struct value *value, struct key *key,
                     struct error *err)
{
    switch (value->type) {
    case VALUE_TEXT:
        key->text = value->text;
        return true;
    case VALUE_BOOL:
        key->text = value->boolean ? TEXT("true") : TEXT("false");
        return true;
    case VALUE_INT:
    case VALUE_FLOAT: {
        AUTO_BUFFER out = {0};
        value_write_json(&out, value);
        key->text = copy_text(reader, buffer_text(&out));
        return true;
    }
    case VALUE_NULL:
    case VALUE_LIST:
    case VALUE_MAP:
        break;
    }
    return fail_at(key->mark, err, "a key must be text");
}

static bool read_key(struct yaml_reader *reader, const yaml_event_t *event, struct key *key,
                     struct error *err)
{
    struct value own = {0}; // a key seldom needs a node that stays
    struct value *value = &own;
    *key = (struct key){.mark = event->start_mark};
    if (event->type == YAML_ALIAS_EVENT) {
        if (!read_alias(reader, event, reader->limits->depth, &value, err))
            return false;
    } else if (event->type != YAML_SCALAR_EVENT) {
        return fail_at(key->mark, err, "a key must be text");
    } else if (event->data.scalar.anchor) {
        if (!read_scalar(reader, event, &value, err))
            return false;
    } else if (!fill_scalar(reader, event, value, err)) {
        return false;
    }
    key->is_merge = value->is_plain && text_is(value->text, "<<");
    return name_key(reader, value, key, err);
}

static bool take_entry(struct frame *frame, struct value *item, struct error *err)
{
    const struct key *key = &frame->key;
    frame->has_key = false;
    item->key = key->text;
    item->key_line = (uint32_t)key->mark.line + 1;
    item->key_column = (uint32_t)key->mark.column + 1;
    if (!key->is_merge) {
        value_link(frame->into, item);
        return true;
    }
    if (frame->merged)
        return keys_fail_duplicate(frame->merged, item, err);
    frame->merged = item;
    frame->merge_mark = key->mark;
    return true;
}

// The list or map that so deep a value stands in; NULL: in none.
static struct frame *frame_at(const struct yaml_reader *reader, size_t depth)
{
    return depth ? &reader->frames[depth - 1] : NULL;
}

static bool place(struct yaml_reader *reader, size_t depth, struct value *item, struct error *err)
{
    struct frame *frame = frame_at(reader, depth);
    if (frame && frame->into->type == VALUE_MAP)
        return take_entry(frame, item, err);
    if (frame)
        value_link(frame->into, item);
    else
        reader->root = item;
    return true;
}

static bool end_map(const struct frame *frame, struct error *err)
{
    if (!keys_check_unique(frame->into, err))
        return false;
    if (!frame->merged || keys_merge(frame->into, frame->merged))
        return true;
    return fail_at(frame->merge_mark, err,
                   "<< wants a map or a list of maps, of at most %d keys in all", KEYS_MERGED_MAX);
}

static bool leave(struct yaml_reader *reader, struct error *err)
{
    const struct frame *frame = &reader->frames[--reader->depth];
    if (frame->into->type == VALUE_MAP && !end_map(frame, err))
        return false;
    set_anchor(frame->anchor, frame->into);
    return true;
}

static bool read_node(struct yaml_reader *reader, const yaml_event_t *event, struct value **out,
                      struct error *err)
{
    if (event->type == YAML_SCALAR_EVENT)
        return read_scalar(reader, event, out, err);
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return enter(reader, event, event->data.sequence_start.tag,
                     event->data.sequence_start.anchor, VALUE_LIST, out, err);
    if (event->type == YAML_MAPPING_START_EVENT)
        return enter(reader, event, event->data.mapping_start.tag, event->data.mapping_start.anchor,
                     VALUE_MAP, out, err);
    must(event->type == YAML_ALIAS_EVENT);
    return read_alias(reader, event, (unsigned)reader->depth, out, err);
}

static bool take_event(struct yaml_reader *reader, const yaml_event_t *event, struct error *err)
{
    struct value *item;
    size_t depth = reader->depth;
    struct frame *frame = frame_at(reader, depth);
    if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT)
        return leave(reader, err);
    if (frame && frame->into->type == VALUE_MAP && !frame->has_key)
        return frame->has_key = read_key(reader, event, &frame->key, err);
    return read_node(reader, event, &item, err) && place(reader, depth, item, err);
}

#define BYTE_ORDER_MARK "\xef\xbb\xbf" // some editors put it in front of UTF-8

struct yaml_reader *yaml_reader_new(struct text text, const struct value_limits *limits)
{
    must(limits->depth <= VALUE_DEPTH_MAX);
    struct yaml_reader *reader = mem_new(1, sizeof *reader);
    reader->text = text.at ? text : TEXT("");
    reader->limits = limits;
    must(yaml_parser_initialize(&reader->parser));
    if (text_starts(reader->text, BYTE_ORDER_MARK))
        reader->text = (struct text){reader->text.at + 3, reader->text.len - 3};
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader->parser, (const yaml_char_t *)reader->text.at,
                                 reader->text.len);
    return reader;
}

void yaml_reader_free(struct yaml_reader *reader)
{
    if (!reader)
        return;
    yaml_parser_delete(&reader->parser);
    free(reader->frames);
    free(reader);
}

static bool has_few_directives(struct text text)
{
    size_t count = 0;
    const char *end = text.at + text.len;
    const char *at = text.at;
    while ((at = memmem(at, (size_t)(end - at), "%TAG", 4))) {
        at += 4;
        if (++count > TAG_DIRECTIVES_MAX)
            return false;
    }
    return true;
}

static bool start(struct yaml_reader *reader, struct error *err)
{
    AUTO_EVENT event = {0};
    if (reader->text.len > reader->limits->octets)
        return error_set(err, FAULT_SPEC, "InvalidYAML", "1:1: larger than %zu octets",
                         reader->limits->octets);
    if (!has_few_directives(reader->text))
        return error_set(err, FAULT_SPEC, "InvalidYAML", "1:1: more than %d %%TAG directives",
                         TAG_DIRECTIVES_MAX);
    if (!next_event(reader, &event, err))
        return false;
    must(event.type == YAML_STREAM_START_EVENT);
    reader->is_started = true;
    return true;
}

static void begin_document(struct yaml_reader *reader)
{
    reader->is_within = true;
    reader->root = NULL;
    reader->depth = 0;
    reader->anchors = NULL;
    reader->aliases = 0;
    reader->nodes = 0;
    reader->copies = 0;
    reader->copied_octets = 0;
}

// To the start of a document, or to the end of all.
static bool find_document(struct yaml_reader *reader, struct error *err)
{
    AUTO_EVENT event = {0};
    if (reader->is_over)
        return true;
    if ((!reader->is_started && !start(reader, err)) || !next_event(reader, &event, err))
        return false;
    reader->is_over = event.type == YAML_STREAM_END_EVENT;
    if (!reader->is_over)
        begin_document(reader);
    return true;
}

// On in the document; *is_end behind its end.
static bool read_some(struct yaml_reader *reader, bool *is_end, struct error *err)
{
    *is_end = false;
    for (unsigned i = 0; i < EVENTS_PER_STEP && !*is_end; i++) {
        AUTO_EVENT event = {0};
        if (!next_event(reader, &event, err))
            return false;
        *is_end = event.type == YAML_DOCUMENT_END_EVENT;
        if (!*is_end && !take_event(reader, &event, err))
            return false;
    }
    reader->is_within = !*is_end;
    return true;
}

bool yaml_reader_step(struct yaml_reader *reader, struct arena *arena, struct value **out,
                      enum yaml_step *step, struct error *err)
{
    bool is_end = true;
    reader->arena = arena;
    if (!reader->is_broken)
        reader->is_broken = (!reader->is_within && !find_document(reader, &reader->broken)) ||
                            (reader->is_within && !read_some(reader, &is_end, &reader->broken));
    if (reader->is_broken) {
        if (err)
            *err = reader->broken;
        return false;
    }
    *step = reader->is_over ? YAML_OVER : is_end ? YAML_DOCUMENT : YAML_AGAIN;
    bool has_value = *step == YAML_DOCUMENT && reader->root && reader->root->type != VALUE_NULL;
    *out = has_value ? reader->root : NULL;
    return true;
}

bool yaml_reader_next(struct yaml_reader *reader, struct arena *arena, struct value **out,
                      bool *has, struct error *err)
{
    struct value *root;
    enum yaml_step step = YAML_AGAIN;
    while (step == YAML_AGAIN)
        if (!yaml_reader_step(reader, arena, &root, &step, err))
            return false;
    *out = root;
    *has = step == YAML_DOCUMENT;
    return true;
}
