#include "base/memory.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/must.h"

// Runs `step` in a child and returns how it ended; what it said on stderr goes to `said`.
static int run_apart(void (*step)(void), char *said, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        step();
        _exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    ssize_t got;
    while (len < size - 1 && (got = read(ends[0], said + len, size - 1 - len)) > 0)
        len += (size_t)got;
    said[len] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void ask_for_too_much(void)
{
    volatile size_t count = SIZE_MAX / 2;
    free(mem_new(count, 3));
}

static void break_a_promise(void)
{
    volatile int count = 0;
    must(count > 0);
}

static void overflowing_size_ends_the_process_with_one_line(void **state)
{
    (void)state;
    char said[256];
    int status = run_apart(ask_for_too_much, said, sizeof said);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(said, "signpost: out of memory\n");
}

static void broken_must_names_condition_and_place(void **state)
{
    (void)state;
    char said[256];
    int status = run_apart(break_a_promise, said, sizeof said);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(said, "must(count > 0) failed at "));
    assert_non_null(strstr(said, "test_memory.c:"));
}

static void new_memory_is_zeroed(void **state)
{
    (void)state;
    autofree char *made = mem_new_array(char, 300);
    for (size_t i = 0; i < 300; i++)
        assert_int_equal(made[i], 0);
    autofree void *nothing = mem_new(0, 8);
    assert_non_null(nothing);
}

static void reserve_doubles_from_eight(void **state)
{
    (void)state;
    autofree int *numbers = NULL;
    size_t capacity = 0;
    mem_reserve(&numbers, &capacity, 1);
    assert_int_equal(capacity, 8);
    int *before = numbers;
    mem_reserve(&numbers, &capacity, 8);
    assert_ptr_equal(numbers, before);
    mem_reserve(&numbers, &capacity, 33);
    assert_int_equal(capacity, 64);
    numbers[63] = 1;
}

static void stolen_owner_is_left_null(void **state)
{
    (void)state;
    autofree char *copy = mem_copy_text("zone");
    autofree char *taken = steal(copy);
    assert_null(copy);
    assert_string_equal(taken, "zone");
}

static void copy_holds_the_same_octets(void **state)
{
    (void)state;
    autofree char *copy = mem_copy("a\0b", 3);
    assert_memory_equal(copy, "a\0b", 3);
    autofree void *nothing = mem_copy(NULL, 0);
    assert_non_null(nothing);
}

static void arena_memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    for (int turn = 0; turn < 2; turn++) {
        for (size_t size = 1; size < 9000; size = size * 3 + 1) {
            char *made = arena_alloc(arena, 1, size);
            assert_int_equal((uintptr_t)made % _Alignof(max_align_t), 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(made[i], 0);
            memset(made, 0xff, size);
        }
        arena_reset(arena);
    }
}

static void reset_arena_hands_out_its_blocks_again(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    void *first = arena_alloc(arena, 1, 64);
    arena_reset(arena);
    assert_ptr_equal(arena_alloc(arena, 1, 64), first);
}

static void many_small_pieces_do_not_overlap(void **state)
{
    (void)state;
    enum { PIECES = 5000 };
    CLEANUP(arena) struct arena *arena = arena_new();
    autofree uint32_t **pieces = mem_new_array(uint32_t *, PIECES);
    for (uint32_t i = 0; i < PIECES; i++) {
        pieces[i] = arena_new_array(arena, uint32_t, 1 + i % 50);
        pieces[i][0] = i;
        pieces[i][i % 50] = i;
    }
    for (uint32_t i = 0; i < PIECES; i++)
        assert_true(pieces[i][0] == i && pieces[i][i % 50] == i);
}

static void big_piece_leaves_the_open_block_in_use(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    char *a = arena_alloc(arena, 1, 16);
    char *big = arena_alloc(arena, 1, 1 << 20);
    char *b = arena_alloc(arena, 1, 16);
    big[(1 << 20) - 1] = 1;
    assert_ptr_equal(b, a + 16);
}

static void array_in_an_arena_keeps_what_it_holds_and_zeroes_what_it_gains(void **state)
{
    (void)state;
    enum { ITEMS = 5000 };
    CLEANUP(arena) struct arena *arena = arena_new();
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < ITEMS; i++) {
        memset(arena_alloc(arena, 1, 24), 0xff, 24);
        arena_reserve(arena, &items, &capacity, i + 1);
        assert_true(capacity > i);
        assert_int_equal(items[i], 0);
        items[i] = i + 1;
    }
    for (uint32_t i = 0; i < ITEMS; i++)
        assert_int_equal(items[i], i + 1);
    const uint32_t *before = items;
    arena_reserve(arena, &items, &capacity, capacity);
    assert_ptr_equal(items, before);
    arena_reserve(arena, &items, &capacity, 3 * ITEMS);
    assert_true(capacity >= 3 * ITEMS && items[ITEMS - 1] == ITEMS);
}

static void arena_texts_are_terminated(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    assert_string_equal(arena_copy_text(arena, "example.org."), "example.org.");
    assert_string_equal(arena_copy(arena, "abcdef", 3), "abc");
    assert_string_equal(arena_copy(arena, NULL, 0), "");
    assert_string_equal(arena_printf(arena, "%s/%d", "shop", 7), "shop/7");
    const char *wide = arena_printf(arena, "%20000d", 1);
    assert_int_equal(strlen(wide), 20000);
}

static void only_a_large_array_is_let_go(void **state)
{
    (void)state;
    size_t capacity = 0;
    int *numbers = NULL;
    mem_reserve(&numbers, &capacity, 100);
    int *small = numbers;
    mem_relax(&numbers, &capacity);
    assert_ptr_equal(numbers, small);
    mem_reserve(&numbers, &capacity, 100000);
    mem_relax(&numbers, &capacity);
    assert_null(numbers);
    assert_int_equal(capacity, 0);
}

static void populated_memory_keeps_what_it_holds(void **state)
{
    (void)state;
    enum { OCTETS = 64 * 1024 };
    char *at = mem_new_aligned(OCTETS);
    memset(at, 'x', OCTETS / 2);
    mem_populate(at, OCTETS);
    mem_populate(at + 1, 100); // a hint that nobody can take
    for (size_t i = 0; i < OCTETS / 2; i++)
        assert_int_equal(at[i], 'x');
    free(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overflowing_size_ends_the_process_with_one_line),
        cmocka_unit_test(broken_must_names_condition_and_place),
        cmocka_unit_test(new_memory_is_zeroed),
        cmocka_unit_test(reserve_doubles_from_eight),
        cmocka_unit_test(stolen_owner_is_left_null),
        cmocka_unit_test(copy_holds_the_same_octets),
        cmocka_unit_test(arena_memory_is_zeroed_and_aligned),
        cmocka_unit_test(reset_arena_hands_out_its_blocks_again),
        cmocka_unit_test(many_small_pieces_do_not_overlap),
        cmocka_unit_test(big_piece_leaves_the_open_block_in_use),
        cmocka_unit_test(only_a_large_array_is_let_go),
        cmocka_unit_test(array_in_an_arena_keeps_what_it_holds_and_zeroes_what_it_gains),
        cmocka_unit_test(arena_texts_are_terminated),
        cmocka_unit_test(populated_memory_keeps_what_it_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
