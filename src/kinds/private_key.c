#include "kinds/private_key.h"

#include <string.h>

#include "base/digest.h"
#include "base/secret.h"

enum { DER_INTEGER = 0x02, DER_OCTETS = 0x04, DER_SEQUENCE = 0x30, LENGTH_OCTETS_MAX = 4 };

static bool contains(struct text text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= text.len; i++)
        if (text_equal_nocase((struct text){text.at + i, len}, text_of(word)))
            return true;
    return false;
}

// ---- DER ----------------------------------------------------------------------------------------

struct element {
    unsigned tag;
    struct text content;
};

// The length of what follows, in one octet or in as many as the first one says.
static bool take_length(struct text *rest, size_t *len)
{
    if (!rest->len)
        return false;
    size_t octets = (unsigned char)*rest->at & 0x7f;
    bool is_short = octets == (unsigned char)*rest->at;
    *rest = (struct text){rest->at + 1, rest->len - 1};
    *len = is_short ? octets : 0;
    if (is_short)
        return true;
    if (octets > LENGTH_OCTETS_MAX || octets > rest->len)
        return false;
    for (size_t i = 0; i < octets; i++)
        *len = *len << 8 | (unsigned char)rest->at[i];
    *rest = (struct text){rest->at + octets, rest->len - octets};
    return true;
}

static bool take_element(struct text *rest, struct element *out)
{
    size_t len;
    if (!rest->len)
        return false;
    out->tag = (unsigned char)*rest->at;
    *rest = (struct text){rest->at + 1, rest->len - 1};
    if (!take_length(rest, &len) || len > rest->len)
        return false;
    out->content = (struct text){rest->at, len};
    *rest = (struct text){rest->at + len, rest->len - len};
    return true;
}

// A key begins with the number of its version, which has one octet: a modulus has many. Under a
// password it is an algorithm and octets. A public key has a string of bits there instead, and a
// certificate or a request a sequence and more behind it.
static bool is_key_structure(const struct element *whole)
{
    struct element first;
    struct element second;
    struct text rest = whole->content;
    if (whole->tag != DER_SEQUENCE || !take_element(&rest, &first) || !take_element(&rest, &second))
        return false;
    if (first.tag == DER_INTEGER)
        return first.content.len == 1;
    return first.tag == DER_SEQUENCE && second.tag == DER_OCTETS;
}

static bool is_der_key(struct text octets)
{
    struct element element;
    while (take_element(&octets, &element))
        if (is_key_structure(&element))
            return true;
    return false;
}

// ---- base64 -------------------------------------------------------------------------------------

// In the common alphabet, with padding and without blanks. False: it is no base64.
static bool write_plain_base64(struct buffer *out, struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '-' || c == '_')
            buffer_add_char(out, c == '-' ? '+' : '/');
        else if (!strchr("= \t\r\n", c))
            buffer_add_char(out, c);
        else if (!c)
            return false;
    }
    while (out->len % 4)
        buffer_add_char(out, '=');
    return out->len;
}

static bool has_key(struct text octets)
{
    return contains(octets, "PRIVATE KEY-----") || text_starts(octets, "openssh-key-v1") ||
           is_der_key(octets);
}

static void wipe(struct buffer *buffer)
{
    if (buffer->at)
        secret_wipe(buffer->at, buffer->capacity);
}

static bool has_key_in_base64(struct text text)
{
    struct error err;
    AUTO_BUFFER plain = {0};
    AUTO_BUFFER octets = {0};
    // Room for all of it, so that no copy is left behind where it grew.
    buffer_reserve(&plain, text.len + 4);
    buffer_reserve(&octets, text.len + 4);
    bool is_key = write_plain_base64(&plain, text) &&
                  base64_decode(&octets, buffer_text(&plain), &err) &&
                  has_key(buffer_text(&octets));
    wipe(&plain);
    wipe(&octets);
    return is_key;
}

bool private_key_is_in(struct text text)
{
    return text.len && (contains(text, "PRIVATE KEY-----") || has_key_in_base64(text));
}
