#include "store/cluster/identity.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/must.h"
#include "store/cluster/credential_file.h"
#include "store/cluster/fetch.h"

enum { FILE_CA, FILE_CERTIFICATE, FILE_KEY, FILES };

struct identity {
    struct identity_options options;
    struct credential_file token;
    struct credential_file files[FILES];
    int64_t files_read_ms; // all of them together: certificate and key are a pair
    struct fetch *fetch;   // NULL: no plugin is wanted
    struct secret *authorization;
    struct buffer impersonation; // the headers' texts, each with its NUL
    struct http_header *headers; // the first is Authorization's
    size_t impersonation_count;
    struct identity_face face;
    bool has_trouble;
    struct error trouble;
};

static int64_t now_ms(const struct identity *identity)
{
    return loop_mono_ms(identity->options.world->loop);
}

// ---- impersonation ------------------------------------------------------------------------------

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

// ---- the face -----------------------------------------------------------------------------------

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

static const struct plugin_credential *fetched(const struct identity *identity)
{
    static const struct plugin_credential none = {0};
    return identity->fetch ? fetch_credential(identity->fetch) : &none;
}

static const struct secret *find_token(const struct identity *identity)
{
    if (identity->token.content)
        return identity->token.content;
    if (identity->options.access->token)
        return identity->options.access->token;
    return fetched(identity)->token;
}

static struct secret *make_authorization(const struct identity *identity)
{
    const struct kube_access *access = identity->options.access;
    const struct secret *token = find_token(identity);
    if (token)
        return make_bearer(token);
    return access->username ? make_basic(access->username, access->password) : NULL;
}

static const char *pem_of(const struct secret *given, const struct secret *plugin,
                          const struct credential_file *file)
{
    const struct secret *pem = given ? given : file->content ? file->content : plugin;
    return pem ? secret_expose(pem).at : NULL;
}

static void make_face(struct identity *identity)
{
    const struct kube_access *access = identity->options.access;
    const struct plugin_credential *plugin = fetched(identity);
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
            pem_of(access->certificate, plugin->certificate, &identity->files[FILE_CERTIFICATE]),
        .key_pem = pem_of(access->key, plugin->key, &identity->files[FILE_KEY]),
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

// ---- files --------------------------------------------------------------------------------------

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
    for (size_t i = 0; i < FILES; i++) {
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

// ---- the plugin ---------------------------------------------------------------------------------

// As in client-go: what stands in the kubeconfig itself goes first.
static bool wants_plugin(const struct kube_access *access)
{
    return access->exec.command && !access->token && !access->token_file && !access->username;
}

static const struct secret *find_ca(const struct identity *identity)
{
    const struct secret *given = identity->options.access->ca;
    return given ? given : identity->files[FILE_CA].content;
}

static void fetch_settled(void *context)
{
    struct identity *identity = context;
    const struct error *trouble = fetch_trouble(identity->fetch);
    if (!trouble)
        make_face(identity);
    set_trouble(identity, trouble);
    identity->options.settled(identity->options.context);
}

// ---- life ---------------------------------------------------------------------------------------

static struct fetch *make_fetch(struct identity *identity)
{
    return fetch_new(&(struct fetch_options){
        .loop = identity->options.world->loop,
        .log = identity->options.log,
        .access = identity->options.access,
        .runner = identity->options.runner,
        .settled = fetch_settled,
        .context = identity,
    });
}

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
    if (wants_plugin(access))
        identity->fetch = make_fetch(identity);
    make_headers(identity);
    make_face(identity);
    return identity;
}

void identity_free(struct identity *identity)
{
    if (!identity)
        return;
    fetch_free(identity->fetch);
    credential_file_done(&identity->token);
    for (size_t i = 0; i < FILES; i++)
        credential_file_done(&identity->files[i]);
    secret_unref(identity->authorization);
    buffer_done(&identity->impersonation);
    free(identity->headers);
    free(identity);
}

enum identity_state identity_prepare(struct identity *identity, struct error *err)
{
    struct error why = {0};
    enum identity_state state = IDENTITY_READY;
    if (!read_what_is_due(identity, &why))
        state = IDENTITY_FAILED;
    else if (identity->fetch)
        state = fetch_prepare(identity->fetch, find_ca(identity), &why);
    if (state != IDENTITY_FETCHING)
        set_trouble(identity, state == IDENTITY_FAILED ? &why : NULL);
    if (state == IDENTITY_FAILED && err)
        *err = why;
    return state;
}

const struct identity_face *identity_face(const struct identity *identity)
{
    return &identity->face;
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
    if (!identity->fetch)
        return IDENTITY_FAILED;
    enum identity_state state = fetch_renew(identity->fetch, find_ca(identity));
    if (state == IDENTITY_FAILED)
        set_trouble(identity, fetch_trouble(identity->fetch));
    return state;
}

void identity_doubt(struct identity *identity)
{
    identity->files_read_ms = 0;
}

void identity_reload(struct identity *identity)
{
    identity->token.read_ms = 0;
    identity->files_read_ms = 0;
    if (identity->fetch)
        fetch_forget(identity->fetch);
}

const struct error *identity_trouble(const struct identity *identity)
{
    return identity->has_trouble ? &identity->trouble : NULL;
}
