package main

import (
	"bytes"
	"net"
	"testing"
)

func TestATakenPortOfThisMachineLeadsToAnotherOne(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = listenHere(taken.Addr().String())
	if err == nil {
		t.Fatal("a taken port was opened")
	}
	var said bytes.Buffer
	report(&said, err, "")
	mustContain(t, "the error", said.String(), "berth: unavailable: listening on "+taken.Addr().String(), "to do: choose another port", "or 0 for any")
}
