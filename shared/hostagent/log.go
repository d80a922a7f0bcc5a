package hostagent

import "slices"

// Logger is told what nobody else is. A *slog.Logger is one, and the pairs are
// as its methods take them. The guest is an agent too, and small: it cannot
// carry log/slog.
type Logger interface {
	Debug(message string, pairs ...any)
	Warn(message string, pairs ...any)
	Error(message string, pairs ...any)
}

// Silent is a Logger that writes nothing.
type Silent struct{}

// Debug writes nothing.
func (Silent) Debug(string, ...any) {}

// Warn writes nothing.
func (Silent) Warn(string, ...any) {}

// Error writes nothing.
func (Silent) Error(string, ...any) {}

// LogWith adds pairs to all that logger is told.
func LogWith(logger Logger, pairs ...any) Logger { return paired{logger, slices.Clip(pairs)} }

type paired struct {
	Logger
	pairs []any
}

func (p paired) Debug(message string, pairs ...any) {
	p.Logger.Debug(message, append(p.pairs, pairs...)...)
}

func (p paired) Warn(message string, pairs ...any) {
	p.Logger.Warn(message, append(p.pairs, pairs...)...)
}

func (p paired) Error(message string, pairs ...any) {
	p.Logger.Error(message, append(p.pairs, pairs...)...)
}
