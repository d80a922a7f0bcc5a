package fleet

import (
	"context"
	"io"

	"github.com/berth-dev/berth/shared/berth"
)

// ReadFile reads a file or lists a directory.
func (f *Fleet) ReadFile(ctx context.Context, ref berth.SandboxRef, path string, offset, limit int64, guard string) (berth.FileData, error) {
	data, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (berth.FileData, error) {
		return p.ReadFile(ctx, ref, path, offset, limit, guard)
	})
	return data, gone(ref, err)
}

// WriteFile is tried once, as r can be read once.
func (f *Fleet) WriteFile(ctx context.Context, ref berth.SandboxRef, path string, r io.Reader, size int64, mode uint32, guard string) (berth.FileInfo, error) {
	info, err := call(ctx, f, ref.Host, false, func(p berth.Provider) (berth.FileInfo, error) {
		return p.WriteFile(ctx, ref, path, r, size, mode, guard)
	})
	return info, gone(ref, err)
}

// DeleteFile deletes a file.
func (f *Fleet) DeleteFile(ctx context.Context, ref berth.SandboxRef, path, guard string) error {
	return f.done(ctx, ref, func(p berth.Provider) error { return p.DeleteFile(ctx, ref, path, guard) })
}

// Grep searches in files.
func (f *Fleet) Grep(ctx context.Context, ref berth.SandboxRef, q berth.GrepQuery) (berth.GrepResult, error) {
	found, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (berth.GrepResult, error) { return p.Grep(ctx, ref, q) })
	return found, gone(ref, err)
}

// Glob finds files by name.
func (f *Fleet) Glob(ctx context.Context, ref berth.SandboxRef, q berth.GlobQuery) (berth.GlobResult, error) {
	found, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (berth.GlobResult, error) { return p.Glob(ctx, ref, q) })
	return found, gone(ref, err)
}
