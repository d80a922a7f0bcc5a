package terminal

import "golang.org/x/sys/windows"

// hide lets the console show nothing of what is typed, and work on lines and keys as
// it does.
func hide(fd int) error {
	var mode uint32
	if err := windows.GetConsoleMode(windows.Handle(fd), &mode); err != nil {
		return err
	}
	return windows.SetConsoleMode(windows.Handle(fd), mode&^windows.ENABLE_ECHO_INPUT)
}
