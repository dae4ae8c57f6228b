#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

// Options as tables: the flag, the environment variable, the configuration key, the help text, the
// manual page and the shell completion all come from one row. Precedence: flag, environment,
// file, default.

enum option_type {
    OPTION_FLAG, // present, or =true / =false
    OPTION_TEXT,
    OPTION_INT,
    OPTION_DURATION, // Go syntax
    OPTION_CHOICE,
    OPTION_LIST,    // comma list; repeating the flag adds
    OPTION_ADDRESS, // ADDR:PORT, :PORT, or 0 for off
};

struct option {
    const char *name;     // "health-probe-bind-address"
    const char *alias;    // another flag name, or NULL
    char letter;          // 'o': -o VALUE is the same; 0: none
    const char *variable; // environment variable beside SIGNPOST_<NAME>, or NULL
    enum option_type type;
    const char *fallback;    // text form; NULL: not set
    const char *placeholder; // "ADDR:PORT" in help
    const char *const *choices;
    bool is_any_case; // CHOICE: "WARN" is "warn"
    int64_t min;      // INT: value; DURATION: milliseconds
    int64_t max;      // 0: no bound
    const char *doc;
};

// Options that subjects (commands/subject.h) bring: to all commands that reconcile, to `run`, to
// those that look at what it would do, to `manifests`.
enum subject_group { SUBJECT_SETUP, SUBJECT_RUN, SUBJECT_PLAN, SUBJECT_INSTALL, SUBJECT_GROUPS };

struct option_group {
    const struct option *items;
    size_t count;
    bool is_common; // many commands have them: help of one command names them alone
};
// Stands for those of all subjects, of that group.
extern const struct option subject_options[SUBJECT_GROUPS];
#define SUBJECT_OPTIONS(of_, is_common_)                                                           \
    {                                                                                              \
        &subject_options[of_], 0, (is_common_)                                                     \
    }

enum { OPTION_GROUPS_MAX = 10 };

// --timeout of a command.
#define TIMEOUT_OPTION(fallback_, doc_)                                                            \
    {                                                                                              \
        .name = "timeout", .type = OPTION_DURATION, .fallback = (fallback_),                       \
        .placeholder = "DURATION", .min = 1, .doc = (doc_)                                         \
    }

// -f of a command that takes PATH: its values are arguments, too.
#define FILENAME_OPTION                                                                            \
    {                                                                                              \
        .name = "filename", .letter = 'f', .type = OPTION_LIST, .placeholder = "PATH",             \
        .doc = "The same as PATH, as kubectl has it."                                              \
    }

// -o of a command that is for people unless another form is asked for.
#define OUTPUT_OPTION(forms_, doc_)                                                                \
    {                                                                                              \
        .name = "output", .letter = 'o', .type = OPTION_CHOICE, .fallback = "text",                \
        .placeholder = "FORMAT", .choices = (forms_), .doc = (doc_)                                \
    }

// --strict of a command that finds faults.
#define STRICT_OPTION                                                                              \
    {                                                                                              \
        .name = "strict", .type = OPTION_FLAG, .doc = "Exit code 1 for warnings, too."             \
    }

struct invocation;
enum { EXIT_CODES = 3 }; // 0: done; 1: findings or failed; 2: usage
struct command {
    const char *name;        // one word, or two ("plan apply")
    const char *summary;     // one line
    const char *positional;  // "[PATH...]", "PROVIDER", or NULL
    const char *path_option; // "dir": the one argument is its value; or NULL
    const char *doc;         // paragraphs for --help and the manual page
    const char *examples;    // or NULL
    // The meaning of each exit code; where one is NULL, exit_doc() has that of all commands.
    const char *exit_docs[EXIT_CODES];
    struct option_group groups[OPTION_GROUPS_MAX];
    bool has_settings;                         // the controllers' settings are options of it too
    int (*run)(struct invocation *invocation); // an exit code
};

// All options of a command in the order of help, the controllers' settings behind its own. The
// array lives in the arena.
const struct option **command_options(struct arena *arena, const struct command *command,
                                      size_t *count);
// Of those the ones that many commands have, or the command's own.
const struct option **command_options_of(struct arena *arena, const struct command *command,
                                         bool is_common, size_t *count);

// A command with its options resolved; made by invocation_parse, lives as long as the process.
struct option_value {
    const struct option *option;
    const char *text;   // as given; NULL: not set
    const char *source; // "flag --dir", "environment SIGNPOST_DIR", "signpost.yaml:3:1", "default"
};
struct invocation {
    const struct command *command;
    struct arena *arena;
    struct option_value *values;
    size_t value_count;
    const char **arguments;
    size_t argument_count;
    bool wants_help;
};

// Texts of faults name the source and say what to do: exit 2. A mistyped flag gets the nearest one.
bool invocation_parse(struct invocation *out, struct arena *arena, const struct command *command,
                      int count, char **words, struct error *err);

bool option_is_declared(const struct invocation *invocation, const char *name);
// By name; the option must exist in the command's table.
const char *option_text(const struct invocation *invocation, const char *name); // NULL: not set
bool option_is_set(const struct invocation *invocation, const char *name);      // by the user
bool option_flag(const struct invocation *invocation, const char *name);
int64_t option_int(const struct invocation *invocation, const char *name);
int64_t option_ms(const struct invocation *invocation, const char *name);
size_t option_list(const struct invocation *invocation, const char *name, const char ***items);
const char *option_source(const struct invocation *invocation, const char *name);
// Puts before the text of a fault where the value comes from and what it is, so that nobody looks
// for it in the wrong place: `environment SIGNPOST_TYPE: "TEXT": expected A, ...`. False.
bool option_blame(const struct invocation *invocation, const char *name, const char *given,
                  struct error *err);
// Can a namespace have that name, of those that the option was given? The text of the fault tells.
bool option_check_namespace(const struct invocation *invocation, const char *option,
                            const char *name, struct error *err);
// "SIGNPOST_HEALTH_PROBE_BIND_ADDRESS"
void option_write_variable(struct buffer *out, const struct option *option);
// What stands behind the flag: "ADDR:PORT", "json|text|auto"; nothing for a flag that takes none.
void option_write_value(struct buffer *out, const struct option *option);
