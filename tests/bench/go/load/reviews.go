package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// reviews PORT CONNECTIONS MILLISECONDS RATE: calls of the admission door, RATE a second in all, or
// as fast as they are answered when it is 0. Each connection asks one by one. A call at a set rate
// is late from the moment at which it was due.
func (load *load) reviews(words []string) (string, error) {
	at, err := numbers(words)
	if err != nil || len(at) != 4 {
		return "", errors.Join(err, errors.New("reviews PORT CONNECTIONS MILLISECONDS RATE"))
	}
	body, err := load.body("review")
	if err != nil {
		return "", err
	}
	asked := []byte(fmt.Sprintf("POST /validate-dns-homelab-mortenolsen-pro-v1alpha1-dnsrecord"+
		"?timeout=5s HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: kube-apiserver-admission\r\n"+
		"Accept: application/json, */*\r\nContent-Type: application/json\r\n"+
		"Accept-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	var guard sync.Mutex
	var times []time.Duration
	begin := time.Now()
	end := begin.Add(time.Duration(at[2]) * time.Millisecond)
	err = together(at[1], func() error {
		mine, err := askUntil(end, at[0], asked, pause(at[1], at[3]))
		guard.Lock()
		times = append(times, mine...)
		guard.Unlock()
		return err
	})
	if err != nil || len(times) == 0 {
		return "", errors.Join(err, errors.New("no review was answered"))
	}
	return fmt.Sprintf("answers=%d rate=%.0f %s", len(times),
		float64(len(times))/time.Since(begin).Seconds(), took("", times)), nil
}

// pause is the time between the calls of one connection.
func pause(connections, rate int) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Second * time.Duration(connections) / time.Duration(rate)
}

func askUntil(end time.Time, port int, asked []byte, pause time.Duration) ([]time.Duration, error) {
	connection, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port),
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	reader := bufio.NewReader(connection)
	var times []time.Duration
	for due := time.Now(); due.Before(end); {
		if err := askOnce(connection, reader, asked); err != nil {
			return nil, err
		}
		now := time.Now()
		times = append(times, now.Sub(due))
		if pause == 0 {
			due = now
			continue
		}
		due = due.Add(pause)
		time.Sleep(time.Until(due))
	}
	return times, nil
}

func askOnce(out io.Writer, in *bufio.Reader, asked []byte) error {
	if _, err := out.Write(asked); err != nil {
		return err
	}
	reply, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("the door answers %s", reply.Status)
	}
	_, err = io.Copy(io.Discard, reply.Body)
	return err
}
