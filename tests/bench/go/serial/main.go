// Adds names to a Pi-hole as most programs do: for each name the list is read, and one entry is put
// into it, on one connection that is kept.
//
//	serial URL ADDRESS FIRST COUNT    the password comes on standard input
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

type session struct {
	base   string
	sid    string
	client http.Client
}

func (s *session) call(method, path string, body []byte) ([]byte, int, error) {
	request, err := http.NewRequest(method, s.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	if s.sid != "" {
		request.Header.Set("X-FTL-SID", s.sid)
	}
	reply, err := s.client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return text, reply.StatusCode, err
}

func (s *session) login(password string) error {
	body, err := json.Marshal(map[string]string{"password": password})
	if err != nil {
		return err
	}
	text, status, err := s.call("POST", "/api/auth", body)
	if err != nil || status != 200 {
		return fmt.Errorf("login: %d %v", status, err)
	}
	var reply struct {
		Session struct {
			SID string `json:"sid"`
		} `json:"session"`
	}
	if err := json.Unmarshal(text, &reply); err != nil {
		return err
	}
	s.sid = reply.Session.SID
	return nil
}

func (s *session) add(entry string) error {
	text, status, err := s.call("GET", "/api/config/dns/hosts", nil)
	if err != nil || status != 200 {
		return fmt.Errorf("list: %d %v", status, err)
	}
	var list struct {
		Config struct {
			DNS struct {
				Hosts []string `json:"hosts"`
			} `json:"dns"`
		} `json:"config"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	for _, known := range list.Config.DNS.Hosts {
		if known == entry {
			return nil
		}
	}
	_, status, err = s.call("PUT", "/api/config/dns/hosts/"+url.PathEscape(entry), nil)
	if err != nil || status != 201 {
		return fmt.Errorf("put %s: %d %v", entry, status, err)
	}
	return nil
}

func run() error {
	first, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(os.Args[4])
	if err != nil {
		return err
	}
	password, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return err
	}
	s := &session{base: os.Args[1]}
	if err := s.login(password[:len(password)-1]); err != nil {
		return err
	}
	begin := time.Now()
	for i := first; i < first+count; i++ {
		if err := s.add(fmt.Sprintf("%s serial%d.home.lan", os.Args[2], i)); err != nil {
			return err
		}
	}
	fmt.Printf("ms=%.1f\n", float64(time.Since(begin).Microseconds())/1000)
	_, _, err = s.call("DELETE", "/api/auth", nil)
	return err
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "serial:", err)
		os.Exit(1)
	}
}
