package serverless

import "github.com/berth-dev/berth/shared/control"

// LogTo is the logger of functions, for the tests.
var LogTo = newLogger

// CountThrottles is what counts the throttled attempts of every client.
var CountThrottles = countThrottles

// PlaneOf is the control plane that the API of w has.
func PlaneOf(w *Wiring) *control.Plane { return w.API().Plane.(*control.Plane) }
