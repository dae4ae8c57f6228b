#pragma once

#include <stddef.h>

// strerror with a small first letter, as all our error texts ("connection refused").
enum { ERRNO_TEXT_MAX = 128 };
const char *errno_text(int number, char out[ERRNO_TEXT_MAX]);
// The same for another library's words; abbreviations ("SSL ...") stay as they are.
const char *lower_first(const char *words, char *out, size_t size);
