#include <string.h>

#include "commands/commands.h"
#include "commands/configured_store.h"
#include "commands/corefile/corefile_build.h"
#include "commands/corefile/corefile_files.h"
#include "commands/corefile/corefile_store.h"
#include "commands/print.h"
#include "commands/process.h"
#include "commands/report.h"
#include "dns/corefile/lint.h"

static const char *const output_names[] = {"text", "json", NULL};
static const char *const modes[] = {"server", "override", NULL};

// In the words of CoreDNS; behind them the rule, and where CoreDNS does not say where.
static void write_problem(struct buffer *out, const struct corefile_problem *problem)
{
    corefile_write_problem(out, problem);
    buffer_printf(out, " [%s", problem->rule);
    if (problem->has_no_position && problem->line)
        buffer_printf(out, " at %s:%u", problem->file, problem->line);
    else if (!problem->line && !problem->is_warning)
        buffer_printf(out, " in %s", problem->file);
    buffer_add_text(out, "]\n");
    if (problem->hint)
        buffer_printf(out, "    %s\n", problem->hint);
}

static void report_problem(struct report *report, const struct corefile_problem *problem)
{
    AUTO_BUFFER text = {0};
    const struct spot place = {problem->file, problem->line, 0};
    if (problem->prefix)
        buffer_add_text(&text, problem->prefix);
    if (problem->is_syntax)
        buffer_add_text(&text, "Syntax error: ");
    buffer_add_text(&text, problem->text);
    if (problem->hint)
        buffer_printf(&text, " (%s)", problem->hint);
    report_add_about(report, problem->is_warning ? REPORT_WARNING : REPORT_ERROR, place, NULL,
                     problem->rule, text.at);
}

struct check {
    const struct invocation *invocation;
    struct corefile_files files;
    struct corefile_lint_options options;
    struct report *report;
    struct buffer text; // for people
    size_t file_count;
};

static void check_file(struct check *check, const struct corefile_file *file)
{
    struct corefile_problems problems = {.arena = check->invocation->arena};
    corefile_free(corefile_lint(file, &check->options, &problems));
    for (size_t i = 0; i < problems.kept; i++) {
        report_problem(check->report, &problems.items[i]);
        write_problem(&check->text, &problems.items[i]);
    }
    if (problems.kept < problems.count)
        buffer_printf(&check->text, "%s: the first %zu of %zu faults are shown\n", file->path,
                      problems.kept, problems.count);
    check->file_count++;
}

static bool check_files(struct check *check, struct error *err)
{
    const struct invocation *invocation = check->invocation;
    struct corefile_file file;
    if (!invocation->argument_count) {
        if (!corefile_store_read(invocation, &file, err))
            return false;
        check_file(check, &file);
    }
    for (size_t i = 0; i < invocation->argument_count; i++) {
        if (!corefile_files_read(&check->files, invocation->arguments[i], &file, err))
            return false;
        check_file(check, &file);
    }
    return true;
}

static void write_report(struct buffer *out, const struct check *check)
{
    struct report *report = check->report;
    if (!strcmp(option_text(check->invocation, "output"), "json")) {
        buffer_add_text(out, "{\"findings\": ");
        report_write_json(out, report);
        buffer_printf(out, ",\n\"files\": %zu, \"errors\": %zu, \"warnings\": %zu}\n",
                      check->file_count, report->counts[REPORT_ERROR],
                      report->counts[REPORT_WARNING]);
        return;
    }
    buffer_add(out, buffer_text(&check->text).at, check->text.len);
    print_count(out, check->file_count, "file");
    buffer_add_text(out, ": ");
    print_count(out, report->counts[REPORT_ERROR], "error");
    buffer_add_text(out, ", ");
    print_count(out, report->counts[REPORT_WARNING], "warning");
    buffer_printf(out, "; as CoreDNS %u.%u.%u reads it\n", check->options.version.major,
                  check->options.version.minor, check->options.version.patch);
}

static bool take_options(struct check *check, struct error *err)
{
    const struct invocation *invocation = check->invocation;
    if (!corefile_build_read(invocation, &check->options, err))
        return false;
    check->options.is_override = !strcmp(option_text(invocation, "mode"), "override");
    check->options.world = &check->files.world;
    return corefile_files_init(&check->files, invocation, err);
}

static int check_all(struct check *check)
{
    AUTO_BUFFER text = {0};
    struct error err;
    const struct invocation *invocation = check->invocation;
    if (!take_options(check, &err) || !check_files(check, &err))
        return command_fail(2, "%s", err.text);
    write_report(&text, check);
    if (!print_out(&text, &err))
        return command_fail(1, "%s", err.text);
    bool is_strict = option_flag(invocation, "strict");
    return check->report->counts[REPORT_ERROR] ||
           (is_strict && check->report->counts[REPORT_WARNING]);
}

static int check_run(struct invocation *invocation)
{
    struct report report = {.arena = invocation->arena};
    struct check check = {.invocation = invocation, .report = &report};
    int code = check_all(&check);
    buffer_done(&check.text);
    report_done(&report);
    return code;
}

static const struct option check_rows[] = {
    COREFILE_BUILD_OPTIONS,
    COREFILE_FILES_OPTIONS,
    {.name = "mode",
     .type = OPTION_CHOICE,
     .fallback = "server",
     .choices = modes,
     .doc = "What the files are: whole ones with server blocks, or the directives of *.override "
            "that others import into a server block."},
    COREFILE_STORE_TIMEOUT,
    STRICT_OPTION,
    OUTPUT_OPTION(output_names, "For people, or as one JSON document."),
};

extern const struct command corefile_check_command;
const struct command corefile_check_command = {
    .name = "corefile check",
    .summary = "find what CoreDNS would refuse in a Corefile",
    .positional = "[PATH...]",
    .exit_docs =
        {
            "there is no error and, with --strict, no warning",
            "there are errors, or with --strict warnings",
            "an argument is wrong, or a file cannot be read",
        },
    .doc =
        "Reads Corefiles as CoreDNS does and prints each fault in its words, with the name of a "
        "rule in brackets and a hint in the line below. CoreDNS stops at the first fault; all are "
        "shown here, in the order in which it would come to them. Warnings are about what it "
        "accepts though nobody can have meant it, such as a zone that no query matches.\n"
        "\n"
        "Plugins that are checked to their last option: forward, kubernetes, cache, errors, log, "
        "health, ready, prometheus, reload, hosts, file, auto, secondary, transfer, template, acl, "
        "rewrite, loadbalance, dns64, autopath, k8s_external, etcd, bind, bufsize, multisocket, "
        "chaos, loop, any, debug, minimal and whoami. Of others only the structure of their block "
        "is. Nothing is asked of the network, and files that plugins name are not looked for. Not "
        "checked are templates and label selectors, and what is rare in regular expressions.\n"
        "\n"
        "Without PATH the Corefile of the configured store is checked: what is under the key "
        "Corefile in the ConfigMap kube-system/coredns or, where there is none, "
        "openshift-dns/dns-default, of the cluster or among the manifests of the folder. - is one "
        "on stdin.\n"
        "\n"
        "--output json prints one document: \"findings\", a list of maps with \"level\", "
        "\"file\", \"line\", \"reason\" and \"text\"; and the numbers of \"files\", \"errors\" and "
        "\"warnings\".",
    .examples = "signpost corefile check Corefile --coredns 1.12.1\n"
                "signpost corefile check --kubeconfig admin.conf\n"
                "signpost corefile check Corefile --plugins plugin.cfg\n"
                "signpost corefile check custom/log.override --mode override\n"
                "signpost corefile check - --strict -o json < Corefile\n",
    .groups = {{check_rows, COUNT_OF(check_rows), false},
               {store_options, STORE_PLACE_OPTION_COUNT, true},
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .run = check_run,
};
