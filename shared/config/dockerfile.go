package config

// inlineDockerfile replaces the two short forms of image.dockerfile, a text and
// { path = … }, by the long one.
func (l *layer) inlineDockerfile(table string, tree map[string]any) {
	image, _ := tree["image"].(map[string]any)
	at := table + ".image.dockerfile"
	switch v := image["dockerfile"].(type) {
	case string:
		image["dockerfile"] = inline(v)
	case map[string]any:
		path, there := v["path"]
		if !there {
			return
		}
		name, ok := path.(string)
		text, found := l.files[name]
		switch {
		case !ok || name == "":
			l.add(at+".path", "must be a string, the path of a Dockerfile")
		case len(v) > 1:
			l.add(at, "has a path and more: write { path = … } alone, or the text")
		case !found:
			l.add(at+".path", "names a file that was not sent with the request: the server cannot see files of the client, so put its text into files, or write dockerfile as a text")
		default:
			image["dockerfile"] = inline(text)
			return
		}
		delete(image, "dockerfile")
	}
}

func inline(text string) map[string]any {
	return map[string]any{"type": "inline", "value": text}
}
