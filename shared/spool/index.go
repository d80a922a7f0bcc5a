package spool

import (
	"io"
	"sort"

	"github.com/berth-dev/berth/shared/berth"
)

// Index knows the edges of a growing spool without holding it: one edge about
// every indexStep bytes, the start and the exit. The zero value is an empty
// index. It is not safe for concurrent use.
type Index struct {
	edges []int64
	end   int64
	kept  int64
	start *Start
	exit  *berth.Exit
}

const indexStep = 256 << 10

// End is the offset behind the last whole frame that was seen.
func (x *Index) End() int64 { return x.end }

// Kept is how many bytes of output the frames hold.
func (x *Index) Kept() int64 { return x.kept }

// Start is the start frame, nil when the spool has none so far.
func (x *Index) Start() *Start { return x.start }

// Exit is the exit frame, nil while there is none. Nothing after it counts.
func (x *Index) Exit() *berth.Exit { return x.exit }

// Extend takes in the whole frames up to size. Errors: invalid when the file is
// no spool.
func (x *Index) Extend(r io.ReaderAt, size int64) error {
	if x.exit != nil || size <= x.end {
		return nil
	}
	from := x.end
	s := newScanner(io.NewSectionReader(r, from, size-from), size-from)
	for x.exit == nil && s.Next() {
		edge := x.end
		x.end = from + s.End()
		if n := len(x.edges); n == 0 || edge-x.edges[n-1] >= indexStep {
			x.edges = append(x.edges, edge)
		}
		switch s.Type() {
		case TypeStdout, TypeStderr:
			x.kept += int64(len(s.Payload()))
		case TypeStart:
			x.start = new(Start)
			if err := decodeJSON("start", s.Payload(), x.start); err != nil {
				return err
			}
		case TypeExit:
			x.exit = new(berth.Exit)
			if err := decodeJSON("exit", s.Payload(), x.exit); err != nil {
				return err
			}
		}
	}
	return s.Err()
}

// CheckEdge returns invalid unless offset is an edge of what Extend has seen.
func (x *Index) CheckEdge(r io.ReaderAt, offset int64) error {
	if offset == x.end || offset == 0 {
		return nil
	}
	if offset < 0 || offset > x.end {
		return errNotEdge
	}
	i := sort.Search(len(x.edges), func(i int) bool { return x.edges[i] > offset }) - 1
	from := x.edges[i]
	s := newScanner(io.NewSectionReader(r, from, x.end-from), x.end-from)
	for from+s.End() < offset {
		if !s.Next() {
			return errNotEdge
		}
	}
	if from+s.End() != offset {
		return errNotEdge
	}
	return s.Err()
}
