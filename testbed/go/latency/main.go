// Command latency runs on each node of the kind test bed. It needs nothing but the kernel.
//
//	latency serve FILE      hold packets back as FILE says, and answer probes
//	latency probe …         tell how long packets take to other nodes, each way
//	latency flood …         send as much as is asked for, to see what the way there carries
//
// Packets reach `serve` by iptables' NFQUEUE target, one queue for each class of traffic. Where the
// kernel has netem, FILE names no queue and `serve` only answers probes.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "latency:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 2 && arguments[0] == "serve" {
		return serve(arguments[1])
	}
	if len(arguments) > 1 && arguments[0] == "probe" {
		return probe(arguments[1:])
	}
	if len(arguments) > 1 && arguments[0] == "flood" {
		return flood(arguments[1:])
	}
	return fmt.Errorf("usage: latency serve FILE | latency probe [OPTION]… ADDRESS… | latency flood …")
}
