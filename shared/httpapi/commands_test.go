package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
)

func TestACommandIsStartedReadWrittenAndSignalled(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		base := "/sandboxes/" + string(sandboxA) + "/commands"
		started := c.want(202, "POST "+base, `{"id":"build","command":["cat","-"],"stdin":true,"env":{"A":"b=c"},"timeout":"10s"}`)
		if got := started.Header.Get("Location"); got != "/api/v1"+base+"/build" {
			t.Errorf("Location %q", got)
		}
		cmd := httpapitest.JSON[berth.Command](t, c.want(200, "GET "+base+"/build", ""))
		if cmd.ID != "build" || cmd.Sandbox != sandboxA || cmd.Argv[0] != "cat" {
			t.Errorf("command %+v", cmd)
		}
		for _, body := range []string{`{"offset":0,"data":"aGVs"}`, `{"offset":0,"data":"aGVsbG8="}`, `{"offset":5,"eof":true}`} {
			c.want(200, "POST "+base+"/build/stdin", body)
		}
		if string(f.plane.input) != "hello" {
			t.Errorf("the input is %q", f.plane.input)
		}
		c.wantProblem(berth.CodeConflict, []string{"offset"}, "POST "+base+"/build/stdin", `{"offset":9,"data":"aGVs"}`)
		c.wantProblem(berth.CodeInvalid, []string{"data"}, "POST "+base+"/build/stdin", `{"offset":0,"data":"???"}`)
		c.wantProblem(berth.CodeInvalid, []string{"offset"}, "POST "+base+"/build/stdin", `{"offset":-1}`)

		signal := func() { c.want(204, "POST "+base+"/build/signal", `{"signal":"TERM"}`, "Idempotency-Key: s1") }
		signal()
		signal()
		c.want(204, "POST "+base+"/build/signal", `{"signal":"CANCEL"}`)
		if diff := cmp.Diff([]string{"TERM", "CANCEL"}, f.plane.signals); diff != "" {
			t.Errorf("signals (-want +got):\n%s", diff)
		}
		c.wantProblem(berth.CodeInvalid, []string{"signal"}, "POST "+base+"/build/signal", `{}`)
		c.wantProblem(berth.CodeNotFound, nil, "GET "+base+"/other", "")
		c.wantProblem(berth.CodeInvalid, []string{"path.cid"}, "GET "+base+"/UP", "")
	})
}

func TestBadCommands(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		line := "POST /sandboxes/" + string(sandboxA) + "/commands"
		c.wantProblem(berth.CodeInvalid, []string{"command"}, line, `{}`)
		c.wantProblem(berth.CodeInvalid, []string{"script"}, line, `{"command":["a"],"script":"b"}`)
		c.wantProblem(berth.CodeInvalid, []string{"id", "timeout", `env["A=…"]`}, line, `{"command":["a"],"id":"A/b","timeout":"1h30m","env":{"A=B":"x"}}`)
		c.wantProblem(berth.CodeNotFound, []string{"path.id"}, "POST /sandboxes/"+string(sandboxB)+"/commands", `{"command":["a"]}`)
		if len(f.plane.commands) != 0 {
			t.Errorf("bad requests started %v", f.plane.commands)
		}
	})
}

func TestACommandStartedTwiceWithOneKeyStartsOnce(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		f.seedRun(runB, sandboxB)
		line := "POST /sandboxes/" + string(sandboxA) + "/commands"
		first := c.want(202, line, `{"script":"date"}`, "Idempotency-Key: k")
		again := c.want(202, line, `{"script":"date"}`, "Idempotency-Key: k")
		if string(first.Body) != string(again.Body) || len(f.plane.commands) != 1 {
			t.Errorf("%d commands; %s and %s", len(f.plane.commands), first.Body, again.Body)
		}
		c.wantProblem(berth.CodeInvalid, []string{"header.Idempotency-Key"}, strings.Replace(line, string(sandboxA), string(sandboxB), 1), `{"script":"date"}`, "Idempotency-Key: k")
	})
}

func TestReadingACommandsOutputPassesOnWhatWasAskedFor(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		type asked struct {
			Offset int64
			Limit  int
			Waits  bool
		}
		var got []asked
		f.plane.commandOutput = func(_ context.Context, offset int64, limit int, wait time.Duration) (berth.OutputReply, error) {
			got = append(got, asked{offset, limit, wait > 0})
			return berth.OutputReply{
				Frames:     []berth.Frame{{Stream: berth.Stdout, Data: []byte("a")}, {Stream: berth.Stdout, Data: []byte("\xff")}},
				NextOffset: offset + 12, EOF: true, Exit: &berth.Exit{Reason: berth.ExitExited},
			}, nil
		}
		line := "GET /sandboxes/" + string(sandboxA) + "/commands/x/output"
		reply := httpapitest.JSON[berth.OutputReply](t, c.want(200, line, ""))
		if len(reply.Frames) != 1 || string(reply.Frames[0].Data) != "a\xff" || !reply.EOF || reply.Exit == nil {
			t.Errorf("reply %+v", reply)
		}
		c.want(200, line+"?offset=12&limit=77&wait=5s", "")
		if diff := cmp.Diff([]asked{{0, berth.MaxOutputRead, false}, {12, 77, true}}, got); diff != "" {
			t.Errorf("the plane was asked (-want +got):\n%s", diff)
		}
	})
}
