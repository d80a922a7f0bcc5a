package berth

import "time"

// The bodies of the HTTP API that are not nouns of their own. Server and client
// share them.

// List is a page of a list.
type List[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next" doc:"Cursor of the next page; null on the last"`
}

// VariableRequest is the body of PUT /variables/{name}.
type VariableRequest struct {
	Value string `json:"value"`
}

// SecretRequest is the body of PUT /secrets/{name}. Exactly one of Value and
// ValueBase64 is set; the latter is for bytes that are not UTF-8.
type SecretRequest struct {
	Value       string     `json:"value,omitempty"`
	ValueBase64 []byte     `json:"value_base64,omitempty"`
	Type        SecretType `json:"type,omitempty" enum:"token,file" doc:"token unless given"`
	Description string     `json:"description,omitempty"`
}

// CommandRequest is the body of POST /sandboxes/{id}/commands.
type CommandRequest struct {
	ID      CommandID         `json:"id,omitempty" doc:"Slug; made when absent. The same id starts once"`
	Command []string          `json:"command,omitempty" doc:"The argv, run exactly"`
	Script  string            `json:"script,omitempty" doc:"Run by bash -c; instead of command"`
	Dir     string            `json:"dir,omitempty" doc:"Where it starts; the workspace unless given"`
	Env     map[string]string `json:"env,omitempty" doc:"Beside the environment's own; may hold {{ secrets.NAME }}"`
	Timeout Duration          `json:"timeout,omitempty"`
	Stdin   bool              `json:"stdin,omitempty" doc:"Keep standard input open for POST …/stdin"`
}

// OutputReply is a piece of a command's or stage's output. Offsets are frame
// edges: pass NextOffset on to read further.
type OutputReply struct {
	Stage      StageID `json:"stage,omitempty"`
	Frames     []Frame `json:"frames"`
	NextOffset int64   `json:"next_offset"`
	// EOF means that nothing follows NextOffset, ever.
	EOF  bool  `json:"eof"`
	Exit *Exit `json:"exit"`
}

// StdinRequest is the body of POST …/stdin.
type StdinRequest struct {
	Offset int64  `json:"offset" minimum:"0" doc:"Where data belongs in the whole input; bytes that are there already are skipped"`
	Data   []byte `json:"data,omitempty" doc:"Base64"`
	EOF    bool   `json:"eof,omitempty" doc:"Close standard input after data"`
}

// StdinReply says how much input has been taken.
type StdinReply struct {
	NextOffset int64 `json:"next_offset"`
}

// CancelSignal is the name under which a command's whole process tree is ended.
const CancelSignal = "CANCEL"

// SignalRequest is the body of POST …/signal.
type SignalRequest struct {
	Signal string `json:"signal" doc:"Name, such as TERM, KILL, INT, HUP, USR1; CANCEL ends the whole process tree"`
}

// EventsReply is a piece of a run's history.
type EventsReply struct {
	Items []Event `json:"items"`
	// NextAfter is the sequence number to ask after.
	NextAfter int64 `json:"next_after"`
	// EOF means that the run has ended and its last event is above.
	EOF bool `json:"eof"`
}

// TransferDirection is the way the bytes go, seen from the sandbox.
type TransferDirection string

// The directions.
const (
	TransferUpload   TransferDirection = "upload"   // client to sandbox
	TransferDownload TransferDirection = "download" // sandbox to client
)

// TransferRequest is the body of POST /transfers.
type TransferRequest struct {
	Sandbox   SandboxID         `json:"sandbox"`
	Path      string            `json:"path" doc:"File in the sandbox"`
	Direction TransferDirection `json:"direction" enum:"upload,download"`
	Size      int64             `json:"size,omitempty" doc:"Bytes; required for upload"`
	SHA256    string            `json:"sha256,omitempty" doc:"Hex; required for upload"`
	Mode      uint32            `json:"mode,omitempty" doc:"Permission bits of an uploaded file; 0644 when 0"`
}

// TransferStatus is where a transfer stands.
type TransferStatus string

// The states of a transfer.
const (
	TransferWaiting TransferStatus = "waiting"
	TransferMoving  TransferStatus = "moving"
	TransferDone    TransferStatus = "done"
	TransferFailed  TransferStatus = "failed"
)

// Transfer moves one file of any size through a signed URL. Upload: PUT the
// bytes to URL, then commit. Download: commit, wait until done, GET URL.
type Transfer struct {
	ID        string            `json:"id"`
	Sandbox   SandboxID         `json:"sandbox"`
	Path      string            `json:"path"`
	Direction TransferDirection `json:"direction" enum:"upload,download"`
	Status    TransferStatus    `json:"status" enum:"waiting,moving,done,failed"`
	Reason    *Reason           `json:"reason"`
	Size      int64             `json:"size"`
	SHA256    string            `json:"sha256"`
	Mode      uint32            `json:"mode"`
	Method    string            `json:"method" enum:"PUT,GET"`
	URL       string            `json:"url"`
	ExpiresAt time.Time         `json:"expires_at"`
}

// Scope is what a key may do.
type Scope string

// The scopes. None is for routes that ask for no key.
const (
	ScopeNone  Scope = "none"
	ScopeRead  Scope = "read"
	ScopeRun   Scope = "run"
	ScopeAdmin Scope = "admin"
	ScopeHost  Scope = "host"
)

// Principal is who asks.
type Principal struct {
	Name   string  `json:"name"`
	Scopes []Scope `json:"scopes" enum:"read,run,admin,host"`
	Host   HostID  `json:"host,omitempty"`
	// Key is the API key that was sent; empty for the embedded server's own token.
	Key KeyID `json:"key,omitempty"`
}

// Version tells which berth answers.
type Version struct {
	Version      string         `json:"version"`
	Commit       string         `json:"commit"`
	Go           string         `json:"go"`
	Installation InstallationID `json:"installation"`
	API          string         `json:"api"`
}

// Health is the answer of GET /health.
type Health struct {
	Status string `json:"status" enum:"ok"`
}
