package records_test

import (
	"bytes"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

func (f *fixture) running() berth.RunID {
	f.t.Helper()
	id := f.run().ID
	f.moved(id, berth.RunProvisioning, berth.RunRunning)
	return id
}

func (f *fixture) output(id berth.RunID, limit int) []byte {
	f.t.Helper()
	var out []byte
	for {
		piece, err := f.ReadOutput(f.t.Context(), id, stageID, int64(len(out)), limit)
		if err != nil {
			f.t.Fatal(err)
		}
		if len(piece) == 0 {
			return out
		}
		if len(piece) > limit {
			f.t.Fatalf("%d bytes came, the limit is %d", len(piece), limit)
		}
		out = append(out, piece...)
	}
}

func TestTwoWritersOfTheSameOutputLeaveItOnce(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	id := f.running()
	whole := runnertest.Pattern(200_000)
	var wg sync.WaitGroup
	for _, step := range []int{700, 9_000} { // inline pieces and blobs
		wg.Go(func() {
			for at := int64(0); at < int64(len(whole)); {
				end := min(at+int64(step), int64(len(whole)))
				done, err := f.AppendOutput(t.Context(), id, stageID, at, whole[at:end], nil)
				if err != nil {
					t.Error(err)
					return
				}
				if done.Ours && done.Stage.Offset != end {
					t.Errorf("our piece ends at %d, not %d", done.Stage.Offset, end)
				}
				at = done.Stage.Offset
			}
		})
	}
	wg.Wait()
	for _, limit := range []int{999, 1 << 20} {
		if !bytes.Equal(f.output(id, limit), whole) {
			t.Errorf("read by %d, the output is not what was written", limit)
		}
	}
	var at int64
	for _, e := range f.events(id) {
		if e.Output == nil {
			continue
		}
		if e.Output.From != at {
			t.Errorf("a piece begins at %d, the one before ended at %d", e.Output.From, at)
		}
		at = e.Output.To
	}
}

func TestOutputInPiecesOfAnySizeReadsAsItWasWritten(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	rapid.Check(t, func(r *rapid.T) {
		id := f.running()
		var want []byte
		for _, n := range rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 4095, 4096, 4097, 20_000}), 0, 6).Draw(r, "sizes") {
			piece := bytes.Repeat([]byte{byte(len(want))}, n)
			done, err := f.AppendOutput(t.Context(), id, stageID, int64(len(want)), piece, nil)
			if err != nil || !done.Ours {
				r.Fatalf("AppendOutput() = %+v, %v", done, err)
			}
			want = append(want, piece...)
		}
		limit := rapid.IntRange(1, 30_000).Draw(r, "limit")
		at := rapid.IntRange(0, len(want)).Draw(r, "at")
		got, err := f.ReadOutput(t.Context(), id, stageID, int64(at), limit)
		if err != nil || !bytes.HasPrefix(want[at:], got) || (len(got) == 0) != (at == len(want)) {
			r.Fatalf("ReadOutput(%d, %d) = %d bytes, %v, of %d", at, limit, len(got), err, len(want))
		}
	})
}

func TestWhatEndsWithAPieceIsWrittenWithItOrNotAtAll(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	id := f.running()
	end := func(c *records.Change, stage *berth.Stage) error {
		stage.Status = berth.StageSucceeded
		c.Event(berth.Event{Kind: berth.EventStageEnded, Stage: stage.ID})
		return nil
	}
	late, err := f.AppendOutput(t.Context(), id, stageID, 5, []byte("x"), end)
	if err != nil || late.Ours || late.Stage.Offset != 0 {
		t.Errorf("a piece behind a gap = %+v, %v", late, err)
	}
	done, err := f.AppendOutput(t.Context(), id, stageID, 0, []byte("last"), end)
	if err != nil || !done.Ours || done.Stage.Status != berth.StageSucceeded {
		t.Errorf("the last piece = %+v, %v", done, err)
	}
	again, err := f.AppendOutput(t.Context(), id, stageID, 4, []byte("more"), end)
	if err != nil || again.Ours || !again.Stage.Status.Ended() {
		t.Errorf("a piece after the end = %+v, %v", again, err)
	}
	ends := 0
	for _, e := range f.events(id) {
		if e.Kind == berth.EventStageEnded {
			ends++
		}
	}
	if out := f.output(id, 100); ends != 1 || string(out) != "last" {
		t.Errorf("%d ends, output %q", ends, out)
	}
}

func TestOutputOfAnEndedRunIsNotAddedTo(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	id := f.running()
	f.moved(id, berth.RunFailed)
	_, err := f.AppendOutput(t.Context(), id, stageID, 0, []byte("x"), nil)
	wantCode(t, "AppendOutput", err, berth.CodeConflict)
}
