#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "providers/webhook/body.h"

// Strings from standard input, each behind its length (4 octets, big endian), as JSON in the same
// form: for tests/go/escape.

enum { STRING_OCTETS_MAX = 1 << 20 };

static bool read_length(size_t *out)
{
    uint8_t head[4];
    if (fread(head, 1, sizeof head, stdin) != sizeof head)
        return false;
    *out = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    return *out <= STRING_OCTETS_MAX;
}

static void write_length(size_t len)
{
    const uint8_t head[4] = {(uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                             (uint8_t)len};
    fwrite(head, 1, sizeof head, stdout);
}

int main(void)
{
    size_t len;
    AUTO_BUFFER out = {0};
    autofree char *octets = mem_new_array(char, STRING_OCTETS_MAX);
    while (read_length(&len)) {
        if (fread(octets, 1, len, stdin) != len)
            return 1;
        buffer_clear(&out);
        body_write_string(&out, (struct text){octets, len});
        write_length(out.len);
        fwrite(out.at, 1, out.len, stdout);
    }
    return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
