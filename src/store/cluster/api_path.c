#include "store/cluster/api.h"

static bool is_unreserved(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

// RFC 3986: all but the unreserved characters, which is right in a path's segment and in a query.
void api_query_escape(struct buffer *out, struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (is_unreserved(text.at[i]))
            buffer_add_char(out, text.at[i]);
        else
            buffer_printf(out, "%%%02X", (unsigned char)text.at[i]);
    }
}

static void add_segment(struct buffer *out, struct text segment)
{
    if (segment.len == 0)
        return;
    buffer_add_char(out, '/');
    api_query_escape(out, segment);
}

void api_version_path(struct buffer *out, const struct kind *kind, const char *version,
                      struct text namespace_, struct text name, const char *sub)
{
    buffer_add_text(out, kind->group[0] ? "/apis" : "/api");
    add_segment(out, text_of(kind->group));
    add_segment(out, text_of(version));
    if (namespace_.len)
        add_segment(out, TEXT("namespaces"));
    add_segment(out, namespace_);
    add_segment(out, text_of(kind->plural));
    add_segment(out, name);
    add_segment(out, text_of(sub));
}

void api_path(struct buffer *out, const struct kind *kind, struct text namespace_, struct text name,
              const char *sub)
{
    api_version_path(out, kind, kind->version, namespace_, name, sub);
}
