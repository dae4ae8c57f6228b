#include "commands/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/local.h"

static const char *const level_names[] = {"debug", "info", "warn", "error", NULL};
static const char *const format_names[] = {"auto", "json", "text", NULL};

#define LOG_LEVEL_ROW(level)                                                                       \
    {                                                                                              \
        .name = "log-level", .variable = "LOG_LEVEL", .type = OPTION_CHOICE, .fallback = (level),  \
        .placeholder = "LEVEL", .choices = level_names, .is_any_case = true,                       \
        .doc = "How much is logged: debug, info, warn or error, in either case; `run` and "        \
               "`provider` "                                                                       \
               "log from info on, other commands from warn on."                                    \
    }
#define LOG_FORMAT_ROW                                                                             \
    {                                                                                              \
        .name = "log-format", .type = OPTION_CHOICE, .fallback = "auto", .placeholder = "FORMAT",  \
        .choices = format_names, .doc = "json, text, or auto: text on a terminal."                 \
    }

const struct option log_options[LOG_OPTION_COUNT] = {LOG_LEVEL_ROW("info"), LOG_FORMAT_ROW};
const struct option quiet_log_options[LOG_OPTION_COUNT] = {LOG_LEVEL_ROW("warn"), LOG_FORMAT_ROW};

static void write_line(void *context, struct text line)
{
    (void)context;
    while (line.len) {
        ssize_t written = write(STDERR_FILENO, line.at, line.len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        line.at += written;
        line.len -= (size_t)written;
    }
}

static int64_t log_now(void *context)
{
    return loop_unix_ms(context);
}

static struct log *make_log(struct loop *loop, const struct invocation *invocation)
{
    enum log_level level = LOG_INFO;
    const char *format = option_text(invocation, "log-format");
    bool is_text = !strcmp(format, "text") || (!strcmp(format, "auto") && isatty(STDERR_FILENO));
    const struct log_sink sink = {write_line, log_now, loop};
    log_level_parse(text_of(option_text(invocation, "log-level")), &level);
    return log_new(&sink, is_text ? LOG_TEXTUAL : LOG_JSON, level);
}

bool process_world_init(struct process_world *process, const struct invocation *invocation,
                        struct error *err)
{
    struct loop *loop = loop_new();
    if (!loop)
        return error_set(err, FAULT_AGAIN, "SystemError", "cannot make an event loop");
    *process = (struct process_world){0};
    process->world = (struct world){
        .loop = loop,
        .http = http_curl_new(loop, "signpost/" SIGNPOST_VERSION),
        .dns = dnsnet_new(loop),
        .disk = disk_system(),
        .local = local_new(loop, disk_system()),
        .random = random_system(),
    };
    process->log = make_log(loop, invocation);
    return true;
}

void process_world_done(struct process_world *process)
{
    http_free(process->world.http);
    dnsnet_free(process->world.dns);
    local_free(process->world.local);
    free(process->leaving);
    log_free(process->log);
    loop_free(process->world.loop);
}

struct leaving {
    loop_call *leave;
    void *context;
    bool is_leaving;
};

void process_world_report_port(const struct process_world *process, const struct hostport *at,
                               const char *trouble)
{
    AUTO_BUFFER address = {0};
    hostport_write(&address, at);
    if (trouble)
        log_line(process->log, LOG_WARN, "cannot listen at an address; trying again every second",
                 LOG_TEXT("address", address.at), LOG_TEXT("error", trouble), LOG_END);
    else
        log_line(process->log, LOG_INFO, "listening at the address now",
                 LOG_TEXT("address", address.at), LOG_END);
}

static void on_signal(void *context)
{
    struct leaving *leaving = context;
    if (leaving->is_leaving)
        _exit(1);
    leaving->is_leaving = true;
    leaving->leave(leaving->context);
}

void process_world_on_signal(struct process_world *process, loop_call *leave, void *context)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    struct leaving *leaving = mem_new_of(struct leaving);
    *leaving = (struct leaving){leave, context, false};
    process->leaving = leaving;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        loop_watch_signal(process->world.loop, numbers[i], on_signal, leaving);
}

void process_world_on_hangup(struct process_world *process, loop_call *reload, void *context)
{
    loop_watch_signal(process->world.loop, SIGHUP, reload, context);
}
