#include "dns/corefile/setup.h"

#include <string.h>

static const struct corefile_token *token_at(const struct setup *setup, size_t index)
{
    return &setup->linter->corefile->tokens[setup->tokens[index]];
}

static const struct corefile_token *current(const struct setup *setup)
{
    return setup->next ? token_at(setup, setup->next - 1) : NULL;
}

bool setup_next(struct setup *setup)
{
    if (setup->next == setup->count)
        return false;
    setup->next++;
    return true;
}

bool setup_next_argument(struct setup *setup)
{
    if (setup->next == setup->count)
        return false;
    if (setup->next) {
        const struct corefile_token *here = current(setup);
        const struct corefile_token *there = token_at(setup, setup->next);
        if (here->file != there->file || here->line + corefile_line_feeds(here) != there->line)
            return false;
    }
    setup->next++;
    return true;
}

struct text setup_value(const struct setup *setup)
{
    const struct corefile_token *token = current(setup);
    return token ? token_text(token) : TEXT("");
}

struct text *setup_arguments(struct setup *setup, size_t *count)
{
    size_t first = setup->next;
    while (setup_next_argument(setup))
        if (text_is(setup_value(setup), "{")) {
            setup->next--;
            break;
        }
    *count = setup->next - first;
    struct text *arguments = arena_new_array(setup->linter->arena, struct text, *count + 1);
    for (size_t i = 0; i < *count; i++)
        arguments[i] = token_text(token_at(setup, first + i));
    return arguments;
}

bool setup_next_option(struct setup *setup)
{
    if (setup->nesting) {
        if (!setup_next(setup))
            return false;
        if (!text_is(setup_value(setup), "}"))
            return true;
        setup->nesting--;
        return false;
    }
    if (!setup_next_argument(setup))
        return false;
    if (!text_is(setup_value(setup), "{")) {
        setup->next--;
        return false;
    }
    if (!setup_next(setup) || text_is(setup_value(setup), "}"))
        return false;
    setup->nesting++;
    return true;
}

bool setup_is_first(struct setup *setup)
{
    if (setup->instances++ == 0)
        return true;
    return setup_fail(setup, "once", "this plugin can only be used once per Server Block");
}

// ---- problems -----------------------------------------------------------------------------------

static struct corefile_problem *add(struct setup *setup, const char *rule, const char *text)
{
    const struct corefile *corefile = setup->linter->corefile;
    const struct corefile_token *token = current(setup);
    struct corefile_problem *problem = corefile_add_problem(
        setup->linter->problems, rule, corefile->files[token ? token->file : 0].path,
        token ? token->line : 0, "%s", text);
    if (problem)
        problem->prefix = arena_printf(setup->linter->arena, "plugin/%s: ", setup->plugin);
    return problem;
}

bool setup_fail_at(struct setup *setup, const char *rule, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    add(setup, rule, text.at);
    return false;
}

bool setup_fail_syntax(struct setup *setup, const char *rule, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    struct corefile_problem *problem = add(setup, rule, text.at);
    if (problem)
        problem->is_syntax = true;
    return false;
}

bool setup_fail(struct setup *setup, const char *rule, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    struct corefile_problem *problem = add(setup, rule, text.at);
    if (problem)
        problem->has_no_position = true;
    return false;
}

// NULL: there were too many.
static struct corefile_problem *last_problem(const struct setup *setup)
{
    const struct corefile_problems *problems = setup->linter->problems;
    return problems->kept < problems->count ? NULL : &problems->items[problems->kept - 1];
}

void setup_hint(struct setup *setup, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    struct corefile_problem *problem = last_problem(setup);
    va_list args;
    if (!problem)
        return;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    problem->hint = arena_copy(setup->linter->arena, text.at, text.len);
}

void setup_repeat_prefix(struct setup *setup)
{
    struct corefile_problem *problem = last_problem(setup);
    if (problem)
        problem->prefix =
            arena_printf(setup->linter->arena, "%s%s", problem->prefix, problem->prefix);
}

bool setup_fail_argument(struct setup *setup)
{
    struct text value = setup_value(setup);
    if (text_is(value, "{"))
        return setup_fail_at(setup, "argument-count", "Unexpected token '{', expecting argument");
    return setup_fail_at(setup, "argument-count",
                         "Wrong argument count or unexpected line ending after '%.*s'",
                         TEXT_ARGS(value));
}

bool setup_fail_option(struct setup *setup)
{
    struct text value = setup_value(setup);
    return setup_fail_at(setup, "unknown-property", "unknown property '%.*s'", TEXT_ARGS(value));
}

void setup_warn(struct setup *setup, const char *rule, const char *hint, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    const struct corefile_token *token = current(setup);
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    corefile_add_warning(setup->linter->problems, rule,
                         setup->linter->corefile->files[token ? token->file : 0].path,
                         token ? token->line : 0, hint, "%s", text.at);
}

bool setup_is_before(const struct setup *setup, struct coredns_version version)
{
    return coredns_version_is_before(setup->linter->options->version, version);
}

// ---- options ------------------------------------------------------------------------------------

static void fail_option(struct setup *setup)
{
    if (setup->fail_option)
        setup->fail_option(setup);
    else
        setup_fail_option(setup);
}

static bool fail_unknown(struct setup *setup, const struct option *options, size_t count)
{
    struct text value = setup_value(setup);
    const char **names = arena_new_array(setup->linter->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        names[i] = options[i].name;
    const char *nearest = text_nearest(value, names, count);
    fail_option(setup);
    if (nearest)
        setup_hint(setup, "did you mean %s?", nearest);
    return false;
}

static bool fail_too_new(struct setup *setup, const struct option *option)
{
    fail_option(setup);
    setup_hint(setup, "%s needs CoreDNS %u.%u.%u", option->name, option->since.major,
               option->since.minor, option->since.patch);
    return false;
}

static bool read_option(struct setup *setup, const struct option *option)
{
    size_t count = 0;
    struct text one;
    struct text *arguments = &one;
    switch (option->form) {
    case OPTION_ALONE:
        return !setup_next_argument(setup) || setup_fail_argument(setup);
    case OPTION_ONE:
        if (!setup_next_argument(setup))
            return setup_fail_argument(setup);
        one = setup_value(setup);
        count = 1;
        break;
    case OPTION_NONE:
        setup_arguments(setup, &count);
        return !count || setup_fail_argument(setup);
    case OPTION_ALL:
        arguments = setup_arguments(setup, &count);
        if (count < option->min || (option->max && count > option->max))
            return setup_fail_argument(setup);
        break;
    case OPTION_BARE:
        break;
    case OPTION_ANY:
        setup_arguments(setup, &count);
        return true;
    }
    return !option->check || option->check(setup, arguments, count);
}

bool setup_has_option(const struct setup *setup, const char *name)
{
    for (size_t i = 0; i < setup->option_count; i++)
        if (!strcmp(setup->options[i].name, name))
            return setup->seen >> i & 1;
    return false;
}

bool setup_read_options(struct setup *setup, const struct option *options, size_t count)
{
    setup->options = options;
    setup->option_count = count;
    setup->seen = 0;
    while (setup_next_option(setup)) {
        const struct option *option = NULL;
        for (size_t i = 0; i < count && !option; i++)
            if (text_is(setup_value(setup), options[i].name))
                option = &options[i];
        if (!option)
            return fail_unknown(setup, options, count);
        if (setup_is_before(setup, option->since))
            return fail_too_new(setup, option);
        if (!read_option(setup, option))
            return false;
        setup->seen |= UINT64_C(1) << (option - options);
    }
    return true;
}
