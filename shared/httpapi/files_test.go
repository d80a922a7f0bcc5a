package httpapi_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
)

func TestAFileIsWrittenReadSearchedAndDeleted(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		base := "/sandboxes/" + string(sandboxA)
		binary := []byte("a\x00\xff\r\nb")
		put := c.sendRaw("PUT "+base+"/files?path=dir/a%20%C3%BC.bin&mode=0750", binary, "Content-Type: application/octet-stream")
		if put.Status != 200 {
			t.Fatalf("PUT: %d\n%s", put.Status, put.Body)
		}
		if diff := cmp.Diff(testFile{binary, 0o750}, f.plane.files["dir/a ü.bin"], cmp.AllowUnexported(testFile{})); diff != "" {
			t.Errorf("the file (-want +got):\n%s", diff)
		}
		data := httpapitest.JSON[berth.FileData](t, c.want(200, "GET "+base+"/files?path=dir/a%20%C3%BC.bin&offset=1&limit=2", ""))
		if string(data.Data) != "\x00\xff" || data.Next != 3 || data.EOF {
			t.Errorf("a piece %+v", data)
		}
		raw := c.want(200, "GET "+base+"/files?path=dir/a%20%C3%BC.bin", "", "Accept: application/octet-stream")
		if !bytes.Equal(raw.Body, binary) || raw.Header.Get("Berth-Eof") != "true" || raw.Header.Get("Berth-Next-Offset") != fmt.Sprint(len(binary)) {
			t.Errorf("raw %q, headers %v", raw.Body, raw.Header)
		}
		c.sendRaw("PUT "+base+"/files?path=empty", nil)
		if got, there := f.plane.files["empty"]; !there || len(got.data) != 0 || got.mode != 0o644 {
			t.Errorf("an empty file: %+v", got)
		}
		folder := httpapitest.JSON[berth.FileData](t, c.want(200, "GET "+base+"/files?path=.", ""))
		if len(folder.Entries) != 2 {
			t.Errorf("the folder %+v", folder)
		}
		c.wantProblem(berth.CodeInvalid, []string{"query.path"}, "GET "+base+"/files?path=.", "", "Accept: application/octet-stream")
		found := httpapitest.JSON[berth.GrepResult](t, c.want(200, "POST "+base+"/grep", `{"pattern":"b"}`))
		if len(found.Matches) != 1 {
			t.Errorf("grep %+v", found)
		}
		if paths := c.want(200, "POST "+base+"/glob", `{"pattern":"**"}`); !strings.Contains(string(paths.Body), `"paths":[]`) {
			t.Errorf("glob of nothing: %s", paths.Body)
		}
		c.wantProblem(berth.CodeConflict, []string{"query.path"}, "PUT "+base+"/files?path=empty&guard=me", "x", "Content-Type: text/plain")
		c.want(204, "DELETE "+base+"/files?path=empty", "")
		c.wantProblem(berth.CodeNotFound, []string{"query.path"}, "GET "+base+"/files?path=empty", "")
	})
}

func TestBadFileRequests(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		base := "/sandboxes/" + string(sandboxA)
		c.wantProblem(berth.CodeInvalid, []string{"query.path"}, "GET "+base+"/files", "")
		c.wantProblem(berth.CodeInvalid, []string{"query.path"}, "DELETE "+base+"/files?path=a%00b", "")
		c.wantProblem(berth.CodeInvalid, []string{"query.path", "query.guard", "query.mode"}, "PUT "+base+"/files?guard=%0a&mode=0999", "x")
		c.wantProblem(berth.CodeInvalid, []string{"query.mode"}, "PUT "+base+"/files?path=a&mode=4755", "x")
		c.wantProblem(berth.CodeInvalid, []string{"query.limit"}, "GET "+base+"/files?path=a&limit=1048577", "")
		c.wantProblem(berth.CodeTooLarge, nil, "PUT "+base+"/files?path=a", strings.Repeat("x", 4<<20+1))
		c.wantProblem(berth.CodeInvalid, []string{"pattern", "limit"}, "POST "+base+"/grep", `{"limit":1001}`)
		c.wantProblem(berth.CodeInvalid, []string{"patern"}, "POST "+base+"/glob", `{"patern":"x"}`)
		if len(f.plane.files) != 0 {
			t.Errorf("bad requests left %v", f.plane.files)
		}
		c.want(200, "POST "+base+"/stop", "")
		p := c.wantProblem(berth.CodeConflict, nil, "GET "+base+"/files?path=a", "")
		if !strings.Contains(p.Detail, "stopped") || !strings.Contains(p.Remediation, "start") {
			t.Errorf("a stopped sandbox: %+v", p)
		}
	})
}

func TestALargestFileGoesInAndOut(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		base := "/sandboxes/" + string(sandboxA)
		big := bytes.Repeat([]byte{0xff, 0, 'x', '\n'}, 1<<20)
		if resp := c.sendRaw("PUT "+base+"/files?path=big", big); resp.Status != 200 {
			t.Fatalf("PUT of 4 MiB: %d\n%s", resp.Status, resp.Body)
		}
		var got []byte
		for offset := int64(0); ; {
			data := httpapitest.JSON[berth.FileData](t, c.want(200, fmt.Sprintf("GET %s/files?path=big&offset=%d", base, offset), ""))
			got = append(got, data.Data...)
			if offset = data.Next; data.EOF {
				break
			}
		}
		if !bytes.Equal(got, big) {
			t.Errorf("%d bytes came back of %d, or others", len(got), len(big))
		}
	})
}
