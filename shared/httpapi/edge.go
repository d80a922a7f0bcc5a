package httpapi

import (
	"context"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{api: a, w: w, id: a.cfg.IDs.NewID(), started: a.cfg.Clock.Now()}
	x.r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	if hasBody(r) {
		x.body = &incoming{ReadCloser: r.Body}
		x.r.Body = x.body
		x.limitBody(bodyTime)
	}
	defer x.finish()
	h := w.Header()
	h.Set("X-Request-Id", x.id)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if err := a.checkRequest(r); err != nil {
		x.fail(err)
		return
	}
	a.mux.ServeHTTP(x, x.r)
}

// checkRequest refuses what must not reach the mux, which would redirect it or
// answer in its own words.
func (a *API) checkRequest(r *http.Request) error {
	if err := a.checkHost(r); err != nil {
		return err
	}
	path := r.URL.EscapedPath()
	if r.Method == http.MethodConnect || r.RequestURI == "*" || !strings.HasPrefix(path, "/") {
		return noSuchPath()
	}
	if strings.Contains(path, "//") || strings.Contains(path, "/./") || strings.Contains(path, "/../") ||
		strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/..") {
		return noSuchPath()
	}
	return nil
}

func noSuchPath() error {
	return &berth.Error{
		Code: berth.CodeNotFound, Message: "the API has no such path",
		Remediation: "Paths begin with " + Prefix + "; GET " + Prefix + "/openapi.json lists them.",
	}
}

// checkHost stops a web page from reaching a loopback listener under a name that
// it made resolve there (DNS rebinding). Addresses cannot be rebound.
func (a *API) checkHost(r *http.Request) error {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return nil
	}
	if addr, ok := local.(*net.TCPAddr); ok && !addr.IP.IsLoopback() {
		return nil
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || net.ParseIP(host) != nil || slices.Contains(a.cfg.Hosts, host) {
		return nil
	}
	return &berth.Error{
		Code: berth.CodeForbidden, Field: "header.Host", Message: "this listener is for the local machine and does not answer under that name",
		Remediation: "Use http://127.0.0.1 or http://localhost with the server's port.",
	}
}

// unknown answers what no route matches. The table of codes has no 405: a
// method that a path does not take is not_found, with Allow.
func (a *API) unknown(w http.ResponseWriter, r *http.Request) {
	x := exchangeOf(r.Context())
	var allowed []string
	for _, method := range []string{get, put, post, patch, remove} {
		probe := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := a.mux.Handler(probe); pattern != "/" && pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		x.fail(noSuchPath())
		return
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	x.fail(berth.Errorf(berth.CodeNotFound, "the path is there, but takes only %s", list))
}

// guarded is what stands before every operation of a route.
func (a *API) guarded(route Route, known []string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r.Context())
		x.route = route
		if err := x.enter(known); err != nil {
			x.fail(err)
			return
		}
		next(w, x.r)
	}
}

func (x *exchange) enter(known []string) error {
	if x.route.Scope != berth.ScopeNone {
		who, err := x.api.cfg.Authenticator.Authenticate(x.r)
		if err != nil {
			return err
		}
		x.principal = who
		if err := checkScope(who, x.route); err != nil {
			return err
		}
	}
	if err := x.checkQuery(known); err != nil {
		return err
	}
	if err := x.checkHeaders(); err != nil {
		return err
	}
	return x.checkBody()
}

// single are the headers that routes go by and that have one value.
var single = []string{"Idempotency-Key", "If-None-Match", "Last-Event-Id", "Content-Type", "Content-Encoding"}

// checkHeaders refuses headers of which only the first would count. If-Match is a
// list, which may come in pieces.
func (x *exchange) checkHeaders() error {
	var f faults
	for _, name := range single {
		if len(x.r.Header[name]) > 1 {
			f.addf("header."+name, "is there more than once")
		}
	}
	if tags := x.r.Header["If-Match"]; len(tags) > 1 {
		x.r.Header["If-Match"] = []string{strings.Join(tags, ", ")}
	}
	return f.err()
}

// checkQuery leaves a query behind in which every parameter is known, is there
// once, and is written with an equals sign.
func (x *exchange) checkQuery(known []string) error {
	if x.r.URL.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return berth.Errorf(berth.CodeMalformed, "the query holds a bad escape or a semicolon: write %%XX with two hex digits, and & between parameters")
	}
	var f faults
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !slices.Contains(known, name):
			f.addf(berth.FieldPath("query", name), "is not a parameter of this route%s", knownList(known))
		case len(values[name]) > 1:
			f.addf("query."+name, "is there more than once")
		}
	}
	x.r.URL.RawQuery = values.Encode()
	return f.err()
}

func knownList(known []string) string {
	if len(known) == 0 {
		return ", which takes none"
	}
	return ", which takes " + strings.Join(known, ", ")
}

// checkBody refuses a body by its headers, before any of it is read, and bounds
// what can be read of the rest.
func (x *exchange) checkBody() error {
	limit := x.route.cap()
	if limit == streamed {
		if x.body != nil {
			x.limitBody(0)
		}
		return x.checkMedia()
	}
	if x.r.ContentLength > limit {
		return tooLarge(limit)
	}
	if x.body != nil {
		x.r.Body = http.MaxBytesReader(x.w, x.r.Body, limit)
	}
	return x.checkMedia()
}

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

func tooLarge(limit int64) error {
	return &berth.Error{
		Code: berth.CodeTooLarge, Message: "the request's body is over the limit of this route, " + sizeText(limit),
		Remediation: "Move large files with POST " + Prefix + "/transfers.",
	}
}

func (x *exchange) checkMedia() error {
	if x.route.Takes == "" || x.body == nil || x.r.ContentLength == 0 {
		return nil
	}
	if coding := x.r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return berth.FieldErrorf(berth.CodeUnsupportedMedia, "header.Content-Encoding", "must be identity or absent: send the body as it is")
	}
	header := x.r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(header)
	if err == nil && x.route.Takes == mediaBytes {
		return nil // bytes are bytes, whatever they are called
	}
	if header == "" && x.route.Takes == mediaBytes {
		return nil
	}
	charset, given := params["charset"]
	if err == nil && media == x.route.Takes && (!given || strings.EqualFold(charset, "utf-8")) {
		return nil
	}
	return berth.FieldErrorf(berth.CodeUnsupportedMedia, "header.Content-Type", "must be %s, in UTF-8", x.route.Takes)
}
