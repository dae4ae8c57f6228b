#pragma once

#include "base/value.h"

// The API's description in OpenAPI 3.0.2, made of the tables of routes and kinds.
struct value *openapi_document(struct arena *arena);
