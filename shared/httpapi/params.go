package httpapi

import (
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Parameters are taken as text and parsed here, so that every fault is named at
// its place and none is answered in a library's words. Structs of parameters that operations
// embed are exported, as huma passes over fields that are not.

// PageParams are what every list takes.
type PageParams struct {
	Limit  string `query:"limit" maximum:"100" doc:"Most items, 1 to 100; 20 unless given" example:"20"`
	Cursor string `query:"cursor" doc:"next of the page before"`
}

const (
	defaultLimit = 20
	maxLimit     = 100
)

func (in PageParams) limit() (int, error) {
	n, err := number("query.limit", in.Limit, defaultLimit, 1, maxLimit)
	return int(n), err
}

// number parses a whole decimal number between low and high; empty is absent.
func number(location, text string, absent, low, high int64) (int64, error) {
	if text == "" {
		return absent, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high || text[0] == '+' {
		return absent, berth.FieldErrorf(berth.CodeInvalid, location, "must be a whole number from %d to %d", low, high)
	}
	return n, nil
}

// maxWait is the longest that a long poll lasts.
const maxWait = 20 * time.Second

// WaitParams are what every long poll takes.
type WaitParams struct {
	Wait string `query:"wait" doc:"How long to wait for something new when there is nothing yet: seconds, or one number and ms or s; at most 20s" example:"20s"`
}

func (in WaitParams) wait() (time.Duration, error) {
	text := in.Wait
	if text == "" || strings.Trim(text, "0123456789") == "" && strings.Trim(text, "0") == "" {
		return 0, nil
	}
	if strings.Trim(text, "0123456789") == "" {
		text += "s"
	}
	d, err := berth.ParseDuration(text)
	if err != nil || d > maxWait {
		return 0, berth.FieldErrorf(berth.CodeInvalid, "query.wait", "must be a number of seconds or such as 500ms, and at most 20s")
	}
	return d, nil
}

// ReadParams are what every reader of output takes.
type ReadParams struct {
	WaitParams
	Offset string `query:"offset" doc:"next_offset of the piece before; 0 unless given" example:"0"`
	Limit  string `query:"limit" maximum:"1048576" doc:"Most bytes, up to 1048576, frames being whole; 1048576 unless given" example:"65536"`
}

// outputRead is a parsed ReadParams.
type outputRead struct {
	offset int64
	limit  int
	wait   time.Duration
}

func (in ReadParams) parse(f *faults) (read outputRead) {
	var limit int64
	var err error
	read.offset, err = offset(in.Offset)
	f.add("query.offset", err)
	limit, err = number("query.limit", in.Limit, berth.MaxOutputRead, 1, berth.MaxOutputRead)
	f.add("query.limit", err)
	read.wait, err = in.wait()
	f.add("query.wait", err)
	read.limit = int(limit)
	return read
}

func offset(text string) (int64, error) { return number("query.offset", text, 0, 0, 1<<62) }

// octal parses permission bits.
func octal(location, text string) (uint32, error) {
	if text == "" {
		return 0o644, nil
	}
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n > 0o777 || text[0] == '+' {
		return 0, berth.FieldErrorf(berth.CodeInvalid, location, "must be permission bits in octal, such as 0644")
	}
	return uint32(n), nil
}
