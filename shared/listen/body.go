package listen

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// bodyTime is how long a body may take of which the handler says nothing else.
	bodyTime = 30 * time.Second
	// restTime is how long what a handler has left of a body may take.
	restTime = 2 * time.Second
)

// bounded keeps bodies that do not come from holding connections: net/http reads the
// rest of a body before it answers, without a limit of time, also for who was
// refused. A handler that reads longer than bodyTime sets read deadlines of its own,
// by http.ResponseController, before it reads.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		// Deadlines go by the system's clock as connections do.
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(bodyTime))
		// In a copy: net/http looks at what kind of body its own request has.
		body := &followed{ReadCloser: r.Body}
		r = r.WithContext(r.Context())
		r.Body = body
		defer func() {
			if !body.ended.Load() {
				_ = control.SetReadDeadline(time.Now().Add(restTime))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// followed knows whether a body was read to its end. A proxy may still read as its
// handler returns.
type followed struct {
	io.ReadCloser
	ended atomic.Bool
}

func (f *followed) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		f.ended.Store(true)
	}
	return n, err
}
