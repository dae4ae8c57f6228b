#include <stdio.h>
#include <string.h>

#include "base/when.h"
#include "commands/commands.h"
#include "commands/manual.h"
#include "commands/print.h"

enum { COLUMNS = 80, NAME_INDENT = 2, EXIT_INDENT = 5, DOC_INDENT = 8, OPTIONS_MAX = 256 };

static const char *const exit_docs[EXIT_CODES] = {
    "done; clean; as declared",
    "findings; something is not as declared; failed",
    "wrong usage or configuration; input that cannot be read",
};

const char *exit_doc(const struct command *command, int code)
{
    return command && command->exit_docs[code] ? command->exit_docs[code] : exit_docs[code];
}

const char signpost_summary[] = "makes DNS what your manifests declare";

const char options_doc[] =
    "Every option is a flag (--dir PATH or --dir=PATH) and an environment variable (SIGNPOST_DIR); "
    "where a command has --config, also a key of that YAML file (dir: PATH). A flag wins over the "
    "environment, the environment over the file. Durations are written like 300ms, 5s or 1h30m.";

// ---- one option ---------------------------------------------------------------------------------

static void write_bound(struct buffer *out, const struct option *option, int64_t bound)
{
    char text[WHEN_TEXT_MAX];
    if (option->type == OPTION_DURATION)
        duration_write(bound, text);
    else
        snprintf(text, sizeof text, "%lld", (long long)bound);
    buffer_add_text(out, text);
}

static void write_bounds(struct buffer *out, const struct option *option)
{
    if ((option->type != OPTION_INT && option->type != OPTION_DURATION) ||
        (!option->min && !option->max))
        return;
    buffer_add_text(out, option->max ? "From " : "At least ");
    write_bound(out, option, option->min);
    if (option->max) {
        buffer_add_text(out, " to ");
        write_bound(out, option, option->max);
    }
    buffer_add_text(out, ". ");
}

void option_write_facts(struct buffer *out, const struct option *option)
{
    if (option->type == OPTION_LIST)
        buffer_add_text(out, "Comma-separated or repeated. ");
    write_bounds(out, option);
    if (option->fallback && *option->fallback)
        buffer_printf(out, "Default %s. ", option->fallback);
    buffer_add_text(out, "Environment ");
    option_write_variable(out, option);
    if (option->variable)
        buffer_printf(out, " or %s", option->variable);
    buffer_add_char(out, '.');
}

static void write_flag(struct buffer *out, const char *name, const struct option *option)
{
    buffer_printf(out, "--%s%s", name, option->type == OPTION_FLAG ? "" : " ");
    option_write_value(out, option);
}

static void write_option(struct buffer *out, const struct option *option)
{
    AUTO_BUFFER facts = {0};
    buffer_printf(out, "%*s", NAME_INDENT, "");
    write_flag(out, option->name, option);
    if (option->letter)
        buffer_printf(out, ", -%c", option->letter);
    if (option->alias) {
        buffer_add_text(out, ", ");
        write_flag(out, option->alias, option);
    }
    buffer_add_char(out, '\n');
    print_wrapped(out, option->doc, DOC_INDENT, COLUMNS);
    option_write_facts(&facts, option);
    print_wrapped(out, facts.at, DOC_INDENT, COLUMNS);
}

// ---- pages --------------------------------------------------------------------------------------

static void write_exit_codes(struct buffer *out, const struct command *command)
{
    buffer_add_text(out, "\nExit codes:\n");
    for (int code = 0; code < EXIT_CODES; code++) {
        size_t at = out->len + NAME_INDENT;
        print_wrapped(out, exit_doc(command, code), EXIT_INDENT, COLUMNS);
        out->at[at] = (char)('0' + code); // in the indentation
    }
}

// Of two words the first is `first`. NULL: any command.
static bool is_behind(const struct command *command, const char *first)
{
    size_t len = first ? strlen(first) : 0;
    return !first || (!strncmp(command->name, first, len) && command->name[len] == ' ');
}

static size_t widest_name(const char *first)
{
    size_t widest = 0;
    for (size_t i = 0; i < command_count; i++)
        if (is_behind(commands[i], first) && strlen(commands[i]->name) > widest)
            widest = strlen(commands[i]->name);
    return widest;
}

static void write_commands(struct buffer *out, const char *first)
{
    size_t width = widest_name(first);
    buffer_add_text(out, "\n\nCommands:\n");
    for (size_t i = 0; i < command_count; i++) {
        if (!is_behind(commands[i], first))
            continue;
        buffer_add_text(out, "  ");
        print_padded(out, text_of(commands[i]->name), width);
        buffer_printf(out, "  %s\n", commands[i]->summary);
    }
}

void help_write_summary(struct buffer *out)
{
    buffer_printf(out, "Signpost %s: %s\n\nUsage: signpost COMMAND [OPTION...]", SIGNPOST_VERSION,
                  signpost_summary);
    write_commands(out, NULL);
    buffer_add_char(out, '\n');
    print_wrapped(out, options_doc, 0, COLUMNS);
    write_exit_codes(out, NULL);
    buffer_add_text(out, "\n`signpost help COMMAND` or `signpost COMMAND --help` says more, "
                         "`signpost\nhelp options` of the options that many commands have.\n");
}

void command_write_arguments(struct buffer *out, const struct command *command)
{
    buffer_add_text(out, "[OPTION...]");
    if (command->positional)
        buffer_printf(out, " %s", command->positional);
}

static void write_examples(struct buffer *out, const struct command *command)
{
    struct text rest = text_of(command->examples);
    struct text line;
    if (!rest.len)
        return;
    buffer_add_text(out, "\nExamples:\n");
    while (text_cut(&rest, '\n', &line))
        if (line.len)
            buffer_printf(out, "  %.*s\n", TEXT_ARGS(line));
}

// "--dir PATH, --namespaces NAMES": what `signpost help options` tells of.
static void write_common(struct buffer *out, struct arena *arena, const struct command *command)
{
    AUTO_BUFFER names = {0};
    size_t count;
    const struct option **options = command_options_of(arena, command, true, &count);
    if (!count)
        return;
    for (size_t i = 0; i < count; i++) {
        buffer_printf(&names, "%s--%s", i ? ", " : "", options[i]->name);
        if (options[i]->letter)
            buffer_printf(&names, " (-%c)", options[i]->letter);
    }
    buffer_add_text(out, "\nCommon options (`signpost help options` explains them):\n");
    print_wrapped(out, names.at, NAME_INDENT, COLUMNS);
}

static const struct option **options_to_report(struct arena *arena, const struct command *command,
                                               bool is_all, size_t *count)
{
    return is_all ? command_options(arena, command, count)
                  : command_options_of(arena, command, false, count);
}

void help_write_command(struct buffer *out, struct arena *arena, const struct command *command,
                        bool is_all)
{
    size_t count;
    const struct option **options = options_to_report(arena, command, is_all, &count);
    buffer_printf(out, "signpost %s: %s\n\nUsage: signpost %s ", command->name, command->summary,
                  command->name);
    command_write_arguments(out, command);
    buffer_add_text(out, "\n\n");
    print_wrapped(out, command->doc, 0, COLUMNS);
    if (count)
        buffer_add_text(out, "\nOptions:\n");
    for (size_t i = 0; i < count; i++)
        write_option(out, options[i]);
    if (!is_all)
        write_common(out, arena, command);
    write_examples(out, command);
    write_exit_codes(out, command);
}

static bool is_reported(const struct option *const *reported, size_t count,
                        const struct option *option)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(reported[i]->name, option->name))
            return true;
    return false;
}

void help_write_options(struct buffer *out, struct arena *arena)
{
    const struct option *reported[OPTIONS_MAX];
    size_t reported_count = 0;
    buffer_add_text(out,
                    "Options that many commands have; `signpost help COMMAND` says which.\n\n");
    print_wrapped(out, options_doc, 0, COLUMNS);
    buffer_add_char(out, '\n');
    for (size_t i = 0; i < command_count; i++) {
        size_t count;
        const struct option **options = command_options_of(arena, commands[i], true, &count);
        for (size_t j = 0; j < count; j++) {
            if (is_reported(reported, reported_count, options[j]) || reported_count == OPTIONS_MAX)
                continue;
            reported[reported_count++] = options[j];
            write_option(out, options[j]);
        }
    }
}

static int put(const struct buffer *text)
{
    struct error err;
    return print_out(text, &err) ? 0 : command_fail(1, "%s", err.text);
}

int help_print(const struct command *command, bool is_all)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER text = {0};
    help_write_command(&text, arena, command, is_all);
    return put(&text);
}

bool help_has_behind(const char *first)
{
    return widest_name(first) > 0;
}

int help_print_behind(const char *first)
{
    AUTO_BUFFER text = {0};
    buffer_printf(&text, "Usage: signpost %s COMMAND [OPTION...]", first);
    write_commands(&text, first);
    return put(&text);
}

// ---- the command --------------------------------------------------------------------------------

static int print_man(struct arena *arena, const struct command *command)
{
    AUTO_BUFFER text = {0};
    if (command)
        man_write_command(&text, arena, command);
    else
        man_write_summary(&text);
    return put(&text);
}

static int print_completion(const struct invocation *invocation, const char *shell)
{
    AUTO_BUFFER text = {0};
    completion_write(&text, invocation->arena, shell);
    return put(&text);
}

static int print_summary(void)
{
    AUTO_BUFFER text = {0};
    help_write_summary(&text);
    return put(&text);
}

static int print_options(struct arena *arena)
{
    AUTO_BUFFER text = {0};
    help_write_options(&text, arena);
    return put(&text);
}

static int help_run(struct invocation *invocation)
{
    const char *shell = option_text(invocation, "completion");
    const struct command *command = NULL;
    int count = (int)invocation->argument_count;
    int taken;
    if (shell)
        return print_completion(invocation, shell);
    if (count == 1 && !strcmp(invocation->arguments[0], "options"))
        return print_options(invocation->arena);
    if (count) {
        command = command_match(count, invocation->arguments, &taken);
        if (!command && count == 1 && help_has_behind(invocation->arguments[0]))
            return help_print_behind(invocation->arguments[0]);
        if (!command)
            return command_fail_unknown(count, invocation->arguments);
        if (taken < count)
            return command_fail(2, "unexpected argument %s", invocation->arguments[taken]);
    }
    if (option_flag(invocation, "man"))
        return print_man(invocation->arena, command);
    return command ? help_print(command, option_flag(invocation, "all")) : print_summary();
}

static const struct option help_rows[] = {
    {.name = "all",
     .type = OPTION_FLAG,
     .doc = "Of a command: tell of the options that many have, too."},
    {.name = "man",
     .type = OPTION_FLAG,
     .doc = "Print the manual page (roff) of the command, or signpost(1)."},
    {.name = "completion",
     .type = OPTION_CHOICE,
     .placeholder = "SHELL",
     .choices = completion_shells,
     .doc = "Print the completion of commands and flags for a shell."},
};

extern const struct command help_command;
const struct command help_command = {
    .name = "help",
    .summary = "tell what commands and options there are",
    .positional = "[COMMAND|options]",
    .exit_docs =
        {
            "it is printed",
            "it cannot be written out",
            "an argument is wrong",
        },
    .doc = "Without a command: a summary; of \"options\": those that many commands have. Help, "
           "manual pages and completion are made of the same "
           "tables as the program's own parsing of options.",
    .examples = "signpost help run\n"
                "signpost help options\n"
                "signpost help --man run | man -l -\n"
                "source <(signpost help --completion bash)\n"
                "signpost help --completion fish > ~/.config/fish/completions/signpost.fish\n",
    .groups = {{help_rows, COUNT_OF(help_rows), false}},
    .run = help_run,
};
