package daemon

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// lineLogger writes a line for each warning and error, as log/slog's text handler
// does, which is too large for a guest. Each line is one write: where the file is
// opened to append, the lines of two processes do not mix.
type lineLogger struct{ out io.Writer }

func (lineLogger) Debug(string, ...any) {}

func (l lineLogger) Warn(message string, pairs ...any) { l.write("WARN", message, pairs) }

func (l lineLogger) Error(message string, pairs ...any) { l.write("ERROR", message, pairs) }

func (l lineLogger) write(level, message string, pairs []any) {
	var line strings.Builder
	line.WriteString("time=" + time.Now().Format(time.RFC3339) + " level=" + level + " msg=" + strconv.Quote(message))
	for ; len(pairs) >= 2; pairs = pairs[2:] {
		fmt.Fprintf(&line, " %v=%s", pairs[0], quoted(fmt.Sprint(pairs[1])))
	}
	line.WriteByte('\n')
	_, _ = io.WriteString(l.out, line.String()) // there is nowhere else to say it
}

// quoted keeps a value on its line, and apart from what follows.
func quoted(value string) string {
	if q := strconv.Quote(value); len(q) != len(value)+2 || value == "" || strings.ContainsAny(value, " =") {
		return q
	}
	return value
}
