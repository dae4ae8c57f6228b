#pragma once

#include "commands/view.h"

// What `signpost wait` waits for: objects by name, and what is to become of each. Pure.

enum wait_what {
    WAIT_DECLARED,  // the object is as declared: what `signpost status` counts as ready
    WAIT_CONDITION, // it has a condition, of the generation that it has now
    WAIT_DELETED,   // it is not there any more
};
struct wait_goal {
    enum wait_what what;
    struct text type;   // of the condition, as written
    struct text status; // "True" when not given
};
// "declared", "delete", "condition=TYPE", "condition=TYPE=STATUS" or "TYPE"; case does not count.
bool wait_goal_read(struct wait_goal *goal, struct text text, struct error *err);

struct wait_target {
    const struct kind *kind;
    struct text namespace_; // "" when the kind has none
    struct text name;
    const char *object; // "DNSRecord/default/web", as rows of a view have it
};
struct wait_scope {
    const struct kind *const *kinds; // that can be waited for
    size_t kind_count;
    struct text namespace_; // where none is given
};
// "KIND/NAMESPACE/NAME" or "KIND/NAME"; a kind may be its plural or a short name, as for kubectl.
// Faults are the user's: there is no such kind, or its objects never have such a condition.
bool wait_target_read(struct wait_target *target, struct arena *arena,
                      const struct wait_scope *scope, struct text text,
                      const struct wait_goal *goal, struct error *err);

// Is the goal met by this row (NULL: there is no such object)? Appends what there is to say of it,
// for people: "DNSRecord/default/web is not as declared: Conflict: ...".
bool wait_judge(const struct wait_goal *goal, const struct wait_target *target,
                const struct view_row *row, struct buffer *out);
