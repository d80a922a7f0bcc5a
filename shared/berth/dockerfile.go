package berth

import "strings"

// LocalCopy finds the first COPY or ADD of a Dockerfile that needs a file beside
// it, which an inline one does not have: all but those from another stage, an
// image, a URL or the Dockerfile itself. No file is none.
func LocalCopy(dockerfile string) (line int, file string) {
	for _, in := range instructions(dockerfile) {
		words := strings.Fields(in.text)
		if len(words) == 0 || !strings.EqualFold(words[0], "COPY") && !strings.EqualFold(words[0], "ADD") {
			continue
		}
		if local := localSource(words[1:]); local != "" {
			return in.line, local
		}
	}
	return 0, ""
}

// localSource is the first source of a COPY or ADD that is a file of the build's
// context; the last word is the destination.
func localSource(words []string) string {
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		if strings.HasPrefix(words[0], "--from=") {
			return ""
		}
		words = words[1:]
	}
	if len(words) > 0 && strings.HasPrefix(words[0], "[") { // JSON: ["a", "b", "/to"]
		words = strings.FieldsFunc(strings.Join(words, " "), func(r rune) bool { return strings.ContainsRune("[]\", ", r) })
	}
	for i, word := range words {
		switch {
		case i == len(words)-1 && i > 0:
		case strings.HasPrefix(word, "<<"), strings.Contains(word, "://"), strings.HasPrefix(word, "git@"):
		default:
			return word
		}
	}
	return ""
}

// instruction is one logical line.
type instruction struct {
	line int // from 1
	text string
}

// instructions joins continued lines, and leaves out comments and the texts of
// here documents.
func instructions(text string) []instruction {
	escape := `\`
	var all []instruction
	var current strings.Builder
	var ends []string // of here documents whose text comes
	start := 0
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if len(ends) > 0 {
			if strings.TrimLeft(line, "\t") == ends[0] {
				ends = ends[1:]
			}
			continue
		}
		trimmed := strings.TrimSpace(line)
		if directive, ok := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(trimmed), " ", ""), "#escape="); ok && len(all) == 0 {
			escape = directive
		}
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		if current.Len() == 0 {
			start = i + 1
		}
		if rest, continued := strings.CutSuffix(trimmed, escape); continued {
			current.WriteString(rest + " ")
			continue
		}
		current.WriteString(trimmed)
		all = append(all, instruction{start, current.String()})
		ends = hereDocuments(current.String())
		current.Reset()
	}
	if current.Len() > 0 {
		all = append(all, instruction{start, current.String()})
	}
	return all
}

// hereDocuments are the ends that the texts behind an instruction have.
func hereDocuments(text string) []string {
	var ends []string
	for _, word := range strings.Fields(text) {
		if rest, ok := strings.CutPrefix(word, "<<"); ok {
			if name := strings.Trim(strings.TrimPrefix(rest, "-"), `"'`); name != "" && !strings.HasPrefix(name, "<") {
				ends = append(ends, name)
			}
		}
	}
	return ends
}
