package metric

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

// EMF writes samples as log lines in CloudWatch's embedded metric format, which
// CloudWatch makes metrics of by itself: a function needs no permission and
// waits for no request.
type EMF struct {
	installation berth.InstallationID
	clock        berth.Clock

	mu sync.Mutex // guards w: lines stay whole
	w  io.Writer
}

var _ Sink = (*EMF)(nil)

// NewEMF writes to w, which is standard output in a function.
func NewEMF(w io.Writer, installation berth.InstallationID, clock berth.Clock) *EMF {
	return &EMF{installation: installation, clock: clock, w: w}
}

// directive tells CloudWatch which members of a line are metrics. The form is at
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

type definition struct {
	Name string
	Unit Unit
}

type metadata struct {
	Timestamp         int64 // milliseconds
	CloudWatchMetrics []directive
}

// Write writes one line. A line that cannot be written is lost: measuring never
// keeps work from being done.
func (e *EMF) Write(_ context.Context, s Sample) {
	whole := []string{Installation}
	dimensions := [][]string{whole}
	line := map[string]any{Installation: string(e.installation), s.Name: s.Value}
	if s.By != "" && s.Of != "" {
		dimensions = append(dimensions, append(whole, s.By))
		line[s.By] = s.Of
	}
	line["_aws"] = metadata{
		Timestamp:         e.clock.Now().UnixMilli(),
		CloudWatchMetrics: []directive{{Namespace, dimensions, []definition{{s.Name, s.Unit}}}},
	}
	encoded, err := json.Marshal(line)
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.w.Write(append(encoded, '\n'))
}
