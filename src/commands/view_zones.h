#pragma once

#include "commands/view.h"

// What a view shows of Zones and Records (kubi.zone).

// A zone's name, serial and servers.
void view_describe_zone(struct view *view, struct view_row *row, const struct value *tree);
// Once all rows are there, in order: names of Records, which hang on their Zones, and questions.
void view_link_records(struct view *view);
