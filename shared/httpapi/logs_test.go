package httpapi_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
	"github.com/berth-dev/berth/shared/spool"
)

func TestLogsAreReadInWholeFramesUntilTheStageHasEnded(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		at := f.appendOutput(runA, command, 0, spool.AppendFrame(nil, spool.TypeStart, []byte(`{"command":"c"}`)))
		at = f.appendOutput(runA, command, at, frames("stdout:one\n", "stderr:two\n"))
		at = f.appendOutput(runA, command, at, frames("stdout:"+strings.Repeat("y", 9000), "mark:cut"))
		path := "/runs/" + string(runA) + "/logs"

		whole := httpapitest.JSON[berth.OutputReply](t, c.want(200, "GET "+path, ""))
		want := []berth.Frame{
			{Stream: berth.Stdout, Data: []byte("one\n")},
			{Stream: berth.Stderr, Data: []byte("two\n")},
			{Stream: berth.Stdout, Data: bytes.Repeat([]byte("y"), 9000)},
			{Stream: berth.Mark, Data: []byte("cut")},
		}
		if diff := cmp.Diff(want, whole.Frames); diff != "" {
			t.Errorf("frames (-want +got):\n%s", diff)
		}
		if whole.NextOffset != at || whole.EOF || whole.Stage != command {
			t.Errorf("next %d, eof %v, stage %s", whole.NextOffset, whole.EOF, whole.Stage)
		}
		var pieces []berth.Frame
		for offset, n := int64(0), 0; offset < at; n++ {
			piece := httpapitest.JSON[berth.OutputReply](t, c.want(200, fmt.Sprintf("GET %s?stage=%s&offset=%d&limit=1", path, command, offset), ""))
			if piece.NextOffset <= offset || n > 10 {
				t.Fatalf("no progress at %d", offset)
			}
			pieces = append(pieces, piece.Frames...)
			offset = piece.NextOffset
		}
		if diff := cmp.Diff(want, pieces); diff != "" {
			t.Errorf("frames one by one (-want +got):\n%s", diff)
		}
		quiet := httpapitest.JSON[berth.OutputReply](t, c.want(200, fmt.Sprintf("GET %s?offset=%d&wait=30ms", path, at), ""))
		if len(quiet.Frames) != 0 || quiet.EOF || quiet.NextOffset != at {
			t.Errorf("at the end so far: %+v", quiet)
		}
		f.endStage(runA, command, berth.Exit{Code: 3, Reason: berth.ExitExited})
		end := httpapitest.JSON[berth.OutputReply](t, c.want(200, fmt.Sprintf("GET %s?offset=%d&wait=20s", path, at), ""))
		if !end.EOF || end.Exit == nil || end.Exit.Code != 3 {
			t.Errorf("at the end: %+v", end)
		}
	})
}

func TestBadReadsOfLogs(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		f.appendOutput(runA, command, 0, frames("stdout:"+strings.Repeat("\xff", 50)))
		path := "GET /runs/" + string(runA) + "/logs"
		c.wantProblem(berth.CodeInvalid, []string{"query.offset"}, path+"?offset=1000", "")
		c.wantProblem(berth.CodeInvalid, []string{"query.offset"}, path+"?offset=7", "")
		c.wantProblem(berth.CodeInvalid, []string{"query.offset", "query.limit", "query.wait"}, path+"?offset=-1&limit=1048577&wait=soon", "")
		c.wantProblem(berth.CodeInvalid, []string{"query.stage"}, path+"?stage=UP", "")
		c.wantProblem(berth.CodeNotFound, []string{"query.stage"}, path+"?stage=nope", "")
		empty := httpapitest.JSON[berth.OutputReply](t, c.want(200, path+"?stage=01-prepare", ""))
		if len(empty.Frames) != 0 || empty.EOF {
			t.Errorf("a stage that has not begun: %+v", empty)
		}
		f.endRun(runA)
		over := httpapitest.JSON[berth.OutputReply](t, c.want(200, path+"?stage=01-prepare&wait=20s", ""))
		if !over.EOF || over.Exit != nil {
			t.Errorf("a stage that never began, of a run that has ended: %+v", over)
		}
	})
}

func TestOutputByteByByteFitsIntoAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	f.seedRun(runA, sandboxA)
	var raw []byte
	for i := 0; len(raw) < 1<<20; i++ {
		kind := spool.TypeStdout
		if i%2 == 1 {
			kind = spool.TypeStderr
		}
		raw = spool.AppendFrame(raw, kind, []byte{byte('a' + i%26)})
	}
	end := f.appendOutput(runA, command, 0, raw)
	count := 0
	for offset, n := int64(0), 0; offset < end; n++ {
		resp := c.want(200, fmt.Sprintf("GET /runs/%s/logs?offset=%d", runA, offset), "")
		if len(resp.Body) > 4<<20 {
			t.Fatalf("an answer of %d bytes", len(resp.Body))
		}
		reply := httpapitest.JSON[berth.OutputReply](t, resp)
		if reply.NextOffset <= offset || n > 100 {
			t.Fatalf("no progress at %d", offset)
		}
		for _, frame := range reply.Frames {
			count += len(frame.Data)
		}
		offset = reply.NextOffset
	}
	if count != len(raw)/6 {
		t.Errorf("%d bytes came of %d", count, len(raw)/6)
	}
}

func TestALongPollOfLogsAnswersWithTheFirstByte(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		time.AfterFunc(50*time.Millisecond, func() { f.appendOutput(runA, command, 0, frames("stdout:x")) })
		started := time.Now()
		reply := httpapitest.JSON[berth.OutputReply](t, c.want(200, "GET /runs/"+string(runA)+"/logs?wait=20s", ""))
		if len(reply.Frames) != 1 || time.Since(started) > 15*time.Second {
			t.Errorf("after %s: %+v", time.Since(started), reply)
		}
	})
}
