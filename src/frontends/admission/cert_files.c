#include "frontends/admission/cert_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "io/disk.h"
#include "io/loop.h"

enum { LOOK_MS = 10 * 1000, FILE_OCTETS_MAX = 1 << 20 };

struct cert_files {
    struct cert_files_options options;
    struct loop *loop;
    char *folder;
    struct disk_watch *watch; // NULL: inotify is not to be had
    struct loop_timer timer;
    uint8_t seen[DIGEST_MAX]; // of the pair that was looked at last
    bool has_seen;
    bool is_used;
    struct error fault;
};

static bool read_file(const struct cert_files *files, const char *name, struct buffer *out,
                      struct error *err)
{
    AUTO_BUFFER path = {0};
    buffer_printf(&path, "%s/%s", files->folder, name);
    return disk_read(out, buffer_text(&path).at, FILE_OCTETS_MAX, err);
}

static struct secret *read_key(const struct cert_files *files, struct error *err)
{
    struct buffer octets = {0};
    if (!read_file(files, "tls.key", &octets, err))
        return NULL;
    struct secret *key = secret_new(buffer_text(&octets).at, octets.len);
    if (octets.at)
        secret_wipe(octets.at, octets.capacity);
    buffer_done(&octets);
    return key;
}

// Each fault is told once.
static void fail(struct cert_files *files, const struct error *err)
{
    if (files->fault.fault != FAULT_NONE && !strcmp(files->fault.text, err->text))
        return;
    files->fault = *err;
    log_line(files->options.log, LOG_WARN, "certificate of the admission webhook is left aside",
             LOG_TEXT("folder", files->folder), LOG_TEXT("error", err->text), LOG_END);
}

static bool is_news(struct cert_files *files, struct text certificate, const struct secret *key)
{
    uint8_t seen[DIGEST_MAX] = {0};
    uint8_t print[DIGEST_MAX] = {0};
    secret_fingerprint(key, print, digest_len(DIGEST_SHA256));
    struct digest_state *state = digest_begin(DIGEST_SHA256);
    digest_add(state, certificate.at, certificate.len);
    digest_add(state, print, sizeof print);
    digest_end(state, seen);
    if (files->has_seen && !memcmp(seen, files->seen, sizeof seen))
        return false;
    memcpy(files->seen, seen, sizeof seen);
    files->has_seen = true;
    return true;
}

static void use(struct cert_files *files, struct text certificate, const struct secret *key)
{
    struct error err = {0};
    if (!is_news(files, certificate, key))
        return;
    if (!files->options.use(files->options.context, certificate, key, &err)) {
        fail(files, &err);
        return;
    }
    files->is_used = true;
    files->fault = (struct error){0};
    log_line(files->options.log, LOG_INFO, "certificate of the admission webhook is in use",
             LOG_TEXT("folder", files->folder), LOG_END);
}

void cert_files_look(struct cert_files *files)
{
    struct error err = {0};
    AUTO_BUFFER certificate = {0};
    if (!read_file(files, "tls.crt", &certificate, &err)) {
        fail(files, &err);
        return;
    }
    CLEANUP(secret) struct secret *key = read_key(files, &err);
    if (!key)
        fail(files, &err);
    else
        use(files, buffer_text(&certificate), key);
}

// A folder that came back is watched anew; where inotify has no room the timer does.
static void watch_again(struct cert_files *files)
{
    struct error err;
    if (files->watch)
        disk_watch_add(files->watch, files->folder, &err);
}

static void changed(void *context, bool is_lost)
{
    struct cert_files *files = context;
    disk_watch_forget(files->watch);
    if (is_lost)
        watch_again(files);
    cert_files_look(files);
}

static void tick(void *context)
{
    struct cert_files *files = context;
    watch_again(files);
    cert_files_look(files);
    loop_timer_set(files->loop, &files->timer, LOOK_MS);
}

struct cert_files *cert_files_new(struct loop *loop, const struct cert_files_options *options)
{
    struct error err;
    struct cert_files *files = mem_new_of(struct cert_files);
    files->options = *options;
    files->loop = loop;
    files->folder = mem_copy_text(options->folder);
    files->watch = disk_watch_new(loop, changed, files, &err);
    files->timer = (struct loop_timer){.call = tick, .context = files};
    tick(files);
    return files;
}

void cert_files_free(struct cert_files *files)
{
    if (!files)
        return;
    loop_timer_cancel(files->loop, &files->timer);
    disk_watch_free(files->watch);
    free(files->folder);
    free(files);
}

struct store_check cert_files_check(const struct cert_files *files)
{
    return (struct store_check){.name = "webhook-certificate",
                                .is_ok = files->is_used,
                                .text = files->is_used ? "" : files->fault.text};
}
