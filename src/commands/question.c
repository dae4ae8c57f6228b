#include "commands/question.h"

bool question_is_same(const struct name_question *a, const struct name_question *b)
{
    return a->type == b->type && text_equal(a->name, b->name);
}

bool question_wants_same(const struct name_question *a, const struct name_question *b)
{
    if (question_is_of_one(a) || question_is_of_one(b))
        return question_is_of_one(a) == question_is_of_one(b) && text_equal(a->rdata, b->rdata);
    struct record_set set = a->set;
    set.ttl_s = b->set.ttl_s;
    return record_set_equal(&set, &b->set);
}

static struct text copy_text(struct arena *arena, struct text text)
{
    return (struct text){text.at ? arena_copy(arena, text.at, text.len) : NULL, text.len};
}

struct name_question question_copy(struct arena *arena, const struct name_question *question)
{
    struct name_question copy = *question;
    copy.name = copy_text(arena, question->name);
    copy.rdata = copy_text(arena, question->rdata);
    if (!question_is_of_one(question))
        copy.set = record_set_copy(arena, &question->set);
    return copy;
}
