package berth

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"
)

// A pattern that does not compile would only panic on its first use: compile
// each as it stands in the source.
func TestEveryLazyPatternCompiles(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fun, isName := call.Fun.(*ast.Ident)
			if len(call.Args) != 1 {
				return true
			}
			source, isText := call.Args[0].(*ast.BasicLit)
			if !isName || fun.Name != "lazyPattern" || !isText {
				return true
			}
			text, err := strconv.Unquote(source.Value)
			if err != nil {
				t.Fatal(err)
			}
			lazyPattern(text).MatchString("")
			found++
			return true
		})
	}
	if found < 15 {
		t.Errorf("found %d patterns only", found)
	}
}
