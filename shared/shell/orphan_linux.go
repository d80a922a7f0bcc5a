package shell

import "syscall"

// endsWithServer has the kernel end a program when the server dies without ending it:
// a kept connection would stay for as long as both machines are up. It comes too when
// the thread that started the program ends; then another one is started.
func endsWithServer() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
