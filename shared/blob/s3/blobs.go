// Package s3 keeps blobs as objects in one S3 bucket, which is the
// installation's own.
//
// S3 replaces an object whole or not at all, so a blob is never seen half
// written; parts of a big one that never became whole are what the bucket's
// lifecycle rule for incomplete uploads removes.
package s3

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob"
)

// Client is what the blobs need of the SDK's client.
type Client interface {
	HeadObject(context.Context, *s3.HeadObjectInput, ...func(*s3.Options)) (*s3.HeadObjectOutput, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	DeleteObjects(context.Context, *s3.DeleteObjectsInput, ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error)
	Writer
}

// Writer is the part of Client that writes.
type Writer interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	CreateMultipartUpload(context.Context, *s3.CreateMultipartUploadInput, ...func(*s3.Options)) (*s3.CreateMultipartUploadOutput, error)
	UploadPart(context.Context, *s3.UploadPartInput, ...func(*s3.Options)) (*s3.UploadPartOutput, error)
	CompleteMultipartUpload(context.Context, *s3.CompleteMultipartUploadInput, ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error)
	AbortMultipartUpload(context.Context, *s3.AbortMultipartUploadInput, ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error)
}

// Blobs is a berth.Blobs in a bucket. It may be used by many goroutines at once.
type Blobs struct {
	client Client
	bucket string
}

var _ berth.Blobs = (*Blobs)(nil)

// New uses the bucket of that name. Whoever reads needs the right to list it
// too: without it S3 answers access denied for a blob that is not there.
func New(client Client, bucket string) *Blobs {
	return &Blobs{client: client, bucket: bucket}
}

// Size returns the blob's length in bytes. Errors: not_found, invalid,
// unavailable.
func (b *Blobs) Size(ctx context.Context, key string) (int64, error) {
	const doing = "looking at a blob"
	if err := blob.CheckKey(key); err != nil {
		return 0, berth.Wrap(err, doing)
	}
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String(b.bucket), Key: aws.String(key)})
	if err != nil {
		return 0, b.explain(doing, err)
	}
	return aws.ToInt64(out.ContentLength), nil
}

// Open reads length bytes from offset, fewer when the blob ends before; length
// < 0 reads to the end. At and beyond the end there is nothing to read, which
// is no error. Errors: not_found, invalid, unavailable.
func (b *Blobs) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	const doing = "reading a blob"
	if err := blob.CheckKey(key); err != nil {
		return nil, berth.Wrap(err, doing)
	}
	if offset < 0 {
		return nil, berth.Wrap(berth.Errorf(berth.CodeInvalid, "the offset in a blob may not be negative"), doing)
	}
	if length == 0 { // no range says so
		_, err := b.Size(ctx, key)
		return nothing(), err
	}
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: aws.String(b.bucket), Key: aws.String(key), Range: rangeOf(offset, length),
	})
	if codeOf(err) == "InvalidRange" { // there is such a blob, and it ends before
		return nothing(), nil
	}
	if err != nil {
		return nil, b.explain(doing, err)
	}
	return out.Body, nil
}

func nothing() io.ReadCloser { return io.NopCloser(bytes.NewReader(nil)) }

// rangeOf is the header for a part of an object; nil for the whole of it.
func rangeOf(offset, length int64) *string {
	end := offset + length - 1
	switch {
	case length >= 0 && end >= offset: // the sum may be beyond 64 bits
		return aws.String(fmt.Sprintf("bytes=%d-%d", offset, end))
	case offset > 0:
		return aws.String(fmt.Sprintf("bytes=%d-", offset))
	}
	return nil
}
