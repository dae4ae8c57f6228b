#include "dns/corefile/identity.h"

#include <stdlib.h>
#include <string.h>

#include "dns/corefile/corefile_private.h"

static const char zeroes[] = "0000000000000000";

static bool is_hex(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!strchr("0123456789abcdef", text.at[i]))
            return false;
    return true;
}

struct text config_id_find(struct text text)
{
    static const char before[] = "chaos " CONFIG_ID_PREFIX;
    struct text rest = text;
    const char *found;
    while (rest.len && (found = memmem(rest.at, rest.len, before, sizeof before - 1))) {
        const char *at = found + sizeof before - 1;
        rest = (struct text){at, (size_t)(text.at + text.len - at)};
        if (rest.len < CONFIG_ID_LEN)
            break;
        struct text id = {at, CONFIG_ID_LEN};
        bool is_whole = rest.len == CONFIG_ID_LEN || strchr(" \t\r\n", at[CONFIG_ID_LEN]);
        if (is_whole && is_hex(id))
            return id;
    }
    return (struct text){0};
}

void config_id_of(struct text text, char out[CONFIG_ID_LEN + 1])
{
    uint8_t octets[DIGEST_MAX];
    struct text id = config_id_find(text);
    struct digest_state *state = digest_begin(DIGEST_SHA256);
    size_t before = id.at ? (size_t)(id.at - text.at) : text.len;
    digest_add(state, text.at, before);
    if (id.at) {
        digest_add(state, zeroes, CONFIG_ID_LEN);
        digest_add(state, id.at + id.len, text.len - before - id.len);
    }
    digest_end(state, octets);
    hex_encode(octets, CONFIG_ID_LEN / 2, out);
}

// ---- the hash of the plugin reload --------------------------------------------------------------

static void write_string(struct buffer *out, struct text text)
{
    buffer_add_char(out, '"');
    for (size_t at = 0; at < text.len;) {
        uint32_t rune;
        size_t len = utf8_decode((struct text){text.at + at, text.len - at}, &rune);
        char c = text.at[at];
        if (!len)
            buffer_add_text(out, "\\ufffd");
        else if (c == '"' || c == '\\')
            buffer_printf(out, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            buffer_printf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (rune < ' ' || c == '<' || c == '>' || c == '&' || rune == 0x2028 || rune == 0x2029)
            buffer_printf(out, "\\u%04x", rune);
        else
            buffer_add(out, text.at + at, len);
        at += len ? len : 1;
    }
    buffer_add_char(out, '"');
}

static void write_directive(struct buffer *out, const struct corefile *corefile,
                            const struct corefile_directive *directive)
{
    for (uint32_t i = 0; i < directive->count; i++) {
        const struct corefile_token *token = &corefile->tokens[directive->first + i];
        const char *path = token->file ? corefile->files[token->file].path : "";
        buffer_add_text(out, out->at[out->len - 1] == '[' ? "{\"File\":" : ",{\"File\":");
        write_string(out, text_of(path));
        buffer_printf(out, ",\"Line\":%u,\"Text\":", token->line);
        write_string(out, token_text(token));
        buffer_add_char(out, '}');
    }
}

// A directive with its place in the file: those of one name stay in order.
struct named {
    struct text name;
    const struct corefile_directive *directive;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *left = a;
    const struct named *right = b;
    int order = text_compare(left->name, right->name);
    if (order)
        return order;
    return left->directive < right->directive ? -1 : left->directive > right->directive;
}

static void write_tokens(struct buffer *out, const struct corefile *corefile,
                         const struct corefile_block *block)
{
    struct named *named = mem_new_array(struct named, block->directive_count + 1);
    for (size_t i = 0; i < block->directive_count; i++)
        named[i] = (struct named){corefile_text(corefile, block->directives[i].first),
                                  &block->directives[i]};
    qsort(named, block->directive_count, sizeof *named, compare_named);
    for (size_t i = 0; i < block->directive_count; i++) {
        if (!i || !text_equal(named[i].name, named[i - 1].name)) {
            buffer_add_text(out, i ? "]," : "");
            write_string(out, named[i].name);
            buffer_add_text(out, ":[");
        }
        write_directive(out, corefile, named[i].directive);
    }
    buffer_add_text(out, block->directive_count ? "]" : "");
    free(named);
}

static void write_block(struct buffer *out, const struct corefile *corefile,
                        const struct corefile_block *block)
{
    buffer_add_text(out, "{\"Keys\":[");
    for (size_t i = 0; i < block->key_count; i++) {
        buffer_add_text(out, i ? "," : "");
        write_string(out, block->keys[i]);
    }
    buffer_add_text(out, "],\"Tokens\":{");
    write_tokens(out, corefile, block);
    buffer_add_text(out, "}}");
}

void corefile_reload_hash(const struct corefile *corefile, char out[RELOAD_HASH_LEN + 1])
{
    uint8_t octets[DIGEST_MAX];
    AUTO_BUFFER json = {0};
    buffer_add_char(&json, '[');
    for (size_t i = 0; i < corefile->block_count; i++) {
        buffer_add_text(&json, i ? "," : "");
        write_block(&json, corefile, &corefile->blocks[i]);
    }
    buffer_add_char(&json, ']');
    digest_of(DIGEST_SHA512, buffer_text(&json), octets);
    hex_encode(octets, DIGEST_MAX, out);
}
