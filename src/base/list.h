#pragma once

#include <stddef.h>

#include "base/must.h"

// A doubly linked list of things that carry their own `struct link link`: nothing is allocated, and
// a thing is taken out without being searched for. A list of zeroes is empty. It owns nothing: who
// frees a thing takes it out first. A thing is in one list at most.
//
//     struct call { struct link link; ... };
//     LIST_OF(struct call) calls;
//
//     list_append(&net->calls, call);
//     list_each (call, &net->calls)
//         call_cancel(call);

struct link {
    struct link *previous;
    struct link *next;
};
struct list {
    struct link *first;
    struct link *last;
};

// A list of things of one type. `thing` is never set: it lets the compiler know the type.
#define LIST_OF(type)                                                                              \
    union {                                                                                        \
        struct list list;                                                                          \
        type *thing;                                                                               \
    }

#define list_is_empty(head) (!(head)->list.first)
// NULL: there is none.
#define list_first(head) LIST_THING_((head)->thing, list_first_(&(head)->list))
#define list_next(at) LIST_THING_(at, (at)->link.next)
#define list_append(head, at) list_insert_(&(head)->list, &LIST_SAME_(head, at)->link, NULL)
#define list_prepend(head, at)                                                                     \
    list_insert_(&(head)->list, &LIST_SAME_(head, at)->link, list_first_(&(head)->list))
// It must be in that very list.
#define list_remove(head, at) list_remove_(&(head)->list, &LIST_SAME_(head, at)->link)
// The first, no longer in the list; NULL: it is empty.
#define list_take_first(head) LIST_THING_((head)->thing, list_take_first_(&(head)->list))
// In order. The body may take out and free what it is given, and nothing else of the list.
#define list_each(at, head)                                                                        \
    for (__typeof__(*(head)->thing) *at = list_first(head),                                        \
                                    *at##_next = at ? list_next(at) : NULL;                        \
         at; at = at##_next, at##_next = at ? list_next(at) : NULL)

// ---- what the macros stand on -------------------------------------------------------------------

#define LIST_THING_(at, link_)                                                                     \
    ((__typeof__(*(at)) *)list_thing_(link_, offsetof(__typeof__(*(at)), link)))
// `at`, which must be of the list's type.
#define LIST_SAME_(head, at) (1 ? (at) : (head)->thing)

#ifdef __clang_analyzer__

// Clang's analyzer cannot know that a thing is in the list of the owner that it points back to. So
// to it a list is what these functions say.
struct link *list_first_(const struct list *list);
struct link *list_take_first_(struct list *list);
void list_insert_(struct list *list, struct link *link, struct link *next);
void list_remove_(struct list *list, struct link *link);
static inline void *list_thing_(struct link *link, size_t offset)
{
    return (char *)link - offset;
}

#else

static inline void *list_thing_(struct link *link, size_t offset)
{
    return link ? (char *)link - offset : NULL;
}

static inline struct link *list_first_(const struct list *list)
{
    must(!list->first || !list->first->previous);
    return list->first;
}

// Before `next`, or at the end.
static inline void list_insert_(struct list *list, struct link *link, struct link *next)
{
    struct link *previous = next ? next->previous : list->last;
    *link = (struct link){previous, next};
    *(previous ? &previous->next : &list->first) = link;
    *(next ? &next->previous : &list->last) = link;
}

static inline void list_remove_(struct list *list, struct link *link)
{
    must((link == list->first) == !link->previous && (link == list->last) == !link->next);
    must(!link->previous || link->previous->next == link);
    *(link->previous ? &link->previous->next : &list->first) = link->next;
    *(link->next ? &link->next->previous : &list->last) = link->previous;
    *link = (struct link){0};
}

static inline struct link *list_take_first_(struct list *list)
{
    struct link *first = list_first_(list);
    if (first)
        list_remove_(list, first);
    return first;
}

#endif
