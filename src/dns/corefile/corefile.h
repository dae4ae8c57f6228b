#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "dns/corefile/coredns.h"

// A Corefile, the configuration of CoreDNS, as CoreDNS itself reads it: tokens, server blocks and
// directives, with imports, snippets and environment variables resolved. The grammar is that of
// the package caddyfile of CoreDNS; where that package is surprising, this one is so, too: a quoted
// brace counts as a brace, a last `}` may be missing behind a nested block, and a '#' within a
// token eats the rest of that token alone.
//
// It borrows from the texts, which must live as long.
//
//     CLEANUP(corefile) struct corefile *corefile = corefile_new(&file, &options, &problems);

enum {
    COREFILE_TEXT_MAX = 1024 * 1024, // octets of the file and of what it imports
    COREFILE_TOKENS_MAX = 1024 * 1024,
    COREFILE_NESTING_MAX = 64,       // of braces
    COREFILE_EXPANSIONS_MAX = 10000, // imports of files, and as many of snippets
};

// A file: the Corefile itself or one that it imports.
struct corefile_file {
    const char *path; // for people and as the base of relative imports
    struct text text;
};

struct corefile_token {
    const char *at; // as plugins see it: without quotes and escapes; not NUL-terminated
    uint32_t len;
    uint32_t line;  // from 1; where it begins
    uint32_t start; // offset of its first octet, be it a quote, in the text of its file
    uint32_t file;  // its file, by its place in corefile.files
};

// One line of a server block, with the block of options behind it.
struct corefile_directive {
    uint32_t first; // tokens[first] is its name
    uint32_t count;
    uint32_t place; // of its name among the directives that are known
};

struct corefile_block {
    const struct text *keys; // the addresses, as they are written, without commas
    const uint32_t *key_tokens;
    size_t key_count;
    const struct corefile_directive *directives;
    size_t first_directive; // its place among those of the whole file
    size_t directive_count;
    uint32_t first; // tokens[first] is the first key
    uint32_t last;  // the `}`, or the last token of a block that has none
    bool has_braces;
};

struct corefile {
    struct corefile_file *files; // files[0] is the Corefile
    size_t file_count;
    // All tokens in the order in which they are parsed, imported ones in place of the import.
    struct corefile_token *tokens;
    size_t token_count;
    struct corefile_directive *directives;
    struct corefile_block *blocks;
    size_t block_count;
    struct arena *arena; // of texts that differ from what is written
};

// Why a Corefile can't be parsed, or what CoreDNS accepts though nobody can have meant it.
struct corefile_problem {
    const char *rule; // stable identifier: "unknown-directive"
    const char *file;
    uint32_t line;        // 0: it is about the whole file
    const char *text;     // in the words of CoreDNS, without file and line
    const char *hint;     // what to do about it, or NULL
    bool is_syntax;       // CoreDNS writes "Syntax error: " instead of "Error during parsing: "
    bool has_no_position; // CoreDNS prints neither file nor line
    bool is_warning;      // CoreDNS accepts it
    const char *prefix;   // "plugin/forward: ", or NULL
};
// The first COREFILE_PROBLEMS_MAX are kept, `count` counts all of them.
enum { COREFILE_PROBLEMS_MAX = 100 };
struct corefile_problems {
    struct arena *arena;
    struct corefile_problem *items;
    size_t kept;
    size_t count;
    size_t error_count; // of `count`; 0: CoreDNS accepts the file
};
// Appends an error; text and path are copied. Returns it, or NULL when there are too many.
struct corefile_problem *corefile_add_problem(struct corefile_problems *problems, const char *rule,
                                              const char *file, uint32_t line, const char *format,
                                              ...) __attribute__((format(printf, 5, 6)));
void corefile_add_warning(struct corefile_problems *problems, const char *rule, const char *file,
                          uint32_t line, const char *hint, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
// Writes it as CoreDNS prints it, without a line feed: "FILE:LINE - Error during parsing: TEXT".
void corefile_write_problem(struct buffer *out, const struct corefile_problem *problem);

// Where a Corefile gets from what it names. Both functions may be NULL: no variable is set then,
// and no file is read, which a warning says.
struct corefile_world {
    void *context;
    // The value of an environment variable; absent or empty: it is not set.
    struct text (*variable)(void *context, struct text name);
    // Finds the files that an import names, in the order of their names. `pattern` is a path with
    // at most one wildcard, already joined to the folder of the file that imports. Texts and paths
    // must live as long as the corefile. None is no error. A failure says why a file can't be read.
    bool (*files)(void *context, struct arena *arena, const char *pattern,
                  struct corefile_file **files, size_t *count, struct error *err);
};

struct corefile_options {
    const struct corefile_world *world;          // or NULL
    const struct coredns_directives *directives; // NULL: any name will do
    bool is_override; // directives alone, as they stand within a server block
};

// Parses a Corefile. It returns what could be read, which is all of it if no problem is an error.
// After an unknown directive it goes on; any other error ends it, as the rest can't be understood.
struct corefile *corefile_new(const struct corefile_file *file,
                              const struct corefile_options *options,
                              struct corefile_problems *problems);
void corefile_free(struct corefile *corefile); // accepts NULL
DEFINE_CLEANUP(corefile, corefile_free)

// Texts of tokens, as plugins see them.
struct text corefile_text(const struct corefile *corefile, size_t token);
// Offset behind the token's last octet in the text of its file.
size_t corefile_token_end(const struct corefile *corefile, size_t token);
