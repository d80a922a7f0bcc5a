package transfer

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// URL is the signed address of a transfer's bytes, where the blobs are when they
// have one, else on the server at base. It needs no token.
func (s *Service) URL(ctx context.Context, base string, t berth.Transfer) (string, error) {
	if blobs, ok := s.cfg.Blobs.(Presigner); ok {
		address, err := blobs.URL(ctx, t.Method, blobOf(t.ID), t.ExpiresAt.Sub(s.cfg.Clock.Now()))
		return address, berth.Wrap(err, "addressing the bytes of transfer "+t.ID)
	}
	expires := strconv.FormatInt(t.ExpiresAt.Unix(), 10)
	q := url.Values{"expires": {expires}, "signature": {hex.EncodeToString(s.sign(t.Method, t.ID, expires))}}
	return base + s.cfg.Prefix + "/transfers/" + t.ID + "/data?" + q.Encode(), nil
}

func (s *Service) sign(method, id, expires string) []byte {
	mac := hmac.New(sha256.New, s.cfg.SigningKey)
	mac.Write([]byte("transfer\n" + method + "\n" + id + "\n" + expires))
	return mac.Sum(nil)
}

// Verify checks what a signed URL carries. Error: unauthenticated.
func (s *Service) Verify(method, id, expires, signature string) error {
	given, err := hex.DecodeString(signature)
	if err != nil || !hmac.Equal(given, s.sign(method, id, expires)) {
		return berth.Errorf(berth.CodeUnauthenticated, "the URL is not one that this server signed")
	}
	unix, err := strconv.ParseInt(expires, 10, 64)
	if err != nil || !s.cfg.Clock.Now().Before(time.Unix(unix, 0)) {
		return &berth.Error{
			Code: berth.CodeUnauthenticated, Message: "the signed URL has expired",
			Remediation: "Read the transfer again: its url is a fresh one, or make a new transfer.",
		}
	}
	return nil
}
