#include "commands/pihole_place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands/pihole.h"
#include "controllers/ingress/ingress_controller.h"
#include "io/disk.h"

enum {
    FILE_OCTETS_MAX = 1 << 20,
    LOOK_MS = 10000,
    STALLED_MS = 15000,
};

struct followed {
    struct pihole_target *target;
    struct error fault; // of what was read last; no text: there was none
};

struct pihole_place {
    struct pihole_place_options options;
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
    struct secret *secret = pihole_token_read(target->token_file, err);
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
    const char *ca = pihole_ca_read(turn, target->ca_file, err);
    if (!ca)
        return false;
    *is_news = strcmp(ca, target->ca) != 0;
    if (*is_news)
        target->ca = arena_copy_text(arena, ca);
    return true;
}

static void log_of(const struct pihole_place *place, enum log_level level, const char *message,
                   const struct followed *followed, const char *error)
{
    if (error)
        log_line(place->options.process->log, level, message,
                 LOG_TEXT("pihole", followed->target->name), LOG_TEXT("error", error), LOG_END);
    else
        log_line(place->options.process->log, level, message,
                 LOG_TEXT("pihole", followed->target->name), LOG_END);
}

// True when the backend is to be opened anew.
static bool look_at(const struct pihole_place *place, struct followed *followed)
{
    struct error fault = {0};
    bool is_news[2] = {false, false};
    if (!read_token(followed->target, &is_news[0], &fault) ||
        !read_ca(place->options.arena, followed->target, &is_news[1], &fault)) {
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

static bool read_file(const struct pihole_place *place, struct buffer *out)
{
    struct error ignored;
    return place->options.file && disk_read(out, place->options.file, FILE_OCTETS_MAX, &ignored);
}

// Backends that come and go need a new start: whose names would go with one is not for a slip of an
// editor to decide.
static void look_at_file(struct pihole_place *place)
{
    AUTO_BUFFER content = {0};
    if (!read_file(place, &content) || !content.len ||
        text_equal(buffer_text(&content), buffer_text(&place->file)))
        return;
    buffer_clear(&place->file);
    buffer_add(&place->file, content.at, content.len);
    log_line(place->options.process->log, LOG_WARN,
             "the file of Pi-holes has changed: restart to take it",
             LOG_TEXT("file", place->options.file), LOG_END);
}

static void look(struct pihole_place *place)
{
    bool is_news = false;
    look_at_file(place);
    for (size_t i = 0; i < place->count; i++)
        is_news |= look_at(place, &place->items[i]);
    if (is_news)
        engine_set_backends(place->options.engine, ingress_controller.name);
}

static void watch_folder(const struct pihole_place *place, const char *file)
{
    struct error ignored;
    if (!file)
        return;
    autofree char *folder = disk_folder_of(file);
    disk_watch_add(place->watch, folder, &ignored);
}

static void watch_folders(const struct pihole_place *place)
{
    if (place->watch)
        watch_folder(place, place->options.file);
    for (size_t i = 0; place->watch && i < place->count; i++) {
        watch_folder(place, place->items[i].target->token_file);
        watch_folder(place, place->items[i].target->ca_file);
    }
}

static void changed(void *context, bool is_lost)
{
    struct pihole_place *place = context;
    (void)is_lost;
    disk_watch_forget(place->watch);
    look(place);
    watch_folders(place);
}

// ---- lines of /readyz ---------------------------------------------------------------------------

// NULL: it answered and let us in. What is restarted may be gone for a while.
static const char *trouble_of(const struct pihole_place *place, const struct backend_view *view)
{
    if (!view)
        return "is not used yet";
    if (view->fault.fault != FAULT_NONE)
        return view->fault.text;
    if (view->trouble.fault != FAULT_NONE)
        return view->trouble.text;
    if (!view->answered_s)
        return "has not answered yet";
    if (view->stalled_ms && loop_mono_ms(place->loop) - view->stalled_ms >= STALLED_MS)
        return "does not answer; it may be restarting";
    return view->is_answer_ok ? NULL : view->answer_error.text;
}

static struct store_check check_of(const struct pihole_place *place,
                                   const struct followed *followed)
{
    const struct engine *engine = place->options.engine;
    const struct backend_view *view = engine_backend(engine, followed->target->backend);
    const char *trouble = engine_is_leading(engine) ? trouble_of(place, view) : NULL;
    return (struct store_check){.name = followed->target->backend,
                                .is_ok = !trouble,
                                .is_advice = !place->options.is_required,
                                .text = trouble ? trouble : ""};
}

size_t pihole_place_checks(const struct pihole_place *place, struct store_check *out,
                           size_t capacity)
{
    size_t count = 0;
    while (place && count < place->count && count < capacity) {
        out[count] = check_of(place, &place->items[count]);
        count++;
    }
    return count;
}

// ---- life ---------------------------------------------------------------------------------------

static void tick(void *context)
{
    struct pihole_place *place = context;
    look(place);
    watch_folders(place);
    loop_timer_set(place->loop, &place->timer, LOOK_MS);
}

// What is set as it was asked for, and may not be meant.
static void warn_of(const struct pihole_place *place, const struct followed *followed)
{
    const struct pihole_target *target = followed->target;
    const struct pihole_addresses *its = &target->addresses;
    bool has_own = its->is_status || its->v4_count || its->v6_count;
    if (target->skips_verify)
        log_of(place, LOG_WARN, "the certificate of this Pi-hole is not checked", followed, NULL);
    if (pihole_addresses_loop(has_own ? its : &place->options.targets->addresses))
        log_of(place, LOG_WARN,
               "names lead each computer to itself: a target is a loopback address", followed,
               NULL);
}

void pihole_place_tell_idle(const struct invocation *invocation, struct log *log)
{
    const char *name = pihole_idle_setting(invocation);
    if (name)
        log_line(log, LOG_WARN, "no Pi-hole is kept: set PIHOLE_URL or PIHOLE_TARGETS",
                 LOG_TEXT("set", name), LOG_END);
}

static const char *draw_process(const struct pihole_place_options *options)
{
    uint32_t drawn;
    random_fill(options->process->world.random, &drawn, sizeof drawn);
    return arena_printf(options->arena, "%08" PRIx32, drawn);
}

struct pihole_place *pihole_place_new(const struct pihole_place_options *options)
{
    struct error ignored;
    struct pihole_place *place = mem_new_of(struct pihole_place);
    place->options = *options;
    place->loop = options->process->world.loop;
    place->count = options->targets->count;
    options->targets->process = draw_process(options);
    place->items = mem_new_array(struct followed, place->count + 1);
    for (size_t i = 0; i < place->count; i++) {
        place->items[i].target = &options->targets->items[i];
        warn_of(place, &place->items[i]);
    }
    if (!place->count)
        return place;
    (void)read_file(place, &place->file);
    place->watch = disk_watch_new(place->loop, changed, place, &ignored);
    place->timer = (struct loop_timer){.call = tick, .context = place};
    watch_folders(place);
    loop_timer_set(place->loop, &place->timer, LOOK_MS);
    return place;
}

void pihole_place_free(struct pihole_place *place)
{
    if (!place)
        return;
    loop_timer_cancel(place->loop, &place->timer);
    disk_watch_free(place->watch);
    buffer_done(&place->file);
    free(place->items);
    free(place);
}

void pihole_place_reload(struct pihole_place *place)
{
    if (place)
        look(place);
}
