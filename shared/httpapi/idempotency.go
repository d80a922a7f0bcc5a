package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// keepTime is how long the result of a keyed request may take to be recorded.
const keepTime = 10 * time.Second

// attempt is one try to make what a keyed request asks for.
type attempt struct {
	// id is for what is made. It is the same in every attempt under one key.
	id string
	// again says that an earlier attempt broke off, and may have made it.
	again bool
}

// once runs create, or finds that an earlier request with the same key did: then
// resource is what that one made. The key is bound to path and body.
func (a *API) once(ctx context.Context, in KeyParams, body []byte, status int, create func(attempt) (resource string, err error)) (resource string, replayed bool, err error) {
	if in.Key == "" {
		resource, err = create(attempt{id: a.cfg.IDs.NewID()})
		return resource, false, err
	}
	if err := checkKey(in.Key); err != nil {
		return "", false, err
	}
	x := exchangeOf(ctx)
	hash := sha256.New()
	hash.Write([]byte(x.principal.Name + "\x00" + x.r.URL.EscapedPath() + "\x00"))
	hash.Write(body)
	record, done, err := a.cfg.Records.BeginIdempotent(ctx, x.route.ID, in.Key, hex.EncodeToString(hash.Sum(nil)))
	if berth.CodeOf(err) == berth.CodeInvalid {
		err = at("header.Idempotency-Key", err)
	}
	if err != nil || done {
		return record.Resource, done, err
	}
	if resource, err = create(attempt{id: record.ID, again: record.TakenOver}); err != nil {
		resource = "" // the key is free for another attempt
	}
	// What was made is recorded although the client may have gone by now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
	defer cancel()
	if kept := a.cfg.Records.EndIdempotent(ctx, x.route.ID, in.Key, resource, status); kept != nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "an idempotency key was not kept", slog.String("request", x.id), slog.String("error", kept.Error()))
	}
	return resource, false, err
}

const maxKey = 128

func checkKey(key string) error {
	ok := len(key) <= maxKey
	for i := range len(key) {
		ok = ok && key[i] > ' ' && key[i] < 0x7f
	}
	if !ok {
		return berth.FieldErrorf(berth.CodeInvalid, "header.Idempotency-Key", "must be 1 to %d visible ASCII characters", maxKey)
	}
	return nil
}

// replayedHeader is the value of Idempotent-Replayed.
func replayedHeader(replayed bool) string {
	if replayed {
		return "true"
	}
	return ""
}
