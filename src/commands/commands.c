#include "commands/commands.h"

#include <stdio.h>
#include <string.h>

extern const struct command check_command, help_command, manifests_command, plan_apply_command,
    plan_approve_command, plan_command, provider_command, render_command, replay_command,
    run_command, status_command, who_command, wait_command, version_command, zone_check_command,
    zone_diff_command, zone_render_command, import_zone_command, import_pihole_command,
    import_external_dns_command, import_emco_command, corefile_check_command, corefile_id_command,
    corefile_hash_command, corefile_render_command, corefile_diff_command, corefile_convert_command,
    corefile_route_command, corefile_probe_command;

// In the order of help.
const struct command *const commands[] = {
    &run_command,
    &check_command,
    &status_command,
    &who_command,
    &wait_command,
    &plan_command,
    &plan_apply_command,
    &plan_approve_command,
    &provider_command,
    &manifests_command,
    &render_command,
    &replay_command,
    &zone_check_command,
    &zone_diff_command,
    &zone_render_command,
    &import_zone_command,
    &import_pihole_command,
    &import_external_dns_command,
    &import_emco_command,
    &corefile_check_command,
    &corefile_id_command,
    &corefile_hash_command,
    &corefile_render_command,
    &corefile_diff_command,
    &corefile_convert_command,
    &corefile_route_command,
    &corefile_probe_command,
    &version_command,
    &help_command,
};
const size_t command_count = COUNT_OF(commands);

enum { COMMAND_WORDS_MAX = 2, COMMANDS_MAX = 64 };

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

static void join(struct buffer *out, int count, const char *const *words)
{
    for (int i = 0; i < count; i++)
        buffer_printf(out, "%s%s", i ? " " : "", words[i]);
}

const struct command *command_match(int count, const char *const *words, int *taken)
{
    for (*taken = count < COMMAND_WORDS_MAX ? count : COMMAND_WORDS_MAX; *taken; --*taken) {
        AUTO_BUFFER name = {0};
        join(&name, *taken, words);
        const struct command *command = command_find(buffer_text(&name).at);
        if (command)
            return command;
    }
    return NULL;
}

// Words of kubectl and of other operators.
static const struct {
    const char *word;
    const char *command;
} others[] = {
    {"apply", "plan apply"},
    {"diff", "plan"},
    {"get", "status"},
    {"describe", "who"},
    {"explain", "who"},
    {"why", "who"},
    {"dig", "who"},
    {"top", "status"},
    {"validate", "check"},
    {"lint", "check"},
    {"test", "check"},
    {"start", "run"},
    {"serve", "run"},
    {"manager", "run"},
    {"controller", "run"},
    {"operator", "run"},
    {"crd", "manifests"},
    {"crds", "manifests"},
    {"install", "manifests"},
    {"export", "zone render"},
    {"approve", "plan approve"},
    {"options", "help options"},
};

static const char *command_meant(const char *word)
{
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (!strcmp(others[i].word, word))
            return others[i].command;
    return NULL;
}

const char *command_nearest(int count, const char *const *words)
{
    const char *names[COMMANDS_MAX];
    const char *nearest = NULL;
    size_t known = 0;
    for (size_t i = 0; i < command_count && known < COMMANDS_MAX; i++)
        names[known++] = commands[i]->name;
    for (int taken = 1; taken <= count && taken <= COMMAND_WORDS_MAX && !nearest; taken++) {
        AUTO_BUFFER name = {0};
        join(&name, taken, words);
        nearest = text_nearest(buffer_text(&name), names, known);
    }
    return nearest;
}

int command_fail(int code, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    fprintf(stderr, "signpost: %s\n", buffer_text(&text).at);
    return code;
}

// "check, diff or render" of "zone"; nothing when no command begins with that word.
static void write_seconds(struct buffer *out, const char *first)
{
    struct text last = {0};
    size_t len = strlen(first);
    for (size_t i = 0; i < command_count; i++) {
        if (strncmp(commands[i]->name, first, len) || commands[i]->name[len] != ' ')
            continue;
        if (last.at)
            buffer_printf(out, "%s%.*s", out->len ? ", " : "", TEXT_ARGS(last));
        last = text_of(commands[i]->name + len + 1);
    }
    if (last.at)
        buffer_printf(out, "%s%.*s", out->len ? " or " : "", TEXT_ARGS(last));
}

int command_fail_unknown(int count, const char *const *words)
{
    AUTO_BUFFER seconds = {0};
    write_seconds(&seconds, words[0]);
    if (seconds.len && count == 1)
        return command_fail(2, "another word is expected behind %s: %s", words[0], seconds.at);
    const char *nearest = command_meant(words[0]);
    if (!nearest)
        nearest = command_nearest(count, words);
    if (nearest)
        return command_fail(2, "unknown command %s; did you mean %s?", words[0], nearest);
    if (seconds.len)
        return command_fail(2, "unknown command %s %s; behind %s goes %s", words[0], words[1],
                            words[0], seconds.at);
    return command_fail(2, "unknown command %s; `signpost help` lists them", words[0]);
}
