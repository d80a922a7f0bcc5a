package s3

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob"
)

// Presigned are blobs that whoever has a signed URL reads and writes without the
// server.
type Presigned struct {
	*Blobs
	signer *s3.PresignClient
}

var _ berth.Blobs = Presigned{}

// NewPresigned uses the bucket of that name as New does.
func NewPresigned(client *s3.Client, bucket string) Presigned {
	// The SDK would have every upload carry a checksum that nobody who only has a
	// URL knows of.
	plain := func(o *s3.Options) { o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired }
	return Presigned{New(client, bucket), s3.NewPresignClient(client, s3.WithPresignClientFromClientOptions(plain))}
}

// URL is an address at which a blob is read by GET or written by PUT, at most for
// as long as validity and as the credentials that sign it. It is known to whoever
// sees it: it is nothing for a log. Errors: invalid for the key or the method,
// unavailable.
func (p Presigned) URL(ctx context.Context, method, key string, validity time.Duration) (string, error) {
	const doing = "signing a blob's URL"
	if err := blob.CheckKey(key); err != nil {
		return "", berth.Wrap(err, doing)
	}
	lasts := s3.WithPresignExpires(max(validity, time.Second))
	var signed *v4.PresignedHTTPRequest
	var err error
	switch method {
	case http.MethodGet:
		signed, err = p.signer.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(p.bucket), Key: aws.String(key)}, lasts)
	case http.MethodPut:
		signed, err = p.signer.PresignPutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(p.bucket), Key: aws.String(key)}, lasts)
	default:
		err = berth.Errorf(berth.CodeInvalid, "a blob is read by GET and written by PUT, not by %s", method)
		return "", berth.Wrap(err, doing)
	}
	if err != nil {
		return "", p.explain(doing, err)
	}
	return signed.URL, nil
}
