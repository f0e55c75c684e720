package main

import (
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/moby/spdystream/spdy"
)

// watched is a connection whose replies are read a second time, by the library's frames: its streams drop the heads of
// replies, and with them the status.
type watched struct {
	net.Conn
	copies   *io.PipeWriter
	lock     sync.Mutex
	changed  *sync.Cond
	statuses map[uint32]string
	over     error
}

func watch(connection net.Conn) *watched {
	reader, writer := io.Pipe()
	made := &watched{Conn: connection, copies: writer, statuses: map[uint32]string{}}
	made.changed = sync.NewCond(&made.lock)
	go made.follow(reader)
	return made
}

// Read reads for the library, and keeps a copy.
func (w *watched) Read(into []byte) (int, error) {
	count, err := w.Conn.Read(into)
	w.copies.Write(into[:count])
	if err != nil {
		w.copies.CloseWithError(err)
	}
	return count, err
}

func (w *watched) follow(reader *io.PipeReader) {
	framer, err := spdy.NewFramer(io.Discard, reader)
	for err == nil {
		var frame spdy.Frame
		if frame, err = framer.ReadFrame(); err == nil {
			if reply, is := frame.(*spdy.SynReplyFrame); is {
				w.note(func() { w.statuses[uint32(reply.StreamId)] = reply.Headers.Get(":status") })
			}
		}
	}
	w.note(func() { w.over = err })
	reader.CloseWithError(err)
}

func (w *watched) note(what func()) {
	w.lock.Lock()
	defer w.lock.Unlock()
	what()
	w.changed.Broadcast()
}

// status waits for a stream's reply.
func (w *watched) status(stream uint32) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for w.statuses[stream] == "" && w.over == nil {
		w.changed.Wait()
	}
	number, _, _ := strings.Cut(w.statuses[stream], " ")
	status, err := strconv.Atoi(number)
	if err != nil && w.over != nil {
		err = w.over
	}
	return status, err
}
