package embedded

import "github.com/berth-dev/berth/shared/privatefile"

// ReadToken reads a token file. One that others may read is refused, as is an
// empty one.
func ReadToken(path string) (string, error) { return privatefile.ReadToken(path) }
