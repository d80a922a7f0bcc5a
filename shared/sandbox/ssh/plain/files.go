package plain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// filePiece is the most of a file that one read returns, in bytes.
const filePiece = 512 << 10

// locate goes to the folder of a path of the workspace, without following a link
// out of it. B is the name there; what a script says otherwise is an error.
func locate(name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", berth.FieldErrorf(berth.CodeInvalid, "path", "holds a NUL byte")
	}
	clean := path.Clean(name)
	if name == "" {
		clean = "."
	}
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", errEscapes
	}
	return `[ "$(cat "$R/status")" = ready ] || { say stopped; exit 0; }
W=$(cat "$R/workspace"; echo .); W=${W%??}; cd -P -- "$W" || { say gone; exit 0; }
p=` + quote(clean) + `
case "$p" in "$W") p=.;; "$W"/*) p=${p#"$W"/};; /*) say out; exit 0;; esac
B=$(basename -- "$p"; echo .); B=${B%??}; F=$(dirname -- "$p"; echo .); F=${F%??}
`, nil
}

// enter stands in the folder of the path when it has run.
const enter = `cd -P -- "./$F" 2>/dev/null || { say none; exit 0; }
case "$PWD/" in "$W"/*) ;; *) say out; exit 0;; esac
[ -L "./$B" ] && { say link; exit 0; }
`

var errEscapes = berth.FieldErrorf(berth.CodeInvalid, "path", "leads out of the workspace")

// fileError is the error that a script said.
func fileError(said []string) error {
	switch said[0] {
	case "stopped":
		return berth.Errorf(berth.CodeConflict, "the sandbox is not running")
	case "out":
		return errEscapes
	case "link":
		return berth.FieldErrorf(berth.CodeInvalid, "path", "is a link, which is not followed without a guest")
	case "none":
		return berth.FieldErrorf(berth.CodeNotFound, "path", "does not exist")
	case "folder":
		return berth.FieldErrorf(berth.CodeConflict, "path", "is a folder")
	case "full":
		return berth.FieldErrorf(berth.CodeConflict, "path", "is a folder that is not empty")
	case "odd":
		return berth.FieldErrorf(berth.CodeInvalid, "path", "is no file")
	case "cut":
		return berth.Errorf(berth.CodeUnavailable, "the file did not arrive whole: the connection was cut, or the disk is full")
	}
	return nil
}

// stat prints size, mode and time of change of a file, on Linux and elsewhere.
const stat = `stat() { command stat -c '%s %a %Y' -- "$1" 2>/dev/null || command stat -f '%z %Lp %m' -- "$1"; }
`

// ReadFile returns a piece of a file, or all entries of a folder.
func (s Sandboxes) ReadFile(ctx context.Context, ref berth.SandboxRef, name string, offset, limit int64, guard string) (berth.FileData, error) {
	if guard != "" {
		return berth.FileData{}, unsupported("read-before-write")
	}
	if offset < 0 || limit < 0 {
		return berth.FileData{}, berth.FieldErrorf(berth.CodeInvalid, "offset", "must not be negative")
	}
	if limit == 0 || limit > filePiece {
		limit = filePiece
	}
	place, err := locate(name)
	if err != nil {
		return berth.FileData{}, err
	}
	said, rest, err := s.run(ctx, ref, exists+place+enter+stat+fmt.Sprintf(`if [ -d "./$B" ]; then
  cd -P -- "./$B" || exit 1
  say list "${PWD#"$W"}"
  for f in .[!.]* ..?* *; do
    [ -L "$f" ] && k=other || { [ -d "$f" ] && k=directory || { [ -f "$f" ] && k=file || k=other; }; }
    [ -e "$f" ] || [ -L "$f" ] || continue
    printf '%%s %%s %%s\0' "$k" "$(stat "$f")" "$f"
  done
  exit 0
fi
[ -e "./$B" ] || { say none; exit 0; }
[ -f "./$B" ] || { say odd; exit 0; }
say file $(stat "./$B"); tail -c +%d "./$B" | head -c %d
`, offset+1, limit), nil)
	if err == nil {
		err = fileError(said)
	}
	if err != nil {
		return berth.FileData{}, err
	}
	rel := path.Clean(strings.TrimPrefix(name, "/"))
	if said[0] == "list" {
		return listing(rel, rest, offset), nil
	}
	info := infoOf(rel, berth.FileRegular, said[1:])
	next := offset + int64(len(rest))
	return berth.FileData{Info: info, Data: rest, Next: next, EOF: next >= info.Size}, nil
}

func infoOf(name string, kind berth.FileKind, words []string) berth.FileInfo {
	info := berth.FileInfo{Path: name, Kind: kind}
	if len(words) >= 3 {
		info.Size, _ = strconv.ParseInt(words[0], 10, 64)
		mode, _ := strconv.ParseUint(words[1], 8, 32)
		changed, _ := strconv.ParseInt(words[2], 10, 64)
		info.Mode, info.ModifiedAt = uint32(mode)&0o777, time.Unix(changed, 0).UTC()
	}
	return info
}

// listing is the entries from offset on; each is kind, size, mode, time and name.
func listing(folder string, rest []byte, offset int64) berth.FileData {
	data := berth.FileData{Info: berth.FileInfo{Path: folder, Kind: berth.FileDirectory}, EOF: true}
	for _, entry := range bytes.Split(rest, []byte{0}) {
		fields := strings.SplitN(string(entry), " ", 5)
		if len(fields) == 5 {
			data.Entries = append(data.Entries, infoOf(path.Join(folder, fields[4]), berth.FileKind(fields[0]), fields[1:4]))
		}
	}
	data.Next = int64(len(data.Entries))
	data.Entries = data.Entries[min(offset, data.Next):]
	return data
}

// WriteFile replaces a file by size bytes of r, of any size: they go through
// standard input, and take the file's place when all have come.
func (s Sandboxes) WriteFile(ctx context.Context, ref berth.SandboxRef, name string, r io.Reader, size int64, mode uint32, guard string) (berth.FileInfo, error) {
	switch {
	case guard != "":
		return berth.FileInfo{}, unsupported("read-before-write")
	case size < 0:
		return berth.FileInfo{}, berth.FieldErrorf(berth.CodeInvalid, "size", "must not be negative")
	}
	place, err := locate(name)
	if err != nil {
		return berth.FileInfo{}, err
	}
	exact := &exactly{r: r, left: size}
	script := exists + place + stat + fmt.Sprintf(`[ "$F" = . ] || case "$F" in *..*) say out; exit 0;; esac
q=$W; IFS=/; set -f; for d in $F; do q="$q/$d"; [ -L "$q" ] && { say link; exit 0; }; done; unset IFS; set +f
mkdir -p -- "./$F" 2>/dev/null
`+enter+`[ -d "./$B" ] && { say folder; exit 0; }
[ -e "./$B" ] && [ ! -f "./$B" ] && { say odd; exit 0; }
m=%o; [ "$m" != 0 ] || { [ -e "./$B" ] && m=$(stat "./$B" | cut -d' ' -f2) || m=644; }
t="./.berth-$$"; trap 'rm -f "$t"' EXIT; { cat > "$t"; if [ "$(($(wc -c < "$t")))" -ne %d ]; then say cut; else chmod "$m" "$t" && mv -f -- "$t" "./$B" && say file $(stat "./$B"); fi; exit 0; }`, mode&0o777, size)
	said, _, err := s.run(ctx, ref, script, exact)
	switch {
	case exact.err != nil:
		return berth.FileInfo{}, exact.err
	case err != nil:
		return berth.FileInfo{}, err
	}
	if err := fileError(said); err != nil {
		return berth.FileInfo{}, err
	}
	return infoOf(path.Clean(strings.TrimPrefix(name, "/")), berth.FileRegular, said[1:]), nil
}

// exactly gives as many bytes as were promised, or none of the last piece.
type exactly struct {
	r    io.Reader
	left int64
	err  error
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		if n, _ := io.ReadFull(e.r, make([]byte, 1)); n > 0 {
			e.err = berth.FieldErrorf(berth.CodeInvalid, "size", "is less than what came")
		}
		return 0, io.EOF
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	if errors.Is(err, io.EOF) && e.left > 0 {
		e.err = berth.FieldErrorf(berth.CodeInvalid, "size", "is more than what came: %d bytes are missing", e.left)
	} else if errors.Is(err, io.EOF) {
		err = nil
	} else if err != nil {
		e.err = berth.Wrap(err, "reading what is to be written")
	}
	return n, err
}

// DeleteFile removes a file or an empty folder.
func (s Sandboxes) DeleteFile(ctx context.Context, ref berth.SandboxRef, name, guard string) error {
	if guard != "" {
		return unsupported("read-before-write")
	}
	place, err := locate(name)
	if err != nil {
		return err
	}
	said, _, err := s.run(ctx, ref, exists+place+strings.Replace(enter, "[ -L", "false && [ -L", 1)+`[ "$B" != . ] || { say out; exit 0; }
[ -e "./$B" ] || [ -L "./$B" ] || { say none; exit 0; }
if [ -d "./$B" ] && [ ! -L "./$B" ]; then rmdir -- "./$B" 2>/dev/null && say ok || say full; else rm -f -- "./$B" && say ok; fi`, nil)
	if err != nil {
		return err
	}
	return fileError(said)
}

// Grep is unsupported.
func (s Sandboxes) Grep(context.Context, berth.SandboxRef, berth.GrepQuery) (berth.GrepResult, error) {
	return berth.GrepResult{}, unsupported("a search")
}

// Glob is unsupported.
func (s Sandboxes) Glob(context.Context, berth.SandboxRef, berth.GlobQuery) (berth.GlobResult, error) {
	return berth.GlobResult{}, unsupported("a search")
}
