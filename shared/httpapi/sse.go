package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// beatTime is how often a silent stream shows that it lives.
const beatTime = 15 * time.Second

// streamEvents writes events as they happen until the run has ended, the client
// goes or the server closes.
func (a *API) streamEvents(x *exchange, id berth.RunID, after int64) {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(a.closing, cancel)()
	h := x.Header()
	h.Set("Content-Type", mediaEvents)
	h.Set("X-Accel-Buffering", "no")
	x.WriteHeader(http.StatusOK)
	x.Flush()
	if x.r.Method == http.MethodHead { // its answer ends here, and the connection is used again
		return
	}
	stream := newSteadyWriter(x)
	defer stream.end()
	asked := a.cfg.Clock.Now()
	for ctx.Err() == nil {
		// A stream can last for hours: it ends soon after its key does.
		if now := a.cfg.Clock.Now(); now.Sub(asked) >= beatTime {
			asked = now
			if _, err := a.cfg.Authenticator.Authenticate(x.r); err != nil {
				x.streamError(err)
				return
			}
		}
		reply, err := a.pollEvents(ctx, id, after, maxLimit, beatTime)
		if err != nil {
			if ctx.Err() == nil {
				x.streamError(err)
			}
			return
		}
		if !x.writeEvents(stream, reply.Items) || reply.EOF {
			return
		}
		after = reply.NextAfter
		x.Flush()
	}
}

// writeEvents reports false when the client has gone.
func (x *exchange) writeEvents(w io.Writer, events []berth.Event) bool {
	var b bytes.Buffer
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			x.problem = problemOf(err, x.id)
			return false
		}
		fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Kind, data)
	}
	if len(events) == 0 {
		b.WriteString(": nothing new\n\n")
	}
	_, err := w.Write(b.Bytes())
	return err == nil
}

// streamError ends a stream with the problem document that a poll would give.
func (x *exchange) streamError(err error) {
	x.problem = problemOf(err, x.id)
	data, _ := json.Marshal(x.problem)
	fmt.Fprintf(x, "event: problem\ndata: %s\n\n", data)
	x.Flush()
}
