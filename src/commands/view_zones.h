#pragma once

#include "commands/view.h"

// What a view shows of Zones and Records (kubi.zone).

// A zone's name, serial and servers.
void view_describe_zone(struct view *view, struct view_row *row, const struct value *tree);
// Did the name server that was asked answer a Record of that zone as it should?
bool view_zone_is_answered(const struct view *view, const struct view_row *zone);
// Once all rows are there, in order: names of Records, which hang on their Zones, and questions.
void view_link_records(struct view *view);
