#include "commands/pihole/pihole_settings.h"

#include <stdlib.h>
#include <string.h>

#include "commands/credentials.h"
#include "io/disk.h"

enum {
    FILE_OCTETS_MAX = 1 << 20,
};

const struct option pihole_options[PIHOLE_OPTION_COUNT] = {
    {.name = "pihole-url",
     .variable = "PIHOLE_URL",
     .type = OPTION_TEXT,
     .placeholder = "URL",
     .doc = "A Pi-hole that names of Ingresses and routes are kept in, called default; the "
            "controller ingress "
            "runs then. Its token is in PIHOLE_API_TOKEN or PIHOLE_PASSWORD, or in the file that "
            "PIHOLE_API_TOKEN_FILE or PIHOLE_PASSWORD_FILE names, which is read again when it "
            "changes; no flag takes it."},
    {.name = "pihole-targets",
     .variable = "PIHOLE_TARGETS",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc =
         "YAML file with any number of Pi-holes: a list targets of name, url, tokenFile, "
         "tokenEnv or noPassword, targetIPs, namespaces, dialect, ownership, write, tls. Paths are "
         "relative to it; what an entry leaves out is as the other options say."},
    {.name = "pihole-no-password",
     .variable = "PIHOLE_NO_PASSWORD",
     .type = OPTION_FLAG,
     .fallback = "false",
     .doc = "Pi-hole has no password: no token is needed."},
    {.name = "default-target-ip",
     .variable = "DEFAULT_TARGET_IP",
     .type = OPTION_LIST,
     .placeholder = "ADDRESSES",
     .doc = "Addresses, of IPv4 and IPv6, that names get whose object says nothing else; or "
            "status: those of the object's load balancer."},
    {.name = "pihole-dialect",
     .variable = "PIHOLE_DIALECT",
     .type = OPTION_CHOICE,
     .fallback = "auto",
     .choices = pihole_dialects,
     .doc = "The API of Pi-hole 6, the one of before, or whichever answers."},
    {.name = "pihole-ownership",
     .variable = "PIHOLE_OWNERSHIP",
     .type = OPTION_CHOICE,
     .fallback = "comment",
     .choices = pihole_ownerships,
     .doc = "How our entries are known: by a comment in each, or by annotation and ledger alone."},
    {.name = "pihole-adopt",
     .variable = "PIHOLE_ADOPT",
     .type = OPTION_CHOICE,
     .fallback = "managed",
     .choices = (const char *const[]){"managed", "none", NULL},
     .doc = "At the first sync, entries that an earlier operator made for the names in "
            "pihole.io/managed-hosts become ours, or none do."},
    {.name = "pihole-write",
     .variable = "PIHOLE_WRITE",
     .type = OPTION_CHOICE,
     .fallback = "auto",
     .choices = pihole_writes,
     .doc = "Whole lists at once, entry by entry, or as suits the change."},
    {.name = "pihole-verify-seconds",
     .variable = "PIHOLE_VERIFY_SECONDS",
     .type = OPTION_INT,
     .fallback = "60",
     .placeholder = "N",
     .min = 5,
     .max = 900,
     .doc = "How often the lists are read again, and repaired."},
    {.name = "pihole-restart-min-seconds",
     .variable = "PIHOLE_RESTART_MIN_SECONDS",
     .type = OPTION_INT,
     .fallback = "10",
     .placeholder = "N",
     .min = 0,
     .max = 3600,
     .doc = "Least time between two changes that restart the resolver."},
    {.name = "pihole-max-delete-percent",
     .variable = "PIHOLE_MAX_DELETE_PERCENT",
     .type = OPTION_INT,
     .fallback = "30",
     .placeholder = "N",
     .min = 1,
     .max = 100,
     .doc = "Removals that nobody was seen to ask for are held when they are 10 or more and more "
            "than this share of our entries; 100: never."},
    {.name = "pihole-finalizer",
     .variable = "PIHOLE_FINALIZER",
     .type = OPTION_FLAG,
     .fallback = "false",
     .doc = "Objects wait with their deletion until their names are gone."},
    {.name = "pihole-tls-ca-file",
     .variable = "PIHOLE_TLS_CA_FILE",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "Certificates that a Pi-hole with https is checked by; those of the system when not "
            "given. Read again when the file changes."},
    {.name = "pihole-tls-server-name",
     .variable = "PIHOLE_TLS_SERVER_NAME",
     .type = OPTION_TEXT,
     .placeholder = "NAME",
     .doc = "Name in its certificate (pi.hole in its own one); the URL's host when not given."},
    {.name = "pihole-tls-pin",
     .variable = "PIHOLE_TLS_PIN",
     .type = OPTION_TEXT,
     .placeholder = "PIN",
     .doc = "sha256//BASE64: the key that it must have, whatever its certificate says; or learn: "
            "the first that it shows."},
    {.name = "pihole-tls-skip-verify",
     .variable = "PIHOLE_TLS_SKIP_VERIFY",
     .type = OPTION_FLAG,
     .fallback = "false",
     .doc = "Believe any certificate."},
};

// All that are given must say the same.
static const char *const token_variables[] = {"PIHOLE_API_TOKEN", "PIHOLE_PASSWORD",
                                              "PIHOLE_API_TOKEN_FILE", "PIHOLE_PASSWORD_FILE"};

// What the variables say of the way to log in.
struct login {
    const char *variable; // the first that is given; NULL: none
    const char *file;     // followed as it changes; NULL: it stands in the variable
    struct secret *secret;
};

static bool is_file_variable(const char *variable)
{
    return text_ends(text_of(variable), "_FILE");
}

static struct secret *read_variable(const char *variable, const char *value, struct error *err)
{
    struct secret *secret =
        is_file_variable(variable) ? token_read(value, err) : token_make(text_of(value), err);
    if (!secret)
        error_prefix(err, "%s: ", variable);
    return secret;
}

static bool take_variable(struct login *login, const char *variable, const char *value,
                          struct error *err)
{
    struct secret *secret = read_variable(variable, value, err);
    if (!secret)
        return false;
    bool is_same = !login->secret || secret_equal(login->secret, secret);
    secret_unref(login->secret);
    login->secret = secret;
    if (!is_same)
        return error_set(err, FAULT_SPEC, "",
                         "%s and %s mean the same, and are different: keep one of them",
                         login->variable, variable);
    if (!login->variable)
        login->variable = variable;
    if (is_file_variable(variable) && !login->file)
        login->file = value;
    return true;
}

static bool read_login(struct login *login, struct error *err)
{
    for (size_t i = 0; i < COUNT_OF(token_variables); i++) {
        const char *value = getenv(token_variables[i]);
        if (value && *value && !take_variable(login, token_variables[i], value, err))
            return false;
    }
    return true;
}

// ---- the settings -------------------------------------------------------------------------------

struct reader {
    const struct invocation *invocation;
    struct arena *arena;
    bool is_check;
    struct login login;
    struct pihole_target own; // of the variables
    struct pihole_targets *targets;
    char *folder;      // of the file with the targets
    size_t held_count; // targets whose secret is held
};

static void read_numbers(struct reader *reader)
{
    const struct invocation *invocation = reader->invocation;
    struct pihole_targets *targets = reader->targets;
    targets->adopts = !strcmp(option_text(invocation, "pihole-adopt"), "managed");
    targets->has_finalizer = option_flag(invocation, "pihole-finalizer");
    targets->max_delete_percent = option_int(invocation, "pihole-max-delete-percent");
    targets->verify_s = option_int(invocation, "pihole-verify-seconds");
    targets->restart_min_s = option_int(invocation, "pihole-restart-min-seconds");
}

static bool read_addresses(struct reader *reader, struct error *err)
{
    const char *given = option_text(reader->invocation, "default-target-ip");
    return !given ||
           pihole_addresses_read(reader->arena, text_of(given), &reader->targets->addresses, err) ||
           option_blame(reader->invocation, "default-target-ip", given, err);
}

static bool read_own(struct reader *reader, struct error *err)
{
    const struct invocation *invocation = reader->invocation;
    const char *pin = option_text(invocation, "pihole-tls-pin");
    reader->own = (struct pihole_target){
        .name = "default",
        .url = option_text(invocation, "pihole-url"),
        .dialect = option_text(invocation, "pihole-dialect"),
        .ownership = option_text(invocation, "pihole-ownership"),
        .write = option_text(invocation, "pihole-write"),
        .ca_file = option_text(invocation, "pihole-tls-ca-file"),
        .server_name = option_text(invocation, "pihole-tls-server-name"),
        .pin = pin,
        .skips_verify = option_flag(invocation, "pihole-tls-skip-verify"),
        .has_no_password = option_flag(invocation, "pihole-no-password"),
    };
    return !pin || pihole_pin_check(text_of(pin), err) ||
           option_blame(invocation, "pihole-tls-pin", pin, err);
}

// One way to log in, of those that are given; a password that is not needed does not count.
static void set_login(struct reader *reader)
{
    struct pihole_target *own = &reader->own;
    if (own->has_no_password)
        return;
    own->token_file = reader->login.file;
    if (!own->token_file)
        own->secret = reader->login.secret;
    if (!own->token_file && !own->secret && reader->is_check)
        own->token_env = token_variables[0];
}

static bool has_login(const struct pihole_target *target)
{
    return target->has_no_password || target->token_file || target->token_env || target->secret;
}

static bool add_own(struct reader *reader, struct error *err)
{
    if (!reader->own.url)
        return true;
    if (!has_login(&reader->own))
        return error_set(err, FAULT_SPEC, "",
                         "PIHOLE_API_TOKEN is not set: give it, or PIHOLE_PASSWORD, or the name of "
                         "a file in PIHOLE_API_TOKEN_FILE, or PIHOLE_NO_PASSWORD=true");
    if (pihole_targets_add(reader->arena, reader->targets, &reader->own, err))
        return true;
    // The value may hold a password, where none belongs.
    return error_prefix(err, "%s: ", option_source(reader->invocation, "pihole-url"));
}

static bool read_document(struct reader *reader, const char *path, struct error *err)
{
    AUTO_BUFFER content = {0};
    struct value *tree = NULL;
    bool has = false;
    if (!disk_read(&content, path, FILE_OCTETS_MAX, err))
        return error_prefix(err, "%s: ", option_source(reader->invocation, "pihole-targets"));
    const char *kept = arena_copy(reader->arena, buffer_text(&content).at, content.len);
    CLEANUP(yaml_reader)
    struct yaml_reader *yaml =
        yaml_reader_new((struct text){kept, content.len}, &value_manifest_limits);
    return (yaml_reader_next(yaml, reader->arena, &tree, &has, err) &&
            pihole_targets_read(reader->arena, has ? tree : NULL, &reader->own, reader->targets,
                                err)) ||
           error_prefix(err, "%s:", path);
}

// Relative to the file that names it; what the variables say is relative to where we run.
static const char *path_of(const struct reader *reader, const char *given, const char *own)
{
    if (!given || given == own || given[0] == '/')
        return given;
    return arena_printf(reader->arena, "%s/%s", reader->folder, given);
}

static bool add_file(struct reader *reader, struct error *err)
{
    const char *path = option_text(reader->invocation, "pihole-targets");
    if (!path)
        return true;
    if (!read_document(reader, path, err))
        return false;
    autofree char *folder = disk_folder_of(path);
    reader->folder = folder;
    for (size_t i = 0; i < reader->targets->count; i++) {
        struct pihole_target *target = &reader->targets->items[i];
        target->token_file = path_of(reader, target->token_file, reader->own.token_file);
        target->ca_file = path_of(reader, target->ca_file, reader->own.ca_file);
    }
    return true;
}

static bool check_addresses(const struct pihole_targets *targets, struct error *err)
{
    const struct pihole_addresses *all = &targets->addresses;
    bool has_default = all->is_status || all->v4_count || all->v6_count;
    for (size_t i = 0; !has_default && i < targets->count; i++) {
        const struct pihole_addresses *its = &targets->items[i].addresses;
        if (!its->is_status && !its->v4_count && !its->v6_count)
            return error_set(err, FAULT_SPEC, "",
                             "DEFAULT_TARGET_IP is not set: give the address that names get, "
                             "several with commas between them, or status");
    }
    return true;
}

static bool read_token(struct pihole_target *target, struct error *err)
{
    if (target->token_file) {
        target->secret = token_read(target->token_file, err);
    } else if (target->token_env) {
        const char *value = getenv(target->token_env);
        target->secret = token_make(text_of(value ? value : ""), err);
        if (!target->secret)
            error_prefix(err, "environment %s: ", target->token_env);
    } else {
        secret_ref(target->secret);
        return true;
    }
    return target->secret || error_prefix(err, "Pi-hole %s: ", target->name);
}

static bool read_files(struct reader *reader, struct error *err)
{
    for (size_t i = 0; !reader->is_check && i < reader->targets->count; i++) {
        struct pihole_target *target = &reader->targets->items[i];
        if (!read_token(target, err))
            return false;
        reader->held_count++;
        if (!target->ca_file)
            continue;
        target->ca = ca_read(reader->arena, target->ca_file, err);
        if (!target->ca)
            return error_prefix(err, "Pi-hole %s: ", target->name);
    }
    return true;
}

static void release(struct pihole_targets *targets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        secret_unref(targets->items[i].secret);
    for (size_t i = 0; i < targets->count; i++)
        targets->items[i].secret = NULL;
}

static bool check_any(const struct pihole_targets *targets, struct error *err)
{
    return targets->count || error_set(err, FAULT_SPEC, "",
                                       "PIHOLE_URL is not set, nor PIHOLE_TARGETS: the controller "
                                       "ingress keeps names in a Pi-hole");
}

bool pihole_settings_load(const struct invocation *invocation, bool is_check,
                          struct pihole_targets *out, struct error *err)
{
    struct reader reader = {
        .invocation = invocation, .arena = invocation->arena, .is_check = is_check, .targets = out};
    read_numbers(&reader);
    bool is_good = (is_check || read_login(&reader.login, err)) && read_addresses(&reader, err) &&
                   read_own(&reader, err);
    if (is_good) {
        set_login(&reader);
        is_good = add_own(&reader, err) && add_file(&reader, err) && check_any(out, err) &&
                  check_addresses(out, err) && read_files(&reader, err);
    }
    secret_unref(reader.login.secret);
    if (!is_good || is_check)
        release(out, reader.held_count);
    return is_good;
}

const char *pihole_idle_setting(const struct invocation *invocation)
{
    for (size_t i = 0; i < COUNT_OF(token_variables); i++) {
        const char *value = getenv(token_variables[i]);
        if (value && *value)
            return token_variables[i];
    }
    for (size_t i = 0; i < COUNT_OF(pihole_options); i++)
        if (option_is_set(invocation, pihole_options[i].name))
            return pihole_options[i].variable;
    return NULL;
}

void pihole_settings_unload(struct pihole_targets *targets)
{
    release(targets, targets->count);
}
