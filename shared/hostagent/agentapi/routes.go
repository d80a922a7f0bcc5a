package agentapi

import "net/http"

// route is one operation of the API.
type route struct {
	method, pattern string
	query           []string // the parameters that it takes
	media           string   // what its body is; empty when it takes none
	cap             int64    // of the body, in bytes; streamed bodies have none
	quiet           bool     // successes are logged at debug only
	handle          func(*exchange) error
}

// streamed is the cap of bodies that are passed on as they come.
const streamed = -1

// routes is the whole API. {provider} is a kind, {sandbox}, {command} and
// {move} are ids.
func (s *Server) routes() []route {
	const (
		sandboxes = prefix + "/{provider}/sandboxes"
		sandbox   = sandboxes + "/{sandbox}"
		command   = sandbox + "/commands/{command}"
		files     = sandbox + "/files"
		move      = sandbox + "/moves/{move}"
	)
	ref := []string{"ref"}
	with := func(names ...string) []string { return append(names, "ref") }
	return []route{
		{method: http.MethodGet, pattern: HealthPath, quiet: true, handle: health},

		{method: http.MethodGet, pattern: sandboxes, quiet: true, handle: list},
		{method: http.MethodPut, pattern: sandbox, media: MediaJSON, cap: maxSmall, handle: provision},
		{method: http.MethodGet, pattern: sandbox, query: ref, quiet: true, handle: describe},
		{method: http.MethodDelete, pattern: sandbox, query: ref, handle: destroy},
		{method: http.MethodPost, pattern: sandbox + "/stop", query: ref, handle: stop},
		{method: http.MethodPost, pattern: sandbox + "/start", query: ref, handle: start},
		{method: http.MethodPost, pattern: sandbox + "/tickets", query: ref, media: MediaJSON, cap: maxCommand, handle: issueTicket},
		{method: http.MethodPost, pattern: sandbox + "/previews", query: ref, media: MediaJSON, cap: maxSmall, handle: openPreview},

		{method: http.MethodPut, pattern: command, query: ref, media: MediaJSON, cap: maxCommand, handle: startCommand},
		{method: http.MethodGet, pattern: command, query: ref, quiet: true, handle: describeCommand},
		{method: http.MethodGet, pattern: command + "/output", query: with("offset", "limit", "wait"), quiet: true, handle: readOutput},
		{method: http.MethodPost, pattern: command + "/input", query: with("offset", "eof", "wait"), media: MediaBytes, cap: MaxInput, quiet: true, handle: writeInput},
		{method: http.MethodPost, pattern: command + "/signal", query: ref, media: MediaJSON, cap: maxSmall, handle: signal},
		{method: http.MethodPost, pattern: command + "/cancel", query: ref, handle: cancel},
		{method: http.MethodPost, pattern: command + "/arm", query: ref, media: MediaJSON, cap: maxSmall, quiet: true, handle: arm},

		{method: http.MethodGet, pattern: files, query: with("path", "offset", "limit", "guard"), quiet: true, handle: readFile},
		{method: http.MethodPut, pattern: files, query: with("path", "size", "mode", "guard"), media: MediaBytes, cap: streamed, quiet: true, handle: writeFile},
		{method: http.MethodDelete, pattern: files, query: with("path", "guard"), quiet: true, handle: deleteFile},
		{method: http.MethodPut, pattern: move, query: ref, media: MediaJSON, cap: maxSmall, handle: startMove},
		{method: http.MethodGet, pattern: move, query: ref, quiet: true, handle: describeMove},
		{method: http.MethodPost, pattern: sandbox + "/grep", query: ref, media: MediaJSON, cap: maxSmall, quiet: true, handle: grep},
		{method: http.MethodPost, pattern: sandbox + "/glob", query: ref, media: MediaJSON, cap: maxSmall, quiet: true, handle: glob},
	}
}
