package main

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
)

// Where blobs are in the bucket.
const (
	outputPrefix   = "runs/"
	transferPrefix = "transfers/"
)

const day = 24 * time.Hour

// newBucket makes the bucket of output and files. It keeps no versions: a blob is
// never written twice under one key with other bytes, and what is deleted has to
// be gone.
func newBucket(stack awscdk.Stack, c *config, key awskms.IKey) awss3.Bucket {
	props := &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		EnforceSSL:        yes(),
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		RemovalPolicy:     c.removal(),
		LifecycleRules: &[]*awss3.LifecycleRule{
			{Id: text("incomplete-uploads"), AbortIncompleteMultipartUploadAfter: lasting(day)},
			// The functions clear transfers away; this is for what they missed.
			{Id: text("transfers"), Prefix: text(transferPrefix), Expiration: lasting(7 * day)},
		},
	}
	if key != nil {
		props.Encryption, props.EncryptionKey, props.BucketKeyEnabled = awss3.BucketEncryption_KMS, key, yes()
	}
	bucket := awss3.NewBucket(stack, text("Bucket"), props)
	accept(bucket, "AwsSolutions-S1", "Every access comes from berth's functions or by a URL that they signed; the table records what they did. "+
		"CloudTrail's data events are the better log for who wants one.")
	return bucket
}
