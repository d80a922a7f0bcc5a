package preview_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// dated is an answer on a connection that notes until when a body may come.
type dated struct {
	*httptest.ResponseRecorder
	until *time.Time
}

func (d dated) SetReadDeadline(until time.Time) error {
	*d.until = until
	return nil
}

func TestWhoIsLetInMaySendForAsLongAsThePreviewLasts(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	address := s.open(one, 0, sandbox(t, echo))
	b := s.browser()
	if page := b.Load(address); page.Status != 200 {
		t.Fatalf("the page is %+v", page)
	}
	origin, err := url.Parse(originOf(address))
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(30 * time.Second) // as the server of all bodies sets it
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, origin.String()+"/up", strings.NewReader("data"))
	for _, cookie := range b.Jar.Cookies(origin) {
		r.AddCookie(cookie)
	}
	w := dated{httptest.NewRecorder(), &until}
	s.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), `body="data"`) || !until.IsZero() {
		t.Errorf("an upload is answered %q, and is to end at %v", w.Body, until)
	}
}
