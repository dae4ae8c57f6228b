#include <string.h>

#include "base/memory.h"
#include "commands/commands.h"
#include "commands/manual.h"

struct shell {
    const char *name;
    void (*write)(struct buffer *out, struct arena *arena);
};

// The doc's first sentence without its full stop.
static struct text headline(const char *doc)
{
    const char *end = strstr(doc, ". ");
    struct text text = text_of(doc);
    if (end)
        return (struct text){doc, (size_t)(end - doc)};
    if (text_ends(text, "."))
        text.len--;
    return text;
}

static void add_quoted(struct buffer *out, struct text text, const char *special, const char *with)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '\'')
            buffer_add_text(out, with);
        else if (strchr(special, text.at[i]))
            buffer_printf(out, "\\%c", text.at[i]);
        else
            buffer_add_char(out, text.at[i]);
    }
}

static size_t word_count(const char *name)
{
    size_t count = 1;
    for (; *name; name++)
        count += *name == ' ';
    return count;
}

// Commands of two words first: a pattern of their first word alone matches them too.
static void each_command(struct buffer *out, struct arena *arena,
                         void (*write)(struct buffer *out, struct arena *arena,
                                       const struct command *command))
{
    for (size_t words = 2; words; words--)
        for (size_t i = 0; i < command_count; i++)
            if (word_count(commands[i]->name) == words)
                write(out, arena, commands[i]);
}

// What may follow as second word of a command, blanks between.
static void add_second_words(struct buffer *out, struct text first)
{
    for (size_t i = 0; i < command_count; i++)
        if (!strncmp(commands[i]->name, first.at, first.len) && commands[i]->name[first.len] == ' ')
            buffer_printf(out, " %s", commands[i]->name + first.len + 1);
}

static struct text first_word(const char *name)
{
    return (struct text){name, strcspn(name, " ")};
}

// The first words of commands that are none by themselves ("zone"), each once.
static void each_group(struct buffer *out, void (*write)(struct buffer *out, struct text word))
{
    struct text last = {0};
    for (size_t i = 0; i < command_count; i++) {
        AUTO_BUFFER name = {0};
        struct text word = first_word(commands[i]->name);
        buffer_add(&name, word.at, word.len);
        if (!text_equal(word, last) && !command_find(name.at))
            write(out, word);
        last = word;
    }
}

// ---- bash ---------------------------------------------------------------------------------------

static void bash_group_name(struct buffer *out, struct text word)
{
    buffer_printf(out, " %.*s", TEXT_ARGS(word));
}

static void bash_names(struct buffer *out)
{
    for (size_t i = 0; i < command_count; i++)
        if (word_count(commands[i]->name) == 1)
            buffer_printf(out, "%s%s", i ? " " : "", commands[i]->name);
    each_group(out, bash_group_name);
}

static void bash_group(struct buffer *out, struct text word)
{
    buffer_printf(out, "    '%.*s'*) words=\"--help", TEXT_ARGS(word));
    add_second_words(out, word);
    buffer_add_text(out, "\" ;;\n");
}

static void bash_option(struct buffer *out, const struct command *command,
                        const struct option *option)
{
    if (option->type == OPTION_FLAG)
        return;
    buffer_printf(out, "    '%s'*' --%s') words='", command->name, option->name);
    for (const char *const *choice = option->choices; choice && *choice; choice++)
        buffer_printf(out, "%s%s", choice == option->choices ? "" : " ", *choice);
    buffer_add_text(out, "' ;;\n");
}

static void bash_command(struct buffer *out, struct arena *arena, const struct command *command)
{
    size_t count;
    const struct option **options = command_options(arena, command, &count);
    for (size_t i = 0; i < count; i++)
        bash_option(out, command, options[i]);
    if (!strcmp(command->name, "help"))
        buffer_printf(out, "    '%s'*) words=\"--help $commands", command->name);
    else
        buffer_printf(out, "    '%s'*) words=\"--help", command->name);
    add_second_words(out, text_of(command->name));
    for (size_t i = 0; i < count; i++)
        buffer_printf(out, " --%s", options[i]->name);
    buffer_add_text(out, "\" ;;\n");
}

static void bash_write(struct buffer *out, struct arena *arena)
{
    buffer_add_text(out, "# bash completion: source <(signpost help --completion bash)\n"
                         "_signpost()\n{\n    local words commands='");
    bash_names(out);
    buffer_add_text(out, "'\n    case \"${COMP_WORDS[*]:1:COMP_CWORD-1}\" in\n"
                         "    '') words=\"$commands --help --version\" ;;\n");
    each_command(out, arena, bash_command);
    each_group(out, bash_group);
    buffer_add_text(out,
                    "    esac\n"
                    "    COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
                    "}\ncomplete -o default -F _signpost signpost\n");
}

// ---- zsh ----------------------------------------------------------------------------------------

static void zsh_text(struct buffer *out, struct text text)
{
    add_quoted(out, text, "[]:\\", "'\\''");
}

static void zsh_option(struct buffer *out, const struct option *option)
{
    bool is_list = option->type == OPTION_LIST;
    buffer_printf(out, " \\\n            '%s--%s%s[", is_list ? "*" : "", option->name,
                  option->type == OPTION_FLAG ? "" : "=");
    zsh_text(out, headline(option->doc));
    buffer_add_char(out, ']');
    if (option->choices) {
        buffer_printf(out, ":%s:(", option->placeholder);
        for (const char *const *choice = option->choices; *choice; choice++)
            buffer_printf(out, "%s%s", choice == option->choices ? "" : " ", *choice);
        buffer_add_char(out, ')');
    } else if (option->type != OPTION_FLAG) {
        buffer_add_char(out, ':');
        zsh_text(out, text_of(option->placeholder));
        buffer_add_text(out, ":_files");
    }
    buffer_add_char(out, '\'');
}

static void zsh_second_words(struct buffer *out, const struct command *command)
{
    AUTO_BUFFER seconds = {0};
    add_second_words(&seconds, text_of(command->name));
    if (seconds.len)
        buffer_printf(out, " \\\n            '1:COMMAND:(%s)'", buffer_text(&seconds).at + 1);
}

static void zsh_command(struct buffer *out, struct arena *arena, const struct command *command)
{
    size_t count;
    const struct option **options = command_options(arena, command, &count);
    size_t words = word_count(command->name);
    buffer_printf(out, "    '%s'*)\n        shift %zu words\n        ((CURRENT -= %zu))\n",
                  command->name, words, words);
    buffer_add_text(out, "        _arguments '--help[Print help]'");
    for (size_t i = 0; i < count; i++)
        zsh_option(out, options[i]);
    zsh_second_words(out, command);
    if (!strcmp(command->name, "help"))
        buffer_add_text(out, " \\\n            '1:COMMAND:_signpost_commands'");
    else if (command->positional)
        buffer_add_text(out, " \\\n            '*:PATH:_files'");
    buffer_add_text(out, "\n        ;;\n");
}

static void zsh_group_name(struct buffer *out, struct text word)
{
    buffer_printf(out, "\n        '%.*s:several commands,", TEXT_ARGS(word));
    add_second_words(out, word);
    buffer_add_char(out, '\'');
}

static void zsh_group(struct buffer *out, struct text word)
{
    AUTO_BUFFER seconds = {0};
    add_second_words(&seconds, word);
    buffer_printf(out,
                  "    '%.*s'*)\n        shift 1 words\n        ((CURRENT -= 1))\n"
                  "        _arguments '1:COMMAND:(%s)'\n        ;;\n",
                  TEXT_ARGS(word), buffer_text(&seconds).at + 1);
}

static void zsh_write(struct buffer *out, struct arena *arena)
{
    buffer_add_text(out, "#compdef signpost\n_signpost_commands() {\n    local -a commands=(");
    for (size_t i = 0; i < command_count; i++) {
        if (word_count(commands[i]->name) > 1)
            continue;
        buffer_printf(out, "\n        '%s:", commands[i]->name);
        zsh_text(out, text_of(commands[i]->summary));
        buffer_add_char(out, '\'');
    }
    each_group(out, zsh_group_name);
    buffer_add_text(out, "\n    )\n    _describe command commands\n}\n"
                         "_signpost() {\n    if ((CURRENT == 2)); then\n"
                         "        _signpost_commands\n        return\n    fi\n"
                         "    case \"${words[2,-1]}\" in\n");
    each_command(out, arena, zsh_command);
    each_group(out, zsh_group);
    buffer_add_text(out, "    esac\n}\n"
                         "if [[ $funcstack[1] = _signpost ]]; then # loaded at the first Tab\n"
                         "    _signpost \"$@\"\nelse\n    compdef _signpost signpost\nfi\n");
}

// ---- fish ---------------------------------------------------------------------------------------

static void fish_text(struct buffer *out, struct text text)
{
    add_quoted(out, text, "\\", "\\'");
}

static void fish_condition(struct buffer *out, const char *name)
{
    struct text rest = text_of(name);
    struct text word;
    buffer_add_text(out, "complete -c signpost -n '");
    for (size_t i = 0; text_cut(&rest, ' ', &word); i++)
        buffer_printf(out, "%s__fish_seen_subcommand_from %.*s", i ? "; and " : "",
                      TEXT_ARGS(word));
    buffer_add_char(out, '\'');
}

static void fish_option(struct buffer *out, const struct command *command,
                        const struct option *option)
{
    fish_condition(out, command->name);
    buffer_printf(out, " -l %s", option->name);
    if (option->choices) {
        buffer_add_text(out, " -x -a '");
        for (const char *const *choice = option->choices; *choice; choice++)
            buffer_printf(out, "%s%s", choice == option->choices ? "" : " ", *choice);
        buffer_add_char(out, '\'');
    } else if (option->type != OPTION_FLAG) {
        buffer_add_text(out, " -r -F");
    }
    buffer_add_text(out, " -d '");
    fish_text(out, headline(option->doc));
    buffer_add_text(out, "'\n");
}

static void fish_command(struct buffer *out, struct arena *arena, const struct command *command)
{
    size_t count;
    const struct option **options = command_options(arena, command, &count);
    struct text first;
    struct text second = text_of(command->name);
    (void)text_cut(&second, ' ', &first);
    if (word_count(command->name) == 1)
        buffer_printf(out, "complete -c signpost -n __fish_use_subcommand -a %s -d '",
                      command->name);
    else
        buffer_printf(out,
                      "complete -c signpost -n '__fish_seen_subcommand_from %.*s' -a %.*s -d '",
                      TEXT_ARGS(first), TEXT_ARGS(second));
    fish_text(out, text_of(command->summary));
    buffer_add_text(out, "'\n");
    for (size_t i = 0; i < count; i++)
        fish_option(out, command, options[i]);
    if (command->positional) {
        fish_condition(out, command->name);
        buffer_add_text(out, " -F\n");
    }
}

static void fish_group(struct buffer *out, struct text word)
{
    buffer_printf(out, "complete -c signpost -n __fish_use_subcommand -a %.*s -d 'one of",
                  TEXT_ARGS(word));
    add_second_words(out, word);
    buffer_add_text(out, "'\n");
}

static void fish_write(struct buffer *out, struct arena *arena)
{
    buffer_add_text(out, "# fish completion: signpost help --completion fish | source\n"
                         "complete -c signpost -f\n"
                         "complete -c signpost -l help -d 'Print help'\n");
    each_command(out, arena, fish_command);
    each_group(out, fish_group);
}

// ---- shells -------------------------------------------------------------------------------------

static const struct shell shells[] = {
    {"bash", bash_write}, {"zsh", zsh_write}, {"fish", fish_write}};

const char *const completion_shells[] = {"bash", "zsh", "fish", NULL};

bool completion_write(struct buffer *out, struct arena *arena, const char *shell)
{
    for (size_t i = 0; i < COUNT_OF(shells); i++) {
        if (strcmp(shells[i].name, shell))
            continue;
        shells[i].write(out, arena);
        return true;
    }
    return false;
}
