package runnertest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// programs are the commands that every provider has: true, false, `exit N`,
// `echo WORDS`, `sleep` (until it is ended), `count N [MS]` (numbers from 1 in
// lines), `bytes N` (a pattern of N bytes), `env` (what it was given), `cat`.
func programs() map[string]Program {
	return map[string]Program{
		"true":  func(*Process) int { return 0 },
		"false": func(*Process) int { return 1 },
		"exit":  func(p *Process) int { return p.number(1, 0) },
		"echo": func(p *Process) int {
			p.Write(berth.Stdout, []byte(strings.Join(p.Spec.Argv[1:], " ")+"\n"))
			return 0
		},
		"sleep": func(p *Process) int { <-p.Ended; return 0 },
		"count": func(p *Process) int {
			for i := range p.number(1, 10) {
				p.Write(berth.Stdout, fmt.Appendf(nil, "%d\n", i+1))
				if p.pause(time.Duration(p.number(2, 0)) * time.Millisecond) {
					return 1
				}
			}
			return 0
		},
		"bytes": func(p *Process) int {
			p.Write(berth.Stdout, Pattern(p.number(1, 1)))
			return 0
		},
		"env": func(p *Process) int {
			for _, name := range slices.Sorted(maps.Keys(p.Spec.Env)) {
				p.Write(berth.Stdout, []byte(name+"="+p.Spec.Env[name]+"\n"))
			}
			return 0
		},
		"cat": cat,
	}
}

func cat(p *Process) int {
	written := 0
	for {
		p.process.mu.Lock()
		data, eof, changed := bytes.Clone(p.process.stdin[written:]), p.process.eof, p.process.changed
		p.process.mu.Unlock()
		if len(data) > 0 {
			p.Write(berth.Stdout, data)
			written += len(data)
			continue
		}
		if eof {
			return 0
		}
		select {
		case <-changed:
		case <-p.Ended:
			return 1
		}
	}
}

func (p *Process) number(i, otherwise int) int {
	if i >= len(p.Spec.Argv) {
		return otherwise
	}
	n, err := strconv.Atoi(p.Spec.Argv[i])
	if err != nil {
		return otherwise
	}
	return n
}

func (p *Process) pause(d time.Duration) (ended bool) {
	select {
	case <-p.Ended:
		return true
	case <-time.After(d):
		return false
	}
}

// Pattern is n bytes in which no two places look the same for long.
func Pattern(n int) []byte {
	out := make([]byte, 0, n+16)
	for i := 0; len(out) < n; i++ {
		out = append(strconv.AppendInt(out, int64(i), 10), '\n')
	}
	return out[:n]
}
