package agentapi

import (
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// readFile answers with the file's bytes, or with a folder's entries as JSON.
func readFile(x *exchange) error {
	var problems berth.Problems
	offset, limit := x.number("offset", &problems), x.number("limit", &problems)
	if err := berth.Invalid(problems.List()); err != nil {
		return err
	}
	if limit > berth.MaxOutputRead {
		limit = berth.MaxOutputRead
	}
	data, err := x.provider.ReadFile(x.r.Context(), x.ref, x.query.Get("path"), offset, limit, x.query.Get("guard"))
	if err != nil {
		return err
	}
	h := x.w.Header()
	file, err := headerJSON(wire.FileOf(data.Info))
	if err != nil {
		return err
	}
	h.Set(FileHeader, file)
	h.Set(NextHeader, strconv.FormatInt(data.Next, 10))
	h.Set(EndHeader, strconv.FormatBool(data.EOF))
	if data.Info.Kind != berth.FileDirectory {
		x.send(http.StatusOK, MediaBytes, data.Data)
		return nil
	}
	entries := Entries{make([]wire.File, len(data.Entries))}
	for i, entry := range data.Entries {
		entries.Entries[i] = wire.FileOf(entry)
	}
	return x.answer(entries)
}

// writeFile passes the body on as it comes. The size that it is to have is told
// apart from its length, so that a client whose source fails can end it early and
// is answered all the same.
func writeFile(x *exchange) error {
	var problems berth.Problems
	mode, size := x.number("mode", &problems), x.number("size", &problems)
	if mode < 0 || mode > math.MaxUint32 {
		problems.Addf("query.mode", "must be permission bits")
	}
	if size < 0 || !x.query.Has("size") {
		problems.Addf("query.size", "must be the file's size in bytes")
	}
	if err := berth.Invalid(problems.List()); err != nil {
		return err
	}
	body := &steadyReader{r: x.r.Body, control: http.NewResponseController(x.w)}
	info, err := x.provider.WriteFile(x.r.Context(), x.ref, x.query.Get("path"), body, size, uint32(mode), x.query.Get("guard"))
	_ = body.control.SetReadDeadline(time.Time{}) // for the connection's next request
	if err != nil && body.halfway {
		x.failHalfway(err, body)
		return nil
	}
	if err != nil {
		return err
	}
	return x.answer(wire.FileOf(info))
}

// lingerTime is how long a client may go on sending what is refused.
const lingerTime = 5 * time.Second

// failHalfway answers a client that is still sending. What comes is read until
// the client has seen the answer and stops: were the connection closed on it,
// it would see that instead.
func (x *exchange) failHalfway(err error, body *steadyReader) {
	_ = body.control.EnableFullDuplex() // a recorder in a test cannot
	x.w.Header().Set("Connection", "close")
	x.fail(err)
	_ = body.control.Flush()
	_ = body.control.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.Copy(io.Discard, body.r)
}

// stallTime is how long a streamed body may stand still.
const stallTime = time.Minute

// steadyReader gives up on a client that sends nothing for a while, however long
// the whole takes.
type steadyReader struct {
	r       io.Reader
	control *http.ResponseController
	halfway bool // some of it came, and there is more
}

func (s *steadyReader) Read(p []byte) (int, error) {
	_ = s.control.SetReadDeadline(time.Now().Add(stallTime)) // a recorder in a test has none
	n, err := s.r.Read(p)
	s.halfway = err == nil
	if err != nil {
		// What follows may take its time, and net/http reads on meanwhile to see
		// whether the client is there.
		_ = s.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

func deleteFile(x *exchange) error {
	if err := x.provider.DeleteFile(x.r.Context(), x.ref, x.query.Get("path"), x.query.Get("guard")); err != nil {
		return err
	}
	return x.answer(nil)
}

func grep(x *exchange) error {
	var q Grep
	if err := x.decode(&q); err != nil {
		return err
	}
	found, err := x.provider.Grep(x.r.Context(), x.ref, q.Query())
	if err != nil {
		return err
	}
	result := GrepResult{make([]wire.GrepMatch, len(found.Matches)), found.Truncated}
	for i, m := range found.Matches {
		result.Matches[i] = wire.GrepMatch{Path: wire.Text(m.Path), Line: m.Line, Text: wire.Text(m.Text)}
	}
	return x.answer(result)
}

func glob(x *exchange) error {
	var q Glob
	if err := x.decode(&q); err != nil {
		return err
	}
	found, err := x.provider.Glob(x.r.Context(), x.ref, berth.GlobQuery{Pattern: string(q.Pattern), Path: string(q.Path), Limit: q.Limit})
	if err != nil {
		return err
	}
	return x.answer(GlobResult{wire.Texts(found.Paths), found.Truncated})
}
