#include "store/cluster/fetch.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 400 }; // of its stderr in an error

struct fetch {
    struct fetch_options options;
    struct process *process; // while it runs
    struct plugin_credential credential;
    bool has_credential;
    bool is_refused;    // the server answered 401 to it
    int64_t started_ms; // mono; 0: never
    bool has_failed;
    struct error trouble;
};

static bool has_expired(const struct fetch *fetch)
{
    int64_t expires_ms = fetch->credential.expires_ms;
    return expires_ms && loop_unix_ms(fetch->options.loop) >= expires_ms;
}

static bool may_start(const struct fetch *fetch)
{
    return fetch->started_ms == 0 ||
           loop_mono_ms(fetch->options.loop) - fetch->started_ms >= IDENTITY_PLUGIN_PAUSE_MS;
}

// A credential that is over the moment it comes (clocks differ) is used until the next run may be.
static bool is_usable(const struct fetch *fetch)
{
    if (!fetch->has_credential || fetch->is_refused)
        return false;
    return !has_expired(fetch) || (!fetch->has_failed && !may_start(fetch));
}

// ---- the end of a run ---------------------------------------------------------------------------

static void describe_end(const struct kube_exec *exec, const struct process_result *result,
                         struct error *err)
{
    char words[WORDS_MAX + 1];
    text_clean_into(words, sizeof words, text_trim(result->errors));
    const char *colon = words[0] ? ": " : "";
    if (!result->has_exited)
        error_set(err, FAULT_AUTH, "AuthenticationFailed", "exec plugin: %s%s%s",
                  result->error.text, colon, words);
    else
        error_set(err, FAULT_AUTH, "AuthenticationFailed",
                  "exec plugin %s ended with exit code %d%s%s", exec->command, result->exit_code,
                  colon, words);
}

static bool judge_run(const struct kube_exec *exec, const struct process_result *result,
                      struct plugin_credential *out, struct error *err)
{
    if (!result->has_exited || result->exit_code != 0) {
        describe_end(exec, result, err);
        return false;
    }
    if (result->is_cut)
        return error_set(err, FAULT_AUTH, "AuthenticationFailed",
                         "exec plugin %s: its output is longer than %d octets", exec->command,
                         IDENTITY_PLUGIN_OCTETS_MAX);
    return plugin_read_reply(out, result->output, exec->api_version, err) ||
           error_prefix(err, "exec plugin %s: ", exec->command);
}

static void log_words(const struct fetch *fetch, const struct process_result *result)
{
    struct text words = text_trim(result->errors);
    if (words.len)
        log_line(fetch->options.log, LOG_WARN, "exec plugin wrote to stderr",
                 LOG_TEXT("command", fetch->options.access->exec.command),
                 LOG_SLICE("stderr", words), LOG_END);
}

static void plugin_ended(void *context, const struct process_result *result)
{
    struct fetch *fetch = context;
    struct plugin_credential credential = {0};
    fetch->process = NULL;
    log_words(fetch, result);
    fetch->has_failed =
        !judge_run(&fetch->options.access->exec, result, &credential, &fetch->trouble);
    if (!fetch->has_failed) {
        plugin_credential_done(&fetch->credential);
        fetch->credential = credential;
        fetch->has_credential = true;
        fetch->is_refused = false;
    }
    fetch->options.settled(fetch->options.context);
}

// ---- its start ----------------------------------------------------------------------------------

static const char *make_info(const struct kube_access *access, const struct secret *ca)
{
    struct buffer info = {0};
    buffer_add_text(&info, "KUBERNETES_EXEC_INFO=");
    plugin_write_info(&info, access, ca);
    return buffer_steal(&info);
}

static struct process *start_run(const struct fetch_options *options,
                                 const struct identity_run *run, struct error *err)
{
    if (options->runner)
        return options->runner->start(options->runner, options->loop, run, err);
    const struct process_request request = {.argv = run->argv,
                                            .additions = run->additions,
                                            .max_output_octets = run->max_output_octets,
                                            .timeout_ms = run->timeout_ms};
    return process_start(options->loop, &request, run->done, run->context, err);
}

static void cancel_run(const struct fetch_options *options, struct process *process)
{
    if (options->runner)
        options->runner->cancel(process);
    else
        process_cancel(process);
}

static bool run_plugin(struct fetch *fetch, const struct secret *ca, struct error *err)
{
    const struct kube_exec *exec = &fetch->options.access->exec;
    const char *argv[KUBE_ARGS_MAX + 2] = {exec->command};
    const char *additions[KUBE_ARGS_MAX + 2] = {0};
    autofree const char *info = make_info(fetch->options.access, ca);
    memcpy(argv + 1, exec->args, sizeof exec->args);
    additions[0] = info;
    memcpy(additions + 1, exec->env, sizeof exec->env);
    struct identity_run run = {
        .argv = argv,
        .additions = additions,
        .max_output_octets = IDENTITY_PLUGIN_OCTETS_MAX,
        .timeout_ms = IDENTITY_PLUGIN_MS,
        .done = plugin_ended,
        .context = fetch,
    };
    fetch->process = start_run(&fetch->options, &run, err);
    return fetch->process;
}

static bool start_plugin(struct fetch *fetch, const struct secret *ca)
{
    const char *hint = fetch->options.access->exec.install_hint;
    struct error why = {0};
    fetch->started_ms = loop_mono_ms(fetch->options.loop);
    fetch->has_failed = !run_plugin(fetch, ca, &why);
    if (fetch->has_failed)
        error_set(&fetch->trouble, FAULT_AUTH, "AuthenticationFailed", "exec plugin: %s%s%s",
                  why.text, hint ? "; " : "", hint ? hint : "");
    return !fetch->has_failed;
}

// ---- the interface ------------------------------------------------------------------------------

struct fetch *fetch_new(const struct fetch_options *options)
{
    struct fetch *fetch = mem_new_of(struct fetch);
    fetch->options = *options;
    return fetch;
}

void fetch_free(struct fetch *fetch)
{
    if (!fetch)
        return;
    if (fetch->process)
        cancel_run(&fetch->options, fetch->process);
    plugin_credential_done(&fetch->credential);
    free(fetch);
}

enum identity_state fetch_prepare(struct fetch *fetch, const struct secret *ca, struct error *err)
{
    if (is_usable(fetch))
        return IDENTITY_READY;
    if (fetch->process || (may_start(fetch) && start_plugin(fetch, ca)))
        return IDENTITY_FETCHING;
    if (err)
        *err = fetch->trouble;
    return IDENTITY_FAILED;
}

enum identity_state fetch_renew(struct fetch *fetch, const struct secret *ca)
{
    if (fetch->process)
        return IDENTITY_FETCHING;
    if (!may_start(fetch))
        return IDENTITY_FAILED;
    fetch->is_refused = true;
    return start_plugin(fetch, ca) ? IDENTITY_FETCHING : IDENTITY_FAILED;
}

void fetch_forget(struct fetch *fetch)
{
    fetch->is_refused = true;
    fetch->started_ms = 0;
}

const struct plugin_credential *fetch_credential(const struct fetch *fetch)
{
    return &fetch->credential;
}

const struct error *fetch_trouble(const struct fetch *fetch)
{
    return fetch->has_failed ? &fetch->trouble : NULL;
}
