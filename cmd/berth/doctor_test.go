package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

type doctorReport struct {
	OK     bool      `json:"ok"`
	Checks []finding `json:"checks"`
}

func (c *cli) doctor() (doctorReport, result) {
	c.t.Helper()
	r := c.run("doctor", "--json")
	var report doctorReport
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		c.t.Fatalf("%v in %s", err, r.stdout)
	}
	return report, r
}

func (r doctorReport) status(check string) string {
	for _, f := range r.Checks {
		if f.Check == check {
			return f.Status
		}
	}
	return "absent"
}

func TestDoctorLooksAtAConfiguredServer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	report, r := c.doctor()
	if !report.OK || r.status != 0 {
		t.Errorf("berth doctor = %d, %+v; want all well", r.status, report)
	}
	for check, want := range map[string]string{"server": pass, "token": pass, "version": pass, "local provider": pass, "clock": pass, "data folder": "absent"} {
		if got := report.status(check); got != want {
			t.Errorf("%s is %s, want %s", check, got, want)
		}
	}
	f.refuse = func(_, path string) *problem {
		if path == "/whoami" {
			return problemf(berth.CodeUnauthenticated, "the key is not known")
		}
		return nil
	}
	report, r = c.doctor()
	if report.OK || r.status != 1 || report.status("token") != fail {
		t.Errorf("with a bad token berth doctor = %d, %+v; want 1", r.status, report)
	}
	mustContain(t, "text", c.run("doctor").stdout, "fail  token", "to do: set BERTH_TOKEN")
}

func TestDoctorTellsWhenNoServerAnswers(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "http://127.0.0.1:1")
	c.clock = newHurriedClock()
	report, r := c.doctor()
	if report.OK || r.status != 1 || report.status("server") != fail {
		t.Errorf("berth doctor = %d, %+v; want 1", r.status, report)
	}
	mustContain(t, "what to do", r.stdout, "see whether http://127.0.0.1:1 is the right server")
}

func TestDoctorChecksTheDataFolder(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	a := c.app(nil, nil)
	a.dataDir = filepath.Join(c.dir, "new")
	if got := (doctorReport{Checks: a.checkDataFolder(t.Context())}); got.status("data folder") != pass || got.status("disk") == "absent" {
		t.Errorf("a fresh folder: %+v", got)
	}
	file := c.write("file", "")
	a.dataDir = file
	if got := (doctorReport{Checks: a.checkDataFolder(t.Context())}); got.status("data folder") != fail || got.Checks[0].Remedy == "" {
		t.Errorf("a file in its place: %+v, want fail with what to do", got)
	}
}

func TestDoctorSeesAClockThatIsOff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		off  time.Duration
		want string
	}{"together": {0, pass}, "a little": {5 * time.Second, pass}, "an hour ahead": {time.Hour, warn}, "an hour behind": {-time.Hour, warn}} {
		date := time.Now().Add(test.off).UTC().Format(http.TimeFormat)
		probe := clockProbe{now: time.Now, next: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Date": {date}}, Body: http.NoBody}, nil
		})}
		if _, err := probe.RoundTrip(nil); err != nil || probe.finding().Status != test.want {
			t.Errorf("%s: %+v, %v; want %s", name, probe.finding(), err, test.want)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
