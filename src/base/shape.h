#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/value.h"

// A shape is the table of a struct's members, by which the struct is written as a tree of values
// and read back. A member that is 0, false, NULL or empty is left out of the tree; one that is not
// in the tree is read as that. So a struct that was read back equals the one that was written, as
// far as its shape names it.
//
//     static const struct shape_member members[] = {
//         SHAPE(struct address, SHAPE_TEXT, host),
//         SHAPE(struct address, SHAPE_INT, port),
//     };
//     static const struct shape address_shape = SHAPE_OF(struct address, members);

enum shape_type {
    SHAPE_BOOL,     // bool
    SHAPE_INT,      // int or int32_t
    SHAPE_ENUM,     // an enum of 0 to `max`
    SHAPE_UNSIGNED, // unsigned or uint32_t
    SHAPE_INT64,    // int64_t
    SHAPE_UINT64,   // uint64_t or size_t
    SHAPE_CHARS,    // char[size]: a text that ends with NUL
    SHAPE_OCTETS,   // uint8_t[size], as hexadecimal digits
    SHAPE_STRING,   // const char *
    SHAPE_STRINGS,  // const char *const *, with their number in another member
    SHAPE_TEXT,     // struct text; an empty one and one that is absent are told apart
    SHAPE_TEXTS,    // const struct text *, with their number in another member
    SHAPE_VALUE,    // const struct value *
    SHAPE_STRUCT,   // a struct
    SHAPE_POINTER,  // a pointer to a struct, or NULL
    SHAPE_ARRAY,    // an array of structs within the struct, with their number in another member
    SHAPE_LIST,     // a pointer to an array of structs, with their number in another member
    SHAPE_POINTERS, // a pointer to an array of pointers to structs, some of them NULL, likewise
    SHAPE_OTHER,    // what only its own functions can write and read
    SHAPE_OTHERS,   // a pointer to an array of pointers of that sort, with their number likewise
};

// How a member is written that has no type above. `context` is the caller's.
struct shape_other {
    // NULL: it is left out.
    struct value *(*write)(void *context, struct arena *arena, const void *member);
    bool (*read)(void *context, struct arena *arena, const struct value *value, void *member,
                 struct error *err); // NULL: it is only written
};

struct shape;
struct shape_member {
    const char *name; // in the tree
    enum shape_type type;
    size_t offset;
    bool is_needed;                  // a tree without it is refused
    int64_t max;                     // ENUM
    size_t size;                     // CHARS, OCTETS, ARRAY: of the member
    size_t count_offset;             // of the size_t that counts
    const struct shape *shape;       // of the structs
    const struct shape_other *other; // OTHER, OTHERS
};
struct shape {
    const struct shape_member *members;
    size_t count;
    size_t size; // of the struct
};

#define SHAPE_SIZE_OF(type, member) sizeof(((type *)NULL)->member)
#define SHAPE(of, kind_, member)                                                                   \
    {                                                                                              \
        .name = #member, .type = (kind_), .offset = offsetof(of, member),                          \
        .size = SHAPE_SIZE_OF(of, member)                                                          \
    }
#define SHAPE_NEEDED(of, kind_, member)                                                            \
    {                                                                                              \
        .name = #member, .type = (kind_), .is_needed = true, .offset = offsetof(of, member),       \
        .size = SHAPE_SIZE_OF(of, member)                                                          \
    }
#define SHAPE_NAMED(of, kind_, member, name_)                                                      \
    {                                                                                              \
        .name = (name_), .type = (kind_), .offset = offsetof(of, member)                           \
    }
#define SHAPE_CHOICE(of, member, last)                                                             \
    {                                                                                              \
        .name = #member, .type = SHAPE_ENUM, .offset = offsetof(of, member), .max = (last)         \
    }
#define SHAPE_COUNTED(of, kind_, member, count)                                                    \
    {                                                                                              \
        .name = #member, .type = (kind_), .offset = offsetof(of, member),                          \
        .count_offset = offsetof(of, count)                                                        \
    }
#define SHAPE_NESTED(of, kind_, member, its)                                                       \
    {                                                                                              \
        .name = #member, .type = (kind_), .offset = offsetof(of, member), .shape = (its)           \
    }
#define SHAPE_NESTED_COUNTED(of, kind_, member, count, its)                                        \
    {                                                                                              \
        .name = #member, .type = (kind_), .offset = offsetof(of, member),                          \
        .size = SHAPE_SIZE_OF(of, member), .count_offset = offsetof(of, count), .shape = (its)     \
    }
#define SHAPE_BY(of, member, how)                                                                  \
    {                                                                                              \
        .name = #member, .type = SHAPE_OTHER, .offset = offsetof(of, member), .other = (how)       \
    }
#define SHAPE_COUNTED_BY(of, member, count, how)                                                   \
    {                                                                                              \
        .name = #member, .type = SHAPE_OTHERS, .offset = offsetof(of, member),                     \
        .count_offset = offsetof(of, count), .other = (how)                                        \
    }
#define SHAPE_OF(of, list)                                                                         \
    {                                                                                              \
        .members = (list), .count = COUNT_OF(list), .size = sizeof(of)                             \
    }

// A map of the members. Texts that the struct points to are borrowed, those within it are copied.
struct value *shape_write(void *context, struct arena *arena, const struct shape *shape,
                          const void *at);
// Fills the whole struct; what it points to lives in the arena, or is borrowed from the tree. False
// with fault SPEC: a member of the tree is missing, or none that the shape allows.
bool shape_read(void *context, struct arena *arena, const struct shape *shape,
                const struct value *tree, void *at, struct error *err);

// These two write and read an array that is no member of a struct.
struct value *shape_write_list(void *context, struct arena *arena, const struct shape *shape,
                               const void *items, size_t count);
bool shape_read_list(void *context, struct arena *arena, const struct shape *shape,
                     const struct value *list, const void **items, size_t *count,
                     struct error *err);
