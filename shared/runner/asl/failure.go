package asl

import (
	"errors"
	"math"
	"slices"
	"time"
)

// The error names of the language that this package raises or matches.
const (
	errAll        = "States.ALL"
	errTaskFailed = "States.TaskFailed"
	errTimeout    = "States.Timeout"
	errHeartbeat  = "States.HeartbeatTimeout"
	errDataLimit  = "States.DataLimitExceeded"
	errRuntime    = "States.Runtime"
	errResultPath = "States.ResultPathMatchFailure"
	errParameters = "States.ParameterPathFailure"
)

// failureOf gives a task's error its name.
func failureOf(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{errTaskFailed, err.Error()}
}

// matches reports whether a list of ErrorEquals covers the error. States.ALL
// does not cover what is wrong with the machine itself, States.TaskFailed covers
// whatever a task said but a timeout.
func (e *Error) matches(names []string) bool {
	if slices.Contains(names, e.Name) {
		return true
	}
	if e.Name == errDataLimit || e.Name == errRuntime {
		return false
	}
	return slices.Contains(names, errAll) || slices.Contains(names, errTaskFailed) && e.Name != errTimeout
}

// delay is how long to wait before the attempt after n retries; most of it is
// up to jitter when the strategy is FULL.
func (r retrier) delay(n int, jitter func(time.Duration) time.Duration) time.Duration {
	seconds := float64(r.IntervalSeconds) * math.Pow(r.BackoffRate, float64(n))
	if r.MaxDelaySeconds > 0 {
		seconds = min(seconds, float64(r.MaxDelaySeconds))
	}
	d := time.Duration(min(seconds, maxSeconds) * float64(time.Second))
	if r.JitterStrategy == "FULL" {
		return jitter(d)
	}
	return d
}

// retryAfter says whether a failed state is tried again, and when. tried counts
// the retries of each retrier since the state was entered.
func (st *State) retryAfter(e *Error, tried []int, jitter func(time.Duration) time.Duration) (time.Duration, bool) {
	for i, r := range st.Retry {
		if !e.matches(r.ErrorEquals) {
			continue
		}
		if tried[i] >= r.MaxAttempts {
			return 0, false
		}
		tried[i]++
		return r.delay(tried[i]-1, jitter), true
	}
	return 0, false
}

// caught returns where a failed state goes on and with what data.
func (st *State) caught(e *Error, data any) (next string, out any, failure *Error) {
	for _, c := range st.Catch {
		if !e.matches(c.ErrorEquals) {
			continue
		}
		if c.ResultPath == nil {
			return c.Next, data, nil
		}
		out, ok := place(data, *c.ResultPath, map[string]any{"Error": e.Name, "Cause": e.Cause})
		if !ok {
			return "", nil, &Error{errResultPath, "cannot put the error at " + *c.ResultPath}
		}
		return c.Next, out, nil
	}
	return "", nil, e
}
