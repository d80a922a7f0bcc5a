package embedded

import (
	"io"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/guestbin"
	"github.com/berth-dev/berth/shared/sandbox/local"
)

// openProviders makes the server's own providers.
func openProviders(p paths, o Options, s stores, logger *slog.Logger) ([]berth.Provider, error) {
	all, err := openLocal(p, o, s.installation.ID, logger)
	if err != nil {
		return nil, err
	}
	if engine := openDocker(p, o, s, logger); engine != nil {
		all = append(all, engine)
	}
	for _, own := range []struct {
		kind berth.ProviderKind
		open func(Options, stores, *slog.Logger) (berth.Provider, error)
	}{
		{berth.ProviderDaytona, openDaytona},
		{berth.ProviderSprites, openSprites},
		{berth.ProviderSSH, openSSH},
		{berth.ProviderExe, openExe},
	} {
		provider, err := own.open(o, s, logger)
		switch {
		case err != nil && !o.Lenient:
			return nil, err
		case err != nil:
			logger.Warn("a provider is off, as its settings cannot be used", "provider", own.kind, "error", err)
			provider = control.Off(own.kind, reasonText(err))
		}
		all = append(all, provider)
	}
	return all, nil
}

// letGoLimit is how long providers may take to bring to an end what they have begun,
// such as the probe of an engine.
const letGoLimit = 5 * time.Second

// letGo closes providers at the end of the server. Their sandboxes go on.
func letGo(all []berth.Provider, logger *slog.Logger) {
	var closing sync.WaitGroup
	for _, provider := range all {
		if c, ok := provider.(io.Closer); ok {
			closing.Go(func() {
				if err := c.Close(); err != nil {
					logger.Warn("closing a provider", "provider", provider.Kind(), "error", err)
				}
			})
		}
	}
	closed := make(chan struct{})
	go func() { closing.Wait(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(letGoLimit):
		logger.Warn("the server ends before its providers have", "after", letGoLimit.String())
	}
}

// openLocal makes the local provider when the options turn it on. It needs Linux;
// elsewhere the server comes up without it.
func openLocal(p paths, o Options, installation berth.InstallationID, logger *slog.Logger) ([]berth.Provider, error) {
	if !o.AllowLocal {
		return nil, nil
	}
	if runtime.GOOS != "linux" {
		logger.Warn("the local provider needs Linux: it is off")
		return nil, nil
	}
	guest := o.GuestPath
	if guest == "" {
		var err error
		if guest, err = guestbin.Install(p.guests(), runtime.GOARCH); err != nil {
			return nil, err
		}
	}
	provider, err := local.New(local.Config{
		Root: p.sandboxes(), GuestPath: guest, Installation: installation, Clock: o.Clock, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	return []berth.Provider{provider}, nil
}
