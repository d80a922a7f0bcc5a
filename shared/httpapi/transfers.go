package httpapi

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi/transfer"
)

// TransferParams name a transfer.
type TransferParams struct {
	ID string `path:"id" doc:"Transfer id, whole" example:"01jd3v6e5f7g9h1j3k5m7n9p1q"`
}

type signedInput struct {
	TransferParams
	Expires   string `query:"expires" doc:"Part of the signed URL"`
	Signature string `query:"signature" doc:"Part of the signed URL"`
}

func transferOperations() []operation {
	conflict := []berth.Code{berth.CodeConflict}
	return []operation{
		op("create-transfer", spec{
			summary:     "Begin a transfer",
			description: "For files of any size. Upload: PUT the bytes to url, then commit. Download: commit, wait until done, GET url. The url is signed and needs no token; it expires after an hour.",
			status:      201, takes: berth.TransferRequest{},
			example: map[string]any{
				"sandbox": "01jd3v6d1b7k2n4p6r8t0v2x4z", "path": "data/set.bin", "direction": "upload", "size": 11,
				"sha256": "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
			},
			codes: []berth.Code{berth.CodeNotFound},
		}, (*API).createTransfer),
		op("find-transfer", spec{
			summary: "Show a transfer", description: "With wait, a transfer that moves is answered when it has ended. The url is a fresh one.",
		}, (*API).findTransfer),
		op("commit-transfer", spec{
			summary: "Move a transfer's file", description: "In the background; again while it moves or is done it changes nothing, after a failure it tries again.",
			status: 202, codes: append(conflict, berth.CodeUnsupported),
		}, (*API).commitTransfer),
		op("write-transfer-data", spec{
			summary: "Send an upload's bytes", description: "To the signed url. Size and SHA-256 are checked.", codes: append(conflict, berth.CodeUnauthenticated),
		}, (*API).writeTransferData),
		op("read-transfer-data", spec{
			summary: "Fetch a download's bytes", description: "From the signed url.", codes: append(conflict, berth.CodeUnauthenticated),
			media: map[string]string{mediaBytes: "The file"},
		}, (*API).readTransferData),
	}
}

// signed adds the URL, under the address that the client knows the server by.
func (a *API) signed(ctx context.Context, t berth.Transfer) (berth.Transfer, error) {
	var err error
	t.URL, err = a.transfers.URL(ctx, a.base(ctx), t)
	return t, err
}

// base is the server's address as the client knows it.
func (a *API) base(ctx context.Context) string {
	if base := strings.TrimRight(a.cfg.PublicURL, "/"); base != "" {
		return base
	}
	r := exchangeOf(ctx).r
	scheme := "http"
	if r.TLS != nil || r.URL.Scheme == "https" { // an event's URL has the gateway's scheme
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

func (a *API) createTransfer(ctx context.Context, in *KeyParams) (*created[berth.Transfer], error) {
	var f faults
	var req berth.TransferRequest
	raw, err := readJSON(ctx, &req)
	f.add("", err)
	if err == nil {
		checkTransfer(&f, req)
		if !a.cfg.Embedded && req.Size > maxSigned {
			f.add("size", berth.FieldErrorf(berth.CodeTooLarge, "size", "is more than the 5 GiB that S3 takes at once: split the file"))
		}
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	id, err := a.cfg.Records.ResolveSandbox(ctx, string(req.Sandbox))
	if err != nil {
		return nil, at("sandbox", err)
	}
	sb, err := a.cfg.Records.FindSandbox(ctx, id)
	if err != nil {
		return nil, at("sandbox", err)
	}
	var t berth.Transfer
	resource, replayed, err := a.once(ctx, *in, raw, 201, func(attempt) (string, error) {
		t, err = a.transfers.Create(ctx, sb, req)
		return t.ID, err
	})
	if err == nil && replayed {
		t, err = a.transfers.Find(ctx, resource)
	}
	if err == nil {
		t, err = a.signed(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	return &created[berth.Transfer]{Location: Prefix + "/transfers/" + t.ID, Replayed: replayedHeader(replayed), Body: t}, nil
}

// maxSigned is the most that S3 takes in one request to a signed URL.
const maxSigned = 5 << 30

func checkTransfer(f *faults, req berth.TransferRequest) {
	checkPath(f, "path", req.Path)
	if req.Sandbox == "" {
		f.addf("sandbox", "is missing")
	}
	if req.Direction == "" {
		f.addf("direction", "is missing: must be one of upload, download")
	}
	if req.Size < 0 {
		f.addf("size", "must be 0 or more")
	}
	sum, err := hex.DecodeString(req.SHA256)
	if (req.SHA256 != "" || req.Direction == berth.TransferUpload) && (err != nil || len(sum) != 32 || strings.ToLower(req.SHA256) != req.SHA256) {
		f.addf("sha256", "must be 64 lower-case hex digits")
	}
	if req.Mode > 0o777 {
		f.addf("mode", "must be permission bits, at most 511 (octal 0777)")
	}
}

type findTransferInput struct {
	TransferParams
	WaitParams
}

func (a *API) findTransfer(ctx context.Context, in *findTransferInput) (*body[berth.Transfer], error) {
	wait, err := in.wait()
	if err != nil {
		return nil, err
	}
	id := berth.FoldID(in.ID)
	t, err := poll(ctx, a, transfer.Topic(id), wait, func(ctx context.Context) (berth.Transfer, bool, error) {
		t, err := a.transfers.Find(ctx, id)
		return t, t.Status != berth.TransferMoving, err
	})
	if err == nil {
		t, err = a.signed(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	return &body[berth.Transfer]{t}, nil
}

func (a *API) commitTransfer(ctx context.Context, in *TransferParams) (*body[berth.Transfer], error) {
	t, err := a.transfers.Commit(ctx, berth.FoldID(in.ID))
	if err == nil {
		t, err = a.signed(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	return &body[berth.Transfer]{t}, nil
}

func (a *API) writeTransferData(ctx context.Context, in *signedInput) (*empty, error) {
	if err := a.transfers.Verify(http.MethodPut, in.ID, in.Expires, in.Signature); err != nil {
		return nil, err
	}
	stream := newSteadyReader(exchangeOf(ctx))
	defer stream.end()
	return nil, a.transfers.Write(ctx, in.ID, stream)
}

// dataReply is a file as it is.
type dataReply struct{ Body func(huma.Context) }

func (a *API) readTransferData(ctx context.Context, in *signedInput) (*dataReply, error) {
	if err := a.transfers.Verify(http.MethodGet, in.ID, in.Expires, in.Signature); err != nil {
		return nil, err
	}
	r, t, err := a.transfers.Open(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &dataReply{func(hc huma.Context) {
		defer r.Close()
		x := exchangeOf(hc.Context())
		x.Header().Set("Content-Type", mediaBytes)
		x.Header().Set("Content-Length", strconv.FormatInt(t.Size, 10))
		stream := newSteadyWriter(x)
		defer stream.end()
		if n, err := io.Copy(stream, r); err != nil || (n != t.Size && x.r.Method != http.MethodHead) {
			x.problem = problemOf(&berth.Error{Code: berth.CodeUnavailable, Message: "the download broke off", Cause: err}, x.id)
		}
	}}, nil
}
