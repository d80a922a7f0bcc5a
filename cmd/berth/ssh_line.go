package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/terminal"
)

// runSSH runs a command line of ssh that the server has told, without a shell, and
// ends with its status.
func (a *app) runSSH(ctx context.Context, line string) error {
	words, ok := sshWords(line)
	if !ok {
		return &berth.Error{
			Code: berth.CodeUnsupported, Message: "the provider's command line is not one that berth runs by itself",
			Remediation: "look at it, and run it: " + terminal.Clean(line),
		}
	}
	program, err := exec.LookPath(words[0])
	if err != nil {
		return &berth.Error{
			Code: berth.CodeNotFound, Message: "there is no ssh on this machine", Cause: err,
			Remediation: "install the OpenSSH client, or run this elsewhere: " + terminal.Clean(line),
		}
	}
	a.note("%s", terminal.Clean(line))
	signals, stop := a.signals() // those of the terminal are for ssh too: it decides what comes of them
	defer stop()
	cmd := exec.CommandContext(ctx, program, words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = a.stdin, a.stdout, a.stderr, a.dir
	if err := cmd.Start(); err != nil {
		return local(err, "starting ssh")
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if s != os.Interrupt {
				_ = cmd.Process.Signal(s) // it may have ended
			}
			continue
		case err = <-ended:
		}
		break
	}
	var failed *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed) && failed.ExitCode() >= 0:
		return exitStatus(failed.ExitCode())
	}
	return local(err, "running ssh")
}

// What a command line of ssh may have before the destination. Options that would
// run something on this machine are not among them.
var (
	sshAlone     = []string{"-t", "-tt", "-q", "-4", "-6", "-C", "-T"}
	sshWithValue = []string{"-p", "-l", "-F", "-J"}
)

// sshWords splits a command line, and reports whether it is one of ssh that does
// nothing here but connect.
func sshWords(line string) ([]string, bool) {
	words, ok := splitWords(line)
	if !ok || len(words) < 2 || words[0] != "ssh" {
		return nil, false
	}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case slices.Contains(sshAlone, word):
		case slices.Contains(sshWithValue, word) && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
			i++
		default:
			return words, !strings.HasPrefix(word, "-") && word != ""
		}
	}
	return nil, false // no destination
}

// splitWords is the inverse of berth.ShellQuote. It reports false for what a shell
// would do more with than split.
func splitWords(line string) (words []string, ok bool) {
	var word strings.Builder
	inWord, quoted := false, false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quoted && c == '\'':
			quoted = false
		case quoted:
			word.WriteByte(c)
		case c == '\'':
			quoted, inWord = true, true
		case c == '\\' && i+1 < len(line) && line[i+1] == '\'':
			word.WriteByte('\'')
			inWord = true
			i++
		case c == ' ' || c == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		case c < ' ' || strings.IndexByte("\\\"`$&|;<>(){}*?[]#~!", c) >= 0:
			return nil, false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, !quoted
}
