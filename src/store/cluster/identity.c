#include "store/cluster/identity.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/must.h"
#include "store/cluster/credential_file.h"
#include "store/cluster/plugin.h"

enum {
    PLUGIN_WORDS_MAX = 400, // of its stderr in an error
    FACE_FILES = 3,
};

// What the plugin gave, and how it went.
struct fetch {
    struct process *process; // while it runs
    struct plugin_credential credential;
    bool has_credential;
    bool is_refused;    // the server answered 401 to it
    int64_t started_ms; // mono; 0: never
    bool has_failed;
};

struct identity {
    struct identity_options options;
    struct credential_file token;
    struct credential_file files[FACE_FILES];
    int64_t files_read_ms; // all of them together: certificate and key are a pair
    struct fetch fetch;
    struct secret *authorization;
    struct buffer impersonation; // the headers' texts, each with its NUL
    struct http_header *headers; // the first is Authorization's
    size_t impersonation_count;
    struct identity_face face;
    bool has_trouble;
    struct error trouble;
};

enum { FILE_CA, FILE_CERTIFICATE, FILE_KEY };

static int64_t now_ms(const struct identity *identity)
{
    return loop_mono_ms(identity->options.world->loop);
}

// ---- impersonation ----

static bool is_header_character(char c)
{
    static const char marks[] = "!#$&'*+-.^_`|~";
    bool is_alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_alphanumeric || (c && strchr(marks, c));
}

// As Kubernetes has it: lower case, and what no header name may hold as %XX, the % too.
static void write_extra_name(struct buffer *out, const char *key)
{
    buffer_add_text(out, "Impersonate-Extra-");
    for (; *key; key++) {
        char lower = *key >= 'A' && *key <= 'Z' ? (char)(*key + 32) : *key;
        if (is_header_character(lower))
            buffer_add_char(out, lower);
        else
            buffer_printf(out, "%%%02X", (unsigned char)lower);
    }
}

static void add_header_texts(struct identity *identity, const char *name, const char *value)
{
    if (!value)
        return;
    struct buffer *texts = &identity->impersonation;
    if (text_starts(text_of(name), "="))
        write_extra_name(texts, name + 1);
    else
        buffer_add_text(texts, name);
    buffer_add_char(texts, '\0');
    buffer_add_text(texts, value);
    buffer_add_char(texts, '\0');
    identity->impersonation_count++;
}

static void add_extra_texts(struct identity *identity, const char *const *extra)
{
    for (; extra && *extra; extra += 2) {
        AUTO_BUFFER name = {0};
        buffer_printf(&name, "=%s", extra[0]);
        add_header_texts(identity, name.at, extra[1]);
    }
}

static void make_headers(struct identity *identity)
{
    const struct kube_access *access = identity->options.access;
    add_header_texts(identity, "Impersonate-User", access->as);
    add_header_texts(identity, "Impersonate-Uid", access->as_uid);
    for (const char *const *group = access->as_groups; group && *group; group++)
        add_header_texts(identity, "Impersonate-Group", *group);
    add_extra_texts(identity, access->as_extra);
    identity->headers = mem_new_array(struct http_header, identity->impersonation_count + 1);
    const char *at = identity->impersonation.at;
    for (size_t i = 1; i <= identity->impersonation_count; i++) {
        identity->headers[i].name = at;
        at += strlen(at) + 1;
        identity->headers[i].value = at;
        at += strlen(at) + 1;
    }
}

// ---- the face ----

static struct secret *make_bearer(const struct secret *token)
{
    AUTO_BUFFER value = {0};
    struct text octets = secret_expose(token);
    buffer_reserve(&value, octets.len + sizeof "Bearer ");
    buffer_add_text(&value, "Bearer ");
    buffer_add(&value, octets.at, octets.len);
    struct secret *secret = secret_new(value.at, value.len);
    secret_wipe(value.at, value.capacity);
    return secret;
}

// RFC 7617.
static struct secret *make_basic(const char *username, const struct secret *password)
{
    AUTO_BUFFER pair = {0};
    AUTO_BUFFER value = {0};
    struct text octets = password ? secret_expose(password) : TEXT("");
    buffer_reserve(&pair, strlen(username) + octets.len + 2);
    buffer_reserve(&value, 2 * (strlen(username) + octets.len) + 16);
    buffer_printf(&pair, "%s:", username);
    buffer_add(&pair, octets.at, octets.len);
    buffer_add_text(&value, "Basic ");
    base64_encode(&value, pair.at, pair.len);
    struct secret *secret = secret_new(value.at, value.len);
    secret_wipe(pair.at, pair.capacity);
    secret_wipe(value.at, value.capacity);
    return secret;
}

static const struct secret *find_token(const struct identity *identity)
{
    if (identity->token.content)
        return identity->token.content;
    if (identity->options.access->token)
        return identity->options.access->token;
    return identity->fetch.credential.token;
}

static struct secret *make_authorization(const struct identity *identity)
{
    const struct kube_access *access = identity->options.access;
    const struct secret *token = find_token(identity);
    if (token)
        return make_bearer(token);
    return access->username ? make_basic(access->username, access->password) : NULL;
}

static const char *pem_of(const struct secret *given, const struct secret *fetched,
                          const struct credential_file *file)
{
    const struct secret *pem = given ? given : file->content ? file->content : fetched;
    return pem ? secret_expose(pem).at : NULL;
}

static void make_face(struct identity *identity)
{
    const struct kube_access *access = identity->options.access;
    const struct plugin_credential *fetched = &identity->fetch.credential;
    struct identity_face *face = &identity->face;
    secret_unref(identity->authorization);
    identity->authorization = make_authorization(identity);
    bool has_authorization = identity->authorization;
    if (has_authorization)
        identity->headers[0] =
            (struct http_header){"Authorization", secret_expose(identity->authorization).at};
    face->headers = has_authorization ? identity->headers : identity->headers + 1;
    face->header_count = identity->impersonation_count + (has_authorization ? 1 : 0);
    face->tls = (struct http_tls){
        .ca_pem = pem_of(access->ca, NULL, &identity->files[FILE_CA]),
        .server_name = access->tls_server_name,
        .certificate_pem =
            pem_of(access->certificate, fetched->certificate, &identity->files[FILE_CERTIFICATE]),
        .key_pem = pem_of(access->key, fetched->key, &identity->files[FILE_KEY]),
        .is_unverified = access->is_unverified,
    };
    face->generation++;
}

static void set_trouble(struct identity *identity, const struct error *err)
{
    identity->has_trouble = err;
    if (err)
        identity->trouble = *err;
}

// ---- files ----

static bool is_due(const struct identity *identity, int64_t read_ms, int64_t period_ms)
{
    return read_ms == 0 || now_ms(identity) - read_ms >= period_ms;
}

static bool read_token(struct identity *identity, bool *has_changed, struct error *err)
{
    struct credential_file *file = &identity->token;
    return credential_file_read(file, now_ms(identity), identity->options.log, has_changed, err) ||
           find_token(identity);
}

static bool read_files(struct identity *identity, bool *has_changed, struct error *err)
{
    identity->files_read_ms = now_ms(identity);
    for (size_t i = 0; i < FACE_FILES; i++) {
        struct credential_file *file = &identity->files[i];
        if (file->path &&
            !credential_file_read(file, identity->files_read_ms, identity->options.log, has_changed,
                                  err) &&
            !file->content) {
            identity->files_read_ms = 0;
            return false;
        }
    }
    return true;
}

static bool read_what_is_due(struct identity *identity, struct error *err)
{
    bool has_changed = false, is_ok = true;
    if (identity->token.path && is_due(identity, identity->token.read_ms, IDENTITY_TOKEN_MS))
        is_ok = read_token(identity, &has_changed, err);
    if (is_ok && is_due(identity, identity->files_read_ms, IDENTITY_FILE_MS))
        is_ok = read_files(identity, &has_changed, err);
    if (has_changed)
        make_face(identity);
    if (!is_ok)
        identity->token.read_ms = identity->token.content ? identity->token.read_ms : 0;
    return is_ok;
}

// ---- the plugin ----

// As in client-go: what stands in the kubeconfig itself goes first.
static bool wants_plugin(const struct identity *identity)
{
    const struct kube_access *access = identity->options.access;
    return access->exec.command && !access->token && !access->token_file && !access->username;
}

static bool has_expired(const struct identity *identity)
{
    const struct fetch *fetch = &identity->fetch;
    int64_t expires_ms = fetch->credential.expires_ms;
    return expires_ms && loop_unix_ms(identity->options.world->loop) >= expires_ms;
}

static bool may_start(const struct identity *identity)
{
    return is_due(identity, identity->fetch.started_ms, IDENTITY_PLUGIN_PAUSE_MS);
}

static void describe_end(const struct identity *identity, const struct process_result *result,
                         struct error *err)
{
    const struct kube_exec *exec = &identity->options.access->exec;
    char words[PLUGIN_WORDS_MAX + 1];
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

static bool judge_run(const struct identity *identity, const struct process_result *result,
                      struct plugin_credential *out, struct error *err)
{
    const struct kube_exec *exec = &identity->options.access->exec;
    if (!result->has_exited || result->exit_code != 0) {
        describe_end(identity, result, err);
        return false;
    }
    if (result->is_cut)
        return error_set(err, FAULT_AUTH, "AuthenticationFailed",
                         "exec plugin %s: its output is longer than %d octets", exec->command,
                         IDENTITY_PLUGIN_OCTETS_MAX);
    return plugin_read_reply(out, result->output, exec->api_version, err) ||
           error_prefix(err, "exec plugin %s: ", exec->command);
}

static void take_credential(struct identity *identity, struct plugin_credential *credential)
{
    struct fetch *fetch = &identity->fetch;
    plugin_credential_done(&fetch->credential);
    fetch->credential = *credential;
    fetch->has_credential = true;
    fetch->is_refused = false;
    make_face(identity);
}

static void log_words(const struct identity *identity, const struct process_result *result)
{
    struct text words = text_trim(result->errors);
    if (words.len)
        log_line(identity->options.log, LOG_WARN, "exec plugin wrote to stderr",
                 LOG_TEXT("command", identity->options.access->exec.command),
                 LOG_SLICE("stderr", words), LOG_END);
}

static void plugin_ended(void *context, const struct process_result *result)
{
    struct identity *identity = context;
    struct plugin_credential credential = {0};
    struct error err = {0};
    identity->fetch.process = NULL;
    log_words(identity, result);
    identity->fetch.has_failed = !judge_run(identity, result, &credential, &err);
    if (!identity->fetch.has_failed)
        take_credential(identity, &credential);
    set_trouble(identity, identity->fetch.has_failed ? &err : NULL);
    identity->options.settled(identity->options.context);
}

static const char *make_info(const struct kube_access *access, const struct secret *ca)
{
    struct buffer info = {0};
    buffer_add_text(&info, "KUBERNETES_EXEC_INFO=");
    plugin_write_info(&info, access, ca);
    return buffer_steal(&info);
}

static struct process *start_run(struct identity_runner *runner, struct loop *loop,
                                 const struct identity_run *run, struct error *err)
{
    if (runner)
        return runner->start(runner, loop, run, err);
    return process_start_with(loop, run->argv, run->additions, run->max_output_octets,
                              run->timeout_ms, run->done, run->context, err);
}

static void cancel_run(struct identity_runner *runner, struct process *process)
{
    if (runner)
        runner->cancel(process);
    else
        process_cancel(process);
}

static bool run_plugin(struct identity *identity, struct error *err)
{
    const struct kube_access *access = identity->options.access;
    const struct kube_exec *exec = &access->exec;
    const struct credential_file *ca = &identity->files[FILE_CA];
    const char *argv[KUBE_ARGS_MAX + 2] = {exec->command};
    const char *additions[KUBE_ARGS_MAX + 2] = {0};
    autofree const char *info = make_info(access, access->ca ? access->ca : ca->content);
    memcpy(argv + 1, exec->args, sizeof exec->args);
    additions[0] = info;
    memcpy(additions + 1, exec->env, sizeof exec->env);
    struct identity_run run = {
        .argv = argv,
        .additions = additions,
        .max_output_octets = IDENTITY_PLUGIN_OCTETS_MAX,
        .timeout_ms = IDENTITY_PLUGIN_MS,
        .done = plugin_ended,
        .context = identity,
    };
    struct identity_runner *runner = identity->options.runner;
    identity->fetch.process = start_run(runner, identity->options.world->loop, &run, err);
    return identity->fetch.process;
}

static bool start_plugin(struct identity *identity, struct error *err)
{
    const struct kube_exec *exec = &identity->options.access->exec;
    struct error why = {0};
    identity->fetch.started_ms = now_ms(identity);
    identity->fetch.has_failed = !run_plugin(identity, &why);
    if (!identity->fetch.has_failed)
        return true;
    error_set(err, FAULT_AUTH, "AuthenticationFailed", "exec plugin: %s%s%s", why.text,
              exec->install_hint ? "; " : "", exec->install_hint ? exec->install_hint : "");
    return false;
}

// A credential that is over the moment it comes (clocks differ) is used until the next run may be.
static bool is_usable(const struct identity *identity)
{
    const struct fetch *fetch = &identity->fetch;
    if (!fetch->has_credential || fetch->is_refused)
        return false;
    return !has_expired(identity) || (!fetch->has_failed && !may_start(identity));
}

static enum identity_state prepare_plugin(struct identity *identity, struct error *err)
{
    if (is_usable(identity))
        return IDENTITY_READY;
    if (identity->fetch.process)
        return IDENTITY_FETCHING;
    if (may_start(identity)) {
        struct error why = {0};
        if (start_plugin(identity, &why))
            return IDENTITY_FETCHING;
        set_trouble(identity, &why);
    }
    if (err)
        *err = identity->trouble;
    return IDENTITY_FAILED;
}

// ---- life ----

struct identity *identity_new(const struct identity_options *options)
{
    const struct kube_access *access = options->access;
    struct identity *identity = mem_new_of(struct identity);
    identity->options = *options;
    identity->token = (struct credential_file){
        .path = access->token_file, .what = "token file", .is_trimmed = true};
    identity->files[FILE_CA].path = access->ca ? NULL : access->ca_file;
    identity->files[FILE_CA].what = "CA file";
    identity->files[FILE_CERTIFICATE].path = access->certificate ? NULL : access->certificate_file;
    identity->files[FILE_CERTIFICATE].what = "client certificate file";
    identity->files[FILE_KEY].path = access->key ? NULL : access->key_file;
    identity->files[FILE_KEY].what = "client key file";
    make_headers(identity);
    make_face(identity);
    return identity;
}

void identity_free(struct identity *identity)
{
    if (!identity)
        return;
    if (identity->fetch.process)
        cancel_run(identity->options.runner, identity->fetch.process);
    plugin_credential_done(&identity->fetch.credential);
    credential_file_done(&identity->token);
    for (size_t i = 0; i < FACE_FILES; i++)
        credential_file_done(&identity->files[i]);
    secret_unref(identity->authorization);
    buffer_done(&identity->impersonation);
    free(identity->headers);
    free(identity);
}

enum identity_state identity_prepare(struct identity *identity, struct error *err)
{
    struct error why = {0};
    if (!read_what_is_due(identity, &why)) {
        set_trouble(identity, &why);
        if (err)
            *err = why;
        return IDENTITY_FAILED;
    }
    if (wants_plugin(identity))
        return prepare_plugin(identity, err);
    set_trouble(identity, NULL);
    return IDENTITY_READY;
}

const struct identity_face *identity_face(const struct identity *identity)
{
    return &identity->face;
}

static enum identity_state renew_plugin(struct identity *identity)
{
    if (identity->fetch.process)
        return IDENTITY_FETCHING;
    if (!may_start(identity))
        return IDENTITY_FAILED;
    struct error why = {0};
    identity->fetch.is_refused = true;
    if (start_plugin(identity, &why))
        return IDENTITY_FETCHING;
    set_trouble(identity, &why);
    return IDENTITY_FAILED;
}

enum identity_state identity_renew(struct identity *identity, uint64_t generation)
{
    if (generation == identity->face.generation) {
        identity->token.read_ms = 0;
        identity->files_read_ms = 0;
        read_what_is_due(identity, NULL);
    }
    if (generation != identity->face.generation)
        return IDENTITY_READY;
    return wants_plugin(identity) ? renew_plugin(identity) : IDENTITY_FAILED;
}

void identity_doubt(struct identity *identity)
{
    identity->files_read_ms = 0;
}

void identity_reload(struct identity *identity)
{
    identity->token.read_ms = 0;
    identity->files_read_ms = 0;
    identity->fetch.is_refused = true;
    identity->fetch.started_ms = 0;
}

const struct error *identity_trouble(const struct identity *identity)
{
    return identity->has_trouble ? &identity->trouble : NULL;
}
