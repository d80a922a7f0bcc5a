package serverless

import "github.com/berth-dev/berth/shared/berth"

// Guests gives the program cmd/berth-guest for a processor in Go's words.
type Guests func(arch string) ([]byte, error)

// Option changes a wiring before it is opened.
type Option func(*Wiring)

// WithGuests is for functions that make or start sandboxes. The others carry no
// guests, which are a third of such a function's size.
func WithGuests(guests Guests) Option { return func(w *Wiring) { w.guests = guests } }

// noGuests is for functions that put none anywhere.
func noGuests(string) ([]byte, error) {
	return nil, berth.Errorf(berth.CodeInternal, "this function carries no guest: it should neither make nor start a sandbox")
}
