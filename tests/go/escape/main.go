// escape compares the escapes of JSON strings that another program writes with those of
// encoding/json.
//
//	escape PROGRAM
//
// PROGRAM reads strings, each behind its length (4 octets, big endian), and writes them as JSON in
// the same form. Exit 1 with the first difference.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand"
	"os"
	"os/exec"
	"unicode/utf8"
)

const (
	seed   = 1
	noises = 200_000
	mixes  = 100_000
)

// each calls use for every octet and pair of octets, every code point, octets at random, and
// mixtures of what escapes are about.
func each(use func([]byte)) {
	use(nil)
	for a := 0; a < 256; a++ {
		use([]byte{byte(a)})
		for b := 0; b < 256; b++ {
			use([]byte{byte(a), byte(b)})
		}
	}
	for r := rune(0); r <= utf8.MaxRune; r++ {
		use(utf8.AppendRune([]byte("x"), r))
	}
	for r := 0xd800; r < 0xe000; r++ { // surrogates, encoded as UTF-8 forbids
		use([]byte{0xe0 | byte(r>>12), 0x80 | byte(r>>6&0x3f), 0x80 | byte(r&0x3f)})
	}
	random := rand.New(rand.NewSource(seed))
	for i := 0; i < noises; i++ {
		octets := make([]byte, random.Intn(64))
		random.Read(octets)
		use(octets)
	}
	pieces := []string{"<", ">", "&", "\"", "\\", "/", "\u2028", "\u2029", "\u2027", "\u202a", "\x00",
		"\b", "\f", "\n", "\r", "\t", "\x1f", " ", "\x7f", "\u0080", "\u00ff", "\ufffd", "\ufffe",
		"\U0001f600", "\xff", "\xc0\x80", "\xe2\x80", "\xf4\x90\x80\x80", "\xed\xa0\x80", "a", "v=DKIM1"}
	for i := 0; i < mixes; i++ {
		var text []byte
		for n := random.Intn(12); n > 0; n-- {
			text = append(text, pieces[random.Intn(len(pieces))]...)
		}
		use(text)
	}
}

func write(to io.WriteCloser) {
	out := bufio.NewWriterSize(to, 1<<20)
	each(func(text []byte) {
		binary.Write(out, binary.BigEndian, uint32(len(text)))
		out.Write(text)
	})
	out.Flush()
	to.Close()
}

func read(from io.Reader) int {
	in := bufio.NewReaderSize(from, 1<<20)
	count := 0
	each(func(text []byte) {
		head := make([]byte, 4)
		if _, err := io.ReadFull(in, head); err != nil {
			log.Fatalf("after %d strings: %v", count, err)
		}
		got := make([]byte, binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(in, got); err != nil {
			log.Fatalf("after %d strings: %v", count, err)
		}
		want, err := json.Marshal(string(text))
		if err != nil {
			log.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			log.Fatalf("%q: encoding/json writes %q, here %q", text, want, got)
		}
		count++
	})
	return count
}

func main() {
	program := exec.Command(os.Args[1])
	program.Stderr = os.Stderr
	in, err := program.StdinPipe()
	if err != nil {
		log.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := program.Start(); err != nil {
		log.Fatal(err)
	}
	go write(in)
	count := read(out)
	if err := program.Wait(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d strings\n", count)
}
