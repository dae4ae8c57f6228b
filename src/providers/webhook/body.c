#include "providers/webhook/body.h"

#include <string.h>

const struct value_limits body_limits = {.octets = 4 << 20, .depth = 16};

static void write_escape(struct buffer *out, unsigned char c)
{
    static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (const char *at = shorts; *at; at += 2)
        if ((unsigned char)*at == c) {
            buffer_printf(out, "\\%c", at[1]);
            return;
        }
    buffer_printf(out, "\\u%04x", c);
}

static bool needs_escape(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&';
}

static size_t write_wide(struct buffer *out, struct text rest)
{
    uint32_t code;
    size_t len = utf8_decode(rest, &code);
    if (!len) {
        buffer_add_text(out, "\\ufffd");
        return 1;
    }
    if (code == 0x2028 || code == 0x2029)
        buffer_printf(out, "\\u%04x", (unsigned)code);
    else
        buffer_add(out, rest.at, len);
    return len;
}

void body_write_string(struct buffer *out, struct text text)
{
    buffer_add_char(out, '"');
    for (size_t i = 0; i < text.len;) {
        unsigned char c = (unsigned char)text.at[i];
        size_t start = i;
        while (i < text.len && (unsigned char)text.at[i] < 0x80 &&
               !needs_escape((unsigned char)text.at[i]))
            i++;
        if (i > start) {
            buffer_add(out, text.at + start, i - start);
            continue;
        }
        if (c >= 0x80) {
            i += write_wide(out, (struct text){text.at + i, text.len - i});
            continue;
        }
        write_escape(out, c);
        i++;
    }
    buffer_add_char(out, '"');
}

static void write_value(struct buffer *out, const struct record_set *set, struct text value,
                        bool is_inline)
{
    if (!is_inline || (set->type != RECORD_MX && set->type != RECORD_SRV)) {
        body_write_string(out, value);
        return;
    }
    struct buffer line = {0};
    if (set->type == RECORD_MX)
        buffer_printf(&line, "%d %.*s", set->priority, TEXT_ARGS(value));
    else
        buffer_printf(&line, "%d %d %d %.*s", set->priority, set->weight, set->port,
                      TEXT_ARGS(value));
    body_write_string(out, buffer_text(&line));
    buffer_done(&line);
}

static void write_metadata(struct buffer *out, const struct record_set *set)
{
    if (set->type == RECORD_MX)
        buffer_printf(out, ",\"metadata\":{\"priority\":%d}", set->priority);
    if (set->type == RECORD_SRV)
        buffer_printf(out, ",\"metadata\":{\"priority\":%d,\"weight\":%d,\"port\":%d}",
                      set->priority, set->weight, set->port);
}

void body_write_record(struct buffer *out, const struct record_set *set, bool is_inline)
{
    buffer_printf(out, "{\"type\":\"%s\",\"domain\":", record_type_name(set->type));
    body_write_string(out, set->domain);
    buffer_add_text(out, ",\"subdomain\":");
    body_write_string(out, set->subdomain);
    buffer_add_text(out, ",\"values\":[");
    for (size_t i = 0; i < set->value_count; i++) {
        if (i)
            buffer_add_char(out, ',');
        write_value(out, set, set->values[i], is_inline);
    }
    buffer_printf(out, "],\"ttl\":%u", set->ttl_s);
    if (!is_inline)
        write_metadata(out, set);
    buffer_add_char(out, '}');
}

void body_write_upsert(struct buffer *out, const struct record_set *set, bool is_inline)
{
    buffer_add_text(out, "{\"record\":");
    body_write_record(out, set, is_inline);
    buffer_add_text(out, ",\"operation\":\"upsert\"}");
}
