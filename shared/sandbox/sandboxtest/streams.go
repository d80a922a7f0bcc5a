package sandboxtest

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
)

func testStreams(t *testing.T, s *sandbox) {
	_, byTicket := s.Provider.(berth.Ticketer)
	if _, ok := s.Provider.(berth.Streamer); !ok && !byTicket {
		t.Skip("this provider opens no streams into sandboxes")
	}
	t.Run("a shell has a terminal of the size that is told", func(t *testing.T) {
		t.Parallel()
		p := s.shell(t, berth.StreamSpec{Terminal: "xterm-256color", Window: berth.Window{Columns: 123, Rows: 45}})
		p.typed("stty size; echo \"on $TERM\"; tty; pwd\n")
		p.until("45 123\r\n")
		p.until("on xterm-256color\r\n")
		p.until("/dev/pts/")
		p.until("\r\n" + s.workspace + "\r\n")
		if err := p.out.Resize(berth.Window{Columns: 77, Rows: 33}); err != nil {
			t.Fatal(err)
		}
		p.typed("stty size\n")
		p.until("33 77\r\n")
	})
	t.Run("a shell has the declared environment, masks its secrets and tells how it ended", func(t *testing.T) {
		t.Parallel()
		p := s.shell(t, berth.StreamSpec{
			Env: map[string]string{"TOKEN": "hush-hush-value", "PLAIN": "seen"}, Mask: []berth.SecretValue{berth.NewSecretValue([]byte("hush-hush-value"))},
		})
		p.typed("echo \"$PLAIN and $TOKEN.\"\n")
		p.until("seen and ***.\r\n")
		p.typed("exit 7\n")
		if exit := p.ended(); exit == nil || exit.Code != 7 || exit.Reason != berth.ExitExited {
			t.Errorf("the shell's exit is %+v", exit)
		}
		if strings.Contains(p.shown, "hush-hush-value") {
			t.Errorf("the terminal showed the secret: %q", p.shown)
		}
	})
	t.Run("the interrupt key reaches the job in front alone", func(t *testing.T) {
		t.Parallel()
		p := s.shell(t, berth.StreamSpec{})
		p.typed("echo $((20+2))-up\n")
		p.until("22-up\r\n") // a shell that only begins would die of the key
		marker := s.marker()
		p.typed("sleep " + marker + "; echo \"status $?\"\n")
		// Not before the job is in front: bash, interrupted as it starts one, may leave
		// the terminal to it and take that for the end of input.
		eventually(t, "the job is in front", func() bool { return s.Processes(t, s.ref, "sleep\x00"+marker) == 1 })
		p.typed("\x03")
		eventually(t, "the job is interrupted", func() bool { return s.Processes(t, s.ref, "sleep\x00"+marker) == 0 })
		p.typed("echo $((40+2))-alive\n")
		p.until("42-alive\r\n")
		if err := p.out.End(); err != nil {
			t.Fatal(err)
		}
		if exit := p.ended(); exit == nil || exit.Signal != "" {
			t.Errorf("the exit at the end of input is %+v", exit)
		}
	})
	t.Run("a hang-up ends all that the shell started", func(t *testing.T) {
		t.Parallel()
		marker := s.marker()
		p := s.shell(t, berth.StreamSpec{})
		p.typed("(trap '' HUP; exec sleep " + marker + ") & setsid sleep " + marker + " & trap '' HUP TERM; sleep " + marker + "\n")
		eventually(t, "the processes are there", func() bool { return s.Processes(t, s.ref, marker) >= 3 })
		p.stream.Close()
		eventually(t, "none is left", func() bool { return s.Processes(t, s.ref, marker) == 0 })
	})
	t.Run("much output arrives whole at a slow reader", func(t *testing.T) {
		t.Parallel()
		p := s.shell(t, berth.StreamSpec{})
		p.typed("stty -onlcr; seq 1 300000; echo fin$((1+1))ished\n")
		p.until("fin2ished\n")
		if !strings.Contains(p.shown, "\n149999\n150000\n150001\n") || strings.Count(p.shown, "\n") < 300000 {
			t.Errorf("%d bytes came", len(p.shown))
		}
	})
	t.Run("what cannot be opened is told", func(t *testing.T) {
		t.Parallel()
		for _, spec := range []berth.StreamSpec{{Kind: berth.StreamPort}, {Kind: berth.StreamPort, Port: 65536}, {Kind: "other"}, {Kind: berth.StreamShell, Terminal: "a b"}} {
			_, err := s.open(t, s.ref, spec)
			wantCode(t, fmt.Sprintf("OpenStream(%+v)", spec), err, berth.CodeInvalid)
		}
		_, err := s.open(t, s.ref, berth.StreamSpec{Kind: berth.StreamPort, Port: 9})
		wantCode(t, "OpenStream to a port where nobody listens", err, berth.CodeUnavailable)
		_, err = s.open(t, berth.SandboxRef{ID: "01arz3ndektsv4rrffq69g5zzz"}, berth.StreamSpec{Kind: berth.StreamShell})
		wantCode(t, "OpenStream into a sandbox that is not there", err, berth.CodeNotFound)
	})
	t.Run("a port is reached whatever the network", func(t *testing.T) {
		t.Parallel()
		testPort(t, s)
	})
}

// counters answer each connection, once it has ended its side, with the number of
// bytes that came, and all of them. Their port is the first line of their output.
// The second one is for sandboxes that are a network of their own, so that a port is
// surely free.
var counters = []struct{ needs, script string }{
	{"perl -MIO::Socket::INET -e 1", `exec perl -MIO::Socket::INET -e '
$| = 1;
my $l = IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 64) or die;
print $l->sockport, "\n";
while (my $c = $l->accept) {
	if (!fork) { my $in = ""; while (sysread($c, my $b, 65536)) { $in .= $b } print $c length($in), "\n", $in; close $c; exit }
	close $c;
}'`},
	{"busybox nc --help 2>&1 | grep -q -e -ll", `busybox nc -ll -p 17423 -e bash -c 'f=$(mktemp); cat >"$f"; wc -c <"$f"; cat "$f"; rm "$f"' &
for ((i = 0; i < 200; i++)); do
	if cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q :440F; then echo 17423; wait; exit; fi
	sleep 0.05
done
exit 1`},
}

func testPort(t *testing.T, s *sandbox) {
	var script string
	for _, c := range counters {
		if r := s.script(t, c.needs); r.exit.Succeeded() {
			script = c.script
			break
		}
	}
	if script == "" {
		t.Skip("there is neither Perl nor busybox in the sandbox to listen with")
	}
	id := s.start(t, berth.CommandSpec{Argv: []string{"bash", "-c", script}})
	var r result
	for offset := int64(0); !strings.Contains(r.stdout, "\n"); {
		out, err := s.Provider.ReadOutput(ctx(t), s.ref, id, offset, 0, 5*time.Second)
		if err != nil || out.Ended {
			t.Fatalf("the server in the sandbox: %+v, %v", out, err)
		}
		r.add(t, out)
		offset = out.Next
	}
	var port int
	if _, err := fmt.Sscan(r.stdout, &port); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			sent := bytes.Repeat([]byte{byte(i), 0, 255, '\n'}, 200_000*i)
			stream, err := s.open(t, s.ref, berth.StreamSpec{Kind: berth.StreamPort, Port: port})
			if err != nil {
				t.Errorf("OpenStream: %v", err)
				return
			}
			defer stream.Close()
			out := channel.NewWriter(stream)
			go func() {
				if _, err := out.Write(sent); err != nil {
					t.Errorf("Write: %v", err)
				}
				_ = out.End() // a failure shows in what comes back
			}()
			want := append(fmt.Appendf(nil, "%d\n", len(sent)), sent...)
			if got := answer(t, stream); !bytes.Equal(got, want) {
				t.Errorf("%d bytes came back, want %d", len(got), len(want))
			}
		})
	}
	all.Wait()
	if err := s.Provider.Cancel(ctx(t), s.ref, id); err != nil {
		t.Error(err)
	}
}

// answer is all that comes up to the end.
func answer(t testing.TB, stream io.Reader) (got []byte) {
	for in := channel.NewReader(stream); ; {
		f, err := in.Next()
		switch {
		case err != nil:
			t.Errorf("the stream broke off: %v", err)
			return got
		case f.Kind == channel.End:
			return got
		case f.Kind == channel.Data:
			got = append(got, f.Payload...)
		}
	}
}
