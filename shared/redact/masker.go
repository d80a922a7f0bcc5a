// Package redact replaces secret values in a stream of bytes by "***" before
// the stream is kept anywhere. It is a courtesy, not a boundary: whoever may run
// a command may print a secret in a form that nobody foresaw.
package redact

// MinBytes is the shortest text that is ever masked: shorter values would mask
// ordinary text.
const MinBytes = 6

// MaxValueBytes is how much of one value is looked for. Longer ones are cut.
const MaxValueBytes = 64 << 10

// Replacement stands for each masked piece. Pieces that overlap are one.
const Replacement = "***"

// maxHeld is the most that a stream holds back, in bytes: more than any form of
// a value takes, so that it only cuts off endless runs of whitespace.
const maxHeld = 512 << 10

// Masker knows the values to mask in all forms that are looked for. It never
// changes and may be shared by streams.
type Masker struct{ automaton *automaton }

// New makes a Masker of values. Each is looked for whole and by line, with any
// run of whitespace matching any other, and in base64, URL and JSON forms. What
// is shorter than MinBytes is left alone.
func New(values [][]byte) *Masker {
	patterns := patternsOf(values)
	if len(patterns) == 0 {
		return &Masker{}
	}
	return &Masker{newAutomaton(patterns)}
}

// Stream starts masking one stream of bytes.
func (m *Masker) Stream() *Stream { return &Stream{automaton: m.automaton} }

// Mask is the whole of p through a Stream of its own.
func (m *Masker) Mask(p []byte) []byte {
	s := m.Stream()
	out := append([]byte(nil), s.Write(p)...)
	return append(out, s.Flush()...)
}
