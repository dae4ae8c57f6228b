#include "base/memory.h"

#include <malloc.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/poison.h"
#include "base/text.h"

enum {
    BLOCK_SIZE = 16 * 1024,
    BLOCKS_KEPT = 64,
    GROW_START = 8,
    GROW_LARGE = 1 << 20,
    LARGE_OCTETS = 256 << 10,
    RELAXED_OCTETS = 64 << 10,
};

struct block {
    struct block *next;
    size_t size;
    size_t used;
    alignas(max_align_t) char octets[];
};

struct arena {
    struct block *full;  // small blocks with too little room, and every big one
    struct block *open;  // the one that is filled now
    struct block *spare; // small and empty
    size_t spare_count;
};

static _Noreturn void out_of_memory(void)
{
    static const char line[] = "signpost: out of memory\n";
    // stdio could want memory itself.
    ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);
    (void)ignored;
    abort();
}

static size_t product(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total) || total > PTRDIFF_MAX)
        out_of_memory();
    return total ? total : 1;
}

void *mem_new(size_t count, size_t size)
{
    void *made = calloc(1, product(count, size));
    if (!made)
        out_of_memory();
    return made;
}

void *mem_resize(void *old, size_t count, size_t size)
{
    void *made = realloc(old, product(count, size));
    if (!made)
        out_of_memory();
    return made;
}

void *mem_new_aligned(size_t size)
{
    void *made = aligned_alloc(size, size);
    if (!made)
        out_of_memory();
    return made;
}

void mem_populate(void *at, size_t size)
{
#ifdef MADV_POPULATE_WRITE
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if ((uintptr_t)at % page == 0)
        (void)madvise(at, size / page * page, MADV_POPULATE_WRITE);
#else
    (void)at;
    (void)size;
#endif
}

char *mem_copy_text(const char *text)
{
    return mem_copy(text, strlen(text) + 1);
}

void *mem_copy(const void *at, size_t len)
{
    void *made = mem_resize(NULL, len, 1);
    if (len)
        memcpy(made, at, len);
    return made;
}

// Doubles while small. A large array is moved by the kernel for nothing, but its slack is real
// memory.
static size_t growth_of(size_t count, size_t size)
{
    return count * size < GROW_LARGE ? count : count / 8;
}

void *mem_grow(void *array, size_t *capacity, size_t need, size_t size)
{
    size_t wanted = *capacity ? *capacity : GROW_START;
    while (wanted < need)
        if (__builtin_add_overflow(wanted, growth_of(wanted, size), &wanted))
            out_of_memory();
    array = mem_resize(array, wanted, size);
    *capacity = wanted;
    return array;
}

void *mem_relaxed(void *array, size_t *capacity, size_t size)
{
    if (*capacity * size <= RELAXED_OCTETS)
        return array;
    free(array);
    *capacity = 0;
    return NULL;
}

void mem_release(void)
{
    malloc_trim(0);
}

void mem_setup(void)
{
    mallopt(M_MMAP_THRESHOLD, LARGE_OCTETS);
}

void mem_cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

static struct block *block_new(size_t size)
{
    if (size > PTRDIFF_MAX - sizeof(struct block))
        out_of_memory();
    struct block *block = mem_resize(NULL, sizeof(struct block) + size, 1);
    *block = (struct block){.size = size};
    ASAN_POISON_MEMORY_REGION(block->octets, size);
    return block;
}

static void blocks_free(struct block *block)
{
    while (block) {
        struct block *next = block->next;
        free(block);
        block = next;
    }
}

struct arena *arena_new(void)
{
    return mem_new_of(struct arena);
}

void arena_free(struct arena *arena)
{
    if (!arena)
        return;
    blocks_free(arena->full);
    blocks_free(arena->open);
    blocks_free(arena->spare);
    free(arena);
}

static void keep_or_free(struct arena *arena, struct block *block)
{
    if (block->size != BLOCK_SIZE || arena->spare_count >= BLOCKS_KEPT) {
        free(block);
        return;
    }
    ASAN_POISON_MEMORY_REGION(block->octets, block->size);
    block->used = 0;
    block->next = arena->spare;
    arena->spare = block;
    arena->spare_count++;
}

void arena_reset(struct arena *arena)
{
    struct block *block = arena->full;
    while (block) {
        struct block *next = block->next;
        keep_or_free(arena, block);
        block = next;
    }
    if (arena->open)
        keep_or_free(arena, arena->open);
    arena->full = NULL;
    arena->open = NULL;
}

static void push_full(struct arena *arena, struct block *block)
{
    block->next = arena->full;
    arena->full = block;
}

static void open_next(struct arena *arena)
{
    if (arena->open)
        push_full(arena, arena->open);
    arena->open = arena->spare;
    if (!arena->open) {
        arena->open = block_new(BLOCK_SIZE);
        return;
    }
    arena->spare = arena->open->next;
    arena->spare_count--;
    arena->open->next = NULL;
}

static size_t rounded(size_t size)
{
    size_t step = alignof(max_align_t);
    if (size > PTRDIFF_MAX - step)
        out_of_memory();
    return (size + step - 1) / step * step;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
    size_t asked = product(count, size);
    size_t need = rounded(asked);
    struct block *block;
    if (need > BLOCK_SIZE / 4) {
        block = block_new(need);
        push_full(arena, block);
    } else {
        if (!arena->open || arena->open->size - arena->open->used < need)
            open_next(arena);
        block = arena->open;
    }
    void *made = block->octets + block->used;
    ASAN_UNPOISON_MEMORY_REGION(made, asked);
    block->used += need;
    return memset(made, 0, asked);
}

void *arena_grow(struct arena *arena, const void *array, size_t *capacity, size_t need, size_t size)
{
    size_t held = *capacity;
    size_t wanted = held ? held : GROW_START;
    while (wanted < need)
        if (__builtin_add_overflow(wanted, wanted, &wanted))
            out_of_memory();
    void *made = arena_alloc(arena, wanted, size);
    if (held)
        memcpy(made, array, held * size);
    *capacity = wanted;
    return made;
}

char *arena_copy_text(struct arena *arena, const char *text)
{
    return arena_copy(arena, text, strlen(text));
}

char *arena_copy(struct arena *arena, const void *at, size_t len)
{
    if (len >= PTRDIFF_MAX)
        out_of_memory();
    char *made = arena_alloc(arena, len + 1, 1);
    if (len)
        memcpy(made, at, len);
    return made;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    AUTO_BUFFER made = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&made, format, args);
    va_end(args);
    return arena_copy(arena, made.at, made.len);
}
