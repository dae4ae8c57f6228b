#include "commands/corefile/corefile_build.h"

#include "io/disk.h"

enum { NAMES_OCTETS_MAX = 256 * 1024 };

static bool read_version(const struct invocation *invocation, struct coredns_version *out,
                         struct error *err)
{
    const char *given = option_text(invocation, "coredns");
    *out = coredns_newest;
    if (!given || coredns_version_read(text_of(given), out))
        return true;
    error_set(err, FAULT_SPEC, "", "expected a version such as 1.12.1");
    return option_blame(invocation, "coredns", given, err);
}

static bool read_names(const struct invocation *invocation, const char *path,
                       const char *const **out, struct error *err)
{
    AUTO_BUFFER text = {0};
    if (!disk_read(&text, path, NAMES_OCTETS_MAX, err))
        return error_prefix(err, "--plugins takes FILE, +NAME for a plugin that was added to the "
                                 "build, or -NAME for one that was left out: ");
    return coredns_names_read(invocation->arena, buffer_text(&text), out, err) ||
           option_blame(invocation, "plugins", path, err);
}

static bool read_plugins(const struct invocation *invocation, struct corefile_lint_options *out,
                         struct error *err)
{
    const char **given;
    size_t change_count = 0;
    size_t count = option_list(invocation, "plugins", &given);
    const char **changes = arena_new_array(invocation->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        bool is_change = *given[i] == '+' || *given[i] == '-';
        if (is_change)
            changes[change_count++] = given[i];
        else if (out->directives)
            return error_set(err, FAULT_SPEC, "", "--plugins names two files: give one of them");
        else if (!read_names(invocation, given[i], &out->directives, err))
            return false;
    }
    out->plugins = changes;
    return true;
}

bool corefile_build_read(const struct invocation *invocation, struct corefile_lint_options *out,
                         struct error *err)
{
    struct corefile_lint_options options = *out;
    options.directives = NULL;
    if (!read_version(invocation, &options.version, err) ||
        !read_plugins(invocation, &options, err))
        return false;
    *out = options;
    return true;
}
