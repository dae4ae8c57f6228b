package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const bodyMax = 1 << 16

// provider is a server of the webhook protocol that takes everything and remembers when it came.
type provider struct {
	guard     sync.Mutex
	posts     int
	deletes   int
	wanted    int // posts that complete what is expected
	text      []byte
	arrived   chan time.Time
	addresses int
}

func newProvider(port string) (*provider, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return nil, err
	}
	made := &provider{}
	go http.Serve(listener, made)
	return made, nil
}

func (provider *provider) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	now := time.Now()
	body, _ := io.ReadAll(io.LimitReader(request.Body, bodyMax))
	switch request.Method {
	case "POST":
		provider.hear(body, now)
	case "DELETE":
		provider.guard.Lock()
		provider.deletes++
		provider.guard.Unlock()
	}
	out.Header().Set("Content-Type", "application/json")
	if request.URL.Path == "/health" {
		io.WriteString(out, `{"status":"healthy"}`)
	} else {
		io.WriteString(out, `{"success":true}`)
	}
}

func (provider *provider) hear(body []byte, now time.Time) {
	provider.guard.Lock()
	defer provider.guard.Unlock()
	provider.posts++
	if provider.arrived == nil || provider.posts < provider.wanted ||
		!bytes.Contains(body, provider.text) {
		return
	}
	provider.arrived <- now
	provider.arrived = nil
}

// expect tells when so many more posts have come.
func (provider *provider) expect(count int) <-chan time.Time {
	return provider.await(count, nil)
}

// expectText tells when a post has come with this text.
func (provider *provider) expectText(text string) <-chan time.Time {
	return provider.await(1, []byte(`"`+text+`"`))
}

func (provider *provider) await(count int, text []byte) <-chan time.Time {
	provider.guard.Lock()
	defer provider.guard.Unlock()
	provider.wanted = provider.posts + count
	provider.text = text
	provider.arrived = make(chan time.Time, 1)
	return provider.arrived
}

// newAddress is one that no object had before.
func (provider *provider) newAddress() string {
	provider.addresses++
	n := provider.addresses
	return fmt.Sprintf("172.16.%d.%d", n>>8&255, n&255)
}

// counts
func (load *load) counts([]string) (string, error) {
	load.provider.guard.Lock()
	defer load.provider.guard.Unlock()
	return fmt.Sprintf("posts=%d deletes=%d", load.provider.posts, load.provider.deletes), nil
}
