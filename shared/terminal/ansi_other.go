//go:build !windows

package terminal

import "io"

// CanRedraw reports whether w is a terminal that understands erasing a line.
func CanRedraw(w io.Writer, termName string) bool { return Is(w) && termName != "dumb" }
