#include <ctype.h>
#include <string.h>

#include "kinds/dnsupdaterecord/external_dns.h"
#include "kinds/dnsupdaterecord/external_dns_private.h"

struct release {
    int64_t major, minor, patch;
};

// "v0.22.0", with anything behind a hyphen.
static bool read_release(struct text text, struct release *out)
{
    struct text rest;
    struct text major;
    struct text minor;
    if (!text_cut(&text, '-', &rest) || !rest.len || *rest.at != 'v')
        return false;
    rest = (struct text){rest.at + 1, rest.len - 1};
    return text_cut(&rest, '.', &major) && text_cut(&rest, '.', &minor) &&
           text_to_int64(major, &out->major) && text_to_int64(minor, &out->minor) &&
           text_to_int64(rest, &out->patch) && out->major >= 0 && out->minor >= 0 &&
           out->patch >= 0;
}

// It becomes the value of a label.
static bool is_label_value(struct text text)
{
    enum { LABEL_MAX = 63 };
    for (size_t i = 0; i < text.len; i++)
        if (!isalnum((unsigned char)text.at[i]) && !memchr("-_.", text.at[i], 3))
            return false;
    return text.len && text.len <= LABEL_MAX && isalnum((unsigned char)text.at[text.len - 1]);
}

enum external_dns_support external_dns_release_read(struct text version, unsigned *minor)
{
    struct release release;
    *minor = EXTERNAL_DNS_NEWEST;
    if (!is_label_value(version) || !read_release(version, &release))
        return EXTERNAL_DNS_NO_RELEASE;
    if (release.major > 0 || release.minor > EXTERNAL_DNS_NEWEST)
        return EXTERNAL_DNS_TOO_NEW;
    if (release.minor < EXTERNAL_DNS_OLDEST) {
        *minor = EXTERNAL_DNS_OLDEST;
        return EXTERNAL_DNS_TOO_OLD;
    }
    *minor = (unsigned)release.minor;
    return EXTERNAL_DNS_SUPPORTED;
}

struct text external_dns_image_tag(struct text image)
{
    if (!image.len)
        return (struct text){0};
    const char *slash = memrchr(image.at, '/', image.len);
    const char *from = slash ? slash + 1 : image.at;
    size_t len = (size_t)(image.at + image.len - from);
    const char *at = memchr(from, '@', len);
    len = at ? (size_t)(at - from) : len;
    const char *colon = memchr(from, ':', len);
    return colon ? (struct text){colon + 1, (size_t)(from + len - colon - 1)} : (struct text){0};
}

static bool has_digest(struct text image)
{
    const char *at = image.len ? memchr(image.at, '@', image.len) : NULL;
    return at && at > image.at && at + 1 < image.at + image.len;
}

static bool is_other_release(struct text tag, struct text version)
{
    struct release a;
    struct release b;
    return read_release(tag, &a) && read_release(version, &b) &&
           (a.major != b.major || a.minor != b.minor || a.patch != b.patch);
}

const char *external_dns_image_fault(struct arena *arena, struct text image, struct text version)
{
    struct text tag = external_dns_image_tag(image);
    if (text_is(tag, "latest"))
        return "must not have the tag latest: name a release";
    if (!tag.len && !has_digest(image))
        return "must have a tag or a digest";
    if (!is_other_release(tag, version))
        return NULL;
    if (external_dns_check_plain(tag) || external_dns_check_plain(version))
        return "has another release as its tag than the version: make them agree";
    return arena_printf(arena, "has the tag %.*s, but the version is %.*s: make them agree",
                        TEXT_ARGS(tag), TEXT_ARGS(version));
}
