package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/emulator"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/table/dynamo"
)

const benchAccount, benchTable = "000000000000", "berth-bench"

// cloud is an emulator with a table of one environment, and the archives of three
// functions: ours and two anchors.
type cloud struct {
	emulator          *emulator.Emulator
	folder            string
	lambda            *lambda.Client
	ours, bare, hello []byte
	made              int
}

func openCloud(ctx context.Context, name string) (_ *cloud, err error) {
	kind, err := emulator.ParseKind(name)
	if err != nil {
		return nil, err
	}
	c := &cloud{}
	if c.folder, err = os.MkdirTemp("", "berth-bench-*"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.emulator, err = emulator.Run(ctx, emulator.Options{Kind: kind, Folder: c.folder}); err != nil {
		return nil, err
	}
	if c.ours, err = c.archive(ctx, "./functions/api/find-environment"); err != nil {
		return nil, err
	}
	if c.bare, err = c.archive(ctx, "./scripts/bench/bare"); err != nil {
		return nil, err
	}
	if c.hello, err = c.archive(ctx, "./scripts/bench/hello"); err != nil {
		return nil, err
	}
	config := aws.Config{
		Region: emulator.Region, BaseEndpoint: aws.String(c.emulator.Endpoint),
		Credentials: credentials.NewStaticCredentialsProvider(benchAccount, "test", ""),
	}
	c.lambda = lambda.NewFromConfig(config)
	client, clock := dynamodb.NewFromConfig(config), berth.SystemClock{}
	if err := dynamo.CreateTable(ctx, client, benchTable); err != nil {
		return nil, err
	}
	store := &records.Store{Table: dynamo.New(client, benchTable, clock), Clock: clock, IDs: ids.New(clock)}
	_, err = store.CreateEnvironment(ctx, berth.Environment{ID: "bench", Provider: berth.ProviderDocker})
	return c, err
}

func (c *cloud) close() {
	if c.emulator != nil {
		c.emulator.Stop()
	}
	_ = os.RemoveAll(c.folder)
}

// archive builds a program as functions are built, and packs it.
func (c *cloud) archive(ctx context.Context, source string) ([]byte, error) {
	program := filepath.Join(c.folder, filepath.Base(source)+".program")
	build := exec.CommandContext(ctx, "go", "build", "-tags", "lambda.norpc", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building %s: %w\n%s", source, err, out)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	file, err := w.CreateHeader(header)
	if err == nil {
		_, err = file.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// create makes a function that was never called.
func (c *cloud) create(ctx context.Context, code []byte) (name string, err error) {
	c.made++
	name = fmt.Sprintf("bench-%d", c.made)
	architecture := types.ArchitectureX8664
	if runtime.GOARCH == "arm64" {
		architecture = types.ArchitectureArm64
	}
	_, err = c.lambda.CreateFunction(ctx, &lambda.CreateFunctionInput{
		FunctionName: aws.String(name), Runtime: types.RuntimeProvidedal2023, Handler: aws.String("bootstrap"), MemorySize: aws.Int32(512),
		Role: aws.String("arn:aws:iam::" + benchAccount + ":role/bench"), Timeout: aws.Int32(30), Architectures: []types.Architecture{architecture},
		Code: &types.FunctionCode{ZipFile: code},
		Environment: &types.Environment{Variables: map[string]string{
			"AWS_ENDPOINT_URL": c.emulator.Endpoint, "BERTH_TABLE": benchTable, "BERTH_BUCKET": "berth-bench", "BERTH_INSTALLATION": "bench",
			"BERTH_STATE_MACHINE": "arn:aws:states:" + emulator.Region + ":" + benchAccount + ":stateMachine:berth-runs",
		}},
	})
	if err != nil {
		return "", err
	}
	// LocalStack takes its time to make one.
	ready := lambda.NewFunctionActiveV2Waiter(c.lambda, func(o *lambda.FunctionActiveV2WaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, time.Second
	})
	return name, ready.Wait(ctx, &lambda.GetFunctionInput{FunctionName: aws.String(name)}, time.Minute)
}

// event is GET /environments/bench as the gateway hands it over, after it has
// asked the authorizer.
func event() ([]byte, error) {
	who, err := json.Marshal(berth.Principal{Name: "bench", Scopes: []berth.Scope{berth.ScopeRead}})
	if err != nil {
		return nil, err
	}
	return json.Marshal(events.APIGatewayProxyRequest{
		Resource: httpapi.Prefix + "/environments/{id}", HTTPMethod: "GET", Path: httpapi.Prefix + "/environments/bench",
		Headers: map[string]string{"Accept": "application/json"}, PathParameters: map[string]string{"id": "bench"},
		RequestContext: events.APIGatewayProxyRequestContext{
			RequestID: "bench", Stage: "v1", DomainName: "bench", Authorizer: map[string]any{"principal": string(who)},
		},
	})
}

func (c *cloud) invoke(ctx context.Context, name string, payload []byte) error {
	out, err := c.lambda.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(name), Payload: payload})
	if err != nil {
		return err
	}
	var reply events.APIGatewayProxyResponse
	if err := json.Unmarshal(out.Payload, &reply); err != nil || reply.StatusCode != 200 {
		return fmt.Errorf("%s answers %s, %w", name, out.Payload, err)
	}
	return nil
}

// rows are those about functions. The budgets are against a function with the same
// read, as that of the embedded server is: on an emulator a process starts within
// milliseconds, and the read is most of what a request takes.
func (c *cloud) rows() []func(context.Context, plan, *server) (row, error) {
	const bare, hello = "a bare Go function, same read", "a hello-world Go function"
	return []func(context.Context, plan, *server) (row, error){
		c.coldRow(bare, &c.bare, 1.3), c.coldRow(hello, &c.hello, 0), c.warmRow(bare, &c.bare, 1.2), c.warmRow(hello, &c.hello, 0),
	}
}

func (c *cloud) coldRow(anchor string, code *[]byte, budget float64) func(context.Context, plan, *server) (row, error) {
	return func(ctx context.Context, p plan, _ *server) (row, error) {
		r := row{what: "GET /environments/{id}, cold start of its function", anchor: anchor, budget: budget}
		payload, err := event()
		if err != nil {
			return r, err
		}
		p.blocks, p.block, p.pause = 5, 6, p.pause/2
		a, b, err := c.pairCold(ctx, p, *code, payload)
		r.ours, r.theirs, r.ratio = show(a), show(b), ratio(a, b)
		r.note = fmt.Sprintf("archives of %.1f and %.1f MB", float64(len(c.ours))/1e6, float64(len(*code))/1e6)
		return r, err
	}
}

func (c *cloud) pairCold(ctx context.Context, p plan, anchor, payload []byte) (a, b time.Duration, err error) {
	var as, bs []time.Duration
	for range p.blocks {
		for _, side := range []struct {
			code []byte
			into *[]time.Duration
		}{{c.ours, &as}, {anchor, &bs}} {
			time.Sleep(p.pause)
			for range p.block {
				took, err := c.timeCold(ctx, side.code, payload)
				if err != nil {
					return 0, 0, err
				}
				*side.into = append(*side.into, took)
			}
		}
	}
	return median(as), median(bs), nil
}

// timeCold is how long the first call of a new function takes.
func (c *cloud) timeCold(ctx context.Context, code, payload []byte) (time.Duration, error) {
	name, err := c.create(ctx, code)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := c.invoke(ctx, name, payload); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	_, err = c.lambda.DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: aws.String(name)})
	return took, err
}

func (c *cloud) warmRow(anchor string, code *[]byte, budget float64) func(context.Context, plan, *server) (row, error) {
	return func(ctx context.Context, p plan, _ *server) (row, error) {
		r := row{what: "GET /environments/{id}, its function warm", anchor: anchor, budget: budget}
		payload, err := event()
		if err != nil {
			return r, err
		}
		ours, err := c.warm(ctx, c.ours, payload)
		if err != nil {
			return r, err
		}
		theirs, err := c.warm(ctx, *code, payload)
		if err != nil {
			return r, err
		}
		a, b, err := pair(p, ours, theirs)
		r.ours, r.theirs, r.ratio = show(a), show(b), ratio(a, b)
		return r, err
	}
}

// warm makes a function that has been called, and returns a call of it.
func (c *cloud) warm(ctx context.Context, code, payload []byte) (func() error, error) {
	name, err := c.create(ctx, code)
	if err == nil {
		err = c.invoke(ctx, name, payload)
	}
	return func() error { return c.invoke(ctx, name, payload) }, err
}
