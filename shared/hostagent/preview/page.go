package preview

import (
	"errors"
	"html"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// bodyTime is how long a request may go on whose body nobody is to have. Without it,
// who was never let in could hold all connections by bodies that do not come.
const bodyTime = time.Second

// plain is what holds of all that is the host's own to say.
func plain(w http.ResponseWriter) {
	// It goes by the system's clock as connections do; what is none has no deadline.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
}

// say answers with a page of two sentences.
func say(w http.ResponseWriter, status int, what, more string) {
	plain(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html><meta charset=utf-8><title>"+html.EscapeString(what)+"</title><h1>"+html.EscapeString(what)+"</h1><p>"+html.EscapeString(more)+"\n")
}

// refuse does not tell a preview that is not there from one that is another's.
func refuse(w http.ResponseWriter) {
	say(w, http.StatusForbidden, "This preview is not open to you.", "It has ended, its address was opened before or waited too long, or it is another browser's. Get another address: berth sandbox preview.")
}

func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	say(w, http.StatusServiceUnavailable, "Too much goes on in previews at once.", "Try again in a moment.")
}

// complain says why the sandbox did not answer.
func (p *preview) complain(w http.ResponseWriter, err error) {
	what, more := "The program in the sandbox broke the connection off.", "See what it has printed."
	status := http.StatusBadGateway
	var e *berth.Error
	if errors.As(err, &e) {
		switch {
		case e.Field == "port":
			what = "Nothing listens on port " + strconv.Itoa(p.spec.Port) + " of the sandbox."
			more = "Start the program there, on 127.0.0.1, localhost or all addresses, and load this page again."
		case e.Code == berth.CodeConflict:
			what, more, status = "The sandbox does not run.", "Start it again: berth sandbox start.", http.StatusServiceUnavailable
		case e.Code == berth.CodeTimedOut:
			what, more, status = "The port does not answer.", "See whether the program in the sandbox still works.", http.StatusGatewayTimeout
		default:
			what, more = "The sandbox cannot be reached.", "The log of the host's berth-agent says why."
			p.logger.Warn("a preview cannot reach its sandbox", "sandbox", string(p.sandbox), "port", p.spec.Port, "error", err)
		}
	}
	say(w, status, what, more)
}
