#pragma once

#include "store/folder/inside.h"

// Handles the documents of the file that is being read (folder->pass.file), one by one: a document
// creates or changes an object, leaves it as it is, or is refused; the object of a refused one
// stays as its last good document defined it. Where what is needed for that cannot be read or kept,
// the object stays as it is, and the file is read again a second later.

// A document_call; `context` is the folder.
void ingest_document(void *context, struct arena *arena, struct document *document);
// Refuses a document for which no object is kept or, with NULL, the file as a whole. The fault is
// reported, and stands in the status file: of the first 100 of a file, and a count of the others.
void ingest_broken(struct folder *folder, struct arena *arena, const struct document *document,
                   const char *fault);
// Called after the last document: removes from the status file what ingest_broken() put there at
// earlier readings and not at this one.
void ingest_end(struct folder *folder, uint32_t file);
