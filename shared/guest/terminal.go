//go:build linux

package guest

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/berth-dev/berth/shared/berth"
)

// terminal is a pseudo-terminal: the guest has the side of a person, a shell the
// other.
type terminal struct {
	person *os.File // never blocks a thread
	shell  *os.File // closed by the guest once the shell has it
}

// openTerminal makes one that belongs to the user that commands run as. Error:
// unsupported where the sandbox has no pseudo-terminals.
func (g *Guest) openTerminal() (t terminal, err error) {
	// With the user's rights, so that the terminal is the user's.
	err = g.user.do(func() error {
		fd, err := syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		t.person = os.NewFile(uintptr(fd), "/dev/ptmx")
		var unlocked, number int32
		if err := control(fd, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked)); err != nil {
			return err
		}
		shell, err := peerOf(fd)
		if err != nil { // an old kernel: by its name, then
			if err := control(fd, syscall.TIOCGPTN, unsafe.Pointer(&number)); err != nil {
				return err
			}
			shell, err = syscall.Open("/dev/pts/"+strconv.Itoa(int(number)), syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
		}
		t.shell = os.NewFile(uintptr(shell), "terminal")
		return nil
	})
	if err != nil {
		t.close()
		return terminal{}, &berth.Error{
			Code: berth.CodeUnsupported, Message: "the sandbox gives no pseudo-terminal", Cause: err,
			Remediation: "Use berth exec: it needs no terminal.",
		}
	}
	return t, nil
}

// peerOf opens the other side without its name, which the sandbox could have
// put something else under.
func peerOf(fd int) (int, error) {
	const tiocgptpeer = 0x5441
	peer, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), tiocgptpeer, syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC)
	if errno != 0 {
		return 0, errno
	}
	return int(peer), nil
}

// resize tells the programs on the terminal; a size that is not known is none.
func (t terminal) resize(w berth.Window) error {
	if w.Columns == 0 || w.Rows == 0 {
		return nil
	}
	size := [4]uint16{w.Rows, w.Columns}
	raw, err := t.person.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = control(int(fd), syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	}); err != nil {
		return err
	}
	return failed
}

func (t terminal) close() {
	for _, f := range []*os.File{t.person, t.shell} {
		if f != nil {
			f.Close()
		}
	}
}

func control(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}
