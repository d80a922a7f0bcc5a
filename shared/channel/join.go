package channel

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// tellEvery is how often a side that may have nothing to say says that it is
// there: it learns so that the other is gone, though it may wait to be read.
const tellEvery = 5 * time.Second

// KeepTelling tells the other side until stop is closed, and calls gone when that
// fails.
func KeepTelling(w *Writer, stop <-chan struct{}, gone func()) {
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if w.Tell() != nil {
			gone()
			return
		}
	}
}

// Join carries a TCP connection over a stream of frames until both directions
// have ended or either side is gone. It closes both.
func Join(conn *net.TCPConn, stream io.ReadWriteCloser) {
	var once sync.Once
	closeBoth := func() {
		once.Do(func() {
			conn.Close()
			stream.Close()
		})
	}
	out, stop := NewWriter(stream), make(chan struct{})
	var telling, work sync.WaitGroup
	telling.Go(func() { KeepTelling(out, stop, closeBoth) })
	work.Go(func() {
		buf := make([]byte, MaxPayload)
		for {
			n, err := conn.Read(buf)
			if n > 0 {
				if _, err := out.Write(buf[:n]); err != nil {
					closeBoth()
					return
				}
			}
			switch {
			case errors.Is(err, io.EOF):
				if out.End() != nil {
					closeBoth()
				}
				return
			case err != nil:
				closeBoth() // a reset goes on as one
				return
			}
		}
	})
	work.Go(func() {
		if !receive(conn, NewReader(stream)) {
			closeBoth()
		}
	})
	work.Wait()
	close(stop)
	closeBoth()
	telling.Wait()
}

// receive writes what comes, and reports whether it ended as it should.
func receive(conn *net.TCPConn, in *Reader) bool {
	for {
		f, err := in.Next()
		if err != nil {
			return false
		}
		switch f.Kind {
		case Data:
			if _, err := conn.Write(f.Payload); err != nil {
				return false
			}
		case End:
			return conn.CloseWrite() == nil
		}
	}
}
