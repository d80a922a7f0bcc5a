//go:build linux

package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

func TestAnAgentWhoseListenerForBrowsersFailsOffersNoPreviews(t *testing.T) {
	t.Parallel()
	o := publicOptions{}
	o.URL, o.Listen = publicURL, "127.0.0.1:0"
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	var said strings.Builder
	p, err := o.open(berth.SystemClock{}, logger, &said)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	never := func(context.Context, berth.StreamSpec) (io.ReadWriteCloser, error) { return nil, io.ErrUnexpectedEOF }
	const sandbox = berth.SandboxID("01arz3ndektsv4rrffq69g5faa")
	if _, _, err := p.Open(sandbox, 80, time.Hour, never); err != nil || p.announced() != publicURL {
		t.Fatalf("before: %v, announced %q", err, p.announced())
	}

	p.listener.Close() // behind the server's back
	p.serve(t.Context(), logger, &said)
	if got := p.announced(); got != "" {
		t.Errorf("announced %q", got)
	}
	if _, _, err := p.Open(sandbox, 80, time.Hour, never); berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "serves browsers no more") {
		t.Errorf("Open = %v", err)
	}
	if !strings.Contains(said.String(), "browsers reach no previews any more") {
		t.Errorf("said %q", said.String())
	}

	var none *public
	if got := none.announced(); got != "" {
		t.Errorf("an agent without browsers announces %q", got)
	}
}

func TestAnAgentThatEndsSaysNothingOfBrowsers(t *testing.T) {
	t.Parallel()
	o := publicOptions{}
	o.URL, o.Listen = publicURL, "127.0.0.1:0"
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	p, err := o.open(berth.SystemClock{}, slog.New(slog.DiscardHandler), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said strings.Builder
	p.serve(ctx, slog.New(slog.DiscardHandler), &said)
	if said.String() != "" || p.announced() != publicURL {
		t.Errorf("said %q, announced %q", said.String(), p.announced())
	}
}
