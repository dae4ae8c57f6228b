// Copies of one object, written straight into etcd: a hundred thousand settled objects in seconds.
//
//	seed SOCKET KEY TEMPLATE HASHED FROM COUNT
//
// The file TEMPLATE is the object as the API server stored it: {n} is its number, {hex} the same in
// twelve digits, {ip} an address made of it, {hash} the first 8 octets of
// the SHA-256 of HASHED, {digest} the first 16.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const batch = 100

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func number(word string) int {
	value, err := strconv.Atoi(word)
	must(err)
	return value
}

func filled(text, hashed string, n int) string {
	names := strings.NewReplacer("{n}", strconv.Itoa(n), "{hex}", fmt.Sprintf("%012x", n),
		"{ip}", fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255))
	sum := sha256.Sum256([]byte(names.Replace(hashed)))
	sums := strings.NewReplacer("{hash}", hex.EncodeToString(sum[:8]), "{digest}", hex.EncodeToString(sum[:16]))
	return sums.Replace(names.Replace(text))
}

func main() {
	if len(os.Args) != 7 {
		fmt.Fprintln(os.Stderr, "usage: seed SOCKET KEY TEMPLATE HASHED FROM COUNT")
		os.Exit(2)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + os.Args[1]}})
	must(err)
	defer client.Close()
	text, err := os.ReadFile(os.Args[3])
	must(err)
	from, count := number(os.Args[5]), number(os.Args[6])
	for next := from; next < from+count; {
		var puts []clientv3.Op
		for ; next < from+count && len(puts) < batch; next++ {
			puts = append(puts, clientv3.OpPut(filled(os.Args[2], "", next),
				filled(string(text), os.Args[4], next)))
		}
		_, err := client.Txn(context.Background()).Then(puts...).Commit()
		must(err)
	}
}
