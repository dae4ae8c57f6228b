#pragma once

#include "io/disk.h"
#include "io/dnsnet.h"
#include "io/http.h"
#include "io/loop.h"
#include "io/random.h"

struct local;

// Everything that comes from outside, handed in at one place. The product fills it with the real
// things, a scenario with the virtual ones. Borrowed by whoever gets it.
struct world {
    struct loop *loop;
    struct http *http;
    struct dnsnet *dns;
    struct disk *disk;
    struct local *local; // files and processes: io/local.h
    struct random *random;
};
