package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/moby/spdystream"
)

// The content of DATA frames; the library sends what it is given as one.
const piece = 16384

func serve(transport, certificate, key string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	scheme := "http"
	if transport == "tls" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			fail(err)
		}
		config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{protocol}}
		listener, scheme = tls.NewListener(listener, config), "https"
	}
	fmt.Printf("listening on %s\n", listener.Addr())
	for {
		accepted, err := listener.Accept()
		if err != nil {
			fail(err)
		}
		go attend(accepted, scheme)
	}
}

func attend(accepted net.Conn, scheme string) {
	defer accepted.Close()
	if grant(accepted) != nil {
		return
	}
	connection, err := spdystream.NewConnection(accepted, true)
	if err == nil {
		connection.Serve(func(stream *spdystream.Stream) { answer(stream, scheme) })
	}
}

// answer replies at once, since the library drops the body of a request that has no reply.
func answer(stream *spdystream.Stream, scheme string) {
	head := stream.Headers()
	parts := strings.Split(head.Get(":path"), "/")
	number := 0
	if len(parts) == 3 {
		number, _ = strconv.Atoi(parts[2])
	}
	switch parts[1] {
	case "echo":
		stream.SendReply(http.Header{":status": {"200 OK"}, ":version": {"HTTP/1.1"}}, false)
		go echo(stream)
	case "bytes":
		respond(stream, "200 OK", pattern(number))
	case "push":
		for at := 0; at < number; at++ {
			push(stream, at, scheme)
		}
		respond(stream, "200 OK", pattern(500))
	default:
		respond(stream, "404 Not Found", nil)
	}
}

func respond(stream *spdystream.Stream, status string, body []byte) {
	length := strconv.Itoa(len(body))
	stream.SendReply(http.Header{":status": {status}, ":version": {"HTTP/1.1"}, "content-length": {length}}, false)
	if stream.Headers().Get(":method") == "HEAD" {
		body = nil
	}
	go send(stream, body)
}

func send(stream *spdystream.Stream, body []byte) {
	for len(body) > piece {
		if stream.WriteData(body[:piece], false) != nil {
			return
		}
		body = body[piece:]
	}
	stream.WriteData(body, true)
}

// echo sends back what comes while more of it is coming.
func echo(stream *spdystream.Stream) {
	if _, err := io.Copy(stream, stream); err == nil {
		stream.Close()
	}
}

// push opens a stream as the library can: not unidirectional. Somebody has to wait for a reply, or a reset would block
// the library.
func push(parent *spdystream.Stream, at int, scheme string) {
	head := http.Header{
		":method": {"GET"}, ":scheme": {scheme}, ":host": {parent.Headers().Get(":host")},
		":path": {fmt.Sprintf("/pushed/%d", at)}, ":status": {"200 OK"}, ":version": {"HTTP/1.1"},
	}
	if pushed, err := parent.CreateSubStream(head, false); err == nil {
		go pushed.Wait()
		go send(pushed, pattern(1000+at))
	}
}

func pattern(length int) []byte {
	body := make([]byte, length)
	for i := range body {
		body[i] = byte(131*i + 7*(i/256) + 13)
	}
	return body
}
