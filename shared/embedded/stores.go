package embedded

import (
	"context"
	"path/filepath"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob/dir"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/secret/sealed"
	"github.com/berth-dev/berth/shared/stream"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

// stores are what a data folder holds, opened.
type stores struct {
	table        *sqlite.Table
	records      *records.Store
	secrets      berth.Secrets
	hub          *stream.Hub
	installation records.Installation
}

// openStores makes what is not there yet: at the first start the installation
// and, once, the `default` environment.
func openStores(ctx context.Context, p paths, o Options) (s stores, err error) {
	s.table, err = sqlite.Open(ctx, p.table(), o.Clock)
	if err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			s.table.Close()
		}
	}()
	blobs, err := dir.Open(p.blobs())
	if err != nil {
		return s, err
	}
	s.hub = &stream.Hub{}
	s.records = &records.Store{Table: s.table, Blobs: blobs, Clock: o.Clock, IDs: ids.New(o.Clock), Notifier: s.hub}
	if s.installation, err = s.records.OpenInstallation(ctx); err != nil {
		return s, err
	}
	// The key's file is named for the installation, so that several data folders
	// of one person do not share one.
	key := filepath.Join(o.ConfigDir, "keys", string(s.installation.ID)+".key")
	if s.secrets, err = sealed.Open(p.secrets(), key); err != nil {
		return s, err
	}
	return s, s.records.SeedOnce(ctx, berth.SeedEnvironment())
}
