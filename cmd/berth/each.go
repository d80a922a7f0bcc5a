package main

import (
	"fmt"
	"iter"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

// forEach does the same to every argument. A failure does not keep the others
// from being done; each is reported, and the first decides the status.
func (a *app) forEach(args []string, do func(arg string) error) error {
	if len(args) == 1 {
		return do(args[0])
	}
	status := 0
	for _, arg := range args {
		err := do(arg)
		if err == nil {
			continue
		}
		report(a.stderr, fmt.Errorf("%s: %w", arg, err), a.remedy(err))
		if status == 0 {
			status = berth.CodeOf(err).Info().CLI
		}
	}
	return withStatus(status)
}

// eachOnServer is forEach on one connection; done is what is noted of each.
func (a *app) eachOnServer(args []string, done string, do func(c *client.Client, arg string) error) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	return a.forEach(args, func(arg string) error {
		if err := do(c, arg); err != nil {
			return err
		}
		a.note(done, terminal.Clean(arg))
		return nil
	})
}

// collect gathers a list; it is empty, not nil, when there is nothing.
func collect[T any](all iter.Seq2[T, error]) ([]T, error) {
	out := []T{}
	for item, err := range all {
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}
