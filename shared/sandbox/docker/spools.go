//go:build linux

package docker

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/hostagent"
)

const (
	spoolTarget = socketTarget + "/" + wire.ContainedSpool
	// maxFetched is the most that is fetched of one spool: what a guest out of its
	// senses has written must not fill this machine's disk.
	maxFetched = 2 << 30
)

func (b *box) spoolDir() string { return filepath.Join(b.dir, "spool") }

// fetch is the spool of one command on its way here.
type fetch struct {
	done chan struct{} // closed when err is set
	err  error
}

// dropSpools forgets what was fetched: the guest writes on.
func (b *box) dropSpools() error {
	b.mu.Lock()
	b.fetches = nil
	b.mu.Unlock()
	if err := os.RemoveAll(b.spoolDir()); err != nil {
		return berth.Wrap(err, "forgetting outputs")
	}
	return hostagent.DiskError("making a sandbox's folder", os.MkdirAll(b.spoolDir(), 0o700))
}

// fetchSpool brings the spool of a command here whose sandbox does not run. After
// it, the agent on this side answers as if it had always had it. A large one goes
// on coming when who asked is gone.
func (b *box) fetchSpool(ctx context.Context, id berth.CommandID) error {
	if _, err := berth.ParseCommandID(string(id)); err != nil {
		return nil // the agent says what is wrong with it
	}
	f := b.beginFetch(id)
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return &berth.Error{Code: berth.CodeUnavailable, Message: "the output is still being read from the engine", Cause: ctx.Err()}
	}
}

// beginFetch joins a fetch that goes on or has succeeded.
func (b *box) beginFetch(id berth.CommandID) *fetch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.fetches[id]; f != nil {
		return f
	}
	f := &fetch{done: make(chan struct{})}
	if b.provider.isClosed() {
		f.err = berth.Errorf(berth.CodeUnavailable, "the server is ending")
		close(f.done)
		return f
	}
	if b.fetches == nil {
		b.fetches = map[berth.CommandID]*fetch{}
	}
	b.fetches[id] = f
	b.provider.work.Go(func() {
		defer close(f.done)
		ctx, cancel := b.provider.untilClosed()
		defer cancel()
		err := b.copySpool(ctx, id)
		if err == nil || berth.CodeOf(err) == berth.CodeNotFound { // it may not have been started
			return
		}
		f.err = err
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.fetches[id] == f { // and the next one tries again
			delete(b.fetches, id)
		}
	})
	return f
}

// copySpool gives up when nothing comes for too long.
func (b *box) copySpool(ctx context.Context, id berth.CommandID) error {
	coming, heard, stop := whileHeard(ctx, b.provider.config.OutputStall)
	defer stop()
	err := b.receiveSpool(coming, id, heard)
	if coming.Err() != nil && ctx.Err() == nil {
		return &berth.Error{
			Code: berth.CodeUnavailable, Message: "reading the output of command " + string(id) + " from the Docker engine: " + context.Cause(coming).Error(), Cause: err,
		}
	}
	return err
}

func (b *box) receiveSpool(ctx context.Context, id berth.CommandID, heard func()) error {
	name, done, err := b.holder(ctx)
	if err != nil {
		return err
	}
	defer done()
	heard()
	result, err := b.provider.engine.api.CopyFromContainer(ctx, name, client.CopyFromContainerOptions{SourcePath: spoolTarget + "/" + string(id)})
	if err != nil {
		return engineError("reading an output from container "+name, err)
	}
	defer result.Content.Close()
	in := tar.NewReader(result.Content)
	header, err := in.Next()
	if err != nil {
		return engineError("reading an output from container "+name, errors.Join(err, io.ErrUnexpectedEOF))
	}
	if header.Typeflag != tar.TypeReg { // it is no spool of ours
		return berth.Errorf(berth.CodeNotFound, "the command does not exist")
	}
	path := filepath.Join(b.spoolDir(), string(id))
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return hostagent.DiskError("keeping an output", err)
	}
	_, err = io.CopyN(file, heardReader{in, heard}, min(header.Size, maxFetched))
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		_ = os.Remove(path + ".new") // on a full disk the first error tells all
		return hostagent.DiskError("keeping an output", engineError("reading an output from container "+name, err))
	}
	return nil
}

// pushSpool takes the tombstone of a command along that was cancelled while its
// sandbox did not run.
func (b *box) pushSpool(ctx context.Context, id berth.CommandID) error {
	text, err := os.ReadFile(filepath.Join(b.spoolDir(), string(id)))
	if err != nil {
		return berth.Wrap(err, "reading a tombstone")
	}
	return b.copyIn(ctx, spoolTarget, entry{name: string(id), text: text, mode: 0o600})
}
