package agentapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

// address reads path and query. An id that is none cannot be there: it is
// not_found for what reads, invalid for what would make or change.
func (x *exchange) address() error {
	if err := x.readQuery(); err != nil {
		return err
	}
	kind := x.r.PathValue("provider")
	if kind == "" {
		return nil
	}
	provider, err := x.owner.provider(berth.ProviderKind(kind))
	if err != nil {
		return err
	}
	x.provider = provider
	if id := x.r.PathValue("sandbox"); id != "" {
		if !berth.IsULID(id) {
			return x.noSuch("sandbox", "must be a lower-case ULID")
		}
		x.ref = berth.SandboxRef{ID: berth.SandboxID(id), Ref: x.query.Get("ref")}
	}
	if id := x.r.PathValue("command"); id != "" {
		command, err := berth.ParseCommandID(id)
		if err != nil {
			return x.noSuch("command", "must be a slug of 63 characters at most")
		}
		x.command = command
	}
	return nil
}

func (x *exchange) noSuch(what, rule string) error {
	if x.r.Method == http.MethodGet {
		return berth.Errorf(berth.CodeNotFound, "the %s does not exist", what)
	}
	return berth.FieldErrorf(berth.CodeInvalid, what, "%s", rule)
}

// readQuery takes a query in which every parameter is known and there once.
func (x *exchange) readQuery() error {
	values, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return berth.Errorf(berth.CodeMalformed, "the query has a bad escape or a semicolon")
	}
	var problems berth.Problems
	for name, all := range values {
		switch {
		case !slices.Contains(x.route.query, name):
			problems.Addf(berth.FieldPath("query", name), "is not a parameter of this operation")
		case len(all) > 1:
			problems.Addf("query."+name, "is there more than once")
		}
	}
	x.query = values
	return berth.Invalid(problems.List())
}

// number reads a whole number, 0 when the parameter is not there.
func (x *exchange) number(name string, problems *berth.Problems) int64 {
	text := x.query.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		problems.Addf("query."+name, "must be a whole number")
	}
	return n
}

// wait reads how long the answer may be held back, MaxWait at most.
func (x *exchange) wait(unset time.Duration, problems *berth.Problems) time.Duration {
	text := x.query.Get("wait")
	if text == "" {
		return unset
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		problems.Addf("query.wait", "must be a span of time such as 30s")
	}
	return min(d, MaxWait)
}

// checkBody refuses a body by its headers, and bounds what can be read of it.
func (x *exchange) checkBody() error {
	if x.route.media == "" {
		if x.r.ContentLength != 0 {
			return berth.Errorf(berth.CodeInvalid, "this operation takes no body")
		}
		return nil
	}
	if media, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type")); err != nil || media != x.route.media {
		return berth.FieldErrorf(berth.CodeUnsupportedMedia, "header.Content-Type", "must be %s", x.route.media)
	}
	if x.route.cap == streamed {
		return nil
	}
	if x.r.ContentLength > x.route.cap {
		return x.tooLarge()
	}
	x.r.Body = http.MaxBytesReader(x.w, x.r.Body, x.route.cap)
	return nil
}

func (x *exchange) tooLarge() error {
	return berth.Errorf(berth.CodeTooLarge, "the body is over the limit of this operation, %d bytes", x.route.cap)
}

// bodyTime is how long a client may take to send a body that is not streamed.
const bodyTime = 30 * time.Second

// body reads the whole body. Errors: too_large, timed_out, malformed when it
// breaks off.
func (x *exchange) body() ([]byte, error) {
	control := http.NewResponseController(x.w)
	limited := control.SetReadDeadline(time.Now().Add(bodyTime)) == nil
	body, err := readSized(x.r)
	if limited {
		_ = control.SetReadDeadline(time.Time{})
	}
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &large):
		return nil, x.tooLarge()
	case isTimeout(err):
		return nil, berth.Errorf(berth.CodeTimedOut, "the body did not arrive within %s", bodyTime)
	}
	return nil, &berth.Error{Code: berth.CodeMalformed, Message: "the body broke off", Cause: err}
}

func readSized(r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(r.Body)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// decode reads a JSON body strictly.
func (x *exchange) decode(into any) error {
	body, err := x.body()
	if err != nil {
		return err
	}
	return strict.JSON(body, into)
}
