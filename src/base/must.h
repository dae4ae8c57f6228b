#pragma once

// must(condition): our own mistakes end the process, in every build. Never for input: what comes
// from outside fails through struct error. One line on stderr, then abort().
//
//     must(list->count > 0);

#define must(condition) ((condition) ? (void)0 : must_fail(#condition, __FILE__, __LINE__))

_Noreturn void must_fail(const char *condition, const char *file, int line);
