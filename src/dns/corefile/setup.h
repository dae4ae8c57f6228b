#pragma once

#include "dns/corefile/corefile_private.h"
#include "dns/corefile/go_text.h"
#include "dns/corefile/lint.h"

// How a plugin of CoreDNS reads its directives: a cursor over all tokens that a server block has
// for it, as the Dispenser of the package caddyfile. The functions that check a plugin follow its
// own setup, so that they accept and refuse the same.

struct linter {
    const struct corefile *corefile;
    const struct corefile_lint_options *options;
    struct corefile_problems *problems;
    struct arena *arena;
};

struct setup {
    struct linter *linter;
    const struct corefile_block *block;
    const char *plugin;
    const uint32_t *tokens; // of all its directives in the block
    size_t count;
    size_t next; // the current one is tokens[next - 1]; 0: none yet
    unsigned nesting;
    unsigned instances;           // of the directive so far
    const struct option *options; // that setup_read_options read last
    size_t option_count;
    uint64_t seen; // which of them there were, a bit each
    void *own;     // what the plugin keeps while its options are read
    // Reports the current token, which is no option of the plugin; NULL: setup_fail_option.
    bool (*fail_option)(struct setup *setup);
};

// Next token; false at the end. For directives: `while (setup_next(setup))`.
bool setup_next(struct setup *setup);
// The next token if it stands on the same line.
bool setup_next_argument(struct setup *setup);
// All that follow on the same line, up to a '{', which stays. In the arena.
struct text *setup_arguments(struct setup *setup, size_t *count);
// Enters the block of options, or goes on to the next option. False behind its '}'.
bool setup_next_option(struct setup *setup);
struct text setup_value(const struct setup *setup);
// Of a plugin that may stand in a block once: false, with an error, at the second one.
bool setup_is_first(struct setup *setup);

// All return false. With the position of the current token:
bool setup_fail_at(struct setup *setup, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Without a position, as CoreDNS prints an error of Go:
bool setup_fail(struct setup *setup, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool setup_fail_argument(struct setup *setup); // "Wrong argument count ..."
bool setup_fail_option(struct setup *setup);   // "unknown property ..."
// With the position, for what CoreDNS calls a syntax error.
bool setup_fail_syntax(struct setup *setup, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Of the error just reported: CoreDNS prints the plugin's name twice before it.
void setup_repeat_prefix(struct setup *setup);
void setup_hint(struct setup *setup, const char *format, ...) __attribute__((format(printf, 2, 3)));
void setup_warn(struct setup *setup, const char *rule, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool setup_is_before(const struct setup *setup, struct coredns_version version);

// An option of a plugin: what may stand behind it on its line.
enum option_form {
    OPTION_ALONE, // nothing, not even a '{'
    OPTION_NONE,  // no argument
    OPTION_ONE,   // one argument; what follows is read as the next option
    OPTION_ALL,   // min to max arguments
    OPTION_ANY,   // whatever stands there is passed over
    OPTION_BARE,  // nothing is taken: what follows is read as the next option, or by its check
};
struct option {
    const char *name;
    enum option_form form;
    size_t min;
    size_t max; // 0: any number
    // What the arguments may be; NULL: anything. False: it has reported an error.
    bool (*check)(struct setup *setup, const struct text *arguments, size_t count);
    struct coredns_version since;
};
// Reads the block of options behind a directive, of at most 64 that there are. False: an error was
// reported.
bool setup_read_options(struct setup *setup, const struct option *options, size_t count);
// Did the block that was read last have that option?
bool setup_has_option(const struct setup *setup, const char *name);

// What Go reads of texts (go_text.h). False: an error with the words of Go was reported.
bool go_int(struct setup *setup, struct text text, int64_t *out); // strconv.Atoi
// strconv.ParseUint, base 10.
bool go_uint(struct setup *setup, struct text text, unsigned bits, uint64_t *out);
// strconv.ParseUint, base 0: 0x10, 1_000.
bool go_uint_of_any_base(struct setup *setup, struct text text, unsigned bits, uint64_t *out);
bool go_duration(struct setup *setup, struct text text, int64_t *out_ns); // time.ParseDuration

// A zone as plugins take it (plugin.Host.NormalizeExact): false if CoreDNS makes nothing of it.
bool zone_is_normal(const struct linter *linter, struct text text);

// Warns of what CoreDNS accepts though it does harm.
void lint_advise(struct linter *linter, const struct coredns_directives *directives);

// A plugin that is checked. Those that are not listed: the structure of their block alone.
struct checked_plugin {
    const char *name;
    bool (*check)(struct setup *setup);
    // What it refuses once all plugins of all blocks are set up, as the servers start; or NULL.
    bool (*check_start)(struct setup *setup);
};
extern const struct checked_plugin forward_plugins[];    // lint_forward.c
extern const struct checked_plugin kubernetes_plugins[]; // lint_kubernetes.c
extern const struct checked_plugin server_plugins[];     // lint_server.c: health, errors, log, ...
extern const struct checked_plugin cache_plugins[];      // lint_cache.c: cache, hosts
extern const struct checked_plugin zone_plugins[];       // lint_zone.c: file, secondary, ...
extern const struct checked_plugin query_plugins[];      // lint_query.c: acl, template, ...
extern const struct checked_plugin rewrite_plugins[];    // lint_rewrite.c
