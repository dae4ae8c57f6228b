#include "commands/intent/emco_client.h"

#include <stdlib.h>
#include <string.h>

#include "base/url.h"
#include "commands/credentials.h"
#include "io/http.h"
#include "io/loop.h"

enum {
    ANSWER_OCTETS_MAX = 16 * 1024 * 1024,
    DEPTH_MAX = 48,
    PAGE_ITEMS = 500,
    PAGES_MAX = 1000,
    WORDS_SHOWN = 160, // of a foreign text
};

static const struct value_limits limits = {.octets = ANSWER_OCTETS_MAX, .depth = DEPTH_MAX};

struct emco_client {
    struct loop *loop;
    struct http *http;
    struct buffer base;          // "https://emco.example"
    struct buffer authorization; // "": none
    const char *ca_pem;
    int64_t timeout_ms;
};

struct fetch { // one request
    struct emco_client *client;
    struct arena *arena;
    const char *url;
    const char *next; // path of the next page; NULL: this is the last
    struct value *tree;
    struct error *err;
};

const struct option emco_options[EMCO_OPTION_COUNT] = {
    {.name = "url",
     .type = OPTION_TEXT,
     .placeholder = "URL",
     .doc = "Where EMCO's REST API is: the ingress that leads to all of its services."},
    {.name = "project",
     .type = OPTION_TEXT,
     .placeholder = "NAME",
     .doc = "The project that is read, by its name in EMCO."},
    {.name = "token-file",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "File with the bearer token that the API wants. Not given: none is sent."},
    {.name = "tls-ca-file",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "Certificates that the API's is believed by, in PEM. Not given: the system's."},
    TIMEOUT_OPTION("30s", "How long each request may take."),
};

// ---- answers ------------------------------------------------------------------------------------

static bool refuse_answer(const struct fetch *fetch, int status, const char *what,
                          struct text foreign, const char *advice)
{
    char words[WORDS_SHOWN];
    text_clean_into(words, sizeof words, foreign);
    error_set(fetch->err, FAULT_SPEC, "", "GET %s: %s%s%s%s", fetch->url, what, *words ? ": " : "",
              words, advice);
    fetch->err->status = status;
    return false;
}

static const char *token_advice(const struct fetch *fetch)
{
    return fetch->client->authorization.len
               ? "; the token of --token-file must be one that may read the project"
               : "; give a token with --token-file";
}

static bool refuse_status(const struct fetch *fetch, const struct http_reply *reply)
{
    AUTO_BUFFER what = {0};
    struct text rest = reply->body, line = {0};
    int status = reply->status;
    const char *location = http_reply_header(reply, "Location");
    text_cut(&rest, '\n', &line);
    buffer_printf(&what, "the answer is %d", status);
    if (status == 401 || status == 403)
        return refuse_answer(fetch, status, what.at, line, token_advice(fetch));
    if (status >= 300 && status < 400)
        return refuse_answer(fetch, status, what.at, text_of(location ? location : ""),
                             "; redirects are not followed: give the right address in --url");
    if (status == 404)
        return refuse_answer(fetch, status, what.at, line,
                             "; does --url lead to all of EMCO's services, and is the name right?");
    return refuse_answer(fetch, status, what.at, line,
                         "; look into the log of the service behind that path");
}

// `</v2/...?limit=..&continue=..>; rel="next"`; a page elsewhere is none.
static const char *read_next(struct arena *arena, const struct http_reply *reply)
{
    const char *link = http_reply_header(reply, "Link");
    const char *end = link ? strchr(link, '>') : NULL;
    if (!end || strncmp(link, "</v2/", 5) != 0 || !strstr(end, "rel=\"next\""))
        return NULL;
    return arena_copy(arena, link + 1, (size_t)(end - link - 1));
}

static void read_answer(struct fetch *fetch, const struct http_reply *reply)
{
    struct error cause;
    if (reply->failure != HTTP_OK) {
        refuse_answer(fetch, 0, reply->error.text, TEXT(""), "");
        return;
    }
    if (reply->status != 200) {
        refuse_status(fetch, reply);
        return;
    }
    fetch->tree = value_read_json(fetch->arena, reply->body, &limits, &cause);
    fetch->next = read_next(fetch->arena, reply);
    if (!fetch->tree)
        refuse_answer(fetch, 0, "the answer cannot be read as JSON", text_of(cause.text),
                      "; is --url that of EMCO's REST API?");
}

static void over(void *context, const struct http_reply *reply)
{
    struct fetch *fetch = context;
    read_answer(fetch, reply);
    loop_stop(fetch->client->loop);
}

// ---- requests -----------------------------------------------------------------------------------

static bool fetch_path(struct fetch *fetch, const char *path)
{
    const struct emco_client *client = fetch->client;
    const struct http_header headers[] = {{"Accept", "application/json"},
                                          {"Authorization", client->authorization.at}};
    fetch->url = arena_printf(fetch->arena, "%s%s", client->base.at, path);
    fetch->tree = NULL;
    const struct http_request request = {
        .method = "GET",
        .url = fetch->url,
        .headers = headers,
        .header_count = client->authorization.len ? 2 : 1,
        .timeout_ms = client->timeout_ms,
        .max_body_octets = ANSWER_OCTETS_MAX,
        .tls = {.ca_pem = client->ca_pem},
    };
    http_send(client->http, &request, over, fetch);
    loop_run(client->loop);
    return fetch->tree != NULL;
}

struct value *emco_client_get(struct emco_client *client, struct arena *arena, const char *path,
                              struct text name, struct error *err)
{
    struct fetch fetch = {.client = client, .arena = arena, .err = err};
    if (!fetch_path(&fetch, path))
        return NULL;
    bool is_map = fetch.tree->type == VALUE_MAP;
    struct text its_name = value_text_at(fetch.tree, "metadata.name");
    if (is_map && (!name.len || text_equal(name, its_name)))
        return fetch.tree;
    refuse_answer(&fetch, 0,
                  is_map ? "the answer is about something else" : "the answer is no JSON object",
                  is_map ? its_name : TEXT(""), "; is --url that of EMCO's REST API?");
    return NULL;
}

// EMCO gives null for a list without items.
static bool add_page(const struct fetch *fetch, struct value *list)
{
    bool is_list = fetch->tree->type == VALUE_LIST;
    for (struct value *item = is_list ? fetch->tree->first : NULL, *next; item; item = next) {
        next = item->next;
        is_list = is_list && item->type == VALUE_MAP;
        item->next = NULL;
        value_append(list, item);
    }
    return is_list || fetch->tree->type == VALUE_NULL ||
           refuse_answer(fetch, 0, "the answer is no list of JSON objects", TEXT(""),
                         "; is --url that of EMCO's REST API?");
}

struct value *emco_client_list(struct emco_client *client, struct arena *arena, const char *path,
                               struct error *err)
{
    struct fetch fetch = {.client = client, .arena = arena, .err = err};
    struct value *list = value_make(arena, VALUE_LIST);
    const char *next = arena_printf(arena, "%s?limit=%d", path, PAGE_ITEMS);
    for (unsigned pages = 0; next; pages++) {
        if (pages == PAGES_MAX) {
            refuse_answer(&fetch, 0, "the list has no end", TEXT(""), "");
            return NULL;
        }
        if (!fetch_path(&fetch, next) || !add_page(&fetch, list))
            return NULL;
        next = fetch.next;
    }
    return list;
}

// ---- opening ------------------------------------------------------------------------------------

static bool read_url(struct emco_client *client, const struct invocation *invocation,
                     struct error *err)
{
    const char *given = option_text(invocation, "url");
    struct url url;
    if (!given)
        return error_set(err, FAULT_SPEC, "", "give --url: where is EMCO's REST API?");
    // The value may hold a password, where none belongs.
    if (!url_parse(&url, text_of(given), err))
        return error_prefix(err, "%s: ", option_source(invocation, "url"));
    size_t len = strlen(url.path);
    if (len >= 3 && !strcmp(url.path + len - 3, "/v2"))
        url.path[len - 3] = '\0';
    url_write(&client->base, &url);
    return true;
}

static bool read_token(struct emco_client *client, const struct invocation *invocation,
                       struct error *err)
{
    const char *path = option_text(invocation, "token-file");
    CLEANUP(secret) struct secret *token = path ? token_read(path, err) : NULL;
    if (!token)
        return !path || error_prefix(err, "--token-file: ");
    struct text exposed = secret_expose(token);
    buffer_reserve(&client->authorization, exposed.len + sizeof "Bearer ");
    buffer_printf(&client->authorization, "Bearer %.*s", TEXT_ARGS(exposed));
    return true;
}

static bool read_ca(struct emco_client *client, const struct invocation *invocation,
                    struct error *err)
{
    const char *path = option_text(invocation, "tls-ca-file");
    if (!path)
        return true;
    client->ca_pem = ca_read(invocation->arena, path, err);
    return client->ca_pem || error_prefix(err, "--tls-ca-file: ");
}

struct emco_client *emco_client_new(struct invocation *invocation, struct error *err)
{
    CLEANUP(emco_client) struct emco_client *client = mem_new_of(struct emco_client);
    client->timeout_ms = option_ms(invocation, "timeout");
    if (!read_url(client, invocation, err) || !read_token(client, invocation, err) ||
        !read_ca(client, invocation, err))
        return NULL;
    client->loop = loop_new();
    client->http = http_curl_new(client->loop, "signpost/" SIGNPOST_VERSION);
    return steal(client);
}

void emco_client_free(struct emco_client *client)
{
    if (!client)
        return;
    http_free(client->http);
    loop_free(client->loop);
    if (client->authorization.at)
        secret_wipe(client->authorization.at, client->authorization.capacity);
    buffer_done(&client->authorization);
    buffer_done(&client->base);
    free(client);
}
