package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
)

const (
	applied    = "application/apply-patch+yaml"
	merged     = "application/merge-patch+json"
	jsonType   = "application/json"
	keptAlive  = 64
	errorShown = 300
)

// server is an API server, as one service account sees it over HTTP/1.1: the objects of one resource
// in one namespace, whose names are the prefix and a number.
type server struct {
	client    *http.Client
	token     string
	url       string
	namespace string
	prefix    string
	nameText  *regexp.Regexp
}

// written is what an API server said of an object.
type written struct {
	uid, rv string
}

var (
	uidText = regexp.MustCompile(`"uid":"([^"]+)"`)
	rvText  = regexp.MustCompile(`"resourceVersion":"([^"]+)"`)
)

// newServer takes the API path of the resource: "/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL".
func newServer(kubeconfig, path, prefix string) (*server, error) {
	parts := strings.Split(path, "/")
	if len(parts) != 7 || parts[4] != "namespaces" {
		return nil, fmt.Errorf("%s is not /apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL", path)
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				File   string `json:"certificate-authority"`
				Data   string `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				Token string `json:"token"`
			} `json:"user"`
		} `json:"users"`
	}
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	if err = json.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	cluster := config.Clusters[0].Cluster
	ca, err := base64.StdEncoding.DecodeString(cluster.Data)
	if cluster.File != "" {
		ca, err = os.ReadFile(cluster.File)
	}
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(ca)
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: trusted},
		MaxIdleConnsPerHost: keptAlive,
		DisableCompression:  true,
	}
	return &server{
		client:    &http.Client{Transport: transport},
		token:     config.Users[0].User.Token,
		url:       cluster.Server + path,
		namespace: parts[5],
		prefix:    prefix,
		nameText:  regexp.MustCompile(`"name":"` + regexp.QuoteMeta(prefix) + `(\d+)"`),
	}, nil
}

// object is the path of object n behind the resource.
func (server *server) object(n int) string {
	return "/" + server.prefix + strconv.Itoa(n)
}

func (server *server) send(method, path, kind string, body []byte) (*http.Response, error) {
	request, err := http.NewRequest(method, server.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+server.token)
	request.Header.Set("Accept", jsonType)
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	return server.client.Do(request)
}

func (server *server) write(method, path, kind string, body []byte) (written, error) {
	reply, err := server.send(method, path, kind, body)
	if err != nil {
		return written{}, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %.*s", method, path, reply.StatusCode, errorShown, text)
	}
	if err != nil {
		return written{}, err
	}
	return written{first(uidText, text), first(rvText, text)}, nil
}

func first(pattern *regexp.Regexp, text []byte) string {
	if found := pattern.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}

// filled is a body for object n.
func (server *server) filled(text string, n int, known written) []byte {
	ip := fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
	return []byte(strings.NewReplacer("{n}", strconv.Itoa(n), "{ip}", ip, "{uid}", known.uid,
		"{rv}", known.rv, "{ns}", server.namespace).Replace(text))
}
