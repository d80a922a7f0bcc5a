package preview

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/tunnel"
)

// preview is one origin. Of ticket and cookie it holds the hashes alone.
type preview struct {
	label, origin string
	sandbox       berth.SandboxID
	spec          berth.StreamSpec
	open          tunnel.Opener
	logger        *slog.Logger
	transport     *http.Transport
	enterUntil    time.Time
	until         time.Time
	forget        context.CancelFunc // ends who waits for its time

	mu      sync.Mutex // guards all below
	ended   bool
	used    bool // the ticket
	ticket  [sha256.Size]byte
	session [sha256.Size]byte
	running map[int]context.CancelFunc
	last    int
}

// enter takes a ticket, once, and returns the value of the cookie.
func (p *preview) enter(ticket string, now time.Time) (cookie string, ok bool, err error) {
	sum := sha256.Sum256([]byte(ticket))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.used || !now.Before(p.enterUntil) || subtle.ConstantTimeCompare(sum[:], p.ticket[:]) != 1 {
		return "", false, nil
	}
	var raw [credentialLen]byte
	if _, err := io.ReadFull(rand.Reader, raw[:]); err != nil {
		return "", false, berth.Wrap(err, "making a cookie")
	}
	cookie = base64.RawURLEncoding.EncodeToString(raw[:])
	p.used, p.session = true, sha256.Sum256([]byte(cookie))
	return cookie, true, nil
}

func (p *preview) entered() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// admits reports whether a request has the cookie.
func (p *preview) admits(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || !p.used {
		return false
	}
	for _, c := range r.CookiesNamed(Cookie) {
		sum := sha256.Sum256([]byte(c.Value))
		if subtle.ConstantTimeCompare(sum[:], p.session[:]) == 1 {
			return true
		}
	}
	return false
}

// begin notes a request, which is cancelled when the preview ends. done has to be
// called when it is over; it is nil when there are too many.
func (p *preview) begin(cancel context.CancelFunc) (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		cancel()
	} else if len(p.running) >= maxOfOne {
		return nil
	}
	p.last++
	id := p.last
	p.running[id] = cancel
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.running, id)
	}
}

// end breaks off what goes on.
func (p *preview) end() {
	p.mu.Lock()
	p.ended = true
	for _, cancel := range p.running {
		cancel()
	}
	p.mu.Unlock()
	p.forget()
	p.transport.CloseIdleConnections()
}
