#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dns/zone.h"
#include "engine/engine.h"
#include "engine/published.h"
#include "frontends/status/html.h"
#include "frontends/status/status_tables.h"

static const char *const publication_names[] = {
    [PUBLISHED_WITHHELD] = "Withheld: it has no valid version",
    [PUBLISHED_SERVED] = "Served",
    [PUBLISHED_FROZEN] = "The last valid version is served",
};

struct zones {
    const struct published_zone **items;
    size_t count;
    size_t capacity;
    size_t not_served;
};

static int compare_zones(const void *left, const void *right)
{
    const struct published_zone *a = *(const struct published_zone *const *)left;
    const struct published_zone *b = *(const struct published_zone *const *)right;
    int order = (a->state == PUBLISHED_SERVED) - (b->state == PUBLISHED_SERVED);
    return order ? order : dname_compare(a->apex, b->apex);
}

// Those that are not served as they should be come first.
static void collect(struct zones *zones, const struct published *published)
{
    size_t cursor = 0;
    const struct published_zone *zone;
    while ((zone = published_next(published, &cursor))) {
        mem_reserve(&zones->items, &zones->capacity, zones->count + 1);
        zones->items[zones->count++] = zone;
        zones->not_served += zone->state != PUBLISHED_SERVED;
    }
    if (zones->count)
        qsort(zones->items, zones->count, sizeof *zones->items, compare_zones);
}

static void add_server(struct buffer *out, const struct server_view *server)
{
    buffer_add_text(out, "<li>");
    html_add(out, text_of(server->name));
    if (server->has_serial)
        buffer_printf(out, " answers %u", server->serial);
    else if (server->has_fetched)
        buffer_printf(out, " fetched %u", server->fetched);
    else
        buffer_add_text(out, " has not asked yet");
    if (server->is_stuck)
        buffer_add_text(out, "; it has not loaded what it fetched");
    if (server->fault.fault != FAULT_NONE) {
        buffer_add_text(out, "; ");
        html_add(out, text_of(server->fault.text));
    }
    buffer_add_text(out, "</li>");
}

static void add_servers(struct buffer *out, const struct engine *engine,
                        const struct published_zone *zone)
{
    const struct server_view *servers;
    size_t count = engine_zone_servers(engine, zone->apex, &servers);
    html_open_cell(out, "Servers");
    if (count)
        buffer_add_text(out, "<ul>");
    for (size_t i = 0; i < count; i++)
        add_server(out, &servers[i]);
    buffer_add_text(out, count ? "</ul></td>" : "none</td>");
}

static void add_serial(struct buffer *out, const struct published_zone *zone)
{
    const struct zone *newest = zone->history ? zone_history_newest(zone->history) : NULL;
    html_open_cell(out, "Serial");
    if (newest)
        buffer_printf(out, "%u</td>", zone_serial(newest));
    else
        buffer_add_text(out, "-</td>");
}

static void add_zone(struct buffer *out, const struct engine *engine,
                     const struct published_zone *zone)
{
    AUTO_BUFFER name = {0};
    dname_write(&name, zone->apex);
    buffer_printf(out, "<tr role=\"row\" class=\"%s\"><th role=\"rowheader\" scope=\"row\">",
                  status_states[zone->state == PUBLISHED_SERVED ? OBJECT_READY : OBJECT_NOT_READY]);
    html_add(out, buffer_text(&name));
    buffer_printf(out,
                  "</th><td role=\"cell\" data-label=\"State\"><span class=\"state\">%s"
                  "</span></td>",
                  publication_names[zone->state]);
    add_serial(out, zone);
    html_add_cell(out, "Group", zone->group ? text_of(zone->group) : TEXT("-"));
    add_servers(out, engine, zone);
    buffer_add_text(out, "</tr>\n");
}

void status_write_zones(struct engine *engine, const struct status_query *query,
                        struct status_contents *out)
{
    static const char *const columns[] = {"Zone",    "State", "Serial", "Group of servers",
                                          "Servers", NULL};
    struct zones zones = {0};
    size_t first = html_first_row(query);
    AUTO_BUFFER caption = {0};
    collect(&zones, engine_published(engine));
    buffer_printf(&out->summary, "%zu zone%s, %zu of them not served as wanted.", zones.count,
                  zones.count == 1 ? "" : "s", zones.not_served);
    html_write_range(&caption, "Zones", query, zones.count);
    buffer_add_text(&out->body, "<div id=\"rows\" data-live>\n");
    html_open_table(&out->body, caption.at, columns);
    for (size_t i = first; i < zones.count && i < first + HTML_PAGE_ROWS; i++)
        add_zone(&out->body, engine, zones.items[i]);
    html_close_table(&out->body);
    html_add_pager(&out->body, query, zones.count);
    buffer_add_text(&out->body, "</div>\n");
    free(zones.items);
}
