// Command packfunctions packs programs of functions for Lambda: of each file
// FROM/KIND/NAME it makes the archive TO/KIND/NAME.zip, which holds the program as
// bootstrap. The same program gives the same archive, byte for byte, so that a
// deployment uploads only what changed.
package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// maxZip is the most that an archive may have, in bytes: a bigger one starts late.
const maxZip = 10 << 20

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: packfunctions FROM TO")
		os.Exit(2)
	}
	if err := packAll(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "packfunctions:", err)
		os.Exit(1)
	}
}

func packAll(from, to string) error {
	programs, err := filepath.Glob(filepath.Join(from, "*", "*"))
	if err != nil {
		return err
	}
	if len(programs) == 0 {
		return fmt.Errorf("%s holds no programs", from)
	}
	sizes := make([]int64, len(programs))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, program := range programs {
		all.Go(func() (err error) {
			sizes[i], err = packOne(from, program, to)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	fmt.Printf("%d functions in %s, the largest has %.1f MiB\n", len(programs), to, float64(slices.Max(sizes))/(1<<20))
	return nil
}

// packOne packs a program of from under the name that it has there.
func packOne(from, program, to string) (size int64, err error) {
	name, err := filepath.Rel(from, program)
	if err != nil {
		return 0, err
	}
	if size, err = pack(program, filepath.Join(to, name+".zip")); err != nil {
		return 0, fmt.Errorf("packing %s: %w", name, err)
	}
	if size > maxZip {
		return 0, fmt.Errorf("%s has %d bytes, the limit is %d", name, size, maxZip)
	}
	return size, nil
}

func pack(program, archive string) (size int64, err error) {
	in, err := os.Open(program)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		return 0, err
	}
	out, err := os.Create(archive)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := zip.NewWriter(out)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
	header.SetMode(0o755)
	file, err := w.CreateHeader(header)
	if err == nil {
		_, err = io.Copy(file, in)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return 0, err
	}
	info, err := out.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
