// Package checker makes a program out of the plugins that its main package imports: CoreDNS with
// one command more.
//
//	coredns check <PATHS
//
// reads paths of Corefiles, one in each line, and answers with one line of JSON each: whether this
// release accepts the file. It goes the way of a start up to the point where the servers are
// made. The hooks of a start do not run, so nothing is listened on. Called in any other way, the
// program is CoreDNS.
package checker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

const (
	serverType = "dns"
	// A Corefile that comes to an end takes milliseconds of CPU, and waits for nobody.
	hangsAfter = time.Second
	waitsAfter = 5 * time.Minute
)

type result struct {
	Path  string `json:"path"`
	Error string `json:"error"` // what CoreDNS prints; empty: it accepts the file
	Hangs bool   `json:"hangs"` // it came to no end; no result follows this one
}

var errAccepted = errors.New("accepted")

// stopBeforeListening ends every start behind the last directive, once the servers are made.
func stopBeforeListening() {
	last := dnsserver.Directives[len(dnsserver.Directives)-1]
	caddy.RegisterParsingCallback(serverType, last, func(servers caddy.Context) error {
		if _, err := servers.MakeServers(); err != nil {
			return err
		}
		return errAccepted
	})
}

// refuseLookups takes the network away from host names that stand in Corefiles.
func refuseLookups() {
	net.DefaultResolver = &net.Resolver{
		PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("no network")
		},
	}
}

// check returns the error that a start with that Corefile ends with, or nil.
func check(path string) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	contents, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	input := caddy.CaddyfileInput{Contents: contents, Filepath: path, ServerTypeName: serverType}
	if _, err = caddy.Start(input); err == errAccepted {
		return nil
	}
	return err
}

func usedCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// resultOf waits for check, unless that hangs.
func resultOf(path string) result {
	done := make(chan error, 1)
	begin, beginCPU := time.Now(), usedCPU()
	ticker := time.NewTicker(hangsAfter / 4)
	defer ticker.Stop()
	go func() { done <- check(path) }()
	for {
		select {
		case err := <-done:
			if err != nil {
				return result{Path: path, Error: err.Error()}
			}
			return result{Path: path}
		case <-ticker.C:
			if usedCPU()-beginCPU > hangsAfter || time.Since(begin) > waitsAfter {
				return result{Path: path, Hangs: true}
			}
		}
	}
}

// printResults keeps stdout for itself: plugins print there, too.
func printResults() error {
	out := json.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr
	log.SetOutput(io.Discard)
	paths := bufio.NewScanner(os.Stdin)
	for paths.Scan() {
		each := resultOf(paths.Text())
		if err := out.Encode(each); err != nil {
			return err
		}
		if each.Hangs {
			return nil
		}
	}
	return paths.Err()
}

// Main is the program.
func Main() {
	if len(os.Args) != 2 || os.Args[1] != "check" {
		coremain.Run()
		return
	}
	stopBeforeListening()
	refuseLookups()
	if err := printResults(); err != nil {
		log.SetOutput(os.Stderr)
		log.Fatal(err)
	}
}
