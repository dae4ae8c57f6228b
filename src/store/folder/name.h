#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "store/object.h"

// File names that the folder store reads and writes, and keys of objects in its own files.

// Manifests are `*.yaml`, `*.yml` and `*.json`, unless their name begins with "." or "#" or ends in
// "~", ".tmp" or ".swp". `name` has no folder in front.
bool name_is_skipped(const char *name);
bool name_is_manifest(const char *name);
// "web.yaml.status", the status file of "web.yaml".
bool name_is_status(const char *name);
// The path of the manifest whose status file that is. The caller frees it.
char *name_copy_manifest(const char *status);

// Is that the path of an owned object's file? Those are read like manifests of users, but lie below
// the state folder.
#define NAME_CHILDREN ".signpost/children"
bool name_is_child(const char *path);

// Is that the path of a manifest below the folder, as a scan would find it, with no way out of the
// folder? Paths that earlier runs stored must pass this check.
bool name_is_path(struct text path);

// "Thing.example.org shop/www", "Secret shop/www", "Place.example.org home": an object's name in
// status files and state.
void name_write_key(struct buffer *out, const struct object_ref_key *key);
// Documents of a status file that give no object are numbered: "broken 1".
#define NAME_BROKEN "broken "
// The same from a document's texts, for kinds that are not served. False when a part is missing or
// holds what no name can hold.
bool name_write_key_of(struct buffer *out, struct text api_version, struct text kind,
                       struct text namespace_, struct text name);
// May it stand in a key: 1 to `max` octets of A-Z, a-z, 0-9, "-", "."?
bool name_is_plain(struct text text, size_t max);
