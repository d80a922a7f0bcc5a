package relay

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// Shell runs command lines on a far machine, by whatever shell its user has.
type Shell interface {
	// Run runs line to its end with stdin, which may be nil, and returns what it
	// printed. A status other than 0 is a *[StatusError].
	Run(ctx context.Context, line string, stdin io.Reader) (stdout []byte, err error)
	// Open connects a stream to line's standard input and output. The end of ctx
	// ends the opening, not the stream.
	Open(ctx context.Context, line string) (io.ReadWriteCloser, error)
}

// StatusError is a command line that ended with another status than 0.
type StatusError struct {
	Status int
	Stderr string // its end
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("it ended with %d: %s", e.Status, strings.TrimSpace(e.Stderr))
}

// Guest puts the guest's program on machines that have a shell, and connects to
// the sandboxes there. The program lies under its hash in the user's .berth
// folder, or in one of its own below /var/tmp where the home cannot be used; it
// stays there for the next sandbox. Each sandbox has a folder beside it.
type Guest struct {
	// Binary is the program for linux on an architecture.
	Binary       func(arch string) ([]byte, error)
	Installation berth.InstallationID
	// Unfiltered lets commands inherit the machine's whole environment: for one
	// that is the sandbox's own.
	Unfiltered bool
	// Lines is for shells that do not carry every byte.
	Lines bool
}

// ErrNoGuest is the cause of a machine that can hold no guest: another system or
// processor, or no folder that programs may be run from.
var ErrNoGuest = berth.Errorf(berth.CodeUnsupported, "the guest does not run on the machine")

// places are where the program and the sandboxes may lie, as a shell sees it.
const places = `"$HOME/.berth" "/var/tmp/berth-$(id -u)"`

// What the script of Dial prints in place of a relay.
const (
	saysNoGuest   = "berth-no-guest"
	saysNoSandbox = "berth-no-sandbox"
)

// Dial connects to the daemon of a sandbox on the machine behind sh, and starts
// the daemon when none lives; with create it makes the sandbox's folder, and
// puts the program there first where it is missing. Errors: not_found when there
// is no such sandbox; ErrNoGuest; the shell's own.
func (g Guest) Dial(ctx context.Context, sh Shell, id berth.SandboxID, create bool) (io.ReadWriteCloser, error) {
	names, err := g.hashes()
	if err != nil {
		return nil, err
	}
	for installed := false; ; installed = true {
		rw, err := sh.Open(ctx, script(g.dialScript(id, names, create)))
		if err != nil {
			return nil, err
		}
		stream, said, err := open(ctx, rw, g.Lines)
		switch {
		case err == nil:
			return stream, nil
		case strings.Contains(said, saysNoSandbox):
			return nil, berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
		case !strings.Contains(said, saysNoGuest) || installed:
			return nil, err
		}
		if err := g.install(ctx, sh); err != nil {
			return nil, err
		}
	}
}

// hashes are the names that the program may have, by architecture.
func (g Guest) hashes() (map[string]string, error) {
	names := map[string]string{}
	var missing error
	for _, arch := range []string{"amd64", "arm64"} {
		b, err := g.Binary(arch)
		if err != nil {
			missing = err
			continue
		}
		names[arch] = programName(b)
	}
	if len(names) == 0 {
		return nil, missing
	}
	return names, nil
}

func programName(b []byte) string {
	sum := sha256.Sum256(b)
	return "guest-" + hex.EncodeToString(sum[:8])
}

// script is a command line that any shell takes: one word, without a newline and
// without a single quote in it. Nor has it a ! with a word behind it, which is
// history to csh even there.
func script(text string) string {
	return "exec sh -c '" + strings.ReplaceAll(strings.TrimSpace(text), "\n", " ") + "'"
}

func (g Guest) dialScript(id berth.SandboxID, names map[string]string, create bool) string {
	flags := ""
	if g.Unfiltered {
		flags += " -unfiltered"
	}
	if g.Lines {
		flags += " -base64"
	}
	if create {
		flags += " -create"
	}
	folder := string(g.Installation) + "/" + string(id)
	candidates := strings.Join([]string{names["amd64"], names["arm64"]}, " ")
	none := `[ -n "$r" ] || { echo ` + saysNoSandbox + `; exit 0; };`
	if create {
		none = ""
	}
	return `r=; p=; for d in ` + places + `; do
[ -L "$d" ] || [ ! -O "$d" ] && continue;
[ -d "$d/` + folder + `" ] && r="$d/` + folder + `";
for n in ` + candidates + `; do [ -x "$d/$n" ] && [ -z "$p" ] && p="$d/$n"; done; done;
` + none + `
[ -n "$p" ] || { echo ` + saysNoGuest + `; exit 0; };
[ -n "$r" ] || r="${p%/*}/` + folder + `";
exec "$p" relay -root "$r" -sandbox ` + string(id) + ` -installation ` + string(g.Installation) + flags
}

// install puts the program on the machine.
func (g Guest) install(ctx context.Context, sh Shell) error {
	said, err := sh.Run(ctx, script(`uname -s; uname -m; command -v gzip >/dev/null 2>&1 && echo gzip || echo plain`), nil)
	if err != nil {
		return berth.Wrap(err, "asking the machine what it is")
	}
	words := strings.Fields(string(said))
	if len(words) < 3 {
		return ErrNoGuest
	}
	words = words[len(words)-3:] // what a login script prints comes before
	arch := map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[words[1]]
	if words[0] != "Linux" || arch == "" {
		return &berth.Error{Code: berth.CodeUnsupported, Message: "the machine runs " + words[0] + " on " + words[1], Cause: ErrNoGuest}
	}
	program, err := g.Binary(arch)
	if err != nil {
		return err
	}
	data, unpack := program, "cat"
	if words[2] == "gzip" {
		if data, err = packed(program); err != nil {
			return err
		}
		unpack = "gzip -dc"
	}
	said, err = sh.Run(ctx, script(installScript(programName(program), unpack, len(program))), bytes.NewReader(data))
	if err != nil {
		return berth.Wrap(err, "putting the guest on the machine")
	}
	if !strings.Contains(string(said), saysInstalled) {
		return &berth.Error{
			Code: berth.CodeUnsupported, Message: "no folder of the machine lets the guest run" + printed(said), Cause: ErrNoGuest,
			Remediation: "Give the user a home, or /var/tmp, on a file system without noexec and with 5 MB of space.",
		}
	}
	return nil
}

const saysInstalled = "berth-installed"

// installScript writes the program beside its place and moves it there when it
// is whole and runs. A place is tried first with a program of two lines. What
// others left there half an hour ago is removed.
func installScript(name, unpack string, size int) string {
	return `umask 077; for d in ` + places + `; do
mkdir "$d" 2>/dev/null; [ -d "$d" ] && [ ! -L "$d" ] && [ -O "$d" ] || continue;
find "$d" -maxdepth 1 -name ".new-*" -mmin +30 -exec rm -f {} + 2>/dev/null;
f=$(df -Pk "$d" 2>/dev/null | { read -r x; read -r x x x f x; echo "$f"; });
[ "$f" -lt ` + strconv.Itoa(size/1024+64) + ` ] 2>/dev/null && { echo "$d has no room"; continue; };
t="$d/.new-$$"; printf "\043\041/bin/sh\nexit 0\n" 2>/dev/null > "$t" || continue;
chmod 700 "$t"; if "$t" 2>/dev/null; then
` + unpack + ` > "$t"; if [ "$(wc -c < "$t")" -eq ` + strconv.Itoa(size) + ` ] && "$t" works >/dev/null && mv -f "$t" "$d/` + name + `";
then echo ` + saysInstalled + `; else rm -f "$t"; echo "the program does not work in $d"; fi; exit 0; fi;
rm -f "$t"; done; echo "no folder can be used"`
}

func packed(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

// List names the sandboxes of this installation on the machine behind sh.
func (g Guest) List(ctx context.Context, sh Shell) ([]berth.SandboxID, error) {
	said, err := sh.Run(ctx, script(`for d in `+places+`; do [ -L "$d" ] || [ ! -O "$d" ] && continue;
for s in "$d/`+string(g.Installation)+`"/*/; do [ -d "$s" ] && s="${s%/}" && echo "berth-has-${s##*/}"; done; done; exit 0`), nil)
	if err != nil {
		return nil, err
	}
	var ids []berth.SandboxID
	for _, word := range strings.Fields(string(said)) {
		if id, found := strings.CutPrefix(word, "berth-has-"); found && berth.IsULID(id) {
			ids = append(ids, berth.SandboxID(id))
		}
	}
	return ids, nil
}
