// sign is a client of the protocol: it goes through the calls of a server and says what it got.
//
//	sign URL KEY-FILE SHA256|SHA512
//
// Exit 1 with the first answer that is not as the protocol says.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"

	"signpost.test/peer/protocol"
)

type client struct {
	url       string
	key       []byte
	algorithm string
	asked     int
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}

func (c *client) send(method, path, nonce string, key, body []byte) (int, protocol.Reply) {
	timestamp := protocol.Timestamp()
	request, err := http.NewRequest(method, c.url+path, bytes.NewReader(body))
	if err != nil {
		fail("%v", err)
	}
	request.Header.Set("X-DNS-Timestamp", timestamp)
	request.Header.Set("X-DNS-Nonce", nonce)
	request.Header.Set("X-DNS-Signature",
		protocol.Sign(c.algorithm, key, method, path, timestamp, nonce, body))
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		fail("%v", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		fail("%v", err)
	}
	var reply protocol.Reply
	if err := json.Unmarshal(text, &reply); err != nil {
		fail("%s %s: %v: %s", method, path, err, text)
	}
	c.asked++
	return answer.StatusCode, reply
}

func (c *client) want(status int, message, method, path string, body any) protocol.Reply {
	var octets []byte
	if body != nil {
		octets, _ = json.Marshal(body)
	}
	got, reply := c.send(method, path, protocol.Nonce(), c.key, octets)
	said := reply.Message
	if reply.Error != nil {
		said = reply.Error.Code + ": " + reply.Error.Message
	}
	if got != status || reply.Success != (status == 200) || !strings.Contains(said, message) {
		fail("%s %s: expected %d %s, got %d %s", method, path, status, message, got, said)
	}
	return reply
}

func number(n int) *int { return &n }

func (c *client) walk(record protocol.Record) {
	path := fmt.Sprintf("/records/%s/%s/%s", record.Type, record.Domain, record.Subdomain)
	upsert := protocol.Upsert{Record: record, Operation: "upsert"}
	c.want(404, "RECORD_NOT_FOUND", "GET", path, nil)
	c.want(200, "created", "POST", "/records", upsert)
	c.want(200, "updated", "POST", "/records", upsert)
	if read := c.want(200, "", "GET", path, nil); !reflect.DeepEqual(*read.Record, record) {
		fail("%s: read %+v", path, *read.Record)
	}
	c.want(200, "", "DELETE", path, nil)
	c.want(404, "RECORD_NOT_FOUND", "DELETE", path, nil)
}

func (c *client) refusals() {
	nonce := protocol.Nonce()
	if got, reply := c.send("GET", "/health", nonce, []byte("forged"), nil); got != 401 ||
		reply.Error.Code != "AUTH_FAILED" {
		fail("forged: %d %+v", got, reply)
	}
	if got, _ := c.send("GET", "/health", nonce, c.key, nil); got != 200 {
		fail("the forgery burned the nonce: %d", got)
	}
	if got, reply := c.send("GET", "/health", nonce, c.key, nil); got != 401 ||
		reply.Error.Code != "NONCE_REUSED" {
		fail("replayed: %d %+v", got, reply)
	}
}

func main() {
	key, err := os.ReadFile(os.Args[2])
	if err != nil {
		fail("%v", err)
	}
	c := &client{url: os.Args[1], key: key, algorithm: os.Args[3]}
	texts := []string{"v=1; p=<a&b>", "quote \" backslash \\ slash / tab \t end",
		"\u2028\u2029 \u007e \u00e4 \u20ac \U0001f600", strings.Repeat("x", 4000)}
	for _, record := range []protocol.Record{
		{Type: "A", Subdomain: "www", Values: []string{"192.0.2.1", "192.0.2.2"}},
		{Type: "AAAA", Subdomain: "@", Values: []string{"2001:db8::1"}},
		{Type: "CNAME", Subdomain: "blog", Values: []string{"www.example.com"}},
		{Type: "TXT", Subdomain: "_text", Values: texts},
		{Type: "MX", Subdomain: "@", Values: []string{"mail.example.com"},
			Metadata: &protocol.Metadata{Priority: number(0)}},
		{Type: "SRV", Subdomain: "_sip._tcp", Values: []string{"sip.example.com"},
			Metadata: &protocol.Metadata{Priority: number(1), Weight: number(0),
				Port: number(65535)}},
		{Type: "NS", Subdomain: "sub", Values: []string{"ns.example.net"}},
		{Type: "PTR", Subdomain: "*", Values: []string{"host.example.com"}},
	} {
		record.Domain = "example.com"
		record.TTL = number(60)
		c.walk(record)
	}
	c.refusals()
	fmt.Printf("%d requests\n", c.asked)
}
