#include "io/errno_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *lower_first(const char *words, char *out, size_t size)
{
    snprintf(out, size, "%s", words);
    if (out[0] && !isupper((unsigned char)out[1]))
        out[0] = (char)tolower((unsigned char)out[0]);
    return out;
}

const char *errno_text(int number, char out[ERRNO_TEXT_MAX])
{
    char words[ERRNO_TEXT_MAX];
    return lower_first(strerror_r(number, words, sizeof(words)), out, ERRNO_TEXT_MAX);
}
