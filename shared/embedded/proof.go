package embedded

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/berth-dev/berth/shared/httpapi"
)

// A dead server's port may belong to anybody by now. So before a client sends
// its token there, the server has to prove that it has the token itself.
const (
	challengeHeader = "Berth-Challenge"
	proofHeader     = "Berth-Proof"
)

func proof(token, challenge string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("berth health " + challenge))
	return hex.EncodeToString(mac.Sum(nil))
}

// prove answers the challenge of a health check.
func prove(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if challenge := r.Header.Get(challengeHeader); challenge != "" && r.URL.Path == healthPath {
			w.Header().Set(proofHeader, proof(token, challenge))
		}
		next.ServeHTTP(w, r)
	})
}

const healthPath = httpapi.Prefix + "/health"

// answers reports whether the server at url is up and has the token.
func answers(ctx context.Context, url, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+healthPath, nil)
	if err != nil {
		return false
	}
	challenge := rand.Text()
	req.Header.Set(challengeHeader, challenge)
	res, err := direct().Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK &&
		hmac.Equal([]byte(res.Header.Get(proofHeader)), []byte(proof(token, challenge)))
}

// direct asks a server on this machine: through no proxy, and on no connection that
// is kept, so that each look is a new one at the port.
func direct() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }
