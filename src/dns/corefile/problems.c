#include "dns/corefile/corefile_private.h"

struct corefile_problem *corefile_add_problem(struct corefile_problems *problems, const char *rule,
                                              const char *file, uint32_t line, const char *format,
                                              ...)
{
    AUTO_BUFFER text = {0};
    AUTO_BUFFER clean = {0};
    va_list args;
    problems->count++;
    problems->error_count++;
    if (problems->kept == COREFILE_PROBLEMS_MAX)
        return NULL;
    if (!problems->items)
        problems->items =
            arena_new_array(problems->arena, struct corefile_problem, COREFILE_PROBLEMS_MAX);
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    text_clean(&clean, buffer_text(&text), PROBLEM_TEXT_MAX);
    struct corefile_problem *problem = &problems->items[problems->kept++];
    *problem = (struct corefile_problem){
        .rule = rule,
        .file = arena_copy_text(problems->arena, file),
        .line = line,
        .text = arena_copy(problems->arena, buffer_text(&clean).at, clean.len),
    };
    return problem;
}

void corefile_add_warning(struct corefile_problems *problems, const char *rule, const char *file,
                          uint32_t line, const char *hint, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    struct corefile_problem *problem =
        corefile_add_problem(problems, rule, file, line, "%s", text.at);
    problems->error_count--;
    if (!problem)
        return;
    problem->is_warning = true;
    problem->hint = hint;
}

void corefile_write_problem(struct buffer *out, const struct corefile_problem *problem)
{
    const char *kind = problem->is_warning  ? "Warning"
                       : problem->is_syntax ? "Syntax error"
                                            : "Error during parsing";
    if (problem->prefix)
        buffer_add_text(out, problem->prefix);
    if (problem->line && !problem->has_no_position)
        buffer_printf(out, "%s:%u - %s: ", problem->file, problem->line, kind);
    else if (problem->is_warning)
        buffer_printf(out, "%s - %s: ", problem->file, kind);
    buffer_add_text(out, problem->text);
}
