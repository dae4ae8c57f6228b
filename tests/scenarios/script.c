#include "scenarios/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/disk.h"

static const char *name_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return arena_copy(arena, base, dot ? (size_t)(dot - base) : strlen(base));
}

// One word, quotes taken away; *at moves behind it.
static const char *take_word(struct arena *arena, const char *raw, size_t *at)
{
    AUTO_BUFFER word = {0};
    char quote = '\0';
    for (; raw[*at] && (quote || raw[*at] != ' '); (*at)++) {
        if (quote ? raw[*at] == quote : raw[*at] == '"' || raw[*at] == '\'')
            quote = quote ? '\0' : raw[*at];
        else
            buffer_add_char(&word, raw[*at]);
    }
    return arena_copy(arena, word.at ? word.at : "", word.len);
}

static void split(struct arena *arena, struct step *step)
{
    size_t at = 0;
    while (step->word_count < STEP_WORDS_MAX) {
        while (step->raw[at] == ' ')
            at++;
        if (!step->raw[at])
            return;
        step->word_at[step->word_count] = at;
        step->words[step->word_count++] = take_word(arena, step->raw, &at);
    }
}

static bool take_text(struct script *script, struct step *step, struct text *rest, size_t *line)
{
    struct text piece;
    AUTO_BUFFER text = {0};
    const char *last = step->word_count ? step->words[step->word_count - 1] : "";
    if (strncmp(last, "<<", 2) || !last[2])
        return true;
    step->word_count--;
    while (text_cut(rest, '\n', &piece)) {
        (*line)++;
        if (text_is(piece, last + 2)) {
            step->text = arena_copy(script->arena, text.at ? text.at : "", text.len);
            return true;
        }
        buffer_add(&text, piece.at, piece.len);
        buffer_add_char(&text, '\n');
    }
    return false;
}

static bool read_steps(struct script *script, const char *path, struct text rest, struct error *err)
{
    struct text piece;
    size_t capacity = 0;
    for (size_t line = 1; text_cut(&rest, '\n', &piece); line++) {
        piece = text_trim(piece);
        if (!piece.len || piece.at[0] == '#')
            continue;
        mem_reserve(&script->steps, &capacity, script->count + 1);
        struct step *step = &script->steps[script->count++];
        *step = (struct step){.line = line};
        step->raw = arena_copy(script->arena, piece.at, piece.len);
        split(script->arena, step);
        if (!take_text(script, step, &rest, &line))
            return error_set(err, FAULT_SPEC, "", "%s:%zu: the text has no end", path, step->line);
    }
    return true;
}

bool script_read(struct script *script, const char *path, struct error *err)
{
    AUTO_BUFFER content = {0};
    if (!disk_read(&content, path, (size_t)1024 * 1024, err))
        return false;
    *script = (struct script){.arena = arena_new()};
    script->name = name_of(script->arena, path);
    return read_steps(script, path, buffer_text(&content), err);
}

void script_done(struct script *script)
{
    free(script->steps);
    arena_free(script->arena);
}

int step_number(const char *word)
{
    int64_t number;
    return text_to_int64(text_of(word), &number) ? (int)number : 0;
}

const char *step_word(const struct step *step, size_t at)
{
    return at < step->word_count ? step->words[at] : "";
}

const char *step_rest(const struct step *step, size_t at)
{
    return at < step->word_count ? step->raw + step->word_at[at] : "";
}

const char *step_option(const struct step *step, const char *key)
{
    size_t len = strlen(key);
    for (size_t i = 1; i < step->word_count; i++) {
        if (strncmp(step->words[i], key, len))
            continue;
        if (step->words[i][len] == '=')
            return step->words[i] + len + 1;
        if (!step->words[i][len])
            return "";
    }
    return NULL;
}
