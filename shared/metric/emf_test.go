package metric_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/metric"
)

// stopped is a clock that stands still.
type stopped struct{ berth.SystemClock }

func (stopped) Now() time.Time { return time.UnixMilli(1_772_366_400_123) }

func record(what func(*metric.Recorder)) string {
	var b bytes.Buffer
	what(metric.New(metric.NewEMF(&b, "prod", stopped{})))
	return b.String()
}

// everything records each metric once.
func everything(r *metric.Recorder) {
	ctx := context.Background()
	r.RunEnded(ctx, berth.RunFailed)
	r.Provisioned(ctx, 1500*time.Millisecond)
	r.FollowLag(ctx, 20*time.Millisecond)
	r.Error(ctx, berth.CodeUnavailable)
	r.Throttled(ctx, "DynamoDB")
}

func TestALineIsWhatCloudWatchTakes(t *testing.T) {
	t.Parallel()
	got := record(func(r *metric.Recorder) { r.RunEnded(t.Context(), berth.RunSucceeded) })
	want := `{"RunsEnded":1,"_aws":{"Timestamp":1772366400123,"CloudWatchMetrics":[{"Namespace":"berth",` +
		`"Dimensions":[["installation"],["installation","status"]],"Metrics":[{"Name":"RunsEnded","Unit":"Count"}]}]},` +
		`"installation":"prod","status":"succeeded"}` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the line (-want +got):\n%s", diff)
	}
}

func TestEveryLineKeepsTheRulesOfTheFormat(t *testing.T) {
	t.Parallel()
	var names []string
	for line := range strings.Lines(record(everything)) {
		if err := checkEMF(line); err != nil {
			t.Errorf("%s is no embedded metric: %v", line, err)
		}
		for _, name := range []string{metric.RunsEnded, metric.ProvisionSeconds, metric.FollowLagSeconds, metric.Errors, metric.Throttles} {
			if strings.Contains(line, `"`+name+`":`) {
				names = append(names, name)
			}
		}
	}
	if len(names) != 5 {
		t.Errorf("the lines have the metrics %v, want each of the five once", names)
	}
}

func TestTheRulesFindWhatIsWrong(t *testing.T) {
	t.Parallel()
	good := strings.TrimSpace(record(func(r *metric.Recorder) { r.Error(t.Context(), berth.CodeInternal) }))
	if err := checkEMF(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"two lines in one":           {`"prod"}`, `"prod"}{`},
		"no time":                    {`"Timestamp":1772366400123,`, ``},
		"a time in seconds":          {`1772366400123`, `1772366400`},
		"a metric that is no number": {`"Errors":1`, `"Errors":"1"`},
		"a dimension without value":  {`"code":"internal",`, ``},
		"an unknown unit":            {`"Unit":"Count"`, `"Unit":"Pieces"`},
		"an unknown member":          {`"Unit":"Count"`, `"Unit":"Count","Kind":1`},
		"no namespace":               {`"Namespace":"berth"`, `"Namespace":""`},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Errorf("%s: nothing was changed in %s", name, good)
		}
		if err := checkEMF(bad); err == nil {
			t.Errorf("%s passes: %s", name, bad)
		}
	}
}

// checkEMF holds a line against the specification of the embedded metric format:
// one JSON object a line; in _aws a time in milliseconds and directives of three
// members; 1 to 30 dimensions a set, each of a text of 1 to 1024 characters; at
// most 100 metrics, each of a finite number and a known unit; names of 1 to 1024
// characters.
func checkEMF(line string) error {
	var root map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &root); err != nil {
		return err
	}
	var aws struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(root["_aws"]))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&aws); err != nil {
		return err
	}
	if aws.Timestamp < time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() || len(aws.CloudWatchMetrics) == 0 {
		return fmt.Errorf("the time is %d, with %d directives", aws.Timestamp, len(aws.CloudWatchMetrics))
	}
	named := func(s string) bool { return len(s) >= 1 && len(s) <= 1024 }
	for _, d := range aws.CloudWatchMetrics {
		if !named(d.Namespace) || len(d.Dimensions) == 0 || len(d.Metrics) == 0 || len(d.Metrics) > 100 {
			return fmt.Errorf("the directive is %+v", d)
		}
		for _, name := range slices.Concat(d.Dimensions...) {
			var value string
			if err := json.Unmarshal(root[name], &value); err != nil || !named(name) || !named(value) {
				return fmt.Errorf("the dimension %q is %s", name, root[name])
			}
		}
		for _, set := range d.Dimensions {
			if len(set) == 0 || len(set) > 30 {
				return fmt.Errorf("a set has %d dimensions", len(set))
			}
		}
		for _, m := range d.Metrics {
			var value float64
			if err := json.Unmarshal(root[m.Name], &value); err != nil || !named(m.Name) || math.IsInf(value, 0) {
				return fmt.Errorf("the metric %q is %s", m.Name, root[m.Name])
			}
			if !slices.Contains([]string{"Count", "Seconds"}, m.Unit) {
				return fmt.Errorf("the unit is %q", m.Unit)
			}
		}
	}
	return nil
}

func TestWithoutARecorderNothingHappens(t *testing.T) {
	t.Parallel()
	everything(nil)
}

func TestAMetricWithoutAValueForItsDimensionCountsForTheWhole(t *testing.T) {
	t.Parallel()
	line := record(func(r *metric.Recorder) { r.Throttled(t.Context(), "") })
	if err := checkEMF(line); err != nil || strings.Contains(line, metric.Service) {
		t.Errorf("%s: %v", line, err)
	}
}

// pieces fails a test whose lines come in more than one write.
type pieces struct {
	mu sync.Mutex // guards n
	n  int
	t  *testing.T
}

func (p *pieces) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	if err := checkEMF(string(b)); err != nil {
		p.t.Errorf("a write is no whole line: %s", b)
	}
	return len(b), nil
}

func TestLinesOfManyAtOnceStayWhole(t *testing.T) {
	t.Parallel()
	p := &pieces{t: t}
	r := metric.New(metric.NewEMF(p, "prod", stopped{}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { everything(r) })
	}
	wg.Wait()
	if p.n != 40 {
		t.Errorf("%d writes, want 40", p.n)
	}
}
