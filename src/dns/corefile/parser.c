#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/corefile/corefile_private.h"

// As parse.go of the package caddyfile. Tokens come from a stack of sources: the file, then files
// and snippets that are imported into it. Those that were taken form one list, which blocks and
// directives point into. An import takes its own two tokens off that list again.

enum source_type { SOURCE_FILE, SOURCE_SNIPPET, SOURCE_TOKEN };
struct source {
    enum source_type type;
    struct corefile_lexer lexer; // FILE
    uint32_t next;               // SNIPPET: its next token in the list, and its end there
    uint32_t end;
    struct corefile_token token; // TOKEN: was looked at before an import came in front of it
};
struct snippet {
    struct text name;
    uint32_t first;
    uint32_t end;
};
struct parser {
    struct arena *arena;
    const struct corefile_options *options;
    struct corefile_problems *problems;
    struct source *sources;
    size_t source_count;
    size_t source_capacity;
    struct corefile_file *files;
    size_t file_count;
    size_t file_capacity;
    size_t octets; // of all files
    struct corefile_token *tokens;
    size_t token_count;    // of those that were taken
    size_t token_capacity; // at least one more
    bool has_peeked;       // tokens[token_count] comes next
    size_t cursor;         // current is tokens[cursor - 1]; 0: none was taken yet
    bool is_behind;        // there is no current token: the file ended behind an import
    struct snippet *snippets;
    size_t snippet_count;
    size_t snippet_capacity;
    struct text *keys;
    size_t key_capacity;
    uint32_t *key_tokens;
    size_t key_token_capacity;
    struct corefile_directive *directives;
    size_t directive_count;
    size_t directive_capacity;
    struct corefile_block *blocks;
    size_t block_count;
    size_t block_capacity;
    struct corefile_block block; // the current one
    size_t directives_before;    // directives of the blocks before it
    unsigned snippet_imports;
    unsigned file_imports;
    bool is_at_end; // the file ended behind addresses
    bool is_too_large;
};

static void parser_done(struct parser *parser)
{
    free(parser->sources);
    free(parser->files);
    free(parser->tokens);
    free(parser->snippets);
    free(parser->keys);
    free(parser->key_tokens);
    free(parser->directives);
    free(parser->blocks);
}

// ---- tokens -------------------------------------------------------------------------------------

static bool source_next(struct parser *parser, struct source *source, struct corefile_token *token)
{
    if (source->type == SOURCE_FILE)
        return corefile_lexer_next(&source->lexer, token);
    if (source->next == source->end)
        return false;
    *token = source->type == SOURCE_TOKEN ? source->token : parser->tokens[source->next];
    source->next++;
    return true;
}

// The token behind the last one that was taken, or NULL at the end.
static const struct corefile_token *peek(struct parser *parser)
{
    mem_reserve(&parser->tokens, &parser->token_capacity, parser->token_count + 1);
    struct corefile_token *token = &parser->tokens[parser->token_count];
    if (parser->token_count >= COREFILE_TOKENS_MAX)
        parser->is_too_large = true;
    if (parser->is_too_large)
        return NULL;
    while (!parser->has_peeked && parser->source_count) {
        struct corefile_token next;
        parser->has_peeked = source_next(parser, &parser->sources[parser->source_count - 1], &next);
        if (parser->has_peeked)
            *token = next;
        else
            parser->source_count--;
    }
    return parser->has_peeked ? token : NULL;
}

static bool next(struct parser *parser)
{
    if (parser->cursor == parser->token_count) {
        if (!peek(parser))
            return false;
        parser->token_count++;
        parser->has_peeked = false;
    }
    parser->cursor++;
    parser->is_behind = false;
    return true;
}

static struct corefile_token *current(const struct parser *parser)
{
    return parser->cursor && !parser->is_behind ? &parser->tokens[parser->cursor - 1] : NULL;
}

static struct text current_text(const struct parser *parser)
{
    const struct corefile_token *token = current(parser);
    return token ? token_text(token) : TEXT("");
}

static uint32_t current_index(const struct parser *parser)
{
    return (uint32_t)(parser->cursor - 1);
}

static bool is_new_line(const struct parser *parser)
{
    if (parser->is_behind)
        return false;
    return parser->cursor < 2 || corefile_starts_line(&parser->tokens[parser->cursor - 2],
                                                      &parser->tokens[parser->cursor - 1]);
}

static bool next_argument(struct parser *parser)
{
    const struct corefile_token *there = parser->cursor < parser->token_count
                                             ? &parser->tokens[parser->cursor]
                                             : peek(parser); // may move the list
    const struct corefile_token *here = current(parser);
    if (!here || !there || here->file != there->file ||
        here->line + corefile_line_feeds(here) != there->line)
        return false;
    return next(parser);
}

// ---- problems -----------------------------------------------------------------------------------

static bool fail(struct parser *parser, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(struct parser *parser, const char *rule, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    const struct corefile_token *token = current(parser);
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    corefile_add_problem(parser->problems, rule, parser->files[token ? token->file : 0].path,
                         token ? token->line : 0, "%s", text.at);
    return false;
}

static bool fail_syntax(struct parser *parser, const char *expected)
{
    const struct corefile_token *token = current(parser);
    struct text text = current_text(parser);
    struct corefile_problem *problem =
        corefile_add_problem(parser->problems, "syntax",
                             parser->files[token ? token->file : 0].path, token ? token->line : 0,
                             "Unexpected token '%.*s', expecting '%s'", TEXT_ARGS(text), expected);
    if (!problem)
        return false;
    problem->is_syntax = true;
    problem->hint = "each '{' needs a '}' that stands by itself";
    return false;
}

static bool fail_end(struct parser *parser)
{
    return fail(parser, "unexpected-end", "Unexpected EOF");
}

static bool fail_argument(struct parser *parser)
{
    struct text text = current_text(parser);
    if (text_is(text, "{"))
        return fail(parser, "argument-count", "Unexpected token '{', expecting argument");
    return fail(parser, "argument-count",
                "Wrong argument count or unexpected line ending after '%.*s'", TEXT_ARGS(text));
}

// ---- imports ------------------------------------------------------------------------------------

static struct text expand(struct parser *parser, struct text text)
{
    return corefile_expand(parser->arena, parser->options->world, text);
}

static struct source *push_source(struct parser *parser)
{
    mem_reserve(&parser->sources, &parser->source_capacity, parser->source_count + 1);
    struct source *source = &parser->sources[parser->source_count++];
    *source = (struct source){0};
    return source;
}

static uint32_t add_file(struct parser *parser, const struct corefile_file *file)
{
    mem_reserve(&parser->files, &parser->file_capacity, parser->file_count + 1);
    parser->files[parser->file_count] = *file;
    return (uint32_t)parser->file_count++;
}

static void push_file(struct parser *parser, const struct corefile_file *file)
{
    parser->octets += file->text.len;
    parser->is_too_large = parser->is_too_large || parser->octets > COREFILE_TEXT_MAX;
    uint32_t index = add_file(parser, file);
    corefile_lexer_init(&push_source(parser)->lexer, parser->arena, file->text, index);
}

static const struct snippet *find_snippet(const struct parser *parser, struct text name)
{
    for (size_t i = 0; i < parser->snippet_count; i++)
        if (text_equal(parser->snippets[i].name, name))
            return &parser->snippets[i];
    return NULL;
}

static size_t count_char(const char *text, char c)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == c;
    return count;
}

// filepath.Join of the importing file's folder and the pattern, as far as messages need it.
static const char *glob_pattern(struct parser *parser, const char *importing, const char *pattern)
{
    const char *slash = strrchr(importing, '/');
    if (*pattern == '/' || !slash)
        return pattern;
    return arena_printf(parser->arena, "%.*s/%s", (int)(slash - importing), importing, pattern);
}

static bool is_missing(struct parser *parser, const char *pattern, const char *glob)
{
    if (!strpbrk(glob, "*?[]"))
        return fail(parser, "import-missing", "File to import not found: %s", pattern);
    const struct corefile_token *token = current(parser);
    corefile_add_warning(parser->problems, "import-empty", parser->files[token->file].path,
                         token->line, "create the file, or remove the import",
                         "No files matching import glob pattern: %s", pattern);
    return true;
}

// What the library of Go for patterns refuses: an escape or a class without an end.
static bool is_bad_pattern(const char *glob)
{
    size_t backslashes = 0;
    for (size_t len = strlen(glob); len && glob[len - 1] == '\\'; len--)
        backslashes++;
    return backslashes % 2 || strchr(glob, '[');
}

static bool find_files(struct parser *parser, struct text text, struct corefile_file **files,
                       size_t *count)
{
    struct error err;
    const struct corefile_world *world = parser->options->world;
    const char *importing = parser->files[current(parser)->file].path;
    const char *pattern = arena_copy(parser->arena, text.at, text.len);
    const char *glob = glob_pattern(parser, importing, pattern);
    *count = 0;
    if (memchr(text.at, '\0', text.len))
        return fail(parser, "import-missing", "File to import not found: %s", pattern);
    if (count_char(glob, '*') > 1 || count_char(glob, '?') > 1 ||
        (strchr(glob, '[') && strchr(glob, ']')))
        return fail(parser, "import-wildcards",
                    "Glob pattern may only contain one wildcard (*), but has others: %s", glob);
    if (is_bad_pattern(glob))
        return fail(parser, "import-pattern",
                    "Failed to use import pattern %s: syntax error in pattern", pattern);
    if (!world || !world->files) {
        const struct corefile_token *token = current(parser);
        corefile_add_warning(parser->problems, "import-unchecked", importing, token->line,
                             "check it together with the files that it imports",
                             "the import of %s was not followed", pattern);
        return true;
    }
    if (!world->files(world->context, parser->arena, glob, files, count, &err))
        return fail(parser, "import-unreadable", "Could not import %s: %s", glob, err.text);
    return *count || is_missing(parser, pattern, glob);
}

static bool import_files(struct parser *parser, struct text pattern, struct corefile_file **files,
                         size_t *count)
{
    if (parser->file_imports++ >= COREFILE_EXPANSIONS_MAX)
        return fail(parser, "import-depth", "maximum file import depth (%d) exceeded",
                    COREFILE_EXPANSIONS_MAX);
    return find_files(parser, pattern, files, count);
}

// Puts what is imported in place of the two tokens that import it.
static void splice(struct parser *parser, const struct snippet *snippet,
                   const struct corefile_file *files, size_t count)
{
    if (parser->has_peeked) {
        struct source *rest = push_source(parser);
        rest->type = SOURCE_TOKEN;
        rest->token = parser->tokens[parser->token_count];
        rest->end = 1;
        parser->has_peeked = false;
    }
    parser->token_count -= 2;
    parser->cursor = parser->token_count;
    if (snippet) {
        struct source *source = push_source(parser);
        source->type = SOURCE_SNIPPET;
        source->next = snippet->first;
        source->end = snippet->end;
    }
    for (size_t i = count; i; i--)
        push_file(parser, &files[i - 1]);
}

// Afterwards next() takes the first token that was imported.
static bool import(struct parser *parser)
{
    struct corefile_file *files = NULL;
    size_t count = 0;
    if (!next_argument(parser))
        return fail_argument(parser);
    struct text pattern = expand(parser, current_text(parser));
    if (!pattern.len)
        return fail(parser, "import-empty-path", "Import requires a non-empty filepath");
    if (next_argument(parser))
        return fail(parser, "import-arguments",
                    "Import takes only one argument (glob pattern or file)");
    const struct snippet *snippet = find_snippet(parser, pattern);
    if (snippet && parser->snippet_imports++ >= COREFILE_EXPANSIONS_MAX)
        return fail(parser, "import-depth", "maximum snippet import depth (%d) exceeded",
                    COREFILE_EXPANSIONS_MAX);
    if (!snippet && !import_files(parser, pattern, &files, &count))
        return false;
    splice(parser, snippet, files, count);
    return true;
}

// ---- addresses and snippets ---------------------------------------------------------------------

static void add_key(struct parser *parser, struct text key)
{
    size_t count = parser->block.key_count++;
    mem_reserve(&parser->keys, &parser->key_capacity, count + 1);
    mem_reserve(&parser->key_tokens, &parser->key_token_capacity, count + 1);
    parser->keys[count] = key;
    parser->key_tokens[count] = current_index(parser);
}

// Takes one token of the addresses. True: they go on behind it.
static bool take_address(struct parser *parser, struct text text, bool *wants_more)
{
    if (text.len) {
        *wants_more = text.at[text.len - 1] == ',';
        text.len -= *wants_more;
        add_key(parser, text);
    }
    if (next(parser))
        return *wants_more || !is_new_line(parser);
    parser->is_at_end = true;
    return false;
}

static bool parse_addresses(struct parser *parser)
{
    bool wants_more = false;
    for (bool goes_on = true; goes_on;) {
        struct text text = expand(parser, current_text(parser));
        if (text_is(text, "import") && is_new_line(parser)) {
            if (!import(parser))
                return false;
            parser->is_behind = !next(parser);
            continue;
        }
        if (text_is(text, "{") && wants_more)
            return fail(parser, "extra-comma",
                        "Expected another address but had '{' - check for extra comma");
        goes_on = !text_is(text, "{") && take_address(parser, text, &wants_more);
    }
    return !parser->is_at_end || !wants_more || fail_end(parser);
}

// The name of a block "(name)".
static bool is_snippet(const struct parser *parser, struct text *name)
{
    const struct text key = parser->block.key_count == 1 ? parser->keys[0] : TEXT("");
    if (key.len < 2 || !text_starts(key, "(") || !text_ends(key, ")"))
        return false;
    *name = (struct text){key.at + 1, key.len - 2};
    return true;
}

// CoreDNS looks for this one at the definition, and counts all others where they are imported.
static bool imports_itself(struct parser *parser, const struct snippet *snippet)
{
    const struct corefile_token *tokens = parser->tokens;
    for (uint32_t i = snippet->first; i + 1 < snippet->end; i++)
        if (text_is(token_text(&tokens[i]), "import") &&
            (i == snippet->first || tokens[i - 1].file != tokens[i].file ||
             tokens[i - 1].line != tokens[i].line) &&
            text_equal(expand(parser, token_text(&tokens[i + 1])), snippet->name))
            return true;
    return false;
}

static bool take_braced_tokens(struct parser *parser)
{
    for (unsigned depth = 1; next(parser);) {
        struct text text = current_text(parser);
        if (text_is(text, "}") && --depth == 0)
            return true;
        depth += text_is(text, "{");
    }
    return fail_syntax(parser, "}");
}

static bool parse_snippet(struct parser *parser, struct text name)
{
    if (find_snippet(parser, name))
        return fail(parser, "snippet-twice", "redeclaration of previously declared snippet %.*s",
                    TEXT_ARGS(name));
    if (!text_is(current_text(parser), "{"))
        return fail_syntax(parser, "{");
    struct snippet snippet = {.name = name, .first = (uint32_t)parser->cursor};
    if (!take_braced_tokens(parser))
        return false;
    snippet.end = current_index(parser);
    if (imports_itself(parser, &snippet))
        return fail(parser, "import-depth", "maximum snippet import depth (%d) exceeded",
                    COREFILE_EXPANSIONS_MAX);
    mem_reserve(&parser->snippets, &parser->snippet_capacity, parser->snippet_count + 1);
    parser->snippets[parser->snippet_count++] = snippet;
    return true;
}

// ---- directives ---------------------------------------------------------------------------------

static void expand_current(struct parser *parser)
{
    struct corefile_token *token = current(parser);
    struct text text = expand(parser, token_text(token));
    token->at = text.at;
    token->len = (uint32_t)text.len;
}

static void unknown_directive(struct parser *parser, struct text name)
{
    const struct coredns_directives *known = parser->options->directives;
    const struct corefile_token *token = current(parser);
    struct corefile_problem *problem =
        corefile_add_problem(parser->problems, "unknown-directive", parser->files[token->file].path,
                             token->line, "Unknown directive '%.*s'", TEXT_ARGS(name));
    const char *nearest = problem ? text_nearest(name, known->names, known->count) : NULL;
    if (nearest)
        problem->hint = arena_printf(parser->problems->arena, "did you mean %s?", nearest);
}

// The tokens behind a directive's name, to the end of its line or of its block.
static bool take_directive(struct parser *parser)
{
    unsigned nesting = 0;
    while (next(parser)) {
        struct text text = current_text(parser);
        if (text_is(text, "{")) {
            if (++nesting > COREFILE_NESTING_MAX)
                return fail(parser, "nesting", "braces are nested more than %d deep",
                            COREFILE_NESTING_MAX);
        } else if (is_new_line(parser) && nesting == 0) {
            parser->cursor--;
            return true;
        } else if (text_is(text, "}")) {
            if (nesting-- == 0)
                return fail(parser, "stray-brace",
                            "Unexpected '}' because no matching opening brace");
        } else if (text_is(text, "import") && is_new_line(parser)) {
            if (!import(parser))
                return false;
            continue;
        }
        expand_current(parser);
    }
    return nesting == 0 || fail_end(parser);
}

static bool parse_directive(struct parser *parser)
{
    uint32_t first = current_index(parser);
    struct text name = expand(parser, current_text(parser));
    const struct coredns_directives *known = parser->options->directives;
    size_t place = known ? coredns_directives_find(known, name) : 0;
    bool knows_it = place != COREDNS_NO_DIRECTIVE;
    if (!knows_it)
        unknown_directive(parser, name);
    if (!take_directive(parser))
        return false;
    if (!knows_it)
        return true;
    mem_reserve(&parser->directives, &parser->directive_capacity, parser->directive_count + 1);
    parser->directives[parser->directive_count++] =
        (struct corefile_directive){first, (uint32_t)parser->cursor - first, (uint32_t)place};
    return true;
}

static bool parse_directives(struct parser *parser)
{
    while (next(parser)) {
        struct text text = current_text(parser);
        if (text_is(text, "}"))
            return true;
        if (text_is(text, "import") ? !import(parser) : !parse_directive(parser))
            return false;
    }
    return true;
}

// ---- blocks -------------------------------------------------------------------------------------

static void end_block(struct parser *parser)
{
    struct corefile_block *block = &parser->block;
    size_t keys = block->key_count;
    struct text *own_keys = arena_new_array(parser->arena, struct text, keys);
    uint32_t *own_key_tokens = arena_new_array(parser->arena, uint32_t, keys);
    for (size_t i = 0; i < keys; i++) {
        own_keys[i] = parser->keys[i];
        own_key_tokens[i] = parser->key_tokens[i];
    }
    block->keys = own_keys;
    block->key_tokens = own_key_tokens;
    block->first_directive = parser->directives_before;
    block->directive_count = parser->directive_count - parser->directives_before;
    block->last = (uint32_t)(parser->cursor ? parser->cursor - 1 : 0);
    parser->directives_before = parser->directive_count;
    mem_reserve(&parser->blocks, &parser->block_capacity, parser->block_count + 1);
    parser->blocks[parser->block_count++] = *block;
}

static bool parse_contents(struct parser *parser)
{
    parser->block.has_braces = text_is(current_text(parser), "{");
    if (!parser->block.has_braces)
        parser->cursor--;
    if (!parse_directives(parser))
        return false;
    if (!parser->block.has_braces || text_is(current_text(parser), "}"))
        return true;
    return fail_syntax(parser, "}");
}

static bool parse_block(struct parser *parser)
{
    struct text name;
    parser->block = (struct corefile_block){.first = current_index(parser)};
    if (!parse_addresses(parser))
        return false;
    if (!parser->is_at_end && is_snippet(parser, &name))
        return parse_snippet(parser, name);
    if (!parser->is_at_end && !parse_contents(parser))
        return false;
    if (parser->block.key_count)
        end_block(parser);
    else
        parser->directives_before = parser->directive_count;
    return true;
}

static void warn_of_no_zones(struct parser *parser, uint32_t first)
{
    const struct corefile_token *token = &parser->tokens[first];
    corefile_add_warning(parser->problems, "no-zones", parser->files[token->file].path, token->line,
                         "write the zones in front of it",
                         "CoreDNS ignores this server block, as it names no zone");
}

static bool parse_all(struct parser *parser)
{
    while (next(parser)) {
        uint32_t first = current_index(parser);
        bool has_zones = !text_is(current_text(parser), "{");
        if (!parse_block(parser))
            return false;
        if (!has_zones)
            warn_of_no_zones(parser, first);
    }
    if (!parser->is_too_large)
        return true;
    return fail(parser, "too-large", "the file is larger than %d octets, with what it imports",
                COREFILE_TEXT_MAX);
}

// What another file imports into a server block of its own: one block without addresses.
static bool parse_override(struct parser *parser)
{
    if (!parse_directives(parser))
        return false;
    if (text_is(current_text(parser), "}") && next(parser))
        return fail(parser, "stray-brace", "Unexpected '}' because no matching opening brace");
    if (parser->token_count)
        end_block(parser);
    return true;
}

static struct corefile *finish(struct parser *parser)
{
    struct corefile *corefile = mem_new_of(struct corefile);
    for (size_t i = 0; i < parser->block_count && parser->directives; i++)
        parser->blocks[i].directives = parser->directives + parser->blocks[i].first_directive;
    corefile->arena = parser->arena;
    corefile->files = steal(parser->files);
    corefile->file_count = parser->file_count;
    corefile->tokens = steal(parser->tokens);
    corefile->token_count = parser->token_count;
    corefile->directives = steal(parser->directives);
    corefile->blocks = steal(parser->blocks);
    corefile->block_count = parser->block_count;
    return corefile;
}

struct corefile *corefile_new(const struct corefile_file *file,
                              const struct corefile_options *options,
                              struct corefile_problems *problems)
{
    struct parser parser = {.arena = arena_new(), .options = options, .problems = problems};
    push_file(&parser, file);
    if (parser.is_too_large)
        fail(&parser, "too-large", "the file is larger than %d octets", COREFILE_TEXT_MAX);
    else if (options->is_override)
        parse_override(&parser);
    else
        parse_all(&parser);
    struct corefile *corefile = finish(&parser);
    parser_done(&parser);
    return corefile;
}

void corefile_free(struct corefile *corefile)
{
    if (!corefile)
        return;
    arena_free(corefile->arena);
    free(corefile->files);
    free(corefile->tokens);
    free(corefile->directives);
    free(corefile->blocks);
    free(corefile);
}

struct text corefile_text(const struct corefile *corefile, size_t token)
{
    return token_text(&corefile->tokens[token]);
}

size_t corefile_token_end(const struct corefile *corefile, size_t index)
{
    const struct corefile_token *token = &corefile->tokens[index];
    struct corefile_lexer lexer;
    struct corefile_token again;
    CLEANUP(arena) struct arena *arena = arena_new();
    corefile_lexer_init(&lexer, arena, corefile->files[token->file].text, token->file);
    lexer.at = token->start;
    return corefile_lexer_next(&lexer, &again) ? lexer.at : token->start;
}
