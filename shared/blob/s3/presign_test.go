package s3_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob/s3"
	"github.com/berth-dev/berth/shared/emulator"
)

func TestWhoeverHasASignedURLReadsOrWritesOneBlob(t *testing.T) {
	emulator.Each(t, readsOrWritesOneBlob)
}

func readsOrWritesOneBlob(t *testing.T, e *emulator.Emulator) {
	client, name := bucket(t, e)
	blobs := s3.NewPresigned(client, name)
	content := bytes.Repeat([]byte("\x00\xffbytes\n"), 200_000)

	put := address(t, blobs, http.MethodPut)
	if status, _ := send(t, http.MethodPut, put, content); status != 200 {
		t.Fatalf("PUT is answered with %d", status)
	}
	size, err := blobs.Size(t.Context(), "transfers/1/data")
	if err != nil || size != int64(len(content)) {
		t.Errorf("Size = %d, %v, want %d", size, err, len(content))
	}
	if status, got := send(t, http.MethodGet, address(t, blobs, http.MethodGet), nil); status != 200 || !bytes.Equal(got, content) {
		t.Errorf("GET is answered with %d and %d bytes, want %d", status, len(got), len(content))
	}
}

func TestASignedURLAsksForNothingBesideItself(t *testing.T) {
	t.Parallel()
	client := sdk.New(sdk.Options{
		Region:      "eu-west-1",
		Credentials: credentials.NewStaticCredentialsProvider("id", "key", "session"),
	})
	blobs := s3.NewPresigned(client, "berth")
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		u, err := url.Parse(address(t, blobs, method))
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		if q.Get("X-Amz-SignedHeaders") != "host" || q.Get("X-Amz-Expires") != "3600" || q.Get("X-Amz-Security-Token") != "session" {
			t.Errorf("%s: the URL asks for %s, lasts %s s", method, q.Get("X-Amz-SignedHeaders"), q.Get("X-Amz-Expires"))
		}
		for name := range q {
			if strings.Contains(strings.ToLower(name), "checksum") && method == http.MethodPut {
				t.Errorf("%s: the URL wants %s", method, name)
			}
		}
	}
	if _, err := blobs.URL(t.Context(), http.MethodDelete, "k", time.Hour); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("URL for DELETE = %v, want invalid", err)
	}
	if _, err := blobs.URL(t.Context(), http.MethodGet, "../k", time.Hour); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("URL for a bad key = %v, want invalid", err)
	}
	if late, err := blobs.URL(t.Context(), http.MethodGet, "k", -time.Hour); err != nil || !strings.Contains(late, "X-Amz-Expires=1&") {
		t.Errorf("URL of what has expired = %s, %v, want one that ends at once", late, err)
	}
}

func address(t *testing.T, blobs s3.Presigned, method string) string {
	t.Helper()
	u, err := blobs.URL(t.Context(), method, "transfers/1/data", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func send(t *testing.T, method, address string, body []byte) (int, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, got
}
