package gitservertest

import (
	"fmt"
	"strings"
)

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

// importer writes what git fast-import reads. Times are fixed, so that the SHAs
// are the same on every machine.
type importer struct {
	strings.Builder
	marks int
}

// commit adds one to a ref and returns its mark. From is a mark, or 0 to go on.
func (w *importer) commit(ref string, from int, files ...string) int {
	w.marks++
	fmt.Fprintf(w, "commit %s\nmark :%d\ncommitter Ada <ada@example.com> %d +0000\n", ref, w.marks, 1_600_000_000+w.marks)
	w.data(fmt.Sprintf("commit %d", w.marks))
	if from > 0 {
		fmt.Fprintf(w, "from :%d\n", from)
	}
	for i := 0; i < len(files); i += 2 {
		fmt.Fprintf(w, "M 100644 inline %s\n", files[i])
		w.data(files[i+1])
	}
	w.WriteString("\n")
	return w.marks
}

func (w *importer) data(text string) { fmt.Fprintf(w, "data %d\n%s\n", len(text), text) }

func (w *importer) tag(name string, from int) {
	fmt.Fprintf(w, "tag %s\nfrom :%d\ntagger Ada <ada@example.com> 1650000000 +0000\n", name, from)
	w.data("tag " + name)
}

func (w *importer) reset(ref string, from int) { fmt.Fprintf(w, "reset %s\nfrom :%d\n\n", ref, from) }

func stream() string {
	w := &importer{}
	main := map[int]int{} // number of the commit → mark
	for n := 1; n <= MainCommits; n++ {
		main[n] = w.commit("refs/heads/"+DefaultBranch, 0, "number", fmt.Sprintf("%d\n", n), fmt.Sprintf("dir/%d", n%7), fmt.Sprintf("%d\n", n))
	}
	w.commit("refs/heads/"+OtherBranch, main[MainCommits-1], "login", "1\n")
	w.commit("refs/heads/"+OtherBranch, 0, "login", "2\n")
	w.commit("refs/heads/"+OldBranch, main[5], "old", "1\n")
	for n := 2; n <= 60; n++ {
		w.commit("refs/heads/"+OldBranch, 0, "old", fmt.Sprintf("%d\n", n))
	}
	w.commit("refs/heads/"+ModulesBranch, main[MainCommits], ".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = https://example.com/sub\n")
	w.commit("refs/heads/"+LFSBranch, main[MainCommits], "assets/.gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n", "assets/a.bin", pointer)
	w.commit("refs/heads/"+PointerBranch, main[MainCommits], "a.bin", pointer)
	w.commit("refs/heads/"+LineEndBranch, main[MainCommits], ".gitattributes", "*.txt text eol=lf\n", "crlf.txt", "a\r\nb\r\n")
	w.commit("refs/hidden/commit", main[MainCommits], "hidden", "1\n")
	w.reset("refs/tags/"+LightTag, main[140])
	w.tag(AnnotatedTag, main[20])
	return w.String()
}
