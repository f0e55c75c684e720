// A server and a client made of moby/spdystream (SPDY/3.1), to talk to Loadstone's: see ../README.md.
package main

import (
	"fmt"
	"math"
	"net"
	"os"

	"github.com/moby/spdystream/spdy"
)

const protocol = "spdy/3.1"

func main() {
	arguments := os.Args[1:]
	if len(arguments) == 5 && arguments[0] == "serve" {
		serve(arguments[2], arguments[3], arguments[4])
	} else if len(arguments) == 3 && arguments[0] == "serve" {
		serve(arguments[2], "", "")
	} else if len(arguments) == 5 && arguments[0] == "fetch" {
		fetch(arguments[2], arguments[3], arguments[4])
	} else {
		fail(fmt.Errorf("see the README for the arguments"))
	}
}

// grant lets the peer send as much as there can be. The library gives back no room in windows, so that everything
// would stand still after 64 KiB; and it cannot send these frames itself.
func grant(connection net.Conn) error {
	framer, err := spdy.NewFramer(connection, connection)
	if err != nil {
		return err
	}
	initial := spdy.SettingsFlagIdValue{Id: spdy.SettingsInitialWindowSize, Value: math.MaxInt32}
	err = framer.WriteFrame(&spdy.SettingsFrame{FlagIdValues: []spdy.SettingsFlagIdValue{initial}})
	if err != nil {
		return err
	}
	return framer.WriteFrame(&spdy.WindowUpdateFrame{StreamId: 0, DeltaWindowSize: math.MaxInt32 - 65536})
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
