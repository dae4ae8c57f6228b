#include "commands/pihole/pihole_view.h"

#include <string.h>

#include "controllers/ingress/wants.h"
#include "engine/controller.h"
#include "kinds/pihole_annotations.h"

struct names {
    struct arena *arena;
    struct pihole_annotations desired;
    struct text managed;   // comma list of names that are ours
    struct text satisfied; // comma list of names that stand there by somebody else
    struct text status;
    bool is_registered;
    struct strings wanted;
};

// ---- reading ------------------------------------------------------------------------------------

static struct text annotation(const struct value *tree, const char *name)
{
    const struct value *map = value_at(tree, "metadata.annotations", NULL);
    return value_text(value_find(map, name));
}

// As it is published; one that cannot be, as it is written.
static void want(struct names *names, struct text name)
{
    struct text plain;
    name = text_trim(name);
    if (!name.len)
        return;
    if (wants_name(names->arena, name, &plain, NULL))
        name = plain;
    for (size_t i = 0; i < names->wanted.count; i++)
        if (text_equal_nocase(text_of(names->wanted.items[i]), name))
            return;
    strings_add(&names->wanted, "%.*s", TEXT_ARGS(name));
}

static void list_wanted(struct names *names, const struct value *tree)
{
    struct kind_names listed = {.arena = names->arena};
    pihole_list_names(tree, &listed);
    for (size_t i = 0; i < listed.count; i++)
        want(names, listed.items[i].name);
}

static struct names read_names(struct arena *arena, const struct value *tree)
{
    struct names names = {
        .arena = arena, .status = annotation(tree, PIHOLE_STATUS), .wanted = {.arena = arena}};
    pihole_annotations_decode(tree, &names.desired);
    names.is_registered = text_is(names.desired.at[PIHOLE_REGISTER], "true");
    if (text_starts(annotation(tree, PIHOLE_MANAGED_BY), PIHOLE_MANAGED_BY_PREFIX))
        names.managed = annotation(tree, PIHOLE_MANAGED_HOSTS);
    names.satisfied = annotation(tree, PIHOLE_SATISFIED_HOSTS);
    list_wanted(&names, tree);
    return names;
}

bool pihole_view_shows(const struct kind *kind, const struct value *tree)
{
    return kind->advised &&
           (text_is(annotation(tree, pihole_annotation_names[PIHOLE_REGISTER]), "true") ||
            annotation(tree, PIHOLE_STATUS).len || annotation(tree, PIHOLE_MANAGED_BY).len);
}

// ---- telling ------------------------------------------------------------------------------------

// "app.home.lan, www.home.lan in upstairs"
static const char *write_what(const struct names *names)
{
    AUTO_BUFFER out = {0};
    struct text instances = text_trim(names->desired.at[PIHOLE_INSTANCES]);
    for (size_t i = 0; i < names->wanted.count; i++)
        buffer_printf(&out, "%s%s", i ? ", " : "", names->wanted.items[i]);
    if (out.len && instances.len)
        buffer_printf(&out, " in %.*s", TEXT_ARGS(instances));
    return arena_copy(names->arena, out.at ? out.at : "", out.len);
}

static const char *find_missing(const struct names *names)
{
    for (size_t i = 0; i < names->wanted.count; i++)
        if (!pihole_is_listed(names->managed, text_of(names->wanted.items[i])) &&
            !pihole_is_listed(names->satisfied, text_of(names->wanted.items[i])))
            return names->wanted.items[i];
    return NULL;
}

static bool has_other(const struct names *names)
{
    struct text rest = names->managed, piece;
    while (text_cut(&rest, ',', &piece)) {
        bool is_wanted = !text_trim(piece).len;
        for (size_t i = 0; names->is_registered && i < names->wanted.count; i++)
            is_wanted |= text_equal_nocase(text_of(names->wanted.items[i]), text_trim(piece));
        if (!is_wanted)
            return true;
    }
    return false;
}

// "NameTaken: app.home.lan: ..."
static void report_problem(const struct names *names, struct view_row *row)
{
    struct text rest = names->status, reason;
    if (!text_cut(&rest, ':', &reason))
        reason = TEXT("-");
    rest = text_trim(rest);
    row->ready = "False";
    row->reason = arena_copy(names->arena, reason.at, reason.len);
    row->message = arena_copy(names->arena, rest.at ? rest.at : "", rest.len);
}

static void report_pending(struct view_row *row, const char *message)
{
    row->is_pending = true;
    row->message = message;
}

void pihole_view_show(struct view *view, struct view_row *row, const struct value *tree)
{
    const struct names names = read_names(view->arena, tree);
    const char *missing = names.is_registered ? find_missing(&names) : NULL;
    row->what = write_what(&names);
    row->ready = row->reason = "-";
    row->message = "";
    row->is_right = row->is_pending = false;
    if (names.status.len) {
        report_problem(&names, row);
    } else if (has_other(&names)) {
        report_pending(row, "edited since; `signpost run` has not acted on it yet");
    } else if (missing) {
        report_pending(
            row, arena_printf(view->arena, "`signpost run` has not acted on %s yet", missing));
    } else {
        row->is_right = true;
        row->ready = "True";
        row->reason = "Synced";
        row->message = arena_printf(view->arena, "%zu name%s in place", names.wanted.count,
                                    names.wanted.count == 1 ? " is" : "s are");
    }
}
