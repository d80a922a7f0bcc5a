package relay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/client"
	"github.com/berth-dev/berth/shared/guest/wire"
)

const (
	// maxNoise is how much may be printed before a relay speaks.
	maxNoise = 64 << 10
	// openLimit bounds the wait for it where ctx has no deadline.
	openLimit = time.Minute
)

// Open waits for the relay at the other end of rw to begin, and returns the
// stream of messages. lines says that the relay was started with -base64. Error:
// unavailable with what was printed instead; rw is closed then.
func Open(ctx context.Context, rw io.ReadWriteCloser, lines bool) (io.ReadWriteCloser, error) {
	stream, _, err := open(ctx, rw, lines)
	return stream, err
}

// open is Open, and tells what was printed in place of a relay.
func open(ctx context.Context, rw io.ReadWriteCloser, lines bool) (stream io.ReadWriteCloser, said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	type result struct {
		noise []byte
		err   error
	}
	done := make(chan result, 1)
	go func() {
		noise, err := passOver(rw)
		done <- result{noise, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-ctx.Done():
		rw.Close()
		<-done
		return nil, "", client.ContextError(ctx)
	}
	if r.err != nil {
		// A stream may know better why it ended.
		if err := rw.Close(); berth.CodeOf(err) != berth.CodeInternal && err != nil {
			return nil, string(r.noise), err
		}
		return nil, string(r.noise), &berth.Error{
			Code: berth.CodeUnavailable, Message: "the sandbox's relay did not begin" + printed(r.noise), Cause: r.err,
		}
	}
	if lines {
		return wire.Lines(rw), "", nil
	}
	return rw, "", nil
}

// passOver reads up to the end of the preamble, a byte at a time: what follows
// is not its own.
func passOver(r io.Reader) (noise []byte, err error) {
	var one [1]byte
	for len(noise) < maxNoise {
		if _, err := io.ReadFull(r, one[:]); err != nil {
			return noise, err
		}
		noise = append(noise, one[0])
		if one[0] == '\n' && bytes.HasSuffix(bytes.TrimRight(noise, "\r\n"), []byte(wire.Preamble)) {
			return noise, nil
		}
	}
	return noise, fmt.Errorf("%d bytes came before it", len(noise))
}

// printed shows the end of what came instead.
func printed(noise []byte) string {
	const shown = 300
	noise = bytes.TrimSpace(noise)
	if len(noise) == 0 {
		return ""
	}
	if len(noise) > shown {
		noise = noise[len(noise)-shown:]
	}
	return fmt.Sprintf(": it said %q", noise)
}
