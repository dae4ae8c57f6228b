#pragma once

// The API group of DNSClass and DNSRecord, which is also the prefix of their annotations and of the
// finalizer: that of the operator whose objects these are.
#define DNS_GROUP "dns.homelab.mortenolsen.pro"

// On the ConfigMap of a Corefile and on pods and their templates: the id of the Corefile that
// stands in it, or that they were made to run.
#define CONFIG_ID_ANNOTATION DNS_GROUP "/config-id"

// On each object that is made for a DNS object: the name of that one. It is OpenShift's label.
#define OWNING_DNS_LABEL "dns.operator.openshift.io/owning-dns"
