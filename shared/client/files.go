package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/berth-dev/berth/shared/berth"
)

// File addresses a file of a sandbox. A Path that is relative lies in the
// workspace. Guard, when set, is read-before-write under that name.
type File struct {
	Sandbox berth.SandboxID
	Path    string
	Guard   string
}

func (f File) call(method string) call {
	k := call{method: method, path: route("sandboxes", string(f.Sandbox), "files"), repeatable: method == http.MethodGet}
	return k.param("path", f.Path).param("guard", f.Guard)
}

// ReadFile returns up to limit bytes (at most 1 MiB) from offset; of a folder, its entries.
func (c *Client) ReadFile(ctx context.Context, f File, offset, limit int64) (berth.FileData, error) {
	var out berth.FileData
	_, err := c.do(ctx, f.call(http.MethodGet).number("offset", offset).number("limit", limit), &out)
	return out, err
}

// MaxFileBytes is the largest file that WriteFile takes; Upload has no such limit.
const MaxFileBytes = 4 << 20

// WriteFile replaces a file as a whole and makes its parent folders; mode 0 is 0644.
func (c *Client) WriteFile(ctx context.Context, f File, data []byte, mode uint32) (berth.FileInfo, error) {
	var out berth.FileInfo
	k := f.call(http.MethodPut).with("Content-Type", "application/octet-stream")
	if mode != 0 {
		k = k.param("mode", strconv.FormatUint(uint64(mode), 8))
	}
	k.body, k.repeatable = data, true
	_, err := c.do(ctx, k, &out)
	return out, err
}

// DeleteFile removes a file or an empty folder.
func (c *Client) DeleteFile(ctx context.Context, f File) error {
	_, err := c.do(ctx, f.call(http.MethodDelete), nil)
	return err
}

// Grep searches file contents.
func (c *Client) Grep(ctx context.Context, sandbox berth.SandboxID, q berth.GrepQuery) (berth.GrepResult, error) {
	var out berth.GrepResult
	k, err := call{method: http.MethodPost, path: route("sandboxes", string(sandbox), "grep"), repeatable: true}.withJSON(q)
	if err == nil {
		_, err = c.do(ctx, k, &out)
	}
	return out, err
}

// Glob finds files by name.
func (c *Client) Glob(ctx context.Context, sandbox berth.SandboxID, q berth.GlobQuery) (berth.GlobResult, error) {
	var out berth.GlobResult
	k, err := call{method: http.MethodPost, path: route("sandboxes", string(sandbox), "glob"), repeatable: true}.withJSON(q)
	if err == nil {
		_, err = c.do(ctx, k, &out)
	}
	return out, err
}
