// Package metric counts what the people who run an installation watch: how runs
// end, how long sandboxes take, how far records are behind, and what fails.
package metric

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Namespace is that of all metrics.
const Namespace = "berth"

// The metrics. Each is there once for the installation as a whole, and those of
// the second dimension that is named here once more for each of its values.
const (
	RunsEnded        = "RunsEnded"        // how many runs ended; Status
	ProvisionSeconds = "ProvisionSeconds" // from the run's admission, or its wait for room, to a sandbox whose bash answers
	FollowLagSeconds = "FollowLagSeconds" // the longest time that output waited for its record, once a Follow
	Errors           = "Errors"           // requests that ended with a status of 500 or more, or 429; Code
	Throttles        = "Throttles"        // answers of AWS that it is asked too much, also where a later try succeeds; Service
)

// The dimensions.
const (
	Installation = "installation"
	Status       = "status"
	Code         = "code"
	Service      = "service"
)

// Unit is what a metric is measured in, by the name that CloudWatch has for it.
type Unit string

// The units.
const (
	Count   Unit = "Count"
	Seconds Unit = "Seconds"
)

// Sample is one measurement. By names a dimension beside the installation, or is empty.
type Sample struct {
	Name  string
	Unit  Unit
	Value float64
	By    string
	Of    string // the value of the dimension By
}

// Sink takes samples.
type Sink interface {
	Write(ctx context.Context, s Sample)
}

// Recorder turns what happens into samples. A nil one records nothing.
type Recorder struct{ sink Sink }

// New makes a recorder into a sink.
func New(sink Sink) *Recorder { return &Recorder{sink} }

func (r *Recorder) write(ctx context.Context, s Sample) {
	if r != nil {
		r.sink.Write(ctx, s)
	}
}

// RunEnded counts a run under how it ended.
func (r *Recorder) RunEnded(ctx context.Context, status berth.RunStatus) {
	r.write(ctx, Sample{RunsEnded, Count, 1, Status, string(status)})
}

// Provisioned tells how long a sandbox took to be ready.
func (r *Recorder) Provisioned(ctx context.Context, took time.Duration) {
	r.write(ctx, Sample{Name: ProvisionSeconds, Unit: Seconds, Value: took.Seconds()})
}

// FollowLag tells how long output waited for its record.
func (r *Recorder) FollowLag(ctx context.Context, lag time.Duration) {
	r.write(ctx, Sample{Name: FollowLagSeconds, Unit: Seconds, Value: lag.Seconds()})
}

// Error counts a request that failed by no fault of its sender's.
func (r *Recorder) Error(ctx context.Context, code berth.Code) {
	r.write(ctx, Sample{Errors, Count, 1, Code, string(code)})
}

// Throttled counts a request that a service turned down for it is too busy.
func (r *Recorder) Throttled(ctx context.Context, service string) {
	r.write(ctx, Sample{Throttles, Count, 1, Service, service})
}
