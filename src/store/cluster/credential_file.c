#include "store/cluster/credential_file.h"

#include "io/disk.h"

static struct secret *read_content(const struct credential_file *file, struct error *err)
{
    AUTO_BUFFER octets = {0};
    if (!disk_read(&octets, file->path, CREDENTIAL_FILE_MAX, err))
        return NULL;
    struct text content = buffer_text(&octets);
    struct text trimmed = text_trim(content);
    struct secret *secret = NULL;
    if (trimmed.len == 0)
        error_set(err, FAULT_AUTH, "AuthenticationFailed", "%s is empty", file->path);
    else if (file->is_trimmed)
        secret = secret_new(trimmed.at, trimmed.len);
    else
        secret = secret_new(content.at, content.len);
    secret_wipe(octets.at, octets.capacity);
    return secret;
}

static void warn_once(struct credential_file *file, struct log *log, const struct error *err)
{
    if (!file->is_warned)
        log_line(log, LOG_WARN, "credential file unreadable", LOG_TEXT("file", file->path),
                 LOG_TEXT("error", err->text), LOG_END);
    file->is_warned = true;
}

bool credential_file_read(struct credential_file *file, int64_t now_ms, struct log *log,
                          bool *has_changed, struct error *err)
{
    struct error why = {0};
    CLEANUP(secret) struct secret *content = read_content(file, &why);
    file->read_ms = now_ms;
    if (!content) {
        warn_once(file, log, &why);
        return error_set(err, FAULT_AUTH, "AuthenticationFailed", "%s: %s", file->what, why.text);
    }
    if (file->is_warned)
        log_line(log, LOG_INFO, "credential file readable again", LOG_TEXT("file", file->path),
                 LOG_END);
    file->is_warned = false;
    if (secret_equal(content, file->content))
        return true;
    secret_unref(file->content);
    file->content = steal(content);
    *has_changed = true;
    return true;
}

void credential_file_done(struct credential_file *file)
{
    secret_unref(steal(file->content));
}
