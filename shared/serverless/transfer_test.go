package serverless_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/emulator"
	"github.com/berth-dev/berth/shared/hostagent/filemove"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/serverless"
	"github.com/berth-dev/berth/shared/table/dynamo"
)

// files is a provider whose sandboxes are one folder in memory.
type files struct {
	berth.Provider
	mu      sync.Mutex // guards content
	content map[string][]byte
}

func (f *files) Kind() berth.ProviderKind { return berth.ProviderDocker }

func (f *files) WriteFile(_ context.Context, _ berth.SandboxRef, path string, r io.Reader, _ int64, mode uint32, _ string) (berth.FileInfo, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return berth.FileInfo{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.content[path] = content
	return f.info(path, mode), nil
}

func (f *files) info(path string, mode uint32) berth.FileInfo {
	return berth.FileInfo{Path: path, Kind: berth.FileRegular, Size: int64(len(f.content[path])), Mode: mode, ModifiedAt: time.Unix(0, 0)}
}

func (f *files) ReadFile(_ context.Context, _ berth.SandboxRef, path string, offset, limit int64, _ string) (berth.FileData, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	end := min(offset+limit, int64(len(f.content[path])))
	return berth.FileData{
		Info: f.info(path, 0o644), Data: f.content[path][offset:end], Next: end, EOF: end == int64(len(f.content[path])),
	}, nil
}

const token = "0123456789abcdef0123456789abcdef"

// serve answers over HTTP with the wiring of functions over an emulator, and a
// provider of the test's own.
func serve(t *testing.T, provider berth.Provider) (*client.Client, berth.SandboxID) {
	t.Helper()
	config := emulator.Start(t, emulator.Ministack).Config(t)
	keys, err := config.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	variables := whole()
	variables["AWS_REGION"], variables["AWS_ENDPOINT_URL"] = config.Region, *config.BaseEndpoint
	variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"] = keys.AccessKeyID, keys.SecretAccessKey
	variables["BERTH_BUCKET"] = "berth-" + keys.AccessKeyID
	if err := dynamo.CreateTable(t.Context(), dynamodb.NewFromConfig(config), variables["BERTH_TABLE"]); err != nil {
		t.Fatal(err)
	}
	bucket := &s3.CreateBucketInput{Bucket: aws.String(variables["BERTH_BUCKET"])}
	if _, err := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true }).CreateBucket(t.Context(), bucket); err != nil {
		t.Fatal(err)
	}
	w, err := serverless.Open(lookup(variables))
	if err != nil {
		t.Fatal(err)
	}
	w.Logger = slog.New(slog.DiscardHandler)
	sandbox, err := w.Records.CreateSandbox(t.Context(), berth.Sandbox{ID: "01jd3v6d1b7k2n4p6r8t0v2x4z", Provider: provider.Kind(), Status: berth.SandboxReady})
	if err != nil {
		t.Fatal(err)
	}
	cfg := w.API()
	cfg.Authenticator = httpapi.StaticToken(token)
	cfg.Plane.(*control.Plane).Providers = control.NewProviders(provider)
	api, err := httpapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{BaseURL: server.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return c, sandbox.ID
}

func TestBigFilesGoThroughTheBucketBothWays(t *testing.T) {
	provider := &files{content: map[string][]byte{}}
	c, sandbox := serve(t, provider)
	content := make([]byte, 9<<20+7)
	for i := range content {
		content[i] = byte(i * 7 >> 2)
	}
	file := client.File{Sandbox: sandbox, Path: "data/set.bin"}
	if err := c.Upload(t.Context(), file, bytes.NewReader(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(provider.content[file.Path], content) {
		t.Errorf("the sandbox has %d other bytes than the %d sent", len(provider.content[file.Path]), len(content))
	}
	var got bytes.Buffer
	if _, err := c.Download(t.Context(), file, &got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), content) {
		t.Errorf("the download has %d other bytes than the %d of the file", got.Len(), len(content))
	}
}

func TestACommittedTransferHasMovedWhenItIsAnswered(t *testing.T) {
	provider := &files{content: map[string][]byte{"result": []byte("forty-two\n")}}
	c, sandbox := serve(t, provider)
	made, err := c.CreateTransfer(t.Context(), berth.TransferRequest{Sandbox: sandbox, Path: "result", Direction: berth.TransferDownload})
	if err != nil {
		t.Fatal(err)
	}
	moved, err := c.CommitTransfer(t.Context(), made.ID)
	if err != nil || moved.Status != berth.TransferDone || moved.Size != 10 {
		t.Errorf("CommitTransfer = %+v, %v, want one that is done", moved, err)
	}
}

// hostFiles is files on a host whose agent moves them by itself.
type hostFiles struct {
	*files
	mover *filemove.Mover
}

// WriteFile is of the server's own moves: there are none.
func (h hostFiles) WriteFile(context.Context, berth.SandboxRef, string, io.Reader, int64, uint32, string) (berth.FileInfo, error) {
	return berth.FileInfo{}, berth.Errorf(berth.CodeInternal, "the function writes the file")
}

// ReadFile tells the client how big the file is; what is behind that piece is
// nothing for a function.
func (h hostFiles) ReadFile(ctx context.Context, ref berth.SandboxRef, path string, offset, limit int64, guard string) (berth.FileData, error) {
	if offset > 0 {
		return berth.FileData{}, berth.Errorf(berth.CodeInternal, "the function reads the file")
	}
	return h.files.ReadFile(ctx, ref, path, offset, limit, guard)
}

func (h hostFiles) StartMove(_ context.Context, ref berth.SandboxRef, move berth.Move) error {
	return h.mover.Start(h.files, ref, move)
}

func (h hostFiles) DescribeMove(_ context.Context, ref berth.SandboxRef, id string) (berth.MoveState, error) {
	return h.mover.Describe(h.Kind(), ref.ID, id)
}

func TestAHostMovesBigFilesToAndFromTheBucketByItself(t *testing.T) {
	provider := hostFiles{&files{content: map[string][]byte{}}, filemove.New(filemove.Config{})}
	t.Cleanup(provider.mover.Close)
	c, sandbox := serve(t, provider)
	content := bytes.Repeat([]byte("\x00\xff of a host\n"), 1<<20)
	file := client.File{Sandbox: sandbox, Path: "data/set.bin"}
	if err := c.Upload(t.Context(), file, bytes.NewReader(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(provider.content[file.Path], content) {
		t.Errorf("the sandbox has %d other bytes than the %d sent", len(provider.content[file.Path]), len(content))
	}
	var got bytes.Buffer
	if _, err := c.Download(t.Context(), file, &got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), content) {
		t.Errorf("the download has %d other bytes than the %d of the file", got.Len(), len(content))
	}
}
