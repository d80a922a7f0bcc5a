// Package previewtest has what tests of previews need: an authority that issues
// certificates, and a browser that trusts it.
package previewtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority issues certificates.
type Authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	dir  string
}

// NewAuthority makes one.
func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the authority of a test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = a.newKey()
	a.cert = a.sign(template, template, a.key)
	return a
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *Authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

// Files are where the next certificates are written, in PEM.
func (a *Authority) Files() (cert, key string) {
	return filepath.Join(a.dir, "fullchain.pem"), filepath.Join(a.dir, "privkey.pem")
}

// Issue writes a certificate for a name into the files, and returns its serial number.
func (a *Authority) Issue(name string, until time.Time) *big.Int {
	a.t.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		a.t.Fatal(err)
	}
	key := a.newKey()
	cert := a.sign(&x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, key)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	certFile, keyFile := a.Files()
	a.write(certFile, "CERTIFICATE", cert.Raw)
	a.write(keyFile, "PRIVATE KEY", private)
	return serial
}

// write replaces a file as programs that renew certificates do.
func (a *Authority) write(path, kind string, der []byte) {
	a.t.Helper()
	next := path + ".next"
	if err := os.WriteFile(next, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		a.t.Fatal(err)
	}
}

// Pool trusts the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}
