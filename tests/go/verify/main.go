// verify is a server of the protocol: it decodes and re-encodes each upsert with encoding/json, and
// takes it only if the signature holds over the octets that came and over those that it made.
//
//	verify KEY-FILE SHA256|SHA512
//
// It prints its address, then one line of JSON for each request.
package main

import (
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"signpost.test/peer/protocol"
)

type line struct {
	Method  string           `json:"method"`
	Path    string           `json:"path"`
	Raw     bool             `json:"raw"`     // the signature holds over the octets that came
	Again   bool             `json:"again"`   // and over the re-encoded ones
	Same    bool             `json:"same"`    // which are the same octets
	Fresh   bool             `json:"fresh"`   // time stamp and nonce
	Chunked bool             `json:"chunked"` // never
	Body    string           `json:"body,omitempty"`
	Record  *protocol.Record `json:"record,omitempty"`
}

type server struct {
	key       []byte
	algorithm string
	mutex     sync.Mutex
	nonces    map[string]bool
	out       *json.Encoder
}

func (s *server) holds(r *http.Request, body []byte) bool {
	want := protocol.Sign(s.algorithm, s.key, r.Method, r.URL.Path,
		r.Header.Get("X-DNS-Timestamp"), r.Header.Get("X-DNS-Nonce"), body)
	return hmac.Equal([]byte(want), []byte(r.Header.Get("X-DNS-Signature")))
}

func (s *server) isFresh(r *http.Request) bool {
	stamp, err := time.Parse(time.RFC3339, r.Header.Get("X-DNS-Timestamp"))
	nonce := r.Header.Get("X-DNS-Nonce")
	if err != nil || time.Since(stamp).Abs() > 5*time.Minute || s.nonces[nonce] {
		return false
	}
	s.nonces[nonce] = true
	return true
}

func (s *server) judge(r *http.Request, body []byte) line {
	row := line{Method: r.Method, Path: r.URL.Path, Raw: s.holds(r, body), Fresh: s.isFresh(r),
		Chunked: len(r.TransferEncoding) > 0, Body: string(body)}
	again := body
	if r.Method == http.MethodPost {
		var upsert protocol.Upsert
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&upsert); err != nil {
			return row
		}
		row.Record = &upsert.Record
		again, _ = json.Marshal(upsert)
	}
	row.Again = s.holds(r, again)
	row.Same = bytes.Equal(body, again)
	return row
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	row := s.judge(r, body)
	if err := s.out.Encode(row); err != nil {
		log.Fatal(err)
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil || !row.Raw || !row.Again || !row.Same || !row.Fresh || row.Chunked {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"success":false,"error":{"code":"AUTH_FAILED","message":"no"}}`)
		return
	}
	if r.URL.Path == "/health" {
		json.NewEncoder(w).Encode(map[string]string{"status": "healthy"})
		return
	}
	json.NewEncoder(w).Encode(protocol.Reply{Success: true, Record: row.Record})
}

func main() {
	key, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	s := &server{key: key, algorithm: os.Args[2], nonces: map[string]bool{},
		out: json.NewEncoder(os.Stdout)}
	log.Fatal(http.Serve(listener, s))
}
