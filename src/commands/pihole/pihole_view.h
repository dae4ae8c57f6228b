#pragma once

#include "commands/view.h"

// Rows of objects whose names go to Pi-holes (Ingresses): their annotations pihole.io/* say what
// they want and what became of it.

// Is such an object any business of ours: does it ask for names, or have any?
bool pihole_view_shows(const struct kind *kind, const struct value *tree);
// Fills what, ready, reason, message, is_right and is_pending.
void pihole_view_show(struct view *view, struct view_row *row, const struct value *tree);
