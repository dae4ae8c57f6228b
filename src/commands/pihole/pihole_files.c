#include <stdlib.h>
#include <string.h>

#include "commands/credentials.h"
#include "commands/pihole/pihole_settings.h"
#include "commands/pihole/pihole_subject.h"
#include "commands/process.h"
#include "io/disk.h"

enum {
    FILE_OCTETS_MAX = 1 << 20,
    LOOK_MS = 10000,
};

struct followed {
    struct pihole_target *target;
    struct error fault; // of what was read last; no text: there was none
};

// The Pi-holes of `signpost run` while it runs: files with tokens and certificates are followed as
// they change. Resident, one a process.
struct pihole_files {
    const struct process_world *process;
    const struct invocation *invocation;
    struct pihole_targets *targets; // tokens and certificates in it are replaced; NULL: none
    const char *path;               // of the file that names them; NULL: none. Not followed
    struct engine *engine;
    struct loop *loop;
    struct followed *items;
    size_t count;
    struct buffer file;       // the file that names them, as it was seen last
    struct disk_watch *watch; // NULL: inotify is not to be had
    struct loop_timer timer;
};

// ---- files --------------------------------------------------------------------------------------

static bool read_token(struct pihole_target *target, bool *is_news, struct error *err)
{
    if (!target->token_file)
        return true;
    struct secret *secret = token_read(target->token_file, err);
    if (!secret)
        return false;
    *is_news = !secret_equal(secret, target->secret);
    secret_unref(target->secret);
    target->secret = secret;
    return true;
}

static bool read_ca(struct arena *arena, struct pihole_target *target, bool *is_news,
                    struct error *err)
{
    CLEANUP(arena) struct arena *turn = arena_new();
    if (!target->ca_file)
        return true;
    const char *ca = ca_read(turn, target->ca_file, err);
    if (!ca)
        return false;
    *is_news = strcmp(ca, target->ca) != 0;
    if (*is_news)
        target->ca = arena_copy_text(arena, ca);
    return true;
}

static void log_of(const struct pihole_files *place, enum log_level level, const char *message,
                   const struct followed *followed, const char *error)
{
    if (error)
        log_line(place->process->log, level, message, LOG_TEXT("pihole", followed->target->name),
                 LOG_TEXT("error", error), LOG_END);
    else
        log_line(place->process->log, level, message, LOG_TEXT("pihole", followed->target->name),
                 LOG_END);
}

// True when the backend is to be opened anew.
static bool look_at(const struct pihole_files *place, struct followed *followed)
{
    struct error fault = {0};
    bool is_news[2] = {false, false};
    if (!read_token(followed->target, &is_news[0], &fault) ||
        !read_ca(place->invocation->arena, followed->target, &is_news[1], &fault)) {
        if (strcmp(fault.text, followed->fault.text) != 0)
            log_of(place, LOG_WARN, "token or certificates cannot be read; those before are used",
                   followed, fault.text);
    }
    followed->fault = fault;
    if (!is_news[0] && !is_news[1])
        return false;
    log_of(place, LOG_INFO, "token or certificates are new", followed, NULL);
    return true;
}

static bool read_file(const struct pihole_files *place, struct buffer *out)
{
    struct error ignored;
    return place->path && disk_read(out, place->path, FILE_OCTETS_MAX, &ignored);
}

// Backends that come and go need a new start: whose names would go with one is not for a slip of an
// editor to decide.
static void look_at_file(struct pihole_files *place)
{
    AUTO_BUFFER content = {0};
    if (!read_file(place, &content) || !content.len ||
        text_equal(buffer_text(&content), buffer_text(&place->file)))
        return;
    buffer_clear(&place->file);
    buffer_add(&place->file, content.at, content.len);
    log_line(place->process->log, LOG_WARN, "the file of Pi-holes has changed: restart to take it",
             LOG_TEXT("file", place->path), LOG_END);
}

static void look(struct pihole_files *place)
{
    bool is_news = false;
    look_at_file(place);
    for (size_t i = 0; i < place->count; i++)
        is_news |= look_at(place, &place->items[i]);
    if (is_news)
        engine_set_backends(place->engine, ingress_controller.name);
}

static void watch_folder(const struct pihole_files *place, const char *file)
{
    struct error ignored;
    if (!file)
        return;
    autofree char *folder = disk_folder_of(file);
    disk_watch_add(place->watch, folder, &ignored);
}

static void watch_folders(const struct pihole_files *place)
{
    if (place->watch)
        watch_folder(place, place->path);
    for (size_t i = 0; place->watch && i < place->count; i++) {
        watch_folder(place, place->items[i].target->token_file);
        watch_folder(place, place->items[i].target->ca_file);
    }
}

static void changed(void *context, bool is_lost)
{
    struct pihole_files *place = context;
    (void)is_lost;
    disk_watch_forget(place->watch);
    look(place);
    watch_folders(place);
}

// ---- life ---------------------------------------------------------------------------------------

static void tick(void *context)
{
    struct pihole_files *place = context;
    look(place);
    watch_folders(place);
    loop_timer_set(place->loop, &place->timer, LOOK_MS);
}

// What is set as it was asked for, and may not be meant.
static void warn_of(const struct pihole_files *place, const struct followed *followed)
{
    const struct pihole_target *target = followed->target;
    const struct pihole_addresses *its = &target->addresses;
    bool has_own = its->is_status || its->v4_count || its->v6_count;
    if (target->skips_verify)
        log_of(place, LOG_WARN, "the certificate of this Pi-hole is not checked", followed, NULL);
    if (pihole_addresses_loop(has_own ? its : &place->targets->addresses))
        log_of(place, LOG_WARN,
               "names lead each computer to itself: a target is a loopback address", followed,
               NULL);
}

static void report_idle(const struct pihole_files *place)
{
    const char *name = pihole_idle_setting(place->invocation);
    if (name)
        log_line(place->process->log, LOG_WARN,
                 "no Pi-hole is kept: set PIHOLE_URL or PIHOLE_TARGETS", LOG_TEXT("set", name),
                 LOG_END);
}

static void *make(const struct service_setup *setup, struct error *err)
{
    struct pihole_files *place = mem_new_of(struct pihole_files);
    (void)err;
    *place = (struct pihole_files){
        .process = setup->process,
        .invocation = setup->invocation,
        .targets = pihole_settings(setup->setup),
        .path = option_text(setup->invocation, "pihole-targets"),
        .loop = setup->process->world.loop,
    };
    place->count = place->targets ? place->targets->count : 0;
    place->items = mem_new_array(struct followed, place->count + 1);
    for (size_t i = 0; i < place->count; i++)
        place->items[i].target = &place->targets->items[i];
    return place;
}

static bool open_files(void *service, struct engine *engine, struct error *err)
{
    struct error ignored;
    struct pihole_files *place = service;
    (void)err;
    place->engine = engine;
    if (!place->targets)
        report_idle(place);
    for (size_t i = 0; i < place->count; i++)
        warn_of(place, &place->items[i]);
    if (!place->count)
        return true;
    (void)read_file(place, &place->file);
    place->watch = disk_watch_new(place->loop, changed, place, &ignored);
    place->timer = (struct loop_timer){.call = tick, .context = place};
    watch_folders(place);
    loop_timer_set(place->loop, &place->timer, LOOK_MS);
    return true;
}

static void close_files(void *service)
{
    struct pihole_files *place = service;
    loop_timer_cancel(place->loop, &place->timer);
    disk_watch_free(place->watch);
    place->watch = NULL;
}

static void free_files(void *service)
{
    struct pihole_files *place = service;
    buffer_done(&place->file);
    free(place->items);
    free(place);
}

static void reload(void *service)
{
    struct pihole_files *place = service;
    if (place->engine)
        look(place);
}

const struct service pihole_service = {
    .make = make,
    .open = open_files,
    .reload = reload,
    .close = close_files,
    .free = free_files,
};
