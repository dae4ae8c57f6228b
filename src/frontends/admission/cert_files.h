#pragma once

#include "base/error.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/text.h"
#include "store/store.h"

// tls.crt and tls.key of a folder, for who brings certificates of their own (cert-manager, a
// mounted Secret). Looked at when inotify says that something changed and every 10 s. What cannot
// be read or does not belong together is left aside until it does; the pair before stays in use.

struct cert_files_options {
    struct log *log; // may be NULL
    const char *folder;
    // Takes a pair over for new connections; false: it does not belong together.
    bool (*use)(void *context, struct text certificate_pem, const struct secret *key_pem,
                struct error *err);
    void *context;
};

struct cert_files;
struct loop;
// Looks at once; never fails, as files may come later.
struct cert_files *cert_files_new(struct loop *loop, const struct cert_files_options *options);
void cert_files_free(struct cert_files *files);
void cert_files_look(struct cert_files *files); // now (SIGHUP)
// "webhook-certificate": ok as soon as a pair is in use, else what is wrong with the files.
struct store_check cert_files_check(const struct cert_files *files);
