package hostagent_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent"
)

func TestOneThingIsKnownOfASandbox(t *testing.T) {
	t.Parallel()
	var r hostagent.Register[*int]
	var made atomic.Int32
	fresh := func(berth.SandboxID) *int { made.Add(1); return new(int) }
	var claims sync.WaitGroup
	for range 20 {
		claims.Go(func() { r.Claim("b", fresh) })
	}
	claims.Wait()
	first := r.Claim("a", fresh)
	b, err := r.Find("b")
	if made.Load() != 2 || err != nil || !slices.Equal(r.All(), []*int{first, b}) {
		t.Fatalf("%d were made; all are %v, b is %v, %v", made.Load(), r.All(), b, err)
	}
	r.Forget("b", first) // which is another one's
	if found, err := r.Find("b"); err != nil || found != b {
		t.Errorf("b is %v, %v", found, err)
	}
	r.Forget("b", b)
	if _, err := r.Find("b"); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("a forgotten one: %v", err)
	}
	r.Purge(func(other *int) bool { return other == first })
	if left := r.All(); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}
