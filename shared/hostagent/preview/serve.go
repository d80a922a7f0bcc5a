package preview

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// ServeHTTP answers a browser: with what the sandbox does, once it was let in.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	label, ok := s.config.URL.Label(r.Host)
	if !ok || r.Method == http.MethodConnect {
		say(w, http.StatusMisdirectedRequest, "Nothing is here.", "Previews of sandboxes have names of their own.")
		return
	}
	p := s.find(label)
	if p == nil {
		refuse(w)
		return
	}
	known := p.admits(r)
	if ticket, rest, found := takeTicket(r); found && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		s.enter(w, r, p, known, ticket, rest)
		return
	}
	if !known {
		refuse(w)
		return
	}
	if !fromItself(r, p.origin) {
		say(w, http.StatusForbidden, "Another page may not use this preview.", "Open it in a tab of its own.")
		return
	}
	s.pass(w, r, p)
}

// takeTicket finds the ticket in the address, and the rest of the query.
func takeTicket(r *http.Request) (ticket, rest string, found bool) {
	pairs := strings.Split(r.URL.RawQuery, "&")
	pairs = slices.DeleteFunc(pairs, func(pair string) bool {
		value, ok := strings.CutPrefix(pair, Query+"=")
		if ok {
			ticket, found = value, true
		}
		return ok
	})
	return ticket, strings.Join(pairs, "&"), found
}

// enter exchanges the ticket for the cookie, and leads to the address without it.
func (s *Store) enter(w http.ResponseWriter, r *http.Request, p *preview, known bool, ticket, rest string) {
	if !known {
		// Nobody looks at what is fetched in advance, and a ticket is good once.
		if r.Method != http.MethodGet || r.Header.Get("Sec-Purpose") != "" || r.Header.Get("Purpose") != "" || r.Header.Get("X-Moz") != "" {
			say(w, http.StatusForbidden, "This address is opened by a person.", "Its ticket is good once, and was not used.")
			return
		}
		cookie, ok, err := p.enter(ticket, s.config.Clock.Now())
		if err != nil {
			s.config.Logger.Error("a browser was not let in", "sandbox", string(p.sandbox), "error", err)
			say(w, http.StatusInternalServerError, "The host agent failed.", "Its log says why.")
			return
		}
		if !ok {
			refuse(w)
			return
		}
		http.SetCookie(w, &http.Cookie{
			Name: Cookie, Value: cookie, Path: "/", MaxAge: max(1, int(p.until.Sub(s.config.Clock.Now()).Seconds())),
			Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		})
		s.config.Logger.Info("a browser was let in", "sandbox", string(p.sandbox), "port", p.spec.Port, "peer", r.RemoteAddr)
	}
	to := p.origin + r.URL.EscapedPath() // with its origin: a path of // would lead elsewhere
	if rest != "" {
		to += "?" + rest
	}
	plain(w)
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// fromItself refuses what pages of other origins ask for with a person's cookie. All
// previews of a host count as one site for browsers, so that the cookie's own
// SameSite does not. To be led here in a tab is for everybody.
func fromItself(r *http.Request, origin string) bool {
	h := r.Header
	led := (r.Method == http.MethodGet || r.Method == http.MethodHead) && h.Get("Upgrade") == "" &&
		h.Get("Sec-Fetch-Mode") == "navigate" && h.Get("Sec-Fetch-Dest") == "document"
	switch h.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return led
	}
	from := h.Get("Origin")
	return from == "" || from == origin || led
}

// pass lets the sandbox answer, for as long as the preview lasts.
func (s *Store) pass(w http.ResponseWriter, r *http.Request, p *preview) {
	over, ok := s.take()
	if !ok {
		busy(w)
		return
	}
	defer over()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	done := p.begin(cancel)
	if done == nil {
		busy(w)
		return
	}
	defer done()
	// Who was let in may send for as long as the preview lasts.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	err := p.serve(w, r.WithContext(ctx), s.config.Proxied)
	switch {
	case err == nil:
	case ctx.Err() != nil: // the preview has ended, or the browser has left
		refuse(w)
	case berth.CodeOf(err) == berth.CodeNotFound: // the sandbox went without a word
		s.end(p)
		refuse(w)
	default:
		p.complain(w, err)
	}
}
