#include "engine/state.h"

#include <stdlib.h>
#include <string.h>

// One allocation for all of it: by the thousand such copies wait for their writes.

static size_t attr_count(const struct log_attr *attrs)
{
    size_t count = 0;
    while (attrs && attrs[count].type != LOG_ATTR_END)
        count++;
    return count;
}

struct room {
    char *fixed; // structs
    char *texts;
};

static size_t octets_of(const struct verdict *verdict, size_t *texts)
{
    size_t octets = sizeof(struct told) + verdict->note_count * sizeof(struct verdict_note) +
                    verdict->line_count * sizeof(struct verdict_line);
    *texts = 0;
    for (size_t i = 0; i < verdict->note_count; i++)
        *texts += strlen(verdict->notes[i].text) + 1;
    for (size_t i = 0; i < verdict->line_count; i++) {
        const struct log_attr *attrs = verdict->lines[i].attrs;
        size_t count = attr_count(attrs);
        octets += (count + 1) * sizeof(struct log_attr);
        for (size_t k = 0; k < count; k++)
            *texts += attrs[k].text.len + 1;
    }
    return octets;
}

static void *take(struct room *room, size_t octets)
{
    char *at = room->fixed;
    room->fixed += octets;
    return at;
}

static const char *put(struct room *room, struct text text)
{
    char *at = room->texts;
    if (text.len)
        memcpy(at, text.at, text.len);
    at[text.len] = '\0';
    room->texts += text.len + 1;
    return at;
}

static const struct log_attr *copy_attrs(struct room *room, const struct log_attr *attrs)
{
    size_t count = attr_count(attrs);
    struct log_attr *copy = take(room, (count + 1) * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = attrs[i];
        if (attrs[i].text.at)
            copy[i].text.at = put(room, attrs[i].text);
    }
    copy[count] = LOG_END;
    return copy;
}

struct told *told_new(const struct verdict *verdict)
{
    size_t texts;
    if (!verdict->note_count && !verdict->line_count)
        return NULL;
    size_t fixed = octets_of(verdict, &texts);
    struct told *told = mem_new(1, fixed + texts);
    struct room room = {.fixed = (char *)(told + 1), .texts = (char *)told + fixed};
    told->note_count = verdict->note_count;
    told->line_count = verdict->line_count;
    told->notes = take(&room, told->note_count * sizeof *told->notes);
    told->lines = take(&room, told->line_count * sizeof *told->lines);
    for (size_t i = 0; i < told->note_count; i++) {
        told->notes[i] = verdict->notes[i];
        told->notes[i].text = put(&room, text_of(verdict->notes[i].text));
    }
    for (size_t i = 0; i < told->line_count; i++) {
        told->lines[i] = verdict->lines[i];
        told->lines[i].attrs = copy_attrs(&room, verdict->lines[i].attrs);
    }
    return told;
}

void told_tell(struct engine *engine, const struct told *told, const struct object *object)
{
    for (size_t i = 0; told && i < told->note_count; i++) {
        const struct store_note note = {.regarding = object,
                                        .is_warning = told->notes[i].is_warning,
                                        .reason = told->notes[i].reason,
                                        .action = "Reconcile",
                                        .text = told->notes[i].text};
        store_note(engine->options.store, &note);
    }
    for (size_t i = 0; told && i < told->line_count; i++)
        log_attrs(engine->log, told->lines[i].level, told->lines[i].message, told->lines[i].attrs);
}
