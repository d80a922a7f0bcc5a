package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob/blobtest"
	"github.com/berth-dev/berth/shared/blob/s3"
	"github.com/berth-dev/berth/shared/emulator"
)

func TestMain(m *testing.M) { emulator.Main(m) }

// bucket makes an empty one in an account of its own. Names are everybody's.
func bucket(t *testing.T, e *emulator.Emulator) (*sdk.Client, string) {
	t.Helper()
	config := e.Config(t)
	client := sdk.NewFromConfig(config, func(o *sdk.Options) { o.UsePathStyle = true })
	keys, err := config.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	name := "berth-" + keys.AccessKeyID
	if _, err := client.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: aws.String(name)}); err != nil {
		t.Fatal(err)
	}
	return client, name
}

func TestContractOnEmulators(t *testing.T) {
	emulator.Each(t, func(t *testing.T, e *emulator.Emulator) {
		blobtest.Run(t, func(t *testing.T) berth.Blobs { return s3.New(bucket(t, e)) })
	})
}

func TestABlobOfManyPartsComesBackWholeAndInRanges(t *testing.T) {
	emulator.Each(t, comesBackWholeAndInRanges)
}

func comesBackWholeAndInRanges(t *testing.T, e *emulator.Emulator) {
	blobs := s3.New(bucket(t, e))
	content := make([]byte, 17<<20+5)
	for i := range content {
		content[i] = byte(i >> 3)
	}
	if err := blobs.Put(t.Context(), "big", bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
	for _, r := range [][2]int64{{0, -1}, {8<<20 - 3, 6}, {16 << 20, -1}, {int64(len(content)) - 1, 1 << 62}} {
		body, err := blobs.Open(t.Context(), "big", r[0], r[1])
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil {
			t.Fatal(err)
		}
		want := content[r[0]:]
		if r[1] >= 0 && r[1] < int64(len(want)) {
			want = want[:r[1]]
		}
		if !bytes.Equal(got, want) {
			t.Errorf("Open(%d, %d) gives %d bytes, want other %d", r[0], r[1], len(got), len(want))
		}
	}
}

func TestABigBlobOfAnotherSizeLeavesNothingBehind(t *testing.T) {
	emulator.Each(t, leavesNothingBehind)
}

func leavesNothingBehind(t *testing.T, e *emulator.Emulator) {
	client, name := bucket(t, e)
	blobs := s3.New(client, name)
	const size = 9 << 20
	for _, announced := range []int64{size - 1, size + 1, 2 * size} {
		err := blobs.Put(t.Context(), "big", bytes.NewReader(make([]byte, size)), announced)
		if berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("Put of %d bytes announced as %d = %v, want invalid", size, announced, err)
		}
	}
	if _, err := blobs.Size(t.Context(), "big"); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("Size = %v, want not_found", err)
	}
	open, err := client.ListMultipartUploads(t.Context(), &sdk.ListMultipartUploadsInput{Bucket: aws.String(name)})
	if err != nil {
		t.Fatal(err)
	}
	if len(open.Uploads) != 0 {
		t.Errorf("%d uploads are left open", len(open.Uploads))
	}
}

func TestAPrefixOfMoreThanAPageIsRemoved(t *testing.T) { emulator.Each(t, removesMoreThanAPage) }

func removesMoreThanAPage(t *testing.T, e *emulator.Emulator) {
	blobs := s3.New(bucket(t, e))
	for i := range 1005 {
		if err := blobs.Put(t.Context(), fmt.Sprintf("many/%d", i), strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := blobs.DeletePrefix(t.Context(), "many/"); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 999, 1004} {
		if _, err := blobs.Size(t.Context(), fmt.Sprintf("many/%d", i)); berth.CodeOf(err) != berth.CodeNotFound {
			t.Errorf("Size of blob %d = %v, want not_found", i, err)
		}
	}
}

func TestAMissingBucketIsNotAMissingBlob(t *testing.T) { emulator.Each(t, tellsAMissingBucket) }

func tellsAMissingBucket(t *testing.T, e *emulator.Emulator) {
	client, _ := bucket(t, e)
	blobs := s3.New(client, "berth-nowhere")
	_, err := blobs.Open(t.Context(), "k", 0, -1)
	var coded *berth.Error
	if !errors.As(err, &coded) || coded.Code != berth.CodeUnavailable || !strings.Contains(coded.Error(), "berth-nowhere") {
		t.Errorf("Open = %v, want unavailable that names the bucket", err)
	}
}

func TestFailuresOfTheServiceAreExplained(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		code berth.Code
		want string
	}{
		{&smithy.GenericAPIError{Code: "AccessDenied", Fault: smithy.FaultClient}, berth.CodeUnavailable, "permissions"},
		{&smithy.GenericAPIError{Code: "NoSuchBucket", Fault: smithy.FaultClient}, berth.CodeUnavailable, "Deploy"},
		{&smithy.GenericAPIError{Code: "PermanentRedirect", Fault: smithy.FaultClient}, berth.CodeUnavailable, "one region"},
		{&smithy.GenericAPIError{Code: "SlowDown", Fault: smithy.FaultServer}, berth.CodeUnavailable, "Try again"},
		{&smithy.GenericAPIError{Code: "InternalError", Fault: smithy.FaultServer}, berth.CodeUnavailable, "Try again"},
		{&smithy.GenericAPIError{Code: "InvalidArgument", Fault: smithy.FaultClient}, berth.CodeInternal, ""},
		{errors.New("connection refused"), berth.CodeUnavailable, "Try again"},
		{context.DeadlineExceeded, berth.CodeUnavailable, "Try again"},
	} {
		_, err := s3.New(failing{err: test.err}, "b").Open(t.Context(), "k", 0, -1)
		var coded *berth.Error
		if code := berth.CodeOf(err); code != test.code {
			t.Errorf("Open when S3 says %v has code %s, want %s", test.err, code, test.code)
		} else if errors.As(err, &coded) && !strings.Contains(coded.Remediation, test.want) {
			t.Errorf("Open when S3 says %v = %q, want %q", test.err, coded.Remediation, test.want)
		}
	}
}

func TestARemovalThatIsRefusedForSomeBlobsFails(t *testing.T) {
	t.Parallel()
	client := failing{page: &sdk.ListObjectsV2Output{Contents: []types.Object{{Key: aws.String("k")}}}, refused: []types.Error{{
		Key: aws.String("k"), Code: aws.String("AccessDenied"), Message: aws.String("no"),
	}}}
	if err := s3.New(client, "b").DeletePrefix(t.Context(), "k"); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("DeletePrefix = %v, want unavailable", err)
	}
}

func TestABlobThatIsTooBigIsRefusedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	unread := readerFunc(func([]byte) (int, error) { t.Error("it was read"); return 0, io.EOF })
	if err := s3.New(failing{}, "b").Put(t.Context(), "k", unread, s3.MaxBytes+1); berth.CodeOf(err) != berth.CodeTooLarge {
		t.Errorf("Put = %v, want too_large", err)
	}
}

type readerFunc func([]byte) (int, error)

func (r readerFunc) Read(p []byte) (int, error) { return r(p) }

// failing is a service that answers err to reads, lists page, and refuses to
// remove what refused names. Other calls are not expected.
type failing struct {
	s3.Client
	err     error
	page    *sdk.ListObjectsV2Output
	refused []types.Error
}

func (f failing) GetObject(context.Context, *sdk.GetObjectInput, ...func(*sdk.Options)) (*sdk.GetObjectOutput, error) {
	return nil, f.err
}

func (f failing) ListObjectsV2(context.Context, *sdk.ListObjectsV2Input, ...func(*sdk.Options)) (*sdk.ListObjectsV2Output, error) {
	return f.page, nil
}

func (f failing) DeleteObjects(context.Context, *sdk.DeleteObjectsInput, ...func(*sdk.Options)) (*sdk.DeleteObjectsOutput, error) {
	return &sdk.DeleteObjectsOutput{Errors: f.refused}, nil
}
