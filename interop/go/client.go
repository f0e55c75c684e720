package main

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/moby/spdystream"
)

type wanted struct{ method, path, file string }

type response struct {
	Path   string `json:"path"`
	Status int    `json:"status"`
	Bytes  int    `json:"bytes"`
	Sha256 string `json:"sha256"`
	Pushed bool   `json:"pushed"`
}

func fetch(transport, address, concurrency string) {
	raw, err := net.Dial("tcp", address)
	if err != nil {
		fail(err)
	}
	scheme := "http"
	if transport == "tls" {
		config := &tls.Config{NextProtos: []string{protocol}, InsecureSkipVerify: true}
		raw, scheme = tls.Client(raw, config), "https"
	}
	if err := grant(raw); err != nil {
		fail(err)
	}
	heads := watch(raw)
	connection, err := spdystream.NewConnection(heads, false)
	if err != nil {
		fail(err)
	}
	// A pushed stream could only be read after a reply, which nobody may send on it.
	go connection.Serve(func(pushed *spdystream.Stream) { pushed.Reset() })
	most, _ := strconv.Atoi(concurrency)
	head := http.Header{":version": {"HTTP/1.1"}, ":scheme": {scheme}, ":host": {address}}
	askAll(requests(), most, func(request wanted) error { return ask(connection, heads, head.Clone(), request) })
	connection.Close()
}

func requests() []wanted {
	var all []wanted
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := append(strings.Fields(lines.Text()), "")
		all = append(all, wanted{words[0], words[1], words[2]})
	}
	return all
}

// askAll has at most so many requests unanswered at a time.
func askAll(all []wanted, most int, ask func(wanted) error) {
	var waiting sync.WaitGroup
	places := make(chan struct{}, most)
	for _, request := range all {
		places <- struct{}{}
		waiting.Add(1)
		go func(request wanted) {
			defer waiting.Done()
			if err := ask(request); err != nil {
				fail(fmt.Errorf("%s: %w", request.path, err))
			}
			<-places
		}(request)
	}
	waiting.Wait()
}

func ask(connection *spdystream.Connection, heads *watched, head http.Header, request wanted) error {
	var body []byte
	var err error
	if request.file != "" {
		if body, err = os.ReadFile(request.file); err != nil {
			return err
		}
		head.Set("content-length", strconv.Itoa(len(body)))
	}
	head[":method"], head[":path"] = []string{request.method}, []string{request.path}
	stream, err := connection.CreateStream(head, nil, body == nil)
	if err != nil {
		return err
	}
	if body != nil {
		send(stream, body)
	}
	if err := stream.Wait(); err != nil {
		return err
	}
	content, err := io.ReadAll(stream)
	if err != nil {
		return err
	}
	status, err := heads.status(stream.Identifier())
	if err != nil {
		return err
	}
	hash := fmt.Sprintf("%x", sha256.Sum256(content))
	line, err := json.Marshal(response{request.path, status, len(content), hash, false})
	fmt.Println(string(line))
	return err
}
