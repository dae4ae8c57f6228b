// The peer of `signpost run` in `make bench`: an informer of client-go on DNSRecords as Go structs,
// without managedFields. It says "synced N" when its cache is full, and stays; each line on its
// input is answered with "events N", those that came so far.
//
//	informer KUBECONFIG NAMESPACE
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var version = schema.GroupVersion{Group: "dns.homelab.mortenolsen.pro", Version: "v1alpha1"}

type Reference struct {
	Name string `json:"name"`
}

type Spec struct {
	Type        string    `json:"type"`
	Domain      string    `json:"domain"`
	Subdomain   string    `json:"subdomain,omitempty"`
	TTL         int       `json:"ttl,omitempty"`
	Values      []string  `json:"values"`
	DNSClassRef Reference `json:"dnsClassRef"`
}

type Status struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type DNSRecord struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitempty"`
}

type DNSRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DNSRecord `json:"items"`
}

func (record *DNSRecord) DeepCopyObject() runtime.Object {
	copied := *record
	record.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

func (list *DNSRecordList) DeepCopyObject() runtime.Object {
	copied := *list
	return &copied
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}

func client(kubeconfig string) *rest.RESTClient {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	must(err)
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(version, &DNSRecord{}, &DNSRecordList{})
	metav1.AddToGroupVersion(scheme, version)
	config.GroupVersion = &version
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	made, err := rest.RESTClientFor(config)
	must(err)
	return made
}

func stripped(object any) (any, error) {
	object.(*DNSRecord).ManagedFields = nil
	return object, nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: informer KUBECONFIG NAMESPACE")
		os.Exit(2)
	}
	source := cache.NewListWatchFromClient(client(os.Args[1]), "dnsrecords", os.Args[2],
		fields.Everything())
	informer := cache.NewSharedIndexInformer(source, &DNSRecord{}, 0, cache.Indexers{})
	must(informer.SetTransform(stripped))
	var events atomic.Int64
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(any, any) { events.Add(1) },
	})
	must(err)
	go informer.Run(context.Background().Done())
	cache.WaitForCacheSync(context.Background().Done(), informer.HasSynced)
	fmt.Println("synced", len(informer.GetStore().ListKeys()))
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		fmt.Println("events", events.Load())
	}
}
