package emulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-dev/berth/localstack"
)

const readyPoll = 50 * time.Millisecond

// ministackServices are what berth's stacks and tests use. With all of its
// services it would also open a port for MQTT that two instances cannot share.
const ministackServices = "apigateway,cloudformation,dynamodb,dynamodbstreams,ecr,events,iam,kms,lambda,logs," +
	"monitoring,s3,scheduler,secretsmanager,sns,sqs,ssm,stepfunctions,sts,tagging"

func (e *Emulator) runMinistack(ctx context.Context, o Options, python string) error {
	port, err := choosePort(o.Port)
	if err != nil {
		return err
	}
	e.Endpoint = fmt.Sprintf("http://127.0.0.1:%d", port)
	o.Progress("starting ministack at " + e.Endpoint)
	return e.startMinistack(ctx, o, python, port, ministackServices)
}

func (e *Emulator) startMinistack(ctx context.Context, o Options, python string, port int, services string) error {
	endpoint := fmt.Sprintf("http://127.0.0.1:%d", port)
	program := filepath.Join(e.folder, "run_ministack.py")
	if err := os.WriteFile(program, localstack.RunMinistack, 0o600); err != nil {
		return err
	}
	return e.start(ctx, o, start{
		name: "ministack", command: []string{python, program},
		ready: endpoint + "/_ministack/health", says: "dynamodb",
		variables: []string{
			"BIND_HOST=127.0.0.1", fmt.Sprintf("GATEWAY_PORT=%d", port), "SERVICES=" + services,
			// Functions call it, and not the real AWS.
			"AWS_ENDPOINT_URL=" + endpoint,
		},
	})
}

// runLocalStack starts LocalStack, and before it the DynamoDB that it forwards to.
func (e *Emulator) runLocalStack(ctx context.Context, o Options, ministack, python, plugin string) error {
	tables, err := choosePort(0)
	if err != nil {
		return err
	}
	port, err := choosePort(o.Port)
	if err != nil {
		return err
	}
	e.Endpoint = fmt.Sprintf("http://127.0.0.1:%d", port)
	o.Progress("starting LocalStack at " + e.Endpoint)
	if err := e.startMinistack(ctx, o, ministack, tables, "dynamodb,dynamodbstreams"); err != nil {
		return err
	}
	listen := fmt.Sprintf("127.0.0.1:%d", port)
	return e.start(ctx, o, start{
		name: "localstack", command: []string{python, "-m", "localstack.runtime.main"},
		// Of the plugin's own: LocalStack would be ready without it.
		ready: e.Endpoint + "/_localstack/berth", says: "scheduler",
		variables: []string{
			"PYTHONPATH=" + plugin, "GATEWAY_LISTEN=" + listen, "LOCALSTACK_HOST=" + listen,
			"LOCALSTACK_VOLUME_DIR=" + filepath.Join(e.folder, "localstack", "volume"),
			// It asks nobody and tells nobody.
			"SKIP_SSL_CERT_DOWNLOAD=1", "DISABLE_EVENTS=1", "DNS_ADDRESS=0",
			"LAMBDA_RUNTIME_EXECUTOR=process",
			// A function is ready when it is made: deployments need not ask again.
			"LAMBDA_SYNCHRONOUS_CREATE=1",
			"PROVIDER_OVERRIDE_DYNAMODB=forward", "PROVIDER_OVERRIDE_DYNAMODBSTREAMS=forward",
			fmt.Sprintf("BERTH_DYNAMODB_ENDPOINT=http://127.0.0.1:%d", tables),
		},
	})
}

// start is how a program is started, and when it is ready.
type start struct {
	name      string
	command   []string
	variables []string
	ready     string // an address that answers 200
	says      string // and this
}

func (e *Emulator) start(ctx context.Context, o Options, s start) error {
	home, temporary, err := e.makeFolders(s.name)
	if err != nil {
		return err
	}
	p := &program{name: s.name, log: filepath.Join(e.folder, s.name+".log")}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.command[0], s.command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, log, log
	// Nothing of the caller's environment: no credentials, no proxy, no engine
	// whose containers it would tidy up.
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + temporary, "PYTHONDONTWRITEBYTECODE=1", "LANG=C.UTF-8",
		"DOCKER_HOST=unix://" + filepath.Join(home, "no-docker"),
	}, s.variables...)
	if p.process, err = startProcess(cmd, o.Detached); err != nil {
		return err
	}
	e.programs = append(e.programs, p)
	if err := p.awaitReady(ctx, s); err != nil {
		return fmt.Errorf("%w; %s", err, e.Logs(4000))
	}
	return nil
}

func (p *program) awaitReady(ctx context.Context, s start) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	client := &http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	for {
		if text, err := read(ctx, client, s.ready); err == nil && strings.Contains(text, s.says) && !p.process.ended() {
			return nil
		}
		select {
		case <-p.process.done:
			return fmt.Errorf("%s ended: %w", p.name, errors.Join(p.process.err, errors.New("it was to run")))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", p.name, ctx.Err())
		case <-time.After(readyPoll):
		}
	}
}

func read(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64*1024))
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return string(body), err
}
