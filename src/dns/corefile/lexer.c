#include <string.h>

#include "dns/corefile/corefile_private.h"

// As lexer.go of the package caddyfile reads: rune by rune. What is no UTF-8 becomes U+FFFD.

static const char replacement[] = "\xef\xbf\xbd";

// unicode.IsSpace of Go.
static bool is_space(uint32_t rune)
{
    static const uint32_t others[] = {0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000};
    if ((rune >= '\t' && rune <= '\r') || rune == ' ' || (rune >= 0x2000 && rune <= 0x200a))
        return true;
    for (size_t i = 0; rune > 0x7f && i < COUNT_OF(others); i++)
        if (rune == others[i])
            return true;
    return false;
}

struct rune {
    uint32_t code_point;
    const char *at;
    size_t len;      // octets that show it
    size_t consumed; // octets of the text
};

static struct rune rune_at(struct text text, size_t at)
{
    const char *octets = text.at + at;
    struct rune rune = {(unsigned char)*octets, octets, 1, 1};
    if (rune.code_point < 0x80)
        return rune;
    rune.consumed = utf8_decode((struct text){octets, text.len - at}, &rune.code_point);
    rune.len = rune.consumed;
    if (rune.consumed)
        return rune;
    return (struct rune){0xfffd, replacement, sizeof replacement - 1, 1};
}

void corefile_lexer_init(struct corefile_lexer *lexer, struct arena *arena, struct text text,
                         uint32_t file)
{
    *lexer = (struct corefile_lexer){.arena = arena, .text = text, .line = 1, .file = file};
    if (text_starts(text, "\xef\xbb\xbf"))
        lexer->at = 3;
}

// The text of a token while it is read: a slice of the file as long as nothing is left out.
struct shown {
    const char *at;
    size_t len;
    struct buffer copy;
    bool is_copy;
};

static void shown_add(struct shown *shown, const char *at, size_t len)
{
    if (!shown->is_copy && shown->len && shown->at + shown->len != at) {
        buffer_add(&shown->copy, shown->at, shown->len);
        shown->is_copy = true;
    }
    if (shown->is_copy)
        buffer_add(&shown->copy, at, len);
    else if (!shown->len)
        shown->at = at;
    shown->len += len;
}

static bool finish(struct corefile_lexer *lexer, struct shown *shown, struct corefile_token *token)
{
    token->at = shown->is_copy ? arena_copy(lexer->arena, shown->copy.at, shown->copy.len)
                : shown->at    ? shown->at
                               : "";
    token->len = (uint32_t)shown->len;
    buffer_done(&shown->copy);
    return true;
}

static void take_quoted(struct corefile_lexer *lexer, struct shown *shown, bool *is_closed)
{
    bool is_escaped = false;
    const char *backslash = NULL;
    while (lexer->at < lexer->text.len) {
        struct rune rune = rune_at(lexer->text, lexer->at);
        lexer->at += rune.consumed;
        if (!is_escaped && rune.code_point == '\\') {
            is_escaped = true;
            backslash = rune.at;
            continue;
        }
        if (!is_escaped && rune.code_point == '"') {
            *is_closed = true;
            return;
        }
        if (rune.code_point == '\n')
            lexer->line++;
        if (is_escaped && rune.code_point != '"')
            shown_add(shown, backslash, 1);
        shown_add(shown, rune.at, rune.len);
        is_escaped = false;
    }
}

// Octets from here on that are part of any token: most of a file.
static size_t plain_run(const struct corefile_lexer *lexer)
{
    size_t end = lexer->at;
    for (; end < lexer->text.len; end++) {
        char c = lexer->text.at[end];
        if (c <= ' ' || c > '~' || c == '#')
            break;
    }
    return end - lexer->at;
}

// Goes to the end of the line.
static void skip_comment(struct corefile_lexer *lexer)
{
    const char *from = lexer->text.at + lexer->at;
    const char *end = memchr(from, '\n', lexer->text.len - lexer->at);
    lexer->at = end ? (size_t)(end - lexer->text.at) : lexer->text.len;
}

// Skips what stands before a token. False at the end of the text.
static bool skip_to_token(struct corefile_lexer *lexer)
{
    while (lexer->at < lexer->text.len) {
        struct rune rune = rune_at(lexer->text, lexer->at);
        if (rune.code_point == '#') {
            skip_comment(lexer);
            continue;
        }
        if (!is_space(rune.code_point))
            return true;
        lexer->line += rune.code_point == '\n';
        lexer->at += rune.consumed;
    }
    return false;
}

static void take_bare(struct corefile_lexer *lexer, struct shown *shown)
{
    bool is_comment = false;
    while (lexer->at < lexer->text.len) {
        size_t run = is_comment ? 0 : plain_run(lexer);
        if (run) {
            shown_add(shown, lexer->text.at + lexer->at, run);
            lexer->at += run;
            continue;
        }
        struct rune rune = rune_at(lexer->text, lexer->at);
        if (is_space(rune.code_point) && rune.code_point != '\r')
            return;
        lexer->at += rune.consumed;
        is_comment = is_comment || rune.code_point == '#';
        if (!is_comment && rune.code_point != '\r')
            shown_add(shown, rune.at, rune.len);
    }
}

bool corefile_lexer_next(struct corefile_lexer *lexer, struct corefile_token *token)
{
    struct shown shown = {0};
    if (!skip_to_token(lexer))
        return false;
    *token = (struct corefile_token){
        .line = lexer->line, .start = (uint32_t)lexer->at, .file = lexer->file};
    if (lexer->text.at[lexer->at] != '"') {
        take_bare(lexer, &shown);
        return finish(lexer, &shown, token);
    }
    bool is_closed = false;
    lexer->at++;
    take_quoted(lexer, &shown, &is_closed);
    // CoreDNS forgets an empty quotation that nobody closes.
    if (!is_closed && !shown.len)
        return false;
    return finish(lexer, &shown, token);
}

uint32_t corefile_line_feeds(const struct corefile_token *token)
{
    uint32_t count = 0;
    const char *end = token->at + token->len;
    for (const char *at = token->at; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        count++;
    return count;
}

bool corefile_starts_line(const struct corefile_token *before, const struct corefile_token *next)
{
    return before->file != next->file || before->line + corefile_line_feeds(before) < next->line;
}

static struct text expand_references(struct arena *arena, const struct corefile_world *world,
                                     struct text text, const char *start, const char *end)
{
    size_t start_len = strlen(start);
    size_t end_len = strlen(end);
    AUTO_BUFFER out = {0};
    for (size_t expansions = 0; expansions < COREFILE_NESTING_MAX; expansions++) {
        const char *at = text.len ? memmem(text.at, text.len, start, start_len) : NULL;
        size_t before = at ? (size_t)(at - text.at) : 0;
        const char *stop = at ? memmem(at, text.len - before, end, end_len) : NULL;
        if (!stop || stop <= at + start_len)
            return text;
        struct text reference = {at, (size_t)(stop - at) + end_len};
        struct text name = {at + start_len, (size_t)(stop - at) - start_len};
        struct text value =
            world && world->variable ? world->variable(world->context, name) : (struct text){0};
        buffer_clear(&out);
        struct text rest = text;
        const char *next;
        while (rest.len && (next = memmem(rest.at, rest.len, reference.at, reference.len))) {
            buffer_add(&out, rest.at, (size_t)(next - rest.at));
            buffer_add(&out, value.len ? value.at : "", value.len);
            size_t used = (size_t)(next - rest.at) + reference.len;
            rest = (struct text){rest.at + used, rest.len - used};
        }
        buffer_add(&out, rest.len ? rest.at : "", rest.len);
        text = (struct text){arena_copy(arena, out.len ? out.at : "", out.len), out.len};
    }
    return text;
}

struct text corefile_expand(struct arena *arena, const struct corefile_world *world,
                            struct text text)
{
    if (!text.len || !memchr(text.at, '{', text.len))
        return text;
    text = expand_references(arena, world, text, "{%", "%}");
    return expand_references(arena, world, text, "{$", "}");
}
