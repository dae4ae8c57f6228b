#include <stdlib.h>
#include <unistd.h>

#include "commands/ask.h"
#include "commands/commands.h"
#include "commands/setup.h"
#include "commands/subject.h"
#include "commands/view_source.h"
#include "commands/who_text.h"
#include "dns/rr_type.h"

enum { DNS_PORT = 53, ARGUMENTS_MAX = 2 };

struct asking {
    struct invocation *invocation;
    struct view_source source;
    struct loop *loop;
    struct view view;
    struct who who;
    uint16_t type;
    struct hostport server;
    struct who_look look;
    struct buffer more;
};

// ---- what a name server answers -----------------------------------------------------------------

// Asks for the name alone where the object does not say what ought to be answered.
static void add_question(struct asking *asking, struct view *asked, struct who_entry *entry)
{
    const struct who *who = &asking->who;
    uint16_t type = who->type ? who->type : RR_A;
    if (entry)
        type = entry->type ? entry->type : entry->name.role == KIND_NAME_ZONE ? RR_SOA : type;
    struct view_row row = {.has_question = true, .answer_text = ""};
    if (entry && entry->has_question)
        row.question = entry->row->question;
    else
        row.question = (struct name_question){.type = type, .rdata = TEXT("")};
    row.question.name = text_of(who->shown);
    view_add_row(asked, &row);
}

static void answered(void *context)
{
    struct asking *asking = context;
    loop_stop(asking->loop);
}

static void take_answers(struct asking *asking, const struct view *asked)
{
    struct who *who = &asking->who;
    for (size_t i = 0; i < who->count; i++) {
        who->entries[i].answer = asked->rows[i].answer;
        who->entries[i].answer_text = asked->rows[i].answer_text;
    }
    if (who->count)
        return;
    asking->look.answer = asked->rows[0].answer;
    asking->look.answer_text = asked->rows[0].answer_text;
}

static void ask_server(struct asking *asking)
{
    struct view asked = {.arena = asking->invocation->arena};
    struct dnsnet *net = dnsnet_new(asking->loop);
    const struct ask_options options = {
        .loop = asking->loop, .net = net, .random = random_system(), .server = asking->server};
    for (size_t i = 0; i < asking->who.count; i++)
        add_question(asking, &asked, &asking->who.entries[i]);
    if (!asking->who.count)
        add_question(asking, &asked, NULL);
    struct ask *ask = ask_new(&options, &asked, answered, asking);
    loop_run(asking->loop);
    take_answers(asking, &asked);
    ask_free(ask);
    dnsnet_free(net);
    free(asked.rows);
}

// ---- the command --------------------------------------------------------------------------------

static bool read_arguments(struct asking *asking, struct error *err)
{
    const struct invocation *invocation = asking->invocation;
    const char *ask = option_text(invocation, "ask");
    if (!invocation->argument_count || invocation->argument_count > ARGUMENTS_MAX)
        return error_set(err, FAULT_SPEC, "",
                         "give the name of the DNS that it is about, and a "
                         "type of records such as A if one alone counts");
    const char *type = invocation->argument_count > 1 ? invocation->arguments[1] : "ANY";
    bool is_all = text_equal_nocase(text_of(type), TEXT("ANY"));
    if (!is_all && !rr_type_read(text_of(type), &asking->type))
        return error_set(err, FAULT_SPEC, "",
                         "%s is no type of records: give one such as A, MX or TYPE65", type);
    asking->look.server = ask;
    if (ask && !hostport_parse(&asking->server, text_of(ask), DNS_PORT, false, err))
        return error_prefix(err, "%s: \"%s\": ", option_source(invocation, "ask"), ask);
    return view_source_init(&asking->source, invocation, err);
}

static bool find(struct asking *asking, struct error *err)
{
    const char *name = asking->invocation->arguments[0];
    return view_source_read(&asking->source, asking->loop, &asking->view, err) &&
           (who_find(&asking->who, &asking->view, text_of(name), asking->type, err) ||
            error_prefix(err, "%s is no name of the DNS: ", name));
}

static void add_more(struct asking *asking)
{
    for (size_t i = 0; asking->who.forward && i < subject_count; i++)
        if (subjects[i]->explain_forward)
            subjects[i]->explain_forward(asking->invocation, text_of(asking->who.shown),
                                         asking->type ? asking->type : RR_A, &asking->more);
    asking->look.more = buffer_text(&asking->more);
}

static int report(struct asking *asking)
{
    AUTO_BUFFER out = {0};
    struct error err;
    asking->look.columns = terminal_of(STDOUT_FILENO).columns;
    asking->look.source = &asking->source;
    if (*option_text(asking->invocation, "output") == 'j')
        who_write_json(&out, &asking->who, &asking->look);
    else
        who_write_text(&out, &asking->who, &asking->look);
    if (!print_out(&out, &err))
        return command_fail(1, "%s", err.text);
    return who_is_right(&asking->who) ? 0 : 1;
}

static int answer(struct asking *asking)
{
    struct error err;
    if (!find(asking, &err))
        return command_fail(2, "%s", err.text);
    if (asking->look.server)
        ask_server(asking);
    add_more(asking);
    return report(asking);
}

static int who_run(struct invocation *invocation)
{
    struct asking asking = {.invocation = invocation};
    struct error err;
    if (!read_arguments(&asking, &err))
        return command_fail(2, "%s", err.text);
    asking.loop = loop_new();
    asking.view = (struct view){.arena = arena_new(), .has_names = true};
    int code = answer(&asking);
    view_done(&asking.view);
    arena_free(asking.view.arena);
    buffer_done(&asking.more);
    loop_free(asking.loop);
    return code;
}

static const char *const outputs[] = {"text", "json", NULL};

static const struct option who_rows[] = {
    TIMEOUT_OPTION("30s", "How long a cluster may take to list its objects."),
    {.name = "ask",
     .type = OPTION_TEXT,
     .placeholder = "ADDR:PORT",
     .doc = "Ask this name server for the name, too, without recursion, and show what it answers. "
            "Port 53 when none is given."},
    OUTPUT_OPTION(outputs, "Sentences, or one JSON document."),
};

extern const struct command who_command;
const struct command who_command = {
    .name = "who",
    .summary = "say who declares a DNS name, and what stands in the way",
    .positional = "NAME [TYPE]",
    .doc = "Says in its first sentence whether NAME is as declared. Below stands each object that "
           "declares it, with the place in the folder, what became of it and since when, what it "
           "goes through (a class, a zone, a DNS update record) and how that is. NAME may have "
           "capitals, a final dot and letters of other scripts; with TYPE only records of that "
           "type count, and an alias, which stands for all.\n\n"
           "A name that nobody declares is explained by what is around it: the wildcard that "
           "covers it, the delegation that it lies below, the zone that it would be in, who "
           "forwards its queries, and names that are spelled nearly so.\n\n"
           "It reads what `signpost status` reads, and `signpost run` need not be running. "
           "--output json prints one document: \"name\", \"type\", \"answer\" (the first "
           "sentence), \"right\", \"answered\" (what --ask heard), \"declared\", a list of maps "
           "with \"what\" (Records, Zone, Change or Forward), \"kind\", \"namespace\", \"name\", "
           "\"file\", \"line\", \"declares\", \"type\", \"values\", \"state\" (AsDeclared, "
           "Pending or NotAsDeclared), \"reason\", \"message\", \"since\", \"through\" (an "
           "object) and \"answered\"; \"zone\" and \"nearest\". What is not known is null.",
    .exit_docs =
        {
            "the name is declared and as declared",
            "something stands in the way, or nobody declares it",
            "an argument is wrong, or the objects cannot be read",
        },
    .examples = "signpost who www.home.example\n"
                "signpost who www.home.example AAAA --dir manifests --ask 127.0.0.1:5353\n"
                "signpost who shop.example --kubeconfig ~/.kube/config --output json\n",
    .groups = {{who_rows, COUNT_OF(who_rows), false},
               SETUP_OPTION_GROUPS,
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .has_settings = true,
    .run = who_run,
};
