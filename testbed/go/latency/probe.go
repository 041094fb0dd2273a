package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	requestBytes = 16 // sequence, time of sending
	answerBytes  = 24 // and the time at which it arrived
)

// result is one target's answers: the i-th of each list belongs to the same probe. Seconds.
type result struct {
	Target   string    `json:"target"`
	Sent     int       `json:"sent"`
	Forward  []float64 `json:"forward_s"`
	Backward []float64 `json:"backward_s"`
}

type probing struct {
	from     string
	port     int
	count    int
	interval time.Duration
	patience time.Duration
}

// stamped returns the answer to a probe that arrived at a time; nil for anything else.
func stamped(request []byte, arrivedNS int64) []byte {
	if len(request) != requestBytes {
		return nil
	}
	return binary.BigEndian.AppendUint64(append([]byte(nil), request...), uint64(arrivedNS))
}

func probe(arguments []string) error {
	var p probing
	options := flag.NewFlagSet("probe", flag.ContinueOnError)
	options.StringVar(&p.from, "from", "0.0.0.0", "the address to send from")
	options.IntVar(&p.port, "port", 0, "where the other side answers")
	options.IntVar(&p.count, "count", 20, "how many probes to send to each address")
	options.DurationVar(&p.interval, "interval", 20*time.Millisecond, "between two probes")
	options.DurationVar(&p.patience, "patience", time.Second, "how long to wait for the last answer")
	if err := options.Parse(arguments); err != nil {
		return err
	}
	results := make([]result, options.NArg())
	failures := make([]error, options.NArg())
	var group sync.WaitGroup
	for index, target := range options.Args() {
		group.Go(func() { results[index], failures[index] = p.run(target) })
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(results)
}

func (p probing) run(target string) (result, error) {
	answer := result{Target: target, Sent: p.count, Forward: []float64{}, Backward: []float64{}}
	socket, err := net.ListenPacket("udp4", net.JoinHostPort(p.from, "0"))
	if err != nil {
		return answer, err
	}
	defer socket.Close()
	to, err := net.ResolveUDPAddr("udp4", net.JoinHostPort(target, strconv.Itoa(p.port)))
	if err != nil {
		return answer, err
	}
	// A refused probe counts as lost, like any other that brings no answer.
	go func() {
		for sequence := range p.count {
			request := binary.BigEndian.AppendUint64(nil, uint64(sequence))
			request = binary.BigEndian.AppendUint64(request, uint64(nowNS()))
			_, _ = socket.WriteTo(request, to)
			time.Sleep(p.interval)
		}
	}()
	deadline := time.Now().Add(time.Duration(p.count)*p.interval + p.patience)
	if err := socket.SetReadDeadline(deadline); err != nil {
		return answer, err
	}
	seen := map[uint64]bool{}
	buffer := make([]byte, 64)
	for len(seen) < p.count {
		size, _, err := socket.ReadFrom(buffer)
		arrivedNS := nowNS()
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			return answer, fmt.Errorf("%s: %w", target, err)
		}
		sequence := binary.BigEndian.Uint64(buffer)
		if size != answerBytes || seen[sequence] {
			continue
		}
		seen[sequence] = true
		sentNS := int64(binary.BigEndian.Uint64(buffer[8:]))
		turnedNS := int64(binary.BigEndian.Uint64(buffer[16:]))
		answer.Forward = append(answer.Forward, float64(turnedNS-sentNS)/1e9)
		answer.Backward = append(answer.Backward, float64(arrivedNS-turnedNS)/1e9)
	}
	return answer, nil
}
