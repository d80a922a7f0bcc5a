package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

const large = 8 << 20 // more than is held in memory, and than a connection's buffers

// counted is a source of zeros that counts what is read of it.
type counted struct {
	left int64
	read atomic.Int64
	err  error // at the end, instead of io.EOF
}

func (c *counted) Read(p []byte) (int, error) {
	if c.left == 0 {
		if c.err != nil {
			return 0, c.err
		}
		return 0, io.EOF
	}
	n := min(int64(len(p)), c.left)
	c.left -= n
	c.read.Add(n)
	return int(n), nil
}

func TestALargeFileIsSentOnceAndNeverTakenForWhole(t *testing.T) {
	t.Parallel()
	broken := errors.New("the source broke")
	for _, tt := range []struct {
		name   string
		source *counted
		size   int64
		code   berth.Code
		whole  int64 // how often it came whole
	}{
		{"as long as it says", &counted{left: large}, large, "", 1},
		{"shorter", &counted{left: large - 1}, large, berth.CodeInvalid, 0},
		{"longer", &counted{left: large + 1}, large, berth.CodeInvalid, 0},
		{"broken", &counted{left: large - 1, err: broken}, large, berth.CodeInternal, 0},
		{"broken at its end", &counted{left: large, err: broken}, large, berth.CodeInternal, 0},
	} {
		var whole atomic.Int64
		s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			if err == nil && strconv.FormatInt(n, 10) == r.URL.Query().Get("size") {
				whole.Add(1)
				w.Header().Set("Content-Type", agentapi.MediaJSON)
				fmt.Fprint(w, "{}")
				return
			}
			if err != nil {
				t.Errorf("the body did not end as one should: %v", err)
			}
			problem(w, 422, `{"code":"invalid","detail":"not as long as it says"}`)
		})
		_, err := dial(t, s.config()).WriteFile(t.Context(), ref, "a", tt.source, tt.size, 0, "")
		if berth.CodeOf(err) != tt.code || whole.Load() != tt.whole || s.requests.Load() != 1 {
			t.Errorf("%s: %v, %d requests, %d times whole", tt.name, err, s.requests.Load(), whole.Load())
		}
		if tt.source.err != nil && !errors.Is(err, broken) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestALargeFileThatIsRefusedIsNotSent(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(w http.ResponseWriter, _ *http.Request) { problem(w, 409, `{"code":"conflict","detail":"unread"}`) })
	source := &counted{left: 1 << 30}
	_, err := dial(t, s.config()).WriteFile(t.Context(), ref, "a", source, 1<<30, 0, "me")
	if berth.CodeOf(err) != berth.CodeConflict || source.read.Load() != 0 {
		t.Errorf("%v after %d bytes", err, source.read.Load())
	}
}

// full is a provider whose disk gets full after a MiB.
type full struct{ berth.Provider }

func (full) WriteFile(_ context.Context, _ berth.SandboxRef, _ string, r io.Reader, _ int64, _ uint32, _ string) (berth.FileInfo, error) {
	_, err := io.CopyN(io.Discard, r, 1<<20)
	return berth.FileInfo{}, errors.Join(berth.Errorf(berth.CodeUnavailable, "no space is left on the device"), err)
}

func (full) Kind() berth.ProviderKind { return berth.ProviderDocker }

func TestALargeFileThatIsRefusedHalfwayEndsWithTheReason(t *testing.T) {
	t.Parallel()
	agent, err := agentapi.New(agentapi.Config{Token: agentToken, Installation: "mine", Providers: agentapi.Providers{berth.ProviderDocker: full{}}})
	if err != nil {
		t.Fatal(err)
	}
	s := newScript(t, agent.ServeHTTP)
	p := dial(t, s.config())
	for range 20 {
		source := &counted{left: 1 << 30}
		_, err := p.WriteFile(t.Context(), ref, "a", source, 1<<30, 0, "")
		if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "no space") {
			t.Errorf("%v after %d bytes", err, source.read.Load())
		}
		if source.read.Load() > 1<<28 {
			t.Errorf("%d bytes were sent", source.read.Load())
		}
	}
}

func TestALargeFileIsRepeatedOnlyWhileNothingWasRead(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	early := newScript(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			breakOff(w, r)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", agentapi.MediaJSON)
		fmt.Fprint(w, "{}")
	})
	if _, err := dial(t, early.config()).WriteFile(t.Context(), ref, "a", &counted{left: large}, large, 0, ""); err != nil || n.Load() != 2 {
		t.Errorf("broken before the body: %v, %d requests", err, n.Load())
	}
	late := newScript(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 100)
		breakOff(w, r)
	})
	source := &counted{left: large}
	_, err := dial(t, late.config()).WriteFile(t.Context(), ref, "a", source, large, 0, "")
	if berth.CodeOf(err) != berth.CodeUnavailable || late.requests.Load() != 1 {
		t.Errorf("broken within the body: %v, %d requests", err, late.requests.Load())
	}
}

func TestTheSourceIsTheCallersAgainAfterwards(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 100)
		breakOff(w, r)
	})
	p := dial(t, s.config())
	for range 20 {
		source := &counted{left: large}
		if _, err := p.WriteFile(t.Context(), ref, "a", source, large, 0, ""); err == nil {
			t.Fatal("it was taken")
		}
		source.left = 0 // a race, if the transport still read
	}
}
