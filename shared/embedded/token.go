package embedded

import "github.com/berth-dev/berth/shared/tokenfile"

// TokenFile is where the token of a data folder's server is.
func TokenFile(dataDir string) string { return paths{dataDir}.token() }

// ReadToken reads the token of a data folder's server. Errors: fs.ErrNotExist
// where none has run; invalid for a file that others may read, and for an empty one.
func ReadToken(dataDir string) (string, error) { return tokenfile.Read(TokenFile(dataDir)) }
