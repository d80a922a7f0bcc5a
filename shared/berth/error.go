package berth

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Error is the domain's one error type. Message is for people; Field is the
// path of the offending input (`resources.memory`, `env.NAME`), if any.
// Several problems of one request travel as Problems.
type Error struct {
	Code        Code
	Message     string
	Field       string
	Remediation string // what to do about it, if more can be said than Message does
	Problems    []Problem
	Cause       error // logged, never shown to a caller
}

// Problem is one fault of an input, at a place.
type Problem struct {
	Location string `json:"location" doc:"Path of the field, such as resources.memory"`
	Message  string `json:"message"`
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Message)
	for _, p := range e.Problems {
		if len(e.Problems) == 1 && p.Message == e.Message {
			break
		}
		b.WriteString("; ")
		if p.Location != "" {
			b.WriteString(p.Location + ": ")
		}
		b.WriteString(p.Message)
	}
	if e.Cause != nil {
		b.WriteString(": " + e.Cause.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an error with a code and a message for people.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// FieldErrorf is Errorf with the path of the field at fault.
func FieldErrorf(code Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Wrap keeps the code of err and says what was being done; an uncoded err
// becomes internal. Wrap(nil, …) is nil.
func Wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// CodeOf returns the code that err carries; an uncoded error is internal, nil
// has no code.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	}
	return CodeInternal
}

// Shown is what a caller may learn of err: the error of berth's that it is or
// holds, else that the request was given up or took too long. All other errors are
// of code internal, with a message that says only where the rest is to be found.
func Shown(err error, internal string) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.Canceled):
		return Errorf(CodeUnavailable, "the request was given up")
	case errors.Is(err, context.DeadlineExceeded):
		return Errorf(CodeTimedOut, "the request took too long")
	}
	if e == nil || e.Code.Info().Code == CodeInternal {
		return &Error{Code: CodeInternal, Message: internal}
	}
	return e
}
