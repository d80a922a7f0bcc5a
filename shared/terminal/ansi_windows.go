package terminal

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// CanRedraw reports whether w is a console that understands escape sequences,
// and switches them on.
func CanRedraw(w io.Writer, termName string) bool {
	if !Is(w) || termName == "dumb" {
		return false
	}
	handle := windows.Handle(w.(*os.File).Fd())
	var mode uint32
	if windows.GetConsoleMode(handle, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
