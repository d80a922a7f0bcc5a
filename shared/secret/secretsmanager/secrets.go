// Package secretsmanager keeps secrets in AWS Secrets Manager, under the names
// berth/<installation>/user/NAME and berth/<installation>/provider/NAME.
package secretsmanager

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/secret"
)

// Client is what the secrets need of the SDK's client.
type Client interface {
	GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error)
	PutSecretValue(context.Context, *secretsmanager.PutSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.PutSecretValueOutput, error)
	CreateSecret(context.Context, *secretsmanager.CreateSecretInput, ...func(*secretsmanager.Options)) (*secretsmanager.CreateSecretOutput, error)
	RestoreSecret(context.Context, *secretsmanager.RestoreSecretInput, ...func(*secretsmanager.Options)) (*secretsmanager.RestoreSecretOutput, error)
	DeleteSecret(context.Context, *secretsmanager.DeleteSecretInput, ...func(*secretsmanager.Options)) (*secretsmanager.DeleteSecretOutput, error)
}

// Secrets is a berth.Secrets in Secrets Manager.
type Secrets struct {
	client       Client
	installation berth.InstallationID
	clock        berth.Clock
}

var _ berth.Secrets = (*Secrets)(nil)

// New uses the secrets of one installation.
func New(client Client, installation berth.InstallationID, clock berth.Clock) *Secrets {
	return &Secrets{client: client, installation: installation, clock: clock}
}

// A secret that was deleted a moment ago can neither be set nor created until
// Secrets Manager is done with it, which takes seconds. These give it 20.
const (
	maxAttempts  = 12
	firstBackOff = 100 * time.Millisecond
	maxBackOff   = 3 * time.Second
)

// installationTag is on all that berth creates.
const installationTag = "berth:installation"

// Read returns a secret's value. Errors: not_found, invalid, unavailable.
func (s *Secrets) Read(ctx context.Context, name string) (berth.SecretValue, error) {
	const doing = "reading a secret"
	if err := secret.CheckName(name); err != nil {
		return berth.SecretValue{}, berth.Wrap(err, doing)
	}
	out, err := s.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: s.id(name)})
	switch {
	case isAbsent(err), isDeleted(err):
		return berth.SecretValue{}, berth.Wrap(secret.NotFound(name), doing)
	case err != nil:
		return berth.SecretValue{}, explain(doing, err)
	case out.SecretBinary != nil:
		return berth.NewSecretValue(out.SecretBinary), nil
	}
	// Set by a person, in the console.
	return berth.NewSecretValue([]byte(aws.ToString(out.SecretString))), nil
}

// Put sets a secret: it writes, creates or restores it, whichever its state
// needs. Errors: invalid, too_large, unavailable.
func (s *Secrets) Put(ctx context.Context, name string, value berth.SecretValue) error {
	const doing = "setting a secret"
	err := secret.CheckName(name)
	if err == nil {
		err = secret.CheckValue(value)
	}
	if err != nil {
		return berth.Wrap(err, doing)
	}
	return s.persist(ctx, doing, func() (again bool, err error) {
		_, err = s.client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{
			SecretId: s.id(name), SecretBinary: value.Reveal(),
		})
		switch {
		case isAbsent(err):
			return s.create(ctx, name, value)
		case isDeleted(err):
			return s.restore(ctx, name)
		}
		return false, err
	})
}

// create reports again when somebody else was faster, or when the name is not
// free yet.
func (s *Secrets) create(ctx context.Context, name string, value berth.SecretValue) (again bool, err error) {
	_, err = s.client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{
		Name:         s.id(name),
		SecretBinary: value.Reveal(),
		Tags:         []types.Tag{{Key: aws.String(installationTag), Value: aws.String(string(s.installation))}},
	})
	var exists *types.ResourceExistsException
	return errors.As(err, &exists) || isDeleted(err), err
}

// restore takes back a deletion with a waiting time, which somebody else made.
func (s *Secrets) restore(ctx context.Context, name string) (again bool, err error) {
	_, err = s.client.RestoreSecret(ctx, &secretsmanager.RestoreSecretInput{SecretId: s.id(name)})
	return err == nil || isAbsent(err) || isDeleted(err), err
}

// Delete removes a secret for good, without a waiting time; an absent one is no
// error. Errors: invalid, unavailable.
func (s *Secrets) Delete(ctx context.Context, name string) error {
	const doing = "removing a secret"
	if err := secret.CheckName(name); err != nil {
		return berth.Wrap(err, doing)
	}
	return s.persist(ctx, doing, func() (again bool, err error) {
		_, err = s.client.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{
			SecretId: s.id(name), ForceDeleteWithoutRecovery: aws.Bool(true),
		})
		switch {
		case isAbsent(err):
			return false, nil
		case isDeleted(err):
			// Its waiting time would keep the value.
			again, err := s.restore(ctx, name)
			if isAbsent(err) {
				return false, nil
			}
			return again, err
		}
		return false, err
	})
}

// persist repeats try while it says again, with rests between.
func (s *Secrets) persist(ctx context.Context, doing string, try func() (again bool, err error)) error {
	backOff := firstBackOff
	for attempt := 1; ; attempt++ {
		again, err := try()
		switch {
		case !again && err == nil:
			return nil
		case !again:
			return explain(doing, err)
		case attempt == maxAttempts:
			e := berth.Errorf(berth.CodeUnavailable, "the secret is still being deleted")
			e.Remediation = "Try again in a minute."
			e.Cause = err
			return berth.Wrap(e, doing)
		}
		if err := s.clock.Sleep(ctx, backOff); err != nil {
			return explain(doing, err)
		}
		backOff = min(2*backOff, maxBackOff)
	}
}

func (s *Secrets) id(name string) *string {
	return aws.String("berth/" + string(s.installation) + "/" + name)
}
