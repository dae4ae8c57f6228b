#include "commands/commands.h"
#include "commands/corefile/corefile_files.h"
#include "dns/corefile/identity.h"

static int print_line(const struct invocation *invocation, const char *name, const char *text)
{
    AUTO_BUFFER out = {0};
    struct value *tree = value_make(invocation->arena, VALUE_MAP);
    buffer_printf(&out, "%s\n", text);
    value_put_text(invocation->arena, tree, name, text);
    return corefile_print(invocation, &out, tree);
}

static int id_run(struct invocation *invocation)
{
    char id[CONFIG_ID_LEN + 1];
    struct corefile_file file;
    struct error err;
    const struct corefile_files files = {.arena = invocation->arena};
    if (invocation->argument_count != 1)
        return command_fail(2, "give one Corefile, or - for stdin");
    if (!corefile_files_read(&files, invocation->arguments[0], &file, &err))
        return command_fail(2, "%s", err.text);
    config_id_of(file.text, id);
    return print_line(invocation, "id", id);
}

static const struct option id_rows[] = {COREFILE_OUTPUT_OPTION};

extern const struct command corefile_id_command;
const struct command corefile_id_command = {
    .name = "corefile id",
    .summary = "print the config id of a Corefile",
    .positional = "PATH",
    .exit_docs =
        {
            "the id is printed",
            "it cannot be written out",
            "an argument is wrong, or the file cannot be read",
        },
    .doc = "Prints the 16 hex digits by which Signpost tells one Corefile from another: the "
           "beginning of the SHA-256 of its text. In a Corefile that names its own id, as "
           "`chaos signpost-ID`, zeroes count in that place, so that a file with a right id prints "
           "the one that it names. --output json prints a map with \"id\".",
    .examples = "signpost corefile id Corefile\n",
    .groups = {{id_rows, COUNT_OF(id_rows), false}},
    .run = id_run,
};

static int hash_run(struct invocation *invocation)
{
    char hash[RELOAD_HASH_LEN + 1];
    struct corefile_files files;
    struct corefile_file file;
    struct error err;
    struct corefile_problems problems = {.arena = invocation->arena};
    if (invocation->argument_count != 1)
        return command_fail(2, "give one Corefile, or - for stdin");
    if (!corefile_files_init(&files, invocation, &err) ||
        !corefile_files_read(&files, invocation->arguments[0], &file, &err))
        return command_fail(2, "%s", err.text);
    const struct corefile_options options = {.world = &files.world};
    CLEANUP(corefile) struct corefile *corefile = corefile_new(&file, &options, &problems);
    if (problems.error_count) {
        AUTO_BUFFER text = {0};
        corefile_write_problem(&text, &problems.items[0]);
        return command_fail(1, "%s", text.at);
    }
    corefile_reload_hash(corefile, hash);
    return print_line(invocation, "hash", hash);
}

static const struct option hash_rows[] = {COREFILE_FILES_OPTIONS, COREFILE_OUTPUT_OPTION};

extern const struct command corefile_hash_command;
const struct command corefile_hash_command = {
    .name = "corefile hash",
    .summary = "print what the metrics of CoreDNS show of a Corefile",
    .positional = "PATH",
    .exit_docs =
        {
            "the hash is printed",
            "it has no syntax that CoreDNS reads",
            "an argument is wrong, or the file cannot be read",
        },
    .doc =
        "Prints the value that the metric coredns_reload_version_info has after a CoreDNS has "
        "reloaded this file: the SHA-512 of its server blocks. The metric appears after the "
        "first reload, and shows a file that was refused, too: believe it only if "
        "coredns_reload_failed_total has not grown. Absolute paths of imported files are part of "
        "it: read a Corefile with imports at the absolute path that it has for CoreDNS. "
        "--output json prints a map with \"hash\".",
    .examples = "signpost corefile hash Corefile\n",
    .groups = {{hash_rows, COUNT_OF(hash_rows), false}},
    .run = hash_run,
};
