package githubapp

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/privatefile"
)

// Settings are what a GitHub App is used with.
type Settings struct {
	// ID is the App's id, or its client id.
	ID string
	// PrivateKey is one of the App's private keys, in PEM.
	PrivateKey berth.SecretValue
	// URL is where the repositories are: https://github.com when empty, else a
	// GitHub Enterprise server such as https://github.example.com.
	URL string
}

// The places of errors: the fields of the secret, and what they say of a file.
const (
	FieldID  = "app_id"
	FieldKey = "private_key"
	FieldURL = "url"
)

// SecretName is the secret in which an installation on AWS keeps its App's
// settings: {"app_id": "…", "private_key": "…", "url": "…"}, url if it is not
// github.com.
const SecretName = "github/app"

// FromSecret reads the settings out of the store. There is no App while there is
// no secret. Error: invalid for one that cannot be read.
func FromSecret(secrets berth.Secrets) func(context.Context) (*Settings, error) {
	return func(ctx context.Context) (*Settings, error) {
		value, err := secrets.Read(ctx, berth.ProviderSecret(SecretName))
		switch {
		case berth.CodeOf(err) == berth.CodeNotFound:
			return nil, nil
		case err != nil:
			return nil, berth.Wrap(err, "reading the secret of the GitHub App")
		}
		var stored struct {
			ID         json.RawMessage `json:"app_id"`
			PrivateKey string          `json:"private_key"`
			URL        string          `json:"url"`
		}
		if json.Unmarshal(value.Reveal(), &stored) != nil { // its error would show the key
			return nil, berth.Errorf(berth.CodeInvalid, "secret %s must be a JSON object with app_id and private_key", berth.ProviderSecret(SecretName))
		}
		// People write the number as one.
		return &Settings{ID: strings.Trim(string(stored.ID), `"`), PrivateKey: berth.NewSecretValue([]byte(stored.PrivateKey)), URL: stored.URL}, nil
	}
}

// FromFile are settings with the private key of a file that only its owner may
// read. Error: invalid.
func FromFile(id, path, url string) (*Settings, error) {
	key, err := privatefile.Read(path)
	var unsafe *berth.Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, berth.FieldErrorf(berth.CodeInvalid, FieldKey, "there is no file %s with the private key of the GitHub App", path)
	case errors.As(err, &unsafe):
		return nil, berth.FieldErrorf(unsafe.Code, FieldKey, "%s", unsafe.Message)
	case err != nil:
		return nil, &berth.Error{Code: berth.CodeInvalid, Field: FieldKey, Message: "the file of the GitHub App's private key cannot be read", Cause: err}
	}
	s := &Settings{ID: id, PrivateKey: berth.NewSecretValue(key), URL: url}
	_, err = s.open()
	return s, err
}

// opened are settings that were checked.
type opened struct {
	id  string
	key *rsa.PrivateKey
	endpoints
}

// open checks the settings. No error shows anything of the key.
func (s Settings) open() (*opened, error) {
	o := &opened{id: strings.TrimSpace(s.ID)}
	if o.id == "" || strings.ContainsAny(o.id, " \t\r\n{}[]\"") {
		return nil, berth.FieldErrorf(berth.CodeInvalid, FieldID, "the id of the GitHub App is missing, or is none: it is on the App's page, under About")
	}
	var err error
	if o.key, err = jwt.ParseRSAPrivateKeyFromPEM(s.PrivateKey.Reveal()); err != nil {
		return nil, &berth.Error{
			Code: berth.CodeInvalid, Field: FieldKey, Message: "the private key of the GitHub App is no RSA key in PEM",
			Remediation: "Generate one on the App's page, and give the .pem file as it is.",
		}
	}
	if o.endpoints, err = endpointsOf(s.URL); err != nil {
		return nil, err
	}
	return o, nil
}
