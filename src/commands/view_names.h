#pragma once

#include "commands/view.h"

// Rows of objects whose names go to Pi-holes (Ingresses): their annotations pihole.io/* say what
// they want and what became of it.

// Is such an object any business of ours: does it ask for names, or have any?
bool view_has_names(const struct kind *kind, const struct value *tree);
// Fills what, ready, reason, message, is_right and is_pending.
void view_describe_names(struct view *view, struct view_row *row, const struct value *tree);
