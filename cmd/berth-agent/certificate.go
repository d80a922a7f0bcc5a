//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/privatefile"
)

// lifetime is for people who look at the certificate: clients pin it and do not.
const lifetime = 10 * 365 * 24 * time.Hour

// openCertificate reads the agent's key and certificate, which are one file so
// that there is never one without the other, and makes them at the first start.
func (d folder) openCertificate(clock berth.Clock) (tls.Certificate, error) {
	certificate, err := d.readCertificate()
	if !errors.Is(err, fs.ErrNotExist) {
		return certificate, err
	}
	encoded, err := newCertificate(clock.Now())
	if err == nil {
		err = privatefile.Write(d.certificate(), encoded)
	}
	if err != nil {
		return certificate, fmt.Errorf("making the agent's certificate: %w", err)
	}
	return d.readCertificate()
}

func (d folder) readCertificate() (tls.Certificate, error) {
	encoded, err := os.ReadFile(d.certificate())
	if err != nil {
		return tls.Certificate{}, err
	}
	certificate, err := tls.X509KeyPair(encoded, encoded)
	if err != nil {
		return certificate, &berth.Error{
			Code: berth.CodeInvalid, Message: d.certificate() + " holds no key with its certificate", Cause: err,
			Remediation: "restore it; or remove it, and the agent makes another, whose fingerprint the server then has to be told",
		}
	}
	return certificate, nil
}

// newCertificate makes a key and a certificate that it signs itself, in PEM.
func newCertificate(now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "berth-agent"}, DNSNames: []string{"berth-agent"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime), // a clock may be slow
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	encoded := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	return append(encoded, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...), nil
}

func fingerprintOf(c tls.Certificate) agentapi.Fingerprint {
	return agentapi.FingerprintOf(c.Certificate[0])
}

func fingerprintCommand() *cobra.Command {
	var dir folder
	cmd := &cobra.Command{
		Use: "fingerprint", Short: "Print the fingerprint of the agent's certificate",
		Long:    "Print the SHA-256 of the agent's certificate, as `berth serve --agent-fingerprint` takes it.",
		Example: "  berth-agent fingerprint --data-dir /srv/berth-agent", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := dir.absolute()
			if err != nil {
				return err
			}
			certificate, err := dir.readCertificate()
			if errors.Is(err, fs.ErrNotExist) {
				return &berth.Error{
					Code: berth.CodeNotFound, Message: "there is no certificate in " + string(dir),
					Remediation: "start the agent once with `berth-agent serve`, or name its folder with --data-dir",
				}
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), fingerprintOf(certificate))
			return err
		},
	}
	folderFlag(cmd.Flags(), &dir)
	return cmd
}
