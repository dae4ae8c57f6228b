// The other ends of `signpost run` in the rows of `make bench` on a cluster: whoever writes objects,
// the DNS provider, the bare client that the time is held against, and the API server's calls of the
// admission door. Commands come as lines; each is answered with one line of key=value.
//
//	load KUBECONFIG PATH PREFIX PROVIDER_PORT FOLDER
//
// PATH is the API path of the objects of one kind in one namespace; PREFIX and a number are the name of
// one. FOLDER holds the bodies: record, apply, status and review. {n} in them is the object's number,
// {ip} an address made of it, {ns} its namespace, {uid} and {rv} what the API server said.
package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
)

type load struct {
	server   *server
	provider *provider
	folder   string
}

var commands = map[string]func(*load, []string) (string, error){
	"create":  (*load).create,
	"ready":   (*load).ready,
	"arrive":  (*load).arrive,
	"bare":    (*load).bare,
	"rewrite": (*load).rewrite,
	"until":   (*load).until,
	"patch":   (*load).patch,
	"counts":  (*load).counts,
	"reviews": (*load).reviews,
}

func numbers(words []string) ([]int, error) {
	found := make([]int, len(words))
	for i, word := range words {
		value, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		found[i] = value
	}
	return found, nil
}

// took is a row of figures about times, in milliseconds.
func took(name string, times []time.Duration) string {
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	at := func(part float64) float64 {
		return float64(times[min(len(times)-1, int(float64(len(times))*part))].Microseconds()) / 1000
	}
	return fmt.Sprintf("%[1]sp50_ms=%.2[2]f %[1]sp99_ms=%.2[3]f %[1]smax_ms=%.2[4]f ", name, at(0.5),
		at(0.99), at(1))
}

func (load *load) answer(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 || commands[words[0]] == nil {
		return "error: no such command: " + line
	}
	text, err := commands[words[0]](load, words[1:])
	if err != nil {
		return "error: " + err.Error()
	}
	return text
}

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: load KUBECONFIG PATH PREFIX PROVIDER_PORT FOLDER")
		os.Exit(2)
	}
	server, err := newServer(os.Args[1], os.Args[2], os.Args[3])
	if err == nil {
		made := &load{server: server, folder: os.Args[5]}
		made.provider, err = newProvider(os.Args[4])
		for input := bufio.NewScanner(os.Stdin); err == nil && input.Scan(); {
			fmt.Println(made.answer(input.Text()))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}
