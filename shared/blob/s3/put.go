package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob"
)

const (
	// partBytes is what is sent at once, and what a Put holds in memory.
	partBytes = 8 << 20
	// maxParts is S3's limit.
	maxParts = 10_000
	// MaxBytes is the size of the biggest blob: 78 GiB.
	MaxBytes = maxParts * partBytes
	// abortWait bounds the removal of what a failed Put has sent.
	abortWait = 10 * time.Second
)

// Put stores the size bytes that r gives, with their checksums. It returns
// invalid, and changes nothing, when r gives more or fewer; an error of r is
// returned as it is. Other errors: invalid for the key, too_large over MaxBytes,
// unavailable.
func (b *Blobs) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	const doing = "writing a blob"
	if err := blob.CheckKey(key); err != nil {
		return berth.Wrap(err, doing)
	}
	switch {
	case size < 0:
		return berth.Wrap(berth.Errorf(berth.CodeInvalid, "the size of a blob may not be negative"), doing)
	case size > MaxBytes:
		return berth.Wrap(berth.Errorf(berth.CodeTooLarge, "a blob is at most %d bytes", int64(MaxBytes)), doing)
	}
	if err := ctx.Err(); err != nil {
		return b.explain(doing, err)
	}
	source := &source{r: r, size: size}
	first, err := source.next()
	if err != nil {
		return err
	}
	if size > partBytes {
		return b.putParts(ctx, key, first, source)
	}
	_, err = b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String(b.bucket), Key: aws.String(key), Body: bytes.NewReader(first),
		ContentLength: aws.Int64(size), ChecksumSHA256: checksum(first),
	})
	if err != nil {
		return b.explain(doing, err)
	}
	return nil
}

// putParts sends a big blob piece by piece; it is there once all of it is.
func (b *Blobs) putParts(ctx context.Context, key string, first []byte, source *source) (err error) {
	const doing = "writing a big blob"
	upload, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: aws.String(b.bucket), Key: aws.String(key), ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
	})
	if err != nil {
		return b.explain(doing, err)
	}
	defer func() {
		if err == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortWait)
		defer cancel()
		// What stays is removed by the bucket's lifecycle rule.
		_, _ = b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
			Bucket: aws.String(b.bucket), Key: aws.String(key), UploadId: upload.UploadId,
		})
	}()
	var parts []types.CompletedPart
	for piece := first; len(piece) > 0; {
		part, err := b.putPart(ctx, key, aws.ToString(upload.UploadId), int32(len(parts)+1), piece)
		if err != nil {
			return b.explain(doing, err)
		}
		parts = append(parts, part)
		if piece, err = source.next(); err != nil {
			return err
		}
	}
	_, err = b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: aws.String(b.bucket), Key: aws.String(key), UploadId: upload.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	if err != nil {
		return b.explain(doing, err)
	}
	return nil
}

func (b *Blobs) putPart(ctx context.Context, key, upload string, number int32, piece []byte) (types.CompletedPart, error) {
	sum := checksum(piece)
	out, err := b.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: aws.String(b.bucket), Key: aws.String(key), UploadId: aws.String(upload), PartNumber: aws.Int32(number),
		Body: bytes.NewReader(piece), ContentLength: aws.Int64(int64(len(piece))), ChecksumSHA256: sum,
	})
	if err != nil {
		return types.CompletedPart{}, err
	}
	return types.CompletedPart{PartNumber: aws.Int32(number), ETag: out.ETag, ChecksumSHA256: sum}, nil
}

func checksum(b []byte) *string {
	sum := sha256.Sum256(b)
	return aws.String(base64.StdEncoding.EncodeToString(sum[:]))
}

// source cuts what a reader gives into pieces and holds it to its size.
type source struct {
	r    io.Reader
	size int64
	read int64
}

// next returns the next piece; an empty one when all has been read. With the
// last piece it has checked that nothing follows.
func (s *source) next() ([]byte, error) {
	const doing = "writing a blob"
	piece := make([]byte, min(partBytes, s.size-s.read))
	n, err := io.ReadFull(s.r, piece)
	s.read += int64(n)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, berth.Wrap(berth.Errorf(berth.CodeInvalid, "the blob has %d bytes, not the %d announced", s.read, s.size), doing)
	case err != nil:
		return nil, berth.Wrap(err, "reading what a blob is made of")
	case s.read < s.size:
		return piece, nil
	}
	switch n, err := io.ReadFull(s.r, make([]byte, 1)); {
	case n > 0:
		return nil, berth.Wrap(berth.Errorf(berth.CodeInvalid, "the blob is longer than the %d bytes announced", s.size), doing)
	case !errors.Is(err, io.EOF):
		return nil, berth.Wrap(err, "reading what a blob is made of")
	}
	return piece, nil
}
