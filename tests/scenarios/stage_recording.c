#include "scenarios/stage_recording.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/must.h"
#include "engine/recorder.h"
#include "engine/replay.h"
#include "io/disk.h"
#include "kinds/kinds.h"

enum { SHOWN_MAX = 4, FILE_OCTETS_MAX = 64 * 1024 * 1024 };

static struct value *describe(void *context, struct arena *arena)
{
    const struct stage *stage = context;
    struct value *settings = value_make(arena, VALUE_MAP);
    value_put_int(arena, settings, "zones",
                  stage->zones.config ? (int64_t)stage->zones.config_count : 0);
    return settings;
}

struct recorder *stage_recording_new(struct stage *stage)
{
    char folder[] = "/tmp/recording.XXXXXX";
    struct error err = {0};
    must(mkdtemp(folder) != NULL);
    struct recorder *recorder =
        recorder_new(&(struct recorder_options){.disk = disk_system(),
                                                .random = stage->random,
                                                .log = stage->log,
                                                .folder = folder,
                                                .version = "test",
                                                .now_ms = loop_unix_ms(stage->loop),
                                                .cache = stage->inner->cache,
                                                .describe = describe,
                                                .context = stage},
                     &err);
    must(recorder != NULL);
    return recorder;
}

struct checking {
    const struct stage *stage;
    struct zone_settings zones;
    const struct zones_config *config;
    struct buffer *out;
    size_t made; // reconciliations that were made again
    size_t differ;
};

static bool settle(void *context, const struct value *described,
                   const struct controller *const *items, size_t count, const void **out,
                   struct error *err)
{
    struct checking *checking = context;
    const void *settings[STAGE_CONTROLLERS_MAX];
    size_t zones = (size_t)value_int_at(described, "zones", 0);
    (void)items, (void)err;
    stage_settings(checking->stage, settings);
    checking->config = zones ? checking->stage->zones.configs[zones - 1] : NULL;
    checking->zones = checking->stage->zones.settings;
    checking->zones.config = &checking->config;
    for (size_t i = 0; i < count; i++)
        out[i] = settings[i] == &checking->stage->zones.settings ? &checking->zones : settings[i];
    return true;
}

static void reconciled(void *context, const struct replay *replay, const struct replayed *replayed)
{
    (void)replay;
    struct checking *checking = context;
    checking->made++;
    if (replayed->is_same || checking->differ++ >= SHOWN_MAX)
        return;
    buffer_printf(checking->out, "%s %.*s/%.*s %.*s\n  recorded ", replayed->controller->name,
                  TEXT_ARGS(replayed->namespace_), TEXT_ARGS(replayed->name),
                  TEXT_ARGS(replayed->trace));
    value_write_json(checking->out, replayed->recorded);
    buffer_add_text(checking->out, "\n  replayed ");
    value_write_json(checking->out, replayed->decision);
    buffer_add_char(checking->out, '\n');
}

// Scenarios put it where no recording may have it.
static const char planted[] = "PLANTED";

static void replay_file(struct checking *checking, const char *path)
{
    AUTO_BUFFER content = {0};
    struct error err = {0};
    struct text line;
    size_t recorded = 0;
    CLEANUP(replay)
    struct replay *replay = replay_new(
        &(struct replay_options){kinds, kind_count, checking->stage->controllers,
                                 checking->stage->controller_count, settle, reconciled, checking});
    must(disk_read(&content, path, FILE_OCTETS_MAX, &err));
    if (content.len && memmem(content.at, content.len, planted, strlen(planted)))
        buffer_add_text(checking->out, "a planted secret is recorded\n");
    struct text rest = buffer_text(&content);
    while (text_cut(&rest, '\n', &line)) {
        recorded += text_starts(line, "{\"controller\"");
        if (!line.len || replay_line(replay, line, &err))
            continue;
        buffer_printf(checking->out, "%s: %.200s\n", err.text, line.at);
        return;
    }
    if (checking->made != recorded)
        buffer_printf(checking->out, "%zu reconciliations are recorded, %zu were made again\n",
                      recorded, checking->made);
}

void stage_recording_end(struct stage *stage, struct recorder *recorder, struct buffer *out)
{
    struct checking checking = {.stage = stage, .out = out};
    autofree char *path = mem_copy_text(recorder_path(recorder));
    if (!recorder_is_on(recorder))
        buffer_add_text(out, "the recording ended early\n");
    recorder_free(recorder);
    replay_file(&checking, path);
    must(disk_remove(disk_system(), path, NULL));
    *strrchr(path, '/') = '\0';
    must(rmdir(path) == 0);
}
