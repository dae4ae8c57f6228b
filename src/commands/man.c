#include <ctype.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/manual.h"

// ---- roff ---------------------------------------------------------------------------------------

static void add_escaped(struct buffer *out, struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '\\')
            buffer_add_text(out, "\\e");
        else if (c == '-')
            buffer_add_text(out, "\\-");
        else if (c == '\'')
            buffer_add_text(out, "\\(aq");
        else if (c == '`')
            buffer_add_text(out, "\\(ga");
        else
            buffer_add_char(out, c);
    }
}

// A line that begins with "." would be a request.
static void add_line(struct buffer *out, struct text line)
{
    if (text_starts(line, "."))
        buffer_add_text(out, "\\&");
    add_escaped(out, line);
    buffer_add_char(out, '\n');
}

static void add_paragraphs(struct buffer *out, const char *text)
{
    struct text rest = text_of(text);
    struct text line;
    while (text_cut(&rest, '\n', &line)) {
        if (line.len)
            add_line(out, line);
        else if (rest.at)
            buffer_add_text(out, ".PP\n");
    }
}

static void add_verbatim(struct buffer *out, const char *text)
{
    struct text rest = text_of(text);
    struct text line;
    buffer_add_text(out, ".PP\n.RS 4\n.nf\n");
    while (text_cut(&rest, '\n', &line))
        if (line.len)
            add_line(out, line);
    buffer_add_text(out, ".fi\n.RE\n");
}

static void add_bold(struct buffer *out, const char *text)
{
    buffer_add_text(out, "\\fB");
    add_escaped(out, text_of(text));
    buffer_add_text(out, "\\fR");
}

// "signpost-plan-apply": a page's name.
static void add_page_name(struct buffer *out, const char *command, bool is_upper)
{
    buffer_add_text(out, is_upper ? "SIGNPOST" : "signpost");
    if (command)
        buffer_add_text(out, "\\-");
    for (const char *at = command; at && *at; at++) {
        if (*at == ' ' || *at == '-')
            buffer_add_text(out, "\\-");
        else
            buffer_add_char(out, is_upper ? (char)toupper((unsigned char)*at) : *at);
    }
}

static void begin_page(struct buffer *out, const char *command, const char *summary)
{
    buffer_add_text(out, ".\\\" Made by `signpost help --man`.\n.TH ");
    add_page_name(out, command, true);
    buffer_add_text(out, " 1 \"\" \"Signpost " SIGNPOST_VERSION "\" \"Signpost\"\n.nh\n.ad l\n"
                         ".SH NAME\n");
    add_page_name(out, command, false);
    buffer_add_text(out, " \\- ");
    add_line(out, text_of(summary));
}

static void add_exit_codes(struct buffer *out, const struct command *command)
{
    buffer_add_text(out, ".SH EXIT STATUS\n");
    for (int code = 0; code < EXIT_CODES; code++) {
        buffer_printf(out, ".TP\n.B %d\n", code);
        add_line(out, text_of(exit_doc(command, code)));
    }
}

// ---- pages --------------------------------------------------------------------------------------

static void add_flag(struct buffer *out, const char *name, const struct option *option)
{
    AUTO_BUFFER value = {0};
    AUTO_BUFFER flag = {0};
    buffer_printf(&flag, "--%s", name);
    add_bold(out, flag.at);
    option_write_value(&value, option);
    if (!value.len)
        return;
    buffer_add_text(out, " \\fI");
    add_escaped(out, buffer_text(&value));
    buffer_add_text(out, "\\fR");
}

static void add_option(struct buffer *out, const struct option *option)
{
    AUTO_BUFFER facts = {0};
    buffer_add_text(out, ".TP\n");
    add_flag(out, option->name, option);
    if (option->letter)
        buffer_printf(out, ", \\fB\\-%c\\fR", option->letter);
    if (option->alias) {
        buffer_add_text(out, ", ");
        add_flag(out, option->alias, option);
    }
    buffer_add_char(out, '\n');
    add_line(out, text_of(option->doc));
    option_write_facts(&facts, option);
    add_line(out, buffer_text(&facts));
}

static void add_see_also(struct buffer *out, const struct command *besides)
{
    buffer_add_text(out, ".SH SEE ALSO\n");
    if (besides)
        buffer_add_text(out, ".BR signpost (1)");
    for (size_t i = 0; i < command_count; i++) {
        if (commands[i] == besides)
            continue;
        buffer_add_text(out, i || besides ? ",\n.BR " : ".BR ");
        add_page_name(out, commands[i]->name, false);
        buffer_add_text(out, " (1)");
    }
    buffer_add_char(out, '\n');
}

void man_write_summary(struct buffer *out)
{
    begin_page(out, NULL, signpost_summary);
    buffer_add_text(out, ".SH SYNOPSIS\n.B signpost\n\\fICOMMAND\\fR [\\fIOPTION\\fR...]\n"
                         ".SH DESCRIPTION\n");
    add_paragraphs(out, options_doc);
    buffer_add_text(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < command_count; i++) {
        buffer_add_text(out, ".TP\n");
        add_bold(out, commands[i]->name);
        buffer_add_char(out, '\n');
        add_line(out, text_of(commands[i]->summary));
    }
    add_exit_codes(out, NULL);
    add_see_also(out, NULL);
}

void man_write_command(struct buffer *out, struct arena *arena, const struct command *command)
{
    size_t count;
    const struct option **options = command_options(arena, command, &count);
    AUTO_BUFFER arguments = {0};
    begin_page(out, command->name, command->summary);
    buffer_printf(out, ".SH SYNOPSIS\n.B signpost %s\n", command->name);
    command_write_arguments(&arguments, command);
    add_line(out, buffer_text(&arguments));
    buffer_add_text(out, ".SH DESCRIPTION\n");
    add_paragraphs(out, command->doc);
    if (count)
        buffer_add_text(out, ".SH OPTIONS\n");
    for (size_t i = 0; i < count; i++)
        add_option(out, options[i]);
    add_exit_codes(out, command);
    if (command->examples) {
        buffer_add_text(out, ".SH EXAMPLES\n");
        add_verbatim(out, command->examples);
    }
    add_see_also(out, command);
}
