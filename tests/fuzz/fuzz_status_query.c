#include <string.h>

#include "base/must.h"
#include "frontends/status/html.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static const unsigned filters =
    STATUS_FILTER_SYSTEM | STATUS_FILTER_STATE | STATUS_FILTER_SEARCH | STATUS_FILTER_PAGE;

static void check_escaped(struct text text)
{
    AUTO_BUFFER out = {0};
    html_add(&out, text);
    must(!out.len || !strpbrk(out.at, "<>\"'\n\r"));
}

// What is written of a query reads the same again.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    struct status_query query;
    struct status_query again;
    struct error err;
    AUTO_BUFFER out = {0};
    const struct text text = {(const char *)at, len};
    check_escaped(text);
    if (!status_query_parse(&query, text, filters, &err))
        return 0;
    must(query.page >= 1 && query.page <= STATUS_PAGE_MAX);
    status_query_write(&out, &query);
    must(!out.len || !strpbrk(out.at, "<>\"'"));
    for (char *mark; out.len && (mark = strstr(out.at, "&amp;"));)
        memmove(mark + 1, mark + 5, strlen(mark + 5) + 1);
    const char *written = out.len ? out.at + 1 : "";
    if (strlen(written) > STATUS_QUERY_OCTETS_MAX) // each octet takes three when it is written
        return 0;
    must(status_query_parse(&again, text_of(written), filters, &err));
    must(!strcmp(again.system, query.system) && !strcmp(again.state, query.state));
    must(!strcmp(again.search, query.search) && again.page == query.page);
    return 0;
}
