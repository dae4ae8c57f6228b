#pragma once

#include "store/folder/inside.h"

// Temporary files of writes that were killed. Who leads writes alone, and nothing of its own is
// half written while it looks: so those that bear a name of ours are of nobody, and go. Some of
// them hold secrets.

// In a folder with manifests: those of status files.
void leftovers_remove(const struct folder *folder, const char *path);
// All in a folder that is ours alone, and in those below.
void leftovers_remove_all(const struct folder *folder, const char *path);
