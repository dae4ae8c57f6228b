#pragma once

// For tests: an arena for each of them. Comes behind cmocka.h.

#include "base/memory.h"

static struct arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
