package secretsmanager_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/smithy-go"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/emulator"
	"github.com/berth-dev/berth/shared/secret/secretsmanager"
	"github.com/berth-dev/berth/shared/secret/secrettest"
	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) { emulator.Main(m) }

func TestContractOnEmulators(t *testing.T) {
	emulator.Each(t, func(t *testing.T, e *emulator.Emulator) {
		secrettest.Run(t, func(t *testing.T) berth.Secrets {
			return secretsmanager.New(sdk.NewFromConfig(e.Config(t)), "test", berth.SystemClock{})
		})
	})
}

func TestNamesCarryTheInstallation(t *testing.T) { emulator.Each(t, namesCarryTheInstallation) }

func namesCarryTheInstallation(t *testing.T, e *emulator.Emulator) {
	client := sdk.NewFromConfig(e.Config(t))
	one := secretsmanager.New(client, "one", berth.SystemClock{})
	other := secretsmanager.New(client, "other", berth.SystemClock{})
	if err := one.Put(t.Context(), "user/A", berth.NewSecretValue([]byte("value"))); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Read(t.Context(), "user/A"); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("Read by another installation = %v, want not_found", err)
	}
	got, err := client.DescribeSecret(t.Context(), &sdk.DescribeSecretInput{SecretId: aws.String("berth/one/user/A")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"berth:installation", "one"}
	var tags []string
	for _, tag := range got.Tags {
		tags = append(tags, aws.ToString(tag.Key), aws.ToString(tag.Value))
	}
	if diff := cmp.Diff(want, tags); diff != "" {
		t.Errorf("tags, want (-) got (+):\n%s", diff)
	}
}

func TestASecretWithAWaitingTimeIsRestoredOrRemovedForGood(t *testing.T) {
	emulator.Each(t, restoresOrRemovesForGood)
}

func restoresOrRemovesForGood(t *testing.T, e *emulator.Emulator) {
	client := sdk.NewFromConfig(e.Config(t))
	secrets := secretsmanager.New(client, "test", berth.SystemClock{})
	markDeleted := func() {
		t.Helper()
		if err := secrets.Put(t.Context(), "user/A", berth.NewSecretValue([]byte("before"))); err != nil {
			t.Fatal(err)
		}
		// As a person does in the console.
		_, err := client.DeleteSecret(t.Context(), &sdk.DeleteSecretInput{SecretId: aws.String("berth/test/user/A"), RecoveryWindowInDays: aws.Int64(7)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := secrets.Read(t.Context(), "user/A"); berth.CodeOf(err) != berth.CodeNotFound {
			t.Fatalf("Read of a deleted secret = %v, want not_found", err)
		}
	}
	markDeleted()
	if err := secrets.Put(t.Context(), "user/A", berth.NewSecretValue([]byte("after"))); err != nil {
		t.Fatal(err)
	}
	if got, err := secrets.Read(t.Context(), "user/A"); err != nil || string(got.Reveal()) != "after" {
		t.Fatalf("Read after it was set again = %q, %v", got.Reveal(), err)
	}
	markDeleted()
	if err := secrets.Delete(t.Context(), "user/A"); err != nil {
		t.Fatal(err)
	}
	_, err := client.DescribeSecret(t.Context(), &sdk.DescribeSecretInput{SecretId: aws.String("berth/test/user/A")})
	var absent *types.ResourceNotFoundException
	if !errors.As(err, &absent) {
		t.Fatalf("DescribeSecret after Delete = %v, want that it is not there", err)
	}
}

func TestSetAfterDeleteWaitsUntilTheNameIsFree(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		busy int // answers that say that the deletion goes on
		want berth.Code
	}{
		{"at once", 0, ""},
		{"after some seconds", 6, ""},
		{"never", 1000, berth.CodeUnavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fake := &deletingClient{busy: test.busy}
			clock := &countingClock{}
			err := secretsmanager.New(fake, "test", clock).Put(t.Context(), "user/A", berth.NewSecretValue([]byte("CANARY")))
			if got := berth.CodeOf(err); got != test.want {
				t.Fatalf("Put = %v, want code %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "CANARY") {
				t.Errorf("the error tells the value: %v", err)
			}
			if fake.created != (test.want == "") {
				t.Errorf("created = %v", fake.created)
			}
			if clock.slept > time.Minute {
				t.Errorf("Put waited for %v in all, want an end within a minute", clock.slept)
			}
		})
	}
}

func TestFailuresOfTheServiceAreExplained(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want string
	}{
		{&smithy.GenericAPIError{Code: "AccessDeniedException"}, "permissions"},
		{&smithy.GenericAPIError{Code: "DecryptionFailure"}, "KMS"},
		{&smithy.GenericAPIError{Code: "ThrottlingException"}, "Try again"},
		{&smithy.GenericAPIError{Code: "InternalServiceError", Fault: smithy.FaultServer}, "Try again"},
		{errors.New("connection refused"), "Try again"},
		{context.DeadlineExceeded, "Try again"},
	} {
		_, err := secretsmanager.New(&deletingClient{err: test.err}, "test", &countingClock{}).Read(t.Context(), "user/A")
		var coded *berth.Error
		if !errors.As(err, &coded) || coded.Code != berth.CodeUnavailable || !strings.Contains(coded.Remediation, test.want) {
			t.Errorf("Read when the service says %v = %v, want unavailable and %q", test.err, err, test.want)
		}
	}
}

// deletingClient is a service in which the secret was deleted by force a moment
// ago, or that answers err to all.
type deletingClient struct {
	busy    int
	created bool
	err     error
}

var errMarked = &types.InvalidRequestException{Message: aws.String("a secret with this name is already scheduled for deletion")}

func (c *deletingClient) GetSecretValue(context.Context, *sdk.GetSecretValueInput, ...func(*sdk.Options)) (*sdk.GetSecretValueOutput, error) {
	return nil, c.err
}

// PutSecretValue says in turn both of what the service says while it deletes.
func (c *deletingClient) PutSecretValue(context.Context, *sdk.PutSecretValueInput, ...func(*sdk.Options)) (*sdk.PutSecretValueOutput, error) {
	if c.busy--; c.busy > 0 && c.busy%2 == 0 {
		return nil, errMarked
	}
	return nil, &types.ResourceNotFoundException{}
}

func (c *deletingClient) CreateSecret(context.Context, *sdk.CreateSecretInput, ...func(*sdk.Options)) (*sdk.CreateSecretOutput, error) {
	if c.busy > 0 {
		return nil, errMarked
	}
	c.created = true
	return &sdk.CreateSecretOutput{}, nil
}

func (c *deletingClient) RestoreSecret(context.Context, *sdk.RestoreSecretInput, ...func(*sdk.Options)) (*sdk.RestoreSecretOutput, error) {
	return nil, &types.ResourceNotFoundException{}
}

func (c *deletingClient) DeleteSecret(context.Context, *sdk.DeleteSecretInput, ...func(*sdk.Options)) (*sdk.DeleteSecretOutput, error) {
	return nil, c.err
}

// countingClock does not wait but adds up.
type countingClock struct {
	berth.SystemClock
	slept time.Duration
}

func (c *countingClock) Sleep(_ context.Context, d time.Duration) error {
	c.slept += d
	return nil
}
