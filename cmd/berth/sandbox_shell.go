package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
	"github.com/berth-dev/berth/shared/terminal"
)

// attachShell joins this terminal and a shell until the shell has ended, and ends
// with its status. The terminal is left as it was found on every path.
func (a *app) attachShell(ctx context.Context, in *os.File, stream io.ReadWriteCloser) error {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	signals, stopSignals := a.signals()
	defer stopSignals()
	restore, err := terminal.Raw(in)
	if err != nil {
		stream.Close()
		return local(err, "taking the terminal over")
	}
	defer restore()
	defer stream.Close() // which hangs up
	resized, stopResizes := terminal.Resizes()
	defer stopResizes()
	stopClosing := context.AfterFunc(ctx, func() { stream.Close() })
	defer stopClosing()

	out := channel.NewWriter(stream)
	go func() {
		// Not waited for: a read of a terminal cannot be called back.
		_, err := io.Copy(out, in)
		if err == nil {
			err = errHungUp // the terminal is gone
		}
		leave(err)
	}()
	go func() {
		for last := (berth.Window{}); ; {
			if now := windowOf(in); now != last {
				if out.Resize(now) != nil {
					return // what reads will tell
				}
				last = now
			}
			select {
			case <-ctx.Done():
				return
			case <-signals:
				leave(errHungUp)
				return
			case <-resized:
			}
		}
	}()
	exit, err := showShell(a.stdout, channel.NewReader(stream))
	restore() // before anything is said
	switch cause := context.Cause(ctx); {
	case exit != nil:
		return withStatus(statusOfExit(*exit))
	case errors.Is(cause, errHungUp):
		return exitStatus(statusCancelled)
	case isBrokenPipe(err):
		return exitStatus(statusOwn)
	}
	return &berth.Error{
		Code: berth.CodeUnavailable, Message: "the connection to the shell broke, and the shell was ended", Cause: err,
		Remediation: "see whether the sandbox is still there with `berth sandbox list`, and open another",
	}
}

// showShell writes what the shell shows until it tells how it ended.
func showShell(w io.Writer, in *channel.Reader) (*berth.Exit, error) {
	for {
		f, err := in.Next()
		if err != nil {
			return nil, err
		}
		if exit, ok := f.Exit(); ok {
			return &exit, nil
		}
		if f.Kind == channel.Data {
			if _, err := w.Write(f.Payload); err != nil {
				return nil, err
			}
		}
	}
}
