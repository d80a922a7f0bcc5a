//go:build linux

package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/berth-dev/berth/shared/guest/wire"
)

// openDoor lets those in who come to a folder from outside, each with a stream of
// its own, until the process ends.
func (s *Server) openDoor(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	listener, err := wire.Listen(folder, false)
	if err != nil {
		return err
	}
	go s.accept(context.Background(), listener)
	return nil
}

// Join connects in and out to the process 1 of a container that [Contain] is, and
// returns when either end is gone. The line wire.Preamble comes first.
func Join(root string, in io.Reader, out io.Writer) error {
	hideMemory()
	folder, err := os.Open(filepath.Join(root, wire.ContainedDoor))
	if err != nil {
		return err
	}
	defer folder.Close()
	conn, err := wire.DialUnix(folder)
	if err != nil {
		return fmt.Errorf("the sandbox's guest does not answer: %w", err)
	}
	defer conn.Close()
	if _, err := io.WriteString(out, wire.Preamble+"\n"); err != nil {
		return err
	}
	done := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(struct{ io.Writer }{out}, struct{ io.Reader }{conn})
		done <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{in})
		done <- struct{}{}
	}()
	<-done
	return nil
}
