//go:build linux

package exetest

import (
	"encoding/json"
	"path"
	"strconv"
	"strings"
	"time"
)

// ending is how a command's answer ends.
type ending int

const (
	proper ending = iota
	hang
	cutConnection
)

// run does what the words say.
func (s *Server) run(words []string) (out string, status uint32, end ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = append(s.commands, strings.Join(words, " "))
	if take(&s.faults.RateLimits) {
		return encoded(map[string]any{"error": "rate limit exceeded, try again later"}), 1, proper
	}
	if len(words) == 0 {
		return "Welcome to the lobby\n", 0, proper
	}
	switch words[0] {
	case "new":
		out, status = s.create(words[1:])
		if status == 0 && take(&s.faults.NoJSON) {
			out = "Creating your VM... done!\n"
		}
	case "ls":
		out, status = s.list(words[1:])
	case "rm":
		out, status = s.remove(words[1:])
	case "whoami":
		out = encoded(map[string]any{"email": "person@example.com"})
	default:
		out, status = encoded(map[string]any{"error": "unknown command " + words[0]}), 127
	}
	switch {
	case words[0] != "new":
	case take(&s.faults.NoExit):
		end = hang
	case take(&s.faults.Cut):
		end = cutConnection
	}
	return out, status, end
}

func take(n *int) bool {
	if *n <= 0 {
		return false
	}
	*n--
	return true
}

func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of text
	}
	return string(b) + "\n"
}

func refused(text string) (string, uint32) { return encoded(map[string]any{"error": text}), 1 }

// create is the command new; s.mu is held.
func (s *Server) create(words []string) (string, uint32) {
	v := &VM{Image: "exeuntu", Created: time.Now().UTC().Truncate(time.Second), Sparse: s.faults.Sparse}
	for i := 0; i < len(words); i++ {
		name, value, inline := strings.Cut(words[i], "=")
		switch name {
		case "--json", "--no-email":
			continue
		}
		if !inline {
			if i++; i >= len(words) {
				return refused("flag needs an argument: " + name)
			}
			value = words[i]
		}
		switch name {
		case "--name":
			v.Name = value
		case "--image":
			v.Image = value
		case "--tag":
			v.Tags = append(v.Tags, value)
		case "--comment":
			v.Comment = value
		default:
			return refused("unknown flag " + name)
		}
	}
	switch {
	case s.faults.Refusal != "":
		return refused(s.faults.Refusal)
	case v.Name == "" || len(v.Name) > 63 || endsInDigits.MatchString(v.Name):
		return refused("invalid VM name")
	case len(v.Comment) > 200:
		return refused("comment is too long")
	case s.vms[v.Name] != nil:
		return refused("VM name " + strconv.Quote(v.Name) + " is not available")
	}
	s.start(v, s.faults)
	s.vms[v.Name] = v
	told := v.told()
	told["proxy_port"], told["ssh_command"] = 8000, "ssh -p "+v.SSH.Port+" "+v.SSH.Destination()
	return encoded(told), 0
}

// told is what the lobby says of a VM.
func (v *VM) told() map[string]any {
	port, _ := strconv.Atoi(v.SSH.Port)
	told := map[string]any{
		"vm_name": v.Name, "ssh_dest": v.SSH.Destination(), "ssh_host": "127.0.0.1", "ssh_port": port, "https_url": "https://" + v.Name + ".exe.xyz",
		"status": "running", "region": "test", "tags": v.Tags, "comment": v.Comment, "created_at": v.Created.Format(time.RFC3339), "egress_policy": "all",
	}
	if v.Sparse { // what the service tells of some VMs and not of others
		delete(told, "comment")
		delete(told, "created_at")
	}
	return told
}

func (s *Server) list(words []string) (string, uint32) {
	pattern := "*"
	for _, word := range words {
		if !strings.HasPrefix(word, "-") {
			pattern = word
		}
	}
	vms := []map[string]any{}
	for name, v := range s.vms {
		if matched, err := path.Match(pattern, name); err == nil && matched {
			vms = append(vms, v.told())
		}
	}
	return encoded(map[string]any{"vms": vms}), 0
}

func (s *Server) remove(words []string) (string, uint32) {
	deleted, failed, missing := []string{}, []string{}, []string{}
	errs := map[string]string{}
	for _, name := range words {
		switch v := s.vms[name]; {
		case strings.HasPrefix(name, "-"):
		case v == nil:
			missing = append(missing, name)
		case take(&s.faults.KeepOnRemove):
			failed, errs[name] = append(failed, name), "the VM is busy"
		default:
			v.remove()
			delete(s.vms, name)
			deleted = append(deleted, name)
		}
	}
	return encoded(map[string]any{"deleted": deleted, "failed": failed, "not_found": missing, "errors": errs}), 0
}
