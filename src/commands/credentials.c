#include "commands/credentials.h"

#include "io/disk.h"
#include "io/x509.h"

enum { TOKEN_OCTETS_MAX = 4096, CERTIFICATES_OCTETS_MAX = 1 << 20 };

static struct text without_newline(struct text text)
{
    if (text.len && text.at[text.len - 1] == '\n')
        text.len--;
    if (text.len && text.at[text.len - 1] == '\r')
        text.len--;
    return text;
}

struct secret *token_make(struct text text, struct error *err)
{
    if (!text.len) {
        error_set(err, FAULT_SPEC, "", "no token is in it");
        return NULL;
    }
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.at[i] < ' ' || text.at[i] == '\x7f') {
            error_set(err, FAULT_SPEC, "", "the token holds a line break or control character");
            return NULL;
        }
    }
    return secret_new(text.at, text.len);
}

struct secret *token_read(const char *path, struct error *err)
{
    AUTO_BUFFER content = {0};
    buffer_reserve(&content, TOKEN_OCTETS_MAX + 1);
    if (!disk_read(&content, path, TOKEN_OCTETS_MAX, err))
        return NULL;
    struct secret *secret = token_make(without_newline(buffer_text(&content)), err);
    secret_wipe(content.at, content.len);
    if (!secret)
        error_prefix(err, "%s: ", path);
    return secret;
}

const char *ca_read(struct arena *arena, const char *path, struct error *err)
{
    AUTO_BUFFER content = {0};
    struct x509_facts facts;
    if (!disk_read(&content, path, CERTIFICATES_OCTETS_MAX, err))
        return NULL;
    if (!x509_read(&facts, buffer_text(&content), err)) {
        error_prefix(err, "%s: ", path);
        return NULL;
    }
    return arena_copy(arena, content.at, content.len);
}
