//go:build linux

package docker

import (
	"archive/tar"
	"context"
	"io"
	"os"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// scratchName is the image that holds the guest and nothing else. No registry is
// asked for it.
func (p *Provider) scratchName() string {
	return "berth-scratch:" + string(p.config.Installation)
}

// scratch makes that image from the guest at path.
func (p *Provider) scratch(ctx context.Context, path string) (string, error) {
	name := p.scratchName()
	// Not cut short: an engine that goes on alone would leave an image.
	err := p.engine.call(context.WithoutCancel(ctx), "importing the guest as an image", func(ctx context.Context) error {
		content, stop := pack(entry{name: wire.ContainedGuest, path: path, mode: 0o755})
		defer stop()
		said, err := p.engine.api.ImageImport(ctx, client.ImageImportSource{Source: content, SourceName: "-"}, name, client.ImageImportOptions{
			Changes: []string{"LABEL " + labelInstallation + "=" + string(p.config.Installation) + " " + labelPurpose + "=" + purposeProbe},
		})
		if err != nil {
			return err
		}
		defer said.Close()
		_, err = io.Copy(io.Discard, said)
		return err
	})
	return name, err
}

func (p *Provider) removeScratch(ctx context.Context) error {
	err := p.engine.call(ctx, "removing the image of the guest", func(ctx context.Context) error {
		_, err := p.engine.api.ImageRemove(ctx, p.scratchName(), client.ImageRemoveOptions{PruneChildren: true})
		return err
	})
	if code := berth.CodeOf(err); code == berth.CodeNotFound || code == berth.CodeConflict { // or somebody uses it
		return nil
	}
	return err
}

// entry is one file of an archive: that at path, or text.
type entry struct {
	name string
	path string
	text []byte
	mode int64
}

// pack makes an archive. stop ends it, wherever it is.
func pack(entries ...entry) (content io.Reader, stop func()) {
	r, w := io.Pipe()
	go func() {
		out := tar.NewWriter(w)
		for _, e := range entries {
			if err := e.write(out); err != nil {
				w.CloseWithError(err)
				return
			}
		}
		w.CloseWithError(out.Close())
	}()
	return r, func() { r.Close() }
}

func (e entry) write(out *tar.Writer) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.text))}
	if e.path == "" {
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		_, err := out.Write(e.text)
		return err
	}
	file, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.CopyN(out, file, info.Size())
	return err
}
