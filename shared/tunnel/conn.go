package tunnel

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

const (
	copyBytes = 64 << 10
	// maxMessage bounds what one message of the other side takes in memory.
	maxMessage = 256 << 10
	pingEvery  = 20 * time.Second
	pongTime   = 40 * time.Second
)

// conn is a WebSocket as a stream of bytes: what is written in one piece is one
// message. Neither side reads on before its own reader does, so that a slow one
// slows the other down.
type conn struct {
	ws    *websocket.Conn
	over  chan struct{} // closed once the WebSocket is
	once  sync.Once
	pings sync.WaitGroup
	// reading counts up by two a read, and is odd while one waits.
	reading atomic.Int64
	message io.Reader // used by the one who reads
}

func newConn(ws *websocket.Conn) *conn {
	ws.SetReadLimit(maxMessage)
	c := &conn{ws: ws, over: make(chan struct{})}
	c.pings.Go(c.ping)
	return c
}

// ping ends a connection whose other side is gone without a word. An answer is
// only heard by who reads: while that waits for somebody slow, nothing is known.
func (c *conn) ping() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.over:
			return
		case <-tick.C:
		}
		before := c.reading.Load()
		ctx, cancel := context.WithTimeout(context.Background(), pongTime)
		err := c.ws.Ping(ctx)
		cancel()
		if err != nil && before%2 == 1 && c.reading.Load() == before {
			c.ws.CloseNow()
			return
		}
	}
}

// Read ends with the WebSocket: an io.Reader has no context.
func (c *conn) Read(p []byte) (int, error) {
	c.reading.Add(1)
	defer c.reading.Add(1)
	for {
		if c.message == nil {
			kind, message, err := c.ws.Reader(context.Background())
			if err != nil {
				return 0, ended(err)
			}
			if kind != websocket.MessageBinary {
				c.ws.Close(websocket.StatusUnsupportedData, "only bytes are carried")
				return 0, io.ErrUnexpectedEOF
			}
			c.message = message
		}
		n, err := c.message.Read(p)
		if err == io.EOF {
			c.message, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, ended(err)
		}
	}
}

// ended is io.EOF for an end that the other side has announced.
func ended(err error) error {
	if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
		return io.EOF
	}
	return err
}

func (c *conn) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		piece := p[n:min(n+copyBytes, len(p))]
		if err := c.ws.Write(context.Background(), websocket.MessageBinary, piece); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return len(p), nil
}

// Close announces the end, waits a moment for the other side to hear of it, and
// ends a Read that waits.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.ws.Close(websocket.StatusNormalClosure, "")
		close(c.over)
		c.pings.Wait() // which the end of the WebSocket ends
	})
	return nil
}

// tokenIn reports whether a header's list has a word.
func tokenIn(h http.Header, name, word string) bool {
	for _, line := range h.Values(name) {
		for token := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(token), word) {
				return true
			}
		}
	}
	return false
}
