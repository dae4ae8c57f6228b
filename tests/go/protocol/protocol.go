// Package protocol is the signed webhook protocol as a Go program would write it: standard library
// alone, nothing shared with Signpost.
package protocol

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"time"
)

type Metadata struct {
	Priority *int `json:"priority,omitempty"`
	Weight   *int `json:"weight,omitempty"`
	Port     *int `json:"port,omitempty"`
}

type Record struct {
	Type      string    `json:"type"`
	Domain    string    `json:"domain"`
	Subdomain string    `json:"subdomain"`
	Values    []string  `json:"values"`
	TTL       *int      `json:"ttl,omitempty"`
	Metadata  *Metadata `json:"metadata,omitempty"`
}

type Upsert struct {
	Record    Record `json:"record"`
	Operation string `json:"operation"`
}

type Reply struct {
	Success bool    `json:"success"`
	Record  *Record `json:"record,omitempty"`
	Message string  `json:"message,omitempty"`
	Error   *struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Details map[string]any `json:"details"`
	} `json:"error,omitempty"`
}

// Hash returns the digest of an algorithm's name: SHA256 or SHA512.
func Hash(algorithm string) func() hash.Hash {
	if algorithm == "SHA512" {
		return sha512.New
	}
	return sha256.New
}

// Sign returns the signature of one request. The body is absent when it is empty.
func Sign(algorithm string, key []byte, method, path, timestamp, nonce string, body []byte) string {
	parts := []string{method, path, timestamp, nonce}
	if len(body) > 0 {
		parts = append(parts, string(body))
	}
	mac := hmac.New(Hash(algorithm), key)
	mac.Write([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(mac.Sum(nil))
}

func Timestamp() string {
	return time.Now().UTC().Format(time.RFC3339)
}

func Nonce() string {
	octets := make([]byte, 16)
	if _, err := rand.Read(octets); err != nil {
		panic(err)
	}
	octets[6] = octets[6]&0x0f | 0x40
	octets[8] = octets[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", octets[:4], octets[4:6], octets[6:8], octets[8:10],
		octets[10:])
}
