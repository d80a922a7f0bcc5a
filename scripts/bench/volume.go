package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const volumeScript = `awk 'BEGIN { for (i = 0; i < 1638400; i++) printf "%063d\n", i }'`

// benchVolume is 100 MiB of output through a run to a reader, against the same
// script into a pipe that a reader empties into a file.
func benchVolume(ctx context.Context, p plan, s *server) (row, error) {
	r := row{what: "100 MB of output through a run", anchor: "the same script, piped to a file"}
	if _, err := s.sandbox(ctx); err != nil {
		return r, err
	}
	p.block, p.blocks = 1, 3
	a, b, err := pair(p, func() error {
		run, err := s.CreateRun(ctx, berth.RunRequest{Environment: "bench", Script: volumeScript})
		if err != nil {
			return err
		}
		return s.readAll(ctx, run, 100<<20)
	}, func() error {
		return exec.CommandContext(ctx, "bash", "-c", volumeScript+" | cat > "+filepath.Join(s.dir, "volume")).Run()
	})
	r.ours, r.theirs, r.ratio = a.Round(time.Millisecond).String(), b.Round(time.Millisecond).String(), ratio(a, b)
	r.note = "server's peak resident set " + peak(s.cmd.Process.Pid)
	return r, err
}

// readAll follows the log of a run's last stage and wants so many bytes.
func (s *server) readAll(ctx context.Context, run berth.Run, want int) error {
	read := 0
	_, err := s.FollowLogs(ctx, run.ID, run.Stages[len(run.Stages)-1].ID, 0, func(reply berth.OutputReply) error {
		for _, f := range reply.Frames {
			read += len(f.Data)
		}
		return nil
	})
	if err == nil && read != want {
		err = fmt.Errorf("read %d bytes, want %d", read, want)
	}
	return err
}

func peak(pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return "unknown: " + err.Error()
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "unknown"
}
