// Command emulate runs an emulator of AWS on this machine with berth deployed to
// it, until it is told to end it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/berth-dev/berth/shared/emulator"
)

const usage = "usage: emulate [-emulator NAME] [-port N] up | down"

func main() {
	kind := flag.String("emulator", string(emulator.LocalStack), "localstack or ministack")
	port := flag.Int("port", 4566, "the port of its endpoint; 0 is a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *kind, *port, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "emulate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name string, port int, arguments []string) (err error) {
	kind, err := emulator.ParseKind(name)
	if err != nil {
		return err
	}
	cache, err := emulator.Cache()
	if err != nil {
		return err
	}
	s := stage{folder: filepath.Join(cache, "emulate"), kind: kind, port: port, out: os.Stdout}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	lock := flock.New(s.folder + ".lock")
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := lock.TryLockContext(waiting, 100*time.Millisecond); err != nil {
		return fmt.Errorf("another make emulate or emulate-down is at work: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	switch {
	case len(arguments) == 1 && arguments[0] == "up":
		return s.up(ctx)
	case len(arguments) == 1 && arguments[0] == "down":
		return s.down()
	}
	return errors.New(usage)
}
