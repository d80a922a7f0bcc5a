//go:build linux

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/guest/proctree"
)

// options are where values go, by their flag. A flag for a *bool stands alone;
// others have their value behind them, whatever it looks like. Only berth writes
// them, so the guest is spared the package flag.
type options map[string]any

// read takes the flags of args. What args do not name is left as it is.
func (o options) read(args []string) error {
	for len(args) > 0 {
		name := args[0]
		args = args[1:]
		to, known := o[strings.TrimPrefix(name, "-")]
		if !known || name[0] != '-' {
			return fmt.Errorf("there is no flag %q", name)
		}
		if to, ok := to.(*bool); ok {
			*to = true
			continue
		}
		if len(args) == 0 {
			return fmt.Errorf("%s has no value", name)
		}
		if err := set(to, args[0]); err != nil {
			return fmt.Errorf("%s is %q: %w", name, args[0], err)
		}
		args = args[1:]
	}
	return nil
}

func set(to any, value string) error {
	switch to := to.(type) {
	case *string:
		*to = value
	case *proctree.Tag:
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return err
		}
		*to = proctree.Tag(n)
	case *time.Duration:
		d, err := time.ParseDuration(value)
		if err != nil {
			return err
		}
		*to = d
	default:
		panic(fmt.Sprintf("a flag for a %T", to))
	}
	return nil
}
