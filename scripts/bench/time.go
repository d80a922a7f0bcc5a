package main

import (
	"slices"
	"time"
)

// pair measures two sides in turn, block by block, and returns their medians.
func pair(p plan, ours, theirs func() error) (a, b time.Duration, err error) {
	var as, bs []time.Duration
	for range p.blocks {
		if as, err = block(p, as, ours); err != nil {
			return 0, 0, err
		}
		if bs, err = block(p, bs, theirs); err != nil {
			return 0, 0, err
		}
	}
	return median(as), median(bs), nil
}

func block(p plan, into []time.Duration, call func() error) ([]time.Duration, error) {
	time.Sleep(p.pause)
	for range p.block {
		begin := time.Now()
		if err := call(); err != nil {
			return nil, err
		}
		into = append(into, time.Since(begin))
	}
	return into, nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func show(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }
