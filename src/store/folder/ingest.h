#pragma once

#include "store/folder/inside.h"

// One document of the file that is being read (folder->pass): it becomes, changes or keeps an
// object, or is refused.

// `context` is the folder: a document_call.
void ingest_document(void *context, struct arena *arena, struct document *document);
// A document that gives no object, or (NULL) a file that gives none: the status file says why.
void ingest_broken(struct folder *folder, struct arena *arena, const struct document *document,
                   const char *fault);
// Behind the last document: what the status file says of documents that are no more goes.
void ingest_end(struct folder *folder, uint32_t file);
