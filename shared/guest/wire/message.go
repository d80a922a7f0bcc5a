package wire

import (
	"encoding/base64"
	"encoding/json"
	"os"

	"github.com/berth-dev/berth/shared/berth"
)

// Version is the protocol's version, told in Hello. A guest outlives the agent
// that started it, so an agent keeps speaking the versions before its own.
const Version = 1

// Message is one request, answer or notice.
type Message struct {
	Header
	Body  []byte
	Files []*os.File // owned by whoever receives the message
}

// Header is a message without its body.
type Header struct {
	// ID pairs an answer with its request; 0 for notices.
	ID     uint64          `json:"id,omitempty"`
	Op     Op              `json:"op"`
	Params json.RawMessage `json:"params,omitempty"`
	Error  *Error          `json:"error,omitempty"`
	Files  int             `json:"files,omitempty"`
}

// Op is what a message is about.
type Op string

// The operations. Hello and Look are notices of the guest, Reply answers a
// request, Abandon tells the guest that nobody waits for request ID any more.
const (
	OpHello   Op = "hello"
	OpLook    Op = "look"
	OpReply   Op = "reply"
	OpAbandon Op = "abandon"

	OpProbe  Op = "probe"  // Probe → Probed; waits for bash
	OpStart  Op = "start"  // Command and the spool → none
	OpSignal Op = "signal" // Signal and the spool → none
	OpCancel Op = "cancel" // Signal (only ID) and the spool → none
	OpInput  Op = "input"  // Input and data → Offset
	OpStop   Op = "stop"   // none → none; the guest ends afterwards

	OpRead   Op = "read"   // Read → ReadResult and data
	OpWrite  Op = "write"  // Write and data → File
	OpUpload Op = "upload" // Write → Upload
	OpChunk  Op = "chunk"  // Upload and data → none
	OpCommit Op = "commit" // Upload → File
	OpDelete Op = "delete" // Delete → none
	OpGrep   Op = "grep"   // Grep → GrepResult
	OpGlob   Op = "glob"   // Glob → GlobResult
)

// Error is a berth.Error on the wire. Causes stay where they are.
type Error struct {
	Code        berth.Code `json:"code"`
	Message     string     `json:"message"`
	Field       string     `json:"field,omitempty"`
	Remediation string     `json:"remediation,omitempty"`
}

// Berth makes the domain's error of e.
func (e *Error) Berth() error {
	return &berth.Error{Code: e.Code, Message: e.Message, Field: e.Field, Remediation: e.Remediation}
}

// Text is a string that JSON carries byte for byte, valid UTF-8 or not.
type Text string

// MarshalText writes base64.
func (t Text) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(t)), nil
}

// UnmarshalText reads base64.
func (t *Text) UnmarshalText(b []byte) error {
	plain, err := base64.StdEncoding.AppendDecode(nil, b)
	*t = Text(plain)
	return err
}

// Texts converts a list of strings.
func Texts(list []string) []Text {
	var out []Text
	for _, s := range list {
		out = append(out, Text(s))
	}
	return out
}

// Strings is the inverse of Texts.
func Strings(list []Text) []string {
	var out []string
	for _, t := range list {
		out = append(out, string(t))
	}
	return out
}
