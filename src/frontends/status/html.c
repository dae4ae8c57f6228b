#include "frontends/status/html.h"

#include "base/when.h"

static void add_escaped(struct buffer *out, char c)
{
    switch (c) {
    case '&':
        buffer_add_text(out, "&amp;");
        return;
    case '<':
        buffer_add_text(out, "&lt;");
        return;
    case '>':
        buffer_add_text(out, "&gt;");
        return;
    case '"':
        buffer_add_text(out, "&quot;");
        return;
    case '\'':
        buffer_add_text(out, "&#39;");
        return;
    default:
        buffer_add_char(out, c);
    }
}

void html_add(struct buffer *out, struct text foreign)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, foreign, HTML_OCTETS_MAX);
    for (size_t i = 0; i < clean.len; i++)
        add_escaped(out, clean.at[i]);
}

void html_open_cell(struct buffer *out, const char *label)
{
    buffer_printf(out, "<td role=\"cell\" data-label=\"%s\">", label);
}

void html_add_cell(struct buffer *out, const char *label, struct text foreign)
{
    html_open_cell(out, label);
    html_add(out, foreign);
    buffer_add_text(out, "</td>");
}

void html_add_time(struct buffer *out, int64_t unix_s)
{
    char text[WHEN_TEXT_MAX];
    if (unix_s <= 0) {
        buffer_add_char(out, '-');
        return;
    }
    when_write(unix_s, text);
    buffer_printf(out, "<time datetime=\"%s\">%.10s %.8s</time>", text, text, text + 11);
}

// Tables are laid out as blocks on a phone; the roles say all the same what they are.
void html_open_table(struct buffer *out, const char *caption, const char *const *columns)
{
    buffer_add_text(out, "<table role=\"table\"><caption>");
    html_add(out, text_of(caption));
    buffer_add_text(out, "</caption><thead role=\"rowgroup\"><tr role=\"row\">");
    for (; *columns; columns++)
        buffer_printf(out, "<th role=\"columnheader\" scope=\"col\">%s</th>", *columns);
    buffer_add_text(out, "</tr></thead><tbody role=\"rowgroup\">\n");
}

void html_close_table(struct buffer *out)
{
    buffer_add_text(out, "</tbody></table>\n");
}

static void add_page_link(struct buffer *out, const struct status_query *query, size_t page,
                          const char *rel, const char *text)
{
    struct status_query other = *query;
    other.page = page;
    buffer_printf(out, "<a rel=\"%s\" id=\"%s\" href=\"", rel, rel);
    if (page == 1 && !*query->system && !*query->state && !*query->search)
        buffer_add_char(out, '?');
    status_query_write(out, &other);
    buffer_printf(out, "\">%s</a>\n", text);
}

void html_add_pager(struct buffer *out, const struct status_query *query, size_t count)
{
    size_t pages = (count + HTML_PAGE_ROWS - 1) / HTML_PAGE_ROWS;
    if (pages < 2)
        return;
    buffer_add_text(out, "<nav class=\"pager\" aria-label=\"Pages\">\n");
    if (query->page > 1)
        add_page_link(out, query, query->page - 1 < pages ? query->page - 1 : pages, "prev",
                      "Previous page");
    buffer_printf(out, "<span>Page %zu of %zu</span>\n", query->page, pages);
    if (query->page < pages)
        add_page_link(out, query, query->page + 1, "next", "Next page");
    buffer_add_text(out, "</nav>\n");
}

size_t html_first_row(const struct status_query *query)
{
    return (query->page - 1) * HTML_PAGE_ROWS;
}

void html_write_range(struct buffer *out, const char *what, const struct status_query *query,
                      size_t count)
{
    size_t first = html_first_row(query);
    size_t last = first + HTML_PAGE_ROWS < count ? first + HTML_PAGE_ROWS : count;
    if (first >= count)
        buffer_printf(out, "%s: none%s", what, count ? " on this page" : "");
    else
        buffer_printf(out, "%s %zu to %zu of %zu", what, first + 1, last, count);
}
