// Command runc-front stands before runc on machines that lack CAP_SYS_RESOURCE: there, a container
// that asks for it, as every privileged one does, fails to start. It takes that one capability out
// of what is asked for, and becomes runc.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	missing = "CAP_SYS_RESOURCE"
	moved   = ".real" // inside a node, where this program has runc's own name
)

func main() {
	arguments := os.Args[1:]
	if err := lower(arguments); err != nil {
		fmt.Fprintln(os.Stderr, "runc-front:", err)
		os.Exit(1)
	}
	runc := find()
	err := syscall.Exec(runc, append([]string{runc}, arguments...), os.Environ())
	fmt.Fprintln(os.Stderr, "runc-front:", runc, err)
	os.Exit(1)
}

// find returns the runc that was moved aside for this program, or else the system's.
func find() string {
	for _, path := range []string{"/usr/sbin/runc", "/usr/local/sbin/runc", "/usr/bin/runc", "/usr/local/bin/runc"} {
		if _, err := os.Stat(path + moved); err == nil {
			return path + moved
		}
		if _, err := os.Stat(path); err == nil && !isSelf(path) {
			return path
		}
	}
	return "runc"
}

func isSelf(path string) bool {
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	other, err := os.Stat(path)
	return err == nil && os.SameFile(self, other)
}

// lower edits the file that says which capabilities the command will give.
func lower(arguments []string) error {
	command := ""
	for _, argument := range arguments {
		if slices.Contains([]string{"create", "run", "restore", "exec"}, argument) {
			command = argument
			break
		}
	}
	switch command {
	case "create", "run", "restore":
		bundle := option(arguments, "--bundle", "-b")
		return edit(filepath.Join(bundle, "config.json"), func(spec map[string]any) any { return spec["process"] })
	case "exec":
		if file := option(arguments, "--process", "-p"); file != "" {
			return edit(file, func(process map[string]any) any { return process })
		}
	}
	return nil
}

func option(arguments []string, long, short string) string {
	for index, argument := range arguments {
		if (argument == long || argument == short) && index+1 < len(arguments) {
			return arguments[index+1]
		}
		if value, found := strings.CutPrefix(argument, long+"="); found {
			return value
		}
	}
	return ""
}

func edit(path string, part func(map[string]any) any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var whole map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber() // or large numbers would lose digits
	if err := decoder.Decode(&whole); err != nil {
		return err
	}
	process, _ := part(whole).(map[string]any)
	sets, _ := process["capabilities"].(map[string]any)
	for name, value := range sets {
		names, _ := value.([]any)
		sets[name] = slices.DeleteFunc(names, func(one any) bool { return one == missing })
	}
	if text, err = json.Marshal(whole); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
