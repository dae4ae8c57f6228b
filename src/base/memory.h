#pragma once

#include <stddef.h>

// Memory with three lifetimes: reconciliation (an arena), resident (owned by one named struct),
// static. Running out of memory ends the process with one line: state lives in the store and a
// restart resumes, so no caller checks for NULL.
//
//     autofree char *copy = mem_copy_text(name);
//     return steal(copy);

// Never NULL; zeroed. count * size is checked for overflow.
void *mem_new(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
// Like realloc, never NULL. New octets are not zeroed.
void *mem_resize(void *old, size_t count, size_t size) __attribute__((returns_nonnull));
// `size` octets, a power of two, at a multiple of it; never NULL, not zeroed.
void *mem_new_aligned(size_t size) __attribute__((malloc, returns_nonnull));
// All of it is about to be written: its pages come at once, not fault by fault. A hint.
void mem_populate(void *at, size_t size);
// A NUL-terminated copy; caller frees with free().
char *mem_copy_text(const char *text) __attribute__((malloc, returns_nonnull));
void *mem_copy(const void *at, size_t len) __attribute__((malloc, returns_nonnull));

// Gives memory that was freed back to the system, after a peak such as the first list.
void mem_release(void);
// Once, first thing in main: large arrays get pages of their own, so that they grow without copies
// and leave no holes.
void mem_setup(void);

#define mem_new_of(type) ((type *)mem_new(1, sizeof(type)))
#define mem_new_array(type, count) ((type *)mem_new((count), sizeof(type)))

// Grows *array (of *capacity elements) so that it holds at least `need`: starts at 8, doubles, and
// from 1 MiB on grows by an eighth.
#define mem_reserve(array, capacity, need)                                                         \
    ((need) > *(capacity)                                                                          \
         ? (void)(*(array) = mem_grow(*(array), (capacity), (need), sizeof **(array)))             \
         : (void)0)
void *mem_grow(void *array, size_t *capacity, size_t need, size_t size);

// Lets go of an array that holds nothing any more, if a flood made it large.
#define mem_relax(array, capacity)                                                                 \
    ((void)(*(array) = mem_relaxed(*(array), (capacity), sizeof **(array))))
void *mem_relaxed(void *array, size_t *capacity, size_t size);

// Cleanup attribute for local owners, handed on with steal(). DEFINE_AUTO(zone, zone_free) defines
// auto_zone, used as `auto_zone struct zone *zone = zone_new();`.
#define autofree __attribute__((cleanup(mem_cleanup_free)))
void mem_cleanup_free(void *pointer);
#define steal(pointer)                                                                             \
    ({                                                                                             \
        __typeof__(pointer) stolen_ = (pointer);                                                   \
        (pointer) = NULL;                                                                          \
        stolen_;                                                                                   \
    })
#define DEFINE_CLEANUP(type, free_function)                                                        \
    static inline void type##_cleanup(struct type **at)                                            \
    {                                                                                              \
        free_function(*at);                                                                        \
    }
// `CLEANUP(zone) struct zone *z = zone_new();` after DEFINE_CLEANUP(zone, zone_free).
#define CLEANUP(type) __attribute__((cleanup(type##_cleanup), unused))

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

// The memory of one reconciliation: made while one key is handled, all freed together. Blocks of 16
// KiB (up to 1 MiB of them) are kept for the next one by arena_reset; bigger ones go back.
struct arena;
struct arena *arena_new(void);
void arena_free(struct arena *arena);
// Everything made in it is gone afterwards.
void arena_reset(struct arena *arena);
// Zeroed, aligned for any type, never NULL.
void *arena_alloc(struct arena *arena, size_t count, size_t size) __attribute__((returns_nonnull));
char *arena_copy_text(struct arena *arena, const char *text);
char *arena_copy(struct arena *arena, const void *at, size_t len); // adds a NUL
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Grows *array (of *capacity elements, all in this arena) so that it holds at least `need`: starts
// at 8 and doubles. New elements are zeroed; the old array stays until the arena goes.
#define arena_reserve(arena, array, capacity, need)                                                \
    ((need) > *(capacity)                                                                          \
         ? (void)(*(array) = arena_grow((arena), *(array), (capacity), (need), sizeof **(array)))  \
         : (void)0)
void *arena_grow(struct arena *arena, const void *array, size_t *capacity, size_t need, size_t size)
    __attribute__((returns_nonnull));

#define arena_new_of(arena, type) ((type *)arena_alloc((arena), 1, sizeof(type)))
#define arena_new_array(arena, type, count) ((type *)arena_alloc((arena), (count), sizeof(type)))

DEFINE_CLEANUP(arena, arena_free)
