package s3

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob"
)

// pageKeys is the most keys that S3 lists, and removes, at once.
const pageKeys = 1000

// DeletePrefix removes every blob whose key begins with prefix, a page at a
// time; what is there at the start is gone at the end. Errors: invalid,
// unavailable; then some may be left, and it can be called again.
func (b *Blobs) DeletePrefix(ctx context.Context, prefix string) error {
	const doing = "removing blobs"
	if err := blob.CheckPrefix(prefix); err != nil {
		return berth.Wrap(err, doing)
	}
	var from *string
	for {
		page, err := b.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{
			Bucket: aws.String(b.bucket), Prefix: aws.String(prefix), MaxKeys: aws.Int32(pageKeys), ContinuationToken: from,
		})
		if err != nil {
			return b.explain(doing, err)
		}
		if err := b.remove(ctx, page.Contents); err != nil {
			return err
		}
		if from = page.NextContinuationToken; !aws.ToBool(page.IsTruncated) || from == nil {
			return nil
		}
	}
}

func (b *Blobs) remove(ctx context.Context, objects []types.Object) error {
	const doing = "removing blobs"
	if len(objects) == 0 {
		return nil
	}
	list := &types.Delete{Quiet: aws.Bool(true)}
	for _, o := range objects {
		list.Objects = append(list.Objects, types.ObjectIdentifier{Key: o.Key})
	}
	out, err := b.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: aws.String(b.bucket), Delete: list})
	if err != nil {
		return b.explain(doing, err)
	}
	if len(out.Errors) > 0 { // each of its own kind; the first speaks for them
		first := out.Errors[0]
		return b.explain(doing, apiError{code: aws.ToString(first.Code), message: aws.ToString(first.Message)})
	}
	return nil
}
