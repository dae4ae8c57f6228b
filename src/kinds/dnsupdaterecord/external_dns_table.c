#include "kinds/dnsupdaterecord/external_dns.h"
#include "kinds/dnsupdaterecord/external_dns_private.h"

const char *const external_dns_providers[] = {
    "aws", "aws-sd", "azure", "azure-dns", "azure-private-dns", "coredns", "rfc2136", NULL};

// What JSON may have.
#define TYPES_OF_TEXT (1U << VALUE_TEXT)
#define TYPES_OF_NUMBER (1U << VALUE_INT)
#define TYPES_OF_BOOLEAN (1U << VALUE_BOOL)
#define TYPES_OF_TEXTS (1U << VALUE_TEXT | 1U << VALUE_LIST)
#define TYPES_OF_SWITCH (1U << VALUE_TEXT | 1U << VALUE_BOOL)

#define SAME .since = EXTERNAL_DNS_OLDEST
#define ALWAYS(value) .since = EXTERNAL_DNS_OLDEST, .fallback = (value)
#define SINCE(minor) .since = (minor)
#define RENAMED(minor, flag)                                                                       \
    .since = EXTERNAL_DNS_OLDEST, .renamed_since = (minor), .renamed = (flag)

const struct external_dns_parameter external_dns_parameters[PARAMETERS] = {
#define PARAMETER(id, name_, type_, form_, owners_, traits_, spelling, min_, max_, choices_,       \
                  check_, doc_)                                                                    \
    [PARAMETER_##id] = {.name = (name_),                                                           \
                        .types = TYPES_OF_##type_,                                                 \
                        .form = FORM_##form_,                                                      \
                        .owners = OWNER_##owners_,                                                 \
                        .traits = (traits_),                                                       \
                        .min = (min_),                                                             \
                        .max = (max_),                                                             \
                        .choices = (choices_),                                                     \
                        .check = (check_),                                                         \
                        .doc = (doc_),                                                             \
                        spelling},
#include "kinds/dnsupdaterecord/parameters.def"
#undef PARAMETER
};

// ---- names --------------------------------------------------------------------------------------

static const char prefix[] = "EXTERNAL_DNS_";

static struct text behind(struct text text, size_t len)
{
    return (struct text){text.at + len, text.len - len};
}

const struct external_dns_parameter *external_dns_find(struct text name)
{
    for (size_t i = 0; i < PARAMETERS; i++)
        if (text_is(name, external_dns_parameters[i].name))
            return &external_dns_parameters[i];
    return NULL;
}

const char *external_dns_nearest(struct text wrong)
{
    const char *names[PARAMETERS];
    for (size_t i = 0; i < PARAMETERS; i++)
        names[i] = external_dns_parameters[i].name;
    return text_nearest(wrong, names, PARAMETERS);
}

static const struct external_dns_parameter *find_spelling(struct text flag)
{
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct external_dns_parameter *row = &external_dns_parameters[i];
        if (text_is(flag, row->name) || (row->renamed && text_is(flag, row->renamed)))
            return row;
    }
    return NULL;
}

const struct external_dns_parameter *external_dns_find_flag(struct text flag, bool *is_negated)
{
    bool is_no = text_starts(flag, "no-");
    const struct external_dns_parameter *row =
        find_spelling(is_no ? behind(flag, strlen("no-")) : flag);
    if (is_no && row && row->form != FORM_FLAG)
        return NULL;
    if (is_negated)
        *is_negated = is_no;
    return row;
}

const struct external_dns_parameter *external_dns_find_variable(struct text variable)
{
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct external_dns_parameter *row = &external_dns_parameters[i];
        AUTO_BUFFER name = {0};
        AUTO_BUFFER renamed = {0};
        external_dns_variable_write(&name, text_of(row->name));
        external_dns_variable_write(&renamed, text_of(row->renamed ? row->renamed : row->name));
        if (text_is(variable, name.at) || text_is(variable, renamed.at))
            return row;
    }
    return NULL;
}

void external_dns_variable_write(struct buffer *out, struct text flag)
{
    buffer_add_text(out, prefix);
    for (size_t i = 0; i < flag.len; i++) {
        char c = flag.at[i];
        buffer_add_char(out, c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c == '-' ? '_' : c);
    }
}

// ---- what a flag is -----------------------------------------------------------------------------

const char *external_dns_flag(const struct external_dns_parameter *row, unsigned minor)
{
    if (minor < row->since)
        return NULL;
    return row->renamed_since && minor >= row->renamed_since ? row->renamed : row->name;
}

bool external_dns_is_used(const struct external_dns_parameter *row,
                          enum external_dns_provider provider)
{
    if (row->form == FORM_IGNORED)
        return false;
    return !(row->traits & TRAIT_RFC2136) || provider == EXTERNAL_DNS_RFC2136;
}

bool external_dns_is_place(struct text flag)
{
    const struct external_dns_parameter *row = external_dns_find_flag(flag, NULL);
    return row ? row->traits & TRAIT_PLACE : text_is(flag, "provider");
}

bool external_dns_is_secret_flag(struct text flag)
{
    static const char *const words[] = {"secret",  "password", "token",
                                        "aes-key", "api-key",  "apikey"};
    const struct external_dns_parameter *row = find_spelling(flag);
    if (row)
        return row->form == FORM_SECRET;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (memmem(flag.at, flag.len, words[i], strlen(words[i])))
            return true;
    return false;
}

static bool is_one_of(struct text text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_is(text, words[i]))
            return true;
    return false;
}

bool external_dns_ends_process(struct text flag)
{
    static const char *const words[] = {
        "help",
        "help-long",
        "help-man",
        "version",
        "completion-bash",
        "completion-script-bash",
        "completion-script-zsh",
    };
    return is_one_of(flag, words, COUNT_OF(words));
}

// Passed by us, or another API server than the Pod's own.
static bool is_reserved_word(struct text flag)
{
    static const char *const words[] = {
        "source", "namespace",   "label-filter", "annotation-filter", "provider",
        "events", "events-emit", "server",       "kubeconfig",        "webhook-server",
    };
    return is_one_of(flag, words, COUNT_OF(words)) || text_ends(flag, "-from-txt-owner") ||
           text_starts(flag, "crd-source-");
}

bool external_dns_is_reserved(struct text flag)
{
    struct text positive = text_starts(flag, "no-") ? behind(flag, strlen("no-")) : flag;
    return find_spelling(flag) || find_spelling(positive) || is_reserved_word(positive) ||
           external_dns_ends_process(positive) || external_dns_is_secret_flag(positive);
}

// ---- environment --------------------------------------------------------------------------------

static const struct external_dns_variable variables[] = {
    {.name = "AWS_ACCESS_KEY_ID", .owners = OWNER_AWS},
    {.name = "AWS_SECRET_ACCESS_KEY", .owners = OWNER_AWS, .is_secret = true},
    {.name = "AWS_SESSION_TOKEN", .owners = OWNER_AWS, .is_secret = true},
    {.name = "AWS_REGION", .owners = OWNER_AWS},
    {.name = "AWS_DEFAULT_REGION", .owners = OWNER_AWS},
    {.name = "AZURE_CLIENT_ID", .owners = OWNER_AZURE},
    {.name = "AZURE_TENANT_ID", .owners = OWNER_AZURE},
    {.name = "AZURE_CLIENT_SECRET", .owners = OWNER_AZURE, .is_secret = true},
    {.name = "ETCD_URLS", .owners = OWNER_COREDNS},
    {.name = "ETCD_USERNAME", .owners = OWNER_COREDNS},
    {.name = "ETCD_PASSWORD", .owners = OWNER_COREDNS, .is_secret = true},
    {.name = "ETCD_CA_FILE", .owners = OWNER_COREDNS, .is_file = true},
    {.name = "ETCD_CERT_FILE", .owners = OWNER_COREDNS, .is_file = true},
    {.name = "ETCD_KEY_FILE", .owners = OWNER_COREDNS, .is_file = true},
    {.name = "ETCD_TLS_SERVER_NAME", .owners = OWNER_COREDNS},
    {.name = "ETCD_TLS_INSECURE", .owners = OWNER_COREDNS},
};

struct text external_dns_target_variable(struct text target)
{
    static const char mark[] = "env:";
    return text_starts(target, mark) ? behind(target, strlen(mark)) : (struct text){0};
}

const struct external_dns_variable *external_dns_find_env(struct text name,
                                                          enum external_dns_provider provider)
{
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        if (text_is(name, variables[i].name) && (variables[i].owners & 1U << provider))
            return &variables[i];
    return NULL;
}

bool external_dns_env_may_be_shown(struct text name)
{
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        if (text_is(name, variables[i].name))
            return !variables[i].is_secret;
    return false;
}
