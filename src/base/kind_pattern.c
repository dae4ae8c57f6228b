#include <regex.h>
#include <stdlib.h>

#include "base/kind.h"
#include "base/memory.h"
#include "base/must.h"

struct entry {
    const char *pattern; // static, so the address tells patterns apart
    regex_t *regex;      // on its own, as a regex_t must not be moved
};

struct kind_patterns {
    struct entry *entries;
    size_t count;
    size_t capacity;
};

struct kind_patterns *kind_patterns_new(void)
{
    return mem_new(1, sizeof(struct kind_patterns));
}

void kind_patterns_free(struct kind_patterns *patterns)
{
    if (!patterns)
        return;
    for (size_t i = 0; i < patterns->count; i++) {
        regfree(patterns->entries[i].regex);
        free(patterns->entries[i].regex);
    }
    free(patterns->entries);
    free(patterns);
}

static const regex_t *find(struct kind_patterns *patterns, const char *pattern)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (patterns->entries[i].pattern == pattern)
            return patterns->entries[i].regex;
    }
    mem_reserve(&patterns->entries, &patterns->capacity, patterns->count + 1);
    regex_t *regex = mem_new(1, sizeof *regex);
    must(regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB) == 0);
    patterns->entries[patterns->count++] = (struct entry){pattern, regex};
    return regex;
}

static bool matches(const regex_t *regex, struct text text)
{
    regmatch_t whole = {.rm_so = 0, .rm_eo = (regoff_t)text.len};
    return regexec(regex, text.at ? text.at : "", 1, &whole, REG_STARTEND) == 0;
}

bool kind_pattern_matches(struct kind_patterns *patterns, const char *pattern, struct text text)
{
    regex_t once;
    if (patterns)
        return matches(find(patterns, pattern), text);
    must(regcomp(&once, pattern, REG_EXTENDED | REG_NOSUB) == 0);
    bool ok = matches(&once, text);
    regfree(&once);
    return ok;
}
