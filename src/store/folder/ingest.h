#pragma once

#include "store/folder/inside.h"

// Handles one document of the file that is being read (folder->pass): the document creates or
// changes an object, leaves it as it is, or is refused.

// A document_call; `context` is the folder.
void ingest_document(void *context, struct arena *arena, struct document *document);
// Handles a document that defines no object or, with NULL, a file that does not. The status file
// gets the reason.
void ingest_broken(struct folder *folder, struct arena *arena, const struct document *document,
                   const char *fault);
// Called after the last document: removes from the status file what is about documents that are no
// longer there.
void ingest_end(struct folder *folder, uint32_t file);
