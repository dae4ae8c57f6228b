#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "dns/dname.h"

// How the files of --zone-file-dir are named, and how one that we wrote is known from a stranger's:
// by its name together with its first line, which has the name of its zone as well, so that a copy
// under another name is a stranger's.

// "shop.example.zone"; what no file name may have stands as %XX.
void zone_file_name_write(struct buffer *out, struct dname apex);
// Which zone's file has that name, exactly? Fills `octets`, which *apex points to. False: none's.
bool zone_file_name_read(struct text name, uint8_t octets[DNAME_MAX], struct dname *apex);
// The same of a temporary file that a crash left: ".shop.example.zone.XXXXXX.tmp".
bool zone_file_name_read_temporary(struct text name, uint8_t octets[DNAME_MAX], struct dname *apex);

// The first line: a comment for whoever reads the file.
void zone_file_mark_write(struct buffer *out, struct dname apex);
