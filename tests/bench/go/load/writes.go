package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

const (
	waited   = 10 * time.Minute
	lineMax  = 1 << 20
	linesMax = 1 << 10
)

func (load *load) body(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(load.folder, name))
	return string(text), err
}

// made is one object that was created.
type made struct {
	n     int
	known written
}

// createAll creates objects, `inflight` at a time, and hands them on as they are there.
func (load *load) createAll(from, count, inflight int, out chan<- made) error {
	text, err := load.body("record")
	if err != nil {
		return err
	}
	todo := numbered(from, count)
	failed := together(inflight, func() error {
		for n := range todo {
			known, err := load.server.write("POST", "", jsonType, load.server.filled(text, n, written{}))
			if err != nil {
				return err
			}
			if out != nil {
				out <- made{n, known}
			}
		}
		return nil
	})
	if out != nil {
		close(out)
	}
	return failed
}

// numbered gives each number out once.
func numbered(from, count int) <-chan int {
	todo := make(chan int, count)
	for n := from; n < from+count; n++ {
		todo <- n
	}
	close(todo)
	return todo
}

// together runs several of these and returns the first error.
func together(several int, run func() error) error {
	failed := make(chan error, several)
	for range several {
		go func() { failed <- run() }()
	}
	var first error
	for range several {
		first = errors.Join(first, <-failed)
	}
	return first
}

// create FROM COUNT INFLIGHT
func (load *load) create(words []string) (string, error) {
	at, err := numbers(words)
	if err != nil || len(at) != 3 {
		return "", errors.Join(err, errors.New("create FROM COUNT INFLIGHT"))
	}
	begin := time.Now()
	err = load.createAll(at[0], at[1], at[2], nil)
	return fmt.Sprintf("seconds=%.3f", time.Since(begin).Seconds()), err
}

// arrive FROM COUNT INFLIGHT: creates them; done when the provider heard of each.
func (load *load) arrive(words []string) (string, error) {
	at, err := numbers(words)
	if err != nil || len(at) != 3 {
		return "", errors.Join(err, errors.New("arrive FROM COUNT INFLIGHT"))
	}
	done := load.provider.expect(at[1])
	begin := time.Now()
	if err = load.createAll(at[0], at[1], at[2], nil); err != nil {
		return "", err
	}
	created := time.Since(begin)
	select {
	case last := <-done:
		return fmt.Sprintf("seconds=%.3f created=%.3f", last.Sub(begin).Seconds(),
			created.Seconds()), nil
	case <-time.After(waited):
		return "", errors.New("the provider did not hear of all")
	}
}

// ready FROM COUNT INFLIGHT: creates them; done when a watch has shown each of them Ready.
func (load *load) ready(words []string) (string, error) {
	at, err := numbers(words)
	if err != nil || len(at) != 3 {
		return "", errors.Join(err, errors.New("ready FROM COUNT INFLIGHT"))
	}
	var guard sync.WaitGroup
	var seen error
	started := make(chan struct{})
	guard.Go(func() { seen = load.watchUntil("Ready", at[0], at[1], started) })
	<-started
	begin := time.Now()
	if err = load.createAll(at[0], at[1], at[2], nil); err != nil {
		return "", err
	}
	created := time.Since(begin)
	guard.Wait()
	return fmt.Sprintf("seconds=%.3f created=%.3f", time.Since(begin).Seconds(),
		created.Seconds()), seen
}

// until CONDITION FROM COUNT: done when a watch, which begins with what is there, has shown each of
// them with that condition True.
func (load *load) until(words []string) (string, error) {
	if len(words) != 3 {
		return "", errors.New("until CONDITION FROM COUNT")
	}
	at, err := numbers(words[1:])
	if err != nil {
		return "", err
	}
	begin := time.Now()
	err = load.watchUntil(words[0], at[0], at[1], nil)
	return fmt.Sprintf("seconds=%.3f", time.Since(begin).Seconds()), err
}

// watchUntil watches again when the server ends a watch: it then begins with what is there.
func (load *load) watchUntil(condition string, from, count int, started chan<- struct{}) error {
	isTrue := []byte(`"status":"True","type":"` + condition + `"`)
	missing := map[int]bool{}
	for n := from; n < from+count; n++ {
		missing[n] = true
	}
	for end := time.Now().Add(waited); len(missing) > 0 && time.Now().Before(end); {
		reply, err := load.server.send("GET", "?watch=1&timeoutSeconds=900", "", nil)
		if started != nil {
			close(started)
			started = nil
		}
		if err != nil {
			return err
		}
		load.server.strike(missing, isTrue, reply.Body)
	}
	if len(missing) > 0 {
		return fmt.Errorf("%d have no %s", len(missing), isTrue)
	}
	return nil
}

func (server *server) strike(missing map[int]bool, isTrue []byte, events io.ReadCloser) {
	defer events.Close()
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, lineMax)
	for len(missing) > 0 && lines.Scan() {
		if bytes.Contains(lines.Bytes(), isTrue) {
			n, _ := strconv.Atoi(first(server.nameText, lines.Bytes()))
			delete(missing, n)
		}
	}
}

// bare FROM COUNT CREATES WRITES STEPS: a create, an apply and, if STEPS is 3, a status patch for
// each object: as many creates in flight as told, and as many of the other writes.
func (load *load) bare(words []string) (string, error) {
	at, err := numbers(words)
	if err != nil || len(at) != 5 {
		return "", errors.Join(err, errors.New("bare FROM COUNT CREATES WRITES STEPS"))
	}
	apply, status, err := load.patches()
	if err != nil {
		return "", err
	}
	created := make(chan made, at[1])
	begin := time.Now()
	failed := make(chan error, 1)
	go func() { failed <- load.createAll(at[0], at[1], at[2], created) }()
	err = together(at[3], func() error {
		for each := range created {
			if err := load.follow(each, apply, status, at[4]); err != nil {
				return err
			}
		}
		return nil
	})
	return fmt.Sprintf("seconds=%.3f", time.Since(begin).Seconds()), errors.Join(err, <-failed)
}

// rewrite FROM COUNT INFLIGHT: an apply and a status patch for each object, which is there already.
func (load *load) rewrite(words []string) (string, error) {
	at, err := numbers(words)
	if err != nil || len(at) != 3 {
		return "", errors.Join(err, errors.New("rewrite FROM COUNT INFLIGHT"))
	}
	apply, status, err := load.patches()
	if err != nil {
		return "", err
	}
	todo := numbered(at[0], at[1])
	begin := time.Now()
	err = together(at[2], func() error {
		for n := range todo {
			if err := load.follow(made{n: n}, apply, status, 3); err != nil {
				return err
			}
		}
		return nil
	})
	return fmt.Sprintf("seconds=%.3f", time.Since(begin).Seconds()), err
}

func (load *load) patches() (apply, status string, err error) {
	if apply, err = load.body("apply"); err == nil {
		status, err = load.body("status")
	}
	return apply, status, err
}

func (load *load) follow(each made, apply, status string, steps int) error {
	path := load.server.object(each.n)
	known, err := load.server.write("PATCH", path+"?fieldManager=bare&force=true", applied,
		load.server.filled(apply, each.n, each.known))
	if err == nil && steps == 3 {
		_, err = load.server.write("PATCH", path+"/status?fieldManager=bare", merged,
			load.server.filled(status, each.n, known))
	}
	return err
}

// patch N COUNT PAUSE_MS: another address for one object; from the PATCH on its way to the request
// at the provider, and beside it to the event of a bare watch, and from that event to the request.
func (load *load) patch(words []string) (string, error) {
	at, err := numbers(words)
	if err != nil || len(at) != 3 {
		return "", errors.Join(err, errors.New("patch N COUNT PAUSE_MS"))
	}
	watch, err := load.server.listen(at[0])
	if err != nil {
		return "", err
	}
	defer watch.close()
	var times, bare, behind []time.Duration
	for range at[1] {
		address := load.provider.newAddress()
		arrived := load.provider.expectText(address)
		begin := time.Now()
		body := fmt.Sprintf(`{"spec":{"values":["%s"]}}`, address)
		_, err := load.server.write("PATCH", load.server.object(at[0]), merged, []byte(body))
		if err != nil {
			return "", err
		}
		select {
		case last := <-arrived:
			event, err := watch.until(address)
			if err != nil {
				return "", err
			}
			times = append(times, last.Sub(begin))
			bare = append(bare, event.Sub(begin))
			behind = append(behind, last.Sub(event))
		case <-time.After(waited):
			return "", errors.New("the provider did not hear of a change")
		}
		time.Sleep(time.Duration(at[2]) * time.Millisecond)
	}
	return took("", times) + took("bare_", bare) + took("behind_", behind), nil
}

// listener is a bare watch of one object. It begins again when the server ends it, which one that
// has just started does: then with what is there.
type listener struct {
	lock     sync.Mutex
	events   io.ReadCloser
	isClosed bool
	lines    chan line
}

type line struct {
	at   time.Time
	text []byte
}

// listen watches object n, beginning with what is there.
func (server *server) listen(n int) (*listener, error) {
	query := fmt.Sprintf("?watch=1&timeoutSeconds=3600&fieldSelector=metadata.name%%3D%s%d",
		server.prefix, n)
	reply, err := server.send("GET", query, "", nil)
	if err != nil {
		return nil, err
	}
	made := &listener{lines: make(chan line, linesMax)}
	go func() {
		defer close(made.lines)
		for err == nil && made.isOpen(reply.Body) {
			made.read(reply.Body)
			time.Sleep(100 * time.Millisecond)
			reply, err = server.send("GET", query, "", nil)
		}
	}()
	return made, nil
}

func (listener *listener) read(events io.Reader) {
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, lineMax)
	for lines.Scan() {
		listener.lines <- line{time.Now(), bytes.Clone(lines.Bytes())}
	}
}

// isOpen makes these the events that close ends.
func (listener *listener) isOpen(events io.ReadCloser) bool {
	listener.lock.Lock()
	defer listener.lock.Unlock()
	if listener.isClosed {
		events.Close()
	}
	listener.events = events
	return !listener.isClosed
}

func (listener *listener) close() {
	listener.lock.Lock()
	defer listener.lock.Unlock()
	listener.isClosed = true
	if listener.events != nil {
		listener.events.Close()
	}
}

// until tells when this text was first heard of.
func (listener *listener) until(text string) (time.Time, error) {
	for each := range listener.lines {
		if bytes.Contains(each.text, []byte(`"`+text+`"`)) {
			return each.at, nil
		}
	}
	return time.Time{}, errors.New("the watch has ended")
}
