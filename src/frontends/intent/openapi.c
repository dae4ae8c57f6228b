#include "frontends/intent/openapi.h"

#include "frontends/intent/route.h"

struct value *openapi_document(struct arena *arena)
{
    struct value *document = value_make(arena, VALUE_MAP);
    value_put_text(arena, document, "openapi", "3.0.2");
    return document;
}
