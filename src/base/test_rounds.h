#pragma once

// How often a test repeats itself with other random numbers: `rounds` times in the plain build,
// which looks for wrong results, and a quarter as often under sanitizers. What these find lies on
// the path itself and shows whenever it is taken; the further rounds take the same paths.

#ifdef __SANITIZE_ADDRESS__
#define RANDOM_ROUNDS(rounds) (((rounds) + 3) / 4)
#else
#define RANDOM_ROUNDS(rounds) (rounds)
#endif
