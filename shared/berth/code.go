package berth

// Code is the machine-readable kind of an error. It is stable API.
type Code string

// The error codes. What each is for stands in [Codes].
const (
	CodeMalformed            Code = "malformed"
	CodeInvalid              Code = "invalid"
	CodeUnsupported          Code = "unsupported"
	CodeTooLarge             Code = "too_large"
	CodeUnsupportedMedia     Code = "unsupported_media"
	CodeUnauthenticated      Code = "unauthenticated"
	CodeForbidden            Code = "forbidden"
	CodeNotFound             Code = "not_found"
	CodeConflict             Code = "conflict"
	CodeStale                Code = "stale"
	CodePreconditionRequired Code = "precondition_required"
	CodeRateLimited          Code = "rate_limited"
	CodeUnavailable          Code = "unavailable"
	CodeTimedOut             Code = "timed_out"
	CodeInternal             Code = "internal"
)

// CodeInfo says how one code shows at the two edges.
type CodeInfo struct {
	Code   Code
	HTTP   int // HTTP status
	CLI    int // exit status of commands other than run and exec
	Title  string
	Remedy string // what a person does about it in general
}

// Codes is the one table from code to HTTP status and CLI exit status. No
// other place chooses a status.
var Codes = []CodeInfo{
	{CodeMalformed, 400, 2, "Malformed request", "Correct the syntax of the request."},
	{CodeInvalid, 422, 2, "Invalid request", "Correct the fields that are named."},
	{CodeUnsupported, 422, 2, "Not supported by the provider", "Change the field or choose another provider."},
	{CodeTooLarge, 413, 2, "Too large", "Send less, or use a transfer."},
	{CodeUnsupportedMedia, 415, 2, "Unsupported media type", "Send the content type that the route takes."},
	{CodeUnauthenticated, 401, 3, "Not authenticated", "Send a valid bearer token."},
	{CodeForbidden, 403, 3, "Not allowed", "Use a key with the scope that is named."},
	{CodeNotFound, 404, 4, "Not found", "Check the id."},
	{CodeConflict, 409, 5, "Conflict", "Look at the present state of the resource."},
	{CodeStale, 412, 5, "Stale", "Read the resource again and repeat the change."},
	{CodePreconditionRequired, 428, 5, "Precondition required", "Send If-Match with the ETag that you read."},
	{CodeRateLimited, 429, 6, "Too many requests", "Wait and try again."},
	{CodeUnavailable, 503, 6, "Unavailable", "Try again in a moment."},
	{CodeTimedOut, 504, 6, "Timed out", "Try again, or allow more time."},
	{CodeInternal, 500, 1, "Internal error", "Report the request id."},
}

// Info returns the row of c; an unknown code is internal.
func (c Code) Info() CodeInfo {
	for _, row := range Codes {
		if row.Code == c {
			return row
		}
	}
	return Codes[len(Codes)-1]
}

// CodeForHTTP maps a status back to a code, for clients of a server whose body
// could not be read. Statuses outside the table are internal.
func CodeForHTTP(status int) Code {
	for _, row := range Codes {
		if row.HTTP == status {
			return row.Code
		}
	}
	return CodeInternal
}
